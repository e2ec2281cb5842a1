/* huggingface_step NAME OUT float32|bfloat16: a step down the gradient with the model of a fixture,
   written to OUT as phibal writes it; OUT/phibal.json has the logits [B][S][V] of the fixture's
   tokens that phibal computes with it then. */
#include "parity.h"
#include "moe/export/hf_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define try(call)                                                                                  \
  do {                                                                                             \
    if (call) {                                                                                    \
      fprintf(stderr, "%s\n", phibal_status_message());                                            \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

static const int32_t *numbers(const safetensors_file *file, const char *name) {
  const safetensors_tensor *tensor = safetensors_find(file, name);
  if (!tensor || tensor->elements != PARITY_TOKENS) exit(1);
  return tensor->data;
}

static int write_logits(const char *folder, model *m, const model_config *config,
                        const int32_t *tokens) {
  char path[1024];
  model_losses losses;
  float *logits = malloc((size_t)config->vocabulary * sizeof *logits);
  snprintf(path, sizeof path, "%s/phibal.json", folder);
  FILE *file = fopen(path, "w");
  if (!file || !logits) return 1;
  try(model_evaluate(m, PARITY_BATCH, tokens, tokens, &losses, NULL));
  for (int i = 0; i < PARITY_TOKENS; i++) {
    model_logits(m, i, logits);
    for (int32_t v = 0; v < config->vocabulary; v++)
      fprintf(file, "%c%.9g", i || v ? ',' : '[', (double)logits[v]);
  }
  fputs("]\n", file);
  free(logits);
  return fclose(file);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  char path[1024];
  hf_checkpoint c;
  safetensors_file given;
  model *m;
  model_losses losses;
  const hf_save_options options = {.dtype = strcmp(argv[3], "float32") ? HF_BFLOAT16 : HF_FLOAT32,
                                   .shard_bytes = 10000};
  snprintf(path, sizeof path, "%s/expected.safetensors", argv[1]);
  try(safetensors_open(path, &given));
  const int32_t *tokens = numbers(&given, "tokens"), *targets = numbers(&given, "targets");
  try(hf_open(argv[1], NULL, &c));
  model_config config = c.config.model;
  config.sequence = PARITY_SEQUENCE;
  /* A softmax router has no place for a bias in a file: only what has one moves it. */
  const balance_config balance = {
      .method = config.selection_bias ? BALANCE_LOSS_FREE : BALANCE_NONE, .bias_rate = 0.05f};
  try(model_create(&config, &balance, PARITY_BATCH, 1, &m));
  try(hf_restore(&c, &config, m));
  try(model_step_begin(m, model_batch_count(PARITY_TOKENS, tokens, targets)));
  try(model_forward_backward(m, PARITY_BATCH, tokens, targets, &losses));
  try(model_step_finish(m));
  for (int64_t i = 0; i < model_parameter_count(m); i++)
    model_parameters(m)[i] -= 0.02f * model_gradients(m)[i];
  try(hf_save(argv[2], &c.config.model, m, &options));
  /* What was rounded is what the logits are of. */
  try(hf_load(argv[2], NULL, &config, m));
  if (write_logits(argv[2], m, &config, tokens)) return 1;
  model_destroy(m);
  hf_close(&c);
  safetensors_close(&given);
  return 0;
}
