/* The conjugate given at vectors of exact prices.

   A condition on sums, say sum(y) = 1, holds on a set that no enclosure decides and that a point
   drawn at random misses. So points are made for it: along a ray y = t v, v whole numbers, both
   sides of a condition are functions of t; where one changes to the other side the simplest
   rational t there is tried in exact arithmetic, and with it its neighbours to both sides. Rays
   with zeros, equal entries and entries whose squares add up to a square meet boundaries at
   rational t. */
#include "conjugate_check.h"
#include "conjugate_sums.h"
#include "rational.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 3, HALVINGS = 220, GUARD = 128 };

typedef struct ray {
  int n;
  int v[MOST];
} ray;

static const ray rays[] = {
    {2, {1, 0}},       {2, {1, 1}},       {2, {1, 3}},     {2, {3, 4}},      {2, {-1, -1}},
    {2, {-2, -6}},     {2, {-3, 4}},      {2, {1, -1}},    {2, {-1, 0}},     {2, {-3, -4}},
    {3, {1, 0, 0}},    {3, {1, 1, 0}},    {3, {1, 1, 1}},  {3, {1, 2, 2}},   {3, {2, 3, 6}},
    {3, {-3, -3, -3}}, {3, {-3, -6, -2}}, {3, {2, -1, 2}}, {3, {-1, 0, -1}},
};
enum { RAYS = sizeof rays / sizeof *rays };

typedef struct work {
  conjugate_state *s;
  conjugate_shape shape[MOST + 1]; /* by n, of 2 and 3 */
  bool separable;
  mpq_t y[MOST], x[MOST], t, sum[PHI_MAX_SUMS], left, term;
  phibal_enclosure at[MOST], point[MOST], given, value, support, product;
  phibal_enclosure computed; /* of fewer bits */
} work;

static void work_init(work *w, conjugate_state *s) {
  *w = (work){.s = s, .separable = phi_separable(s->phi) != NULL};
  for (int i = 0; i < MOST; i++) {
    mpq_inits(w->y[i], w->x[i], (mpq_ptr)0);
    phibal_enclosure_init(&w->at[i], CONJUGATE_PRECISION);
    phibal_enclosure_init(&w->point[i], CONJUGATE_PRECISION);
  }
  mpq_inits(w->t, w->left, w->term, (mpq_ptr)0);
  for (int i = 0; i < PHI_MAX_SUMS; i++) mpq_init(w->sum[i]);
  phibal_enclosure *all[] = {&w->given, &w->value, &w->support, &w->product};
  for (int i = 0; i < 4; i++) phibal_enclosure_init(all[i], CONJUGATE_PRECISION);
  phibal_enclosure_init(&w->computed, CONJUGATE_BITS);
  for (int n = 2; n <= MOST; n++) {
    conjugate_shape_init(&w->shape[n], CONJUGATE_BITS + GUARD);
    if (!w->separable) conjugate_shape_find(s->phi, s->parameters, (size_t)n, &w->shape[n]);
  }
}

static void work_clear(work *w) {
  for (int i = 0; i < MOST; i++) {
    mpq_clears(w->y[i], w->x[i], (mpq_ptr)0);
    phibal_enclosure_clear(&w->at[i]);
    phibal_enclosure_clear(&w->point[i]);
  }
  mpq_clears(w->t, w->left, w->term, (mpq_ptr)0);
  for (int i = 0; i < PHI_MAX_SUMS; i++) mpq_clear(w->sum[i]);
  phibal_enclosure *all[] = {&w->given, &w->value, &w->support, &w->product, &w->computed};
  for (int i = 0; i < 5; i++) phibal_enclosure_clear(all[i]);
  for (int n = 2; n <= MOST; n++) conjugate_shape_clear(&w->shape[n]);
}

/* ---- one y ---- */

/* w->y = t v */
static void set_prices(work *w, const ray *v, mpq_srcptr t) {
  for (int e = 0; e < v->n; e++) {
    mpq_set_si(w->y[e], v->v[e], 1);
    mpq_mul(w->y[e], w->y[e], t);
  }
}

/* The conjugate given at w->y = t v: false where it has no value that can be found. */
static bool given_at(work *w, const ray *v, mpq_srcptr t) {
  set_prices(w, v, t);
  for (int e = 0; e < v->n; e++) phibal_enclosure_set_q(&w->at[e], w->y[e]);
  return phi_given_conjugate_exactly(w->s->phi, w->s->parameters,
                                     (const mpq_t *)w->s->exact_parameters, (size_t)v->n, w->at,
                                     (const mpq_t *)w->y, &w->given) == PHIBAL_OK;
}

static phibal_status computed_at(work *w, int n) {
  conjugate_state *s = w->s;
  bool attained;
  phibal_status status =
      w->separable ? audit_conjugate_eval(s->phi, s->parameters, (size_t)n, w->at,
                                          (const mpq_t *)w->y, &w->computed)
                   : conjugate_of_shape(s->phi, &w->shape[n], s->parameters, (size_t)n, w->at,
                                        (const mpq_t *)w->y, &w->computed, NULL, &attained);
  if (status == PHIBAL_ERROR_DOMAIN || status == PHIBAL_ERROR_UNSUPPORTED) return PHIBAL_OK;
  if (status) return status;
  return conjugate_hold_supremum(s, (size_t)n, (const mpq_t *)w->y, &w->given, &w->computed);
}

/* <x, y> - phi(x) at w->x. */
static bool support_at(work *w, int n) {
  for (int e = 0; e < n; e++) phibal_enclosure_set_q(&w->point[e], w->x[e]);
  if (phi_value(w->s->phi, w->s->parameters, (size_t)n, w->point, &w->value)) return false;
  phibal_enclosure_neg(&w->support, &w->value);
  mpq_set_ui(w->term, 0, 1);
  for (int e = 0; e < n; e++) {
    mpq_mul(w->left, w->x[e], w->y[e]);
    mpq_add(w->term, w->term, w->left);
  }
  phibal_enclosure_set_q(&w->product, w->term);
  return phibal_enclosure_add(&w->support, &w->support, &w->product) == PHIBAL_OK;
}

/* phi(x) + phi*(y) >= <x, y> along rays of x. */
static phibal_status inequalities_at(work *w, int n) {
  phibal_status status = PHIBAL_OK;
  if (mpfr_inf_p(w->given.lo)) return PHIBAL_OK;
  for (int i = 0; i < RAYS; i++)
    for (int k = -40; k <= 40 && !status && !w->s->refuted && rays[i].n == n; k += 8) {
      for (int e = 0; e < n; e++) {
        mpq_set_d(w->x[e], ldexp(rays[i].v[e], k));
      }
      if (!support_at(w, n)) continue;
      status = conjugate_hold_support(w->s, (size_t)n, (const mpq_t *)w->y, (const mpq_t *)w->x,
                                      &w->given, &w->support);
    }
  return status;
}

static phibal_status check_at(work *w, const ray *v, mpq_srcptr t) {
  if (!given_at(w, v, t)) return PHIBAL_OK;
  w->s->vectors++;
  phibal_status status = inequalities_at(w, v->n);
  return status || w->s->refuted ? status : computed_at(w, v->n);
}

/* ---- ends of the dual domain ---- */

/* The formula given, at t v: exactly; false where its value is not known to be rational. */
static bool formula_at(work *w, const ray *v, mpq_srcptr t) {
  const phi_section *c = &w->s->phi->conjugate;
  const mpq_t *parameters = (const mpq_t *)w->s->exact_parameters;
  set_prices(w, v, t);
  for (int i = 0; i < c->sums; i++)
    if (!rational_sum(c->sum[i], parameters, (size_t)v->n, (const mpq_t *)w->y, w->sum[i]))
      return false;
  return rational_eval(c->expression, parameters, (const mpq_t *)w->sum, NULL, w->left);
}

/* The sign of left - right of a condition at y, of the coordinate e; 2 where it is not known. */
static int side_at(const conjugate_state *s, const phi_condition *c, size_t n, const mpq_t *y,
                   size_t e) {
  const phi_section *section = &s->phi->conjugate;
  const mpq_t *parameters = (const mpq_t *)s->exact_parameters;
  mpq_t sum[PHI_MAX_SUMS], left, right;
  for (int i = 0; i < PHI_MAX_SUMS; i++) mpq_init(sum[i]);
  mpq_inits(left, right, (mpq_ptr)0);
  bool known = true;
  for (int i = 0; i < section->condition_sums && known; i++)
    known = rational_sum(section->condition_sum[i], parameters, n, y, sum[i]);
  known = known && rational_eval(c->left, parameters, (const mpq_t *)sum, y[e], left) &&
          rational_eval(c->right, parameters, (const mpq_t *)sum, y[e], right);
  const int order = known ? mpq_cmp(left, right) : 0;
  for (int i = 0; i < PHI_MAX_SUMS; i++) mpq_clear(sum[i]);
  mpq_clears(left, right, (mpq_ptr)0);
  return known ? (order > 0) - (order < 0) : 2;
}

bool conjugate_ends_at(const conjugate_state *s, size_t n, const mpq_t *y) {
  const phi_section *section = &s->phi->conjugate;
  for (int i = 0; i < section->conditions; i++)
    for (size_t e = 0; e < n; e++) {
      const phi_condition *c = &section->condition[i];
      const int side = side_at(s, c, n, y, e);
      const bool less = c->relation == PHI_LESS || c->relation == PHI_LESS_EQUAL;
      if (side == 2 || (side != 0 && (c->relation == PHI_EQUAL || (side < 0) != less)))
        return false;
    }
  return true;
}

static int side_of(work *w, const phi_condition *c, const ray *v, int e, mpq_srcptr t) {
  set_prices(w, v, t);
  return side_at(w->s, c, (size_t)v->n, (const mpq_t *)w->y, (size_t)e);
}

/* At y = t v the conjugate given is +inf, at (t + step) v and nearer it is its formula, which has a
   value at t v too and tends to it: the conjugate, being closed, is not larger. */
static phibal_status closed_at(work *w, const ray *v, mpq_srcptr t, int way) {
  const phi_section *c = &w->s->phi->conjugate;
  phibal_status status = PHIBAL_OK;
  mpq_t near;
  mpq_init(near);
  set_prices(w, v, t);
  bool inside = conjugate_ends_at(w->s, (size_t)v->n, (const mpq_t *)w->y) &&
                !expression_holds(c->expression, EXPRESSION_SGN);
  for (int i = 0; i < c->sums; i++) inside = inside && !expression_holds(c->sum[i], EXPRESSION_SGN);
  for (int k = 10; k <= HALVINGS && inside; k += 30) {
    mpq_set_si(near, way, 1);
    mpq_div_2exp(near, near, (mp_bitcnt_t)k);
    mpq_add(near, near, t);
    inside = given_at(w, v, near) && mpfr_number_p(w->given.hi);
  }
  if (inside && given_at(w, v, t) && mpfr_inf_p(w->given.lo) && formula_at(w, v, t)) {
    char *at = conjugate_vector_text((size_t)v->n, (const mpq_t *)w->y),
         *value = audit_rational_text(w->left);
    status = conjugate_refute(
        w->s, AUDIT_CONJUGATE_DOMAIN,
        "y = %s%s: the conjugate given is +inf there, and tends to %s on the way there from %s it. "
        "A conjugate is closed, so that it is at most that at y as well",
        at ? at : "?", w->s->where, value ? value : "?", way < 0 ? "below" : "beyond");
    free(at);
    free(value);
  }
  mpq_clear(near);
  return status;
}

/* t itself, and both sides of it. */
static phibal_status check_end(work *w, const ray *v, mpq_srcptr end) {
  phibal_status status = check_at(w, v, end);
  mpq_t near, t;
  mpq_inits(near, t, (mpq_ptr)0);
  mpq_set(t, end);
  w->s->ends++;
  for (int way = -1; way <= 1; way += 2) {
    for (int k = 10; k <= 60 && !status && !w->s->refuted; k += 25) {
      mpq_set_si(near, way, 1);
      mpq_div_2exp(near, near, (mp_bitcnt_t)k);
      mpq_add(near, near, t);
      status = check_at(w, v, near);
    }
    if (!status && !w->s->refuted) status = closed_at(w, v, t, way);
  }
  mpq_clears(near, t, (mpq_ptr)0);
  return status;
}

/* t where the side changes between two of them: the simplest in a narrow bracket. */
static void locate(work *w, const phi_condition *c, const ray *v, int e, mpq_t low, mpq_t high,
                   mpq_t end) {
  const int sign = side_of(w, c, v, e, low);
  bool found = false;
  for (int i = 0; i < HALVINGS && !found; i++) {
    mpq_add(end, low, high);
    mpq_div_2exp(end, end, 1);
    const int now = side_of(w, c, v, e, end);
    found = now == 0;
    if (!found) mpq_set(now == sign ? low : high, end);
  }
  if (!found) audit_simplest_between(end, low, high);
}

/* Rays go on with t > 0: their opposites are rays too, or y = 0. */
static phibal_status check_ends(work *w, const ray *v, const phi_condition *c, int e) {
  phibal_status status = PHIBAL_OK;
  mpq_t before, now, end;
  mpq_inits(before, now, end, (mpq_ptr)0);
  int last = 2;
  for (int k = -20; k <= 20 && !status && !w->s->refuted; k++) {
    mpq_set_d(now, ldexp(0x1.1d9f5p0, k)); /* no number that one writes */
    const int side = side_of(w, c, v, e, now);
    if (side == 0 && last != 0) { /* on a whole part of the ray, once */
      status = check_end(w, v, now);
    } else if (abs(last) == 1 && side == -last) {
      mpq_set(end, now);
      locate(w, c, v, e, before, end, w->t);
      status = check_end(w, v, w->t);
    }
    last = side;
    mpq_set(before, now);
  }
  mpq_clears(before, now, end, (mpq_ptr)0);
  return status;
}

static phibal_status check_ray(work *w, const ray *v) {
  static const int written[][2] = {{0, 1}, {1, 4}, {1, 2}, {1, 1}, {2, 1}, {3, 7}, {100, 1}};
  const phi_section *c = &w->s->phi->conjugate;
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < sizeof written / sizeof *written && !status && !w->s->refuted; i++) {
    mpq_set_si(w->t, written[i][0], (unsigned long)written[i][1]);
    status = check_at(w, v, w->t);
  }
  for (int i = 0; i < c->conditions; i++)
    for (int e = 0; e < v->n && !status && !w->s->refuted; e++) {
      bool same = !expression_holds(c->condition[i].left, EXPRESSION_VARIABLE) &&
                  !expression_holds(c->condition[i].right, EXPRESSION_VARIABLE);
      for (int j = 0; j < e && !same; j++) same = v->v[j] == v->v[e];
      if (e == 0 || !same) status = check_ends(w, v, &c->condition[i], e);
    }
  return status;
}

phibal_status conjugate_check_vectors(conjugate_state *s) {
  work w;
  work_init(&w, s);
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < RAYS && !status && !s->refuted; i++) status = check_ray(&w, &rays[i]);
  work_clear(&w);
  return status;
}
