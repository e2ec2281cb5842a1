/* Mirror ascent both ways: the average and its gradient (M1, M2), and the argmax of the proximal
   objective (M4), which knows nothing of either. */
#include "potential_cases.h"
#include <criterion/criterion.h>
#include <string.h>

enum { PRECISION = 192, MOST = 5 };

typedef struct step {
  phibal_reference_potential phi;
  size_t n;
  phibal_enclosure *m, *loads, eta;
  phibal_enclosure *next[2], *price[2]; /* by the average, by the argmax */
} step;

static void step_init(step *s, const potential_case *c, size_t n) {
  /* Known so well that alpha = 1 - 1e-12 does not use it up: 42 bits at each of two inversions. */
  case_init(&s->phi, c, PRECISION + 128);
  s->n = n;
  s->m = phibal_enclosure_vector(n, PRECISION);
  s->loads = phibal_enclosure_vector(n, PRECISION);
  phibal_enclosure_init(&s->eta, PRECISION);
  for (int way = 0; way < 2; way++) {
    s->next[way] = phibal_enclosure_vector(n, PRECISION);
    s->price[way] = phibal_enclosure_vector(n, PRECISION);
  }
}

static void step_clear(step *s) {
  for (int way = 0; way < 2; way++) {
    phibal_enclosure_vector_clear(s->next[way], s->n);
    phibal_enclosure_vector_clear(s->price[way], s->n);
  }
  phibal_enclosure_clear(&s->eta);
  phibal_enclosure_vector_clear(s->m, s->n);
  phibal_enclosure_vector_clear(s->loads, s->n);
  case_clear(&s->phi);
}

static void set(phibal_enclosure *z, const char *text) {
  cr_assert_eq(phibal_enclosure_set_str(z, text), PHIBAL_OK, "%s", phibal_status_message());
}

static phibal_status by_average(step *s) {
  return phibal_reference_mirror_ema(&s->phi, s->n, s->m, s->loads, &s->eta, s->next[0],
                                     s->price[0]);
}

static phibal_status by_argmax(step *s, mpfr_prec_t precision) {
  return phibal_reference_mirror_argmax(&s->phi, s->n, s->m, s->loads, &s->eta, precision,
                                        s->next[1], s->price[1]);
}

static void ok(phibal_status status) {
  cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
}

/* hi - lo <= 2^-(precision - 20) max(|lo|, |hi|), as the header promises. */
static bool is_narrow(const phibal_enclosure *z) {
  if (phibal_enclosure_is_exact(z)) return true;
  mpfr_t width;
  mpfr_init2(width, PRECISION);
  phibal_enclosure_width(width, z);
  mpfr_mul_2ui(width, width, PRECISION - 20, MPFR_RNDU);
  bool narrow = mpfr_cmpabs(width, mpfr_cmpabs(z->lo, z->hi) > 0 ? z->lo : z->hi) <= 0;
  mpfr_clear(width);
  return narrow;
}

/* The average by the argmax is grad phi*(price), so that its width is what the price's relative
   width, 2^-(precision - 20), makes of |price| (grad phi*)' = |price| / phi''(average): for Renyi,
   where the components of a box vary apart from each other, no more than 2 c + 1 = (1+a)/(1-a)
   times the average. */
static bool is_average_narrow(const step *s, size_t e) {
  double average = mpfr_get_d(s->next[1][e].hi, MPFR_RNDU),
         a = mpfr_get_d(s->phi.parameter.lo, MPFR_RNDN), reach = average * (1 + a) / (1 - a);
  mpfr_t width;
  mpfr_init2(width, 53);
  if (s->phi.id != PHIBAL_POTENTIAL_RENYI) {
    phibal_enclosure second;
    phibal_enclosure_init(&second, PRECISION);
    ok(phibal_reference_hessian(&s->phi, 1, &s->next[1][e], &second));
    ok(phibal_enclosure_div(&second, &s->price[1][e], &second));
    reach = fabs(mpfr_get_d(second.lo, MPFR_RNDN));
    phibal_enclosure_clear(&second);
  }
  phibal_enclosure_width(width, &s->next[1][e]);
  bool narrow = mpfr_get_d(width, MPFR_RNDU) <= ldexp(average + reach, -(PRECISION - 20));
  mpfr_clear(width);
  return narrow;
}

/* Loads that sum to about 1, some of them 0 (not for eta = 1), and m inside the domain. */
static void take_random(step *s, const char *eta, uint64_t *random) {
  bool whole = strcmp(eta, "1") == 0;
  set(&s->eta, eta);
  for (size_t e = 0; e < s->n; e++) {
    double load = random_unit(random) / (double)s->n;
    bool empty = !whole && next_random(random) % 4 == 0;
    double m = next_random(random) % 4 ? random_unit(random) / (double)s->n
                                       : ldexp(1.0 + random_unit(random), -30);
    phibal_enclosure_set_d(&s->loads[e], empty ? 0.0 : load);
    phibal_enclosure_set_d(&s->m[e], m);
  }
}

static void check_equal(const step *s, const char *eta) {
  const char *name = phibal_potential_describe(s->phi.id)->name;
  double a = mpfr_get_d(s->phi.parameter.lo, MPFR_RNDN);
  for (size_t e = 0; e < s->n; e++) {
    cr_assert(phibal_enclosure_overlaps(&s->price[0][e], &s->price[1][e]),
              "%s(%g), eta %s: prices %.17g and %.17g", name, a, eta,
              mpfr_get_d(s->price[0][e].lo, MPFR_RNDN), mpfr_get_d(s->price[1][e].lo, MPFR_RNDN));
    cr_assert(phibal_enclosure_overlaps(&s->next[0][e], &s->next[1][e]),
              "%s(%g), eta %s: averages %.17g and %.17g", name, a, eta,
              mpfr_get_d(s->next[0][e].lo, MPFR_RNDN), mpfr_get_d(s->next[1][e].lo, MPFR_RNDN));
    cr_assert(is_narrow(&s->price[1][e]) && is_narrow(&s->price[0][e]), "%s(%g), eta %s: price",
              name, a, eta);
    cr_assert(is_average_narrow(s, e) && is_narrow(&s->next[0][e]), "%s(%g), eta %s: average", name,
              a, eta);
  }
}

Test(mirror, both_ways_are_equal) {
  static const char *const etas[] = {"1", "0.3", "1/3", "1e-6", "0x1p-40"};
  uint64_t random = 20240229;
  for (int c = 0; c < POTENTIAL_CASES; c++)
    for (size_t i = 0; i < 25; i++) {
      step s;
      const char *eta = etas[i % 5];
      step_init(&s, &potential_cases[c], 1 + i % MOST);
      take_random(&s, eta, &random);
      ok(by_average(&s));
      ok(by_argmax(&s, PRECISION));
      check_equal(&s, eta);
      step_clear(&s);
    }
}

/* alpha = 1 - 2^-80 costs the search 80 bits and more, which it is to add by itself. */
Test(mirror, a_steep_parameter_costs_no_precision) {
  uint64_t random = 12;
  step s;
  step_init(&s, &(potential_case){PHIBAL_POTENTIAL_RENYI, "0x0.ffffffffffffffffffffp0"}, 3);
  take_random(&s, "1/3", &random);
  ok(by_average(&s));
  ok(by_argmax(&s, PRECISION));
  for (int e = 0; e < 3; e++) {
    cr_assert(phibal_enclosure_overlaps(&s.price[0][e], &s.price[1][e]));
    cr_assert(is_narrow(&s.price[1][e]));
  }
  step_clear(&s);
}

/* Equality above would mean little if enclosures that differ a little overlapped as well. */
Test(mirror, another_step_is_told_apart) {
  uint64_t random = 7;
  for (int c = 0; c < POTENTIAL_CASES; c++) {
    step s;
    step_init(&s, &potential_cases[c], 3);
    take_random(&s, "0.3", &random);
    ok(by_average(&s));
    set(&s.eta, "0.30000000000000000000001");
    ok(by_argmax(&s, PRECISION));
    for (int e = 0; e < 3; e++) {
      cr_assert(!phibal_enclosure_overlaps(&s.price[0][e], &s.price[1][e]), "case %d", c);
      cr_assert(!phibal_enclosure_overlaps(&s.next[0][e], &s.next[1][e]), "case %d", c);
    }
    step_clear(&s);
  }
}

/* z = <loads - m, q> - (phi*(q) - phi*(start) - <grad phi*(start), q - start>)/eta. */
static void objective(phibal_enclosure *z, const step *s, const phibal_enclosure *q,
                      const phibal_enclosure *start) {
  phibal_enclosure t, u, *g = phibal_enclosure_vector(s->n, PRECISION);
  phibal_enclosure_init(&t, PRECISION);
  phibal_enclosure_init(&u, PRECISION);
  ok(phibal_reference_conjugate_gradient(&s->phi, s->n, start, g));
  ok(phibal_reference_conjugate(&s->phi, s->n, start, z));
  ok(phibal_reference_conjugate(&s->phi, s->n, q, &t));
  ok(phibal_enclosure_sub(z, z, &t));
  for (size_t e = 0; e < s->n; e++) {
    ok(phibal_enclosure_sub(&t, &q[e], &start[e]));
    ok(phibal_enclosure_mul(&t, &t, &g[e]));
    ok(phibal_enclosure_add(z, z, &t));
  }
  ok(phibal_enclosure_div(z, z, &s->eta));
  for (size_t e = 0; e < s->n; e++) {
    ok(phibal_enclosure_sub(&t, &s->loads[e], &s->m[e]));
    ok(phibal_enclosure_mul(&t, &t, &q[e]));
    ok(phibal_enclosure_add(z, z, &t));
  }
  phibal_enclosure_vector_clear(g, s->n);
  phibal_enclosure_clear(&t);
  phibal_enclosure_clear(&u);
}

/* The objective itself is certainly lower at prices nearby than at the argmax. */
Test(mirror, argmax_maximises_the_objective) {
  uint64_t random = 99;
  for (int c = 0; c < POTENTIAL_CASES; c++) {
    step s;
    step_init(&s, &potential_cases[c], 3);
    take_random(&s, "0.3", &random);
    for (int e = 0; e < 3; e++) phibal_enclosure_set_d(&s.loads[e], 0.4 + 0.02 * e);
    for (int e = 0; e < 3; e++) phibal_enclosure_set_d(&s.m[e], 0.5 - 0.02 * e);
    ok(by_argmax(&s, PRECISION));
    phibal_enclosure *start = phibal_enclosure_vector(3, PRECISION);
    phibal_enclosure best, other, factor;
    phibal_enclosure_init(&best, PRECISION);
    phibal_enclosure_init(&other, PRECISION);
    phibal_enclosure_init(&factor, PRECISION);
    ok(phibal_reference_gradient(&s.phi, 3, s.m, start));
    objective(&best, &s, s.price[1], start);
    for (int i = 0; i < 6; i++) {
      phibal_enclosure *q = &s.price[1][i / 2], kept;
      phibal_enclosure_init(&kept, PRECISION);
      phibal_enclosure_set(&kept, q);
      /* 2^-22 of the price: the objective falls by 2^-45 or more of its scale, far above 2^-100;
         and less than the distance to the end of any dual domain met here. */
      phibal_enclosure_set_d(&factor, i % 2 ? 1 + 0x1p-22 : 1 - 0x1p-22);
      ok(phibal_enclosure_mul(q, q, &factor));
      objective(&other, &s, s.price[1], start);
      cr_assert(phibal_enclosure_is_less(&other, &best), "case %d, move %d: %.17g, at best %.17g",
                c, i, mpfr_get_d(other.lo, MPFR_RNDN), mpfr_get_d(best.lo, MPFR_RNDN));
      phibal_enclosure_set(q, &kept);
      phibal_enclosure_clear(&kept);
    }
    phibal_enclosure_clear(&best);
    phibal_enclosure_clear(&other);
    phibal_enclosure_clear(&factor);
    phibal_enclosure_vector_clear(start, 3);
    step_clear(&s);
  }
}

/* Each way fed with its own last average: still one trajectory. Three steps, since a box of prices
   loses up to 42 bits in each for alpha = 1 - 1e-12 (see is_average_narrow), and 192 are there. */
Test(mirror, trajectories_stay_together) {
  uint64_t random = 4;
  for (int c = 0; c < POTENTIAL_CASES; c++) {
    step s, t;
    step_init(&s, &potential_cases[c], 3);
    step_init(&t, &potential_cases[c], 3);
    take_random(&s, "0.3", &random);
    for (int e = 0; e < 3; e++) phibal_enclosure_set(&t.m[e], &s.m[e]);
    for (int i = 0; i < 3; i++) {
      for (int e = 0; e < 3; e++) {
        phibal_enclosure_set_d(&s.loads[e], random_unit(&random));
        phibal_enclosure_set(&t.loads[e], &s.loads[e]);
      }
      phibal_enclosure_set(&t.eta, &s.eta);
      ok(by_average(&s));
      phibal_status status = by_argmax(&t, PRECISION);
      cr_assert_eq(status, PHIBAL_OK, "case %d, step %d: %s", c, i, phibal_status_message());
      for (int e = 0; e < 3; e++) {
        cr_assert(phibal_enclosure_overlaps(&s.price[0][e], &t.price[1][e]), "case %d", c);
        phibal_enclosure_set(&s.m[e], &s.next[0][e]);
        phibal_enclosure_set(&t.m[e], &t.next[1][e]);
      }
    }
    step_clear(&s);
    step_clear(&t);
  }
}

/* The average alone, in exact arithmetic: eta weighs the loads, 1 - eta what was there. */
Test(mirror, average) {
  step s;
  step_init(&s, &(potential_case){PHIBAL_POTENTIAL_EUCLID, "0"}, 1);
  set(&s.m[0], "1/2");
  set(&s.loads[0], "1/8");
  set(&s.eta, "1/4");
  ok(by_average(&s));
  cr_assert(mpfr_cmp_d(s.next[0][0].lo, 0.40625) == 0 && mpfr_cmp_d(s.next[0][0].hi, 0.40625) == 0);
  cr_assert(mpfr_cmp_d(s.price[0][0].lo, 0.40625) == 0);
  step_clear(&s);
}

Test(mirror, a_price_of_zero_is_exact) {
  step s;
  step_init(&s, &(potential_case){PHIBAL_POTENTIAL_LOG_COSH, "2"}, 1);
  set(&s.eta, "1/4");
  ok(by_argmax(&s, PRECISION));
  cr_assert(phibal_enclosure_is_zero(&s.price[1][0]));
  cr_assert(phibal_enclosure_is_zero(&s.next[1][0]));
  step_clear(&s);
}

static void expect(const char *potential_parameter, phibal_potential_id id, const char *m,
                   const char *load, const char *eta, phibal_status average, phibal_status argmax,
                   const char *message) {
  step s;
  step_init(&s, &(potential_case){id, potential_parameter}, 2);
  set(&s.m[0], "1/4");
  set(&s.loads[0], "1/4");
  set(&s.m[1], m);
  set(&s.loads[1], load);
  set(&s.eta, eta);
  cr_assert_eq(by_average(&s), average, "%s", phibal_status_message());
  cr_assert_eq(by_argmax(&s, PRECISION), argmax, "%s", phibal_status_message());
  cr_assert_not_null(strstr(phibal_status_message(), message), "%s", phibal_status_message());
  step_clear(&s);
}

Test(mirror, errors) {
  expect("0", PHIBAL_POTENTIAL_NEGENTROPY, "0", "1/4", "1/2", PHIBAL_OK, PHIBAL_ERROR_DOMAIN,
         "at m: gradient of negentropy: coordinate 2 of 2 (0) is outside the domain x > 0");
  expect("0", PHIBAL_POTENTIAL_NEGENTROPY, "1/4", "0", "1", PHIBAL_ERROR_DOMAIN,
         PHIBAL_ERROR_UNDECIDED, "boundary");
  expect("1/2", PHIBAL_POTENTIAL_RENYI, "1/4", "0", "1", PHIBAL_ERROR_DOMAIN,
         PHIBAL_ERROR_UNDECIDED, "component 2 of 2");
  /* With m = load = 0 every price up to -1/(alpha - 1) maximises. */
  expect("2", PHIBAL_POTENTIAL_TSALLIS, "0", "0", "1/2", PHIBAL_OK, PHIBAL_ERROR_UNDECIDED,
         "boundary");
  expect("1", PHIBAL_POTENTIAL_LP, "1/4", "1/2", "1/2", PHIBAL_OK, PHIBAL_ERROR_UNSUPPORTED,
         "strictly convex");
  expect("inf", PHIBAL_POTENTIAL_LP, "1/4", "1/2", "1/2", PHIBAL_OK, PHIBAL_ERROR_UNSUPPORTED,
         "strictly convex");
  expect("0", PHIBAL_POTENTIAL_EUCLID, "1/4", "1/2", "0", PHIBAL_ERROR_ARGUMENT,
         PHIBAL_ERROR_ARGUMENT, "eta");
  expect("0", PHIBAL_POTENTIAL_EUCLID, "1/4", "1/2", "1.5", PHIBAL_ERROR_ARGUMENT,
         PHIBAL_ERROR_ARGUMENT, "eta");
  expect("0", PHIBAL_POTENTIAL_EUCLID, "1/4", "inf", "1/2", PHIBAL_ERROR_DOMAIN,
         PHIBAL_ERROR_DOMAIN, "coordinate 2 of 2");
  expect("1", PHIBAL_POTENTIAL_TSALLIS, "1/4", "1/4", "1/2", PHIBAL_ERROR_ARGUMENT,
         PHIBAL_ERROR_ARGUMENT, "alpha");
}

/* tanh(250) is 1 - 2^-720: at 192 bits the conjugate's domain cannot be told to hold it. */
Test(mirror, more_precision_decides) {
  step s;
  step_init(&s, &(potential_case){PHIBAL_POTENTIAL_LOG_COSH, "1000"}, 1);
  set(&s.m[0], "1/4");
  set(&s.loads[0], "1/2");
  set(&s.eta, "1/2");
  cr_assert_eq(by_argmax(&s, PRECISION), PHIBAL_ERROR_UNDECIDED);
  phibal_enclosure_clear(&s.phi.parameter);
  case_init(&s.phi, &(potential_case){PHIBAL_POTENTIAL_LOG_COSH, "1000"}, PRECISION);
  ok(by_argmax(&s, 2048));
  cr_assert(mpfr_cmp_d(s.next[1][0].lo, 0.375) <= 0 && mpfr_cmp_d(s.next[1][0].hi, 0.375) >= 0 &&
            is_narrow(&s.next[1][0]));
  step_clear(&s);
}
