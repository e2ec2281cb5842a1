/* The scratch of an FFN's call, checks of its arguments, copies of its intermediates. */
#include "ffn_work.h"
#include <phibal/acsl/contracts/inside/ffn_work_static.h>

ffn_scratch ffn_scratch_cut(phibal_enclosure *all, size_t n) {
  phibal_enclosure *v = all + FFN_TEMPORARIES;
  ffn_scratch s = {.t = all};
  s.a = (phibal_reference_result){v, v + n};
  s.b = (phibal_reference_result){v + 2 * n, v + 3 * n};
  s.h = (phibal_reference_result){v + 4 * n, v + 5 * n};
  s.back = (phibal_reference_result){v + 6 * n, v + 7 * n};
  return s;
}

phibal_status ffn_check(const char *name, const phibal_ffn *ffn, int64_t rows,
                        phibal_reference_ffn_inputs given, mpfr_prec_t precision) {
  //@ assert open_place && use_place;
  if (!ffn || rows < 0 || ffn->width < 1 || ffn->hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null FFN or bad shape", name);
  TRY(operation_check_precision(name, precision));
  int64_t d = ffn->width, f = ffn->hidden;
  int64_t most = FFN_LARGEST / f;
  if (rows > most)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: %lld rows of %lld hidden numbers", name,
                             (long long)rows, (long long)f);
  //@ assert size: place(rows, f) <= FFN_LARGEST;
  TRY(reference_matrix_check(name, "x", rows, d, &(phibal_reference_matrix){given.x, d, 1}));
  TRY(reference_matrix_check(name, "w_gate", f, d, &(phibal_reference_matrix){given.w_gate, d, 1}));
  TRY(reference_matrix_check(name, "w_up", f, d, &(phibal_reference_matrix){given.w_up, d, 1}));
  return reference_matrix_check(name, "w_down", d, f,
                                &(phibal_reference_matrix){given.w_down, f, 1});
}

phibal_status ffn_product(int64_t rows, int64_t inner, int64_t columns, phibal_reference_matrix a,
                          phibal_reference_matrix b, mpfr_prec_t precision,
                          phibal_enclosure *product, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_reference_matrix left = a, right = b;
  //@ assert left: matrix_there(left.data, left.row_stride, left.column_stride, rows, inner);
  //@ assert right: matrix_there(right.data, right.row_stride, right.column_stride, inner, columns);
  return phibal_reference_product(rows, inner, columns, &left, &right, precision, product,
                                  condition);
}

/* to[0..n-1] = from[0..n-1], unless `to` is null. */
static void vector_copy(int64_t n, const phibal_enclosure *from, phibal_enclosure *to) {
  //@ assert use_enclosure;
  if (!to) return;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant inputs: vector_same{Pre, Here}(from, n);
      loop invariant outputs: vector_output(to, n);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        optional_vector_apart(r, to, n) ==> same{Pre, Here}(r);
      loop invariant values: \forall integer k, real a; 0 <= k < i && in{Pre}(from + k, a) ==>
        in(to + k, a);
      loop assigns i, to[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) phibal_enclosure_set(&to[i], &from[i]);
}

/* Copies a result, each vector unless its place is null. */
static void result_copy(int64_t n, phibal_reference_result from, phibal_reference_result to) {
  //@ assert use_enclosure;
  //@ assert first_there: 0 < n ==> \valid_read(from.value + 0) && \valid_read(from.condition + 0);
  //@ assert not_null: 0 < n ==> from.value != \null && from.condition != \null;
  /*@ assert apart: to.value != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(from.condition + i, to.value, n) &&
        (to.condition != \null ==> vector_apart(to.condition + i, to.value, n)); */
  vector_copy(n, from.value, to.value);
  //@ assert kept: to.condition != \null ==> vector_same{Pre, Here}(from.condition, n);
  //@ assert inputs: to.condition != \null ==> vector_input(from.condition, n);
  //@ assert second_same: optional_same{Pre, Here}(to.condition, n);
  //@ assert second: optional_vector(to.condition, n);
  /*@ assert apart_second: to.condition != \null ==>
        vectors_apart(to.condition, n, from.condition, n); */
  //@ ghost copied:;
  vector_copy(n, from.condition, to.condition);
  /*@ assert apart_first: to.value != \null ==> \forall integer i; 0 <= i < n ==>
        optional_vector_apart(to.value + i, to.condition, n) && \valid_read(to.value + i); */
  //@ assert same: optional_same{copied, Here}(to.value, n);
  //@ assert outputs: OF_RESULT(to, n, optional_vector);
}

void ffn_results_copy(int64_t n, phibal_reference_result a, phibal_reference_result to_a,
                      phibal_reference_result b, phibal_reference_result to_b,
                      phibal_reference_result c, phibal_reference_result to_c) {
  //@ assert use_enclosure;
  /*@ ghost ffn_results_free(b, n, to_a, n);
            ffn_results_free(c, n, to_a, n);
            ffn_results_free(c, n, to_b, n);
            ffn_results_free(to_b, n, to_a, n);
            ffn_results_free(to_c, n, to_a, n);
            ffn_results_free(to_c, n, to_b, n); */
  //@ assert first: 0 < n ==> \valid_read(b.value + 0) && \valid_read(b.condition + 0);
  //@ assert last: 0 < n ==> \valid_read(c.value + 0) && \valid_read(c.condition + 0);
  result_copy(n, a, to_a);
  //@ assert b_kept: OF_RESULT(b, n, vector_same{Pre, Here});
  //@ assert c_kept: OF_RESULT(c, n, vector_same{Pre, Here});
  //@ assert given: result_given(b, n) && result_given(c, n);
  //@ assert to_b_same: OF_RESULT(to_b, n, optional_same{Pre, Here});
  //@ assert to_c_same: OF_RESULT(to_c, n, optional_same{Pre, Here});
  //@ assert there: OF_RESULT(to_b, n, optional_vector) && OF_RESULT(to_c, n, optional_vector);
  //@ assert first_copied: copied{Pre, Here}(a, to_a, n);
  //@ ghost one:;
  result_copy(n, b, to_b);
  //@ assert to_a_kept: OF_RESULT(to_a, n, optional_same{one, Here});
  //@ assert first_kept: copied{Pre, Here}(a, to_a, n);
  //@ assert to_a_there: OF_RESULT(to_a, n, optional_vector);
  //@ assert second_copied: copied{Pre, Here}(b, to_b, n);
  //@ assert c_still: OF_RESULT(c, n, vector_same{one, Here});
  //@ assert c_given: result_given(c, n);
  //@ assert to_c_still: OF_RESULT(to_c, n, optional_same{one, Here});
  //@ assert to_c_there: OF_RESULT(to_c, n, optional_vector);
  //@ ghost two:;
  result_copy(n, c, to_c);
  //@ assert to_a_left: OF_RESULT(to_a, n, optional_same{two, Here});
  //@ assert to_b_left: OF_RESULT(to_b, n, optional_same{two, Here});
  //@ assert left: OF_RESULT(to_a, n, optional_vector) && OF_RESULT(to_b, n, optional_vector);
}
