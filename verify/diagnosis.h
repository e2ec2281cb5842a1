/* What explains the failures of golden vectors: flags of spec/flags.def, values of parameters,
   inputs that are given, and sizes. */
#ifndef PHIBAL_VERIFY_DIAGNOSIS_H
#define PHIBAL_VERIFY_DIAGNOSIS_H

#include "flags.h"
#include <jansson.h>
#include <phibal/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct judged_cause {
  char name[80];          /* the flag's, or a property as "gate=sigmoid" */
  flag_id flag;           /* FLAG_COUNT for a property */
  int64_t passed, failed; /* of its cases */
} judged_cause;

/* A case of the evidence. */
typedef struct diagnosed_case {
  const json_t *described; /* in the manifest */
  flag_set flags;
  bool failed;
  bool right_experts; /* its selections were judged, and are right */
  const char *wrong;  /* the outputs that are wrong, " name name " */
} diagnosed_case;

/* The best `most` causes, the best first; none if nothing failed. */
phibal_status diagnose(const diagnosed_case *cases, int64_t count, judged_cause *causes, int most,
                       int *found);

#endif
