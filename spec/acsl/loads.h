/* The logic of loads over a batch: (R6), (R7), and the runs that tokens are shared out to. ACSL
   only. */
#ifndef PHIBAL_ACSL_LOADS_H
#define PHIBAL_ACSL_LOADS_H

#include <phibal/acsl/token.h>
#include <stdint.h>

/* Memory for the counts of the runs, of which one piece at a time is in use: see heap.h. */
/*@ ghost int64_t *count_heap; */
#define COUNT_HEAP_SIZE 0x100000
#define LOADS_ALLOCATED TOKEN_ALLOCATED, count_heap[0 .. COUNT_HEAP_SIZE - 1]

/* More numbers than memory holds; more than a run counts of those. */
#define TOKEN_LOGITS_MAX 0x2000000000000000
#define RUN_COUNT_MAX 0x100000000000000

/*@ // (R7), (V5)
    logic real frequency_of(integer count, integer active, integer tokens) =
      (real)count / ((real)tokens * (real)active);

    // the first of the tokens of run r of 64; that of run 64 is the number of tokens
    logic integer run_start(integer tokens, integer r) =
      (tokens / 64) * r + (r < tokens % 64 ? r : tokens % 64);
    // tokens of n logits each, and their masks, which may be null
    predicate token_rows{L}(float *logits, uint8_t *mask, integer tokens, integer n) =
      0 <= tokens && tokens * n <= TOKEN_LOGITS_MAX &&
      (0 < tokens ==> \valid_read(logits + (0 .. tokens * n - 1))) &&
      (mask == \null || \valid_read(mask + (0 .. tokens - 1)));
    // counts that n more do not overflow; and of at most n
    predicate counts_below{L}(int64_t *count, integer n, integer most) =
      \forall integer e; 0 <= e < n ==> 0 <= count[e] <= most;
    predicate counts_raised{A, B}(int64_t *count, integer n, integer most) =
      \forall integer e; 0 <= e < n ==>
        \at(count[e], A) <= \at(count[e], B) <= \at(count[e], A) + most;
    // sums, if means are wanted
    predicate sums_ready{L}(phibal_enclosure *sum, integer n) =
      sum == \null || vector_output(sum, n);
    predicate sums_apart(phibal_enclosure *r, phibal_enclosure *sum, integer n) =
      sum == \null || vector_apart(r, sum, n);
    predicate sums_token_apart{L}(phibal_reference_token *t, phibal_enclosure *sum, integer n) =
      sum == \null || (\separated(t, sum + (0 .. n - 1)) &&
                       (\forall integer i; 0 <= i < n ==> token_apart(t, sum + i)));
    // of enclosures, none but the token's and the sums were written between A and B
    predicate only_loads_written{A, B}(phibal_reference_token *t, phibal_enclosure *sum,
                                       integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && token_apart{A}(t, r) &&
        sums_apart(r, sum, n) ==> same{A, B}(r);
*/

#endif
