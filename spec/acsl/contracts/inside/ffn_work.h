/* What the functions of reference/ffn_work.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_WORK_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_WORK_H

#ifdef __FRAMAC__
#include <phibal/acsl/expert_steps.h>
#include <phibal/acsl/floating.h>
#endif

/*@ // where the parts of a scratch of FFN_TEMPORARIES + FFN_VECTORS n enclosures begin
    predicate ffn_cut(ffn_scratch s, phibal_enclosure *all, integer n) =
      s.t == all && s.a.value == all + FFN_TEMPORARIES &&
      s.a.condition == all + (FFN_TEMPORARIES + n) &&
      s.b.value == all + (FFN_TEMPORARIES + 2 * n) &&
      s.b.condition == all + (FFN_TEMPORARIES + 3 * n) &&
      s.h.value == all + (FFN_TEMPORARIES + 4 * n) &&
      s.h.condition == all + (FFN_TEMPORARIES + 5 * n) &&
      s.back.value == all + (FFN_TEMPORARIES + 6 * n) &&
      s.back.condition == all + (FFN_TEMPORARIES + 7 * n);
*/

/*@ predicate vector_apart_work(phibal_enclosure *z, integer n, activation_work *work) =
      \forall integer i; 0 <= i < n ==> \separated(work, z + i);
*/

/*@ // the scratch of a group is one vector
    predicate ffn_scratch_there{L}(ffn_scratch s, phibal_enclosure *all, integer n) =
      0 <= n <= FFN_LARGEST && ffn_cut(s, all, n) &&
      vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
*/

/*@ // shapes whose intermediates can be counted, and the arguments of both directions
    predicate shape_counted(ffn_shape shape) =
      0 <= shape.rows && 1 <= shape.width <= INT32_MAX && 1 <= shape.hidden <= INT32_MAX &&
      0 <= place(shape.rows, shape.hidden) <= FFN_LARGEST &&
      place(shape.rows, shape.width) <= ROUTING_MAX_SLOTS &&
      place(shape.hidden, shape.width) <= ROUTING_MAX_SLOTS;
    predicate plain_ready{L}(float *x, integer rows, integer columns) =
      plain_there(x, rows, columns) && plain_finite(x, rows, columns) &&
      (0 < rows && 0 < columns ==> x != \null);
*/

/*@ // work is ready, and apart from the scratch
    predicate work_there{L}(activation_work *work, phibal_enclosure *all, integer n) =
      \valid(work) && work_ready(work) &&
      vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, work);
*/

/*@ requires n <= FFN_LARGEST;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures ffn_cut(\result, all, n); */
ffn_scratch ffn_scratch_cut(phibal_enclosure *all, size_t n);

/*@ predicate ffn_ready{L}(phibal_ffn *ffn, integer rows, phibal_reference_ffn_inputs given) =
      ffn != \null && 0 <= rows && 1 <= ffn->width && 1 <= ffn->hidden &&
      place(rows, ffn->hidden) <= FFN_LARGEST &&
      inputs_finite(given, rows, ffn->width, ffn->hidden);
*/

/*@ requires ffn_there(ffn, rows, given);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> precision >= OPERATION_PRECISION &&
      ffn_ready(ffn, rows, given); */
phibal_status ffn_check(const char *name, const phibal_ffn *ffn, int64_t rows,
                        phibal_reference_ffn_inputs given, mpfr_prec_t precision);

/*@ requires 0 <= rows && 0 <= inner && 0 <= columns && precision <= MPFR_PREC_MAX;
    requires place(rows, columns) <= ROUTING_MAX_SLOTS;
    requires matrix_there(a.data, a.row_stride, a.column_stride, rows, inner);
    requires matrix_there(b.data, b.row_stride, b.column_stride, inner, columns);
    requires vector_output(product, place(rows, columns)) &&
      optional_vector(condition, place(rows, columns)) &&
      optional_vectors_apart(product, place(rows, columns), condition, place(rows, columns));
    terminates \true;
    exits \false;
    assigns product[0 .. place(rows, columns) - 1], condition[0 .. place(rows, columns) - 1];
    ensures product: vector_output(product, place(rows, columns));
    ensures condition: optional_vector(condition, place(rows, columns));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, product, place(rows, columns)) &&
      optional_vector_apart(r, condition, place(rows, columns)) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      dots_held(product, place(rows, columns), columns, inner, a.data, a.row_stride,
                a.column_stride, b.data, b.row_stride, b.column_stride);
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      magnitudes_held(condition, place(rows, columns), columns, inner, a.data, a.row_stride,
                      a.column_stride, b.data, b.row_stride, b.column_stride); */
phibal_status ffn_product(int64_t rows, int64_t inner, int64_t columns, phibal_reference_matrix a,
                          phibal_reference_matrix b, mpfr_prec_t precision,
                          phibal_enclosure *product, phibal_enclosure *condition);

/*@ // elements (i, l) of what these strides describe are among the first n
    predicate strides_inside(integer rows, integer p, integer inner, integer p_in, integer n) =
      (\forall integer i; 0 <= i < rows ==> address(place(i, p))) &&
      (\forall integer l; 0 <= l < inner ==> address(place(l, p_in))) &&
      (\forall integer i, l; 0 <= i < rows && 0 <= l < inner ==>
        0 <= place(i, p) + place(l, p_in) < n);
    // nothing but t[0..2] and n values and conditions of a result, where they are wanted, was
    predicate only_chain_written{A, B}(phibal_enclosure *t, phibal_reference_result z, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, t, 3) &&
        result_apart(r, z, n) ==> same{A, B}(r);
    // z[0..n-1] hold X W of members of x; added to members of what they held; and so for conditions
    predicate product_values{A, B}(phibal_enclosure *z, integer n, ffn_matrix x, integer size,
                                   phibal_reference_matrix w, integer inner, integer columns) =
      \forall sequence s; members{A}(x.entry.value, size, s) ==>
        chains_held{B}(z, n, columns, inner, s, x.row_stride, x.column_stride, w.data,
                       w.row_stride, w.column_stride);
    predicate values_added{A, B}(phibal_enclosure *z, integer n, ffn_matrix x, integer size,
                                 phibal_reference_matrix w, integer inner, integer columns) =
      \forall sequence s, integer k, real c; members{A}(x.entry.value, size, s) && 0 <= k < n &&
        in{A}(z + k, c) ==>
          in{B}(z + k, c + chain_entry{B}(s, x.row_stride, x.column_stride, w.data, w.row_stride,
                                          w.column_stride, inner, columns, k));
    predicate product_magnitudes{A, B}(phibal_enclosure *z, integer n, ffn_matrix x, integer size,
                                       phibal_reference_matrix w, integer inner,
                                       integer columns) =
      \forall sequence s; members{A}(x.entry.condition, size, s) ==>
        chain_magnitudes_held{B}(z, n, columns, inner, s, x.row_stride, x.column_stride, w.data,
                                 w.row_stride, w.column_stride);
    predicate magnitudes_added{A, B}(phibal_enclosure *z, integer n, ffn_matrix x, integer size,
                                     phibal_reference_matrix w, integer inner, integer columns) =
      \forall sequence s, integer k, real c; members{A}(x.entry.condition, size, s) &&
        0 <= k < n && in{A}(z + k, c) ==>
          in{B}(z + k,
                c + chain_magnitude_at{B}(s, x.row_stride, x.column_stride, w.data, w.row_stride,
                                          w.column_stride, inner, columns, k));
*/

/*@ requires 0 <= rows && 0 <= inner && 0 <= columns && 0 <= size <= ROUTING_MAX_SLOTS;
    requires place(rows, columns) <= ROUTING_MAX_SLOTS;
    requires strides_inside(rows, x.row_stride, inner, x.column_stride, size);
    requires vector_input(x.entry.value, size) && vector_input(x.entry.condition, size) &&
      vectors_apart(t, 3, x.entry.value, size) && vectors_apart(t, 3, x.entry.condition, size);
    requires matrix_there(w.data, w.row_stride, w.column_stride, inner, columns) &&
      matrix_finite(w.data, w.row_stride, w.column_stride, inner, columns) &&
      (0 < inner && 0 < columns ==> w.data != \null);
    requires vector_output(t, 3) && result_there(result, place(rows, columns)) &&
      results_apart(result, place(rows, columns), x.entry, size) &&
      optional_vectors_apart(result.value, place(rows, columns), t, 3) &&
      optional_vectors_apart(result.condition, place(rows, columns), t, 3);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], result.value[0 .. place(rows, columns) - 1],
            result.condition[0 .. place(rows, columns) - 1];
    ensures outputs: vector_output(t, 3) && result_there(result, place(rows, columns));
    ensures frame: only_chain_written{Pre, Here}(t, result, place(rows, columns));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && !add && result.value != \null ==>
      product_values{Pre, Here}(result.value, place(rows, columns), x, size, w, inner, columns);
    ensures added: \result == PHIBAL_OK && add && result.value != \null ==>
      values_added{Pre, Here}(result.value, place(rows, columns), x, size, w, inner, columns);
    ensures condition: \result == PHIBAL_OK && !add && result.value != \null &&
      result.condition != \null ==>
        product_magnitudes{Pre, Here}(result.condition, place(rows, columns), x, size, w, inner,
                                      columns);
    ensures condition_added: \result == PHIBAL_OK && add && result.value != \null &&
      result.condition != \null ==>
        magnitudes_added{Pre, Here}(result.condition, place(rows, columns), x, size, w, inner,
                                    columns); */
phibal_status ffn_chain_product(int64_t rows, int64_t inner, int64_t columns, ffn_matrix x,
                                phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                phibal_reference_result result)
    /*@ ghost (int64_t size) */;

/*@ predicate result_given{L}(phibal_reference_result r, integer n) =
      vector_input(r.value, n) && vector_input(r.condition, n);
    // the members of r's enclosures are members of z's, where there are any
    predicate copied{A, B}(phibal_reference_result r, phibal_reference_result z, integer n) =
      (z.value != \null ==> \forall integer i, real a; 0 <= i < n && in{A}(r.value + i, a) ==>
        in{B}(z.value + i, a)) &&
      (z.condition != \null ==> \forall integer i, real a; 0 <= i < n &&
        in{A}(r.condition + i, a) ==> in{B}(z.condition + i, a));
*/

/*@ requires 0 <= n && result_given(a, n) && result_given(b, n) && result_given(c, n);
    requires result_there(to_a, n) && result_there(to_b, n) && result_there(to_c, n);
    requires results_apart(to_a, n, a, n) && results_apart(to_a, n, b, n) &&
      results_apart(to_a, n, c, n) && results_apart(to_b, n, b, n) &&
      results_apart(to_b, n, c, n) && results_apart(to_c, n, c, n);
    requires results_apart(to_a, n, to_b, n) && results_apart(to_a, n, to_c, n) &&
      results_apart(to_b, n, to_c, n);
    terminates \true;
    exits \false;
    assigns to_a.value[0 .. n - 1], to_a.condition[0 .. n - 1], to_b.value[0 .. n - 1],
            to_b.condition[0 .. n - 1], to_c.value[0 .. n - 1], to_c.condition[0 .. n - 1];
    ensures outputs: result_there(to_a, n) && result_there(to_b, n) && result_there(to_c, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && result_apart(r, to_a, n) &&
      result_apart(r, to_b, n) && result_apart(r, to_c, n) ==> same{Pre, Here}(r);
    ensures first: copied{Pre, Here}(a, to_a, n);
    ensures second: copied{Pre, Here}(b, to_b, n);
    ensures third: copied{Pre, Here}(c, to_c, n); */
void ffn_results_copy(int64_t n, phibal_reference_result a, phibal_reference_result to_a,
                      phibal_reference_result b, phibal_reference_result to_b,
                      phibal_reference_result c, phibal_reference_result to_c);

#endif
