/* The logic of top-k selection (R2). ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_SELECTION_H
#define PHIBAL_ACSL_SELECTION_H

#include <stdint.h>

/*@ // expert i comes before expert j: higher score, or the same and the lower index. The scores are
    // finite, and compared as the real numbers they are.
    predicate precedes{L}(double *score, integer i, integer j) =
      score[i] > score[j] || (score[i] == score[j] && i < j);
    predicate scores_finite{L}(double *score, integer experts) =
      \forall integer e; 0 <= e < experts ==> \is_finite(score[e]);

    // the experts below n that are p or come before it; none for p = -1
    logic integer up_to{L}(double *score, integer p, integer n) =
      n <= 0 ? 0 : up_to(score, p, n - 1) +
        (p >= 0 && !(score[p] > score[n - 1] || (score[p] == score[n - 1] && p < n - 1)) ? 1 : 0);

    // q comes right after p (-1: is the first)
    predicate next{L}(double *score, integer experts, integer p, integer q) =
      0 <= q < experts && (p >= 0 ==> precedes(score, p, q)) &&
      \forall integer e; 0 <= e < experts && e != q && (p >= 0 ==> precedes(score, p, e)) ==>
        precedes(score, q, e);

    // (R2): the first `active` experts in this order, in this order
    predicate selection{L}(double *score, integer experts, integer active, int32_t *selected) =
      (\forall integer s; 0 <= s < active ==> 0 <= selected[s] < experts) &&
      (\forall integer s, t; 0 <= s < t < active ==>
         precedes(score, selected[s], selected[t])) &&
      (\forall integer e; 0 <= e < experts ==>
         (\exists integer s; 0 <= s < active && selected[s] == e) ||
         (\forall integer s; 0 <= s < active ==> precedes(score, selected[s], e)));
*/

/* Whoever is not up to p comes after it: all of them, or at least one is left. */
/*@ ghost
  /@ requires 0 <= n && 0 <= p;
     requires \forall integer e; 0 <= e < n ==> !precedes(score, p, e);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures up_to(score, p, n) == n; @/
  void selection_all(const double *score, int32_t p, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n && up_to(score, p, i) == i;
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/
/*@ ghost
  /@ requires 0 <= n && -1 <= p && next(score, n, p, q);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures up_to(score, q, n) == up_to(score, p, n) + 1; @/
  void selection_next(const double *score, int32_t n, int32_t p, int32_t q) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant up_to(score, q, i) == up_to(score, p, i) + (q < i ? 1 : 0);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert i != q ==> (!precedes(score, q, i) <==> (p >= 0 && !precedes(score, p, i))); @/
      /@ assert i == q ==> !precedes(score, q, i) && (p >= 0 ==> precedes(score, p, i)); @/
      i++;
    }
  }
*/
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures up_to(score, -1, n) == 0; @/
  void selection_none(const double *score, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n && up_to(score, -1, i) == 0;
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/

#endif
