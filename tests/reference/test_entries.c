/* The doors of the reference (reference/entries.c): in every range of exponents and every
   floating-point environment that a caller may have set, a result is right or refused by name, and
   the caller's settings are what they were. A precision for which MPFR would end the program is
   refused. */
#include <phibal/environment.h>
#include <phibal/precision.h>
#include <phibal/reference.h>
#include <phibal/reference_moe.h>
#include <phibal/reference_capacity.h>
#include <phibal/reference_gate_factor.h>
#include <phibal/reference_quantile.h>
#include <phibal/reference_sinkhorn.h>
#include <phibal/reference_zero_experts.h>
#include <phibal/rounding.h>
#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

typedef struct {
  const char *name;
  mpfr_exp_t emin, emax;
} range;

/* Formats in MPFR's convention: significands in [1/2, 1), subnormal numbers included. */
static const range ranges[] = {
    {"binary16", -23, 16},          {"bfloat16", -132, 128}, {"binary32", -148, 128},
    {"binary64", -1073, 1024},      {"only ones", 1, 1},     {"only greater than 15", 5, 9},
    {"only less than 1/16", -9, -5}};
enum { RANGES = sizeof ranges / sizeof *ranges, BITS = 40, WIDE_BITS = 400 };
static const range extremes = {"MPFR's extremes", 0, 0};

static void set_range(const range *r) {
  mpfr_set_emin(r == &extremes ? mpfr_get_emin_min() : r->emin);
  mpfr_set_emax(r == &extremes ? mpfr_get_emax_max() : r->emax);
}

static void set_default(void) {
  mpfr_set_emin(MPFR_EMIN_DEFAULT);
  mpfr_set_emax(MPFR_EMAX_DEFAULT);
}

/* Every function on enclosures by its number, on x and y. */
static phibal_status call(int i, phibal_enclosure *z, const phibal_enclosure *x,
                          const phibal_enclosure *y, const char **name) {
  static const char *const names[] = {"set",     "set_si", "set_d", "set_fr", "set_q", "hull",
                                      "set_str", "neg",    "abs",   "exp",    "expm1", "tanh",
                                      "add",     "sub",    "mul",   "div",    "sqrt",  "log",
                                      "log1p",   "pow",    "sum",   "width"};
  const phibal_enclosure both[] = {*x, *y};
  mpq_t q;
  phibal_status status = PHIBAL_OK;
  if (i == (int)(sizeof names / sizeof *names)) {
    *name = NULL;
    return PHIBAL_OK;
  }
  *name = names[i];
  switch (i) {
  case 0:
    phibal_enclosure_set(z, x);
    break;
  case 1:
    phibal_enclosure_set_si(z, mpfr_get_si(x->lo, MPFR_RNDN) + 12345678901);
    break;
  case 2:
    phibal_enclosure_set_d(z, mpfr_get_d(x->lo, MPFR_RNDN));
    break;
  case 3:
    phibal_enclosure_set_fr(z, x->lo);
    break;
  case 4:
    mpq_init(q);
    mpq_set_si(q, -355, 113 * 4096);
    phibal_enclosure_set_q(z, q);
    mpq_clear(q);
    break;
  case 5:
    phibal_enclosure_hull(z, x, y);
    break;
  case 6:
    status = phibal_enclosure_set_str(z, "-123456.789e-3");
    break;
  case 7:
    phibal_enclosure_neg(z, x);
    break;
  case 8:
    phibal_enclosure_abs(z, x);
    break;
  case 9:
    phibal_enclosure_exp(z, x);
    break;
  case 10:
    phibal_enclosure_expm1(z, x);
    break;
  case 11:
    phibal_enclosure_tanh(z, x);
    break;
  case 12:
    status = phibal_enclosure_add(z, x, y);
    break;
  case 13:
    status = phibal_enclosure_sub(z, x, y);
    break;
  case 14:
    status = phibal_enclosure_mul(z, x, y);
    break;
  case 15:
    status = phibal_enclosure_div(z, x, y);
    break;
  case 16:
    status = phibal_enclosure_sqrt(z, x);
    break;
  case 17:
    status = phibal_enclosure_log(z, x);
    break;
  case 18:
    status = phibal_enclosure_log1p(z, x);
    break;
  case 19:
    status = phibal_enclosure_pow(z, x, y);
    break;
  case 20:
    status = phibal_enclosure_sum(z, 2, both);
    break;
  case 21:
    phibal_enclosure_width(z->hi, x);
    mpfr_set_inf(z->lo, -1);
    break;
  }
  return status;
}

static bool fits(mpfr_srcptr x, const range *r) {
  return !mpfr_regular_p(x) || r == &extremes ||
         (mpfr_get_exp(x) >= r->emin && mpfr_get_exp(x) <= r->emax);
}

/* Not where the default range ends. */
static bool inside_default(mpfr_srcptr x) {
  return mpfr_regular_p(x) && mpfr_get_exp(x) > MPFR_EMIN_DEFAULT &&
         mpfr_get_exp(x) < MPFR_EMAX_DEFAULT;
}

/* One range against the default's: the same where it fits, and else outward to the range. */
static void check_enclosures(const range *r) {
  static const double numbers[] = {0,        -0x1p-1074, 0x1.8p-140, -0x1.5p-30, 0x1p-12, -0.03125,
                                   0.1,      -0.75,      1,          1.25,       -3,      17.5,
                                   -99.9999, 70000,      -3e9,       0x1.7p130,  -1e300};
  enum { NUMBERS = sizeof numbers / sizeof *numbers };
  phibal_enclosure x, y, got, tight, wide;
  phibal_enclosure *all[] = {&x, &y, &got, &tight, &wide};
  for (int i = 0; i < 5; i++)
    phibal_enclosure_init(all[i], i == 4 ? WIDE_BITS : BITS + 13 * (i < 2));
  int same = 0, outward = 0;
  for (int i = 0; i < NUMBERS; i++)
    for (int j = 0; j < NUMBERS; j++) {
      phibal_enclosure_set_d(&x, numbers[i]);
      phibal_enclosure_set_d(&y, numbers[j]);
      if (i == j) mpfr_add_d(x.hi, x.hi, 0.5, MPFR_RNDU);
      const char *name;
      for (int f = 0;; f++) {
        const phibal_status expected = call(f, &tight, &x, &y, &name);
        if (!name) break;
        if (r == &extremes) set_range(r);
        call(f, &wide, &x, &y, &name);
        set_range(r);
        const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
        const phibal_status status = call(f, &got, &x, &y, &name);
        const bool kept = mpfr_get_emin() == emin && mpfr_get_emax() == emax;
        set_default();
        cr_assert(kept, "%s, %s: the range was changed", r->name, name);
        cr_assert_eq(status, expected, "%s, %s(%g, %g)", r->name, name, numbers[i], numbers[j]);
        cr_assert(fits(got.lo, r) && fits(got.hi, r), "%s, %s(%g, %g): an end out of the range",
                  r->name, name, numbers[i], numbers[j]);
        cr_assert(mpfr_lessequal_p(got.lo, wide.lo) && mpfr_greaterequal_p(got.hi, wide.hi),
                  "%s, %s(%g, %g): left out", r->name, name, numbers[i], numbers[j]);
        /* As narrow as the range lets it be; the extremes hold what the default must round. */
        mpfr_ptr const ends[][2] = {{got.lo, tight.lo}, {got.hi, tight.hi}};
        for (int e = 0; e < 2; e++) {
          const bool in = r == &extremes ? inside_default(ends[e][1]) : fits(ends[e][1], r);
          cr_assert(r != &extremes || mpfr_cmp(ends[e][0], ends[e][1]) * (e ? -1 : 1) >= 0,
                    "%s, %s(%g, %g): wider than by default", r->name, name, numbers[i], numbers[j]);
          cr_assert(!in || mpfr_equal_p(ends[e][0], ends[e][1]),
                    "%s, %s(%g, %g): wider than it need be", r->name, name, numbers[i], numbers[j]);
          *(in ? &same : &outward) += 1;
        }
      }
    }
  cr_assert(same > 1000 && outward > 10, "%s: %d ends fit, %d do not", r->name, same, outward);
  for (int i = 0; i < 5; i++) phibal_enclosure_clear(all[i]);
}

Test(entries, enclosures_in_every_range) {
  for (int r = 0; r < RANGES; r++) check_enclosures(&ranges[r]);
  check_enclosures(&extremes);
}

static phibal_status tenth(void *context, mpfr_prec_t precision, phibal_enclosure *value) {
  (void)context, (void)precision;
  return phibal_enclosure_set_str(value, "0.1");
}

static void check_rounding(const char *where) {
  phibal_enclosure x;
  double got = 0;
  phibal_enclosure_init(&x, 100);
  phibal_enclosure_set_str(&x, "0.1");
  cr_assert(phibal_round_enclosure(&x, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &got) &&
                got == (double)0.1f,
            "%s: %g", where, got);
  cr_assert_eq(
      phibal_round_correctly(tenth, NULL, 200, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_NEAREST, &got),
      PHIBAL_OK);
  cr_assert(got == 0.1, "%s: %g", where, got);
  cr_assert_eq(phibal_format_ulp(PHIBAL_FORMAT_BINARY32, 1.5), 0x1p-23, "%s", where);
  char lo[PHIBAL_DECIMAL_SIZE(9)], hi[PHIBAL_DECIMAL_SIZE(9)];
  cr_assert_eq(phibal_enclosure_get_decimal(&x, 9, lo, hi, sizeof lo), PHIBAL_OK);
  cr_assert(strtod(lo, NULL) <= 0.1 && strtod(hi, NULL) >= 0.1 && strtod(hi, NULL) < 0.100001,
            "%s: %s, %s", where, lo, hi);
  phibal_enclosure_clear(&x);
}

Test(entries, rounding_in_every_range) {
  for (int r = 0; r < RANGES; r++) {
    /* The number was made in the default range, and given to a function in another. */
    phibal_enclosure x;
    double got = 0;
    phibal_enclosure_init(&x, 100);
    phibal_enclosure_set_str(&x, "0.1");
    set_range(&ranges[r]);
    cr_assert(phibal_round_enclosure(&x, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &got) &&
                  got == (double)0.1f,
              "%s: %g", ranges[r].name, got);
    if (ranges[r].emin <= -23 && ranges[r].emax >= 16) check_rounding(ranges[r].name);
    set_default();
    phibal_enclosure_clear(&x);
  }
  set_range(&extremes);
  check_rounding(extremes.name);
  set_default();
}

#define REFUSED(call)                                                                              \
  cr_assert((phibal_status_set(PHIBAL_OK, " "), (call)) == PHIBAL_ERROR_UNSUPPORTED &&             \
                strstr(phibal_status_message(), why) &&                                            \
                !strncmp(phibal_status_message(), #call, strcspn(#call, "(")),                     \
            "%s: %s: %s", where, #call, phibal_status_message())

/* Each other function, with arguments that it would not survive. */
static void check_refused(const char *where, const char *why) {
  const phibal_reference_result none = {0};
  const phibal_reference_ffn_inputs inputs = {0};
  const phibal_reference_ffn_saved saved = {0};
  const phibal_reference_ffn_results ffn_results = {0};
  REFUSED(phibal_reference_value(0, 0, 0, 0));
  REFUSED(phibal_reference_gradient(0, 0, 0, 0));
  REFUSED(phibal_reference_hessian(0, 0, 0, 0));
  REFUSED(phibal_reference_hessian_product(0, 0, 0, 0, 0));
  REFUSED(phibal_reference_conjugate(0, 0, 0, 0));
  REFUSED(phibal_reference_conjugate_gradient(0, 0, 0, 0));
  REFUSED(phibal_reference_mirror_ema(0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_mirror_argmax(0, 0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_token_forward(0, 0, 0, 0));
  REFUSED(phibal_reference_token_select(0, 0, 0, 0));
  REFUSED(phibal_reference_token_backward(0, 0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_loads((phibal_reference_batch){0}, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_frequency(0, 0, 0, 0, 0));
  REFUSED(phibal_reference_ema(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_price(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_price_centred(0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_balance_loss(0, 0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_switch_loss(0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_frequency_centred(0, 0, 0, 0));
  REFUSED(phibal_reference_sequence_loss((phibal_reference_batch){0}, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_z_loss(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_loss_free_update(0, 0, 0, 0, 0));
  REFUSED(phibal_reference_quantile_required(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_quantile(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_capacity_limit(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_capacity(0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_capacity_place(0, 0, 0, 0, 0));
  REFUSED(phibal_reference_capacity_gates(0, 0, 0, 0, 0, 0, 0, none));
  const phibal_reference_zero_token token = {0};
  const phibal_reference_zero_results results = {0};
  REFUSED(phibal_reference_zero_experts(0, token, 0, results));
  const phibal_reference_factor_batch batch = {0};
  const phibal_reference_factor_results factor_results = {0};
  REFUSED(phibal_reference_gate_factor(batch, 0, factor_results));
  REFUSED(phibal_reference_sinkhorn(0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_permutation(0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_product(0, 0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_activation(0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_ffn_forward(0, 0, inputs, 0, ffn_results));
  REFUSED(phibal_reference_ffn_backward(0, 0, inputs, saved, 0, 0));
  REFUSED(phibal_reference_combine((phibal_reference_combination){0}, 0, 0,
                                   (phibal_reference_result){0}));
  REFUSED(phibal_reference_combine_backward((phibal_reference_combination){0}, 0, 0, 0,
                                            (phibal_reference_result){0}));
  REFUSED(phibal_reference_maxvio_counts(0, 0, 0, 0));
  REFUSED(phibal_reference_maxvio_mean(0, 0, 0, 0));
  REFUSED(phibal_reference_gini(0, 0, 0, 0));
  REFUSED(phibal_reference_entropy(0, 0, 0, 0));
}

Test(entries, the_others_refuse_another_range) {
  for (int r = 0; r < RANGES; r++) {
    set_range(&ranges[r]);
    check_refused(ranges[r].name, "MPFR's range of exponents");
    set_default();
  }
  mpfr_set_emin(MPFR_EMIN_DEFAULT + 1);
  check_refused("emin one too great", "MPFR's range of exponents");
  set_default();
  mpfr_set_emax(MPFR_EMAX_DEFAULT - 1);
  check_refused("emax one too small", "MPFR's range of exponents");
  set_default();
}

static const struct {
  const char *why;
  int rounding;
  unsigned mxcsr;
} environments[] = {
    {"rounding upward", FE_UPWARD, 0},           {"rounding downward", FE_DOWNWARD, 0},
    {"rounding towards zero", FE_TOWARDZERO, 0},
#ifdef __x86_64__
    {"flush-to-zero", FE_TONEAREST, 0x8000},     {"denormals-are-zero", FE_TONEAREST, 0x0040},
#endif
};

Test(entries, another_environment) {
  for (size_t e = 0; e < sizeof environments / sizeof *environments; e++) {
    const char *const why = environments[e].why;
    phibal_enclosure x;
    phibal_enclosure_init(&x, 53);
    fesetround(environments[e].rounding);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | environments[e].mxcsr);
#endif
    volatile double least = 0x1p-1074;
    phibal_enclosure_set_d(&x, least);
    check_rounding(why);
    check_refused(why, why);
    const char *kept = phibal_environment_changed();
    fesetenv(FE_DFL_ENV);
    cr_assert(kept && !strcmp(kept, why), "%s became %s", why, kept ? kept : "the default");
    cr_assert(mpfr_cmp_si_2exp(x.lo, 1, -1074) == 0 && mpfr_equal_p(x.lo, x.hi), "%s: not 2^-1074",
              why);
    phibal_enclosure_clear(&x);
  }
}

/* The functions that compute in OpenMP's threads ask these, too. */
Test(entries, another_range_in_a_thread) {
  omp_set_num_threads(2);
#pragma omp parallel
  if (omp_get_thread_num() == 1) mpfr_set_emax(16);
  const phibal_reference_ffn_inputs inputs = {0};
  const phibal_reference_ffn_saved saved = {0};
  const phibal_reference_ffn_results ffn_results = {0};
  const char *where = "in thread 1", *why = "in a thread of OpenMP";
  REFUSED(phibal_reference_loads((phibal_reference_batch){0}, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_product(0, 0, 0, 0, 0, 0, 0, 0));
  REFUSED(phibal_reference_ffn_forward(0, 0, inputs, 0, ffn_results));
  REFUSED(phibal_reference_ffn_backward(0, 0, inputs, saved, 0, 0));
#pragma omp parallel
  set_default();
}

#define TOO_PRECISE(call)                                                                          \
  cr_assert((phibal_status_set(PHIBAL_OK, " "), (call)) == PHIBAL_ERROR_ARGUMENT &&                \
                strstr(phibal_status_message(), "bits of precision; at least 1, at most") &&       \
                !strncmp(phibal_status_message(), #call, strcspn(#call, "(")),                     \
            "%s: %s", #call, phibal_status_message())

Test(entries, too_precise) {
  const phibal_reference_ffn_inputs inputs = {0};
  const phibal_reference_ffn_saved saved = {0};
  const phibal_reference_ffn_results ffn_results = {0};
  const mpfr_prec_t precisions[] = {PHIBAL_MAX_PRECISION + 1L, 1L << 50, MPFR_PREC_MAX};
  for (int i = 0; i < 3; i++) {
    const mpfr_prec_t p = precisions[i];
    phibal_enclosure z = {0};
    double rounded;
    TOO_PRECISE(phibal_enclosure_create(&z, p));
    cr_assert_null(z.lo->_mpfr_d);
    phibal_status_set(PHIBAL_OK, " ");
    phibal_enclosure_init(&z, p);
    cr_assert(strstr(phibal_status_message(), "phibal_enclosure_init: "));
    cr_assert(phibal_enclosure_is_zero(&z) && mpfr_get_prec(z.lo) == MPFR_PREC_MIN &&
              mpfr_get_prec(z.hi) == MPFR_PREC_MIN);
    phibal_enclosure_set_d(&z, 0.1);
    cr_assert(mpfr_cmp_d(z.lo, 0.1) <= 0 && mpfr_cmp_d(z.hi, 0.1) >= 0);
    phibal_enclosure_clear(&z);
    z = (phibal_enclosure){0};
    cr_assert_null(phibal_enclosure_vector(1, p));
    TOO_PRECISE(phibal_round_correctly(tenth, 0, p, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_NEAREST,
                                       &rounded));
    TOO_PRECISE(phibal_reference_token_init(0, 0, 0, p));
    TOO_PRECISE(phibal_reference_mirror_argmax(0, 0, 0, 0, 0, p, 0, 0));
    TOO_PRECISE(phibal_reference_loads((phibal_reference_batch){0}, 0, p, 0, 0, 0));
    TOO_PRECISE(phibal_reference_ema(0, 0, 0, 0, p, 0));
    TOO_PRECISE(phibal_reference_price(0, 0, 0, p, 0, 0));
    TOO_PRECISE(phibal_reference_price_centred(0, 0, 0, p, 0, 0, 0));
    TOO_PRECISE(phibal_reference_balance_loss(0, 0, 0, 0, 0, p, 0, 0));
    TOO_PRECISE(phibal_reference_switch_loss(0, 0, 0, 0, p, 0, 0));
    TOO_PRECISE(phibal_reference_frequency_centred(0, 0, p, 0));
    TOO_PRECISE(phibal_reference_sequence_loss((phibal_reference_batch){0}, 0, 0, 0, p, 0));
    TOO_PRECISE(phibal_reference_z_loss(0, 0, 0, 0, p, 0));
    TOO_PRECISE(phibal_reference_product(0, 0, 0, 0, 0, p, 0, 0));
    TOO_PRECISE(phibal_reference_activation(0, 0, p, 0, 0, 0));
    TOO_PRECISE(phibal_reference_ffn_forward(0, 0, inputs, p, ffn_results));
    TOO_PRECISE(phibal_reference_ffn_backward(0, 0, inputs, saved, p, 0));
    TOO_PRECISE(phibal_reference_combine((phibal_reference_combination){0}, 0, p,
                                         (phibal_reference_result){0}));
    TOO_PRECISE(phibal_reference_combine_backward((phibal_reference_combination){0}, 0, p, 0,
                                                  (phibal_reference_result){0}));
    TOO_PRECISE(phibal_reference_maxvio_counts(0, 0, p, 0));
    TOO_PRECISE(phibal_reference_maxvio_mean(0, 0, p, 0));
    TOO_PRECISE(phibal_reference_gini(0, 0, p, 0));
    TOO_PRECISE(phibal_reference_entropy(0, 0, p, 0));
  }
}

Test(entries, least_and_most_precise) {
  phibal_enclosure z = {0};
  TOO_PRECISE(phibal_enclosure_create(&z, 0));
  TOO_PRECISE(phibal_enclosure_create(&z, -1));
  cr_assert_null(phibal_enclosure_vector(1, 0));
  const mpfr_prec_t precisions[] = {1, 1000, PHIBAL_MAX_PRECISION};
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(phibal_enclosure_create(&z, precisions[i]), PHIBAL_OK);
    cr_assert(phibal_enclosure_is_zero(&z) && mpfr_get_prec(z.lo) == precisions[i] &&
              mpfr_get_prec(z.hi) == precisions[i]);
    phibal_enclosure_clear(&z);
  }
  cr_assert_null(phibal_enclosure_vector(SIZE_MAX, 53));
  cr_assert_null(phibal_enclosure_vector(SIZE_MAX / sizeof z, 53));
  cr_assert_null(phibal_enclosure_vector(SIZE_MAX / sizeof z / 16, PHIBAL_MAX_PRECISION));
#ifndef __SANITIZE_ADDRESS__
  /* Each number would fit, the vector does not. */
  const struct rlimit gibibyte = {1 << 30, 1 << 30};
  cr_assert_eq(setrlimit(RLIMIT_AS, &gibibyte), 0);
  cr_assert_null(phibal_enclosure_vector(128, 1 << 26));
  phibal_enclosure *few = phibal_enclosure_vector(8, 1 << 26);
  cr_assert_not_null(few);
  phibal_enclosure_vector_clear(few, 8);
#endif
}
