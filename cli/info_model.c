/* `phibal info --model FOLDER`: what a Hugging Face model is, and what of it phibal refuses. */
#include "info_model.h"
#include "commands.h"
#include "formats/json_text.h"
#include "moe/data/tokenizer.h"
#include "moe/hf/hf.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tensors of the files: their number and elements, those of multi-token prediction, and a
   reason for each file that does not open and each type that is not read. */
static phibal_status look_at_weights(const char *folder, const char *ignored, int64_t *tensors,
                                     int64_t *elements, int64_t *predicting, string_list *reasons) {
  hf_checkpoint c;
  const bool explained = reasons->count;
  *tensors = *elements = *predicting = 0;
  if (hf_open(folder, ignored, &c))
    return explained ? PHIBAL_OK : string_list_append(reasons, phibal_status_message());
  phibal_status status = PHIBAL_OK;
  uint64_t told = 0; /* types, by their bits */
  for (int32_t f = 0; f < c.files; f++)
    for (int64_t i = 0; i < c.file[f].count && !status; i++) {
      const safetensors_tensor *t = &c.file[f].tensors[i];
      ++*tensors;
      *elements += t->elements;
      if (hf_reads_weights(&c, t->dtype) || told & 1ull << t->dtype) continue;
      told |= 1ull << t->dtype;
      phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: tensors of type %s", c.file[f].name,
                        safetensors_dtype_name(t->dtype));
      status = string_list_append(reasons, phibal_status_message());
    }
  *predicting = hf_prediction_tensors(&c);
  hf_close(&c);
  return status;
}

static void print_text(const char *folder, const hf_config *config, int64_t total, int64_t active,
                       int64_t tensors, int64_t elements, int64_t predicting, const char *tokenizer,
                       const string_list *reasons) {
  const model_config *m = &config->model;
  printf("%s: %s\n", folder,
         config->architecture ? config->architecture->class_name : "no architecture of phibal's");
  if (total) {
    printf("  parameters   %lld, of which a token uses %lld\n", (long long)total,
           (long long)active);
    printf("  layers       %d of width %d, %d of them dense\n", m->layers, m->width,
           m->dense_layers);
    printf("  attention    %d heads, %d of keys and values%s%s%s\n", m->heads, m->key_value_heads,
           m->latent_width ? ", latent" : "", m->qkv_bias ? ", with biases" : "",
           m->sinks ? ", with sinks" : "");
    if (m->window && m->full_attention_every)
      printf("  windows      of %d positions, but in every layer of number n x %d\n", m->window,
             m->full_attention_every);
    else if (m->window)
      printf("  windows      of %d positions\n", m->window);
    printf("  positions    rotate %d numbers of a head's %d\n",
           m->rope_width ? m->rope_width : m->head_width, m->head_width);
    printf("  experts      %d of width %d, %d active, %d shared%s\n", m->experts, m->hidden,
           m->active, m->shared_experts, m->shared_gate ? ", gated" : "");
    printf("  vocabulary   %d, %d positions\n", m->vocabulary, m->sequence);
  }
  if (tensors)
    printf("  tensors      %lld, of %lld numbers\n", (long long)tensors, (long long)elements);
  if (predicting)
    printf("  left out     %lld tensors of multi-token prediction\n", (long long)predicting);
  printf("  tokenizer    %s\n", tokenizer);
  for (size_t i = 0; i < reasons->count; i++) printf("  refused      %s\n", reasons->items[i]);
  if (!reasons->count) puts("  refused      nothing of config.json; tensors are checked when read");
}

int info_model(const char *folder, const char *ignored, bool json) {
  hf_config config;
  string_list reasons = {0};
  int64_t total = 0, active = 0, tensors = 0, elements = 0, predicting = 0;
  phibal_status status = hf_config_explain(folder, ignored, &config, &reasons);
  /* A refused key may leave options that are none. */
  if (!status && !reasons.count) model_count(&config.model, BALANCE_NONE, &total, &active);
  if (!status)
    status = look_at_weights(folder, ignored, &tensors, &elements, &predicting, &reasons);
  tokenizer t;
  char words[512];
  if (status) {
    fprintf(stderr, "phibal info: %s\n", phibal_status_message());
    string_list_free(&reasons);
    return 2;
  }
  if (tokenizer_load(folder, &t)) {
    snprintf(words, sizeof words, "not read: %s", phibal_status_message());
  } else {
    snprintf(words, sizeof words, t.json ? "tokenizer.json, %d tokens" : "SentencePiece, %d pieces",
             t.vocabulary);
    tokenizer_free(&t);
  }
  if (json) {
    json_t *list = json_array();
    for (size_t i = 0; i < reasons.count; i++)
      json_array_append_new(list, json_text(reasons.items[i]));
    json_t *all =
        json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "folder", json_text(folder),
                  "architecture",
                  config.architecture ? json_string(config.architecture->class_name) : json_null(),
                  "parameters", (json_int_t)total, "active_parameters", (json_int_t)active,
                  "tensors", (json_int_t)tensors, "numbers", (json_int_t)elements, "left_out",
                  (json_int_t)predicting, "tokenizer", json_text(words), "refused", list);
    json_dumpf(all, stdout, JSON_INDENT(2));
    puts("");
    json_decref(all);
  } else {
    print_text(folder, &config, total, active, tensors, elements, predicting, words, &reasons);
  }
  const int code = reasons.count ? 1 : 0;
  string_list_free(&reasons);
  return code;
}
