#include "arena.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT 64
/* Large pages spare address translations in streaming over activations of hundreds of megabytes. */
#define LARGE_PAGE ((size_t)2 << 20)

phibal_status arena_create(size_t bytes, arena *a) {
  *a = (arena){0};
  if (bytes > SIZE_MAX - LARGE_PAGE)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "the model needs more memory than can be addressed");
  size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
  if (whole == 0) whole = LARGE_PAGE;
  a->base = aligned_alloc(LARGE_PAGE, whole);
  if (!a->base)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "cannot allocate %.2f GiB; a smaller micro-batch or model needs less",
                             (double)bytes / 0x1p30);
  madvise(a->base, whole, MADV_HUGEPAGE); /* advice only: without it everything still works */
  a->capacity = whole;
  return PHIBAL_OK;
}

void arena_destroy(arena *a) {
  free(a->base);
  *a = (arena){0};
}

void *arena_take(arena *a, int64_t count, size_t size) {
  size_t bytes, end;
  if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
      __builtin_add_overflow(bytes, ALIGNMENT - 1, &bytes) ||
      __builtin_add_overflow(a->used, bytes / ALIGNMENT * ALIGNMENT, &end)) {
    a->used = SIZE_MAX;
    return NULL;
  }
  void *taken = a->base && end <= a->capacity ? a->base + a->used : NULL;
  a->used = end;
  return taken;
}
