/* The model as a whole: the same bits for any number of threads and any cut into micro-batches,
   parameter counts, refusals. */
#include "moe/model/model.h"

#include <criterion/criterion.h>
#include <phibal/balance.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 16
#define LENGTH 64 /* 16 sequences are 4 tiles of rows of a product, 8 are 2 */

static const model_config wide = {.vocabulary = 61,
                                  .width = 40,
                                  .layers = 3,
                                  .heads = 4,
                                  .key_value_heads = 2,
                                  .head_width = 12,
                                  .sequence = LENGTH,
                                  .experts = 6,
                                  .active = 2,
                                  .hidden = 72,
                                  .shared_experts = 1,
                                  .dense_layers = 1,
                                  .dense_hidden = 80,
                                  .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                                  .route_scale = 1.0f,
                                  .rope_theta = 1e4f,
                                  .norm_epsilon = 1e-6f,
                                  .logit_softcap = 20.0f,
                                  .qk_norm = true,
                                  .embedding_scale = true};
static const balance_config phi = {.method = BALANCE_PHI,
                                   .potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0},
                                   .eta = 0.6f,
                                   .alpha = 0.01,
                                   .z_coefficient = 1e-3};

static int32_t tokens[BATCH * LENGTH], targets[BATCH * LENGTH];

/* Tokens, some without a target; every third sequence ends with two of padding. */
static model_batch make_batch(void) {
  uint64_t state = 7;
  for (int i = 0; i < BATCH * LENGTH; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tokens[i] = (int32_t)((state >> 33) % 61);
    targets[i] = i % 13 == 5 ? -1 : (int32_t)((state >> 40) % 61);
    if (i / LENGTH % 3 == 2 && i % LENGTH >= LENGTH - 2) tokens[i] = targets[i] = -1;
  }
  return model_batch_count(BATCH * LENGTH, tokens, targets);
}

/* One step in `parts` micro-batches; the sum of their losses. */
static model *step(const balance_config *balance, int threads, int parts, model_losses *sum) {
  model *m;
  omp_set_num_threads(threads);
  cr_assert_eq(model_create(&wide, balance, BATCH / parts, 11, &m), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_assert_eq(model_step_begin(m, make_batch()), PHIBAL_OK);
  *sum = (model_losses){0};
  for (int part = 0; part < parts; part++) {
    model_losses losses;
    int first = part * (BATCH / parts) * LENGTH;
    cr_assert_eq(model_forward_backward(m, BATCH / parts, tokens + first, targets + first, &losses),
                 PHIBAL_OK, "%s", phibal_status_message());
    sum->cross_entropy += losses.cross_entropy;
    sum->balance += losses.balance;
    sum->z += losses.z;
    sum->targets += losses.targets;
    sum->correct += losses.correct;
  }
  cr_assert_eq(model_step_finish(m), PHIBAL_OK, "%s", phibal_status_message());
  return m;
}

static void check_same(model *one, model *other, const char *what) {
  size_t bytes = (size_t)model_parameter_count(one) * sizeof(float);
  cr_assert_eq(memcmp(model_parameters(one), model_parameters(other), bytes), 0, "%s: parameters",
               what);
  cr_assert_eq(memcmp(model_gradients(one), model_gradients(other), bytes), 0, "%s: gradients",
               what);
  for (int32_t i = 0; i < model_moe_layers(one); i++) {
    size_t row = (size_t)wide.experts * sizeof(float);
    cr_assert_eq(memcmp(model_balance_state(one, i), model_balance_state(other, i), row), 0,
                 "%s: m", what);
    cr_assert_eq(memcmp(model_bias(one, i), model_bias(other, i), row), 0, "%s: bias", what);
  }
}

/* Identities have no weights, and a sum over them none of the threads' order. */
Test(model, experts_that_compute_nothing) {
  model_config c = wide;
  model *m[3];
  c.zero_experts = 2;
  for (int i = 0; i < 3; i++) {
    model_losses losses;
    omp_set_num_threads(i + 1);
    cr_assert_eq(model_create(&c, &phi, BATCH, 3, &m[i]), PHIBAL_OK);
    const model_batch batch = make_batch();
    cr_assert_eq(model_step_begin(m[i], batch), PHIBAL_OK);
    cr_assert_eq(model_forward_backward(m[i], BATCH, tokens, targets, &losses), PHIBAL_OK);
    cr_assert_eq(model_step_finish(m[i]), PHIBAL_OK);
    check_same(m[0], m[i], "threads");
  }
  int64_t total, active, all, touched;
  model_count(&c, BALANCE_PHI, &total, &active);
  model_count(&wide, BALANCE_PHI, &all, &touched);
  const int64_t layers = model_moe_layers(m[0]), expert = 3 * (int64_t)c.width * c.hidden;
  cr_expect_eq(total, model_parameter_count(m[0]));
  cr_expect_eq(all - total, 2 * layers * expert);
  /* k / E of what is left, each matrix by itself rounded down. */
  const int64_t fewer = layers * 3 * (2 * (expert / 3) * c.active / c.experts);
  cr_expect(touched - active >= fewer && touched - active <= fewer + 3 * layers, "%lld fewer",
            (long long)(touched - active));
  int counted = 0;
  for (int e = c.experts - 2; e < c.experts; e++)
    counted += model_step_loads(m[0], 0)->count[e] > 0;
  cr_expect_eq(counted, 2, "no token was routed to them");
  for (int i = 0; i < 3; i++) model_destroy(m[i]);
}

/* Of every number of first tokens each expert has its share to within one; a token's experts are
   different ones; decks, layers and seeds are shuffled differently, and evenly. */
Test(model, hashes_are_dealt_evenly) {
  static const struct {
    int32_t experts, active;
  } cases[] = {{6, 2}, {6, 4}, {7, 3}, {5, 5}, {8, 1}, {1, 1}, {64, 6}, {1024, 8}, {1024, 1023}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int32_t E = cases[i].experts, k = cases[i].active;
    model_config c = wide;
    c.experts = E, c.active = k, c.hash_layers = 2;
    int64_t count[PHIBAL_MAX_EXPERTS] = {0};
    for (int32_t v = 0; v < 61; v++) {
      int32_t experts[PHIBAL_MAX_EXPERTS];
      int64_t low = INT64_MAX, high = 0;
      bool has[PHIBAL_MAX_EXPERTS] = {false};
      model_hash_experts(&c, 1, v, experts);
      for (int32_t s = 0; s < k; s++) {
        cr_assert(experts[s] >= 0 && experts[s] < E && !has[experts[s]], "%d of %d: token %d", k, E,
                  v);
        has[experts[s]] = true;
        count[experts[s]]++;
      }
      for (int32_t e = 0; e < E; e++) {
        low = count[e] < low ? count[e] : low;
        high = count[e] > high ? count[e] : high;
      }
      cr_assert(high - low <= 1, "%d of %d: after token %d", k, E, v);
    }
  }
  /* The first of 8 experts of 2^14 tokens, by layer and seed: each about 2048 times (within 6
     standard deviations), and as often as chance has it the same as under another seed or in
     another layer, or as 8 tokens before. */
  enum { TOKENS = 1 << 14 };
  model_config c = wide;
  c.experts = 8, c.active = 1, c.hash_layers = 2;
  int64_t same[3] = {0}, count[8] = {0};
  for (int32_t v = 8; v < TOKENS; v++) {
    int32_t own, other;
    c.hash_seed = 0;
    model_hash_experts(&c, 0, v, &own);
    count[own]++;
    model_hash_experts(&c, 1, v, &other);
    same[0] += own == other;
    model_hash_experts(&c, 0, v - 8, &other);
    same[1] += own == other;
    c.hash_seed = 1;
    model_hash_experts(&c, 0, v, &other);
    same[2] += own == other;
  }
  for (int i = 0; i < 3; i++)
    cr_expect(llabs(same[i] - TOKENS / 8) < 6 * 43, "%d: %lld alike", i, (long long)same[i]);
}

/* Evaluation and training route by the same hashes, which are those of single tokens; a text that
   grows token by token too; m and biases of these layers stay. */
Test(model, hashes_route) {
  model_config c = wide;
  balance_config b = phi;
  model *m;
  model_losses losses, evaluated;
  c.hash_layers = 1, c.active = 4, c.hash_seed = 3;
  cr_assert_eq(model_create(&c, &b, BATCH, 3, &m), PHIBAL_OK, "%s", phibal_status_message());
  const model_batch batch = make_batch();
  cr_assert_eq(model_step_begin(m, batch), PHIBAL_OK);
  cr_assert_eq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_OK);
  cr_assert_eq(model_step_finish(m), PHIBAL_OK);
  int64_t count[2][6] = {{0}};
  for (int i = 0; i < BATCH * LENGTH; i++) {
    int32_t experts[4];
    if (tokens[i] < 0) continue;
    model_hash_experts(&c, 0, tokens[i], experts);
    for (int s = 0; s < 4; s++) count[0][experts[s]]++;
  }
  cr_expect_eq(memcmp(count[0], model_step_loads(m, 0)->count, sizeof count[0]), 0);
  cr_expect_neq(memcmp(count[0], model_step_loads(m, 1)->count, sizeof count[0]), 0);
  for (int e = 0; e < 6; e++) {
    cr_expect_eq(model_balance_state(m, 0)[e], 0.0f);
    cr_expect_gt(model_balance_state(m, 1)[e], 0.0f);
  }
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &evaluated, NULL), PHIBAL_OK);
  cr_expect_eq(evaluated.cross_entropy, losses.cross_entropy);
  float whole[61], grown[61];
  model_logits(m, 9, whole);
  for (int i = 0; i < 10; i++) {
    cr_assert_eq(model_continue(m, i, 1, tokens + i), PHIBAL_OK, "%s", phibal_status_message());
    model_logits(m, 0, grown);
  }
  cr_expect_eq(memcmp(whole, grown, sizeof whole), 0, "a text that grows has other logits");
  model_destroy(m);
}

/* A step in two calls, with the routes that are given (null: none), and the ones it took. */
static model *routed_step(const model_config *c, const balance_config *b, uint64_t seed,
                          const uint16_t *given, uint16_t *taken, model_losses *sum) {
  const int64_t half = (int64_t)BATCH / 2 * (c->layers - c->dense_layers) * LENGTH * c->active;
  model *m;
  cr_assert_eq(model_create(c, b, BATCH / 2, seed, &m), PHIBAL_OK, "%s", phibal_status_message());
  for (int32_t i = 0; i < model_moe_layers(m); i++)
    for (int32_t e = 0; e < c->experts && model_has_bias(c, b->method); e++)
      model_bias(m, i)[e] = 0.01f * (float)e;
  cr_assert_eq(model_step_begin(m, make_batch()), PHIBAL_OK);
  *sum = (model_losses){0};
  for (int part = 0; part < 2; part++) {
    model_losses losses;
    const int first = part * (BATCH / 2) * LENGTH;
    model_set_routes(m, given ? given + part * half : NULL, taken + part * half);
    cr_assert_eq(model_forward_backward(m, BATCH / 2, tokens + first, targets + first, &losses),
                 PHIBAL_OK, "%s", phibal_status_message());
    sum->cross_entropy += losses.cross_entropy;
    sum->balance += losses.balance;
    sum->z += losses.z;
    sum->dropped += losses.dropped;
  }
  cr_assert_eq(model_step_finish(m), PHIBAL_OK, "%s", phibal_status_message());
  return m;
}

/* Its own routes make a step again to the bit, with every method, gate and selection; those of
   other weights are taken too, and make another step. */
Test(model, recorded_routes_are_replayed) {
  enum { MOST = BATCH * 2 * LENGTH * 3 };
  static uint16_t taken[MOST], again[MOST], others[MOST];
  omp_set_num_threads(2);
  for (int i = 0; i < 24; i++) {
    model_config c = wide;
    balance_config b = phi;
    model_losses sum[3];
    b.method = (balance_method)(i % BALANCE_DENSE);
    b.quantile_eta = 0.5f, b.bias_rate = 0.01f, b.bias_scale = 0.5;
    b.track = i % 5 == 1 ? TRACK_FREQUENCY : TRACK_PROBABILITY;
    c.active = 1 + i % 3;
    c.gate = (phibal_gate)(i / 8 % 2 ? PHIBAL_GATE_SIGMOID + i % 2 : i % 2);
    if (i / 8 % 2) b.z_coefficient = 0;
    if (i >= 16 && c.gate != PHIBAL_GATE_TOPK_SOFTMAX)
      c.gate_normalisation = PHIBAL_NORMALISATION_SUM, c.gate_floor = 0.25f;
    if (i >= 8 && i < 16 && b.method != BALANCE_QUANTILE)
      c.expert_groups = 2, c.active_groups = 1, c.group_score = PHIBAL_GROUP_LARGEST;
    if (i >= 16 && i % 2) c.selection_score = PHIBAL_SCORE_PROBABILITY;
    if (i % 4 == 3) c.hash_layers = 1;
    if (i % 6 == 5)
      c.zero_experts = 2;
    else if (i % 3 == 1)
      b.capacity_factor = 0.75f;
    if (i % 5 == 4) c.recompute = RECOMPUTE_LAYERS;
    model *one = routed_step(&c, &b, 3, NULL, taken, &sum[0]);
    model *two = routed_step(&c, &b, 3, taken, again, &sum[1]);
    const size_t bytes = sizeof *taken * (size_t)(BATCH * 2 * LENGTH * c.active);
    cr_expect_eq(memcmp(taken, again, bytes), 0, "case %d: other routes", i);
    cr_expect_eq(memcmp(&sum[0], &sum[1], sizeof *sum), 0, "case %d: losses", i);
    check_same(one, two, "replayed");
    if (b.capacity_factor > 0) cr_expect_gt(sum[0].dropped, 0);
    model *other = routed_step(&c, &b, 4, NULL, others, &sum[2]);
    if (c.hash_layers < 2) cr_expect_neq(memcmp(taken, others, bytes), 0, "case %d", i);
    model *replayed = routed_step(&c, &b, 4, taken, again, &sum[1]);
    cr_expect_eq(memcmp(taken, again, bytes), 0, "case %d: not the routes that were given", i);
    cr_expect_neq(sum[1].cross_entropy, sum[2].cross_entropy, "case %d", i);
    cr_expect_neq(sum[1].cross_entropy, sum[0].cross_entropy, "case %d", i);
    for (int32_t layer = 0; layer < 2; layer++)
      cr_expect_eq(memcmp(model_step_loads(one, layer)->count,
                          model_step_loads(replayed, layer)->count, 6 * sizeof(int64_t)),
                   0, "case %d: counts", i);
    model_destroy(one), model_destroy(two), model_destroy(other), model_destroy(replayed);
  }
}

/* Evaluation selects by itself; routes that are none are refused. */
Test(model, routes_that_are_refused) {
  static uint16_t taken[BATCH * 2 * LENGTH * 2];
  model_losses losses, own, evaluated;
  model *m = routed_step(&wide, &phi, 3, NULL, taken, &losses);
  const int last = 2 * LENGTH + LENGTH - 1; /* padding, of the third sequence */
  cr_assert_eq(tokens[last], -1);
  cr_expect_eq(taken[(2 * 2 * LENGTH + LENGTH - 1) * 2], UINT16_MAX);
  cr_assert_eq(model_evaluate(m, 8, tokens, targets, &own, NULL), PHIBAL_OK);
  const uint16_t kept[2] = {taken[0], taken[1]};
  const uint16_t wrong[][2] = {{1, 1}, {2, 6}, {UINT16_MAX, 1}, {UINT16_MAX, UINT16_MAX}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    memcpy(taken, wrong[i], sizeof kept);
    cr_assert_eq(model_step_begin(m, make_batch()), PHIBAL_OK);
    model_set_routes(m, taken, NULL);
    cr_expect_eq(model_forward_backward(m, 8, tokens, targets, &losses), PHIBAL_ERROR_ARGUMENT,
                 "%d, %d are accepted", wrong[i][0], wrong[i][1]);
  }
  cr_assert_eq(model_evaluate(m, 8, tokens, targets, &evaluated, NULL), PHIBAL_OK);
  cr_expect_eq(own.cross_entropy, evaluated.cross_entropy);
  model_destroy(m);
}

Test(model, threads_do_not_change_a_bit) {
  for (int method = BALANCE_PHI; method <= BALANCE_DENSE; method++) {
    balance_config balance = phi;
    balance.method = (balance_method)method;
    balance.bias_rate = 1e-3f;
    balance.bias_scale = 0.5;
    balance.quantile_eta = 0.5f;
    model_losses losses, others;
    balance.capacity_factor = method % 2 && method != BALANCE_DENSE ? 0.875f : 0;
    balance.capacity_policy = (phibal_capacity_policy)(method % 3);
    model *one = step(&balance, 1, 1, &losses);
    for (int threads = 2; threads <= 3; threads++) {
      model *other = step(&balance, threads, 1, &others);
      check_same(one, other, "threads");
      cr_assert_eq(memcmp(&losses, &others, sizeof losses), 0, "losses");
      model_destroy(other);
    }
    model_destroy(one);
  }
}

static const phibal_potential outside = {PHIBAL_POTENTIAL_TSALLIS, 0.5};

static int outside_price(int experts, const float *m, float *price, int *floored) {
  int32_t n;
  int refused = phibal_price(&outside, experts, m, price, &n) ? 1 : 0;
  if (floored) *floored = n;
  return refused;
}

static int outside_centred(int experts, const float *m, float *centred, int *floored) {
  int32_t n;
  int refused = phibal_price_centred(&outside, experts, m, centred, &n) ? 1 : 0;
  if (floored) *floored = n;
  return refused;
}

static int outside_refusal(int experts, const float *m, float *price, int *floored) {
  (void)experts;
  (void)m;
  (void)price;
  (void)floored;
  return 3;
}

static int outside_infinite(int experts, const float *m, float *price, int *floored) {
  (void)m;
  (void)floored;
  for (int e = 0; e < experts; e++) price[e] = INFINITY;
  return 0;
}

/* Prices from outside the catalogue make the step that the same prices from it make. */
Test(model, external_prices_are_used) {
  model_potential external = {"outside", 0, outside_price, outside_centred, NULL};
  balance_config balance = phi;
  balance.potential = outside;
  model_losses losses, others;
  model *one = step(&balance, 1, 1, &losses);
  balance.potential = (phibal_potential){PHIBAL_POTENTIAL_EUCLID, 0};
  balance.external = &external;
  model *other = step(&balance, 1, 1, &others);
  check_same(one, other, "external prices");
  cr_assert_float_eq(losses.balance, others.balance, 1e-6 * fabs(losses.balance));
  model_destroy(one);
  model_destroy(other);
}

Test(model, external_prices_that_fail_stop_the_step) {
  static int (*const faulty[])(int, const float *, float *, int *) = {outside_refusal,
                                                                      outside_infinite};
  static const char *const said[] = {"expert 2", "not finite"};
  for (int i = 0; i < 2; i++) {
    model_potential external = {"outside", 0, outside_price, faulty[i], NULL};
    balance_config balance = phi;
    balance.external = &external;
    model *m;
    model_losses losses;
    cr_assert_eq(model_create(&wide, &balance, BATCH, 11, &m), PHIBAL_OK);
    cr_assert_eq(model_step_begin(m, make_batch()), PHIBAL_OK);
    cr_assert_neq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_OK);
    cr_assert(strstr(phibal_status_message(), "outside"), "%s", phibal_status_message());
    cr_assert(strstr(phibal_status_message(), said[i]), "%s", phibal_status_message());
    model_destroy(m);
  }
}

/* The first MoE layer's logits are made row by row of whole tiles (its input comes from a dense
   layer, and a cut falls on the edge of a tile), so that its loads, and m with them, must be the
   same to the bit; in later layers a token may sit elsewhere in a tile of its expert's rows. A
   gradient is a sum over the T tokens of the batch, made in other groups: it moves by 2 T u at
   most, relative to the sum of its terms' sizes, for which sqrt(T) times the largest gradient
   stands, terms having random signs. A micro-batch lost, counted twice or scaled by its own size
   moves it by a half. */
Test(model, micro_batches_make_the_same_step) {
  balance_config unpriced = phi; /* the prices of the parts differ, as (M5) wants: without them */
  unpriced.alpha = 0;
  model_losses whole_losses, losses;
  model *whole = step(&unpriced, 2, 1, &whole_losses), *parts = step(&unpriced, 2, 2, &losses);
  cr_assert_eq(losses.targets, whole_losses.targets);
  cr_assert_eq(losses.correct, whole_losses.correct);
  cr_assert_float_eq(losses.cross_entropy, whole_losses.cross_entropy,
                     1e-6 * whole_losses.cross_entropy);
  cr_assert_eq(memcmp(model_balance_state(whole, 0), model_balance_state(parts, 0),
                      sizeof(float) * (size_t)wide.experts),
               0);
  cr_assert_neq(model_balance_state(whole, 0)[0], 0.0f);
  const phibal_loads *a = model_step_loads(whole, 0), *b = model_step_loads(parts, 0);
  cr_assert_eq(memcmp(a->probability, b->probability,
                      (size_t)wide.experts * PHIBAL_LOAD_LIMBS * sizeof(uint64_t)),
               0);
  float largest = 0;
  for (int64_t i = 0; i < model_parameter_count(whole); i++) {
    float g = model_gradients(whole)[i];
    largest = g > largest ? g : -g > largest ? -g : largest;
  }
  for (int64_t i = 0; i < model_parameter_count(whole); i++)
    cr_assert_float_eq((double)model_gradients(whole)[i], (double)model_gradients(parts)[i],
                       2 * BATCH * LENGTH * 0x1p-24 * 32 * (double)largest);
  model_destroy(whole);
  model_destroy(parts);
}

Test(model, evaluation_is_the_forward_pass) {
  model_losses losses, evaluated;
  model *m = step(&phi, 2, 1, &losses);
  phibal_loads loads[2];
  phibal_router router = {wide.experts, wide.active, wide.gate, 1.0f};
  for (int i = 0; i < 2; i++) cr_assert_eq(phibal_loads_create(&router, &loads[i]), PHIBAL_OK);
  float before = model_balance_state(m, 0)[0];
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &evaluated, loads), PHIBAL_OK);
  cr_assert_eq(evaluated.cross_entropy, losses.cross_entropy);
  cr_assert_eq(evaluated.correct, losses.correct);
  cr_assert_eq(evaluated.targets, losses.targets);
  cr_assert_eq(model_balance_state(m, 0)[0], before);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(memcmp(loads[i].count, model_step_loads(m, i)->count,
                        (size_t)wide.experts * sizeof(int64_t)),
                 0);
    phibal_loads_destroy(&loads[i]);
  }
  model_destroy(m);
}

/* The paper's table of sizes: active parameters in millions, to the digit it prints. */
Test(model, counts_are_the_papers) {
  static const struct {
    int32_t width, layers, heads, head_width, hidden;
    double active;
  } sizes[] = {{512, 8, 8, 64, 2048, 110.2},
               {1024, 8, 8, 128, 4096, 337.8},
               {1280, 10, 10, 128, 5120, 587.4},
               {1536, 12, 8, 256, 6144, 984.9}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    model_config c = {.vocabulary = 100352,
                      .width = sizes[i].width,
                      .layers = sizes[i].layers,
                      .heads = sizes[i].heads,
                      .key_value_heads = sizes[i].heads,
                      .head_width = sizes[i].head_width,
                      .experts = 16,
                      .active = 2,
                      .hidden = sizes[i].hidden};
    int64_t total, active;
    model_count(&c, BALANCE_PHI, &total, &active);
    cr_assert_float_eq((double)active / 1e6, sizes[i].active, 0.05, "%ld", (long)active);
    if (i == 2) cr_assert_float_eq((double)total / 1e9, 3.34, 0.005, "%ld", (long)total);
  }
}

Test(model, tensors_tile_the_parameters) {
  model *m;
  cr_assert_eq(model_create(&wide, &phi, 1, 3, &m), PHIBAL_OK);
  int64_t end = 0, total, active;
  for (int32_t i = 0; i < model_tensor_count(m); i++) {
    const model_tensor *t = &model_tensors(m)[i];
    cr_assert_eq(t->offset, end);
    end += t->shape[0] * t->shape[1] * t->shape[2];
    cr_assert_eq(t->decay, t->dimensions > 1, "%s", t->name);
  }
  cr_assert_eq(end, model_parameter_count(m));
  model_count(&wide, BALANCE_PHI, &total, &active);
  cr_assert_eq(total, end);
  cr_assert_eq(total - active, 2 * 3 * (6 - 2) * 40 * 72);
  model_destroy(m);
}

Test(model, refusals_say_what_is_wrong) {
  model *m;
  model_losses losses;
  model_config bad = wide;
  bad.key_value_heads = 3;
  cr_assert_eq(model_create(&bad, &phi, 1, 3, &m), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "key_value_heads"));
  bad = wide;
  bad.active = 7;
  cr_assert_eq(model_create(&bad, &phi, 1, 3, &m), PHIBAL_ERROR_ARGUMENT);
  cr_assert_null(m);
  bad.active = 1;
  bad.hidden = bad.dense_hidden = 1 << 24;
  bad.sequence = 1 << 24;
  cr_assert_eq(model_create(&bad, &phi, 1 << 24, 3, &m), PHIBAL_ERROR_ARGUMENT);
  bad.sequence = 1 << 21; /* 2^21 tokens of 2^24 numbers: addressable, not allocatable */
  cr_assert_eq(model_create(&bad, &phi, 1 << 3, 3, &m), PHIBAL_ERROR_MEMORY);
  cr_assert_eq(model_create(&wide, &phi, BATCH, 3, &m), PHIBAL_OK);
  const model_batch batch = make_batch();
  cr_assert_eq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(model_step_begin(m, (model_batch){0, batch.tokens}), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(model_step_begin(m, (model_batch){batch.targets, batch.targets - 1}),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(model_step_begin(m, (model_batch){batch.targets + 1, batch.tokens}), PHIBAL_OK);
  cr_assert_eq(model_forward_backward(m, BATCH + 1, tokens, targets, &losses),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_OK);
  cr_assert_eq(model_step_finish(m), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(model_step_begin(m, (model_batch){batch.targets, batch.tokens - 1}), PHIBAL_OK);
  cr_assert_eq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_OK);
  cr_assert_eq(model_step_finish(m), PHIBAL_ERROR_ARGUMENT);
  targets[2 * LENGTH + LENGTH - 1] = 3;
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "padding at position 191 has a target"));
  targets[2 * LENGTH + LENGTH - 1] = -1;
  tokens[2 * LENGTH + LENGTH - 1] = 3;
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "position 191 follows padding"));
  tokens[5] = 61;
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "position 5"));
  model_destroy(m);
}

/* Parts that do not go together, by name. */
Test(model, pairs_that_are_refused) {
  model *m;
  model_config c = wide;
  balance_config b = phi;
  c.expert_groups = 2, c.active_groups = 1;
  b.method = BALANCE_QUANTILE;
  b.quantile_eta = 1;
  cr_expect_eq(model_create(&c, &b, 1, 3, &m), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "quantile balancing does not know groups"), "%s",
            phibal_status_message());
  c = wide;
  c.expert_factor = true;
  b = phi;
  b.method = BALANCE_DENSE;
  cr_expect_eq(model_create(&c, &b, 1, 3, &m), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "expert_factor is for experts"), "%s",
            phibal_status_message());
  c = wide;
  c.hash_layers = 1;
  cr_expect_eq(model_create(&c, &b, 1, 3, &m), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "hash_layers have experts"), "%s",
            phibal_status_message());
  c.hash_layers = 3; /* one of three is dense */
  cr_expect_eq(model_create(&c, &phi, 1, 3, &m), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "3 hash_layers of 2 with experts"), "%s",
            phibal_status_message());
  c = wide;
  c.zero_experts = 1;
  cr_expect_eq(model_create(&c, &b, 1, 3, &m), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "zero_experts are experts"), "%s",
            phibal_status_message());
  b = phi;
  b.capacity_factor = 1;
  cr_expect_eq(model_create(&c, &b, 1, 3, &m), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "capacity_factor with zero_experts"), "%s",
            phibal_status_message());
  c.expert_limit = 7, c.expert_slope = 1, c.shared_experts = c.dense_layers = 0;
  cr_expect_eq(model_create(&c, &phi, 1, 3, &m), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "no zero_experts"), "%s", phibal_status_message());
}

/* A factor of an expert that has become NaN stops the step, and says which. */
Test(model, factors_that_are_not_finite) {
  model *m;
  model_losses losses;
  model_config c = wide;
  c.expert_factor = true;
  cr_assert_eq(model_create(&c, &phi, BATCH, 3, &m), PHIBAL_OK);
  const model_batch batch = make_batch();
  for (int32_t i = 0; i < model_tensor_count(m); i++)
    if (strstr(model_tensors(m)[i].name, "per_expert_scale")) {
      cr_expect_not(model_tensors(m)[i].decay);
      cr_expect_eq(model_parameters(m)[model_tensors(m)[i].offset], 1.0f);
      model_parameters(m)[model_tensors(m)[i].offset + 2] = NAN;
    }
  cr_assert_eq(model_step_begin(m, batch), PHIBAL_OK);
  cr_expect_eq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "factor of expert 2"), "%s", phibal_status_message());
  model_destroy(m);
}

/* Angles of rotary positions stay within what their sines are right for. */
Test(model, frequencies_above_1_are_refused) {
  model_config c = wide;
  c.rope_original = 16, c.rope_fast = 32, c.rope_slow = 1;
  const struct {
    float theta, factor;
    const char *message; /* null: fits */
  } cases[] = {{1, 0, NULL},
               {0.99f, 0, "rope_theta must be 1 or more"},
               {NAN, 0, "rope_theta must be 1 or more"},
               {10, 1, NULL},
               {10, 0.5f, "rope_factor must be 1 or more"},
               {10, -1, "rope_factor must be 1 or more"},
               {1, 2, "rope_theta must be above 1"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    c.rope_theta = cases[i].theta, c.rope_factor = cases[i].factor;
    const phibal_status status = model_config_check(&c);
    cr_expect_eq(status, cases[i].message ? PHIBAL_ERROR_ARGUMENT : PHIBAL_OK, "case %zu", i);
    if (cases[i].message)
      cr_expect(strstr(phibal_status_message(), cases[i].message), "%s", phibal_status_message());
  }
}

/* Sequences of padding alone, and a whole call of it, take part in nothing. */
Test(model, nothing_but_padding) {
  model *m, *alone;
  model_losses losses;
  make_batch();
  for (int i = LENGTH; i < BATCH * LENGTH; i++) tokens[i] = targets[i] = -1;
  const model_batch batch = model_batch_count(LENGTH, tokens, targets);
  cr_assert_eq(model_create(&wide, &phi, BATCH, 3, &m), PHIBAL_OK);
  cr_assert_eq(model_create(&wide, &phi, BATCH, 3, &alone), PHIBAL_OK);
  cr_assert_eq(model_step_begin(m, batch), PHIBAL_OK);
  cr_assert_eq(model_forward_backward(m, 4, tokens + LENGTH, targets + LENGTH, &losses), PHIBAL_OK,
               "%s", phibal_status_message());
  cr_assert_eq(losses.targets, 0);
  cr_assert_eq(losses.balance, 0.0);
  for (int64_t i = 0; i < model_parameter_count(m); i++) cr_assert_eq(model_gradients(m)[i], 0.0f);
  cr_assert_eq(model_forward_backward(m, BATCH, tokens, targets, &losses), PHIBAL_OK);
  cr_assert_eq(model_step_finish(m), PHIBAL_OK);
  cr_assert_eq(model_step_begin(alone, batch), PHIBAL_OK);
  cr_assert_eq(model_forward_backward(alone, 1, tokens, targets, &losses), PHIBAL_OK);
  cr_assert_eq(model_step_finish(alone), PHIBAL_OK);
  for (int32_t e = 0; e < wide.experts; e++) {
    cr_assert_eq(model_step_loads(m, 0)->count[e], model_step_loads(alone, 0)->count[e]);
    cr_assert_float_eq(model_balance_state(m, 0)[e], model_balance_state(alone, 0)[e], 1e-6f);
  }
  model_destroy(m);
  model_destroy(alone);
}

/* A token whose target is taken away is still read, routed and counted: all but its own loss keeps
   its bits. */
Test(model, tokens_without_a_target_are_routed) {
  model *m;
  model_losses losses;
  phibal_loads with[2], without[2];
  static double kept[BATCH * LENGTH];
  const phibal_router router = {wide.experts, wide.active, wide.gate, 1.0f};
  cr_assert_eq(model_create(&wide, &phi, BATCH, 3, &m), PHIBAL_OK);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(phibal_loads_create(&router, &with[i]), PHIBAL_OK);
    cr_assert_eq(phibal_loads_create(&router, &without[i]), PHIBAL_OK);
  }
  const model_batch batch = make_batch();
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, with), PHIBAL_OK);
  memcpy(kept, model_position_losses(m), sizeof kept);
  for (int i = 0; i < BATCH * LENGTH; i++)
    if (i % LENGTH < 40 || i % 5 == 0) targets[i] = -1; /* prompts, and some behind them */
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, without), PHIBAL_OK);
  for (int i = 0; i < BATCH * LENGTH; i++)
    cr_assert_eq(model_position_losses(m)[i], targets[i] < 0 ? 0.0 : kept[i], "position %d", i);
  for (int i = 0; i < 2; i++) {
    cr_expect_eq(with[i].tokens, batch.tokens);
    cr_expect_eq(without[i].tokens, batch.tokens);
    cr_expect_arr_eq(with[i].count, without[i].count, sizeof(int64_t) * (size_t)wide.experts);
    cr_expect_arr_eq(with[i].probability, without[i].probability,
                     sizeof(uint64_t) * (size_t)wide.experts * PHIBAL_LOAD_LIMBS);
    phibal_loads_destroy(&with[i]);
    phibal_loads_destroy(&without[i]);
  }
  model_destroy(m);
}

/* What stands in the place of padding changes no bit before it; padding counts in no loads. That m,
   losses and gradients leave it out is test_model_gradient's matter. */
Test(model, padding_is_not_counted) {
  enum { SHORT = 51 };
  static double kept[BATCH * LENGTH];
  const phibal_router router = {wide.experts, wide.active, wide.gate, 1.0f};
  model *m;
  model_losses losses;
  phibal_loads full[2], padded[2];
  cr_assert_eq(model_create(&wide, &phi, BATCH, 3, &m), PHIBAL_OK);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(phibal_loads_create(&router, &full[i]), PHIBAL_OK);
    cr_assert_eq(phibal_loads_create(&router, &padded[i]), PHIBAL_OK);
  }
  make_batch();
  for (int i = 0; i < BATCH * LENGTH; i++) {
    if (tokens[i] < 0) tokens[i] = 7;
    if (i % LENGTH >= SHORT) targets[i] = -1;
  }
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, full), PHIBAL_OK);
  memcpy(kept, model_position_losses(m), sizeof kept);
  for (int i = 0; i < BATCH * LENGTH; i++)
    if (i % LENGTH >= SHORT) tokens[i] = -1;
  cr_assert_eq(model_evaluate(m, BATCH, tokens, targets, &losses, padded), PHIBAL_OK);
  cr_expect_arr_eq(model_position_losses(m), kept, sizeof kept);
  for (int i = 0; i < 2; i++) {
    int64_t total = 0;
    float mean[6];
    double mass = 0;
    cr_expect_eq(full[i].tokens, BATCH * LENGTH);
    cr_expect_eq(padded[i].tokens, BATCH * SHORT);
    cr_assert_eq(phibal_loads_mean(&padded[i], mean), PHIBAL_OK);
    for (int e = 0; e < wide.experts; e++) {
      total += padded[i].count[e];
      mass += (double)mean[e];
      cr_expect_leq(padded[i].count[e], full[i].count[e]);
    }
    cr_expect_eq(total, BATCH * SHORT * wide.active);
    /* Each token's probabilities add up to 1 within E roundings of at most 2^-24. */
    cr_expect_float_eq(mass, 1.0, 2 * wide.experts * 0x1p-24);
    phibal_loads_destroy(&full[i]);
    phibal_loads_destroy(&padded[i]);
  }
  model_destroy(m);
}
