/* Traces: the state of one layer's balancing, m (M5) or the bias (L6), through a script of events.
   Where `balance-step` asks for one step's numbers, a trace asks what belongs to a step: frameworks
   count a recomputed forward pass twice, or an evaluation, lose the state when they load a
   checkpoint, and round it when a module is cast.

   The state is asked for between steps only, where all implementations have to agree: some average
   in the forward pass, some in the optimizer's step. Every pair of features (trace_script.h) is
   there for every method. */
#include "judgement.h"
#include "trace_script.h"
#include <math.h>
#include <phibal/balance.h>
#include <phibal/reference_moe.h>
#include <string.h>

enum { STREAM_TRACE = 120, PRECISION = 96 };

/* phi follows probabilities or frequencies; loss-free selects by logits or by sigmoid scores. */
enum { TRACE_PROBABILITY, TRACE_FREQUENCY, TRACE_LOGITS, TRACE_SIGMOID, METHODS };

static uint32_t feature_set(uint64_t number) {
  return trace_feature_set(case_base(number) / METHODS % TRACE_STATE_SETS, TRACE_STATES);
}

/* The first of its features. */
const char *operation_kind_trace(uint64_t number) {
  return flag_describe(trace_first_flag(feature_set(number)))->name;
}

static phibal_status make_phi(operation_case *c, trace_script *s, bool frequency) {
  const int64_t E = s->E;
  case_real(c, "eta", (double)(float)random_uniform(&s->r, 0.1, 0.9));
  case_text(c, "track", frequency ? "frequency" : "probability");
  float *m = case_add_input(c, "m", TENSOR_F32, 1, E);
  if (!m) return arena_out_of_memory();
  double draw[PHIBAL_MAX_EXPERTS], sum = 0;
  for (int64_t e = 0; e < E; e++) sum += draw[e] = random_unit(&s->r) + 1e-2;
  for (int64_t e = 0; e < E; e++) m[e] = (float)(draw[e] / sum);
  case_add_output(c, OUTPUT_TRACE_M, "m", TENSOR_F32, 2, s->observed, E);
  return PHIBAL_OK;
}

static phibal_status make_loss_free(operation_case *c, trace_script *s, bool sigmoid) {
  const int64_t E = s->E;
  case_text(c, "gate", sigmoid ? "sigmoid" : "topk-softmax");
  case_real(c, "rate", 0.015625 * (double)random_integer(&s->r, 1, 10));
  float *bias = case_add_input(c, "bias", TENSOR_F32, 1, E);
  if (!bias) return arena_out_of_memory();
  for (int64_t e = 0; e < E; e++) bias[e] = (float)random_integer(&s->r, -128, 128) / 256;
  /* An odd multiple of 2^-8 that multiples of 2^-6 do not make one that bfloat16 holds; negative,
     so that the others are selected. */
  bias[E - 1] = -4 - 3.0f / 256;
  case_add_output(c, OUTPUT_TRACE_BIAS, "bias", TENSOR_F32, 2, s->observed, E);
  return PHIBAL_OK;
}

phibal_status operation_trace_make(operation_case *c) {
  trace_script s = {.r = random_start(c->seed, STREAM_TRACE, c->number),
                    .features = feature_set(c->number),
                    .sequences = 1};
  const bool small = case_is_small(c->number);
  const uint64_t method = case_base(c->number) % METHODS;
  s.T = random_integer(&s.r, 3, small ? 3 : 9);
  s.E = random_integer(&s.r, 3, small ? 3 : 8);
  const bool phi = method == TRACE_PROBABILITY || method == TRACE_FREQUENCY;
  case_text(c, "method", phi ? "phi" : "loss-free");
  case_integer(c, "k", random_integer(&s.r, 1, 2));
  case_integer(c, "ranks", trace_has(&s, TRACE_HAS_RANKS) ? 2 : 1);
  if (trace_write(c, &s, true) != PHIBAL_OK) return case_status(c);
  return phi ? make_phi(c, &s, method == TRACE_FREQUENCY)
             : make_loss_free(c, &s, method == TRACE_SIGMOID);
}

/* What a trace consists of, read back from its tensors. */
typedef struct trace {
  phibal_router router; /* gates take no part */
  int64_t events, T;
  const int32_t *event;
  const uint8_t *observe;
  const float *logits;
  const uint8_t *mask;
  bool loss_free, frequency;
  float eta, rate;
  const float *start; /* m or the bias */
  const tensor *state;
} trace;

static trace trace_of(const operation_case *c) {
  const tensor *logits = case_input(c, "event-logits");
  trace t = {.router = {.experts = (int32_t)logits->shape[2],
                        .active = (int32_t)case_get_integer(c, "k"),
                        .gate = PHIBAL_GATE_PROBABILITY,
                        .scale = 1},
             .events = logits->shape[0],
             .T = logits->shape[1],
             .event = case_input_data(c, "events"),
             .observe = case_input_data(c, "observe"),
             .logits = logits->data,
             .mask = case_input_data(c, "event-mask"),
             .loss_free = strcmp(case_get_text(c, "method"), "loss-free") == 0};
  if (t.loss_free) {
    if (strcmp(case_get_text(c, "gate"), "sigmoid") == 0) t.router.gate = PHIBAL_GATE_SIGMOID;
    t.rate = (float)case_get_real(c, "rate");
    t.start = case_input_data(c, "bias");
    t.state = case_output(c, "bias");
  } else {
    t.eta = (float)case_get_real(c, "eta");
    t.frequency = strcmp(case_get_text(c, "track"), "frequency") == 0;
    t.start = case_input_data(c, "m");
    t.state = case_output(c, "m");
  }
  return t;
}

/* Whether the state has a row for each event after which it is asked for. */
static phibal_status trace_check(const trace *t) {
  int64_t observed = 0;
  for (int64_t i = 0; i < t->events; i++) observed += t->observe[i] != 0;
  if (observed == t->state->shape[0]) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "trace: %lld observed events, %lld rows of state",
                           (long long)observed, (long long)t->state->shape[0]);
}

phibal_status operation_trace_cpu(operation_case *c) {
  const trace t = trace_of(c);
  if (trace_check(&t)) return PHIBAL_ERROR_ARGUMENT;
  const int32_t E = t.router.experts;
  float *out = t.state->data, state[PHIBAL_MAX_EXPERTS], loads[PHIBAL_MAX_EXPERTS];
  memcpy(state, t.start, (size_t)E * sizeof *state);
  const size_t slots = (size_t)(t.T * t.router.active);
  int32_t *experts = arena_take(&c->memory, sizeof *experts * slots, 0);
  float *gates = arena_take(&c->memory, sizeof *gates * slots, 0);
  phibal_status status = case_status(c);
  phibal_loads step = {0};
  if (status == PHIBAL_OK) status = phibal_loads_create(&t.router, &step);
  for (int64_t i = 0; status == PHIBAL_OK && i < t.events; i++) {
    if (t.event[i] == TRACE_FORWARD) {
      status =
          phibal_router_forward(&t.router, t.T, t.logits + i * t.T * E, t.loss_free ? state : NULL,
                                t.mask + i * t.T, NULL, experts, gates, NULL, &step);
    } else if (t.event[i] == TRACE_STEP && t.loss_free) {
      status = phibal_loss_free_update(E, t.rate, step.count, state);
    } else if (t.event[i] == TRACE_STEP && step.tokens > 0) {
      status = t.frequency ? phibal_loads_frequency(&step, loads) : phibal_loads_mean(&step, loads);
      if (status == PHIBAL_OK) status = phibal_ema(E, t.eta, state, loads, state);
    }
    if (t.event[i] == TRACE_STEP) phibal_loads_clear(&step);
    if (!t.observe[i]) continue;
    memcpy(out, state, (size_t)E * sizeof *state);
    out += E;
  }
  phibal_loads_destroy(&step);
  return status;
}

/* Of the step that ends at event `last`: the tokens of its forward passes, one after the other. */
static int64_t collect_step(const trace *t, int64_t last, float *logits, uint8_t *mask) {
  const int64_t row = t->T * t->router.experts;
  int64_t n = 0, first = last;
  while (first > 0 && t->event[first - 1] != TRACE_STEP) first--;
  for (int64_t i = first; i < last; i++) {
    if (t->event[i] != TRACE_FORWARD) continue;
    memcpy(logits + n * t->router.experts, t->logits + i * row, (size_t)row * sizeof *logits);
    memcpy(mask + n, t->mask + i * t->T, (size_t)t->T);
    n += t->T;
  }
  return n;
}

/* m: with u = 2^-24 and ulp(x) = 2 u |x| + 2^-149, loads within 1 ULP and m itself rounded,
   dm' = (1 - eta) dm + eta ulp(P) + ulp(m'). The bias is exact. */
phibal_status operation_trace_expected(const operation_case *c, judgement *j) {
  const trace t = trace_of(c);
  if (trace_check(&t)) return PHIBAL_ERROR_ARGUMENT;
  const int32_t E = t.router.experts;
  const double u = 0x1p-24, least = 0x1p-149, up = 1 + 0x1p-40, eta = (double)t.eta;
  double dm[PHIBAL_MAX_EXPERTS] = {0};
  float bias[PHIBAL_MAX_EXPERTS], next[PHIBAL_MAX_EXPERTS];
  memcpy(bias, t.start, (size_t)E * sizeof *bias);
  int64_t count[PHIBAL_MAX_EXPERTS], counted;
  arena memory = {0};
  float *logits = arena_take(&memory, sizeof *logits * (size_t)(t.events * t.T * E), 0);
  uint8_t *mask = arena_take(&memory, (size_t)(t.events * t.T), 0);
  phibal_enclosure *v = phibal_enclosure_vector((size_t)(2 * E + 3), PRECISION);
  if (!logits || !mask || !v) {
    arena_free(&memory);
    if (v) phibal_enclosure_vector_clear(v, (size_t)(2 * E + 3));
    return arena_out_of_memory();
  }
  phibal_enclosure *m = v, *loads = v + E, *old = v + 2 * E, *new = old + 1, *bound = new + 1;
  for (int32_t e = 0; e < E; e++) phibal_enclosure_set_d(&m[e], (double)t.start[e]);
  phibal_status status = PHIBAL_OK;
  int64_t element = 0;
  for (int64_t i = 0; status == PHIBAL_OK && i < t.events; i++) {
    if (t.event[i] == TRACE_STEP) {
      const int64_t n = collect_step(&t, i, logits, mask);
      bool any = false;
      for (int64_t token = 0; token < n; token++) any |= mask[token];
      /* A step without tokens leaves the state. */
      counted = 0;
      memset(count, 0, sizeof count);
      if (any)
        status = phibal_reference_loads(&t.router, n, logits, t.loss_free ? bias : NULL, mask,
                                        PRECISION, loads, count, &counted);
      if (status == PHIBAL_OK && t.frequency && counted > 0)
        status = phibal_reference_frequency(E, t.router.active, counted, count, loads);
      if (status == PHIBAL_OK && t.loss_free) {
        status = phibal_reference_loss_free_update(E, t.rate, count, bias, next);
        memcpy(bias, next, (size_t)E * sizeof *bias);
      }
      for (int32_t e = 0; status == PHIBAL_OK && counted > 0 && !t.loss_free && e < E; e++) {
        phibal_enclosure_set_d(old, 1 - eta);
        phibal_enclosure_mul(old, old, &m[e]);
        phibal_enclosure_set_d(new, eta);
        phibal_enclosure_mul(new, new, &loads[e]);
        phibal_enclosure_add(&m[e], old, new);
        const double load = mpfr_get_d(loads[e].hi, MPFR_RNDU);
        const double size = mpfr_get_d(m[e].hi, MPFR_RNDU);
        dm[e] = ((1 - eta) * dm[e] + eta * (2 * u * load + least) + 2 * u * size + least) * up;
      }
    }
    for (int32_t e = 0; status == PHIBAL_OK && t.observe[i] && e < E; e++, element++) {
      phibal_enclosure_set_d(bound, dm[e]);
      if (t.loss_free)
        judge_exact(j, OUTPUT_TRACE_BIAS, t.state, element, (double)bias[e]);
      else
        judge_real(j, OUTPUT_TRACE_M, t.state, element, &m[e], bound);
    }
  }
  phibal_enclosure_vector_clear(v, (size_t)(2 * E + 3));
  arena_free(&memory);
  return status;
}
