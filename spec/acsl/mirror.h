/* Why the argmax (M4) is the average's price, (M1) and (M2), coordinate by coordinate for the
   separable potentials. ACSL only. */
#ifndef PHIBAL_ACSL_MIRROR_H
#define PHIBAL_ACSL_MIRROR_H

#include <phibal/acsl/potential_shapes.h>
#include <phibal/acsl/search.h>
#include <phibal/acsl/step.h>

/*@ // what grad phi* takes at the argmax
    logic real step_target(integer id, real a, real eta, real m, real load) =
      load_of(id, a, price_of(id, a, m)) + (load - m) * eta;

    // parts of a vector; shown by their places, since provers do not look for sums of indices
    axiomatic Parts {
      predicate after(phibal_enclosure *u, phibal_enclosure *t, integer n);
    }
    axiomatic PartsDefinition {
      predicate open_parts;
      axiom parts_opened: open_parts;
      axiom after_is: \forall phibal_enclosure *u, *t, integer n; after(u, t, n) <==> u == t + n;
    }
    axiomatic PartsPlaces {
      predicate use_places;
      axiom places_used: use_places;
      LEMMA after_element: GIVEN(open_parts) \forall phibal_enclosure *u, *t, integer n, i;
        after(u, t, n) ==> u + i == t + (n + i);
      LEMMA before_element: GIVEN(open_parts) \forall phibal_enclosure *u, *t, integer n, i;
        after(u, t, n) ==> t + i == u + (i - n);
    }
    axiomatic PartsUse {
      predicate use_parts;
      axiom parts_used: use_parts;
      LEMMA after_there: GIVEN(open_parts) \forall phibal_enclosure *t, integer n; after(t + n, t, n);
      LEMMA part_output{L}: GIVEN(use_places) \forall phibal_enclosure *u, *t, integer n, k, l;
        after(u, t, n) && vector_output(t, l) && 0 <= n && n + k <= l ==> vector_output(u, k);
      LEMMA parts_output{L}: GIVEN(use_places) \forall phibal_enclosure *u, *t, integer n, k;
        after(u, t, n) && vector_output(t, n) && vector_output(u, k) ==> vector_output(t, n + k);
      LEMMA part_apart: GIVEN(use_places) \forall phibal_enclosure *r, *u, *t, integer n, k, l;
        after(u, t, n) && vector_apart(r, t, l) && 0 <= n && n + k <= l ==> vector_apart(r, u, k);
    }
    // the equation of one coordinate: grad phi* takes b at q
    predicate solves_step(integer id, real a, real b, real q) =
      separable(id, a) && strictly_convex(id, a) && load_exists(id, a, q) && load_of(id, a, q) == b;

    axiomatic Chosen {
      predicate use_choices;
      axiom choices_used: use_choices;
      // a choice is a triple
      logic choice choice_with(integer id, real a, real b);
      axiom choice_with_is: \forall integer id, real a, b;
        chosen_potential(choice_with(id, a, b)) == id &&
        chosen_parameter(choice_with(id, a, b)) == a &&
        chosen_target(choice_with(id, a, b)) == b;
    }
    axiomatic StepEquation {
      predicate open_step;
      axiom step_opened: open_step;
      // the equation whose solution a search looks for
      axiom solves_is: \forall choice c, real r; solves(c, r) <==>
        separable(chosen_potential(c), chosen_parameter(c)) &&
        strictly_convex(chosen_potential(c), chosen_parameter(c)) &&
        load_exists(chosen_potential(c), chosen_parameter(c), r) &&
        load_of(chosen_potential(c), chosen_parameter(c), r) == chosen_target(c);
    }

    axiomatic ChosenUse {
      predicate use_chosen;
      axiom chosen_used: use_chosen;
      LEMMA choice_there{L}: GIVEN(use_choices) \forall step_probe *p, real a, b;
        p->direction == \null && in(&p->phi->parameter, a) && in(p->target, b) ==>
        choice_of(p, choice_with(p->phi->id, a, b));
      LEMMA choice_solves: GIVEN(use_choices && open_step) \forall integer id, real a, b, q;
        solves_step(id, a, b, q) ==> solves(choice_with(id, a, b), q);
    }

    axiomatic LoadsAtZero {
      predicate use_loads_at_zero;
      axiom loads_at_zero_used: use_loads_at_zero;
      COQ_LEMMA euclid_load_at_zero: \forall real a, y; euclid_valid(a) &&
        euclid_conjugate_gradient(a, y) == euclid_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA lp_load_at_zero: \forall real a, y; lp_valid(a) &&
        lp_conjugate_gradient(a, y) == lp_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA soft_l1_load_at_zero: \forall real a, y; soft_l1_valid(a) && soft_l1_conjugate_gradient_inside(a, 0.0) && soft_l1_conjugate_gradient_inside(a, y) &&
        soft_l1_conjugate_gradient(a, y) == soft_l1_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA negentropy_load_at_zero: \forall real a, y; negentropy_valid(a) &&
        negentropy_conjugate_gradient(a, y) == negentropy_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA tsallis_load_at_zero: \forall real a, y; tsallis_valid(a) && tsallis_conjugate_gradient_inside(a, 0.0) && tsallis_conjugate_gradient_inside(a, y) &&
        tsallis_conjugate_gradient(a, y) == tsallis_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA pseudo_huber_load_at_zero: \forall real a, y; pseudo_huber_valid(a) && pseudo_huber_conjugate_gradient_inside(a, 0.0) && pseudo_huber_conjugate_gradient_inside(a, y) &&
        pseudo_huber_conjugate_gradient(a, y) == pseudo_huber_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA log_cosh_load_at_zero: \forall real a, y; log_cosh_valid(a) && log_cosh_conjugate_gradient_inside(a, 0.0) && log_cosh_conjugate_gradient_inside(a, y) &&
        log_cosh_conjugate_gradient(a, y) == log_cosh_conjugate_gradient(a, 0.0) ==> y == 0.0;
      COQ_LEMMA softplus_load_at_zero: \forall real a, y; softplus_valid(a) && softplus_conjugate_gradient_inside(a, 0.0) && softplus_conjugate_gradient_inside(a, y) &&
        softplus_conjugate_gradient(a, y) == softplus_conjugate_gradient(a, 0.0) ==> y == 0.0;
    }
    axiomatic PricesInvert {
      predicate use_inverse_prices;
      axiom inverse_prices_used: use_inverse_prices;
      COQ_LEMMA euclid_price_inverts: \forall real a, x; euclid_valid(a) ==>
        euclid_conjugate_gradient(a, euclid_gradient(a, x)) == x;
      COQ_LEMMA lp_price_inverts: \forall real a, x; lp_valid(a) ==>
        lp_conjugate_gradient(a, lp_gradient(a, x)) == x;
      COQ_LEMMA soft_l1_price_inverts: \forall real a, x; soft_l1_valid(a) ==>
        soft_l1_conjugate_gradient_inside(a, soft_l1_gradient(a, x)) &&
        soft_l1_conjugate_gradient(a, soft_l1_gradient(a, x)) == x;
      COQ_LEMMA negentropy_price_inverts: \forall real a, x; negentropy_valid(a) && negentropy_gradient_inside(a, x) ==>
        negentropy_conjugate_gradient(a, negentropy_gradient(a, x)) == x;
      COQ_LEMMA tsallis_price_inverts: \forall real a, x; tsallis_valid(a) && tsallis_gradient_inside(a, x) ==>
        tsallis_conjugate_gradient_inside(a, tsallis_gradient(a, x)) &&
        tsallis_conjugate_gradient(a, tsallis_gradient(a, x)) == x;
      COQ_LEMMA pseudo_huber_price_inverts: \forall real a, x; pseudo_huber_valid(a) ==>
        pseudo_huber_conjugate_gradient_inside(a, pseudo_huber_gradient(a, x)) &&
        pseudo_huber_conjugate_gradient(a, pseudo_huber_gradient(a, x)) == x;
      COQ_LEMMA log_cosh_price_inverts: \forall real a, x; log_cosh_valid(a) ==>
        log_cosh_conjugate_gradient_inside(a, log_cosh_gradient(a, x)) &&
        log_cosh_conjugate_gradient(a, log_cosh_gradient(a, x)) == x;
      COQ_LEMMA softplus_price_inverts: \forall real a, x; softplus_valid(a) ==>
        softplus_conjugate_gradient_inside(a, softplus_gradient(a, x)) &&
        softplus_conjugate_gradient(a, softplus_gradient(a, x)) == x;
    }

    axiomatic LoadsUse {
      predicate use_loads;
      axiom loads_used: use_loads;
      LEMMA euclid_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_EUCLID, a) && strictly_convex(PHIBAL_POTENTIAL_EUCLID, a) && load_exists(PHIBAL_POTENTIAL_EUCLID, a, x) &&
        load_exists(PHIBAL_POTENTIAL_EUCLID, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_EUCLID, a, x) <= load_of(PHIBAL_POTENTIAL_EUCLID, a, y);
      LEMMA euclid_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_EUCLID, a) && strictly_convex(PHIBAL_POTENTIAL_EUCLID, a) && load_exists(PHIBAL_POTENTIAL_EUCLID, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_EUCLID, a, y) && load_of(PHIBAL_POTENTIAL_EUCLID, a, y) == load_of(PHIBAL_POTENTIAL_EUCLID, a, 0.0) ==> y == 0.0;
      LEMMA lp_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_LP, a) && strictly_convex(PHIBAL_POTENTIAL_LP, a) && load_exists(PHIBAL_POTENTIAL_LP, a, x) &&
        load_exists(PHIBAL_POTENTIAL_LP, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_LP, a, x) <= load_of(PHIBAL_POTENTIAL_LP, a, y);
      LEMMA lp_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_LP, a) && strictly_convex(PHIBAL_POTENTIAL_LP, a) && load_exists(PHIBAL_POTENTIAL_LP, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_LP, a, y) && load_of(PHIBAL_POTENTIAL_LP, a, y) == load_of(PHIBAL_POTENTIAL_LP, a, 0.0) ==> y == 0.0;
      LEMMA soft_l1_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_SOFT_L1, a) && strictly_convex(PHIBAL_POTENTIAL_SOFT_L1, a) && load_exists(PHIBAL_POTENTIAL_SOFT_L1, a, x) &&
        load_exists(PHIBAL_POTENTIAL_SOFT_L1, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_SOFT_L1, a, x) <= load_of(PHIBAL_POTENTIAL_SOFT_L1, a, y);
      LEMMA soft_l1_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_SOFT_L1, a) && strictly_convex(PHIBAL_POTENTIAL_SOFT_L1, a) && load_exists(PHIBAL_POTENTIAL_SOFT_L1, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_SOFT_L1, a, y) && load_of(PHIBAL_POTENTIAL_SOFT_L1, a, y) == load_of(PHIBAL_POTENTIAL_SOFT_L1, a, 0.0) ==> y == 0.0;
      LEMMA negentropy_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_NEGENTROPY, a) && strictly_convex(PHIBAL_POTENTIAL_NEGENTROPY, a) && load_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, x) &&
        load_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x) <= load_of(PHIBAL_POTENTIAL_NEGENTROPY, a, y);
      LEMMA negentropy_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_NEGENTROPY, a) && strictly_convex(PHIBAL_POTENTIAL_NEGENTROPY, a) && load_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, y) && load_of(PHIBAL_POTENTIAL_NEGENTROPY, a, y) == load_of(PHIBAL_POTENTIAL_NEGENTROPY, a, 0.0) ==> y == 0.0;
      LEMMA tsallis_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_TSALLIS, a) && strictly_convex(PHIBAL_POTENTIAL_TSALLIS, a) && load_exists(PHIBAL_POTENTIAL_TSALLIS, a, x) &&
        load_exists(PHIBAL_POTENTIAL_TSALLIS, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_TSALLIS, a, x) <= load_of(PHIBAL_POTENTIAL_TSALLIS, a, y);
      LEMMA tsallis_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_TSALLIS, a) && strictly_convex(PHIBAL_POTENTIAL_TSALLIS, a) && load_exists(PHIBAL_POTENTIAL_TSALLIS, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_TSALLIS, a, y) && load_of(PHIBAL_POTENTIAL_TSALLIS, a, y) == load_of(PHIBAL_POTENTIAL_TSALLIS, a, 0.0) ==> y == 0.0;
      LEMMA pseudo_huber_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_PSEUDO_HUBER, a) && strictly_convex(PHIBAL_POTENTIAL_PSEUDO_HUBER, a) && load_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) &&
        load_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) <= load_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, y);
      LEMMA pseudo_huber_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_PSEUDO_HUBER, a) && strictly_convex(PHIBAL_POTENTIAL_PSEUDO_HUBER, a) && load_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, y) && load_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, y) == load_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, 0.0) ==> y == 0.0;
      LEMMA log_cosh_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_LOG_COSH, a) && strictly_convex(PHIBAL_POTENTIAL_LOG_COSH, a) && load_exists(PHIBAL_POTENTIAL_LOG_COSH, a, x) &&
        load_exists(PHIBAL_POTENTIAL_LOG_COSH, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_LOG_COSH, a, x) <= load_of(PHIBAL_POTENTIAL_LOG_COSH, a, y);
      LEMMA log_cosh_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_LOG_COSH, a) && strictly_convex(PHIBAL_POTENTIAL_LOG_COSH, a) && load_exists(PHIBAL_POTENTIAL_LOG_COSH, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_LOG_COSH, a, y) && load_of(PHIBAL_POTENTIAL_LOG_COSH, a, y) == load_of(PHIBAL_POTENTIAL_LOG_COSH, a, 0.0) ==> y == 0.0;
      LEMMA softplus_rises: GIVEN(open_separable && use_potential_shapes) \forall real a, x, y;
        separable(PHIBAL_POTENTIAL_SOFTPLUS, a) && strictly_convex(PHIBAL_POTENTIAL_SOFTPLUS, a) && load_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, x) &&
        load_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, y) && x <= y ==> load_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x) <= load_of(PHIBAL_POTENTIAL_SOFTPLUS, a, y);
      LEMMA softplus_at_zero: GIVEN(open_separable && use_loads_at_zero) \forall real a, y;
        separable(PHIBAL_POTENTIAL_SOFTPLUS, a) && strictly_convex(PHIBAL_POTENTIAL_SOFTPLUS, a) && load_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, 0.0) &&
        load_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, y) && load_of(PHIBAL_POTENTIAL_SOFTPLUS, a, y) == load_of(PHIBAL_POTENTIAL_SOFTPLUS, a, 0.0) ==> y == 0.0;
    }
    axiomatic PricesInvertUse {
      predicate use_inverses;
      axiom inverses_used: use_inverses;
      LEMMA euclid_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_EUCLID, a) && strictly_convex(PHIBAL_POTENTIAL_EUCLID, a) && price_exists(PHIBAL_POTENTIAL_EUCLID, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_EUCLID, a, price_of(PHIBAL_POTENTIAL_EUCLID, a, x)) && load_of(PHIBAL_POTENTIAL_EUCLID, a, price_of(PHIBAL_POTENTIAL_EUCLID, a, x)) == x;
      LEMMA lp_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_LP, a) && strictly_convex(PHIBAL_POTENTIAL_LP, a) && price_exists(PHIBAL_POTENTIAL_LP, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_LP, a, price_of(PHIBAL_POTENTIAL_LP, a, x)) && load_of(PHIBAL_POTENTIAL_LP, a, price_of(PHIBAL_POTENTIAL_LP, a, x)) == x;
      LEMMA soft_l1_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_SOFT_L1, a) && strictly_convex(PHIBAL_POTENTIAL_SOFT_L1, a) && price_exists(PHIBAL_POTENTIAL_SOFT_L1, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_SOFT_L1, a, price_of(PHIBAL_POTENTIAL_SOFT_L1, a, x)) && load_of(PHIBAL_POTENTIAL_SOFT_L1, a, price_of(PHIBAL_POTENTIAL_SOFT_L1, a, x)) == x;
      LEMMA negentropy_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_NEGENTROPY, a) && strictly_convex(PHIBAL_POTENTIAL_NEGENTROPY, a) && price_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, price_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x)) && load_of(PHIBAL_POTENTIAL_NEGENTROPY, a, price_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x)) == x;
      LEMMA tsallis_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_TSALLIS, a) && strictly_convex(PHIBAL_POTENTIAL_TSALLIS, a) && price_exists(PHIBAL_POTENTIAL_TSALLIS, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_TSALLIS, a, price_of(PHIBAL_POTENTIAL_TSALLIS, a, x)) && load_of(PHIBAL_POTENTIAL_TSALLIS, a, price_of(PHIBAL_POTENTIAL_TSALLIS, a, x)) == x;
      LEMMA pseudo_huber_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_PSEUDO_HUBER, a) && strictly_convex(PHIBAL_POTENTIAL_PSEUDO_HUBER, a) && price_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, price_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x)) && load_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, price_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x)) == x;
      LEMMA log_cosh_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_LOG_COSH, a) && strictly_convex(PHIBAL_POTENTIAL_LOG_COSH, a) && price_exists(PHIBAL_POTENTIAL_LOG_COSH, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_LOG_COSH, a, price_of(PHIBAL_POTENTIAL_LOG_COSH, a, x)) && load_of(PHIBAL_POTENTIAL_LOG_COSH, a, price_of(PHIBAL_POTENTIAL_LOG_COSH, a, x)) == x;
      LEMMA softplus_inverts: GIVEN(open_separable && use_inverse_prices) \forall real a, x;
        separable(PHIBAL_POTENTIAL_SOFTPLUS, a) && strictly_convex(PHIBAL_POTENTIAL_SOFTPLUS, a) && price_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, x) ==>
        load_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, price_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x)) && load_of(PHIBAL_POTENTIAL_SOFTPLUS, a, price_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x)) == x;
      LEMMA separable_listed: GIVEN(open_separable) \forall integer id, real a; separable(id, a) ==>
        id == PHIBAL_POTENTIAL_EUCLID || id == PHIBAL_POTENTIAL_LP ||
        id == PHIBAL_POTENTIAL_SOFT_L1 || id == PHIBAL_POTENTIAL_NEGENTROPY ||
        id == PHIBAL_POTENTIAL_TSALLIS || id == PHIBAL_POTENTIAL_PSEUDO_HUBER ||
        id == PHIBAL_POTENTIAL_LOG_COSH || id == PHIBAL_POTENTIAL_SOFTPLUS;
    }
    axiomatic Slopes {
      predicate use_slopes;
      axiom slopes_used: use_slopes;
      COQ_LEMMA flat_slope: \forall real d, s, eta; 0.0 < eta ==>
        (slope(d, s, eta) == 0.0 <==> s == d * eta);
    }

    axiomatic MirrorUse {
      predicate use_mirror;
      axiom mirror_used: use_mirror;
      LEMMA load_rises: GIVEN(use_loads && use_inverses) \forall integer id, real a, x, y;
        separable(id, a) && strictly_convex(id, a) && load_exists(id, a, x) &&
        load_exists(id, a, y) && x <= y ==> load_of(id, a, x) <= load_of(id, a, y);
      LEMMA load_at_zero: GIVEN(use_loads && use_inverses) \forall integer id, real a, y;
        separable(id, a) && strictly_convex(id, a) && load_exists(id, a, 0.0) &&
        load_exists(id, a, y) && load_of(id, a, y) == load_of(id, a, 0.0) ==> y == 0.0;
      LEMMA price_inverts: GIVEN(use_inverses) \forall integer id, real a, x;
        separable(id, a) && strictly_convex(id, a) && price_exists(id, a, x) ==>
        load_exists(id, a, price_of(id, a, x)) && load_of(id, a, price_of(id, a, x)) == x;
      // where the objective is flat
      LEMMA flat_objective: GIVEN(use_slopes) \forall integer id, real a, eta, m, load, q; 0.0 < eta &&
        objective_slope(id, a, eta, m, load, q) == 0.0 ==>
        load_of(id, a, q) == step_target(id, a, eta, m, load);
      // Lemma 2 of the paper: there, grad phi* is the average
      LEMMA flat_at_average: GIVEN(use_slopes) \forall integer id, real a, eta, m, load, q;
        separable(id, a) && strictly_convex(id, a) && price_exists(id, a, m) && 0.0 < eta ==>
        (objective_slope(id, a, eta, m, load, q) == 0.0 <==>
         load_of(id, a, q) == average_of(eta, m, load));
      // and the price of the average is such a place: both ways of a step hold the same price
      LEMMA step_is_average: GIVEN(use_slopes) \forall integer id, real a, eta, m, load;
        separable(id, a) && strictly_convex(id, a) && price_exists(id, a, m) && 0.0 < eta &&
        price_exists(id, a, average_of(eta, m, load)) ==>
        load_exists(id, a, price_of(id, a, average_of(eta, m, load))) &&
        objective_slope(id, a, eta, m, load, price_of(id, a, average_of(eta, m, load))) == 0.0;
    }
*/

#endif
