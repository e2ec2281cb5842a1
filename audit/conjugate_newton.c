/* The supremum of h(x) = <x, y> - phi(x) where it is attained.

   Coordinates that h falls or rises in, whatever the others are, go to the end of x_e's range
   first: to 0, or away, to a limit or to +inf. For the others Newton's method guesses a point x.
   What is then proved: on the ball |(z - x)/w| <= rho, w_e = D_e^(-1/2), the Hessian of phi in
   units of w is at least mu: with d = min D_e w_e^2 and, as F_ij (a b' + b a') >= -|F_ij| (a a' + b
   b'),

     mu = d (1 - sum_i c_i sum_e f_i'(x_e)^2/D_e),  c_i = max(0, sum_(j != i) |F_ij| - F_ii),

   for D_e and F_ij anywhere in it. With g = y - grad phi(x) in these units and |g| < mu rho/2, h is
   below h(x) on the ball's boundary, and so, phi being convex, beyond it. Hence the maximum is in
   the ball, at most h(x) + |g|^2/(2 mu), and attained within |g|/mu of x. */
#include "conjugate_sums.h"
#include "evaluation.h"
#include <stdlib.h>

enum { MOST_STEPS = 300, MOST_HALVINGS = 80, MOST_RADII = 200, FAR = 128, FARTHEST = 1000 };

typedef struct ascent {
  const phi_potential *phi;
  const conjugate_shape *shape;
  const phibal_enclosure *parameters;
  const conjugate_price *price;
  bool positive; /* x_e > 0 */
  mpfr_prec_t precision;
  int r;
  size_t n;                                    /* coordinates left to maximise over */
  size_t *at;                                  /* [n]: which */
  phibal_enclosure *y;                         /* [n]: their prices */
  phibal_enclosure *fixed;                     /* [r]: what the others add to the sums */
  mpfr_t *x, *w, *step, *trial;                /* [n] */
  phibal_enclosure *box, *gradient, *diagonal; /* [n] */
  phibal_enclosure *slope, *curvature;         /* [r n]: f_i'(x_e), f_i''(x_e) */
  phibal_enclosure *sums, *partials;           /* [r] */
  phibal_enclosure *second;                    /* [r r] */
  phibal_enclosure value, h;
  mpfr_t best; /* a bound from below */
} ascent;

static mpfr_t *numbers(size_t n, mpfr_prec_t precision) {
  mpfr_t *z = calloc(n ? n : 1, sizeof *z);
  for (size_t i = 0; z && i < n; i++) mpfr_init2(z[i], precision);
  return z;
}

static void numbers_clear(mpfr_t *z, size_t n) {
  for (size_t i = 0; z && i < n; i++) mpfr_clear(z[i]);
  free(z);
}

static bool ascent_init(ascent *a) {
  const size_t n = a->price->n, r = (size_t)a->r;
  a->at = calloc(n ? n : 1, sizeof *a->at);
  phibal_enclosure **vectors[] = {&a->y, &a->box, &a->gradient, &a->diagonal};
  mpfr_t **points[] = {&a->x, &a->w, &a->step, &a->trial};
  bool good = a->at != NULL;
  for (int i = 0; i < 4; i++) {
    *vectors[i] = phibal_enclosure_vector(n, a->precision);
    *points[i] = numbers(n, a->precision);
    good = good && *vectors[i] && *points[i];
  }
  a->slope = phibal_enclosure_vector(r * n, a->precision);
  a->curvature = phibal_enclosure_vector(r * n, a->precision);
  a->fixed = phibal_enclosure_vector(r, a->precision);
  a->sums = phibal_enclosure_vector(r, a->precision);
  a->partials = phibal_enclosure_vector(r, a->precision);
  a->second = phibal_enclosure_vector(r * r, a->precision);
  phibal_enclosure_init(&a->value, a->precision);
  phibal_enclosure_init(&a->h, a->precision);
  mpfr_init2(a->best, a->precision);
  mpfr_set_inf(a->best, -1);
  return good && a->slope && a->curvature && a->fixed && a->sums && a->partials && a->second;
}

static void ascent_clear(ascent *a) {
  const size_t n = a->price->n, r = (size_t)a->r;
  phibal_enclosure *vectors[] = {a->y, a->box, a->gradient, a->diagonal};
  mpfr_t *points[] = {a->x, a->w, a->step, a->trial};
  for (int i = 0; i < 4; i++) {
    phibal_enclosure_vector_clear(vectors[i], n);
    numbers_clear(points[i], n);
  }
  phibal_enclosure_vector_clear(a->slope, r * n);
  phibal_enclosure_vector_clear(a->curvature, r * n);
  phibal_enclosure_vector_clear(a->fixed, r);
  phibal_enclosure_vector_clear(a->sums, r);
  phibal_enclosure_vector_clear(a->partials, r);
  phibal_enclosure_vector_clear(a->second, r * r);
  phibal_enclosure_clear(&a->value);
  phibal_enclosure_clear(&a->h);
  mpfr_clear(a->best);
  free(a->at);
}

/* ---- evaluation ---- */

/* At every member of a->box: the sums, f_i' and f_i''. */
static bool evaluate_sums(ascent *a) {
  phi_jet jet;
  phi_jet_init(&jet, a->precision);
  bool good = true;
  for (int i = 0; i < a->r; i++) phibal_enclosure_set(&a->sums[i], &a->fixed[i]);
  for (int i = 0; i < a->r && good; i++)
    for (size_t e = 0; e < a->n && good; e++) {
      evaluation_jet(a->phi->value.sum[i], a->parameters, NULL, &a->box[e], 2, &jet);
      good =
          jet.known > 2 && phibal_enclosure_add(&a->sums[i], &a->sums[i], &jet.d[0]) == PHIBAL_OK;
      phibal_enclosure_set(&a->slope[(size_t)i * a->n + e], &jet.d[1]);
      phibal_enclosure_set(&a->curvature[(size_t)i * a->n + e], &jet.d[2]);
    }
  phi_jet_clear(&jet);
  return good;
}

/* At every member of a->box: h, its gradient, D, the slopes and F_ij. */
static bool evaluate(ascent *a) {
  int known = 0;
  bool good = evaluate_sums(a) &&
              phi_outer_eval(&a->phi->value, a->parameters, a->sums, &a->value, a->partials,
                             a->second, &known) == PHIBAL_OK &&
              known > 2;
  phibal_enclosure_neg(&a->h, &a->value);
  for (size_t e = 0; e < a->n && good; e++) {
    phibal_enclosure_set(&a->gradient[e], &a->y[e]);
    phibal_enclosure_set_si(&a->diagonal[e], 0);
    good = evaluation_add_products(&a->h, 1, &a->box[e], &a->y[e], NULL);
    for (int i = 0; i < a->r && good; i++) {
      const size_t k = (size_t)i * a->n + e;
      good = evaluation_add_products(&a->gradient[e], -1, &a->partials[i], &a->slope[k], NULL) &&
             evaluation_add_products(&a->diagonal[e], 1, &a->partials[i], &a->curvature[k], NULL);
    }
  }
  return good;
}

static bool evaluate_at(ascent *a, mpfr_t *x) {
  for (size_t e = 0; e < a->n; e++) phibal_enclosure_set_fr(&a->box[e], x[e]);
  if (!evaluate(a)) return false;
  mpfr_max(a->best, a->best, a->h.lo, MPFR_RNDD);
  return true;
}

/* ---- a guess ---- */

/* m z = b, k of each, by elimination; b becomes z. */
static bool solve(mpfr_t *m, mpfr_t *b, int k, mpfr_prec_t precision) {
  mpfr_t f;
  mpfr_init2(f, precision);
  bool good = true;
  for (int c = 0; c < k && good; c++) {
    int pivot = c;
    for (int i = c + 1; i < k; i++)
      if (mpfr_cmpabs(m[i * k + c], m[pivot * k + c]) > 0) pivot = i;
    good = mpfr_number_p(m[pivot * k + c]) && !mpfr_zero_p(m[pivot * k + c]);
    for (int j = 0; j < k && good; j++) mpfr_swap(m[c * k + j], m[pivot * k + j]);
    if (good) mpfr_swap(b[c], b[pivot]);
    for (int i = 0; i < k && good; i++) {
      if (i == c) continue;
      mpfr_div(f, m[i * k + c], m[c * k + c], MPFR_RNDN);
      for (int j = c; j < k; j++) {
        mpfr_fms(m[i * k + j], f, m[c * k + j], m[i * k + j], MPFR_RNDN);
        mpfr_neg(m[i * k + j], m[i * k + j], MPFR_RNDN);
      }
      mpfr_fms(b[i], f, b[c], b[i], MPFR_RNDN);
      mpfr_neg(b[i], b[i], MPFR_RNDN);
    }
  }
  for (int c = 0; c < k && good; c++) mpfr_div(b[c], b[c], m[c * k + c], MPFR_RNDN);
  mpfr_clear(f);
  return good;
}

/* step = (diag(D) + V F V')^-1 g by Woodbury's formula, D^-1 (g - V (1 + F V' D^-1 V)^-1 F V' D^-1
   g), of about what was evaluated; and <g, step>. False unless D > 0, and h rises that way. */
static bool newton_step(ascent *a, mpfr_ptr decrement) {
  const int r = a->r;
  const mpfr_prec_t p = a->precision;
  mpfr_t *gram = numbers((size_t)(r * r), p), *m = numbers((size_t)(r * r), p),
         *b = numbers((size_t)r, p), *z = numbers((size_t)r, p), t;
  mpfr_init2(t, p);
  bool good = gram && m && b && z;
  for (size_t e = 0; e < a->n && good; e++) good = mpfr_sgn(a->diagonal[e].lo) > 0;
  for (int i = 0; i < r && good; i++) {
    mpfr_set_zero(b[i], 1);
    for (int j = 0; j < r; j++) mpfr_set_zero(gram[i * r + j], 1);
    for (size_t e = 0; e < a->n; e++) {
      mpfr_div(t, a->slope[(size_t)i * a->n + e].lo, a->diagonal[e].lo, MPFR_RNDN);
      mpfr_fma(b[i], t, a->gradient[e].lo, b[i], MPFR_RNDN);
      for (int j = 0; j < r; j++)
        mpfr_fma(gram[i * r + j], t, a->slope[(size_t)j * a->n + e].lo, gram[i * r + j], MPFR_RNDN);
    }
  }
  for (int i = 0; i < r && good; i++) {
    mpfr_set_zero(z[i], 1);
    for (int j = 0; j < r; j++) {
      mpfr_fma(z[i], a->second[i * r + j].lo, b[j], z[i], MPFR_RNDN);
      mpfr_set_si(m[i * r + j], i == j, MPFR_RNDN);
      for (int k = 0; k < r; k++)
        mpfr_fma(m[i * r + j], a->second[i * r + k].lo, gram[k * r + j], m[i * r + j], MPFR_RNDN);
    }
  }
  good = good && solve(m, z, r, p);
  mpfr_set_zero(decrement, 1);
  for (size_t e = 0; e < a->n && good; e++) {
    mpfr_set(a->step[e], a->gradient[e].lo, MPFR_RNDN);
    for (int i = 0; i < r; i++) {
      mpfr_mul(t, a->slope[(size_t)i * a->n + e].lo, z[i], MPFR_RNDN);
      mpfr_sub(a->step[e], a->step[e], t, MPFR_RNDN);
    }
    mpfr_div(a->step[e], a->step[e], a->diagonal[e].lo, MPFR_RNDN);
    mpfr_fma(decrement, a->step[e], a->gradient[e].lo, decrement, MPFR_RNDN);
  }
  mpfr_clear(t);
  numbers_clear(gram, (size_t)(r * r));
  numbers_clear(m, (size_t)(r * r));
  numbers_clear(b, (size_t)r);
  numbers_clear(z, (size_t)r);
  return good && mpfr_number_p(decrement) && mpfr_sgn(decrement) >= 0;
}

/* Takes the step, or a part of it that stays well inside and does not fall. */
static bool advance(ascent *a, mpfr_srcptr decrement) {
  const bool close = mpfr_cmp_d(decrement, 0.0625) < 0;
  mpfr_t before, least;
  mpfr_init2(before, a->precision);
  mpfr_init2(least, 64);
  mpfr_set(before, a->h.lo, MPFR_RNDN);
  bool taken = false;
  for (int k = 0; k < MOST_HALVINGS && !taken; k++) {
    bool inside = true;
    for (size_t e = 0; e < a->n && inside; e++) {
      mpfr_mul_2si(a->trial[e], a->step[e], -k, MPFR_RNDN);
      mpfr_add(a->trial[e], a->x[e], a->trial[e], MPFR_RNDN);
      mpfr_div_2ui(least, a->x[e], 4, MPFR_RNDN);
      inside = mpfr_number_p(a->trial[e]) && (!a->positive || mpfr_greater_p(a->trial[e], least));
    }
    taken = inside && evaluate_at(a, a->trial) && mpfr_number_p(a->h.lo) &&
            (close || mpfr_greater_p(a->h.lo, before));
  }
  for (size_t e = 0; e < a->n && taken; e++) mpfr_swap(a->x[e], a->trial[e]);
  mpfr_clear(before);
  mpfr_clear(least);
  return taken;
}

static bool is_stationary(const ascent *a) {
  for (size_t e = 0; e < a->n; e++)
    if (!phibal_enclosure_is_zero(&a->gradient[e])) return false;
  return true;
}

/* On its way to infinity, as where the supremum is +inf or not attained. */
static bool is_far(const ascent *a) {
  for (size_t e = 0; e < a->n; e++)
    if (mpfr_regular_p(a->x[e]) && mpfr_get_exp(a->x[e]) > FAR) return true;
  return false;
}

/* a->x, evaluated, with a small gradient; false where that does not come about. From x = `start`/E,
   everywhere or, where negative x count too, with the signs of y. */
static bool climb(ascent *a, int start, mpfr_prec_t bits) {
  for (size_t e = 0; e < a->n; e++) {
    mpfr_set_si(a->x[e], a->positive || mpfr_sgn(a->y[e].hi) > 0 ? start : -start, MPFR_RNDN);
    mpfr_div_ui(a->x[e], a->x[e], (unsigned long)a->price->n, MPFR_RNDN);
  }
  mpfr_t decrement, last;
  mpfr_init2(decrement, a->precision);
  mpfr_init2(last, a->precision);
  mpfr_set_inf(last, 1);
  bool good = evaluate_at(a, a->x), found = false;
  for (int k = 0; k < MOST_STEPS && good && !found; k++) {
    found = is_stationary(a);
    if (found) break;
    good = newton_step(a, decrement);
    /* rounding, or the width of y, leaves no more */
    found = good && (mpfr_cmp_si_2exp(decrement, 1, -2 * (long)bits - 64) < 0 ||
                     (mpfr_cmp_si_2exp(last, 1, -40) < 0 && mpfr_greaterequal_p(decrement, last)));
    mpfr_set(last, decrement, MPFR_RNDN);
    if (good && !found) good = advance(a, decrement) && !is_far(a);
  }
  mpfr_clear(decrement);
  mpfr_clear(last);
  return found;
}

/* How far h rises at least on the way through a->x and beyond. */
static void look_far(ascent *a) {
  for (int k = 10; k <= FARTHEST; k *= 10) {
    for (size_t e = 0; e < a->n; e++) mpfr_mul_2si(a->trial[e], a->x[e], k, MPFR_RNDN);
    evaluate_at(a, a->trial);
  }
}

/* ---- the proof ---- */

/* |g| in units of w, from above. */
static void norm_of_gradient(const ascent *a, mpfr_ptr norm) {
  mpfr_t t;
  mpfr_init2(t, a->precision);
  mpfr_set_zero(norm, 1);
  for (size_t e = 0; e < a->n; e++) {
    const phibal_enclosure *g = &a->gradient[e];
    mpfr_abs(t, mpfr_cmpabs(g->lo, g->hi) > 0 ? g->lo : g->hi, MPFR_RNDU);
    mpfr_mul(t, t, a->w[e], MPFR_RNDU);
    mpfr_fma(norm, t, t, norm, MPFR_RNDU);
  }
  mpfr_sqrt(norm, norm, MPFR_RNDU);
  mpfr_clear(t);
}

/* sum_i c_i sum_e f_i'^2/D_e of what was evaluated, from above. */
static bool weakening(ascent *a, phibal_enclosure *total) {
  phibal_enclosure c, t, square;
  phibal_enclosure_init(&c, a->precision);
  phibal_enclosure_init(&t, a->precision);
  phibal_enclosure_init(&square, a->precision);
  phibal_enclosure_set_si(total, 0);
  bool good = true;
  for (int i = 0; i < a->r && good; i++) {
    phibal_enclosure_neg(&c, &a->second[i * a->r + i]);
    for (int j = 0; j < a->r && good; j++) {
      if (j == i) continue;
      phibal_enclosure_abs(&t, &a->second[i * a->r + j]);
      good = phibal_enclosure_add(&c, &c, &t) == PHIBAL_OK;
    }
    if (mpfr_sgn(c.hi) <= 0) continue;
    if (mpfr_sgn(c.lo) < 0) mpfr_set_zero(c.lo, 1);
    for (size_t e = 0; e < a->n && good; e++) {
      const phibal_enclosure *v = &a->slope[(size_t)i * a->n + e];
      phibal_enclosure_abs(&square, v);
      good = phibal_enclosure_mul(&square, &square, &square) == PHIBAL_OK &&
             phibal_enclosure_div(&t, &square, &a->diagonal[e]) == PHIBAL_OK &&
             phibal_enclosure_mul(&t, &t, &c) == PHIBAL_OK &&
             phibal_enclosure_add(total, total, &t) == PHIBAL_OK;
    }
  }
  phibal_enclosure_clear(&c);
  phibal_enclosure_clear(&t);
  phibal_enclosure_clear(&square);
  return good;
}

/* mu on the ball of radius rho, from below; not positive where there is none. */
static void least_curvature(ascent *a, mpfr_srcptr rho, mpfr_ptr mu) {
  mpfr_t t;
  mpfr_init2(t, a->precision);
  bool good = true;
  for (size_t e = 0; e < a->n; e++) {
    mpfr_mul(t, rho, a->w[e], MPFR_RNDU);
    mpfr_sub(a->box[e].lo, a->x[e], t, MPFR_RNDD);
    mpfr_add(a->box[e].hi, a->x[e], t, MPFR_RNDU);
    good = good && (!a->positive || mpfr_sgn(a->box[e].lo) > 0);
  }
  good = good && evaluate(a);
  mpfr_set_inf(mu, 1);
  for (size_t e = 0; e < a->n && good; e++) {
    good = mpfr_sgn(a->diagonal[e].lo) > 0;
    mpfr_mul(t, a->diagonal[e].lo, a->w[e], MPFR_RNDD);
    mpfr_mul(t, t, a->w[e], MPFR_RNDD);
    mpfr_min(mu, mu, t, MPFR_RNDD);
  }
  phibal_enclosure total;
  phibal_enclosure_init(&total, a->precision);
  good = good && weakening(a, &total);
  mpfr_ui_sub(t, 1, total.hi, MPFR_RNDD);
  mpfr_mul(mu, mu, t, MPFR_RNDD);
  if (!good || mpfr_sgn(t) <= 0) mpfr_set_zero(mu, 1);
  phibal_enclosure_clear(&total);
  mpfr_clear(t);
}

/* Around a->x: mu and |g| that satisfy the comment above. */
static bool prove(ascent *a, mpfr_ptr g, mpfr_ptr mu) {
  for (size_t e = 0; e < a->n; e++)
    if (mpfr_sgn(a->diagonal[e].lo) <= 0) return false;
  mpfr_t rho;
  mpfr_init2(rho, 64);
  for (size_t e = 0; e < a->n; e++) mpfr_rec_sqrt(a->w[e], a->diagonal[e].lo, MPFR_RNDN);
  norm_of_gradient(a, g);
  mpfr_mul_2ui(rho, g, 2, MPFR_RNDU);
  if (mpfr_zero_p(rho)) mpfr_set_si_2exp(rho, 1, -(long)a->precision / 2, MPFR_RNDN);
  bool proved = false;
  for (int k = 0; k < MOST_RADII && !proved && mpfr_cmp_d(rho, 0.5) < 0; k++) {
    least_curvature(a, rho, mu);
    mpfr_t half;
    mpfr_init2(half, a->precision);
    mpfr_mul(half, mu, rho, MPFR_RNDD);
    mpfr_div_2ui(half, half, 1, MPFR_RNDD);
    proved = mpfr_sgn(mu) > 0 && mpfr_less_p(g, half);
    mpfr_clear(half);
    mpfr_mul_2ui(rho, rho, 1, MPFR_RNDU);
  }
  mpfr_clear(rho);
  return proved;
}

/* ---- coordinates that go to an end ---- */

typedef enum fate { FATE_FREE, FATE_LOW, FATE_HIGH, FATE_INFINITE } fate;

/* y_e as it counts for x_e: |y_e| where phi is even. */
static int sign_of(const ascent *a, size_t e) {
  const int sign = conjugate_price_sign(a->price, e);
  return a->shape->loads == SHAPE_EVEN && sign == -1 ? 1 : sign;
}

static fate fate_of(const ascent *a, size_t e) {
  const int y = sign_of(a, e);
  const bool rises = !(a->shape->slope & SIGN_NEGATIVE), falls = !(a->shape->slope & SIGN_POSITIVE);
  if (a->shape->loads == SHAPE_UNKNOWN || y == 2) return FATE_FREE;
  if (rises && y <= 0) return y < 0 && !a->positive ? FATE_INFINITE : FATE_LOW;
  if (falls && y >= 0) return y > 0 ? FATE_INFINITE : FATE_HIGH;
  return FATE_FREE;
}

/* Adds f_i at the end to a->fixed. */
static bool fix(ascent *a, fate where) {
  phibal_enclosure end, value;
  phibal_enclosure_init(&end, a->precision);
  phibal_enclosure_init(&value, a->precision);
  if (where == FATE_HIGH || !a->positive) {
    mpfr_set_inf(end.lo, where == FATE_HIGH ? 1 : -1);
    mpfr_set_inf(end.hi, where == FATE_HIGH ? 1 : -1);
  }
  bool good = true;
  for (int i = 0; i < a->r && good; i++)
    good = phi_eval(a->phi->value.sum[i], a->parameters, NULL, &end, &value) == PHIBAL_OK &&
           phibal_enclosure_add(&a->fixed[i], &a->fixed[i], &value) == PHIBAL_OK;
  phibal_enclosure_clear(&end);
  phibal_enclosure_clear(&value);
  return good;
}

typedef enum placing { PLACED, PLACED_AWAY, PLACED_INFINITE, NOT_PLACED } placing;

/* Coordinates that stay, at[0..n-1]. AWAY: an x_e went to infinity, where phi has a limit. */
static placing place(ascent *a) {
  placing result = PLACED;
  for (size_t e = 0; e < a->price->n; e++) {
    const fate f = fate_of(a, e);
    if (f == FATE_INFINITE) return PLACED_INFINITE;
    if (f == FATE_FREE) {
      if (a->shape->loads == SHAPE_EVEN)
        phibal_enclosure_abs(&a->y[a->n], &a->price->y[e]);
      else
        phibal_enclosure_set(&a->y[a->n], &a->price->y[e]);
      a->at[a->n++] = e;
    } else {
      if (!fix(a, f)) return NOT_PLACED;
      if (f == FATE_HIGH || !a->positive) result = PLACED_AWAY;
    }
  }
  return result;
}

/* ---- all of it ---- */

/* phi where nothing is left to maximise over: its limit at the ends. */
static bool at_the_ends(ascent *a, phibal_enclosure *value) {
  if (phi_eval(a->phi->value.expression, a->parameters, a->sums, NULL, &a->value)) return false;
  phibal_enclosure_neg(value, &a->value);
  return true;
}

/* phi tends to -inf as the coordinates that went away go on: the sums there are infinite. */
static bool sinks(ascent *a) {
  for (size_t e = 0; e < a->n; e++) phibal_enclosure_set_si(&a->box[e], a->positive);
  phibal_enclosure term;
  phibal_enclosure_init(&term, a->precision);
  bool good = true;
  for (int i = 0; i < a->r && good; i++) {
    phibal_enclosure_set(&a->sums[i], &a->fixed[i]);
    for (size_t e = 0; e < a->n && good; e++)
      good = phi_eval(a->phi->value.sum[i], a->parameters, NULL, &a->box[e], &term) == PHIBAL_OK &&
             phibal_enclosure_add(&a->sums[i], &a->sums[i], &term) == PHIBAL_OK;
  }
  good = good &&
         phi_eval(a->phi->value.expression, a->parameters, a->sums, NULL, &a->value) == PHIBAL_OK &&
         mpfr_inf_p(a->value.hi) && mpfr_sgn(a->value.hi) < 0;
  phibal_enclosure_clear(&term);
  return good;
}

/* x_e of all coordinates, from those that were free. */
static void give_place(const ascent *a, mpfr_srcptr reach, phibal_enclosure *x) {
  for (size_t e = 0; e < a->price->n; e++) phibal_enclosure_set_si(&x[e], 0);
  mpfr_t t;
  mpfr_init2(t, a->precision);
  for (size_t k = 0; k < a->n; k++) {
    phibal_enclosure *z = &x[a->at[k]];
    mpfr_mul(t, reach, a->w[k], MPFR_RNDU);
    mpfr_sub(z->lo, a->x[k], t, MPFR_RNDD);
    mpfr_add(z->hi, a->x[k], t, MPFR_RNDU);
    const int sign = conjugate_price_sign(a->price, a->at[k]);
    if (a->shape->loads != SHAPE_EVEN || sign == 1) continue;
    phibal_enclosure mirrored;
    phibal_enclosure_init(&mirrored, a->precision);
    phibal_enclosure_neg(&mirrored, z);
    if (sign == -1)
      phibal_enclosure_set(z, &mirrored);
    else
      phibal_enclosure_hull(z, z, &mirrored);
    phibal_enclosure_clear(&mirrored);
  }
  mpfr_clear(t);
}

static void maximise(ascent *a, mpfr_prec_t bits, phibal_enclosure *value, phibal_enclosure *x,
                     bool *attained) {
  mpfr_t g, mu, reach;
  mpfr_inits2(a->precision, g, mu, reach, (mpfr_ptr)0);
  const bool found = (!a->positive && climb(a, 0, bits)) || climb(a, 1, bits);
  if (found) {
    phibal_enclosure_set(value, &a->h);
    /* then phi being convex is enough, although there may be more such x */
    const bool stationary = is_stationary(a);
    if (a->shape->convex && prove(a, g, mu)) {
      mpfr_div(reach, g, mu, MPFR_RNDU);
      if (x) give_place(a, reach, x);
      mpfr_sqr(g, g, MPFR_RNDU);
      mpfr_div(g, g, mu, MPFR_RNDU);
      mpfr_div_2ui(g, g, 1, MPFR_RNDU);
      mpfr_add(value->hi, value->hi, g, MPFR_RNDU);
      *attained = true;
    } else if (!a->shape->convex || !stationary) {
      mpfr_set_inf(value->hi, 1);
    }
  } else {
    look_far(a);
    mpfr_set(value->lo, a->best, MPFR_RNDD);
    mpfr_set_inf(value->hi, 1);
  }
  mpfr_clears(g, mu, reach, (mpfr_ptr)0);
}

static void find(ascent *a, mpfr_prec_t bits, phibal_enclosure *value, phibal_enclosure *x,
                 bool *attained) {
  mpfr_set_inf(value->lo, -1);
  mpfr_set_inf(value->hi, 1);
  const placing placed = place(a);
  if (placed == PLACED_INFINITE || (placed == PLACED_AWAY && sinks(a))) {
    mpfr_set_inf(value->lo, 1);
  } else if (placed != NOT_PLACED && a->n == 0) {
    for (int i = 0; i < a->r; i++) phibal_enclosure_set(&a->sums[i], &a->fixed[i]);
    *attained = at_the_ends(a, value) && placed == PLACED;
    if (*attained && x) give_place(a, a->best, x);
  } else if (placed != NOT_PLACED) {
    maximise(a, bits, value, x, attained);
    *attained = *attained && placed == PLACED;
  }
}

phibal_status conjugate_by_newton(const phi_potential *phi, const conjugate_shape *shape,
                                  const phibal_enclosure *parameters, const conjugate_price *price,
                                  phibal_enclosure *value, phibal_enclosure *x, bool *attained) {
  const mpfr_prec_t bits = mpfr_get_prec(value->lo);
  ascent a = {.phi = phi,
              .shape = shape,
              .parameters = parameters,
              .price = price,
              .positive = shape->loads != SHAPE_LINE,
              .precision = bits + 128,
              .r = phi->value.sums};
  *attained = false;
  phibal_enclosure wide;
  phibal_enclosure_init(&wide, a.precision);
  phibal_status status = PHIBAL_OK;
  if (ascent_init(&a))
    find(&a, bits, &wide, x, attained);
  else
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a conjugate");
  phibal_enclosure_set(value, &wide);
  ascent_clear(&a);
  phibal_enclosure_clear(&wide);
  return status;
}
