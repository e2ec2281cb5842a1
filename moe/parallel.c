#include "parallel.h"
#include <stdlib.h>
#include <string.h>

/* Started by mpirun or srun: starting MPI without one takes a tenth of a second, and a run that
   does not need it should not depend on it. */
static int ranks_of_environment(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && atoi(value) > 0) return atoi(value);
  }
  return 0;
}

#if PHIBAL_HAVE_MPI

#include <mpi.h>

const char *parallel_library(void) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  if (MPI_Get_library_version(version, &length)) return "MPI";
  version[strcspn(version, ",\n")] = 0;
  return version;
}

phibal_status parallel_begin(parallel *p) {
  *p = (parallel){0, 1};
  if (!ranks_of_environment()) return PHIBAL_OK;
  int rank, ranks;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  *p = (parallel){rank, ranks};
  return PHIBAL_OK;
}

void parallel_end(const parallel *p) {
  (void)p;
  int begun, ended;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun && !ended) MPI_Finalize();
}

void parallel_abort(const parallel *p, int status) {
  if (p->ranks > 1) MPI_Abort(MPI_COMM_WORLD, status);
}

/* Where rank r's part of n elements begins. */
static int64_t part(const parallel *p, int64_t n, int32_t r) {
  return n * r / p->ranks;
}

/* One block: every rank gets its part from all, adds them in the order of the ranks, and gives the
   sums to all. counts, places [2][ranks]; parts [ranks * the largest part]. */
static void sum_block(const parallel *p, float *x, int64_t n, int *counts, int *places,
                      float *parts) {
  const int64_t own = part(p, n, p->rank + 1) - part(p, n, p->rank);
  int *part_counts = counts + p->ranks, *part_places = places + p->ranks;
  for (int32_t r = 0; r < p->ranks; r++) {
    counts[r] = (int)(part(p, n, r + 1) - part(p, n, r));
    places[r] = (int)part(p, n, r);
    part_counts[r] = (int)own;
    part_places[r] = (int)(own * r);
  }
  MPI_Alltoallv(x, counts, places, MPI_FLOAT, parts, part_counts, part_places, MPI_FLOAT,
                MPI_COMM_WORLD);
  float *sums = x + part(p, n, p->rank);
  for (int64_t i = 0; i < own; i++) {
    double sum = (double)parts[i];
    for (int32_t r = 1; r < p->ranks; r++) sum += (double)parts[own * r + i];
    sums[i] = (float)sum;
  }
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, counts, places, MPI_FLOAT, MPI_COMM_WORLD);
}

phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n) {
  if (p->ranks == 1) return PHIBAL_OK;
  const int64_t block = (int64_t)1 << 22;
  int *counts = malloc(4 * (size_t)p->ranks * sizeof *counts);
  float *parts = malloc((size_t)(block + p->ranks) * sizeof *parts);
  phibal_status status = PHIBAL_OK;
  if (!counts || !parts)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to add up %d ranks", p->ranks);
  for (int64_t i = 0; i < n && !status; i += block)
    sum_block(p, x + i, n - i < block ? n - i : block, counts, counts + 2 * p->ranks, parts);
  free(counts);
  free(parts);
  return status;
}

void parallel_sum_doubles(const parallel *p, double *x, int32_t n) {
  double sum[16] = {0}, theirs[16];
  for (int32_t r = 0; r < p->ranks && p->ranks > 1; r++) {
    if (r == p->rank) memcpy(theirs, x, (size_t)n * sizeof *x);
    MPI_Bcast(theirs, n, MPI_DOUBLE, r, MPI_COMM_WORLD);
    for (int32_t i = 0; i < n; i++) sum[i] += theirs[i];
  }
  if (p->ranks > 1) memcpy(x, sum, (size_t)n * sizeof *x);
}

void parallel_sum_integer(const void *context, int64_t *x) {
  const parallel *p = context;
  if (p->ranks > 1) MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

int parallel_largest(const parallel *p, int x) {
  if (p->ranks > 1) MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return x;
}

/* Each rank's limbs are below 2^32, so the sum of 2^31 ranks fits; the carries are made by
   phibal_loads_add. */
phibal_status parallel_add_loads(const void *context, const phibal_loads *own, phibal_loads *to) {
  const parallel *p = context;
  if (p->ranks == 1) return phibal_loads_add(to, own);
  const int limbs = own->experts * PHIBAL_LOAD_LIMBS;
  uint64_t probability[PHIBAL_MAX_EXPERTS * PHIBAL_LOAD_LIMBS];
  int64_t count[PHIBAL_MAX_EXPERTS];
  phibal_loads sum = {own->experts, own->active, own->tokens, probability, count};
  MPI_Allreduce(own->probability, probability, limbs, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(own->count, count, own->experts, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &sum.tokens, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return phibal_loads_add(to, &sum);
}

void parallel_meet(const parallel *p) {
  if (p->ranks > 1) MPI_Barrier(MPI_COMM_WORLD);
}

#else

const char *parallel_library(void) {
  return NULL;
}

phibal_status parallel_begin(parallel *p) {
  *p = (parallel){0, 1};
  if (ranks_of_environment() < 2) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "started as one of %d ranks, and this build has no MPI: install "
                           "libopenmpi-dev and build again",
                           ranks_of_environment());
}

void parallel_end(const parallel *p) {
  (void)p;
}

void parallel_abort(const parallel *p, int status) {
  (void)p, (void)status;
}

phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n) {
  (void)p, (void)x, (void)n;
  return PHIBAL_OK;
}

void parallel_sum_doubles(const parallel *p, double *x, int32_t n) {
  (void)p, (void)x, (void)n;
}

void parallel_sum_integer(const void *context, int64_t *x) {
  (void)context, (void)x;
}

int parallel_largest(const parallel *p, int x) {
  (void)p;
  return x;
}

phibal_status parallel_add_loads(const void *context, const phibal_loads *own, phibal_loads *to) {
  (void)context;
  return phibal_loads_add(to, own);
}

void parallel_meet(const parallel *p) {
  (void)p;
}

#endif
