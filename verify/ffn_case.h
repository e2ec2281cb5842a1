/* A case of the expert FFN, shared by the stage-wise check and the propagation of bounds. */
#ifndef PHIBAL_VERIFY_FFN_CASE_H
#define PHIBAL_VERIFY_FFN_CASE_H

#include "judgement.h"
#include "shapes.h"
#include <phibal/reference_moe.h>

enum { PRECISION = 96 };

typedef struct ffn_case {
  phibal_ffn ffn;
  int64_t rows;
  const int64_t *offsets; /* [E+1] */
  const float *x, *w_gate, *w_up, *w_down, *y_gradient;
} ffn_case;

ffn_case ffn_case_of(const operation_case *c);

/* Records every output from the inputs alone. */
phibal_status ffn_expect(const operation_case *c, const ffn_case *f, judgement *j);

#endif
