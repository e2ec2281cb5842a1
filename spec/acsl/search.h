/* What the search for a mirror step's price says and relies on. ACSL only.

   A choice takes a potential and one member of each enclosure that a probe of one coordinate's price
   reads: of the parameter and of the target. solves(c, r) says that for that choice the equation of
   the step holds at r: spec/acsl/mirror.h has it. The search needs to know no more of it. Of a probe
   along a ray of prices (renyi) nothing is said here but what it writes. */
#ifndef PHIBAL_ACSL_SEARCH_H
#define PHIBAL_ACSL_SEARCH_H

#include <phibal/acsl/enclosure.h>

/*@ axiomatic Choice {
      type choice;
      logic integer chosen_potential(choice c);
      logic real chosen_parameter(choice c);
      logic real chosen_target(choice c);
      predicate solves(choice c, real r);
    }
    predicate choice_of{L}(step_probe *p, choice c) =
      p->direction == \null && p->phi->id == chosen_potential(c) &&
      in(&p->phi->parameter, chosen_parameter(c)) && in(p->target, chosen_target(c));

    // Where things lie, as predicates of addresses alone, so that no write can disturb them.
    axiomatic ProbeShape {
      // x is apart from what a probe writes
      predicate unwritten(phibal_enclosure *x, integer n, phibal_enclosure *point,
                          phibal_enclosure *image);
      // what a probe writes is apart from what it reads, from the probe, and within itself
      predicate shape(step_probe *p, phibal_reference_potential *phi, integer n, phibal_enclosure *target,
        phibal_enclosure *direction, phibal_enclosure *point, phibal_enclosure *image,
        phibal_enclosure *start);
      // x is apart from a probe and all that it reads and writes
      predicate elsewhere(mpfr_srcptr x, step_probe *p, phibal_reference_potential *phi, integer n, phibal_enclosure *target,
        phibal_enclosure *direction, phibal_enclosure *point, phibal_enclosure *image,
        phibal_enclosure *start);
    }
    axiomatic ProbeShapeDefinition {
      predicate open_shape;
      axiom shape_opened: open_shape;
      axiom unwritten_is: \forall phibal_enclosure *x, *point, *image, integer n;
        unwritten(x, n, point, image) <==>
          \separated(x, point + (0 .. n - 1)) && \separated(x, image + (0 .. n - 1));
      axiom shape_is: \forall step_probe *p, phibal_reference_potential *phi, integer n,
        phibal_enclosure *target, *direction, *point, *image, *start;
        shape(p, phi, n, target, direction, point, image, start) <==>
          unwritten(&phi->parameter, n, point, image) && unwritten(start, n, point, image) &&
          \separated(p, point + (0 .. n - 1)) && \separated(p, image + (0 .. n - 1)) &&
          \separated(phi, point + (0 .. n - 1)) && \separated(phi, image + (0 .. n - 1)) &&
          \separated(point + (0 .. n - 1), image + (0 .. n - 1)) &&
          unwritten(target, n, point, image) &&
          (\forall integer i; 0 <= i < n ==> unwritten(target + i, n, point, image)) &&
          (direction != \null ==>
            (\forall integer i; 0 <= i < n ==> unwritten(direction + i, n, point, image)));
      axiom elsewhere_is: \forall mpfr_srcptr x, step_probe *p, phibal_reference_potential *phi,
        integer n, phibal_enclosure *target, *direction, *point, *image, *start;
        elsewhere(x, p, phi, n, target, direction, point, image, start) <==>
          \separated(x, p) && \separated(x, phi) && \separated(x, start) &&
          \separated(x, point + (0 .. n - 1)) && \separated(x, image + (0 .. n - 1)) &&
          \separated(x, target + (0 .. n - 1)) &&
          (direction != \null ==> \separated(x, direction + (0 .. n - 1)));
    }
    predicate probe_writes_apart{L}(step_probe *p, phibal_enclosure *x) =
      unwritten(x, p->n, p->point, p->image);
    predicate probe_separated{L}(step_probe *p) = shape(p, p->phi, p->n, p->target, p->direction, p->point, p->image, p->start);
    predicate probe_apart{L}(step_probe *p, mpfr_srcptr x) = elsewhere(x, p, p->phi, p->n, p->target, p->direction, p->point, p->image, p->start);
    predicate probe_same{A, B}(step_probe *p) =
      \at(p->phi, A) == \at(p->phi, B) && \at(p->n, A) == \at(p->n, B) &&
      \at(p->target, A) == \at(p->target, B) && \at(p->direction, A) == \at(p->direction, B) &&
      \at(p->point, A) == \at(p->point, B) && \at(p->image, A) == \at(p->image, B) &&
      \at(p->start, A) == \at(p->start, B) &&
      \at(p->phi->id, A) == \at(p->phi->id, B);
    // the vectors and the parameter of a probe
    predicate probe_vectors{L}(step_probe *p) =
      \valid_read(p) && \valid_read(p->phi) && 1 <= p->n && input(&p->phi->parameter) &&
      input(p->start) && vector_output(p->point, p->n) && vector_output(p->image, p->n) &&
      vector_input(p->target, p->n) &&
      (p->direction == \null ==> p->n == 1) &&
      (p->direction != \null ==> vector_input(p->direction, p->n));
    predicate probe_temporaries{L}(step_probe *p) =
      vector_output(p->point, p->n) && vector_output(p->image, p->n);
    // of enclosures, only the probe's point and image were written between A and B
    predicate only_probe_written{A, B}(step_probe *p) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && probe_writes_apart{A}(p, r) ==>
        same{A, B}(r);
    // the same, and residual
    predicate only_probe_and_number_written{A, B}(step_probe *p, mpfr_ptr residual) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && probe_writes_apart{A}(p, r) &&
        \separated(r, residual) ==> same{A, B}(r);
    // what a choice chooses from was not written between A and B
    predicate inputs_same{A, B}(step_probe *p) =
      same{A, B}(\at(&p->phi->parameter, A)) && same{A, B}(\at(p->target, A));
    // q is at most, at least every solution
    predicate before_solutions{L}(step_probe *p, struct mpfr_number *q) =
      \forall choice c, real r; choice_of(p, c) && solves(c, r) ==> below(q, r);
    predicate after_solutions{L}(step_probe *p, struct mpfr_number *q) =
      \forall choice c, real r; choice_of(p, c) && solves(c, r) ==> above(q, r);

    axiomatic ProbeUse {
      predicate use_probe;
      axiom probe_used: use_probe;
      LEMMA choice_kept{A, B}: GIVEN(use_enclosure) \forall step_probe *p, choice c;
        probe_same{A, B}(p) && inputs_same{A, B}(p) && choice_of{A}(p, c) ==> choice_of{B}(p, c);
      LEMMA choice_kept_back{A, B}: GIVEN(use_enclosure) \forall step_probe *p, choice c;
        probe_same{A, B}(p) && inputs_same{A, B}(p) && choice_of{B}(p, c) ==> choice_of{A}(p, c);
      LEMMA before_kept{A, B}: \forall step_probe *p, struct mpfr_number *q;
        probe_same{A, B}(p) && inputs_same{A, B}(p) && before_solutions{B}(p, q) ==>
        before_solutions{A}(p, q);
      LEMMA after_kept{A, B}: \forall step_probe *p, struct mpfr_number *q;
        probe_same{A, B}(p) && inputs_same{A, B}(p) && after_solutions{B}(p, q) ==>
        after_solutions{A}(p, q);
      // what is apart from the temporaries leaves them as they were
      LEMMA temporaries_kept{A, B}: GIVEN(open_shape) \forall step_probe *p, phibal_enclosure *z;
        probe_temporaries{A}(p) && probe_writes_apart{A}(p, z) && only_written{A, B}(z) ==>
        vector_same{A, B}(\at(p->point, A), \at(p->n, A)) &&
        vector_same{A, B}(\at(p->image, A), \at(p->n, A));
    }
*/
#endif
