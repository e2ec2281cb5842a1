/* What the static functions of reference/zero_experts.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ZERO_EXPERTS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ZERO_EXPERTS_STATIC_H

/*@ requires 0 <= s.n && \valid_read(s.experts + (0 .. s.n - 1)) &&
      \valid_read(gates + (0 .. s.n - 1)) && s.last == INT32_MAX;
    requires identities_finite(s.experts, gates, s.first, s.n) && vector_output(v, 3);
    terminates \true;
    exits \false;
    assigns v[0 .. 2];
    ensures outputs: vector_output(v, 3);
    ensures frame: only_vector_written{Pre, Here}(v, 3);
    ensures value: \result == PHIBAL_OK ==>
      in(v, identity_gates(s.experts, gates, s.first, s.n));
    ensures magnitude: \result == PHIBAL_OK ==>
      in(v + 1, identity_magnitude(s.experts, gates, s.first, s.n)); */
static phibal_status sum_both(reference_slots s, const float *gates, phibal_enclosure *v);

/*@ requires 0 <= width && floats_there(v, width) && floats_there(of, width);
    requires input(c) && output(t) && vector_output(out, width);
    requires \separated(t, c) && vector_apart(t, out, width) && vector_apart(c, out, width);
    terminates \true;
    exits \false;
    assigns *t, out[0 .. width - 1];
    ensures outputs: enclosure(t) && vector_output(out, width);
    ensures frame: only_with_vector_written{Pre, Here}(t, out, width);
    ensures value: \result == PHIBAL_OK && !magnitudes ==>
      \forall real a; in{Pre}(c, a) ==> axpy_held(out, width, of, a, v);
    ensures magnitude: \result == PHIBAL_OK && magnitudes ==>
      \forall real a; in{Pre}(c, a) ==> axpy_magnitudes_held(out, width, of, a, v); */
static phibal_status axpy_vector(int64_t width, const float *of, const phibal_enclosure *c,
                                 const float *v, bool magnitudes, phibal_enclosure *t,
                                 phibal_enclosure *out);

/*@ requires 0 <= width && floats_there(v, width) && floats_there(of, width);
    requires vector_output(w, 3) && vector_output(out, width) && vector_output(condition, width);
    requires vectors_apart(w, 3, out, width) && vectors_apart(w, 3, condition, width) &&
      vectors_apart(out, width, condition, width);
    terminates \true;
    exits \false;
    assigns w[2], out[0 .. width - 1], condition[0 .. width - 1];
    ensures outputs: enclosure(w + 2) && vector_output(out, width) &&
      vector_output(condition, width);
    ensures frame: only_with_vectors_written{Pre, Here}(w + 2, out, width, condition, width);
    ensures value: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w, a) ==> axpy_held(out, width, of, a, v);
    ensures magnitude: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w + 1, a) ==>
        axpy_magnitudes_held(condition, width, of, a, v); */
static phibal_status axpy_pair(int64_t width, const float *of, const float *v, phibal_enclosure *w,
                               phibal_enclosure *out, phibal_enclosure *condition);

/*@ requires zero_rows_there(t) && vector_output(w, 3);
    requires zero_vectors_there(r, t.width) && zero_vectors_apart(r, t.width) &&
      zero_elsewhere(w, 3, r, t.width);
    terminates \true;
    exits \false;
    assigns w[2], r.y.value[0 .. t.width - 1], r.y.condition[0 .. t.width - 1],
            r.x_gradient.value[0 .. t.width - 1], r.x_gradient.condition[0 .. t.width - 1];
    ensures there: enclosure(w + 2) && zero_vectors_there(r, t.width);
    ensures frame: \forall phibal_enclosure *p; \valid_read{Pre}(p) && \separated(p, w + 2) &&
      zero_free(p, r, t.width) ==> same{Pre, Here}(p);
    ensures vectors: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w, a) ==> zero_vectors_held(r, t, a);
    ensures conditions: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w + 1, a) ==> zero_conditions_held(r, t, a); */
static phibal_status axpy_pairs(phibal_reference_zero_token t, phibal_enclosure *w,
                                phibal_reference_zero_results r);

/*@ requires zero_slots_there(t, slots) && zero_rows_there(t);
    requires 0 <= numbers && strided(t.x, numbers, 1) && strided(t.y_gradient, numbers, 1);
    requires vector_output(w, 3) && zero_vectors_there(r, t.width) && zero_numbers_there(r);
    requires zero_elsewhere(w, 3, r, t.width) && vector_apart(r.gate_gradient.value, w, 3) &&
      vector_apart(r.gate_gradient.condition, w, 3);
    requires zero_vectors_apart(r, t.width) && zero_numbers_apart(r, t.width);
    terminates \true;
    exits \false;
    assigns w[0 .. 2], r.y.value[0 .. t.width - 1], r.y.condition[0 .. t.width - 1],
            r.x_gradient.value[0 .. t.width - 1], r.x_gradient.condition[0 .. t.width - 1],
            *r.gate_gradient.value, *r.gate_gradient.condition;
    ensures there: vector_output(w, 3) && zero_vectors_there(r, t.width) && zero_numbers_there(r);
    ensures frame: \forall phibal_enclosure *p; \valid_read{Pre}(p) && vector_apart(p, w, 3) &&
      zero_free(p, r, t.width) && \separated(p, r.gate_gradient.value) &&
      \separated(p, r.gate_gradient.condition) ==> same{Pre, Here}(p);
    ensures vectors: \result == PHIBAL_OK ==>
      zero_vectors_held(r, t, identity_gates(t.experts, t.gates, t.first_zero, slots));
    ensures conditions: \result == PHIBAL_OK ==>
      zero_conditions_held(r, t, identity_magnitude(t.experts, t.gates, t.first_zero, slots));
    ensures gate: \result == PHIBAL_OK ==>
      in(r.gate_gradient.value, strided_dot(t.x, 1, t.y_gradient, 1, numbers));
    ensures gate_condition: \result == PHIBAL_OK ==>
      in(r.gate_gradient.condition, strided_magnitude(t.x, 1, t.y_gradient, 1, numbers)); */
static phibal_status zero_token(phibal_reference_zero_token t, int32_t slots, int64_t numbers,
                                phibal_enclosure *w, phibal_reference_zero_results r);

/*@ requires zero_readable(t);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> 1 <= t.active && 1 <= t.width && t.experts != \null &&
      t.gates != \null;
    ensures slots: \result == PHIBAL_OK ==> zero_slots_there(t, t.active);
    ensures rows: \result == PHIBAL_OK ==> zero_rows_there(t); */
static phibal_status check_token(const char *name, phibal_reference_zero_token t);

#endif
