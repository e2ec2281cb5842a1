/* The logic of the gated FFN, (E2) and (E3), of the rows of one expert, on real numbers. ACSL only;
   after reference_moe.h's phibal_reference_result. */
#ifndef PHIBAL_ACSL_FFN_H
#define PHIBAL_ACSL_FFN_H

#include <phibal/acsl/expert.h>

/*@ // sum_l s_(from + l p) w_(l q)
    logic real chain_sum{L}(sequence s, integer from, integer p, float *w, integer q, integer n) =
      n <= 0 ? 0.0 :
      chain_sum(s, from, p, w, q, n - 1) +
        term(s, from + place(n - 1, p)) * (real)w[place(n - 1, q)];
    // element k of X W, X the terms of s with strides p, p_in, W with q_in, q
    logic real chain_entry{L}(sequence s, integer p, integer p_in, float *w, integer q_in,
                              integer q, integer inner, integer columns, integer k) =
      chain_sum(s, place(k / columns, p), p_in, w + place(k % columns, q), q_in, inner);
    // z[0..n-1] hold the first n elements of it
    predicate chains_held{L}(phibal_enclosure *z, integer n, integer columns, integer inner,
                             sequence s, integer p, integer p_in,
                             float *w, integer q_in, integer q) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, chain_entry(s, p, p_in, w, q_in, q, inner, columns, k));

    // a matrix row by row, without gaps
    predicate plain_there{L}(float *x, integer rows, integer columns) =
      matrix_there(x, columns, 1, rows, columns);
    predicate plain_finite{L}(float *x, integer rows, integer columns) =
      matrix_finite(x, columns, 1, rows, columns);
    // what a pass reads, of rows of d numbers and f hidden ones: it is there, and finite
    predicate inputs_there{L}(phibal_reference_ffn_inputs given, integer rows, integer d,
                              integer f) =
      plain_there(given.x, rows, d) && plain_there(given.w_gate, f, d) &&
      plain_there(given.w_up, f, d) && plain_there(given.w_down, d, f);
    predicate inputs_finite{L}(phibal_reference_ffn_inputs given, integer rows, integer d,
                               integer f) =
      (0 < rows ==> given.x != \null) && given.w_gate != \null && given.w_up != \null &&
      given.w_down != \null && plain_finite(given.x, rows, d) &&
      plain_finite(given.w_gate, f, d) && plain_finite(given.w_up, f, d) &&
      plain_finite(given.w_down, d, f);
    predicate ffn_there{L}(phibal_ffn *ffn, integer rows, phibal_reference_ffn_inputs given) =
      ffn != \null ==> \valid_read(ffn) && inputs_there(given, rows, ffn->width, ffn->hidden);
    // (E2): element k of x W^T, [rows][f], W [f][d]
    logic real projected{L}(float *x, float *w, integer d, integer f, integer k) =
      strided_dot(x + place(k / f, d), 1, w + place(k % f, d), 1, d);
    // element k of h
    logic real hidden_value{L}(integer kind, float *x, float *w_gate, float *w_up, integer d,
                               integer f, integer k) =
      activation_value(kind, projected(x, w_gate, d, f, k)) * projected(x, w_up, d, f, k);
    predicate hidden_held{L}(phibal_enclosure *z, integer n, integer kind, float *x, float *w_gate,
                             float *w_up, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, hidden_value(kind, x, w_gate, w_up, d, f, k));
    // s is h
    predicate hidden_are{L}(sequence s, integer n, integer kind, float *x, float *w_gate,
                            float *w_up, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        term(s, k) == hidden_value(kind, x, w_gate, w_up, d, f, k);

    // (E3): element k of h' = y' W_down, a' = h' b act'(a), b' = h' act(a)
    logic real hidden_gradient{L}(float *y, float *w_down, integer d, integer f, integer k) =
      strided_dot(y + place(k / f, d), 1, w_down + place(k % f, 1), f, d);
    logic real gate_input_gradient{L}(integer kind, float *y, float *w_down, float *a, float *b,
                                      integer d, integer f, integer k) =
      hidden_gradient(y, w_down, d, f, k) *
        (activation_derivative(kind, (real)a[k]) * (real)b[k]);
    logic real up_gradient{L}(integer kind, float *y, float *w_down, float *a,
                              integer d, integer f, integer k) =
      hidden_gradient(y, w_down, d, f, k) * activation_value(kind, (real)a[k]);
    predicate gate_gradients_are{L}(sequence s, integer n, integer kind, float *y, float *w_down,
                                    float *a, float *b, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        term(s, k) == gate_input_gradient(kind, y, w_down, a, b, d, f, k);
    predicate up_gradients_are{L}(sequence s, integer n, integer kind, float *y, float *w_down,
                                  float *a, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        term(s, k) == up_gradient(kind, y, w_down, a, d, f, k);

    // results: places where they are wanted, of values and conditions; apart from z, from others
    predicate result_there{L}(phibal_reference_result r, integer n) =
      optional_vector(r.value, n) && optional_vector(r.condition, n) &&
      optional_vectors_apart(r.value, n, r.condition, n);
    predicate result_in_use{L}(phibal_reference_result r, integer n) =
      optional_vector_in_use(r.value, n) && optional_vector_in_use(r.condition, n);
    predicate result_apart(phibal_enclosure *z, phibal_reference_result r, integer n) =
      optional_vector_apart(z, r.value, n) && optional_vector_apart(z, r.condition, n);
    predicate results_apart(phibal_reference_result r, integer n, phibal_reference_result s,
                            integer m) =
      optional_vectors_apart(r.value, n, s.value, m) &&
      optional_vectors_apart(r.value, n, s.condition, m) &&
      optional_vectors_apart(r.condition, n, s.value, m) &&
      optional_vectors_apart(r.condition, n, s.condition, m);
    predicate vector_result_apart(phibal_enclosure *z, integer k, phibal_reference_result r,
                                  integer n) =
      \forall integer i; 0 <= i < k ==> result_apart(z + i, r, n);
    predicate forward_apart(phibal_reference_result a, phibal_reference_result b,
                            phibal_reference_result h, integer n, phibal_reference_result y,
                            integer m) =
      results_apart(a, n, b, n) && results_apart(a, n, h, n) && results_apart(b, n, h, n) &&
      results_apart(y, m, a, n) && results_apart(y, m, b, n) && results_apart(y, m, h, n);

    // results of n elements each, and of m for y: they are there, apart from one another, in use;
    // z is none of theirs
    predicate forward_places{L}(phibal_reference_ffn_results to, integer n, integer m) =
      result_there(to.a, n) && result_there(to.b, n) && result_there(to.h, n) &&
      result_there(to.y, m) && forward_apart(to.a, to.b, to.h, n, to.y, m);
    predicate forward_in_use{L}(phibal_reference_ffn_results to, integer n, integer m) =
      result_in_use(to.a, n) && result_in_use(to.b, n) && result_in_use(to.h, n) &&
      result_in_use(to.y, m);
    predicate apart_from_forward(phibal_enclosure *z, phibal_reference_ffn_results to, integer n,
                                 integer m) =
      result_apart(z, to.a, n) && result_apart(z, to.b, n) && result_apart(z, to.h, n) &&
      result_apart(z, to.y, m);

    // (E3): x' = a' W_gate + b' W_up, p is a', q is b'
    predicate input_gradients_held{L}(phibal_enclosure *z, integer n, sequence p, sequence q,
                                      float *w_gate, float *w_up, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, chain_entry(p, f, 1, w_gate, d, 1, f, d, k) +
                  chain_entry(q, f, 1, w_up, d, 1, f, d, k));
    predicate gate_inputs_held{L}(phibal_enclosure *z, integer n, integer kind, float *y,
                                  float *w_down, float *a, float *b, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, gate_input_gradient(kind, y, w_down, a, b, d, f, k));
    predicate up_inputs_held{L}(phibal_enclosure *z, integer n, integer kind, float *y,
                                float *w_down, float *a, integer d, integer f) =
      \forall integer k; 0 <= k < n ==> in(z + k, up_gradient(kind, y, w_down, a, d, f, k));

    predicate ffn_gradients_in_use{L}(phibal_reference_ffn_gradients g, integer rows, integer d,
                                      integer f) =
      result_in_use(g.h, place(rows, f)) && result_in_use(g.a, place(rows, f)) &&
      result_in_use(g.b, place(rows, f)) && result_in_use(g.x, place(rows, d)) &&
      result_in_use(g.w_gate, place(f, d)) && result_in_use(g.w_up, place(f, d)) &&
      result_in_use(g.w_down, place(d, f));
    predicate intermediate_gradients_apart(phibal_reference_ffn_gradients g, integer rows,
                                           integer d, integer f) =
      results_apart(g.h, place(rows, f), g.a, place(rows, f)) &&
      results_apart(g.h, place(rows, f), g.b, place(rows, f)) &&
      results_apart(g.a, place(rows, f), g.b, place(rows, f)) &&
      results_apart(g.x, place(rows, d), g.h, place(rows, f)) &&
      results_apart(g.x, place(rows, d), g.a, place(rows, f)) &&
      results_apart(g.x, place(rows, d), g.b, place(rows, f)) &&
      results_apart(g.w_gate, place(f, d), g.h, place(rows, f)) &&
      results_apart(g.w_gate, place(f, d), g.a, place(rows, f)) &&
      results_apart(g.w_gate, place(f, d), g.b, place(rows, f)) &&
      results_apart(g.w_up, place(f, d), g.h, place(rows, f)) &&
      results_apart(g.w_up, place(f, d), g.a, place(rows, f)) &&
      results_apart(g.w_up, place(f, d), g.b, place(rows, f)) &&
      results_apart(g.w_down, place(d, f), g.h, place(rows, f)) &&
      results_apart(g.w_down, place(d, f), g.a, place(rows, f)) &&
      results_apart(g.w_down, place(d, f), g.b, place(rows, f));
    predicate weight_gradients_apart(phibal_reference_ffn_gradients g, integer rows, integer d,
                                     integer f) =
      results_apart(g.x, place(rows, d), g.w_gate, place(f, d)) &&
      results_apart(g.x, place(rows, d), g.w_up, place(f, d)) &&
      results_apart(g.x, place(rows, d), g.w_down, place(d, f)) &&
      results_apart(g.w_gate, place(f, d), g.w_up, place(f, d)) &&
      results_apart(g.w_gate, place(f, d), g.w_down, place(d, f)) &&
      results_apart(g.w_up, place(f, d), g.w_down, place(d, f));
    predicate ffn_gradients_there{L}(phibal_reference_ffn_gradients g, integer rows, integer d,
                                     integer f) =
      result_there(g.h, place(rows, f)) && result_there(g.a, place(rows, f)) &&
      result_there(g.b, place(rows, f)) && result_there(g.x, place(rows, d)) &&
      result_there(g.w_gate, place(f, d)) && result_there(g.w_up, place(f, d)) &&
      result_there(g.w_down, place(d, f)) && intermediate_gradients_apart(g, rows, d, f) &&
      weight_gradients_apart(g, rows, d, f);
    // z is none of what a pass over the products writes; none of any gradient
    predicate products_apart(phibal_enclosure *z, phibal_reference_ffn_gradients g, integer rows,
                             integer d, integer f) =
      result_apart(z, g.x, place(rows, d)) && result_apart(z, g.w_gate, place(f, d)) &&
      result_apart(z, g.w_up, place(f, d)) && result_apart(z, g.w_down, place(d, f));
    predicate ffn_gradients_apart(phibal_enclosure *z, phibal_reference_ffn_gradients g,
                                  integer rows, integer d, integer f) =
      result_apart(z, g.h, place(rows, f)) && result_apart(z, g.a, place(rows, f)) &&
      result_apart(z, g.b, place(rows, f)) && products_apart(z, g, rows, d, f);
    // (E3), of the products: x', W_gate', W_up', W_down', where p is a', q is b'
    predicate chain_gradients_held{L}(phibal_reference_ffn_gradients g, integer rows, integer d,
                                      integer f, float *x, float *w_gate, float *w_up,
                                      sequence p, sequence q) =
      (g.x.value != \null ==>
        input_gradients_held(g.x.value, place(rows, d), p, q, w_gate, w_up, d, f)) &&
      (g.w_gate.value != \null ==>
        chains_held(g.w_gate.value, place(f, d), d, rows, p, 1, f, x, d, 1)) &&
      (g.w_up.value != \null ==>
        chains_held(g.w_up.value, place(f, d), d, rows, q, 1, f, x, d, 1));
    predicate down_gradients_held{L}(phibal_reference_result z, integer rows, integer d, integer f,
                                     float *h, float *y) =
      z.value != \null ==>
        dots_held(z.value, place(d, f), f, rows, y, 1, d, h, f, 1) &&
        (z.condition != \null ==>
          magnitudes_held(z.condition, place(d, f), f, rows, y, 1, d, h, f, 1));
    predicate ffn_gradients_held{L}(phibal_reference_ffn_gradients g, integer rows, integer d,
                                    integer f, integer kind, float *x, float *w_gate, float *w_up,
                                    float *w_down, float *a, float *b, float *h, float *y) =
      (g.h.value != \null ==>
        dots_held(g.h.value, place(rows, f), f, d, y, d, 1, w_down, f, 1)) &&
      (g.h.condition != \null ==>
        magnitudes_held(g.h.condition, place(rows, f), f, d, y, d, 1, w_down, f, 1)) &&
      (g.a.value != \null ==>
        gate_inputs_held(g.a.value, place(rows, f), kind, y, w_down, a, b, d, f)) &&
      (g.b.value != \null ==>
        up_inputs_held(g.b.value, place(rows, f), kind, y, w_down, a, d, f)) &&
      (\forall sequence p, q; gate_gradients_are(p, place(rows, f), kind, y, w_down, a, b, d, f) &&
        up_gradients_are(q, place(rows, f), kind, y, w_down, a, d, f) ==>
          chain_gradients_held(g, rows, d, f, x, w_gate, w_up, p, q)) &&
      down_gradients_held(g.w_down, rows, d, f, h, y);
*/

#endif
