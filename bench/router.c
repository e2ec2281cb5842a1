/* What the router costs beside the memory it must move: nanoseconds for a token and an expert, and
   the time in which the same bytes are copied, measured in the same run. The forward pass is timed
   as training calls it (no probabilities stored) and with them.

   The other floor is arithmetic. About so many vector instructions for an element in binary64,
   forward: exp 20, the largest logit 2, sum and product 2, exact load 8, key 8, and 3 for each of
   the k choices: 40
   + 3 k. Backward: 24 for p, 6 for the prices' part, sum included, 3 more: 33. With AVX-512 and two
   vector ports a cycle does 16 of an element's instructions: 2.9 cycles forward at k = 2, 4 at k =
   8, 2.1 backward. A token's own work comes on top, and weighs at few experts: one logarithm, 1 + k
   divisions, k exponentials, k routes read or written one by one. */
#include <omp.h>
#include <phibal/expert.h>
#include <phibal/router.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 7 };

static void require(phibal_status status) {
  if (status == PHIBAL_OK) return;
  fprintf(stderr, "bench router: %s\n", phibal_status_message());
  exit(1);
}

static void *allocate(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    fprintf(stderr, "bench router: no memory for %zu bytes\n", bytes);
    exit(1);
  }
  memset(p, 0, bytes);
  return p;
}

/* Bytes read and written in a second by a copy that all threads share. */
static double copy_bandwidth(void) {
  size_t bytes = (size_t)1 << 28, part = (size_t)1 << 20;
  char *from = allocate(bytes), *to = allocate(bytes);
  double best = 1e9;
  for (int r = 0; r < REPEATS; r++) {
    double start = omp_get_wtime();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < bytes / part; i++) memcpy(to + i * part, from + i * part, part);
    double elapsed = omp_get_wtime() - start;
    best = elapsed < best ? elapsed : best;
  }
  free(from);
  free(to);
  return 2 * (double)bytes / best;
}

typedef struct shape {
  int64_t tokens;
  int32_t experts, active;
} shape;

static void report(const char *what, shape s, double seconds, double bytes, double bandwidth) {
  double elements = (double)s.tokens * (double)s.experts;
  double floor = bytes / bandwidth;
  printf("%8lld %6d %4d  %-22s %8.3f %8.3f %6.1f %%\n", (long long)s.tokens, s.experts, s.active,
         what, seconds * 1e9 / elements, floor * 1e9 / elements, 100 * floor / seconds);
}

static void measure(shape s, double bandwidth) {
  phibal_router router = {s.experts, s.active, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  size_t elements = (size_t)(s.tokens * s.experts), slots = (size_t)(s.tokens * s.active);
  float *logits = allocate(elements * sizeof *logits);
  float *output = allocate(elements * sizeof *output); /* probabilities, then the gradient */
  float *gates = allocate(slots * sizeof *gates);
  float *logsumexp = allocate((size_t)s.tokens * sizeof *logsumexp);
  int32_t *experts = allocate(slots * sizeof *experts);
  int64_t *source = allocate(slots * sizeof *source), *row = allocate(slots * sizeof *row);
  int64_t offsets[PHIBAL_MAX_EXPERTS + 1];
  float price[PHIBAL_MAX_EXPERTS];
  uint32_t state = 1;
  for (size_t i = 0; i < elements; i++) { /* a sum of three uniform numbers: spread about 1 */
    float u = 0;
    for (int j = 0; j < 3; j++)
      u += (float)((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-23f;
    logits[i] = u - 3;
  }
  for (int32_t e = 0; e < s.experts; e++) price[e] = (float)e / (float)s.experts - 0.5f;
  phibal_loads loads;
  require(phibal_loads_create(&router, &loads));
  double best[4] = {1e9, 1e9, 1e9, 1e9};
  for (int r = 0; r < REPEATS; r++) {
    for (int kind = 0; kind < 4; kind++) {
      double start = omp_get_wtime();
      if (kind < 2)
        require(phibal_router_forward(&router, s.tokens, logits, NULL, NULL,
                                      kind == 1 ? output : NULL, experts, gates, logsumexp,
                                      &loads));
      else if (kind == 2)
        require(phibal_router_backward(&router, s.tokens, logits, NULL, experts, gates, price, 1e-3,
                                       1e-4, output));
      else
        require(phibal_permutation(s.tokens, s.active, s.experts, experts, offsets, source, row));
      double elapsed = omp_get_wtime() - start;
      best[kind] = elapsed < best[kind] ? elapsed : best[kind];
    }
  }
  double matrix = (double)elements * 4, routes = (double)slots * 8;
  report("forward", s, best[0], matrix + routes, bandwidth);
  report("forward, probabilities", s, best[1], 2 * matrix + routes, bandwidth);
  report("backward", s, best[2], 2 * matrix + routes, bandwidth);
  report("permutation", s, best[3], (double)slots * (4 + 4 + 8 + 8), bandwidth);
  phibal_loads_destroy(&loads);
  free(logits);
  free(output);
  free(gates);
  free(logsumexp);
  free(experts);
  free(source);
  free(row);
}

int main(void) {
  static const shape shapes[] = {{65536, 8, 2},   {65536, 16, 2},  {65536, 32, 4},   {65536, 64, 8},
                                 {65536, 128, 8}, {65536, 256, 8}, {65536, 1024, 32}};
  double bandwidth = copy_bandwidth();
  printf("%d threads, a copy moves %.1f GB/s\n\n", omp_get_max_threads(), bandwidth * 1e-9);
  printf("  tokens      E    k  what                     ns/(t,e)    floor  reached\n");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) measure(shapes[i], bandwidth);
  return 0;
}
