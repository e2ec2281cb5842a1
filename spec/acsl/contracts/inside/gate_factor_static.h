/* What the static functions of reference/gate_factor.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_GATE_FACTOR_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_GATE_FACTOR_STATIC_H

/*@ requires 0 <= slots && \valid_read(experts + (0 .. slots - 1)) &&
      \valid_read(gates + (0 .. slots - 1));
    requires gradient == \null || \valid_read(gradient + (0 .. slots - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures slots: \result == PHIBAL_OK ==> slots_of(experts, slots, experts_count);
    ensures gates: \result == PHIBAL_OK ==> slots_real(experts, gates, slots);
    ensures gradient: \result == PHIBAL_OK && gradient != \null ==>
      slots_real(experts, gradient, slots); */
static phibal_status check_slots(const char *name, int64_t slots, int32_t experts_count,
                                 const int32_t *experts, const float *gates,
                                 const float *gradient);

/*@ requires 0 <= slots && optional_vector(z, slots);
    requires z != \null ==>
      \valid_read(experts + (0 .. slots - 1)) && \valid_read(x + (0 .. slots - 1)) &&
      \valid_read(factor + (0 .. count - 1));
    requires z != \null ==> slots_of(experts, slots, count) && slots_real(experts, x, slots) &&
      floats_real(factor, count);
    terminates \true;
    exits \false;
    assigns z[0 .. slots - 1];
    ensures outputs: optional_vector(z, slots);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      optional_vector_apart(r, z, slots) ==> same{Pre, Here}(r);
    ensures value: z != \null ==> scaled_held(z, slots, experts, x, factor); */
static void scale_slots(int64_t slots, const int32_t *experts, const float *x, const float *factor,
                        phibal_enclosure *z)
/*@ ghost (int32_t count) */;

/*@ requires 0 <= slots && 0 <= count && optional_vector(z, count) && output(t) &&
      optional_vector_apart(t, z, count);
    requires z != \null ==>
      \valid_read(experts + (0 .. slots - 1)) && \valid_read(x + (0 .. slots - 1)) &&
      \valid_read(y + (0 .. slots - 1));
    requires z != \null ==> slots_real(experts, x, slots) && slots_real(experts, y, slots);
    terminates \true;
    exits \false;
    assigns z[0 .. count - 1], *t;
    ensures outputs: optional_vector(z, count) && enclosure(t);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, t) &&
      optional_vector_apart(r, z, count) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK && z != \null && !magnitudes ==>
      expert_dots_held(z, count, experts, x, y, slots);
    ensures magnitude: \result == PHIBAL_OK && z != \null && magnitudes ==>
      expert_magnitudes_held(z, count, experts, x, y, slots); */
static phibal_status sum_experts(int64_t slots, int32_t count, const int32_t *experts,
                                 const float *x, const float *y, bool magnitudes,
                                 phibal_enclosure *t, phibal_enclosure *z);

#endif
