/* By induction: Renyi's sum of powers, and so its value and gradient, move one way with every
   coordinate. ACSL only. */
#ifndef PHIBAL_ACSL_RENYI_SUMS_H
#define PHIBAL_ACSL_RENYI_SUMS_H

#include <phibal/acsl/renyi_steps.h>

/*@ ghost
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures sum_rises(n); @/
  void renyi_sum_rises(size_t n) {
    /@ assert use_renyi_order; @/
    size_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant sum_rises(m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) m++;
  }
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures sum_positive(n); @/
  void renyi_sum_positive(size_t n) {
    /@ assert use_renyi && use_raised; @/
    size_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant sum_nonnegative(m);
       loop invariant sum_positive(m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) m++;
  }
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures values_fall(n) && inside_rises(n); @/
  void renyi_values_fall(size_t n) {
    /@ assert use_renyi_order; @/
    renyi_sum_rises(n);
    renyi_sum_positive(n);
  }
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures gradients_rise(n); @/
  void renyi_gradients_rise(size_t n) {
    /@ assert use_renyi_order; @/
    renyi_sum_rises(n);
    renyi_sum_positive(n);
    /@ assert positive: \forall real a, sequence s, integer e;
         renyi_valid(a) && all_positive(s, n) && 0 <= e < n ==> 0.0 < term(s, e) &&
           all_zero_or_more(s, n) && 0.0 < renyi_sum(a, s, n); @/
  }
*/
#endif
