/* Enclosure functions against Arb and against limits worked out apart from MPFR. Every operation is
   held to the strongest statement there is: each end is the least (greatest) value over the
   arguments, correctly rounded outward; or, where some pair of members has no value, the failure
   says so and the result is the whole line. */
#include "arb_oracle.h"
#include <criterion/criterion.h>
#include <math.h>

typedef phibal_status (*operation_run)(phibal_enclosure *, const phibal_enclosure *,
                                       const phibal_enclosure *);
typedef void (*operation_truth)(arb_t, const arb_t, const arb_t, slong);
typedef double (*operation_limit)(double, double);

/* run: ours. truth: Arb's, where arguments and result are finite. limit: the value elsewhere, NaN
   for none, of arguments that stand for their class (0, below 1, 1, above 1, infinite). */
typedef struct operation {
  const char *name;
  operation_run run;
  operation_truth truth;
  operation_limit limit;
  bool binary;
} operation;

#define UNARY(name, call)                                                                          \
  static phibal_status run_##name(phibal_enclosure *z, const phibal_enclosure *x,                  \
                                  const phibal_enclosure *y) {                                     \
    (void)y;                                                                                       \
    call;                                                                                          \
  }                                                                                                \
  static void truth_##name(arb_t z, const arb_t x, const arb_t y, slong precision) {               \
    (void)y;                                                                                       \
    arb_##name(z, x, precision);                                                                   \
  }                                                                                                \
  static double limit_##name(double a, double b) {                                                 \
    (void)b;                                                                                       \
    return name(a);                                                                                \
  }
UNARY(exp, (phibal_enclosure_exp(z, x), (void)0); return PHIBAL_OK)
UNARY(expm1, (phibal_enclosure_expm1(z, x), (void)0); return PHIBAL_OK)
UNARY(tanh, (phibal_enclosure_tanh(z, x), (void)0); return PHIBAL_OK)
UNARY(sqrt, return phibal_enclosure_sqrt(z, x))
UNARY(log, return phibal_enclosure_log(z, x))
UNARY(log1p, return phibal_enclosure_log1p(z, x))
#undef UNARY

static phibal_status run_neg(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *y) {
  (void)y;
  phibal_enclosure_neg(z, x);
  return PHIBAL_OK;
}
static phibal_status run_abs(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *y) {
  (void)y;
  phibal_enclosure_abs(z, x);
  return PHIBAL_OK;
}
static void truth_neg(arb_t z, const arb_t x, const arb_t y, slong precision) {
  (void)y;
  (void)precision;
  arb_neg(z, x);
}
static void truth_abs(arb_t z, const arb_t x, const arb_t y, slong precision) {
  (void)y;
  (void)precision;
  arb_abs(z, x);
}
static double limit_neg(double a, double b) {
  (void)b;
  return -a;
}
static double limit_abs(double a, double b) {
  (void)b;
  return fabs(a);
}
static double limit_add(double a, double b) {
  return a + b;
}
static double limit_sub(double a, double b) {
  return a - b;
}
static double limit_mul(double a, double b) {
  return a * b;
}
static double limit_div(double a, double b) {
  return b == 0 ? (double)NAN : a / b;
}
/* C's pow but for the two forms that it calls 1 and that have no limit. */
static double limit_pow(double a, double b) {
  if (a < 0 || (isinf(a) && b == 0) || (a == 1 && isinf(b))) return (double)NAN;
  return pow(a, b);
}

static const operation operations[] = {
    {"add", phibal_enclosure_add, arb_add, limit_add, true},
    {"sub", phibal_enclosure_sub, arb_sub, limit_sub, true},
    {"mul", phibal_enclosure_mul, arb_mul, limit_mul, true},
    {"div", phibal_enclosure_div, arb_div, limit_div, true},
    {"pow", phibal_enclosure_pow, arb_pow, limit_pow, true},
    {"neg", run_neg, truth_neg, limit_neg, false},
    {"abs", run_abs, truth_abs, limit_abs, false},
    {"sqrt", run_sqrt, truth_sqrt, limit_sqrt, false},
    {"exp", run_exp, truth_exp, limit_exp, false},
    {"expm1", run_expm1, truth_expm1, limit_expm1, false},
    {"log", run_log, truth_log, limit_log, false},
    {"log1p", run_log1p, truth_log1p, limit_log1p, false},
    {"tanh", run_tanh, truth_tanh, limit_tanh, false},
};
enum { OPERATION_COUNT = sizeof operations / sizeof *operations };

/* Stands for x among the numbers that have the same limits as it. */
static double class_of(mpfr_srcptr x) {
  double sign = mpfr_sgn(x);
  if (mpfr_inf_p(x)) return sign * (double)INFINITY;
  int order = mpfr_cmpabs_ui(x, 1);
  return order > 0 ? 2 * sign : order == 0 ? sign : sign / 2;
}

/* Arb's ball cannot tell tanh and expm1 from their limits +-1 far out. |f| is there in
   (1 - 2^-5000, 1), whose members all round alike at the precisions under test. */
static bool is_saturated(const operation *f, mpfr_srcptr a) {
  return (f->limit == limit_tanh && mpfr_cmpabs_ui(a, 1 << 11) > 0) ||
         (f->limit == limit_expm1 && mpfr_cmp_si(a, -(1 << 11)) < 0);
}

static void saturated_truth(arb_t z, int sign) {
  arb_one(z);
  arb_mul_2exp_si(z, z, -5001);
  arb_sub_ui(z, z, 1, ARF_PREC_EXACT);
  if (sign > 0) arb_neg(z, z);
}

enum { FIRST_TRUTH = 128, LAST_TRUTH = 1 << 13 };

/* r = f(a, b) for finite a, b and result, correctly rounded: Arb's precision grows until both ends
   of its ball round alike. Where they never do, f(a, b) is a number of r's precision itself. */
static void round_truth(mpfr_ptr r, const operation *f, mpfr_srcptr a, mpfr_srcptr b,
                        mpfr_rnd_t direction) {
  arb_t x, y, z;
  mpfr_t other;
  arb_init(x), arb_init(y), arb_init(z);
  mpfr_init2(other, mpfr_get_prec(r));
  oracle_set_fr(x, a);
  oracle_set_fr(y, b);
  bool decided = false;
  for (slong precision = FIRST_TRUTH; !decided && precision <= LAST_TRUTH; precision *= 2) {
    f->truth(z, x, y, precision);
    if (is_saturated(f, a)) saturated_truth(z, mpfr_sgn(a));
    cr_assert(oracle_says_something(z) || precision < LAST_TRUTH, "%s: no truth from Arb", f->name);
    if (!oracle_says_something(z)) continue;
    oracle_lower_end(r, z, direction);
    oracle_upper_end(other, z, direction);
    decided = mpfr_equal_p(r, other);
  }
  if (!decided) arf_get_mpfr(r, arb_midref(z), MPFR_RNDN);
  mpfr_clear(other);
  arb_clear(x), arb_clear(y), arb_clear(z);
}

/* r = f(a, b) rounded, limits included; false where there is no value. */
static bool evaluate(mpfr_ptr r, const operation *f, mpfr_srcptr a, mpfr_srcptr b,
                     mpfr_rnd_t direction) {
  double limit = f->limit(class_of(a), f->binary ? class_of(b) : 0);
  if (isnan(limit)) return false;
  if (isinf(limit) || mpfr_inf_p(a) || (f->binary && mpfr_inf_p(b)))
    mpfr_set_d(r, limit, direction);
  else
    round_truth(r, f, a, b, direction);
  return true;
}

/* Members of x that decide: the ends, and -1, 0, 1 where they are inside. */
enum { MEMBERS = 5 };
static int choose_members(mpfr_t member[MEMBERS], const phibal_enclosure *x) {
  int n = 0;
  mpfr_init2(member[n], mpfr_get_prec(x->lo));
  mpfr_set(member[n++], x->lo, MPFR_RNDN);
  mpfr_init2(member[n], mpfr_get_prec(x->hi));
  mpfr_set(member[n++], x->hi, MPFR_RNDN);
  for (int v = -1; v <= 1; v++)
    if (mpfr_cmp_si(x->lo, v) < 0 && mpfr_cmp_si(x->hi, v) > 0) {
      mpfr_init2(member[n], 2);
      mpfr_set_si(member[n++], v, MPFR_RNDN);
    }
  return n;
}

static void clear_members(mpfr_t member[MEMBERS], int n) {
  for (int i = 0; i < n; i++) mpfr_clear(member[i]);
}

/* want = what f(x, y) must be; false where it must fail. */
static bool expect(phibal_enclosure *want, const operation *f, const phibal_enclosure *x,
                   const phibal_enclosure *y) {
  mpfr_t a[MEMBERS], b[MEMBERS], value;
  int na = choose_members(a, x), nb = choose_members(b, y);
  mpfr_init2(value, mpfr_get_prec(want->lo));
  mpfr_set_inf(want->lo, 1);
  mpfr_set_inf(want->hi, -1);
  bool defined = true;
  for (int i = 0; i < na && defined; i++)
    for (int j = 0; j < (f->binary ? nb : 1) && defined; j++) {
      defined = evaluate(value, f, a[i], b[j], MPFR_RNDD);
      if (!defined) break;
      mpfr_min(want->lo, want->lo, value, MPFR_RNDD);
      evaluate(value, f, a[i], b[j], MPFR_RNDU);
      mpfr_max(want->hi, want->hi, value, MPFR_RNDU);
    }
  if (!defined) {
    mpfr_set_inf(want->lo, -1);
    mpfr_set_inf(want->hi, 1);
  }
  mpfr_clear(value);
  clear_members(a, na);
  clear_members(b, nb);
  return defined;
}

static bool is_same(const phibal_enclosure *x, const phibal_enclosure *y) {
  return mpfr_equal_p(x->lo, y->lo) && mpfr_equal_p(x->hi, y->hi);
}

static void check_result(const operation *f, const phibal_enclosure *x, const phibal_enclosure *y,
                         phibal_status status, const phibal_enclosure *z,
                         const phibal_enclosure *want, bool defined, const char *how) {
  phibal_status expected = defined ? PHIBAL_OK : PHIBAL_ERROR_DOMAIN;
  if (status == expected && is_same(z, want)) return;
  char text[1024];
  mpfr_snprintf(text, sizeof text, "[%Ra, %Ra] %s [%Ra, %Ra] %s: [%Ra, %Ra], not [%Ra, %Ra]", x->lo,
                x->hi, f->name, y->lo, y->hi, how, z->lo, z->hi, want->lo, want->hi);
  cr_assert_fail("status %d: %s", (int)status, text);
}

/* f(x, y) into a place of its own, and over each argument when the precisions allow it. */
static void check(const operation *f, const phibal_enclosure *x, const phibal_enclosure *y,
                  mpfr_prec_t precision) {
  phibal_enclosure z, want;
  phibal_enclosure_init(&z, precision);
  phibal_enclosure_init(&want, precision);
  bool defined = expect(&want, f, x, y);
  check_result(f, x, y, f->run(&z, x, y), &z, &want, defined, "");
  if (mpfr_get_prec(x->lo) == precision) {
    phibal_enclosure_set(&z, x);
    check_result(f, x, y, f->run(&z, &z, y), &z, &want, defined, "over the first argument");
  }
  if (mpfr_get_prec(y->lo) == precision) {
    phibal_enclosure_set(&z, y);
    check_result(f, x, y, f->run(&z, x, &z), &z, &want, defined, "over the second argument");
  }
  if (mpfr_get_prec(x->lo) == precision) {
    defined = expect(&want, f, x, x);
    phibal_enclosure_set(&z, x);
    check_result(f, x, x, f->run(&z, &z, &z), &z, &want, defined, "over both arguments");
  }
  phibal_enclosure_clear(&z);
  phibal_enclosure_clear(&want);
}

/* Every pair of intervals with these ends, so every case of signs, zeros, ones and infinities, at a
   precision that rounds nearly every result. */
static const double grid[] = {-INFINITY, -3, -1, -0.75, -0.0, 0.0, 0.5, 0.75, 1, 1.5, 5, INFINITY};
enum { GRID = sizeof grid / sizeof *grid, GRID_PRECISION = 3 };

static void check_grid(const operation *f) {
  phibal_enclosure x, y;
  phibal_enclosure_init(&x, GRID_PRECISION);
  phibal_enclosure_init(&y, GRID_PRECISION);
  for (int i = 0; i < GRID * GRID; i++)
    for (int j = 0; j < (f->binary ? GRID * GRID : 1); j++) {
      if (i / GRID > i % GRID || j / GRID > j % GRID) continue;
      mpfr_set_d(x.lo, grid[i / GRID], MPFR_RNDN);
      mpfr_set_d(x.hi, grid[i % GRID], MPFR_RNDN);
      mpfr_set_d(y.lo, grid[j / GRID], MPFR_RNDN);
      mpfr_set_d(y.hi, grid[j % GRID], MPFR_RNDN);
      check(f, &x, &y, GRID_PRECISION);
    }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&y);
}

Test(enclosure, all_sign_cases) {
  for (int i = 0; i < OPERATION_COUNT; i++) check_grid(&operations[i]);
}

typedef struct source {
  gmp_randstate_t state;
} source;

static long draw(source *s, long low, long high) {
  return low + (long)gmp_urandomm_ui(s->state, (unsigned long)(high - low + 1));
}

/* A number of one of the kinds that functions find hard. */
static void draw_number(mpfr_ptr x, source *s) {
  mpfr_urandomb(x, s->state);
  mpfr_mul_2si(x, x, draw(s, -3, 3), MPFR_RNDN);
  switch (draw(s, 0, 9)) {
  case 0:
    mpfr_set_si(x, draw(s, 0, 20), MPFR_RNDN);
    break;
  case 1:
    mpfr_set_si_2exp(x, draw(s, 0, 7), draw(s, -60, 60), MPFR_RNDN);
    break;
  case 2:
    mpfr_mul_2si(x, x, draw(s, -2500, -20), MPFR_RNDN);
    break;
  case 3:
    mpfr_mul_2si(x, x, draw(s, 5, 70), MPFR_RNDN);
    break;
  case 4:
    mpfr_mul_2si(x, x, draw(s, 1, 30), MPFR_RNDN);
    break;
  case 5:
    mpfr_mul_2si(x, x, draw(s, -400, -1), MPFR_RNDN);
    mpfr_add_ui(x, x, 1, MPFR_RNDN);
    break;
  case 6:
    mpfr_set_ui(x, 1, MPFR_RNDN);
    for (long n = draw(s, 0, 2); n > 0; n--) mpfr_nextbelow(x);
    break;
  case 7:
    /* Where exp leaves MPFR's exponents: (2^30 - 1) log 2 = 744261117.26... */
    mpfr_set_ui(x, 744261117, MPFR_RNDN);
    for (long n = draw(s, 0, 2); n > 0; n--) mpfr_nextabove(x);
    break;
  default:
    break;
  }
  if (draw(s, 0, 2) == 0) mpfr_neg(x, x, MPFR_RNDN);
}

/* A point, a few units wide, or with ends that have nothing to do with each other. */
static void draw_enclosure(phibal_enclosure *x, source *s) {
  draw_number(x->lo, s);
  draw_number(x->hi, s);
  /* The numbers next to 0 are 2^-1073741824 away, beyond what Arb's sums can show. */
  if (mpfr_zero_p(x->lo)) {
    mpfr_abs(x->hi, x->hi, MPFR_RNDN);
    return;
  }
  switch (draw(s, 0, 3)) {
  case 0:
    mpfr_set(x->hi, x->lo, MPFR_RNDN);
    break;
  case 1:
    mpfr_set(x->hi, x->lo, MPFR_RNDN);
    for (long n = draw(s, 1, 3); n > 0; n--) mpfr_nextabove(x->hi);
    break;
  default:
    break;
  }
  if (mpfr_greater_p(x->lo, x->hi)) mpfr_swap(x->lo, x->hi);
}

static void check_random(const operation *f, int cases) {
  static const mpfr_prec_t precisions[] = {2, 3, 24, 53, 64, 113, 300};
  source s;
  gmp_randinit_default(s.state);
  gmp_randseed_ui(s.state, 20250331);
  for (int i = 0; i < cases; i++) {
    phibal_enclosure x, y;
    mpfr_prec_t px = precisions[draw(&s, 0, 6)];
    phibal_enclosure_init(&x, px);
    phibal_enclosure_init(&y, draw(&s, 0, 1) ? px : precisions[draw(&s, 0, 6)]);
    draw_enclosure(&x, &s);
    draw_enclosure(&y, &s);
    check(f, &x, &y, draw(&s, 0, 1) ? px : precisions[draw(&s, 0, 6)]);
    phibal_enclosure_clear(&x);
    phibal_enclosure_clear(&y);
  }
  gmp_randclear(s.state);
}

Test(enclosure, random_arguments) {
  for (int i = 0; i < OPERATION_COUNT; i++) check_random(&operations[i], 2000);
}
