/* What ties the functions of a potential together, whatever their formulas: Fenchel-Young, the
   conjugate as a supremum, derivatives as slopes; and boundaries, limits, intervals, errors. */
#include "potential_cases.h"
#include <criterion/criterion.h>
#include <string.h>

enum { PRECISION = 160, N = 3, ROUNDS = 40 };

/* Below this, widths of 2^-160 times it are no longer binary64 numbers. */
#define SMALLEST_TERMS 0x1p-800

typedef struct fixture {
  phibal_reference_potential phi;
  const char *name, *parameter;
  double a;
  uint64_t random;
  phibal_enclosure *x, *y, *v, *w, *matrix, s, t;
} fixture;

static void fixture_init(fixture *f, const potential_case *c) {
  case_init(&f->phi, c, PRECISION + 64);
  f->name = phibal_potential_describe(c->id)->name;
  f->parameter = c->parameter;
  f->a = mpfr_get_d(f->phi.parameter.lo, MPFR_RNDN);
  f->random = 0x123456789abcdefu + (uint64_t)c->id;
  f->x = phibal_enclosure_vector(N, PRECISION);
  f->y = phibal_enclosure_vector(N, PRECISION);
  f->v = phibal_enclosure_vector(N, PRECISION);
  f->w = phibal_enclosure_vector(N, PRECISION);
  f->matrix = phibal_enclosure_vector(N * N, PRECISION);
  phibal_enclosure_init(&f->s, PRECISION);
  phibal_enclosure_init(&f->t, PRECISION);
}

static void fixture_clear(fixture *f) {
  phibal_enclosure_vector_clear(f->x, N);
  phibal_enclosure_vector_clear(f->y, N);
  phibal_enclosure_vector_clear(f->v, N);
  phibal_enclosure_vector_clear(f->w, N);
  phibal_enclosure_vector_clear(f->matrix, N * N);
  phibal_enclosure_clear(&f->s);
  phibal_enclosure_clear(&f->t);
  case_clear(&f->phi);
}

static void take_primal(fixture *f) {
  for (int e = 0; e < N; e++)
    phibal_enclosure_set_d(&f->x[e], random_primal(f->phi.id, &f->random));
}

static void take_dual(fixture *f) {
  for (int e = 0; e < N; e++)
    phibal_enclosure_set_d(&f->y[e], random_dual(f->phi.id, f->a, &f->random));
}

static void ok(phibal_status status) {
  cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
}

/* z = <x, y>. */
static void inner(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *y) {
  phibal_enclosure t;
  phibal_enclosure_init(&t, PRECISION);
  phibal_enclosure_set_si(z, 0);
  for (int e = 0; e < N; e++) {
    ok(phibal_enclosure_mul(&t, &x[e], &y[e]));
    ok(phibal_enclosure_add(z, z, &t));
  }
  phibal_enclosure_clear(&t);
}

static double absolute_width(const phibal_enclosure *z) {
  mpfr_t width;
  mpfr_init2(width, 53);
  phibal_enclosure_width(width, z);
  double d = mpfr_get_d(width, MPFR_RNDU);
  mpfr_clear(width);
  return d;
}

static double magnitude(const phibal_enclosure *z) {
  return fmax(fabs(mpfr_get_d(z->lo, MPFR_RNDA)), fabs(mpfr_get_d(z->hi, MPFR_RNDA)));
}

/* phi(x) + phi*(y) = <x, y> at y = grad phi(x), where y is an enclosure of 2^-160 relative width.
   Both sides must also be narrow enough for equality to mean something. phi* is off by x dy where y
   is off by dy: 2^-100 of the terms leaves room for the steepest case, where grad phi* is 1e6 times
   as wide as y (20 bits), three terms, and log c in Renyi's c (20 bits more). */
static void check_fenchel_young(fixture *f) {
  take_primal(f);
  ok(phibal_reference_gradient(&f->phi, N, f->x, f->y));
  ok(phibal_reference_value(&f->phi, N, f->x, &f->v[0]));
  phibal_status status = phibal_reference_conjugate(&f->phi, N, f->y, &f->v[1]);
  ok(status);
  if (mpfr_inf_p(f->v[1].hi)) return; /* y so near the end of the dual domain that it sticks out */
  ok(phibal_enclosure_add(&f->s, &f->v[0], &f->v[1]));
  inner(&f->t, f->x, f->y);
  cr_assert(phibal_enclosure_overlaps(&f->s, &f->t), "Fenchel-Young, %s(%s): %.17g != %.17g",
            f->name, f->parameter, mpfr_get_d(f->s.lo, MPFR_RNDN), mpfr_get_d(f->t.lo, MPFR_RNDN));
  double terms = magnitude(&f->v[0]) + magnitude(&f->v[1]);
  for (int e = 0; e < N; e++) terms += magnitude(&f->x[e]) * magnitude(&f->y[e]);
  if (terms < SMALLEST_TERMS) return;
  cr_assert_leq(absolute_width(&f->s) + absolute_width(&f->t), 0x1p-100 * terms,
                "Fenchel-Young, %s(%s): a width of %g beside terms of %g", f->name, f->parameter,
                absolute_width(&f->s), terms);
}

/* phi*(y) >= <x, y> - phi(x) for every x, strictly away from the maximiser. */
static void check_supremum(fixture *f) {
  take_dual(f);
  ok(phibal_reference_conjugate(&f->phi, N, f->y, &f->v[0]));
  for (int i = 0; i < 20; i++) {
    take_primal(f);
    ok(phibal_reference_value(&f->phi, N, f->x, &f->v[1]));
    inner(&f->t, f->x, f->y);
    ok(phibal_enclosure_sub(&f->s, &f->t, &f->v[1]));
    cr_assert(mpfr_greaterequal_p(f->v[0].hi, f->s.lo),
              "%s(%s): <x, y> - phi(x) = %.17g exceeds phi*(y) = %.17g", f->name, f->parameter,
              mpfr_get_d(f->s.lo, MPFR_RNDN), mpfr_get_d(f->v[0].hi, MPFR_RNDN));
  }
}

/* Every slope of a convex function between x and x + h is a value of its gradient between. */
static void check_slope(fixture *f, bool dual) {
  dual ? take_dual(f) : take_primal(f);
  phibal_enclosure *x = dual ? f->y : f->x;
  int e = (int)(next_random(&f->random) % N);
  double here = mpfr_get_d(x[e].lo, MPFR_RNDN), there = here * (1 + 0x1p-12);
  phibal_status (*value)(const phibal_reference_potential *, size_t, const phibal_enclosure *,
                         phibal_enclosure *) =
      dual ? phibal_reference_conjugate : phibal_reference_value;
  ok(value(&f->phi, N, x, &f->v[0]));
  phibal_enclosure_set_d(&x[e], there);
  ok(value(&f->phi, N, x, &f->v[1]));
  if (mpfr_inf_p(f->v[1].hi)) return; /* past the end of the domain */
  ok(phibal_enclosure_sub(&f->s, &f->v[1], &f->v[0]));
  phibal_enclosure_set_d(&f->t, there);
  phibal_enclosure_set_d(&f->v[2], here);
  ok(phibal_enclosure_sub(&f->t, &f->t, &f->v[2]));
  ok(phibal_enclosure_div(&f->s, &f->s, &f->t));
  phibal_enclosure_hull(&x[e], &x[e], &f->v[2]);
  phibal_status status = dual ? phibal_reference_conjugate_gradient(&f->phi, N, x, f->w)
                              : phibal_reference_gradient(&f->phi, N, x, f->w);
  if (status == PHIBAL_ERROR_UNDECIDED) return;
  ok(status);
  cr_assert(phibal_enclosure_overlaps(&f->s, &f->w[e]),
            "%s(%s), %s: the slope %.17g from %a to %a is not in [%.17g, %.17g]", f->name,
            f->parameter, dual ? "conjugate" : "value", mpfr_get_d(f->s.lo, MPFR_RNDN), here, there,
            mpfr_get_d(f->w[e].lo, MPFR_RNDD), mpfr_get_d(f->w[e].hi, MPFR_RNDU));
}

/* Every slope of a gradient component in coordinate j is an entry of the Hessian between. */
static void check_second_slope(fixture *f) {
  take_primal(f);
  bool renyi = f->phi.id == PHIBAL_POTENTIAL_RENYI;
  size_t j = next_random(&f->random) % N;
  double here = mpfr_get_d(f->x[j].lo, MPFR_RNDN), there = here * (1 + 0x1p-12);
  ok(phibal_reference_gradient(&f->phi, N, f->x, f->v));
  phibal_enclosure_set_d(&f->x[j], there);
  ok(phibal_reference_gradient(&f->phi, N, f->x, f->w));
  phibal_enclosure_set_d(&f->s, here);
  phibal_enclosure_hull(&f->x[j], &f->x[j], &f->s);
  ok(phibal_reference_hessian(&f->phi, N, f->x, f->matrix));
  phibal_enclosure_set_d(&f->t, there);
  ok(phibal_enclosure_sub(&f->t, &f->t, &f->s));
  for (size_t e = 0; e < N; e++) {
    if (!renyi && e != j) continue;
    ok(phibal_enclosure_sub(&f->s, &f->w[e], &f->v[e]));
    ok(phibal_enclosure_div(&f->s, &f->s, &f->t));
    const phibal_enclosure *h = &f->matrix[renyi ? e * N + j : e];
    cr_assert(phibal_enclosure_overlaps(&f->s, h),
              "%s(%s): the slope %.17g of component %zu from x_%zu = %a is not in [%.17g, %.17g]",
              f->name, f->parameter, mpfr_get_d(f->s.lo, MPFR_RNDN), e, j, here,
              mpfr_get_d(h->lo, MPFR_RNDD), mpfr_get_d(h->hi, MPFR_RNDU));
  }
}

/* Hessian times v, against the entries; both narrow. */
static void check_hessian_product(fixture *f) {
  bool renyi = f->phi.id == PHIBAL_POTENTIAL_RENYI;
  take_primal(f);
  for (int e = 0; e < N; e++) phibal_enclosure_set_d(&f->v[e], random_unit(&f->random) - 0.5);
  ok(phibal_reference_hessian(&f->phi, N, f->x, f->matrix));
  ok(phibal_reference_hessian_product(&f->phi, N, f->x, f->v, f->w));
  for (int e = 0; e < N; e++) {
    double terms = 0;
    phibal_enclosure_set_si(&f->s, 0);
    for (int j = 0; j < N; j++) {
      if (!renyi && j != e) continue;
      ok(phibal_enclosure_mul(&f->t, &f->matrix[renyi ? e * N + j : e], &f->v[j]));
      ok(phibal_enclosure_add(&f->s, &f->s, &f->t));
      terms += magnitude(&f->t);
    }
    cr_assert(phibal_enclosure_overlaps(&f->s, &f->w[e]), "%s(%s): row %d", f->name, f->parameter,
              e);
    if (terms < SMALLEST_TERMS) continue;
    cr_assert_leq(absolute_width(&f->w[e]), 0x1p-150 * terms, "%s(%s): row %d is %g wide", f->name,
                  f->parameter, e, absolute_width(&f->w[e]));
  }
}

typedef void check(fixture *f);

static void for_each_case(check *checks) {
  for (int c = 0; c < POTENTIAL_CASES; c++) {
    fixture f;
    fixture_init(&f, &potential_cases[c]);
    for (int i = 0; i < ROUNDS; i++) checks(&f);
    fixture_clear(&f);
  }
}

static void check_primal_slope(fixture *f) {
  check_slope(f, false);
}

static void check_dual_slope(fixture *f) {
  check_slope(f, true);
}

Test(potential_laws, fenchel_young) {
  for_each_case(check_fenchel_young);
}

Test(potential_laws, conjugate_is_a_supremum) {
  for_each_case(check_supremum);
}

Test(potential_laws, gradients_are_slopes) {
  for_each_case(check_primal_slope);
  for_each_case(check_dual_slope);
}

Test(potential_laws, second_derivatives_are_slopes) {
  for_each_case(check_second_slope);
}

Test(potential_laws, hessian_products) {
  for_each_case(check_hessian_product);
}

/* Wide arguments: what the functions are at points inside is inside what they are over the box. */

typedef phibal_status vector_function(const phibal_reference_potential *phi, size_t n,
                                      const phibal_enclosure *x, phibal_enclosure *z);

static bool is_inside(const phibal_enclosure *inner, const phibal_enclosure *outer) {
  /* A point's enclosure has a width of its own: it must meet the box's, whose ends are as wide. */
  return phibal_enclosure_overlaps(inner, outer);
}

static void check_box(fixture *f, vector_function *g, size_t count, bool dual) {
  dual ? take_dual(f) : take_primal(f);
  phibal_enclosure *x = dual ? f->y : f->x;
  for (int e = 0; e < N; e++) {
    phibal_enclosure_set_d(&f->s, dual ? random_dual(f->phi.id, f->a, &f->random)
                                       : random_primal(f->phi.id, &f->random));
    phibal_enclosure_hull(&x[e], &x[e], &f->s);
  }
  phibal_enclosure *box = phibal_enclosure_vector(count, PRECISION);
  phibal_enclosure *at = phibal_enclosure_vector(count, PRECISION);
  phibal_status status = g(&f->phi, N, x, box);
  if (status == PHIBAL_OK) {
    for (int i = 0; i < 12; i++) {
      for (int e = 0; e < N; e++) {
        /* Ends, and 0 and 1/2 where they are inside, are where extremes lie. */
        double lo = mpfr_get_d(x[e].lo, MPFR_RNDN), hi = mpfr_get_d(x[e].hi, MPFR_RNDN);
        double u = random_unit(&f->random), p = lo + u * (hi - lo);
        double choices[] = {lo, hi, 0.0, 0.5, p, p, p, p};
        p = choices[next_random(&f->random) % 8];
        phibal_enclosure_set_d(&f->v[e], p < lo || p > hi ? lo : p);
      }
      if (g(&f->phi, N, f->v, at) != PHIBAL_OK) continue;
      for (size_t k = 0; k < count; k++)
        cr_assert(is_inside(&at[k], &box[k]), "%s(%s), %s: %.17g is not in [%.17g, %.17g]", f->name,
                  f->parameter, dual ? "dual" : "primal", mpfr_get_d(at[k].lo, MPFR_RNDN),
                  mpfr_get_d(box[k].lo, MPFR_RNDD), mpfr_get_d(box[k].hi, MPFR_RNDU));
    }
  } else {
    cr_assert_eq(status, PHIBAL_ERROR_UNDECIDED, "%s", phibal_status_message());
  }
  phibal_enclosure_vector_clear(box, count);
  phibal_enclosure_vector_clear(at, count);
}

static void check_boxes(fixture *f) {
  bool renyi = f->phi.id == PHIBAL_POTENTIAL_RENYI;
  check_box(f, phibal_reference_value, 1, false);
  check_box(f, phibal_reference_gradient, N, false);
  if (f->phi.id != PHIBAL_POTENTIAL_LP || f->a >= 2)
    check_box(f, phibal_reference_hessian, renyi ? N * N : N, false);
  check_box(f, phibal_reference_conjugate, 1, true);
  check_box(f, phibal_reference_conjugate_gradient, N, true);
}

Test(potential_laws, boxes_contain_their_points) {
  for_each_case(check_boxes);
}

/* Over a box of one coordinate the range of a monotone or convex function is known exactly. */
Test(potential_laws, boxes_are_no_wider_than_the_range) {
  struct {
    phibal_potential_id id;
    const char *parameter;
    vector_function *f;
    const char *lo, *hi, *least_at, *greatest_at;
  } rows[] = {
      {PHIBAL_POTENTIAL_NEGENTROPY, "0", phibal_reference_value, "1/2", "2", "1/2", "2"},
      {PHIBAL_POTENTIAL_NEGENTROPY, "0", phibal_reference_value, "1/100", "1/4", "1/4", "1/100"},
      {PHIBAL_POTENTIAL_TSALLIS, "2", phibal_reference_value, "1/8", "3/4", "1/2", "1/8"},
      {PHIBAL_POTENTIAL_LOG_COSH, "2", phibal_reference_value, "-1", "3", "0", "3"},
      {PHIBAL_POTENTIAL_SOFTPLUS, "0", phibal_reference_conjugate, "1/4", "7/8", "1/2", "7/8"},
      {PHIBAL_POTENTIAL_SOFT_L1, "1", phibal_reference_gradient, "-1", "3", "-1", "3"},
      {PHIBAL_POTENTIAL_PSEUDO_HUBER, "1", phibal_reference_hessian, "-1", "3", "3", "0"},
      {PHIBAL_POTENTIAL_RENYI, "1/2", phibal_reference_value, "1/4", "4", "4", "1/4"},
      {PHIBAL_POTENTIAL_RENYI, "1/2", phibal_reference_conjugate, "-4", "-1", "-4", "-1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    fixture_init(&f, &(potential_case){rows[i].id, rows[i].parameter});
    ok(phibal_enclosure_set_str(&f.x[0], rows[i].lo));
    ok(phibal_enclosure_set_str(&f.s, rows[i].hi));
    phibal_enclosure_hull(&f.x[0], &f.x[0], &f.s);
    ok(rows[i].f(&f.phi, 1, f.x, &f.v[0]));
    ok(phibal_enclosure_set_str(&f.x[1], rows[i].least_at));
    ok(rows[i].f(&f.phi, 1, &f.x[1], &f.v[1]));
    ok(phibal_enclosure_set_str(&f.x[1], rows[i].greatest_at));
    ok(rows[i].f(&f.phi, 1, &f.x[1], &f.v[2]));
    phibal_enclosure_hull(&f.t, &f.v[1], &f.v[2]);
    mpfr_sub(f.s.lo, f.t.lo, f.v[0].lo, MPFR_RNDU);
    mpfr_sub(f.s.hi, f.v[0].hi, f.t.hi, MPFR_RNDU);
    /* Each end is rounded a few times at the working precision: 2^-150 relative to 10. */
    cr_assert(mpfr_cmp_d(f.s.lo, 0x1p-146) < 0 && mpfr_cmp_d(f.s.hi, 0x1p-146) < 0, "row %zu", i);
    fixture_clear(&f);
  }
}
