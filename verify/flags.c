#include "flags.h"
#include <string.h>

const flag_description *flag_describe(flag_id flag) {
  static const flag_description flags[] = {
#define PHIBAL_FLAG(ID, name, bug, effect, seen) {name, bug, effect, seen},
#include <phibal/flags.def>
#undef PHIBAL_FLAG
  };
  return &flags[flag];
}

flag_id flag_find(const char *name) {
  int flag = 0;
  while (flag < FLAG_COUNT && strcmp(flag_describe((flag_id)flag)->name, name) != 0) flag++;
  return (flag_id)flag;
}
