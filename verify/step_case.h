/* A balancing step of several layers from the logits on, shared by its generator, the built-in
   kernels and the expected outputs. Tokens of the global batch are ordered by micro-batch (of equal
   size), and within one by rank. */
#ifndef PHIBAL_VERIFY_STEP_CASE_H
#define PHIBAL_VERIFY_STEP_CASE_H

#include "case_potential.h"
#include "judgement.h"
#include <phibal/reference_moe.h>

typedef struct step_case {
  int64_t layers, tokens; /* tokens of one layer, padding among them */
  phibal_router router;   /* softmax; gates take no part */
  int64_t micro_batches;  /* A; divides tokens */
  double alpha;
  const float *logits;    /* [L][T][E] */
  const uint8_t *mask;    /* [T] or null */
  const int32_t *experts; /* [L][T][k], a selection to judge by in the place of (R2)'s; or null */
  const float *m;         /* [L][E]; null for the Switch loss */
  float eta;
  phibal_potential potential;
  bool global; /* Switch: f of the global batch so far, not of the micro-batch */
} step_case;

step_case step_case_of(const operation_case *c);

#endif
