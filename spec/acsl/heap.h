/* Memory for enclosures, as proofs see it. ACSL only. WP takes the valid addresses of a function's
   beginning for those of its end, so that "fresh" memory, "separated from all that was valid", would
   contradict itself. Instead all memory that is ever given out is one array, of which a first part
   has been given out. Programs compare no addresses and use none after they are freed,
   so they cannot tell the difference.

   A function that allocates says `assigns ALLOCATED` besides what it writes for its caller. What it
   leaves alone, it leaves alone only where that was in use before: see kept. */
#ifndef PHIBAL_ACSL_HEAP_H
#define PHIBAL_ACSL_HEAP_H

#include <phibal/acsl/enclosure.h>

/*@ ghost phibal_enclosure *enclosure_heap; */
/*@ ghost long enclosure_heap_used; */
/* More than any program gives out. */
#define ENCLOSURE_HEAP_SIZE 0x4000000000000000
#define ALLOCATED enclosure_heap[0 .. ENCLOSURE_HEAP_SIZE - 1], enclosure_heap_used

/*@ axiomatic Heap {
      // x is not in memory that is yet to be given out
      predicate in_use{L}(phibal_enclosure *x) reads enclosure_heap, enclosure_heap_used;
    }
    axiomatic HeapDefinition {
      predicate open_heap;
      axiom heap_opened: open_heap;
      axiom in_use_is{L}: \forall phibal_enclosure *x; in_use(x) <==>
        (\forall integer i; enclosure_heap_used <= i ==> \separated(x, enclosure_heap + i));
    }
    predicate vector_in_use{L}(phibal_enclosure *x, integer n) =
      \forall integer i; 0 <= i < n ==> in_use(x + i);
    // what was in use stays so
    predicate still_in_use{A, B} =
      \forall phibal_enclosure *r; in_use{A}(r) ==> in_use{B}(r);
    // x[0..n-1] is given out between A and B
    predicate given_out{A, B}(phibal_enclosure *x, integer n) =
      0 <= \at(enclosure_heap_used, A) && \at(enclosure_heap_used, A) + n <= ENCLOSURE_HEAP_SIZE &&
      x == \at(enclosure_heap, A) + \at(enclosure_heap_used, A) && vector_in_use{B}(x, n) &&
      still_in_use{A, B} &&
      (\forall phibal_enclosure *r, integer i; in_use{A}(r) && 0 <= i < n ==> \separated(r, x + i));
    // of what was in use before, nothing was written but z; but z[0..n-1]
    predicate kept{A, B}(phibal_enclosure *z) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && in_use{A}(r) && \separated(r, z) ==>
        same{A, B}(r);
    predicate vector_kept{A, B}(phibal_enclosure *z, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && in_use{A}(r) &&
        (\forall integer i; 0 <= i < n ==> \separated(r, z + i)) ==> same{A, B}(r);
    // nothing but z[0..n-1] was written between A and B
    predicate only_vector_written{A, B}(phibal_enclosure *z, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) &&
        (\forall integer i; 0 <= i < n ==> \separated(r, z + i)) ==> same{A, B}(r);
    // nothing but z and t[0..n-1] was
    predicate only_with_vector_written{A, B}(phibal_enclosure *z, phibal_enclosure *t, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) &&
        (\forall integer i; 0 <= i < n ==> \separated(r, t + i)) ==> same{A, B}(r);
    // nothing but z, t[0..k-1] and x[0..n-1] was
    predicate only_with_vectors_written{A, B}(phibal_enclosure *z, phibal_enclosure *t, integer k,
                                              phibal_enclosure *x, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) &&
        (\forall integer i; 0 <= i < k ==> \separated(r, t + i)) &&
        (\forall integer i; 0 <= i < n ==> \separated(r, x + i)) ==> same{A, B}(r);
    predicate vectors_apart(phibal_enclosure *t, integer k, phibal_enclosure *x, integer n) =
      \forall integer i, j; 0 <= i < k && 0 <= j < n ==> \separated(t + i, x + j);
    predicate vector_apart(phibal_enclosure *z, phibal_enclosure *t, integer n) =
      \forall integer i; 0 <= i < n ==> \separated(z, t + i);
    // t[0..n-1] are new enclosures, apart from all that was in use
    predicate scratch_given{A, B}(phibal_enclosure *t, integer n) =
      vector_output{B}(t, n) && given_out{A, B}(t, n) &&
      (\forall integer i; 0 <= i < n ==> point{B}(t + i) && in{B}(t + i, 0.0));
*/

/* Memory for characters, of which one piece at a time is in use: a function that allocates says
   `assigns TEXT_ALLOCATED`. */
/*@ ghost char *text_heap; */
#define TEXT_ALLOCATED text_heap[0 .. 0x1000000000000000]

#endif
