/* All 2^32 inputs of a one-argument core against the correctly rounded values.

   The truth comes from MPFR, but not input by input. Inputs are taken in blocks of neighbours, at
   most 2^-10 of their size wide. For each block MPFR gives the Taylor polynomial of degree 8 at the
   block's centre (nothing is shared with the cores' own algorithms), and a proved bound B holds the
   polynomial's remainder and every rounding of its evaluation in binary64. An input whose interval
   [y - B, y + B] rounds to one binary32 is decided; the others, a few in 2^20, are given to MPFR
   one by one. Blocks on which the function rounds to a constant (saturation, overflow, underflow)
   are recognised by their two ends: all seven functions are monotonic. */
#include "exhaustive.h"
#include "kernels/core/exp.h"
#include "kernels/core/expm1.h"
#include "kernels/core/log.h"
#include "kernels/core/log1p.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/sqrt_softplus.h"
#include "kernels/core/tanh.h"
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

enum { DEGREE = 8, BLOCK = 1 << 13, CHUNK = 1 << 20, PRECISION = 128, PRECISION_CAP = 2048 };
enum { SATURATION = 0x41800000 }; /* 16 */

/* Inputs first .. first + n - 1 (bit patterns of one sign and binade), centre c, the largest
   |x - c| h. The model is y(x) = sum_n a_n t^n, t = (x - c) scale with scale a power of two about
   1 / |c|, and |y(x) - truth| <= bound. */
typedef struct block {
  uint32_t first;
  int n;
  double centre, h, scale;
  double a[DEGREE + 1];
  double bound;
} block;

/* Temporaries of one thread. */
typedef struct workspace {
  mpfr_t a[DEGREE + 1], x, low, high;
  float got[BLOCK];
} workspace;

typedef struct core_trial {
  const char *name;
  void (*evaluate)(uint32_t first, int n, float *result);
  /* [low, high] holds f(x), at the precision of low and high; x is finite and in the domain. */
  void (*enclose)(mpfr_ptr low, mpfr_ptr high, mpfr_srcptr x);
  /* a[0..DEGREE]: Taylor coefficients at x, within 2^-100 of themselves or of a[0] 2^(-n E) (E the
     exponent of x). Returns a bound of the remainder on |x - c| <= h, infinite for none. */
  double (*expand)(mpfr_t *a, mpfr_srcptr x, double c, double h);
  double low;     /* the domain is low < x; at low there is a limit */
  bool saturates; /* constant, rounded, for large |x| */
} core_trial;

#define EVALUATE(name)                                                                             \
  static void evaluate_##name(uint32_t first, int n, float *result) {                              \
    for (int i = 0; i < n; i++) result[i] = core_##name(core_float(first + (uint32_t)i));          \
  }
EVALUATE(exp)
EVALUATE(expm1)
EVALUATE(log)
EVALUATE(log1p)
EVALUATE(tanh)
EVALUATE(sigmoid)
EVALUATE(sqrt_softplus)
#undef EVALUATE

#define ENCLOSE(name)                                                                              \
  static void enclose_##name(mpfr_ptr low, mpfr_ptr high, mpfr_srcptr x) {                         \
    mpfr_##name(low, x, MPFR_RNDD);                                                                \
    mpfr_##name(high, x, MPFR_RNDU);                                                               \
  }
ENCLOSE(exp)
ENCLOSE(expm1)
ENCLOSE(log)
ENCLOSE(log1p)
ENCLOSE(tanh)
#undef ENCLOSE

/* z = 1 / (1 + e^-x), every step rounded so that the error goes one way. */
static void sigmoid_directed(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t inner, mpfr_rnd_t outer) {
  mpfr_neg(z, x, MPFR_RNDN); /* exact: x is a binary32 */
  mpfr_exp(z, z, inner);
  mpfr_add_ui(z, z, 1, inner);
  mpfr_ui_div(z, 1, z, outer);
}

static void enclose_sigmoid(mpfr_ptr low, mpfr_ptr high, mpfr_srcptr x) {
  sigmoid_directed(low, x, MPFR_RNDU, MPFR_RNDD);
  sigmoid_directed(high, x, MPFR_RNDD, MPFR_RNDU);
}

/* z = sqrt(log(1 + e^x)), every step increasing; for x > 0 as sqrt(x + log(1 + e^-x)), where the
   inner exponential falls. */
static void sqrt_softplus_directed(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_sgn(x) > 0) {
    mpfr_neg(z, x, MPFR_RNDN); /* exact: x is a binary32 */
    mpfr_exp(z, z, rounding);
    mpfr_log1p(z, z, rounding);
    mpfr_add(z, z, x, rounding);
  } else {
    mpfr_exp(z, x, rounding);
    mpfr_log1p(z, z, rounding);
  }
  mpfr_sqrt(z, z, rounding);
}

static void enclose_sqrt_softplus(mpfr_ptr low, mpfr_ptr high, mpfr_srcptr x) {
  sqrt_softplus_directed(low, x, MPFR_RNDD);
  sqrt_softplus_directed(high, x, MPFR_RNDU);
}

/* e^c / n! for n >= 1; what is left out is e^c h^(N+1) / (N+1)! (1 + h + ..) <= twice the first
   term for h <= 1/2. */
static double expand_exp_tail(mpfr_t *a, mpfr_srcptr x, double h) {
  mpfr_exp(a[1], x, MPFR_RNDN);
  for (int n = 2; n <= DEGREE; n++) mpfr_div_ui(a[n], a[n - 1], (unsigned long)n, MPFR_RNDN);
  if (h > 0.5) return CORE_INFINITY;
  return 2.0 * fabs(mpfr_get_d(a[DEGREE], MPFR_RNDU)) * pow(h, DEGREE + 1);
}

static double expand_exp(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  (void)c;
  mpfr_exp(a[0], x, MPFR_RNDN);
  return expand_exp_tail(a, x, h);
}

static double expand_expm1(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  (void)c;
  mpfr_expm1(a[0], x, MPFR_RNDN);
  return expand_exp_tail(a, x, h);
}

/* a_n = (-1)^(n+1) / (n w^n) for n >= 1, w = c or 1 + c; the rest is a geometric series in h / w.
 */
static double expand_log_tail(mpfr_t *a, mpfr_srcptr w, double h) {
  mpfr_ui_div(a[1], 1, w, MPFR_RNDN);
  for (int n = 2; n <= DEGREE; n++) {
    mpfr_div(a[n], a[n - 1], w, MPFR_RNDN);
    mpfr_neg(a[n], a[n], MPFR_RNDN);
  }
  for (int n = 2; n <= DEGREE; n++) mpfr_div_ui(a[n], a[n], (unsigned long)n, MPFR_RNDN);
  double ratio = h / mpfr_get_d(w, MPFR_RNDD);
  return ratio <= 0.5 ? 2.0 * pow(ratio, DEGREE + 1) : CORE_INFINITY;
}

static double expand_log(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  (void)c;
  mpfr_log(a[0], x, MPFR_RNDN);
  return expand_log_tail(a, x, h);
}

static double expand_log1p(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  (void)c;
  mpfr_add_ui(a[0], x, 1, MPFR_RNDN); /* w; exact where it is small */
  double remainder = expand_log_tail(a, a[0], h);
  mpfr_log1p(a[0], x, MPFR_RNDN);
  return remainder;
}

/* s = sum_i a_i a_(n-i), the n-th coefficient of the square. */
static void square_coefficient(mpfr_ptr s, mpfr_t *a, int n) {
  mpfr_set_zero(s, 1);
  for (int i = 0; i <= n; i++) mpfr_fma(s, a[i], a[n - i], s, MPFR_RNDN);
}

/* From y' = 1 - y^2: (n + 1) a_(n+1) = [n = 0] - (y^2)_n. |tanh| <= tan 1 < 1.56 on the disc of
   radius 1 around a real point, so |a_n| <= 1.56 (Cauchy). */
static double expand_tanh(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  (void)c;
  mpfr_tanh(a[0], x, MPFR_RNDN);
  for (int n = 0; n < DEGREE; n++) {
    square_coefficient(a[n + 1], a, n);
    mpfr_ui_sub(a[n + 1], n == 0, a[n + 1], MPFR_RNDN);
    mpfr_div_ui(a[n + 1], a[n + 1], (unsigned long)(n + 1), MPFR_RNDN);
  }
  return h <= 0.5 ? 1.56 * pow(h, DEGREE + 1) / (1.0 - h) : CORE_INFINITY;
}

/* From y' = y - y^2. On the disc of radius 3/2 < pi / 2, Re e^-z >= 0, so that |1 + e^-z| is at
   least 1 and at least |e^-z|: |y| <= min(1, e^(c + 3/2)), and Cauchy. */
static double expand_sigmoid(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  sigmoid_directed(a[0], x, MPFR_RNDN, MPFR_RNDN);
  for (int n = 0; n < DEGREE; n++) {
    square_coefficient(a[n + 1], a, n);
    mpfr_sub(a[n + 1], a[n], a[n + 1], MPFR_RNDN);
    mpfr_div_ui(a[n + 1], a[n + 1], (unsigned long)(n + 1), MPFR_RNDN);
  }
  if (h > 0.5) return CORE_INFINITY;
  double largest = c < -1.5 ? 1.01 * exp(c + 1.5) : 1.0;
  return 1.5 * largest * pow(h / 1.5, DEGREE + 1); /* 1 / (1 - h / 1.5) <= 1.5 */
}

/* From y^2 = L, L' = s, s' = s - s^2, s the sigmoid. L(z) = log(1 + e^z) has no zero and no
   singularity on these discs around a real c, so that y is analytic there, and Cauchy's bound
   holds:
   - radius 3/2 < pi / 2: Re e^z > 0, so that |1 + e^z| >= 1 and L is in the right half plane; |L|
   <= |e^z| <= e^(c + 3/2), and |L| <= L(c) + 3/2 since |s| <= 1 there (expand_sigmoid).
   - radius c / 2 for c >= 4: Re z >= c / 2 >= 2, |L - z| <= -log(1 - e^-2) < 0.15: L is in the
   right half plane, and |L| <= 3/2 c + 0.15. */
static double expand_sqrt_softplus(mpfr_t *a, mpfr_srcptr x, double c, double h) {
  mpfr_t s[DEGREE], sum;
  for (int n = 0; n < DEGREE; n++) mpfr_init2(s[n], PRECISION);
  mpfr_init2(sum, PRECISION);
  sigmoid_directed(s[0], x, MPFR_RNDN, MPFR_RNDN);
  for (int n = 0; n + 1 < DEGREE; n++) {
    square_coefficient(sum, s, n);
    mpfr_sub(s[n + 1], s[n], sum, MPFR_RNDN);
    mpfr_div_ui(s[n + 1], s[n + 1], (unsigned long)(n + 1), MPFR_RNDN);
  }
  sqrt_softplus_directed(a[0], x, MPFR_RNDN);
  for (int n = 1; n <= DEGREE; n++) {
    mpfr_div_ui(a[n], s[n - 1], (unsigned long)n, MPFR_RNDN); /* of L */
    for (int i = 1; i < n; i++) {
      mpfr_mul(sum, a[i], a[n - i], MPFR_RNDN);
      mpfr_sub(a[n], a[n], sum, MPFR_RNDN);
    }
    mpfr_div(a[n], a[n], a[0], MPFR_RNDN);
    mpfr_div_2ui(a[n], a[n], 1, MPFR_RNDN);
  }
  for (int n = 0; n < DEGREE; n++) mpfr_clear(s[n]);
  mpfr_clear(sum);
  const double radius = c >= 4.0 ? c / 2 : 1.5;
  if (h > radius / 3) return CORE_INFINITY;
  const double largest = c >= 4.0   ? 1.5 * c + 0.15
                         : c < -1.5 ? 1.01 * exp(c + 1.5)
                                    : 1.01 * (log1p(exp(c)) + 1.5);
  return 1.5 * sqrt(largest) * pow(h / radius, DEGREE + 1);
}

static const core_trial trials[] = {
    {"exp", evaluate_exp, enclose_exp, expand_exp, -CORE_INFINITY, true},
    {"expm1", evaluate_expm1, enclose_expm1, expand_expm1, -CORE_INFINITY, true},
    {"log", evaluate_log, enclose_log, expand_log, 0.0, false},
    {"log1p", evaluate_log1p, enclose_log1p, expand_log1p, -1.0, false},
    {"tanh", evaluate_tanh, enclose_tanh, expand_tanh, -CORE_INFINITY, true},
    {"sigmoid", evaluate_sigmoid, enclose_sigmoid, expand_sigmoid, -CORE_INFINITY, true},
    {"sqrt-softplus", evaluate_sqrt_softplus, enclose_sqrt_softplus, expand_sqrt_softplus,
     -CORE_INFINITY, true},
};
enum { TRIALS = sizeof trials / sizeof *trials };

const char *exhaustive_core(int i) {
  return i < TRIALS ? trials[i].name : NULL;
}

static void workspace_init(workspace *w) {
  for (int n = 0; n <= DEGREE; n++) mpfr_init2(w->a[n], PRECISION);
  mpfr_init2(w->x, 53);
  mpfr_init2(w->low, PRECISION);
  mpfr_init2(w->high, PRECISION);
}

static void workspace_clear(workspace *w) {
  for (int n = 0; n <= DEGREE; n++) mpfr_clear(w->a[n]);
  mpfr_clear(w->x);
  mpfr_clear(w->low);
  mpfr_clear(w->high);
  mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

/* The binary32 nearest to z: z is cut to 53 bits, the last of which remembers whether anything was
   lost, and rounded by the hardware. */
static float mpfr_to_float(mpfr_srcptr z) {
  double d = mpfr_get_d(z, MPFR_RNDZ);
  if (mpfr_cmp_d(z, d) != 0) d = core_double(core_bits64(d) | 1);
  if (d == 0.0 && mpfr_signbit(z)) d = -0.0;
  return (float)d;
}

/* f(x) rounded to nearest, for x in the domain or at its end; false if PRECISION_CAP bits do not
   tell. */
static bool true_value(const core_trial *trial, workspace *w, float x, float *value) {
  mpfr_set_flt(w->x, x, MPFR_RNDN);
  for (mpfr_prec_t precision = PRECISION; precision <= PRECISION_CAP; precision *= 2) {
    mpfr_set_prec(w->low, precision);
    mpfr_set_prec(w->high, precision);
    trial->enclose(w->low, w->high, w->x);
    *value = mpfr_to_float(w->low);
    if (core_bits32(*value) == core_bits32(mpfr_to_float(w->high))) return true;
  }
  return false;
}

/* Blocks are 2^13 patterns of a binade's 2^23; among the subnormals the same part of [2^k,
   2^(k+1)), and single numbers below 2^10 units. */
static int block_length(uint32_t pattern) {
  uint32_t p = pattern & 0x7fffffff;
  if (p >= 1u << 23) return BLOCK;
  int k = 0;
  while (p >> (k + 1)) k++;
  return k <= 10 ? 1 : 1 << (k - 10);
}

/* The model of a block inside the domain. Horner's scheme with fma computes sum a_n (1 + e_n) t^n,
   |e_n| <= (n + 1) u (1 + ..), u = 2^-53, besides the coefficients' rounding, u each; the test's
   y +- B rounds by another u |y|. Numbers below 2^-1022 lose at most 2^-1074 a step. */
static void block_model(const core_trial *trial, workspace *w, block *b) {
  b->centre = (double)core_float(b->first + (uint32_t)b->n / 2);
  b->h = fabs((double)core_float(b->first) - b->centre);
  int exponent;
  frexp(b->centre, &exponent);
  b->scale = ldexp(1.0, 1 - exponent);
  mpfr_set_d(w->x, b->centre, MPFR_RNDN);
  double bound = trial->expand(w->a, w->x, b->centre, b->h) * 1.001 + 0x1p-1060;
  double power = 1.0;
  for (int n = 0; n <= DEGREE; n++) {
    mpfr_mul_2si(w->a[n], w->a[n], (long)n * (exponent - 1), MPFR_RNDN);
    b->a[n] = mpfr_get_d(w->a[n], MPFR_RNDN);
    bound += (n + 3.3) * 0x1p-53 * fabs(b->a[n]) * power;
    power *= b->h * b->scale;
  }
  b->bound = bound;
}

/* Written out, since compilers make no vectors of a loop over inputs with a loop inside. */
static inline double block_value(const block *b, float x) {
  _Static_assert(DEGREE == 8, "a line for each coefficient");
  double t = ((double)x - b->centre) * b->scale;
  double y = CORE_FMA(b->a[8], t, b->a[7]);
  y = CORE_FMA(y, t, b->a[6]);
  y = CORE_FMA(y, t, b->a[5]);
  y = CORE_FMA(y, t, b->a[4]);
  y = CORE_FMA(y, t, b->a[3]);
  y = CORE_FMA(y, t, b->a[2]);
  y = CORE_FMA(y, t, b->a[1]);
  return CORE_FMA(y, t, b->a[0]);
}

/* |got - y| in units of the last place at y, for finite got. */
static inline double error_ulp(float got, double y, double bound) {
  uint64_t exponent = (core_bits64(y) >> 52) & 0x7ff;
  /* Subnormal binary32 have the ULP 2^-149. */
  uint64_t normal = exponent < 1023 - 126 ? 1023 - 126 : exponent;
  return (fabs((double)got - y) + bound) * core_double((2046 + 23 - normal) << 52);
}

typedef struct run_state {
  const core_trial *trial;
  exhaustive_report *report; /* this thread's */
  bool undecided;
  uint32_t undecided_input;
} run_state;

static void report_input(exhaustive_report *r, uint32_t pattern, float got, float expected) {
  if (core_bits32(got) == core_bits32(expected)) return;
  if (r->wrong++ == 0 || pattern < r->wrong_input) r->wrong_input = pattern;
}

/* One input by MPFR. */
static void check_single(run_state *s, workspace *w, uint32_t pattern, float got) {
  float expected;
  s->report->mpfr_calls++;
  if (true_value(s->trial, w, core_float(pattern), &expected)) {
    report_input(s->report, pattern, got, expected);
    return;
  }
  s->undecided = true;
  s->undecided_input = pattern;
}

/* The inputs of a block by its model. The first loop has no branches, and the compiler makes
   vectors of it where the instruction set has fma; only if it saw something are the inputs looked
   at one by one. */
static void check_by_model(run_state *s, workspace *w, const block *b) {
  uint32_t suspicious = 0;
  /* Errors are compared by their bits, which for numbers that are not negative are in their order.
   */
  const int64_t finite = (int64_t)core_bits64(DBL_MAX);
  int64_t most = 0;
  for (int i = 0; i < b->n; i++) {
    double y = block_value(b, core_float(b->first + (uint32_t)i));
    float low = (float)(y - b->bound), high = (float)(y + b->bound);
    suspicious |=
        (core_bits32(low) ^ core_bits32(high)) | (core_bits32(low) ^ core_bits32(w->got[i]));
    int64_t error = (int64_t)core_bits64(error_ulp(w->got[i], y, b->bound));
    error = error <= finite ? error : 0;
    most = error > most ? error : most;
  }
  double worst = core_double((uint64_t)most);
  uint64_t wrong = s->report->wrong;
  if (suspicious)
    for (int i = 0; i < b->n; i++) {
      double y = block_value(b, core_float(b->first + (uint32_t)i));
      float low = (float)(y - b->bound), high = (float)(y + b->bound);
      if (core_bits32(low) == core_bits32(high))
        report_input(s->report, b->first + (uint32_t)i, w->got[i], low);
      else
        check_single(s, w, b->first + (uint32_t)i, w->got[i]);
    }
  if (worst <= s->report->worst_ulp) return;
  /* Near a tie the bound may carry the estimate over 1/2; a correct rounding is never off by more.
   */
  bool correct = s->report->wrong == wrong;
  s->report->worst_ulp = correct && worst > 0.5 ? 0.5 : worst;
  for (int i = 0; i < b->n; i++) {
    uint32_t pattern = b->first + (uint32_t)i;
    if (error_ulp(w->got[i], block_value(b, core_float(pattern)), b->bound) == worst)
      s->report->worst_input = pattern;
  }
}

/* Both ends round to one number: so does everything between. */
static bool check_constant(run_state *s, workspace *w, const block *b) {
  float first, last;
  if (!true_value(s->trial, w, core_float(b->first), &first) ||
      !true_value(s->trial, w, core_float(b->first + (uint32_t)b->n - 1), &last) ||
      core_bits32(first) != core_bits32(last))
    return false;
  uint32_t others = 0;
  for (int i = 0; i < b->n; i++) others |= core_bits32(w->got[i]) ^ core_bits32(first);
  if (others)
    for (int i = 0; i < b->n; i++)
      report_input(s->report, b->first + (uint32_t)i, w->got[i], first);
  return true;
}

/* Infinities, NaN, and what lies at the domain's lower end or below it. */
static void check_special(run_state *s, workspace *w, const block *b) {
  for (int i = 0; i < b->n; i++) {
    uint32_t pattern = b->first + (uint32_t)i;
    double x = (double)core_float(pattern);
    if (x >= s->trial->low)
      check_single(s, w, pattern, w->got[i]);
    else
      report_input(s->report, pattern, w->got[i], core_nan());
  }
}

static void check_block(run_state *s, workspace *w, block *b) {
  const core_trial *trial = s->trial;
  uint32_t magnitude = b->first & 0x7fffffff;
  trial->evaluate(b->first, b->n, w->got);
  s->report->inputs += (uint64_t)b->n;
  if (magnitude >= 0x7f800000u || (double)core_float(b->first) <= trial->low) {
    check_special(s, w, b);
    return;
  }
  if (b->n == 1) {
    check_single(s, w, b->first, w->got[0]);
    return;
  }
  bool far = trial->saturates && magnitude >= SATURATION;
  if (far && check_constant(s, w, b)) return;
  block_model(trial, w, b);
  check_by_model(s, w, b);
}

static void report_merge(exhaustive_report *to, const exhaustive_report *from) {
  if (from->wrong > 0 && (to->wrong == 0 || from->wrong_input < to->wrong_input))
    to->wrong_input = from->wrong_input;
  to->inputs += from->inputs;
  to->mpfr_calls += from->mpfr_calls;
  to->wrong += from->wrong;
  if (from->worst_ulp > to->worst_ulp) {
    to->worst_ulp = from->worst_ulp;
    to->worst_input = from->worst_input;
  }
}

static void check_chunk(run_state *s, workspace *w, uint32_t first, int stride) {
  for (uint32_t done = 0; done < CHUNK;) {
    block b = {.first = first + done, .n = block_length(first + done)};
    if ((b.first / BLOCK) % (uint32_t)stride == 0) check_block(s, w, &b);
    done += (uint32_t)b.n;
  }
}

static phibal_status run_all(const core_trial *trial, int stride, exhaustive_progress progress,
                             void *context, exhaustive_report *report) {
  enum { CHUNKS = 4096 };
  int finished = 0;
  bool undecided = false;
  uint32_t undecided_input = 0;
#pragma omp parallel
  {
    exhaustive_report mine = {0};
    run_state s = {.trial = trial, .report = &mine};
    workspace w;
    workspace_init(&w);
#pragma omp for schedule(dynamic)
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
      check_chunk(&s, &w, (uint32_t)chunk * CHUNK, stride);
#pragma omp critical(exhaustive_report)
      {
        finished++;
        if (progress && finished % 16 == 0) progress(context, finished / (double)CHUNKS);
      }
    }
#pragma omp critical(exhaustive_report)
    {
      report_merge(report, &mine);
      if (s.undecided) {
        undecided = true;
        undecided_input = s.undecided_input;
      }
    }
    workspace_clear(&w);
  }
  if (!undecided) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "%s(%a): %d bits of MPFR do not decide its rounding to binary32",
                           trial->name, (double)core_float(undecided_input), (int)PRECISION_CAP);
}

phibal_status exhaustive_run(const char *core, int stride, exhaustive_progress progress,
                             void *context, exhaustive_report *report) {
  if (!core || !report || stride < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "exhaustive_run: null argument or stride < 1");
  *report = (exhaustive_report){0};
  for (int i = 0; i < TRIALS; i++)
    if (strcmp(core, trials[i].name) == 0) {
      double start = omp_get_wtime();
      phibal_status status = run_all(&trials[i], stride, progress, context, report);
      report->seconds = omp_get_wtime() - start;
      return status;
    }
  return phibal_status_set(
      PHIBAL_ERROR_ARGUMENT,
      "no core '%s'; there are exp, expm1, log, log1p, tanh, sigmoid and sqrt-softplus", core);
}

/* The hardest inputs, the hardest first, while they are looked for. */
typedef struct hard_list {
  int count, most;
  exhaustive_hard *items;
} hard_list;

static void hard_add(hard_list *list, exhaustive_hard hard) {
  int i = list->count;
  if (i == list->most && hard.distance >= list->items[i - 1].distance) return;
  if (i == list->most) i--;
  for (; i > 0 && list->items[i - 1].distance > hard.distance; i--)
    list->items[i] = list->items[i - 1];
  list->items[i] = hard;
  if (list->count < list->most) list->count++;
}

/* |f(x) / middle - 1| for the middle between the two binary32 around f(x); infinite where there are
   no two. */
static double middle_distance(const core_trial *trial, workspace *w, float x) {
  mpfr_set_flt(w->x, x, MPFR_RNDN);
  mpfr_set_prec(w->low, PRECISION);
  mpfr_set_prec(w->high, PRECISION);
  trial->enclose(w->low, w->high, w->x);
  float below = mpfr_get_flt(w->low, MPFR_RNDZ);
  float above =
      nextafterf(below, mpfr_signbit(w->low) ? -(float)CORE_INFINITY : (float)CORE_INFINITY);
  if (isinf(above) || below == 0.0f) return CORE_INFINITY;
  mpfr_sub_d(w->high, w->low, ((double)below + (double)above) / 2, MPFR_RNDA);
  mpfr_div(w->high, w->high, w->low, MPFR_RNDA);
  return fabs(mpfr_get_d(w->high, MPFR_RNDA));
}

/* Nearer to a middle than this, relative, is worth a look: some thousands of inputs are. */
static const double HARD = 0x1p-44;

static void hard_block(const core_trial *trial, workspace *w, block *b, hard_list *list) {
  block_model(trial, w, b);
  if (!(b->bound < 1)) return; /* the model does not hold: far out, where f is constant */
  uint8_t near[BLOCK];
  for (int i = 0; i < b->n; i++) {
    double y = block_value(b, core_float(b->first + (uint32_t)i));
    double reach = b->bound + HARD * fabs(y);
    near[i] = core_bits32((float)(y - reach)) != core_bits32((float)(y + reach));
  }
  for (int i = 0; i < b->n; i++) {
    if (!near[i]) continue;
    uint32_t input = b->first + (uint32_t)i;
    exhaustive_hard hard = {input, middle_distance(trial, w, core_float(input))};
    if (hard.distance > 0 && hard.distance < HARD) hard_add(list, hard);
  }
}

/* One sign and binade: 2^23 patterns from `first` on. */
static void hard_binade(const core_trial *trial, workspace *w, uint32_t first, hard_list *list) {
  exhaustive_hard few[EXHAUSTIVE_OF_A_BINADE];
  hard_list mine = {.most = EXHAUSTIVE_OF_A_BINADE, .items = few};
  for (uint32_t done = 0; done < 1u << 23; done += BLOCK) {
    block b = {.first = first + done, .n = BLOCK};
    if ((double)core_float(b.first) > trial->low) hard_block(trial, w, &b, &mine);
  }
  for (int i = 0; i < mine.count; i++) hard_add(list, few[i]);
}

phibal_status exhaustive_hardest(const char *core, int count, exhaustive_hard *hardest) {
  const core_trial *trial = NULL;
  for (int i = 0; core && i < TRIALS; i++)
    if (strcmp(core, trials[i].name) == 0) trial = &trials[i];
  if (!trial || !hardest || count < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "exhaustive_hardest: no such core, or count");
  hard_list list = {.most = count, .items = hardest};
  /* Below 2^-26 all but the logarithm are x, 1 or 1/2 but for less than half a unit, and above 2^9
     those that saturate are constant: nothing is hard there, nor are the logarithm's subnormals
     other than its normal arguments. */
  uint32_t least = trial->low == 0.0 ? 1u : 127 - 26;
  uint32_t most = trial->saturates ? 127 + 9 : 255;
  workspace w;
  workspace_init(&w);
  for (uint32_t sign = 0; sign < 2; sign++)
    for (uint32_t exponent = least; exponent < most; exponent++)
      hard_binade(trial, &w, sign << 31 | exponent << 23, &list);
  workspace_clear(&w);
  for (int i = list.count; i < count; i++) hardest[i] = (exhaustive_hard){0};
  return PHIBAL_OK;
}
