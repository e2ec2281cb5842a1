/* The separable potentials: what separable.h leaves out. The value, the second derivative and the
   conjugate of one coordinate, and what they are for a vector: sums, and diagonals. ACSL only. The
   definitions are behind a key. */
#ifndef PHIBAL_ACSL_COORDINATES_H
#define PHIBAL_ACSL_COORDINATES_H

#include <phibal/acsl/separable.h>

/*@ axiomatic Coordinates {
      // phi of a coordinate x; whether it is a real number, else it is plus infinity
      logic real value_of(integer id, real a, real x);
      predicate value_finite(integer id, real a, real x);
      // the second derivative at x; whether there is one; whether it is plus infinity
      logic real curvature_of(integer id, real a, real x);
      predicate curvature_exists(integer id, real a, real x);
      predicate curvature_infinite(integer id, real a, real x);
      // phi* of a price's coordinate; whether it is a real number, else it is plus infinity
      logic real conjugate_of(integer id, real a, real y);
      predicate conjugate_finite(integer id, real a, real y);
    }
    // v_i is the value, the conjugate of s_i, all of which are real numbers
    predicate values_are(integer id, real a, sequence s, sequence v, integer n) =
      \forall integer i; 0 <= i < n ==>
        value_finite(id, a, term(s, i)) && term(v, i) == value_of(id, a, term(s, i));
    predicate conjugates_are(integer id, real a, sequence s, sequence v, integer n) =
      \forall integer i; 0 <= i < n ==>
        conjugate_finite(id, a, term(s, i)) && term(v, i) == conjugate_of(id, a, term(s, i));

    axiomatic CoordinatesDefinition {
      predicate open_coordinates;
      axiom coordinates_opened: open_coordinates;
      axiom euclid_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_EUCLID, a, x) == euclid_value(a, x);
      axiom euclid_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_EUCLID, a, x) <==> \true;
      axiom euclid_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_EUCLID, a, x) == euclid_second(a, x);
      axiom euclid_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_EUCLID, a, x) <==> \true;
      axiom euclid_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_EUCLID, a, x) <==> \false;
      axiom euclid_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_EUCLID, a, x) == euclid_conjugate(a, x);
      axiom euclid_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_EUCLID, a, x) <==> \true;
      axiom lp_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_LP, a, x) == (a == 1.0 ? lp_one_value(a, x) : lp_value(a, x));
      axiom lp_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_LP, a, x) <==> \true;
      axiom lp_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_LP, a, x) ==
          (a == 1.0 ? lp_one_second(a, x) : lp_second(a, x));
      axiom lp_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_LP, a, x) <==>
          (a == 1.0 ? lp_one_second_inside(a, x) : lp_second_inside(a, x));
      axiom lp_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_LP, a, x) <==> (a != 1.0 && lp_second_infinite(a, x));
      axiom lp_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_LP, a, x) ==
          (a == 1.0 ? lp_one_conjugate(a, x) : lp_conjugate(a, x));
      axiom lp_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_LP, a, x) <==>
          (a == 1.0 ==> lp_one_conjugate_inside(a, x));
      axiom soft_l1_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_SOFT_L1, a, x) == soft_l1_value(a, x);
      axiom soft_l1_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_SOFT_L1, a, x) <==> \true;
      axiom soft_l1_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_SOFT_L1, a, x) == soft_l1_second(a, x);
      axiom soft_l1_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_SOFT_L1, a, x) <==> \true;
      axiom soft_l1_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_SOFT_L1, a, x) <==> \false;
      axiom soft_l1_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_SOFT_L1, a, x) == soft_l1_conjugate(a, x);
      axiom soft_l1_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_SOFT_L1, a, x) <==> soft_l1_conjugate_inside(a, x);
      axiom negentropy_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x) == negentropy_value(a, x);
      axiom negentropy_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_NEGENTROPY, a, x) <==> negentropy_value_inside(a, x);
      axiom negentropy_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x) == negentropy_second(a, x);
      axiom negentropy_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_NEGENTROPY, a, x) <==> negentropy_second_inside(a, x);
      axiom negentropy_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_NEGENTROPY, a, x) <==> \false;
      axiom negentropy_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_NEGENTROPY, a, x) == negentropy_conjugate(a, x);
      axiom negentropy_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_NEGENTROPY, a, x) <==> \true;
      axiom tsallis_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_TSALLIS, a, x) == tsallis_value(a, x);
      axiom tsallis_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_TSALLIS, a, x) <==> tsallis_value_inside(a, x);
      axiom tsallis_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_TSALLIS, a, x) == tsallis_second(a, x);
      axiom tsallis_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_TSALLIS, a, x) <==> tsallis_second_inside(a, x);
      axiom tsallis_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_TSALLIS, a, x) <==> tsallis_second_infinite(a, x);
      axiom tsallis_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_TSALLIS, a, x) == tsallis_conjugate(a, x);
      axiom tsallis_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_TSALLIS, a, x) <==> tsallis_conjugate_inside(a, x);
      axiom pseudo_huber_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) == pseudo_huber_value(a, x);
      axiom pseudo_huber_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) <==> \true;
      axiom pseudo_huber_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) == pseudo_huber_second(a, x);
      axiom pseudo_huber_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) <==> \true;
      axiom pseudo_huber_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) <==> \false;
      axiom pseudo_huber_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) == pseudo_huber_conjugate(a, x);
      axiom pseudo_huber_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_PSEUDO_HUBER, a, x) <==>
          pseudo_huber_conjugate_inside(a, x);
      axiom log_cosh_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_LOG_COSH, a, x) == log_cosh_value(a, x);
      axiom log_cosh_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_LOG_COSH, a, x) <==> \true;
      axiom log_cosh_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_LOG_COSH, a, x) == log_cosh_second(a, x);
      axiom log_cosh_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_LOG_COSH, a, x) <==> \true;
      axiom log_cosh_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_LOG_COSH, a, x) <==> \false;
      axiom log_cosh_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_LOG_COSH, a, x) == log_cosh_conjugate(a, x);
      axiom log_cosh_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_LOG_COSH, a, x) <==> log_cosh_conjugate_inside(a, x);
      axiom softplus_value_is: \forall real a, x;
        value_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x) == softplus_value(a, x);
      axiom softplus_value_finite_is: \forall real a, x;
        value_finite(PHIBAL_POTENTIAL_SOFTPLUS, a, x) <==> \true;
      axiom softplus_curvature_is: \forall real a, x;
        curvature_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x) == softplus_second(a, x);
      axiom softplus_curvature_exists_is: \forall real a, x;
        curvature_exists(PHIBAL_POTENTIAL_SOFTPLUS, a, x) <==> \true;
      axiom softplus_curvature_infinite_is: \forall real a, x;
        curvature_infinite(PHIBAL_POTENTIAL_SOFTPLUS, a, x) <==> \false;
      axiom softplus_conjugate_is: \forall real a, x;
        conjugate_of(PHIBAL_POTENTIAL_SOFTPLUS, a, x) == softplus_conjugate(a, x);
      axiom softplus_conjugate_finite_is: \forall real a, x;
        conjugate_finite(PHIBAL_POTENTIAL_SOFTPLUS, a, x) <==> softplus_conjugate_inside(a, x);
    }
*/

#endif
