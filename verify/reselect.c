#include "reselect.h"
#include "judgement.h"
#include "vectors_file.h"
#include <math.h>
#include <string.h>

static phibal_status refuse(const char *id, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s", id, what);
}

static bool type_of(safetensors_dtype dtype, tensor_type *type) {
  static const safetensors_dtype dtypes[] = {SAFETENSORS_F32, SAFETENSORS_F64, SAFETENSORS_I32,
                                             SAFETENSORS_I64, SAFETENSORS_U8};
  for (int t = TENSOR_F32; t <= TENSOR_U8; t++)
    if (dtypes[t] == dtype) return *type = (tensor_type)t, true;
  return false;
}

static bool tensor_of(const safetensors_tensor *from, const char *name, tensor *to) {
  *to = (tensor){.name = name, .rank = from->dimensions, .data = (void *)from->data};
  if (from->dimensions > TENSOR_RANK || !type_of(from->dtype, &to->type)) return false;
  for (int i = 0; i < to->rank; i++) to->shape[i] = from->shape[i];
  return true;
}

static output_id promise_of(const operation *o, const char *name) {
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (operation_owns(o, (output_id)i) && strcmp(output_describe((output_id)i)->output, name) == 0)
      return (output_id)i;
  return OUTPUT_COUNT;
}

/* The case as it was made: c borrows names and data. */
static phibal_status read_case(const safetensors_file *cases, const json_t *described,
                               operation_case *c, reselected *to) {
  const char *id, *prefix, *name, *key, *promise;
  json_t *parameters, *inputs, *outputs, *value;
  int optional;
  if (json_unpack((json_t *)described, "{s:s, s:s, s:s, s:o, s:o, s:o}", "id", &id, "prefix",
                  &prefix, "operation", &name, "parameters", &parameters, "inputs", &inputs,
                  "outputs", &outputs))
    return refuse("a case", "the manifest is incomplete");
  c->operation = operation_find(name);
  if (!c->operation) return refuse(id, "no operation of this phibal");
  json_object_foreach(parameters, key, value) {
    if (json_is_integer(value))
      case_integer(c, key, json_integer_value(value));
    else if (json_is_real(value) || !strcmp(json_string_value(value), "inf"))
      case_real(c, key, json_is_real(value) ? json_real_value(value) : (double)INFINITY);
    else
      case_text(c, key, json_string_value(value));
  }
  json_object_foreach(inputs, key, value) {
    const safetensors_tensor *from = vectors_find(cases, prefix, "in", key);
    if (!from || c->input_count == CASE_TENSORS ||
        !tensor_of(from, key, &c->inputs[c->input_count++]))
      return refuse(id, "its inputs are not those of the manifest");
  }
  json_object_foreach(outputs, key, value) {
    const safetensors_tensor *expected = vectors_find(cases, prefix, "expected", key);
    const safetensors_tensor *bound = vectors_find(cases, prefix, "bound", key);
    const int o = c->output_count;
    if (!expected || o == CASE_TENSORS || !tensor_of(expected, key, &to->expected[o]) ||
        (bound && !tensor_of(bound, key, &to->bound[o])) ||
        json_unpack(value, "{s:s, s:b}", "promise", &promise, "optional", &optional))
      return refuse(id, "its outputs are not those of the manifest");
    if (!bound) to->bound[o] = (tensor){0};
    tensor *output = &c->outputs[c->output_count++];
    *output = to->expected[o];
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    if (output->type == TENSOR_F64 && dtype && !strcmp(dtype, "F32")) output->type = TENSOR_F32;
    output->promise = promise_of(c->operation, promise);
    if (output->promise == OUTPUT_COUNT) return refuse(id, "it has an output of another phibal");
  }
  return PHIBAL_OK;
}

static bool has_shape(const tensor *t, tensor_type type, int64_t rows, int64_t width) {
  return t && t->type == type && t->rank == 2 && t->shape[0] == rows && t->shape[1] == width;
}

/* A described router's texts, its slots' gradient, and a price, if any, of each expert. */
static bool is_described(const operation_case *c, int64_t T, int64_t E) {
  static const char *const texts[] = {"gate", "normalisation", "selection"};
  for (int i = 0; i < 3; i++)
    if (!case_get_text(c, texts[i])) return false;
  const tensor *price = case_input(c, "price");
  return has_shape(case_input(c, "gate-gradient"), TENSOR_F32, T, case_get_integer(c, "k")) &&
         (!price || (price->type == TENSOR_F32 && tensor_size(price) == E));
}

/* What the operation takes for granted of its own cases, beyond what the judge has checked of
   logits, bias, mask and k. */
static bool is_sound(const operation_case *c, const tensor *logits) {
  const int64_t E = logits->shape[logits->rank - 1], T = logits->shape[logits->rank - 2];
  const char *const cuts[] = {"micro-batches", "sequences"};
  for (int i = 0; i < 2; i++) {
    const int64_t n = case_get_integer(c, cuts[i]);
    if (n < 0 || (n > 0 && T % n)) return false;
  }
  const bool steps = strstr(c->operation->name, "-step") != NULL, layers = logits->rank == 3;
  if (steps && (case_get_integer(c, "micro-batches") < 1 || !layers)) return false;
  if (!steps && logits->rank != 2) return false;
  if (!strcmp(c->operation->name, "sequence-loss") && case_get_integer(c, "sequences") < 1)
    return false;
  if (!strcmp(c->operation->name, "described-router") && !is_described(c, T, E)) return false;
  const tensor *m = case_input(c, "m");
  const bool gated = case_get_text(c, "gate") != NULL;
  if (!gated && (!strcmp(c->operation->name, "router-forward") ||
                 !strcmp(c->operation->name, "sequence-loss")))
    return false;
  if (strcmp(c->operation->name, "balance-step") != 0) return !m;
  return m && m->type == TENSOR_F32 && tensor_size(m) == tensor_size(logits) / T &&
         case_get_text(c, "potential") && E > 0;
}

phibal_status vectors_reselect(const safetensors_file *cases, const json_t *described,
                               const int32_t *experts, reselected *to) {
  operation_case c = {0};
  phibal_status status = read_case(cases, described, &c, to);
  if (status == PHIBAL_OK) {
    const tensor *logits = case_input(&c, "logits");
    const int64_t k = case_get_integer(&c, "k");
    if (!logits || c.input_count == CASE_TENSORS || !is_sound(&c, logits)) {
      arena_free(&c.memory);
      return refuse(c.operation->name, "a case that none of this operation's looks like");
    }
    const int64_t rows = tensor_size(logits) / logits->shape[logits->rank - 1];
    tensor *given = &c.inputs[c.input_count++];
    *given = (tensor){.name = "experts", .type = TENSOR_I32, .rank = 2, .shape = {rows, k}};
    given->data = (void *)experts;
    status = operation_expect_selected(&c, &to->memory, to->expected, to->bound);
    to->count = c.output_count;
  }
  arena_free(&c.memory);
  return status;
}
