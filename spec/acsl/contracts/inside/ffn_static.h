/* What the static functions of reference/ffn.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_STATIC_H

/*@ // z[0..k-1] are of none of the results
    predicate forward_outside(phibal_enclosure *z, integer k, phibal_reference_ffn_results to,
                              integer n, integer m) =
      vector_result_apart(z, k, to.a, n) && vector_result_apart(z, k, to.b, n) &&
      vector_result_apart(z, k, to.h, n) && vector_result_apart(z, k, to.y, m);
*/

/* A predicate of each vector of a, b and h, where they are wanted; of those of the scratch. */
#define OF_FORWARD(...) OF_THREE(n, to.a, to.b, to.h, __VA_ARGS__)
#define OF_FORWARD_WITH(...) OF_THREE_WITH(n, to.a, to.b, to.h, __VA_ARGS__)
#define OF_PARTS(...) OF_THREE(n, s.a, s.b, s.h, __VA_ARGS__)

/* a, b and h, where they are wanted, and their conditions; y, from the exact h, and its condition,
   from that of h; each a goal of its own. */
#define RESULTS_HELD                                                                               \
  (to.a.value != \null ==>                                                                         \
    dots_held(to.a.value, n, shape.hidden, shape.width, given.x, shape.width, 1, given.w_gate, 1,  \
              shape.width)) &&                                                                     \
    (to.a.condition != \null ==>                                                                   \
      magnitudes_held(to.a.condition, n, shape.hidden, shape.width, given.x, shape.width, 1,       \
                      given.w_gate, 1, shape.width)) &&                                            \
    (to.b.value != \null ==>                                                                       \
      dots_held(to.b.value, n, shape.hidden, shape.width, given.x, shape.width, 1, given.w_up, 1,  \
                shape.width)) &&                                                                   \
    (to.b.condition != \null ==>                                                                   \
      magnitudes_held(to.b.condition, n, shape.hidden, shape.width, given.x, shape.width, 1,       \
                      given.w_up, 1, shape.width)) &&                                              \
    (to.h.value != \null ==>                                                                       \
      hidden_held(to.h.value, n, activation, given.x, given.w_gate, given.w_up, shape.width,       \
                  shape.hidden)) &&                                                                \
    (to.h.condition != \null ==>                                                                   \
      hidden_conditions_held(to.h.condition, n, activation, given.x, given.w_gate, given.w_up,     \
                             shape.width, shape.hidden))
#define OUTPUT_HELD(y)                                                                             \
  (y.value != \null ==> \forall sequence p;                                                        \
    hidden_are(p, n, activation, given.x, given.w_gate, given.w_up, shape.width, shape.hidden) ==> \
      chains_held(y.value, m, shape.width, shape.hidden, p, shape.hidden, 1, given.w_down, 1,      \
                  shape.hidden)) &&                                                                \
    (y.value != \null && y.condition != \null ==> \forall sequence p;                             \
      hidden_conditions_are(p, n, activation, given.x, given.w_gate, given.w_up, shape.width,      \
                            shape.hidden) ==>                                                      \
        chain_magnitudes_held(y.condition, m, shape.width, shape.hidden, p, shape.hidden, 1,       \
                              given.w_down, 1, shape.hidden))

/*@ requires shape_ready(shape, given) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      0 <= m;
    requires ffn_scratch_there(s, all, n) && result_there(y, m) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, y, m);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1], y.value[0 .. m - 1],
            y.condition[0 .. m - 1];
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures result: OF_RESULT(y, m, optional_vector);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && result_apart(r, y, m) ==>
        same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      forward_held(s, n, activation, given, shape.width, shape.hidden);
    ensures output: \result == PHIBAL_OK ==> OUTPUT_HELD(y); */
static phibal_status ffn_forward_activated(const char *name, ffn_shape shape,
                                           phibal_activation activation, ffn_scratch s,
                                           phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                           phibal_reference_result y)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m) */;

/*@ requires shape_ready(shape, given) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      0 <= m;
    requires n <= FFN_LARGEST && vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    requires forward_places(to, n, m) &&
      forward_outside(all, FFN_TEMPORARIES + FFN_VECTORS * n, to, n, m);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            to.a.value[0 .. n - 1], to.a.condition[0 .. n - 1], to.b.value[0 .. n - 1],
            to.b.condition[0 .. n - 1], to.h.value[0 .. n - 1], to.h.condition[0 .. n - 1],
            to.y.value[0 .. m - 1], to.y.condition[0 .. m - 1];
    ensures scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) &&
      apart_from_forward(r, to, n, m) ==> same{Pre, Here}(r);
    ensures results: \result == PHIBAL_OK ==> RESULTS_HELD;
    ensures output: \result == PHIBAL_OK ==> OUTPUT_HELD(to.y); */
static phibal_status ffn_forward_results(const char *name, ffn_shape shape, int64_t n,
                                         phibal_activation activation, phibal_enclosure *all,
                                         phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                         phibal_reference_ffn_results to)
/*@ ghost (int64_t m) */;

/*@ requires shape_ready(shape, given) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      0 <= m;
    requires forward_places(to, n, m) && forward_in_use(to, n, m);
    terminates \true;
    exits \false;
    assigns to.a.value[0 .. n - 1], to.a.condition[0 .. n - 1], to.b.value[0 .. n - 1],
            to.b.condition[0 .. n - 1], to.h.value[0 .. n - 1], to.h.condition[0 .. n - 1],
            to.y.value[0 .. m - 1], to.y.condition[0 .. m - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      apart_from_forward(r, to, n, m) ==> same{Pre, Here}(r);
    ensures results: \result == PHIBAL_OK ==> RESULTS_HELD;
    ensures output: \result == PHIBAL_OK ==> OUTPUT_HELD(to.y); */
static phibal_status ffn_forward_counted(const char *name, ffn_shape shape, int64_t n,
                                         phibal_activation activation,
                                         phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                         phibal_reference_ffn_results to)
/*@ ghost (int64_t m) */;

/*@ terminates \true;
    exits \false;
    ensures hidden_conditions: \result == PHIBAL_OK && to.h.condition != \null ==>
      hidden_conditions_held(to.h.condition, place(rows, ffn->hidden), ffn->activation, given.x,
                             given.w_gate, given.w_up, ffn->width, ffn->hidden);
    ensures output_conditions: \result == PHIBAL_OK && to.y.value != \null &&
      to.y.condition != \null ==> \forall sequence s;
        hidden_conditions_are(s, place(rows, ffn->hidden), ffn->activation, given.x, given.w_gate,
                              given.w_up, ffn->width, ffn->hidden) ==>
          chain_magnitudes_held(to.y.condition, place(rows, ffn->width), ffn->width, ffn->hidden, s,
                                ffn->hidden, 1, given.w_down, 1, ffn->hidden); */
phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows,
                                           phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                           phibal_reference_ffn_results to);

#endif
