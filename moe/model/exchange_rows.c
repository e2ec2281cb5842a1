#include "exchange_rows.h"

phibal_status exchange_no_memory(const char *name, int64_t rows) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY,
                           "%s: no memory for %lld rows of this rank's experts; a smaller "
                           "batch.micro_sequences has fewer",
                           name, (long long)rows);
}

/* `row`: numbers of a row. */
static float *grow(const exchange_memory *in, int64_t rows, int64_t row, int64_t *capacity,
                   float *block) {
  if (rows <= *capacity && block) return block;
  in->release(block);
  *capacity = (rows + rows / 8 + 8) / 8 * 8; /* every array begins at a multiple of 16 bytes */
  block = in->allocate((size_t)(*capacity * row) * in->number);
  if (!block) *capacity = 0;
  return block;
}

/* Behind so many numbers of an array. */
static float *array_after(const exchange_memory *in, float *array, int64_t numbers) {
  return (float *)((unsigned char *)array + (size_t)numbers * in->number);
}

phibal_status exchange_reserve(const exchange_memory *in, int64_t rows, int64_t width,
                               int64_t hidden, exchange_rows *layer, exchange_space *space) {
  const int64_t kept = in->on_device ? 2 : 3, binary32 = (int64_t)(sizeof(float) / in->number);
  layer->x = grow(in, rows, width + kept * hidden, &layer->capacity, layer->x);
  space->wire = grow(in, rows, 2 * width + hidden + (in->on_device ? 2 * binary32 : 0),
                     &space->capacity, space->wire);
  if (!layer->x || !space->wire) return exchange_no_memory(in->name, rows);
  layer->a = array_after(in, layer->x, layer->capacity * width);
  layer->b = array_after(in, layer->a, layer->capacity * hidden);
  layer->h = in->on_device ? NULL : array_after(in, layer->b, layer->capacity * hidden);
  space->rows = array_after(in, space->wire, space->capacity * width);
  space->h_gradient = array_after(in, space->rows, space->capacity * width);
  if (!in->on_device) return PHIBAL_OK;
  space->gates = array_after(in, space->h_gradient, space->capacity * hidden);
  space->gate_gradient = space->gates + space->capacity;
  return PHIBAL_OK;
}
