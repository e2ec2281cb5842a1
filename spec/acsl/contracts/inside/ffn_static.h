/* What the static functions of reference/ffn.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_STATIC_H

/*@ predicate forward_places{L}(phibal_reference_result a, phibal_reference_result b,
                                phibal_reference_result h, integer n, phibal_reference_result y,
                                integer m) =
      result_there(a, n) && result_there(b, n) && result_there(h, n) && result_there(y, m) &&
      forward_apart(a, b, h, n, y, m);
    predicate forward_outside(phibal_enclosure *z, integer k, phibal_reference_result a,
                              phibal_reference_result b, phibal_reference_result h, integer n,
                              phibal_reference_result y, integer m) =
      vector_result_apart(z, k, a, n) && vector_result_apart(z, k, b, n) &&
      vector_result_apart(z, k, h, n) && vector_result_apart(z, k, y, m);
    predicate only_forward_written{A, B}(phibal_reference_result a, phibal_reference_result b,
                                         phibal_reference_result h, integer n,
                                         phibal_reference_result y, integer m,
                                         phibal_enclosure *all) =
      \forall phibal_enclosure *r; \valid_read{A}(r) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && result_apart(r, a, n) &&
        result_apart(r, b, n) && result_apart(r, h, n) && result_apart(r, y, m) ==> same{A, B}(r);
*/

/*@ requires shape_ready(shape, x, w_gate, w_up, w_down) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      0 <= m;
    requires ffn_scratch_there(s, all, n) && result_there(y, m) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, y, m);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1], y.value[0 .. m - 1],
            y.condition[0 .. m - 1];
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures result: optional_vector(y.value, m);
    ensures result_condition: optional_vector(y.condition, m);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && result_apart(r, y, m) ==>
        same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      forward_held(s, n, activation, x, w_gate, w_up, shape.width, shape.hidden);
    ensures output: \result == PHIBAL_OK && y.value != \null ==> \forall sequence p;
      hidden_are(p, n, activation, x, w_gate, w_up, shape.width, shape.hidden) ==>
        chains_held(y.value, m, shape.width, shape.hidden, p, shape.hidden, 1, w_down, 1,
                    shape.hidden);
    ensures output_condition: \result == PHIBAL_OK && y.value != \null && y.condition != \null ==>
      \forall sequence p;
        hidden_conditions_are(p, n, activation, x, w_gate, w_up, shape.width, shape.hidden) ==>
          chain_magnitudes_held(y.condition, m, shape.width, shape.hidden, p, shape.hidden, 1,
                                w_down, 1, shape.hidden); */
static phibal_status
ffn_forward_activated(const char *name, ffn_shape shape, phibal_activation activation,
                      ffn_scratch s, const float *x, const float *w_gate, const float *w_up,
                      const float *w_down, mpfr_prec_t precision, phibal_reference_result y)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m) */;

/*@ requires shape_ready(shape, x, w_gate, w_up, w_down) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      0 <= m;
    requires n <= FFN_LARGEST && vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    requires forward_places(a, b, h, n, y, m) &&
      forward_outside(all, FFN_TEMPORARIES + FFN_VECTORS * n, a, b, h, n, y, m);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            a.value[0 .. n - 1], a.condition[0 .. n - 1], b.value[0 .. n - 1],
            b.condition[0 .. n - 1], h.value[0 .. n - 1], h.condition[0 .. n - 1],
            y.value[0 .. m - 1], y.condition[0 .. m - 1];
    ensures scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: only_forward_written{Pre, Here}(a, b, h, n, y, m, all);
    ensures gates: \result == PHIBAL_OK && a.value != \null ==>
      dots_held(a.value, n, shape.hidden, shape.width, x, shape.width, 1, w_gate, 1, shape.width);
    ensures gate_conditions: \result == PHIBAL_OK && a.condition != \null ==>
      magnitudes_held(a.condition, n, shape.hidden, shape.width, x, shape.width, 1, w_gate, 1,
                      shape.width);
    ensures ups: \result == PHIBAL_OK && b.value != \null ==>
      dots_held(b.value, n, shape.hidden, shape.width, x, shape.width, 1, w_up, 1, shape.width);
    ensures up_conditions: \result == PHIBAL_OK && b.condition != \null ==>
      magnitudes_held(b.condition, n, shape.hidden, shape.width, x, shape.width, 1, w_up, 1,
                      shape.width);
    ensures hidden: \result == PHIBAL_OK && h.value != \null ==>
      hidden_held(h.value, n, activation, x, w_gate, w_up, shape.width, shape.hidden);
    ensures hidden_conditions: \result == PHIBAL_OK && h.condition != \null ==>
      hidden_conditions_held(h.condition, n, activation, x, w_gate, w_up, shape.width,
                             shape.hidden);
    ensures output: \result == PHIBAL_OK && y.value != \null ==> \forall sequence p;
      hidden_are(p, n, activation, x, w_gate, w_up, shape.width, shape.hidden) ==>
        chains_held(y.value, m, shape.width, shape.hidden, p, shape.hidden, 1, w_down, 1,
                    shape.hidden);
    ensures output_condition: \result == PHIBAL_OK && y.value != \null && y.condition != \null ==>
      \forall sequence p;
        hidden_conditions_are(p, n, activation, x, w_gate, w_up, shape.width, shape.hidden) ==>
          chain_magnitudes_held(y.condition, m, shape.width, shape.hidden, p, shape.hidden, 1,
                                w_down, 1, shape.hidden); */
static phibal_status
ffn_forward_results(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                    phibal_enclosure *all, const float *x, const float *w_gate, const float *w_up,
                    const float *w_down, mpfr_prec_t precision, phibal_reference_result a,
                    phibal_reference_result b, phibal_reference_result h, phibal_reference_result y)
/*@ ghost (int64_t m) */;

/*@ requires shape_ready(shape, x, w_gate, w_up, w_down) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      0 <= m;
    requires forward_places(a, b, h, n, y, m);
    requires result_in_use(a, n) && result_in_use(b, n) && result_in_use(h, n) &&
      result_in_use(y, m);
    terminates \true;
    exits \false;
    assigns a.value[0 .. n - 1], a.condition[0 .. n - 1], b.value[0 .. n - 1],
            b.condition[0 .. n - 1], h.value[0 .. n - 1], h.condition[0 .. n - 1],
            y.value[0 .. m - 1], y.condition[0 .. m - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      result_apart(r, a, n) && result_apart(r, b, n) && result_apart(r, h, n) &&
      result_apart(r, y, m) ==> same{Pre, Here}(r);
    ensures gates: \result == PHIBAL_OK && a.value != \null ==>
      dots_held(a.value, n, shape.hidden, shape.width, x, shape.width, 1, w_gate, 1, shape.width);
    ensures gate_conditions: \result == PHIBAL_OK && a.condition != \null ==>
      magnitudes_held(a.condition, n, shape.hidden, shape.width, x, shape.width, 1, w_gate, 1,
                      shape.width);
    ensures ups: \result == PHIBAL_OK && b.value != \null ==>
      dots_held(b.value, n, shape.hidden, shape.width, x, shape.width, 1, w_up, 1, shape.width);
    ensures up_conditions: \result == PHIBAL_OK && b.condition != \null ==>
      magnitudes_held(b.condition, n, shape.hidden, shape.width, x, shape.width, 1, w_up, 1,
                      shape.width);
    ensures hidden: \result == PHIBAL_OK && h.value != \null ==>
      hidden_held(h.value, n, activation, x, w_gate, w_up, shape.width, shape.hidden);
    ensures hidden_conditions: \result == PHIBAL_OK && h.condition != \null ==>
      hidden_conditions_held(h.condition, n, activation, x, w_gate, w_up, shape.width,
                             shape.hidden);
    ensures output: \result == PHIBAL_OK && y.value != \null ==> \forall sequence p;
      hidden_are(p, n, activation, x, w_gate, w_up, shape.width, shape.hidden) ==>
        chains_held(y.value, m, shape.width, shape.hidden, p, shape.hidden, 1, w_down, 1,
                    shape.hidden);
    ensures output_condition: \result == PHIBAL_OK && y.value != \null && y.condition != \null ==>
      \forall sequence p;
        hidden_conditions_are(p, n, activation, x, w_gate, w_up, shape.width, shape.hidden) ==>
          chain_magnitudes_held(y.condition, m, shape.width, shape.hidden, p, shape.hidden, 1,
                                w_down, 1, shape.hidden); */
static phibal_status
ffn_forward_counted(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                    const float *x, const float *w_gate, const float *w_up, const float *w_down,
                    mpfr_prec_t precision, phibal_reference_result a, phibal_reference_result b,
                    phibal_reference_result h, phibal_reference_result y)
/*@ ghost (int64_t m) */;

/*@ terminates \true;
    exits \false;
    ensures hidden_conditions: \result == PHIBAL_OK && h.condition != \null ==>
      hidden_conditions_held(h.condition, place(rows, ffn->hidden), ffn->activation, x, w_gate,
                             w_up, ffn->width, ffn->hidden);
    ensures output_conditions: \result == PHIBAL_OK && y.value != \null &&
      y.condition != \null ==> \forall sequence s;
        hidden_conditions_are(s, place(rows, ffn->hidden), ffn->activation, x, w_gate, w_up,
                              ffn->width, ffn->hidden) ==>
          chain_magnitudes_held(y.condition, place(rows, ffn->width), ffn->width, ffn->hidden, s,
                                ffn->hidden, 1, w_down, 1, ffn->hidden); */
phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const float *w_down, mpfr_prec_t precision,
                                           phibal_reference_result a, phibal_reference_result b,
                                           phibal_reference_result h, phibal_reference_result y);

#endif
