/* Quantile balancing (L7), (L8): required biases, their order statistics exactly and by histogram,
   and the bias that comes of them. */
#include "case_number.h"
#include "judgement.h"
#include "kernels/core/sigmoid.h"
#include "selection.h"
#include "vectors.h"
#include <math.h>
#include <phibal/quantile.h>
#include <phibal/reference_quantile.h>
#include <phibal/rounding.h>
#include <stdlib.h>

/* Sums of binary32 numbers are exact in 288 bits; what cancels keeps 200 after the division by E.
 */
enum { PRECISION = 512 };
enum { STREAM_QUANTILE = 112 };

static const char *const quantile_kinds[] = {
    "ordinary",       "ties",        "padding",        "bias",      "micro-batches",
    "bin-edges",      "one-token",   "all-equal",      "near-ties", "sigmoid-gates",
    "within-1e4",     "odd-experts", "special-values", "subnormal", "near-underflow",
    "quantile-place", "many-tokens", "most-experts"};

enum { QUANTILE_KINDS = sizeof quantile_kinds / sizeof *quantile_kinds };

const char *operation_kind_quantile(uint64_t number) {
  const char *kind = quantile_kinds[number % QUANTILE_KINDS];
  const bool large = strcmp(kind, "many-tokens") == 0 || strcmp(kind, "most-experts") == 0;
  return large && case_is_small(number) ? "ordinary" : kind;
}

static bool is_sigmoid(const operation_case *c) {
  return strcmp(case_get_text(c, "gate"), "sigmoid") == 0;
}

/* By turns, logits whose order the bias alone decides. */
enum { BIAS_NEGATIVE, BIAS_POSITIVE, BIAS_TINY, BIAS_ORDINARY, BIAS_TURNS };

static int bias_turn(const operation_case *c) {
  return case_is_kind(c, "bias") ? (int)(c->number / QUANTILE_KINDS % BIAS_TURNS) : BIAS_ORDINARY;
}

static float draw_logit(const operation_case *c, random_stream *r, float base) {
  static const float few[] = {-1.5f, -0.0f, 0.0f, 0.0f, 2.0f};
  static const float whole[] = {-2.0f, -1.0f, 0.0f, 1.0f, 2.0f};
  if (case_is_kind(c, "ties")) return few[random_integer(r, 0, 4)];
  if (case_is_kind(c, "bin-edges") || bias_turn(c) == BIAS_TINY)
    return whole[random_integer(r, 0, 4)];
  if (case_is_kind(c, "all-equal")) return base;
  if (case_is_kind(c, "near-ties")) {
    float x = base;
    for (int64_t steps = random_integer(r, 0, 2); steps > 0; steps--) x = nextafterf(x, INFINITY);
    return x;
  }
  if (case_is_kind(c, "within-1e4")) return (float)random_uniform(r, -1e4, 1e4);
  if (case_is_kind(c, "subnormal")) return (float)(random_uniform(r, -1, 1) * 0x1p-126);
  if (case_is_kind(c, "near-underflow")) return (float)random_uniform(r, -105, -85);
  if (case_is_kind(c, "special-values")) { /* a difference of binary32 holds four of the largest */
    static const float special[] = {-8e37f, 8e37f, -0.0f, 0.0f, 0x1p-149f, -0x1p-149f, 1.0f};
    return special[random_integer(r, 0, 6)];
  }
  return (float)(2 * random_normal(r));
}

static float draw_bias(const operation_case *c, random_stream *r) {
  static const float few[] = {-0.5f, -0.0f, 0.0f, 0.5f};
  if (case_is_kind(c, "ties")) return few[random_integer(r, 0, 3)];
  if (case_is_kind(c, "bin-edges")) return (float)random_integer(r, -1, 1);
  switch (bias_turn(c)) {
  case BIAS_NEGATIVE:
    return (float)random_uniform(r, -15, -11);
  case BIAS_POSITIVE:
    return (float)random_uniform(r, 9, 13);
  case BIAS_TINY: /* lost in a sum of binary32, or in a key's bits of one of binary64 */
    return (float)(random_uniform(r, -1, 1) * (random_integer(r, 0, 1) ? 0x1p-30 : 0x1p-46));
  default:
    return (float)random_normal(r);
  }
}

/* Rounded down, or up. */
static float float_below(double x) {
  const float f = (float)x;
  return (double)f > x ? nextafterf(f, -INFINITY) : f;
}
static float float_above(double x) {
  return -float_below(-x);
}

/* A range [low, high] that holds every required bias: a cut-off is a score with its bias. */
static void add_range(operation_case *c, int64_t n, const float *logits, const float *bias,
                      int64_t E, const uint8_t *mask) {
  double least = INFINITY, most = -INFINITY, least_bias = bias ? INFINITY : 0,
         most_bias = bias ? -INFINITY : 0;
  for (int64_t i = 0; i < n; i++) {
    if (mask && !mask[i / E]) continue;
    const double s = is_sigmoid(c) ? (double)core_sigmoid(logits[i]) : (double)logits[i];
    if (s < least) least = s;
    if (s > most) most = s;
  }
  for (int64_t e = 0; bias && e < E; e++) {
    if ((double)bias[e] < least_bias) least_bias = (double)bias[e];
    if ((double)bias[e] > most_bias) most_bias = (double)bias[e];
  }
  if (is_sigmoid(c)) { /* (L8) */
    least = 0;
    most = 1;
  }
  float low = float_below(least + least_bias - most), high = float_above(most + most_bias - least);
  if (!(low < high)) high = nextafterf(low, INFINITY);
  case_real(c, "low", (double)low);
  case_real(c, "high", (double)high);
}

phibal_status operation_quantile_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_QUANTILE, c->number);
  static const int32_t odd[] = {3, 5, 7, 11, 13, 29, 61, 97, 127, 251, 509, 1021};
  static const int64_t bin_counts[] = {1, 2, 7, 16, 100, 1000};
  const bool small = case_is_small(c->number), first = c->number < QUANTILE_KINDS;
  const bool cut = case_is_kind(c, "micro-batches");
  int64_t E = random_integer(&r, 2, small ? 5 : 32), T = random_integer(&r, 2, small ? 6 : 40);
  if (case_is_kind(c, "odd-experts")) E = odd[random_integer(&r, 0, small ? 1 : 11)];
  if (case_is_kind(c, "most-experts")) E = PHIBAL_MAX_EXPERTS, T = first ? 33 : 3;
  if (case_is_kind(c, "many-tokens")) E = 4, T = first ? 4096 : 300;
  if (case_is_kind(c, "one-token")) T = 1;
  const int64_t parts = cut ? random_integer(&r, 2, 4) : 1;
  if (cut) T = parts * (1 + T / parts);
  int64_t k = random_integer(&r, 1, E - 1 < 8 ? E - 1 : 8);
  /* By turns k T / E is whole, and just above a whole number. */
  if (case_is_kind(c, "quantile-place")) {
    T = c->number / QUANTILE_KINDS % 2 ? 3 * E : 3 * E + 1;
    k = 1;
  }
  /* The gates of one kind of score select alike; all three names occur. */
  const int gate = case_is_kind(c, "sigmoid-gates")    ? 2
                   : case_is_kind(c, "special-values") ? 0
                                                       : (int)random_integer(&r, 0, 2);
  int64_t bins = bin_counts[random_integer(&r, 0, 5)];
  if (E * bins > 65536) bins = 7;
  const bool biased =
      case_is_kind(c, "bias") || case_is_kind(c, "bin-edges") || random_integer(&r, 0, 2) == 0;
  case_integer(c, "k", k);
  case_text(c, "gate", selection_gates[gate]);
  case_integer(c, "micro-batches", parts);
  case_real(c, "eta", random_integer(&r, 0, 1) ? 1 : (double)(float)random_uniform(&r, 0.01, 1));
  float *logits = case_add_input(c, "logits", TENSOR_F32, 2, T, E);
  float *bias = biased ? case_add_input(c, "bias", TENSOR_F32, 1, E) : NULL;
  uint8_t *mask = case_is_kind(c, "padding") || (cut && random_integer(&r, 0, 1))
                      ? case_add_input(c, "mask", TENSOR_U8, 1, T)
                      : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  for (int64_t t = 0; t < T; t++) {
    const float base = (float)(3 * random_normal(&r));
    for (int64_t e = 0; e < E; e++) logits[t * E + e] = draw_logit(c, &r, base);
  }
  for (int64_t e = 0; bias && e < E; e++) bias[e] = draw_bias(c, &r);
  int64_t n = T;
  for (int64_t t = 0; mask && t < T; t++) { /* a token and some padding, a micro-batch of it too */
    mask[t] = t == 0 || (t < T - T / parts / 2 - 1 && random_integer(&r, 0, 2) > 0);
    n -= !mask[t];
    if (!mask[t]) logits[t * E] = t % 2 ? NAN : INFINITY;
  }
  add_range(c, T * E, logits, bias, E, mask);
  case_integer(c, "bins", bins);
  if (!case_is_kind(c, "all-equal")) case_flag(c, FLAG_QUANTILE);
  if (bias && !case_is_kind(c, "ties")) case_flag(c, FLAG_BIASED_QUANTILE);
  if (k * n % E) case_flag(c, FLAG_QUANTILE_PLACE);
  /* What is cut off requires 0, which then lies between the middle bins. */
  if (!bias && bins % 2 == 0) case_flag(c, FLAG_BIN_EDGES);
  if (gate == 2) case_flag(c, FLAG_SIGMOID);
  if (mask) case_flag(c, FLAG_PADDING);
  case_add_output(c, OUTPUT_QUANTILE_REQUIRED, "required", TENSOR_F32, 2, E, T);
  case_add_output(c, OUTPUT_QUANTILE, "quantile", TENSOR_F32, 1, E);
  case_add_output(c, OUTPUT_QUANTILE_CENTRED, "centred", TENSOR_F32, 1, E);
  case_add_output(c, OUTPUT_QUANTILE_BIAS, "bias", TENSOR_F32, 1, E);
  case_add_output(c, OUTPUT_QUANTILE_COUNTS, "histogram", TENSOR_I64, 2, E, bins)->optional = true;
  case_add_output(c, OUTPUT_QUANTILE_HISTOGRAM, "histogram-quantile", TENSOR_F32, 1, E)->optional =
      true;
  return PHIBAL_OK;
}

/* What the operation is given. */
typedef struct quantile_case {
  phibal_router router;
  int64_t tokens, unmasked, parts;
  const float *logits, *bias;
  const uint8_t *mask;
  float low, high, eta;
  int32_t bins;
} quantile_case;

static quantile_case quantile_of(const operation_case *c) {
  const tensor *logits = case_input(c, "logits");
  quantile_case q = {
      .router = {.experts = (int32_t)logits->shape[1],
                 .active = (int32_t)case_get_integer(c, "k"),
                 .gate = is_sigmoid(c) ? PHIBAL_GATE_SIGMOID : PHIBAL_GATE_TOPK_SOFTMAX,
                 .scale = 1},
      .tokens = logits->shape[0],
      .parts = case_get_integer(c, "micro-batches"),
      .logits = logits->data,
      .bias = case_input_data(c, "bias"),
      .mask = case_input_data(c, "mask"),
      .low = (float)case_get_real(c, "low"),
      .high = (float)case_get_real(c, "high"),
      .eta = (float)case_get_real(c, "eta"),
      .bins = (int32_t)case_get_integer(c, "bins")};
  for (int64_t t = 0; t < q.tokens; t++) q.unmasked += !q.mask || q.mask[t];
  return q;
}

/* One call for each micro-batch, as training makes them; the order statistics are of all. */
phibal_status operation_quantile_cpu(operation_case *c) {
  const quantile_case q = quantile_of(c);
  const int32_t E = q.router.experts;
  float *required = case_output_data(c, "required"), *quantile = case_output_data(c, "quantile");
  float *centred = case_output_data(c, "centred"), *bias = case_output_data(c, "bias");
  int64_t *count = case_output_data(c, "histogram");
  memset(count, 0, sizeof(int64_t) * (size_t)E * (size_t)q.bins);
  phibal_status status = PHIBAL_OK;
  const int64_t n = q.tokens / q.parts;
  for (int64_t first = 0; !status && first < q.tokens; first += n) {
    status = phibal_quantile_required(&q.router, n, q.logits + first * E, q.bias,
                                      q.mask ? q.mask + first : NULL, q.tokens, required + first);
    if (!status)
      status =
          phibal_quantile_histogram(E, n, q.tokens, required + first, q.low, q.high, q.bins, count);
  }
  if (!status)
    status = phibal_quantile(E, q.tokens, q.tokens, required,
                             phibal_quantile_place(E, q.router.active, q.unmasked), NULL, quantile);
  for (int32_t e = 0; e < E; e++) {
    centred[e] = 0;
    bias[e] = q.bias ? q.bias[e] : 0;
  }
  if (!status) status = phibal_quantile_bias(E, 1, quantile, centred);
  if (!status) status = phibal_quantile_bias(E, q.eta, quantile, bias);
  if (!status)
    status = phibal_quantile_interpolated(E, q.router.active, q.low, q.high, q.bins, count,
                                          case_output_data(c, "histogram-quantile"));
  return status;
}

/* The case's binary64 number in the way from the numbers to the bins (L8). */
static double bin_width(const quantile_case *q) {
  return ((double)q->high - (double)q->low) / (double)q->bins;
}

/* (L8): counts are of binary64 quotients, and so have one right value. */
static void count_bins(const quantile_case *q, const float *row, int64_t *count) {
  for (int32_t i = 0; i < q->bins; i++) count[i] = 0;
  for (int64_t t = 0; t < q->tokens; t++) {
    if (q->mask && !q->mask[t]) continue;
    const double place = floor(((double)row[t] - (double)q->low) / bin_width(q));
    count[place < (double)q->bins ? (int32_t)place : q->bins - 1]++;
  }
}

/* (L8) z = low + (i + share) w: bin i is the first at whose end the count reaches k T / E. */
static phibal_status interpolate(const quantile_case *q, const int64_t *count,
                                 phibal_enclosure *z) {
  const int64_t wanted = (int64_t)q->router.active * q->unmasked, E = q->router.experts;
  int64_t before = 0;
  int32_t i = 0;
  while ((before + count[i]) * E < wanted) before += count[i++];
  phibal_enclosure t;
  phibal_enclosure_init(&t, PRECISION);
  phibal_enclosure_set_si(z, wanted - before * E);
  phibal_enclosure_set_si(&t, count[i] * E);
  phibal_status status = phibal_enclosure_div(z, z, &t);
  phibal_enclosure_set_si(&t, i);
  if (!status) status = phibal_enclosure_add(z, z, &t);
  phibal_enclosure_set_d(&t, bin_width(q));
  if (!status) status = phibal_enclosure_mul(z, z, &t);
  phibal_enclosure_set_d(&t, (double)q->low);
  if (!status) status = phibal_enclosure_add(z, z, &t);
  phibal_enclosure_clear(&t);
  return status;
}

/* (L8) itself; and where there is a result, its distance from the exact quantile: both lie in one
   bin, w (1 + 2^-20) wide with the rounding of its edges, and the result is rounded once more, to
   0.501 ULP of itself. */
static void judge_histogram(judgement *j, const operation_case *c, const quantile_case *q,
                            int32_t e, float exact, const phibal_enclosure *interpolated,
                            phibal_enclosure t[2]) {
  const tensor *output = case_output(c, "histogram-quantile");
  phibal_enclosure_set_d(&t[0], fabs((double)q->low) + fabs((double)q->high));
  judge_real(j, OUTPUT_QUANTILE_HISTOGRAM, output, e, interpolated, &t[0]);
  if (!judge_has_outputs(j)) return;
  const double width = bin_width(q) * (1 + 0x1p-20), most = fabs((double)exact) + width;
  phibal_enclosure_set_d(&t[0], (double)exact);
  phibal_enclosure_set_d(&t[1], width + 0.501 * phibal_format_ulp(PHIBAL_FORMAT_BINARY32, most));
  judge_real(j, OUTPUT_QUANTILE_DISTANCE, output, e, &t[0], &t[1]);
}

/* (L7) next = bias - eta bias + eta c. */
static phibal_status next_bias(float eta, float bias, const phibal_enclosure *centred,
                               phibal_enclosure *next, phibal_enclosure t[2]) {
  phibal_enclosure_set_d(&t[0], (double)eta);
  phibal_enclosure_set_d(next, (double)bias);
  phibal_status status = phibal_enclosure_mul(&t[1], next, &t[0]);
  if (!status) status = phibal_enclosure_sub(next, next, &t[1]);
  if (!status) status = phibal_enclosure_mul(&t[1], centred, &t[0]);
  return status ? status : phibal_enclosure_add(next, next, &t[1]);
}

static double ulp32(const phibal_enclosure *x, double more) {
  const double size = fmax(fabs(mpfr_get_d(x->lo, MPFR_RNDD)), fabs(mpfr_get_d(x->hi, MPFR_RNDU)));
  return phibal_format_ulp(PHIBAL_FORMAT_BINARY32, size + more);
}

/* c is within 0.501 ULP, of which eta goes into the bias; this is rounded once, to 0.5 ULP. */
static void judge_bias(judgement *j, const operation_case *c, float eta, int32_t e,
                       const phibal_enclosure *centred, const phibal_enclosure *next,
                       phibal_enclosure *bound) {
  const double carried = (double)eta * 0.501 * ulp32(centred, 0);
  phibal_enclosure_set_d(bound, carried + 0.5 * ulp32(next, carried));
  judge_real(j, OUTPUT_QUANTILE_BIAS, case_output(c, "bias"), e, next, bound);
}

static phibal_status judge_quantiles(judgement *j, const operation_case *c, const quantile_case *q,
                                     const float *required, const float *quantile, int64_t *count,
                                     phibal_enclosure *centred, phibal_enclosure t[4]) {
  const int32_t E = q->router.experts;
  phibal_status status = phibal_reference_frequency_centred(E, quantile, PRECISION, centred);
  for (int32_t e = 0; !status && e < E; e++) {
    judge_exact(j, OUTPUT_QUANTILE, case_output(c, "quantile"), e, (double)quantile[e]);
    judge_real(j, OUTPUT_QUANTILE_CENTRED, case_output(c, "centred"), e, &centred[e], NULL);
    status = next_bias(q->eta, q->bias ? q->bias[e] : 0, &centred[e], &t[0], &t[1]);
    if (status) break;
    judge_bias(j, c, q->eta, e, &centred[e], &t[0], &t[1]);
    count_bins(q, required + e * q->tokens, count);
    for (int32_t i = 0; i < q->bins; i++)
      judge_integer(j, OUTPUT_QUANTILE_COUNTS, case_output(c, "histogram"),
                    (int64_t)e * q->bins + i, count[i]);
    status = interpolate(q, count, &t[0]);
    if (!status) judge_histogram(j, c, q, e, quantile[e], &t[0], &t[2]);
  }
  return status;
}

phibal_status operation_quantile_expected(const operation_case *c, judgement *j) {
  const quantile_case q = quantile_of(c);
  const int32_t E = q.router.experts;
  float quantile[PHIBAL_MAX_EXPERTS];
  arena a = {0};
  float *required = arena_take(&a, sizeof(float) * (size_t)(E * q.tokens), 0);
  int64_t *count = arena_take(&a, sizeof(int64_t) * (size_t)q.bins, 0);
  phibal_enclosure *v = phibal_enclosure_vector((size_t)E + 4, PRECISION);
  phibal_status status = a.failed || !v ? arena_out_of_memory() : PHIBAL_OK;
  if (!status)
    status =
        phibal_reference_quantile_required(&q.router, q.tokens, q.logits, q.bias, q.mask, required);
  if (!status)
    status = phibal_reference_quantile(E, q.router.active, q.tokens, q.mask, required, quantile);
  for (int64_t i = 0; !status && i < E * q.tokens; i++)
    judge_exact(j, OUTPUT_QUANTILE_REQUIRED, case_output(c, "required"), i, (double)required[i]);
  if (!status) status = judge_quantiles(j, c, &q, required, quantile, count, v, v + E);
  if (v) phibal_enclosure_vector_clear(v, (size_t)E + 4);
  arena_free(&a);
  return status;
}
