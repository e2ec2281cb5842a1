/* By induction: a row of Renyi's Hessian times a vector is the diagonal's part and the ray's.
   ACSL only. */
#ifndef PHIBAL_ACSL_RENYI_ROWS_H
#define PHIBAL_ACSL_RENYI_ROWS_H

#include <phibal/acsl/renyi_steps.h>

/*@ ghost
  /@ requires 0 <= e < n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures row_split(n, e, n); @/
  void renyi_row_split(size_t n, size_t e) {
    /@ assert use_renyi_hessian; @/
    size_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant row_split(n, e, m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) {
      /@ assert unfold: \forall real a, sequence x, v;
           renyi_row(a, x, v, n, e, m + 1) ==
             renyi_row(a, x, v, n, e, m) + renyi_hessian(a, x, n, e, m) * term(v, m) &&
           renyi_ray_dot(a, x, v, n, m + 1) == renyi_ray_dot(a, x, v, n, m) +
             renyi_ray(a, term(x, m), renyi_sum(a, x, n)) * term(v, m); @/
      /@ assert entry: \forall real a, sequence x; renyi_valid(a) && 0.0 < renyi_sum(a, x, n) ==>
           renyi_hessian(a, x, n, e, m) ==
             (e == m ? renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) : 0.0) +
             renyi_ray(a, term(x, e), renyi_sum(a, x, n)) *
               renyi_ray(a, term(x, m), renyi_sum(a, x, n)) * renyi_one(a); @/
      m++;
    }
  }
*/
#endif
