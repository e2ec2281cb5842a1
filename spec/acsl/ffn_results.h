/* Results apart from one another, element by element. ACSL only; after ffn.h. */
#ifndef PHIBAL_ACSL_FFN_RESULTS_H
#define PHIBAL_ACSL_FFN_RESULTS_H

/*@ // elements of a result are apart from another
    predicate elements_apart(phibal_reference_result r, integer n, phibal_reference_result y,
                             integer m) =
      (r.value != \null ==> \forall integer i; 0 <= i < n ==> result_apart(r.value + i, y, m)) &&
      (r.condition != \null ==>
        \forall integer i; 0 <= i < n ==> result_apart(r.condition + i, y, m));
*/

/* Of two results apart from one another, elements of each are apart from the other. */
/*@ ghost
  /@ requires results_apart(y, m, r, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures first: elements_apart(r, n, y, m);
     ensures second: elements_apart(y, m, r, n); @/
  static inline void ffn_results_free(phibal_reference_result r, int64_t n,
                                      phibal_reference_result y, int64_t m) {
    /@ assert values: optional_vectors_apart(r.value, n, y.value, m); @/
    /@ assert value_to_condition: optional_vectors_apart(r.value, n, y.condition, m); @/
    /@ assert condition_to_value: optional_vectors_apart(r.condition, n, y.value, m); @/
    /@ assert conditions: optional_vectors_apart(r.condition, n, y.condition, m); @/
    /@ assert value_free: r.value != \null ==> \forall integer i; 0 <= i < n ==>
         result_apart(r.value + i, y, m); @/
    /@ assert condition_free: r.condition != \null ==> \forall integer i; 0 <= i < n ==>
         result_apart(r.condition + i, y, m); @/
  }
*/

#endif
