/* Which way the graphs of the separable potentials go: what the reference builds on where it takes a
   function over an interval from its values at the ends. ACSL only; each is proved in Coq
   (proofs/coq/AcslLemmas.v), save what WP proves in proofs/frama-c/lemmas.c. */
#ifndef PHIBAL_ACSL_POTENTIAL_SHAPES_H
#define PHIBAL_ACSL_POTENTIAL_SHAPES_H

#include <phibal/acsl/potentials.h>

/*@ axiomatic PotentialShapes {
      predicate use_potential_shapes;
      axiom potential_shapes_used: use_potential_shapes;
      COQ_LEMMA euclid_value_rises: \forall real a, x, y;
        euclid_valid(a) && \abs(x) <= \abs(y) ==>
          euclid_value(a, x) <= euclid_value(a, y);
      LEMMA euclid_gradient_increases: \forall real a, x, y;
        euclid_valid(a) && x <= y ==>
          euclid_gradient(a, x) <= euclid_gradient(a, y);
      LEMMA euclid_second_rises: \forall real a, x, y;
        euclid_valid(a) && \abs(x) <= \abs(y) ==>
          euclid_second(a, x) <= euclid_second(a, y);
      COQ_LEMMA euclid_conjugate_rises: \forall real a, x, y;
        euclid_valid(a) && \abs(x) <= \abs(y) ==>
          euclid_conjugate(a, x) <= euclid_conjugate(a, y);
      LEMMA euclid_conjugate_gradient_increases: \forall real a, x, y;
        euclid_valid(a) && x <= y ==>
          euclid_conjugate_gradient(a, x) <= euclid_conjugate_gradient(a, y);
      COQ_LEMMA lp_value_rises: \forall real a, x, y;
        lp_valid(a) && \abs(x) <= \abs(y) ==>
          lp_value(a, x) <= lp_value(a, y);
      COQ_LEMMA lp_gradient_increases: \forall real a, x, y;
        lp_valid(a) && x <= y ==>
          lp_gradient(a, x) <= lp_gradient(a, y);
      COQ_LEMMA lp_second_increases: \forall real a, x, y;
        lp_valid(a) && 2.0 <= a && \abs(x) <= \abs(y) ==>
          lp_second(a, x) <= lp_second(a, y);
      COQ_LEMMA lp_second_decreases: \forall real a, x, y;
        lp_valid(a) && a <= 2.0 && lp_second_inside(a, x) && lp_second_inside(a, y) && \abs(x) <= \abs(y) ==>
          lp_second(a, y) <= lp_second(a, x);
      COQ_LEMMA lp_conjugate_rises: \forall real a, x, y;
        lp_valid(a) && \abs(x) <= \abs(y) ==>
          lp_conjugate(a, x) <= lp_conjugate(a, y);
      COQ_LEMMA lp_conjugate_gradient_increases: \forall real a, x, y;
        lp_valid(a) && x <= y ==>
          lp_conjugate_gradient(a, x) <= lp_conjugate_gradient(a, y);
      LEMMA lp_one_value_rises: \forall real a, x, y;
        lp_one_valid(a) && \abs(x) <= \abs(y) ==>
          lp_one_value(a, x) <= lp_one_value(a, y);
      LEMMA lp_one_gradient_increases: \forall real a, x, y;
        lp_one_valid(a) && x <= y && lp_one_gradient_inside(a, x) && lp_one_gradient_inside(a, y) ==>
          lp_one_gradient(a, x) <= lp_one_gradient(a, y);
      LEMMA lp_one_second_rises: \forall real a, x, y;
        lp_one_valid(a) && \abs(x) <= \abs(y) && lp_one_second_inside(a, x) && lp_one_second_inside(a, y) ==>
          lp_one_second(a, x) <= lp_one_second(a, y);
      LEMMA lp_one_conjugate_rises: \forall real a, x, y;
        lp_one_valid(a) && \abs(x) <= \abs(y) && lp_one_conjugate_inside(a, x) && lp_one_conjugate_inside(a, y) ==>
          lp_one_conjugate(a, x) <= lp_one_conjugate(a, y);
      LEMMA lp_one_conjugate_gradient_increases: \forall real a, x, y;
        lp_one_valid(a) && x <= y && lp_one_conjugate_gradient_inside(a, x) && lp_one_conjugate_gradient_inside(a, y) ==>
          lp_one_conjugate_gradient(a, x) <= lp_one_conjugate_gradient(a, y);
      COQ_LEMMA soft_l1_value_rises: \forall real a, x, y;
        soft_l1_valid(a) && \abs(x) <= \abs(y) ==>
          soft_l1_value(a, x) <= soft_l1_value(a, y);
      COQ_LEMMA soft_l1_gradient_increases: \forall real a, x, y;
        soft_l1_valid(a) && x <= y ==>
          soft_l1_gradient(a, x) <= soft_l1_gradient(a, y);
      COQ_LEMMA soft_l1_second_falls: \forall real a, x, y;
        soft_l1_valid(a) && \abs(x) <= \abs(y) ==>
          soft_l1_second(a, y) <= soft_l1_second(a, x);
      COQ_LEMMA soft_l1_conjugate_rises: \forall real a, x, y;
        soft_l1_valid(a) && \abs(x) <= \abs(y) && soft_l1_conjugate_inside(a, x) && soft_l1_conjugate_inside(a, y) ==>
          soft_l1_conjugate(a, x) <= soft_l1_conjugate(a, y);
      COQ_LEMMA soft_l1_conjugate_gradient_increases: \forall real a, x, y;
        soft_l1_valid(a) && x <= y && soft_l1_conjugate_gradient_inside(a, x) && soft_l1_conjugate_gradient_inside(a, y) ==>
          soft_l1_conjugate_gradient(a, x) <= soft_l1_conjugate_gradient(a, y);
      COQ_LEMMA negentropy_value_falls: \forall real a, x, y;
        negentropy_valid(a) && x <= y && y <= negentropy_conjugate_gradient(a, 0.0) && negentropy_value_inside(a, x) && negentropy_value_inside(a, y) ==>
          negentropy_value(a, y) <= negentropy_value(a, x);
      COQ_LEMMA negentropy_value_rises: \forall real a, x, y;
        negentropy_valid(a) && x <= y && negentropy_conjugate_gradient(a, 0.0) <= x && negentropy_value_inside(a, x) && negentropy_value_inside(a, y) ==>
          negentropy_value(a, x) <= negentropy_value(a, y);
      COQ_LEMMA negentropy_value_least: \forall real a, x;
        negentropy_valid(a) && negentropy_value_inside(a, x) ==> -negentropy_conjugate(a, 0.0) <= negentropy_value(a, x);
      COQ_LEMMA negentropy_value_turns: \forall real a;
        negentropy_valid(a) ==> negentropy_value_inside(a, negentropy_conjugate_gradient(a, 0.0));
      LEMMA negentropy_gradient_increases: GIVEN(use_log) \forall real a, x, y;
        negentropy_valid(a) && x <= y && negentropy_gradient_inside(a, x) && negentropy_gradient_inside(a, y) ==>
          negentropy_gradient(a, x) <= negentropy_gradient(a, y);
      COQ_LEMMA negentropy_second_decreases: \forall real a, x, y;
        negentropy_valid(a) && x <= y && negentropy_second_inside(a, x) && negentropy_second_inside(a, y) ==>
          negentropy_second(a, y) <= negentropy_second(a, x);
      COQ_LEMMA negentropy_conjugate_increases: \forall real a, x, y;
        negentropy_valid(a) && x <= y ==>
          negentropy_conjugate(a, x) <= negentropy_conjugate(a, y);
      COQ_LEMMA negentropy_conjugate_gradient_increases: \forall real a, x, y;
        negentropy_valid(a) && x <= y ==>
          negentropy_conjugate_gradient(a, x) <= negentropy_conjugate_gradient(a, y);
      COQ_LEMMA tsallis_value_falls: \forall real a, x, y;
        tsallis_valid(a) && x <= y && y <= tsallis_conjugate_gradient(a, 0.0) && tsallis_value_inside(a, x) && tsallis_value_inside(a, y) ==>
          tsallis_value(a, y) <= tsallis_value(a, x);
      COQ_LEMMA tsallis_value_rises: \forall real a, x, y;
        tsallis_valid(a) && x <= y && tsallis_conjugate_gradient(a, 0.0) <= x && tsallis_value_inside(a, x) && tsallis_value_inside(a, y) ==>
          tsallis_value(a, x) <= tsallis_value(a, y);
      COQ_LEMMA tsallis_value_least: \forall real a, x;
        tsallis_valid(a) && tsallis_value_inside(a, x) ==> -tsallis_conjugate(a, 0.0) <= tsallis_value(a, x);
      COQ_LEMMA tsallis_value_turns: \forall real a;
        tsallis_valid(a) ==> tsallis_value_inside(a, tsallis_conjugate_gradient(a, 0.0));
      COQ_LEMMA tsallis_gradient_increases: \forall real a, x, y;
        tsallis_valid(a) && x <= y && tsallis_gradient_inside(a, x) && tsallis_gradient_inside(a, y) ==>
          tsallis_gradient(a, x) <= tsallis_gradient(a, y);
      COQ_LEMMA tsallis_second_increases: \forall real a, x, y;
        tsallis_valid(a) && 2.0 <= a && tsallis_second_inside(a, x) && tsallis_second_inside(a, y) && x <= y ==>
          tsallis_second(a, x) <= tsallis_second(a, y);
      COQ_LEMMA tsallis_second_decreases: \forall real a, x, y;
        tsallis_valid(a) && a <= 2.0 && tsallis_second_inside(a, x) && tsallis_second_inside(a, y) && x <= y ==>
          tsallis_second(a, y) <= tsallis_second(a, x);
      COQ_LEMMA tsallis_conjugate_increases: \forall real a, x, y;
        tsallis_valid(a) && x <= y && tsallis_conjugate_inside(a, x) && tsallis_conjugate_inside(a, y) ==>
          tsallis_conjugate(a, x) <= tsallis_conjugate(a, y);
      COQ_LEMMA tsallis_conjugate_gradient_increases: \forall real a, x, y;
        tsallis_valid(a) && x <= y && tsallis_conjugate_gradient_inside(a, x) && tsallis_conjugate_gradient_inside(a, y) ==>
          tsallis_conjugate_gradient(a, x) <= tsallis_conjugate_gradient(a, y);
      COQ_LEMMA pseudo_huber_value_rises: \forall real a, x, y;
        pseudo_huber_valid(a) && \abs(x) <= \abs(y) ==>
          pseudo_huber_value(a, x) <= pseudo_huber_value(a, y);
      COQ_LEMMA pseudo_huber_gradient_increases: \forall real a, x, y;
        pseudo_huber_valid(a) && x <= y ==>
          pseudo_huber_gradient(a, x) <= pseudo_huber_gradient(a, y);
      COQ_LEMMA pseudo_huber_second_falls: \forall real a, x, y;
        pseudo_huber_valid(a) && \abs(x) <= \abs(y) ==>
          pseudo_huber_second(a, y) <= pseudo_huber_second(a, x);
      COQ_LEMMA pseudo_huber_conjugate_rises: \forall real a, x, y;
        pseudo_huber_valid(a) && \abs(x) <= \abs(y) && pseudo_huber_conjugate_inside(a, x) && pseudo_huber_conjugate_inside(a, y) ==>
          pseudo_huber_conjugate(a, x) <= pseudo_huber_conjugate(a, y);
      COQ_LEMMA pseudo_huber_conjugate_gradient_increases: \forall real a, x, y;
        pseudo_huber_valid(a) && x <= y && pseudo_huber_conjugate_gradient_inside(a, x) && pseudo_huber_conjugate_gradient_inside(a, y) ==>
          pseudo_huber_conjugate_gradient(a, x) <= pseudo_huber_conjugate_gradient(a, y);
      COQ_LEMMA log_cosh_value_rises: \forall real a, x, y;
        log_cosh_valid(a) && \abs(x) <= \abs(y) ==>
          log_cosh_value(a, x) <= log_cosh_value(a, y);
      COQ_LEMMA log_cosh_gradient_increases: \forall real a, x, y;
        log_cosh_valid(a) && x <= y ==>
          log_cosh_gradient(a, x) <= log_cosh_gradient(a, y);
      COQ_LEMMA log_cosh_second_falls: \forall real a, x, y;
        log_cosh_valid(a) && \abs(x) <= \abs(y) ==>
          log_cosh_second(a, y) <= log_cosh_second(a, x);
      COQ_LEMMA log_cosh_conjugate_rises: \forall real a, x, y;
        log_cosh_valid(a) && \abs(x) <= \abs(y) && log_cosh_conjugate_inside(a, x) && log_cosh_conjugate_inside(a, y) ==>
          log_cosh_conjugate(a, x) <= log_cosh_conjugate(a, y);
      COQ_LEMMA log_cosh_conjugate_gradient_increases: \forall real a, x, y;
        log_cosh_valid(a) && x <= y && log_cosh_conjugate_gradient_inside(a, x) && log_cosh_conjugate_gradient_inside(a, y) ==>
          log_cosh_conjugate_gradient(a, x) <= log_cosh_conjugate_gradient(a, y);
      COQ_LEMMA softplus_value_increases: \forall real a, x, y;
        softplus_valid(a) && x <= y ==>
          softplus_value(a, x) <= softplus_value(a, y);
      COQ_LEMMA softplus_gradient_increases: \forall real a, x, y;
        softplus_valid(a) && x <= y ==>
          softplus_gradient(a, x) <= softplus_gradient(a, y);
      COQ_LEMMA softplus_second_falls: \forall real a, x, y;
        softplus_valid(a) && \abs(x) <= \abs(y) ==>
          softplus_second(a, y) <= softplus_second(a, x);
      COQ_LEMMA softplus_conjugate_falls: \forall real a, x, y;
        softplus_valid(a) && x <= y && y <= softplus_gradient(a, 0.0) && softplus_conjugate_inside(a, x) && softplus_conjugate_inside(a, y) ==>
          softplus_conjugate(a, y) <= softplus_conjugate(a, x);
      COQ_LEMMA softplus_conjugate_rises: \forall real a, x, y;
        softplus_valid(a) && x <= y && softplus_gradient(a, 0.0) <= x && softplus_conjugate_inside(a, x) && softplus_conjugate_inside(a, y) ==>
          softplus_conjugate(a, x) <= softplus_conjugate(a, y);
      COQ_LEMMA softplus_conjugate_least: \forall real a, x;
        softplus_valid(a) && softplus_conjugate_inside(a, x) ==> -softplus_value(a, 0.0) <= softplus_conjugate(a, x);
      COQ_LEMMA softplus_conjugate_turns: \forall real a;
        softplus_valid(a) ==> softplus_conjugate_inside(a, softplus_gradient(a, 0.0));
      COQ_LEMMA softplus_conjugate_gradient_increases: \forall real a, x, y;
        softplus_valid(a) && x <= y && softplus_conjugate_gradient_inside(a, x) && softplus_conjugate_gradient_inside(a, y) ==>
          softplus_conjugate_gradient(a, x) <= softplus_conjugate_gradient(a, y);
      COQ_LEMMA tsallis_base_positive: \forall real a; tsallis_valid(a) ==> 0.0 < tsallis_base(a, 0.0);
      COQ_LEMMA tsallis_base_falls: \forall real a, x, y;
        tsallis_valid(a) && a < 1.0 && x <= y ==> tsallis_base(a, y) <= tsallis_base(a, x);
    }
*/
#endif
