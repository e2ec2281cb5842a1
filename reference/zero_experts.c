/* Experts that compute nothing (E10): one token's output and gradients. */
#include "expert.h"
#include "slots.h"
#include <phibal/reference_zero_experts.h>
#include <phibal/acsl/contracts/inside/zero_experts_static.h>

/* v[0] = the sum of the gates of experts from s.first on, v[1] that of their absolute values; v[2]
   is a temporary. */
static phibal_status sum_both(reference_slots s, const float *gates, phibal_enclosure *v) {
  //@ assert use_enclosure;
  //@ assert first: output(v + 0);
  //@ assert second: output(v + 1);
  //@ assert third: output(v + 2);
  /*@ assert apart: \forall phibal_enclosure *r; vector_apart(r, v, 3) ==>
        \separated(r, v + 0) && \separated(r, v + 1) && \separated(r, v + 2); */
  TRY(reference_slots_sum(s, gates, NULL, false, v + 2, v));
  return reference_slots_sum(s, gates, NULL, true, v + 2, v + 1);
}

/* out = of + c v, or |of| + c |v|; t is a temporary. */
static phibal_status axpy_vector(int64_t width, const float *of, const phibal_enclosure *c,
                                 const float *v, bool magnitudes, phibal_enclosure *t,
                                 phibal_enclosure *out) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= j <= width;
      loop invariant outputs: enclosure(t) && vector_output(out, width);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, out, width);
      loop invariant value: !magnitudes ==>
        \forall real a; in{Pre}(c, a) ==> axpy_held(out, j, of, a, v);
      loop invariant magnitude: magnitudes ==>
        \forall real a; in{Pre}(c, a) ==> axpy_magnitudes_held(out, j, of, a, v);
      loop assigns j, *t, out[0 .. width - 1];
      loop variant width - j; */
  for (int64_t j = 0; j < width; j++) {
    //@ assert factor: same{Pre, Here}(c) && input(c);
    if (magnitudes)
      operation_set_magnitude(t, v[j]);
    else
      operation_set_float(t, v[j]);
    TRY(phibal_enclosure_mul(&out[j], c, t));
    /*@ assert product: \forall real a; in{Pre}(c, a) ==>
          in(out + j, a * (magnitudes ? \abs((real)v[j]) : (real)v[j])); */
    if (magnitudes)
      operation_set_magnitude(t, of[j]);
    else
      operation_set_float(t, of[j]);
    TRY(phibal_enclosure_add(&out[j], &out[j], t));
    /*@ assert last: !magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          in(out + j, axpy(of, a, v, j)); */
    /*@ assert last_magnitude: magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          in(out + j, axpy_magnitude(of, a, v, j)); */
    /*@ assert before: \forall integer i; 0 <= i < width && i != j ==>
          same{LoopCurrent, Here}(out + i); */
    /*@ assert kept: !magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          axpy_held(out, j, of, a, v); */
    /*@ assert kept_magnitudes: magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          axpy_magnitudes_held(out, j, of, a, v); */
  }
  return PHIBAL_OK;
}

/* out = of + w[0] v, condition = |of| + w[1] |v|; w[2] is a temporary. */
static phibal_status axpy_pair(int64_t width, const float *of, const float *v, phibal_enclosure *w,
                               phibal_enclosure *out, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  //@ assert first: output(w + 0);
  //@ assert second: output(w + 1);
  //@ assert third: output(w + 2);
  /*@ assert apart: \forall integer j; 0 <= j < width ==> \separated(condition + j, w + 1) &&
        \separated(condition + j, w + 2) && vector_apart(condition + j, out, width); */
  TRY(axpy_vector(width, of, w, v, false, w + 2, out));
  //@ ghost moved:;
  //@ assert kept: same{Pre, Here}(w + 1) && vector_same{Pre, Here}(condition, width);
  phibal_status status = axpy_vector(width, of, w + 1, v, true, w + 2, condition);
  //@ assert out_kept: vector_same{moved, Here}(out, width);
  return status;
}

/* The four vectors of results, by the sums w; w[2] is a temporary. */
static phibal_status axpy_pairs(phibal_reference_zero_token t, phibal_enclosure *w,
                                phibal_reference_zero_results r) {
  //@ assert use_enclosure;
  //@ assert first: output(w + 0);
  //@ assert second: output(w + 1);
  //@ assert third: output(w + 2);
  /*@ assert y_apart: \forall integer j; 0 <= j < t.width ==>
        \separated(r.y.value + j, w + 2) && pair_free(r.y.value + j, r.x_gradient, t.width) &&
        \separated(r.y.condition + j, w + 2) &&
        pair_free(r.y.condition + j, r.x_gradient, t.width); */
  /*@ assert x_apart: \forall integer j; 0 <= j < t.width ==>
        \separated(r.x_gradient.value + j, w + 2) &&
        pair_free(r.x_gradient.value + j, r.y, t.width) &&
        \separated(r.x_gradient.condition + j, w + 2) &&
        pair_free(r.x_gradient.condition + j, r.y, t.width); */
  //@ assert sums_apart: pair_free(w + 0, r.y, t.width) && pair_free(w + 1, r.y, t.width);
  phibal_status status = axpy_pair(t.width, t.y, t.x, w, r.y.value, r.y.condition);
  //@ ghost moved:;
  //@ assert x_moved: pair_same{Pre, moved}(r.x_gradient, t.width);
  //@ assert sums_moved: same{Pre, moved}(w + 0) && same{Pre, moved}(w + 1);
  //@ assert there: zero_vectors_there(r, t.width);
  if (status) return status;
  status =
      axpy_pair(t.width, t.x_gradient, t.y_gradient, w, r.x_gradient.value, r.x_gradient.condition);
  //@ assert y_kept: pair_same{moved, Here}(r.y, t.width);
  return status;
}

/* Everything, by the gates of the first `slots` slots and `numbers` products; w [3] is scratch. */
static phibal_status zero_token(phibal_reference_zero_token t, int32_t slots, int64_t numbers,
                                phibal_enclosure *w, phibal_reference_zero_results r) {
  //@ assert use_enclosure;
  //@ assert first: output(w + 0);
  //@ assert second: output(w + 1);
  //@ assert third: output(w + 2);
  /*@ assert numbers_free: zero_free(r.gate_gradient.value, r, t.width) &&
        zero_free(r.gate_gradient.condition, r, t.width); */
  const reference_slots s = {slots, t.experts, t.first_zero, INT32_MAX};
  phibal_status status = sum_both(s, t.gates, w);
  //@ ghost summed:;
  //@ assert vectors_summed: zero_vectors_same{Pre, summed}(r, t.width);
  //@ assert numbers_summed: zero_numbers_same{Pre, summed}(r);
  //@ assert there: zero_vectors_there(r, t.width) && zero_numbers_there(r);
  if (status) return status;
  status = axpy_pairs(t, w, r);
  //@ ghost moved:;
  //@ assert numbers_moved: zero_numbers_same{summed, moved}(r) && zero_numbers_there(r);
  //@ assert sums_moved: same{summed, moved}(w + 0) && same{summed, moved}(w + 1);
  //@ assert scratch_moved: vector_output(w, 3);
  if (status) return status;
  status = reference_dot_compute(numbers, t.x, 1, t.y_gradient, 1, w + 2, r.gate_gradient.value,
                                 r.gate_gradient.condition);
  //@ assert vectors_kept: zero_vectors_same{moved, Here}(r, t.width);
  //@ assert sums_kept: same{moved, Here}(w + 0) && same{moved, Here}(w + 1);
  return status;
}

/* There is all that a token takes, and it is finite. */
static phibal_status check_token(const char *name, phibal_reference_zero_token t) {
  if (t.active < 1 || t.first_zero < 0 || t.width < 1 || !t.experts || !t.gates || !t.x || !t.y ||
      !t.y_gradient || !t.x_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %d slots, %lld numbers, or a null argument", name, (int)t.active,
                             (long long)t.width);
  const reference_slots s = {t.active, t.experts, t.first_zero, INT32_MAX};
  TRY(reference_slots_check(name, "a slot's gate", s, t.gates));
  TRY(operation_check_finite(name, "x", t.width, t.x));
  TRY(operation_check_finite(name, "y", t.width, t.y));
  TRY(operation_check_finite(name, "the gradient of y", t.width, t.y_gradient));
  return operation_check_finite(name, "the gradient of x", t.width, t.x_gradient);
}

phibal_status phibal_reference_zero_experts(phibal_zero_output output,
                                            phibal_reference_zero_token token,
                                            mpfr_prec_t precision,
                                            phibal_reference_zero_results results) {
  const char *name = "phibal_reference_zero_experts";
  //@ assert use_enclosure && use_place && open_place;
  if (output < PHIBAL_ZERO_NULL || output > PHIBAL_ZERO_IDENTITY)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: output %d", name, (int)output);
  TRY(operation_check_precision(name, precision));
  TRY(check_token(name, token));
  if (!results.y.value || !results.y.condition || !results.x_gradient.value ||
      !results.x_gradient.condition || !results.gate_gradient.value ||
      !results.gate_gradient.condition)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null result", name);
  /* Of null experts no slot is an identity, and no number of x goes into the gradient of a gate. */
  const bool identities = output == PHIBAL_ZERO_IDENTITY;
  const int32_t slots = identities ? token.active : 0;
  const int64_t numbers = identities ? token.width : 0;
  /*@ assert numbers: slots == identity_slots(output, token.active) &&
        numbers == identity_slots(output, token.width); */
  //@ assert strided: strided(token.x, numbers, 1) && strided(token.y_gradient, numbers, 1);
  //@ assert slots: zero_slots_there(token, slots);
  /*@ assert in_use: vector_in_use(results.y.value, token.width) &&
        vector_in_use(results.y.condition, token.width) &&
        vector_in_use(results.x_gradient.value, token.width) &&
        vector_in_use(results.x_gradient.condition, token.width); */
  phibal_enclosure *w; /* the sum of gates, that of their absolute values, a temporary */
  phibal_status status = operation_scratch(name, 3, precision, &w);
  //@ assert vectors: zero_vectors_there(results, token.width);
  if (status) return status;
  //@ assert given: vector_output(w, 3);
  //@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==> vector_apart(r, w, 3);
  //@ assert y: both_apart(w, 3, results.y.value, token.width);
  //@ assert y_condition: both_apart(w, 3, results.y.condition, token.width);
  //@ assert x_gradient: both_apart(w, 3, results.x_gradient.value, token.width);
  //@ assert x_condition: both_apart(w, 3, results.x_gradient.condition, token.width);
  /*@ assert numbers_there: zero_numbers_there(results) &&
        vector_apart(results.gate_gradient.value, w, 3) &&
     vector_apart(results.gate_gradient.condition, w, 3); */
  status = zero_token(token, slots, numbers, w, results);
  //@ ghost done:;
  operation_scratch_clear(w, 3);
  //@ assert vectors_kept: zero_vectors_same{done, Here}(results, token.width);
  //@ assert numbers_kept: zero_numbers_same{done, Here}(results);
  //@ assert there: zero_vectors_there(results, token.width) && zero_numbers_there(results);
  return status;
}
