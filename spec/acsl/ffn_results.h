/* Results apart from one another, element by element, and what became of them between two points of
   a program. ACSL only; after reference/ffn_work.h. */
#ifndef PHIBAL_ACSL_FFN_RESULTS_H
#define PHIBAL_ACSL_FFN_RESULTS_H

/*@ // elements of a result are apart from another
    predicate elements_apart(phibal_reference_result r, integer n, phibal_reference_result y,
                             integer m) =
      (r.value != \null ==> \forall integer i; 0 <= i < n ==> result_apart(r.value + i, y, m)) &&
      (r.condition != \null ==>
        \forall integer i; 0 <= i < n ==> result_apart(r.condition + i, y, m));
    // where there is a vector: those of t are apart from it; it was not written; the members of its enclosures are members still;
    // it is apart from work
    predicate optional_outside(phibal_enclosure *z, integer n, phibal_enclosure *t, integer k) =
      z != \null ==> vectors_apart(t, k, z, n);
    predicate optional_same{A, B}(phibal_enclosure *z, integer n) =
      z != \null ==> vector_same{A, B}(z, n);
    predicate optional_members{A, B}(phibal_enclosure *z, integer n) =
      z != \null ==> \forall integer i, real c; 0 <= i < n && in{A}(z + i, c) ==> in{B}(z + i, c);
    predicate optional_apart_work(phibal_enclosure *z, integer n, activation_work *work) =
      z != \null ==> vector_apart_work(z, n, work);
    // a vector was there; the members of its enclosures are members still
    predicate vector_valid{L}(phibal_enclosure *z, integer n) =
      \forall integer i; 0 <= i < n ==> \valid_read{L}(z + i);
    predicate members_kept{A, B}(phibal_enclosure *z, integer n) =
      \forall sequence s; members{A}(z, n, s) ==> members{B}(z, n, s);
*/

/* A predicate of both vectors of a result, of n elements, each a goal of its own (-wp-split); of
   those of two results and of three. _WITH: the predicate has more arguments. */
#define OF_RESULT(r, n, ...) __VA_ARGS__(r.value, n) && __VA_ARGS__(r.condition, n)
#define OF_TWO(r, n, q, m, ...) OF_RESULT(r, n, __VA_ARGS__) && OF_RESULT(q, m, __VA_ARGS__)
#define OF_THREE(n, r, q, p, ...)                                                                  \
  OF_TWO(r, n, q, n, __VA_ARGS__) && OF_RESULT(p, n, __VA_ARGS__)
#define OF_RESULT_WITH(r, n, predicate, ...)                                                       \
  predicate(r.value, n, __VA_ARGS__) && predicate(r.condition, n, __VA_ARGS__)
#define OF_THREE_WITH(n, r, q, p, predicate, ...)                                                  \
  OF_RESULT_WITH(r, n, predicate, __VA_ARGS__) && OF_RESULT_WITH(q, n, predicate, __VA_ARGS__) &&  \
    OF_RESULT_WITH(p, n, predicate, __VA_ARGS__)

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
