/* The point functions of the separable potentials by family and function, and what their contracts
   say. ACSL only. The definitions are behind a key, so that proofs of what is common to all families
   do not see them. */
#ifndef PHIBAL_ACSL_POINTS_H
#define PHIBAL_ACSL_POINTS_H

#include <phibal/acsl/potentials.h>

/*@ predicate always = \true;
    predicate never = \false;
    // temporaries t[0..4]
    predicate scratch{L}(phibal_enclosure *t) =
      output(t) && output(t + 1) && output(t + 2) && output(t + 3) && output(t + 4);
    predicate apart_from_scratch(phibal_enclosure *x, phibal_enclosure *t) =
      \separated(x, t) && \separated(x, t + 1) && \separated(x, t + 2) && \separated(x, t + 3) &&
      \separated(x, t + 4);
    predicate point_arguments{L}(phibal_enclosure *z, phibal_enclosure *x, phibal_enclosure *a,
                                 phibal_enclosure *t) =
      output(z) && input(x) && point(x) && input(a) && scratch(t) && \separated(z, x) &&
      \separated(z, a) && apart_from_scratch(z, t) && apart_from_scratch(x, t) &&
      apart_from_scratch(a, t);
    // nothing but z and t[0..4] was written between A and B, as far as enclosures go
    predicate only_point_written{A, B}(phibal_enclosure *z, phibal_enclosure *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) &&
        apart_from_scratch(r, t) ==> same{A, B}(r);

    axiomatic Points {
      // f of family s at x where inside; where it is plus infinity
      logic real point_value(integer s, integer f, real a, real x);
      predicate point_inside(integer s, integer f, real a, real x);
      predicate point_infinite(integer s, integer f, real a, real x);
      predicate parameter_valid(integer s, real a);
      // the family has no parameter: a is ignored
      predicate parameter_free(integer s);
    }
    // z holds f(x, a) of family s
    predicate holds{L}(phibal_enclosure *z, integer s, integer f, real a, real x) =
      (point_inside(s, f, a, x) && in(z, point_value(s, f, a, x))) ||
      (!point_inside(s, f, a, x) && point_infinite(s, f, a, x) && in_plus(z));

    predicate family(integer s) =
      s == FAMILY_EUCLID || s == FAMILY_LP || s == FAMILY_LP_ONE || s == FAMILY_SOFT_L1 ||
      s == FAMILY_NEGENTROPY || s == FAMILY_TSALLIS || s == FAMILY_PSEUDO_HUBER ||
      s == FAMILY_LOG_COSH || s == FAMILY_SOFTPLUS;
    predicate function(integer f) =
      f == FUNCTION_VALUE || f == FUNCTION_GRADIENT || f == FUNCTION_SECOND ||
      f == FUNCTION_CONJUGATE || f == FUNCTION_CONJUGATE_GRADIENT;
    // at p = 1 the gradient of lp jumps at 0
    predicate jump(integer s, integer f, real x) =
      s == FAMILY_LP_ONE && f == FUNCTION_GRADIENT && x == 0.0;
    // a is a parameter of s; p is a choice of it
    predicate parameter_input{L}(phibal_enclosure *a, integer s) =
      input(a) && \forall real p; in(a, p) ==> parameter_valid(s, p);
    predicate chosen{L}(integer s, phibal_enclosure *a, real p) =
      parameter_valid(s, p) && (parameter_free(s) || in(a, p));

    axiomatic PointsDefinition {
      predicate open_points;
      axiom points_opened: open_points;
      axiom point_euclid_value_is: \forall real a, x;
        point_value(FAMILY_EUCLID, FUNCTION_VALUE, a, x) == euclid_value(a, x);
      axiom point_euclid_gradient_is: \forall real a, x;
        point_value(FAMILY_EUCLID, FUNCTION_GRADIENT, a, x) == euclid_gradient(a, x);
      axiom point_euclid_second_is: \forall real a, x;
        point_value(FAMILY_EUCLID, FUNCTION_SECOND, a, x) == euclid_second(a, x);
      axiom point_euclid_conjugate_is: \forall real a, x;
        point_value(FAMILY_EUCLID, FUNCTION_CONJUGATE, a, x) == euclid_conjugate(a, x);
      axiom point_euclid_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_EUCLID, FUNCTION_CONJUGATE_GRADIENT, a, x) == euclid_conjugate_gradient(a, x);
      axiom point_lp_value_is: \forall real a, x;
        point_value(FAMILY_LP, FUNCTION_VALUE, a, x) == lp_value(a, x);
      axiom point_lp_gradient_is: \forall real a, x;
        point_value(FAMILY_LP, FUNCTION_GRADIENT, a, x) == lp_gradient(a, x);
      axiom point_lp_second_is: \forall real a, x;
        point_value(FAMILY_LP, FUNCTION_SECOND, a, x) == lp_second(a, x);
      axiom point_lp_conjugate_is: \forall real a, x;
        point_value(FAMILY_LP, FUNCTION_CONJUGATE, a, x) == lp_conjugate(a, x);
      axiom point_lp_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_LP, FUNCTION_CONJUGATE_GRADIENT, a, x) == lp_conjugate_gradient(a, x);
      axiom point_lp_one_value_is: \forall real a, x;
        point_value(FAMILY_LP_ONE, FUNCTION_VALUE, a, x) == lp_one_value(a, x);
      axiom point_lp_one_gradient_is: \forall real a, x;
        point_value(FAMILY_LP_ONE, FUNCTION_GRADIENT, a, x) == lp_one_gradient(a, x);
      axiom point_lp_one_second_is: \forall real a, x;
        point_value(FAMILY_LP_ONE, FUNCTION_SECOND, a, x) == lp_one_second(a, x);
      axiom point_lp_one_conjugate_is: \forall real a, x;
        point_value(FAMILY_LP_ONE, FUNCTION_CONJUGATE, a, x) == lp_one_conjugate(a, x);
      axiom point_lp_one_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_LP_ONE, FUNCTION_CONJUGATE_GRADIENT, a, x) == lp_one_conjugate_gradient(a, x);
      axiom point_soft_l1_value_is: \forall real a, x;
        point_value(FAMILY_SOFT_L1, FUNCTION_VALUE, a, x) == soft_l1_value(a, x);
      axiom point_soft_l1_gradient_is: \forall real a, x;
        point_value(FAMILY_SOFT_L1, FUNCTION_GRADIENT, a, x) == soft_l1_gradient(a, x);
      axiom point_soft_l1_second_is: \forall real a, x;
        point_value(FAMILY_SOFT_L1, FUNCTION_SECOND, a, x) == soft_l1_second(a, x);
      axiom point_soft_l1_conjugate_is: \forall real a, x;
        point_value(FAMILY_SOFT_L1, FUNCTION_CONJUGATE, a, x) == soft_l1_conjugate(a, x);
      axiom point_soft_l1_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_SOFT_L1, FUNCTION_CONJUGATE_GRADIENT, a, x) == soft_l1_conjugate_gradient(a, x);
      axiom point_negentropy_value_is: \forall real a, x;
        point_value(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, x) == negentropy_value(a, x);
      axiom point_negentropy_gradient_is: \forall real a, x;
        point_value(FAMILY_NEGENTROPY, FUNCTION_GRADIENT, a, x) == negentropy_gradient(a, x);
      axiom point_negentropy_second_is: \forall real a, x;
        point_value(FAMILY_NEGENTROPY, FUNCTION_SECOND, a, x) == negentropy_second(a, x);
      axiom point_negentropy_conjugate_is: \forall real a, x;
        point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, x) == negentropy_conjugate(a, x);
      axiom point_negentropy_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, x) == negentropy_conjugate_gradient(a, x);
      axiom point_tsallis_value_is: \forall real a, x;
        point_value(FAMILY_TSALLIS, FUNCTION_VALUE, a, x) == tsallis_value(a, x);
      axiom point_tsallis_gradient_is: \forall real a, x;
        point_value(FAMILY_TSALLIS, FUNCTION_GRADIENT, a, x) == tsallis_gradient(a, x);
      axiom point_tsallis_second_is: \forall real a, x;
        point_value(FAMILY_TSALLIS, FUNCTION_SECOND, a, x) == tsallis_second(a, x);
      axiom point_tsallis_conjugate_is: \forall real a, x;
        point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, x) == tsallis_conjugate(a, x);
      axiom point_tsallis_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x) == tsallis_conjugate_gradient(a, x);
      axiom point_pseudo_huber_value_is: \forall real a, x;
        point_value(FAMILY_PSEUDO_HUBER, FUNCTION_VALUE, a, x) == pseudo_huber_value(a, x);
      axiom point_pseudo_huber_gradient_is: \forall real a, x;
        point_value(FAMILY_PSEUDO_HUBER, FUNCTION_GRADIENT, a, x) == pseudo_huber_gradient(a, x);
      axiom point_pseudo_huber_second_is: \forall real a, x;
        point_value(FAMILY_PSEUDO_HUBER, FUNCTION_SECOND, a, x) == pseudo_huber_second(a, x);
      axiom point_pseudo_huber_conjugate_is: \forall real a, x;
        point_value(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE, a, x) == pseudo_huber_conjugate(a, x);
      axiom point_pseudo_huber_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE_GRADIENT, a, x) == pseudo_huber_conjugate_gradient(a, x);
      axiom point_log_cosh_value_is: \forall real a, x;
        point_value(FAMILY_LOG_COSH, FUNCTION_VALUE, a, x) == log_cosh_value(a, x);
      axiom point_log_cosh_gradient_is: \forall real a, x;
        point_value(FAMILY_LOG_COSH, FUNCTION_GRADIENT, a, x) == log_cosh_gradient(a, x);
      axiom point_log_cosh_second_is: \forall real a, x;
        point_value(FAMILY_LOG_COSH, FUNCTION_SECOND, a, x) == log_cosh_second(a, x);
      axiom point_log_cosh_conjugate_is: \forall real a, x;
        point_value(FAMILY_LOG_COSH, FUNCTION_CONJUGATE, a, x) == log_cosh_conjugate(a, x);
      axiom point_log_cosh_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_LOG_COSH, FUNCTION_CONJUGATE_GRADIENT, a, x) == log_cosh_conjugate_gradient(a, x);
      axiom point_softplus_value_is: \forall real a, x;
        point_value(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, x) == softplus_value(a, x);
      axiom point_softplus_gradient_is: \forall real a, x;
        point_value(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, x) == softplus_gradient(a, x);
      axiom point_softplus_second_is: \forall real a, x;
        point_value(FAMILY_SOFTPLUS, FUNCTION_SECOND, a, x) == softplus_second(a, x);
      axiom point_softplus_conjugate_is: \forall real a, x;
        point_value(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, x) == softplus_conjugate(a, x);
      axiom point_softplus_conjugate_gradient_is: \forall real a, x;
        point_value(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE_GRADIENT, a, x) == softplus_conjugate_gradient(a, x);
      axiom inside_euclid_value_is: \forall real a, x;
        point_inside(FAMILY_EUCLID, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_euclid_gradient_is: \forall real a, x;
        point_inside(FAMILY_EUCLID, FUNCTION_GRADIENT, a, x) <==> \true;
      axiom inside_euclid_second_is: \forall real a, x;
        point_inside(FAMILY_EUCLID, FUNCTION_SECOND, a, x) <==> \true;
      axiom inside_euclid_conjugate_is: \forall real a, x;
        point_inside(FAMILY_EUCLID, FUNCTION_CONJUGATE, a, x) <==> \true;
      axiom inside_euclid_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_EUCLID, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \true;
      axiom inside_lp_value_is: \forall real a, x;
        point_inside(FAMILY_LP, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_lp_gradient_is: \forall real a, x;
        point_inside(FAMILY_LP, FUNCTION_GRADIENT, a, x) <==> \true;
      axiom inside_lp_second_is: \forall real a, x;
        point_inside(FAMILY_LP, FUNCTION_SECOND, a, x) <==> lp_second_inside(a, x);
      axiom inside_lp_conjugate_is: \forall real a, x;
        point_inside(FAMILY_LP, FUNCTION_CONJUGATE, a, x) <==> \true;
      axiom inside_lp_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_LP, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \true;
      axiom inside_lp_one_value_is: \forall real a, x;
        point_inside(FAMILY_LP_ONE, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_lp_one_gradient_is: \forall real a, x;
        point_inside(FAMILY_LP_ONE, FUNCTION_GRADIENT, a, x) <==> lp_one_gradient_inside(a, x);
      axiom inside_lp_one_second_is: \forall real a, x;
        point_inside(FAMILY_LP_ONE, FUNCTION_SECOND, a, x) <==> lp_one_second_inside(a, x);
      axiom inside_lp_one_conjugate_is: \forall real a, x;
        point_inside(FAMILY_LP_ONE, FUNCTION_CONJUGATE, a, x) <==> lp_one_conjugate_inside(a, x);
      axiom inside_lp_one_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_LP_ONE, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> lp_one_conjugate_gradient_inside(a, x);
      axiom inside_soft_l1_value_is: \forall real a, x;
        point_inside(FAMILY_SOFT_L1, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_soft_l1_gradient_is: \forall real a, x;
        point_inside(FAMILY_SOFT_L1, FUNCTION_GRADIENT, a, x) <==> \true;
      axiom inside_soft_l1_second_is: \forall real a, x;
        point_inside(FAMILY_SOFT_L1, FUNCTION_SECOND, a, x) <==> \true;
      axiom inside_soft_l1_conjugate_is: \forall real a, x;
        point_inside(FAMILY_SOFT_L1, FUNCTION_CONJUGATE, a, x) <==> soft_l1_conjugate_inside(a, x);
      axiom inside_soft_l1_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_SOFT_L1, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> soft_l1_conjugate_gradient_inside(a, x);
      axiom inside_negentropy_value_is: \forall real a, x;
        point_inside(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, x) <==> negentropy_value_inside(a, x);
      axiom inside_negentropy_gradient_is: \forall real a, x;
        point_inside(FAMILY_NEGENTROPY, FUNCTION_GRADIENT, a, x) <==> negentropy_gradient_inside(a, x);
      axiom inside_negentropy_second_is: \forall real a, x;
        point_inside(FAMILY_NEGENTROPY, FUNCTION_SECOND, a, x) <==> negentropy_second_inside(a, x);
      axiom inside_negentropy_conjugate_is: \forall real a, x;
        point_inside(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, x) <==> \true;
      axiom inside_negentropy_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \true;
      axiom inside_tsallis_value_is: \forall real a, x;
        point_inside(FAMILY_TSALLIS, FUNCTION_VALUE, a, x) <==> tsallis_value_inside(a, x);
      axiom inside_tsallis_gradient_is: \forall real a, x;
        point_inside(FAMILY_TSALLIS, FUNCTION_GRADIENT, a, x) <==> tsallis_gradient_inside(a, x);
      axiom inside_tsallis_second_is: \forall real a, x;
        point_inside(FAMILY_TSALLIS, FUNCTION_SECOND, a, x) <==> tsallis_second_inside(a, x);
      axiom inside_tsallis_conjugate_is: \forall real a, x;
        point_inside(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, x) <==> tsallis_conjugate_inside(a, x);
      axiom inside_tsallis_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> tsallis_conjugate_gradient_inside(a, x);
      axiom inside_pseudo_huber_value_is: \forall real a, x;
        point_inside(FAMILY_PSEUDO_HUBER, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_pseudo_huber_gradient_is: \forall real a, x;
        point_inside(FAMILY_PSEUDO_HUBER, FUNCTION_GRADIENT, a, x) <==> \true;
      axiom inside_pseudo_huber_second_is: \forall real a, x;
        point_inside(FAMILY_PSEUDO_HUBER, FUNCTION_SECOND, a, x) <==> \true;
      axiom inside_pseudo_huber_conjugate_is: \forall real a, x;
        point_inside(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE, a, x) <==> pseudo_huber_conjugate_inside(a, x);
      axiom inside_pseudo_huber_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> pseudo_huber_conjugate_gradient_inside(a, x);
      axiom inside_log_cosh_value_is: \forall real a, x;
        point_inside(FAMILY_LOG_COSH, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_log_cosh_gradient_is: \forall real a, x;
        point_inside(FAMILY_LOG_COSH, FUNCTION_GRADIENT, a, x) <==> \true;
      axiom inside_log_cosh_second_is: \forall real a, x;
        point_inside(FAMILY_LOG_COSH, FUNCTION_SECOND, a, x) <==> \true;
      axiom inside_log_cosh_conjugate_is: \forall real a, x;
        point_inside(FAMILY_LOG_COSH, FUNCTION_CONJUGATE, a, x) <==> log_cosh_conjugate_inside(a, x);
      axiom inside_log_cosh_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_LOG_COSH, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> log_cosh_conjugate_gradient_inside(a, x);
      axiom inside_softplus_value_is: \forall real a, x;
        point_inside(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, x) <==> \true;
      axiom inside_softplus_gradient_is: \forall real a, x;
        point_inside(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, x) <==> \true;
      axiom inside_softplus_second_is: \forall real a, x;
        point_inside(FAMILY_SOFTPLUS, FUNCTION_SECOND, a, x) <==> \true;
      axiom inside_softplus_conjugate_is: \forall real a, x;
        point_inside(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, x) <==> softplus_conjugate_inside(a, x);
      axiom inside_softplus_conjugate_gradient_is: \forall real a, x;
        point_inside(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> softplus_conjugate_gradient_inside(a, x);
      axiom infinite_euclid_value_is: \forall real a, x;
        point_infinite(FAMILY_EUCLID, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_euclid_gradient_is: \forall real a, x;
        point_infinite(FAMILY_EUCLID, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_euclid_second_is: \forall real a, x;
        point_infinite(FAMILY_EUCLID, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_euclid_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_EUCLID, FUNCTION_CONJUGATE, a, x) <==> \false;
      axiom infinite_euclid_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_EUCLID, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_lp_value_is: \forall real a, x;
        point_infinite(FAMILY_LP, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_lp_gradient_is: \forall real a, x;
        point_infinite(FAMILY_LP, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_lp_second_is: \forall real a, x;
        point_infinite(FAMILY_LP, FUNCTION_SECOND, a, x) <==> lp_second_infinite(a, x);
      axiom infinite_lp_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_LP, FUNCTION_CONJUGATE, a, x) <==> \false;
      axiom infinite_lp_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_LP, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_lp_one_value_is: \forall real a, x;
        point_infinite(FAMILY_LP_ONE, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_lp_one_gradient_is: \forall real a, x;
        point_infinite(FAMILY_LP_ONE, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_lp_one_second_is: \forall real a, x;
        point_infinite(FAMILY_LP_ONE, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_lp_one_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_LP_ONE, FUNCTION_CONJUGATE, a, x) <==> !lp_one_conjugate_inside(a, x);
      axiom infinite_lp_one_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_LP_ONE, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_soft_l1_value_is: \forall real a, x;
        point_infinite(FAMILY_SOFT_L1, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_soft_l1_gradient_is: \forall real a, x;
        point_infinite(FAMILY_SOFT_L1, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_soft_l1_second_is: \forall real a, x;
        point_infinite(FAMILY_SOFT_L1, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_soft_l1_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_SOFT_L1, FUNCTION_CONJUGATE, a, x) <==> !soft_l1_conjugate_inside(a, x);
      axiom infinite_soft_l1_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_SOFT_L1, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_negentropy_value_is: \forall real a, x;
        point_infinite(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, x) <==> !negentropy_value_inside(a, x);
      axiom infinite_negentropy_gradient_is: \forall real a, x;
        point_infinite(FAMILY_NEGENTROPY, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_negentropy_second_is: \forall real a, x;
        point_infinite(FAMILY_NEGENTROPY, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_negentropy_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, x) <==> \false;
      axiom infinite_negentropy_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_tsallis_value_is: \forall real a, x;
        point_infinite(FAMILY_TSALLIS, FUNCTION_VALUE, a, x) <==> !tsallis_value_inside(a, x);
      axiom infinite_tsallis_gradient_is: \forall real a, x;
        point_infinite(FAMILY_TSALLIS, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_tsallis_second_is: \forall real a, x;
        point_infinite(FAMILY_TSALLIS, FUNCTION_SECOND, a, x) <==> tsallis_second_infinite(a, x);
      axiom infinite_tsallis_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, x) <==> !tsallis_conjugate_inside(a, x);
      axiom infinite_tsallis_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_pseudo_huber_value_is: \forall real a, x;
        point_infinite(FAMILY_PSEUDO_HUBER, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_pseudo_huber_gradient_is: \forall real a, x;
        point_infinite(FAMILY_PSEUDO_HUBER, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_pseudo_huber_second_is: \forall real a, x;
        point_infinite(FAMILY_PSEUDO_HUBER, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_pseudo_huber_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE, a, x) <==> !pseudo_huber_conjugate_inside(a, x);
      axiom infinite_pseudo_huber_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_log_cosh_value_is: \forall real a, x;
        point_infinite(FAMILY_LOG_COSH, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_log_cosh_gradient_is: \forall real a, x;
        point_infinite(FAMILY_LOG_COSH, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_log_cosh_second_is: \forall real a, x;
        point_infinite(FAMILY_LOG_COSH, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_log_cosh_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_LOG_COSH, FUNCTION_CONJUGATE, a, x) <==> !log_cosh_conjugate_inside(a, x);
      axiom infinite_log_cosh_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_LOG_COSH, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom infinite_softplus_value_is: \forall real a, x;
        point_infinite(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, x) <==> \false;
      axiom infinite_softplus_gradient_is: \forall real a, x;
        point_infinite(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, x) <==> \false;
      axiom infinite_softplus_second_is: \forall real a, x;
        point_infinite(FAMILY_SOFTPLUS, FUNCTION_SECOND, a, x) <==> \false;
      axiom infinite_softplus_conjugate_is: \forall real a, x;
        point_infinite(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, x) <==> !softplus_conjugate_inside(a, x);
      axiom infinite_softplus_conjugate_gradient_is: \forall real a, x;
        point_infinite(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> \false;
      axiom valid_euclid_is: \forall real a; parameter_valid(FAMILY_EUCLID, a) <==> euclid_valid(a);
      axiom valid_lp_is: \forall real a; parameter_valid(FAMILY_LP, a) <==> lp_valid(a);
      axiom valid_lp_one_is: \forall real a; parameter_valid(FAMILY_LP_ONE, a) <==> lp_one_valid(a);
      axiom valid_soft_l1_is: \forall real a; parameter_valid(FAMILY_SOFT_L1, a) <==> soft_l1_valid(a);
      axiom valid_negentropy_is: \forall real a; parameter_valid(FAMILY_NEGENTROPY, a) <==> negentropy_valid(a);
      axiom valid_tsallis_is: \forall real a; parameter_valid(FAMILY_TSALLIS, a) <==> tsallis_valid(a);
      axiom valid_pseudo_huber_is: \forall real a; parameter_valid(FAMILY_PSEUDO_HUBER, a) <==> pseudo_huber_valid(a);
      axiom valid_log_cosh_is: \forall real a; parameter_valid(FAMILY_LOG_COSH, a) <==> log_cosh_valid(a);
      axiom valid_softplus_is: \forall real a; parameter_valid(FAMILY_SOFTPLUS, a) <==> softplus_valid(a);
      axiom parameter_free_is: \forall integer s; parameter_free(s) <==>
        s == FAMILY_EUCLID || s == FAMILY_LP_ONE || s == FAMILY_NEGENTROPY || s == FAMILY_SOFTPLUS;
    }
*/

/* The contract of a function at a point: z = f(x, a) with temporaries t[0..4]. (In a macro \true would
   be taken apart, since <stdbool.h> defines true.) */
#define POINT_OF(KNOWN, MEANING) \
  requires point_arguments(z, x, a, t); \
  terminates always; \
  exits never; \
  assigns *z, t[0 .. 4]; \
  ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t); \
  ensures meaning: \result == PHIBAL_OK ==> \
    \forall real p, r; KNOWN && in{Pre}(x, r) ==> MEANING;
/* With a parameter, all of it valid, and without. */
#define POINT(VALID, MEANING) \
  requires \forall real p; in(a, p) ==> VALID(p); \
  POINT_OF(in{Pre}(a, p), MEANING)
#define FREE_POINT(MEANING) POINT_OF(always, MEANING)
/* A real number: everywhere; where it is inside its domain, else plus infinity; there, and nothing
   else is a success; the same, or plus infinity. */
#define REAL(f) in(z, f(p, r))
#define INFINITE_OUTSIDE(f) (f##_inside(p, r) ? in(z, f(p, r)) : in_plus(z))
#define REAL_INSIDE(f) (f##_inside(p, r) && in(z, f(p, r)))
#define REAL_OR_INFINITE(f) \
  ((f##_inside(p, r) && in(z, f(p, r))) || (f##_infinite(p, r) && in_plus(z)))

#endif
