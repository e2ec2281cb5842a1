/* Renyi's potential (P6) of n coordinates on real numbers: value, gradient, Hessian (P6.h), its
   product with a vector, conjugate, the conjugate's gradient. ACSL only.

   a is the parameter. Where renyi_value_inside does not hold the value is +inf; a gradient and a
   Hessian exist where all coordinates are > 0; the conjugate is +inf where not all of them are < 0,
   and has no gradient there. proofs/coq has the same functions in Potentials.v. */
#ifndef PHIBAL_ACSL_RENYI_H
#define PHIBAL_ACSL_RENYI_H

#include <phibal/acsl/enclosure.h>
#include <phibal/acsl/power.h>

/*@ predicate renyi_valid(real a) = 0.0 < a && a < 1.0;
    predicate all_zero_or_more(sequence x, integer n) =
      \forall integer i; 0 <= i < n ==> 0.0 <= term(x, i);
    predicate all_positive(sequence x, integer n) =
      \forall integer i; 0 <= i < n ==> 0.0 < term(x, i);
    predicate all_negative(sequence x, integer n) =
      \forall integer i; 0 <= i < n ==> term(x, i) < 0.0;

    // S, and what the functions make of it and of coordinates q, r
    logic real renyi_sum(real a, sequence x, integer n) =
      n <= 0 ? 0.0 : renyi_sum(a, x, n - 1) + raised(term(x, n - 1), a);
    logic real renyi_value_of(real a, real total) = \log(total) / (a - 1.0);
    logic real renyi_gradient_of(real a, real q, real total) =
      a * raised(q, a - 1.0) / ((a - 1.0) * total);
    logic real renyi_diagonal_of(real a, real q, real total) =
      a / total * raised(q, a - 2.0);
    logic real renyi_rank_one_of(real a, real q, real r, real total) =
      a * a / ((1.0 - a) * (total * total)) * (raised(q, a - 1.0) * raised(r, a - 1.0));

    predicate renyi_value_inside(sequence x, integer n) =
      all_zero_or_more(x, n) && (\exists integer i; 0 <= i < n && 0.0 < term(x, i));
    logic real renyi_value(real a, sequence x, integer n) =
      renyi_value_of(a, renyi_sum(a, x, n));
    logic real renyi_gradient(real a, sequence x, integer n, integer e) =
      renyi_gradient_of(a, term(x, e), renyi_sum(a, x, n));
    // entry (e, j) of the Hessian
    logic real renyi_hessian(real a, sequence x, integer n, integer e, integer j) =
      (e == j ? renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) : 0.0) +
      renyi_rank_one_of(a, term(x, e), term(x, j), renyi_sum(a, x, n));
    // the first m terms of row e's product with v
    logic real renyi_row(real a, sequence x, sequence v, integer n, integer e, integer m) =
      m <= 0 ? 0.0 :
      renyi_row(a, x, v, n, e, m - 1) + renyi_hessian(a, x, n, e, m - 1) * term(v, m - 1);
    logic real renyi_hessian_product(real a, sequence x, sequence v, integer n, integer e) =
      renyi_row(a, x, v, n, e, n);

    // c; the sum over the dual; and what the functions make of it and of a coordinate q
    logic real renyi_exponent(real a) = a / (1.0 - a);
    logic real renyi_dual_sum(real a, sequence y, integer n) =
      n <= 0 ? 0.0 :
      renyi_dual_sum(a, y, n - 1) + raised(-term(y, n - 1), -renyi_exponent(a));
    logic real renyi_conjugate_of(real a, real total) =
      renyi_exponent(a) * (\log(renyi_exponent(a)) - 1.0) + \log(total);
    logic real renyi_conjugate_gradient_of(real a, real q, real total) =
      renyi_exponent(a) * raised(-q, -renyi_exponent(a) - 1.0) / total;

    logic real renyi_conjugate(real a, sequence y, integer n) =
      renyi_conjugate_of(a, renyi_dual_sum(a, y, n));
    logic real renyi_conjugate_gradient(real a, sequence y, integer n, integer e) =
      renyi_conjugate_gradient_of(a, term(y, e), renyi_dual_sum(a, y, n));
*/
#endif
