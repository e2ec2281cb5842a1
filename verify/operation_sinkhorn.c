/* Sinkhorn's scaling (L10), of logits at which an exponential of binary32 overflows or vanishes. */
#include "case_number.h"
#include "judgement.h"
#include "paired.h"
#include <math.h>
#include <phibal/reference_sinkhorn.h>
#include <phibal/sinkhorn.h>

enum { PRECISION = 128 };
enum { STREAM_SINKHORN = 136 };

static const char *const sinkhorn_kinds[] = {
    "ordinary",  "padding",    "overflow", "near-underflow", "shifted-logits", "all-equal",
    "one-token", "one-expert", "no-token", "odd-experts",    "dead-expert",    "sinkhorn"};

enum { SINKHORN_KINDS = sizeof sinkhorn_kinds / sizeof *sinkhorn_kinds };

const char *operation_kind_sinkhorn(uint64_t number) {
  return sinkhorn_kinds[number % SINKHORN_KINDS];
}

phibal_status operation_sinkhorn_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_SINKHORN, c->number);
  const bool small = case_is_small(c->number);
  int64_t E = random_integer(&r, 2, small ? 4 : 12), T = random_integer(&r, 1, small ? 5 : 30);
  if (case_is_kind(c, "one-token")) T = 1;
  if (case_is_kind(c, "no-token")) T = 0;
  if (case_is_kind(c, "one-expert")) E = 1;
  if (case_is_kind(c, "odd-experts")) E = small ? 3 : 13 + 2 * random_integer(&r, 0, 9);
  if (case_is_kind(c, "padding") && T < 3) T = 3;
  const bool masked = case_is_kind(c, "padding") || random_integer(&r, 0, 3) == 0;
  case_integer(c, "rounds",
               case_is_kind(c, "sinkhorn") ? random_integer(&r, 1, 2) : random_integer(&r, 1, 20));
  float *logits = case_add_input(c, "logits", TENSOR_F32, 2, T, E);
  uint8_t *mask = masked ? case_add_input(c, "mask", TENSOR_U8, 1, T) : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  const double size = case_is_kind(c, "overflow") ? 100 : case_is_kind(c, "all-equal") ? 0 : 1;
  const double offset = case_is_kind(c, "near-underflow") ? -200 : 0;
  for (int64_t t = 0; t < T; t++) {
    const double shift =
        case_is_kind(c, "shifted-logits") ? random_uniform(&r, -1000, 1000) : offset;
    for (int64_t e = 0; e < E; e++) {
      const double dead = case_is_kind(c, "dead-expert") && e == 0 ? -60 : 0;
      logits[t * E + e] = (float)(size * random_normal(&r) + shift + dead);
    }
  }
  for (int64_t t = 0; mask && t < T; t++) {
    mask[t] = t == 0 || (t != 1 && random_integer(&r, 0, 2) > 0);
    if (!mask[t]) logits[t * E] = t % 2 ? 3 : NAN;
  }
  if (mask && T > 1) case_flag(c, FLAG_PADDING);
  if (T > 1 && E > 1 && !case_is_kind(c, "all-equal")) case_flag(c, FLAG_SINKHORN);
  case_add_output(c, OUTPUT_SINKHORN, "plan", TENSOR_F32, 2, T, E);
  return PHIBAL_OK;
}

phibal_status operation_sinkhorn_cpu(operation_case *c) {
  const tensor *logits = case_input(c, "logits");
  return phibal_sinkhorn(logits->shape[0], (int32_t)logits->shape[1],
                         (int32_t)case_get_integer(c, "rounds"), logits->data,
                         case_input_data(c, "mask"), case_output_data(c, "plan"));
}

phibal_status operation_sinkhorn_expected(const operation_case *c, judgement *j) {
  const tensor *logits = case_input(c, "logits");
  const int64_t n = tensor_size(logits);
  phibal_enclosure *plan = phibal_enclosure_vector((size_t)n + 1, PRECISION);
  if (!plan) return arena_out_of_memory();
  phibal_status status = phibal_reference_sinkhorn(
      logits->shape[0], (int32_t)logits->shape[1], (int32_t)case_get_integer(c, "rounds"),
      logits->data, case_input_data(c, "mask"), PRECISION, plan);
  for (int64_t i = 0; !status && i < n; i++)
    judge_real(j, OUTPUT_SINKHORN, case_output(c, "plan"), i, &plan[i], NULL);
  phibal_enclosure_vector_clear(plan, (size_t)n + 1);
  return status;
}
