/* Traces of the auxiliary losses: the Switch loss (L3) of a micro-batch and of the global batch so
   far, the sequence-wise loss (L4) and the z-loss (L5), through a script of events. Asked for is
   what each optimizer step's forward passes come to: the loss of each and of the step, the tokens
   of each expert, and the gradient of each forward pass's logits as it reaches the parameters,
   weighted, so that those of micro-batches and ranks add up to the step's. Frameworks are wrong in
   these factors more often than in the formulas.

   A forward pass a of a step has T_a unmasked tokens, the step's T = sum T_a over A forward passes,
   on all ranks. The step's loss is sum w_a L_a, its gradient that of it. The weights are

     tokens         w_a = T_a / T, and in (L4) T_b / T_a, as in SPEC.md
     micro-batches  w_a = 1 / A, and in (L4) 1 / B: all alike, which is what averaging losses does

   L_a is of its own tokens; with switch-global, f is that of the step's tokens so far: of all
   forward passes up to this one, and those of other ranks' same micro-batch. */
#include "bounds.h"
#include "judgement.h"
#include "trace_script.h"
#include <math.h>
#include <phibal/balance.h>
#include <phibal/reference_moe.h>
#include <string.h>

enum { STREAM_LOSS_TRACE = 121, PRECISION = 96, MANY_BATCHES = 260, MANY_TOKENS = 301 };

/* LOSS(ID, "name") */
#define LOSSES(LOSS)                                                                               \
  LOSS(SWITCH, "switch")                                                                           \
  LOSS(GLOBAL, "switch-global")                                                                    \
  LOSS(SEQUENCE, "sequence")                                                                       \
  LOSS(Z, "z-loss")

typedef enum loss_method {
#define LOSS(ID, name) LOSS_##ID,
  LOSSES(LOSS)
#undef LOSS
      LOSS_METHODS
} loss_method;

static const char *const method_names[] = {
#define LOSS(ID, name) name,
    LOSSES(LOSS)
#undef LOSS
};

/* By case: methods, then weights, then the sets of features. */
static uint32_t feature_set(uint64_t number) {
  return trace_feature_set(case_base(number) / (2 * LOSS_METHODS) % TRACE_LOSS_SETS,
                           TRACE_FEATURES);
}

const char *operation_kind_loss_trace(uint64_t number) {
  return flag_describe(trace_first_flag(feature_set(number)))->name;
}

phibal_status operation_loss_trace_make(operation_case *c) {
  trace_script s = {.r = random_start(c->seed, STREAM_LOSS_TRACE, c->number),
                    .features = feature_set(c->number)};
  const bool small = case_is_small(c->number);
  const uint64_t number = case_base(c->number);
  const loss_method method = (loss_method)(number % LOSS_METHODS);
  const uint64_t weights = number / LOSS_METHODS % 2, set = number / (2 * LOSS_METHODS);
  s.sequences = method == LOSS_SEQUENCE ? 2 : 1;
  s.T = s.sequences * random_integer(&s.r, 2, small ? 2 : 4) + (s.sequences == 1 && !small ? 3 : 0);
  s.E = random_integer(&s.r, 3, small ? 3 : 6);
  /* Counts of more than 256 tokens, or as many micro-batches: bfloat16 cannot count further. */
  const uint32_t cast = UINT32_C(1) << TRACE_HAS_CASTING;
  if (!small && s.features == cast && method != LOSS_SEQUENCE) {
    s.T = MANY_TOKENS;
    s.crowded = true;
  }
  if (!small && method == LOSS_GLOBAL &&
      s.features == (cast | UINT32_C(1) << TRACE_HAS_MICRO_BATCHES))
    s.batches = MANY_BATCHES;
  const int64_t E = s.E;
  const bool sigmoid = method != LOSS_Z && (set + weights) % 2 == 1;
  case_text(c, "method", method_names[method]);
  case_text(c, "gate", sigmoid ? "sigmoid" : "topk-softmax");
  case_text(c, "weights", weights ? "micro-batches" : "tokens");
  const int64_t k = random_integer(&s.r, 1, 2);
  case_integer(c, "k", k);
  case_integer(c, "ranks", trace_has(&s, TRACE_HAS_RANKS) ? 2 : 1);
  case_integer(c, "sequences", s.sequences);
  case_real(c, "alpha", random_uniform(&s.r, 0.001, 0.1));
  if (trace_write(c, &s, false) != PHIBAL_OK) return case_status(c);
  if (trace_has(&s, TRACE_HAS_BIAS)) {
    float *bias = case_add_input(c, "bias", TENSOR_F32, 1, E);
    if (!bias) return arena_out_of_memory();
    /* Different ones, and the last expert always selected: by its logits it is not. */
    for (int64_t e = 0; e < E; e++)
      bias[e] = (float)(e + E * random_integer(&s.r, -8, 8)) / 256 + (e == E - 1 ? 32 : 0);
  }
  case_flag(c, FLAG_AUX_GRADIENT);
  const bool parts = s.forwards > TRACE_STEPS;
  const bool uneven =
      trace_has(&s, TRACE_HAS_PADDING) || (parts && trace_has(&s, TRACE_HAS_NO_TOKEN));
  if (method == LOSS_GLOBAL && parts) case_flag(c, FLAG_RUNNING_PREFIX);
  if (method == LOSS_GLOBAL && parts && uneven) case_flag(c, FLAG_UNEVEN_TOKENS);
  if (method == LOSS_SEQUENCE && uneven) case_flag(c, FLAG_UNEVEN_SEQUENCES);
  if (parts && uneven && !weights) case_flag(c, FLAG_UNEVEN_WEIGHTS);
  if (method != LOSS_Z && k > 1) case_flag(c, FLAG_K_NORMALISATION);
  if (!sigmoid) case_flag(c, FLAG_DOUBLE_SOFTMAX); /* the z-loss's gradient has it too */
  if (method == LOSS_SEQUENCE) case_flag(c, FLAG_SEQUENCES);
  if (sigmoid && trace_has(&s, TRACE_HAS_SHIFTED)) case_flag(c, FLAG_SIGMOID_EPSILON);
  case_add_output(c, OUTPUT_LOSS_TRACE_COUNTS, "counts", TENSOR_I64, 2, (int64_t)TRACE_STEPS, E)
      ->optional = true;
  case_add_output(c, OUTPUT_LOSS_TRACE_LOSS, "losses", TENSOR_F32, 1, s.forwards)->optional = true;
  case_add_output(c, OUTPUT_LOSS_TRACE_LOSS, "loss", TENSOR_F32, 1, (int64_t)TRACE_STEPS)
      ->optional = true;
  case_add_output(c, OUTPUT_LOSS_TRACE_GRADIENT, "logit-gradient", TENSOR_F32, 3, s.forwards, s.T,
                  E);
  return case_status(c);
}

/* What a trace consists of, read back from its tensors. */
typedef struct loss_trace {
  phibal_router router; /* gates take no part */
  loss_method method;
  bool alike; /* weights: micro-batches */
  double alpha;
  int64_t events, T, sequences, forwards;
  const int32_t *event, *rank;
  const float *logits, *bias;
  const uint8_t *mask;
  int64_t ranks;
} loss_trace;

static phibal_status loss_trace_of(const operation_case *c, loss_trace *t) {
  const tensor *logits = case_input(c, "event-logits");
  *t = (loss_trace){.router = {.experts = (int32_t)logits->shape[2],
                               .active = (int32_t)case_get_integer(c, "k"),
                               .gate = PHIBAL_GATE_PROBABILITY,
                               .scale = 1},
                    .alike = strcmp(case_get_text(c, "weights"), "micro-batches") == 0,
                    .alpha = case_get_real(c, "alpha"),
                    .events = logits->shape[0],
                    .T = logits->shape[1],
                    .sequences = case_get_integer(c, "sequences"),
                    .ranks = case_get_integer(c, "ranks"),
                    .event = case_input_data(c, "events"),
                    .rank = case_input_data(c, "rank"),
                    .logits = logits->data,
                    .bias = case_input_data(c, "bias"),
                    .mask = case_input_data(c, "event-mask")};
  if (strcmp(case_get_text(c, "gate"), "sigmoid") == 0) t->router.gate = PHIBAL_GATE_SIGMOID;
  t->method = (loss_method)case_get_choice(c, "method", method_names, LOSS_METHODS);
  int64_t steps = 0;
  for (int64_t i = 0; i < t->events; i++) {
    t->forwards += t->event[i] == TRACE_FORWARD;
    steps += t->event[i] == TRACE_STEP;
  }
  const tensor *loss = case_output(c, "loss"), *gradient = case_output(c, "logit-gradient");
  if ((!loss || loss->shape[0] == steps) && (!gradient || gradient->shape[0] == t->forwards) &&
      t->sequences > 0 && t->T % t->sequences == 0)
    return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "loss-trace: %lld steps and %lld forward passes, or its sequences, do "
                           "not fit the outputs",
                           (long long)steps, (long long)t->forwards);
}

static int64_t unmasked(const loss_trace *t, int64_t event, int64_t first, int64_t count) {
  int64_t n = 0;
  for (int64_t i = first; i < first + count; i++) n += t->mask[event * t->T + i] != 0;
  return n;
}

/* Of the step that an event is in: its unmasked tokens and its forward passes. */
typedef struct step_size {
  int64_t first, end; /* events; `end` is the optimizer step */
  int64_t tokens, passes;
} step_size;

static step_size step_of(const loss_trace *t, int64_t event) {
  step_size s = {.first = event, .end = event};
  while (s.first > 0 && t->event[s.first - 1] != TRACE_STEP) s.first--;
  while (s.end < t->events && t->event[s.end] != TRACE_STEP) s.end++;
  for (int64_t i = s.first; i < s.end; i++)
    if (t->event[i] == TRACE_FORWARD) {
      s.tokens += unmasked(t, i, 0, t->T);
      s.passes++;
    }
  return s;
}

/* The last event whose tokens belong to f of this one: other ranks' same micro-batch. */
static int64_t last_so_far(const loss_trace *t, const step_size *s, int64_t event) {
  int64_t last = event;
  for (int64_t i = event + 1; i < s->end; i++) {
    if (t->event[i] != TRACE_FORWARD) continue;
    if (t->rank[i] <= t->rank[last]) break;
    last = i;
  }
  return last;
}

/* w_a, and of part b of it w_a w_b: 0 without tokens. Parts are sequences, or all of it. */
static double weight(const loss_trace *t, const step_size *s, int64_t tokens) {
  if (tokens == 0) return 0;
  return t->alike ? 1 / (double)(s->passes * t->sequences) : (double)tokens / (double)s->tokens;
}

/* By the built-in kernels. */
phibal_status operation_loss_trace_cpu(operation_case *c) {
  loss_trace t;
  phibal_status status = loss_trace_of(c, &t);
  if (status != PHIBAL_OK) return status;
  const int32_t E = t.router.experts;
  const int64_t length = t.T / t.sequences;
  float *losses = case_output_data(c, "losses"), *loss = case_output_data(c, "loss");
  float *gradient = case_output_data(c, "logit-gradient");
  int64_t *counts = case_output_data(c, "counts");
  const size_t slots = (size_t)(t.T * t.router.active);
  int32_t *experts = arena_take(&c->memory, sizeof *experts * slots, 0);
  float *gates = arena_take(&c->memory, sizeof *gates * slots, 0);
  float *lse = arena_take(&c->memory, sizeof *lse * (size_t)t.T, 0);
  phibal_loads now = {0}, so_far = {0};
  status = case_status(c);
  if (status == PHIBAL_OK) status = phibal_loads_create(&t.router, &now);
  if (status == PHIBAL_OK) status = phibal_loads_create(&t.router, &so_far);
  double sum = 0;
  int64_t counted = 0; /* events before this one are in so_far, if they are of this step */
  for (int64_t i = 0; status == PHIBAL_OK && i < t.events; i++) {
    const step_size step = step_of(&t, i);
    if (t.event[i] == TRACE_STEP) {
      *loss++ = (float)sum;
      sum = 0;
      memcpy(counts, so_far.count, sizeof *counts * (size_t)E);
      counts += E;
      phibal_loads_clear(&so_far);
    }
    if (t.event[i] != TRACE_FORWARD) continue;
    for (const int64_t last = last_so_far(&t, &step, i); status == PHIBAL_OK && counted <= last;
         counted++)
      if (t.event[counted] == TRACE_FORWARD)
        status = phibal_router_forward(&t.router, t.T, t.logits + counted * t.T * E, t.bias,
                                       t.mask + counted * t.T, NULL, experts, gates, NULL, &so_far);
    double own = 0; /* the loss of this forward pass */
    const int64_t tokens = unmasked(&t, i, 0, t.T);
    for (int64_t b = 0; status == PHIBAL_OK && b < t.sequences; b++) {
      const int64_t n = unmasked(&t, i, b * length, length);
      const float *x = t.logits + (i * t.T + b * length) * E;
      const uint8_t *mask = t.mask + i * t.T + b * length;
      float mean[PHIBAL_MAX_EXPERTS], f[PHIBAL_MAX_EXPERTS], centred[PHIBAL_MAX_EXPERTS] = {0};
      float part = 0;
      phibal_loads_clear(&now);
      status = phibal_router_forward(&t.router, length, x, t.bias, mask, NULL, experts, gates,
                                     t.method == LOSS_Z ? lse : NULL, &now);
      const double w = weight(&t, &step, n);
      if (status == PHIBAL_OK && n > 0 && t.method == LOSS_Z)
        status = phibal_z_loss(length, t.alpha, lse, mask, &part);
      if (status == PHIBAL_OK && n > 0 && t.method != LOSS_Z) {
        status = phibal_loads_mean(&now, mean);
        if (status == PHIBAL_OK)
          status = phibal_loads_frequency(t.method == LOSS_GLOBAL ? &so_far : &now, f);
        if (status == PHIBAL_OK) status = phibal_frequency_centred(E, f, centred);
        if (status == PHIBAL_OK) status = phibal_switch_loss(E, t.alpha, f, mean, &part);
      }
      own += (t.alike ? 1 / (double)t.sequences
              : n     ? (double)n / (double)tokens
                      : 0) *
             (double)part;
      sum += w * (double)part;
      const double scale = n ? w * t.alpha / (double)n : 0;
      if (status == PHIBAL_OK)
        status = phibal_router_backward(&t.router, length, x, mask, experts, NULL,
                                        t.method == LOSS_Z ? NULL : centred, scale * E,
                                        t.method == LOSS_Z ? 2 * scale : 0, gradient);
      gradient += length * E;
    }
    *losses++ = (float)own;
  }
  phibal_loads_destroy(&now);
  phibal_loads_destroy(&so_far);
  return status;
}

/* One trace, event by event: enclosures of E numbers each, and of one. */
typedef struct expected_losses {
  const operation_case *c;
  const loss_trace *t;
  judgement *j;
  phibal_reference_token token;
  phibal_enclosure *v, *P, *f, *centred; /* [E] */
  phibal_enclosure *part, *own, *sum, *a, *b, *bound;
  double dc[PHIBAL_MAX_EXPERTS];
  double own_bound, sum_bound; /* how far the built-in kernels may be from own and sum */
  int64_t forward, step;
  int64_t counted, tokens, count[PHIBAL_MAX_EXPERTS]; /* of the step's events before `counted` */
} expected_losses;

static void scale_by(phibal_enclosure *x, phibal_enclosure *a, double times, int64_t over) {
  phibal_enclosure_set_d(a, times);
  phibal_enclosure_mul(x, x, a);
  phibal_enclosure_set_si(a, over);
  phibal_enclosure_div(x, x, a);
}

/* Counts the tokens `from` .. of one forward pass, adding to count[E]; returns how many there are.
 */
static phibal_status count_tokens(const loss_trace *t, int64_t event, int64_t from, int64_t length,
                                  int64_t *count, int64_t *tokens) {
  int64_t own[PHIBAL_MAX_EXPERTS], counted = 0;
  const phibal_status status = phibal_reference_loads(
      (phibal_reference_batch){&t->router, t->logits + (event * t->T + from) * t->router.experts,
                               t->bias, t->mask + event * t->T + from},
      length, PRECISION, NULL, own, &counted);
  for (int32_t e = 0; status == PHIBAL_OK && e < t->router.experts; e++) count[e] += own[e];
  *tokens += counted;
  return status;
}

/* part = the Switch loss of f and P, and how far it may be off: f and P within 1 ULP each, 3 u of
   roundings behind them (operation_step_expected.c). */
static double switch_part(expected_losses *w) {
  const int32_t E = w->t->router.experts;
  double bound = 0, mean = 0;
  phibal_enclosure_set_si(w->part, 0);
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_mul(w->a, &w->f[e], &w->P[e]);
    phibal_enclosure_add(w->part, w->part, w->a);
    const double P = magnitude(&w->P[e]), f = magnitude(&w->f[e]), dP = ulp(P), df = ulp(f);
    bound += dP * f + P * df + dP * df + 4 * U * (P + dP) * (f + df);
    mean += df / E;
  }
  scale_by(w->part, w->a, w->t->alpha, 1);
  scale_by(w->part, w->a, E, 1);
  phibal_enclosure_sum(w->b, (size_t)E, w->f);
  scale_by(w->b, w->a, 1, E);
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_sub(&w->centred[e], &w->f[e], w->b);
    w->dc[e] = (ulp(magnitude(&w->f[e])) + mean + ulp(magnitude(&w->centred[e]))) * UP;
  }
  return w->t->alpha * E * bound * UP + LEAST;
}

/* The gradient of one token: scale p_j (1 - sigma_j) (c_j - sum_e p_e c_e), the last factor but one
   for sigmoids only, or scale lse p_j. The kernel's promise on prices that are off by dc. */
static void judge_token(expected_losses *w, const float *x, double times, int64_t over,
                        int64_t at) {
  const int32_t E = w->t->router.experts;
  const bool z = w->t->method == LOSS_Z, sigmoid = w->t->router.gate == PHIBAL_GATE_SIGMOID;
  const phibal_enclosure *p = w->token.probability;
  const tensor *to = case_output(w->c, "logit-gradient");
  const double scale = times / (double)over * UP;
  double sum_dc = 0, sum_c = 0;
  phibal_enclosure_set_si(w->b, 0);
  for (int32_t e = 0; !z && e < E; e++) {
    phibal_enclosure_mul(w->a, &p[e], &w->centred[e]);
    phibal_enclosure_add(w->b, w->b, w->a);
    sum_dc += magnitude(&p[e]) * w->dc[e];
    sum_c += magnitude(&p[e]) * magnitude(&w->centred[e]);
  }
  for (int32_t e = 0; e < E; e++) {
    double size = magnitude(&p[e]);
    phibal_enclosure_set(w->part, z ? &w->token.logsumexp : &w->centred[e]);
    if (!z) phibal_enclosure_sub(w->part, w->part, w->b);
    phibal_enclosure_mul(w->part, w->part, &p[e]);
    if (sigmoid) { /* 1 - sigma = 1 / (1 + exp x) */
      phibal_enclosure_set_d(w->bound, (double)x[e]);
      phibal_enclosure_exp(w->bound, w->bound);
      phibal_enclosure_set_si(w->a, 1);
      phibal_enclosure_add(w->bound, w->bound, w->a);
      phibal_enclosure_div(w->part, w->part, w->bound);
      phibal_enclosure_div(w->a, w->a, w->bound);
      size *= magnitude(w->a);
    }
    scale_by(w->part, w->a, times, over);
    size *= scale * (1 + 2 * U) * UP;
    const double terms =
        z ? magnitude(&w->token.logsumexp_terms) : magnitude(&w->centred[e]) + sum_c;
    phibal_enclosure_set_d(w->bound,
                           (z ? 0 : size * (w->dc[e] + sum_dc)) + 1.001 * U * size * terms + LEAST);
    judge_real(w->j, OUTPUT_LOSS_TRACE_GRADIENT, to, at + e, w->part, w->bound);
  }
}

/* Sequence b of a forward pass, or all of it. */
static phibal_status judge_part(expected_losses *w, const step_size *step, int64_t event,
                                int64_t b) {
  const loss_trace *t = w->t;
  const int32_t E = t->router.experts;
  const int64_t length = t->T / t->sequences, from = b * length;
  const int64_t n = unmasked(t, event, from, length), all = unmasked(t, event, 0, t->T);
  const float *x = t->logits + (event * t->T + from) * E;
  const uint8_t *mask = t->mask + event * t->T + from;
  phibal_status status = PHIBAL_OK;
  double bound = 0;
  if (n > 0 && t->method != LOSS_Z) {
    int64_t count[PHIBAL_MAX_EXPERTS] = {0}, tokens = 0, counted;
    status = phibal_reference_loads((phibal_reference_batch){&t->router, x, t->bias, mask}, length,
                                    PRECISION, w->P, NULL, &counted);
    if (status == PHIBAL_OK && t->method != LOSS_GLOBAL)
      status = count_tokens(t, event, from, length, count, &tokens);
    if (status == PHIBAL_OK)
      status = t->method == LOSS_GLOBAL
                   ? phibal_reference_frequency(E, t->router.active, w->tokens, w->count, w->f)
                   : phibal_reference_frequency(E, t->router.active, tokens, count, w->f);
    if (status != PHIBAL_OK) return status;
    bound = switch_part(w);
  }
  phibal_enclosure total; /* of (L5); w->part is overwritten by gradients */
  phibal_enclosure_init(&total, PRECISION);
  phibal_enclosure_set(&total, w->part);
  if (t->method == LOSS_Z || n == 0) phibal_enclosure_set_si(&total, 0);
  /* d loss / d x = times / over ... */
  const double times = (t->method == LOSS_Z ? 2 : E) * t->alpha;
  const int64_t over = t->alike ? n * t->sequences * step->passes : step->tokens;
  for (int64_t i = 0; status == PHIBAL_OK && i < length; i++) {
    const int64_t at = ((w->forward * t->T) + from + i) * E;
    if (!mask[i]) {
      for (int32_t e = 0; e < E; e++)
        judge_exact(w->j, OUTPUT_LOSS_TRACE_GRADIENT, case_output(w->c, "logit-gradient"), at + e,
                    0);
      continue;
    }
    status = phibal_reference_token_forward(&w->token, &t->router, x + i * E, NULL);
    if (status != PHIBAL_OK) break;
    if (t->method == LOSS_Z) {
      /* lse within 0.501 ULP and 2^-45 of its terms */
      const double size = magnitude(&w->token.logsumexp);
      const double off =
          1.002 * U * size + LEAST + 0x1p-45 * (magnitude(&w->token.logsumexp_terms) + E);
      phibal_enclosure_mul(w->a, &w->token.logsumexp, &w->token.logsumexp);
      phibal_enclosure_add(&total, &total, w->a);
      bound += (2 * size + off) * off * UP + 4 * U * size * size;
    }
    judge_token(w, x + i * E, times, over, at);
  }
  if (status == PHIBAL_OK && t->method == LOSS_Z && n > 0) {
    scale_by(&total, w->a, t->alpha, n);
    bound = bound * t->alpha / (double)n * UP + LEAST;
  }
  if (status == PHIBAL_OK && n > 0) {
    phibal_enclosure_set(w->b, &total);
    scale_by(w->b, w->a, (double)(t->alike ? 1 : n), t->alike ? t->sequences : all);
    phibal_enclosure_add(w->own, w->own, w->b);
    w->own_bound += bound * (t->alike ? 1 / (double)t->sequences : (double)n / (double)all) * UP;
    scale_by(&total, w->a, (double)(t->alike ? 1 : n),
             t->alike ? t->sequences * step->passes : step->tokens);
    phibal_enclosure_add(w->sum, w->sum, &total);
    w->sum_bound += bound * weight(t, step, n) * UP;
  }
  phibal_enclosure_clear(&total);
  return status;
}

static void judge_loss(expected_losses *w, const char *name, int64_t element,
                       const phibal_enclosure *loss, double bound) {
  phibal_enclosure_set_d(w->bound, (bound + 2 * U * magnitude(loss) + LEAST) * UP);
  judge_real(w->j, OUTPUT_LOSS_TRACE_LOSS, case_output(w->c, name), element, loss, w->bound);
}

static phibal_status judge_event(expected_losses *w, int64_t event) {
  const loss_trace *t = w->t;
  const int32_t E = t->router.experts;
  const step_size step = step_of(t, event);
  phibal_status status = PHIBAL_OK;
  if (t->event[event] == TRACE_STEP) {
    for (int32_t e = 0; e < E; e++)
      judge_integer(w->j, OUTPUT_LOSS_TRACE_COUNTS, case_output(w->c, "counts"), w->step * E + e,
                    w->count[e]);
    memset(w->count, 0, sizeof *w->count * (size_t)E);
    w->tokens = 0;
    judge_loss(w, "loss", w->step++, w->sum, w->sum_bound);
    phibal_enclosure_set_si(w->sum, 0);
    w->sum_bound = 0;
  }
  if (t->event[event] != TRACE_FORWARD) return PHIBAL_OK;
  for (const int64_t last = last_so_far(t, &step, event); status == PHIBAL_OK && w->counted <= last;
       w->counted++)
    if (t->event[w->counted] == TRACE_FORWARD)
      status = count_tokens(t, w->counted, 0, t->T, w->count, &w->tokens);
  phibal_enclosure_set_si(w->own, 0);
  w->own_bound = 0;
  for (int64_t b = 0; status == PHIBAL_OK && b < t->sequences; b++)
    status = judge_part(w, &step, event, b);
  if (status == PHIBAL_OK) judge_loss(w, "losses", w->forward, w->own, w->own_bound);
  w->forward++;
  return status;
}

phibal_status operation_loss_trace_expected(const operation_case *c, judgement *j) {
  loss_trace t;
  phibal_status status = loss_trace_of(c, &t);
  if (status != PHIBAL_OK) return status;
  const size_t E = (size_t)t.router.experts, all = 3 * E + 6;
  expected_losses w = {.c = c, .t = &t, .j = j};
  w.v = phibal_enclosure_vector(all, PRECISION);
  if (!w.v) return arena_out_of_memory();
  w.P = w.v;
  w.f = w.v + E;
  w.centred = w.v + 2 * E;
  phibal_enclosure **one[] = {&w.part, &w.own, &w.sum, &w.a, &w.b, &w.bound};
  for (size_t i = 0; i < 6; i++) *one[i] = w.v + 3 * E + i;
  phibal_enclosure_set_si(w.sum, 0);
  status = phibal_reference_token_init(&w.token, t.router.experts, t.router.active, PRECISION);
  if (status == PHIBAL_OK) {
    for (int64_t i = 0; status == PHIBAL_OK && i < t.events; i++) status = judge_event(&w, i);
    phibal_reference_token_clear(&w.token);
  }
  phibal_enclosure_vector_clear(w.v, all);
  return status;
}
