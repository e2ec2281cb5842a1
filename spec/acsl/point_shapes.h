/* What a function over an interval takes from its values at points, for every family. ACSL only. */
#ifndef PHIBAL_ACSL_POINT_SHAPES_H
#define PHIBAL_ACSL_POINT_SHAPES_H

#include <phibal/acsl/points.h>
#include <phibal/acsl/potential_shapes.h>

/*@ axiomatic PointOrder {
      // f has a value at x, perhaps plus infinity
      predicate point_defined(integer s, integer f, real a, real x);
      // f(x) <= f(y)
      predicate point_le(integer s, integer f, real a, real x, real y);
      // f(y) is between f(x) and f(z)
      predicate point_between(integer s, integer f, real a, real x, real y, real z);
    }
    axiomatic PointOrderDefinition {
      predicate open_order;
      axiom order_opened: open_order;
      axiom point_defined_is: \forall integer s, f, real a, x; point_defined(s, f, a, x) <==>
        point_inside(s, f, a, x) || point_infinite(s, f, a, x);
      axiom point_le_is: \forall integer s, f, real a, x, y; point_le(s, f, a, x, y) <==>
        (point_defined(s, f, a, x) && !point_inside(s, f, a, y) && point_infinite(s, f, a, y)) ||
        (point_inside(s, f, a, x) && point_inside(s, f, a, y) &&
         point_value(s, f, a, x) <= point_value(s, f, a, y));
      axiom point_between_is: \forall integer s, f, real a, x, y, z;
        point_between(s, f, a, x, y, z) <==>
        (point_le(s, f, a, x, y) && point_le(s, f, a, y, z)) ||
        (point_le(s, f, a, z, y) && point_le(s, f, a, y, x));
    }
    predicate entropic(integer s) = s == FAMILY_NEGENTROPY || s == FAMILY_TSALLIS;
    predicate convex_point(integer s, integer f) =
      (entropic(s) && f == FUNCTION_VALUE) || (s == FAMILY_SOFTPLUS && f == FUNCTION_CONJUGATE);
    predicate even_point(integer s, integer f) =
      !convex_point(s, f) &&
      ((f == FUNCTION_VALUE && s != FAMILY_SOFTPLUS) || (f == FUNCTION_SECOND && !entropic(s)) ||
       (f == FUNCTION_CONJUGATE && !entropic(s)));
    predicate monotone_point(integer s, integer f) = !convex_point(s, f) && !even_point(s, f);
    logic integer dual(integer f) = f == FUNCTION_VALUE ? FUNCTION_CONJUGATE : FUNCTION_VALUE;
    logic integer dual_gradient(integer f) =
      f == FUNCTION_VALUE ? FUNCTION_CONJUGATE_GRADIENT : FUNCTION_GRADIENT;

    axiomatic PointShapesOf_value {
      predicate use_shapes_of_value;
      axiom shapes_of_value_used: use_shapes_of_value;
      LEMMA euclid_value_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_EUCLID, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_EUCLID, FUNCTION_VALUE, a, x) && point_defined(FAMILY_EUCLID, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_EUCLID, FUNCTION_VALUE, a, x, y, z);
      LEMMA lp_value_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LP, FUNCTION_VALUE, a, x) && point_defined(FAMILY_LP, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_LP, FUNCTION_VALUE, a, x, y, z);
      LEMMA lp_one_value_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP_ONE, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LP_ONE, FUNCTION_VALUE, a, x) && point_defined(FAMILY_LP_ONE, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_LP_ONE, FUNCTION_VALUE, a, x, y, z);
      LEMMA soft_l1_value_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFT_L1, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_SOFT_L1, FUNCTION_VALUE, a, x) && point_defined(FAMILY_SOFT_L1, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_SOFT_L1, FUNCTION_VALUE, a, x, y, z);
      LEMMA negentropy_value_falling: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) ==> point_le(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, y, x);
      LEMMA negentropy_value_rising: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) <= x ==> point_le(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, x, y);
      LEMMA negentropy_value_left: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z && z <= point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) ==>
          point_between(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, x, y, z);
      LEMMA negentropy_value_right: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z && point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) <= x ==>
          point_between(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, x, y, z);
      LEMMA negentropy_value_bounds: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z ==>
          (point_le(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, y, x) || point_le(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, y, z));
      LEMMA negentropy_value_minimum: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, y;
        parameter_valid(FAMILY_NEGENTROPY, a) && point_inside(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, y) ==>
          -point_value(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, 0.0) <= point_value(FAMILY_NEGENTROPY, FUNCTION_VALUE, a, y);
      LEMMA tsallis_value_falling: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) ==> point_le(FAMILY_TSALLIS, FUNCTION_VALUE, a, y, x);
      LEMMA tsallis_value_rising: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) <= x ==> point_le(FAMILY_TSALLIS, FUNCTION_VALUE, a, x, y);
      LEMMA tsallis_value_left: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z && z <= point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) ==>
          point_between(FAMILY_TSALLIS, FUNCTION_VALUE, a, x, y, z);
      LEMMA tsallis_value_right: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z && point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, 0.0) <= x ==>
          point_between(FAMILY_TSALLIS, FUNCTION_VALUE, a, x, y, z);
      LEMMA tsallis_value_bounds: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z ==>
          (point_le(FAMILY_TSALLIS, FUNCTION_VALUE, a, y, x) || point_le(FAMILY_TSALLIS, FUNCTION_VALUE, a, y, z));
      LEMMA tsallis_value_minimum: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, y;
        parameter_valid(FAMILY_TSALLIS, a) && point_inside(FAMILY_TSALLIS, FUNCTION_VALUE, a, y) ==>
          -point_value(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, 0.0) <= point_value(FAMILY_TSALLIS, FUNCTION_VALUE, a, y);
      LEMMA pseudo_huber_value_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_PSEUDO_HUBER, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_VALUE, a, x) && point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_PSEUDO_HUBER, FUNCTION_VALUE, a, x, y, z);
      LEMMA log_cosh_value_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LOG_COSH, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LOG_COSH, FUNCTION_VALUE, a, x) && point_defined(FAMILY_LOG_COSH, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_LOG_COSH, FUNCTION_VALUE, a, x, y, z);
      LEMMA softplus_value_between: GIVEN(open_points && open_order && use_potential_shapes && use_exp && use_log && use_log1p) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= z &&
        point_defined(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, x) && point_defined(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, z) ==>
          point_between(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, x, y, z);
    }
    axiomatic PointShapesOf_gradient {
      predicate use_shapes_of_gradient;
      axiom shapes_of_gradient_used: use_shapes_of_gradient;
      LEMMA euclid_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_EUCLID, a) && x <= y && y <= z &&
        point_defined(FAMILY_EUCLID, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_EUCLID, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_EUCLID, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA lp_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP, a) && x <= y && y <= z &&
        point_defined(FAMILY_LP, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_LP, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_LP, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA lp_one_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP_ONE, a) && x <= y && y <= z && y != 0.0 &&
        point_defined(FAMILY_LP_ONE, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_LP_ONE, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_LP_ONE, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA soft_l1_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFT_L1, a) && x <= y && y <= z &&
        point_defined(FAMILY_SOFT_L1, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_SOFT_L1, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_SOFT_L1, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA negentropy_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z &&
        point_defined(FAMILY_NEGENTROPY, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_NEGENTROPY, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_NEGENTROPY, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA tsallis_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z &&
        point_defined(FAMILY_TSALLIS, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_TSALLIS, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_TSALLIS, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA pseudo_huber_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_PSEUDO_HUBER, a) && x <= y && y <= z &&
        point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_PSEUDO_HUBER, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA log_cosh_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LOG_COSH, a) && x <= y && y <= z &&
        point_defined(FAMILY_LOG_COSH, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_LOG_COSH, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_LOG_COSH, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA softplus_gradient_between: GIVEN(open_points && open_order && use_potential_shapes && use_exp && use_log && use_log1p) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= z &&
        point_defined(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, x) && point_defined(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, z) ==>
          point_between(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, x, y, z);
    }
    axiomatic PointShapesOf_second {
      predicate use_shapes_of_second;
      axiom shapes_of_second_used: use_shapes_of_second;
      LEMMA euclid_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_EUCLID, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_EUCLID, FUNCTION_SECOND, a, x) && point_defined(FAMILY_EUCLID, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_EUCLID, FUNCTION_SECOND, a, x, y, z);
      LEMMA lp_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LP, FUNCTION_SECOND, a, x) && point_defined(FAMILY_LP, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_LP, FUNCTION_SECOND, a, x, y, z);
      LEMMA lp_one_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP_ONE, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LP_ONE, FUNCTION_SECOND, a, x) && point_defined(FAMILY_LP_ONE, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_LP_ONE, FUNCTION_SECOND, a, x, y, z);
      LEMMA soft_l1_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFT_L1, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_SOFT_L1, FUNCTION_SECOND, a, x) && point_defined(FAMILY_SOFT_L1, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_SOFT_L1, FUNCTION_SECOND, a, x, y, z);
      LEMMA negentropy_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z &&
        point_defined(FAMILY_NEGENTROPY, FUNCTION_SECOND, a, x) && point_defined(FAMILY_NEGENTROPY, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_NEGENTROPY, FUNCTION_SECOND, a, x, y, z);
      LEMMA tsallis_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z &&
        point_defined(FAMILY_TSALLIS, FUNCTION_SECOND, a, x) && point_defined(FAMILY_TSALLIS, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_TSALLIS, FUNCTION_SECOND, a, x, y, z);
      LEMMA pseudo_huber_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_PSEUDO_HUBER, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_SECOND, a, x) && point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_PSEUDO_HUBER, FUNCTION_SECOND, a, x, y, z);
      LEMMA log_cosh_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LOG_COSH, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LOG_COSH, FUNCTION_SECOND, a, x) && point_defined(FAMILY_LOG_COSH, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_LOG_COSH, FUNCTION_SECOND, a, x, y, z);
      LEMMA softplus_second_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_SOFTPLUS, FUNCTION_SECOND, a, x) && point_defined(FAMILY_SOFTPLUS, FUNCTION_SECOND, a, z) ==>
          point_between(FAMILY_SOFTPLUS, FUNCTION_SECOND, a, x, y, z);
    }
    axiomatic PointShapesOf_conjugate {
      predicate use_shapes_of_conjugate;
      axiom shapes_of_conjugate_used: use_shapes_of_conjugate;
      LEMMA euclid_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_EUCLID, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_EUCLID, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_EUCLID, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_EUCLID, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA lp_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LP, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_LP, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_LP, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA lp_one_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP_ONE, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LP_ONE, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_LP_ONE, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_LP_ONE, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA soft_l1_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFT_L1, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_SOFT_L1, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_SOFT_L1, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_SOFT_L1, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA negentropy_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z &&
        point_defined(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA tsallis_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z &&
        point_defined(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_TSALLIS, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA pseudo_huber_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_PSEUDO_HUBER, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA log_cosh_conjugate_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LOG_COSH, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(FAMILY_LOG_COSH, FUNCTION_CONJUGATE, a, x) && point_defined(FAMILY_LOG_COSH, FUNCTION_CONJUGATE, a, z) ==>
          point_between(FAMILY_LOG_COSH, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA softplus_conjugate_falling: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= point_value(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, 0.0) ==> point_le(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, y, x);
      LEMMA softplus_conjugate_rising: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && point_value(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, 0.0) <= x ==> point_le(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, x, y);
      LEMMA softplus_conjugate_left: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= z && z <= point_value(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, 0.0) ==>
          point_between(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA softplus_conjugate_right: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= z && point_value(FAMILY_SOFTPLUS, FUNCTION_GRADIENT, a, 0.0) <= x ==>
          point_between(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA softplus_conjugate_bounds: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= z ==>
          (point_le(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, y, x) || point_le(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, y, z));
      LEMMA softplus_conjugate_minimum: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, y;
        parameter_valid(FAMILY_SOFTPLUS, a) && point_inside(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, y) ==>
          -point_value(FAMILY_SOFTPLUS, FUNCTION_VALUE, a, 0.0) <= point_value(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE, a, y);
    }
    axiomatic PointShapesOf_conjugate_gradient {
      predicate use_shapes_of_conjugate_gradient;
      axiom shapes_of_conjugate_gradient_used: use_shapes_of_conjugate_gradient;
      LEMMA euclid_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_EUCLID, a) && x <= y && y <= z &&
        point_defined(FAMILY_EUCLID, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_EUCLID, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_EUCLID, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA lp_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP, a) && x <= y && y <= z &&
        point_defined(FAMILY_LP, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_LP, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_LP, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA lp_one_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LP_ONE, a) && x <= y && y <= z &&
        point_defined(FAMILY_LP_ONE, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_LP_ONE, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_LP_ONE, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA soft_l1_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFT_L1, a) && x <= y && y <= z &&
        point_defined(FAMILY_SOFT_L1, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_SOFT_L1, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_SOFT_L1, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA negentropy_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_NEGENTROPY, a) && x <= y && y <= z &&
        point_defined(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_NEGENTROPY, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA tsallis_conjugate_gradient_below: GIVEN(open_points && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && point_inside(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, y) ==>
          point_inside(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x);
      LEMMA tsallis_conjugate_gradient_order: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && point_defined(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, y) ==> point_le(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x, y);
      LEMMA tsallis_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_TSALLIS, a) && x <= y && y <= z &&
        point_defined(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_TSALLIS, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA pseudo_huber_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_PSEUDO_HUBER, a) && x <= y && y <= z &&
        point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_PSEUDO_HUBER, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA log_cosh_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_LOG_COSH, a) && x <= y && y <= z &&
        point_defined(FAMILY_LOG_COSH, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_LOG_COSH, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_LOG_COSH, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA softplus_conjugate_gradient_between: GIVEN(open_points && open_order && use_potential_shapes) \forall real a, x, y, z;
        parameter_valid(FAMILY_SOFTPLUS, a) && x <= y && y <= z &&
        point_defined(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(FAMILY_SOFTPLUS, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
    }
    axiomatic PlusUse {
      predicate use_plus;
      axiom plus_used: use_plus;
      LEMMA plus_above{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a, b;
        in_plus(x) && in(x, a) && a <= b ==> in(x, b);
      LEMMA same_ends{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        same{A, B}(x) ==> \at(x->hi[0].number, A) == \at(x->hi[0].number, B) &&
          \at(x->lo[0].number, A) == \at(x->lo[0].number, B);
    }
    axiomatic PointShapesOfFunctions {
      predicate use_shapes_of_functions;
      axiom shapes_of_functions_used: use_shapes_of_functions;
      LEMMA monotone_value_high: GIVEN(use_shapes_of_value) \forall integer s, real a, x, y, z;
        (s == FAMILY_SOFTPLUS) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_VALUE, a, x) && point_defined(s, FUNCTION_VALUE, a, z) ==>
          point_between(s, FUNCTION_VALUE, a, x, y, z);
      LEMMA even_value_low: GIVEN(use_shapes_of_value) \forall integer s, real a, x, y, z;
        (s == FAMILY_EUCLID || s == FAMILY_LP || s == FAMILY_LP_ONE) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_VALUE, a, x) && point_defined(s, FUNCTION_VALUE, a, z) ==>
          point_between(s, FUNCTION_VALUE, a, x, y, z);
      LEMMA even_value_high: GIVEN(use_shapes_of_value) \forall integer s, real a, x, y, z;
        (s == FAMILY_SOFT_L1 || s == FAMILY_PSEUDO_HUBER || s == FAMILY_LOG_COSH) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_VALUE, a, x) && point_defined(s, FUNCTION_VALUE, a, z) ==>
          point_between(s, FUNCTION_VALUE, a, x, y, z);
      LEMMA monotone_gradient_low: GIVEN(use_shapes_of_gradient) \forall integer s, real a, x, y, z;
        (s == FAMILY_EUCLID || s == FAMILY_LP || s == FAMILY_LP_ONE || s == FAMILY_SOFT_L1) && parameter_valid(s, a) && x <= y && y <= z && (s == FAMILY_LP_ONE ==> y != 0.0) &&
        point_defined(s, FUNCTION_GRADIENT, a, x) && point_defined(s, FUNCTION_GRADIENT, a, z) ==>
          point_between(s, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA monotone_gradient_high: GIVEN(use_shapes_of_gradient) \forall integer s, real a, x, y, z;
        (s == FAMILY_NEGENTROPY || s == FAMILY_TSALLIS || s == FAMILY_PSEUDO_HUBER || s == FAMILY_LOG_COSH || s == FAMILY_SOFTPLUS) && parameter_valid(s, a) && x <= y && y <= z && (s == FAMILY_LP_ONE ==> y != 0.0) &&
        point_defined(s, FUNCTION_GRADIENT, a, x) && point_defined(s, FUNCTION_GRADIENT, a, z) ==>
          point_between(s, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA monotone_second_low: GIVEN(use_shapes_of_second) \forall integer s, real a, x, y, z;
        (s == FAMILY_NEGENTROPY) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_SECOND, a, x) && point_defined(s, FUNCTION_SECOND, a, z) ==>
          point_between(s, FUNCTION_SECOND, a, x, y, z);
      LEMMA monotone_second_high: GIVEN(use_shapes_of_second) \forall integer s, real a, x, y, z;
        (s == FAMILY_TSALLIS) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_SECOND, a, x) && point_defined(s, FUNCTION_SECOND, a, z) ==>
          point_between(s, FUNCTION_SECOND, a, x, y, z);
      LEMMA even_second_low: GIVEN(use_shapes_of_second) \forall integer s, real a, x, y, z;
        (s == FAMILY_EUCLID || s == FAMILY_LP || s == FAMILY_LP_ONE) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_SECOND, a, x) && point_defined(s, FUNCTION_SECOND, a, z) ==>
          point_between(s, FUNCTION_SECOND, a, x, y, z);
      LEMMA even_second_high: GIVEN(use_shapes_of_second) \forall integer s, real a, x, y, z;
        (s == FAMILY_SOFT_L1 || s == FAMILY_PSEUDO_HUBER || s == FAMILY_LOG_COSH || s == FAMILY_SOFTPLUS) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_SECOND, a, x) && point_defined(s, FUNCTION_SECOND, a, z) ==>
          point_between(s, FUNCTION_SECOND, a, x, y, z);
      LEMMA monotone_conjugate_low: GIVEN(use_shapes_of_conjugate) \forall integer s, real a, x, y, z;
        (s == FAMILY_NEGENTROPY) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_CONJUGATE, a, x) && point_defined(s, FUNCTION_CONJUGATE, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA monotone_conjugate_high: GIVEN(use_shapes_of_conjugate) \forall integer s, real a, x, y, z;
        (s == FAMILY_TSALLIS) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_CONJUGATE, a, x) && point_defined(s, FUNCTION_CONJUGATE, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA even_conjugate_low: GIVEN(use_shapes_of_conjugate) \forall integer s, real a, x, y, z;
        (s == FAMILY_EUCLID || s == FAMILY_LP || s == FAMILY_LP_ONE) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_CONJUGATE, a, x) && point_defined(s, FUNCTION_CONJUGATE, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA even_conjugate_high: GIVEN(use_shapes_of_conjugate) \forall integer s, real a, x, y, z;
        (s == FAMILY_SOFT_L1 || s == FAMILY_PSEUDO_HUBER || s == FAMILY_LOG_COSH) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_CONJUGATE, a, x) && point_defined(s, FUNCTION_CONJUGATE, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA monotone_conjugate_gradient_low: GIVEN(use_shapes_of_conjugate_gradient) \forall integer s, real a, x, y, z;
        (s == FAMILY_EUCLID || s == FAMILY_LP || s == FAMILY_LP_ONE || s == FAMILY_SOFT_L1) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(s, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      LEMMA monotone_conjugate_gradient_high: GIVEN(use_shapes_of_conjugate_gradient) \forall integer s, real a, x, y, z;
        (s == FAMILY_NEGENTROPY || s == FAMILY_TSALLIS || s == FAMILY_PSEUDO_HUBER || s == FAMILY_LOG_COSH || s == FAMILY_SOFTPLUS) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(s, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
    }
    axiomatic PointShapes {
      predicate use_point_shapes;
      axiom point_shapes_used: use_point_shapes;
      LEMMA monotone_value: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && monotone_point(s, FUNCTION_VALUE) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_VALUE, a, x) && point_defined(s, FUNCTION_VALUE, a, z) ==>
          point_between(s, FUNCTION_VALUE, a, x, y, z);
      LEMMA even_value: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && even_point(s, FUNCTION_VALUE) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_VALUE, a, x) && point_defined(s, FUNCTION_VALUE, a, z) ==>
          point_between(s, FUNCTION_VALUE, a, x, y, z);
      LEMMA monotone_gradient: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && monotone_point(s, FUNCTION_GRADIENT) && parameter_valid(s, a) && x <= y && y <= z && !jump(s, FUNCTION_GRADIENT, y) &&
        point_defined(s, FUNCTION_GRADIENT, a, x) && point_defined(s, FUNCTION_GRADIENT, a, z) ==>
          point_between(s, FUNCTION_GRADIENT, a, x, y, z);
      LEMMA monotone_second: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && monotone_point(s, FUNCTION_SECOND) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_SECOND, a, x) && point_defined(s, FUNCTION_SECOND, a, z) ==>
          point_between(s, FUNCTION_SECOND, a, x, y, z);
      LEMMA even_second: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && even_point(s, FUNCTION_SECOND) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_SECOND, a, x) && point_defined(s, FUNCTION_SECOND, a, z) ==>
          point_between(s, FUNCTION_SECOND, a, x, y, z);
      LEMMA monotone_conjugate: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && monotone_point(s, FUNCTION_CONJUGATE) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_CONJUGATE, a, x) && point_defined(s, FUNCTION_CONJUGATE, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA even_conjugate: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && even_point(s, FUNCTION_CONJUGATE) && parameter_valid(s, a) && \abs(x) <= \abs(y) && \abs(y) <= \abs(z) &&
        point_defined(s, FUNCTION_CONJUGATE, a, x) && point_defined(s, FUNCTION_CONJUGATE, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE, a, x, y, z);
      LEMMA monotone_conjugate_gradient: GIVEN(use_shapes_of_functions) \forall integer s, real a, x, y, z;
        family(s) && monotone_point(s, FUNCTION_CONJUGATE_GRADIENT) && parameter_valid(s, a) && x <= y && y <= z &&
        point_defined(s, FUNCTION_CONJUGATE_GRADIENT, a, x) && point_defined(s, FUNCTION_CONJUGATE_GRADIENT, a, z) ==>
          point_between(s, FUNCTION_CONJUGATE_GRADIENT, a, x, y, z);
      // over an interval on whose ends f is defined
      LEMMA monotone_shape: GIVEN(use_shapes_of_functions) \forall integer s, f, real a, x, y, z;
        family(s) && function(f) && monotone_point(s, f) && parameter_valid(s, a) && x <= y &&
        y <= z && point_defined(s, f, a, x) && point_defined(s, f, a, z) &&
        !jump(s, f, y) ==>
          point_between(s, f, a, x, y, z);
      LEMMA even_shape: GIVEN(use_shapes_of_functions) \forall integer s, f, real a, x, y, z;
        family(s) && function(f) && even_point(s, f) && parameter_valid(s, a) &&
        \abs(x) <= \abs(y) && \abs(y) <= \abs(z) && point_defined(s, f, a, x) &&
        point_defined(s, f, a, z) ==> point_between(s, f, a, x, y, z);
      LEMMA convex_side: GIVEN(use_shapes_of_value && use_shapes_of_conjugate) \forall integer s, f, real a, x, y, z;
        convex_point(s, f) && parameter_valid(s, a) && x <= y && y <= z &&
        (z <= point_value(s, dual_gradient(f), a, 0.0) ||
         point_value(s, dual_gradient(f), a, 0.0) <= x) ==> point_between(s, f, a, x, y, z);
      LEMMA convex_bounds: GIVEN(use_shapes_of_value && use_shapes_of_conjugate) \forall integer s, f, real a, x, y, z;
        convex_point(s, f) && parameter_valid(s, a) && x <= y && y <= z ==>
          point_le(s, f, a, y, x) || point_le(s, f, a, y, z);
      LEMMA between_back: GIVEN(open_order) \forall integer s, f, real a, x, y, z;
        point_between(s, f, a, x, y, z) ==> point_between(s, f, a, z, y, x);
      LEMMA dual_real: GIVEN(open_points && use_potential_shapes) \forall integer s, f, real a;
        convex_point(s, f) && parameter_valid(s, a) ==>
          !point_infinite(s, dual(f), a, 0.0) && !point_infinite(s, dual_gradient(f), a, 0.0);
      LEMMA convex_minimum: GIVEN(use_shapes_of_value && use_shapes_of_conjugate) \forall integer s, f, real a, y;
        convex_point(s, f) && parameter_valid(s, a) && point_inside(s, f, a, y) ==>
          -point_value(s, dual(f), a, 0.0) <= point_value(s, f, a, y);
    }
*/
#endif
