/* Balancing on a device, played by the host's CUDA, beside model_balance.c on the device's own
   logits: ten steps of micro-batches with padding, a last one that is shorter, and in the middle
   the device's state on its way to the host and to another device. Routes, gates, prices, m, biases
   and the loads of each step are the CPU's to the bit; losses are the same sums. */
#include "moe/device/device_internal.h"
#include "trained_models.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <phibal/zero_experts.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, SEQUENCES = 5, LENGTH = 8, TOKENS = SEQUENCES * LENGTH, V = 37, STEPS = 10 };
enum { CALLS = (SEQUENCES + BATCH - 1) / BATCH, ROWS = BATCH * LENGTH };

static const model_config plain = {EXPERTS_MODEL, .layers = 3, .dense_layers = 1,
                                   .dense_hidden = 14};

static int32_t tokens[TOKENS], targets[TOKENS];

/* Other ones each step, some without a target; padding at the end of the fourth sequence, and one
   sequence that is nothing else: a part of a call, or all of it. */
static model_batch make_batch(int step) {
  for (int i = 0; i < TOKENS; i++) {
    const int sequence = i / LENGTH, place = i % LENGTH;
    tokens[i] = (i * i + 5 * step + sequence) % V;
    targets[i] = i % 11 == 5 ? -1 : ((i + 1) * (i + 1) + 5 * step + sequence) % V;
    if ((sequence == 3 && place >= LENGTH - 3) || sequence == (step % 2 ? 4 : 2))
      tokens[i] = targets[i] = -1;
  }
  return model_batch_count(TOKENS, tokens, targets);
}

typedef struct training {
  model *host, *cpu, *alone; /* the device's owner, who balances beside it, who makes whole steps */
  optimizer optimizer;
  device *device;
  model_losses losses; /* of the step, the CPU's */
  int64_t dropped;     /* in all steps */
} training;

static void create(const model_config *config, const balance_config *balance, model **m) {
  cr_assert_eq(model_create(config, balance, BATCH, 3, m), PHIBAL_OK, "%s",
               phibal_status_message());
}

static void create_device(training *t, model_precision precision) {
  cr_assert_eq(
      device_create("host-cuda", t->host, NULL, &t->optimizer, precision, CALLS, NULL, &t->device),
      PHIBAL_OK, "%s", phibal_status_message());
}

#define SAME(a, b, n, ...) cr_assert_eq(memcmp((a), (b), sizeof *(a) * (size_t)(n)), 0, __VA_ARGS__)

/* The rows of the call's routes: without experts that have no weights, and within the capacity. */
static void check_rows_of(training *t, int step, const layer_activations *there, int64_t n) {
  const model_config *c = &t->cpu->config;
  const balance_config *b = &t->cpu->balance;
  const int32_t real = model_real_experts(c);
  int32_t slots[ROWS * 5];
  int64_t offsets[64], source[ROWS * 5], row[ROWS * 5], limit;
  cr_assert_eq(phibal_zero_experts_dispatch(n, c->active, c->experts, c->zero_experts,
                                            there->experts, slots),
               PHIBAL_OK);
  cr_assert_eq(phibal_permutation(n, c->active, real, slots, offsets, source, row), PHIBAL_OK);
  if (b->capacity_factor > 0) {
    const int64_t routes = offsets[real];
    cr_assert_eq(phibal_capacity_limit(b->capacity_factor, b->capacity_minimum, routes / c->active,
                                       c->active, real, &limit),
                 PHIBAL_OK);
    cr_assert_eq(phibal_capacity(b->capacity_policy, n, c->active, real, limit, offsets, source,
                                 there->gates, slots, NULL),
                 PHIBAL_OK);
    cr_assert_eq(phibal_permutation(n, c->active, real, slots, offsets, source, row), PHIBAL_OK);
    t->losses.routes += routes;
    t->losses.dropped += routes - offsets[real];
  }
  SAME(offsets, there->offsets, real + 1, "step %d: offsets", step);
  SAME(row, there->row, n * c->active, "step %d: rows", step);
  SAME(source, there->source, offsets[real], "step %d: sources", step);
}

/* What the CPU makes of the logits of the device's call. */
static void balance_beside(training *t, int step, int32_t batch) {
  const model *d = &t->device->model;
  model *m = t->cpu;
  const int64_t n = (int64_t)batch * LENGTH, E = d->config.experts, k = d->config.active;
  memcpy(m->scratch.mask, d->scratch.mask, (size_t)n);
  for (int32_t layer = d->config.dense_layers, moe = 0; layer < d->config.layers; layer++, moe++) {
    layer_activations *on = &m->layers[layer];
    const layer_activations *there = &d->layers[layer];
    memcpy(on->logits, there->logits, sizeof *on->logits * (size_t)(n * E));
    cr_assert_eq(balance_route(m, layer, moe, batch, true, &t->losses), PHIBAL_OK, "%s",
                 phibal_status_message());
    SAME(on->experts, there->experts, n * k, "step %d, layer %d: experts", step, layer);
    SAME(on->gates, there->gates, n * k, "step %d, layer %d: gates", step, layer);
    if (on->gate_sum) SAME(on->gate_sum, there->gate_sum, n, "step %d: sums of gates", step);
    check_rows_of(t, step, there, n);
    const bool sequences = m->balance.method == BALANCE_SEQUENCE;
    const int64_t prices = sequences ? batch : 1;
    if (!sequences) /* whose prices are 0 without tokens */
      cr_assert(on->has_price == t->device->has_price, "step %d, layer %d: a price", step, layer);
    if (t->device->has_price)
      SAME(on->price, there->price, prices * E, "step %d, layer %d: price", step, layer);
  }
}

/* The CPU's own step from the device's weights and state. */
static void step_alone(training *t, model_batch batch, model_losses *sum, double *norm) {
  const model *d = &t->device->model;
  const size_t state = sizeof(float) * (size_t)(d->moe_layers * d->config.experts);
  *sum = (model_losses){0};
  memcpy(t->alone->parameters, d->parameters, sizeof(float) * (size_t)d->parameter_count);
  memcpy(t->alone->m, d->m, state);
  memcpy(t->alone->bias, d->bias, state);
  cr_assert_eq(model_step_begin(t->alone, batch), PHIBAL_OK);
  for (int32_t s = 0; s < SEQUENCES; s += BATCH) {
    model_losses l;
    cr_assert_eq(model_forward_backward(t->alone, SEQUENCES - s < BATCH ? SEQUENCES - s : BATCH,
                                        tokens + s * LENGTH, targets + s * LENGTH, &l),
                 PHIBAL_OK, "%s", phibal_status_message());
    sum->cross_entropy += l.cross_entropy;
    sum->balance += l.balance;
  }
  cr_assert_eq(model_step_finish(t->alone), PHIBAL_OK);
  cr_assert_eq(optimizer_norm(&t->optimizer, model_gradients(t->alone), norm), PHIBAL_OK);
}

static void near(const char *what, int step, double band, double a, double b) {
  cr_assert_float_eq(a, b, band * fabs(b), "step %d: %s %.9g, not %.9g", step, what, a, b);
}

/* The gradient of each tensor, beside the CPU's own, by the size of what is between them. */
static void near_gradients(const training *t, int step, double band) {
  const model *d = &t->device->model;
  const float *own = model_gradients(t->alone);
  for (int32_t n = 0; n < d->tensor_count; n++) {
    const int64_t behind = n + 1 < d->tensor_count ? d->tensors[n + 1].offset : d->parameter_count;
    double size = 0, apart = 0;
    for (int64_t i = d->tensors[n].offset; i < behind; i++) {
      size += (double)own[i] * (double)own[i];
      apart += pow((double)d->gradients[i] - (double)own[i], 2);
    }
    cr_assert_leq(sqrt(apart), band * sqrt(size), "step %d: gradient of %s: %g of %g", step,
                  d->tensors[n].name, sqrt(apart), sqrt(size));
  }
}

static void step(training *t, int i) {
  const model_batch batch = make_batch(i);
  model_losses alone;
  double norm_alone;
  step_alone(t, batch, &alone, &norm_alone);
  t->losses = (model_losses){0};
  cr_assert_eq(model_step_begin(t->cpu, batch), PHIBAL_OK);
  cr_assert_eq(device_step_begin(t->device, batch), PHIBAL_OK);
  for (int32_t s = 0; s < SEQUENCES; s += BATCH) {
    const int32_t n = SEQUENCES - s < BATCH ? SEQUENCES - s : BATCH;
    cr_assert_eq(device_forward_backward(t->device, n, tokens + s * LENGTH, targets + s * LENGTH),
                 PHIBAL_OK, "%s", phibal_status_message());
    balance_beside(t, i, n);
  }
  model_losses losses;
  double norm;
  cr_assert_eq(device_step_finish(t->device, 3e-3, &losses, &norm), PHIBAL_OK, "%s",
               phibal_status_message());
  t->cpu->step = batch;
  cr_assert_eq(model_step_finish(t->cpu), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_float_eq(losses.balance, t->losses.balance, 1e-15 * fabs(t->losses.balance),
                     "step %d: loss %.17g, not %.17g", i, losses.balance, t->losses.balance);
  cr_assert(losses.routes == t->losses.routes && losses.dropped == t->losses.dropped,
            "step %d: %d dropped, not %d", i, (int)losses.dropped, (int)t->losses.dropped);
  t->dropped += losses.dropped;
  const model *m = t->cpu, *d = &t->device->model;
  const int64_t E = m->config.experts, n = m->moe_layers * E;
  SAME(m->m, d->m, n, "step %d: m", i);
  SAME(m->bias, d->bias, n, "step %d: biases", i);
  for (int32_t l = 0; l < m->moe_layers; l++) {
    const phibal_loads *one = &m->step_loads[l], *other = model_step_loads(t->host, l);
    cr_assert(one->tokens == other->tokens && one->tokens == batch.tokens);
    SAME(one->count, other->count, E, "step %d: counts", i);
    SAME(one->probability, other->probability, E * PHIBAL_LOAD_LIMBS, "step %d: loads", i);
  }
  const bool half = d->precision == PRECISION_BFLOAT16;
  if (half && i > 0) return;
  const double band = half ? 0x1p-5 : 1e-5;
  near_gradients(t, i, half ? 0.25 : 1e-3);
  near("norm", i, band, norm, norm_alone);
  near("cross-entropy", i, band, losses.cross_entropy, alone.cross_entropy);
  near("loss of balancing", i, band, losses.balance, alone.balance);
}

/* Ten steps; after the sixth the host has the state, and another device gets it. The weights that
   they lead to, which are the caller's to free. */
static float *beside(const model_config *config, const balance_config *balance,
                     model_precision precision) {
  training t = {0};
  create(config, balance, &t.host);
  create(config, balance, &t.cpu);
  create(config, balance, &t.alone);
  cr_assert_eq(optimizer_create(&adamw, model_tensor_count(t.host), model_tensors(t.host),
                                model_parameter_count(t.host), &t.optimizer),
               PHIBAL_OK);
  create_device(&t, precision);
  const size_t state = sizeof(float) * (size_t)(t.cpu->moe_layers * config->experts);
  float *m = malloc(state), *bias = malloc(state);
  memcpy(m, t.cpu->m, state);
  memcpy(bias, t.cpu->bias, state);
  for (int i = 0; i < STEPS; i++) {
    step(&t, i);
    if (i != 5) continue;
    cr_assert_eq(device_fetch(t.device), PHIBAL_OK);
    device_destroy(t.device);
    create_device(&t, precision);
  }
  const bool moves = balance->method == BALANCE_PHI || balance_sets_bias(balance->method);
  cr_assert_eq(memcmp(m, t.cpu->m, state) || memcmp(bias, t.cpu->bias, state), moves,
               "m and biases");
  cr_assert_eq(t.dropped > 0, balance->capacity_factor > 0, "%d dropped", (int)t.dropped);
  free(bias);
  free(m);
  const size_t bytes = sizeof(float) * (size_t)t.device->model.parameter_count;
  float *weights = malloc(bytes);
  memcpy(weights, t.device->model.parameters, bytes);
  device_destroy(t.device);
  optimizer_destroy(&t.optimizer);
  model_destroy(t.alone);
  model_destroy(t.cpu);
  model_destroy(t.host);
  return weights;
}

enum { ALL_WAYS = 3 };

/* In binary32, in bfloat16, and there with layers recomputed. */
static float *weights_in(int way, const model_config *config, const balance_config *balance) {
  model_config c = *config;
  if (way % ALL_WAYS == 2) c.recompute = RECOMPUTE_LAYERS;
  return beside(&c, balance, way % ALL_WAYS ? PRECISION_BFLOAT16 : PRECISION_BINARY32);
}

static void beside_in(int way, const model_config *config, const balance_config *balance) {
  free(weights_in(way, config, balance));
}

/* Layers that are recomputed lead to the same weights. */
static void beside_all(const model_config *config, const balance_config *balance) {
  beside_in(0, config, balance);
  float *kept = weights_in(1, config, balance), *again = weights_in(2, config, balance);
  model *m;
  create(config, balance, &m);
  SAME(kept, again, model_parameter_count(m), "recomputed: other weights");
  model_destroy(m);
  free(again);
  free(kept);
}

/* Whose prices move with every step. */
static const balance_config quick = {.method = BALANCE_PHI,
                                     .potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0},
                                     .eta = 0.3f,
                                     .alpha = 0.05,
                                     .z_coefficient = 1e-3};

Test(device_balance, phi) {
  int way = 0;
  for (int track = TRACK_PROBABILITY; track <= TRACK_FREQUENCY; track++)
    for (int at = START_ZERO; at <= START_ZERO_CORRECTED; at++) {
      balance_config b = quick;
      b.track = track;
      b.start = at;
      beside_in(way++, &plain, &b);
    }
}

Test(device_balance, switch_of_the_call_and_of_the_step) {
  for (int method = BALANCE_SWITCH; method <= BALANCE_SWITCH_GLOBAL; method++) {
    const balance_config b = {.method = method, .alpha = 0.05, .z_coefficient = 1e-3};
    beside_all(&plain, &b);
  }
}

Test(device_balance, loss_free) {
  const balance_config b = {.method = BALANCE_LOSS_FREE, .bias_rate = 0.05f};
  beside_in(1, &plain, &b);
}

Test(device_balance, phi_bias) {
  for (int at = START_ZERO; at <= START_ZERO_CORRECTED; at++) {
    balance_config b = quick;
    b.method = BALANCE_PHI_BIAS;
    b.alpha = 0;
    b.start = at;
    b.bias_scale = 0.4;
    beside_in(at, &plain, &b);
  }
}

/* Exact, and of histograms: of logits, of sigmoid scores, and of probabilities that select. */
Test(device_balance, quantile) {
  model_config sigmoid = plain, selected = plain;
  sigmoid.gate = PHIBAL_GATE_SIGMOID;
  selected.gate = PHIBAL_GATE_PROBABILITY;
  selected.selection_score = PHIBAL_SCORE_PROBABILITY;
  const model_config *const models[] = {&plain, &sigmoid, &selected};
  int way = 0;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    for (int bins = 0; bins <= 300; bins += 300) {
      const balance_config b = {
          .method = BALANCE_QUANTILE, .quantile_eta = i == 0 ? 1.0f : 0.7f, .quantile_bins = bins};
      beside_in(way++, models[i], &b);
    }
}

static model_config floored(void) {
  model_config c = plain;
  c.gate = PHIBAL_GATE_SIGMOID;
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.gate_floor = 0.9f; /* of some tokens */
  c.route_scale = 2.5f;
  return c;
}

Test(device_balance, gates_over_a_floor_and_factors) {
  model_config c = floored();
  balance_config b = quick;
  c.expert_factor = true;
  b.z_coefficient = 0;
  beside_all(&c, &b);
}

Test(device_balance, experts_without_weights) {
  model_config c = plain;
  c.zero_experts = 2;
  c.expert_factor = true;
  c.shared_experts = 1;
  beside_all(&c, &quick);
  c.zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
  c.zero_output = ZERO_NOTHING;
  beside_in(1, &c, &quick);
}

Test(device_balance, capacity) {
  model_config c = floored();
  c.expert_factor = true;
  for (int policy = PHIBAL_CAPACITY_TOKEN; policy <= PHIBAL_CAPACITY_GATE; policy++) {
    balance_config b = quick;
    b.z_coefficient = 0;
    b.capacity_factor = 0.8f;
    b.capacity_minimum = 1;
    b.capacity_policy = policy;
    if (policy == PHIBAL_CAPACITY_GATE)
      beside_all(&c, &b);
    else
      beside_in(policy, &c, &b);
  }
}

Test(device_balance, sequence) {
  const balance_config b = {.method = BALANCE_SEQUENCE, .alpha = 0.2, .z_coefficient = 1e-3};
  beside_all(&plain, &b);
}

/* Begins a step and makes one call, and ends the step; captured, where nothing runs, all but the
   wait. The n-th operation of the stream fails. Whether the step has had so many. */
static bool step_with_failure(device *d, bool captured, int64_t *fails, int64_t n) {
  const model_batch batch = model_batch_count(ROWS, tokens, targets);
  model_losses losses;
  double norm;
  phibal_cuda_graph *graph;
  if (captured) cr_assert_eq(d->library.capture_begin(&d->call), PHIBAL_OK);
  *fails = n;
  phibal_status status = device_step_begin(d, batch);
  if (!status) status = device_forward_backward(d, BATCH, tokens, targets);
  if (!status)
    status = captured ? device_finish_start(d, 3e-3) : device_step_finish(d, 3e-3, &losses, &norm);
  const bool reached = *fails == 0;
  *fails = 0;
  cr_assert_eq(status, reached ? PHIBAL_ERROR_IO : PHIBAL_OK, "operation %d of a step fails: %d",
               (int)n, (int)status);
  cr_assert(!reached || strstr(phibal_status_message(), "an operation fails, as it was asked to"),
            "%s", phibal_status_message());
  if (captured) {
    cr_assert_eq(d->library.capture_end(&d->call, &graph), PHIBAL_OK);
    d->library.graph_destroy(graph);
    d->waited = true; /* nothing is on its way */
  }
  return reached;
}

/* Whichever operation of a step fails, the step does, with its message. */
Test(device_balance, no_failure_of_an_operation_is_lost) {
  model_config c[4] = {floored(), plain, plain, plain};
  balance_config b[4] = {quick, quick, {.method = BALANCE_QUANTILE, .quantile_eta = 1.0f}, quick};
  for (int i = 0; i < 4; i++) c[i].width = c[i].hidden = 16, c[i].head_width = c[i].experts = 8;
  c[0].expert_factor = true, c[0].shared_experts = 1, c[0].qk_norm = QK_NORM_HEADS;
  b[0].z_coefficient = 0, b[0].capacity_factor = 0.8f, b[0].capacity_minimum = 1;
  c[1].zero_experts = 2, c[1].recompute = RECOMPUTE_LAYERS;
  c[2].shared_experts = 1, c[2].recompute = RECOMPUTE_LAYERS;
  b[3].method = BALANCE_SWITCH_GLOBAL, c[3].layers = 1, c[3].dense_layers = 0;
  make_batch(0);
  for (int i = 0; i < 4; i++) {
    training t = {0};
    create(&c[i], &b[i], &t.host);
    cr_assert_eq(optimizer_create(&adamw, model_tensor_count(t.host), model_tensors(t.host),
                                  model_parameter_count(t.host), &t.optimizer),
                 PHIBAL_OK);
    create_device(&t, i < 3 ? PRECISION_BFLOAT16 : PRECISION_BINARY32);
    cr_assert_eq(t.device->sizes_on_device, i < 3, "model %d", i);
    int64_t *fails = dlsym(t.device->library.handle, "cuda_on_host_fails"), n = 1;
    cr_assert_not_null(fails);
    while (step_with_failure(t.device, i < 3, fails, n)) n++;
    cr_assert_gt(n, 80, "%d operations", (int)n);
    device_destroy(t.device);
    optimizer_destroy(&t.optimizer);
    model_destroy(t.host);
  }
}
