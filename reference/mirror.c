/* Mirror ascent both ways: (M1), (M2) by the closed form, (M4) as the argmax of its objective. */
#include "mirror_search.h"
#include "potentials/potentials.h"
#include <stdint.h>

/* Bits added to the precision asked for: the gradient, its inverse and the target lose a few, and
   more where the parameter makes powers steep (see steepness_bits). */
enum { SEARCH_GUARD_BITS = 48 };

/* The most bits that are worked with: more than any memory holds. */
#define MOST_BITS ((mpfr_prec_t)1 << 38)

/* A step: the state m and the loads [n], and the rate eta. */
typedef struct mirror_step {
  const phibal_enclosure *m, *loads, *eta;
} mirror_step;

/* What grad phi* is to take [n], and prices at which a search may begin: [n], or [1] for a ray. */
typedef struct search_goal {
  const phibal_enclosure *target, *start;
} search_goal;

/* Temporaries of a search [n]: prices, their image under grad phi*, and a direction of prices. */
typedef struct search_work {
  phibal_enclosure *point, *image, *direction;
} search_work;

#include <phibal/acsl/contracts/inside/mirror_static.h>

static phibal_status check_step(const char *function, const phibal_reference_potential *phi,
                                size_t n, const phibal_enclosure *m, const phibal_enclosure *loads,
                                const phibal_enclosure *eta, const phibal_enclosure *next,
                                const phibal_enclosure *price) {
  //@ assert open_enclosure;
  if (!phi || !m || !loads || !eta || !next || !price || n == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null argument, or no coordinates",
                             function);
  if (mpfr_sgn(eta->lo) <= 0 || mpfr_cmp_si(eta->hi, 1) > 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta must be in (0, 1]", function);
  /*@ loop invariant range: 0 <= e <= n;
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert coordinate: input(&m[e]) && input(&loads[e]);
    if (!mpfr_number_p(m[e].lo) || !mpfr_number_p(m[e].hi) || !mpfr_number_p(loads[e].lo) ||
        !mpfr_number_p(loads[e].hi))
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: m and loads must be real numbers; coordinate %zu of %zu is not",
                               function, e + 1, n);
  }
  return PHIBAL_OK;
}

/* z = (1 - eta) m + eta loads; t is a temporary. */
static phibal_status average(phibal_enclosure *z, size_t n, const phibal_enclosure *m,
                             const phibal_enclosure *loads, const phibal_enclosure *eta,
                             phibal_enclosure *t) {
  //@ assert use_enclosure;
  /*@ loop invariant range: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n) && enclosure(t);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, z, n);
      loop invariant meaning: \forall integer i, real h, x, y; 0 <= i < e &&
        in{Pre}(eta, h) && in{Pre}(m + i, x) && in{Pre}(loads + i, y) ==>
        in(z + i, average_of(h, x, y));
      loop assigns e, z[0 .. n - 1], *t;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert same: same{Pre, Here}(eta) && same{Pre, Here}(m + e) && same{Pre, Here}(loads + e);
    //@ assert inputs: input(eta) && input(m + e) && input(loads + e);
    subtract_from_integer(t, 1, eta);
    TRY(phibal_enclosure_mul(t, t, &m[e]));
    TRY(phibal_enclosure_mul(&z[e], eta, &loads[e]));
    /*@ assert parts: \forall real h, x, y; in{Pre}(eta, h) && in{Pre}(m + e, x) &&
          in{Pre}(loads + e, y) ==> in(t, (1.0 - h) * x) && in(z + e, h * y); */
    TRY(phibal_enclosure_add(&z[e], &z[e], t));
    /*@ assert last: \forall real h, x, y; in{Pre}(eta, h) && in{Pre}(m + e, x) &&
          in{Pre}(loads + e, y) ==> in(z + e, average_of(h, x, y)); */
    //@ assert before: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(z + i);
  }
  return PHIBAL_OK;
}

/* z = x. */
static void copy(phibal_enclosure *z, size_t n, const phibal_enclosure *x) {
  //@ assert use_enclosure;
  /*@ loop invariant range: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant frame: only_vector_written{Pre, Here}(z, n);
      loop invariant meaning: \forall integer i, real r; 0 <= i < e && in{Pre}(x + i, r) ==>
        in(z + i, r);
      loop assigns e, z[0 .. n - 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert input: same{Pre, Here}(x + e) && input(x + e);
    phibal_enclosure_set(&z[e], &x[e]);
  }
}

/* next = mean and price = grad phi(mean). */
static phibal_status take_price(const phibal_reference_potential *phi, size_t n,
                                const phibal_enclosure *mean, phibal_enclosure *next,
                                phibal_enclosure *price) {
  //@ assert use_enclosure;
  phibal_status status = phibal_reference_gradient(phi, n, mean, price);
  //@ assert mean: vector_same{Pre, Here}(mean, n);
  //@ assert next: vector_same{Pre, Here}(next, n);
  //@ assert vectors: vector_output(next, n) && vector_input(mean, n);
  if (status != PHIBAL_OK) return name_place(status, "mirror step, at the new m");
  /*@ ghost priced: ; */
  copy(next, n, mean);
  //@ assert price: vector_same{priced, Here}(price, n);
  return PHIBAL_OK;
}

/* (M1), (M2): next and its price; mean [n] and t are temporaries. */
static phibal_status ema_with(const phibal_reference_potential *phi, size_t n, mirror_step step,
                              phibal_enclosure *mean, phibal_enclosure *t, phibal_enclosure *next,
                              phibal_enclosure *price) {
  //@ assert use_enclosure;
  //@ assert mean_next: vectors_apart(next, n, mean, n) && vectors_apart(mean, n, next, n);
  //@ assert mean_price: vectors_apart(price, n, mean, n) && vectors_apart(mean, n, price, n);
  //@ assert t_apart: vector_apart(t, next, n) && vector_apart(t, price, n);
  phibal_status status = average(mean, n, step.m, step.loads, step.eta, t);
  //@ assert parameter: same{Pre, Here}(&phi->parameter) && phi->id == \at(phi->id, Pre);
  //@ assert next: vector_same{Pre, Here}(next, n);
  //@ assert price: vector_same{Pre, Here}(price, n);
  //@ assert inputs: input(&phi->parameter) && vector_output(next, n) && vector_output(price, n);
  if (status != PHIBAL_OK) return status;
  /*@ ghost averaged: ; */
  status = take_price(phi, n, mean, next, price);
  //@ assert temporaries: vector_same{averaged, Here}(mean, n) && same{averaged, Here}(t);
  return status;
}

phibal_status phibal_reference_mirror_ema(const phibal_reference_potential *phi, size_t n,
                                          const phibal_enclosure *m, const phibal_enclosure *loads,
                                          const phibal_enclosure *eta, phibal_enclosure *next,
                                          phibal_enclosure *price) {
  //@ assert use_enclosure && open_heap;
  TRY(check_step("mirror step", phi, n, m, loads, eta, next, price));
  mpfr_prec_t precision = guarded_precision(working_precision(next, n, m));
  phibal_enclosure *mean = n < SIZE_MAX ? phibal_enclosure_vector(n + 1, precision) : NULL;
  //@ assert next: vector_same{Pre, Here}(next, n);
  //@ assert price: vector_same{Pre, Here}(price, n);
  //@ assert outputs: vector_output(next, n) && vector_output(price, n);
  if (!mean)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "mirror step: no memory for %zu experts", n);
  //@ assert m: vector_same{Pre, Here}(m, n);
  //@ assert loads: vector_same{Pre, Here}(loads, n);
  //@ assert scalars: same{Pre, Here}(eta) && same{Pre, Here}(&phi->parameter);
  //@ assert inputs: step_inputs(phi, n, m, loads, eta);
  //@ assert places: apart_from_step(mean, n + 1, phi, n, m, loads, eta);
  //@ assert next_place: \separated(mean + (0 .. n + 1 - 1), next + (0 .. n - 1));
  //@ assert price_place: \separated(mean + (0 .. n + 1 - 1), price + (0 .. n - 1));
  //@ assert scratch: vector_output(mean, n + 1);
  /*@ ghost given: ; */
  const mirror_step step = {m, loads, eta};
  phibal_status status = ema_with(phi, n, step, mean, mean + n, next, price);
  //@ assert all: vector_output(mean, n + 1);
  /*@ ghost done: ; */
  phibal_enclosure_vector_clear(mean, n + 1);
  //@ assert next_kept: vector_same{done, Here}(next, n);
  //@ assert price_kept: vector_same{done, Here}(price, n);
  return status;
}

/* An enclosure of a point inside a domain may stick out of it; more bits then help. */
static phibal_status domain_as_undecided(phibal_status status) {
  if (status != PHIBAL_ERROR_DOMAIN) return status;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "mirror argmax: a price is too near the end of the conjugate's domain "
                           "for this precision");
}

/* target = target + eta (loads - m); t is a temporary. */
static phibal_status add_steps(phibal_enclosure *target, size_t n, const phibal_enclosure *m,
                               const phibal_enclosure *loads, const phibal_enclosure *eta,
                               phibal_enclosure *t) {
  //@ assert use_enclosure;
  /*@ loop invariant range: 0 <= e <= n;
      loop invariant outputs: vector_output(target, n) && enclosure(t);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, target, n);
      loop invariant rest: \forall integer i; e <= i < n ==> same{Pre, Here}(target + i);
      loop invariant meaning: \forall integer i, real h, x, y, r; 0 <= i < e &&
        in{Pre}(eta, h) && in{Pre}(m + i, x) && in{Pre}(loads + i, y) && in{Pre}(target + i, r) ==>
        in(target + i, r + (y - x) * h);
      loop assigns e, target[0 .. n - 1], *t;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert same_eta: same{Pre, Here}(eta);
    //@ assert same_m: same{Pre, Here}(m + e);
    //@ assert same_load: same{Pre, Here}(loads + e);
    //@ assert inputs: input(eta) && input(m + e) && input(loads + e) && output(target + e);
    TRY(phibal_enclosure_sub(t, &loads[e], &m[e]));
    TRY(phibal_enclosure_mul(t, t, eta));
    TRY(phibal_enclosure_add(&target[e], &target[e], t));
    /*@ assert last: \forall real h, x, y, r; in{Pre}(eta, h) && in{Pre}(m + e, x) &&
          in{Pre}(loads + e, y) && in{Pre}(target + e, r) ==> in(target + e, r + (y - x) * h); */
    //@ assert before: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(target + i);
  }
  return PHIBAL_OK;
}

/* start = grad phi(m) and image = grad phi*(start). */
static phibal_status set_image(const phibal_reference_potential *phi, size_t n,
                               const phibal_enclosure *m, phibal_enclosure *start,
                               phibal_enclosure *image) {
  //@ assert use_enclosure;
  phibal_status status = phibal_reference_gradient(phi, n, m, start);
  //@ assert parameter: same{Pre, Here}(&phi->parameter) && phi->id == \at(phi->id, Pre);
  //@ assert image: vector_same{Pre, Here}(image, n);
  //@ assert vectors: vector_output(image, n) && input(&phi->parameter);
  if (status != PHIBAL_OK) return name_place(status, "mirror argmax, at m");
  /*@ ghost priced: ; */
  status = phibal_reference_conjugate_gradient(phi, n, start, image);
  //@ assert start: vector_same{priced, Here}(start, n);
  return domain_as_undecided(status);
}

/* target = grad phi*(grad phi(m)) + eta (loads - m), which grad phi* must take at the argmax: the
   objective is concave and this is where its gradient, (loads - m) - (grad phi*(q) - grad
   phi*(grad phi(m)))/eta, vanishes. start = grad phi(m); t is a temporary. */
static phibal_status set_target(const phibal_reference_potential *phi, size_t n,
                                const phibal_enclosure *m, const phibal_enclosure *loads,
                                const phibal_enclosure *eta, phibal_enclosure *start,
                                phibal_enclosure *target, phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_status status = set_image(phi, n, m, start, target);
  //@ assert m: vector_same{Pre, Here}(m, n);
  //@ assert loads: vector_same{Pre, Here}(loads, n);
  //@ assert eta: same{Pre, Here}(eta) && same{Pre, Here}(t);
  //@ assert inputs: vector_input(m, n) && vector_input(loads, n) && input(eta) && output(t);
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall integer e, real a, h, x, y; 0 <= e < n &&
        step_member{Pre}(phi, m + e, loads + e, eta, a, h, x, y) ==>
        in(m + e, x) && in(loads + e, y) && in(eta, h) &&
        price_exists(\at(phi->id, Pre), a, x) &&
        in(target + e, load_of(\at(phi->id, Pre), a, price_of(\at(phi->id, Pre), a, x))); */
  /*@ ghost imaged: ; */
  status = add_steps(target, n, m, loads, eta, t);
  //@ assert start: vector_same{imaged, Here}(start, n);
  /*@ assert sums: status == PHIBAL_OK ==> \forall integer e, real a, h, x, y; 0 <= e < n &&
        step_member{Pre}(phi, m + e, loads + e, eta, a, h, x, y) ==>
        in(target + e,
           load_of(\at(phi->id, Pre), a, price_of(\at(phi->id, Pre), a, x)) + (y - x) * h); */
  return status;
}

/* Both are the same real number. */
static bool is_same_point(const phibal_enclosure *x, const phibal_enclosure *y) {
  //@ assert open_enclosure && use_enclosure;
  return phibal_enclosure_is_exact(x) && phibal_enclosure_is_exact(y) && mpfr_equal_p(x->lo, y->lo);
}

/* Where the image lies; EQUAL only for points. For a ray all components err on the same side, so
   that any certain one decides. */
static search_side side_of_image(const step_probe *p) {
  /*@ loop invariant range: 0 <= e <= p->n;
      loop assigns e;
      loop variant p->n - e; */
  for (size_t e = 0; e < p->n; e++) {
    //@ assert input(&p->image[e]) && input(&p->target[e]);
    if (phibal_enclosure_is_less(&p->image[e], &p->target[e])) return SEARCH_BELOW;
    if (phibal_enclosure_is_less(&p->target[e], &p->image[e])) return SEARCH_ABOVE;
  }
  //@ assert input(&p->image[0]) && input(&p->target[0]);
  return p->n == 1 && is_same_point(&p->image[0], &p->target[0]) ? SEARCH_EQUAL : SEARCH_UNKNOWN;
}

/* The first component of image - target, from the lower ends. */
static void set_residual(const step_probe *p, mpfr_ptr residual) {
  //@ assert use_enclosure && open_shape && open_enclosure;
  //@ assert ends: input(&p->image[0]) && input(&p->target[0]);
  mpfr_sub(residual, p->image[0].lo, p->target[0].lo, MPFR_RNDN);
  /*@ assert frame: \forall phibal_enclosure *r; \valid_read(r) && \separated(r, residual) ==>
        same{Pre, Here}(r); */
  //@ assert same: probe_same{Pre, Here}(p);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert start: input(p->start) && input(&p->phi->parameter);
  //@ assert target: vector_input(p->target, p->n);
  //@ assert direction: p->direction != \null ==> vector_input(p->direction, p->n);
  //@ assert point: vector_output(p->point, p->n);
  //@ assert image: vector_output(p->image, p->n);
}

/* The first component of image - target, and the side on which the image of
   `point` lies. */
static phibal_status probe_image(const step_probe *p, search_side *side, mpfr_ptr residual) {
  //@ assert use_enclosure && use_probe && open_shape;
  phibal_status status = phibal_reference_conjugate_gradient(p->phi, p->n, p->point, p->image);
  //@ assert same: probe_same{Pre, Here}(p) && probe_separated(p) && probe_apart(p, residual);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert start: input(p->start) && input(&p->phi->parameter);
  //@ assert target: vector_input(p->target, p->n);
  //@ assert direction: p->direction != \null ==> vector_input(p->direction, p->n);
  //@ assert temporaries: probe_temporaries(p);
  *side = SEARCH_UNKNOWN;
  if (status == PHIBAL_ERROR_DOMAIN) *side = SEARCH_OUTSIDE;
  if (status == PHIBAL_ERROR_DOMAIN || status == PHIBAL_ERROR_UNDECIDED) return PHIBAL_OK;
  if (status != PHIBAL_OK) return status;
  *side = side_of_image(p);
  set_residual(p, residual);
  return PHIBAL_OK;
}

/* point_e = q direction_e. */
static phibal_status set_ray_price(const step_probe *p, size_t e, mpfr_srcptr q) {
  //@ assert use_enclosure && open_shape;
  //@ assert places: output(&p->point[e]) && output(&p->image[e]) && input(&p->direction[e]);
  phibal_enclosure_set_fr(&p->image[e], q);
  phibal_status status = phibal_enclosure_mul(&p->point[e], &p->image[e], &p->direction[e]);
  //@ assert same: probe_same{Pre, Here}(p) && q->number == \at(q->number, Pre);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert start: input(p->start) && input(&p->phi->parameter);
  //@ assert target: vector_input(p->target, p->n);
  //@ assert direction: p->direction != \null ==> vector_input(p->direction, p->n);
  //@ assert temporaries: probe_temporaries(p);
  return status;
}

/* The candidates along a ray: point = q direction. */
static phibal_status set_ray(const step_probe *p, mpfr_srcptr q) {
  //@ assert use_enclosure && open_shape;
  /*@ loop invariant range: 0 <= e <= p->n;
      loop invariant same: probe_same{Pre, Here}(p) && probe_apart(p, q);
      loop invariant vectors: probe_vectors(p);
      loop invariant number: readable_number(q);
      loop invariant frame: only_probe_written{Pre, Here}(p);
      loop assigns e, \at(p->point, Pre)[0 .. \at(p->n, Pre) - 1],
        \at(p->image, Pre)[0 .. \at(p->n, Pre) - 1];
      loop variant p->n - e; */
  for (size_t e = 0; e < p->n; e++) TRY(set_ray_price(p, e, q));
  return PHIBAL_OK;
}

/* The image of q, the price of one coordinate. */
static phibal_status probe_price(const step_probe *p, mpfr_srcptr q, search_side *side,
                                 mpfr_ptr residual) {
  //@ assert use_enclosure && use_probe && use_mirror && open_step && open_shape;
  //@ assert place: output(&p->point[0]) && p->n == 1;
  phibal_enclosure_set_fr(&p->point[0], q);
  //@ assert same: probe_same{Pre, Here}(p) && q->number == \at(q->number, Pre);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert start: input(p->start) && input(&p->phi->parameter);
  //@ assert target: vector_input(p->target, p->n);
  //@ assert direction: p->direction != \null ==> vector_input(p->direction, p->n);
  //@ assert temporaries: probe_temporaries(p);
  //@ assert price: in(p->point, mval(\at(q->number, Pre)));
  //@ assert number: writable(residual) && probe_apart(p, residual) && probe_separated(p);
  phibal_status status = probe_image(p, side, residual);
  /*@ assert below: status == PHIBAL_OK && *side == SEARCH_BELOW ==> \forall choice c, real r;
        choice_of{Pre}(p, c) && solves(c, r) ==> mval(\at(q->number, Pre)) <= r; */
  /*@ assert above: status == PHIBAL_OK && *side == SEARCH_ABOVE ==> \forall choice c, real r;
        choice_of{Pre}(p, c) && solves(c, r) ==> r <= mval(\at(q->number, Pre)); */
  /*@ assert zero: status == PHIBAL_OK && *side == SEARCH_EQUAL &&
        mval(\at(q->number, Pre)) == 0.0 ==> \forall choice c, real r;
        choice_of{Pre}(p, c) && solves(c, r) ==> r == 0.0; */
  return status;
}

/* A ray of prices lies on the side q < 0. */
phibal_status step_probe_at(const step_probe *p, mpfr_srcptr q, search_side *side,
                            mpfr_ptr residual) {
  //@ assert use_enclosure && use_probe && open_shape;
  if (!p->direction) return probe_price(p, q, side, residual);
  *side = SEARCH_OUTSIDE;
  if (mpfr_sgn(q) >= 0) return PHIBAL_OK;
  TRY(set_ray(p, q));
  //@ assert number: residual->number == \at(residual->number, Pre) && probe_apart(p, residual);
  return probe_image(p, side, residual);
}

/* The price at which grad phi* takes the target, in one coordinate. */
static phibal_status search_coordinate(const phibal_reference_potential *phi,
                                       const phibal_enclosure *target,
                                       const phibal_enclosure *start, mpfr_prec_t precision,
                                       phibal_enclosure *price, phibal_enclosure *point,
                                       phibal_enclosure *image) {
  //@ assert use_enclosure && open_shape && use_chosen;
  const phibal_enclosure *direction = NULL;
  //@ assert one_target: vector_input(target, 1);
  //@ assert one_point: vector_output(point, 1) && vector_output(image, 1);
  //@ assert apart: unwritten(target, 1, point, image) && unwritten(start, 1, point, image);
  //@ assert apart_phi: unwritten(&phi->parameter, 1, point, image);
  //@ assert each: \forall integer i; 0 <= i < 1 ==> unwritten(target + i, 1, point, image);
  step_probe probe = {phi, 1, target, direction, point, image, start};
  //@ assert none: probe.direction == \null && probe.n == 1 && probe.phi == phi;
  //@ assert fields: probe.target == target && probe.point == point && probe.image == image;
  //@ assert same: same{Pre, Here}(target) && same{Pre, Here}(&phi->parameter);
  //@ assert places_same: same{Pre, Here}(point) && same{Pre, Here}(image) && input(start);
  //@ assert still: vector_input(target, 1) && vector_output(point, 1) && vector_output(image, 1);
  //@ assert vectors: probe_vectors(&probe);
  //@ assert places: probe_separated(&probe);
  /*@ assert choices: \forall real a, b; in{Pre}(&phi->parameter, a) && in{Pre}(target, b) ==>
        choice_of(&probe, choice_with(\at(phi->id, Pre), a, b)); */
  phibal_status status = search_root(price, &probe, precision);
  return status;
}

/* The prices of all coordinates, each searched by itself. */
static phibal_status search_separable(const phibal_reference_potential *phi, size_t n,
                                      const phibal_enclosure *target, const phibal_enclosure *start,
                                      mpfr_prec_t precision, phibal_enclosure *price,
                                      phibal_enclosure *point, phibal_enclosure *image) {
  //@ assert use_enclosure;
  /*@ loop invariant range: 0 <= e <= n;
      loop invariant outputs: vector_output(price, n) && enclosure(point) && enclosure(image);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, price, n) && \separated(r, point) && \separated(r, image) ==>
        same{Pre, Here}(r);
      loop invariant phi: phi->id == \at(phi->id, Pre);
      loop invariant meaning: \forall integer i, real a, b, q;
        0 <= i < e && in{Pre}(&phi->parameter, a) && in{Pre}(target + i, b) &&
        solves_step(\at(phi->id, Pre), a, b, q) ==> in(price + i, q);
      loop assigns e, price[0 .. n - 1], *point, *image;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert same: same{Pre, Here}(target + e) && same{Pre, Here}(&phi->parameter);
    //@ assert first: same{Pre, Here}(start + e);
    //@ assert inputs: input(target + e) && input(start + e) && input(&phi->parameter);
    //@ assert outputs: output(price + e);
    phibal_status status =
        search_coordinate(phi, &target[e], &start[e], precision, &price[e], point, image);
    //@ assert before: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(price + i);
    //@ assert after: \forall integer i; e < i < n ==> same{LoopCurrent, Here}(price + i);
    //@ assert prices: vector_output(price, n) && enclosure(point) && enclosure(image);
    if (status != PHIBAL_OK) return status;
    /*@ assert last: \forall real a, b, q; in{Pre}(&phi->parameter, a) &&
          in{Pre}(target + e, b) && solves_step(\at(phi->id, Pre), a, b, q) ==> in(price + e, q); */
  }
  return PHIBAL_OK;
}

/* Renyi: (grad phi*)_e = c (-q_e)^(-c-1) / sum_j (-q_j)^(-c), so that the ratios of the target fix
   the ratios of the prices: -q_e is proportional to target_e^(-1/(c+1)) = target_e^(a-1). Along
   that ray grad phi* is homogeneous of degree -1: its components grow in step with s in q = s
   direction, s < 0, and one number remains to be searched. */
static phibal_status set_direction(size_t n, const phibal_enclosure *target,
                                   const phibal_enclosure *exponent, phibal_enclosure *direction) {
  //@ assert use_enclosure;
  /*@ loop invariant range: 0 <= e <= n;
      loop invariant outputs: vector_output(direction, n);
      loop invariant frame: only_vector_written{Pre, Here}(direction, n);
      loop assigns e, direction[0 .. n - 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert exponent: same{Pre, Here}(exponent) && input(exponent);
    //@ assert target: same{Pre, Here}(target + e) && input(target + e);
    if (!phibal_enclosure_is_positive(&target[e]))
      return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                               "mirror argmax: component %zu of %zu of the average cannot be told "
                               "from 0, where there is no argmax",
                               e + 1, n);
    TRY(phibal_enclosure_pow(&direction[e], &target[e], exponent));
  }
  return PHIBAL_OK;
}

/* z = s x. */
static phibal_status scale(phibal_enclosure *z, size_t n, const phibal_enclosure *x,
                           const phibal_enclosure *s) {
  //@ assert use_enclosure;
  /*@ loop invariant range: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant frame: only_vector_written{Pre, Here}(z, n);
      loop assigns e, z[0 .. n - 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert inputs: same{Pre, Here}(s) && same{Pre, Here}(x + e) && input(s) && input(x + e);
    TRY(phibal_enclosure_mul(&z[e], s, &x[e]));
  }
  return PHIBAL_OK;
}

/* s: where grad phi* takes the target at the prices s direction. */
static phibal_status search_ray(const phibal_reference_potential *phi, size_t n, search_goal goal,
                                mpfr_prec_t precision, search_work w, phibal_enclosure *s) {
  //@ assert use_enclosure && open_shape;
  step_probe probe = {phi, n, goal.target, w.direction, w.point, w.image, goal.start};
  //@ assert vectors: probe_vectors(&probe);
  //@ assert places: probe_separated(&probe);
  //@ ghost apart_as_range(w.point, n);
  //@ ghost apart_as_range(w.image, n);
  phibal_status status = search_root(s, &probe, precision);
  //@ assert fields: probe.point == w.point && probe.image == w.image && probe.n == n;
  return status;
}

/* price = s direction where its grad phi* is the target; s is the exponent a - 1 before. */
static phibal_status search_direction(const phibal_reference_potential *phi, size_t n,
                                      search_goal goal, mpfr_prec_t precision,
                                      phibal_enclosure *price, search_work w, phibal_enclosure *s,
                                      phibal_enclosure *first) {
  //@ assert use_enclosure;
  /*@ assert d1: vectors_apart(goal.target, n, w.direction, n) &&
        vectors_apart(price, n, w.direction, n); */
  /*@ assert d2: vectors_apart(w.point, n, w.direction, n) &&
        vectors_apart(w.image, n, w.direction, n); */
  //@ assert d3: vector_apart(first, w.direction, n) && vector_apart(goal.start, w.direction, n);
  //@ assert d4: vector_apart(&phi->parameter, w.direction, n);
  //@ assert p1: vectors_apart(price, n, w.point, n) && vectors_apart(price, n, w.image, n);
  /*@ assert p2: vectors_apart(w.direction, n, w.point, n) &&
        vectors_apart(w.direction, n, w.image, n); */
  //@ assert p3: vector_apart(first, w.point, n) && vector_apart(first, w.image, n);
  //@ assert p4: \forall integer i; 0 <= i < n ==> \separated(price + i, s);
  //@ assert r1: vector_apart(s, price, n) && vector_apart(first, price, n);
  //@ assert r2: vectors_apart(w.point, n, price, n) && vectors_apart(w.image, n, price, n);
  //@ assert r3: vectors_apart(w.direction, n, price, n);
  phibal_status status = set_direction(n, goal.target, s, w.direction);
  //@ assert directed: vector_same{Pre, Here}(goal.target, n);
  //@ assert directed_too: vector_same{Pre, Here}(price, n);
  //@ assert temporaries: vector_same{Pre, Here}(w.point, n);
  //@ assert temporaries_too: vector_same{Pre, Here}(w.image, n);
  /*@ assert first: same{Pre, Here}(first) && same{Pre, Here}(goal.start) &&
        same{Pre, Here}(&phi->parameter); */
  /*@ assert outputs: vector_output(price, n) && vector_output(w.point, n) &&
        vector_output(w.image, n); */
  //@ assert places: enclosure(s) && output(first) && input(goal.start) && input(w.direction + 0);
  if (status != PHIBAL_OK) return status;
  /*@ ghost directed: ; */
  status = phibal_enclosure_div(first, goal.start, w.direction);
  //@ assert target_kept: vector_same{directed, Here}(goal.target, n);
  //@ assert target_kept_too: vector_same{directed, Here}(price, n);
  //@ assert point_kept: vector_same{directed, Here}(w.point, n);
  //@ assert point_kept_too: vector_same{directed, Here}(w.image, n);
  //@ assert s_kept: vector_same{directed, Here}(w.direction, n) && same{directed, Here}(s);
  //@ assert phi_kept: same{directed, Here}(&phi->parameter);
  /*@ assert all: vector_input(goal.target, n) && vector_output(price, n) &&
        vector_output(w.point, n); */
  //@ assert rest: vector_output(w.image, n) && vector_output(w.direction, n) && enclosure(s);
  //@ assert parameter: input(&phi->parameter);
  if (status != PHIBAL_OK) return status;
  /*@ ghost started: ; */
  const search_goal from = {goal.target, first};
  status = search_ray(phi, n, from, precision, w, s);
  //@ assert price: vector_same{started, Here}(price, n);
  //@ assert price_too: same{started, Here}(first);
  //@ assert direction: vector_same{started, Here}(w.direction, n);
  //@ assert factors: vector_output(w.direction, n) && vector_output(price, n) && enclosure(first);
  if (status != PHIBAL_OK) return status;
  /*@ ghost searched: ; */
  status = scale(price, n, w.direction, s);
  //@ assert s: same{searched, Here}(s) && same{searched, Here}(first);
  //@ assert vectors: vector_same{searched, Here}(w.point, n);
  //@ assert vectors_too: vector_same{searched, Here}(w.image, n);
  //@ assert last: vector_same{searched, Here}(w.direction, n);
  //@ assert ends: vector_output(w.point, n) && vector_output(w.image, n);
  //@ assert end: vector_output(w.direction, n);
  return status;
}

/* The same, with the exponent a - 1 and the start of the search computed here. */
static phibal_status search_renyi(const phibal_reference_potential *phi, size_t n, search_goal goal,
                                  mpfr_prec_t precision, phibal_enclosure *price, search_work w) {
  //@ assert use_enclosure;
  phibal_enclosure s, first;
  phibal_enclosure_init(&s, precision);
  phibal_enclosure_init(&first, precision);
  add_integer(&s, &phi->parameter, -1);
  phibal_status status = search_direction(phi, n, goal, precision, price, w, &s, &first);
  /*@ assert frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, price, n) && vector_apart(r, w.point, n) &&
        vector_apart(r, w.image, n) && vector_apart(r, w.direction, n) ==> same{Pre, Here}(r); */
  //@ assert apart: \forall integer i; 0 <= i < n ==> \separated(price + i, &s, &first);
  /*@ ghost found: ; */
  phibal_enclosure_clear(&first);
  phibal_enclosure_clear(&s);
  //@ assert price: vector_same{found, Here}(price, n);
  //@ assert point: vector_same{found, Here}(w.point, n);
  //@ assert image: vector_same{found, Here}(w.image, n);
  //@ assert direction: vector_same{found, Here}(w.direction, n);
  return status;
}

/* How many bits powers with exponents of order a/(a-1) or a may cost. */
static mpfr_prec_t steepness_bits(const phibal_reference_potential *phi) {
  bool power = phi->id == PHIBAL_POTENTIAL_LP || phi->id == PHIBAL_POTENTIAL_TSALLIS ||
               phi->id == PHIBAL_POTENTIAL_RENYI;
  //@ assert open_enclosure;
  if (!power || mpfr_zero_p(phi->parameter.lo)) return 0;
  mpfr_t b;
  mpfr_init2(b, GUARD_BITS);
  mpfr_sub_si(b, phi->parameter.lo, 1, MPFR_RNDN);
  mpfr_prec_t near_one = mpfr_regular_p(b) && mpfr_get_exp(b) < 0 ? -mpfr_get_exp(b) : 0;
  mpfr_clear(b);
  mpfr_exp_t size = mpfr_regular_p(phi->parameter.lo) ? mpfr_get_exp(phi->parameter.lo) : 0;
  return near_one + (size > 0 ? size : -size);
}

static phibal_status require_strictly_convex(const phibal_reference_potential *phi) {
  //@ assert open_enclosure;
  bool limit = phi->id == PHIBAL_POTENTIAL_LP &&
               (mpfr_inf_p(phi->parameter.lo) || mpfr_cmp_si(phi->parameter.lo, 1) <= 0);
  if (!limit) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "mirror argmax: lp with p = 1 or inf is not strictly convex, and its "
                           "conjugate's gradient does not determine a price; take 1 < p < inf");
}

static phibal_status check_bits(mpfr_prec_t precision, mpfr_prec_t steepness) {
  if (precision >= MPFR_PREC_MIN && precision <= MOST_BITS && steepness <= MOST_BITS)
    return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "mirror argmax: %ld bits of precision, and %ld for the parameter; each "
                           "must be at most %ld",
                           (long)precision, (long)steepness, (long)MOST_BITS);
}

/* price: where grad phi* takes the target. */
static phibal_status search_price(const phibal_reference_potential *phi, size_t n, search_goal goal,
                                  mpfr_prec_t precision, phibal_enclosure *price, search_work w) {
  //@ assert use_enclosure && use_inverses;
  if (phi->id == PHIBAL_POTENTIAL_RENYI) return search_renyi(phi, n, goal, precision, price, w);
  //@ assert first: output(w.point + 0) && output(w.image + 0);
  phibal_status status =
      search_separable(phi, n, goal.target, goal.start, precision, price, &w.point[0], &w.image[0]);
  //@ assert points: \forall integer i; 1 <= i < n ==> same{Pre, Here}(w.point + i);
  //@ assert images: \forall integer i; 1 <= i < n ==> same{Pre, Here}(w.image + i);
  //@ assert direction: vector_same{Pre, Here}(w.direction, n);
  //@ assert zero: output(w.point + 0) && output(w.image + 0);
  return status;
}

/* price = found and next = grad phi*(found). */
static phibal_status take_loads(const phibal_reference_potential *phi, size_t n,
                                const phibal_enclosure *found, phibal_enclosure *next,
                                phibal_enclosure *price) {
  //@ assert use_enclosure;
  phibal_status status = phibal_reference_conjugate_gradient(phi, n, found, next);
  //@ assert found: vector_same{Pre, Here}(found, n);
  //@ assert price: vector_same{Pre, Here}(price, n);
  //@ assert vectors: vector_output(price, n) && vector_input(found, n);
  if (status != PHIBAL_OK) return domain_as_undecided(status);
  /*@ ghost loaded: ; */
  copy(price, n, found);
  //@ assert next: vector_same{loaded, Here}(next, n);
  return PHIBAL_OK;
}

/* found: the prices at which the objective (M4) is flat; start, target and w are temporaries. */
static phibal_status find_price(const phibal_reference_potential *phi, size_t n, mirror_step step,
                                mpfr_prec_t precision, phibal_enclosure *start,
                                phibal_enclosure *target, phibal_enclosure *found, search_work w) {
  //@ assert use_enclosure;
  //@ assert s1: vectors_apart(found, n, start, n) && vectors_apart(found, n, target, n);
  //@ assert s2: vectors_apart(w.point, n, start, n) && vectors_apart(w.point, n, target, n);
  //@ assert s3: vectors_apart(w.image, n, start, n) && vectors_apart(w.image, n, target, n);
  /*@ assert s4: vectors_apart(w.direction, n, start, n) &&
        vectors_apart(w.direction, n, target, n); */
  /*@ assert s5: vector_apart(&phi->parameter, start, n) &&
        vector_apart(&phi->parameter, target, n); */
  //@ assert t1: vectors_apart(start, n, found, n) && vectors_apart(target, n, found, n);
  //@ assert t2: vectors_apart(start, n, w.point, n) && vectors_apart(target, n, w.point, n);
  //@ assert t3: vectors_apart(start, n, w.image, n) && vectors_apart(target, n, w.image, n);
  /*@ assert t4: vectors_apart(start, n, w.direction, n) &&
        vectors_apart(target, n, w.direction, n); */
  //@ assert place: output(w.point + 0);
  phibal_status status =
      set_target(phi, n, step.m, step.loads, step.eta, start, target, &w.point[0]);
  //@ assert parameter: same{Pre, Here}(&phi->parameter) && phi->id == \at(phi->id, Pre);
  //@ assert found: vector_same{Pre, Here}(found, n);
  //@ assert image: vector_same{Pre, Here}(w.image, n);
  //@ assert direction: vector_same{Pre, Here}(w.direction, n);
  //@ assert rest: \forall integer i; 1 <= i < n ==> same{Pre, Here}(w.point + i);
  //@ assert zero: output(w.point + 0);
  //@ assert inputs: input(&phi->parameter) && vector_output(found, n) && vector_output(w.point, n);
  //@ assert outputs: vector_output(w.image, n) && vector_output(w.direction, n);
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall integer e, real a, h, x, y; 0 <= e < n &&
        step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) ==>
        in(&phi->parameter, a) && price_exists(\at(phi->id, Pre), a, x) &&
        in(target + e, step_target(\at(phi->id, Pre), a, h, x, y)); */
  /*@ assert solutions: \forall integer e, real a, h, x, y, q; 0 <= e < n &&
        step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) &&
        load_exists(\at(phi->id, Pre), a, q) &&
        load_of(\at(phi->id, Pre), a, q) == step_target(\at(phi->id, Pre), a, h, x, y) ==>
        solves_step(\at(phi->id, Pre), a, step_target(\at(phi->id, Pre), a, h, x, y), q); */
  /*@ ghost targeted: ; */
  const search_goal goal = {target, start};
  status = search_price(phi, n, goal, precision, found, w);
  /*@ assert located: status == PHIBAL_OK ==> \forall integer e, real a, h, x, y, q; 0 <= e < n &&
        step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) &&
        solves_step(\at(phi->id, Pre), a, step_target(\at(phi->id, Pre), a, h, x, y), q) ==>
        in(found + e, q); */
  //@ assert start: vector_same{targeted, Here}(start, n);
  //@ assert target: vector_same{targeted, Here}(target, n);
  return status;
}

/* (M4): next and price at the argmax; t [6 n] are temporaries. */
static phibal_status argmax_with(const phibal_reference_potential *phi, size_t n, mirror_step step,
                                 mpfr_prec_t precision, phibal_enclosure *t, phibal_enclosure *next,
                                 phibal_enclosure *price) {
  //@ assert use_enclosure && use_mirror && use_parts;
  phibal_enclosure *target = t + n, *found = target + n;
  phibal_enclosure *point = found + n, *image = point + n, *direction = image + n;
  //@ assert second: after(target, t, n) && after(found, t, 2 * n);
  /*@ assert fourth: after(point, t, 3 * n) && after(image, t, 4 * n) &&
        after(direction, t, 5 * n); */
  //@ assert first_part: vector_output(t, n);
  //@ assert target_part: vector_output(target, n);
  //@ assert found_part: vector_output(found, n);
  //@ assert point_part: vector_output(point, n);
  //@ assert image_part: vector_output(image, n);
  //@ assert direction_part: vector_output(direction, n);
  /*@ assert within: \forall phibal_enclosure *r; vector_apart(r, t, 6 * n) ==>
        vector_apart(r, t, n) && vector_apart(r, target, n) && vector_apart(r, found, n) &&
        vector_apart(r, point, n) && vector_apart(r, image, n) && vector_apart(r, direction, n); */
  //@ assert next_apart: \forall integer i; 0 <= i < n ==> vector_apart(next + i, t, 6 * n);
  //@ assert price_apart: \forall integer i; 0 <= i < n ==> vector_apart(price + i, t, 6 * n);
  //@ assert ready: vector_output(next, n) && vector_output(price, n);
  //@ assert next_there: \forall integer i; 0 <= i < n ==> \valid_read(next + i);
  //@ assert price_there: \forall integer i; 0 <= i < n ==> \valid_read(price + i);
  //@ assert t_next: \forall integer i; 0 <= i < 6 * n ==> vector_apart(t + i, next, n);
  //@ assert t_price: \forall integer i; 0 <= i < 6 * n ==> vector_apart(t + i, price, n);
  //@ assert phi_apart: vector_apart(&phi->parameter, t, 6 * n);
  const search_work w = {point, image, direction};
  phibal_status status = find_price(phi, n, step, precision, t, target, found, w);
  //@ assert two: vector_output(t, 2 * n);
  //@ assert three: vector_output(t, 3 * n);
  //@ assert four: vector_output(t, 4 * n);
  //@ assert five: vector_output(t, 5 * n);
  //@ assert six: vector_output(t, 6 * n);
  /*@ assert found: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 6 * n) ==> same{Pre, Here}(r); */
  //@ assert parameter: same{Pre, Here}(&phi->parameter) && phi->id == \at(phi->id, Pre);
  //@ assert next: vector_same{Pre, Here}(next, n);
  //@ assert price: vector_same{Pre, Here}(price, n);
  //@ assert next_output: vector_output(next, n);
  //@ assert price_output: vector_output(price, n);
  //@ assert input: input(&phi->parameter);
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall integer e, real a, h, x, y; 0 <= e < n &&
        step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) ==>
        in(&phi->parameter, a) && 0.0 < h && price_exists(\at(phi->id, Pre), a, x); */
  /*@ assert flat: \forall integer e, real a, h, x, y, q; 0 <= e < n &&
        step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) &&
        load_exists(\at(phi->id, Pre), a, q) &&
        objective_slope(\at(phi->id, Pre), a, h, x, y, q) == 0.0 ==> in(found + e, q); */
  /*@ ghost searched: ; */
  status = take_loads(phi, n, found, next, price);
  //@ assert temporaries: vector_same{searched, Here}(t, 6 * n);
  /*@ assert argmax: status == PHIBAL_OK ==> \forall integer e, real a, h, x, y, q; 0 <= e < n &&
        step_member{Pre}(phi, step.m + e, step.loads + e, step.eta, a, h, x, y) &&
        load_exists(\at(phi->id, Pre), a, q) &&
        objective_slope(\at(phi->id, Pre), a, h, x, y, q) == 0.0 ==>
        in(next + e, load_of(\at(phi->id, Pre), a, q)) && in(price + e, q); */
  return status;
}

phibal_status phibal_reference_mirror_argmax(const phibal_reference_potential *phi, size_t n,
                                             const phibal_enclosure *m,
                                             const phibal_enclosure *loads,
                                             const phibal_enclosure *eta, mpfr_prec_t precision,
                                             phibal_enclosure *next, phibal_enclosure *price) {
  //@ assert use_enclosure && open_heap;
  TRY(check_step("mirror argmax", phi, n, m, loads, eta, next, price));
  TRY(require_strictly_convex(phi));
  mpfr_prec_t steepness = steepness_bits(phi);
  TRY(check_bits(precision, steepness));
  mpfr_prec_t working = precision + SEARCH_GUARD_BITS + steepness;
  phibal_enclosure *t = n <= SIZE_MAX / 6 ? phibal_enclosure_vector(6 * n, working) : NULL;
  //@ assert next: vector_same{Pre, Here}(next, n);
  //@ assert price: vector_same{Pre, Here}(price, n);
  //@ assert outputs: vector_output(next, n) && vector_output(price, n);
  if (!t)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "mirror argmax: no memory for %zu experts", n);
  //@ assert m: vector_same{Pre, Here}(m, n);
  //@ assert loads: vector_same{Pre, Here}(loads, n);
  //@ assert scalars: same{Pre, Here}(eta) && same{Pre, Here}(&phi->parameter);
  //@ assert inputs: step_inputs(phi, n, m, loads, eta);
  //@ assert places: apart_from_step(t, 6 * n, phi, n, m, loads, eta);
  //@ assert next_place: \separated(t + (0 .. 6 * n - 1), next + (0 .. n - 1));
  //@ assert price_place: \separated(t + (0 .. 6 * n - 1), price + (0 .. n - 1));
  //@ assert scratch: vector_output(t, 6 * n);
  /*@ ghost given: ; */
  const mirror_step step = {m, loads, eta};
  phibal_status status = argmax_with(phi, n, step, working, t, next, price);
  //@ assert all: vector_output(t, 6 * n);
  /*@ ghost done: ; */
  phibal_enclosure_vector_clear(t, 6 * n);
  //@ assert next_kept: vector_same{done, Here}(next, n);
  //@ assert price_kept: vector_same{done, Here}(price, n);
  return status;
}
