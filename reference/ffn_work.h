/* What the two directions of the gated FFN share: the scratch of a call, checks of its arguments,
   products along the chain and copies of results. */
#ifndef PHIBAL_REFERENCE_FFN_WORK_H
#define PHIBAL_REFERENCE_FFN_WORK_H

#include "activation.h"
#include "expert.h"
#include <phibal/acsl/ffn_conditions.h>

typedef struct ffn_shape {
  int64_t rows, width, hidden;
} ffn_shape;

/* Each intermediate of one call: value and condition, [rows][hidden]. */
typedef struct ffn_scratch {
  phibal_reference_result a, b, h, back;
  phibal_enclosure *t; /* temporaries [FFN_TEMPORARIES] */
} ffn_scratch;

#define FFN_TEMPORARIES 4
#define FFN_VECTORS 8
/* So many elements of an intermediate that the bytes of the scratch can be counted. */
#define FFN_LARGEST (INT64_MAX / 1024)

/* Cuts `all`, of FFN_TEMPORARIES + FFN_VECTORS rows hidden enclosures, into its parts. */
ffn_scratch ffn_scratch_cut(phibal_enclosure *all, size_t n);

phibal_status ffn_check(const char *name, const phibal_ffn *ffn, int64_t rows,
                        phibal_reference_ffn_inputs given, mpfr_prec_t precision);

/* phibal_reference_product of matrices that are there, handed over by value. */
phibal_status ffn_product(int64_t rows, int64_t inner, int64_t columns, phibal_reference_matrix a,
                          phibal_reference_matrix b, mpfr_prec_t precision,
                          phibal_enclosure *product, phibal_enclosure *condition);

/* A matrix of enclosures, values and conditions, read with strides as phibal_reference_matrix. */
typedef struct ffn_matrix {
  phibal_reference_result entry;
  int64_t row_stride, column_stride;
} ffn_matrix;

/* result[rows][columns] = X W over `inner`, or added to it; a null condition is dropped. X has
   `size` entries. */
phibal_status ffn_chain_product(int64_t rows, int64_t inner, int64_t columns, ffn_matrix x,
                                phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                phibal_reference_result result)
    /*@ ghost (int64_t size) */;

/* Copies three results. */
void ffn_results_copy(int64_t n, phibal_reference_result a, phibal_reference_result to_a,
                      phibal_reference_result b, phibal_reference_result to_b,
                      phibal_reference_result c, phibal_reference_result to_c);

#include <phibal/acsl/contracts/inside/ffn_work.h>
#endif
