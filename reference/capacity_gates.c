/* The limit (E7), the places of kept routes (E8), and gates with their gradient (E9). */
#include "slots.h"
#include <phibal/reference_capacity.h>

/* What the mode (kept_mode) makes of a kept slot's number x: 0, x, or (x + offset) / sum. */
typedef struct kept_scaling {
  int mode;
  const phibal_enclosure *sum, *offset;
} kept_scaling;

#include <phibal/acsl/contracts/inside/capacity_gates_static.h>

/* With 128 bits the two ends always have one ceiling. c k T is a product of 24 and 39 bits, so
   exact. A quotient that is a whole number is below 2^49, so exact too. Any other is m / (2^s E)
   with whole numbers m and 2^s E below 2^63, or is below 1: it is 2^-63 or more from a whole
   number, and both ends are within 2^-78 of it, or between 0 and 1 as it is. */
enum { LIMIT_PRECISION = 128 };

/* The least whole number that is at least x, or PHIBAL_ERROR_UNDECIDED. */
static phibal_status ceiling(const phibal_enclosure *x, int64_t *n) {
  //@ assert open_enclosure;
  *n = 0;
  if (mpfr_cmp_d(x->lo, 0) >= 0 && mpfr_cmp_d(x->hi, 0x1p52) <= 0) {
    *n = mpfr_get_si(x->hi, MPFR_RNDU);
    if (mpfr_get_si(x->lo, MPFR_RNDU) == *n) return PHIBAL_OK;
  }
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "the limit is not known from a quotient of %d bits", LIMIT_PRECISION);
}

phibal_status phibal_reference_capacity_limit(float factor, int64_t minimum, int64_t tokens,
                                              int32_t active, int32_t experts_count,
                                              int64_t *limit) {
  const char *name = "phibal_reference_capacity_limit";
  //@ assert use_enclosure && use_floating && use_place && open_place;
  if (!limit) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (!(factor >= 0 && factor <= PHIBAL_CAPACITY_MOST_FACTOR) || minimum < 0 || tokens < 0 ||
      active < 1 || experts_count < 1 || tokens > PHIBAL_CAPACITY_ROUTES / active)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: factor %g, %lld tokens of %d slots", name,
                             (double)factor, (long long)tokens, (int)active);
  //@ assert factor: \is_finite(factor);
  //@ assert slots: 0 <= place(tokens, active) <= PHIBAL_CAPACITY_ROUTES;
  const int64_t slots = tokens * active;
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, LIMIT_PRECISION, &t));
  //@ assert first: output(t + 0);
  //@ assert second: output(t + 1);
  operation_set_float(t, factor);
  phibal_enclosure_set_si(t + 1, slots);
  phibal_status status = phibal_enclosure_mul(t, t, t + 1);
  //@ assert product: in(t, (real)factor * slots);
  phibal_enclosure_set_si(t + 1, experts_count);
  //@ assert product_kept: in(t, (real)factor * slots);
  if (!status) status = phibal_enclosure_div(t, t, t + 1);
  //@ assert quotient: status == PHIBAL_OK ==> in(t, (real)factor * slots / experts_count);
  int64_t least = 0;
  if (!status) status = ceiling(t, &least);
  /*@ assert least: status == PHIBAL_OK ==>
        0 <= least && least - 1 < (real)factor * slots / experts_count <= least; */
  operation_scratch_clear(t, 2);
  *limit = least > minimum ? least : minimum;
  return status;
}

/* How many kept routes of kept route i's expert go before it. */
static int64_t count_places(phibal_capacity_policy policy, int32_t active, int64_t slots,
                            const int32_t *kept, int64_t i) {
  int64_t count = 0;
  /*@ loop invariant index: 0 <= j <= slots;
      loop invariant counted: count == places_before(policy, active, kept, i, j);
      loop invariant bounded: 0 <= count <= j;
      loop assigns j, count;
      loop variant slots - j; */
  for (int64_t j = 0; j < slots; j++) {
    const int64_t sooner = j % active - i % active;
    const bool before = policy == PHIBAL_CAPACITY_SLOT && sooner != 0 ? sooner < 0 : j < i;
    //@ assert before: (before ? 1 : 0) == stands_before(policy, active, j, i);
    if (before && kept[j] == kept[i]) count++;
  }
  return count;
}

phibal_status phibal_reference_capacity_place(phibal_capacity_policy policy, int64_t tokens,
                                              int32_t active, const int32_t *kept, int64_t *place) {
  const char *name = "phibal_reference_capacity_place";
  if (tokens < 0 || active < 1 || !kept || !place)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens of %d slots", name,
                             (long long)tokens, (int)active);
  const int64_t slots = tokens * active;
  /*@ loop invariant index: 0 <= i <= slots;
      loop invariant places: places_of(policy, active, kept, slots, place, i);
      loop assigns i, place[0 .. slots - 1];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++)
    place[i] = kept[i] < 0 ? -1 : count_places(policy, active, slots, kept, i);
  return PHIBAL_OK;
}

/* A token's slots and gates are there and finite, and a gradient where one is needed. */
static phibal_status check_token(const char *name, int32_t active, const int32_t *kept,
                                 const float *gates, const float *gradient, bool backward) {
  if (active < 1 || !kept || !gates || (backward && !gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d slots, or a null argument", name,
                             (int)active);
  const reference_slots s = {active, kept, 0, INT32_MAX};
  TRY(reference_slots_check(name, "a kept gate", s, gates));
  return gradient ? reference_slots_check(name, "a kept gate's gradient", s, gradient) : PHIBAL_OK;
}

/* Of the kept slots out[s] is x[s] scaled, with |x[s]| in the place of x[s] for magnitudes; of the
   others, 0. A null `out` is left out. */
static phibal_status write_slots(int32_t active, const int32_t *kept, const float *x,
                                 bool magnitudes, kept_scaling by, phibal_enclosure *t,
                                 phibal_enclosure *out) {
  //@ assert use_enclosure && use_floating;
  if (!out) return PHIBAL_OK;
  /*@ loop invariant index: 0 <= s <= active;
      loop invariant outputs: vector_output(out, active) && enclosure(t);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, out, active);
      loop invariant value: !magnitudes ==> \forall real a, b;
        in{Pre}(by.sum, a) && (by.mode == 2 ==> in{Pre}(by.offset, b)) ==>
          kept_numbers_held(out, s, kept, x, by.mode, a, b);
      loop invariant magnitude: magnitudes ==> \forall real a, b;
        in{Pre}(by.sum, a) && (by.mode == 2 ==> in{Pre}(by.offset, b)) ==>
          kept_absolutes_held(out, s, kept, x, by.mode, a, b);
      loop assigns s, out[0 .. active - 1], *t;
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    //@ assert given: same{Pre, Here}(by.sum) && same{Pre, Here}(by.offset);
    phibal_enclosure_set_si(t, 0);
    if (kept[s] >= 0 && by.mode != 0) {
      if (magnitudes)
        operation_set_magnitude(t, x[s]);
      else
        operation_set_float(t, x[s]);
    }
    /*@ assert alone: in(t, kept[s] < 0 || by.mode == 0 ? 0.0
                            : magnitudes ? \abs((real)x[s]) : (real)x[s]); */
    if (kept[s] >= 0 && by.mode == 2) {
      TRY(phibal_enclosure_add(t, t, by.offset));
      /*@ assert added: \forall real b; in{Pre}(by.offset, b) ==>
            in(t, (magnitudes ? \abs((real)x[s]) : (real)x[s]) + b); */
      TRY(phibal_enclosure_div(t, t, by.sum));
      /*@ assert divided: \forall real a, b; in{Pre}(by.sum, a) && in{Pre}(by.offset, b) ==>
            in(t, ((magnitudes ? \abs((real)x[s]) : (real)x[s]) + b) / a); */
    }
    /*@ assert number: !magnitudes ==> \forall real a, b;
          in{Pre}(by.sum, a) && (by.mode == 2 ==> in{Pre}(by.offset, b)) ==>
            in(t, kept_number(kept, x, by.mode, a, b, s)); */
    /*@ assert absolute: magnitudes ==> \forall real a, b;
          in{Pre}(by.sum, a) && (by.mode == 2 ==> in{Pre}(by.offset, b)) ==>
            in(t, kept_absolute(kept, x, by.mode, a, b, s)); */
    phibal_enclosure_set(out + s, t);
    /*@ assert before: \forall integer j; 0 <= j < active && j != s ==>
          same{LoopCurrent, Here}(out + j); */
  }
  return PHIBAL_OK;
}

/* v[1] = -(sum of the products with the gradient) / v[0], v[2] = (sum of their absolute values) /
   v[0]; v[0] is the sum of the kept gates, which is not 0, and v[4] a temporary. */
static phibal_status divide_products(int32_t active, const int32_t *kept, const float *gates,
                                     const float *gradient, phibal_enclosure *v) {
  //@ assert use_enclosure;
  //@ assert first: output(v + 0);
  //@ assert second: output(v + 1);
  //@ assert third: output(v + 2);
  //@ assert fourth: output(v + 3);
  //@ assert fifth: output(v + 4);
  const reference_slots s = {active, kept, 0, INT32_MAX};
  TRY(reference_slots_sum(s, gates, gradient, false, v + 4, v + 1));
  TRY(phibal_enclosure_div(v + 1, v + 1, v));
  phibal_enclosure_neg(v + 1, v + 1);
  //@ assert offset: in(v + 1, kept_offset(kept, gates, gradient, active));
  //@ ghost offset:;
  TRY(reference_slots_sum(s, gates, gradient, true, v + 4, v + 2));
  //@ assert sum: same{Pre, Here}(v + 0) && same{offset, Here}(v + 1);
  return phibal_enclosure_div(v + 2, v + 2, v);
}

/* The three results, each of which may be null, by the sums v. */
static phibal_status token_results(int32_t active, int mode, const int32_t *kept,
                                   const float *gates, const float *gradient, phibal_enclosure *v,
                                   phibal_enclosure *kept_gates, phibal_reference_result back) {
  //@ assert use_enclosure;
  //@ assert first: output(v + 0);
  //@ assert second: output(v + 1);
  //@ assert third: output(v + 2);
  //@ assert fourth: output(v + 3);
  //@ assert fifth: output(v + 4);
  /*@ assert apart_gates: optional_vector_apart(v + 0, kept_gates, active) &&
        optional_vector_apart(v + 1, kept_gates, active) &&
        optional_vector_apart(v + 2, kept_gates, active) &&
        optional_vector_apart(v + 3, kept_gates, active) &&
        optional_vector_apart(v + 4, kept_gates, active); */
  /*@ assert apart_gradient: optional_vector_apart(v + 0, back.value, active) &&
        optional_vector_apart(v + 1, back.value, active) &&
        optional_vector_apart(v + 2, back.value, active) &&
        optional_vector_apart(v + 3, back.value, active) &&
        optional_vector_apart(v + 4, back.value, active); */
  /*@ assert apart_condition: optional_vector_apart(v + 0, back.condition, active) &&
        optional_vector_apart(v + 2, back.condition, active) &&
        optional_vector_apart(v + 4, back.condition, active); */
  /*@ assert gradient_apart: back.value != \null ==> \forall integer i; 0 <= i < active ==>
        optional_vector_apart(back.value + i, kept_gates, active) &&
        \separated(back.value + i, v + 4); */
  /*@ assert condition_apart_1: back.condition != \null ==> \forall integer i; 0 <= i < active ==>
        optional_vector_apart(back.condition + i, kept_gates, active); */
  /*@ assert condition_apart_2: back.condition != \null ==> \forall integer i; 0 <= i < active ==>
        optional_vector_apart(back.condition + i, back.value, active); */
  /*@ assert condition_apart_3: back.condition != \null ==> \forall integer i; 0 <= i < active ==>
        \separated(back.condition + i, v + 4); */
  /*@ assert gates_apart: kept_gates != \null ==> \forall integer i; 0 <= i < active ==>
        optional_vector_apart(kept_gates + i, back.value, active) &&
        optional_vector_apart(kept_gates + i, back.condition, active) &&
        \separated(kept_gates + i, v + 4); */
  /*@ assert gradient_apart_condition: back.value != \null ==> \forall integer i;
        0 <= i < active ==> optional_vector_apart(back.value + i, back.condition, active); */
  //@ ghost zero:;
  const kept_scaling plain = {mode, v, v + 3}, shifted = {mode, v, v + 1}, sizes = {mode, v, v + 2};
  TRY(write_slots(active, kept, gates, false, plain, v + 4, kept_gates));
  //@ ghost one:;
  /*@ assert sums_one: same{zero, one}(v + 0) && same{zero, one}(v + 1) && same{zero, one}(v + 2) &&
        same{zero, one}(v + 3); */
  //@ assert gradient_one: back.value != \null ==> vector_same{zero, one}(back.value, active);
  /*@ assert condition_one: back.condition != \null ==>
        vector_same{zero, one}(back.condition, active); */
  //@ assert some_one: mode == 2 ==> \forall real a; in(v, a) ==> a != 0.0;
  TRY(write_slots(active, kept, gradient, false, shifted, v + 4, back.value));
  //@ ghost two:;
  /*@ assert sums_two: same{zero, two}(v + 0) && same{zero, two}(v + 1) && same{zero, two}(v + 2) &&
        same{zero, two}(v + 3); */
  //@ assert gates_two: kept_gates != \null ==> vector_same{one, two}(kept_gates, active);
  /*@ assert condition_two: back.condition != \null ==>
        vector_same{one, two}(back.condition, active); */
  //@ assert some_two: mode == 2 ==> \forall real a; in(v, a) ==> a != 0.0;
  phibal_status status = write_slots(active, kept, gradient, true, sizes, v + 4, back.condition);
  //@ assert gates_three: kept_gates != \null ==> vector_same{two, Here}(kept_gates, active);
  /*@ assert gradient_three: back.value != \null ==>
        vector_same{two, Here}(back.value, active); */
  return status;
}

/* A token. v [5] is scratch: the sum of the kept gates, those of products divided by it, 0, and a
   temporary. */
static phibal_status token_gates(int32_t active, bool renormalise, const int32_t *kept,
                                 const float *gates, const float *gradient, phibal_enclosure *v,
                                 phibal_enclosure *kept_gates, phibal_reference_result back) {
  //@ assert use_enclosure;
  //@ assert first: output(v + 0);
  //@ assert second: output(v + 1);
  //@ assert third: output(v + 2);
  //@ assert fourth: output(v + 3);
  //@ assert fifth: output(v + 4);
  /*@ assert apart: \forall phibal_enclosure *r; vector_apart(r, v, 5) ==> \separated(r, v + 0) &&
        \separated(r, v + 1) && \separated(r, v + 2) && \separated(r, v + 3) &&
        \separated(r, v + 4); */
  /*@ assert gates_apart: kept_gates != \null ==> \forall integer i; 0 <= i < active ==>
        vector_apart(kept_gates + i, v, 5); */
  /*@ assert gradient_apart: back.value != \null ==> \forall integer i; 0 <= i < active ==>
        vector_apart(back.value + i, v, 5); */
  /*@ assert condition_apart: back.condition != \null ==> \forall integer i; 0 <= i < active ==>
        vector_apart(back.condition + i, v, 5); */
  phibal_enclosure_set_si(v + 3, 0);
  const reference_slots s = {active, kept, 0, INT32_MAX};
  phibal_status status = reference_slots_sum(s, gates, NULL, false, v + 4, v);
  //@ assert gates_summed: kept_gates != \null ==> vector_same{Pre, Here}(kept_gates, active);
  /*@ assert gradient_summed: back.value != \null ==>
        vector_same{Pre, Here}(back.value, active); */
  /*@ assert condition_summed: back.condition != \null ==>
        vector_same{Pre, Here}(back.condition, active); */
  //@ assert gates_there: optional_vector(kept_gates, active);
  //@ assert gradient_there: optional_vector(back.value, active);
  //@ assert condition_there: optional_vector(back.condition, active);
  if (status) return status;
  int mode = 1;
  if (renormalise) mode = phibal_enclosure_is_zero(v) ? 0 : 2;
  if (mode == 2 && phibal_enclosure_contains_zero(v))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "the sum of a token's kept gates may be 0");
  //@ assert some: mode == 2 ==> \forall real a; in(v, a) ==> a != 0.0;
  //@ assert mode: mode == kept_mode(renormalise ? 1 : 0, kept, gates, active);
  //@ ghost summed:;
  if (gradient && mode == 2) status = divide_products(active, kept, gates, gradient, v);
  //@ assert gates_divided: kept_gates != \null ==> vector_same{summed, Here}(kept_gates, active);
  /*@ assert gradient_divided: back.value != \null ==>
        vector_same{summed, Here}(back.value, active); */
  /*@ assert condition_divided: back.condition != \null ==>
        vector_same{summed, Here}(back.condition, active); */
  //@ assert gates_there_still: optional_vector(kept_gates, active);
  //@ assert gradient_there_still: optional_vector(back.value, active);
  //@ assert condition_there_still: optional_vector(back.condition, active);
  if (status) return status;
  //@ assert kept: same{summed, Here}(v + 0) && same{summed, Here}(v + 3) && in(v + 3, 0.0);
  //@ assert sum: in(v, kept_sum(kept, gates, active));
  //@ assert still_some: mode == 2 ==> \forall real a; in(v, a) ==> a != 0.0;
  return token_results(active, mode, kept, gates, gradient, v, kept_gates, back);
}

phibal_status phibal_reference_capacity_gates(int32_t active, bool renormalise, const int32_t *kept,
                                              const float *gates, const float *kept_gradient,
                                              mpfr_prec_t precision, phibal_enclosure *kept_gates,
                                              phibal_reference_result gate_gradient) {
  const char *name = "phibal_reference_capacity_gates";
  //@ assert use_enclosure;
  TRY(operation_check_precision(name, precision));
  const bool backward = gate_gradient.value || gate_gradient.condition;
  TRY(check_token(name, active, kept, gates, kept_gradient, backward));
  phibal_enclosure *v;
  TRY(operation_scratch(name, 5, precision, &v));
  //@ assert given: vector_output(v, 5);
  //@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==> vector_apart(r, v, 5);
  //@ assert gates_there: optional_vector(kept_gates, active);
  //@ assert gradient_there: optional_vector(gate_gradient.value, active);
  //@ assert condition_there: optional_vector(gate_gradient.condition, active);
  //@ assert gates_used: kept_gates != \null ==> vector_in_use{Pre}(kept_gates, active);
  /*@ assert gradient_used: gate_gradient.value != \null ==>
        vector_in_use{Pre}(gate_gradient.value, active); */
  /*@ assert condition_used: gate_gradient.condition != \null ==>
        vector_in_use{Pre}(gate_gradient.condition, active); */
  //@ assert gates_apart: optional_vectors_apart(v, 5, kept_gates, active);
  //@ assert gradient_apart: optional_vectors_apart(v, 5, gate_gradient.value, active);
  //@ assert condition_apart: optional_vectors_apart(v, 5, gate_gradient.condition, active);
  phibal_status status =
      token_gates(active, renormalise, kept, gates, kept_gradient, v, kept_gates, gate_gradient);
  //@ ghost done:;
  operation_scratch_clear(v, 5);
  //@ assert gates_kept: kept_gates != \null ==> vector_same{done, Here}(kept_gates, active);
  /*@ assert gradient_kept: gate_gradient.value != \null ==>
        vector_same{done, Here}(gate_gradient.value, active); */
  /*@ assert condition_kept: gate_gradient.condition != \null ==>
        vector_same{done, Here}(gate_gradient.condition, active); */
  return status;
}
