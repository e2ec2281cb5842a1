/* A factor for each expert (R5f): products, and sums of products over the slots of an expert. */
#include "slots.h"
#include <phibal/reference_gate_factor.h>
#include <phibal/acsl/contracts/inside/gate_factor_static.h>

/* Slots of experts that there are, or of padding; finite numbers where there is an expert. */
static phibal_status check_slots(const char *name, int64_t slots, int32_t experts_count,
                                 const int32_t *experts, const float *gates,
                                 const float *gradient) {
  /*@ loop invariant index: 0 <= i <= slots;
      loop invariant slots: slots_of(experts, i, experts_count);
      loop assigns i;
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++)
    if (experts[i] < -1 || experts[i] >= experts_count)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: slot %lld has expert %d of %d", name,
                               (long long)i, (int)experts[i], (int)experts_count);
  const reference_slots all = {slots, experts, 0, INT32_MAX};
  TRY(reference_slots_check(name, "a slot's gate", all, gates));
  return gradient ? reference_slots_check(name, "a slot's gradient", all, gradient) : PHIBAL_OK;
}

/* z[i] = x[i] times the factor of slot i's expert, 0 for padding; z may be null. */
static void scale_slots(int64_t slots, const int32_t *experts, const float *x, const float *factor,
                        phibal_enclosure *z)
/*@ ghost (int32_t count) */ {
  //@ assert use_enclosure && use_floating;
  if (!z) return;
  /*@ loop invariant index: 0 <= i <= slots;
      loop invariant outputs: vector_output(z, slots);
      loop invariant frame: only_vector_written{Pre, Here}(z, slots);
      loop invariant value: scaled_held(z, i, experts, x, factor);
      loop assigns i, z[0 .. slots - 1];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++) {
    double product = 0;
    if (experts[i] >= 0) product = operation_exact_product(x[i], factor[experts[i]]);
    //@ assert product: (real)product == scaled_slot(experts, x, factor, i);
    phibal_enclosure_set_d(&z[i], product);
    //@ assert before: \forall integer j; 0 <= j < i ==> same{LoopCurrent, Here}(z + j);
  }
}

/* The sums of all experts; z may be null. */
static phibal_status sum_experts(int64_t slots, int32_t count, const int32_t *experts,
                                 const float *x, const float *y, bool magnitudes,
                                 phibal_enclosure *t, phibal_enclosure *z) {
  //@ assert use_enclosure;
  if (!z) return PHIBAL_OK;
  /*@ loop invariant index: 0 <= e <= count;
      loop invariant outputs: vector_output(z, count) && enclosure(t);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, z, count);
      loop invariant value: !magnitudes ==> expert_dots_held(z, e, experts, x, y, slots);
      loop invariant magnitude: magnitudes ==>
        expert_magnitudes_held(z, e, experts, x, y, slots);
      loop assigns e, z[0 .. count - 1], *t;
      loop variant count - e; */
  for (int32_t e = 0; e < count; e++) {
    const reference_slots own = {slots, experts, e, e};
    TRY(reference_slots_sum(own, x, y, magnitudes, t, &z[e]));
    /*@ assert before: \forall integer j; 0 <= j < count && j != e ==>
          same{LoopCurrent, Here}(z + j); */
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_gate_factor(phibal_reference_factor_batch batch,
                                           mpfr_prec_t precision,
                                           phibal_reference_factor_results to) {
  const char *name = "phibal_reference_gate_factor";
  const int32_t experts_count = batch.experts_count, *experts = batch.experts;
  const float *gates = batch.gates, *factor = batch.factor;
  const float *scaled_gradient = batch.scaled_gradient;
  phibal_enclosure *scaled = to.scaled, *gate_gradient = to.gate_gradient;
  phibal_enclosure *factor_gradient = to.factor_gradient.value;
  phibal_enclosure *condition = to.factor_gradient.condition;
  //@ assert use_enclosure && use_place && open_place;
  if (batch.tokens < 0 || batch.active < 1 || !experts || !gates || !factor ||
      ((gate_gradient || factor_gradient || condition) && !scaled_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens, %d slots, or a null argument",
                             name, (long long)batch.tokens, (int)batch.active);
  TRY(operation_check_experts(name, experts_count, precision));
  TRY(operation_check_finite(name, "the factors", experts_count, factor));
  const int64_t slots = batch.tokens * batch.active;
  //@ assert slots: slots == place(batch.tokens, batch.active) && 0 <= slots;
  TRY(check_slots(name, slots, experts_count, experts, gates, scaled_gradient));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 1, precision, &t));
  //@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==> \separated(r, t);
  //@ assert given: output(t);
  /*@ assert used: (\forall integer i; 0 <= i < slots ==>
          (scaled == \null || in_use{Pre}(scaled + i)) &&
          (gate_gradient == \null || in_use{Pre}(gate_gradient + i))) &&
        (\forall integer e; 0 <= e < experts_count ==>
          (factor_gradient == \null || in_use{Pre}(factor_gradient + e)) &&
          (condition == \null || in_use{Pre}(condition + e))); */
  //@ assert scaled_there: optional_vector(scaled, slots);
  //@ assert gates_there: optional_vector(gate_gradient, slots);
  //@ assert factors_there: optional_vector(factor_gradient, experts_count);
  //@ assert conditions_there: optional_vector(condition, experts_count);
  /*@ assert apart: optional_vector_apart(t, scaled, slots) &&
        optional_vector_apart(t, gate_gradient, slots) &&
        optional_vector_apart(t, factor_gradient, experts_count) &&
        optional_vector_apart(t, condition, experts_count); */
  /*@ assert gates_apart: gate_gradient != \null ==> \forall integer i; 0 <= i < slots ==>
        optional_vector_apart(gate_gradient + i, scaled, slots); */
  /*@ assert factors_apart_1: factor_gradient != \null ==>
        \forall integer e; 0 <= e < experts_count ==>
          optional_vector_apart(factor_gradient + e, scaled, slots); */
  /*@ assert factors_apart_2: factor_gradient != \null ==>
        \forall integer e; 0 <= e < experts_count ==>
          optional_vector_apart(factor_gradient + e, gate_gradient, slots); */
  /*@ assert conditions_apart_1: condition != \null ==>
        \forall integer e; 0 <= e < experts_count ==>
          optional_vector_apart(condition + e, scaled, slots); */
  /*@ assert conditions_apart_2: condition != \null ==>
        \forall integer e; 0 <= e < experts_count ==>
          optional_vector_apart(condition + e, gate_gradient, slots); */
  /*@ assert conditions_apart_3: condition != \null ==>
        \forall integer e; 0 <= e < experts_count ==>
          optional_vector_apart(condition + e, factor_gradient, experts_count); */
  //@ ghost zero:;
  scale_slots(slots, experts, gates, factor, scaled) /*@ ghost (experts_count) */;
  //@ ghost one:;
  //@ assert gates_one: gate_gradient != \null ==> vector_same{zero, one}(gate_gradient, slots);
  /*@ assert factors_one: factor_gradient != \null ==>
        vector_same{zero, one}(factor_gradient, experts_count); */
  /*@ assert conditions_one: condition != \null ==>
        vector_same{zero, one}(condition, experts_count); */
  //@ assert scaled_there_one: optional_vector(scaled, slots);
  //@ assert gates_there_one: optional_vector(gate_gradient, slots);
  //@ assert factors_there_one: optional_vector(factor_gradient, experts_count);
  //@ assert conditions_there_one: optional_vector(condition, experts_count);
  scale_slots(slots, experts, scaled_gradient, factor, gate_gradient)
      /*@ ghost (experts_count) */;
  //@ ghost two:;
  //@ assert scaled_two: scaled != \null ==> vector_same{one, two}(scaled, slots);
  /*@ assert factors_two: factor_gradient != \null ==>
        vector_same{one, two}(factor_gradient, experts_count); */
  //@ assert conditions_two: condition != \null ==> vector_same{one, two}(condition, experts_count);
  //@ assert scaled_there_two: optional_vector(scaled, slots);
  //@ assert gates_there_two: optional_vector(gate_gradient, slots);
  //@ assert factors_there_two: optional_vector(factor_gradient, experts_count);
  //@ assert conditions_there_two: optional_vector(condition, experts_count);
  phibal_status status =
      sum_experts(slots, experts_count, experts, gates, scaled_gradient, false, t, factor_gradient);
  //@ ghost three:;
  //@ assert scaled_three: scaled != \null ==> vector_same{two, three}(scaled, slots);
  //@ assert gates_three: gate_gradient != \null ==> vector_same{two, three}(gate_gradient, slots);
  /*@ assert conditions_three: condition != \null ==>
        vector_same{two, three}(condition, experts_count); */
  //@ assert scaled_there_three: optional_vector(scaled, slots);
  //@ assert gates_there_three: optional_vector(gate_gradient, slots);
  //@ assert factors_there_three: optional_vector(factor_gradient, experts_count);
  //@ assert conditions_there_three: optional_vector(condition, experts_count);
  if (!status)
    status = sum_experts(slots, experts_count, experts, gates, scaled_gradient, true, t, condition);
  //@ ghost four:;
  //@ assert scaled_four: scaled != \null ==> vector_same{three, four}(scaled, slots);
  //@ assert gates_four: gate_gradient != \null ==> vector_same{three, four}(gate_gradient, slots);
  /*@ assert factors_four: factor_gradient != \null ==>
        vector_same{three, four}(factor_gradient, experts_count); */
  //@ assert scaled_there_four: optional_vector(scaled, slots);
  //@ assert gates_there_four: optional_vector(gate_gradient, slots);
  //@ assert factors_there_four: optional_vector(factor_gradient, experts_count);
  //@ assert conditions_there_four: optional_vector(condition, experts_count);
  operation_scratch_clear(t, 1);
  //@ assert scaled_five: scaled != \null ==> vector_same{four, Here}(scaled, slots);
  //@ assert gates_five: gate_gradient != \null ==> vector_same{four, Here}(gate_gradient, slots);
  /*@ assert factors_five: factor_gradient != \null ==>
        vector_same{four, Here}(factor_gradient, experts_count); */
  /*@ assert conditions_five: condition != \null ==>
        vector_same{four, Here}(condition, experts_count); */
  //@ assert scaled_there_five: optional_vector(scaled, slots);
  //@ assert gates_there_five: optional_vector(gate_gradient, slots);
  //@ assert factors_there_five: optional_vector(factor_gradient, experts_count);
  //@ assert conditions_there_five: optional_vector(condition, experts_count);
  return status;
}
