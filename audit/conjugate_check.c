/* audit_conjugate: the conjugate that the file gives.

   Fenchel-Young: <x, y> <= phi(x) + phi*(y) for all x and y; with equality where y = grad phi(x),
   if phi is convex. The first refutes without any assumption; the second with that of convexity. A
   conjugate is closed: it is bounded by what it tends to at an end of its domain. */
#include "conjugate_check.h"
#include "conjugate_shape.h"
#include "enclosure_text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  PRECISION = CONJUGATE_PRECISION,
  BITS = CONJUGATE_BITS,
  OTHERS = CONJUGATE_OTHERS,
};

typedef conjugate_state state;
typedef conjugate_decimal decimal;

phibal_status conjugate_refute(conjugate_state *s, audit_claim claim, const char *format, ...) {
  if (s->refuted) return PHIBAL_OK;
  va_list arguments;
  va_start(arguments, format);
  s->refuted = audit_format(format, arguments);
  va_end(arguments);
  s->claim = claim;
  if (s->refuted) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a counterexample");
}

conjugate_decimal conjugate_decimal_of(const phibal_enclosure *x) {
  decimal d = {"?", "?"};
  phibal_enclosure_get_decimal(x, CONJUGATE_DIGITS, d.lo, d.hi, sizeof d.lo);
  return d;
}

char *conjugate_vector_text(size_t n, const mpq_t *z) {
  if (n == 1) return audit_rational_text(z[0]);
  char *text = NULL;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  if (!out) return NULL;
  for (size_t e = 0; e < n; e++) {
    char *one = audit_rational_text(z[e]);
    fprintf(out, "%s%s", e ? ", " : "(", one ? one : "?");
    free(one);
  }
  fputc(')', out);
  fclose(out);
  return text;
}

phibal_status conjugate_hold_support(conjugate_state *s, size_t n, const mpq_t *y, const mpq_t *x,
                                     const phibal_enclosure *given,
                                     const phibal_enclosure *support) {
  s->inequalities++;
  if (!phibal_enclosure_is_less(given, support)) return PHIBAL_OK;
  audit_pair z;
  audit_pair_text(given, support, &z);
  char *at = conjugate_vector_text(n, y), *from = conjugate_vector_text(n, x);
  phibal_status status = conjugate_refute(
      s, AUDIT_CONJUGATE,
      "y = %s%s: the conjugate given is %s, and %s - phi(x) at x = %s is larger, %s%s",
      at ? at : "?", s->where, z.first, n > 1 ? "<x, y>" : "x y", from ? from : "?", z.second,
      z.apart);
  free(at);
  free(from);
  return status;
}

phibal_status conjugate_hold_supremum(conjugate_state *s, size_t n, const mpq_t *y,
                                      const phibal_enclosure *given,
                                      const phibal_enclosure *computed) {
  if (phibal_enclosure_overlaps(given, computed)) {
    /* from below alone nothing agrees */
    s->maximised += mpfr_number_p(computed->hi) || mpfr_inf_p(computed->lo);
    return PHIBAL_OK;
  }
  audit_pair z;
  audit_pair_text(given, computed, &z);
  char *at = conjugate_vector_text(n, y);
  bool domain = mpfr_inf_p(given->lo) || mpfr_inf_p(computed->lo);
  phibal_status status = conjugate_refute(
      s, domain ? AUDIT_CONJUGATE_DOMAIN : AUDIT_CONJUGATE,
      "y = %s%s: the conjugate given is %s; the supremum of %s, is %s%s", at ? at : "?", s->where,
      z.first, n > 1 ? "<x, y> - phi(x), computed" : "x y - phi(x), by maximising", z.second,
      z.apart);
  free(at);
  return status;
}

/* ---- equality at y = grad phi(x) ---- */

typedef struct vectors {
  phibal_enclosure *x, *y, value, given, sup, term;
  phibal_enclosure maximum; /* of fewer bits */
} vectors;

static bool vectors_init(vectors *v, size_t n) {
  v->x = phibal_enclosure_vector(n, PRECISION);
  v->y = phibal_enclosure_vector(n, PRECISION);
  phibal_enclosure *all[] = {&v->value, &v->given, &v->sup, &v->term};
  for (int i = 0; i < 4; i++) phibal_enclosure_init(all[i], PRECISION);
  phibal_enclosure_init(&v->maximum, BITS);
  return v->x && v->y;
}

static void vectors_clear(vectors *v, size_t n) {
  phibal_enclosure_vector_clear(v->x, n);
  phibal_enclosure_vector_clear(v->y, n);
  phibal_enclosure *all[] = {&v->value, &v->given, &v->sup, &v->term};
  for (int i = 0; i < 4; i++) phibal_enclosure_clear(all[i]);
  phibal_enclosure_clear(&v->maximum);
}

/* sup = <x, y> - phi(x) */
static phibal_status support(vectors *v, size_t n) {
  phibal_enclosure_neg(&v->sup, &v->value);
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; e < n && !status; e++) {
    status = phibal_enclosure_mul(&v->term, &v->x[e], &v->y[e]);
    if (!status) status = phibal_enclosure_add(&v->sup, &v->sup, &v->term);
  }
  return status;
}

/* How many bits of the larger of two enclosures' size they agree to, when they overlap. */
static double agreement(const phibal_enclosure *a, const phibal_enclosure *b) {
  mpfr_t width, other, size;
  mpfr_inits2(64, width, other, size, (mpfr_ptr)0);
  phibal_enclosure_width(width, a);
  phibal_enclosure_width(other, b);
  mpfr_max(width, width, other, MPFR_RNDU);
  mpfr_abs(size, a->lo, MPFR_RNDD);
  if (mpfr_cmp_si_2exp(size, 1, -2 * BITS) < 0) mpfr_set_si_2exp(size, 1, -2 * BITS, MPFR_RNDN);
  mpfr_div(width, width, size, MPFR_RNDU);
  double bits = mpfr_zero_p(width) ? PRECISION : -log2(mpfr_get_d(width, MPFR_RNDU));
  mpfr_clears(width, other, size, (mpfr_ptr)0);
  return bits;
}

static phibal_status judge_equality(state *s, vectors *v, mpq_srcptr x) {
  if (mpfr_inf_p(v->given.lo) == mpfr_inf_p(v->sup.lo) &&
      phibal_enclosure_overlaps(&v->given, &v->sup)) {
    double bits = agreement(&v->given, &v->sup);
    if (bits < BITS) {
      s->unequal_unknown++;
      return PHIBAL_OK;
    }
    s->equal++;
    s->least_bits = fmin(s->least_bits, bits);
    return PHIBAL_OK;
  }
  if (phibal_enclosure_overlaps(&v->given, &v->sup)) {
    s->unequal_unknown++;
    return PHIBAL_OK;
  }
  decimal y = conjugate_decimal_of(&v->y[0]);
  audit_pair z;
  audit_pair_text(&v->sup, &v->given, &z);
  char *at = audit_rational_text(x);
  bool outside = mpfr_inf_p(v->given.lo) && mpfr_sgn(v->given.lo) > 0;
  phibal_status status = conjugate_refute(
      s, outside ? AUDIT_CONJUGATE_DOMAIN : AUDIT_CONJUGATE,
      "x = %s%s%s: at y = grad phi(x), in [%s, %s]%s, the conjugate is <x, y> - phi(x), %s; the "
      "one given is %s%s",
      at ? at : "?", s->n > 1 ? " beside 1/2 and 1/4" : "", s->where, y.lo, y.hi,
      s->n > 1 ? " for the first" : "", z.first, z.second, z.apart);
  free(at);
  return status;
}

static phibal_status equality_at(state *s, vectors *v, mpq_srcptr x) {
  static const double others[OTHERS] = {0.5, 0.25};
  phibal_enclosure_set_q(&v->x[0], x);
  for (size_t e = 1; e < s->n; e++) phibal_enclosure_set_d(&v->x[e], others[e - 1]);
  if (phi_value(s->phi, s->parameters, s->n, v->x, &v->value) ||
      phi_gradient(s->phi, s->parameters, s->n, v->x, v->y) || support(v, s->n))
    return PHIBAL_OK; /* no gradient there */
  for (size_t e = 0; e < s->n; e++)
    if (!mpfr_number_p(v->y[e].lo) || !mpfr_number_p(v->y[e].hi)) return PHIBAL_OK;
  phibal_status status = phi_given_conjugate(s->phi, s->parameters, s->n, v->y, &v->given);
  /* The conjugate is finite there: so if the conditions fail it is wrong, and if they hold the
     formula must be right. */
  if (status == PHIBAL_ERROR_UNDECIDED)
    status = phi_conjugate_formula(s->phi, s->parameters, s->n, v->y, &v->given);
  if (status == PHIBAL_ERROR_DOMAIN || status == PHIBAL_ERROR_UNDECIDED) {
    s->unequal_unknown++;
    return PHIBAL_OK;
  }
  return status ? status : judge_equality(s, v, x);
}

/* ---- single y, exact ---- */

/* The given conjugate of one coordinate (or of one expert) at an exact y; false where it has no
   value that can be enclosed. */
static bool given_at(state *s, vectors *v, mpq_srcptr y) {
  phibal_enclosure_set_q(&v->y[0], y);
  return phi_given_conjugate_exactly(s->phi, s->parameters, (const mpq_t *)s->exact_parameters, 1,
                                     v->y, (const mpq_t *)y, &v->given) == PHIBAL_OK;
}

/* An x with <x, y> - phi(x) > what is given: a violation that anyone can evaluate. */
static phibal_status violate(state *s, vectors *v, mpq_srcptr y, const mpq_t *x) {
  phibal_enclosure_set_q(&v->x[0], *x);
  if (phi_value(s->phi, s->parameters, 1, v->x, &v->value) || support(v, 1)) return PHIBAL_OK;
  return conjugate_hold_support(s, 1, (const mpq_t *)y, x, &v->given, &v->sup);
}

static phibal_status inequality_at(state *s, vectors *v, mpq_srcptr y, const audit_points *x) {
  phibal_status status = PHIBAL_OK;
  if (!given_at(s, v, y)) return PHIBAL_OK;
  if (mpfr_inf_p(v->given.lo)) return PHIBAL_OK; /* +inf: nothing is larger */
  for (size_t i = 0; i < x->n && !status && !s->refuted; i++)
    status = violate(s, v, y, (const mpq_t *)&x->x[i]);
  return status;
}

/* Against the maximised conjugate. */
static phibal_status maximum_at(state *s, vectors *v, mpq_srcptr y) {
  if (!given_at(s, v, y)) return PHIBAL_OK;
  phibal_status status = audit_conjugate_eval(s->phi, s->parameters, 1, v->y, NULL, &v->maximum);
  if (status == PHIBAL_ERROR_DOMAIN || status == PHIBAL_ERROR_UNSUPPORTED) return PHIBAL_OK;
  if (status) return status;
  return conjugate_hold_supremum(s, 1, (const mpq_t *)y, &v->given, &v->maximum);
}

/* ---- the ends of the domain given ---- */

/* y = end is outside by the conditions, end + step inside: then the formula tends, from there, to
   something that the conjugate, being closed, does not exceed. */
static phibal_status closed_at(state *s, vectors *v, mpq_srcptr end, mpq_srcptr step) {
  mpq_t inside;
  mpq_init(inside);
  mpq_add(inside, end, step);
  bool finite_inside = conjugate_ends_at(s, 1, (const mpq_t *)end) && given_at(s, v, inside) &&
                       mpfr_number_p(v->given.hi);
  phibal_status status = PHIBAL_OK;
  if (finite_inside && given_at(s, v, end) && mpfr_inf_p(v->given.lo)) {
    phibal_enclosure_set_q(&v->term, inside);
    phibal_enclosure_set_q(&v->y[0], end);
    phibal_enclosure_hull(&v->y[0], &v->y[0], &v->term);
    if (phi_conjugate_formula(s->phi, s->parameters, 1, v->y, &v->value) == PHIBAL_OK &&
        mpfr_number_p(v->value.hi)) {
      char *at = audit_rational_text(end), *from = audit_rational_text(inside);
      decimal most = conjugate_decimal_of(&v->value);
      status = conjugate_refute(
          s, AUDIT_CONJUGATE_DOMAIN,
          "y = %s%s: the conjugate given is +inf there, and at most %s between there and "
          "%s. A conjugate is closed, so that it is at most that at y as well",
          at ? at : "?", s->where, most.hi, from ? from : "?");
      free(at);
      free(from);
    }
  }
  mpq_clear(inside);
  return status;
}

/* The sign of left - right at y: 0 only if exactly so; 2 unknown. */
static int side_of(state *s, vectors *v, const phi_condition *c, mpq_srcptr y) {
  phibal_enclosure_set_q(&v->y[0], y);
  if (phi_eval(c->left, s->parameters, NULL, &v->y[0], &v->value) ||
      phi_eval(c->right, s->parameters, NULL, &v->y[0], &v->term) ||
      phibal_enclosure_sub(&v->value, &v->value, &v->term))
    return 2;
  if (phibal_enclosure_is_positive(&v->value)) return 1;
  if (phibal_enclosure_is_negative(&v->value)) return -1;
  return phibal_enclosure_contains_zero(&v->value) ? 0 : 2;
}

/* Between low and high the condition changes its side: adds the end if it is a simple rational,
   and its neighbourhood anyhow. */
static phibal_status locate(state *s, vectors *v, const phi_condition *c, mpq_srcptr from,
                            mpq_srcptr to, audit_points *ends) {
  mpq_t low, high, middle;
  mpq_inits(low, high, middle, (mpq_ptr)0);
  mpq_set(low, from);
  mpq_set(high, to);
  int sign = side_of(s, v, c, low);
  bool found = false;
  for (int i = 0; i < 200 && !found; i++) {
    mpq_add(middle, low, high);
    mpq_div_2exp(middle, middle, 1);
    int now = side_of(s, v, c, middle);
    found = now == 0;
    if (!found) mpq_set(now == sign ? low : high, middle);
  }
  if (!found) {
    bool negative = mpq_sgn(low) < 0;
    if (negative) {
      mpq_neg(low, low);
      mpq_neg(high, high);
      mpq_swap(low, high);
    }
    audit_simplest_between(middle, low, high);
    if (negative) mpq_neg(middle, middle);
  }
  phibal_status status = audit_points_add(ends, middle);
  mpq_clears(low, high, middle, (mpq_ptr)0);
  return status;
}

/* Where a condition of one coordinate changes from one side to the other. */
static phibal_status find_ends(state *s, vectors *v, audit_points *ends) {
  const phi_section *c = &s->phi->conjugate;
  phibal_status status = PHIBAL_OK;
  mpq_t before, now;
  mpq_inits(before, now, (mpq_ptr)0);
  for (int i = 0; i < c->conditions; i++) {
    if (expression_holds(c->condition[i].left, EXPRESSION_SUM) ||
        expression_holds(c->condition[i].right, EXPRESSION_SUM))
      continue; /* of vectors */
    int last = 2;
    for (int k = -100; k <= 100 && !status; k++) {
      /* -2^50 .. -2^-49, 0, 2^-49 .. 2^50, none of them a number that one writes */
      mpq_set_d(now, k == 0 ? 0 : ldexp(k < 0 ? -0x1.1d9f5p0 : 0x1.1d9f5p0, abs(k) - 50));
      int side = side_of(s, v, &c->condition[i], now);
      if (side == 0)
        status = audit_points_add(ends, now);
      else if (abs(last) == 1 && side == -last)
        status = locate(s, v, &c->condition[i], before, now, ends);
      last = side == 0 ? 2 : side;
      mpq_set(before, now);
    }
  }
  mpq_clears(before, now, (mpq_ptr)0);
  return status;
}

/* The end itself, and both sides of it. */
static phibal_status check_end(state *s, vectors *v, mpq_srcptr end, const audit_points *x) {
  phibal_status status = PHIBAL_OK;
  mpq_t step, near;
  mpq_inits(step, near, (mpq_ptr)0);
  s->ends++;
  for (int way = -1; way <= 1 && !status && !s->refuted; way++)
    for (int k = 10; k <= 60 && !status && !s->refuted; k += way ? 25 : 100) {
      mpq_set_si(step, way, 1);
      mpq_div_2exp(step, step, (mp_bitcnt_t)k);
      mpq_add(near, end, step);
      if (way) status = closed_at(s, v, end, step);
      if (!status) status = inequality_at(s, v, near, x);
      if (!status && s->n == 1) status = maximum_at(s, v, near);
    }
  mpq_clears(step, near, (mpq_ptr)0);
  return status;
}

/* ---- all of it ---- */

/* x: +-2^k, far and near. */
static phibal_status make_x(audit_points *x) {
  phibal_status status = PHIBAL_OK;
  for (int k = -60; k <= 400 && !status; k += k < 20 ? 2 : 20)
    for (int sign = -1; sign <= 1 && !status; sign += 2)
      status = audit_points_add_d(x, ldexp(sign, k));
  return status ? status : audit_points_add_d(x, 0);
}

/* y: numbers that one writes, and what the gradient tends to. */
static phibal_status make_y(state *s, vectors *v, audit_points *y) {
  static const double fixed[] = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10, 100, 0x1p-20};
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed && !status; i++) {
    status = audit_points_add_d(y, fixed[i]);
    if (!status) status = audit_points_add_d(y, -fixed[i]);
  }
  for (int k = -1000; k <= 1000 && !status; k += 250)
    for (int sign = -1; sign <= 1 && !status; sign += 2) {
      phibal_enclosure_set_d(&v->x[0], ldexp(sign, k));
      if (s->n > 1 || phi_gradient(s->phi, s->parameters, 1, v->x, v->y)) continue;
      double limit = mpfr_get_d(v->y[0].lo, MPFR_RNDN);
      if (!isfinite(limit) || fabs(limit) > 0x1p60) continue;
      for (int j = -1; j <= 1 && !status; j++)
        status = audit_points_add_d(y, limit + j * 0x1p-20 * fmax(1, fabs(limit)));
    }
  return status;
}

static phibal_status check(state *s, vectors *v) {
  audit_points x = {0}, y = {0}, ends = {0}, loads = {0};
  phibal_status status = audit_points_make(s->phi->value.expression, s->parameters,
                                           s->request->quick ? 150 : 800, s->request->seed, &loads);
  for (size_t i = 0; i < loads.n && !status && !s->refuted; i++)
    status = equality_at(s, v, loads.x[i]);
  if (!status) status = make_x(&x);
  for (size_t i = 0; i < x.n && !status && !s->refuted; i++) status = equality_at(s, v, x.x[i]);
  if (!status) status = find_ends(s, v, &ends);
  for (size_t i = 0; i < ends.n && !status && !s->refuted; i++)
    status = check_end(s, v, ends.x[i], &x);
  if (!status) status = make_y(s, v, &y);
  for (size_t i = 0; i < y.n && !status && !s->refuted; i++) {
    status = inequality_at(s, v, y.x[i], &x);
    if (!status && s->n == 1 && !s->refuted) status = maximum_at(s, v, y.x[i]);
  }
  if (!status && !s->refuted && (s->n > 1 || s->phi->conjugate.condition_sums))
    status = conjugate_check_vectors(s);
  audit_points_clear(&x);
  audit_points_clear(&y);
  audit_points_clear(&ends);
  audit_points_clear(&loads);
  return status;
}

static phibal_status report_refuted(state *s, certificate *c) {
  audit_finding *f = certificate_add(
      c, s->claim, AUDIT_REFUTED, NULL,
      s->claim == AUDIT_CONJUGATE
          ? "The conjugate given is not the supremum of <x, y> - phi(x)."
          : "The conjugate given is finite where the supremum is not, or the other way round.");
  phibal_status status = audit_counterexample(f, "%s", s->refuted);
  if (status) return status;
  bool domain = s->claim == AUDIT_CONJUGATE_DOMAIN;
  return audit_added(certificate_add(
      c, domain ? AUDIT_CONJUGATE : AUDIT_CONJUGATE_DOMAIN, AUDIT_UNDECIDED, NULL,
      "The check ended with the counterexample to %s. Until then the conjugate given was <x, y> - "
      "phi(x) at y = grad phi(x) for %llu x, and %llu inequalities and %llu computed suprema "
      "agreed.",
      domain ? "its domain" : "its value", (unsigned long long)s->equal,
      (unsigned long long)s->inequalities, (unsigned long long)s->maximised));
}

static phibal_status report(state *s, certificate *c) {
  if (s->refuted) return report_refuted(s, c);
  json_t *data =
      json_pack("{s:I, s:I, s:I, s:I, s:f}", "equalities", (json_int_t)s->equal, "undecided",
                (json_int_t)s->unequal_unknown, "inequalities", (json_int_t)s->inequalities,
                "maximised", (json_int_t)s->maximised, "bits", s->equal ? s->least_bits : 0.0);
  bool checked = s->equal > 0;
  char wide[80] = "", ends[80] = "";
  if (s->unequal_unknown)
    snprintf(wide, sizeof wide, " (at %llu more the enclosures stayed too wide to tell)",
             (unsigned long long)s->unequal_unknown);
  if (s->ends)
    snprintf(ends, sizeof ends, "at and around each of its %llu ends, and ",
             (unsigned long long)s->ends);
  audit_finding *f = certificate_add(
      c, AUDIT_CONJUGATE, checked ? AUDIT_CHECKED : AUDIT_UNDECIDED, data,
      "At y = grad phi(x) for %llu x, from 0 to 2^400 and the loads of the gradient's check, it is "
      "<x, y> - phi(x) to %d bits and more, as it must be for a convex phi%s. The inequality "
      "phi(x) "
      "+ phi*(y) >= <x, y> holds at %llu pairs of exact points, and %llu computed "
      "suprema agree.",
      (unsigned long long)s->equal, (int)BITS, wide, (unsigned long long)s->inequalities,
      (unsigned long long)s->maximised);
  if (!f) return PHIBAL_ERROR_MEMORY;
  f = certificate_add(c, AUDIT_CONJUGATE_DOMAIN, checked ? AUDIT_CHECKED : AUDIT_UNDECIDED, NULL,
                      "The conjugate is finite where it must be, and infinite where it must be, "
                      "%sat y beyond the prices of loads up to 2^1000.",
                      ends);
  return audit_added(f);
}

/* What the computed conjugate of a phi that is not separable rests on. */
static const char *way_of(const conjugate_shape *shape) {
  return shape->form == SHAPE_LOG_SUM_EXP
             ? "in closed form: phi is the logarithm of a sum of exponentials, up to constants"
         : shape->form == SHAPE_NORM ? "in closed form: phi is a power mean, up to constants"
         : shape->convex             ? "by maximising, phi being proved convex beyond the simplex"
                         : "by maximising, from below only: beyond the simplex phi is not proved "
                           "convex";
}

static phibal_status report_absent(phi_potential *phi, const audit_request *request,
                                   certificate *c) {
  const char *way = "by maximising over each coordinate, if phi is convex";
  if (!phi_separable(phi)) {
    conjugate_shape shape;
    conjugate_shape_init(&shape, BITS);
    conjugate_shape_find(phi, request->parameters, (size_t)request->least_experts, &shape);
    way = way_of(&shape);
    conjugate_shape_clear(&shape);
  }
  phibal_status status =
      audit_added(certificate_add(c, AUDIT_CONJUGATE, AUDIT_ABSENT, NULL,
                                  "The file gives no conjugate; phibal eval finds it %s.", way));
  return status ? status
                : audit_added(certificate_add(c, AUDIT_CONJUGATE_DOMAIN, AUDIT_ABSENT, NULL,
                                              "The file gives no conjugate."));
}

phibal_status audit_conjugate(phi_potential *phi, const audit_request *request, certificate *c) {
  if (!phi->conjugate.expression) return report_absent(phi, request, c);
  state s = {.phi = phi,
             .request = request,
             .parameters = audit_parameters(phi, request, PRECISION),
             .where = audit_parameters_text(phi, request),
             .n = phi_separable(phi) ? 1 : 1 + OTHERS,
             .least_bits = PRECISION};
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) mpq_init(s.exact_parameters[i]);
  audit_parameters_exact(phi, request, s.exact_parameters);
  vectors v;
  phibal_status status = PHIBAL_ERROR_MEMORY;
  if (vectors_init(&v, s.n) && s.parameters && s.where) status = check(&s, &v);
  if (status == PHIBAL_ERROR_MEMORY)
    phibal_status_set(status, "out of memory for the check of a conjugate");
  if (!status) status = report(&s, c);
  vectors_clear(&v, s.n);
  phibal_enclosure_vector_clear(s.parameters, PHI_MAX_PARAMETERS);
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) mpq_clear(s.exact_parameters[i]);
  free(s.where);
  free(s.refuted);
  return status;
}
