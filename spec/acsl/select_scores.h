/* The logic of top-k selection by insertion, beside selection.h. ACSL only; definitions and no
   axiom. */
#ifndef PHIBAL_ACSL_SELECT_SCORES_H
#define PHIBAL_ACSL_SELECT_SCORES_H

#include <phibal/acsl/selection.h>

/*@ // n of the experts below `experts`, in order
    predicate chosen{L}(double *score, integer experts, integer n, int32_t *selected) =
      (\forall integer s; 0 <= s < n ==> 0 <= selected[s] < experts) &&
      (\forall integer s, t; 0 <= s < t < n ==> precedes(score, selected[s], selected[t]));
    predicate has{L}(int32_t *selected, integer n, integer e) =
      \exists integer s; 0 <= s < n && selected[s] == e;
    predicate behind{L}(double *score, integer n, int32_t *selected, integer e) =
      \forall integer s; 0 <= s < n ==> precedes(score, selected[s], e);
    // `selection` in other words
    predicate first{L}(double *score, integer experts, integer n, int32_t *selected) =
      chosen(score, experts, n, selected) &&
      \forall integer e; 0 <= e < experts ==>
        has(selected, n, e) || behind(score, n, selected, e);
*/

/*@ ghost
  /@ requires 0 <= experts && first(score, experts, n, selected);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures selection(score, experts, n, selected); @/
  void select_first(const double *score, int32_t experts, int32_t n, const int32_t *selected) {
    int32_t e = 0;
    /@ loop invariant 0 <= e <= experts;
       loop invariant \forall integer f; 0 <= f < e ==>
         (\exists integer s; 0 <= s < n && selected[s] == f) ||
         (\forall integer s; 0 <= s < n ==> precedes(score, selected[s], f));
       loop assigns e;
       loop variant experts - e; @/
    while (e < experts) {
      /@ assert has(selected, n, e) || behind(score, n, selected, e); @/
      e++;
    }
  }
*/

#endif
