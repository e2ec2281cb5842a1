/* The experts that a selection holds are those that fewer than `active` come before (R2). ACSL
   only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_SELECTION_RANK_H
#define PHIBAL_ACSL_SELECTION_RANK_H

#include <phibal/acsl/loads_value.h>

/*@ predicate slot_of{L}(int32_t *selected, integer k, integer e) =
      \exists integer s; 0 <= s < k && selected[s] == e;
    predicate slots_differ{L}(int32_t *selected, integer k) =
      \forall integer s, u; 0 <= s < u < k ==> selected[s] != selected[u];
    predicate scores_hold{L}(double *score, integer gate, float *x, float *bias, integer n) =
      \forall integer e; 0 <= e < n ==> (real)score[e] == router_score(gate, x, bias, e);
*/
/* Who comes later has more up to it; the experts up to e are e and those before it; those up to the
   expert in slot s are s + 1. So the slots hold the experts that fewer than k come before. */
/*@ ghost
  /@ requires 0 <= n && 0 <= p && 0 <= e < n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures precedes(score, p, e) ==> up_to(score, p, n) < up_to(score, e, n); @/
  void selection_later(const double *score, int32_t p, int32_t e, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant precedes(score, p, e) ==>
         up_to(score, p, i) + (e < i ? 1 : 0) <= up_to(score, e, i);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert precedes(score, p, e) && !precedes(score, p, i) ==> !precedes(score, e, i); @/
      /@ assert i == e ==> !precedes(score, e, i); @/
      i++;
    }
  }

  /@ requires 0 <= e < n && scores_hold(score, gate, x, bias, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures up_to(score, e, n) == rank(gate, x, bias, e, n) + 1; @/
  void selection_rank(const double *score, phibal_gate gate, const float *x, const float *bias,
                      int32_t e, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant up_to(score, e, i) == rank(gate, x, bias, e, i) + (e < i ? 1 : 0);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert i != e ==> (!precedes(score, e, i) <==> comes_before(gate, x, bias, i, e)); @/
      /@ assert i == e ==> !precedes(score, e, i) && !comes_before(gate, x, bias, i, e); @/
      i++;
    }
  }

  /@ requires 1 <= k <= n && selection(score, n, k, selected);
     requires \valid_read(selected + (0 .. k - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer s; 0 <= s < k ==> up_to(score, selected[s], n) == s + 1; @/
  void selection_slots(const double *score, const int32_t *selected, int32_t k, int32_t n) {
    int32_t s = 0, previous = -1;
    selection_none(score, n);
    /@ loop invariant 0 <= s <= k && previous == (s == 0 ? -1 : selected[s - 1]);
       loop invariant up_to(score, previous, n) == s;
       loop invariant \forall integer u; 0 <= u < s ==> up_to(score, selected[u], n) == u + 1;
       loop assigns s, previous;
       loop variant k - s; @/
    while (s < k) {
      /@ assert later: \forall integer e; 0 <= e < n && e != selected[s] &&
           (previous >= 0 ==> precedes(score, previous, e)) ==> precedes(score, selected[s], e); @/
      /@ assert next(score, n, previous, selected[s]); @/
      selection_next(score, n, previous, selected[s]);
      previous = selected[s];
      s++;
    }
  }

  /@ requires 1 <= k <= n && selection(score, n, k, selected);
     requires scores_hold(score, gate, x, bias, n);
     requires \valid_read(selected + (0 .. k - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures holds: \forall integer e; 0 <= e < n ==>
       (slot_of(selected, k, e) <==> rank(gate, x, bias, e, n) < k); @/
  void selection_holds(const double *score, phibal_gate gate, const float *x, const float *bias,
                       const int32_t *selected, int32_t k, int32_t n) {
    selection_slots(score, selected, k, n);
    int32_t e = 0;
    /@ loop invariant 0 <= e <= n;
       loop invariant \forall integer i; 0 <= i < e ==>
         (slot_of(selected, k, i) <==> rank(gate, x, bias, i, n) < k);
       loop assigns e;
       loop variant n - e; @/
    while (e < n) {
      selection_rank(score, gate, x, bias, e, n);
      /@ assert last: precedes(score, selected[k - 1], e) || slot_of(selected, k, e); @/
      selection_later(score, selected[k - 1], e, n);
      /@ assert above: !slot_of(selected, k, e) ==> k < up_to(score, e, n); @/
      /@ assert among: slot_of(selected, k, e) ==> up_to(score, e, n) <= k; @/
      e++;
    }
  }
*/

#endif
