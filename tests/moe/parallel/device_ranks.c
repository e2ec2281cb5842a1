/* Sums and exchanges of device memory among ranks (kernels/cuda/ranks.h), by the kernels compiled
   for the host: the bits of the CPU's ranks, uneven parts, blocks and counts. To be run by mpirun
   on 4 ranks. */
#include "moe/device/device_internal.h"
#include "moe/parallel/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, MOST = 5000 };
static parallel p;
static device_library library;
static phibal_cuda_ranks *ranks;
static phibal_cuda call;
static const phibal_cuda_members all = {0, 1, RANKS};

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "rank %d: line %d: %s: %s\n", p.rank, __LINE__, #condition,                  \
              library.message ? library.message() : "");                                           \
      parallel_abort(&p, 1);                                                                       \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static const char *none_lost(const void *context) {
  (void)context;
  return NULL;
}

/* Number i of rank r: of 60 binary orders, and every third time rank 2 takes rank 1's away again,
   so that sums depend on their order and precision. */
static float number(int r, int i) {
  if (r == 2 && i % 3 == 0) return -number(1, i);
  uint64_t u = (uint64_t)(r + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
  u = (u ^ u >> 31) * 0x94d049bb133111ebu;
  u ^= u >> 29;
  const int shift = (int)(u >> 40) % 60;
  const float x = (float)(u & 0xffffff) * (float)((uint64_t)1 << shift);
  return u >> 63 ? x : -x;
}

/* x [1 .. n] between two numbers that are no one's, over all ranks or the members that `with` has.
 */
static void sum(int n, size_t workspace, phibal_cuda_members members, const parallel *with) {
  static float x[MOST + 2], want[MOST + 2];
  for (int i = 0; i < n + 2; i++) x[i] = want[i] = number(p.rank, i);
  CHECK(!parallel_sum_floats(with, want + 1, n));
  const size_t needed = library.ranks_sum_workspace(members.count, n);
  call.workspace_bytes = workspace ? workspace : needed;
  unsigned char *memory = malloc(call.workspace_bytes + 64);
  memset(memory, 0x5a, call.workspace_bytes + 64);
  call.workspace = memory;
  CHECK(!library.ranks_sum(ranks, members, n, x + 1, &call));
  CHECK(!library.ranks_wait(ranks, &call));
  for (int i = 0; i < n + 2; i++) CHECK(!memcmp(&x[i], &want[i], sizeof *x));
  for (int i = 0; i < 64; i++) CHECK(memory[call.workspace_bytes + (size_t)i] == 0x5a);
  free(memory);
}

/* Rounded to binary32 after each addition 1 + 2^-24 + 2^-24 + 0 is 1; and of what `sum` compares a
   good part changes with the order. */
static void order(void) {
  float x = p.rank == 0 ? 1 : p.rank < 3 ? 0x1p-24f : 0;
  unsigned char memory[256];
  call.workspace = memory;
  call.workspace_bytes = sizeof memory;
  CHECK(!library.ranks_sum(ranks, all, 1, &x, &call) && x == 1 + 0x1p-23f);
  int narrow = 0, backwards = 0;
  for (int i = 1; i <= MOST; i++) {
    double there = 0, back = 0;
    float rounded = 0;
    for (int r = 0; r < RANKS; r++) {
      there += (double)number(r, i);
      back += (double)number(RANKS - 1 - r, i);
      rounded += number(r, i);
    }
    narrow += (float)there != rounded;
    backwards += (float)there != (float)back;
  }
  CHECK(narrow > 100 && backwards > 10);
}

static void integers(void) {
  uint64_t x[3] = {(uint64_t)1 << 62, UINT64_MAX, (uint64_t)p.rank + 1};
  CHECK(!library.ranks_sum_integers(ranks, 3, x, &call));
  CHECK(x[0] == 0 && x[1] == (uint64_t)-RANKS && x[2] == 10);
}

/* Numbers from rank to rank: rank 2 sends nothing, only its own go to rank 1, and no two others are
   alike, least of all there and back. They lie in the opposite order of the ranks, with gaps. */
static const int64_t numbers[RANKS][RANKS] = {
    {2, 0, 5, 1}, {0, 1, 0, 7}, {0, 0, 0, 0}, {4, 0, 6, 2}};

static void exchange(void) {
  int64_t to[RANKS], to_at[RANKS], from[RANKS], from_at[RANKS], sent = 1, received = 1;
  for (int r = RANKS; r-- > 0;) {
    to[r] = numbers[p.rank][r];
    from[r] = numbers[r][p.rank];
    to_at[r] = sent;
    from_at[r] = received;
    sent += to[r] + 1;
    received += from[r] + 1;
  }
  float send[32], got[32];
  for (int i = 0; i < 32; i++) send[i] = (float)(1000 * p.rank + i), got[i] = -1;
  CHECK(!library.ranks_exchange(ranks, to, to_at, send, from, from_at, got, &call));
  for (int r = 0; r < RANKS; r++) {
    int64_t first = 1;
    for (int after = RANKS - 1; after > p.rank; after--) first += numbers[r][after] + 1;
    for (int64_t i = 0; i < from[r]; i++) {
      CHECK(got[from_at[r] + i] == (float)(1000 * r + first + i));
      got[from_at[r] + i] = -1;
    }
  }
  for (int i = 0; i < 32; i++) CHECK(got[i] == -1);
  /* Rank 3 awaits one number more of rank 0 than it sends. */
  from[0] += p.rank == 3;
  CHECK(library.ranks_exchange(ranks, to, to_at, send, from, from_at, got, &call));
  CHECK(strstr(library.message(), "1 numbers go from rank 0 to rank 3, which awaits 2"));
}

int main(void) {
  if (parallel_begin(false, &p)) return 1;
  CHECK(p.ranks == RANKS && p.launched && p.local == p.rank);
  CHECK(!device_library_open("host-cuda", &library));
  const phibal_cuda_peers peers = {&p, p.rank, p.ranks, p.local, 10, parallel_gather, none_lost};
  CHECK(!library.describe(&call) && !library.ranks_create(&peers, &ranks));
  /* Fewer numbers than ranks, as many, parts that are uneven or empty; in one block and in many. */
  const int counts[] = {0, 1, 3, 4, 5, 9, 1023, MOST};
  const phibal_cuda_members pair = {p.rank / 2 * 2, 1, 2}, every_second = {p.rank % 2, 2, 2};
  const phibal_cuda_members others = {(p.rank + 1) % RANKS, 1, 1};
  parallel two, far;
  parallel_split(&p, p.rank / 2, &two);
  parallel_split(&p, p.rank % 2, &far);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    sum(counts[i], 0, all, &p);
    sum(counts[i], 8 * (RANKS + 1), all, &p);
    sum(counts[i], 4 * (RANKS + 1) * 37 + 3, all, &p);
    sum(counts[i], 0, pair, &two);
    sum(counts[i], 0, every_second, &far);
  }
  CHECK(library.ranks_sum(ranks, others, 0, NULL, &call));
  parallel_release(&two);
  parallel_release(&far);
  order();
  integers();
  exchange();
  library.ranks_destroy(ranks);
  device_library_close(&library);
  if (!p.rank) puts("4 ranks: sums, integers, exchanges of device memory");
  parallel_end(&p);
}
