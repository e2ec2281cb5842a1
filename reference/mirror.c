/* Mirror ascent both ways: (M1), (M2) by the closed form, (M4) as the argmax of its objective. */
#include "mirror_search.h"
#include "potentials/potentials.h"
#include <stdio.h>
#ifdef __FRAMAC__
#include <phibal/acsl/mirror.h>
#endif

/* Bits added to the precision asked for: the gradient, its inverse and the target lose a few, and
   more where the parameter makes powers steep (see steepness_bits). */
enum { SEARCH_GUARD_BITS = 48 };

static phibal_status check_step(const char *function, const phibal_reference_potential *phi,
                                size_t n, const phibal_enclosure *m, const phibal_enclosure *loads,
                                const phibal_enclosure *eta, const void *next, const void *price) {
  if (!phi || !m || !loads || !eta || !next || !price || n == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null argument, or no coordinates",
                             function);
  if (mpfr_sgn(eta->lo) <= 0 || mpfr_cmp_si(eta->hi, 1) > 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta must be in (0, 1]", function);
  for (size_t e = 0; e < n; e++)
    if (!mpfr_number_p(m[e].lo) || !mpfr_number_p(m[e].hi) || !mpfr_number_p(loads[e].lo) ||
        !mpfr_number_p(loads[e].hi))
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: m and loads must be real numbers; coordinate %zu of %zu is not",
                               function, e + 1, n);
  return PHIBAL_OK;
}

/* A failure with "<where>: " before its message. */
static phibal_status failed_at(phibal_status status, const char *where) {
  if (status == PHIBAL_OK) return status;
  char reason[400];
  snprintf(reason, sizeof reason, "%s", phibal_status_message());
  return phibal_status_set(status, "%s: %s", where, reason);
}

/*@ // nothing but z and t was written between A and B, as far as enclosures go
    predicate apart_from_all(phibal_enclosure *z, phibal_enclosure *x, phibal_enclosure *y,
                             phibal_enclosure *w) =
      \separated(z, x) && \separated(z, y) && \separated(z, w);
*/

/* z = (1 - eta) m + eta load; t is a temporary. */
/*@ requires output(z) && output(t) && input(m) && input(load) && input(eta);
    requires \separated(z, t) && apart_from_all(z, m, load, eta) && apart_from_all(t, m, load, eta);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t);
    ensures only_two_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real a, x, y;
      in{Pre}(eta, a) && in{Pre}(m, x) && in{Pre}(load, y) ==> in(z, average_of(a, x, y)); */
static phibal_status average_one(phibal_enclosure *z, const phibal_enclosure *m,
                                 const phibal_enclosure *load, const phibal_enclosure *eta,
                                 phibal_enclosure *t) {
  //@ assert use_enclosure;
  subtract_from_integer(t, 1, eta);
  TRY(phibal_enclosure_mul(t, t, m));
  TRY(phibal_enclosure_mul(z, eta, load));
  return phibal_enclosure_add(z, z, t);
}

static phibal_status average(phibal_enclosure *z, size_t n, const phibal_enclosure *m,
                             const phibal_enclosure *loads, const phibal_enclosure *eta,
                             phibal_enclosure *t) {
  for (size_t e = 0; e < n; e++) TRY(average_one(&z[e], &m[e], &loads[e], eta, t));
  return PHIBAL_OK;
}

phibal_status phibal_reference_mirror_ema(const phibal_reference_potential *phi, size_t n,
                                          const phibal_enclosure *m, const phibal_enclosure *loads,
                                          const phibal_enclosure *eta, phibal_enclosure *next,
                                          phibal_enclosure *price) {
  TRY(check_step("mirror step", phi, n, m, loads, eta, next, price));
  mpfr_prec_t precision = working_precision(next, n, m) + GUARD_BITS;
  phibal_enclosure t, *mean = phibal_enclosure_vector(n, precision);
  if (!mean)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "mirror step: no memory for %zu experts", n);
  phibal_enclosure_init(&t, precision);
  phibal_status status = average(mean, n, m, loads, eta, &t);
  if (status == PHIBAL_OK)
    status = failed_at(phibal_reference_gradient(phi, n, mean, price), "mirror step, at the new m");
  if (status == PHIBAL_OK)
    for (size_t e = 0; e < n; e++) phibal_enclosure_set(&next[e], &mean[e]);
  phibal_enclosure_clear(&t);
  phibal_enclosure_vector_clear(mean, n);
  return status;
}

/* Vectors of one search: q_t = grad phi(m); target = grad phi*(q_t) + eta (loads - m), which
   grad phi* must take at the argmax (the objective is concave and this is where its gradient
   (loads - m) - (grad phi*(q) - grad phi*(q_t))/eta vanishes); the price found; direction for
   Renyi. */
typedef struct step_vectors {
  phibal_enclosure *start, *target, *price, *direction, *point, *image;
} step_vectors;

static bool step_vectors_create(step_vectors *v, size_t n, mpfr_prec_t precision) {
  v->start = phibal_enclosure_vector(n, precision);
  v->target = phibal_enclosure_vector(n, precision);
  v->price = phibal_enclosure_vector(n, precision);
  v->direction = phibal_enclosure_vector(n, precision);
  v->point = phibal_enclosure_vector(n, precision);
  v->image = phibal_enclosure_vector(n, precision);
  return v->start && v->target && v->price && v->direction && v->point && v->image;
}

static void step_vectors_destroy(step_vectors *v, size_t n) {
  phibal_enclosure_vector_clear(v->start, n);
  phibal_enclosure_vector_clear(v->target, n);
  phibal_enclosure_vector_clear(v->price, n);
  phibal_enclosure_vector_clear(v->direction, n);
  phibal_enclosure_vector_clear(v->point, n);
  phibal_enclosure_vector_clear(v->image, n);
}

/* An enclosure of a point inside a domain may stick out of it; more bits then help. */
static phibal_status domain_as_undecided(phibal_status status) {
  if (status != PHIBAL_ERROR_DOMAIN) return status;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "mirror argmax: a price is too near the end of the conjugate's domain "
                           "for this precision");
}

/* target = target + (load - m) eta; t is a temporary. */
/*@ requires output(target) && output(t) && input(m) && input(load) && input(eta);
    requires \separated(target, t) && apart_from_all(target, m, load, eta);
    requires apart_from_all(t, m, load, eta);
    terminates \true;
    exits \false;
    assigns *target, *t;
    ensures enclosure(target) && enclosure(t);
    ensures only_two_written{Pre, Here}(target, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real a, x, y, r;
      in{Pre}(eta, a) && in{Pre}(m, x) && in{Pre}(load, y) && in{Pre}(target, r) ==>
      in(target, r + (y - x) * a); */
static phibal_status add_step(phibal_enclosure *target, const phibal_enclosure *m,
                              const phibal_enclosure *load, const phibal_enclosure *eta,
                              phibal_enclosure *t) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_sub(t, load, m));
  TRY(phibal_enclosure_mul(t, t, eta));
  return phibal_enclosure_add(target, target, t);
}

static phibal_status set_target(const step_vectors *v, const phibal_reference_potential *phi,
                                size_t n, const phibal_enclosure *m, const phibal_enclosure *loads,
                                const phibal_enclosure *eta) {
  TRY(failed_at(phibal_reference_gradient(phi, n, m, v->start), "mirror argmax, at m"));
  TRY(domain_as_undecided(phibal_reference_conjugate_gradient(phi, n, v->start, v->target)));
  for (size_t e = 0; e < n; e++) TRY(add_step(&v->target[e], &m[e], &loads[e], eta, &v->point[0]));
  return PHIBAL_OK;
}

/* Both are the same real number. */
/*@ requires input(x) && input(y);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real a, b; in(x, a) && in(y, b) ==> a == b; */
static bool is_same_point(const phibal_enclosure *x, const phibal_enclosure *y) {
  //@ assert open_enclosure && use_enclosure;
  return phibal_enclosure_is_exact(x) && phibal_enclosure_is_exact(y) && mpfr_equal_p(x->lo, y->lo);
}

/* Where the image lies; EQUAL only for points. For a ray all components err on the same side, so
   that any certain one decides. */
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
/*@ requires probe_vectors(p) && writable(residual) && probe_apart(p, residual);
    requires probe_separated(p);
    terminates \true;
    exits \false;
    assigns *residual;
    ensures minitialised(residual->number) && probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, residual) ==>
      same{Pre, Here}(r); */
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
/*@ requires probe_vectors(p) && probe_separated(p) && readable_number(q) && probe_apart(p, q);
    requires p->direction != \null && e < p->n;
    terminates \true;
    exits \false;
    assigns p->point[e], p->image[e];
    ensures probe_vectors(p) && probe_same{Pre, Here}(p) && readable_number(q);
    ensures only_two_written{Pre, Here}(\old(&p->point[e]), \old(&p->image[e])); */
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
/*@ requires probe_vectors(p) && probe_separated(p) && readable_number(q) && probe_apart(p, q);
    requires p->direction != \null;
    terminates \true;
    exits \false;
    assigns p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures only_probe_written{Pre, Here}(p); */
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

static phibal_status search_separable(const step_vectors *v, const phibal_reference_potential *phi,
                                      size_t n, mpfr_prec_t precision) {
  for (size_t e = 0; e < n; e++) {
    step_probe probe = {phi, 1, &v->target[e], NULL, &v->point[e], &v->image[e], &v->start[e]};
    TRY(search_root(&v->price[e], &probe, precision));
  }
  return PHIBAL_OK;
}

/* Renyi: (grad phi*)_e = c (-q_e)^(-c-1) / sum_j (-q_j)^(-c), so that the ratios of the target fix
   the ratios of the prices: -q_e is proportional to target_e^(-1/(c+1)) = target_e^(a-1). Along
   that ray grad phi* is homogeneous of degree -1: its components grow in step with s in q = s
   direction, s < 0, and one number remains to be searched. */
static phibal_status search_renyi(const step_vectors *v, const phibal_reference_potential *phi,
                                  size_t n, mpfr_prec_t precision, phibal_enclosure *s,
                                  phibal_enclosure *start) {
  add_integer(s, &phi->parameter, -1);
  for (size_t e = 0; e < n; e++) {
    if (!phibal_enclosure_is_positive(&v->target[e]))
      return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                               "mirror argmax: component %zu of %zu of the average cannot be told "
                               "from 0, where there is no argmax",
                               e + 1, n);
    TRY(phibal_enclosure_pow(&v->direction[e], &v->target[e], s));
  }
  TRY(phibal_enclosure_div(start, &v->start[0], &v->direction[0]));
  step_probe probe = {phi, n, v->target, v->direction, v->point, v->image, start};
  TRY(search_root(s, &probe, precision));
  for (size_t e = 0; e < n; e++) TRY(phibal_enclosure_mul(&v->price[e], s, &v->direction[e]));
  return PHIBAL_OK;
}

static phibal_status search_renyi_with_scratch(const step_vectors *v,
                                               const phibal_reference_potential *phi, size_t n,
                                               mpfr_prec_t precision) {
  phibal_enclosure s, start;
  phibal_enclosure_init(&s, precision);
  phibal_enclosure_init(&start, precision);
  phibal_status status = search_renyi(v, phi, n, precision, &s, &start);
  phibal_enclosure_clear(&s);
  phibal_enclosure_clear(&start);
  return status;
}

/* How many bits powers with exponents of order a/(a-1) or a may cost. */
static mpfr_prec_t steepness_bits(const phibal_reference_potential *phi) {
  bool power = phi->id == PHIBAL_POTENTIAL_LP || phi->id == PHIBAL_POTENTIAL_TSALLIS ||
               phi->id == PHIBAL_POTENTIAL_RENYI;
  if (!power || mpfr_zero_p(phi->parameter.lo)) return 0;
  mpfr_t b;
  mpfr_init2(b, GUARD_BITS);
  mpfr_sub_si(b, phi->parameter.lo, 1, MPFR_RNDN);
  mpfr_prec_t near_one = mpfr_regular_p(b) && mpfr_get_exp(b) < 0 ? -mpfr_get_exp(b) : 0;
  mpfr_clear(b);
  mpfr_exp_t size = mpfr_get_exp(phi->parameter.lo);
  return near_one + (size > 0 ? size : -size);
}

static phibal_status require_strictly_convex(const phibal_reference_potential *phi) {
  bool limit = phi->id == PHIBAL_POTENTIAL_LP &&
               (mpfr_inf_p(phi->parameter.lo) || mpfr_cmp_si(phi->parameter.lo, 1) <= 0);
  if (!limit) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "mirror argmax: lp with p = 1 or inf is not strictly convex, and its "
                           "conjugate's gradient does not determine a price; take 1 < p < inf");
}

static phibal_status step_with(const step_vectors *v, const phibal_reference_potential *phi,
                               size_t n, const phibal_enclosure *m, const phibal_enclosure *loads,
                               const phibal_enclosure *eta, mpfr_prec_t precision,
                               phibal_enclosure *next, phibal_enclosure *price) {
  TRY(set_target(v, phi, n, m, loads, eta));
  if (phi->id == PHIBAL_POTENTIAL_RENYI)
    TRY(search_renyi_with_scratch(v, phi, n, precision));
  else
    TRY(search_separable(v, phi, n, precision));
  TRY(domain_as_undecided(phibal_reference_conjugate_gradient(phi, n, v->price, v->image)));
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_set(&price[e], &v->price[e]);
    phibal_enclosure_set(&next[e], &v->image[e]);
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_mirror_argmax(const phibal_reference_potential *phi, size_t n,
                                             const phibal_enclosure *m,
                                             const phibal_enclosure *loads,
                                             const phibal_enclosure *eta, mpfr_prec_t precision,
                                             phibal_enclosure *next, phibal_enclosure *price) {
  TRY(check_step("mirror argmax", phi, n, m, loads, eta, next, price));
  TRY(require_strictly_convex(phi));
  mpfr_prec_t working = precision + SEARCH_GUARD_BITS + steepness_bits(phi);
  step_vectors v;
  phibal_status status =
      step_vectors_create(&v, n, working)
          ? step_with(&v, phi, n, m, loads, eta, working, next, price)
          : phibal_status_set(PHIBAL_ERROR_MEMORY, "mirror argmax: no memory for %zu experts", n);
  step_vectors_destroy(&v, n);
  return status;
}
