/* What proofs of products along the FFN's chain do step by step. ACSL only; after
   reference/ffn_work.h. */
#ifndef PHIBAL_ACSL_FFN_CHAIN_STEPS_H
#define PHIBAL_ACSL_FFN_CHAIN_STEPS_H

#include <phibal/acsl/ffn_results.h>

/*@ // places for a product's result and temporaries, apart from one another and from the matrix
    predicate chain_places(ffn_matrix x, integer size, phibal_enclosure *t,
                           phibal_reference_result z, integer n) =
      vectors_apart(t, 3, x.entry.value, size) && vectors_apart(t, 3, x.entry.condition, size) &&
      vectors_apart(z.value, n, x.entry.value, size) &&
      vectors_apart(z.value, n, x.entry.condition, size) &&
      vectors_apart(z.value, n, t, 3) &&
      (z.condition != \null ==> vectors_apart(z.condition, n, x.entry.value, size) &&
        vectors_apart(z.condition, n, x.entry.condition, size) &&
        vectors_apart(z.condition, n, t, 3) && vectors_apart(z.value, n, z.condition, n));
    // element m of a result, e, is apart from temporaries, from the other elements, from the matrix
    predicate element_alone(phibal_enclosure *e, ffn_matrix x, integer size, phibal_enclosure *t,
                            phibal_reference_result z, integer n, integer m) =
      vector_apart(e, t, 3) && result_apart(e, z, m) &&
      vector_apart(e, x.entry.value, size) && vector_apart(e, x.entry.condition, size) &&
      (\forall integer i; 0 <= i < n && i != m ==> \separated(z.value + i, e)) &&
      (z.condition != \null ==>
        \forall integer i; 0 <= i < n && i != m ==> \separated(z.condition + i, e));
*/

/* Element m of a result. */
/*@ ghost
  /@ requires chain_places(x, size, t, z, n) && 0 <= m < n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures value: element_alone(z.value + m, x, size, t, z, n, m);
     ensures condition:
       z.condition != \null ==> element_alone(z.condition + m, x, size, t, z, n, m);
     ensures pair: z.condition != \null ==> \separated(z.value + m, z.condition + m) &&
       \separated(z.condition + m, z.value + m); @/
  static inline void chain_element_alone(ffn_matrix x, int64_t size, phibal_enclosure *t,
                                         phibal_reference_result z, int64_t n, int64_t m) {
    /@ assert temporaries: vector_apart(z.value + m, t, 3); @/
    /@ assert temporaries_condition:
         z.condition != \null ==> vector_apart(z.condition + m, t, 3); @/
    /@ assert matrix: vector_apart(z.value + m, x.entry.value, size) &&
         vector_apart(z.value + m, x.entry.condition, size); @/
    /@ assert matrix_condition: z.condition != \null ==>
         vector_apart(z.condition + m, x.entry.value, size) &&
         vector_apart(z.condition + m, x.entry.condition, size); @/
    /@ assert values: \forall integer i; 0 <= i < n && i != m ==>
         \separated(z.value + i, z.value + m) && \separated(z.value + m, z.value + i); @/
    /@ assert pairs: z.condition != \null ==> \forall integer i, j; 0 <= i < n && 0 <= j < n ==>
         \separated(z.value + i, z.condition + j) && \separated(z.condition + j, z.value + i); @/
    /@ assert conditions: z.condition != \null ==> \forall integer i; 0 <= i < n && i != m ==>
         \separated(z.condition + i, z.condition + m) &&
         \separated(z.condition + m, z.condition + i); @/
  }
*/

/* Entries of a matrix are apart from what a product writes. */
/*@ ghost
  /@ requires chain_places(x, size, t, z, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures value: \forall integer i; 0 <= i < size ==>
       vector_apart(x.entry.value + i, t, 3) && result_apart(x.entry.value + i, z, n);
     ensures condition: \forall integer i; 0 <= i < size ==>
       vector_apart(x.entry.condition + i, t, 3) && result_apart(x.entry.condition + i, z, n); @/
  static inline void chain_entries_apart(ffn_matrix x, int64_t size, phibal_enclosure *t,
                                         phibal_reference_result z, int64_t n) {
    /@ assert free: \forall integer i; 0 <= i < size ==> vector_apart(x.entry.value + i, t, 3); @/
    /@ assert condition_free: \forall integer i; 0 <= i < size ==>
         vector_apart(x.entry.condition + i, t, 3); @/
    /@ assert apart: \forall integer i; 0 <= i < size ==>
         vector_apart(x.entry.value + i, z.value, n); @/
    /@ assert apart_condition: \forall integer i; 0 <= i < size ==>
         optional_vector_apart(x.entry.value + i, z.condition, n); @/
    /@ assert condition_apart: \forall integer i; 0 <= i < size ==>
         vector_apart(x.entry.condition + i, z.value, n); @/
    /@ assert condition_apart_condition: \forall integer i; 0 <= i < size ==>
         optional_vector_apart(x.entry.condition + i, z.condition, n); @/
  }
*/

#endif
