/* The built-in potentials in the φ language, against their hand-written reference. */
#include "phi_text.h"
#include "tests/reference/potential_cases.h"
#include "audit/phi.h"
#include <criterion/criterion.h>
#include <stdio.h>

enum { PRECISION = 200, EXPERTS = 5, ROUNDS = 60 };

typedef struct fixture {
  phi_potential *phi;
  phibal_reference_potential reference;
  phibal_enclosure *x, *ours, *theirs;
} fixture;

static void fixture_init(fixture *f, const potential_case *c) {
  f->phi = phi_of_catalogue(phibal_potential_describe(c->id)->name);
  case_init(&f->reference, c, PRECISION + 64);
  f->x = phibal_enclosure_vector(EXPERTS, 53);
  f->ours = phibal_enclosure_vector(EXPERTS, PRECISION);
  f->theirs = phibal_enclosure_vector(EXPERTS, PRECISION);
}

static void fixture_clear(fixture *f) {
  phibal_enclosure_vector_clear(f->x, EXPERTS);
  phibal_enclosure_vector_clear(f->ours, EXPERTS);
  phibal_enclosure_vector_clear(f->theirs, EXPERTS);
  case_clear(&f->reference);
  phi_destroy(f->phi);
}

/* Points that matter: ends of domains, and what lies next to them. */
static const char *const corners[] = {"0",
                                      "1",
                                      "-1",
                                      "0x1p-1000",
                                      "-0x1p-1000",
                                      "0x1.fffffffffffffp-1",
                                      "-0x1.fffffffffffffp-1",
                                      "0x1.0000000000001p0",
                                      "-0x1.0000000000001p0",
                                      "0x1p997",
                                      "-0x1p997",
                                      "1/2",
                                      "0x1p-1074"};
enum { CORNERS = sizeof corners / sizeof *corners };

/* Ordinary loads (or prices) with one coordinate that is a corner, in two rounds of three. */
static void random_point(fixture *f, bool dual, int round, uint64_t *state) {
  const double a = mpfr_get_d(f->reference.parameter.lo, MPFR_RNDN);
  for (int e = 0; e < EXPERTS; e++)
    phibal_enclosure_set_d(&f->x[e], dual ? random_dual(f->reference.id, a, state)
                                          : random_primal(f->reference.id, state));
  if (round % 3) phibal_enclosure_set_str(&f->x[round % EXPERTS], corners[round % CORNERS]);
}

/* The same number, and known as well as arithmetic with 64 more bits and terms of size 1 knows it.
 */
static void check_same(const fixture *f, const phibal_enclosure *ours,
                       const phibal_enclosure *theirs, const char *what) {
  cr_assert(phibal_enclosure_overlaps(ours, theirs), "%s of %s: the file and the reference differ",
            what, f->phi->name);
  if (mpfr_inf_p(theirs->lo)) {
    cr_assert(mpfr_inf_p(ours->lo) && mpfr_inf_p(ours->hi), "%s of %s", what, f->phi->name);
    return;
  }
  /* the exponential of such a number is beyond MPFR's exponents, and then so is its logarithm */
  if (mpfr_cmpabs_ui(theirs->lo, 700000000) > 0 && f->reference.id == PHIBAL_POTENTIAL_RENYI)
    return;
  mpfr_t width, allowed;
  mpfr_init2(width, 53);
  mpfr_init2(allowed, 53);
  phibal_enclosure_width(width, ours);
  mpfr_abs(allowed, theirs->hi, MPFR_RNDU);
  if (mpfr_cmp_ui(allowed, 1) < 0) mpfr_set_ui(allowed, 1, MPFR_RNDU);
  mpfr_div_2ui(allowed, allowed, PRECISION - 80 - 6 + 64 - 4, MPFR_RNDU);
  cr_assert(mpfr_lessequal_p(width, allowed), "%s of %s: too wide", what, f->phi->name);
  mpfr_clear(width);
  mpfr_clear(allowed);
}

/* Outside the domain the reference says +inf, and the language that there is no value. */
static void check_value(fixture *f) {
  const phibal_enclosure *a = &f->reference.parameter;
  cr_assert(phibal_reference_value(&f->reference, EXPERTS, f->x, f->theirs) == PHIBAL_OK);
  const phibal_status status = phi_value(f->phi, a, EXPERTS, f->x, f->ours);
  if (status == PHIBAL_OK)
    check_same(f, f->ours, f->theirs, "value");
  else
    cr_assert(status == PHIBAL_ERROR_DOMAIN && mpfr_inf_p(f->theirs->lo), "value of %s: %s",
              f->phi->name, phibal_status_message());
}

static void check_gradients(fixture *f) {
  const phibal_enclosure *a = &f->reference.parameter;
  const phibal_status wanted = phibal_reference_gradient(&f->reference, EXPERTS, f->x, f->theirs);
  cr_assert(phi_gradient(f->phi, a, EXPERTS, f->x, f->ours) == wanted, "gradient of %s: %s",
            f->phi->name, phibal_status_message());
  for (int e = 0; e < EXPERTS && wanted == PHIBAL_OK; e++)
    check_same(f, &f->ours[e], &f->theirs[e], "gradient");
  cr_assert(phi_given_gradient(f->phi, a, EXPERTS, f->x, f->ours) == wanted,
            "given gradient of %s: %s", f->phi->name, phibal_status_message());
  for (int e = 0; e < EXPERTS && wanted == PHIBAL_OK; e++)
    check_same(f, &f->ours[e], &f->theirs[e], "given gradient");
}

Test(phi_catalogue, values_and_gradients_are_those_of_the_reference) {
  uint64_t state = 7;
  for (int i = 0; i < POTENTIAL_CASES; i++) {
    fixture f;
    fixture_init(&f, &potential_cases[i]);
    for (int round = 0; round < ROUNDS; round++) {
      random_point(&f, false, round, &state);
      check_value(&f);
      check_gradients(&f);
    }
    fixture_clear(&f);
  }
}

/* z = the entry e, j of diagonal and rank-one terms. */
static void entry(phibal_enclosure *z, const phi_potential *phi, int e, int j,
                  const phibal_enclosure *diagonal, const phibal_enclosure *second,
                  const phibal_enclosure *slope) {
  const int r = phi->value.sums;
  phibal_enclosure t;
  phibal_enclosure_init(&t, PRECISION + 64);
  phibal_enclosure_set_si(z, 0);
  if (e == j) phibal_enclosure_set(z, &diagonal[e]);
  for (int i = 0; i < r; i++)
    for (int k = 0; k < r; k++) {
      if (phibal_enclosure_is_zero(&second[i * r + k])) continue;
      phibal_enclosure_mul(&t, &slope[i * EXPERTS + e], &slope[k * EXPERTS + j]);
      phibal_enclosure_mul(&t, &t, &second[i * r + k]);
      phibal_enclosure_add(z, z, &t);
    }
  phibal_enclosure_clear(&t);
}

static void check_hessian(fixture *f, phibal_enclosure *theirs) {
  const bool full = f->reference.id == PHIBAL_POTENTIAL_RENYI;
  const phibal_status wanted = phibal_reference_hessian(&f->reference, EXPERTS, f->x, theirs);
  if (wanted != PHIBAL_OK) return;
  phibal_enclosure *slope = phibal_enclosure_vector(EXPERTS, PRECISION);
  phibal_enclosure second;
  phibal_enclosure_init(&second, PRECISION);
  cr_assert_eq(f->phi->value.sums, 1);
  cr_assert(phi_hessian(f->phi, &f->reference.parameter, EXPERTS, f->x, f->ours, &second, slope) ==
                PHIBAL_OK,
            "Hessian of %s: %s", f->phi->name, phibal_status_message());
  cr_assert_eq(phibal_enclosure_is_zero(&second), !full);
  for (int e = 0; e < EXPERTS; e++)
    for (int j = 0; j < EXPERTS; j++) {
      if (!full && e != j) continue;
      entry(f->theirs, f->phi, e, j, f->ours, &second, slope);
      check_same(f, f->theirs, &theirs[full ? e * EXPERTS + j : e], "Hessian");
    }
  phibal_enclosure_clear(&second);
  phibal_enclosure_vector_clear(slope, EXPERTS);
}

Test(phi_catalogue, hessians_are_those_of_the_reference) {
  uint64_t state = 9;
  phibal_enclosure *theirs = phibal_enclosure_vector(EXPERTS * EXPERTS, PRECISION);
  for (int i = 0; i < POTENTIAL_CASES; i++) {
    fixture f;
    fixture_init(&f, &potential_cases[i]);
    for (int round = 0; round < ROUNDS; round++) {
      random_point(&f, false, round, &state);
      check_hessian(&f, theirs);
    }
    fixture_clear(&f);
  }
  phibal_enclosure_vector_clear(theirs, EXPERTS * EXPERTS);
}

Test(phi_catalogue, conjugates_are_those_of_the_reference) {
  uint64_t state = 8;
  for (int i = 0; i < POTENTIAL_CASES; i++) {
    fixture f;
    fixture_init(&f, &potential_cases[i]);
    for (int round = 0; round < ROUNDS; round++) {
      random_point(&f, true, round, &state);
      cr_assert(phibal_reference_conjugate(&f.reference, EXPERTS, f.x, f.theirs) == PHIBAL_OK);
      cr_assert(phi_given_conjugate(f.phi, &f.reference.parameter, EXPERTS, f.x, f.ours) ==
                    PHIBAL_OK,
                "conjugate of %s: %s", f.phi->name, phibal_status_message());
      check_same(&f, f.ours, f.theirs, "conjugate");
    }
    fixture_clear(&f);
  }
}

/* Names, parameters, ranges and defaults are those of spec/potentials.def. */
Test(phi_catalogue, headers_are_those_of_the_table) {
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    const phibal_potential_info *info = phibal_potential_describe((phibal_potential_id)id);
    const potential_case c = {(phibal_potential_id)id, "0"};
    fixture f;
    fixture_init(&f, &c);
    cr_expect_str_eq(f.phi->name, info->name);
    cr_assert_eq(f.phi->parameters, *info->parameter ? 1 : 0);
    const phi_parameter *p = &f.phi->parameter[0];
    if (*info->parameter) {
      cr_expect_str_eq(p->name, info->parameter);
      cr_expect(fabs(mpq_get_d(p->fallback) - info->fallback) < 4e-16);
      cr_expect(mpq_get_d(p->range[0].lo.value) == info->low);
      const phi_end *last = &p->range[p->ranges - 1].hi;
      cr_expect(last->infinite ? isinf(info->high) : mpq_get_d(last->value) == info->high);
    }
    cr_expect_eq(phi_separable(f.phi) != NULL, info->separable);
    cr_expect(f.phi->gradient.expression && f.phi->conjugate.expression);
    fixture_clear(&f);
  }
}
