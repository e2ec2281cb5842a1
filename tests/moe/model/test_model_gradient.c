/* The model's loss, gradients, balancing state and biases of a step against naive_model.c: the loss
   in binary64, its derivative in every parameter by finite differences.

   Finite differences: with D(h) = (L(+h) - L(-h)) / 2h, (4 D(h) - D(2h)) / 3 has an error of
   O(h^4) = 1e-12 and a rounding error of about 2^-52 |L| / h = 1e-13 at h = 1e-3.

   Tolerance: an element of a gradient is the end of a chain of sums; every rounding on the way
   changes it by at most u = 2^-24 of the quantity rounded. To first order the errors of a chain
   add, and a sum of n terms adds n at most, so a correct implementation may be off by (sum of the n
   along the chain) u times the size of the terms that are summed. `chain` bounds that sum of n, and
   the largest element of all gradients stands for the size of the terms (that of the tensor itself
   would not do: a small gradient can be a sum over tokens that cancels). The constants that amplify
   errors (norms, softmax, cap) are near 1 here. The test insists that the tolerance is below 1/50
   of the largest element of every tensor, so that a wrong or missing term shows. */
#include "naive_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24
#define STEP 1e-3

static uint64_t state;

static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-52 - 1.0;
}

static const model_config small = {.vocabulary = 17,
                                   .width = 8,
                                   .layers = 2,
                                   .heads = 2,
                                   .key_value_heads = 1,
                                   .head_width = 6,
                                   .sequence = 5,
                                   .experts = 4,
                                   .active = 2,
                                   .hidden = 7,
                                   .shared_experts = 1,
                                   .dense_layers = 0,
                                   .dense_hidden = 9,
                                   .activation = PHIBAL_ACTIVATION_SILU,
                                   .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                                   .route_scale = 1.0f,
                                   .rope_theta = 20.0f,
                                   .norm_epsilon = 1e-3f,
                                   .logit_softcap = 3.0f,
                                   .qk_norm = true,
                                   .embedding_scale = true};
static const balance_config phi = {.method = BALANCE_PHI,
                                   .potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0},
                                   .eta = 0.7f,
                                   .alpha = 0.4,
                                   .track = TRACK_PROBABILITY,
                                   .start = START_UNIFORM,
                                   .z_coefficient = 0.02,
                                   .bias_rate = 0.125f,
                                   .bias_scale = 0.75,
                                   .quantile_eta = 1};

static double *widen(const float *x, int64_t n) {
  double *wide = malloc((size_t)n * sizeof *wide);
  for (int64_t i = 0; i < n; i++) wide[i] = (double)x[i];
  return wide;
}

/* Generic values: norms between 1/2 and 3/2, matrices of about the size that keeps rows near 1. */
static void fill(model *m) {
  const model_tensor *tensors = model_tensors(m);
  for (int32_t i = 0; i < model_tensor_count(m); i++) {
    const model_tensor *t = &tensors[i];
    double size = 1.5 / sqrt((double)t->shape[t->dimensions - 1]);
    int64_t n = t->shape[0] * t->shape[1] * t->shape[2];
    for (int64_t j = 0; j < n; j++)
      model_parameters(m)[t->offset + j] =
          (float)(t->dimensions == 1 ? 1.0 + 0.5 * uniform() : size * uniform());
  }
}

/* Tokens, some of them without a target, the last sequence's tail padding; m on the simplex,
   biases. */
static void populate(naive_model *n, model *m) {
  int32_t tokens = n->batch * n->config.sequence;
  for (int32_t call = 0; call < n->calls; call++)
    for (int32_t t = 0; t < tokens; t++) {
      n->tokens[call][t] = (int32_t)((uniform() + 1) / 2 * n->config.vocabulary);
      n->targets[call][t] = (int32_t)((uniform() + 1) / 2 * n->config.vocabulary);
      if (t >= tokens - 1 - call) n->tokens[call][t] = -1;
      if (t == 2 || t == n->config.sequence - 1 || n->tokens[call][t] < 0) n->targets[call][t] = -1;
    }
  int32_t first = n->config.layers - model_moe_layers(m);
  for (int32_t layer = first; layer < n->config.layers; layer++) {
    double sum = 0, share[NAIVE_EXPERTS];
    for (int32_t e = 0; e < n->config.experts; e++) sum += share[e] = uniform() + 1.2;
    for (int32_t e = 0; e < n->config.experts; e++) {
      float *own = &model_balance_state(m, layer - first)[e],
            *bias = &model_bias(m, layer - first)[e];
      /* START_ZERO_CORRECTED: as after the updates that model_steps tells. */
      double mass = n->balance.start == START_ZERO_CORRECTED
                        ? 1 - pow(1 - (double)n->balance.eta, (double)n->updates)
                        : 1;
      *own = (float)(mass * share[e] / sum);
      if (balance_sets_bias(n->balance.method)) *bias = (float)(0.5 * uniform());
      n->m[layer][e] = (double)*own;
      n->bias[layer][e] = (double)*bias;
    }
  }
}

/* The longest chain of sums, forward and back; an upper bound by adding up every sum there is. */
static double chain(const naive_model *n) {
  const model_config *c = &n->config;
  double tokens = n->calls * n->batch * c->sequence;
  double attention = c->width * 2 + c->head_width + c->sequence + c->heads * c->head_width;
  double ffn = c->width * 3 + c->hidden * (1 + c->shared_experts) + c->dense_hidden + c->experts;
  return 2 * (c->layers * (attention + ffn) + c->width + c->vocabulary) + tokens;
}

typedef struct variant {
  const char *name;
  model_config config;
  balance_config balance;
  int32_t calls;
  int64_t every; /* of each matrix, every so manieth parameter is differenced */
} variant;

static model *create(const variant *v, naive_model *n, uint64_t seed) {
  model *m;
  cr_assert_eq(model_create(&v->config, &v->balance, 2, seed, &m), PHIBAL_OK, "%s: %s", v->name,
               phibal_status_message());
  *n = (naive_model){.config = v->config,
                     .balance = v->balance,
                     .tensors = model_tensors(m),
                     .tensor_count = model_tensor_count(m),
                     .calls = v->calls,
                     .batch = 2,
                     .updates = 3};
  *model_steps(m) = n->updates;
  state = seed;
  fill(m);
  populate(n, m);
  return m;
}

/* A seed for which no selection is near a tie, so that neither rounding nor differencing flips it.
 */
static model *create_clear(const variant *v, naive_model *n, double **parameters) {
  for (uint64_t seed = 1; seed < 1000; seed++) {
    model *m = create(v, n, seed);
    *parameters = widen(model_parameters(m), model_parameter_count(m));
    naive_loss(n, *parameters);
    if (n->margin > 0.06 && (n->drops > 0 || v->balance.capacity_factor <= 0)) return m;
    free(*parameters);
    model_destroy(m);
  }
  cr_assert_fail("%s: every seed is near a tie", v->name);
  return NULL;
}

static double difference(naive_model *n, double *parameter, double *all) {
  double kept = *parameter, loss[4];
  const double at[4] = {STEP, -STEP, 2 * STEP, -2 * STEP};
  for (int i = 0; i < 4; i++) {
    *parameter = kept + at[i];
    loss[i] = naive_loss(n, all);
  }
  *parameter = kept;
  return (4 * (loss[0] - loss[1]) / (2 * STEP) - (loss[2] - loss[3]) / (4 * STEP)) / 3;
}

/* Vectors are short, and taken whole. */
static int64_t stride(const variant *v, const model_tensor *t) {
  return t->dimensions == 1 ? 1 : v->every;
}

/* Differences in the chosen parameters of each tensor; returns the largest. */
static double difference_all(const variant *v, naive_model *n, double *parameters, double *want) {
  double largest = 0;
  for (int32_t i = 0; i < n->tensor_count; i++) {
    const model_tensor *t = &n->tensors[i];
    int64_t elements = t->shape[0] * t->shape[1] * t->shape[2];
    for (int64_t j = 0; j < elements; j += stride(v, t)) {
      want[t->offset + j] = difference(n, &parameters[t->offset + j], parameters);
      largest = fmax(largest, fabs(want[t->offset + j]));
    }
  }
  return largest;
}

static void check_tensor(const variant *v, const double *want, const float *gradients,
                         double tolerance, const model_tensor *t) {
  int64_t elements = t->shape[0] * t->shape[1] * t->shape[2];
  double largest = 0;
  for (int64_t j = 0; j < elements; j += stride(v, t)) {
    double exact = want[t->offset + j], got = (double)gradients[t->offset + j];
    largest = fmax(largest, fabs(exact));
    cr_assert(fabs(got - exact) <= tolerance,
              "%s: gradient of %s[%ld] is %.9g, not %.9g (tolerance %.3g)", v->name, t->name,
              (long)j, got, exact, tolerance);
  }
  cr_assert(tolerance < largest / 50, "%s: %s: the gradient, %.3g at most, cannot be told from 0",
            v->name, t->name, largest);
}

static void check_state(const variant *v, naive_model *n, model *m) {
  int32_t first = n->config.layers - model_moe_layers(m);
  for (int32_t layer = first; layer < n->config.layers; layer++) {
    const phibal_loads *loads = model_step_loads(m, layer - first);
    cr_assert_eq(loads->tokens, n->token_count);
    double next_bias[NAIVE_EXPERTS];
    naive_next_bias(n, layer, next_bias);
    for (int32_t e = 0; e < n->config.experts; e++) {
      double got = (double)model_balance_state(m, layer - first)[e];
      double bias = (double)model_bias(m, layer - first)[e];
      cr_assert_eq(loads->count[e], n->count[layer][e], "%s: count", v->name);
      const bool hashed = layer - first < n->config.hash_layers;
      double want = balance_has_potential(v->balance.method) && !hashed ? n->next_m[layer][e]
                                                                        : n->m[layer][e];
      cr_assert(fabs(got - want) <= chain(n) * U, "%s: m[%d] is %g, not %g", v->name, e, got, want);
      /* Of a quantile as exact as the scores; of a price, through its slope at m. */
      const double slack = v->balance.method == BALANCE_QUANTILE   ? 1 + n->largest_logit
                           : v->balance.method == BALANCE_PHI_BIAS ? 1 + fabs(next_bias[e])
                                                                   : 1 / chain(n);
      cr_assert_float_eq(bias, next_bias[e], chain(n) * U * slack, "%s: bias[%d] is %.9g, not %.9g",
                         v->name, e, bias, next_bias[e]);
    }
  }
}

static void check_losses(const variant *v, const naive_model *n, const model_losses *sum) {
  double slack = chain(n) * U * (1 + n->largest_logit);
  double targets = (double)n->target_count;
  cr_assert_eq(sum->targets, n->target_count);
  cr_assert_eq(sum->correct, n->correct, "%s: %ld correct, not %ld", v->name, (long)sum->correct,
               (long)n->correct);
  cr_assert_float_eq(sum->cross_entropy, n->cross_entropy, slack * targets, "%s: cross-entropy",
                     v->name);
  cr_assert_float_eq(sum->balance, n->balance_loss, slack * (1 + fabs(n->balance_loss)),
                     "%s: balance %.9g, not %.9g", v->name, sum->balance, n->balance_loss);
  cr_assert_eq(sum->dropped, n->drops, "%s: %ld dropped, not %ld", v->name, (long)sum->dropped,
               (long)n->drops);
  cr_assert_eq(sum->routes, n->routes);
  cr_assert_float_eq(sum->z, n->z_loss, slack * (1 + n->z_loss), "%s: z", v->name);
}

static void check_variant(const variant *v) {
  static naive_model n;
  double *parameters;
  omp_set_num_threads(1); /* ten tokens; that threads change nothing is test_model's matter */
  model *m = create_clear(v, &n, &parameters);
  model_losses sum = {0};
  cr_assert_eq(model_step_begin(m, (model_batch){n.target_count, n.token_count}), PHIBAL_OK);
  for (int32_t call = 0; call < n.calls; call++) {
    model_losses losses;
    cr_assert_eq(model_forward_backward(m, 2, n.tokens[call], n.targets[call], &losses), PHIBAL_OK,
                 "%s: %s", v->name, phibal_status_message());
    sum.cross_entropy += losses.cross_entropy;
    sum.correct += losses.correct;
    sum.targets += losses.targets;
    sum.balance += losses.balance;
    sum.z += losses.z;
    sum.routes += losses.routes;
    sum.dropped += losses.dropped;
  }
  cr_assert_eq(model_step_finish(m), PHIBAL_OK, "%s", phibal_status_message());
  check_losses(v, &n, &sum);
  check_state(v, &n, m);
  n.hold = true;
  double *want = calloc((size_t)model_parameter_count(m), sizeof *want);
  double largest = difference_all(v, &n, parameters, want);
  for (int32_t i = 0; i < n.tensor_count; i++)
    check_tensor(v, want, model_gradients(m), chain(&n) * U * largest, &n.tensors[i]);
  free(want);
  cr_assert(n.margin > 0.01, "%s: a difference came near a tie", v->name);
  free(parameters);
  model_destroy(m);
}

Test(model_gradient, phi_all_parameters) {
  check_variant(&(variant){"phi", small, phi, 1, 1});
}

Test(model_gradient, two_and_three_micro_batches) {
  check_variant(&(variant){"phi, 2 micro-batches", small, phi, 2, 5});
  balance_config b = phi;
  b.track = TRACK_FREQUENCY;
  b.start = START_ZERO_CORRECTED;
  b.potential.id = PHIBAL_POTENTIAL_EUCLID;
  check_variant(&(variant){"frequency, corrected, 3 micro-batches", small, b, 3, 5});
  b.method = BALANCE_SWITCH_GLOBAL;
  check_variant(&(variant){"switch-global, 2 micro-batches", small, b, 2, 5});
}

Test(model_gradient, every_balancing_method) {
  static const balance_method methods[] = {
      BALANCE_SWITCH, BALANCE_SWITCH_GLOBAL, BALANCE_SEQUENCE, BALANCE_LOSS_FREE,
      BALANCE_NONE,   BALANCE_DENSE,         BALANCE_PHI_BIAS, BALANCE_QUANTILE};
  static const char *names[] = {"switch", "switch-global", "sequence", "loss-free",
                                "none",   "dense",         "phi-bias", "quantile"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    balance_config b = phi;
    b.method = methods[i];
    if (i % 2) b.z_coefficient = 0;
    check_variant(&(variant){names[i], small, b, 1 + (int32_t)(i % 2), 5});
  }
}

/* Biases with micro-batches and padding, averages over steps, bins, sigmoid scores. */
Test(model_gradient, biases) {
  balance_config b = phi;
  b.method = BALANCE_PHI_BIAS;
  b.start = START_ZERO_CORRECTED;
  b.potential.id = PHIBAL_POTENTIAL_EUCLID;
  check_variant(&(variant){"phi-bias, corrected, 3 micro-batches", small, b, 3, 5});
  b = phi;
  b.method = BALANCE_QUANTILE;
  b.quantile_eta = 0.25f;
  check_variant(&(variant){"quantile, averaged, 3 micro-batches", small, b, 3, 5});
  b.quantile_bins = 7;
  check_variant(&(variant){"quantile, 7 bins, 2 micro-batches", small, b, 2, 5});
  model_config c = small;
  c.gate = PHIBAL_GATE_SIGMOID;
  b.z_coefficient = 0;
  check_variant(&(variant){"quantile, 7 bins, sigmoid", c, b, 1, 5});
  b.quantile_bins = 0;
  check_variant(&(variant){"quantile, sigmoid, 2 micro-batches", c, b, 2, 5});
  c.experts = 5;
  c.active = 4;
  check_variant(&(variant){"quantile, 4 of 5", c, b, 3, 5});
}

/* Each micro-batch has its own limit; counts and prices know nothing of it. */
Test(model_gradient, capacity) {
  balance_config b = phi;
  b.capacity_factor = 0.75f;
  check_variant(&(variant){"token-order, 2 micro-batches", small, b, 2, 5});
  b.capacity_policy = PHIBAL_CAPACITY_SLOT;
  b.method = BALANCE_SEQUENCE;
  check_variant(&(variant){"slot-order, sequence", small, b, 1, 5});
  b.capacity_policy = PHIBAL_CAPACITY_GATE;
  b.method = BALANCE_SWITCH_GLOBAL;
  model_config c = small;
  c.gate = PHIBAL_GATE_PROBABILITY;
  check_variant(&(variant){"lowest-gate, 2 micro-batches", c, b, 2, 5});
  b.capacity_factor = 0.125f;
  b.capacity_minimum = 2;
  check_variant(&(variant){"lowest-gate, minimum", small, b, 1, 5});
  b = phi;
  b.capacity_factor = 0.75f;
  c = small;
  c.recompute = RECOMPUTE_LAYERS;
  check_variant(&(variant){"layers recomputed", c, b, 2, 5});
}

/* (R2g), (R5n), (R5e), with biases, micro-batches, a capacity. */
Test(model_gradient, described_routers) {
  model_config c = small;
  balance_config b = phi;
  c.experts = 6;
  c.active = 2;
  c.expert_groups = 3;
  c.active_groups = 1;
  check_variant(&(variant){"the best of three groups", c, b, 2, 5});
  b.capacity_factor = 0.75f;
  check_variant(&(variant){"and a capacity", c, b, 1, 5});
  c.gate = PHIBAL_GATE_PROBABILITY;
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.gate_epsilon = 0.25f;
  check_variant(&(variant){"and probabilities over a sum with epsilon", c, b, 2, 5});
  b = phi;
  b.z_coefficient = 0;
  b.method = BALANCE_LOSS_FREE;
  c.gate = PHIBAL_GATE_SIGMOID;
  c.active_groups = 2;
  c.group_score = PHIBAL_GROUP_TWO_LARGEST;
  check_variant(&(variant){"sigmoids over a sum with epsilon, two groups, biases", c, b, 2, 5});
  c.gate_normalisation = PHIBAL_NORMALISATION_NONE;
  c.gate_epsilon = 0;
  c.active = 4;
  c.group_score = PHIBAL_GROUP_SHARE;
  check_variant(&(variant){"sigmoids as they are, groups by their share", c, b, 1, 5});
  c.gate = PHIBAL_GATE_SQRT_SOFTPLUS;
  check_variant(
      &(variant){"square roots of softplus as they are, groups by their share", c, b, 1, 5});
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.gate_epsilon = 0.25f;
  c.group_score = 0;
  c.active = 2;
  check_variant(&(variant){"and over a sum with epsilon, groups of two scores", c, b, 1, 5});
}

/* Experts by the numbers of tokens: no method prices or moves them, whatever the layers behind do.
 */
Test(model_gradient, hash_routing) {
  static const balance_method methods[] = {
      BALANCE_PHI,      BALANCE_SWITCH,   BALANCE_SWITCH_GLOBAL, BALANCE_SEQUENCE,
      BALANCE_PHI_BIAS, BALANCE_QUANTILE, BALANCE_LOSS_FREE,     BALANCE_NONE};
  model_config c = small;
  c.hash_layers = 1;
  c.hash_seed = 5;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    balance_config b = phi;
    char name[64];
    b.method = methods[i];
    b.z_coefficient = i % 2 ? 0.02 : 0;
    c.gate = i % 3 ? PHIBAL_GATE_PROBABILITY : PHIBAL_GATE_TOPK_SOFTMAX;
    c.selection_score = i % 4 == 2 ? PHIBAL_SCORE_PROBABILITY : PHIBAL_SCORE_OF_GATE;
    c.experts = i % 2 ? 5 : 4;
    snprintf(name, sizeof name, "one of two layers, method %d", (int)b.method);
    check_variant(&(variant){name, c, b, 1 + (int32_t)(i % 3), 5});
  }
  balance_config b = phi;
  c = small;
  c.hash_layers = 2;
  c.active = 3;
  check_variant(&(variant){"3 of 4, both layers", c, b, 2, 5});
  c.active = 1;
  check_variant(&(variant){"1 of 4, both layers", c, b, 1, 5});
  c = small;
  c.layers = 3;
  c.dense_layers = 1;
  c.hash_layers = 1;
  c.experts = 6;
  c.expert_groups = 3;
  c.active_groups = 1;
  c.zero_experts = 2;
  check_variant(
      &(variant){"behind a dense layer, with groups and experts without weights", c, b, 2, 5});
  c = small;
  c.hash_layers = 1;
  c.recompute = RECOMPUTE_LAYERS;
  c.gate = PHIBAL_GATE_SIGMOID;
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.gate_floor = 0.6f;
  c.expert_factor = true;
  b.z_coefficient = 0;
  b.method = BALANCE_LOSS_FREE;
  check_variant(&(variant){"sigmoids over a floored sum, factors, recomputed", c, b, 2, 5});
  c.gate = PHIBAL_GATE_TOPK_SOFTMAX;
  c.gate_normalisation = PHIBAL_NORMALISATION_OF_GATE;
  c.gate_floor = 0;
  c.expert_factor = false;
  b = phi;
  b.capacity_factor = 0.75f;
  check_variant(&(variant){"a capacity", c, b, 2, 5});
}

/* (R2p) by each method that sets a bias, with micro-batches, padding, groups, a capacity, and gates
   of every kind. */
Test(model_gradient, selection_by_probability) {
  model_config c = small;
  balance_config b = phi;
  c.selection_score = PHIBAL_SCORE_PROBABILITY;
  check_variant(&(variant){"probabilities without a bias", c, b, 1, 5});
  b.method = BALANCE_LOSS_FREE;
  check_variant(&(variant){"loss-free, 2 micro-batches", c, b, 2, 5});
  b.method = BALANCE_PHI_BIAS;
  c.gate = PHIBAL_GATE_PROBABILITY;
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.gate_epsilon = 0.25f;
  check_variant(&(variant){"phi-bias, gates over a sum, 3 micro-batches", c, b, 3, 5});
  b.method = BALANCE_QUANTILE;
  check_variant(&(variant){"quantile, 2 micro-batches", c, b, 2, 5});
  c.recompute = RECOMPUTE_LAYERS;
  b.quantile_bins = 7;
  b.quantile_eta = 0.25f;
  check_variant(&(variant){"quantile, averaged, 7 bins, layers recomputed", c, b, 3, 5});
  c = small;
  c.selection_score = PHIBAL_SCORE_PROBABILITY;
  c.experts = 6;
  c.expert_groups = 3;
  c.active_groups = 2;
  b = phi;
  b.method = BALANCE_LOSS_FREE;
  check_variant(&(variant){"groups by their largest probability, loss-free", c, b, 2, 5});
  c.gate = PHIBAL_GATE_PROBABILITY;
  c.group_score = PHIBAL_GROUP_TWO_LARGEST;
  b.method = BALANCE_PHI_BIAS;
  check_variant(&(variant){"groups by two probabilities, phi-bias", c, b, 2, 5});
  c.active = 4;
  c.group_score = PHIBAL_GROUP_SHARE;
  b.capacity_factor = 0.75f;
  check_variant(&(variant){"groups by their share, a capacity, phi-bias", c, b, 2, 5});
}

/* ERNIE 4.5's gates, over a sum or its floor, each dividing some tokens' as a bias selects small
   probabilities; with padding, micro-batches, scores, a scale, factors, capacities. */
Test(model_gradient, floors_of_sums) {
  model_config c = small;
  balance_config b = phi;
  b.method = BALANCE_LOSS_FREE;
  c.gate = PHIBAL_GATE_PROBABILITY;
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.selection_score = PHIBAL_SCORE_PROBABILITY;
  c.gate_floor = 1e-12f;
  check_variant(&(variant){"a floor that no sum meets", c, b, 1, 5});
  c.gate_floor = 0.6f;
  c.route_scale = 1.7f;
  check_variant(&(variant){"a floor that some sums meet, a scale", c, b, 2, 5});
  c.expert_factor = true;
  b.capacity_factor = 0.75f;
  check_variant(&(variant){"and factors, a capacity", c, b, 1, 5});
  b = phi;
  b.method = BALANCE_SEQUENCE;
  c.selection_score = PHIBAL_SCORE_OF_GATE;
  check_variant(&(variant){"and factors, sequence", c, b, 1, 5});
  c.gate = PHIBAL_GATE_SIGMOID;
  c.selection_score = PHIBAL_SCORE_OF_GATE;
  c.gate_floor = 1;
  c.recompute = RECOMPUTE_LAYERS;
  c.zero_experts = 1;
  c.zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
  b = phi;
  b.z_coefficient = 0;
  b.method = BALANCE_LOSS_FREE;
  check_variant(&(variant){"sigmoids, one that computes nothing, layers recomputed", c, b, 2, 5});
}

/* (E10), (R5z) with what meets them: padding, micro-batches, biases, groups, gates of scores,
   factors of experts, shared and gated experts, norms of what a branch adds, recomputation, more
   active experts than there are with weights. */
Test(model_gradient, experts_that_compute_nothing) {
  model_config c = small;
  balance_config b = phi;
  c.experts = 5;
  c.zero_experts = 2;
  check_variant(&(variant){"two of five compute nothing", c, b, 1, 5});
  c.recompute = RECOMPUTE_LAYERS;
  c.active = 4;
  check_variant(&(variant){"four of them active, layers recomputed", c, b, 2, 5});
  c.zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
  check_variant(&(variant){"and their gates left out", c, b, 2, 5});
  c = small;
  c.experts = 6;
  c.zero_experts = 3;
  c.expert_factor = true;
  c.route_scale = 1.7f;
  c.selection_score = PHIBAL_SCORE_PROBABILITY;
  c.gate = PHIBAL_GATE_PROBABILITY;
  b.method = BALANCE_LOSS_FREE;
  check_variant(&(variant){"LongCat's gates, factors of experts, loss-free", c, b, 2, 5});
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.gate_epsilon = 0.25f;
  c.zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
  b.method = BALANCE_QUANTILE;
  check_variant(&(variant){"and left out of a sum, quantile", c, b, 2, 5});
  c = small;
  c.experts = 6;
  c.zero_experts = 2;
  c.expert_groups = 3;
  c.active_groups = 2;
  c.gate = PHIBAL_GATE_SIGMOID;
  c.post_norm = c.shared_gate = true;
  b = phi;
  b.z_coefficient = 0;
  b.method = BALANCE_LOSS_FREE;
  check_variant(
      &(variant){"a group of them, sigmoids, gated shared experts, post-norm", c, b, 1, 5});
  c.zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
  c.active = 3;
  check_variant(&(variant){"three active, and their gates left out", c, b, 2, 5});
  c = small;
  c.zero_experts = 1;
  b.method = BALANCE_SEQUENCE;
  check_variant(&(variant){"one of four, sequence", c, b, 1, 5});
  c.zero_output = ZERO_NOTHING;
  check_variant(&(variant){"one that gives nothing, sequence", c, b, 1, 5});
  c.experts = 5;
  c.zero_experts = 2;
  c.active = 4;
  c.expert_factor = true;
  c.gate = PHIBAL_GATE_SIGMOID;
  c.gate_normalisation = PHIBAL_NORMALISATION_SUM;
  c.recompute = RECOMPUTE_LAYERS;
  b.method = BALANCE_LOSS_FREE;
  b.z_coefficient = 0;
  check_variant(&(variant){"two, in a sum of sigmoids, factors, recomputed", c, b, 2, 5});
}

Test(model_gradient, every_potential) {
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    const phibal_potential_info *info = phibal_potential_describe((phibal_potential_id)id);
    balance_config b = phi;
    b.potential = (phibal_potential){(phibal_potential_id)id, info->fallback};
    check_variant(&(variant){info->name, small, b, 1, 11});
  }
}

Test(model_gradient, gates_and_numbers_of_experts) {
  model_config c = small;
  c.gate = PHIBAL_GATE_PROBABILITY;
  c.route_scale = 1.7f;
  check_variant(&(variant){"probability gates", c, phi, 1, 5});
  balance_config plain = phi;
  plain.z_coefficient = 0;
  c.gate = PHIBAL_GATE_SIGMOID;
  check_variant(&(variant){"sigmoid gates", c, plain, 1, 5});
  plain.method = BALANCE_LOSS_FREE;
  check_variant(&(variant){"sigmoid gates, loss-free", c, plain, 1, 5});
  c.gate = PHIBAL_GATE_SQRT_SOFTPLUS;
  check_variant(&(variant){"gates of sqrt(softplus), loss-free", c, plain, 2, 5});
  plain.method = phi.method;
  check_variant(&(variant){"gates of sqrt(softplus)", c, plain, 1, 5});
  c.recompute = RECOMPUTE_LAYERS;
  check_variant(&(variant){"and layers recomputed", c, plain, 1, 5});
  c.recompute = small.recompute;
  c = small;
  c.active = 1;
  check_variant(&(variant){"k = 1", c, phi, 1, 5});
  c.active = 3;
  c.experts = 7;
  check_variant(&(variant){"k = 3 of 7", c, phi, 1, 5});
  c.active = c.experts = 3;
  check_variant(&(variant){"k = E", c, phi, 1, 5});
}

/* (R5f) with what meets it: other gates, a capacity that drops routes, padding, micro-batches,
   gpt-oss's experts, recomputation. */
Test(model_gradient, factors_of_experts) {
  model_config c = small;
  c.expert_factor = true;
  check_variant(&(variant){"factors of experts", c, phi, 1, 5});
  c.recompute = RECOMPUTE_LAYERS;
  balance_config limited = phi;
  limited.capacity_factor = 0.75f;
  limited.capacity_policy = PHIBAL_CAPACITY_GATE;
  check_variant(&(variant){"and a capacity by gate, layers recomputed", c, limited, 1, 5});
  limited.capacity_policy = PHIBAL_CAPACITY_TOKEN;
  check_variant(&(variant){"and a capacity, micro-batches", c, limited, 2, 5});
  balance_config plain = phi;
  plain.z_coefficient = 0;
  plain.method = BALANCE_LOSS_FREE;
  c.gate = PHIBAL_GATE_SIGMOID;
  c.route_scale = 1.7f;
  c.recompute = RECOMPUTE_NONE;
  check_variant(&(variant){"and sigmoid gates with a scale", c, plain, 2, 5});
  c = small;
  c.expert_factor = true;
  c.dense_layers = c.shared_experts = 0;
  c.hidden = 3;
  c.expert_limit = 0.9f, c.expert_slope = 1.3f;
  check_variant(&(variant){"and clamped experts", c, phi, 1, 5});
}

Test(model_gradient, architecture) {
  model_config c = small;
  c.qk_norm = c.embedding_scale = false;
  c.logit_softcap = 0;
  c.activation = PHIBAL_ACTIVATION_GELU;
  c.shared_experts = 0;
  c.heads = 3;
  c.key_value_heads = 3;
  check_variant(&(variant){"plain", c, phi, 1, 5});
  c = small;
  c.layers = 3;
  c.dense_layers = 1;
  c.shared_experts = 2;
  c.heads = 4;
  c.key_value_heads = 2;
  c.activation = PHIBAL_ACTIVATION_GELU;
  check_variant(&(variant){"a dense layer, two shared experts, grouped heads", c, phi, 1, 5});
  c.rope_width = 4;
  c.qkv_bias = true;
  check_variant(&(variant){"biases, heads turned in part", c, phi, 1, 5});
  c.shared_gate = true;
  check_variant(&(variant){"and gated shared experts", c, phi, 2, 5});
  c.post_norm = true;
  check_variant(&(variant){"and norms of what the branches add", c, phi, 1, 5});
  c.recompute = RECOMPUTE_LAYERS;
  check_variant(&(variant){"and layers recomputed", c, phi, 1, 5});
}

/* gpt-oss's parts, alone and with others. */
Test(model_gradient, windows_sinks_and_clamped_experts) {
  model_config c = small;
  c.layers = 3;
  c.dense_layers = 0;
  c.window = 2, c.full_attention_every = 2;
  c.sinks = true;
  check_variant(&(variant){"windows and sinks", c, phi, 2, 5});
  c.output_bias = c.qkv_bias = true;
  c.window = 1, c.full_attention_every = 3;
  c.post_norm = true;
  check_variant(&(variant){"and biases, norms of what the branches add", c, phi, 1, 5});
  c.post_norm = false;
  c.shared_experts = 0;
  c.layers = 2, c.full_attention_every = 2;
  c.hidden = 3; /* fewer numbers that may be near a limit */
  c.expert_limit = 0.9f, c.expert_slope = 1.3f;
  check_variant(&(variant){"and clamped experts", c, phi, 2, 5});
  c.gate = PHIBAL_GATE_SIGMOID;
  balance_config plain = phi;
  plain.z_coefficient = 0;
  plain.method = BALANCE_LOSS_FREE;
  c.recompute = RECOMPUTE_LAYERS;
  check_variant(&(variant){"and sigmoid gates, layers recomputed", c, plain, 1, 5});
  c.gate = small.gate;
  balance_config limited = phi;
  limited.capacity_factor = 0.75f;
  c.recompute = RECOMPUTE_NONE;
  check_variant(&(variant){"and a capacity", c, limited, 2, 5});
}
