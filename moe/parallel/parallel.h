/* Collective operations of the processes that train one model, over MPI. Sums are formed in rank
   order, so a run on the same number of ranks has the same bits each time. With a single process
   there is one rank, and all of these are no-ops.

   An error of MPI ends the whole job with MPI's own message; no function below returns then.

   Ranks with one device each may be started by torchrun or srun (launcher.h) and connect over TCP
   (rendezvous.h). Then only gather, barrier, sums of a few numbers and the maximum are available;
   if a rank ends, the others' numbers are unchanged, and parallel_lost reports it. */
#ifndef PHIBAL_MOE_PARALLEL_H
#define PHIBAL_MOE_PARALLEL_H

#include <phibal/router.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct parallel {
  int32_t rank, ranks;  /* 0 <= rank < ranks */
  int32_t communicator; /* MPI's handle, as Fortran has it; of no meaning where ranks is 1 */
  int32_t local;        /* which of its machine's ranks this is; of the whole job only */
  bool launched;        /* by something that starts several, be this the only one */
  struct rendezvous *rendezvous; /* null: MPI, or alone */
} parallel;

/* "Open MPI v4.1.4, ..."; null where the build has no MPI. */
const char *parallel_library(void);

/* Joins the job of mpirun (Open MPI's, or one with PMI); with `devices` also of torchrun and srun.
   PHIBAL_ERROR_UNSUPPORTED if there is a job of several ranks that cannot be joined: without MPI in
   the build, or by torchrun or srun and without devices. */
phibal_status parallel_begin(bool devices, parallel *p);
/* Null, or which rank has ended; always null under MPI, where mpirun ends them all. Does not wait.
   The context is a `const parallel *`. */
const char *parallel_lost(const void *context);
void parallel_end(const parallel *p);
/* Seconds until a rank gives up waiting for another: PHIBAL_TIMEOUT, or 600. MPI itself waits
   forever. */
double parallel_timeout(void);
/* Ends all ranks of the job with this exit status. */
void parallel_abort(parallel *p, int status);

/* Splits p into the ranks of the same colour, in their order in p. All of p call it. */
void parallel_split(const parallel *p, int32_t colour, parallel *part);
void parallel_release(parallel *part);

/* x becomes the sum over all ranks; each sum is formed in binary64 and rounded once. */
phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n);
/* Reduce-scatter and all-gather. Part r of x [starts[0] .. starts[ranks]) begins at starts[r]. The
   first gives every rank the sums of its own part and leaves the others unchanged; the second
   distributes the parts to all. starts[ranks] - starts[0] < 2^31. */
phibal_status parallel_sum_parts(const parallel *p, const int64_t *starts, float *x);
void parallel_gather_parts(const parallel *p, const int64_t *starts, float *x);
/* Each element is nonzero on at most one rank; x becomes that value on all, exactly. */
void parallel_merge_doubles(const parallel *p, double *x, int64_t n);
/* The same for 32-bit words, on rank 0 only; x of the others is unchanged. n < 2^31. */
void parallel_merge_words(const parallel *p, uint32_t *x, int64_t n);
/* All-gather: all [ranks][bytes] from own [bytes] of every rank. Returns null, or the error:
   bytes is 2^31 or more. The context is a `const parallel *`. */
const char *parallel_gather(const void *context, const void *own, size_t bytes, void *all);
/* Broadcasts x of rank 0. */
void parallel_broadcast(const void *context, int64_t *x);

/* All-to-all: send [ranks][n], receive [ranks][n]; receive[r] is send[this rank] of rank r. */
void parallel_exchange_counts(const void *context, int32_t n, const int64_t *send,
                              int64_t *receive);
/* All-to-all of rows of `width` binary32 numbers: to[r] rows go to rank r, from[r] come from it,
   possibly zero; both arrays are in rank order without gaps. PHIBAL_ERROR_ARGUMENT at 2^31 rows or
   more. */
phibal_status parallel_exchange_rows(const void *context, int32_t width, const int64_t *to,
                                     const float *send, const int64_t *from, float *receive);
void parallel_sum_doubles(const parallel *p, double *x, int32_t n); /* n <= 16 */
void parallel_sum_integer(const void *context, int64_t *x);
void parallel_sum_integers(const void *context, int64_t n, int64_t *x); /* n < 2^31 */
/* The maximum over all ranks. */
int parallel_max(const parallel *p, int x);
/* to += the sum of every rank's `own`, exactly. This, the sums of integers and the exchanges take a
   `const parallel *` as the context that model_ranks and model_expert_ranks have. */
phibal_status parallel_add_loads(const void *context, const phibal_loads *own, phibal_loads *to);
/* Waits for all ranks. */
void parallel_barrier(const parallel *p);

#endif
