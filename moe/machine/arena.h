/* One allocation from which a model's arrays are cut, each aligned to 64 bytes. The same cutting
   code run on an arena without memory measures how much is needed. */
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
/* count elements of `size` bytes; null while measuring, and where the arena is too small. */
void *arena_take(arena *a, int64_t count, size_t size);

#endif
