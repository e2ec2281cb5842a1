/* What the static functions of reference/ffn_backward.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_STATIC_H

/*@ // what is neither of the scratch nor of the products' gradients
    predicate outside_backward(phibal_enclosure *r, phibal_enclosure *all, integer n,
                               phibal_reference_ffn_gradients g, integer m, integer k) =
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && apart_from_products(r, g, m, k);
    predicate vector_outside_backward(phibal_enclosure *z, integer l, phibal_enclosure *all,
                                      integer n, phibal_reference_ffn_gradients g, integer m,
                                      integer k) =
      z != \null ==> \forall integer i; 0 <= i < l ==> outside_backward(z + i, all, n, g, m, k);
*/

/* A predicate of each vector of a scratch that h', a' and b' are in. */
#define OF_PARTS(...) OF_THREE(n, s.a, s.b, s.back, __VA_ARGS__)

/* The gradients of h, a and b, where they are wanted, and their conditions, each a goal of its
   own. */
#define HIDDEN_HELD                                                                                \
  (g.h.value != \null ==>                                                                          \
    dots_held(g.h.value, n, shape.hidden, shape.width, saved.y_gradient, shape.width, 1,           \
              given.w_down, shape.hidden, 1)) &&                                                   \
    (g.h.condition != \null ==>                                                                    \
      magnitudes_held(g.h.condition, n, shape.hidden, shape.width, saved.y_gradient, shape.width,  \
                      1, given.w_down, shape.hidden, 1)) &&                                        \
    (g.a.value != \null ==>                                                                        \
      gate_inputs_held(g.a.value, n, activation, saved.y_gradient, given.w_down, saved.a, saved.b, \
                       shape.width, shape.hidden)) &&                                              \
    (g.b.value != \null ==>                                                                        \
      up_inputs_held(g.b.value, n, activation, saved.y_gradient, given.w_down, saved.a,            \
                     shape.width, shape.hidden)) &&                                                \
    (g.a.condition != \null ==>                                                                    \
      gate_conditions_held(g.a.condition, n, activation, saved.y_gradient, given.w_down, saved.a,  \
                           saved.b, shape.width, shape.hidden)) &&                                 \
    (g.b.condition != \null ==>                                                                    \
      up_conditions_held(g.b.condition, n, activation, saved.y_gradient, given.w_down, saved.a,    \
                         shape.width, shape.hidden))

/*@ requires plain_there(saved.a, shape.rows, shape.hidden) &&
      plain_there(saved.b, shape.rows, shape.hidden) &&
      plain_there(saved.h, shape.rows, shape.hidden) &&
      plain_there(saved.y_gradient, shape.rows, shape.width);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> gradients != \null &&
      (0 < shape.rows && 0 < shape.hidden ==>
        saved.a != \null && saved.b != \null && saved.h != \null) &&
      (0 < shape.rows && 0 < shape.width ==> saved.y_gradient != \null);
    ensures \result == PHIBAL_OK ==> plain_finite(saved.a, shape.rows, shape.hidden) &&
      plain_finite(saved.b, shape.rows, shape.hidden) &&
      plain_finite(saved.h, shape.rows, shape.hidden) &&
      plain_finite(saved.y_gradient, shape.rows, shape.width); */
static phibal_status ffn_backward_check(const char *name, ffn_shape shape,
                                        phibal_reference_ffn_saved saved,
                                        const phibal_reference_ffn_gradients *gradients);

/*@ requires backward_ready(shape, given, saved) && backward_sizes(shape, n, m, k) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires ffn_scratch_there(s, all, n);
    requires products_there(g, m, k) && products_pairs_apart(g, m, k) &&
      products_outside(all, FFN_TEMPORARIES + FFN_VECTORS * n, g, m, k);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures gradients: OF_PRODUCTS(optional_vector);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      outside_backward(r, all, n, g, m, k) ==> same{Pre, Here}(r);
    ensures intermediates: \result == PHIBAL_OK ==>
      backward_held(s, n, shape, activation, given, saved);
    ensures products: \result == PHIBAL_OK ==> PRODUCTS_HELD(activation); */
static phibal_status ffn_backward_activated(const char *name, ffn_shape shape,
                                            phibal_activation activation, ffn_scratch s,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */;

/*@ requires backward_ready(shape, given, saved) && backward_sizes(shape, n, m, k) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n <= FFN_LARGEST && vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    requires ffn_gradients_there(g, shape.rows, shape.width, shape.hidden);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.h, n) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.a, n) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.b, n) &&
      products_outside(all, FFN_TEMPORARIES + FFN_VECTORS * n, g, m, k);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            g.h.value[0 .. n - 1], g.h.condition[0 .. n - 1],
            g.a.value[0 .. n - 1], g.a.condition[0 .. n - 1],
            g.b.value[0 .. n - 1], g.b.condition[0 .. n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures gradients: OF_HIDDEN(optional_vector) && OF_PRODUCTS(optional_vector);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      outside_backward(r, all, n, g, m, k) && apart_from_hidden(r, g, n) ==> same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK ==> HIDDEN_HELD;
    ensures products: \result == PHIBAL_OK ==> PRODUCTS_HELD(activation); */
static phibal_status ffn_backward_results(const char *name, ffn_shape shape,
                                          phibal_activation activation, phibal_enclosure *all,
                                          phibal_reference_ffn_inputs given,
                                          phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                          phibal_reference_ffn_gradients g)
/*@ ghost (int64_t n, int64_t m, int64_t k) */;

/*@ requires backward_ready(shape, given, saved) && backward_sizes(shape, n, m, k) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires ffn_gradients_there(g, shape.rows, shape.width, shape.hidden) &&
      ffn_gradients_in_use(g, shape.rows, shape.width, shape.hidden);
    terminates \true;
    exits \false;
    assigns g.h.value[0 .. n - 1], g.h.condition[0 .. n - 1],
            g.a.value[0 .. n - 1], g.a.condition[0 .. n - 1],
            g.b.value[0 .. n - 1], g.b.condition[0 .. n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      apart_from_hidden(r, g, n) && apart_from_products(r, g, m, k) ==> same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK ==> HIDDEN_HELD;
    ensures products: \result == PHIBAL_OK ==> PRODUCTS_HELD(activation); */
static phibal_status ffn_backward_counted(const char *name, ffn_shape shape, int64_t n,
                                          phibal_activation activation,
                                          phibal_reference_ffn_inputs given,
                                          phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                          phibal_reference_ffn_gradients g)
/*@ ghost (int64_t m, int64_t k) */;

/*@ terminates \true;
    exits \false;
    ensures conditions: \result == PHIBAL_OK ==>
      gradient_conditions_held(\old(*gradients), rows, ffn->width, ffn->hidden, ffn->activation,
                               given.x, given.w_gate, given.w_up, given.w_down, saved.a, saved.b,
                               saved.y_gradient); */
phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients);

#endif
