/* An operation of the catalogue (spec/ops.def) as data: a case has named parameters, named input
   tensors and named output tensors. Expected outputs are defined once, by the operation's
   `expected`, and consumed by a comparator or by a writer of test vectors (judgement.h). Backends
   compute the outputs. */
#ifndef PHIBAL_VERIFY_OPERATION_H
#define PHIBAL_VERIFY_OPERATION_H

#include "arena.h"
#include "compare.h"
#include "flags.h"
#include "random.h"
#include "case_number.h"
#include <phibal/router.h>
#include <stdbool.h>

typedef enum tensor_type {
  TENSOR_F32,
  TENSOR_F64,
  TENSOR_I32,
  TENSOR_I64,
  TENSOR_U8,
} tensor_type;

enum { TENSOR_RANK = 4, CASE_PARAMETERS = 16, CASE_TENSORS = 16 };

typedef struct tensor {
  const char *name;
  tensor_type type;
  int rank;
  int64_t shape[TENSOR_RANK]; /* row-major */
  void *data;
  output_id promise; /* outputs: what most of its elements promise */
  bool optional;     /* outputs: an intermediate result that an implementation may not have */
} tensor;

int64_t tensor_size(const tensor *t); /* elements */
size_t tensor_type_bytes(tensor_type type);
/* Element i as a binary64 number; integers beyond 2^53 are rounded. */
double tensor_real(const tensor *t, int64_t i);
/* Element i of an integer tensor. */
int64_t tensor_integer(const tensor *t, int64_t i);

typedef enum parameter_kind { PARAMETER_INTEGER, PARAMETER_REAL, PARAMETER_TEXT } parameter_kind;

typedef struct parameter {
  const char *name;
  parameter_kind kind;
  int64_t integer;
  double real;
  const char *text;
} parameter;

struct operation;

typedef struct operation_case {
  const struct operation *operation;
  uint64_t seed, number;
  const char *kind; /* what the case is, for people */
  flag_set flags;
  char group[32]; /* cases that must have the same results share it; empty for none */
  int parameter_count, input_count, output_count;
  parameter parameters[CASE_PARAMETERS];
  tensor inputs[CASE_TENSORS], outputs[CASE_TENSORS];
  arena memory;
} operation_case;

/* What consumes expected outputs; judgement.h. */
typedef struct judgement judgement;

/* As in spec/ops.def. */
typedef enum operation_pairs {
  PAIRS_NONE,
  PAIRS_ROWS,
  PAIRS_PARAMETERS,
  PAIRS_ALL,
  PAIRS_TRACES,
} operation_pairs;

typedef struct operation {
  const char *name; /* as in spec/ops.def */
  /* The case of c->seed and c->number: parameters, inputs, and outputs, allocated and filled with
     values that no implementation may leave. */
  phibal_status (*make)(operation_case *c);
  /* Produces every element of every output: an enclosure of its value and what its error measure
     needs. For promises that hold stage by stage, the inputs of a stage are the case's outputs; if
     there are none, bounds are propagated through the stages. */
  phibal_status (*expected)(const operation_case *c, judgement *j);
  /* The built-in CPU kernels. */
  phibal_status (*cpu)(operation_case *c);
  const char *(*kind)(uint64_t number);
  const char *family; /* the kinds' family: "core", "route" and so on */
  bool potentials;    /* its cases go over the potentials */
  operation_pairs pairs;
  int64_t cases; /* how many are run unless the caller says */
} operation;

extern const operation operations[];
extern const int operation_count;

/* Null if there is none of that name. */
const operation *operation_find(const char *name);
/* Whether an output of spec/ops.def is the operation's. */
bool operation_owns(const operation *o, output_id output);

/* Computes the outputs of cases. */
typedef struct backend {
  const char *name;
  void *context;
  /* Null: every operation. */
  bool (*supports)(void *context, const operation *o);
  /* Whether it computes an output of an operation that it supports. Null: all of them. */
  bool (*has_output)(void *context, const operation *o, const char *output);
  phibal_status (*run)(void *context, operation_case *c);
  /* After run: repeats the case with a different distribution of work, to the same bits. May be
     null. */
  phibal_status (*repeat)(void *context, const operation_case *c, tally *tallies);
} backend;

extern const backend backend_cpu;

/* The number of an operation's i-th case (case_number.h). */
uint64_t operation_number(const operation *o, uint64_t i);
/* How many paired cases (paired.h) it has, field cases after them, and the number of the i-th. */
int64_t operation_paired_count(const operation *o);
uint64_t operation_paired_number(const operation *o, int64_t i);
/* Makes a case; after PHIBAL_OK, operation_case_clear. PHIBAL_ERROR_ARGUMENT: no case has this
   number. */
phibal_status operation_make(const operation *o, uint64_t seed, uint64_t number, operation_case *c);
void operation_case_clear(operation_case *c);

/* For `make`. Tensors come filled: inputs with 0, outputs with NaN or an invalid integer. After a
   failed allocation data is null, and case_status says so. Shapes of rank 1 to 4 as varying
   arguments of type int64_t. */
void case_flag(operation_case *c, flag_id flag);
void case_integer(operation_case *c, const char *name, int64_t value);
void case_real(operation_case *c, const char *name, double value);
void case_text(operation_case *c, const char *name, const char *value);
void *case_add_input(operation_case *c, const char *name, tensor_type type, int rank, ...);
tensor *case_add_output(operation_case *c, output_id promise, const char *name, tensor_type type,
                        int rank, ...);
phibal_status case_status(const operation_case *c);

/* By name. A missing parameter or output is a programming error that returns 0 or null; a null
   input is absent. */
int64_t case_get_integer(const operation_case *c, const char *name);
double case_get_real(const operation_case *c, const char *name);
const char *case_get_text(const operation_case *c, const char *name);
/* Which of names[n] a text is; the last for any other. */
int case_get_choice(const operation_case *c, const char *name, const char *const *names, int n);
bool case_is_kind(const operation_case *c, const char *kind);
/* The parameter `gate`. */
phibal_gate case_get_gate(const operation_case *c);
const tensor *case_input(const operation_case *c, const char *name);
const tensor *case_output(const operation_case *c, const char *name);
void *case_input_data(const operation_case *c, const char *name);
void *case_output_data(const operation_case *c, const char *name);

#endif
