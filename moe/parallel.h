/* Several processes that train one model, over MPI: data parallelism. Sums are formed in the order
   of the ranks, so that a run on so many ranks is the same to the bit each time. Where the build
   has no MPI, or the program was not started by mpirun, there is one rank, and nothing here does
   anything.

   An error of MPI ends the whole job with MPI's own message; no function below returns then. */
#ifndef PHIBAL_MOE_PARALLEL_H
#define PHIBAL_MOE_PARALLEL_H

#include <phibal/router.h>
#include <stdbool.h>

typedef struct parallel {
  int32_t rank, ranks; /* 0 <= rank < ranks */
} parallel;

/* "Open MPI v4.1.4, ..."; null where the build has no MPI. */
const char *parallel_library(void);

/* Joins the job that mpirun (Open MPI's, or one that speaks PMI) has started this process for.
   PHIBAL_ERROR_UNSUPPORTED if there is one of several ranks and the build has no MPI. */
phibal_status parallel_begin(parallel *p);
void parallel_end(const parallel *p);
/* Ends every rank of the job with this exit status, so that none waits for this one. */
void parallel_abort(const parallel *p, int status);

/* x becomes the sum over all ranks: of binary32 each sum is formed in binary64 and rounded once.
 */
phibal_status parallel_sum_floats(const parallel *p, float *x, int64_t n);
void parallel_sum_doubles(const parallel *p, double *x, int32_t n); /* n <= 16 */
void parallel_sum_integer(const void *context, int64_t *x);
/* The largest of all ranks. */
int parallel_largest(const parallel *p, int x);
/* to += the sum of every rank's `own`, exactly. This and the sum of integers take a `const parallel
 *` as the context that model_ranks has. */
phibal_status parallel_add_loads(const void *context, const phibal_loads *own, phibal_loads *to);
/* Waits until every rank is here. */
void parallel_meet(const parallel *p);

#endif
