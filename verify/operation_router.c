/* Router forward and backward, and the sequence-wise loss. */
#include "bounds.h"
#include "cases.h"
#include "judgement.h"
#include "kernels/core/sigmoid.h"
#include "selection.h"
#include <omp.h>
#include <phibal/reference_moe.h>
#include <stdlib.h>
#include <string.h>

/* Bits the reference works with, so that results come out with a width below 2^-60 of their terms,
   and the enclosure's own width adds less than 2^-30 ULP to the error counted. Where gates, prices
   or scores of extreme size cancel and it does not, it is asked with more, up to MOST_PRECISION. */
enum { PRECISION = 96, RECORDED_PRECISION = 256, MOST_PRECISION = 3072 };

enum { STREAM_FORWARD = 1, STREAM_BACKWARD, STREAM_SEQUENCE };

const char *operation_kind_route(uint64_t number) {
  const int field = field_kind_of(number);
  return field < 0 ? case_kind_name(case_kind_of(number)) : field_kind_name(field);
}

/* Golden vectors hold the value nearest to the exact one, also where max + log(sum) cancels down to
   the least probability. */
static mpfr_prec_t precision_for(const judgement *j) {
  return judge_has_outputs(j) ? PRECISION : RECORDED_PRECISION;
}

/* The same token with twice the bits; its results so far are lost. */
static phibal_status doubled(phibal_reference_token *truth) {
  const int32_t experts = truth->experts, active = truth->active;
  const mpfr_prec_t precision = 2 * truth->precision;
  phibal_reference_token finer;
  phibal_status status = phibal_reference_token_init(&finer, experts, active, precision);
  if (status != PHIBAL_OK) return status;
  phibal_reference_token_clear(truth);
  *truth = finer;
  return PHIBAL_OK;
}

/* What the routing operations are given. */
typedef struct routing {
  phibal_router router;
  int64_t tokens;
  const float *logits, *bias;
  const uint8_t *mask;
  const int32_t *experts; /* a selection to judge by in the place of (R2)'s, or null */
} routing;

static routing routing_of(const operation_case *c) {
  const tensor *logits = case_input(c, "logits");
  return (routing){.router = {.experts = (int32_t)logits->shape[1],
                              .active = (int32_t)case_get_integer(c, "k"),
                              .gate = case_get_gate(c),
                              .scale = (float)case_get_real(c, "scale")},
                   .tokens = logits->shape[0],
                   .logits = logits->data,
                   .bias = case_input_data(c, "bias"),
                   .mask = case_input_data(c, "mask"),
                   .experts = case_input_data(c, "experts")};
}

/* Whether the order of equal logits decides about a route. */
static bool token_has_ties(const float *x, int32_t E, int32_t k) {
  for (int32_t e = 0; e < E; e++) {
    int32_t above = 0, equal = 0;
    for (int32_t i = 0; i < E; i++) above += x[i] > x[e], equal += x[i] == x[e];
    if (above < k && equal > 1) return true;
  }
  return false;
}

static bool has_ties(const route_case *r) {
  for (int64_t t = 0; t < r->tokens; t++)
    if ((!r->mask || r->mask[t]) && !r->bias &&
        token_has_ties(r->logits + t * r->router.experts, r->router.experts, r->router.active))
      return true;
  return false;
}

/* Scores as (R2) has them, but with the bias in 8 bits if asked for. */
static void scores_of(const route_case *r, int64_t token, bool short_bias, double *score) {
  for (int32_t e = 0; e < r->router.experts; e++) {
    float x = r->logits[token * r->router.experts + e];
    if (r->router.gate == PHIBAL_GATE_SIGMOID) x = core_sigmoid(x);
    float bias = r->bias ? r->bias[e] : 0;
    if (short_bias) {
      uint32_t bits;
      memcpy(&bits, &bias, sizeof bits);
      bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
      memcpy(&bias, &bits, sizeof bias);
    }
    score[e] = (double)x + (double)bias;
  }
}

/* The k largest, in the order of (R2). */
static void select_scores(const route_case *r, const double *score, int32_t *experts) {
  bool taken[PHIBAL_MAX_EXPERTS] = {0};
  for (int32_t s = 0; s < r->router.active; s++) {
    int32_t best = -1;
    for (int32_t e = 0; e < r->router.experts; e++)
      if (!taken[e] && (best < 0 || score[e] > score[best])) best = e;
    taken[best] = true;
    experts[s] = best;
  }
}

/* Whether a token has fewer than k experts with a score of at least 0. */
static bool takes_negative(const route_case *r, int64_t token) {
  double score[PHIBAL_MAX_EXPERTS];
  int32_t positive = 0;
  scores_of(r, token, false, score);
  for (int32_t e = 0; e < r->router.experts; e++) positive += score[e] >= 0;
  return positive < r->router.active;
}

/* Whether 10^-20 beside the sum of the selected sigmoids, or of all of them, is seen in binary32.
 */
static bool shows_epsilon(const route_case *r, int64_t token) {
  const int32_t E = r->router.experts;
  double score[PHIBAL_MAX_EXPERTS], selected = 0;
  int32_t experts[PHIBAL_MAX_EXPERTS];
  scores_of(r, token, false, score);
  select_scores(r, score, experts);
  for (int32_t s = 0; s < r->router.active; s++)
    selected += (double)core_sigmoid(r->logits[token * E + experts[s]]);
  return selected < 1e-13;
}

/* Whether the token's scores are equal and not all selected. */
static bool has_equal_scores(const route_case *r, int64_t token) {
  const int32_t E = r->router.experts;
  double score[PHIBAL_MAX_EXPERTS];
  scores_of(r, token, false, score);
  int32_t equal = 1;
  while (equal < E && score[equal] >= score[0] && score[equal] <= score[0]) equal++;
  return equal == E && r->router.active < E;
}

static bool changed_by_short_bias(const route_case *r, int64_t token) {
  double score[PHIBAL_MAX_EXPERTS];
  int32_t experts[2][PHIBAL_MAX_EXPERTS];
  for (int i = 0; i < 2; i++) {
    scores_of(r, token, i, score);
    select_scores(r, score, experts[i]);
  }
  return memcmp(experts[0], experts[1], sizeof(int32_t) * (size_t)r->router.active) != 0;
}

static void add_routing_flags(operation_case *c, const route_case *r) {
  if (r->router.active == 1) case_flag(c, FLAG_K_ONE);
  if (r->router.active == r->router.experts && r->router.experts > 1) case_flag(c, FLAG_K_EQUALS_E);
  if (r->router.scale != 1) case_flag(c, FLAG_SCALE);
  if (r->router.gate == PHIBAL_GATE_SIGMOID) case_flag(c, FLAG_SIGMOID);
  if (r->router.gate == PHIBAL_GATE_TOPK_SOFTMAX && r->router.active > 1 &&
      r->router.active < r->router.experts)
    case_flag(c, FLAG_RENORMALISED);
  if (has_ties(r)) case_flag(c, FLAG_TIES);
  if (r->mask) case_flag(c, FLAG_PADDING);
  if (r->bias) case_flag(c, FLAG_BIAS);
  const bool sigmoid = r->router.gate == PHIBAL_GATE_SIGMOID;
  if (sigmoid && r->bias) case_flag(c, FLAG_BIASED_GATES);
  for (int64_t t = 0; t < r->tokens && t < 100; t++) {
    if (r->mask && !r->mask[t]) continue;
    const bool negative = takes_negative(r, t);
    if (has_equal_scores(r, t)) case_flag(c, FLAG_ALL_EQUAL);
    if (r->bias && negative) case_flag(c, FLAG_NEGATIVE_BIAS);
    if (negative && r->router.experts % 32) case_flag(c, FLAG_ALL_NEGATIVE);
    if (sigmoid && shows_epsilon(r, t)) case_flag(c, FLAG_SIGMOID_EPSILON);
    if (r->bias && changed_by_short_bias(r, t)) case_flag(c, FLAG_BIAS_PRECISION);
  }
}

/* The generated routing case, as parameters and inputs. */
static void add_routing(operation_case *c, const route_case *r, int64_t tokens, bool selecting) {
  int64_t E = r->router.experts;
  case_integer(c, "k", r->router.active);
  case_text(c, "gate", selection_gates[r->router.gate]);
  case_real(c, "scale", (double)r->router.scale);
  if (r->field == FIELD_BFLOAT16) case_text(c, "logits-format", "bfloat16");
  if (r->field == FIELD_FLOAT16) case_text(c, "logits-format", "binary16");
  float *logits = case_add_input(c, "logits", TENSOR_F32, 2, tokens, E);
  if (logits) memcpy(logits, r->logits, sizeof(float) * (size_t)(tokens * E));
  float *bias = r->bias && selecting ? case_add_input(c, "bias", TENSOR_F32, 1, E) : NULL;
  if (bias) memcpy(bias, r->bias, sizeof(float) * (size_t)E);
  uint8_t *mask = r->mask ? case_add_input(c, "mask", TENSOR_U8, 1, tokens) : NULL;
  if (mask) memcpy(mask, r->mask, (size_t)tokens);
  add_routing_flags(c, r);
}

phibal_status operation_router_forward_make(operation_case *c) {
  route_case r;
  phibal_status status = route_case_create(c->seed, STREAM_FORWARD, c->number, &r);
  if (status != PHIBAL_OK) return status;
  int64_t T = r.tokens, E = r.router.experts, k = r.router.active;
  add_routing(c, &r, T, true);
  route_case_destroy(&r);
  case_add_output(c, OUTPUT_ROUTER_EXPERTS, "experts", TENSOR_I32, 2, T, k);
  case_add_output(c, OUTPUT_ROUTER_GATES, "gates", TENSOR_F32, 2, T, k);
  case_add_output(c, OUTPUT_ROUTER_PROBABILITIES, "probabilities", TENSOR_F32, 2, T, E);
  case_add_output(c, OUTPUT_ROUTER_LOGSUMEXP, "logsumexp", TENSOR_F32, 1, T)->optional = true;
  case_add_output(c, OUTPUT_ROUTER_COUNTS, "tokens", TENSOR_I64, 1, (int64_t)1)->optional = true;
  if (T == 0) return PHIBAL_OK; /* no mean over no token */
  case_add_output(c, OUTPUT_ROUTER_COUNTS, "counts", TENSOR_I64, 1, E);
  case_add_output(c, OUTPUT_ROUTER_LOADS, "loads", TENSOR_F32, 1, E);
  case_add_output(c, OUTPUT_ROUTER_FREQUENCIES, "frequencies", TENSOR_F32, 1, E);
  return PHIBAL_OK;
}

/* Tokens first .. first + count - 1 of the case, into the arrays of all tokens. */
typedef struct forward_outputs {
  float *probabilities, *gates, *logsumexp;
  int32_t *experts;
  phibal_loads loads;
} forward_outputs;

static phibal_status forward_part(const routing *r, int64_t first, int64_t count,
                                  forward_outputs *o) {
  int64_t E = r->router.experts, k = r->router.active;
  return phibal_router_forward(&r->router, count, r->logits + first * E, r->bias,
                               r->mask ? r->mask + first : NULL, o->probabilities + first * E,
                               o->experts + first * k, o->gates + first * k,
                               o->logsumexp ? o->logsumexp + first : NULL, &o->loads);
}

phibal_status operation_router_forward_cpu(operation_case *c) {
  routing r = routing_of(c);
  forward_outputs o = {.probabilities = case_output_data(c, "probabilities"),
                       .gates = case_output_data(c, "gates"),
                       .logsumexp = case_output_data(c, "logsumexp"),
                       .experts = case_output_data(c, "experts")};
  phibal_status status = phibal_loads_create(&r.router, &o.loads);
  if (status != PHIBAL_OK) return status;
  status = forward_part(&r, 0, r.tokens, &o);
  *(int64_t *)case_output_data(c, "tokens") = o.loads.tokens;
  if (status == PHIBAL_OK && o.loads.tokens > 0) {
    memcpy(case_output_data(c, "counts"), o.loads.count,
           sizeof(int64_t) * (size_t)r.router.experts);
    status = phibal_loads_mean(&o.loads, case_output_data(c, "loads"));
  }
  if (status == PHIBAL_OK && o.loads.tokens > 0)
    status = phibal_loads_frequency(&o.loads, case_output_data(c, "frequencies"));
  phibal_loads_destroy(&o.loads);
  return status;
}

static phibal_status scratch_outputs(const routing *r, arena *a, forward_outputs *o) {
  size_t T = (size_t)r->tokens, E = (size_t)r->router.experts, k = (size_t)r->router.active;
  o->probabilities = arena_take(a, sizeof(float) * T * E, 0xff);
  o->gates = arena_take(a, sizeof(float) * T * k, 0xff);
  o->logsumexp = arena_take(a, sizeof(float) * T, 0xff);
  o->experts = arena_take(a, sizeof(int32_t) * T * k, 0x7f);
  if (a->failed) return arena_out_of_memory();
  return phibal_loads_create(&r->router, &o->loads);
}

static bool same_loads(const phibal_loads *a, const phibal_loads *b) {
  size_t E = (size_t)a->experts;
  return a->tokens == b->tokens && memcmp(a->count, b->count, sizeof(int64_t) * E) == 0 &&
         memcmp(a->probability, b->probability, sizeof(uint64_t) * PHIBAL_LOAD_LIMBS * E) == 0;
}

/* The case again by one thread (three, if there is one), in two calls. */
static phibal_status forward_cut(const routing *r, forward_outputs *o) {
  int threads = omp_get_max_threads();
  omp_set_num_threads(threads > 1 ? 1 : 3);
  int64_t middle = r->tokens / 3;
  phibal_status status = forward_part(r, 0, middle, o);
  if (status == PHIBAL_OK) status = forward_part(r, middle, r->tokens - middle, o);
  omp_set_num_threads(threads);
  return status;
}

/* One thread and two calls instead of all threads and one call: every bit must be the same, those
   of the exact sums behind the loads too. */
phibal_status router_forward_repeat(const operation_case *c, tally *t) {
  routing r = routing_of(c);
  arena a = {0};
  forward_outputs cut = {0}, whole = {0};
  phibal_status status = scratch_outputs(&r, &a, &cut);
  if (status == PHIBAL_OK) status = scratch_outputs(&r, &a, &whole);
  if (status == PHIBAL_OK) status = forward_part(&r, 0, r.tokens, &whole);
  if (status == PHIBAL_OK) status = forward_cut(&r, &cut);
  if (status == PHIBAL_OK) {
    const struct {
      const char *output;
      const void *cut;
    } pairs[] = {{"probabilities", cut.probabilities},
                 {"gates", cut.gates},
                 {"experts", cut.experts},
                 {"logsumexp", cut.logsumexp}};
    for (int i = 0; i < 4; i++) {
      const tensor *output = case_output(c, pairs[i].output);
      if (!output) continue;
      size_t bytes = tensor_type_bytes(output->type) * (size_t)tensor_size(output);
      tally_integer(t, i, 0, memcmp(pairs[i].cut, output->data, bytes) != 0);
    }
    tally_integer(t, 4, 1, same_loads(&cut.loads, &whole.loads));
  }
  phibal_loads_destroy(&cut.loads);
  phibal_loads_destroy(&whole.loads);
  arena_free(&a);
  return status;
}

static void judge_token(const routing *r, int64_t i, const phibal_reference_token *truth,
                        const operation_case *c, judgement *j) {
  int64_t E = r->router.experts, k = r->router.active;
  for (int64_t s = 0; s < k; s++) {
    judge_integer(j, OUTPUT_ROUTER_EXPERTS, case_output(c, "experts"), i * k + s,
                  truth->selection[s]);
    judge_real(j, OUTPUT_ROUTER_GATES, case_output(c, "gates"), i * k + s, &truth->gate[s], NULL);
  }
  const tensor *probabilities = case_output(c, "probabilities");
  for (int64_t e = 0; e < E; e++)
    judge_real(j, OUTPUT_ROUTER_PROBABILITIES, probabilities, i * E + e, &truth->probability[e],
               NULL);
}

/* Where max + log(sum) cancels, the error is relative to |max| + log E, at least 1. */
static void judge_logsumexp(const routing *r, int64_t i, const phibal_reference_token *truth,
                            phibal_enclosure *terms, const operation_case *c, judgement *j) {
  double magnitude = 1;
  for (int32_t e = 0; e < r->router.experts; e++) {
    double x = (double)r->logits[i * r->router.experts + e];
    if (x > magnitude) magnitude = x;
    if (-x > magnitude) magnitude = -x;
  }
  phibal_enclosure_set_d(terms, magnitude);
  judge_real(j, OUTPUT_ROUTER_LOGSUMEXP, case_output(c, "logsumexp"), i, &truth->logsumexp, terms);
}

static void judge_padding(const routing *r, int64_t i, const operation_case *c, judgement *j) {
  int64_t E = r->router.experts, k = r->router.active;
  for (int64_t s = 0; s < k; s++) {
    judge_integer(j, OUTPUT_ROUTER_EXPERTS, case_output(c, "experts"), i * k + s, -1);
    judge_exact(j, OUTPUT_ROUTER_EXPERTS, case_output(c, "gates"), i * k + s, 0);
  }
  for (int64_t e = 0; e < E; e++)
    judge_exact(j, OUTPUT_ROUTER_EXPERTS, case_output(c, "probabilities"), i * E + e, 0);
  const tensor *logsumexp = case_output(c, "logsumexp");
  if (logsumexp) judge_exact(j, OUTPUT_ROUTER_EXPERTS, logsumexp, i, 0);
}

/* Every token is judged for batches of up to this many; of longer ones each so many-th, the last
   one among them, while loads always count all. */
enum { TOKENS_COMPARED = 2000 };

static int64_t token_step(const judgement *j, int64_t tokens) {
  return judge_may_sample(j) && tokens > TOKENS_COMPARED ? tokens / TOKENS_COMPARED : 1;
}

static phibal_status judge_tokens(const routing *r, const operation_case *c, judgement *j) {
  phibal_reference_token truth;
  phibal_status status =
      phibal_reference_token_init(&truth, r->router.experts, r->router.active, precision_for(j));
  if (status != PHIBAL_OK) return status;
  /* (R8) is of the logits alone; the reference has it where there is a softmax. */
  phibal_router softmax = r->router;
  softmax.gate = PHIBAL_GATE_PROBABILITY;
  phibal_enclosure terms;
  phibal_enclosure_init(&terms, 53);
  int64_t step = token_step(j, r->tokens), E = r->router.experts;
  for (int64_t i = (r->tokens - 1) % step; status == PHIBAL_OK && i < r->tokens; i += step) {
    if (r->mask && !r->mask[i]) {
      judge_padding(r, i, c, j);
      continue;
    }
    status = phibal_reference_token_forward(&truth, &r->router, r->logits + i * E, r->bias);
    while (status == PHIBAL_OK && truth.precision < MOST_PRECISION &&
           (any_is_wide(truth.probability, NULL, E) ||
            any_is_wide(truth.gate, NULL, r->router.active))) {
      status = doubled(&truth);
      if (status == PHIBAL_OK)
        status = phibal_reference_token_forward(&truth, &r->router, r->logits + i * E, r->bias);
    }
    if (status != PHIBAL_OK) break;
    judge_token(r, i, &truth, c, j);
    if (r->router.gate == PHIBAL_GATE_SIGMOID)
      status = phibal_reference_token_forward(&truth, &softmax, r->logits + i * E, NULL);
    if (status == PHIBAL_OK) judge_logsumexp(r, i, &truth, &terms, c, j);
  }
  phibal_enclosure_clear(&terms);
  phibal_reference_token_clear(&truth);
  return status;
}

static phibal_status judge_loads(const routing *r, const operation_case *c, judgement *j) {
  int32_t E = r->router.experts;
  int64_t count[PHIBAL_MAX_EXPERTS], counted = 0;
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, precision_for(j));
  if (!truth) return arena_out_of_memory();
  phibal_status status =
      phibal_reference_loads((phibal_reference_batch){&r->router, r->logits, r->bias, r->mask},
                             r->tokens, precision_for(j), truth, count, &counted);
  if (status == PHIBAL_OK) {
    judge_integer(j, OUTPUT_ROUTER_COUNTS, case_output(c, "tokens"), 0, counted);
    for (int32_t e = 0; e < E; e++) {
      judge_integer(j, OUTPUT_ROUTER_COUNTS, case_output(c, "counts"), e, count[e]);
      judge_real(j, OUTPUT_ROUTER_LOADS, case_output(c, "loads"), e, &truth[e], NULL);
    }
    status = phibal_reference_frequency(E, r->router.active, counted, count, truth);
  }
  if (status == PHIBAL_OK)
    for (int32_t e = 0; e < E; e++)
      judge_real(j, OUTPUT_ROUTER_FREQUENCIES, case_output(c, "frequencies"), e, &truth[e], NULL);
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}

/* What another selection changes, of the tokens whose experts are others: experts and gates, (R3)
   to (R5) from the weights exp(x - max) or scaled sigmoids, or from the probabilities; and counts
   and frequencies. The rest is expected as before. */
static phibal_status judge_selected(const routing *r, const operation_case *c, judgement *j) {
  const int32_t E = r->router.experts, k = r->router.active;
  const tensor *gates = case_output(c, "gates");
  const bool share = r->router.gate == PHIBAL_GATE_SIGMOID ||
                     (r->router.gate == PHIBAL_GATE_TOPK_SOFTMAX && k > 1);
  phibal_reference_token t;
  phibal_status status = phibal_reference_token_init(&t, E, k, RECORDED_PRECISION);
  if (status != PHIBAL_OK) return status;
  int64_t counted = 0;
  for (int64_t i = 0; status == PHIBAL_OK && i < r->tokens; i++) {
    if (r->mask && !r->mask[i]) continue;
    counted++;
    const int32_t *experts = r->experts + i * k;
    const float *logits = r->logits + i * E;
    status = phibal_reference_token_select(&t, &r->router, logits, r->bias);
    if (status != PHIBAL_OK || !memcmp(experts, t.selection, sizeof *experts * (size_t)k)) continue;
    for (int32_t s = 0; s < k; s++)
      judge_integer(j, OUTPUT_ROUTER_EXPERTS, case_output(c, "experts"), i * k + s, experts[s]);
    if (!gates) continue;
    status = phibal_reference_token_forward(&t, &r->router, logits, r->bias);
    if (status != PHIBAL_OK) break;
    phibal_enclosure_set_si(&t.total, share ? 0 : 1);
    for (int32_t s = 0; share && s < k; s++)
      phibal_enclosure_add(&t.total, &t.total, &t.weight[experts[s]]);
    phibal_enclosure_set_d(&t.factor, (double)r->router.scale);
    for (int32_t s = 0; s < k; s++) {
      phibal_enclosure_div(&t.term, share ? &t.weight[experts[s]] : &t.probability[experts[s]],
                           &t.total);
      phibal_enclosure_mul(&t.term, &t.term, &t.factor);
      judge_real(j, OUTPUT_ROUTER_GATES, gates, i * k + s, &t.term, NULL);
    }
  }
  phibal_reference_token_clear(&t);
  if (status != PHIBAL_OK || counted == 0) return status;
  int64_t count[PHIBAL_MAX_EXPERTS];
  selection_count(r->experts, r->tokens * k, E, count);
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, RECORDED_PRECISION);
  if (!truth) return arena_out_of_memory();
  status = phibal_reference_frequency(E, k, counted, count, truth);
  for (int32_t e = 0; status == PHIBAL_OK && e < E; e++) {
    judge_integer(j, OUTPUT_ROUTER_COUNTS, case_output(c, "counts"), e, count[e]);
    judge_real(j, OUTPUT_ROUTER_FREQUENCIES, case_output(c, "frequencies"), e, &truth[e], NULL);
  }
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}

phibal_status operation_router_forward_expected(const operation_case *c, judgement *j) {
  routing r = routing_of(c);
  if (r.experts) return judge_selected(&r, c, j);
  phibal_status status = judge_tokens(&r, c, j);
  if (status != PHIBAL_OK) return status;
  if (r.tokens > 0) return judge_loads(&r, c, j);
  judge_integer(j, OUTPUT_ROUTER_COUNTS, case_output(c, "tokens"), 0, 0);
  return PHIBAL_OK;
}

/* What the backward pass is given besides the case. */
static void add_backward(operation_case *c, route_case *r) {
  random_stream *s = &r->random;
  int64_t T = r->tokens, k = r->router.active, E = r->router.experts;
  bool with_gates = random_integer(s, 0, 3) > 0;
  bool with_price = !with_gates || random_integer(s, 0, 3) > 0;
  case_real(c, "price-scale", random_uniform(s, 0.001, 2) / (double)(T + 1));
  bool z = r->router.gate != PHIBAL_GATE_SIGMOID && random_integer(s, 0, 1);
  case_real(c, "z-scale", z ? random_uniform(s, 0, 0.1) : 0);
  float *price = with_price ? case_add_input(c, "price", TENSOR_F32, 1, E) : NULL;
  float *gates = with_gates ? case_add_input(c, "gate-gradient", TENSOR_F32, 2, T, k) : NULL;
  for (int64_t e = 0; e < E; e++) {
    float drawn = (float)(random_normal(s) * 3);
    if (price) price[e] = drawn;
  }
  for (int64_t i = 0; i < T * k; i++) {
    float drawn = (float)random_normal(s);
    if (gates) gates[i] = drawn;
  }
}

/* The experts of the slots, -1 for padding: an input, so any distinct ones will do. */
static phibal_status add_experts(operation_case *c, const route_case *r) {
  int64_t T = r->tokens, k = r->router.active;
  routing given = {r->router, T, r->logits, r->bias, r->mask, NULL};
  arena a = {0};
  forward_outputs o = {0};
  int32_t *experts = case_add_input(c, "experts", TENSOR_I32, 2, T, k);
  phibal_status status = scratch_outputs(&given, &a, &o);
  if (status == PHIBAL_OK) status = forward_part(&given, 0, T, &o);
  if (status == PHIBAL_OK && experts) memcpy(experts, o.experts, sizeof(int32_t) * (size_t)(T * k));
  phibal_loads_destroy(&o.loads);
  arena_free(&a);
  return status;
}

phibal_status operation_router_backward_make(operation_case *c) {
  route_case r;
  phibal_status status = route_case_create(c->seed, STREAM_BACKWARD, c->number, &r);
  if (status != PHIBAL_OK) return status;
  add_routing(c, &r, r.tokens, false);
  add_backward(c, &r);
  status = add_experts(c, &r);
  case_add_output(c, OUTPUT_ROUTER_GRADIENT, "logit-gradient", TENSOR_F32, 2, r.tokens,
                  (int64_t)r.router.experts);
  case_flag(c, FLAG_ZERO_ROW_SUM);
  route_case_destroy(&r);
  return status;
}

phibal_status operation_router_backward_cpu(operation_case *c) {
  routing r = routing_of(c);
  return phibal_router_backward(&r.router, r.tokens, r.logits, r.mask,
                                case_input_data(c, "experts"), case_input_data(c, "gate-gradient"),
                                case_input_data(c, "price"), case_get_real(c, "price-scale"),
                                case_get_real(c, "z-scale"), case_output_data(c, "logit-gradient"));
}

phibal_status operation_router_backward_expected(const operation_case *c, judgement *j) {
  routing r = routing_of(c);
  int64_t E = r.router.experts, k = r.router.active;
  const int32_t *experts = case_input_data(c, "experts");
  const float *gate_gradient = case_input_data(c, "gate-gradient");
  const tensor *gradient = case_output(c, "logit-gradient");
  phibal_reference_token truth;
  phibal_status status =
      phibal_reference_token_init(&truth, r.router.experts, r.router.active, precision_for(j));
  if (status != PHIBAL_OK) return status;
  int64_t step = token_step(j, r.tokens);
  for (int64_t i = (r.tokens - 1) % step; status == PHIBAL_OK && i < r.tokens; i += step) {
    if (r.mask && !r.mask[i]) {
      for (int64_t e = 0; e < E; e++)
        judge_exact(j, OUTPUT_ROUTER_GRADIENT, gradient, i * E + e, 0);
      continue;
    }
    bool wide = false;
    do {
      if (wide) status = doubled(&truth);
      if (status == PHIBAL_OK)
        status = phibal_reference_token_backward(
            &truth, &r.router, r.logits + i * E, experts + i * k,
            gate_gradient ? gate_gradient + i * k : NULL, case_input_data(c, "price"),
            case_get_real(c, "price-scale"), case_get_real(c, "z-scale"));
      wide = status == PHIBAL_OK && any_is_wide(truth.gradient, truth.condition, E);
    } while (wide && truth.precision < MOST_PRECISION);
    if (status != PHIBAL_OK) break;
    for (int64_t e = 0; e < E; e++)
      judge_real(j, OUTPUT_ROUTER_GRADIENT, gradient, i * E + e, &truth.gradient[e],
                 &truth.condition[e]);
  }
  phibal_reference_token_clear(&truth);
  return status;
}

phibal_status operation_sequence_loss_make(operation_case *c) {
  route_case r;
  phibal_status status = route_case_create(c->seed, STREAM_SEQUENCE, c->number, &r);
  if (status != PHIBAL_OK) return status;
  int64_t tokens = r.tokens > 2000 ? 2000 : r.tokens, sequences = tokens >= 6 ? 3 : 1;
  case_integer(c, "sequences", sequences);
  case_real(c, "alpha", random_uniform(&r.random, 0.001, 1));
  add_routing(c, &r, tokens / sequences * sequences, true);
  case_flag(c, FLAG_SEQUENCES);
  if (r.bias) case_flag(c, FLAG_ROUTING_MAP);
  case_flag(c, FLAG_K_NORMALISATION);
  case_add_output(c, OUTPUT_SEQUENCE_LOSS, "loss", TENSOR_F64, 1, (int64_t)1);
  route_case_destroy(&r);
  return PHIBAL_OK;
}

/* As the trainer forms it: one phibal_loads a sequence, the Switch loss of its f and P, weighted by
   its share of the tokens. */
phibal_status operation_sequence_loss_cpu(operation_case *c) {
  routing r = routing_of(c);
  int64_t sequences = case_get_integer(c, "sequences"), length = r.tokens / sequences, total = 0;
  double loss = 0;
  arena a = {0};
  forward_outputs o = {0};
  phibal_status status = scratch_outputs(&r, &a, &o);
  for (int64_t b = 0; status == PHIBAL_OK && b < sequences; b++) {
    float mean[PHIBAL_MAX_EXPERTS], frequency[PHIBAL_MAX_EXPERTS], one;
    phibal_loads_clear(&o.loads);
    status = forward_part(&r, b * length, length, &o);
    if (status != PHIBAL_OK || o.loads.tokens == 0) continue;
    phibal_loads_mean(&o.loads, mean);
    phibal_loads_frequency(&o.loads, frequency);
    status = phibal_switch_loss(r.router.experts, case_get_real(c, "alpha"), frequency, mean, &one);
    loss += (double)one * (double)o.loads.tokens;
    total += o.loads.tokens;
  }
  *(double *)case_output_data(c, "loss") = total > 0 ? loss / (double)total : 0;
  phibal_loads_destroy(&o.loads);
  arena_free(&a);
  return status;
}

/* (L4) with a selection that is given: (alpha E / (k T)) sum_b sum_e n_be P_be. */
static phibal_status selected_sequence_loss(const routing *r, int64_t sequences, double alpha,
                                            phibal_enclosure *loss) {
  const int32_t E = r->router.experts, k = r->router.active;
  const int64_t length = r->tokens / sequences;
  phibal_enclosure *P = phibal_enclosure_vector((size_t)E + 1, PRECISION);
  if (!P) return arena_out_of_memory();
  phibal_enclosure *n = P + E;
  phibal_status status = PHIBAL_OK;
  int64_t total = 0;
  phibal_enclosure_set_si(loss, 0);
  for (int64_t b = 0; status == PHIBAL_OK && b < sequences; b++) {
    const uint8_t *mask = r->mask ? r->mask + b * length : NULL;
    int64_t count[PHIBAL_MAX_EXPERTS], counted = 0;
    for (int64_t t = 0; t < length; t++) counted += !mask || mask[t];
    total += counted;
    if (!counted) continue;
    status = phibal_reference_loads(
        (phibal_reference_batch){&r->router, r->logits + b * length * E, r->bias, mask}, length,
        PRECISION, P, count, &counted);
    selection_count(r->experts + b * length * k, length * k, E, count);
    for (int32_t e = 0; status == PHIBAL_OK && e < E; e++) {
      phibal_enclosure_set_si(n, count[e]);
      phibal_enclosure_mul(n, n, &P[e]);
      phibal_enclosure_add(loss, loss, n);
    }
  }
  phibal_enclosure_set_d(n, alpha);
  phibal_enclosure_mul(loss, loss, n);
  phibal_enclosure_set_si(n, E);
  phibal_enclosure_mul(loss, loss, n);
  phibal_enclosure_set_si(n, total ? k * total : 1);
  phibal_enclosure_div(loss, loss, n);
  phibal_enclosure_vector_clear(P, (size_t)E + 1);
  return status;
}

phibal_status operation_sequence_loss_expected(const operation_case *c, judgement *j) {
  routing r = routing_of(c);
  int64_t sequences = case_get_integer(c, "sequences");
  const double alpha = case_get_real(c, "alpha");
  phibal_enclosure truth;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_status status = r.experts
                             ? selected_sequence_loss(&r, sequences, alpha, &truth)
                             : phibal_reference_sequence_loss(
                                   (phibal_reference_batch){&r.router, r.logits, r.bias, r.mask},
                                   sequences, r.tokens / sequences, alpha, PRECISION, &truth);
  /* A P below 2^-126 is within 2^-149, not 2 u P, and so is the loss of a sequence: together at
     most (alpha E + 1) 2^-149, and 5 u times the same multiple of 2^-126 is more than that. */
  phibal_enclosure terms;
  phibal_enclosure_init(&terms, PRECISION);
  phibal_enclosure_set_d(&terms, (alpha * (double)r.router.experts + 1) * 0x1p-126);
  phibal_enclosure_add(&terms, &terms, &truth);
  if (status == PHIBAL_OK)
    judge_real(j, OUTPUT_SEQUENCE_LOSS, case_output(c, "loss"), 0, &truth, &terms);
  phibal_enclosure_clear(&terms);
  phibal_enclosure_clear(&truth);
  return status;
}
