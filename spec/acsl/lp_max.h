/* lp at p = inf, (P2.inf) of SPEC.md, on sequences of real numbers: max |x_e|, its symmetric
   subgradient, the 1-norm in whose unit ball the conjugate is 0. ACSL only. */
#ifndef PHIBAL_ACSL_LP_MAX_H
#define PHIBAL_ACSL_LP_MAX_H

#include <phibal/acsl/enclosure.h>

/*@ // m is the greatest of |s_0| .. |s_(n-1)|
    predicate dominates(real m, sequence s, integer n) =
      \forall integer i; 0 <= i < n ==> \abs(term(s, i)) <= m;
    predicate greatest(real m, sequence s, integer n) =
      dominates(m, s, n) && \exists integer i; 0 <= i < n && \abs(term(s, i)) == m;
    // the same, one after the other; 0 of none
    logic real larger_magnitude(real a, real b) = a < \abs(b) ? \abs(b) : a;
    logic real magnitude(sequence s, integer n) =
      n <= 0 ? 0.0 : larger_magnitude(magnitude(s, n - 1), term(s, n - 1));
    // how many of them are m
    logic integer reached(sequence s, integer n, real m) =
      n <= 0 ? 0 : reached(s, n - 1, m) + (\abs(term(s, n - 1)) == m ? 1 : 0);
    // the sign of a coordinate that is greatest: + at 0, where all are
    logic real side(real r) = r >= 0.0 ? 1.0 : -1.0;
    // the gradient's coordinate that is r, where k are greatest, m
    logic real share(real r, integer k, real m) = \abs(r) == m ? side(r) / k : 0.0;
    // sum |s_i|
    logic real one_norm(sequence s, integer n) =
      n <= 0 ? 0.0 : one_norm(s, n - 1) + \abs(term(s, n - 1));
*/

#endif
