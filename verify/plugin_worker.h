/* The process that runs a plugin, and its protocol. phibal starts itself as `phibal --plugin-worker
   FILE`; that process loads the plugin, reports its operations, and then computes one case after
   another. Tensors are in shared memory. phibal reads results there once they are reported
   complete, and trusts nothing else in it: anything the plugin does to its process (exit, crash,
   hang, stray writes) fails the case and cannot change a verdict. */
#ifndef PHIBAL_VERIFY_PLUGIN_WORKER_H
#define PHIBAL_VERIFY_PLUGIN_WORKER_H

#include "operation.h"

enum {
  WORKER_SOCKET = 3, /* descriptors that the process is started with */
  WORKER_MEMORY = 4,
  WIRE_NAME = 64, /* bytes of names, with their ends */
  WIRE_TEXT = 256,
  WIRE_OPERATIONS = 64,
  /* Size of the guard bytes before and after each tensor, and alignment of tensors. */
  WIRE_GUARD = 256,
  WIRE_GUARD_BYTE = 0xa5,
};

typedef struct wire_operation {
  char name[WIRE_NAME], without[WIRE_TEXT];
  bool has_function;
} wire_operation;

typedef struct wire_parameter {
  char name[WIRE_NAME], text[WIRE_NAME];
  int32_t kind;
  int64_t integer;
  double real;
} wire_parameter;

typedef struct wire_tensor {
  char name[WIRE_NAME];
  int32_t type, rank;
  int64_t shape[TENSOR_RANK];
  uint64_t at, bytes; /* of the data, from the start of the memory; a guard on either side */
} wire_tensor;

/* At the start of the memory; tensors follow. */
typedef struct wire {
  /* Sent once by the process: a description of the plugin, or why it cannot be used (a
     phibal_status). */
  int32_t refused;
  char why[512];
  char name[WIRE_TEXT], device[WIRE_TEXT];
  int32_t operations;
  wire_operation operation[WIRE_OPERATIONS];
  /* A case, sent by phibal: inputs, then outputs. */
  int32_t called, parameters, inputs, outputs;
  wire_parameter parameter[CASE_PARAMETERS];
  wire_tensor tensor[2 * CASE_TENSORS];
  /* The reply: an error message, or an empty text. */
  char failed[512];
} wire;

/* What phibal sends for a case: its number, counted from 1, and how large the memory is by now. The
   answer is the number. */
typedef struct wire_call {
  uint64_t number, bytes;
} wire_call;

/* Does not return before phibal closes the socket. */
int plugin_worker(const char *path);

#endif
