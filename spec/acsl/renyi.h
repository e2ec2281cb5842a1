/* Renyi's potential (P6) of n coordinates on real numbers: value, gradient, Hessian (P6.h), its
   product with a vector, conjugate, the conjugate's gradient. ACSL only.

   a is the parameter. Where renyi_value_inside does not hold the value is +inf; a gradient and a
   Hessian exist where all coordinates are > 0; the conjugate is +inf where not all of them are < 0,
   and has no gradient there. proofs/coq has the same functions in Potentials.v. */
#ifndef PHIBAL_ACSL_RENYI_H
#define PHIBAL_ACSL_RENYI_H

#include <phibal/acsl/enclosure.h>

/*@ predicate renyi_valid(real a) = 0.0 < a && a < 1.0;
    predicate all_zero_or_more(sequence x, integer n) =
      \forall integer i; 0 <= i < n ==> 0.0 <= term(x, i);
    predicate all_positive(sequence x, integer n) =
      \forall integer i; 0 <= i < n ==> 0.0 < term(x, i);
    predicate all_negative(sequence x, integer n) =
      \forall integer i; 0 <= i < n ==> term(x, i) < 0.0;

    logic real renyi_sum(real a, sequence x, integer n) =
      n <= 0 ? 0.0 : renyi_sum(a, x, n - 1) + power(term(x, n - 1), a);
    logic real renyi_value(real a, sequence x, integer n) =
      \log(renyi_sum(a, x, n)) / (a - 1.0);
    predicate renyi_value_inside(real a, sequence x, integer n) =
      all_zero_or_more(x, n) && 0.0 < renyi_sum(a, x, n);
    logic real renyi_gradient(real a, sequence x, integer n, integer e) =
      a * power(term(x, e), a - 1.0) / ((a - 1.0) * renyi_sum(a, x, n));
    // entry (e, j) of the Hessian
    logic real renyi_hessian(real a, sequence x, integer n, integer e, integer j) =
      (e == j ? a / renyi_sum(a, x, n) * power(term(x, e), a - 2.0) : 0.0) +
      a * a / ((1.0 - a) * (renyi_sum(a, x, n) * renyi_sum(a, x, n))) *
        (power(term(x, e), a - 1.0) * power(term(x, j), a - 1.0));
    // the first m terms of row e's product with v
    logic real renyi_row(real a, sequence x, sequence v, integer n, integer e, integer m) =
      m <= 0 ? 0.0 :
      renyi_row(a, x, v, n, e, m - 1) + renyi_hessian(a, x, n, e, m - 1) * term(v, m - 1);

    logic real renyi_exponent(real a) = a / (1.0 - a);
    logic real renyi_dual_sum(real a, sequence y, integer n) =
      n <= 0 ? 0.0 :
      renyi_dual_sum(a, y, n - 1) + power(-term(y, n - 1), -renyi_exponent(a));
    logic real renyi_conjugate(real a, sequence y, integer n) =
      renyi_exponent(a) * (\log(renyi_exponent(a)) - 1.0) + \log(renyi_dual_sum(a, y, n));
    logic real renyi_conjugate_gradient(real a, sequence y, integer n, integer e) =
      renyi_exponent(a) * power(-term(y, e), -renyi_exponent(a) - 1.0) / renyi_dual_sum(a, y, n);
*/
#endif
