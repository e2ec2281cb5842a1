/* By induction: the sum over the dual of Renyi's potential, measured by any scale, and so its
   conjugate, rise with every coordinate. ACSL only. */
#ifndef PHIBAL_ACSL_RENYI_DUAL_H
#define PHIBAL_ACSL_RENYI_DUAL_H

#include <phibal/acsl/renyi_steps.h>

/*@ ghost
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures dual_sum_rises(n) && dual_sum_positive(n); @/
  void renyi_dual_sum_rises(size_t n) {
    /@ assert use_renyi_dual_order; @/
    size_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant dual_sum_rises(m);
       loop invariant dual_sum_positive(m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) m++;
  }
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures weights_scaled(n) && dual_sum_positive(n); @/
  void renyi_weights_scaled(size_t n) {
    /@ assert use_renyi_dual; @/
    renyi_dual_sum_rises(n);
    size_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant weights_scaled(m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) {
      /@ assert narrow: \forall sequence s; all_negative(s, m + 1) ==>
           all_negative(s, m) && term(s, m) < 0.0; @/
      /@ assert weight: \forall real a, r, sequence s;
           renyi_valid(a) && r < 0.0 && all_negative(s, m + 1) ==>
             renyi_weight(renyi_exponent(a), r, term(s, m)) ==
               renyi_scaled(a, r, raised(-term(s, m), -renyi_exponent(a))); @/
      /@ assert unfold: \forall real a, r, sequence s;
           renyi_dual_sum(a, s, m + 1) ==
             renyi_dual_sum(a, s, m) + raised(-term(s, m), -renyi_exponent(a)) &&
           renyi_weights(a, r, s, m + 1) ==
             renyi_weights(a, r, s, m) + renyi_weight(renyi_exponent(a), r, term(s, m)); @/
      /@ assert sum: \forall real a, r, sequence s;
           renyi_scaled(a, r, renyi_dual_sum(a, s, m + 1)) ==
             renyi_scaled(a, r, renyi_dual_sum(a, s, m)) +
             renyi_scaled(a, r, raised(-term(s, m), -renyi_exponent(a))); @/
      /@ assert step: \forall real a, r, sequence s;
           renyi_valid(a) && r < 0.0 && all_negative(s, m + 1) ==>
             renyi_weights(a, r, s, m + 1) ==
               renyi_scaled(a, r, renyi_dual_sum(a, s, m + 1)); @/
      m++;
    }
  }
  /@ requires 1 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures conjugates_rise(n); @/
  void renyi_conjugates_rise(size_t n) {
    /@ assert use_renyi_order; @/
    renyi_dual_sum_rises(n);
    /@ assert negative: \forall sequence s, t;
         all_negative(t, n) && dominated(s, t, n) ==> all_negative(s, n); @/
  }
*/
#endif
