#include "builtin.h"
#include <string.h>

const phi_builtin *phi_builtin_find(const char *name) {
  for (size_t i = 0; i < phi_builtins_count; i++)
    if (strcmp(phi_builtins[i].name, name) == 0) return &phi_builtins[i];
  return NULL;
}
