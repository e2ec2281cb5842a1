/* What a case of golden vectors expects of an implementation that selected other experts than (R2)
   does, where scores tie or nearly do: `phibal judge` asks for it. Made anew by the operation, from
   the inputs in the file. */
#ifndef PHIBAL_VERIFY_RESELECT_H
#define PHIBAL_VERIFY_RESELECT_H

#include "operation.h"
#include "formats/safetensors.h"
#include <jansson.h>

typedef struct reselected {
  int count; /* of outputs */
  tensor expected[CASE_TENSORS], bound[CASE_TENSORS];
  arena memory; /* arena_free it */
} reselected;

/* described: the case in the manifest; experts: [rows][k], -1 in padding. */
typedef phibal_status (*reselection)(const safetensors_file *cases, const json_t *described,
                                     const int32_t *experts, reselected *to);

/* By the operations of this build. */
phibal_status vectors_reselect(const safetensors_file *cases, const json_t *described,
                               const int32_t *experts, reselected *to);

#endif
