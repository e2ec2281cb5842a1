/* How the dispatch of the potentials finds a family's functions of one coordinate. ACSL only. Needs
   the families, of reference/potentials/potentials.h. */
#ifndef PHIBAL_ACSL_DISPATCH_H
#define PHIBAL_ACSL_DISPATCH_H

#include <phibal/acsl/coordinates.h>
#include <phibal/acsl/points.h>

/*@ // the functions of family s are those of the coordinates of potential id with the parameter a
    predicate of_family(integer s, integer id, real a) =
      (id == PHIBAL_POTENTIAL_EUCLID && s == FAMILY_EUCLID) ||
      (id == PHIBAL_POTENTIAL_SOFT_L1 && s == FAMILY_SOFT_L1) ||
      (id == PHIBAL_POTENTIAL_NEGENTROPY && s == FAMILY_NEGENTROPY) ||
      (id == PHIBAL_POTENTIAL_TSALLIS && s == FAMILY_TSALLIS) ||
      (id == PHIBAL_POTENTIAL_PSEUDO_HUBER && s == FAMILY_PSEUDO_HUBER) ||
      (id == PHIBAL_POTENTIAL_LOG_COSH && s == FAMILY_LOG_COSH) ||
      (id == PHIBAL_POTENTIAL_SOFTPLUS && s == FAMILY_SOFTPLUS) ||
      (id == PHIBAL_POTENTIAL_LP && s == (a == 1.0 ? FAMILY_LP_ONE : FAMILY_LP));
    // v_i is f of s_i, all of which are inside
    predicate points_are(integer k, integer f, real a, sequence s, sequence v, integer n) =
      \forall integer i; 0 <= i < n ==>
        point_inside(k, f, a, term(s, i)) && term(v, i) == point_value(k, f, a, term(s, i));

    axiomatic Families {
      predicate use_families;
      axiom families_used: use_families;
      LEMMA family_value: GIVEN(open_points && open_coordinates) \forall integer s, id, real a, x;
        of_family(s, id, a) ==>
        (point_inside(s, FUNCTION_VALUE, a, x) <==> value_finite(id, a, x)) &&
        point_value(s, FUNCTION_VALUE, a, x) == value_of(id, a, x);
      LEMMA family_gradient: GIVEN(open_points && open_separable) \forall integer s, id, real a, x;
        of_family(s, id, a) ==>
        (point_inside(s, FUNCTION_GRADIENT, a, x) <==> price_exists(id, a, x)) &&
        !point_infinite(s, FUNCTION_GRADIENT, a, x) &&
        point_value(s, FUNCTION_GRADIENT, a, x) == price_of(id, a, x);
      LEMMA family_second: GIVEN(open_points && open_coordinates) \forall integer s, id, real a, x;
        of_family(s, id, a) ==>
        (point_inside(s, FUNCTION_SECOND, a, x) <==> curvature_exists(id, a, x)) &&
        (point_infinite(s, FUNCTION_SECOND, a, x) <==> curvature_infinite(id, a, x)) &&
        point_value(s, FUNCTION_SECOND, a, x) == curvature_of(id, a, x);
      LEMMA family_conjugate: GIVEN(open_points && open_coordinates) \forall integer s, id, real a, x;
        of_family(s, id, a) ==>
        (point_inside(s, FUNCTION_CONJUGATE, a, x) <==> conjugate_finite(id, a, x)) &&
        point_value(s, FUNCTION_CONJUGATE, a, x) == conjugate_of(id, a, x);
      LEMMA family_conjugate_gradient: GIVEN(open_points && open_separable) \forall integer s, id, real a, x;
        of_family(s, id, a) ==>
        (point_inside(s, FUNCTION_CONJUGATE_GRADIENT, a, x) <==> load_exists(id, a, x)) &&
        !point_infinite(s, FUNCTION_CONJUGATE_GRADIENT, a, x) &&
        point_value(s, FUNCTION_CONJUGATE_GRADIENT, a, x) == load_of(id, a, x);
      LEMMA renyi_inseparable: GIVEN(open_separable) \forall real a;
        !separable(PHIBAL_POTENTIAL_RENYI, a);
      LEMMA family_valid: GIVEN(open_points && open_separable) \forall integer s, id, real a;
        of_family(s, id, a) && separable(id, a) ==> family(s) && parameter_valid(s, a);
    }
*/

#endif
