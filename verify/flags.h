/* The flags of spec/flags.def: the bugs a case can reveal. */
#ifndef PHIBAL_VERIFY_FLAGS_H
#define PHIBAL_VERIFY_FLAGS_H

typedef enum flag_id {
#define PHIBAL_FLAG(ID, name, bug, effect, seen) FLAG_##ID,
#include <phibal/flags.def>
#undef PHIBAL_FLAG
  FLAG_COUNT
} flag_id;

_Static_assert(FLAG_COUNT <= 64, "the flags of a case are bits of a 64-bit number");

typedef struct flag_description {
  const char *name, *bug, *effect, *seen;
} flag_description;

const flag_description *flag_describe(flag_id flag);
/* FLAG_COUNT if there is none of that name. */
flag_id flag_find(const char *name);

#endif
