#include "parallel.h"
#include "rendezvous.h"
#include <stdlib.h>
#include <string.h>

/* Started by mpirun or srun: starting MPI without one takes a tenth of a second, and a run that
   does not need it should not depend on it. */
static int ranks_of_variable(const char *name) {
  const char *value = getenv(name);
  return value && atoi(value) > 0 ? atoi(value) : 0;
}

static int ranks_of_environment(void) {
  const int ranks = ranks_of_variable("OMPI_COMM_WORLD_SIZE");
  return ranks ? ranks : ranks_of_variable("PMI_SIZE");
}

static phibal_status begin_mpi(parallel *p);

/* srun may offer PMI too, which not every MPI supports; devices do not use it. */
phibal_status parallel_begin(bool devices, parallel *p) {
  *p = (parallel){.ranks = 1};
  if (ranks_of_variable("OMPI_COMM_WORLD_SIZE")) return begin_mpi(p);
  launcher l;
  phibal_status status = launcher_find(&l);
  if (status) return status;
  if (ranks_of_environment() && (l.ranks == 0 || !devices)) return begin_mpi(p);
  if (!devices && l.ranks > 1)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "started as rank %d of %d by torchrun's or Slurm's variables: without "
                             "--device, several processes are started by mpirun",
                             l.rank, l.ranks);
  if (!devices || l.ranks == 0) return PHIBAL_OK;
  *p = (parallel){.rank = l.rank, .ranks = l.ranks, .local = l.local, .launched = true};
  return rendezvous_open(&l, parallel_timeout(), &p->rendezvous);
}

const char *parallel_lost(const void *context) {
  const parallel *p = context;
  return p->rendezvous ? rendezvous_lost(p->rendezvous) : NULL;
}

/* All-gather over TCP, [ranks][bytes]; null if a rank has ended. */
static void *tcp_gather(const parallel *p, const void *own, size_t bytes) {
  void *all = malloc((size_t)p->ranks * bytes);
  if (all && !rendezvous_gather(p->rendezvous, own, bytes, all)) return all;
  free(all);
  return NULL;
}

static void tcp_sum_doubles(const parallel *p, double *x, int32_t n) {
  double *all = tcp_gather(p, x, (size_t)n * sizeof *x);
  for (int32_t i = 0; i < n && all; i++) {
    x[i] = 0;
    for (int32_t r = 0; r < p->ranks; r++) x[i] += all[r * n + i];
  }
  free(all);
}

static void tcp_sum_integers(const parallel *p, int64_t n, int64_t *x) {
  int64_t *all = tcp_gather(p, x, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n && all; i++) {
    x[i] = 0;
    for (int32_t r = 0; r < p->ranks; r++) x[i] += all[r * n + i];
  }
  free(all);
}

static int tcp_max(const parallel *p, int x) {
  int *all = tcp_gather(p, &x, sizeof x);
  for (int32_t r = 0; r < p->ranks && all; r++) x = all[r] > x ? all[r] : x;
  free(all);
  return x;
}

/* A successful run ends on all ranks at once, so that none reports another as lost. */
static void leave(const parallel *p) {
  parallel_barrier(p);
  rendezvous_close(p->rendezvous);
}

double parallel_timeout(void) {
  const char *value = getenv("PHIBAL_TIMEOUT");
  const double seconds = value ? atof(value) : 0;
  return seconds > 0 ? seconds : 600;
}

#if PHIBAL_HAVE_MPI

#include <limits.h>
#include <mpi.h>

const char *parallel_library(void) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  if (MPI_Get_library_version(version, &length)) return "MPI";
  version[strcspn(version, ",\n")] = 0;
  return version;
}

static phibal_status begin_mpi(parallel *p) {
  int rank, ranks, local;
  MPI_Comm machine;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &local);
  MPI_Comm_free(&machine);
  *p = (parallel){rank, ranks, MPI_Comm_c2f(MPI_COMM_WORLD), local, true, NULL};
  return PHIBAL_OK;
}

void parallel_end(const parallel *p) {
  if (p->rendezvous) leave(p);
  int begun, ended;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun && !ended) MPI_Finalize();
}

static MPI_Comm ranks_of(const parallel *p) {
  return MPI_Comm_f2c(p->communicator);
}

void parallel_abort(parallel *p, int status) {
  if (!p->rendezvous && p->ranks > 1) MPI_Abort(MPI_COMM_WORLD, status);
  rendezvous_close(p->rendezvous);
  p->rendezvous = NULL;
}

void parallel_split(const parallel *p, int32_t colour, parallel *part) {
  *part = (parallel){.ranks = 1};
  if (p->ranks == 1 || p->rendezvous) return;
  MPI_Comm found;
  int rank, ranks;
  MPI_Comm_split(ranks_of(p), colour, p->rank, &found);
  MPI_Comm_rank(found, &rank);
  MPI_Comm_size(found, &ranks);
  *part = (parallel){.rank = rank, .ranks = ranks, .communicator = MPI_Comm_c2f(found)};
}

void parallel_release(parallel *part) {
  if (part->communicator) {
    MPI_Comm own = ranks_of(part);
    MPI_Comm_free(&own);
  }
  *part = (parallel){.ranks = 1};
}

static phibal_status memory_error(const parallel *p) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to add up %d ranks", p->ranks);
}

phibal_status parallel_sum_parts(const parallel *p, const int64_t *starts, float *x) {
  if (p->ranks == 1) return PHIBAL_OK;
  const int64_t own = starts[p->rank + 1] - starts[p->rank];
  int *counts = malloc(4 * (size_t)p->ranks * sizeof *counts);
  float *parts = malloc((size_t)(own * p->ranks + 1) * sizeof *parts);
  if (!counts || !parts) {
    free(counts);
    free(parts);
    return memory_error(p);
  }
  int *places = counts + p->ranks, *part_counts = places + p->ranks,
      *part_places = part_counts + p->ranks;
  for (int32_t r = 0; r < p->ranks; r++) {
    counts[r] = (int)(starts[r + 1] - starts[r]);
    places[r] = (int)(starts[r] - starts[0]);
    part_counts[r] = (int)own;
    part_places[r] = (int)(own * r);
  }
  MPI_Alltoallv(x + starts[0], counts, places, MPI_FLOAT, parts, part_counts, part_places,
                MPI_FLOAT, ranks_of(p));
  float *sums = x + starts[p->rank];
  for (int64_t i = 0; i < own; i++) {
    double sum = (double)parts[i];
    for (int32_t r = 1; r < p->ranks; r++) sum += (double)parts[own * r + i];
    sums[i] = (float)sum;
  }
  free(counts);
  free(parts);
  return PHIBAL_OK;
}

/* One part after another: a part's owner sends it to all. */
void parallel_gather_parts(const parallel *p, const int64_t *starts, float *x) {
  for (int32_t r = 0; r < p->ranks && p->ranks > 1; r++)
    if (starts[r + 1] > starts[r])
      MPI_Bcast(x + starts[r], (int)(starts[r + 1] - starts[r]), MPI_FLOAT, r, ranks_of(p));
}

phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n) {
  if (p->ranks == 1) return PHIBAL_OK;
  const int64_t block = (int64_t)1 << 22;
  int64_t *starts = malloc(((size_t)p->ranks + 1) * sizeof *starts);
  phibal_status status = starts ? PHIBAL_OK : memory_error(p);
  for (int64_t i = 0; i < n && !status; i += block) {
    const int64_t length = n - i < block ? n - i : block;
    for (int32_t r = 0; r <= p->ranks; r++) starts[r] = i + length * r / p->ranks;
    status = parallel_sum_parts(p, starts, x);
    if (!status) parallel_gather_parts(p, starts, x);
  }
  free(starts);
  return status;
}

void parallel_merge_doubles(const parallel *p, double *x, int64_t n) {
  const int64_t block = (int64_t)1 << 22;
  for (int64_t i = 0; i < n && p->ranks > 1; i += block)
    MPI_Allreduce(MPI_IN_PLACE, x + i, (int)(n - i < block ? n - i : block), MPI_DOUBLE, MPI_SUM,
                  ranks_of(p));
}

void parallel_merge_words(const parallel *p, uint32_t *x, int64_t n) {
  if (p->ranks == 1) return;
  MPI_Reduce(p->rank ? x : MPI_IN_PLACE, p->rank ? NULL : x, (int)n, MPI_UINT32_T, MPI_BOR, 0,
             ranks_of(p));
}

const char *parallel_gather(const void *context, const void *own, size_t bytes, void *all) {
  const parallel *p = context;
  if (p->rendezvous) return rendezvous_gather(p->rendezvous, own, bytes, all);
  if (bytes > INT_MAX) return "2 GiB or more per rank, too much for MPI";
  if (p->ranks == 1)
    memcpy(all, own, bytes);
  else
    MPI_Allgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, ranks_of(p));
  return NULL;
}

void parallel_broadcast(const void *context, int64_t *x) {
  const parallel *p = context;
  if (p->ranks > 1) MPI_Bcast(x, 1, MPI_INT64_T, 0, ranks_of(p));
}

void parallel_exchange_counts(const void *context, int32_t n, const int64_t *send,
                              int64_t *receive) {
  const parallel *p = context;
  if (p->ranks == 1)
    memcpy(receive, send, (size_t)n * sizeof *send);
  else
    MPI_Alltoall(send, n, MPI_INT64_T, receive, n, MPI_INT64_T, ranks_of(p));
}

/* MPI's counts and displacements, in rows; false if they do not fit. */
static bool rows_place(int32_t ranks, const int64_t *rows, int *counts, int *places) {
  int64_t at = 0;
  for (int32_t r = 0; r < ranks; r++) {
    if (rows[r] > INT_MAX || at > INT_MAX) return false;
    counts[r] = (int)rows[r];
    places[r] = (int)at;
    at += rows[r];
  }
  return at <= INT_MAX;
}

phibal_status parallel_exchange_rows(const void *context, int32_t width, const int64_t *to,
                                     const float *send, const int64_t *from, float *receive) {
  const parallel *p = context;
  if (p->ranks == 1) {
    if (*to) memcpy(receive, send, (size_t)*to * (size_t)width * sizeof *send);
    return PHIBAL_OK;
  }
  int *counts = malloc(4 * (size_t)p->ranks * sizeof *counts);
  if (!counts)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to exchange rows of %d ranks",
                             p->ranks);
  int *places = counts + p->ranks, *from_counts = places + p->ranks,
      *from_places = from_counts + p->ranks;
  const bool fit = rows_place(p->ranks, to, counts, places) &&
                   rows_place(p->ranks, from, from_counts, from_places);
  if (fit) {
    MPI_Datatype row;
    MPI_Type_contiguous(width, MPI_FLOAT, &row);
    MPI_Type_commit(&row);
    MPI_Alltoallv(send, counts, places, row, receive, from_counts, from_places, row, ranks_of(p));
    MPI_Type_free(&row);
  }
  free(counts);
  return fit ? PHIBAL_OK
             : phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "experts: 2^31 rows or more in one exchange; a smaller "
                                 "batch.micro_sequences has fewer");
}

void parallel_sum_doubles(const parallel *p, double *x, int32_t n) {
  if (p->rendezvous) {
    tcp_sum_doubles(p, x, n);
    return;
  }
  double sum[16] = {0}, theirs[16];
  for (int32_t r = 0; r < p->ranks && p->ranks > 1; r++) {
    if (r == p->rank) memcpy(theirs, x, (size_t)n * sizeof *x);
    MPI_Bcast(theirs, n, MPI_DOUBLE, r, ranks_of(p));
    for (int32_t i = 0; i < n; i++) sum[i] += theirs[i];
  }
  if (p->ranks > 1) memcpy(x, sum, (size_t)n * sizeof *x);
}

void parallel_sum_integers(const void *context, int64_t n, int64_t *x) {
  const parallel *p = context;
  if (p->rendezvous)
    tcp_sum_integers(p, n, x);
  else if (p->ranks > 1)
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_INT64_T, MPI_SUM, ranks_of(p));
}

int parallel_max(const parallel *p, int x) {
  if (p->rendezvous) return tcp_max(p, x);
  if (p->ranks > 1) MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MAX, ranks_of(p));
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
  MPI_Allreduce(own->probability, probability, limbs, MPI_UINT64_T, MPI_SUM, ranks_of(p));
  MPI_Allreduce(own->count, count, own->experts, MPI_INT64_T, MPI_SUM, ranks_of(p));
  MPI_Allreduce(MPI_IN_PLACE, &sum.tokens, 1, MPI_INT64_T, MPI_SUM, ranks_of(p));
  return phibal_loads_add(to, &sum);
}

#else

const char *parallel_library(void) {
  return NULL;
}

static phibal_status begin_mpi(parallel *p) {
  *p = (parallel){.ranks = 1};
  if (ranks_of_environment() < 2) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "started as one of %d ranks, and this build has no MPI: install "
                           "libopenmpi-dev and build again",
                           ranks_of_environment());
}

void parallel_end(const parallel *p) {
  if (p->rendezvous) leave(p);
}

void parallel_abort(parallel *p, int status) {
  (void)status;
  rendezvous_close(p->rendezvous);
  p->rendezvous = NULL;
}

void parallel_split(const parallel *p, int32_t colour, parallel *part) {
  (void)p, (void)colour;
  *part = (parallel){.ranks = 1};
}

void parallel_release(parallel *part) {
  *part = (parallel){.ranks = 1};
}

phibal_status parallel_sum_parts(const parallel *p, const int64_t *starts, float *x) {
  (void)p, (void)starts, (void)x;
  return PHIBAL_OK;
}

void parallel_gather_parts(const parallel *p, const int64_t *starts, float *x) {
  (void)p, (void)starts, (void)x;
}

void parallel_merge_doubles(const parallel *p, double *x, int64_t n) {
  (void)p, (void)x, (void)n;
}

void parallel_merge_words(const parallel *p, uint32_t *x, int64_t n) {
  (void)p, (void)x, (void)n;
}

const char *parallel_gather(const void *context, const void *own, size_t bytes, void *all) {
  const parallel *p = context;
  if (p->rendezvous) return rendezvous_gather(p->rendezvous, own, bytes, all);
  memcpy(all, own, bytes);
  return NULL;
}

void parallel_broadcast(const void *context, int64_t *x) {
  (void)context, (void)x;
}

void parallel_exchange_counts(const void *context, int32_t n, const int64_t *send,
                              int64_t *receive) {
  (void)context;
  memcpy(receive, send, (size_t)n * sizeof *send);
}

phibal_status parallel_exchange_rows(const void *context, int32_t width, const int64_t *to,
                                     const float *send, const int64_t *from, float *receive) {
  (void)context, (void)from;
  if (*to) memcpy(receive, send, (size_t)*to * (size_t)width * sizeof *send);
  return PHIBAL_OK;
}

phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n) {
  (void)p, (void)x, (void)n;
  return PHIBAL_OK;
}

void parallel_sum_doubles(const parallel *p, double *x, int32_t n) {
  if (p->rendezvous) tcp_sum_doubles(p, x, n);
}

void parallel_sum_integers(const void *context, int64_t n, int64_t *x) {
  const parallel *p = context;
  if (p->rendezvous) tcp_sum_integers(p, n, x);
}

int parallel_max(const parallel *p, int x) {
  return p->rendezvous ? tcp_max(p, x) : x;
}

phibal_status parallel_add_loads(const void *context, const phibal_loads *own, phibal_loads *to) {
  (void)context;
  return phibal_loads_add(to, own);
}

#endif

void parallel_sum_integer(const void *context, int64_t *x) {
  parallel_sum_integers(context, 1, x);
}

/* No rank has the maximum before all have contributed. */
void parallel_barrier(const parallel *p) {
  parallel_max(p, 0);
}
