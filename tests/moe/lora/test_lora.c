/* Low-rank adapters against their definition, differentiated by torch (make_fixtures.py). */
#include "tests/data_files.h"
#include "adapted.h"

#include <math.h>
#include <omp.h>

Test(lora, gradients_are_the_definitions) {
  for (int i = 0; i < ADAPTED_CASES; i++) {
    adapted t = {0};
    adapted_open(i, &t);
    cr_expect_geq(adapted_logits_off(&t), 1e-2, "adapters that change nothing test nothing");
    lora_apply(&t.l);
    cr_expect_leq(adapted_logits_off(&t), 1e-4);
    const int32_t *tokens = safetensors_find(&t.p.expected, "tokens")->data;
    const int32_t *targets = safetensors_find(&t.p.expected, "targets")->data;
    model_losses losses;
    must(model_step_begin(t.p.m, model_batch_count(PARITY_TOKENS, tokens, targets)));
    must(model_forward_backward(t.p.m, PARITY_BATCH, tokens, targets, &losses));
    lora_gradients(&t.l);
    for (int32_t k = 0; k < 2 * t.l.count; k++) {
      const safetensors_tensor *theirs = adapted_named(&t.expected, "gradient.", &t.l.tensors[k]);
      const double off =
          parity_difference(theirs->elements, t.l.gradients + t.l.tensors[k].offset, theirs->data);
      cr_expect_leq(off, 1e-3, "%s is off by %g", theirs->name, off);
    }
    adapted_close(&t);
  }
}

/* Formed anew from the weights that were read, not added up step by step. */
Test(lora, applied_twice_is_once) {
  adapted t = {0};
  adapted_open(0, &t);
  const size_t bytes = (size_t)model_parameter_count(t.p.m) * sizeof(float);
  float *once = malloc(bytes);
  omp_set_num_threads(1);
  lora_apply(&t.l);
  memcpy(once, model_parameters(t.p.m), bytes);
  omp_set_num_threads(3);
  lora_apply(&t.l);
  cr_expect_eq(memcmp(once, model_parameters(t.p.m), bytes), 0);
  free(once);
  adapted_close(&t);
}

/* B is 0 at first: the model is what it was. */
Test(lora, begins_with_the_model) {
  adapted t = {0};
  /* By what they are, or by Mixtral's names. */
  const lora_config config = {3, 8, "gate_proj,w2,block_sparse_moe.gate", 0};
  parity_open("mixtral", NULL, &t.p);
  const size_t bytes = (size_t)model_parameter_count(t.p.m) * sizeof(float);
  float *before = malloc(bytes);
  memcpy(before, model_parameters(t.p.m), bytes);
  must(lora_create(&config, t.p.checkpoint.config.architecture, &t.p.config, t.p.m, 1, &t.l));
  cr_expect_eq(t.l.count, 2 * (2 * 4 + 1), "two of three matrices of every expert, and routers");
  lora_apply(&t.l);
  cr_expect_eq(memcmp(before, model_parameters(t.p.m), bytes), 0);
  double square = 0;
  const lora_matrix *w = &t.l.matrices[0];
  for (int64_t j = 0; j < 3 * w->columns; j++)
    square += (double)t.l.parameters[w->a + j] * (double)t.l.parameters[w->a + j];
  cr_expect(square > 0.2 && square < 3, "A has a variance of 1 / (3 n): %g", square);
  free(before);
  adapted_close(&t);
}

Test(lora, merges_what_peft_has) {
  for (int i = 0; i < ADAPTED_CASES; i++) {
    adapted t = {0};
    char folder[600];
    adapted_open(i, &t);
    snprintf(folder, sizeof folder, "%s/adapters", t.p.folder);
    must(lora_merge(folder, t.p.checkpoint.config.architecture, &t.p.config, t.p.m));
    cr_expect_leq(adapted_logits_off(&t), 1e-4);
    adapted_close(&t);
  }
}

/* alpha / r of all modules, of one by a pattern, alpha / sqrt(r); factors in each type. */
Test(lora, scales) {
  static const struct {
    const char *config;
    double scale;
  } cases[] = {
      {"\"r\": 2, \"lora_alpha\": 4", 2},
      {"\"r\": 2, \"lora_alpha\": 4, \"use_rslora\": true", 2.8284271247461903},
      {"\"r\": 2, \"lora_alpha\": 4, \"alpha_pattern\": {\"q_proj\": 16}", 8},
      {"\"r\": 2, \"lora_alpha\": 4, \"alpha_pattern\": {\"1.self_attn.q_proj\": 16}", 8},
      {"\"r\": 2, \"lora_alpha\": 4, \"alpha_pattern\": {\"0.self_attn.q_proj\": 16}", 2},
      {"\"r\": 2, \"lora_alpha\": 4, \"alpha_pattern\": {\"k_proj\": 1, \".*\\\\.(k|q)_proj\": 16}",
       8},
      {"\"r\": 2, \"lora_alpha\": 4, \"alpha_pattern\": {\"proj\": 16, \"q_pro\": 3}", 2},
      {"\"r\": 8, \"lora_alpha\": 4, \"rank_pattern\": {\"q_proj\": 2}", 2},
      {"\"r\": 8, \"lora_alpha\": 4, \"rank_pattern\": {\"q_proj\": 2}, \"use_rslora\": true, "
       "\"alpha_pattern\": {\"q_proj\": 6}",
       4.242640687119285},
  };
  static const safetensors_dtype types[] = {SAFETENSORS_F32, SAFETENSORS_BF16, SAFETENSORS_F16};
  enum { R = 2, N = 16, M = 24 };
  static float a[R * N], b[M * R];
  uint16_t half[2][M * R];
  char *folder = scratch_folder(), *path = string_format("%s/adapter_model.safetensors", folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int type = 0; type < 3; type++) {
      parity p = {0};
      parity_open("qwen3_moe", NULL, &p);
      /* Eighths from -1 to 1 are numbers of all three types; 2^-3 is 0x3e00 and 0x3000. */
      for (int j = 0; j < M * R; j++) {
        const int number = j * 7 % 17 - 8;
        float *to = j < R * N ? &a[j] : NULL;
        if (to) *to = (float)number / 8;
        b[j] = (float)(number * 3 % 8) / 8;
        for (int k = 0; k < 2; k++) {
          const float value = k ? b[j] : (float)number / 8;
          uint32_t bits;
          memcpy(&bits, &value, sizeof bits);
          const uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
          half[k][j] = (uint16_t)(type == 1    ? bits >> 16
                                  : value != 0 ? sign | ((rest >> 13) - (112u << 10))
                                               : sign);
        }
      }
      const safetensors_tensor tensors[2] = {
          {.name = ADAPTED_PREFIX "model.layers.1.self_attn.q_proj.lora_A.weight",
           .dtype = types[type],
           .dimensions = 2,
           .shape = {R, N},
           .data = type ? (const void *)half[0] : a},
          {.name = ADAPTED_PREFIX "model.layers.1.self_attn.q_proj.lora_B.weight",
           .dtype = types[type],
           .dimensions = 2,
           .shape = {M, R},
           .data = type ? (const void *)half[1] : b}};
      must(safetensors_write(path, tensors, 2, NULL, 0));
      char text[512];
      snprintf(text, sizeof text, "{\"peft_type\": \"LORA\", \"target_modules\": [\"q_proj\"], %s}",
               cases[i].config);
      put_text(folder, "adapter_config.json", text);
      float *w = model_parameters(p.m) +
                 parity_tensor(p.m, "model.layers.1.self_attn.q_proj.weight")->offset;
      float before[M * N];
      memcpy(before, w, sizeof before);
      must(lora_merge(folder, p.checkpoint.config.architecture, &p.config, p.m));
      for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
          double sum = 0;
          for (int r = 0; r < R; r++) sum += (double)b[row * R + r] * (double)a[r * N + column];
          cr_assert_float_eq(w[row * N + column],
                             (double)before[row * N + column] + cases[i].scale * sum, 1e-5,
                             "%s, type %d", cases[i].config, type);
        }
      parity_close(&p);
    }
  free(path);
  folder_remove(folder);
  free(folder);
}

static void expect_refused(const parity *p, const char *folder, const char *config,
                           phibal_status status, const char *message) {
  put_text(folder, "adapter_config.json", config);
  cr_expect_eq(lora_merge(folder, p->checkpoint.config.architecture, &p->config, p->m), status,
               "%s: %s", config, phibal_status_message());
  cr_expect(message_has(message), "'%s' not in: %s", message, phibal_status_message());
}

static float eighths(int64_t j) {
  return (float)(j * 7 % 17 - 8) / 8;
}

/* Rows of DoRA are as long as its magnitudes, and point where W + s B A does. */
Test(lora, magnitudes) {
  enum { R = 2, N = 16, M = 24 };
  float a[R * N], b[M * R], length[M], before[M * N];
  for (int j = 0; j < R * N; j++) a[j] = eighths(j);
  for (int j = 0; j < M * R; j++) b[j] = eighths(3 * j + 1);
  for (int j = 0; j < M; j++) length[j] = 0.25f + (float)j / 8;
  char *folder = scratch_folder(), *path = string_format("%s/adapter_model.safetensors", folder);
#define Q ADAPTED_PREFIX "model.layers.1.self_attn.q_proj"
  const safetensors_tensor tensors[3] = {{.name = Q ".lora_A.weight",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {R, N},
                                          .data = a},
                                         {.name = Q ".lora_B.weight",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {M, R},
                                          .data = b},
                                         {.name = Q ".lora_magnitude_vector",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 1,
                                          .shape = {M},
                                          .data = length}};
  must(safetensors_write(path, tensors, 3, NULL, 0));
  put_text(folder, "adapter_config.json",
           "{\"peft_type\": \"LORA\", \"target_modules\": [\"q_proj\"], \"r\": 2, "
           "\"lora_alpha\": 3, \"use_dora\": true}");
  parity p = {0};
  parity_open("qwen3_moe", NULL, &p);
  float *w =
      model_parameters(p.m) + parity_tensor(p.m, "model.layers.1.self_attn.q_proj.weight")->offset;
  memcpy(before, w, sizeof before);
  must(lora_merge(folder, p.checkpoint.config.architecture, &p.config, p.m));
  for (int i = 0; i < M; i++) {
    double sum[N], square = 0;
    for (int j = 0; j < N; j++) {
      sum[j] = (double)before[i * N + j];
      for (int r = 0; r < R; r++) sum[j] += 1.5 * (double)b[i * R + r] * (double)a[r * N + j];
      square += sum[j] * sum[j];
    }
    for (int j = 0; j < N; j++)
      cr_assert_float_eq(w[i * N + j], (double)length[i] * sum[j] / sqrt(square), 1e-5);
  }
  /* A row without a direction. */
  memset(w, 0, N * sizeof *w);
  memset(b, 0, sizeof b);
  must(safetensors_write(path, tensors, 3, NULL, 0));
  cr_expect_eq(lora_merge(folder, p.checkpoint.config.architecture, &p.config, p.m),
               PHIBAL_ERROR_NONFINITE);
  cr_expect(message_has("row 0 "));
  parity_close(&p);
  free(path);
  folder_remove(folder);
  free(folder);
}

/* Experts in one tensor: gate_up_proj inside of down_proj; and files whose configuration does not
   say what is in them. */
Test(lora, fused_experts) {
  enum { R = 2, E = 6, D = 16, F = 6 };
  float a[2][E * R * D], b[2][2 * D * R * E];
  for (int k = 0; k < 2; k++)
    for (int j = 0; j < E * R * D; j++)
      a[k][j] = eighths(j + 5 * k), b[k][j] = eighths(3 * j + k), b[k][j + E * R * D] = eighths(j);
  char *folder = scratch_folder(), *path = string_format("%s/adapter_model.safetensors", folder);
#define X ADAPTED_PREFIX "model.layers.1.mlp.experts"
  const safetensors_tensor tensors[4] = {{.name = X ".base_layer.lora_A.weight",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {E * R, D},
                                          .data = a[0]},
                                         {.name = X ".base_layer.lora_B.weight",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {2 * F, R * E},
                                          .data = b[0]},
                                         {.name = X ".lora_A.weight",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {E * R, F},
                                          .data = a[1]},
                                         {.name = X ".lora_B.weight",
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {D, R * E},
                                          .data = b[1]}};
#define FUSED(more)                                                                                \
  "{\"peft_type\": \"LORA\", \"target_modules\": [], \"r\": 2, \"lora_alpha\": 4, " more "}"
#define BOTH "\"target_parameters\": [\"mlp.experts.down_proj\", \"gate_up_proj\"]"
  must(safetensors_write(path, tensors, 4, NULL, 0));
  put_text(folder, "adapter_config.json",
           FUSED(BOTH ", \"alpha_pattern\": {\"experts.gate_up_proj\": 3}"));
  parity p = {0};
  parity_open("qwen3_moe", NULL, &p);
  const hf_architecture *architecture = p.checkpoint.config.architecture;
  const int64_t whole = model_parameter_count(p.m);
  float *before = malloc((size_t)whole * sizeof *before), *w = model_parameters(p.m);
  cr_assert(before);
  memcpy(before, w, (size_t)whole * sizeof *before);
  must(lora_merge(folder, architecture, &p.config, p.m));
  for (int which = 0; which < 3; which++) {
    static const char *const names[] = {"gate", "up", "down"};
    const int rows = which < 2 ? F : D, columns = which < 2 ? D : F, k = which == 2;
    char name[96];
    snprintf(name, sizeof name, "model.layers.1.mlp.experts.%s_proj.weight", names[which]);
    const int64_t at = parity_tensor(p.m, name)->offset;
    for (int e = 0; e < E; e++)
      for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
          double sum = 0;
          const int row = which == 1 ? F + i : i;
          for (int r = 0; r < R; r++)
            sum += (double)b[k][row * R * E + r * E + e] * (double)a[k][(e * R + r) * columns + j];
          const int64_t place = at + (e * rows + i) * columns + j;
          cr_assert_float_eq(w[place], (double)before[place] + (k ? 2 : 1.5) * sum, 1e-5, "%s %d",
                             names[which], e);
          before[place] = w[place];
        }
  }
  cr_expect_eq(memcmp(before, w, (size_t)whole * sizeof *before), 0, "other matrices changed");
  expect_refused(&p, folder, FUSED("\"target_parameters\": [\"mlp.experts.down_proj\"]"),
                 PHIBAL_ERROR_UNSUPPORTED, "'target_parameters'");
  expect_refused(&p, folder, FUSED("\"target_parameters\": null"), PHIBAL_ERROR_UNSUPPORTED,
                 "'target_parameters'");
  expect_refused(&p, folder, FUSED(BOTH ", \"use_dora\": true"), PHIBAL_ERROR_UNSUPPORTED,
                 "'use_dora'");
  expect_refused(&p, folder, FUSED(BOTH ", \"rank_pattern\": {\"down_proj\": 1}"),
                 PHIBAL_ERROR_FORMAT, "lora_A.weight");
  must(safetensors_write(path, tensors + 2, 2, NULL, 0));
  expect_refused(&p, folder, FUSED(BOTH), PHIBAL_ERROR_UNSUPPORTED, "'target_parameters'");
  must(safetensors_write(path, tensors + 2, 1, NULL, 0));
  expect_refused(&p, folder, FUSED("\"target_parameters\": [\"mlp.experts.down_proj\"]"),
                 PHIBAL_ERROR_FORMAT, "lora_B.weight");
  must(safetensors_write(path, tensors + 3, 1, NULL, 0));
  expect_refused(&p, folder, FUSED("\"target_parameters\": [\"mlp.experts.down_proj\"]"),
                 PHIBAL_ERROR_FORMAT, "lora_A.weight");
  parity_close(&p);
  free(before);
  free(path);
  folder_remove(folder);
  free(folder);
}

Test(lora, refuses) {
  static const float numbers[64];
  parity p = {0};
  lora l;
  parity_open("qwen3_moe", NULL, &p);
  const hf_architecture *a = p.checkpoint.config.architecture;
  cr_expect_eq(lora_create(&(lora_config){2, 1, "q_proj,proj", 0}, a, &p.config, p.m, 1, &l),
               PHIBAL_ERROR_ARGUMENT, "a part of a word is no name");
  cr_expect(message_has("'proj'"));
  cr_expect_eq(lora_create(&(lora_config){2, 1, " , ", 0}, a, &p.config, p.m, 1, &l),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(lora_create(&(lora_config){2, 1, "q_norm", 0}, a, &p.config, p.m, 1, &l),
               PHIBAL_ERROR_ARGUMENT, "a vector is no matrix");

  parity latent = {0};
  parity_open("deepseek_v3", NULL, &latent);
  must(lora_create(&(lora_config){2, 1, "q_proj,k_proj,v_proj,o_proj", 0},
                   latent.checkpoint.config.architecture, &latent.config, latent.m, 1, &l));
  cr_expect_eq(l.count, 2, "latent attention has o_proj only");
  lora_destroy(&l);
  cr_expect_eq(lora_create(&(lora_config){2, 1, "k_proj", 0}, latent.checkpoint.config.architecture,
                           &latent.config, latent.m, 1, &l),
               PHIBAL_ERROR_ARGUMENT, "and nothing of k_proj");
  parity_close(&latent);
  cr_expect_eq(lora_create(&(lora_config){2, 1, "q_proj,kv_b_proj", 0}, a, &p.config, p.m, 1, &l),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect(message_has("'kv_b_proj'"));
  char *folder = scratch_folder(), *path = string_format("%s/adapter_model.safetensors", folder);
#define PLAIN_FOR(targets)                                                                         \
  "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4, \"target_modules\": " targets
#define PLAIN PLAIN_FOR("[\"q_proj\"]")
  expect_refused(&p, folder, "{\"peft_type\": \"LOHA\"}", PHIBAL_ERROR_UNSUPPORTED, "\"LOHA\"");
  expect_refused(&p, folder, PLAIN ", \"use_dora\": 1}", PHIBAL_ERROR_FORMAT, "'use_dora'");
  expect_refused(&p, folder, PLAIN ", \"bias\": \"all\"}", PHIBAL_ERROR_UNSUPPORTED, "'bias'");
  expect_refused(&p, folder, PLAIN ", \"rank_pattern\": [4]}", PHIBAL_ERROR_FORMAT,
                 "'rank_pattern' is [4]");
  expect_refused(&p, folder, PLAIN ", \"rank_pattern\": {\"(?!q)\": 4}}", PHIBAL_ERROR_UNSUPPORTED,
                 "a pattern that phibal does not read");
  expect_refused(&p, folder, PLAIN ", \"use_rslora\": 1}", PHIBAL_ERROR_FORMAT, "'use_rslora'");
  /* PEFT takes these off the base's weights as it loads them: W + s B A is another model. */
  static const char *const begins[] = {"pissa", "pissa_niter_4", "olora",  "corda",
                                       "loftq", "lora_ga",       "unheard"};
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
    char text[256], named[64];
    snprintf(text, sizeof text, PLAIN ", \"init_lora_weights\": \"%s\"}", begins[i]);
    snprintf(named, sizeof named, "'init_lora_weights' is \"%s\"", begins[i]);
    expect_refused(&p, folder, text, PHIBAL_ERROR_UNSUPPORTED, named);
  }
  /* And what changes where or how an adapter counts. */
  static const char *const variants[] = {"\"alora_invocation_tokens\": [1, 2]",
                                         "\"use_qalora\": true",

                                         "\"lora_bias\": true",
                                         "\"trainable_token_indices\": [3]",
                                         "\"layer_replication\": [[0, 1]]",

                                         "\"modules_to_save\": [\"lm_head\"]",
                                         "\"target_parameters\": [\"experts.up\"]",
                                         "\"of_next_year\": {\"a\": 1}"};
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    char text[256], named[64];
    snprintf(text, sizeof text, PLAIN ", %s}", variants[i]);
    snprintf(named, sizeof named, "'%.*s' is ", (int)strcspn(variants[i] + 1, "\""),
             variants[i] + 1);
    expect_refused(&p, folder, text, PHIBAL_ERROR_UNSUPPORTED, named);
  }
  expect_refused(&p, folder, "{\"peft_type\": \"LORA\", \"lora_alpha\": 4}", PHIBAL_ERROR_FORMAT,
                 "'r' is missing");
  expect_refused(&p, folder, PLAIN "}", PHIBAL_ERROR_IO, "adapter_model.safetensors");
  const char *q = ADAPTED_PREFIX "model.layers.1.self_attn.q_proj";
  char *with_a = string_format("%s.lora_A.weight", q),
       *with_b = string_format("%s.lora_B.weight", q);
  safetensors_tensor tensors[2] = {{.name = with_a,
                                    .dtype = SAFETENSORS_F32,
                                    .dimensions = 2,
                                    .shape = {2, 16},
                                    .data = numbers},
                                   {.name = with_b,
                                    .dtype = SAFETENSORS_F32,
                                    .dimensions = 2,
                                    .shape = {24, 2},
                                    .data = numbers}};
  must(safetensors_write(path, tensors, 2, NULL, 0));
  put_text(folder, "adapter_config.json",
           PLAIN
           ", \"rank_pattern\": {}, \"use_dora\": false, \"init_lora_weights\": \"gaussian\", "
           "\"alora_invocation_tokens\": null, \"bias\": \"none\", \"megatron_core\": "
           "\"megatron.core\", \"target_parameters\": [\"mlp.up_proj.weight\"], "
           "\"lora_bias\": false, \"qalora_group_size\": 16}");
  must(lora_merge(folder, a, &p.config, p.m));
  /* PEFT would leave out what its configuration does not name. */
  static const struct {
    const char *config, *message; /* null: merged */
  } named[] = {
      {PLAIN_FOR("[\"k_proj\"]}"), "is not among its 'target_modules'"},
      {PLAIN_FOR("[\"proj\"]}"), "is not among its 'target_modules'"},
      {PLAIN_FOR("null}"), "is not among its 'target_modules'"},
      {PLAIN_FOR("[\"model.layers.1.self_attn.q_proj\"]}"), NULL},
      {PLAIN_FOR("[\"self_attn.q_proj\"]}"), NULL},
      {PLAIN_FOR("\".*q_proj\"}"), NULL},
      {PLAIN_FOR("\"all-linear\"}"), NULL},
      {PLAIN_FOR("\".*\\\\.(?:q_proj|v_proj)\"}"), NULL},
      {PLAIN_FOR("\"(?:.*?(?:self_attn|mlp).*?(?:q_proj|v_proj))\"}"), NULL},
      {PLAIN_FOR("\".*k_proj\"}"), "is not among its 'target_modules'"},
      {PLAIN_FOR("\"q_proj\"}"), "is not among its 'target_modules'"},
      {PLAIN_FOR("\".*q_pro\"}"), "is not among its 'target_modules'"},
      {PLAIN_FOR("\".*\\\\d+.*q_proj\"}"), "a pattern that phibal does not read"},
      {PLAIN_FOR("\"(?!x).*q_proj\"}"), "a pattern that phibal does not read"},
      {PLAIN_FOR("\"(.*q_proj\"}"), "a pattern that phibal does not read"},
      {PLAIN ", \"bias\": null}", "'bias' is null"},
      {PLAIN_FOR("[], \"target_parameters\": [\"q_proj.weight\"]}"), NULL},
      {PLAIN ", \"exclude_modules\": [\"1.self_attn.q_proj\"]}", "'exclude_modules'"},
      {PLAIN ", \"exclude_modules\": [\"k_proj\"]}", NULL},
      {PLAIN ", \"exclude_modules\": \"k.*\"}", "'exclude_modules'"},
      {PLAIN ", \"layers_to_transform\": [0, 2]}", "'layers_to_transform'"},
      {PLAIN ", \"layers_to_transform\": 0}", "'layers_to_transform'"},
      {PLAIN ", \"layers_to_transform\": [1]}", NULL},
      {PLAIN ", \"layers_to_transform\": []}", NULL},
      {PLAIN ", \"layers_pattern\": \"blocks\"}", "'layers_pattern' is \"blocks\""},
  };
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    if (named[i].message) {
      expect_refused(&p, folder, named[i].config, PHIBAL_ERROR_UNSUPPORTED, named[i].message);
      continue;
    }
    put_text(folder, "adapter_config.json", named[i].config);
    must(lora_merge(folder, a, &p.config, p.m));
  }
  /* DoRA without its magnitudes, and magnitudes without DoRA or their factors; of experts. */
  expect_refused(&p, folder, PLAIN ", \"use_dora\": true}", PHIBAL_ERROR_FORMAT,
                 "q_proj.lora_magnitude_vector");
  char *with_m = string_format("%s.lora_magnitude_vector", q);
  const safetensors_tensor three[3] = {
      tensors[0],
      tensors[1],
      {.name = with_m, .dtype = SAFETENSORS_F32, .dimensions = 1, .shape = {24}, .data = numbers}};
  must(safetensors_write(path, three, 3, NULL, 0));
  expect_refused(&p, folder, PLAIN "}", PHIBAL_ERROR_FORMAT, "matches no matrix");
  must(safetensors_write(path, three + 2, 1, NULL, 0));
  expect_refused(&p, folder, PLAIN ", \"use_dora\": true}", PHIBAL_ERROR_FORMAT, "lora_A.weight");
  free(with_m);
  must(safetensors_write(path, tensors, 1, NULL, 0));
  expect_refused(&p, folder, PLAIN "}", PHIBAL_ERROR_FORMAT, "lora_B.weight");
  must(safetensors_write(path, tensors + 1, 1, NULL, 0));
  expect_refused(&p, folder, PLAIN "}", PHIBAL_ERROR_FORMAT, "lora_A.weight");
  tensors[0].shape[1] = 8;
  must(safetensors_write(path, tensors, 2, NULL, 0));
  expect_refused(&p, folder, PLAIN "}", PHIBAL_ERROR_FORMAT, "lora_A.weight");
  tensors[0].name = ADAPTED_PREFIX "model.layers.1.mlp.experts.0.up_proj.lora_A.weight";
  must(safetensors_write(path, tensors, 1, NULL, 0));
  expect_refused(&p, folder, PLAIN_FOR("[\"up_proj\"], \"use_rslora\": true}"),
                 PHIBAL_ERROR_UNSUPPORTED, "of experts");
  expect_refused(&p, folder, PLAIN_FOR("[\"up_proj\"], \"alpha_pattern\": {\"up_proj\": 3}}"),
                 PHIBAL_ERROR_UNSUPPORTED, "of experts");
  expect_refused(&p, folder, PLAIN_FOR("[\"up_proj\"], \"use_dora\": true}"),
                 PHIBAL_ERROR_UNSUPPORTED, "'use_dora' of");
  tensors[0].name = ADAPTED_PREFIX "model.layers.9.self_attn.q_proj.lora_A.weight";
  must(safetensors_write(path, tensors, 1, NULL, 0));
  expect_refused(&p, folder, PLAIN "}", PHIBAL_ERROR_FORMAT, "matches no matrix");
  free(with_a), free(with_b), free(path);
  folder_remove(folder);
  free(folder);
  parity_close(&p);
}
