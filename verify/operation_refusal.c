/* What a router must refuse (R9): NaN or infinity among the logits of an unmasked token, or in the
   bias. And what it must not refuse: NaN in padding, and finite logits whose exponentials overflow.
   Paired cases have the same kinds with several such numbers, the first of which is to be named. */
#include "case_number.h"
#include "judgement.h"
#include "selection.h"
#include <float.h>
#include <math.h>
#include <phibal/router.h>
#include <phibal/status.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAM_REFUSAL = 140 };

static const char *const refusal_kinds[] = {
    "not-a-number", "infinite-logits", "infinite-bias", "padding",  "overflow", "ordinary",
    "odd-experts",  "one-token",       "one-expert",    "no-token", "k-one",    "most-experts"};

enum { REFUSAL_KINDS = sizeof refusal_kinds / sizeof *refusal_kinds };

const char *operation_kind_refusal(uint64_t number) {
  return refusal_kinds[number % REFUSAL_KINDS];
}

phibal_status operation_router_refusal_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_REFUSAL, c->number);
  const bool small = case_is_small(c->number);
  int64_t E = random_integer(&r, 2, small ? 4 : 40), T = random_integer(&r, 1, small ? 4 : 40);
  if (case_is_kind(c, "one-token")) T = 1;
  if (case_is_kind(c, "no-token")) T = 0;
  if (case_is_kind(c, "one-expert")) E = 1;
  if (case_is_kind(c, "odd-experts")) E = small ? 3 : 9 + 8 * random_integer(&r, 0, 9);
  if (case_is_kind(c, "most-experts") && !small)
    E = PHIBAL_MAX_EXPERTS, T = random_integer(&r, 1, 3);
  if (case_is_kind(c, "padding") && T < 3) T = 3;
  const int64_t k = case_is_kind(c, "k-one") ? 1 : random_integer(&r, 1, E < 8 ? E : 8);
  const bool biased = case_is_kind(c, "infinite-bias") || random_integer(&r, 0, 1) == 0;
  const bool masked = T > 1 && (case_is_kind(c, "padding") || random_integer(&r, 0, 2) == 0);
  case_integer(c, "k", k);
  case_text(c, "gate", selection_gates[random_integer(&r, 0, 2)]);
  case_real(c, "scale", 1);
  float *logits = case_add_input(c, "logits", TENSOR_F32, 2, T, E);
  float *bias = biased ? case_add_input(c, "bias", TENSOR_F32, 1, E) : NULL;
  uint8_t *mask = masked ? case_add_input(c, "mask", TENSOR_U8, 1, T) : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  for (int64_t i = 0; i < T * E; i++) logits[i] = (float)random_normal(&r);
  for (int64_t e = 0; biased && e < E; e++) bias[e] = (float)(0.1 * random_normal(&r));
  for (int64_t t = 0; masked && t < T; t++) {
    mask[t] = t == 0 || (t != 1 && random_integer(&r, 0, 2) > 0);
    if (!mask[t]) logits[t * E + t % E] = t % 3 == 0 ? -INFINITY : NAN;
  }
  /* The number that may be bad is in a token that counts. Of odd numbers of experts it is the last
     one's, so that these cases alone tell whether the columns after the last block of eight are
     looked at. */
  int64_t token = T > 0 ? random_integer(&r, 0, T - 1) : 0;
  while (masked && !mask[token]) token--;
  const int64_t most = E < 8 ? E : E & ~INT64_C(7);
  const int64_t column = case_is_kind(c, "odd-experts") ? E - 1 : random_integer(&r, 0, most - 1);
  float *place = T > 0 ? &logits[token * E + column] : NULL;
  const float infinite = random_integer(&r, 0, 1) ? INFINITY : -INFINITY;
  bool bad = true;
  if (case_is_kind(c, "infinite-bias")) {
    bias[column] = random_integer(&r, 0, 2) ? infinite : NAN;
  } else if (case_is_kind(c, "infinite-logits")) {
    *place = infinite;
  } else if (case_is_kind(c, "overflow")) {
    for (int64_t i = 0; i < T * E; i++)
      if (isfinite(logits[i])) logits[i] = random_integer(&r, 0, 1) ? FLT_MAX : -FLT_MAX;
    bad = false;
  } else {
    /* Of the kinds that are sizes, every second has one. */
    bad = case_is_kind(c, "not-a-number") ||
          (place && !case_is_kind(c, "ordinary") && !case_is_kind(c, "padding") &&
           (case_is_kind(c, "odd-experts") || random_integer(&r, 0, 1) == 0));
    if (bad) {
      *place = NAN;
      if (!case_is_kind(c, "odd-experts")) case_flag(c, FLAG_NOT_A_NUMBER);
    }
  }
  /* Of several, the first bias, or the first token's first expert. */
  const bool of_bias = case_is_kind(c, "infinite-bias");
  if (case_is_paired(c->number) && bad && !case_is_kind(c, "odd-experts")) {
    for (int64_t e = column + 1; e < E; e++)
      if (random_integer(&r, 0, 2) == 0) *(of_bias ? &bias[e] : &logits[token * E + e]) = infinite;
    for (int64_t t = token + 1; t < T && !of_bias; t++)
      if (random_integer(&r, 0, 1)) logits[t * E + random_integer(&r, 0, most - 1)] = infinite;
  }
  if (masked && !bad) case_flag(c, FLAG_PADDING);
  case_add_output(c, OUTPUT_REFUSED, "refused", TENSOR_I32, 1, (int64_t)1);
  case_add_output(c, OUTPUT_REFUSED_PLACE, "place", TENSOR_I32, 1, (int64_t)2)->optional = true;
  return PHIBAL_OK;
}

phibal_status operation_router_refusal_cpu(operation_case *c) {
  const tensor *logits = case_input(c, "logits");
  const int64_t T = logits->shape[0];
  const phibal_router router = {.experts = (int32_t)logits->shape[1],
                                .active = (int32_t)case_get_integer(c, "k"),
                                .gate = case_get_gate(c),
                                .scale = (float)case_get_real(c, "scale")};
  const size_t slots = (size_t)(T * router.active) + 1;
  int32_t *experts = malloc(slots * sizeof *experts);
  float *gate = malloc(slots * sizeof *gate);
  phibal_loads loads;
  phibal_status status = phibal_loads_create(&router, &loads);
  if (status == PHIBAL_OK) {
    if (!experts || !gate)
      status = arena_out_of_memory();
    else
      status = phibal_router_forward(&router, T, logits->data, case_input_data(c, "bias"),
                                     case_input_data(c, "mask"), NULL, experts, gate, NULL, &loads);
    if (status == PHIBAL_OK || status == PHIBAL_ERROR_NONFINITE) {
      int32_t *place = case_output_data(c, "place");
      const char *words = phibal_status_message();
      *(int32_t *)case_output_data(c, "refused") = status == PHIBAL_ERROR_NONFINITE;
      place[0] = place[1] = -1;
      if (status == PHIBAL_ERROR_NONFINITE &&
          sscanf(words, "router forward: the logit of token %d for expert %d", &place[0],
                 &place[1]) != 2)
        sscanf(words, "router forward: the bias of expert %d", &place[1]);
      status = PHIBAL_OK;
    }
    phibal_loads_destroy(&loads);
  }
  free(gate);
  free(experts);
  return status;
}

phibal_status operation_router_refusal_expected(const operation_case *c, judgement *j) {
  const tensor *logits = case_input(c, "logits");
  const float *x = logits->data, *bias = case_input_data(c, "bias");
  const uint8_t *mask = case_input_data(c, "mask");
  const int64_t T = logits->shape[0], E = logits->shape[1];
  bool refused = false;
  int64_t token = -1, expert = -1;
  for (int64_t e = 0; bias && e < E && !refused; e++)
    if (!isfinite(bias[e])) refused = true, expert = e;
  for (int64_t i = 0; i < T * E && !refused; i++)
    if ((!mask || mask[i / E]) && !isfinite(x[i])) refused = true, token = i / E, expert = i % E;
  judge_integer(j, OUTPUT_REFUSED, case_output(c, "refused"), 0, refused);
  judge_integer(j, OUTPUT_REFUSED_PLACE, case_output(c, "place"), 0, token);
  judge_integer(j, OUTPUT_REFUSED_PLACE, case_output(c, "place"), 1, expert);
  return PHIBAL_OK;
}
