/* Traces: the state of one layer's balancing, m (M5) or the bias (L6), (L7), (L9), through a script
   of events. Where `balance-step` asks for one step's numbers, a trace asks what belongs to a step:
   frameworks count a recomputed forward pass twice, or an evaluation, lose the state when they load
   a checkpoint, and round it when a module is cast.

   The state is asked for between steps only, where all implementations have to agree: some average
   in the forward pass, some in the optimizer's step. Every pair of features (trace_script.h) is
   there for every method. */
#include "bounds.h"
#include "case_potential.h"
#include "judgement.h"
#include "trace_script.h"
#include <math.h>
#include <phibal/balance.h>
#include <phibal/quantile.h>
#include <phibal/reference_quantile.h>
#include <string.h>

enum { STREAM_TRACE = 120, PRECISION = 96 };

typedef enum trace_method {
  METHOD_PHI,
  METHOD_LOSS_FREE,
  METHOD_QUANTILE,
  METHOD_PHI_BIAS,
  METHOD_COUNT
} trace_method;
static const char *const method_names[] = {"phi", "loss-free", "quantile", "phi-bias"};

/* Each method both ways: phi follows probabilities or frequencies, biases are those of logits or of
   sigmoid scores. Paired cases go over the first METHODS, then over the rest; at last loss-free
   balancing of as many tokens as bfloat16 cannot count, after a cast. */
static const struct {
  trace_method method;
  bool frequency, sigmoid;
} variants[] = {{METHOD_PHI, false, false},       {METHOD_PHI, true, false},
                {METHOD_LOSS_FREE, false, false}, {METHOD_LOSS_FREE, false, true},
                {METHOD_QUANTILE, false, false},  {METHOD_QUANTILE, false, true},
                {METHOD_PHI_BIAS, true, false}};
enum { METHODS = 4, ALL_METHODS = sizeof variants / sizeof *variants, LOSS_FREE_LOGITS = 2 };
enum {
  FIRST_CASES = METHODS * TRACE_STATE_SETS,
  LATER_CASES = (ALL_METHODS - METHODS) * TRACE_STATE_SETS,
  CAST_CASES = TRACE_STATES + 1, /* casting alone, with another feature, with all */
  PAIRED = FIRST_CASES + LATER_CASES + CAST_CASES
};
enum { MANY_TOKENS = 403 };

typedef struct trace_kind {
  int variant;
  uint32_t features;
  bool many;
} trace_kind;

static trace_kind kind_of(uint64_t number) {
  uint64_t n = case_base(number);
  if (case_is_paired(number)) n = (n - PAIRED_CASES) % PAIRED;
  if (!case_is_paired(number) || n < FIRST_CASES)
    return (trace_kind){.variant = (int)(n % METHODS),
                        .features =
                            trace_feature_set(n / METHODS % TRACE_STATE_SETS, TRACE_STATES)};
  n -= FIRST_CASES;
  if (n < LATER_CASES)
    return (trace_kind){.variant = METHODS + (int)(n % (ALL_METHODS - METHODS)),
                        .features = trace_feature_set(n / (ALL_METHODS - METHODS), TRACE_STATES)};
  n -= LATER_CASES;
  const uint32_t cast = UINT32_C(1) << TRACE_HAS_CASTING;
  return (trace_kind){.variant = LOSS_FREE_LOGITS + (int)(n % 2),
                      .features = n == TRACE_STATES ? (UINT32_C(1) << TRACE_STATES) - 1
                                                    : cast | UINT32_C(1) << n,
                      .many = true};
}

int64_t trace_paired_count(void) {
  return PAIRED;
}

/* The first of its features. */
const char *operation_kind_trace(uint64_t number) {
  return flag_describe(trace_first_flag(kind_of(number).features))->name;
}

/* Shares of 1, none of them near 0. */
static phibal_status draw_m(operation_case *c, trace_script *s, double least) {
  float *m = case_add_input(c, "m", TENSOR_F32, 1, s->E);
  if (!m) return arena_out_of_memory();
  double draw[PHIBAL_MAX_EXPERTS], sum = 0;
  for (int64_t e = 0; e < s->E; e++) sum += draw[e] = random_unit(&s->r) + least;
  for (int64_t e = 0; e < s->E; e++) m[e] = (float)(draw[e] / sum);
  return PHIBAL_OK;
}

static double draw_eta(trace_script *s) {
  return (double)(float)random_uniform(&s->r, 0.1, 0.9);
}

static phibal_status make_phi(operation_case *c, trace_script *s, bool frequency) {
  case_real(c, "eta", draw_eta(s));
  case_text(c, "track", frequency ? "frequency" : "probability");
  const phibal_status status = draw_m(c, s, 1e-2);
  case_add_output(c, OUTPUT_TRACE_M, "m", TENSOR_F32, 2, s->observed, s->E);
  return status;
}

static phibal_status make_loss_free(operation_case *c, trace_script *s) {
  const int64_t E = s->E;
  case_real(c, "rate", 0.015625 * (double)random_integer(&s->r, 1, 10));
  float *bias = case_add_input(c, "bias", TENSOR_F32, 1, E);
  if (!bias) return arena_out_of_memory();
  for (int64_t e = 0; e < E; e++) bias[e] = (float)random_integer(&s->r, -128, 128) / 256;
  /* An odd multiple of 2^-8 that multiples of 2^-6 do not make one that bfloat16 holds; negative,
     so that the others are selected. */
  bias[E - 1] = -4 - 3.0f / 256;
  for (int64_t e = 0; s->balanced && e < E; e++) bias[e] = (float)(e - 1) / 64;
  case_add_output(c, OUTPUT_TRACE_BIAS, "bias", TENSOR_F32, 2, s->observed, E);
  return PHIBAL_OK;
}

static phibal_status make_quantile(operation_case *c, trace_script *s) {
  case_real(c, "eta", random_integer(&s->r, 0, 1) ? 1 : draw_eta(s));
  float *bias = case_add_input(c, "bias", TENSOR_F32, 1, s->E);
  if (!bias) return arena_out_of_memory();
  for (int64_t e = 0; e < s->E; e++) bias[e] = (float)random_integer(&s->r, -64, 64) / 256;
  case_flag(c, FLAG_QUANTILE);
  case_add_output(c, OUTPUT_TRACE_M, "bias", TENSOR_F32, 2, s->observed, s->E);
  return PHIBAL_OK;
}

static bool decided(const operation_case *c);

/* Negative entropy and the squares by turns; the bias begins at 0. */
static phibal_status make_phi_bias(operation_case *c, trace_script *s) {
  case_real(c, "eta", draw_eta(s));
  case_real(c, "strength", (double)(float)random_uniform(&s->r, 0.1, 0.5));
  const phibal_potential_id id =
      random_integer(&s->r, 0, 1) ? PHIBAL_POTENTIAL_NEGENTROPY : PHIBAL_POTENTIAL_EUCLID;
  case_add_potential(c, (phibal_potential){id, phibal_potential_describe(id)->fallback});
  case_flag(c, FLAG_NEW_STATE);
  const phibal_status status = draw_m(c, s, 1e-1);
  case_add_output(c, OUTPUT_TRACE_M, "bias", TENSOR_F32, 2, s->observed, s->E);
  while (status == PHIBAL_OK && !decided(c)) trace_draw(s);
  return status;
}

phibal_status operation_trace_make(operation_case *c) {
  const trace_kind of = kind_of(c->number);
  trace_script s = {
      .r = random_start(c->seed, STREAM_TRACE, c->number), .features = of.features, .sequences = 1};
  const bool small = case_is_small(c->number);
  s.T = random_integer(&s.r, 3, small ? 3 : 9);
  s.E = random_integer(&s.r, 3, small ? 3 : 8);
  s.k = random_integer(&s.r, 1, 2);
  if (of.many) {
    s.T = MANY_TOKENS;
    s.E = 3;
    s.k = 2;
    s.balanced = true;
    case_flag(c, FLAG_MANY_TOKENS);
  }
  const trace_method method = variants[of.variant].method;
  case_text(c, "method", method_names[method]);
  case_integer(c, "k", s.k);
  case_integer(c, "ranks", trace_has(&s, TRACE_HAS_RANKS) ? 2 : 1);
  if (trace_write(c, &s, true) != PHIBAL_OK) return case_status(c);
  if (method == METHOD_LOSS_FREE || method == METHOD_QUANTILE)
    case_text(c, "gate", variants[of.variant].sigmoid ? "sigmoid" : "topk-softmax");
  switch (method) {
  case METHOD_PHI:
    return make_phi(c, &s, variants[of.variant].frequency);
  case METHOD_LOSS_FREE:
    return make_loss_free(c, &s);
  case METHOD_QUANTILE:
    return make_quantile(c, &s);
  case METHOD_PHI_BIAS:
    return make_phi_bias(c, &s);
  case METHOD_COUNT:
    break;
  }
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "trace: no method");
}

/* What a trace consists of, read back from its tensors. */
typedef struct trace {
  phibal_router router; /* gates take no part */
  trace_method method;
  int64_t events, T;
  const int32_t *event;
  const uint8_t *observe;
  const float *logits;
  const uint8_t *mask;
  bool frequency;
  float eta, rate, strength;
  phibal_potential potential;
  const float *m, *bias; /* to begin with; of phi-bias, null for 0 */
  const tensor *state;
} trace;

static trace trace_of(const operation_case *c) {
  const tensor *logits = case_input(c, "event-logits");
  const char *gate = case_get_text(c, "gate");
  const char *track = case_get_text(c, "track");
  trace t = {.router = {.experts = (int32_t)logits->shape[2],
                        .active = (int32_t)case_get_integer(c, "k"),
                        .gate = gate && strcmp(gate, "sigmoid") == 0 ? PHIBAL_GATE_SIGMOID
                                                                     : PHIBAL_GATE_PROBABILITY,
                        .scale = 1},
             .method = (trace_method)case_get_choice(c, "method", method_names, METHOD_COUNT),
             .events = logits->shape[0],
             .T = logits->shape[1],
             .event = case_input_data(c, "events"),
             .observe = case_input_data(c, "observe"),
             .logits = logits->data,
             .mask = case_input_data(c, "event-mask"),
             .frequency = !track || strcmp(track, "frequency") == 0,
             .eta = (float)case_get_real(c, "eta"),
             .rate = (float)case_get_real(c, "rate"),
             .strength = (float)case_get_real(c, "strength"),
             .m = case_input_data(c, "m"),
             .bias = case_input_data(c, "bias")};
  if (t.method == METHOD_PHI_BIAS) t.potential = case_get_potential(c);
  t.state = case_output(c, t.method == METHOD_PHI ? "m" : "bias");
  return t;
}

/* Whether the state has a row for each event after which it is asked for. */
static phibal_status trace_check(const trace *t) {
  int64_t observed = 0;
  for (int64_t i = 0; i < t->events; i++) observed += t->observe[i] != 0;
  if (t->state && observed == t->state->shape[0]) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "trace: %lld observed events, %lld rows of state",
                           (long long)observed, t->state ? (long long)t->state->shape[0] : 0);
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

/* (L7) bias from a step's tokens. */
static phibal_status quantile_step(const trace *t, int64_t n, const float *logits,
                                   const uint8_t *mask, int64_t tokens, float *required,
                                   float *bias) {
  const int32_t E = t->router.experts;
  float quantile[PHIBAL_MAX_EXPERTS];
  if (tokens == 0) return PHIBAL_OK;
  phibal_status status = phibal_quantile_required(&t->router, n, logits, bias, mask, n, required);
  if (status == PHIBAL_OK)
    status = phibal_quantile(E, n, n, required, phibal_quantile_place(E, t->router.active, tokens),
                             NULL, quantile);
  return status == PHIBAL_OK ? phibal_quantile_bias(E, t->eta, quantile, bias) : status;
}

/* (L9) */
static phibal_status phi_bias_step(const trace *t, const float *m, float *bias) {
  const int32_t E = t->router.experts;
  float centred[PHIBAL_MAX_EXPERTS];
  phibal_status status = phibal_price_centred(&t->potential, E, m, centred, NULL);
  for (int32_t e = 0; status == PHIBAL_OK && e < E; e++)
    bias[e] = (float)(-(double)t->strength * (double)centred[e]);
  return status;
}

/* By the built-in kernels. out: [observed][E], or null; *margin: the least gap on the two sides of
   a token's cut, if asked for. */
static phibal_status run_trace(const trace *t, arena *a, float *out, double *margin) {
  const int32_t E = t->router.experts, k = t->router.active;
  float m[PHIBAL_MAX_EXPERTS], bias[PHIBAL_MAX_EXPERTS] = {0}, loads[PHIBAL_MAX_EXPERTS];
  if (t->m) memcpy(m, t->m, (size_t)E * sizeof *m);
  if (t->bias) memcpy(bias, t->bias, (size_t)E * sizeof *bias);
  const size_t slots = (size_t)(t->T * k), all = (size_t)(t->events * t->T);
  int32_t *experts = arena_take(a, sizeof *experts * slots, 0);
  float *gates = arena_take(a, sizeof *gates * slots, 0);
  float *logits = arena_take(a, sizeof *logits * all * (size_t)E, 0);
  float *required = arena_take(a, sizeof *required * all * (size_t)E, 0);
  uint8_t *mask = arena_take(a, all, 0);
  phibal_status status = a->failed ? arena_out_of_memory() : PHIBAL_OK;
  phibal_loads step = {0};
  if (status == PHIBAL_OK) status = phibal_loads_create(&t->router, &step);
  for (int64_t i = 0; status == PHIBAL_OK && i < t->events; i++) {
    if (t->event[i] == TRACE_FORWARD) {
      const float *x = t->logits + i * t->T * E;
      status = phibal_router_forward(&t->router, t->T, x, t->method == METHOD_PHI ? NULL : bias,
                                     t->mask + i * t->T, NULL, experts, gates, NULL, &step);
      for (int64_t token = 0; margin && status == PHIBAL_OK && token < t->T; token++) {
        if (!t->mask[i * t->T + token]) continue;
        for (int32_t e = 0; e < E; e++) {
          bool selected = false;
          for (int32_t s = 0; s < k; s++) selected |= experts[token * k + s] == e;
          const int32_t last = experts[token * k + k - 1];
          const double gap = ((double)x[token * E + last] + (double)bias[last]) -
                             ((double)x[token * E + e] + (double)bias[e]);
          if (!selected && gap < *margin) *margin = gap;
        }
      }
    } else if (t->event[i] == TRACE_STEP) {
      if (t->method == METHOD_LOSS_FREE) {
        status = phibal_loss_free_update(E, t->rate, step.count, bias);
      } else if (t->method == METHOD_QUANTILE) {
        const int64_t n = collect_step(t, i, logits, mask);
        status = quantile_step(t, n, logits, mask, step.tokens, required, bias);
      } else if (step.tokens > 0) {
        status =
            t->frequency ? phibal_loads_frequency(&step, loads) : phibal_loads_mean(&step, loads);
        if (status == PHIBAL_OK) status = phibal_ema(E, t->eta, m, loads, m);
        if (status == PHIBAL_OK && t->method == METHOD_PHI_BIAS) status = phi_bias_step(t, m, bias);
      }
      phibal_loads_clear(&step);
    }
    if (!t->observe[i] || !out) continue;
    memcpy(out, t->method == METHOD_PHI ? m : bias, (size_t)E * sizeof *out);
    out += E;
  }
  phibal_loads_destroy(&step);
  return status;
}

phibal_status operation_trace_cpu(operation_case *c) {
  const trace t = trace_of(c);
  if (trace_check(&t)) return PHIBAL_ERROR_ARGUMENT;
  return run_trace(&t, &c->memory, t.state->data, NULL);
}

/* Whether biases that are off by less than 2^-16 select the same experts: what (L9) computes is
   within a promise and not exact. */
static bool decided(const operation_case *c) {
  const trace t = trace_of(c);
  double margin = 1;
  arena a = {0};
  const phibal_status status = run_trace(&t, &a, NULL, &margin);
  arena_free(&a);
  return status != PHIBAL_OK || margin > 0x1p-14;
}

/* The state, event by event, and how far the built-in kernels may be from it, with u = 2^-24 and
   ulp(x) = 2 u |x| + 2^-149:

     m: loads within 1 ULP and m itself rounded,  dm' = (1 - eta) dm + eta ulp(P) + ulp(m')
     bias of (L6): exact
     bias of (L7): no number of (L7) moves by more than the bias does, a cut-off, a required bias
   and a quantile among them. Expected is the bias of correct rounding throughout; another within
   the promises is off by db' = (1 - eta) db + 2 eta (d + ulp(Q)) + 2 eta ulp(c) + 2 ulp(b'), d the
       largest db, with one ulp for a required bias that is rounded elsewhere (none while d = 0)
     bias of (L9): db = c (dq_e + (1/E) sum dq + ulp(c_e) + 2^-90 max |q|) + ulp(b), dq how far
       grad phi on the box m +- dm is from grad phi(m) */
typedef struct expected_state {
  const trace *t;
  double dm[PHIBAL_MAX_EXPERTS], db[PHIBAL_MAX_EXPERTS];
  float bias[PHIBAL_MAX_EXPERTS];
  phibal_enclosure *v, *m, *loads, *q, *box, *priced; /* [E] */
  phibal_enclosure *old, *new, *bound;
} expected_state;

static phibal_status expect_quantile(expected_state *w, int64_t n, const float *logits,
                                     const uint8_t *mask, float *required) {
  const trace *t = w->t;
  const int32_t E = t->router.experts;
  float quantile[PHIBAL_MAX_EXPERTS];
  phibal_status status =
      phibal_reference_quantile_required(&t->router, n, logits, w->bias, mask, required);
  if (status == PHIBAL_OK)
    status = phibal_reference_quantile(E, t->router.active, n, mask, required, quantile);
  if (status == PHIBAL_OK)
    status = phibal_reference_frequency_centred(E, quantile, PRECISION, w->q);
  if (status != PHIBAL_OK) return status;
  double d = 0, largest = 0;
  for (int32_t e = 0; e < E; e++) d = fmax(d, w->db[e]);
  for (int32_t e = 0; e < E; e++) largest = fmax(largest, fabs((double)quantile[e]) + d);
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_set_d(w->old, (double)w->bias[e]);
    phibal_enclosure_set_d(w->bound, 1 - (double)t->eta);
    phibal_enclosure_mul(w->old, w->old, w->bound);
    phibal_enclosure_set_d(w->bound, (double)t->eta);
    phibal_enclosure_mul(w->new, &w->q[e], w->bound);
    phibal_enclosure_add(w->new, w->new, w->old);
    const double eta = (double)t->eta, moved = d > 0 ? d + ulp(largest) : 0;
    w->bias[e] = mpfr_get_flt(w->new->lo, MPFR_RNDN);
    w->db[e] = ((1 - eta) * w->db[e] + 2 * eta * (moved + ulp(magnitude(&w->q[e]) + 2 * moved)) +
                2 * ulp(magnitude(w->new) + 2 * moved)) *
               UP;
  }
  return PHIBAL_OK;
}

static phibal_status expect_phi_bias(expected_state *w) {
  const trace *t = w->t;
  const int32_t E = t->router.experts;
  phibal_reference_potential phi = {.id = t->potential.id};
  phibal_enclosure_init(&phi.parameter, 64);
  phibal_enclosure_set_d(&phi.parameter, t->potential.parameter);
  for (int32_t e = 0; e < E; e++) {
    mpfr_sub_d(w->box[e].lo, w->m[e].lo, w->dm[e], MPFR_RNDD);
    mpfr_add_d(w->box[e].hi, w->m[e].hi, w->dm[e], MPFR_RNDU);
  }
  phibal_status status = phibal_reference_gradient(&phi, (size_t)E, w->m, w->q);
  if (status == PHIBAL_OK) status = phibal_reference_gradient(&phi, (size_t)E, w->box, w->priced);
  phibal_enclosure_clear(&phi.parameter);
  if (status != PHIBAL_OK) return status;
  double mean = 0, largest = 0, dq[PHIBAL_MAX_EXPERTS];
  phibal_enclosure_sum(w->old, (size_t)E, w->q);
  phibal_enclosure_set_si(w->bound, E);
  phibal_enclosure_div(w->old, w->old, w->bound);
  for (int32_t e = 0; e < E; e++) {
    const double above = mpfr_get_d(w->priced[e].hi, MPFR_RNDU) - mpfr_get_d(w->q[e].lo, MPFR_RNDD);
    const double below = mpfr_get_d(w->q[e].hi, MPFR_RNDU) - mpfr_get_d(w->priced[e].lo, MPFR_RNDD);
    dq[e] = fmax(above, below) * UP;
    mean += dq[e] / E;
    largest = fmax(largest, magnitude(&w->q[e]));
  }
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_sub(&w->priced[e], &w->q[e], w->old);
    const double strength = (double)t->strength, c = magnitude(&w->priced[e]);
    w->db[e] = strength * (dq[e] + mean + ulp(c) + 0x1p-90 * (largest + dq[e])) * UP;
    phibal_enclosure_set_d(w->bound, -strength);
    phibal_enclosure_mul(&w->priced[e], &w->priced[e], w->bound);
    w->db[e] = (w->db[e] + ulp(strength * c + w->db[e])) * UP;
    w->bias[e] = mpfr_get_flt(w->priced[e].lo, MPFR_RNDN); /* selects as all within db do */
  }
  return PHIBAL_OK;
}

static phibal_status expect_step(expected_state *w, int64_t n, const float *logits,
                                 const uint8_t *mask, float *required) {
  const trace *t = w->t;
  const int32_t E = t->router.experts;
  const double eta = (double)t->eta;
  int64_t count[PHIBAL_MAX_EXPERTS] = {0}, counted = 0;
  bool any = false;
  for (int64_t token = 0; token < n; token++) any |= mask[token];
  if (!any) return PHIBAL_OK; /* a step without tokens leaves the state */
  if (t->method == METHOD_QUANTILE) return expect_quantile(w, n, logits, mask, required);
  phibal_status status = phibal_reference_loads(
      (phibal_reference_batch){&t->router, logits, t->method == METHOD_PHI ? NULL : w->bias, mask},
      n, PRECISION, w->loads, count, &counted);
  if (status == PHIBAL_OK && t->method == METHOD_LOSS_FREE) {
    float next[PHIBAL_MAX_EXPERTS];
    status = phibal_reference_loss_free_update(E, t->rate, count, w->bias, next);
    memcpy(w->bias, next, (size_t)E * sizeof *next);
    return status;
  }
  if (status == PHIBAL_OK && t->frequency)
    status = phibal_reference_frequency(E, t->router.active, counted, count, w->loads);
  for (int32_t e = 0; status == PHIBAL_OK && e < E; e++) {
    phibal_enclosure_set_d(w->old, 1 - eta);
    phibal_enclosure_mul(w->old, w->old, &w->m[e]);
    phibal_enclosure_set_d(w->new, eta);
    phibal_enclosure_mul(w->new, w->new, &w->loads[e]);
    phibal_enclosure_add(&w->m[e], w->old, w->new);
    const double load = mpfr_get_d(w->loads[e].hi, MPFR_RNDU);
    const double size = mpfr_get_d(w->m[e].hi, MPFR_RNDU);
    w->dm[e] = ((1 - eta) * w->dm[e] + eta * (2 * U * load + LEAST) + 2 * U * size + LEAST) * UP;
  }
  return status == PHIBAL_OK && t->method == METHOD_PHI_BIAS ? expect_phi_bias(w) : status;
}

static void judge_state(const expected_state *w, judgement *j, int64_t element, int32_t e,
                        bool began) {
  const trace *t = w->t;
  phibal_enclosure_set_d(w->bound, t->method == METHOD_PHI ? w->dm[e] : w->db[e]);
  phibal_enclosure_set_d(w->old, (double)w->bias[e]);
  const bool priced = t->method == METHOD_PHI_BIAS && began;
  if (t->method == METHOD_LOSS_FREE)
    judge_exact(j, OUTPUT_TRACE_BIAS, t->state, element, (double)w->bias[e]);
  else if (t->method == METHOD_PHI)
    judge_real(j, OUTPUT_TRACE_M, t->state, element, &w->m[e], w->bound);
  else
    judge_real(j, OUTPUT_TRACE_M, t->state, element, priced ? &w->priced[e] : w->old, w->bound);
}

phibal_status operation_trace_expected(const operation_case *c, judgement *j) {
  const trace t = trace_of(c);
  if (trace_check(&t)) return PHIBAL_ERROR_ARGUMENT;
  const int32_t E = t.router.experts;
  expected_state w = {.t = &t};
  if (t.bias) memcpy(w.bias, t.bias, (size_t)E * sizeof *w.bias);
  arena memory = {0};
  const size_t all = (size_t)(t.events * t.T), vector = (size_t)E;
  float *logits = arena_take(&memory, sizeof *logits * all * vector, 0);
  float *required = arena_take(&memory, sizeof *required * all * vector, 0);
  uint8_t *mask = arena_take(&memory, all, 0);
  w.v = phibal_enclosure_vector(5 * vector + 3, PRECISION);
  phibal_status status = memory.failed || !w.v ? arena_out_of_memory() : PHIBAL_OK;
  if (status == PHIBAL_OK) {
    phibal_enclosure **vectors[] = {&w.m, &w.loads, &w.q, &w.box, &w.priced};
    for (size_t i = 0; i < 5; i++) *vectors[i] = w.v + i * vector;
    w.old = w.v + 5 * vector;
    w.new = w.old + 1;
    w.bound = w.old + 2;
    for (int32_t e = 0; t.m && e < E; e++) phibal_enclosure_set_d(&w.m[e], (double)t.m[e]);
  }
  int64_t element = 0;
  bool began = false; /* a step had tokens */
  for (int64_t i = 0; status == PHIBAL_OK && i < t.events; i++) {
    if (t.event[i] == TRACE_STEP) {
      const int64_t n = collect_step(&t, i, logits, mask);
      for (int64_t token = 0; token < n; token++) began |= mask[token];
      status = expect_step(&w, n, logits, mask, required);
    }
    for (int32_t e = 0; status == PHIBAL_OK && t.observe[i] && e < E; e++, element++)
      judge_state(&w, j, element, e, began);
  }
  if (w.v) phibal_enclosure_vector_clear(w.v, 5 * vector + 3);
  arena_free(&memory);
  return status;
}
