/* The separable potentials with what their coordinates' functions are: the price phi'(x) and the load
   (phi*)'(y). ACSL only. The definitions are behind a key. */
#ifndef PHIBAL_ACSL_SEPARABLE_H
#define PHIBAL_ACSL_SEPARABLE_H

#include <phibal/acsl/potentials.h>

/*@ axiomatic Separable {
      // potential id with the parameter a, which is valid, is a sum over coordinates
      predicate separable(integer id, real a);
      // the gradient at x, a coordinate; whether there is one
      logic real price_of(integer id, real a, real x);
      predicate price_exists(integer id, real a, real x);
      // the gradient of the conjugate at y, a price
      logic real load_of(integer id, real a, real y);
      predicate load_exists(integer id, real a, real y);
    }
    // load_of is strictly increasing but where it is flat at 0 (tsallis)
    predicate strictly_convex(integer id, real a) = !(id == PHIBAL_POTENTIAL_LP && a == 1.0);

    axiomatic SeparableDefinition {
      predicate open_separable;
      axiom separable_opened: open_separable;
      axiom separable_is: \forall integer id, real a; separable(id, a) <==>
        (id == PHIBAL_POTENTIAL_EUCLID) || (id == PHIBAL_POTENTIAL_LP && (a == 1.0 || lp_valid(a))) ||
        (id == PHIBAL_POTENTIAL_SOFT_L1 && soft_l1_valid(a)) || (id == PHIBAL_POTENTIAL_NEGENTROPY) ||
        (id == PHIBAL_POTENTIAL_TSALLIS && tsallis_valid(a)) ||
        (id == PHIBAL_POTENTIAL_PSEUDO_HUBER && pseudo_huber_valid(a)) ||
        (id == PHIBAL_POTENTIAL_LOG_COSH && log_cosh_valid(a)) || (id == PHIBAL_POTENTIAL_SOFTPLUS);
      axiom euclid_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_EUCLID, a, x) == euclid_gradient(a, x);
      axiom euclid_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_EUCLID, a, x) <==> \true;
      axiom euclid_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_EUCLID, a, y) == euclid_conjugate_gradient(a, y);
      axiom euclid_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_EUCLID, a, y) <==> \true;
      axiom lp_price_is: \forall real a, x; price_of(PHIBAL_POTENTIAL_LP, a, x) ==
        (a == 1.0 ? lp_one_gradient(a, x) : lp_gradient(a, x));
      axiom lp_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_LP, a, x) <==> (a == 1.0 ==> lp_one_gradient_inside(a, x));
      axiom lp_load_is: \forall real a, y; load_of(PHIBAL_POTENTIAL_LP, a, y) ==
        (a == 1.0 ? lp_one_conjugate_gradient(a, y) : lp_conjugate_gradient(a, y));
      axiom lp_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_LP, a, y) <==> (a == 1.0 ==> lp_one_conjugate_gradient_inside(a, y));
      axiom soft_l1_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_SOFT_L1, a, x) == soft_l1_gradient(a, x);
      axiom soft_l1_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_SOFT_L1, a, x) <==> \true;
      axiom soft_l1_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_SOFT_L1, a, y) == soft_l1_conjugate_gradient(a, y);
      axiom soft_l1_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_SOFT_L1, a, y) <==> soft_l1_conjugate_gradient_inside(a, y);
      axiom negentropy_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x) == negentropy_gradient(a, x);
      axiom negentropy_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, x) <==> negentropy_gradient_inside(a, x);
      axiom negentropy_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_NEGENTROPY, a, y) == negentropy_conjugate_gradient(a, y);
      axiom negentropy_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, y) <==> \true;
      axiom tsallis_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_TSALLIS, a, x) == tsallis_gradient(a, x);
      axiom tsallis_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_TSALLIS, a, x) <==> tsallis_gradient_inside(a, x);
      axiom tsallis_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_TSALLIS, a, y) == tsallis_conjugate_gradient(a, y);
      axiom tsallis_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_TSALLIS, a, y) <==> tsallis_conjugate_gradient_inside(a, y);
      axiom pseudo_huber_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) == pseudo_huber_gradient(a, x);
      axiom pseudo_huber_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) <==> \true;
      axiom pseudo_huber_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, y) == pseudo_huber_conjugate_gradient(a, y);
      axiom pseudo_huber_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, y) <==> pseudo_huber_conjugate_gradient_inside(a, y);
      axiom log_cosh_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_LOG_COSH, a, x) == log_cosh_gradient(a, x);
      axiom log_cosh_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_LOG_COSH, a, x) <==> \true;
      axiom log_cosh_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_LOG_COSH, a, y) == log_cosh_conjugate_gradient(a, y);
      axiom log_cosh_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_LOG_COSH, a, y) <==> log_cosh_conjugate_gradient_inside(a, y);
      axiom softplus_price_is: \forall real a, x;
        price_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x) == softplus_gradient(a, x);
      axiom softplus_price_exists_is: \forall real a, x;
        price_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, x) <==> \true;
      axiom softplus_load_is: \forall real a, y;
        load_of(PHIBAL_POTENTIAL_SOFTPLUS, a, y) == softplus_conjugate_gradient(a, y);
      axiom softplus_load_exists_is: \forall real a, y;
        load_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, y) <==> softplus_conjugate_gradient_inside(a, y);
    }
*/

#endif
