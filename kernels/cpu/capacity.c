/* Capacity (E7), (E8), (E9): which routes an expert keeps.

   Each expert has the list of its routes in the order of the tokens (E1), so experts are
   independent of each other: a thread takes one. By token, the first C of the list are kept; by
   slot, what the slots before have leaves so many of this one; by gate, the C-th largest is found
   by halving the range of binary32's keys 32 times, each with a count (as in quantile.c), and of
   the gates equal to it the first ones of the list are kept. Nothing is sorted. */
#include <math.h>
#include <phibal/capacity.h>
#include <phibal/environment.h>
#include <phibal/router.h>
#include "../core/router.h"

static phibal_status capacity_null(const char *function) {
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", function);
}

static phibal_status check_shape(const char *function, int64_t tokens, int32_t active) {
  if (tokens >= 0 && active >= 1 && active <= PHIBAL_MAX_EXPERTS &&
      tokens <= PHIBAL_CAPACITY_ROUTES / active)
    return phibal_environment_check(function);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens of %d slots", function,
                           (long long)tokens, (int)active);
}

/* factor = m 2^-s with integers m < 2^24 and s >= 13, m k T < 2^62, and
   ceil(x / (2^s E)) = ceil(ceil(x / 2^s) / E). */
phibal_status phibal_capacity_limit(float factor, int64_t minimum, int64_t tokens, int32_t active,
                                    int32_t experts_count, int64_t *limit) {
  const char *function = "phibal_capacity_limit";
  if (!limit) return capacity_null(function);
  phibal_status status = check_shape(function, tokens, active);
  if (status) return status;
  if (!(factor >= 0 && factor <= PHIBAL_CAPACITY_MOST_FACTOR) || minimum < 0 || experts_count < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: factor %g (0 to %g), minimum %lld, %d experts", function,
                             (double)factor, (double)PHIBAL_CAPACITY_MOST_FACTOR,
                             (long long)minimum, (int)experts_count);
  const uint32_t bits = core_bits32(factor), exponent = bits >> 23 & 255;
  const int64_t m = (int64_t)(bits & 0x7fffff) | (int64_t)(exponent > 0) << 23;
  const int32_t shift = 150 - (int32_t)(exponent > 0 ? exponent : 1);
  const int64_t product = m * tokens * active;
  const int64_t whole = shift < 63 ? product >> shift : 0;
  const bool rest = shift < 63 ? (whole << shift) != product : product > 0;
  const int64_t ceiling = (whole + rest + experts_count - 1) / experts_count;
  *limit = ceiling > minimum ? ceiling : minimum;
  return PHIBAL_OK;
}

/* The routes of one expert. */
typedef struct expert_routes {
  int64_t count, limit;
  int32_t active, expert;
  const int64_t *source;
  const float *gates;
  int32_t *kept;
  int64_t *place;
} expert_routes;

static void keep(const expert_routes *r, int64_t n, int64_t place) {
  r->kept[r->source[n]] = r->expert;
  if (r->place) r->place[r->source[n]] = place;
}

static void keep_by_token(const expert_routes *r) {
  for (int64_t n = 0; n < r->count && n < r->limit; n++) keep(r, n, n);
}

static void keep_by_slot(const expert_routes *r) {
  int64_t place = 0;
  for (int32_t s = 0; s < r->active && place < r->limit; s++)
    for (int64_t n = 0; n < r->count && place < r->limit; n++)
      if (r->source[n] % r->active == s) keep(r, n, place++);
}

/* -0 is +0. */
static int32_t gate_key(float x) {
  return core_float_key(x + 0.0f);
}

static int64_t at_least(const expert_routes *r, int32_t key) {
  int64_t count = 0;
  for (int64_t n = 0; n < r->count; n++) count += gate_key(r->gates[r->source[n]]) >= key;
  return count;
}

/* cut: the largest key that C gates or more reach; those above it are fewer than C. */
static void keep_by_gate(const expert_routes *r) {
  if (r->count <= r->limit || r->limit == 0) {
    keep_by_token(r);
    return;
  }
  int32_t cut = -0x7f800000, high = 0x7f7fffff;
  while (cut < high) {
    const int32_t middle = (int32_t)(((int64_t)cut + high + 1) >> 1);
    if (at_least(r, middle) >= r->limit)
      cut = middle;
    else
      high = middle - 1;
  }
  int64_t equal = r->limit - at_least(r, cut + 1), place = 0;
  for (int64_t n = 0; n < r->count; n++) {
    const int32_t key = gate_key(r->gates[r->source[n]]);
    if (key > cut || (key == cut && equal-- > 0)) keep(r, n, place++);
  }
}

/* 0, or why the expert's routes are refused. */
enum { ROUTES_GOOD, ROUTES_NONE, ROUTES_NONFINITE };
static int check_routes(const expert_routes *r, int64_t slots, bool by_gate) {
  for (int64_t n = 0; n < r->count; n++) {
    if (r->source[n] < 0 || r->source[n] >= slots) return ROUTES_NONE;
    if (by_gate && !isfinite(r->gates[r->source[n]])) return ROUTES_NONFINITE;
  }
  return ROUTES_GOOD;
}

phibal_status phibal_capacity(phibal_capacity_policy policy, int64_t tokens, int32_t active,
                              int32_t experts_count, int64_t limit, const int64_t *offsets,
                              const int64_t *source, const float *gates, int32_t *kept,
                              int64_t *place) {
  const char *function = "phibal_capacity";
  phibal_status status = check_shape(function, tokens, active);
  if (status) return status;
  const bool by_gate = policy == PHIBAL_CAPACITY_GATE;
  if (policy < PHIBAL_CAPACITY_TOKEN || policy > PHIBAL_CAPACITY_GATE || experts_count < 1 ||
      experts_count > PHIBAL_MAX_EXPERTS || limit < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: policy %d, %d experts, a limit of %lld",
                             function, (int)policy, (int)experts_count, (long long)limit);
  if (!offsets || (tokens > 0 && (!source || !kept || (by_gate && !gates))))
    return capacity_null(function);
  const int64_t slots = tokens * active;
  if (offsets[0] != 0 || offsets[experts_count] > slots)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: rows %lld to %lld of %lld routes",
                             function, (long long)offsets[0], (long long)offsets[experts_count],
                             (long long)slots);
  for (int32_t e = 0; e < experts_count; e++)
    if (offsets[e + 1] < offsets[e])
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: expert %d has %lld rows", function,
                               (int)e, (long long)(offsets[e + 1] - offsets[e]));
  for (int64_t i = 0; i < slots; i++) kept[i] = -1;
  for (int64_t i = 0; place && i < slots; i++) place[i] = -1;
  int32_t first = experts_count, why = ROUTES_GOOD;
#pragma omp parallel for schedule(dynamic) if (slots > 4096)
  for (int32_t e = 0; e < experts_count; e++) {
    const expert_routes r = {offsets[e + 1] - offsets[e], limit, active, e,
                             source + offsets[e],         gates, kept,   place};
    const int bad = check_routes(&r, slots, by_gate);
    if (bad != ROUTES_GOOD) {
#pragma omp critical(phibal_capacity_failure)
      if (e < first) {
        first = e;
        why = bad;
      }
    } else if (by_gate) {
      keep_by_gate(&r);
    } else if (policy == PHIBAL_CAPACITY_SLOT) {
      keep_by_slot(&r);
    } else {
      keep_by_token(&r);
    }
  }
  if (why == ROUTES_NONFINITE)
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "%s: a gate of expert %d is not a finite number", function,
                             (int)first);
  if (why == ROUTES_NONE)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a row of expert %d is no route", function,
                             (int)first);
  return PHIBAL_OK;
}

/* The sum of a token's kept gates, s in order; 1 where they are left as they are. */
static double kept_sum(int32_t active, bool renormalise, const int32_t *kept, const float *gates) {
  double sum = 0;
  if (!renormalise) return 1;
  for (int32_t s = 0; s < active; s++)
    if (kept[s] >= 0) sum += (double)gates[s];
  return sum;
}

static phibal_status check_gates(const char *function, int64_t tokens, int32_t active,
                                 bool renormalise, const int32_t *kept, const float *gates) {
  for (int64_t i = 0; i < tokens * active; i++) {
    if (kept[i] < 0 || (isfinite(gates[i]) && (gates[i] >= 0 || !renormalise))) continue;
    return phibal_status_set(isfinite(gates[i]) ? PHIBAL_ERROR_DOMAIN : PHIBAL_ERROR_NONFINITE,
                             "%s: the gate of slot %lld of token %lld is %g; it must be finite%s",
                             function, (long long)(i % active), (long long)(i / active),
                             (double)gates[i], renormalise ? " and not negative" : "");
  }
  return PHIBAL_OK;
}

/* Gates are not negative, and a sum of at most 2^10 of them in binary64 is within 2^-43 of its
   value; so is the quotient, nearly, which is rounded once more: to 0.501 ULP. */
phibal_status phibal_capacity_gates(int64_t tokens, int32_t active, bool renormalise,
                                    const int32_t *kept, const float *gates, float *kept_gates) {
  const char *function = "phibal_capacity_gates";
  phibal_status status = check_shape(function, tokens, active);
  if (!status && tokens > 0 && (!kept || !gates || !kept_gates)) status = capacity_null(function);
  if (!status) status = check_gates(function, tokens, active, renormalise, kept, gates);
  if (status) return status;
#pragma omp parallel for schedule(static) if (tokens > 1024)
  for (int64_t t = 0; t < tokens; t++) {
    const double sum = kept_sum(active, renormalise, kept + t * active, gates + t * active);
    for (int64_t i = t * active; i < (t + 1) * active; i++)
      kept_gates[i] = kept[i] >= 0 && sum > 0 ? (float)((double)gates[i] / sum) : 0.0f;
  }
  return PHIBAL_OK;
}

/* Products of binary32 numbers are exact in binary64; what their sum and the two quotients lose is
   less than 2^-40 of the terms, and the result is rounded once. */
phibal_status phibal_capacity_gates_backward(int64_t tokens, int32_t active, bool renormalise,
                                             const int32_t *kept, const float *gates,
                                             const float *kept_gradient, float *gate_gradient) {
  const char *function = "phibal_capacity_gates_backward";
  phibal_status status = check_shape(function, tokens, active);
  if (!status && tokens > 0 && (!kept || !gates || !kept_gradient || !gate_gradient))
    status = capacity_null(function);
  if (!status) status = check_gates(function, tokens, active, renormalise, kept, gates);
  if (status) return status;
#pragma omp parallel for schedule(static) if (tokens > 1024)
  for (int64_t t = 0; t < tokens; t++) {
    const double sum = kept_sum(active, renormalise, kept + t * active, gates + t * active);
    double mean = 0;
    for (int64_t i = t * active; renormalise && i < (t + 1) * active; i++)
      if (kept[i] >= 0) mean += (double)gates[i] * (double)kept_gradient[i];
    if (sum > 0) mean /= sum;
    for (int64_t i = t * active; i < (t + 1) * active; i++)
      gate_gradient[i] =
          kept[i] >= 0 && sum > 0 ? (float)(((double)kept_gradient[i] - mean) / sum) : 0.0f;
  }
  return PHIBAL_OK;
}
