/* The collectives that divide a model, on the ranks of one job: uneven parts, empty ones, ranks
   that send nothing and ranks that nobody sends to. To be run by mpirun on 4 ranks. */
#include "moe/parallel/parallel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, WIDTH = 3 };
static parallel p;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "rank %d: line %d: %s\n", p.rank, __LINE__, #condition);                     \
      parallel_abort(&p, 1);                                                                       \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* Rank 2 sends nothing, nothing goes to rank 1 but from itself, and no two others are alike, least
   of all there and back. */
static const int64_t rows[RANKS][RANKS] = {{2, 0, 5, 1}, {3, 1, 0, 7}, {0, 0, 0, 0}, {4, 0, 6, 2}};

static void exchange(const parallel *with) {
  int64_t from[RANKS], to[RANKS], sent = 0, received = 0, at = 0;
  for (int r = 0; r < RANKS; r++) {
    to[r] = rows[with->rank][r];
    sent += to[r];
  }
  parallel_exchange_counts(with, 1, to, from);
  for (int r = 0; r < RANKS; r++) {
    CHECK(from[r] == rows[r][with->rank]);
    received += from[r];
  }
  float *send = malloc((size_t)(sent + 1) * WIDTH * sizeof *send);
  float *got = malloc((size_t)(received + 1) * WIDTH * sizeof *got);
  float *back = calloc((size_t)(sent + 1) * WIDTH, sizeof *back);
  for (int64_t i = 0; i < sent * WIDTH; i++) send[i] = (float)(1000 * with->rank + i);
  CHECK(!parallel_exchange_rows(with, WIDTH, to, send, from, got));
  for (int r = 0; r < RANKS; r++) {
    int64_t first = 0;
    for (int before = 0; before < with->rank; before++) first += rows[r][before];
    for (int64_t i = 0; i < from[r] * WIDTH; i++)
      CHECK(got[at++] == (float)(1000 * r + first * WIDTH + i));
  }
  CHECK(!parallel_exchange_rows(with, WIDTH, from, got, to, back));
  CHECK(!memcmp(send, back, (size_t)sent * WIDTH * sizeof *send));
  free(send), free(got), free(back);
}

/* Parts of 5, 0, 1 and 4 elements, in the middle of a longer array. The sum of 1, 2^-24, 2^-24 and
   0 is formed in binary64: rounded after each addition it would be 1. */
static void parts(void) {
  const int64_t starts[RANKS + 1] = {2, 7, 7, 8, 12};
  float x[14], want = 1 + 0x1p-23f;
  for (int i = 0; i < 14; i++) x[i] = (float)i;
  for (int i = 2; i < 12; i++) x[i] = p.rank == 0 ? 1 : p.rank < 3 ? 0x1p-24f : 0;
  CHECK(!parallel_sum_parts(&p, starts, x));
  for (int i = (int)starts[p.rank]; i < starts[p.rank + 1]; i++) CHECK(x[i] == want);
  for (int i = 2; i < 12; i++) x[i] = i >= starts[p.rank] && i < starts[p.rank + 1] ? x[i] : -1;
  parallel_gather_parts(&p, starts, x);
  for (int i = 0; i < 14; i++) CHECK(x[i] == (i < 2 || i > 11 ? (float)i : want));
  float y[7] = {1, 2, 3, 4, 5, 6, (float)p.rank};
  CHECK(!parallel_sum_floats(&p, y, 7));
  for (int i = 0; i < 7; i++) CHECK(y[i] == (float)(i < 6 ? 4 * (i + 1) : 6));
}

static void merge(void) {
  double x[5] = {0};
  uint32_t w[5] = {0};
  x[p.rank] = 0.1 * (p.rank + 1);
  w[p.rank] = 0x80000000u | (uint32_t)p.rank;
  parallel_merge_doubles(&p, x, 5);
  for (int r = 0; r < RANKS; r++) CHECK(x[r] == 0.1 * (r + 1));
  CHECK(x[4] == 0);
  parallel_merge_words(&p, w, 5);
  for (int r = 0; r < RANKS && !p.rank; r++) CHECK(w[r] == (0x80000000u | (uint32_t)r));
  int64_t said = p.rank ? 0 : INT64_C(-5000000000);
  parallel_broadcast(&p, &said);
  CHECK(said == INT64_C(-5000000000));
}

/* Ranks {0, 2} and {1, 3}: sums within, in the order of the ranks of the job. */
static void split(void) {
  parallel part;
  parallel_split(&p, p.rank % 2, &part);
  CHECK(part.ranks == 2 && part.rank == p.rank / 2);
  float x = (float)(1 << p.rank);
  CHECK(!parallel_sum_floats(&part, &x, 1));
  CHECK(x == (p.rank % 2 ? 10 : 5));
  parallel_release(&part);
}

int main(void) {
  if (parallel_begin(false, &p)) return 1;
  CHECK(p.ranks == RANKS);
  exchange(&p);
  parallel all;
  parallel_split(&p, 0, &all);
  exchange(&all);
  parallel_release(&all);
  parts();
  merge();
  split();
  if (!p.rank) puts("4 ranks: rows, parts, sums");
  parallel_end(&p);
}
