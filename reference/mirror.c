/* Mirror ascent both ways: (M1), (M2) by the closed form, (M4) as the argmax of its objective. */
#include "mirror_search.h"
#include "potentials/potentials.h"
#include <stdio.h>

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

/* z = (1 - eta) m + eta load; t is a temporary. */
static phibal_status average_one(phibal_enclosure *z, const phibal_enclosure *m,
                                 const phibal_enclosure *load, const phibal_enclosure *eta,
                                 phibal_enclosure *t) {
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
   (loads - m) - (grad phi*(q) - grad phi*(q_t))/eta vanishes); direction and image for Renyi. */
typedef struct step_vectors {
  phibal_enclosure *start, *target, *direction, *point, *image;
} step_vectors;

static bool step_vectors_create(step_vectors *v, size_t n, mpfr_prec_t precision) {
  v->start = phibal_enclosure_vector(n, precision);
  v->target = phibal_enclosure_vector(n, precision);
  v->direction = phibal_enclosure_vector(n, precision);
  v->point = phibal_enclosure_vector(n, precision);
  v->image = phibal_enclosure_vector(n, precision);
  return v->start && v->target && v->direction && v->point && v->image;
}

static void step_vectors_destroy(step_vectors *v, size_t n) {
  phibal_enclosure_vector_clear(v->start, n);
  phibal_enclosure_vector_clear(v->target, n);
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

static phibal_status add_step(phibal_enclosure *target, const phibal_enclosure *m,
                              const phibal_enclosure *load, const phibal_enclosure *eta,
                              phibal_enclosure *t) {
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

/* What a probe needs: the image of candidate prices under grad phi*, held against the target. */
typedef struct step_probe {
  const phibal_reference_potential *phi;
  size_t n; /* 1 for a separable potential */
  const phibal_enclosure *target, *direction;
  phibal_enclosure *point, *image;
} step_probe;

/* Where the image lies; EQUAL only for points. For a ray all components err on the same side, so
   that any certain one decides. */
static search_side side_of_image(const step_probe *p) {
  for (size_t e = 0; e < p->n; e++) {
    if (phibal_enclosure_is_less(&p->image[e], &p->target[e])) return SEARCH_BELOW;
    if (phibal_enclosure_is_less(&p->target[e], &p->image[e])) return SEARCH_ABOVE;
  }
  bool points =
      p->n == 1 && phibal_enclosure_is_exact(p->image) && phibal_enclosure_is_exact(p->target);
  return points ? SEARCH_EQUAL : SEARCH_UNKNOWN;
}

/* The first component of image - target, from the lower ends. */
static phibal_status probe_image(const step_probe *p, search_side *side, mpfr_ptr residual) {
  phibal_status status = phibal_reference_conjugate_gradient(p->phi, p->n, p->point, p->image);
  *side = SEARCH_UNKNOWN;
  if (status == PHIBAL_ERROR_DOMAIN) *side = SEARCH_OUTSIDE;
  if (status == PHIBAL_ERROR_DOMAIN || status == PHIBAL_ERROR_UNDECIDED) return PHIBAL_OK;
  if (status != PHIBAL_OK) return status;
  *side = side_of_image(p);
  mpfr_sub(residual, p->image[0].lo, p->target[0].lo, MPFR_RNDN);
  return PHIBAL_OK;
}

static phibal_status probe_coordinate(void *context, mpfr_srcptr q, search_side *side,
                                      mpfr_ptr residual) {
  const step_probe *p = context;
  phibal_enclosure_set_fr(p->point, q);
  return probe_image(p, side, residual);
}

/* The prices s direction for one s < 0. */
static phibal_status probe_ray(void *context, mpfr_srcptr s, search_side *side, mpfr_ptr residual) {
  const step_probe *p = context;
  if (mpfr_sgn(s) >= 0) {
    *side = SEARCH_OUTSIDE;
    return PHIBAL_OK;
  }
  for (size_t e = 0; e < p->n; e++) {
    phibal_enclosure_set_fr(&p->image[e], s);
    TRY(phibal_enclosure_mul(&p->point[e], &p->image[e], &p->direction[e]));
  }
  return probe_image(p, side, residual);
}

static phibal_status search_separable(const step_vectors *v, const phibal_reference_potential *phi,
                                      size_t n, mpfr_prec_t precision, phibal_enclosure *price) {
  for (size_t e = 0; e < n; e++) {
    step_probe probe = {phi, 1, &v->target[e], NULL, &v->point[e], &v->image[e]};
    TRY(search_root(&price[e], &v->start[e], precision, probe_coordinate, &probe));
  }
  return PHIBAL_OK;
}

/* Renyi: (grad phi*)_e = c (-q_e)^(-c-1) / sum_j (-q_j)^(-c), so that the ratios of the target fix
   the ratios of the prices: -q_e is proportional to target_e^(-1/(c+1)) = target_e^(a-1). Along
   that ray grad phi* is homogeneous of degree -1: its components grow in step with s in q = s
   direction, s < 0, and one number remains to be searched. */
static phibal_status search_renyi(const step_vectors *v, const phibal_reference_potential *phi,
                                  size_t n, mpfr_prec_t precision, phibal_enclosure *price,
                                  phibal_enclosure *s, phibal_enclosure *start) {
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
  step_probe probe = {phi, n, v->target, v->direction, v->point, v->image};
  TRY(search_root(s, start, precision, probe_ray, &probe));
  for (size_t e = 0; e < n; e++) TRY(phibal_enclosure_mul(&price[e], s, &v->direction[e]));
  return PHIBAL_OK;
}

static phibal_status search_renyi_with_scratch(const step_vectors *v,
                                               const phibal_reference_potential *phi, size_t n,
                                               mpfr_prec_t precision, phibal_enclosure *price) {
  phibal_enclosure s, start;
  phibal_enclosure_init(&s, precision);
  phibal_enclosure_init(&start, precision);
  phibal_status status = search_renyi(v, phi, n, precision, price, &s, &start);
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
    TRY(search_renyi_with_scratch(v, phi, n, precision, v->start));
  else
    TRY(search_separable(v, phi, n, precision, v->start));
  TRY(domain_as_undecided(phibal_reference_conjugate_gradient(phi, n, v->start, v->image)));
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_set(&price[e], &v->start[e]);
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
