/* The process that a plugin runs in, and what phibal and it say to each other.

   phibal starts itself again as `phibal --plugin-worker FILE`; that process loads the plugin, says
   what it offers, and then computes one case after another. Tensors lie in memory that both see.
   phibal reads results from there once it is told that they are complete, and trusts nothing else
   that is in it: whatever the plugin does to its process (exit, crash, hang, write anywhere) costs
   the case, and no verdict can come from it. */
#ifndef PHIBAL_VERIFY_PLUGIN_WORKER_H
#define PHIBAL_VERIFY_PLUGIN_WORKER_H

#include "operation.h"

enum {
  WORKER_SOCKET = 3, /* descriptors that the process is started with */
  WORKER_MEMORY = 4,
  WIRE_NAME = 64, /* bytes of names, with their ends */
  WIRE_TEXT = 256,
  WIRE_OPERATIONS = 64,
  /* Before and after each tensor lie so many bytes that nobody may write. Tensors begin at
     multiples of it. */
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
  /* Said once, by the process: what the plugin is, or why it cannot be used (a phibal_status). */
  int32_t refused;
  char why[512];
  char name[WIRE_TEXT], device[WIRE_TEXT];
  int32_t operations;
  wire_operation operation[WIRE_OPERATIONS];
  /* A case, said by phibal: inputs, then outputs. */
  int32_t called, parameters, inputs, outputs;
  wire_parameter parameter[CASE_PARAMETERS];
  wire_tensor tensor[2 * CASE_TENSORS];
  /* The answer: why it could not be computed, or an empty text. */
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
