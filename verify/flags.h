/* The flags of spec/flags.def: the bugs a case can reveal. */
#ifndef PHIBAL_VERIFY_FLAGS_H
#define PHIBAL_VERIFY_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum flag_id {
#define PHIBAL_FLAG(ID, name, bug, effect, seen) FLAG_##ID,
#include <phibal/flags.def>
#undef PHIBAL_FLAG
  FLAG_COUNT
} flag_id;

/* Which flags a case carries. */
typedef struct flag_set {
  uint64_t word[(FLAG_COUNT + 63) / 64];
} flag_set;

static inline void flag_set_add(flag_set *s, flag_id flag) {
  s->word[flag / 64] |= UINT64_C(1) << flag % 64;
}
static inline void flag_set_join(flag_set *s, const flag_set *other) {
  for (int i = 0; i < (FLAG_COUNT + 63) / 64; i++) s->word[i] |= other->word[i];
}
static inline bool flag_set_has(const flag_set *s, int flag) {
  return s->word[flag / 64] >> flag % 64 & 1;
}

typedef struct flag_description {
  const char *name, *bug, *effect, *seen;
} flag_description;

const flag_description *flag_describe(flag_id flag);
/* FLAG_COUNT if there is none of that name. */
flag_id flag_find(const char *name);

#endif
