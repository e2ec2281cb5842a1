/* What a run takes, counted without it. */
#include "moe/config/config.h"
#include "moe/plan/estimate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The paper's sizes: 110.2, 337.8, 587.4 and 984.9 M active parameters, 3.34 B in all for 588M. */
Test(estimate, paper_configurations) {
  static const struct {
    const char *name;
    double active;
  } sizes[] = {{"111M", 110.2}, {"338M", 337.8}, {"588M", 587.4}, {"986M", 984.9}};
  for (size_t i = 0; i < 4; i++) {
    run_config config;
    cr_assert_eq(run_config_load(sizes[i].name, NULL, 0, &config), PHIBAL_OK, "%s",
                 phibal_status_message());
    run_estimate e = run_estimate_compute(&config, false);
    cr_expect_float_eq((double)e.active * 1e-6, sizes[i].active, 0.05, "%s: %lld", sizes[i].name,
                       (long long)e.active);
    if (i == 2) cr_expect_float_eq((double)e.total * 1e-9, 3.34, 0.005);
    cr_expect_eq(e.weight_bytes, 4 * e.total);
    cr_expect_eq(e.moment_bytes, 8 * e.total);
    cr_expect_gt(e.activation_bytes, 0);
  }
}

/* All arrays are multiples of 64 bytes: 64 tokens. */
static const char small[] =
    "model: {vocabulary: 50, width: 6, layers: 3, heads: 4, key_value_heads: 2, head_width: 2,\n"
    "  sequence: 32, experts: 4, active: 3, hidden: 5, shared_experts: 2, dense_layers: 1,\n"
    "  dense_hidden: 7}\n"
    "batch: {sequences: 2}\noptimizer: {peak_lr: 1}\ntraining: {steps: 1}\n";

/* Rows that products multiply are half as long; there is a copy of the weights, a router's input
   and a narrow gradient more. */
Test(estimate, bytes_in_bfloat16) {
  run_config config;
  cr_assert_eq(run_config_parse(small, "one.yaml", NULL, 0, &config), PHIBAL_OK);
  const run_estimate wide = run_estimate_compute(&config, true);
  config.training.precision = PRECISION_BFLOAT16;
  const run_estimate e = run_estimate_compute(&config, true);
  const int64_t d = 6, f = 5, k = 3, queries = 8, row = 16, shared = 10, dense = 7, vocabulary = 50;
  const int64_t attention = d + row + queries;             /* normed, qkv, attended */
  const int64_t layers = 3 * attention + (d + 2 * dense) + /* the FFN's input, a, b */
                         2 * (d + k * 2 * f + 2 * shared);
  const int64_t scratch = d + row + queries + k * f + k * 2 * d + d + vocabulary;
  cr_expect_eq(e.weight_bytes, 6 * e.total);
  cr_expect_eq(e.gradient_bytes, 4 * e.total);
  cr_expect_eq(e.moment_bytes, 8 * e.total);
  cr_expect_eq(wide.activation_bytes - e.activation_bytes, 64 * (2 * (layers + scratch) - 6 * d));
}

/* Adapters of rank 3: of a matrix [m][n] 3 (m + n) numbers, four times, on a device five times and
   a matrix [3][3], and m n of the weights; on each of several ranks too. Names that are not
   phibal's count every matrix. */
Test(estimate, adapters) {
  static const struct {
    const char *targets;
    bool every, attention, experts;
  } cases[] = {{"q_proj,k_proj, v_proj,o_proj", false, true, false},
               {"mlp.experts.down_proj", false, false, true},
               {"w1,q_proj", true, false, false},
               {"experts.1.down_proj", true, false, false}};
  run_config config;
  cr_assert_eq(run_config_parse(small, "one.yaml", NULL, 0, &config), PHIBAL_OK);
  config.lora.rank = 3;
  const int64_t d = 6, q = 8, kv = 4, V = 50;
  const int64_t base[] = {3 * 2 * (q + kv) * d, 2 * 4 * 5 * d,
                          V * d + 3 * 7 * d + 2 * (4 + 2 * 4 * 5 + 3 * 10) * d};
  const int64_t sides[] = {3 * (2 * (q + d) + 2 * (kv + d)), 2 * 4 * (5 + d),
                           V + d + 3 * (7 + d) + 2 * (4 + d + 2 * 4 * (5 + d) + 3 * (10 + d))};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(config.lora.targets, sizeof config.lora.targets, "%s", cases[i].targets);
    const bool all = cases[i].every;
    const int64_t weights =
        (all || cases[i].attention) * base[0] + (all || cases[i].experts) * base[1] + all * base[2];
    const int64_t factors = 3 * ((all || cases[i].attention) * sides[0] +
                                 (all || cases[i].experts) * sides[1] + all * sides[2]);
    const run_estimate host = run_estimate_compute(&config, false);
    cr_expect_eq(host.moment_bytes, 4 * (weights + 4 * factors), "%s", cases[i].targets);
    cr_expect_eq(run_estimate_compute(&config, true).moment_bytes, 4 * (weights + 5 * factors + 9));
    cr_expect_eq(run_estimate_of_rank(&config, 2, false).moment_bytes, host.moment_bytes);
  }
}

/* Layers that are recomputed share what the largest of them makes: of a dense layer and two with
   experts, one of these is left. In its place is the work of the first two. */
Test(estimate, recomputed_layers) {
  run_config config;
  cr_assert_eq(run_config_parse(small, "one.yaml", NULL, 0, &config), PHIBAL_OK);
  const run_estimate kept = run_estimate_compute(&config, true);
  config.model.recompute = RECOMPUTE_LAYERS;
  const run_estimate e = run_estimate_compute(&config, true);
  const int64_t d = 6, f = 5, k = 3, heads = 4, queries = 8, row = 16, shared = 10, dense = 7;
  /* normed, inverse; qkv; attended; logsumexp; the stream after it; the FFN's input, inverse */
  const int64_t both = (d + 1) + row + queries + heads + d + (d + 1);
  cr_expect_eq(kept.activation_bytes - e.activation_bytes,
               4 * 64 * (2 * both + 2 * dense + 2 * k * f + 2 * shared));
  const double attention = 2 * (6 * 16 + 8 * 6) + 2 * 8 * 33;
  cr_expect_eq(kept.recomputed_flops, 0);
  const double product = 2 * 6 * 7 + 2 * 6 * 5 * (3 + 2); /* of the dense layer and of experts */
  cr_expect_float_eq(e.recomputed_flops, 2 * attention + 2 * product, 1e-9);
  cr_expect_float_eq(run_estimate_compute(&config, false).recomputed_flops,
                     2 * attention + 3 * product, 1e-9);
  cr_expect_eq(e.training_flops, kept.training_flops);
}

/* Experts of half the width, twice as many and twice as many of them for a token: on a device each
   MoE layer keeps for a token 4 bytes a logit and 24 a route more, and nothing of the rows; on the
   host their inputs and outputs too. What layers share is that of one. */
Test(estimate, activations_of_fine_experts) {
  static const char *const cut[] = {"experts: 8, active: 2, hidden: 32",
                                    "experts: 16, active: 4, hidden: 16",
                                    "experts: 32, active: 8, hidden: 8"};
  enum { TOKENS = 64, WIDTH = 6 };
  int64_t layer[2][2][3]; /* on a device, in bfloat16, by cut */
  for (int i = 0; i < 12; i++) {
    const int device = i & 1, half = i >> 1 & 1, fine = i >> 2;
    int64_t bytes[2];
    for (int layers = 1; layers <= 2; layers++) {
      char text[400];
      snprintf(text, sizeof text,
               "model: {vocabulary: 50, width: %d, layers: %d, heads: 4, head_width: 2,\n"
               "  sequence: 32, %s}\n"
               "batch: {sequences: 2}\noptimizer: {peak_lr: 1}\ntraining: {steps: 1}\n",
               WIDTH, layers, cut[fine]);
      run_config config;
      cr_assert_eq(run_config_parse(text, "one.yaml", NULL, 0, &config), PHIBAL_OK, "%s",
                   phibal_status_message());
      if (half) config.training.precision = PRECISION_BFLOAT16;
      bytes[layers - 1] = run_estimate_compute(&config, device).activation_bytes;
    }
    layer[device][half][fine] = bytes[1] - bytes[0];
  }
  for (int half = 0; half < 2; half++)
    for (int fine = 0; fine < 2; fine++) {
      const int64_t experts = 8 << fine, active = 2 << fine;
      const int64_t routing = TOKENS * (4 * experts + 24 * active);
      const int64_t *on = layer[1][half], *host = layer[0][half];
      /* Arrays begin at multiples of 64 bytes: prices and offsets are longer by no more. */
      const int64_t ends = 4 * experts + 8 * experts + 2 * 64;
      const int64_t more = on[fine + 1] - on[fine] - routing;
      cr_expect(more >= 0 && more <= ends, "%d: %lld bytes more", half, (long long)more);
      const int64_t rows = TOKENS * active * 2 * WIDTH * (half ? 2 : 4);
      cr_expect_eq(host[fine + 1] - host[fine], on[fine + 1] - on[fine] + rows);
    }
}

/* One token of a model small enough to count by hand: width 2, one layer, one head of width 2, one
   expert of hidden width 3, five tokens, S = 4. Products: q, k, v, o 4 * 4; gate, up, down 3 * 6;
   router 2; head 10: 46 multiplications, 92 operations. Attention: 2.5 keys on average, 2 * 2 * 2
   operations each: 20. */
Test(estimate, flops_by_hand) {
  run_config config;
  static const char text[] =
      "model: {vocabulary: 5, width: 2, layers: 1, heads: 1, head_width: 2, sequence: 4,\n"
      "  experts: 1, active: 1, hidden: 3}\n"
      "batch: {sequences: 3}\noptimizer: {peak_lr: 1}\ntraining: {steps: 1}\n";
  cr_assert_eq(run_config_parse(text, "one.yaml", NULL, 0, &config), PHIBAL_OK);
  run_estimate e = run_estimate_compute(&config, false);
  cr_expect_eq(e.active, 46 + 3 * 2, "and three norms");
  cr_expect_eq(e.forward_flops, 112.0);
  cr_expect_eq(e.training_flops, 336.0);
  cr_expect_eq(e.step_tokens, 12);
}

/* Of four experts three have weights, so that a token passes through 3/4 of its k on average: of
   two experts of 3 * 2 * 3 numbers 1.5. Products beside them: q, k, v, o 16, router 8, head 10. */
Test(estimate, experts_without_weights) {
  run_config config;
  static const char text[] =
      "model: {vocabulary: 5, width: 2, layers: 1, heads: 1, head_width: 2, sequence: 4,\n"
      "  experts: 4, zero_experts: 1, active: 2, hidden: 3}\n"
      "batch: {sequences: 3}\noptimizer: {peak_lr: 1}\ntraining: {steps: 1}\n";
  cr_assert_eq(run_config_parse(text, "one.yaml", NULL, 0, &config), PHIBAL_OK, "%s",
               phibal_status_message());
  run_estimate e = run_estimate_compute(&config, false);
  cr_expect_eq(e.total, 10 + 16 + 8 + 3 * 18 + 3 * 2);
  cr_expect_eq(e.active, 10 + 16 + 8 + 27 + 3 * 2);
  cr_expect_eq(e.forward_flops, 2 * (10 + 16 + 8 + 27) + 20);
  config.parallel.experts = 3;
  cr_expect_eq(run_estimate_of_rank(&config, 3, false).weight_bytes, 4 * (e.total - 2 * 18));
  /* On a device, in bfloat16, with a batch of one sequence each and no scratch of the host's. */
  config.training.precision = PRECISION_BFLOAT16;
  const run_estimate rank = run_estimate_of_rank(&config, 3, true);
  cr_expect_eq(rank.weight_bytes, 6 * (e.total - 2 * 18));
  cr_expect_eq(rank.gradient_bytes, 4 * (e.total - 2 * 18));
  cr_expect_eq(rank.moment_bytes, 8 * (e.total - 2 * 18));
  config.batch.micro_sequences = 1;
  cr_expect_eq(rank.activation_bytes, run_estimate_compute(&config, true).activation_bytes);
}

/* Two bytes a route of the step that is read or written, and of hashes k for each token of the
   vocabulary; both on the host. */
Test(estimate, given_selections) {
  run_config config;
  cr_assert_eq(
      run_config_parse("model: {vocabulary: 64, width: 6, layers: 3, heads: 4, head_width: 2,\n"
                       "  sequence: 32, experts: 8, active: 2, hidden: 5, dense_layers: 1}\n"
                       "batch: {sequences: 6, micro_sequences: 2}\noptimizer: {peak_lr: 1}\n"
                       "training: {steps: 1}\n",
                       "one.yaml", NULL, 0, &config),
      PHIBAL_OK, "%s", phibal_status_message());
  const int64_t host = run_estimate_compute(&config, false).activation_bytes;
  const int64_t device = run_estimate_compute(&config, true).activation_bytes;
  const int64_t rank = run_estimate_of_rank(&config, 3, false).activation_bytes;
  strcpy(config.training.record_routes, "a");
  cr_expect_eq(run_estimate_compute(&config, false).activation_bytes, host + 2 * 2 * 2 * 6 * 32);
  strcpy(config.training.replay_routes, "b");
  cr_expect_eq(run_estimate_compute(&config, false).activation_bytes,
               host + 2 * 2 * 2 * 2 * 6 * 32);
  cr_expect_eq(run_estimate_of_rank(&config, 3, false).activation_bytes,
               rank + 2 * 2 * 2 * 2 * 2 * 32);
  *config.training.record_routes = *config.training.replay_routes = 0;
  config.model.hash_layers = 2;
  cr_expect_eq(run_estimate_compute(&config, false).activation_bytes, host + 2 * 2 * 64 * 2);
  cr_expect_eq(run_estimate_compute(&config, true).activation_bytes, device);
}

/* The largest size of every key is refused, each line naming the sizes that make it too large. In
   fuzz/targets/sizes.c what is not refused is counted under a sanitizer. */
Test(estimate, too_large) {
  static const struct {
    const char *sizes, *sequences, *named;
  } cases[] = {
      {"heads: 1024, head_width: 4096, sequence: 1048576", "1048576", "x heads x head_width"},
      {"heads: 1, head_width: 2, sequence: 1048576, active: 8, hidden: 1048576", "1048576",
       "micro_sequences x sequence x layers x active x (width + hidden)"},
      {"heads: 1, head_width: 2, sequence: 1, width: 65536, layers: 1024, experts: 1024, "
       "hidden: 1048576",
       "1", "layers x experts x hidden x width"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[600];
    const char *sizes = cases[i].sizes;
    snprintf(text, sizeof text,
             "model: {vocabulary: 50, %s%s%s%s%s}\nbatch: {sequences: %s}\n"
             "optimizer: {peak_lr: 1}\ntraining: {steps: 1}\n",
             sizes, strstr(sizes, "layers") ? "" : ", width: 6, layers: 3",
             strstr(sizes, "experts") ? "" : ", experts: 8",
             strstr(sizes, "active") ? "" : ", active: 1",
             strstr(sizes, "hidden") ? "" : ", hidden: 5", cases[i].sequences);
    run_config config;
    cr_expect_eq(run_config_parse(text, "one.yaml", NULL, 0, &config), PHIBAL_ERROR_ARGUMENT);
    cr_expect(strstr(phibal_status_message(), "one.yaml: model: too large for any memory") &&
                  strstr(phibal_status_message(), cases[i].named),
              "%s", phibal_status_message());
  }
}
