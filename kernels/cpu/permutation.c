/* The order of rows that the experts work on (E1), and the copies into it and back (E1b).

   One thread sorts: a slot costs a few nanoseconds, the expert's FFN on its row a thousand times
   that. The offsets are the counters, so nothing is allocated. */
#include <phibal/expert.h>
#include <string.h>

phibal_status phibal_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                 const int32_t *experts, int64_t *offsets, int64_t *source,
                                 int64_t *row) {
  if (tokens < 0 || active < 1 || experts_count < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "permutation: %lld tokens, %d active of %d experts", (long long)tokens,
                             active, experts_count);
  if (!offsets || (tokens > 0 && (!experts || !source || !row)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "permutation: an array is null");
  int64_t slots = tokens * active;
  for (int32_t e = 0; e <= experts_count; e++) offsets[e] = 0;
  for (int64_t i = 0; i < slots; i++) {
    int32_t e = experts[i];
    if (e < -1 || e >= experts_count)
      return phibal_status_set(
          PHIBAL_ERROR_ARGUMENT,
          "permutation: slot %lld of token %lld is routed to expert %d, there are 0 to %d "
          "(and -1 for padding)",
          (long long)(i % active), (long long)(i / active), e, experts_count - 1);
    if (e >= 0) offsets[e]++;
  }
  int64_t rows = 0;
  for (int32_t e = 0; e <= experts_count; e++) {
    int64_t count = offsets[e];
    offsets[e] = rows;
    rows += count;
  }
  for (int64_t i = 0; i < slots; i++) {
    int32_t e = experts[i];
    row[i] = e < 0 ? -1 : offsets[e]++;
    if (e >= 0) source[row[i]] = i;
  }
  /* Each offset has moved to where the next expert's began. */
  memmove(offsets + 1, offsets, (size_t)experts_count * sizeof *offsets);
  offsets[0] = 0;
  return PHIBAL_OK;
}

phibal_status phibal_gather(int64_t rows, int32_t active, int64_t width, const int64_t *source,
                            const float *x, float *gathered) {
  if (rows < 0 || active < 1 || width < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "gather: %lld rows of %lld numbers, %d active experts",
                             (long long)rows, (long long)width, active);
  if (rows > 0 && (!source || !x || !gathered))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "gather: an array is null");
#pragma omp parallel for schedule(static) if (rows * width > 65536)
  for (int64_t n = 0; n < rows; n++)
    memcpy(gathered + n * width, x + source[n] / active * width, (size_t)width * sizeof *x);
  return PHIBAL_OK;
}

phibal_status phibal_gather_backward(int64_t tokens, int32_t active, int64_t width,
                                     const int64_t *row, const float *gathered_gradient,
                                     float *x_gradient) {
  if (tokens < 0 || active < 1 || width < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "gather backward: %lld tokens of %lld numbers, %d active experts",
                             (long long)tokens, (long long)width, active);
  if (tokens > 0 && (!row || !gathered_gradient || !x_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "gather backward: an array is null");
#pragma omp parallel for schedule(static) if (tokens * active * width > 65536)
  for (int64_t t = 0; t < tokens; t++) {
    float *sum = x_gradient + t * width;
    for (int32_t s = 0; s < active; s++) {
      int64_t n = row[t * active + s];
      if (n < 0) continue;
      const float *gradient = gathered_gradient + n * width;
#pragma GCC ivdep
      for (int64_t i = 0; i < width; i++) sum[i] += gradient[i];
    }
  }
  return PHIBAL_OK;
}
