/* The double-double prices, before any rounding to binary32 can hide what is wrong with them,
   against the reference: both forms, to the bound that kernels/core/price.h states. */
#include "verify/random.h"
#include "kernels/core/price.h"
#include <criterion/criterion.h>
#include <math.h>
#include <phibal/reference_moe.h>

enum { PRECISION = 1200, MOST = 24 };

/* |hi + lo - truth|, an upper bound. */
static double distance(core_dd x, const phibal_enclosure *truth) {
  mpfr_t d;
  mpfr_init2(d, PRECISION);
  mpfr_sub_d(d, truth->lo, x.hi, MPFR_RNDN);
  mpfr_sub_d(d, d, x.lo, MPFR_RNDN);
  double low = fabs(mpfr_get_d(d, MPFR_RNDA));
  mpfr_sub_d(d, truth->hi, x.hi, MPFR_RNDN);
  mpfr_sub_d(d, d, x.lo, MPFR_RNDN);
  double high = fabs(mpfr_get_d(d, MPFR_RNDA));
  mpfr_clear(d);
  return low > high ? low : high;
}

/* The constant that the full form adds. */
static double added_constant(phibal_potential p) {
  if (p.id == PHIBAL_POTENTIAL_NEGENTROPY) return 1;
  if (p.id == PHIBAL_POTENTIAL_TSALLIS) return p.parameter <= 2 ? 1 : 1 / (p.parameter - 1);
  return p.id == PHIBAL_POTENTIAL_SOFTPLUS ? 0.5 : 0;
}

static void check_full(phibal_potential p, int E, const float *m, const phibal_enclosure *truth) {
  core_dd scratch[MOST];
  core_price plan = core_price_prepare(p, CORE_PRICE_FULL, E, m, scratch);
  for (int e = 0; e < E; e++) {
    core_dd got = core_price_value(&plan, m[e]);
    double size = fabs(mpfr_get_d(truth[e].lo, MPFR_RNDN));
    double scale = fmax(size, added_constant(p));
    if (size < 0x1p-900) continue; /* where double-doubles lose their low parts */
    double error = distance(got, &truth[e]) / scale;
    cr_assert(error <= 0x1p-91, "%s(%.17g), m = %a: price %a, error 2^%.1f",
              phibal_potential_describe(p.id)->name, p.parameter, (double)m[e], got.hi,
              log2(error));
  }
}

/* Reduced prices differ as prices do. */
static void check_reduced(phibal_potential p, int E, const float *m, phibal_enclosure *truth) {
  core_dd scratch[MOST], got[MOST];
  core_price plan = core_price_prepare(p, CORE_PRICE_REDUCED, E, m, scratch);
  double largest = 0, largest_got = 0;
  for (int e = 0; e < E; e++) {
    got[e] = core_price_value(&plan, m[e]);
    largest = fmax(largest, fabs(mpfr_get_d(truth[e].lo, MPFR_RNDN)));
    largest_got = fmax(largest_got, fabs(got[e].hi));
  }
  cr_assert_eq(plan.shift.hi, 0);
  if (largest < 0x1p-900) return;
  for (int e = 1; e < E; e++) {
    cr_assert_eq(phibal_enclosure_sub(&truth[e], &truth[e], &truth[0]), PHIBAL_OK);
    double error = distance(core_dd_sub(got[e], got[0]), &truth[e]) / (largest + largest_got);
    cr_assert(error <= 0x1p-91, "%s(%.17g), m = %a and %a: reduced prices, error 2^%.1f",
              phibal_potential_describe(p.id)->name, p.parameter, (double)m[e], (double)m[0],
              log2(error));
  }
  /* What reduced is for: near alpha = 1 it is near log m and not near 1 / (alpha - 1). */
  double smallest = 1;
  for (int e = 0; e < E; e++) smallest = fmin(smallest, (double)m[e]);
  if (p.id == PHIBAL_POTENTIAL_TSALLIS && fabs(p.parameter - 1) < 0.01 && smallest > 0)
    cr_assert(largest_got <= 200, "tsallis(%.17g): reduced price %g", p.parameter, largest_got);
}

static void check(phibal_potential p, int E, const float *m) {
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, PRECISION);
  cr_assert_eq(phibal_reference_price(&p, E, m, PRECISION, truth, NULL), PHIBAL_OK, "%s",
               phibal_status_message());
  check_full(p, E, m, truth);
  check_reduced(p, E, m, truth);
  phibal_enclosure_vector_clear(truth, (size_t)E);
}

Test(price, double_doubles_keep_their_bound) {
  static const phibal_potential potentials[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {PHIBAL_POTENTIAL_##ID, fallback},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {PHIBAL_POTENTIAL_LP, 1},
    {PHIBAL_POTENTIAL_LP, 1 + 0x1p-52},
    {PHIBAL_POTENTIAL_LP, 1.0 / 3 + 1},
    {PHIBAL_POTENTIAL_LP, 9.3},
    {PHIBAL_POTENTIAL_LP, 0x1p53 + 2},
    {PHIBAL_POTENTIAL_LP, INFINITY},
    {PHIBAL_POTENTIAL_SOFT_L1, 1e-12},
    {PHIBAL_POTENTIAL_SOFT_L1, 1e200},
    {PHIBAL_POTENTIAL_TSALLIS, 1e-20},
    {PHIBAL_POTENTIAL_TSALLIS, 0.3},
    {PHIBAL_POTENTIAL_TSALLIS, 0.999},
    {PHIBAL_POTENTIAL_TSALLIS, 1 - 0x1p-53},
    {PHIBAL_POTENTIAL_TSALLIS, 1 + 0x1p-52},
    {PHIBAL_POTENTIAL_TSALLIS, 1.001},
    {PHIBAL_POTENTIAL_TSALLIS, 2},
    {PHIBAL_POTENTIAL_TSALLIS, 2.1},
    {PHIBAL_POTENTIAL_TSALLIS, 1e6},
    {PHIBAL_POTENTIAL_TSALLIS, 1e17},
    {PHIBAL_POTENTIAL_RENYI, 1e-20},
    {PHIBAL_POTENTIAL_RENYI, 0.3},
    {PHIBAL_POTENTIAL_RENYI, 0.999},
    {PHIBAL_POTENTIAL_RENYI, 1 - 0x1p-53},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, 1e-150},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, 1e-6},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, 1e100},
    {PHIBAL_POTENTIAL_LOG_COSH, 77.7},
    {PHIBAL_POTENTIAL_LOG_COSH, 1e-200},
    {PHIBAL_POTENTIAL_LOG_COSH, 1e300},
  };
  random_stream r = random_start(10, 1, 0);
  for (size_t i = 0; i < sizeof potentials / sizeof *potentials; i++)
    for (int kind = 0; kind < 6; kind++)
      for (int repeat = 0; repeat < 6; repeat++) {
        int E = (int)random_integer(&r, 1, MOST);
        float m[MOST];
        for (int e = 0; e < E; e++) {
          double near = 1 + 1e-6 * random_normal(&r);
          switch (kind) {
          case 0: /* loads */
            m[e] = (float)random_unit(&r);
            break;
          case 1: /* next to uniform */
            m[e] = (float)(near / 8);
            break;
          case 2: /* next to 1, where logarithms vanish; tsallis prices are near 1 */
            m[e] = (float)fmin(near, 1);
            break;
          case 3: /* next to 1 / e, where negentropy's and tsallis' prices vanish */
            m[e] = (float)(near * 0.36787944117144233);
            break;
          case 4:
            m[e] = (float)ldexp(1 + random_unit(&r), (int)random_integer(&r, -149, -1));
            break;
          default: /* small, with zeros */
            m[e] = random_integer(&r, 0, 2) ? (float)(1e-3 * random_unit(&r)) : 0;
            break;
          }
        }
        check(potentials[i], E, m);
      }
}
