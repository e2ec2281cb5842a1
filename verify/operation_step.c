/* Whole balancing steps: (M5) with (L1), (L2), and the Switch loss (L3), over micro-batches, ranks
   and layers. What frameworks get wrong between kernels that are right. */
#include "paired.h"
#include "step_case.h"
#include <stdio.h>

enum { STREAM_STEP = 112 };

/* STEP(ID, "name") */
#define STEP_CASES(STEP)                                                                           \
  STEP(ORDINARY, "ordinary")                                                                       \
  STEP(TWO_MICRO_BATCHES, "micro-batches")                                                         \
  STEP(FOUR_MICRO_BATCHES, "micro-batches")                                                        \
  STEP(TWO_RANKS, "ranks")                                                                         \
  STEP(FOUR_RANKS, "ranks")                                                                        \
  STEP(PADDING, "padding")                                                                         \
  STEP(LAYERS, "layers")                                                                           \
  STEP(COLLAPSED, "collapsed")                                                                     \
  STEP(SHIFTED, "shifted-logits")                                                                  \
  STEP(PERMUTED, "permuted-experts")                                                               \
  STEP(K_ONE, "k-one")                                                                             \
  STEP(RECOMPUTATION, "recomputation")                                                             \
  STEP(REPEATS, "repeats")                                                                         \
  STEP(STILL, "aux-gradient")                                                                      \
  STEP(STEADY, "constant-price")                                                                   \
  STEP(E128_K8, "e128-k8")                                                                         \
  STEP(DEAD_EXPERT, "dead-expert")                                                                 \
  STEP(RUNNING_PREFIX, "running-prefix")                                                           \
  STEP(ONE_TOKEN, "one-token")                                                                     \
  STEP(TIES, "ties")

typedef enum step_kind {
#define STEP(ID, name) STEP_##ID,
  STEP_CASES(STEP)
#undef STEP
      STEP_KINDS
} step_kind;

/* What a paired case is made of, a column each. */
enum { PAIR_CUTS, PAIR_RANKS, PAIR_PASSES, PAIR_MASK, PAIR_K, PAIR_LOGITS, PAIR_EXPERTS, PAIR_LAW };

static step_kind step_kind_of(uint64_t number) {
  static const step_kind logits[] = {STEP_ORDINARY, STEP_COLLAPSED,   STEP_SHIFTED,
                                     STEP_TIES,     STEP_DEAD_EXPERT, STEP_PERMUTED};
  if (case_is_paired(number)) return logits[paired_level(number, PAIR_LOGITS, 6)];
  step_kind kind = (step_kind)(number % STEP_KINDS);
  return kind == STEP_E128_K8 && case_is_small(number) ? STEP_ORDINARY : kind;
}

const char *operation_kind_step(uint64_t number) {
  static const char *const names[] = {
#define STEP(ID, name) name,
      STEP_CASES(STEP)
#undef STEP
  };
  return names[step_kind_of(number)];
}

typedef struct step_shape {
  step_kind kind;
  uint64_t round; /* the kinds of one round share what they are made of */
  int64_t L, T, E, k, micro_batches, ranks, passes;
  int mask;
} step_shape;

enum { MASK_NONE, MASK_NAN, MASK_FINITE };

/* Each micro-batch has tokens of each rank; padding may leave one without any. */
static step_shape choose_paired(uint64_t number, random_stream *r) {
  static const int64_t cuts[] = {1, 2, 4}, experts[] = {5, 8, 12, 31, 33, 40, 66};
  step_shape s = {.kind = step_kind_of(number), .round = case_base(number)};
  s.micro_batches = cuts[paired_level(number, PAIR_CUTS, 3)];
  s.ranks = cuts[paired_level(number, PAIR_RANKS, 3)];
  s.passes = 1 + paired_level(number, PAIR_PASSES, 4) % 2;
  s.L = paired_level(number, PAIR_PASSES, 4) / 2 ? 3 : 1;
  s.T = s.micro_batches * 4 * random_integer(r, 1, 2);
  s.E = experts[paired_level(number, PAIR_EXPERTS, 7)];
  s.k = 1 + paired_level(number, PAIR_K, 3);
  s.mask = paired_level(number, PAIR_MASK, 3);
  return s;
}

static step_shape choose_shape(uint64_t number, random_stream *r) {
  if (case_is_paired(number)) return choose_paired(number, r);
  step_shape s = {.kind = step_kind_of(number), .round = case_base(number) / STEP_KINDS};
  bool small = case_is_small(number);
  s.L = 1;
  s.T = 4 * random_integer(r, small ? 1 : 2, small ? 1 : 5);
  s.E = random_integer(r, small ? 3 : 4, small ? 4 : 8);
  s.k = random_integer(r, 2, small ? 2 : 3);
  s.micro_batches = s.kind == STEP_TWO_MICRO_BATCHES    ? 2
                    : s.kind == STEP_FOUR_MICRO_BATCHES ? 4
                    : s.kind == STEP_RUNNING_PREFIX     ? 4
                                                        : 1;
  s.ranks = s.kind == STEP_TWO_RANKS ? 2 : s.kind == STEP_FOUR_RANKS ? 4 : 1;
  s.passes = s.kind == STEP_RECOMPUTATION ? 2 : 1;
  if (s.kind == STEP_LAYERS) s.L = 3;
  if (s.kind == STEP_K_ONE) s.k = 1;
  if (s.kind == STEP_E128_K8) s.E = 128, s.k = 8;
  if (s.kind == STEP_ONE_TOKEN) s.T = 1;
  if (s.kind == STEP_PADDING) s.mask = MASK_NAN;
  return s;
}

/* Logits are multiples of 2^-8, so that shifts of them are exact. */
static float one_logit(const step_shape *s, random_stream *r, int64_t layer, int64_t expert) {
  double x = floor(512 * random_normal(r)) / 256;
  /* Layers that collapse onto different experts: pooled, they look balanced. */
  if ((s->kind == STEP_LAYERS || s->L > 1) && expert == layer) x += 6;
  if (s->kind == STEP_COLLAPSED && expert < s->k) x += 12;
  if (s->kind == STEP_DEAD_EXPERT && expert == 0) x -= 40;
  if (s->kind == STEP_TIES) x = floor(x);
  return (float)x;
}

/* Where expert e of the round's common logits stands. */
static int64_t place(const step_shape *s, int64_t e) {
  return s->kind == STEP_PERMUTED ? (e + 1) % s->E : e;
}

static void draw_logits(const step_shape *s, random_stream *r, float *logits) {
  for (int64_t l = 0; l < s->L; l++)
    for (int64_t t = 0; t < s->T; t++) {
      float shift = s->kind == STEP_SHIFTED ? (float)(64 * (t % 3) - 32) : 0;
      for (int64_t e = 0; e < s->E; e++)
        logits[(l * s->T + t) * s->E + place(s, e)] = one_logit(s, r, l, e) + shift;
    }
}

static void draw_state(const step_shape *s, random_stream *r, float *m) {
  double draw[PHIBAL_MAX_EXPERTS];
  for (int64_t l = 0; l < s->L; l++) {
    double sum = 0;
    for (int64_t e = 0; e < s->E; e++) sum += draw[e] = random_unit(r) * random_unit(r) + 1e-2;
    for (int64_t e = 0; e < s->E; e++) m[l * s->E + place(s, e)] = (float)(draw[e] / sum);
    if (s->kind == STEP_DEAD_EXPERT) m[l * s->E] = 0;
  }
}

static void draw_mask(const step_shape *s, random_stream *r, uint8_t *mask, float *logits) {
  for (int64_t t = 0; t < s->T; t++) {
    mask[t] = t == 0 || (t < s->T - 1 && random_integer(r, 0, 2) > 0);
    /* Finite logits of padding stay as they were drawn: bell-shaped, and far from those of the rest
       for one expert. */
    for (int64_t l = 0; !mask[t] && s->mask == MASK_FINITE && l < s->L; l++)
      logits[(l * s->T + t) * s->E + s->E - 1] += 9;
    for (int64_t l = 0; !mask[t] && s->mask == MASK_NAN && l < s->L; l++)
      logits[(l * s->T + t) * s->E] = t % 2 ? (float)NAN : (float)INFINITY;
  }
}

/* m in the place of which the step puts itself again: the loads, rounded. */
static phibal_status settle_state(const step_case *s, float *m) {
  int64_t E = s->router.experts;
  phibal_enclosure *mean = phibal_enclosure_vector((size_t)E, 96);
  if (!mean) return arena_out_of_memory();
  int64_t counted;
  phibal_status status =
      phibal_reference_loads((phibal_reference_batch){&s->router, s->logits, NULL, NULL}, s->tokens,
                             96, mean, NULL, &counted);
  for (int64_t e = 0; status == PHIBAL_OK && e < E; e++) m[e] = mpfr_get_flt(mean[e].lo, MPFR_RNDN);
  phibal_enclosure_vector_clear(mean, (size_t)E);
  return status;
}

/* Everything that the two steps have in common; the stream goes on with what they have not. */
static phibal_status make_step(operation_case *c, step_shape *s, random_stream *r) {
  /* One stream for all kinds of a round. */
  *r = random_start(c->seed, STREAM_STEP,
                    case_is_paired(c->number) ? c->number : c->number / STEP_KINDS);
  *s = choose_shape(c->number, r);
  case_integer(c, "k", s->k);
  case_integer(c, "micro-batches", s->micro_batches);
  case_integer(c, "ranks", s->ranks);
  case_integer(c, "forward-passes", s->passes);
  case_real(c, "alpha", random_uniform(r, 0.001, 0.1));
  float *logits = case_add_input(c, "logits", TENSOR_F32, 3, s->L, s->T, s->E);
  uint8_t *mask = s->mask ? case_add_input(c, "mask", TENSOR_U8, 1, s->T) : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  draw_logits(s, r, logits);
  if (mask) draw_mask(s, r, mask, logits);
  if (s->T > 1) case_flag(c, FLAG_T_NORMALISATION);
  case_flag(c, FLAG_AUX_GRADIENT);
  if (s->micro_batches > 1) case_flag(c, FLAG_MICRO_BATCHES);
  if (case_is_paired(c->number)) {
    if (s->ranks > 1) case_flag(c, FLAG_RANKS);
    if (s->passes > 1) case_flag(c, FLAG_RECOMPUTATION);
    if (s->L > 1) case_flag(c, FLAG_LAYERS);
    if (s->mask) case_flag(c, FLAG_PADDING);
    if (s->k == 1) case_flag(c, FLAG_K_ONE);
  }
  if (!case_is_paired(c->number) && (s->kind == STEP_ORDINARY || s->kind == STEP_REPEATS))
    snprintf(c->group, sizeof c->group, "repeats-%llu", (unsigned long long)s->round);
  return PHIBAL_OK;
}

static void add_step_outputs(operation_case *c, const step_shape *s, output_id counts,
                             output_id loss, output_id gradient) {
  case_add_output(c, counts, "counts", TENSOR_I64, 2, s->L, s->E);
  case_add_output(c, loss, "loss", TENSOR_F32, 1, s->L);
  case_add_output(c, gradient, "logit-gradient", TENSOR_F32, 3, s->L, s->T, s->E);
}

phibal_status operation_balance_step_make(operation_case *c) {
  step_shape s;
  random_stream r;
  phibal_status status = make_step(c, &s, &r);
  if (status != PHIBAL_OK) return status;
  float eta = s.kind == STEP_STILL ? 0x1p-30f : (float)random_uniform(&r, 0.1, 0.4);
  phibal_potential_id id = s.round % 2 == 0 && !(c->number >> CASE_ROW_BITS)
                               ? PHIBAL_POTENTIAL_NEGENTROPY
                               : case_potential_id(c->number, s.round / 2);
  /* Five of the first nine in the first half of the rows, the others and lp again in the second. */
  if (case_is_paired(c->number))
    id = case_potential_id(c->number,
                           (uint64_t)paired_level(c->number, PAIR_LAW, 5) +
                               5 * ((case_base(c->number) - PAIRED_CASES) / PAIRED_ROWS % 2));
  if (s.kind == STEP_STILL) id = PHIBAL_POTENTIAL_NEGENTROPY;
  /* Where m = P the slope of negative entropy's price is the same for all experts. */
  if (s.kind == STEP_STEADY) id = PHIBAL_POTENTIAL_EUCLID;
  case_real(c, "eta", (double)eta);
  case_add_potential(c, (phibal_potential){id, phibal_potential_describe(id)->fallback});
  float *m = case_add_input(c, "m", TENSOR_F32, 2, s.L, s.E);
  if (!m) return arena_out_of_memory();
  draw_state(&s, &r, m);
  if (s.kind == STEP_STEADY) {
    step_case steady = step_case_of(c);
    status = settle_state(&steady, m);
  }
  if (s.kind != STEP_STILL) case_flag(c, FLAG_CONSTANT_PRICE);
  if (s.kind != STEP_STILL && s.kind != STEP_STEADY) case_flag(c, FLAG_NEW_STATE);
  case_add_output(c, OUTPUT_STEP_STATE, "m", TENSOR_F32, 2, s.L, s.E);
  add_step_outputs(c, &s, OUTPUT_STEP_COUNTS, OUTPUT_STEP_LOSS, OUTPUT_STEP_GRADIENT);
  return status;
}

phibal_status operation_switch_step_make(operation_case *c) {
  step_shape s;
  random_stream r;
  phibal_status status = make_step(c, &s, &r);
  if (status != PHIBAL_OK) return status;
  const bool global = case_is_paired(c->number) ? paired_level(c->number, PAIR_LAW, 2) == 1
                                                : s.kind == STEP_RUNNING_PREFIX;
  case_text(c, "frequencies", global ? "global" : "micro-batch");
  if (case_is_paired(c->number) && global && s.micro_batches > 1) case_flag(c, FLAG_RUNNING_PREFIX);
  if (s.k > 1) case_flag(c, FLAG_K_NORMALISATION);
  add_step_outputs(c, &s, OUTPUT_SWITCH_STEP_COUNTS, OUTPUT_SWITCH_STEP_LOSS,
                   OUTPUT_SWITCH_STEP_GRADIENT);
  return PHIBAL_OK;
}

step_case step_case_of(const operation_case *c) {
  const tensor *logits = case_input(c, "logits");
  step_case s = {.layers = logits->shape[0],
                 .tokens = logits->shape[1],
                 .router = {.experts = (int32_t)logits->shape[2],
                            .active = (int32_t)case_get_integer(c, "k"),
                            .gate = PHIBAL_GATE_PROBABILITY,
                            .scale = 1},
                 .micro_batches = case_get_integer(c, "micro-batches"),
                 .alpha = case_get_real(c, "alpha"),
                 .logits = logits->data,
                 .mask = case_input_data(c, "mask"),
                 .experts = case_input_data(c, "experts"),
                 .m = case_input_data(c, "m")};
  const char *frequencies = case_get_text(c, "frequencies");
  s.global = frequencies && strcmp(frequencies, "global") == 0;
  if (!s.m) return s;
  s.eta = (float)case_get_real(c, "eta");
  s.potential = case_get_potential(c);
  return s;
}

/* One layer by the built-in kernels, as the trainer calls them. */
typedef struct layer_run {
  const step_case *s;
  const float *logits, *m;
  float *next, *gradient; /* next: [E] the state so far */
  int32_t *experts;
  float *gates;
  phibal_loads so_far, now;
  int64_t global_tokens;
  double loss;
} layer_run;

static phibal_status price(layer_run *w, float *centred, float *loss) {
  const step_case *s = w->s;
  int32_t E = s->router.experts;
  float mean[PHIBAL_MAX_EXPERTS], tracked[PHIBAL_MAX_EXPERTS];
  phibal_status status = phibal_loads_mean(s->m ? &w->so_far : &w->now, tracked);
  if (status == PHIBAL_OK) status = phibal_loads_mean(&w->now, mean);
  if (status != PHIBAL_OK) return status;
  if (!s->m) {
    status = phibal_loads_frequency(s->global ? &w->so_far : &w->now, tracked);
    if (status == PHIBAL_OK) status = phibal_frequency_centred(E, tracked, centred);
    return status == PHIBAL_OK ? phibal_switch_loss(E, s->alpha, tracked, mean, loss) : status;
  }
  status = phibal_ema(E, s->eta, w->m, tracked, w->next);
  if (status == PHIBAL_OK) status = phibal_price_centred(&s->potential, E, w->next, centred, NULL);
  if (status != PHIBAL_OK) return status;
  return phibal_balance_loss(&s->potential, E, s->alpha, mean, w->next, loss);
}

static phibal_status run_micro_batch(layer_run *w, int64_t a) {
  const step_case *s = w->s;
  int64_t E = s->router.experts, n = s->tokens / s->micro_batches, first = a * n;
  const uint8_t *mask = s->mask ? s->mask + first : NULL;
  phibal_loads_clear(&w->now);
  phibal_status status = phibal_router_forward(&s->router, n, w->logits + first * E, NULL, mask,
                                               NULL, w->experts, w->gates, NULL, &w->now);
  if (status == PHIBAL_OK) status = phibal_loads_add(&w->so_far, &w->now);
  float centred[PHIBAL_MAX_EXPERTS] = {0}, loss = 0;
  if (status == PHIBAL_OK && w->now.tokens > 0) status = price(w, centred, &loss);
  if (status != PHIBAL_OK) return status;
  double share = (double)w->now.tokens / (double)w->global_tokens;
  w->loss += share * (double)loss;
  return phibal_router_backward(&s->router, n, w->logits + first * E, mask, w->experts, NULL,
                                centred, s->alpha * (double)E / (double)w->global_tokens, 0,
                                w->gradient + first * E);
}

static int64_t unmasked(const step_case *s) {
  int64_t n = 0;
  for (int64_t t = 0; t < s->tokens; t++) n += !s->mask || s->mask[t];
  return n;
}

static phibal_status step_cpu(operation_case *c) {
  step_case s = step_case_of(c);
  int64_t E = s.router.experts;
  float *m = case_output(c, "m") ? case_output_data(c, "m") : NULL;
  float *loss = case_output_data(c, "loss"), *gradient = case_output_data(c, "logit-gradient");
  int64_t *counts = case_output_data(c, "counts");
  layer_run w = {.s = &s, .global_tokens = unmasked(&s)};
  size_t slots = (size_t)(s.tokens * s.router.active);
  w.experts = arena_take(&c->memory, sizeof(int32_t) * slots, 0);
  w.gates = arena_take(&c->memory, sizeof(float) * slots, 0);
  phibal_status status = case_status(c);
  if (status == PHIBAL_OK) status = phibal_loads_create(&s.router, &w.so_far);
  if (status == PHIBAL_OK) status = phibal_loads_create(&s.router, &w.now);
  for (int64_t l = 0; status == PHIBAL_OK && l < s.layers; l++) {
    phibal_loads_clear(&w.so_far);
    w.logits = s.logits + l * s.tokens * E;
    w.gradient = gradient + l * s.tokens * E;
    w.m = m ? s.m + l * E : NULL;
    w.next = m ? m + l * E : NULL;
    w.loss = 0;
    for (int64_t a = 0; status == PHIBAL_OK && a < s.micro_batches; a++)
      status = run_micro_batch(&w, a);
    loss[l] = (float)w.loss;
    memcpy(counts + l * E, w.so_far.count, sizeof(int64_t) * (size_t)E);
  }
  phibal_loads_destroy(&w.so_far);
  phibal_loads_destroy(&w.now);
  return status;
}

phibal_status operation_balance_step_cpu(operation_case *c) {
  return step_cpu(c);
}

phibal_status operation_switch_step_cpu(operation_case *c) {
  return step_cpu(c);
}
