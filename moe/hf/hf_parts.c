/* The tensors of a checkpoint, in the order of the model's. Names are those of the model, but for
   experts, which a checkpoint has one by one, and for what an architecture calls by another name.
   transformers 5 calls all of them by the model's names, and has the experts of a layer in two
   tensors: gate_up_proj [E][2 f][d], the rows of an expert's gate before those of its up, and
   down_proj [E][d][f]. gpt-oss has them so in its files: gate_up_proj [E][d][2 f], transposed, the
   gate's and the up's columns in turn, down_proj [E][f][d], and their biases, [E][2 f] likewise and
   [E][d]. */
#include "formats/file.h"
#include "hf_architecture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The matrices of one projection of all experts; false if the tensor is none. */
static bool add_experts(const hf_architecture *a, const model_tensor *tensor, float *data,
                        hf_part *parts, int64_t *count) {
  const struct {
    const char *end, *name;
  } projections[] = {{"mlp.experts.gate_proj.weight", a->gate},
                     {"mlp.experts.up_proj.weight", a->up},
                     {"mlp.experts.down_proj.weight", a->down}};
  for (int p = 0; p < 3; p++) {
    if (!string_ends_with(tensor->name, projections[p].end)) continue;
    const int stem = (int)(strlen(tensor->name) - strlen(projections[p].end));
    const int64_t rows = tensor->shape[1], columns = tensor->shape[2], size = rows * columns;
    const int64_t fused = p < 2 ? 2 * rows : rows;
    for (int64_t e = 0; e < tensor->whole; e++) {
      const int64_t own = e - tensor->first;
      hf_part *part = &parts[(*count)++];
      *part = (hf_part){.dimensions = 2,
                        .shape = {rows, columns},
                        .data = own >= 0 && own < tensor->shape[0] ? data + own * size : NULL};
      snprintf(part->name, sizeof part->name, "%.*s%s.%lld.%s.weight", stem, tensor->name,
               a->expert, (long long)e, projections[p].name);
      if (a->own_code) continue;
      part->elsewhere = a->transposed;
      if (a->transposed)
        part->other = (hf_place){.dimensions = 3,
                                 .shape = {tensor->whole, columns, fused},
                                 .first = e * fused * columns + (p == 1),
                                 .row = p < 2 ? 2 : 1,
                                 .column = fused};
      else
        part->other = (hf_place){.dimensions = 3,
                                 .shape = {tensor->whole, fused, columns},
                                 .first = (e * fused + (p == 1 ? rows : 0)) * columns,
                                 .row = columns,
                                 .column = 1};
      snprintf(part->other.name, sizeof part->other.name, "%.*smlp.experts.%s", stem, tensor->name,
               p < 2 ? "gate_up_proj" : "down_proj");
    }
    return true;
  }
  return false;
}

/* Mixtral's block is `mlp` as any other in transformers 5. */
static void call_as_usual(hf_part *part) {
  static const char own[] = "block_sparse_moe";
  const char *at = strstr(part->name, own);
  if (!at) return;
  part->other = (hf_place){.dimensions = part->dimensions,
                           .shape = {part->shape[0], part->shape[1]},
                           .row = part->dimensions > 1 ? part->shape[1] : 1,
                           .column = 1};
  snprintf(part->other.name, sizeof part->other.name, "%.*smlp%s", (int)(at - part->name),
           part->name, at + sizeof own - 1);
}

/* gpt-oss's biases of one projection of all experts; false if the tensor is none. */
static bool add_biases(const model_tensor *tensor, float *data, hf_part *parts, int64_t *count) {
  static const char *const ends[] = {"gate_proj.bias", "up_proj.bias", "down_proj.bias"};
  static const char experts[] = ".mlp.experts.";
  const char *at = strstr(tensor->name, experts);
  if (!at || !string_ends_with(tensor->name, ".bias")) return false;
  const int64_t step = strcmp(at + sizeof experts - 1, ends[2]) ? 2 : 1, n = tensor->shape[1];
  hf_part *part = &parts[(*count)++];
  *part = (hf_part){.dimensions = 2,
                    .shape = {tensor->whole, n},
                    .data = data,
                    .other = {.dimensions = 2,
                              .shape = {tensor->whole, step * n},
                              .first = !strcmp(at + sizeof experts - 1, ends[1]),
                              .row = step * n,
                              .column = step},
                    .elsewhere = true};
  snprintf(part->name, sizeof part->name, "%s", tensor->name);
  snprintf(part->other.name, sizeof part->other.name, "%.*s%s%s", (int)(at - tensor->name),
           tensor->name, experts, step == 2 ? "gate_up_proj_bias" : "down_proj_bias");
  return true;
}

static void add_tensor(const hf_architecture *a, const model_tensor *tensor, float *data,
                       hf_part *parts, int64_t *count) {
  static const char router[] = "mlp.gate.weight", shared[] = "mlp.shared_experts.";
  static const char router_bias[] = "mlp.gate.bias";
  if (add_experts(a, tensor, data, parts, count) || add_biases(tensor, data, parts, count)) return;
  hf_part *part = &parts[(*count)++];
  *part = (hf_part){.dimensions = tensor->dimensions,
                    .shape = {tensor->shape[0], tensor->shape[1]},
                    .data = data};
  const char *of_shared = strstr(tensor->name, shared);
  if (string_ends_with(tensor->name, router))
    snprintf(part->name, sizeof part->name, "%.*s%s",
             (int)(strlen(tensor->name) - (sizeof router - 1)), tensor->name, a->router);
  else if (string_ends_with(tensor->name, router_bias))
    snprintf(part->name, sizeof part->name, "%.*s%.*s.bias",
             (int)(strlen(tensor->name) - (sizeof router_bias - 1)), tensor->name,
             (int)(strlen(a->router) - strlen(".weight")), a->router);
  else if (of_shared)
    snprintf(part->name, sizeof part->name, "%.*s%s.%s", (int)(of_shared - tensor->name),
             tensor->name, a->shared, of_shared + sizeof shared - 1);
  else
    snprintf(part->name, sizeof part->name, "%s", tensor->name);
  call_as_usual(part);
}

hf_part *hf_parts_make(const hf_architecture *a, const model_config *config, model *m,
                       int64_t *count) {
  const model_tensor *tensors = model_tensors(m);
  const int32_t layers = model_moe_layers(m);
  int64_t most = layers;
  for (int32_t i = 0; i < model_tensor_count(m); i++)
    most += tensors[i].dimensions == 3 ? tensors[i].whole : 1;
  hf_part *parts = calloc((size_t)most, sizeof *parts);
  *count = 0;
  if (!parts) return NULL;
  for (int32_t i = 0; i < model_tensor_count(m); i++)
    add_tensor(a, &tensors[i], model_parameters(m) + tensors[i].offset, parts, count);
  for (int32_t i = 0; (a->sigmoid || a->by_probability) && i < layers; i++) {
    hf_part *part = &parts[(*count)++];
    *part = (hf_part){
        .dimensions = 1, .shape = {config->experts, 1}, .data = model_bias(m, i), .wide = true};
    if (a->by_probability) {
      /* A matrix of one row, within the router in memory. */
      part->dimensions = 2;
      part->shape[0] = 1, part->shape[1] = config->experts;
      part->other = (hf_place){
          .dimensions = 2, .shape = {1, config->experts}, .row = config->experts, .column = 1};
      snprintf(part->other.name, sizeof part->other.name,
               "model.layers.%d.mlp.gate.moe_statics.e_score_correction_bias",
               config->dense_layers + i);
    }
    snprintf(part->name, sizeof part->name, "model.layers.%d.%s", config->dense_layers + i,
             a->bias);
    call_as_usual(part);
  }
  return parts;
}
