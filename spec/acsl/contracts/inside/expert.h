/* What the functions of reference/expert.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_EXPERT_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_EXPERT_H

#ifdef __FRAMAC__
#include <phibal/acsl/expert.h>
#endif

/*@ requires strided(x, n, x_stride) && strided(y, n, y_stride);
    requires output(t) && output(value) && optional(condition);
    requires \separated(t, value) && optional_apart(t, condition) &&
             optional_apart(value, condition);
    terminates \true;
    exits \false;
    assigns *t, *value, *condition;
    ensures outputs: enclosure(t) && enclosure(value) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, value, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      in(value, strided_dot(x, x_stride, y, y_stride, n));
    ensures \result == PHIBAL_OK && condition != \null ==>
      in(condition, strided_magnitude(x, x_stride, y, y_stride, n)); */
phibal_status reference_dot_compute(int64_t n, const float *x, int64_t x_stride, const float *y,
                                    int64_t y_stride, phibal_enclosure *t, phibal_enclosure *value,
                                    phibal_enclosure *condition);

/*@ requires \valid_read(a) &&
             matrix_there(a->data, a->row_stride, a->column_stride, rows, columns);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT ||
            \result == PHIBAL_ERROR_NONFINITE;
    ensures \result == PHIBAL_OK ==> 0 <= rows && 0 <= columns &&
      (0 < rows && 0 < columns ==> a->data != \null);
    ensures \result == PHIBAL_OK ==>
      matrix_finite(a->data, a->row_stride, a->column_stride, rows, columns); */
phibal_status reference_matrix_check(const char *name, const char *what, int64_t rows,
                                     int64_t columns, const phibal_reference_matrix *a);

#endif
