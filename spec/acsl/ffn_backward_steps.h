/* What proofs of the gated FFN's backward pass do step by step. ACSL only; after ffn_steps.h. */
#ifndef PHIBAL_ACSL_FFN_BACKWARD_STEPS_H
#define PHIBAL_ACSL_FFN_BACKWARD_STEPS_H

#include <phibal/acsl/ffn_results.h>

/*@ // gradients of the products: of m elements for x', of k for each weight. Each is there, where it
    // is wanted; apart from one another; z is none of theirs; nor are n elements from z on
    predicate products_there{L}(phibal_reference_ffn_gradients g, integer m, integer k) =
      result_there(g.x, m) && result_there(g.w_gate, k) && result_there(g.w_up, k) &&
      result_there(g.w_down, k);
    predicate products_pairs_apart(phibal_reference_ffn_gradients g, integer m, integer k) =
      results_apart(g.x, m, g.w_gate, k) && results_apart(g.x, m, g.w_up, k) &&
      results_apart(g.w_gate, k, g.w_up, k) && results_apart(g.x, m, g.w_down, k) &&
      results_apart(g.w_gate, k, g.w_down, k) && results_apart(g.w_up, k, g.w_down, k);
    predicate apart_from_products(phibal_enclosure *z, phibal_reference_ffn_gradients g, integer m,
                                  integer k) =
      result_apart(z, g.x, m) && result_apart(z, g.w_gate, k) && result_apart(z, g.w_up, k) &&
      result_apart(z, g.w_down, k);
    predicate products_outside(phibal_enclosure *z, integer n, phibal_reference_ffn_gradients g,
                               integer m, integer k) =
      vector_result_apart(z, n, g.x, m) && vector_result_apart(z, n, g.w_gate, k) &&
      vector_result_apart(z, n, g.w_up, k) && vector_result_apart(z, n, g.w_down, k);
    // the same of the gradients of h, a and b, of n elements each
    predicate hidden_there{L}(phibal_reference_ffn_gradients g, integer n) =
      result_there(g.h, n) && result_there(g.a, n) && result_there(g.b, n);
    predicate apart_from_hidden(phibal_enclosure *z, phibal_reference_ffn_gradients g,
                                integer n) =
      result_apart(z, g.h, n) && result_apart(z, g.a, n) && result_apart(z, g.b, n);
    // what a pass over the products leaves alone, with temporaries t
    predicate outside_products(phibal_enclosure *r, phibal_enclosure *t,
                               phibal_reference_ffn_gradients g, integer m, integer k) =
      vector_apart(r, t, 3) && apart_from_products(r, g, m, k);
    predicate vector_apart_products(phibal_enclosure *z, integer n,
                                    phibal_reference_ffn_gradients g, integer m, integer k) =
      z != \null ==> \forall integer i; 0 <= i < n ==> apart_from_products(z + i, g, m, k);
    predicate vector_apart_copies(phibal_enclosure *z, integer m,
                                  phibal_reference_ffn_gradients g, integer n) =
      z != \null ==> \forall integer i; 0 <= i < m ==> apart_from_hidden(z + i, g, n);
*/

/* A predicate of each vector of the products' gradients g, and of those of h, a and b. */
#define OF_PRODUCTS(...)                                                                           \
  OF_RESULT(g.x, m, __VA_ARGS__) && OF_RESULT(g.w_gate, k, __VA_ARGS__) &&                         \
    OF_RESULT(g.w_up, k, __VA_ARGS__) && OF_RESULT(g.w_down, k, __VA_ARGS__)
#define OF_PRODUCTS_WITH(predicate, ...)                                                           \
  OF_RESULT_WITH(g.x, m, predicate, __VA_ARGS__) &&                                                \
    OF_RESULT_WITH(g.w_gate, k, predicate, __VA_ARGS__) &&                                         \
    OF_RESULT_WITH(g.w_up, k, predicate, __VA_ARGS__) &&                                           \
    OF_RESULT_WITH(g.w_down, k, predicate, __VA_ARGS__)
#define OF_HIDDEN(...) OF_THREE(n, g.h, g.a, g.b, __VA_ARGS__)
#define OF_HIDDEN_WITH(...) OF_THREE_WITH(n, g.h, g.a, g.b, __VA_ARGS__)

/* The elements of a weight's gradient. */
/*@ ghost
  /@ requires shape_counted(shape);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \result == place(shape.hidden, shape.width) && 0 <= \result <= ROUTING_MAX_SLOTS;
     ensures \result == place(shape.width, shape.hidden); @/
  static inline int64_t ffn_weight_size(ffn_shape shape) {
    /@ assert use_place && open_place; @/
    return shape.hidden * shape.width;
  }
*/

/* Of two results apart from one another and from t, each is left alone by a product along the chain
   into the other. */
/*@ ghost
  /@ requires results_apart(r, n, y, m);
     requires vector_result_apart(t, 3, r, n) && vector_result_apart(t, 3, y, m);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures value: r.value != \null ==> vector_outside_chain(r.value, n, t, y, m);
     ensures condition: r.condition != \null ==> vector_outside_chain(r.condition, n, t, y, m);
     ensures other_value: y.value != \null ==> vector_outside_chain(y.value, m, t, r, n);
     ensures other_condition:
       y.condition != \null ==> vector_outside_chain(y.condition, m, t, r, n); @/
  static inline void ffn_results_chained(phibal_reference_result r, int64_t n, phibal_enclosure *t,
                                         phibal_reference_result y, int64_t m) {
    ffn_results_free(y, m, r, n);
    /@ assert value_free: r.value != \null ==> \forall integer i; 0 <= i < n ==>
         vector_apart(r.value + i, t, 3); @/
    /@ assert condition_free: r.condition != \null ==> \forall integer i; 0 <= i < n ==>
         vector_apart(r.condition + i, t, 3); @/
    /@ assert other_value_free: y.value != \null ==> \forall integer i; 0 <= i < m ==>
         vector_apart(y.value + i, t, 3); @/
    /@ assert other_condition_free: y.condition != \null ==> \forall integer i; 0 <= i < m ==>
         vector_apart(y.condition + i, t, 3); @/
  }
*/

/* A matrix read by its columns is there. */
/*@ ghost
  /@ requires plain_there(w, rows, columns);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures matrix_there(w, 1, columns, columns, rows); @/
  static inline void ffn_transposed_there(const float *w, int64_t rows, int64_t columns) {
    /@ assert there: w != \null ==> \forall integer i, j; 0 <= i < rows && 0 <= j < columns ==>
         \valid_read(w + (place(i, columns) + place(j, 1))) &&
         address(place(i, columns) + place(j, 1)); @/
    /@ assert order: w != \null ==> \forall integer i, j; 0 <= i < rows && 0 <= j < columns ==>
         \valid_read(w + (place(j, 1) + place(i, columns))) &&
         address(place(j, 1) + place(i, columns)); @/
  }
*/

/* Gradients apart from one another: what h', a' and b' are copied to is left alone by a pass over
   the products, and the other way round. */
/*@ ghost
  /@ requires n == place(rows, f) && m == place(rows, d) && k == place(f, d) && k == place(d, f);
     requires intermediate_gradients_apart(g, rows, d, f);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures h: vector_apart_products(g.h.value, n, g, m, k);
     ensures h_condition: vector_apart_products(g.h.condition, n, g, m, k);
     ensures a: vector_apart_products(g.a.value, n, g, m, k);
     ensures a_condition: vector_apart_products(g.a.condition, n, g, m, k);
     ensures b: vector_apart_products(g.b.value, n, g, m, k);
     ensures b_condition: vector_apart_products(g.b.condition, n, g, m, k);
     ensures x: vector_apart_copies(g.x.value, m, g, n);
     ensures x_condition: vector_apart_copies(g.x.condition, m, g, n);
     ensures w_gate: vector_apart_copies(g.w_gate.value, k, g, n);
     ensures w_gate_condition: vector_apart_copies(g.w_gate.condition, k, g, n);
     ensures w_up: vector_apart_copies(g.w_up.value, k, g, n);
     ensures w_up_condition: vector_apart_copies(g.w_up.condition, k, g, n);
     ensures w_down: vector_apart_copies(g.w_down.value, k, g, n);
     ensures w_down_condition: vector_apart_copies(g.w_down.condition, k, g, n); @/
  static inline void ffn_gradients_free(phibal_reference_ffn_gradients g, int64_t rows, int64_t d,
                                        int64_t f, int64_t n, int64_t m, int64_t k) {
    ffn_results_free(g.h, n, g.x, m);
    ffn_results_free(g.a, n, g.x, m);
    ffn_results_free(g.b, n, g.x, m);
    ffn_results_free(g.h, n, g.w_gate, k);
    ffn_results_free(g.a, n, g.w_gate, k);
    ffn_results_free(g.b, n, g.w_gate, k);
    ffn_results_free(g.h, n, g.w_up, k);
    ffn_results_free(g.a, n, g.w_up, k);
    ffn_results_free(g.b, n, g.w_up, k);
    ffn_results_free(g.h, n, g.w_down, k);
    ffn_results_free(g.a, n, g.w_down, k);
    ffn_results_free(g.b, n, g.w_down, k);
  }
*/

#endif
