/* Products of enclosures, values with first-order conditions, and a matrix of numbers. */
#include "ffn_work.h"
#include <phibal/acsl/contracts/inside/ffn_chain_static.h>

static double magnitude_of(double x) {
  //@ assert open_absolute;
  return fabs(x);
}

/* z.value += sum_l x[from + l x_stride] w[l w_stride], z.condition += sum_l x_condition |w|, over n
   terms; t[0..1] are temporaries. */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t from, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_reference_result z) {
  //@ assert use_enclosure && use_floating && open_place;
  /*@ loop invariant index: 0 <= l && (l <= n || l == 0);
      loop invariant outputs: vector_output(t, 2) && enclosure(z.value) && enclosure(z.condition);
      loop invariant frame: only_dot_written{Pre, Here}(t, z);
      loop invariant value: TERMS_ADDED(z.value, x.value, chain_sum, l);
      loop invariant condition: TERMS_ADDED(z.condition, x.condition, chain_magnitude, l);
      loop assigns l, t[0 .. 1], *z.value, *z.condition;
      loop variant n - l; */
  for (int64_t l = 0; l < n; l++) {
    //@ assert place: place(l, x_stride) == l * x_stride && place(l, w_stride) == l * w_stride;
    const phibal_enclosure *term = &x.value[from + l * x_stride];
    const phibal_enclosure *magnitude = &x.condition[from + l * x_stride];
    //@ assert kept: same{Pre, Here}(term) && same{Pre, Here}(magnitude);
    //@ assert member: ROW_ELEMENT(term, x.value);
    double weight = (double)w[l * w_stride];
    //@ assert finite: \is_finite(w[place(l, w_stride)]);
    //@ assert exactly: \is_finite(weight) && (real)weight == (real)w[place(l, w_stride)];
    /*@ assert next: \forall sequence s; chain_sum(s, from, x_stride, w, w_stride, l + 1) ==
          chain_sum(s, from, x_stride, w, w_stride, l) +
            term(s, from + place(l, x_stride)) * (real)weight; */
    //@ assert magnitude: ROW_ELEMENT(magnitude, x.condition);
    const double size = magnitude_of(weight);
    /*@ assert next_magnitude: \forall sequence s;
          chain_magnitude(s, from, x_stride, w, w_stride, l + 1) ==
            chain_magnitude(s, from, x_stride, w, w_stride, l) +
              term(s, from + place(l, x_stride)) * (real)size; */
    TRY(operation_add_scaled(z.value, term, weight, &t[0], &t[1]));
    //@ assert added: TERMS_ADDED(z.value, x.value, chain_sum, l + 1);
    //@ assert still: ROW_ELEMENT(magnitude, x.condition);
    //@ assert then: TERMS_ADDED(z.condition, x.condition, chain_magnitude, l);
    TRY(operation_add_scaled(z.condition, magnitude, size, &t[0], &t[1]));
    //@ assert last: TERMS_ADDED(z.condition, x.condition, chain_magnitude, l + 1);
  }
  return PHIBAL_OK;
}

/* Element m of X W over `inner`, row by row, in z, or added to it; a null condition is computed
   into t[2] and dropped. */
static phibal_status chain_element(int64_t m, int64_t inner, int64_t columns, ffn_matrix x,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_reference_result z) {
  //@ assert use_enclosure && use_place && open_place;
  int64_t i = m / columns, j = m % columns;
  //@ assert apart: apart_from_row(t + 2, x, i, inner);
  /*@ assert places: i == m / columns && j == m % columns && place(i, x.row_stride) == i *
     x.row_stride && place(j, w.column_stride) == j * w.column_stride; */
  phibal_enclosure *magnitude = z.condition ? z.condition : &t[2];
  if (!add) phibal_enclosure_set_si(z.value, 0);
  if (!add || !z.condition) phibal_enclosure_set_si(magnitude, 0);
  /*@ assert members: \forall sequence s;
        row_members{Pre}(x.entry.value, place(i, x.row_stride), x.column_stride, inner, s) ==>
          row_members(x.entry.value, place(i, x.row_stride), x.column_stride, inner, s); */
  /*@ assert conditions: \forall sequence s;
        row_members{Pre}(x.entry.condition, place(i, x.row_stride), x.column_stride, inner, s) ==>
          row_members(x.entry.condition, place(i, x.row_stride), x.column_stride, inner, s); */
  /*@ assert third: output(magnitude) && \separated(z.value, magnitude) &&
        (magnitude == t + 2 || (magnitude == z.condition && \separated(magnitude, t + 2))); */
  phibal_status status =
      chain_dot(inner, x.entry, i * x.row_stride, x.column_stride, w.data + j * w.column_stride,
                w.row_stride, t, (phibal_reference_result){z.value, magnitude});
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2);
  return status;
}

phibal_status ffn_chain_product(int64_t rows, int64_t inner, int64_t columns, ffn_matrix x,
                                phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                phibal_reference_result result)
/*@ ghost (int64_t size) */ {
  //@ assert use_enclosure && use_place && open_place;
  if (!result.value) return PHIBAL_OK;
  const int64_t n = rows * columns;
  //@ assert size: n == place(rows, columns) && 0 <= n;
  //@ assert places: 0 < size ==> x.entry.value != \null && x.entry.condition != \null;
  //@ ghost chain_entries_apart(x, size, t, result, n);
  /*@ loop invariant index: 0 <= m && (m <= n || m == 0);
      loop invariant outputs: vector_output(t, 3) && result_there(result, n);
      loop invariant frame: only_chain_written{Pre, Here}(t, result, m);
      loop invariant value: !add ==>
        product_values{Pre, Here}(result.value, m, x, size, w, inner, columns);
      loop invariant added: add ==>
        values_added{Pre, Here}(result.value, m, x, size, w, inner, columns);
      loop invariant condition: !add && result.condition != \null ==>
        product_magnitudes{Pre, Here}(result.condition, m, x, size, w, inner, columns);
      loop invariant condition_added: add && result.condition != \null ==>
        \forall sequence s, integer k, real c; members{Pre}(x.entry.condition, size, s) &&
        0 <= k < m && in{Pre}(result.condition + k, c) ==>
          in(result.condition + k,
             c + chain_magnitude_at(s, x.row_stride, x.column_stride, w.data, w.row_stride,
                                    w.column_stride, inner, columns, k));
      loop assigns m, t[0 .. 2], result.value[0 .. n - 1], result.condition[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    //@ assert index: 0 < columns && 0 <= m / columns < rows && 0 <= m % columns < columns;
    /*@ ghost expert_column(w.data, w.row_stride, w.column_stride, inner, columns, m % columns);
              chain_element_alone(x, size, t, result, n, m); */
    /*@ assert inside: \forall integer l; 0 <= l < inner ==>
          0 <= place(m / columns, x.row_stride) + place(l, x.column_stride) < size; */
    phibal_reference_result z = {result.value + m, result.condition ? result.condition + m : NULL};
    //@ assert x_kept: OF_RESULT(x.entry, size, vector_same{Pre, Here});
    //@ assert x_there: OF_RESULT(x.entry, size, vector_input);
    //@ assert members: row_kept{Pre, Here}(x.entry.value, x, size, m / columns, inner);
    //@ assert magnitudes: row_kept{Pre, Here}(x.entry.condition, x, size, m / columns, inner);
    //@ assert there: row_ready(x, m / columns, inner, t);
    /*@ assert fresh: same{Pre, Here}(z.value) &&
          (z.condition != \null ==> same{Pre, Here}(z.condition)); */
    //@ ghost before:;
    phibal_status status = chain_element(m, inner, columns, x, w, add, t, z);
    /*@ assert others: \forall integer i; 0 <= i < n && i != m ==>
          same{before, Here}(result.value + i) &&
          (result.condition != \null ==> same{before, Here}(result.condition + i)); */
    //@ assert outputs: vector_output(result.value, n) && optional_vector(result.condition, n);
    /*@ assert element: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
          vector_apart(r, t, 3) && result_apart(r, result, m + 1) ==>
            same{Pre, before}(r) && same{before, Here}(r); */
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}
