/* The gated FFN over the rows of one expert, backward (E3): its checks, scratch and results. */
#include "ffn_backward_group.h"
#include <phibal/acsl/contracts/inside/ffn_backward_static.h>

/* The arguments that the backward pass has besides the forward pass's. */
static phibal_status ffn_backward_check(const char *name, ffn_shape shape,
                                        phibal_reference_ffn_saved saved,
                                        const phibal_reference_ffn_gradients *gradients) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  if (!gradients) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gradients", name);
  TRY(reference_matrix_check(name, "a", n, f, &(phibal_reference_matrix){saved.a, f, 1}));
  TRY(reference_matrix_check(name, "b", n, f, &(phibal_reference_matrix){saved.b, f, 1}));
  TRY(reference_matrix_check(name, "h", n, f, &(phibal_reference_matrix){saved.h, f, 1}));
  return reference_matrix_check(name, "y_gradient", n, d,
                                &(phibal_reference_matrix){saved.y_gradient, d, 1});
}

/* ffn_backward_group with an activation's constants of its own. */
static phibal_status ffn_backward_activated(const char *name, ffn_shape shape,
                                            phibal_activation activation, ffn_scratch s,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_places(s, all, n);
  activation_work work;
  phibal_status status = activation_work_init(name, &work, activation, precision);
  /*@ assert work_set: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &work); */
  //@ assert floats_kept: \forall float *r; \valid_read{Pre}(r) ==> \valid_read(r);
  /*@ assert inputs: plain_there(given.x, shape.rows, shape.width) &&
        plain_there(given.w_gate, shape.hidden, shape.width) &&
        plain_there(given.w_up, shape.hidden, shape.width) &&
        plain_there(given.w_down, shape.width, shape.hidden); */
  /*@ assert saved: plain_there(saved.h, shape.rows, shape.hidden) &&
        plain_there(saved.y_gradient, shape.rows, shape.width) && floats_there(saved.a, n) &&
        floats_there(saved.b, n); */
  //@ assert scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert scratch_apart: vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, &work);
  //@ assert gradients: OF_PRODUCTS(optional_vector);
  //@ assert gradients_apart: OF_PRODUCTS_WITH(optional_apart_work, &work);
  if (status != PHIBAL_OK) return status;
  status = ffn_backward_group(shape, &work, s, given, saved, precision, g)
      /*@ ghost (all, n, m, k) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        outside_backward(r, all, n, g, m, k) ==> same{Pre, Here}(r); */
  //@ assert parts_before: OF_PARTS(vector_valid{Pre});
  activation_work_clear(&work);
  /*@ assert cleared: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{computed, Here}(r); */
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert parts_kept: OF_PARTS(vector_same{computed, Here});
  //@ assert kept: OF_PRODUCTS(optional_same{computed, Here});
  //@ assert left: OF_PRODUCTS(optional_vector);
  //@ assert members: OF_PRODUCTS(optional_members{computed, Here});
  //@ assert held: status == PHIBAL_OK ==> BACKWARD_HELD(activation);
  return status;
}

/* (E3) of a group, with a scratch. */
static phibal_status ffn_backward_results(const char *name, ffn_shape shape,
                                          phibal_activation activation, phibal_enclosure *all,
                                          phibal_reference_ffn_inputs given,
                                          phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                          phibal_reference_ffn_gradients g)
/*@ ghost (int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_size(shape);
  const int64_t size = shape.rows * shape.hidden;
  //@ ghost ffn_gradients_free(g, shape.rows, shape.width, shape.hidden, n, m, k);
  ffn_scratch s = ffn_scratch_cut(all, (size_t)size);
  /*@ ghost ffn_parts_chained(s, all, n, g.h, n);
            ffn_parts_chained(s, all, n, g.a, n);
            ffn_parts_chained(s, all, n, g.b, n);
            ffn_places(s, all, n); */
  //@ assert hidden_given: OF_HIDDEN(optional_vector);
  /*@ assert hidden_all:
        OF_HIDDEN_WITH(optional_vectors_apart, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert hidden_outside: OF_HIDDEN_WITH(vector_outside_backward, all, n, g, m, k);
  phibal_status status = ffn_backward_activated(name, shape, activation, s, given, saved, precision,
                                                g) /*@ ghost (all, n, m, k) */;
  //@ assert hidden_kept: OF_HIDDEN(optional_same{Pre, Here});
  //@ assert hidden_there: OF_HIDDEN(optional_vector);
  if (status != PHIBAL_OK) return status;
  //@ ghost ffn_parts_there(s, all, n);
  //@ assert given: result_given(s.back, n) && result_given(s.a, n) && result_given(s.b, n);
  /*@ assert hidden_back: OF_RESULT_WITH(g.h, n, optional_vectors_apart, s.back.value, n) &&
        OF_RESULT_WITH(g.h, n, optional_vectors_apart, s.back.condition, n); */
  /*@ assert apart: results_apart(g.h, n, s.back, n) && results_apart(g.h, n, s.a, n) &&
        results_apart(g.h, n, s.b, n) && results_apart(g.a, n, s.a, n) &&
        results_apart(g.a, n, s.b, n) && results_apart(g.b, n, s.b, n); */
  //@ ghost computed:;
  ffn_results_copy(size, s.back, g.h, s.a, g.a, s.b, g.b);
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert products_kept: OF_PRODUCTS(optional_same{computed, Here});
  //@ assert products_left: OF_PRODUCTS(optional_vector);
  //@ assert members: OF_PRODUCTS(optional_members{computed, Here});
  return status;
}

/* (E3) of a group. */
static phibal_status
ffn_backward_counted(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                     phibal_reference_ffn_inputs given, phibal_reference_ffn_saved saved,
                     mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ assert hidden_given: OF_HIDDEN(optional_vector);
  //@ assert products_given: OF_PRODUCTS(optional_vector);
  size_t all = FFN_TEMPORARIES + FFN_VECTORS * (size_t)n;
  //@ assert count: all == FFN_TEMPORARIES + FFN_VECTORS * n;
  phibal_enclosure *scratch = NULL;
  TRY(operation_scratch(name, all, precision, &scratch));
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  /*@ assert inputs: plain_there(given.x, shape.rows, shape.width) &&
        plain_there(given.w_gate, shape.hidden, shape.width) &&
        plain_there(given.w_up, shape.hidden, shape.width) &&
        plain_there(given.w_down, shape.width, shape.hidden); */
  /*@ assert saved: plain_there(saved.h, shape.rows, shape.hidden) &&
        plain_there(saved.y_gradient, shape.rows, shape.width) && floats_there(saved.a, n) &&
        floats_there(saved.b, n); */
  //@ assert hidden_free: OF_HIDDEN_WITH(optional_outside, scratch, all);
  //@ assert products_free: OF_PRODUCTS_WITH(optional_outside, scratch, all);
  //@ assert hidden_kept: OF_HIDDEN(optional_same{Pre, Here});
  //@ assert products_kept: OF_PRODUCTS(optional_same{Pre, Here});
  //@ assert hidden_there: OF_HIDDEN(optional_vector);
  //@ assert products_there: OF_PRODUCTS(optional_vector);
  /*@ assert outside: vector_result_apart(scratch, all, g.h, n) &&
        vector_result_apart(scratch, all, g.a, n) && vector_result_apart(scratch, all, g.b, n); */
  /*@ assert products_outside: vector_result_apart(scratch, all, g.x, m) &&
        vector_result_apart(scratch, all, g.w_gate, k) &&
        vector_result_apart(scratch, all, g.w_up, k) &&
        vector_result_apart(scratch, all, g.w_down, k); */
  phibal_status status = ffn_backward_results(name, shape, activation, scratch, given, saved,
                                              precision, g) /*@ ghost (n, m, k) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        apart_from_hidden(r, g, n) && apart_from_products(r, g, m, k) ==>
          same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  operation_scratch_clear(scratch, all);
  //@ assert hidden_left: OF_HIDDEN(optional_same{computed, Here});
  //@ assert products_left: OF_PRODUCTS(optional_same{computed, Here});
  //@ assert members: OF_PRODUCTS(optional_members{computed, Here});
  return status;
}

/* The conditions of the gradients, besides what the header says of h' and W_down'. */
phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients) {
  const char *name = "phibal_reference_ffn_backward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(ffn_check(name, ffn, rows, given, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  TRY(ffn_backward_check(name, shape, saved, gradients));
  /*@ ghost expert_plain(saved.a, rows, shape.hidden);
            expert_plain(saved.b, rows, shape.hidden); */
  //@ assert signs: 0 <= place(rows, ffn->hidden) && 0 <= place(rows, ffn->width);
  //@ assert counted: shape_counted(shape);
  //@ ghost int64_t m = ffn_output_size(shape), k = ffn_weight_size(shape);
  //@ ghost ffn_size(shape);
  phibal_reference_ffn_gradients g = *gradients;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  //@ ghost phibal_activation kind = ffn->activation;
  phibal_status status = ffn_backward_counted(name, shape, rows * shape.hidden, ffn->activation,
                                              given, saved, precision, g) /*@ ghost (m, k) */;
  /*@ assert products: status == PHIBAL_OK ==> \forall sequence p, q;
        gate_gradients_are(p, place(rows, f), kind, saved.y_gradient, given.w_down, saved.a,
                           saved.b, d, f) &&
        up_gradients_are(q, place(rows, f), kind, saved.y_gradient, given.w_down, saved.a, d,
                         f) ==>
          chain_gradients_held(g, rows, d, f, given.x, given.w_gate, given.w_up, p, q); */
  return status;
}
