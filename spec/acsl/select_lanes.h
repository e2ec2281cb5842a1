/* The logic of keys of tokens side by side, 16 of them: a token's keys are every sixteenth, from
   its first on, and so are its choices. ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_SELECT_LANES_H
#define PHIBAL_ACSL_SELECT_LANES_H

#include <phibal/acsl/select_keys.h>

/*@ // the key of expert e, and choice s
    logic integer lane_key{L}(int64_t *lane, integer e) = lane[16 * e];
    logic integer lane_choice{L}(int32_t *row, integer s) = row[16 * s];

    predicate lane_names{L}(int64_t *lane, integer experts) =
      \forall integer e; 0 <= e < experts ==>
        INT64_MIN < lane_key(lane, e) < INT64_MAX && key_expert(lane_key(lane, e)) == e;
    predicate lane_same{A, B}(int64_t *lane, integer experts) =
      \forall integer e; 0 <= e < experts ==> lane_key{A}(lane, e) == lane_key{B}(lane, e);
    // the keys among the first n that are at least the bound
    logic integer lane_from{L}(int64_t *lane, integer bound, integer n) =
      n <= 0 ? 0 : lane_from(lane, bound, n - 1) + (lane_key(lane, n - 1) >= bound ? 1 : 0);
    predicate lane_below{L}(int64_t *lane, integer bound, integer e) = lane_key(lane, e) < bound;
    predicate lane_more{L}(int64_t *lane, integer experts, integer bound) =
      \exists integer e; 0 <= e < experts && lane_below(lane, bound, e);
    // most is the largest key below the bound, or there is none
    predicate lane_best{L}(int64_t *lane, integer experts, integer bound, integer most) =
      (most == INT64_MIN || (most < bound && 0 <= key_expert(most) < experts &&
                             lane_key(lane, key_expert(most)) == most)) &&
      \forall integer e; 0 <= e < experts && lane_key(lane, e) < bound ==> lane_key(lane, e) <=
   most;

    lemma lane_names_kept{A, B}: \forall int64_t *lane, integer n;
      lane_names{A}(lane, n) && lane_same{A, B}(lane, n) ==> lane_names{B}(lane, n);
    lemma lane_best_kept{A, B}: \forall int64_t *lane, integer n, m, bound, most;
      lane_best{A}(lane, m, bound, most) && m <= n && lane_same{A, B}(lane, n) ==>
      lane_best{B}(lane, m, bound, most);

    predicate lane_at{L}(int32_t *row, integer s, integer e) = lane_choice(row, s) == e;
    predicate lane_has{L}(int32_t *row, integer n, integer e) =
      \exists integer s; 0 <= s < n && lane_at(row, s, e);
    // n choices in falling order, and what is not chosen is below the bound
    predicate lane_taken{L}(int64_t *lane, integer experts, integer n, integer bound,
                            int32_t *row) =
      (\forall integer s; 0 <= s < n ==>
         0 <= lane_choice(row, s) < experts && bound <= lane_key(lane, lane_choice(row, s))) &&
      (\forall integer s, t; 0 <= s < t < n ==>
         lane_key(lane, lane_choice(row, s)) > lane_key(lane, lane_choice(row, t))) &&
      (\forall integer e; 0 <= e < experts ==> lane_has(row, n, e) || lane_key(lane, e) < bound);
    predicate lane_row_same{A, B}(int32_t *row, integer n) =
      \forall integer s; 0 <= s < n ==> lane_choice{A}(row, s) == lane_choice{B}(row, s);
    lemma lane_at_kept{A, B}: \forall int32_t *row, integer s, m, e;
      lane_at{A}(row, s, e) && 0 <= s < m && lane_row_same{A, B}(row, m) ==> lane_at{B}(row, s, e);
    lemma lane_has_kept{A, B}: \forall int32_t *row, integer n, m, e;
      lane_has{A}(row, n, e) && n <= m && lane_row_same{A, B}(row, m) ==> lane_has{B}(row, n, e);
    lemma lane_taken_kept{A, B}:
      \forall int64_t *lane, integer experts, n, m, bound, int32_t *row;
      lane_taken{A}(lane, experts, n, bound, row) && lane_same{A, B}(lane, experts) && n <= m &&
      lane_row_same{A, B}(row, m) ==> lane_taken{B}(lane, experts, n, bound, row);
    // (R2): the experts with the largest keys, in falling order
    predicate lane_selection{L}(int64_t *lane, integer experts, integer active, int32_t *row) =
      (\forall integer s; 0 <= s < active ==> 0 <= lane_choice(row, s) < experts) &&
      (\forall integer s, t; 0 <= s < t < active ==>
         lane_key(lane, lane_choice(row, s)) > lane_key(lane, lane_choice(row, t))) &&
      (\forall integer e; 0 <= e < experts ==> lane_has(row, active, e) ||
         (\forall integer s; 0 <= s < active ==>
            lane_key(lane, e) < lane_key(lane, lane_choice(row, s))));
    lemma lane_taken_selects{L}:
      \forall int64_t *lane, integer experts, n, bound, int32_t *row;
      lane_taken(lane, experts, n, bound, row) ==> lane_selection(lane, experts, n, row);
*/

/* No key is greater than all. */
/*@ ghost
  /@ requires 0 <= experts && \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer l; 0 <= l < 16 ==> lane_from(key + l, INT64_MAX, experts) == 0; @/
  void lanes_none(const int64_t *key, int32_t experts) {
    int32_t l = 0;
    /@ loop invariant 0 <= l <= 16;
       loop invariant \forall integer k; 0 <= k < l ==> lane_from(key + k, INT64_MAX, experts) == 0;
       loop assigns l;
       loop variant 16 - l; @/
    while (l < 16) {
      int32_t i = 0;
      /@ assert lane_names(key + l, experts); @/
      /@ loop invariant 0 <= i <= experts && lane_from(key + l, INT64_MAX, i) == 0;
         loop assigns i;
         loop variant experts - i; @/
      while (i < experts) {
        /@ assert lane_key(key + l, i) < INT64_MAX; @/
        i++;
      }
      l++;
    }
  }
*/
/* When fewer than n keys are at least the bound, one is below it. */
/*@ ghost
  /@ requires 0 <= n && \valid_read(lane + (0 .. 16 * n - 16)) && lane_from(lane, bound, n) < n;
     requires n <= PHIBAL_MAX_EXPERTS;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures lane_more(lane, n, bound); @/
  void lane_left(const int64_t *lane, int64_t bound, int32_t n) {
    int32_t i = n;
    /@ loop invariant 1 <= i <= n && lane_from(lane, bound, i) < i;
       loop assigns i;
       loop variant i; @/
    while (lane[16 * (i - 1)] >= bound) {
      /@ assert lane_key(lane, i - 1) >= bound; @/
      i--;
    }
    /@ assert lane_below(lane, bound, i - 1); @/
  }
*/

#endif
