/* Parts of expert.c that combines and the FFN use too. */
#ifndef PHIBAL_REFERENCE_EXPERT_H
#define PHIBAL_REFERENCE_EXPERT_H

#include "operation.h"

/* value = sum_i x_i y_i, condition (may be null) = sum |x_i y_i|; t is a temporary. */
phibal_status reference_dot_compute(int64_t n, const float *x, int64_t x_stride, const float *y,
                                    int64_t y_stride, phibal_enclosure *t, phibal_enclosure *value,
                                    phibal_enclosure *condition);

/* The shape makes sense and every element is finite. */
phibal_status reference_matrix_check(const char *name, const char *what, int64_t rows,
                                     int64_t columns, const phibal_reference_matrix *a);

#include <phibal/acsl/contracts/inside/expert.h>
#endif
