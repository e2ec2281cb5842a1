/* What the static functions of reference/capacity_gates.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_CAPACITY_GATES_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_CAPACITY_GATES_STATIC_H

/*@ requires input(x) && \valid(n);
    terminates \true;
    exits \false;
    assigns *n;
    ensures \result == PHIBAL_OK ==> 0 <= *n <= 4503599627370496;
    ensures \result == PHIBAL_OK ==> \forall real a; in(x, a) ==> *n - 1 < a <= *n; */
static phibal_status ceiling(const phibal_enclosure *x, int64_t *n);

/*@ requires 1 <= active && 0 <= i < slots && \valid_read(kept + (0 .. slots - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == places_before(policy, active, kept, i, slots);
    ensures 0 <= \result <= slots; */
static int64_t count_places(phibal_capacity_policy policy, int32_t active, int64_t slots,
                            const int32_t *kept, int64_t i);

/*@ requires kept == \null || \valid_read(kept + (0 .. active - 1));
    requires gates == \null || \valid_read(gates + (0 .. active - 1));
    requires gradient == \null || \valid_read(gradient + (0 .. active - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> 1 <= active && kept != \null && gates != \null &&
      (backward ==> gradient != \null);
    ensures \result == PHIBAL_OK ==> kept_real(kept, gates, active);
    ensures \result == PHIBAL_OK && gradient != \null ==> kept_real(kept, gradient, active); */
static phibal_status check_token(const char *name, int32_t active, const int32_t *kept,
                                 const float *gates, const float *gradient, bool backward);

/*@ requires 0 <= active && optional_vector(out, active);
    requires input(by.sum) && input(by.offset) && output(t);
    requires optional_vector_apart(by.sum, out, active) &&
      optional_vector_apart(by.offset, out, active) && optional_vector_apart(t, out, active) &&
      \separated(t, by.sum) && \separated(t, by.offset);
    requires out != \null ==> \valid_read(kept + (0 .. active - 1)) &&
      \valid_read(x + (0 .. active - 1)) && kept_real(kept, x, active);
    requires 0 <= by.mode <= 2;
    requires by.mode == 2 ==> \forall real a; in(by.sum, a) ==> a != 0.0;
    terminates \true;
    exits \false;
    assigns out[0 .. active - 1], *t;
    ensures outputs: optional_vector(out, active) && enclosure(t);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, t) &&
      optional_vector_apart(r, out, active) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK && out != \null && !magnitudes ==>
      \forall real a, b; in{Pre}(by.sum, a) && (by.mode == 2 ==> in{Pre}(by.offset, b)) ==>
        kept_numbers_held(out, active, kept, x, by.mode, a, b);
    ensures magnitude: \result == PHIBAL_OK && out != \null && magnitudes ==>
      \forall real a, b; in{Pre}(by.sum, a) && (by.mode == 2 ==> in{Pre}(by.offset, b)) ==>
        kept_absolutes_held(out, active, kept, x, by.mode, a, b); */
static phibal_status write_slots(int32_t active, const int32_t *kept, const float *x,
                                 bool magnitudes, kept_scaling by, phibal_enclosure *t,
                                 phibal_enclosure *out);

/*@ requires 0 <= active && \valid_read(kept + (0 .. active - 1)) &&
      \valid_read(gates + (0 .. active - 1)) && kept_real(kept, gates, active);
    requires \valid_read(gradient + (0 .. active - 1)) && kept_real(kept, gradient, active);
    requires vector_output(v, 5) && in(v, kept_sum(kept, gates, active));
    requires kept_sum(kept, gates, active) != 0.0;
    terminates \true;
    exits \false;
    assigns v[1 .. 2], v[4];
    ensures outputs: vector_output(v, 5);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, v + 1) &&
      \separated(r, v + 2) && \separated(r, v + 4) ==> same{Pre, Here}(r);
    ensures products: \result == PHIBAL_OK ==>
      in(v + 1, kept_offset(kept, gates, gradient, active));
    ensures magnitudes: \result == PHIBAL_OK ==>
      in(v + 2, kept_offset_magnitude(kept, gates, gradient, active)); */
static phibal_status divide_products(int32_t active, const int32_t *kept, const float *gates,
                                     const float *gradient, phibal_enclosure *v);

/*@ requires 0 <= active && \valid_read(kept + (0 .. active - 1)) &&
      \valid_read(gates + (0 .. active - 1)) && kept_real(kept, gates, active);
    requires back.value != \null || back.condition != \null ==> gradient != \null;
    requires gradient != \null ==>
      \valid_read(gradient + (0 .. active - 1)) && kept_real(kept, gradient, active);
    requires vector_output(v, 5);
    requires kept_results_there(kept_gates, back.value, back.condition, active);
    requires optional_vectors_apart(v, 5, kept_gates, active) &&
      optional_vectors_apart(v, 5, back.value, active) &&
      optional_vectors_apart(v, 5, back.condition, active);
    requires 0 <= mode <= 2 && in(v + 3, 0.0);
    requires mode == 2 ==> \forall real a; in(v, a) ==> a != 0.0;
    terminates \true;
    exits \false;
    assigns v[4], kept_gates[0 .. active - 1], back.value[0 .. active - 1],
            back.condition[0 .. active - 1];
    ensures scratch: vector_output(v, 5);
    ensures to_gates: optional_vector(kept_gates, active);
    ensures to_gradient: optional_vector(back.value, active);
    ensures to_condition: optional_vector(back.condition, active);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, v, 5) &&
      optional_vector_apart(r, kept_gates, active) &&
      optional_vector_apart(r, back.value, active) &&
      optional_vector_apart(r, back.condition, active) ==> same{Pre, Here}(r);
    ensures gates: \result == PHIBAL_OK && kept_gates != \null ==> \forall real a; in{Pre}(v, a) ==>
      kept_numbers_held(kept_gates, active, kept, gates, mode, a, 0.0);
    ensures gradients: \result == PHIBAL_OK && back.value != \null ==> \forall real a, b;
      in{Pre}(v, a) && (mode == 2 ==> in{Pre}(v + 1, b)) ==>
        kept_numbers_held(back.value, active, kept, gradient, mode, a, b);
    ensures conditions: \result == PHIBAL_OK && back.condition != \null ==> \forall real a, b;
      in{Pre}(v, a) && (mode == 2 ==> in{Pre}(v + 2, b)) ==>
        kept_absolutes_held(back.condition, active, kept, gradient, mode, a, b); */
static phibal_status token_results(int32_t active, int mode, const int32_t *kept,
                                   const float *gates, const float *gradient, phibal_enclosure *v,
                                   phibal_enclosure *kept_gates, phibal_reference_result back);

/*@ requires 0 <= active && \valid_read(kept + (0 .. active - 1)) &&
      \valid_read(gates + (0 .. active - 1)) && kept_real(kept, gates, active);
    requires back.value != \null || back.condition != \null ==> gradient != \null;
    requires gradient != \null ==>
      \valid_read(gradient + (0 .. active - 1)) && kept_real(kept, gradient, active);
    requires vector_output(v, 5);
    requires kept_results_there(kept_gates, back.value, back.condition, active);
    requires optional_vectors_apart(v, 5, kept_gates, active) &&
      optional_vectors_apart(v, 5, back.value, active) &&
      optional_vectors_apart(v, 5, back.condition, active);
    terminates \true;
    exits \false;
    assigns v[0 .. 4], kept_gates[0 .. active - 1], back.value[0 .. active - 1],
            back.condition[0 .. active - 1];
    ensures scratch: vector_output(v, 5);
    ensures to_gates: optional_vector(kept_gates, active);
    ensures to_gradient: optional_vector(back.value, active);
    ensures to_condition: optional_vector(back.condition, active);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, v, 5) &&
      optional_vector_apart(r, kept_gates, active) &&
      optional_vector_apart(r, back.value, active) &&
      optional_vector_apart(r, back.condition, active) ==> same{Pre, Here}(r);
    ensures gates: \result == PHIBAL_OK && kept_gates != \null ==>
      kept_numbers_held(kept_gates, active, kept, gates,
                        kept_mode(renormalise ? 1 : 0, kept, gates, active),
                        kept_sum(kept, gates, active), 0.0);
    ensures gradients: \result == PHIBAL_OK && back.value != \null ==>
      kept_numbers_held(back.value, active, kept, gradient,
                        kept_mode(renormalise ? 1 : 0, kept, gates, active),
                        kept_sum(kept, gates, active),
                        kept_offset(kept, gates, gradient, active));
    ensures conditions: \result == PHIBAL_OK && back.condition != \null ==>
      kept_absolutes_held(back.condition, active, kept, gradient,
                          kept_mode(renormalise ? 1 : 0, kept, gates, active),
                          kept_sum(kept, gates, active),
                          kept_offset_magnitude(kept, gates, gradient, active)); */
static phibal_status token_gates(int32_t active, bool renormalise, const int32_t *kept,
                                 const float *gates, const float *gradient, phibal_enclosure *v,
                                 phibal_enclosure *kept_gates, phibal_reference_result back);

#endif
