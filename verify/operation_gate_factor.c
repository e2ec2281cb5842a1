/* A factor for each expert (R5f): gates times the factor of their expert, and both gradients. */
#include "case_number.h"
#include "judgement.h"
#include <math.h>
#include <phibal/gate_factor.h>
#include <phibal/reference_gate_factor.h>
#include <phibal/router.h>
#include <string.h>

enum { PRECISION = 640 }; /* sums of products of binary32 numbers are exact */
enum { STREAM_GATE_FACTOR = 144 };

static const char *const gate_factor_kinds[] = {
    "ordinary",   "padding",   "factor-index", "factor-sum",  "zero-factor", "repeated-experts",
    "cancelling", "subnormal", "one-token",    "one-expert",  "no-token",    "odd-experts",
    "k-one",      "all-equal", "many-tokens",  "most-experts"};

enum { GATE_FACTOR_KINDS = sizeof gate_factor_kinds / sizeof *gate_factor_kinds };

const char *operation_kind_gate_factor(uint64_t number) {
  const char *kind = gate_factor_kinds[number % GATE_FACTOR_KINDS];
  const bool large = strcmp(kind, "many-tokens") == 0 || strcmp(kind, "most-experts") == 0;
  return large && case_is_small(number) ? "ordinary" : kind;
}

/* Factors that hide a mistake, so that the other ones show by themselves: FACTORS_EVEN are 1/2 and
   3/2 by turns, of which a token has as many of the one as of the other, with equal gates, so that
   the gates' sum stays; FACTORS_ONE are 1. SLOTS_OF_EXPERTS: slot s has expert s. */
enum { FACTORS_ANY, FACTORS_SAME, FACTORS_ONE, FACTORS_EVEN, FACTORS_ZERO, FACTOR_SETS };
enum { SLOTS_ANY, SLOTS_OF_EXPERTS, SLOTS_ONCE };
typedef struct factor_draw {
  int64_t tokens;
  int32_t experts, active;
  int factors, slots;
  bool padding;
} factor_draw;

static factor_draw draw_case(const operation_case *c, random_stream *r) {
  static const int32_t odd[] = {3, 5, 7, 11, 13, 29, 61, 127, 251, 509, 1021};
  const bool small = case_is_small(c->number), first = c->number < GATE_FACTOR_KINDS;
  factor_draw d = {.tokens = random_integer(r, 2, small ? 6 : 60),
                   .experts = (int32_t)random_integer(r, 2, small ? 4 : 12)};
  if (case_is_kind(c, "odd-experts")) d.experts = odd[random_integer(r, 0, small ? 1 : 10)];
  if (case_is_kind(c, "most-experts")) d.experts = PHIBAL_MAX_EXPERTS, d.tokens = first ? 400 : 40;
  if (case_is_kind(c, "many-tokens")) d.tokens = first ? 1500 : 300;
  if (case_is_kind(c, "one-token")) d.tokens = 1;
  if (case_is_kind(c, "no-token")) d.tokens = 0;
  if (case_is_kind(c, "one-expert")) d.experts = 1;
  d.active = (int32_t)random_integer(r, 1, d.experts < 8 ? d.experts : 8);
  d.factors = (int)random_integer(r, 0, FACTOR_SETS - 1);
  d.slots = (int)random_integer(r, SLOTS_ANY, SLOTS_ONCE);
  d.padding = random_integer(r, 0, 3) == 0;
  if (case_is_kind(c, "ordinary")) d.padding = false, d.factors = FACTORS_ANY;
  if (case_is_kind(c, "padding")) d.padding = true;
  if (case_is_kind(c, "k-one")) d.active = 1;
  if (case_is_kind(c, "all-equal")) d.factors = FACTORS_SAME;
  if (case_is_kind(c, "zero-factor")) d.factors = FACTORS_ZERO;
  if (case_is_kind(c, "factor-index")) d.factors = FACTORS_EVEN, d.slots = SLOTS_ANY;
  if (case_is_kind(c, "factor-sum")) d.factors = FACTORS_SAME;
  if (case_is_kind(c, "repeated-experts") || case_is_kind(c, "cancelling") ||
      case_is_kind(c, "many-tokens"))
    d.slots = SLOTS_ANY;
  if (d.factors == FACTORS_EVEN) d.active = d.experts < 4 || d.active < 4 ? 2 : 4;
  if (d.factors == FACTORS_EVEN && d.experts < 2) d.factors = FACTORS_SAME, d.active = 1;
  if (d.slots == SLOTS_ONCE && d.tokens * d.active > d.experts) d.tokens = d.experts / d.active;
  return d;
}

/* Distinct experts of each token; the last tokens of a padded case, and some slots, have none. */
static void draw_experts(random_stream *r, const factor_draw *d, int32_t *experts) {
  for (int64_t t = 0; t < d->tokens; t++) {
    int32_t *own = experts + t * d->active;
    for (int32_t s = 0; s < d->active; s++) {
      int32_t e = d->slots == SLOTS_OF_EXPERTS ? s
                  : d->slots == SLOTS_ONCE     ? (int32_t)(t * d->active + s)
                                               : (int32_t)random_integer(r, 0, d->experts - 1);
      /* As many even ones as odd ones, which there are enough of. */
      if (d->factors == FACTORS_EVEN && e % 2 != s % 2) e = e > 0 ? e - 1 : 1;
      for (int32_t i = 0; i < s; i++)
        if (own[i] == e) {
          e += d->factors == FACTORS_EVEN ? 2 : 1;
          if (e >= d->experts) e = d->factors == FACTORS_EVEN ? s % 2 : 0;
          i = -1;
        }
      own[s] = e;
    }
    const bool whole = d->padding && (t == 1 || t + 1 == d->tokens || random_integer(r, 0, 4) == 0);
    for (int32_t s = 0; d->padding && s < d->active; s++)
      if (whole || random_integer(r, 0, 5) == 0) own[s] = -1;
  }
}

static void draw_factors(random_stream *r, const factor_draw *d, float *factor) {
  const float same = (float)random_uniform(r, 1.25, 3);
  for (int32_t e = 0; e < d->experts; e++) {
    const float any = (float)(random_uniform(r, 0.25, 2) * (random_integer(r, 0, 5) ? 1 : -1));
    factor[e] = d->factors == FACTORS_ONE                  ? 1
                : d->factors == FACTORS_SAME               ? same
                : d->factors == FACTORS_EVEN               ? (e % 2 ? 1.5f : 0.5f)
                : d->factors == FACTORS_ZERO && e % 3 != 1 ? (e % 2 ? -0.0f : 0.0f)
                                                           : any;
  }
}

/* The gates of a token sum to 1, nearly; what stands in padding is no gate. */
static void draw_gates(const operation_case *c, random_stream *r, const factor_draw *d,
                       const int32_t *experts, float *gates, float *gradient) {
  for (int64_t t = 0; t < d->tokens; t++) {
    double weight[PHIBAL_MAX_EXPERTS], sum = 0;
    for (int32_t s = 0; s < d->active; s++)
      sum += weight[s] = d->factors == FACTORS_EVEN ? 1 : random_uniform(r, 0.05, 1);
    for (int32_t s = 0; s < d->active; s++) {
      const int64_t i = t * d->active + s;
      gates[i] = (float)(weight[s] / sum);
      gradient[i] = (float)random_normal(r);
      if (case_is_kind(c, "cancelling")) { /* the terms of an expert cancel but for a last one */
        gates[i] = t % 2 ? gates[i - d->active] : ldexpf(gates[i], (int)random_integer(r, -20, 20));
        if (t % 2)
          gradient[i] = -gradient[i - d->active] * (random_integer(r, 0, 3) ? 1 : 1 + 0x1p-20f);
      }
      if (case_is_kind(c, "subnormal")) {
        gates[i] *= 0x1p-70f;
        gradient[i] *= 0x1p-66f;
      }
      if (experts[i] < 0) gates[i] = t % 2 ? 3 : NAN, gradient[i] = t % 3 ? 7 : NAN;
    }
  }
}

/* Flags of the properties that the case has. */
static void set_flags(operation_case *c, const factor_draw *d, const int32_t *experts,
                      const float *gates, const float *factor) {
  int32_t slots[PHIBAL_MAX_EXPERTS] = {0};
  bool padding = false, index = false, other_sum = false, repeated = false, zero = false;
  for (int64_t t = 0; t < d->tokens; t++) {
    double before = 0, after = 0;
    for (int32_t s = 0; s < d->active; s++) {
      const int64_t i = t * d->active + s;
      const int32_t e = experts[i];
      padding |= e < 0;
      if (e < 0) continue;
      const float f = factor[e], g = factor[s];
      index |= f < g || f > g;
      zero |= !(f < 0 || f > 0);
      repeated |= ++slots[e] > 1;
      before += (double)gates[i];
      after += (double)gates[i] * (double)f;
    }
    other_sum |= fabs(after - before) > 1e-3 * fabs(before);
  }
  if (padding) case_flag(c, FLAG_PADDING);
  if (index) case_flag(c, FLAG_FACTOR_INDEX);
  if (other_sum) case_flag(c, FLAG_FACTOR_SUM);
  if (repeated) case_flag(c, FLAG_REPEATED_EXPERTS);
  if (zero) case_flag(c, FLAG_ZERO_FACTOR);
}

phibal_status operation_gate_factor_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_GATE_FACTOR, c->number);
  const factor_draw d = draw_case(c, &r);
  const int64_t k = d.active, E = d.experts;
  int32_t *experts = case_add_input(c, "experts", TENSOR_I32, 2, d.tokens, k);
  float *gates = case_add_input(c, "gates", TENSOR_F32, 2, d.tokens, k);
  float *factor = case_add_input(c, "factor", TENSOR_F32, 1, E);
  float *gradient = case_add_input(c, "scaled-gradient", TENSOR_F32, 2, d.tokens, k);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  draw_experts(&r, &d, experts);
  if (case_is_kind(c, "cancelling"))
    for (int64_t i = k; i < d.tokens * k; i++)
      if (i / k % 2) experts[i] = experts[i - k];
  draw_factors(&r, &d, factor);
  if (case_is_kind(c, "subnormal"))
    for (int64_t e = 0; e < E; e++) factor[e] *= 0x1p-64f;
  draw_gates(c, &r, &d, experts, gates, gradient);
  case_integer(c, "k", k);
  set_flags(c, &d, experts, gates, factor);
  case_add_output(c, OUTPUT_GATE_FACTOR, "scaled", TENSOR_F32, 2, d.tokens, k);
  case_add_output(c, OUTPUT_GATE_FACTOR_GATES, "gate-gradient", TENSOR_F32, 2, d.tokens, k);
  case_add_output(c, OUTPUT_GATE_FACTOR_GRADIENT, "factor-gradient", TENSOR_F32, 1, E);
  return PHIBAL_OK;
}

phibal_status operation_gate_factor_cpu(operation_case *c) {
  const tensor *experts = case_input(c, "experts"), *factor = case_input(c, "factor");
  const float *gates = case_input_data(c, "gates");
  const int32_t k = (int32_t)experts->shape[1], E = (int32_t)factor->shape[0];
  phibal_status status = phibal_gate_factor(experts->shape[0], k, E, experts->data, gates,
                                            factor->data, case_output_data(c, "scaled"));
  if (status) return status;
  return phibal_gate_factor_backward(experts->shape[0], k, E, experts->data, gates, factor->data,
                                     case_input_data(c, "scaled-gradient"),
                                     case_output_data(c, "gate-gradient"),
                                     case_output_data(c, "factor-gradient"));
}

phibal_status operation_gate_factor_expected(const operation_case *c, judgement *j) {
  const tensor *experts = case_input(c, "experts"), *factor = case_input(c, "factor");
  const int64_t slots = tensor_size(experts), E = factor->shape[0];
  const size_t n = (size_t)(2 * (slots + E));
  phibal_enclosure *scaled = phibal_enclosure_vector(n, PRECISION);
  if (!scaled) return arena_out_of_memory();
  phibal_enclosure *gates = scaled + slots, *sum = gates + slots, *terms = sum + E;
  const phibal_reference_factor_batch batch = {
      .tokens = experts->shape[0],
      .active = (int32_t)experts->shape[1],
      .experts_count = (int32_t)E,
      .experts = experts->data,
      .gates = case_input_data(c, "gates"),
      .factor = factor->data,
      .scaled_gradient = case_input_data(c, "scaled-gradient"),
  };
  const phibal_reference_factor_results results = {scaled, gates, {sum, terms}};
  phibal_status status = phibal_reference_gate_factor(batch, PRECISION, results);
  for (int64_t i = 0; !status && i < slots; i++) {
    judge_real(j, OUTPUT_GATE_FACTOR, case_output(c, "scaled"), i, &scaled[i], NULL);
    judge_real(j, OUTPUT_GATE_FACTOR_GATES, case_output(c, "gate-gradient"), i, &gates[i], NULL);
  }
  for (int64_t e = 0; !status && e < E; e++)
    judge_real(j, OUTPUT_GATE_FACTOR_GRADIENT, case_output(c, "factor-gradient"), e, &sum[e],
               &terms[e]);
  phibal_enclosure_vector_clear(scaled, n);
  return status;
}
