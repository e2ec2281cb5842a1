/* Cases are made and kept until all of them are written. */
#include "vectors.h"
#include "judgement.h"
#include "selection.h"
#include "formats/file.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include "formats/npz.h"
#include "formats/safetensors.h"
#include <stdio.h>
#include <string.h>

typedef struct kept_case {
  operation_case made;
  arena memory; /* expected values, bounds and names */
  char prefix[64];
  int64_t tied; /* tokens whose selection is not the only one; -1 where nothing is selected */
} kept_case;

typedef struct collection {
  kept_case *cases;
  int64_t count;
  safetensors_tensor *tensors;
  int64_t tensor_count, tensor_capacity;
  char **names; /* of the tensors */
} collection;

static phibal_status out_of_memory(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "vectors: out of memory");
}

static void collection_clear(collection *all) {
  for (int64_t i = 0; i < all->count; i++) {
    operation_case_clear(&all->cases[i].made);
    arena_free(&all->cases[i].memory);
  }
  for (int64_t i = 0; i < all->tensor_count; i++) free(all->names[i]);
  free(all->cases);
  free(all->tensors);
  free(all->names);
  memset(all, 0, sizeof *all);
}

static safetensors_dtype dtype_of(tensor_type type) {
  static const safetensors_dtype dtypes[] = {SAFETENSORS_F32, SAFETENSORS_F64, SAFETENSORS_I32,
                                             SAFETENSORS_I64, SAFETENSORS_U8};
  return dtypes[type];
}

static bool collection_grow(collection *all) {
  if (all->tensor_count < all->tensor_capacity) return true;
  int64_t room = all->tensor_capacity ? 2 * all->tensor_capacity : 256;
  void *tensors = realloc(all->tensors, sizeof *all->tensors * (size_t)room);
  if (tensors) all->tensors = tensors;
  void *names = realloc(all->names, sizeof *all->names * (size_t)room);
  if (names) all->names = names;
  if (!tensors || !names) return false;
  all->tensor_capacity = room;
  return true;
}

static phibal_status collection_add(collection *all, const char *prefix, const char *folder,
                                    const tensor *t) {
  if (!collection_grow(all)) return out_of_memory();
  char *name = NULL;
  if (asprintf(&name, "%s/%s/%s", prefix, folder, t->name) < 0) return out_of_memory();
  safetensors_tensor to = {.name = name, .dtype = dtype_of(t->type), .dimensions = t->rank};
  for (int i = 0; i < t->rank; i++) to.shape[i] = t->shape[i];
  to.data = t->data;
  all->names[all->tensor_count] = name;
  all->tensors[all->tensor_count++] = to;
  return PHIBAL_OK;
}

/* A NaN has many patterns, and processors differ in which they make; one is written. */
static void settle_nans(const tensor *t) {
  int64_t n = tensor_size(t);
  if (t->type == TENSOR_F32)
    for (float *x = t->data; n-- > 0; x++) *x = isnan(*x) ? (float)NAN : *x;
  else if (t->type == TENSOR_F64)
    for (double *x = t->data; n-- > 0; x++) *x = isnan(*x) ? (double)NAN : *x;
}

static tensor take(arena *a, const char *name, tensor_type type, int64_t rows, int64_t width) {
  tensor t = {.name = name, .type = type, .rank = width ? 2 : 1, .shape = {rows, width}};
  t.data = arena_take(a, tensor_type_bytes(type) * (size_t)tensor_size(&t), 0);
  return t;
}

/* The case's selection, unless it is an input: (R2), how certain it is, and where it is one of
   several, what they have in common (selection.h). */
static phibal_status add_selection(collection *all, kept_case *kept) {
  const operation_case *c = &kept->made;
  const tensor *logits = case_input(c, "logits");
  kept->tied = -1;
  if (!logits || !selection_is_made(c->operation->name, case_get_text(c, "selection")))
    return PHIBAL_OK;
  const int64_t E = logits->shape[logits->rank - 1], k = case_get_integer(c, "k");
  routed_rows s = {.router = selection_router(
                       (int32_t)E, (int32_t)k, case_get_text(c, "gate"), case_get_text(c, "score"),
                       case_get_text(c, "group-score"), case_get_integer(c, "groups"),
                       case_get_integer(c, "active-groups")),
                   .tokens = logits->shape[logits->rank - 2],
                   .rows = tensor_size(logits) / E,
                   .logits = logits->data,
                   .bias = case_input_data(c, "bias"),
                   .mask = case_input_data(c, "mask")};
  tensor experts = take(&kept->memory, "experts", TENSOR_I32, s.rows, k);
  tensor margin = take(&kept->memory, "margin", TENSOR_F64, s.rows, 0);
  tensor admissible = take(&kept->memory, "admissible", TENSOR_U8, s.rows, E);
  tensor open = take(&kept->memory, "open", TENSOR_I32, s.rows, 0);
  phibal_reference_token t;
  compared_scores compared;
  phibal_status status =
      kept->memory.failed
          ? out_of_memory()
          : phibal_reference_token_init(&t, (int32_t)E, (int32_t)k, selection_precision(&s.router));
  if (status != PHIBAL_OK) return status;
  kept->tied = 0;
  for (int64_t row = 0; status == PHIBAL_OK && row < s.rows; row++) {
    int32_t *to = (int32_t *)experts.data + row * k;
    for (int64_t i = 0; i < k; i++) to[i] = -1;
    ((double *)margin.data)[row] = (double)INFINITY;
    if (routed_padding(&s, row)) continue;
    status = selection_of_row(&s, row, &t, &compared);
    if (status != PHIBAL_OK) break;
    memcpy(to, compared.selection, sizeof *to * (size_t)k);
    const double to_the_cut = selection_margin(&compared);
    ((double *)margin.data)[row] = to_the_cut;
    ((int32_t *)open.data)[row] =
        selection_admissible(&compared, (uint8_t *)admissible.data + row * E);
    kept->tied += to_the_cut == 0;
  }
  phibal_reference_token_clear(&t);
  if (status == PHIBAL_OK && !case_output(c, "experts"))
    status = collection_add(all, kept->prefix, "selection", &experts);
  if (status == PHIBAL_OK) status = collection_add(all, kept->prefix, "selection", &margin);
  if (status == PHIBAL_OK && kept->tied > 0)
    status = collection_add(all, kept->prefix, "selection", &admissible);
  if (status == PHIBAL_OK && kept->tied > 0)
    status = collection_add(all, kept->prefix, "selection", &open);
  return status;
}

static phibal_status add_vectors(collection *all, kept_case *k) {
  operation_case *c = &k->made;
  tensor expected[CASE_TENSORS], bound[CASE_TENSORS];
  phibal_status status = operation_expect(c, &k->memory, expected, bound);
  for (int i = 0; status == PHIBAL_OK && i < c->input_count; i++) {
    settle_nans(&c->inputs[i]);
    status = collection_add(all, k->prefix, "in", &c->inputs[i]);
  }
  for (int i = 0; status == PHIBAL_OK && i < c->output_count; i++) {
    settle_nans(&expected[i]);
    status = collection_add(all, k->prefix, "expected", &expected[i]);
    if (status == PHIBAL_OK && bound[i].data)
      status = collection_add(all, k->prefix, "bound", &bound[i]);
  }
  return status == PHIBAL_OK ? add_selection(all, k) : status;
}

static phibal_status add_results(collection *all, kept_case *k, const backend *b) {
  operation_case *c = &k->made;
  phibal_status status = b->run(b->context, c);
  for (int i = 0; status == PHIBAL_OK && i < c->output_count; i++)
    status = collection_add(all, k->prefix, "out", &c->outputs[i]);
  return status;
}

/* Makes all cases and adds their tensors: vectors, or where b is given its results. */
static phibal_status collect(const vectors_request *request, const backend *b, collection *all) {
  int64_t total = request->count * request->cases;
  for (int i = 0; request->paired && i < request->count; i++)
    total += operation_paired_count(request->operations[i]);
  all->cases = calloc((size_t)total + 1, sizeof *all->cases);
  if (!all->cases) return out_of_memory();
  for (int i = 0; i < request->count; i++) {
    const operation *o = request->operations[i];
    if (b && b->supports && !b->supports(b->context, o)) continue;
    const int64_t last = request->cases + (request->paired ? operation_paired_count(o) : 0);
    for (int64_t n = 0; n < last; n++) {
      kept_case *k = &all->cases[all->count];
      const uint64_t number = n < request->cases ? VECTORS_FIRST + operation_number(o, (uint64_t)n)
                                                 : operation_paired_number(o, n - request->cases);
      phibal_status status = operation_make(o, request->seed, number, &k->made);
      if (status != PHIBAL_OK) return status;
      all->count++;
      if (request->count == 1)
        snprintf(k->prefix, sizeof k->prefix, "%04" PRId64, n);
      else
        snprintf(k->prefix, sizeof k->prefix, "%s/%04" PRId64, o->name, n);
      status = b ? add_results(all, k, b) : add_vectors(all, k);
      if (status != PHIBAL_OK) return status;
    }
  }
  return PHIBAL_OK;
}

static json_t *shape_json(const tensor *t) {
  json_t *shape = json_array();
  for (int i = 0; i < t->rank; i++) json_array_append_new(shape, json_integer(t->shape[i]));
  return shape;
}

static json_t *parameters_json(const operation_case *c) {
  json_t *to = json_object();
  for (int i = 0; i < c->parameter_count; i++) {
    const parameter *p = &c->parameters[i];
    json_t *value = p->kind == PARAMETER_INTEGER ? json_integer(p->integer)
                    : p->kind == PARAMETER_TEXT  ? json_string(p->text)
                    : isfinite(p->real)          ? json_real(p->real)
                                                 : json_string("inf");
    json_object_set_new(to, p->name, value);
  }
  return to;
}

static json_t *flags_json(const flag_set *flags) {
  json_t *to = json_array();
  for (int f = 0; f < FLAG_COUNT; f++)
    if (flag_set_has(flags, f))
      json_array_append_new(to, json_string(flag_describe((flag_id)f)->name));
  return to;
}

static json_t *case_json(const kept_case *k) {
  const operation_case *c = &k->made;
  char id[96];
  snprintf(id, sizeof id, "%s/%" PRIu64 "/%" PRIu64, c->operation->name, c->seed, c->number);
  json_t *inputs = json_object(), *outputs = json_object();
  for (int i = 0; i < c->input_count; i++)
    json_object_set_new(inputs, c->inputs[i].name,
                        json_pack("{s:s, s:o}", "dtype",
                                  safetensors_dtype_name(dtype_of(c->inputs[i].type)), "shape",
                                  shape_json(&c->inputs[i])));
  for (int i = 0; i < c->output_count; i++) {
    const tensor *t = &c->outputs[i];
    json_object_set_new(outputs, t->name,
                        json_pack("{s:s, s:o, s:s, s:b}", "dtype",
                                  safetensors_dtype_name(dtype_of(t->type)), "shape", shape_json(t),
                                  "promise", output_describe(t->promise)->output, "optional",
                                  t->optional));
  }
  json_t *to = json_pack("{s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o}", "id", id, "prefix",
                         k->prefix, "operation", c->operation->name, "number",
                         (json_int_t)c->number, "kind", c->kind, "flags", flags_json(&c->flags),
                         "parameters", parameters_json(c), "inputs", inputs, "outputs", outputs);
  if (c->group[0]) json_object_set_new(to, "group", json_string(c->group));
  if (k->tied >= 0) json_object_set_new(to, "tied", json_integer(k->tied));
  return to;
}

static json_t *promises_json(const vectors_request *request) {
  json_t *to = json_object();
  for (int i = 0; i < request->count; i++) {
    json_t *promises = json_object();
    for (int o = 0; o < OUTPUT_COUNT; o++) {
      const output_promise *p = output_describe((output_id)o);
      if (!operation_owns(request->operations[i], (output_id)o)) continue;
      json_object_set_new(promises, p->output,
                          json_pack("{s:s, s:f, s:f, s:s}", "measure", measure_name(p->measure),
                                    "bound", p->bound, "slack", p->slack, "equation", p->equation));
    }
    json_object_set_new(to, request->operations[i]->name, promises);
  }
  return to;
}

static json_t *manifest_json(const vectors_request *request, const collection *all,
                             const char *file, uint64_t digest) {
  json_t *cases = json_array(), *flags = json_object();
  flag_set used = {0};
  for (int64_t i = 0; i < all->count; i++) {
    flag_set_join(&used, &all->cases[i].made.flags);
    json_array_append_new(cases, case_json(&all->cases[i]));
  }
  for (int f = 0; f < FLAG_COUNT; f++) {
    const flag_description *d = flag_describe((flag_id)f);
    if (flag_set_has(&used, f))
      json_object_set_new(
          flags, d->name,
          json_pack("{s:s, s:s, s:s}", "bug", d->bug, "effect", d->effect, "seen", d->seen));
  }
  char hex[24];
  snprintf(hex, sizeof hex, "%016" PRIx64, digest);
  const char *name = strrchr(file, '/');
  return json_pack("{s:s, s:i, s:s, s:s, s:I, s:o, s:o, s:o}", "format", "phibal-vectors",
                   "version", VECTORS_VERSION, "tensors", name ? name + 1 : file, "digest", hex,
                   "seed", (json_int_t)request->seed, "promises", promises_json(request), "flags",
                   flags, "cases", cases);
}

static phibal_status write_manifest(const vectors_request *request, const collection *all,
                                    const char *path) {
  uint64_t digest;
  phibal_status status = vectors_digest(path, &digest);
  if (status != PHIBAL_OK) return status;
  char *to = vectors_manifest_path(path);
  json_t *manifest = manifest_json(request, all, path, digest);
  char *text = manifest ? json_dumps(manifest, JSON_INDENT(1)) : NULL;
  json_decref(manifest);
  status = to && text ? file_write(to, text, strlen(text)) : out_of_memory();
  free(text);
  free(to);
  return status;
}

phibal_status vectors_write(const vectors_request *request, const char *path) {
  collection all = {0};
  phibal_status status = collect(request, NULL, &all);
  if (status == PHIBAL_OK) status = tensors_write(path, all.tensors, all.tensor_count);
  if (status == PHIBAL_OK) status = write_manifest(request, &all, path);
  collection_clear(&all);
  return status;
}

phibal_status vectors_answer(const vectors_request *request, const backend *b, const char *path) {
  collection all = {0};
  phibal_status status = collect(request, b, &all);
  if (status == PHIBAL_OK) status = tensors_write(path, all.tensors, all.tensor_count);
  collection_clear(&all);
  return status;
}
