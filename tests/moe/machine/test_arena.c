/* The arena: what it hands out is aligned, disjoint, measured alike, and never too much. */
#include "moe/machine/arena.h"

#include <criterion/criterion.h>
#include <string.h>

static size_t cut(arena *a, unsigned char *parts[4]) {
  parts[0] = arena_take(a, 3, 1);
  parts[1] = arena_take(a, 0, 8);
  parts[2] = arena_take(a, 1000, 8);
  parts[3] = arena_take(a, 64, 1);
  return a->used;
}

Test(arena, measures_what_it_hands_out) {
  arena measured = {0}, real;
  unsigned char *parts[4];
  size_t bytes = cut(&measured, parts);
  for (int i = 0; i < 4; i++) cr_assert_null(parts[i]);
  cr_assert_eq(arena_create(bytes, &real), PHIBAL_OK);
  cr_assert_eq(cut(&real, parts), bytes);
  cr_assert_leq(bytes, real.capacity);
  for (int i = 0; i < 4; i++) cr_assert_eq((uintptr_t)parts[i] % 64, 0);
  cr_assert(parts[0] + 3 <= parts[2] && parts[2] + 8000 <= parts[3]);
  cr_assert(parts[3] + 64 <= real.base + real.capacity);
  memset(parts[3], 1, 64);
  arena_destroy(&real);
  cr_assert_null(real.base);
}

Test(arena, no_more_than_there_is) {
  arena a;
  cr_assert_eq(arena_create(100, &a), PHIBAL_OK);
  cr_assert_not_null(arena_take(&a, (int64_t)a.capacity, 1));
  cr_assert_null(arena_take(&a, 1, 1));
  arena_destroy(&a);
}

Test(arena, sizes_that_cannot_be) {
  arena a = {0};
  cr_assert_null(arena_take(&a, INT64_MAX, 8));
  cr_assert_eq(a.used, SIZE_MAX);
  cr_assert_null(arena_take(&a, 1, 1));
  cr_assert_eq(a.used, SIZE_MAX);
  cr_assert_eq(arena_create(SIZE_MAX, &a), PHIBAL_ERROR_MEMORY);
  cr_assert_eq(arena_create((size_t)1 << 60, &a), PHIBAL_ERROR_MEMORY);
  a = (arena){0};
  cr_assert_null(arena_take(&a, -1, 4));
  cr_assert_eq(a.used, SIZE_MAX);
}
