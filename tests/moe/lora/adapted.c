#include "adapted.h"

#include "tests/data_files.h"

static const struct {
  const char *name, *targets;
} cases[ADAPTED_CASES] = {{"qwen3_moe", "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"},
                          {"deepseek_v2", "q_proj, kv_b_proj, down_proj, mlp.gate"}};

static safetensors_file open_file(const adapted *t, const char *name) {
  char path[600];
  safetensors_file file;
  snprintf(path, sizeof path, "%s/adapters/%s", t->p.folder, name);
  must(safetensors_open(path, &file));
  return file;
}

const safetensors_tensor *adapted_named(const safetensors_file *file, const char *prefix,
                                        const model_tensor *tensor) {
  char name[160];
  snprintf(name, sizeof name, "%s" ADAPTED_PREFIX "%s", prefix, tensor->name);
  const safetensors_tensor *found = safetensors_find(file, name);
  cr_assert(found, "no %s", name);
  cr_assert_eq(found->elements, tensor->shape[0] * tensor->shape[1]);
  return found;
}

void adapted_open(int i, adapted *t) {
  const lora_config config = {2, 3.0, cases[i].targets, 0};
  parity_open(cases[i].name, NULL, &t->p);
  t->file = open_file(t, "adapter_model.safetensors");
  t->expected = open_file(t, "expected.safetensors");
  must(lora_create(&config, t->p.checkpoint.config.architecture, &t->p.config, t->p.m, 1, &t->l));
  cr_assert_eq(2 * t->l.count, t->file.count);
  for (int32_t k = 0; k < 2 * t->l.count; k++) {
    const safetensors_tensor *factor = adapted_named(&t->file, "", &t->l.tensors[k]);
    memcpy(t->l.parameters + t->l.tensors[k].offset, factor->data, (size_t)factor->bytes);
  }
}

void adapted_close(adapted *t) {
  lora_destroy(&t->l);
  safetensors_close(&t->file);
  safetensors_close(&t->expected);
  parity_close(&t->p);
}

double adapted_logits_off(adapted *t) {
  const int32_t *tokens = safetensors_find(&t->p.expected, "tokens")->data;
  model_losses losses;
  must(model_evaluate(t->p.m, PARITY_BATCH, tokens, tokens, &losses, NULL));
  return parity_logits_difference(&t->p, safetensors_find(&t->expected, "logits")->data);
}
