#include "lora.h"

#include "formats/file.h"
#include "moe/hf/hf_architecture.h"
#include "moe/machine/random.h"
#include "moe/model/model_internal.h"

#include "kernels/cpu/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the adapters");
}

/* Whether the name of a part, "STEM.weight", ends in the target, whole words of it. */
static bool fits(const hf_part *part, const char *target, size_t n) {
  static const char weight[] = ".weight";
  if (part->dimensions != 2 || !string_ends_with(part->name, weight)) return false;
  if (part->elsewhere) return false; /* no matrix of the checkpoint's */
  const size_t stem = strlen(part->name) - (sizeof weight - 1);
  if (n > stem || strncmp(part->name + stem - n, target, n)) return false;
  return n == stem || part->name[stem - n - 1] == '.';
}

static bool is(const char *target, size_t n, const char *name) {
  return n == strlen(name) && !strncmp(target, name, n);
}

/* What the architecture calls the matrix of an expert: leaving Mixtral's experts without adapters
   because they have other names is a mistake that shows nowhere. */
static const char *own_name(const hf_architecture *a, const char *target, size_t n) {
  return is(target, n, "gate_proj")   ? a->gate
         : is(target, n, "up_proj")   ? a->up
         : is(target, n, "down_proj") ? a->down
                                      : NULL;
}

/* Latent attention makes queries, keys and values otherwise; PEFT passes over these names there. */
static bool may_be_absent(const hf_architecture *a, const char *target, size_t n) {
  return a->latent &&
         (is(target, n, "q_proj") || is(target, n, "k_proj") || is(target, n, "v_proj"));
}

/* Marks the parts that targets fit. */
static phibal_status choose(const hf_architecture *a, const char *targets, const hf_part *parts,
                            int64_t count, bool *chosen, int32_t *matrices) {
  for (const char *at = targets; *at;) {
    const size_t n = strcspn(at, ", ");
    const char *own = own_name(a, at, n);
    int64_t found = 0;
    for (int64_t i = 0; n && i < count; i++) {
      if (!fits(&parts[i], at, n) && !(own && fits(&parts[i], own, strlen(own)))) continue;
      found++;
      *matrices += !chosen[i];
      chosen[i] = true;
    }
    if (n && !found && own && a->transposed)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "lora.targets: '%.*s': %s has the experts of a layer in one tensor, "
                               "to which phibal has no adapters",
                               (int)n, at, a->class_name);
    if (n && !found && !may_be_absent(a, at, n))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "lora.targets: '%.*s' is not the suffix of any matrix name", (int)n,
                               at);
    at += n;
    at += strspn(at, ", ");
  }
  if (!*matrices) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "lora.targets: no name given");
  return PHIBAL_OK;
}

static void add_tensor(lora *l, model_tensor *to, const hf_part *part, const char *which,
                       int64_t rows, int64_t columns, int64_t *offset) {
  *to = (model_tensor){.offset = *offset,
                       .shape = {rows, columns, 1},
                       .dimensions = 2,
                       .decay = true,
                       .whole = rows};
  snprintf(to->name, sizeof to->name, "%.*s.%s.weight", (int)(strlen(part->name) - sizeof "weight"),
           part->name, which);
  *offset = l->parameter_count += rows * columns;
}

/* Sizes and places; then the memory is there. */
static void place(lora *l, const hf_part *parts, int64_t count, const bool *chosen, model *m) {
  int64_t offset = 0, base = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!chosen[i]) continue;
    const hf_part *part = &parts[i];
    lora_matrix *matrix = &l->matrices[l->count];
    *matrix = (lora_matrix){.weight = part->data,
                            .gradient = model_gradients(m) + (part->data - model_parameters(m)),
                            .rows = part->shape[0],
                            .columns = part->shape[1],
                            .base = base};
    base += matrix->rows * matrix->columns;
    matrix->a = offset;
    add_tensor(l, &l->tensors[2 * l->count], part, "lora_A", l->rank, matrix->columns, &offset);
    matrix->b = offset;
    add_tensor(l, &l->tensors[2 * l->count + 1], part, "lora_B", matrix->rows, l->rank, &offset);
    l->count++;
  }
}

static phibal_status fill(lora *l, uint64_t seed) {
  const lora_matrix *last = &l->matrices[l->count - 1];
  l->parameters = calloc((size_t)l->parameter_count, sizeof(float));
  l->gradients = calloc((size_t)l->parameter_count, sizeof(float));
  l->base = malloc((size_t)(last->base + last->rows * last->columns) * sizeof(float));
  if (!l->parameters || !l->gradients || !l->base) return memory_error();
  for (int32_t i = 0; i < l->count; i++) {
    const lora_matrix *matrix = &l->matrices[i];
    memcpy(l->base + matrix->base, matrix->weight,
           (size_t)(matrix->rows * matrix->columns) * sizeof(float));
    const double spread = 1.0 / sqrt(3.0 * (double)matrix->columns);
    for (int64_t j = 0; j < l->rank * matrix->columns; j++)
      l->parameters[matrix->a + j] =
          (float)(spread * random_normal(seed, UINT64_C(1) << 32 | (uint64_t)i, (uint64_t)j));
  }
  return PHIBAL_OK;
}

phibal_status lora_create(const lora_config *config, const hf_architecture *architecture,
                          const model_config *model_options, model *m, uint64_t seed, lora *l) {
  *l = (lora){.rank = config->rank, .scale = (float)(config->alpha / (double)config->rank)};
  int64_t count = 0;
  int32_t matrices = 0;
  hf_part *parts = hf_parts_make(architecture, model_options, m, &count);
  bool *chosen = parts ? calloc((size_t)count, sizeof *chosen) : NULL;
  phibal_status status =
      chosen ? choose(architecture, config->targets, parts, count, chosen, &matrices)
             : memory_error();
  if (!status) {
    l->matrices = calloc((size_t)matrices, sizeof *l->matrices);
    l->tensors = calloc(2 * (size_t)matrices, sizeof *l->tensors);
    if (!l->matrices || !l->tensors) status = memory_error();
  }
  if (!status) place(l, parts, count, chosen, m);
  if (!status) status = fill(l, seed);
  free(chosen);
  free(parts);
  if (status) lora_destroy(l);
  return status;
}

void lora_destroy(lora *l) {
  free(l->matrices);
  free(l->tensors);
  free(l->parameters);
  free(l->gradients);
  free(l->base);
  free(l->changed);
  *l = (lora){0};
}

/* Whether a target is the end of the tensor's name, whole words of it. */
static bool names(const char *target, size_t n, const model_tensor *t) {
  hf_part named = {.dimensions = 2};
  snprintf(named.name, sizeof named.name, "%s", t->name);
  return n && (t->dimensions == 3 || (t->dimensions == 2 && t->decay)) && fits(&named, target, n);
}

bool lora_size(const lora_config *config, const model_config *model_options, balance_method method,
               double *base, double *factors) {
  int64_t total, active;
  const int32_t count = model_layout(model_options, method, NULL, &total, &active);
  model_tensor *tensors = calloc((size_t)count, sizeof *tensors);
  if (!tensors) return false;
  model_layout(model_options, method, tensors, &total, &active);
  bool every = false;
  for (const char *at = config->targets; *at; at += strspn(at, ", ")) {
    const size_t n = strcspn(at, ", ");
    bool found = !n;
    for (int32_t i = 0; i < count; i++) found |= names(at, n, &tensors[i]);
    every |= !found;
    at += n;
  }
  *base = *factors = 0;
  for (int32_t i = 0; i < count; i++) {
    const model_tensor *t = &tensors[i];
    const bool experts = t->dimensions == 3;
    bool chosen = every && (experts || (t->dimensions == 2 && t->decay));
    for (const char *at = config->targets; *at; at += strspn(at, ", ")) {
      const size_t n = strcspn(at, ", ");
      chosen |= names(at, n, t);
      at += n;
    }
    if (!chosen) continue;
    const double matrices = experts ? (double)t->shape[0] : 1;
    const double rows = (double)t->shape[experts], columns = (double)t->shape[experts + 1];
    *base += matrices * rows * columns;
    *factors += matrices * config->rank * (rows + columns);
  }
  free(tensors);
  return true;
}

static void scale_numbers(int64_t n, float scale, float *x) {
  for (int64_t i = 0; i < n; i++) x[i] *= scale;
}

void lora_gradients(lora *l) {
  const int64_t r = l->rank;
  const bool add = l->dropout > 0;
#pragma omp parallel for schedule(dynamic)
  for (int32_t i = 0; i < l->count; i++) {
    const lora_matrix *w = &l->matrices[i];
    const float *a = l->parameters + w->a, *b = l->parameters + w->b;
    float *da = l->gradients + w->a, *db = l->gradients + w->b;
    phibal_gemm_tn(r, w->columns, w->rows, b, r, w->gradient, w->columns, add, da, w->columns);
    phibal_gemm_nt(w->rows, r, w->columns, w->gradient, w->columns, a, w->columns, add, db, r);
    scale_numbers(r * w->columns, l->scale, da);
    scale_numbers(w->rows * r, l->scale, db);
  }
}

void lora_apply(const lora *l) {
  const int64_t r = l->rank;
#pragma omp parallel for schedule(dynamic)
  for (int32_t i = 0; i < l->count; i++) {
    const lora_matrix *w = &l->matrices[i];
    const int64_t n = w->rows * w->columns;
    const float *base = l->base + w->base;
    phibal_gemm_nn(w->rows, w->columns, r, l->parameters + w->b, r, l->parameters + w->a,
                   w->columns, false, w->weight, w->columns);
    for (int64_t j = 0; j < n; j++) w->weight[j] = base[j] + l->scale * w->weight[j];
  }
}
