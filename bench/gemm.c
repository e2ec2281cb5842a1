/* What a forward product costs whose rows do not depend on each other (kernels/cpu/gemm_rows.c):
   its time beside that of OpenBLAS's sgemm, on the products of the trainer's configurations. Both
   are given the same tiles on the same threads, by turns; the ratio is of the two medians. The time
   is the processor's, of all threads: what else runs on the machine takes none of it. */
#include "kernels/cpu/gemm.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15, TOKENS = 1024 };

typedef struct product {
  const char *what;
  int64_t rows, out, in;
} product;

static float *made(int64_t n) {
  float *x = malloc((size_t)n * sizeof *x);
  if (!x) {
    fprintf(stderr, "bench gemm: no memory for %lld numbers\n", (long long)n);
    exit(1);
  }
  for (int64_t i = 0; i < n; i++) x[i] = (float)(i * 37 % 101 - 50) * 0x1p-6f;
  return x;
}

/* phibal_gemm_linear, by OpenBLAS. */
static void openblas_linear(const product *p, const float *x, const float *w, float *y) {
  phibal_gemm_begin();
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t j = 0; j < p->out; j += GEMM_TILE_COLUMNS)
    for (int64_t i = 0; i < p->rows; i += GEMM_TILE_ROWS)
      phibal_gemm_nt(smaller(GEMM_TILE_ROWS, p->rows - i), smaller(GEMM_TILE_COLUMNS, p->out - j),
                     p->in, x + i * p->in, p->in, w + j * p->in, p->in, 0.0f, y + i * p->out + j,
                     p->out);
}

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const product *p) {
  float *x = made(p->rows * p->in), *w = made(p->out * p->in), *y = made(p->rows * p->out);
  const double work = 2.0 * (double)p->rows * (double)p->out * (double)p->in;
  /* As often as fills 20 ms at 25 GFLOP/s, so that the clock does not count. */
  const int repeats = 1 + (int)(5e8 / work);
  double seconds[2][ROUNDS];
  for (int round = -1; round < ROUNDS; round++) /* the first does not count */
    for (int ours = 0; ours < 2; ours++) {
      const double start = processor_seconds();
      for (int i = 0; i < repeats; i++)
        if (ours)
          phibal_gemm_linear(p->rows, p->out, p->in, x, w, 0, y);
        else
          openblas_linear(p, x, w, y);
      if (round >= 0) seconds[ours][round] = (processor_seconds() - start) / repeats;
    }
  for (int ours = 0; ours < 2; ours++) qsort(seconds[ours], ROUNDS, sizeof **seconds, by_value);
  const double theirs = seconds[0][ROUNDS / 2], own = seconds[1][ROUNDS / 2];
  printf("%-24s %6lld %6lld %6lld %9.1f %9.1f %7.2f\n", p->what, (long long)p->rows,
         (long long)p->out, (long long)p->in, 1e-9 * work / theirs, 1e-9 * work / own,
         own / theirs);
  free(x), free(w), free(y);
}

int main(void) {
  static const product products[] = {{"tiny, router", TOKENS, 8, 128},
                                     {"tiny, qkv", TOKENS, 384, 128},
                                     {"tiny, expert, up", TOKENS / 4, 256, 128},
                                     {"tiny, expert, down", TOKENS / 4, 128, 256},
                                     {"tiny, head", TOKENS, 257, 128},
                                     {"tiny, attention scores", 64, 128, 32},
                                     {"111M, expert, up", TOKENS / 8, 2048, 512},
                                     {"111M, expert, down", TOKENS / 8, 512, 2048},
                                     {"111M, attention scores", 64, 2048, 64},
                                     {"588M, router", TOKENS, 16, 1280},
                                     {"588M, qkv", TOKENS, 3840, 1280},
                                     {"588M, expert, up", TOKENS / 8, 5120, 1280},
                                     {"588M, expert, down", TOKENS / 8, 1280, 5120}};
  printf("%d threads\n\n%-24s %6s %6s %6s %9s %9s %7s\n", omp_get_max_threads(), "", "rows",
         "columns", "inner", "OpenBLAS", "ours", "time");
  printf("%-24s %6s %6s %6s %19s %7s\n", "", "", "", "", "GFLOP/s a thread", "ratio");
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) measure(&products[i]);
  return 0;
}
