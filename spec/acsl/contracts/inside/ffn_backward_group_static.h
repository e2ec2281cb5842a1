/* What the static functions of reference/ffn_backward_group.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GROUP_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GROUP_STATIC_H

/*@ // x', where it is wanted, from the members of a' and b'
    predicate inputs_given{A, B}(phibal_enclosure *z, integer m, ffn_scratch s, integer n,
                                 float *w_gate, float *w_up, integer d, integer f) =
      z != \null ==> \forall sequence p, q, integer i;
        members{A}(s.a.value, n, p) && members{A}(s.b.value, n, q) && 0 <= i < m ==>
          in{B}(z + i, chain_entry{B}(p, f, 1, w_gate, d, 1, f, d, i) +
                         chain_entry{B}(q, f, 1, w_up, d, 1, f, d, i));
    // its condition, from the members of those of a' and b'
    predicate input_conditions_given{A, B}(phibal_enclosure *z, integer m, ffn_scratch s,
                                           integer n, float *w_gate, float *w_up, integer d,
                                           integer f) =
      z != \null ==> \forall sequence p, q, integer i;
        members{A}(s.a.condition, n, p) && members{A}(s.b.condition, n, q) && 0 <= i < m ==>
          in{B}(z + i, chain_magnitude_at{B}(p, f, 1, w_gate, d, 1, f, d, i) +
                         chain_magnitude_at{B}(q, f, 1, w_up, d, 1, f, d, i));
*/

/*@ // h', the elements of the scratch, and their conditions
    predicate hidden_members{L}(ffn_scratch s, integer n, ffn_shape shape, float *y,
                                float *w_down) =
      \forall integer k; 0 <= k < n ==>
        in(s.back.value + k, hidden_gradient(y, w_down, shape.width, shape.hidden, k)) &&
        in(s.back.condition + k,
           hidden_gradient_magnitude(y, w_down, shape.width, shape.hidden, k));
    // elements of a vector are apart from what the gates' backward pass writes
    predicate outside_gates(phibal_enclosure *z, integer n, ffn_scratch s, activation_work *work) =
      \forall integer i; 0 <= i < n ==> \separated(z + i, work) &&
        vector_apart(z + i, s.t, FFN_TEMPORARIES) && vector_apart(z + i, s.a.value, n) &&
        vector_apart(z + i, s.a.condition, n) && vector_apart(z + i, s.b.value, n) &&
        vector_apart(z + i, s.b.condition, n);
    // nothing but work and a scratch was written
    predicate only_scratch_written{A, B}(activation_work *work, phibal_enclosure *all, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, work) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==> same{A, B}(r);
*/

/* What a' and b' are, and what their conditions are, are members of the scratch's. */
#define GRADIENT_MEMBERS(kind)                                                                     \
  (\forall sequence p; gate_gradients_are(p, n, kind, saved.y_gradient, given.w_down, saved.a,     \
                                          saved.b, shape.width, shape.hidden) ==>                  \
    members(s.a.value, n, p)) &&                                                                   \
  (\forall sequence q; up_gradients_are(q, n, kind, saved.y_gradient, given.w_down, saved.a,       \
                                        shape.width, shape.hidden) ==>                             \
    members(s.b.value, n, q)) &&                                                                   \
  (\forall sequence p; gate_conditions_are(p, n, kind, saved.y_gradient, given.w_down, saved.a,    \
                                           saved.b, shape.width, shape.hidden) ==>                 \
    members(s.a.condition, n, p)) &&                                                               \
  (\forall sequence q; up_conditions_are(q, n, kind, saved.y_gradient, given.w_down, saved.a,      \
                                         shape.width, shape.hidden) ==>                            \
    members(s.b.condition, n, q))

/*@ requires shape_counted(shape) && plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width);
    requires ffn_scratch_there(s, all, n);
    requires result_there(z, m) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, z, m);
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], z.value[0 .. m - 1], z.condition[0 .. m - 1];
    ensures outputs: vector_output(s.t, 3);
    ensures result: result_there(z, m);
    ensures frame: only_chain_written{Pre, Here}(s.t, z, m);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      inputs_given{Pre, Here}(z.value, m, s, n, w_gate, w_up, shape.width, shape.hidden);
    ensures condition: \result == PHIBAL_OK && z.value != \null ==>
      input_conditions_given{Pre, Here}(z.condition, m, s, n, w_gate, w_up, shape.width,
                                        shape.hidden); */
static phibal_status ffn_backward_input(ffn_shape shape, ffn_scratch s, const float *w_gate,
                                        const float *w_up, phibal_reference_result z)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m) */;

/*@ requires shape_counted(shape) && plain_ready(x, shape.rows, shape.width);
    requires n == place(shape.rows, shape.hidden) && k == place(shape.hidden, shape.width);
    requires vector_output(t, 3) && vector_input(u.value, n) && vector_input(u.condition, n) &&
      vectors_apart(t, 3, u.value, n) && vectors_apart(t, 3, u.condition, n);
    requires result_there(z, k) && vector_result_apart(t, 3, z, k) && results_apart(z, k, u, n);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], z.value[0 .. k - 1], z.condition[0 .. k - 1];
    ensures outputs: vector_output(t, 3);
    ensures result: result_there(z, k);
    ensures frame: only_chain_written{Pre, Here}(t, z, k);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && z.value != \null ==> \forall sequence p;
      members{Pre}(u.value, n, p) ==>
        chains_held(z.value, k, shape.width, shape.rows, p, 1, shape.hidden, x, shape.width, 1);
    ensures condition: \result == PHIBAL_OK && z.value != \null && z.condition != \null ==>
      \forall sequence p; members{Pre}(u.condition, n, p) ==>
        chain_magnitudes_held(z.condition, k, shape.width, shape.rows, p, 1, shape.hidden, x,
                              shape.width, 1); */
static phibal_status ffn_backward_weight(ffn_shape shape, phibal_reference_result u,
                                         phibal_enclosure *t, const float *x,
                                         phibal_reference_result z)
/*@ ghost (int64_t n, int64_t k) */;

/*@ requires shape_counted(shape) && plain_ready(x, shape.rows, shape.width) &&
      plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, n);
    requires result_there(g.x, m) && result_there(g.w_gate, k) && result_there(g.w_up, k);
    requires results_apart(g.x, m, g.w_gate, k) && results_apart(g.x, m, g.w_up, k) &&
      results_apart(g.w_gate, k, g.w_up, k);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.x, m) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_gate, k) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_up, k);
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1];
    ensures temporaries: vector_output(s.t, 3);
    ensures x: result_there(g.x, m);
    ensures gate: result_there(g.w_gate, k);
    ensures up: result_there(g.w_up, k);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, s.t, 3) &&
      result_apart(r, g.x, m) && result_apart(r, g.w_gate, k) && result_apart(r, g.w_up, k) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures inputs: \result == PHIBAL_OK ==>
      inputs_given{Pre, Here}(g.x.value, m, s, n, w_gate, w_up, shape.width, shape.hidden);
    ensures gates: \result == PHIBAL_OK && g.w_gate.value != \null ==> \forall sequence p;
      members{Pre}(s.a.value, n, p) ==>
        chains_held(g.w_gate.value, k, shape.width, shape.rows, p, 1, shape.hidden, x, shape.width,
                    1);
    ensures ups: \result == PHIBAL_OK && g.w_up.value != \null ==> \forall sequence q;
      members{Pre}(s.b.value, n, q) ==>
        chains_held(g.w_up.value, k, shape.width, shape.rows, q, 1, shape.hidden, x, shape.width,
                    1);
    ensures input_conditions: \result == PHIBAL_OK && g.x.value != \null ==>
      input_conditions_given{Pre, Here}(g.x.condition, m, s, n, w_gate, w_up, shape.width,
                                        shape.hidden);
    ensures gate_conditions: \result == PHIBAL_OK && g.w_gate.value != \null &&
      g.w_gate.condition != \null ==> \forall sequence p; members{Pre}(s.a.condition, n, p) ==>
        chain_magnitudes_held(g.w_gate.condition, k, shape.width, shape.rows, p, 1, shape.hidden,
                              x, shape.width, 1);
    ensures up_conditions: \result == PHIBAL_OK && g.w_up.value != \null &&
      g.w_up.condition != \null ==> \forall sequence q; members{Pre}(s.b.condition, n, q) ==>
        chain_magnitudes_held(g.w_up.condition, k, shape.width, shape.rows, q, 1, shape.hidden, x,
                              shape.width, 1); */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */;

/*@ requires shape_counted(shape) && precision <= MPFR_PREC_MAX;
    requires plain_ready(y_gradient, shape.rows, shape.width) &&
      plain_ready(w_down, shape.width, shape.hidden);
    requires ffn_scratch_there(s, all, n) && n == place(shape.rows, shape.hidden);
    terminates \true;
    exits \false;
    assigns s.back.value[0 .. n - 1], s.back.condition[0 .. n - 1];
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, s.back.value, n) && vector_apart(r, s.back.condition, n) ==>
        same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      hidden_gradients_held(s, n, shape, y_gradient, w_down); */
static phibal_status ffn_hidden_gradients(ffn_shape shape, ffn_scratch s, const float *w_down,
                                          const float *y_gradient, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all, int64_t n) */;

/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires plain_ready(saved.y_gradient, shape.rows, shape.width) &&
      plain_ready(given.w_down, shape.width, shape.hidden) && floats_there(saved.a, n) &&
        floats_there(saved.b, n);
    requires n == place(shape.rows, shape.hidden);
    requires ffn_scratch_there(s, all, n) && work_there(work, all, n);
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: only_scratch_written{Pre, Here}(work, all, n);
    ensures value: \result == PHIBAL_OK ==>
      backward_held(s, n, shape, \old(work->activation), given, saved); */
static phibal_status ffn_backward_hidden(ffn_shape shape, int64_t n, activation_work *work,
                                         ffn_scratch s, phibal_reference_ffn_inputs given,
                                         phibal_reference_ffn_saved saved, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */;

/*@ requires shape_counted(shape) && plain_ready(given.x, shape.rows, shape.width) &&
      plain_ready(given.w_gate, shape.hidden, shape.width) &&
      plain_ready(given.w_up, shape.hidden, shape.width) &&
      plain_ready(saved.h, shape.rows, shape.hidden) && plain_ready(saved.y_gradient, shape.rows,
                                                                    shape.width);
    requires precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width) && k == place(shape.width, shape.hidden);
    requires ffn_scratch_there(s, all, n);
    requires products_there(g, m, k) && products_pairs_apart(g, m, k) &&
      products_outside(all, FFN_TEMPORARIES + FFN_VECTORS * n, g, m, k);
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures temporaries: vector_output(s.t, 3);
    ensures gradients: products_there(g, m, k);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      outside_products(r, s.t, g, m, k) ==> same{Pre, Here}(r);
    ensures inputs: \result == PHIBAL_OK ==>
      inputs_given{Pre, Here}(g.x.value, m, s, n, given.w_gate, given.w_up, shape.width,
                              shape.hidden);
    ensures gates: \result == PHIBAL_OK && g.w_gate.value != \null ==> \forall sequence p;
      members{Pre}(s.a.value, n, p) ==>
        chains_held(g.w_gate.value, k, shape.width, shape.rows, p, 1, shape.hidden, given.x,
                    shape.width, 1);
    ensures ups: \result == PHIBAL_OK && g.w_up.value != \null ==> \forall sequence q;
      members{Pre}(s.b.value, n, q) ==>
        chains_held(g.w_up.value, k, shape.width, shape.rows, q, 1, shape.hidden, given.x,
                    shape.width, 1);
    ensures downs: \result == PHIBAL_OK ==>
      down_gradients_held(g.w_down, shape.rows, shape.width, shape.hidden, saved.h,
                          saved.y_gradient);
    ensures input_conditions: \result == PHIBAL_OK && g.x.value != \null ==>
      input_conditions_given{Pre, Here}(g.x.condition, m, s, n, given.w_gate, given.w_up,
                                        shape.width, shape.hidden);
    ensures gate_conditions: \result == PHIBAL_OK && g.w_gate.value != \null &&
      g.w_gate.condition != \null ==> \forall sequence p; members{Pre}(s.a.condition, n, p) ==>
        chain_magnitudes_held(g.w_gate.condition, k, shape.width, shape.rows, p, 1, shape.hidden,
                              given.x, shape.width, 1);
    ensures up_conditions: \result == PHIBAL_OK && g.w_up.value != \null &&
      g.w_up.condition != \null ==> \forall sequence q; members{Pre}(s.b.condition, n, q) ==>
        chain_magnitudes_held(g.w_up.condition, k, shape.width, shape.rows, q, 1, shape.hidden,
                              given.x, shape.width, 1); */
static phibal_status ffn_backward_gradients(ffn_shape shape, ffn_scratch s,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */;

#endif
