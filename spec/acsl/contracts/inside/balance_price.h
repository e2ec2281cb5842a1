/* Prices that depend on all loads (Renyi's, and those of lp with p = inf), how many loads were
   raised, and the size of prices: contracts of three functions of reference_moe.h that add to those
   there. They stand here since nearly every unit reads that header, and would have to be proved
   anew; a unit that calls one of the three includes this. */
#ifndef PHIBAL_REFERENCE_BALANCE_PRICE_H
#define PHIBAL_REFERENCE_BALANCE_PRICE_H

#include <phibal/reference_moe.h>
#ifdef __FRAMAC__
#include <phibal/acsl/renyi.h>
#endif

/*@ // x are the points that prices are taken at
    predicate points_are{L}(integer raised, float *m, integer n, sequence x) =
      \forall integer i; 0 <= i < n ==> term(x, i) == price_point(raised, (real)m[i]);
    predicate renyi_prices_are(real a, sequence x, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> term(s, i) == renyi_gradient(a, x, n, i);
    predicate shares_are(sequence x, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> term(s, i) == maximum_share(x, n, i);
    // (M2): s are the prices at the points x, for any potential
    predicate prices_at{L}(phibal_potential *p, float *m, integer n, sequence x, sequence s) =
      (\is_finite(p->parameter) && separable(p->id, (real)p->parameter) &&
       prices_are(p->id, (real)p->parameter, m, n, s)) ||
      (p->id == PHIBAL_POTENTIAL_RENYI && \is_finite(p->parameter) && points_are(1, m, n, x) &&
       renyi_prices_are((real)p->parameter, x, n, s)) ||
      (p->id == PHIBAL_POTENTIAL_LP && !\is_finite(p->parameter) && floats_are(m, n, x) &&
       shares_are(x, n, s));
    // the absolute values of the terms are members
    predicate sizes_in{L}(phibal_enclosure *z, sequence s, integer n) =
      \forall integer i; 0 <= i < n ==> in(z, \abs(term(s, i)));
    // the loads that kernels raise
    logic integer raised_loads{L}(integer raised, float *m, integer n) =
      n <= 0 ? 0 : raised_loads(raised, m, n - 1) +
        (raised != 0 && (real)m[n - 1] < 0x1p-126 ? 1 : 0);
    predicate raised_is{L}(phibal_potential *p, float *m, integer n, integer count) =
      \is_finite(p->parameter) || p->id != PHIBAL_POTENTIAL_TSALLIS ==>
        count == raised_loads(price_raised(p->id, (real)p->parameter), m, n);
*/

/*@ terminates \true;
    ensures any: \result == PHIBAL_OK ==> \forall sequence x, s;
      prices_at(potential, m, experts, x, s) ==> members(price, experts, s);
    ensures floored: \result == PHIBAL_OK && floored != \null ==>
      raised_is(potential, m, experts, *floored); */
phibal_status phibal_reference_price(const phibal_potential *potential, int32_t experts,
                                     const float *m, mpfr_prec_t precision, phibal_enclosure *price,
                                     int32_t *floored);

/*@ terminates \true;
    ensures any: \result == PHIBAL_OK ==> \forall sequence x, s, integer e;
      prices_at(potential, m, experts, x, s) && 0 <= e < experts ==>
        in(centred + e, centred(s, experts, e));
    ensures sizes: \result == PHIBAL_OK && largest != \null ==> \forall sequence x, s;
      prices_at(potential, m, experts, x, s) ==> sizes_in(largest, s, experts);
    ensures floored: \result == PHIBAL_OK && floored != \null ==>
      raised_is(potential, m, experts, *floored); */
phibal_status phibal_reference_price_centred(const phibal_potential *potential, int32_t experts,
                                             const float *m, mpfr_prec_t precision,
                                             phibal_enclosure *centred, phibal_enclosure *largest,
                                             int32_t *floored);

/*@ terminates \true;
    ensures any: \result == PHIBAL_OK ==> \forall sequence x, s, w;
      prices_at(potential, m, experts, x, s) && floats_are(loads, experts, w) ==>
        in(loss, balance_loss((real)alpha, s, w, experts));
    ensures any_condition: \result == PHIBAL_OK && condition != \null ==> \forall sequence x, s, w;
      prices_at(potential, m, experts, x, s) && floats_are(loads, experts, w) ==>
        in(condition, balance_condition((real)alpha, s, w, experts)); */
phibal_status phibal_reference_balance_loss(const phibal_potential *potential, int32_t experts,
                                            double alpha, const float *loads, const float *m,
                                            mpfr_prec_t precision, phibal_enclosure *loss,
                                            phibal_enclosure *condition);

#endif
