/* Several processes that train one model, over MPI. Sums are formed in the order of the ranks, so
   that a run on so many ranks is the same to the bit each time. Where the program was not started
   as one of several, there is one rank, and nothing here does anything.

   An error of MPI ends the whole job with MPI's own message; no function below returns then.

   Ranks that have a device each may have been started by torchrun or srun (launcher.h), and meet by
   TCP (rendezvous.h). Then there are gathering, meeting, the sums of a few numbers and the largest;
   a rank that ends leaves the others' numbers as they were, and parallel_lost says it. */
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

/* Joins the job that mpirun (Open MPI's, or one that speaks PMI) has started this process for; with
   `devices` torchrun and srun too. PHIBAL_ERROR_UNSUPPORTED if there is one of several ranks that
   cannot be joined: without MPI in the build, or by torchrun or srun and without devices. */
phibal_status parallel_begin(bool devices, parallel *p);
/* Null, or which rank has ended; under MPI null, for mpirun ends them all. Does not wait. The
   context is a `const parallel *`. */
const char *parallel_lost(const void *context);
void parallel_end(const parallel *p);
/* Seconds that a rank waits for another before it gives up: PHIBAL_TIMEOUT, or 600. MPI itself
   waits for ever. */
double parallel_timeout(void);
/* Ends every rank of the job with this exit status, so that none waits for this one. */
void parallel_abort(parallel *p, int status);

/* The ranks of p that give the same colour, in the order they have in p. All of p call it. */
void parallel_split(const parallel *p, int32_t colour, parallel *part);
void parallel_release(parallel *part);

/* x becomes the sum over all ranks; each sum is formed in binary64 and rounded once. */
phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n);
/* The two halves of it. Part r of x [starts[0] .. starts[ranks]) begins at starts[r]. The first
   gives every rank the sums of its own part and leaves the others as they were; the second gives
   the parts to all. starts[ranks] - starts[0] < 2^31. */
phibal_status parallel_sum_parts(const parallel *p, const int64_t *starts, float *x);
void parallel_gather_parts(const parallel *p, const int64_t *starts, float *x);
/* Each element is zero on all ranks but one at most; x becomes what that one has: exactly. */
void parallel_merge_doubles(const parallel *p, double *x, int64_t n);
/* The same of 32-bit words, for rank 0 alone; the others' x are as they were. n < 2^31. */
void parallel_merge_words(const parallel *p, uint32_t *x, int64_t n);
/* all [ranks][bytes] becomes what every rank has in own [bytes]. Returns null, or what went wrong:
   bytes is 2^31 or more. The context is a `const parallel *`. */
const char *parallel_gather(const void *context, const void *own, size_t bytes, void *all);
/* x of rank 0. */
void parallel_broadcast(const void *context, int64_t *x);

/* All to all: send [ranks][n], receive [ranks][n]; receive[r] is what rank r has in send[this]. */
void parallel_exchange_counts(const void *context, int32_t n, const int64_t *send,
                              int64_t *receive);
/* All to all of rows of `width` binary32 numbers: to[r] rows go to rank r, from[r] come from it,
   zero among them; both arrays lie in the order of the ranks without gaps. PHIBAL_ERROR_ARGUMENT at
   2^31 rows or more. */
phibal_status parallel_exchange_rows(const void *context, int32_t width, const int64_t *to,
                                     const float *send, const int64_t *from, float *receive);
void parallel_sum_doubles(const parallel *p, double *x, int32_t n); /* n <= 16 */
void parallel_sum_integer(const void *context, int64_t *x);
/* The largest of all ranks. */
int parallel_max(const parallel *p, int x);
/* to += the sum of every rank's `own`, exactly. This, the sum of integers and the exchanges take a
   `const parallel *` as the context that model_ranks and model_expert_ranks have. */
phibal_status parallel_add_loads(const void *context, const phibal_loads *own, phibal_loads *to);
/* Waits until every rank is here. */
void parallel_barrier(const parallel *p);

#endif
