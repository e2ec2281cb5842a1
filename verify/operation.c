/* The catalogue's operations, and cases as named tensors. */
#include "operation.h"
#include "case_number.h"
#include "cases.h"
#include "paired.h"
#include "selection.h"
#include <stdarg.h>
#include <string.h>

/* Each operation of spec/ops.def needs all of its functions: one that is missing does not link. */
#define PHIBAL_OPERATION(ID, name, stem, kinds, potentials, pairs, cases)                          \
  phibal_status operation_##stem##_make(operation_case *c);                                        \
  phibal_status operation_##stem##_expected(const operation_case *c, judgement *j);                \
  phibal_status operation_##stem##_cpu(operation_case *c);                                         \
  const char *operation_kind_##kinds(uint64_t number);
#include <phibal/ops.def>

/* Paired cases of loads: every value of every potential's parameter with every kind. */
int64_t loads_paired_count(void);
uint64_t loads_paired_number(int64_t i);
/* Those of traces of the state. */
int64_t trace_paired_count(void);

const operation operations[] = {
#define PHIBAL_OPERATION(ID, name, stem, kinds, potentials, pairs, cases)                          \
  {name,                                                                                           \
   operation_##stem##_make,                                                                        \
   operation_##stem##_expected,                                                                    \
   operation_##stem##_cpu,                                                                         \
   operation_kind_##kinds,                                                                         \
   #kinds,                                                                                         \
   potentials,                                                                                     \
   PAIRS_##pairs,                                                                                  \
   cases},
#include <phibal/ops.def>
};
const int operation_count = sizeof operations / sizeof *operations;

const operation *operation_find(const char *name) {
  for (int i = 0; i < operation_count; i++)
    if (strcmp(name, operations[i].name) == 0) return &operations[i];
  return NULL;
}

bool operation_owns(const operation *o, output_id output) {
  return strcmp(output_describe(output)->operation, o->name) == 0;
}

size_t tensor_type_bytes(tensor_type type) {
  static const size_t bytes[] = {4, 8, 4, 8, 1};
  return bytes[type];
}

int64_t tensor_size(const tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->shape[i];
  return n;
}

double tensor_real(const tensor *t, int64_t i) {
  switch (t->type) {
  case TENSOR_F32:
    return (double)((const float *)t->data)[i];
  case TENSOR_F64:
    return ((const double *)t->data)[i];
  default:
    return (double)tensor_integer(t, i);
  }
}

int64_t tensor_integer(const tensor *t, int64_t i) {
  switch (t->type) {
  case TENSOR_I32:
    return ((const int32_t *)t->data)[i];
  case TENSOR_I64:
    return ((const int64_t *)t->data)[i];
  default:
    return ((const uint8_t *)t->data)[i];
  }
}

uint64_t operation_number(const operation *o, uint64_t i) {
  return o->potentials ? case_number(i, PHIBAL_POTENTIAL_COUNT) : i;
}

/* Of a step on potentials the rows come twice, with five potentials of the first nine each time,
   and once more for each later potential. */
static int64_t field_count(const operation *o) {
  if (strcmp(o->family, "described") == 0) return DESCRIBED_FIELD_CASES;
  return strcmp(o->family, "route") == 0 ? ROUTE_FIELD_CASES : 0;
}

int64_t operation_paired_count(const operation *o) {
  switch (o->pairs) {
  case PAIRS_ROWS:
    return PAIRED_ROWS *
               (o->potentials ? 2 + PHIBAL_POTENTIAL_COUNT - (int64_t)CASE_FIRST_POTENTIALS : 1) +
           field_count(o);
  case PAIRS_PARAMETERS:
    return loads_paired_count();
  case PAIRS_TRACES:
    return trace_paired_count();
  case PAIRS_ALL:
    return o->cases;
  case PAIRS_NONE:
    break;
  }
  return 0;
}

uint64_t operation_paired_number(const operation *o, int64_t i) {
  if (o->pairs == PAIRS_PARAMETERS) return loads_paired_number(i);
  const uint64_t first = 2 * PAIRED_ROWS, n = (uint64_t)i;
  const int64_t field = i - (operation_paired_count(o) - field_count(o));
  if (field >= 0) return FIELD_CASES + (uint64_t)field;
  if (!o->potentials || n < first) return PAIRED_CASES + n;
  return ((CASE_FIRST_POTENTIALS + (n - first) / PAIRED_ROWS) << CASE_ROW_BITS) + PAIRED_CASES +
         (n - first) % PAIRED_ROWS;
}

phibal_status operation_make(const operation *o, uint64_t seed, uint64_t number,
                             operation_case *c) {
  memset(c, 0, sizeof *c);
  if (!case_exists(number, o->potentials))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s has no case %llu", o->name,
                             (unsigned long long)number);
  c->operation = o;
  c->seed = seed;
  c->number = number;
  c->kind = o->kind(number);
  flag_id flag = flag_find(c->kind);
  if (flag < FLAG_COUNT) case_flag(c, flag);
  phibal_status status = o->make(c);
  if (status == PHIBAL_OK) status = case_status(c);
  if (status != PHIBAL_OK) operation_case_clear(c);
  return status;
}

void operation_case_clear(operation_case *c) {
  arena_free(&c->memory);
  c->parameter_count = c->input_count = c->output_count = 0;
}

phibal_status case_status(const operation_case *c) {
  return c->memory.failed ? arena_out_of_memory() : PHIBAL_OK;
}

void case_flag(operation_case *c, flag_id flag) {
  flag_set_add(&c->flags, flag);
}

static void add_parameter(operation_case *c, parameter p) {
  if (c->parameter_count == CASE_PARAMETERS)
    c->memory.failed = true;
  else
    c->parameters[c->parameter_count++] = p;
}

void case_integer(operation_case *c, const char *name, int64_t value) {
  add_parameter(c, (parameter){.name = name, .kind = PARAMETER_INTEGER, .integer = value});
}

void case_real(operation_case *c, const char *name, double value) {
  add_parameter(c, (parameter){.name = name, .kind = PARAMETER_REAL, .real = value});
}

void case_text(operation_case *c, const char *name, const char *value) {
  add_parameter(c, (parameter){.name = name, .kind = PARAMETER_TEXT, .text = value});
}

static void set_shape(tensor *t, int rank, va_list shape) {
  t->rank = rank;
  for (int i = 0; i < rank; i++) t->shape[i] = va_arg(shape, int64_t);
}

void *case_add_input(operation_case *c, const char *name, tensor_type type, int rank, ...) {
  if (c->input_count == CASE_TENSORS) {
    c->memory.failed = true;
    return NULL;
  }
  tensor *t = &c->inputs[c->input_count++];
  *t = (tensor){.name = name, .type = type};
  va_list shape;
  va_start(shape, rank);
  set_shape(t, rank, shape);
  va_end(shape);
  return t->data = arena_take(&c->memory, tensor_type_bytes(type) * (size_t)tensor_size(t), 0);
}

tensor *case_add_output(operation_case *c, output_id promise, const char *name, tensor_type type,
                        int rank, ...) {
  if (c->output_count == CASE_TENSORS) {
    c->memory.failed = true;
    return &c->outputs[CASE_TENSORS - 1];
  }
  tensor *t = &c->outputs[c->output_count++];
  *t = (tensor){.name = name, .type = type, .promise = promise};
  va_list shape;
  va_start(shape, rank);
  set_shape(t, rank, shape);
  va_end(shape);
  bool real = type == TENSOR_F32 || type == TENSOR_F64;
  t->data =
      arena_take(&c->memory, tensor_type_bytes(type) * (size_t)tensor_size(t), real ? 0xff : 0x7f);
  return t;
}

static const parameter *find_parameter(const operation_case *c, const char *name) {
  for (int i = 0; i < c->parameter_count; i++)
    if (strcmp(c->parameters[i].name, name) == 0) return &c->parameters[i];
  return NULL;
}

int64_t case_get_integer(const operation_case *c, const char *name) {
  const parameter *p = find_parameter(c, name);
  return p ? p->integer : 0;
}

double case_get_real(const operation_case *c, const char *name) {
  const parameter *p = find_parameter(c, name);
  return p ? p->real : 0;
}

const char *case_get_text(const operation_case *c, const char *name) {
  const parameter *p = find_parameter(c, name);
  return p ? p->text : NULL;
}

int case_get_choice(const operation_case *c, const char *name, const char *const *names, int n) {
  const char *text = case_get_text(c, name);
  int i = 0;
  while (i < n - 1 && (!text || strcmp(text, names[i]) != 0)) i++;
  return i;
}

bool case_is_kind(const operation_case *c, const char *kind) {
  return strcmp(c->kind, kind) == 0;
}

phibal_gate case_get_gate(const operation_case *c) {
  return (phibal_gate)case_get_choice(c, "gate", selection_gates, 4);
}

static const tensor *find_tensor(const tensor *list, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(list[i].name, name) == 0) return &list[i];
  return NULL;
}

const tensor *case_input(const operation_case *c, const char *name) {
  return find_tensor(c->inputs, c->input_count, name);
}

const tensor *case_output(const operation_case *c, const char *name) {
  return find_tensor(c->outputs, c->output_count, name);
}

void *case_input_data(const operation_case *c, const char *name) {
  const tensor *t = case_input(c, name);
  return t ? t->data : NULL;
}

void *case_output_data(const operation_case *c, const char *name) {
  const tensor *t = case_output(c, name);
  return t ? t->data : NULL;
}
