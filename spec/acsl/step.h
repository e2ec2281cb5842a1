/* What a step of mirror ascent is, (M1), (M2) and (M4), coordinate by coordinate for the separable
   potentials, and the memory that its functions ask for. ACSL only. */
#ifndef PHIBAL_ACSL_STEP_H
#define PHIBAL_ACSL_STEP_H

#include <phibal/acsl/heap.h>
#include <phibal/acsl/separable.h>

/*@ axiomatic Slope {
      logic real slope(real d, real s, real eta);
    }
    axiomatic SlopeDefinition {
      predicate open_slope;
      axiom slope_opened: open_slope;
      axiom slope_is: \forall real d, s, eta; slope(d, s, eta) == d - s / eta;
    }
    // (M1)
    logic real average_of(real eta, real m, real load) = (1.0 - eta) * m + eta * load;
    // the derivative, at q, of the objective of (M4) in one coordinate, which is concave
    logic real objective_slope(integer id, real a, real eta, real m, real load, real q) =
      slope(load - m, load_of(id, a, q) - load_of(id, a, price_of(id, a, m)), eta);

    // a parameter, an eta, and a coordinate of m and of the loads
    predicate step_member{L}(phibal_reference_potential *phi, phibal_enclosure *m,
                             phibal_enclosure *load, phibal_enclosure *eta, real a, real h, real x,
                             real y) =
      in(&phi->parameter, a) && in(eta, h) && in(m, x) && in(load, y) &&
      separable(phi->id, a) && strictly_convex(phi->id, a);
    // (M1), (M2): next holds the averages and price their prices, where there are such
    predicate holds_step{A, B}(phibal_reference_potential *phi, integer n, phibal_enclosure *m,
                               phibal_enclosure *loads, phibal_enclosure *eta,
                               phibal_enclosure *next, phibal_enclosure *price) =
      \forall integer e, real a, h, x, y;
        0 <= e < n && step_member{A}(phi, m + e, loads + e, eta, a, h, x, y) &&
        price_exists(\at(phi->id, A), a, average_of(h, x, y)) ==>
        in{B}(next + e, average_of(h, x, y)) &&
        in{B}(price + e, price_of(\at(phi->id, A), a, average_of(h, x, y)));
    // (M4): price holds the prices at which the objective is flat, and next their loads
    predicate holds_argmax{A, B}(phibal_reference_potential *phi, integer n, phibal_enclosure *m,
                                 phibal_enclosure *loads, phibal_enclosure *eta,
                                 phibal_enclosure *next, phibal_enclosure *price) =
      \forall integer e, real a, h, x, y, q;
        0 <= e < n && step_member{A}(phi, m + e, loads + e, eta, a, h, x, y) &&
        load_exists(\at(phi->id, A), a, q) &&
        objective_slope(\at(phi->id, A), a, h, x, y, q) == 0.0 ==>
        in{B}(next + e, load_of(\at(phi->id, A), a, q)) && in{B}(price + e, q);

    // x[0..n-1] was given out before, and is no part of memory that is yet to be
    predicate settled{L}(phibal_enclosure *x, integer n) = vector_in_use(x, n) &&
      \separated(x + (0 .. n - 1),
                 enclosure_heap + (enclosure_heap_used .. ENCLOSURE_HEAP_SIZE - 1));
    // z[0..k-1] is apart from what a step reads
    predicate apart_from_step(phibal_enclosure *z, integer k, phibal_reference_potential *phi,
                              integer n, phibal_enclosure *m, phibal_enclosure *loads,
                              phibal_enclosure *eta) =
      \separated(z + (0 .. k - 1), phi) && \separated(z + (0 .. k - 1), eta) &&
      \separated(z + (0 .. k - 1), m + (0 .. n - 1)) &&
      \separated(z + (0 .. k - 1), loads + (0 .. n - 1));
    predicate step_inputs{L}(phibal_reference_potential *phi, integer n, phibal_enclosure *m,
                             phibal_enclosure *loads, phibal_enclosure *eta) =
      \valid_read(phi) && input(&phi->parameter) && input(eta) && vector_input(m, n) &&
      vector_input(loads, n);
    predicate step_outputs{L}(phibal_enclosure *next, phibal_enclosure *price, integer n) =
      vector_output(next, n) && vector_output(price, n) &&
      \separated(next + (0 .. n - 1), price + (0 .. n - 1));
    predicate step_call{L}(phibal_reference_potential *phi, integer n, phibal_enclosure *m,
                           phibal_enclosure *loads, phibal_enclosure *eta,
                           phibal_enclosure *next, phibal_enclosure *price) =
      step_inputs(phi, n, m, loads, eta) && step_outputs(next, price, n) &&
      apart_from_step(next, n, phi, n, m, loads, eta) &&
      apart_from_step(price, n, phi, n, m, loads, eta);
    predicate step_settled{L}(phibal_reference_potential *phi, integer n, phibal_enclosure *m,
                              phibal_enclosure *loads, phibal_enclosure *eta,
                              phibal_enclosure *next, phibal_enclosure *price) =
      \separated(phi, enclosure_heap + (enclosure_heap_used .. ENCLOSURE_HEAP_SIZE - 1)) &&
      in_use(&phi->parameter) && settled(eta, 1) && settled(m, n) && settled(loads, n) &&
      settled(next, n) && settled(price, n);
    // nothing but next[0..n-1] and price[0..n-1] was written, of what was in use
    predicate step_kept{A, B}(phibal_enclosure *next, phibal_enclosure *price, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && in_use{A}(r) &&
        vector_apart(r, next, n) && vector_apart(r, price, n) ==> same{A, B}(r);
*/

#endif
