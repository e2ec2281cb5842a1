/* What the router's forward and backward passes share: a tile of tokens, from logits to
   probabilities in binary64 (R1, R1s).

   A tile holds `lanes` tokens, expert by expert: element (e, lane) is at e lanes + lane. Few
   experts are worked on with ROUTER_LANES tokens side by side, many with one token, and every step
   is a loop over contiguous elements that the compiler vectorises. Each element sees the same
   operations in either form, so the bits do not depend on it. The functions are inlined with
   `lanes` constant.

   Rounding. d = x - max in binary64 has a relative error of 2^-53, so exp(d) inherits at most
   |d| 2^-53 < 2^-46 where it matters to binary32 (|d| < 111); core_exp64 adds 2^-51; the halving
   tree adds at most ten roundings of positive terms to the sum, 1/s and the product one each, the
   sigmoid's quotient two more. A probability is thus within 2^-45 before its one rounding to
   binary32: 0.5001 ULP at most, subnormals included. (The sum's own terms err by 2^-46 only where
   they are below e^-|d|, |d| large, and so weigh nothing in it.) */
#ifndef PHIBAL_CPU_ROUTER_TILE_H
#define PHIBAL_CPU_ROUTER_TILE_H

#include "../core/router.h"
#include "../core/tree.h"
#include <phibal/environment.h>
#include <phibal/router.h>
#include <stdbool.h>
#include <string.h>

#define ROUTER_LANES 16
#define ROUTER_LANES_EXPERTS 32 /* up to so many experts, tokens go side by side */
#define ROUTER_INLINE static inline __attribute__((always_inline))

/* Aligned, so that no vector straddles two cache lines. */
typedef struct router_tile {
  _Alignas(64) float logit[PHIBAL_MAX_EXPERTS]; /* [E][lanes]; 0 in dead lanes */
  _Alignas(64) double p[PHIBAL_MAX_EXPERTS];    /* [E][lanes]; 0 in dead lanes */
  _Alignas(64) double scratch[PHIBAL_MAX_EXPERTS];
  double largest[ROUTER_LANES]; /* max of the logits */
  double total[ROUTER_LANES];   /* sum of the unnormalised probabilities */
  bool live[ROUTER_LANES];      /* neither padding nor beyond the last token */
} router_tile;

/* Where a batch first goes wrong, for the message. */
typedef struct router_failure {
  int64_t token; /* INT64_MAX: nowhere */
  int32_t expert;
} router_failure;

/* sum[lane] = sum over n elements of a in the order of core_tree_sum, which it equals to the bit;
   a is kept, and scratch holds half of its padded length. */
ROUTER_INLINE void tile_sum(int32_t n, int lanes, const double *a, double *scratch, double *sum) {
  int32_t half = 1;
  while (2 * half < n) half *= 2;
  int32_t both = (n - half) * lanes;
  if (n == 1) both = 0;
#pragma GCC ivdep
  for (int32_t i = 0; i < both; i++) scratch[i] = a[i] + a[i + half * lanes];
  for (int32_t i = both; i < half * lanes; i++) scratch[i] = n == 1 ? a[i] : a[i] + 0.0;
  for (half /= 2; half >= 1; half /= 2) {
#pragma GCC ivdep
    for (int32_t i = 0; i < half * lanes; i++) scratch[i] += scratch[i + half * lanes];
  }
  for (int l = 0; l < lanes; l++) sum[l] = scratch[l];
}

/* Unnormalised probabilities of n logits a lane, and the largest of them: for softmax
   exp(x - max); for sigmoid gates core_sigmoid_weight. */
ROUTER_INLINE void tile_weights(phibal_gate gate, int32_t n, int lanes, const float *x,
                                const double *largest, double *weight) {
  if (gate == PHIBAL_GATE_SIGMOID) {
    for (int32_t e = 0; e < n; e++)
      for (int l = 0; l < lanes; l++)
        weight[e * lanes + l] = core_sigmoid_weight((double)x[e * lanes + l], largest[l]);
  } else {
    for (int32_t e = 0; e < n; e++)
      for (int l = 0; l < lanes; l++)
        weight[e * lanes + l] = core_exp64((double)x[e * lanes + l] - largest[l]);
  }
}

/* Takes the tokens token .. token + lanes - 1 of logits [tokens][E] into the tile: their logits and
   which of them are live. For one lane the logits are used where they are. Returns the logits. */
ROUTER_INLINE const float *tile_load(router_tile *tile, int32_t experts, int lanes, int64_t tokens,
                                     const float *logits, const uint8_t *mask, int64_t token) {
  for (int l = 0; l < lanes; l++)
    tile->live[l] = token + l < tokens && (!mask || mask[token + l] != 0);
  if (lanes == 1) return logits + token * experts;
  for (int l = 0; l < lanes; l++) {
    if (!tile->live[l]) {
      for (int32_t e = 0; e < experts; e++) tile->logit[e * lanes + l] = 0.0f;
      continue;
    }
    const float *row = logits + (token + l) * experts;
    for (int32_t e = 0; e < experts; e++) tile->logit[e * lanes + l] = row[e];
  }
  return tile->logit;
}

/* The largest logit of each lane; false, with the place, if one is not finite. */
ROUTER_INLINE bool tile_largest(router_tile *tile, int32_t experts, int lanes, const float *x,
                                int64_t token, router_failure *failure) {
  int32_t high[ROUTER_LANES], low[ROUTER_LANES];
  for (int l = 0; l < lanes; l++) high[l] = low[l] = core_float_key(x[l]);
  if (lanes == 1) {
    int32_t most = high[0], least = low[0];
    for (int32_t e = 1; e < experts; e++) {
      int32_t key = core_float_key(x[e]);
      most = key > most ? key : most;
      least = key < least ? key : least;
    }
    high[0] = most;
    low[0] = least;
  } else {
    for (int32_t e = 1; e < experts; e++) {
      for (int l = 0; l < lanes; l++) {
        int32_t key = core_float_key(x[e * lanes + l]);
        high[l] = key > high[l] ? key : high[l];
        low[l] = key < low[l] ? key : low[l];
      }
    }
  }
  bool finite = true;
  for (int l = 0; l < lanes; l++) {
    finite &=
        high[l] < core_float_key(__builtin_inff()) && low[l] > core_float_key(-__builtin_inff());
    tile->largest[l] = (double)core_float_from_key(high[l]);
  }
  if (finite) return true;
  for (int l = 0; l < lanes; l++) {
    for (int32_t e = 0; e < experts; e++) {
      if (!__builtin_isfinite(x[e * lanes + l])) {
        failure->token = token + l;
        failure->expert = e;
        return false;
      }
    }
  }
  return true;
}

/* tile->p and tile->total from logits whose largest are known. */
ROUTER_INLINE void tile_probabilities(router_tile *tile, phibal_gate gate, int32_t experts,
                                      int lanes, const float *x) {
  tile_weights(gate, experts, lanes, x, tile->largest, tile->p);
  tile_sum(experts, lanes, tile->p, tile->scratch, tile->total);
  double inverse[ROUTER_LANES];
  for (int l = 0; l < lanes; l++) inverse[l] = tile->live[l] ? 1.0 / tile->total[l] : 0.0;
  for (int32_t e = 0; e < experts; e++)
    for (int l = 0; l < lanes; l++) tile->p[e * lanes + l] *= inverse[l];
}

/* (R8) of a lane from its largest logit and total = sum exp(x - largest) >= 1, total within 2^-49:
   largest + log(total) errs by less than 2^-48, which is 0.04 ULP of a result that is not small,
   and by the rounding of the sum where its terms cancel. A small result is made again from
   r = total - 1, summed without the largest's own 1 (core_logsumexp_small). */
static __attribute__((noinline)) double small_logsumexp(int32_t experts, int lanes, const float *x,
                                                        double largest) {
  double rest[PHIBAL_MAX_EXPERTS];
  bool met = false;
  for (int32_t e = 0; e < experts; e++) {
    double d = (double)x[e * lanes] - largest;
    bool is_largest = !met && d == 0.0;
    met |= is_largest;
    rest[e] = is_largest ? 0.0 : core_exp64(d);
  }
  return core_logsumexp_small(largest, core_tree_sum(rest, experts));
}

/* (R8) of every lane, from tile->largest and the total of a softmax. */
ROUTER_INLINE void tile_logsumexp(const router_tile *tile, int32_t experts, int lanes,
                                  const float *x, double *result) {
  for (int l = 0; l < lanes; l++) result[l] = tile->largest[l] + core_log64(tile->total[l]);
  for (int l = 0; l < lanes; l++)
    if (tile->live[l] && core_abs(result[l]) < CORE_LOGSUMEXP_SMALL)
      result[l] = small_logsumexp(experts, lanes, x + l, tile->largest[l]);
}

/* The unscaled gates (R3), (R5) of `active` chosen logits a lane; overwrites scratch. */
ROUTER_INLINE void tile_gates(phibal_gate gate, int32_t active, int lanes, const float *chosen,
                              double *scratch, double *g) {
  double largest[ROUTER_LANES], total[ROUTER_LANES];
  for (int l = 0; l < lanes; l++) largest[l] = (double)chosen[l];
  for (int32_t s = 1; s < active; s++) {
    for (int l = 0; l < lanes; l++) {
      double v = (double)chosen[s * lanes + l];
      largest[l] = v > largest[l] ? v : largest[l];
    }
  }
  tile_weights(gate, active, lanes, chosen, largest, g);
  tile_sum(active, lanes, g, scratch, total);
  for (int l = 0; l < lanes; l++) total[l] = 1.0 / total[l];
  for (int32_t s = 0; s < active; s++)
    for (int l = 0; l < lanes; l++) g[s * lanes + l] *= total[l];
}

/* Gates that are probabilities: (R4), and topk_softmax with k = 1. */
static inline bool gates_are_probabilities(const phibal_router *router) {
  return router->gate == PHIBAL_GATE_PROBABILITY ||
         (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && router->active == 1);
}

static inline phibal_status router_check(const char *where, const phibal_router *router,
                                         int64_t tokens) {
  if (!router) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the router is null", where);
  if (router->experts < 1 || router->experts > PHIBAL_MAX_EXPERTS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d experts, 1 to %d are possible", where,
                             router->experts, PHIBAL_MAX_EXPERTS);
  if (router->active < 1 || router->active > router->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts of %d", where,
                             router->active, router->experts);
  if (router->gate != PHIBAL_GATE_TOPK_SOFTMAX && router->gate != PHIBAL_GATE_PROBABILITY &&
      router->gate != PHIBAL_GATE_SIGMOID)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: there is no gate kind %d", where,
                             (int)router->gate);
  if (!__builtin_isfinite(router->scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the gates' scale is not finite", where);
  if (tokens < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens", where, (long long)tokens);
  return phibal_environment_check(where);
}

/* The first expert whose number is not finite, or -1; a null vector has none. */
static inline int32_t first_not_finite(int32_t n, const float *x) {
  for (int32_t e = 0; x && e < n; e++)
    if (!__builtin_isfinite(x[e])) return e;
  return -1;
}

/* Tokens that a thread takes at a time: enough to make taking them cheap, few enough that short
   batches still occupy every thread. A multiple of ROUTER_LANES. */
static inline int64_t router_block(int32_t experts) {
  int64_t tokens = 8192 / experts;
  return tokens < ROUTER_LANES ? ROUTER_LANES : tokens / ROUTER_LANES * ROUTER_LANES;
}

#endif
