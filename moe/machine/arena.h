/* One allocation for all arrays of a model, each aligned to 64 bytes. Running the same code on an
   arena without memory measures the size needed. */
#ifndef PHIBAL_MOE_ARENA_H
#define PHIBAL_MOE_ARENA_H

#include <phibal/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena {
  unsigned char *base; /* null while measuring */
  size_t used;         /* SIZE_MAX once a size did not fit in size_t */
  size_t capacity;
} arena;

/* Memory is not zeroed, and its pages are first touched by whoever writes them. */
phibal_status arena_create(size_t bytes, arena *a);
void arena_destroy(arena *a);
/* count elements of `size` bytes; null while measuring, or if the arena is too small. */
void *arena_take(arena *a, int64_t count, size_t size);

#endif
