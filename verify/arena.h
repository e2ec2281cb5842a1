/* Buffers that are freed together. */
#ifndef PHIBAL_VERIFY_ARENA_H
#define PHIBAL_VERIFY_ARENA_H

#include <phibal/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct arena {
  void *blocks[64];
  int count;
  bool failed;
} arena;

/* `bytes` bytes, each `fill`; null, with `failed` set, when out of memory. */
static inline void *arena_take(arena *a, size_t bytes, int fill) {
  void *p = malloc(bytes + 8);
  if (!p || a->count == (int)(sizeof a->blocks / sizeof *a->blocks)) {
    a->failed = true;
    free(p);
    return NULL;
  }
  memset(p, fill, bytes + 8);
  return a->blocks[a->count++] = p;
}

static inline void arena_free(arena *a) {
  while (a->count) free(a->blocks[--a->count]);
}

static inline phibal_status arena_out_of_memory(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "verify: out of memory for a case");
}

#endif
