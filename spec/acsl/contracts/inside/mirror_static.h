/* What the static functions of reference/mirror.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_MIRROR_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_MIRROR_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/mirror.h>
#endif

/*@ requires phi == \null || m == \null || loads == \null || eta == \null || next == \null ||
      price == \null || (vector_input(m, n) && vector_input(loads, n) && input(eta));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> 1 <= n;
    ensures \result == PHIBAL_OK ==> \forall real h; in(eta, h) ==> 0.0 < h <= 1.0; */
static phibal_status check_step(const char *function, const phibal_reference_potential *phi,
                                size_t n, const phibal_enclosure *m, const phibal_enclosure *loads,
                                const phibal_enclosure *eta, const phibal_enclosure *next,
                                const phibal_enclosure *price);

/*@ // nothing but x[0..n-1] and y[0..n-1] was written between A and B, as far as enclosures go
    predicate two_vectors_written{A, B}(phibal_enclosure *x, phibal_enclosure *y, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, x, n) &&
        vector_apart(r, y, n) ==> same{A, B}(r);
*/

/*@ requires vector_output(z, n) && output(t) && vector_input(m, n) && vector_input(loads, n);
    requires input(eta) && \separated(t, z + (0 .. n - 1)) && \separated(t, eta);
    requires \separated(t, m + (0 .. n - 1)) && \separated(t, loads + (0 .. n - 1));
    requires \separated(z + (0 .. n - 1), m + (0 .. n - 1)) && \separated(z + (0 .. n - 1), eta);
    requires \separated(z + (0 .. n - 1), loads + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *t;
    ensures vector_output(z, n) && enclosure(t);
    ensures only_with_vector_written{Pre, Here}(t, z, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real h, x, y; 0 <= e < n &&
      in{Pre}(eta, h) && in{Pre}(m + e, x) && in{Pre}(loads + e, y) ==>
      in(z + e, average_of(h, x, y)); */
static phibal_status average(phibal_enclosure *z, size_t n, const phibal_enclosure *m,
                             const phibal_enclosure *loads, const phibal_enclosure *eta,
                             phibal_enclosure *t);

/*@ requires vector_output(z, n) && vector_input(x, n);
    requires \separated(z + (0 .. n - 1), x + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1];
    ensures vector_output(z, n) && only_vector_written{Pre, Here}(z, n);
    ensures meaning: \forall integer e, real r; 0 <= e < n && in{Pre}(x + e, r) ==> in(z + e, r); */
static void copy(phibal_enclosure *z, size_t n, const phibal_enclosure *x);

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(mean, n);
    requires vector_output(next, n) && vector_output(price, n);
    requires \separated(phi, next + (0 .. n - 1)) && \separated(phi, price + (0 .. n - 1));
    requires \separated(mean + (0 .. n - 1), next + (0 .. n - 1));
    requires \separated(mean + (0 .. n - 1), price + (0 .. n - 1));
    requires \separated(next + (0 .. n - 1), price + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns next[0 .. n - 1], price[0 .. n - 1];
    ensures vector_output(next, n) && vector_output(price, n);
    ensures two_vectors_written{Pre, Here}(next, price, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, r;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(mean + e, r) &&
      separable(\old(phi->id), a) ==>
      in(next + e, r) && in(price + e, price_of(\old(phi->id), a, r)); */
static phibal_status take_price(const phibal_reference_potential *phi, size_t n,
                                const phibal_enclosure *mean, phibal_enclosure *next,
                                phibal_enclosure *price);

/*@ requires step_call(phi, n, step.m, step.loads, step.eta, next, price) && 1 <= n;
    requires vector_output(mean, n) && output(t) && \separated(t, mean + (0 .. n - 1));
    requires apart_from_step(mean, n, phi, n, step.m, step.loads, step.eta);
    requires apart_from_step(t, 1, phi, n, step.m, step.loads, step.eta);
    requires \separated(mean + (0 .. n - 1), next + (0 .. n - 1));
    requires \separated(mean + (0 .. n - 1), price + (0 .. n - 1));
    requires \separated(t, next + (0 .. n - 1)) && \separated(t, price + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns mean[0 .. n - 1], *t, next[0 .. n - 1], price[0 .. n - 1];
    ensures vector_output(mean, n) && enclosure(t);
    ensures vector_output(next, n) && vector_output(price, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, t) &&
      vector_apart(r, mean, n) && vector_apart(r, next, n) && vector_apart(r, price, n) ==>
      same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==>
      holds_step{Pre, Here}(phi, n, step.m, step.loads, step.eta, next, price); */
static phibal_status ema_with(const phibal_reference_potential *phi, size_t n,
                              mirror_step step, phibal_enclosure *mean, phibal_enclosure *t,
                              phibal_enclosure *next, phibal_enclosure *price);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> status == PHIBAL_OK; */
static phibal_status domain_as_undecided(phibal_status status);

/*@ requires vector_output(target, n) && output(t) && vector_input(m, n) && vector_input(loads, n);
    requires input(eta) && \separated(t, target + (0 .. n - 1)) && \separated(t, eta);
    requires \separated(t, m + (0 .. n - 1)) && \separated(t, loads + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), m + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), loads + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), eta);
    terminates \true;
    exits \false;
    assigns target[0 .. n - 1], *t;
    ensures vector_output(target, n) && enclosure(t);
    ensures only_with_vector_written{Pre, Here}(t, target, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real h, x, y, r; 0 <= e < n &&
      in{Pre}(eta, h) && in{Pre}(m + e, x) && in{Pre}(loads + e, y) && in{Pre}(target + e, r) ==>
      in(target + e, r + (y - x) * h); */
static phibal_status add_steps(phibal_enclosure *target, size_t n, const phibal_enclosure *m,
                               const phibal_enclosure *loads, const phibal_enclosure *eta,
                               phibal_enclosure *t);

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(m, n);
    requires vector_output(start, n) && vector_output(image, n);
    requires \separated(phi, start + (0 .. n - 1)) && \separated(phi, image + (0 .. n - 1));
    requires \separated(m + (0 .. n - 1), start + (0 .. n - 1));
    requires \separated(m + (0 .. n - 1), image + (0 .. n - 1));
    requires \separated(start + (0 .. n - 1), image + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns start[0 .. n - 1], image[0 .. n - 1];
    ensures vector_output(start, n) && vector_output(image, n);
    ensures two_vectors_written{Pre, Here}(start, image, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, x;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(m + e, x) &&
      separable(\old(phi->id), a) && strictly_convex(\old(phi->id), a) ==>
      price_exists(\old(phi->id), a, x) &&
      in(image + e, load_of(\old(phi->id), a, price_of(\old(phi->id), a, x))); */
static phibal_status set_image(const phibal_reference_potential *phi, size_t n,
                               const phibal_enclosure *m, phibal_enclosure *start,
                               phibal_enclosure *image);

/*@ requires step_inputs(phi, n, m, loads, eta) && 1 <= n;
    requires vector_output(start, n) && vector_output(target, n) && output(t);
    requires apart_from_step(start, n, phi, n, m, loads, eta);
    requires apart_from_step(target, n, phi, n, m, loads, eta);
    requires apart_from_step(t, 1, phi, n, m, loads, eta);
    requires \separated(start + (0 .. n - 1), target + (0 .. n - 1));
    requires \separated(t, start + (0 .. n - 1)) && \separated(t, target + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns start[0 .. n - 1], target[0 .. n - 1], *t;
    ensures vector_output(start, n) && vector_output(target, n) && enclosure(t);
    ensures only_with_vectors_written{Pre, Here}(t, start, n, target, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, h, x, y; 0 <= e < n &&
      step_member{Pre}(phi, m + e, loads + e, eta, a, h, x, y) ==>
      price_exists(\old(phi->id), a, x) &&
      in(target + e, step_target(\old(phi->id), a, h, x, y)); */
static phibal_status set_target(const phibal_reference_potential *phi, size_t n,
                                const phibal_enclosure *m, const phibal_enclosure *loads,
                                const phibal_enclosure *eta, phibal_enclosure *start,
                                phibal_enclosure *target, phibal_enclosure *t);

/*@ requires input(x) && input(y);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real a, b; in(x, a) && in(y, b) ==> a == b; */
static bool is_same_point(const phibal_enclosure *x, const phibal_enclosure *y);

/*@ requires probe_vectors(p);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures below: p->n == 1 && \result == SEARCH_BELOW ==>
      \forall real a, b; in(p->image, a) && in(p->target, b) ==> a < b;
    ensures above: p->n == 1 && \result == SEARCH_ABOVE ==>
      \forall real a, b; in(p->image, a) && in(p->target, b) ==> b < a;
    ensures equal: \result == SEARCH_EQUAL ==>
      \forall real a, b; in(p->image, a) && in(p->target, b) ==> a == b;
    ensures inside: \result != SEARCH_OUTSIDE; */
static search_side side_of_image(const step_probe *p);

/*@ requires probe_vectors(p) && writable(residual) && probe_apart(p, residual);
    requires probe_separated(p);
    terminates \true;
    exits \false;
    assigns *residual;
    ensures minitialised(residual->number) && probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, residual) ==>
      same{Pre, Here}(r); */
static void set_residual(const step_probe *p, mpfr_ptr residual);

/*@ requires probe_vectors(p) && probe_separated(p);
    requires writable(residual) && \valid(side) && probe_apart(p, residual);
    requires \separated(side, p, residual) && \separated(side, p->phi);
    terminates \true;
    exits \false;
    assigns *side, *residual, p->image[0 .. p->n - 1];
    ensures minitialised(residual->number);
    ensures probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures only_probe_and_number_written{Pre, Here}(p, residual);
    ensures below: p->n == 1 && \result == PHIBAL_OK && *side == SEARCH_BELOW ==>
      \forall real a, q, b; in{Pre}(&p->phi->parameter, a) && in{Pre}(p->point, q) &&
        in{Pre}(p->target, b) && separable(\old(p->phi->id), a) &&
        strictly_convex(\old(p->phi->id), a) ==>
        load_exists(\old(p->phi->id), a, q) && load_of(\old(p->phi->id), a, q) < b;
    ensures above: p->n == 1 && \result == PHIBAL_OK && *side == SEARCH_ABOVE ==>
      \forall real a, q, b; in{Pre}(&p->phi->parameter, a) && in{Pre}(p->point, q) &&
        in{Pre}(p->target, b) && separable(\old(p->phi->id), a) &&
        strictly_convex(\old(p->phi->id), a) ==>
        load_exists(\old(p->phi->id), a, q) && b < load_of(\old(p->phi->id), a, q);
    ensures equal: p->n == 1 && \result == PHIBAL_OK && *side == SEARCH_EQUAL ==>
      \forall real a, q, b; in{Pre}(&p->phi->parameter, a) && in{Pre}(p->point, q) &&
        in{Pre}(p->target, b) && separable(\old(p->phi->id), a) &&
        strictly_convex(\old(p->phi->id), a) ==>
        load_exists(\old(p->phi->id), a, q) && load_of(\old(p->phi->id), a, q) == b; */
static phibal_status probe_image(const step_probe *p, search_side *side, mpfr_ptr residual);

/*@ requires probe_vectors(p) && probe_separated(p) && readable_number(q) && probe_apart(p, q);
    requires p->direction != \null && e < p->n;
    terminates \true;
    exits \false;
    assigns p->point[e], p->image[e];
    ensures probe_vectors(p) && probe_same{Pre, Here}(p) && readable_number(q);
    ensures only_two_written{Pre, Here}(\old(&p->point[e]), \old(&p->image[e])); */
static phibal_status set_ray_price(const step_probe *p, size_t e, mpfr_srcptr q);

/*@ requires probe_vectors(p) && probe_separated(p) && readable_number(q) && probe_apart(p, q);
    requires p->direction != \null;
    terminates \true;
    exits \false;
    assigns p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures only_probe_written{Pre, Here}(p); */
static phibal_status set_ray(const step_probe *p, mpfr_srcptr q);

/*@ requires probe_vectors(p) && probe_separated(p) && p->direction == \null;
    requires readable_number(q) && mkind(q->number) == 0 && writable(residual) && \valid(side);
    requires \separated(q, residual) && probe_apart(p, q) && probe_apart(p, residual);
    requires \separated(side, p, residual) && \separated(side, q) && \separated(side, p->phi);
    terminates \true;
    exits \false;
    assigns *side, *residual, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures minitialised(residual->number);
    ensures probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures only_probe_and_number_written{Pre, Here}(p, residual);
    ensures \result == PHIBAL_OK && *side == SEARCH_BELOW ==>
      before_solutions{Pre}(p, \old(q->number));
    ensures \result == PHIBAL_OK && *side == SEARCH_ABOVE ==>
      after_solutions{Pre}(p, \old(q->number));
    ensures \result == PHIBAL_OK && *side == SEARCH_EQUAL && mreal(\old(q->number), 0.0) ==>
      before_solutions{Pre}(p, \old(q->number)) && after_solutions{Pre}(p, \old(q->number)); */
static phibal_status probe_price(const step_probe *p, mpfr_srcptr q, search_side *side,
                                 mpfr_ptr residual);

/*@ requires \valid_read(phi) && input(&phi->parameter) && input(target) && input(start);
    requires output(price) && output(point) && output(image);
    requires \separated(price, point, image) && \separated(price, phi);
    requires \separated(point, phi) && \separated(image, phi);
    requires \separated(point, target) && \separated(image, target);
    requires \separated(point, start) && \separated(image, start);
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *price, *point, *image;
    ensures enclosure(price) && enclosure(point) && enclosure(image);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, price) &&
      \separated(r, point) && \separated(r, image) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall real a, b, q;
      in{Pre}(&phi->parameter, a) && in{Pre}(target, b) && solves_step(\old(phi->id), a, b, q) ==>
      in(price, q); */
static phibal_status search_coordinate(const phibal_reference_potential *phi,
                                       const phibal_enclosure *target,
                                       const phibal_enclosure *start, mpfr_prec_t precision,
                                       phibal_enclosure *price, phibal_enclosure *point,
                                       phibal_enclosure *image);

/*@ requires \valid_read(phi) && input(&phi->parameter) && vector_input(target, n);
    requires vector_input(start, n) && vector_output(price, n) && output(point) && output(image);
    requires \separated(price + (0 .. n - 1), phi) && \separated(point, image);
    requires \separated(price + (0 .. n - 1), point) && \separated(price + (0 .. n - 1), image);
    requires \separated(price + (0 .. n - 1), target + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), start + (0 .. n - 1));
    requires \separated(point, phi) && \separated(image, phi);
    requires \separated(point, target + (0 .. n - 1)) && \separated(image, target + (0 .. n - 1));
    requires \separated(point, start + (0 .. n - 1)) && \separated(image, start + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns price[0 .. n - 1], *point, *image;
    ensures vector_output(price, n) && enclosure(point) && enclosure(image);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, price, n) &&
      \separated(r, point) && \separated(r, image) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, b, q;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(target + e, b) &&
      solves_step(\old(phi->id), a, b, q) ==> in(price + e, q); */
static phibal_status search_separable(const phibal_reference_potential *phi, size_t n,
                                      const phibal_enclosure *target, const phibal_enclosure *start,
                                      mpfr_prec_t precision, phibal_enclosure *price,
                                      phibal_enclosure *point, phibal_enclosure *image);

/*@ requires input(exponent) && vector_input(target, n) && vector_output(direction, n);
    requires \separated(direction + (0 .. n - 1), exponent);
    requires \separated(direction + (0 .. n - 1), target + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns direction[0 .. n - 1];
    ensures vector_output(direction, n) && only_vector_written{Pre, Here}(direction, n); */
static phibal_status set_direction(size_t n, const phibal_enclosure *target,
                                   const phibal_enclosure *exponent, phibal_enclosure *direction);

/*@ requires vector_output(z, n) && vector_input(x, n) && input(s);
    requires \separated(z + (0 .. n - 1), s) && \separated(z + (0 .. n - 1), x + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1];
    ensures vector_output(z, n) && only_vector_written{Pre, Here}(z, n); */
static phibal_status scale(phibal_enclosure *z, size_t n, const phibal_enclosure *x,
                           const phibal_enclosure *s);

/*@ ghost
    /@ terminates \true;
       exits \false;
       assigns \nothing;
       ensures \forall phibal_enclosure *r; vector_apart(r, x, n) ==>
         \separated(r, x + (0 .. n - 1)); @/
    void apart_as_range(const phibal_enclosure *x, size_t n) {
      /@ loop invariant range: 0 <= i <= n;
         loop invariant apart: \forall phibal_enclosure *r; vector_apart(r, x, n) ==>
           \separated(r, x + (0 .. i - 1));
         loop assigns i;
         loop variant n - i; @/
      for (size_t i = 0; i < n; i++) {
        /@ assert this: \forall phibal_enclosure *r; vector_apart(r, x, n) ==>
             \separated(r, x + i); @/
      }
    }
*/

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && w.direction != \null;
    requires vector_input(goal.target, n) && vector_input(w.direction, n) && input(goal.start) &&
      output(s);
    requires vector_output(w.point, n) && vector_output(w.image, n);
    requires \separated(w.point + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), phi) && \separated(w.image + (0 .. n - 1), phi);
    requires \separated(w.point + (0 .. n - 1), goal.start) &&
      \separated(w.image + (0 .. n - 1), goal.start);
    requires \separated(w.point + (0 .. n - 1), s) && \separated(w.image + (0 .. n - 1), s);
    requires \separated(w.point + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *s, w.point[0 .. n - 1], w.image[0 .. n - 1];
    ensures enclosure(s) && vector_output(w.point, n) && vector_output(w.image, n);
    ensures only_with_vectors_written{Pre, Here}(s, w.point, n, w.image, n); */
static phibal_status search_ray(const phibal_reference_potential *phi, size_t n,
                                search_goal goal, mpfr_prec_t precision, search_work w,
                                phibal_enclosure *s);

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(goal.target, n);
    requires input(goal.start) && vector_output(price, n) && output(s) && output(first);
    requires vector_output(w.point, n) && vector_output(w.image, n) &&
      vector_output(w.direction, n);
    requires w.direction != \null && \separated(s, first) && \separated(s, phi);
    requires \separated(first, phi);
    requires \separated(s, goal.start) && \separated(s, goal.target + (0 .. n - 1));
    requires \separated(first, goal.start) && \separated(first, goal.target + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), s) && \separated(price + (0 .. n - 1), first);
    requires \separated(w.point + (0 .. n - 1), s) && \separated(w.point + (0 .. n - 1), first);
    requires \separated(w.image + (0 .. n - 1), s) && \separated(w.image + (0 .. n - 1), first);
    requires \separated(w.direction + (0 .. n - 1), s) &&
      \separated(w.direction + (0 .. n - 1), first);
    requires \separated(w.point + (0 .. n - 1), phi) && \separated(w.image + (0 .. n - 1), phi);
    requires \separated(w.direction + (0 .. n - 1), phi) &&
      \separated(w.direction + (0 .. n - 1), goal.start);
    requires \separated(w.point + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.direction + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.point + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns price[0 .. n - 1], w.point[0 .. n - 1], w.image[0 .. n - 1], w.direction[0 .. n - 1],
      *s, *first;
    ensures vector_output(price, n) && enclosure(s) && enclosure(first);
    ensures vector_output(w.point, n) && vector_output(w.image, n) && vector_output(w.direction, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, price, n) &&
      vector_apart(r, w.point, n) && vector_apart(r, w.image, n) &&
      vector_apart(r, w.direction, n) && \separated(r, s) && \separated(r, first) ==>
      same{Pre, Here}(r); */
static phibal_status search_direction(const phibal_reference_potential *phi, size_t n,
                                      search_goal goal, mpfr_prec_t precision,
                                      phibal_enclosure *price, search_work w,
                                      phibal_enclosure *s, phibal_enclosure *first);

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(goal.target, n);
    requires input(goal.start) && vector_output(price, n);
    requires vector_output(w.point, n) && vector_output(w.image, n) &&
      vector_output(w.direction, n);
    requires w.direction != \null;
    requires \separated(w.point + (0 .. n - 1), phi) && \separated(w.image + (0 .. n - 1), phi);
    requires \separated(w.direction + (0 .. n - 1), phi) &&
      \separated(w.direction + (0 .. n - 1), goal.start);
    requires \separated(w.point + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.direction + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.point + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns price[0 .. n - 1], w.point[0 .. n - 1], w.image[0 .. n - 1], w.direction[0 .. n - 1];
    ensures vector_output(price, n);
    ensures vector_output(w.point, n) && vector_output(w.image, n) && vector_output(w.direction, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, price, n) &&
      vector_apart(r, w.point, n) && vector_apart(r, w.image, n) &&
      vector_apart(r, w.direction, n) ==> same{Pre, Here}(r); */
static phibal_status search_renyi(const phibal_reference_potential *phi, size_t n,
                                  search_goal goal, mpfr_prec_t precision, phibal_enclosure *price,
                                  search_work w);

/*@ requires \valid_read(phi) && input(&phi->parameter);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result; */
static mpfr_prec_t steepness_bits(const phibal_reference_potential *phi);

/*@ requires \valid_read(phi) && input(&phi->parameter);
    terminates \true;
    exits \false;
    assigns \nothing; */
static phibal_status require_strictly_convex(const phibal_reference_potential *phi);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==>
      MPFR_PREC_MIN <= precision <= MOST_BITS && steepness <= MOST_BITS; */
static phibal_status check_bits(mpfr_prec_t precision, mpfr_prec_t steepness);

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(goal.target, n);
    requires vector_input(goal.start, n) && vector_output(price, n) && w.direction != \null;
    requires vector_output(w.point, n) && vector_output(w.image, n) &&
      vector_output(w.direction, n);
    requires \separated(price + (0 .. n - 1), phi) && \separated(w.point + (0 .. n - 1), phi);
    requires \separated(w.image + (0 .. n - 1), phi) && \separated(w.direction + (0 .. n - 1), phi);
    requires \separated(price + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(w.direction + (0 .. n - 1), goal.target + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), goal.start + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), goal.start + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), goal.start + (0 .. n - 1));
    requires \separated(w.direction + (0 .. n - 1), goal.start + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.point + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(price + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns price[0 .. n - 1], w.point[0 .. n - 1], w.image[0 .. n - 1], w.direction[0 .. n - 1];
    ensures vector_output(price, n);
    ensures vector_output(w.point, n) && vector_output(w.image, n) && vector_output(w.direction, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, price, n) &&
      vector_apart(r, w.point, n) && vector_apart(r, w.image, n) &&
      vector_apart(r, w.direction, n) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, b, q;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(goal.target + e, b) &&
      solves_step(\old(phi->id), a, b, q) ==> in(price + e, q); */
static phibal_status search_price(const phibal_reference_potential *phi, size_t n,
                                  search_goal goal, mpfr_prec_t precision, phibal_enclosure *price,
                                  search_work w);

/*@ requires \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(found, n);
    requires vector_output(next, n) && vector_output(price, n);
    requires \separated(phi, next + (0 .. n - 1)) && \separated(phi, price + (0 .. n - 1));
    requires \separated(found + (0 .. n - 1), next + (0 .. n - 1));
    requires \separated(found + (0 .. n - 1), price + (0 .. n - 1));
    requires \separated(next + (0 .. n - 1), price + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns next[0 .. n - 1], price[0 .. n - 1];
    ensures vector_output(next, n) && vector_output(price, n);
    ensures two_vectors_written{Pre, Here}(next, price, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, q;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(found + e, q) &&
      separable(\old(phi->id), a) && strictly_convex(\old(phi->id), a) ==>
      in(next + e, load_of(\old(phi->id), a, q)) && in(price + e, q); */
static phibal_status take_loads(const phibal_reference_potential *phi, size_t n,
                                const phibal_enclosure *found, phibal_enclosure *next,
                                phibal_enclosure *price);

/*@ requires step_inputs(phi, n, step.m, step.loads, step.eta) && 1 <= n && w.direction != \null;
    requires vector_output(start, n) && vector_output(target, n) && vector_output(found, n);
    requires vector_output(w.point, n) && vector_output(w.image, n) &&
      vector_output(w.direction, n);
    requires apart_from_step(start, n, phi, n, step.m, step.loads, step.eta);
    requires apart_from_step(target, n, phi, n, step.m, step.loads, step.eta);
    requires apart_from_step(found, n, phi, n, step.m, step.loads, step.eta);
    requires apart_from_step(w.point, n, phi, n, step.m, step.loads, step.eta);
    requires apart_from_step(w.image, n, phi, n, step.m, step.loads, step.eta);
    requires apart_from_step(w.direction, n, phi, n, step.m, step.loads, step.eta);
    requires \separated(start + (0 .. n - 1), target + (0 .. n - 1));
    requires \separated(start + (0 .. n - 1), found + (0 .. n - 1));
    requires \separated(start + (0 .. n - 1), w.point + (0 .. n - 1));
    requires \separated(start + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(start + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), found + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), w.point + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(target + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(found + (0 .. n - 1), w.point + (0 .. n - 1));
    requires \separated(found + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(found + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.image + (0 .. n - 1));
    requires \separated(w.point + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires \separated(w.image + (0 .. n - 1), w.direction + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns start[0 .. n - 1], target[0 .. n - 1], found[0 .. n - 1], w.point[0 .. n - 1],
      w.image[0 .. n - 1], w.direction[0 .. n - 1];
    ensures vector_output(start, n) && vector_output(target, n) && vector_output(found, n);
    ensures vector_output(w.point, n) && vector_output(w.image, n) && vector_output(w.direction, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, start, n) &&
      vector_apart(r, target, n) && vector_apart(r, found, n) && vector_apart(r, w.point, n) &&
      vector_apart(r, w.image, n) && vector_apart(r, w.direction, n) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall integer e, real a, h, x, y; 0 <= e < n &&
      step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) ==>
      price_exists(\old(phi->id), a, x) &&
      (\forall real q; load_exists(\old(phi->id), a, q) &&
        load_of(\old(phi->id), a, q) == step_target(\old(phi->id), a, h, x, y) ==>
        in(found + e, q)); */
static phibal_status find_price(const phibal_reference_potential *phi, size_t n,
                                mirror_step step, mpfr_prec_t precision, phibal_enclosure *start,
                                phibal_enclosure *target, phibal_enclosure *found,
                                search_work w);

/*@ requires step_call(phi, n, step.m, step.loads, step.eta, next, price) && 1 <= n && t != \null;
    requires \forall real h; in(step.eta, h) ==> 0.0 < h;
    requires vector_output(t, 6 * n) &&
      apart_from_step(t, 6 * n, phi, n, step.m, step.loads, step.eta);
    requires \separated(t + (0 .. 6 * n - 1), next + (0 .. n - 1));
    requires \separated(t + (0 .. 6 * n - 1), price + (0 .. n - 1));
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns t[0 .. 6 * n - 1], next[0 .. n - 1], price[0 .. n - 1];
    ensures vector_output(t, 6 * n) && vector_output(next, n) && vector_output(price, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 6 * n) &&
      vector_apart(r, next, n) && vector_apart(r, price, n) ==> same{Pre, Here}(r);
    ensures argmax: \result == PHIBAL_OK ==>
      holds_argmax{Pre, Here}(phi, n, step.m, step.loads, step.eta, next, price);
    ensures step: \result == PHIBAL_OK ==>
      holds_step{Pre, Here}(phi, n, step.m, step.loads, step.eta, next, price); */
static phibal_status argmax_with(const phibal_reference_potential *phi, size_t n,
                                 mirror_step step, mpfr_prec_t precision, phibal_enclosure *t,
                                 phibal_enclosure *next, phibal_enclosure *price);

#endif
