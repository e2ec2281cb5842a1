/* The logic of select_key: what bits do is asked of Z3 (proofs/frama-c/select_key.smt2), and here
   is what it answered. ACSL only. */
#ifndef PHIBAL_ACSL_SELECT_KEY_H
#define PHIBAL_ACSL_SELECT_KEY_H

/*@ axiomatic SelectKey {
      // the key of a score and an expert
      logic integer key_of(double score, integer expert) reads \nothing;
      // the ten bits that give way to the expert are 0
      predicate key_holds(double score) reads \nothing;
      axiom key_of_names: \forall double x, integer i;
        \is_finite(x) && key_holds(x) && 0 <= i <= 1023 ==>
        -9223372036854775808 < key_of(x, i) < 9223372036854775807 &&
        1023 - (uint64_t)key_of(x, i) % 1024 == i;
      axiom key_of_orders: \forall double x, y, integer i, j;
        \is_finite(x) && \is_finite(y) && key_holds(x) && key_holds(y) &&
        0 <= i <= 1023 && 0 <= j <= 1023 && i != j ==>
        (key_of(x, i) > key_of(y, j) <==> x > y || (x == y && i < j));
    }

    // the keys of the scores of all experts
    predicate keys_hold{L}(double *score, int64_t *key, integer experts) =
      \forall integer e; 0 <= e < experts ==>
        \is_finite(score[e]) && key_holds(score[e]) && key[e] == key_of(score[e], e);
*/

#endif
