/* What the router's forward and backward passes share: a tile of tokens, from logits to
   probabilities in binary64 (R1, R1s).

   A tile holds `lanes` tokens, expert by expert: element (e, lane) is at e lanes + lane. Few
   experts are worked on with ROUTER_LANES tokens side by side, many with one token, and every step
   is a loop over contiguous elements that the compiler vectorises. Each element sees the same
   operations in either form, so the bits do not depend on it. The functions are inlined with
   `lanes` constant. Loops over lanes are marked `omp simd` where gcc would unroll them first and
   then make vectors across experts, whose elements are `lanes` apart. In dead lanes, of padding and
   beyond the last token, logits are 0 and what comes out counts for nothing; the rows of padding
   are written over.

   Rounding. d = x - max in binary64 has a relative error of 2^-53, so exp(d) inherits at most
   |d| 2^-53 < 2^-46 where it matters to binary32 (|d| < 111); core_exp64 adds 2^-51; the halving
   tree adds at most ten roundings of positive terms to the sum, 1/s and the product one each, the
   sigmoid's quotient two more, a square root of softplus less than 2^-50, and its root halves the
   |d| 2^-53. A probability is thus within 2^-45 before its one rounding to
   binary32: 0.5001 ULP at most, subnormals included. (The sum's own terms err by 2^-46 only where
   they are below e^-|d|, |d| large, and so weigh nothing in it.) */
#ifndef PHIBAL_CPU_ROUTER_TILE_H
#define PHIBAL_CPU_ROUTER_TILE_H

#include "../core/router.h"
#include "../core/router_form.h"
#include "../core/sigmoid.h"
#include "../core/tree.h"
#include <phibal/environment.h>
#include <phibal/router.h>
#include <stdbool.h>
#include <string.h>

#define ROUTER_LANES 16
#define ROUTER_LANES_EXPERTS 64 /* up to so many experts, tokens go side by side */
#define ROUTER_INLINE static inline __attribute__((always_inline))

_Static_assert(ROUTER_LANES *ROUTER_LANES_EXPERTS <= PHIBAL_MAX_EXPERTS, "a tile has the room");

/* Aligned, so that no vector straddles two cache lines. */
typedef struct router_tile {
  _Alignas(64) float logit[PHIBAL_MAX_EXPERTS]; /* [E][lanes]; 0 in dead lanes */
  _Alignas(64) double p[PHIBAL_MAX_EXPERTS];    /* [E][lanes]; 0 in dead lanes */
  _Alignas(64) double scratch[PHIBAL_MAX_EXPERTS];
  double largest[ROUTER_LANES]; /* max of the logits */
  double total[ROUTER_LANES];   /* sum of the unnormalised probabilities */
  int tokens;                   /* lanes that are not beyond the last token */
  bool live[ROUTER_LANES];      /* neither padding nor beyond the last token */
  bool all_live;
} router_tile;

/* Where a batch first goes wrong, for the message. */
typedef struct router_failure {
  int64_t token; /* INT64_MAX: nowhere */
  int32_t expert;
} router_failure;

typedef int32_t tile_words __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t tile_word __attribute__((may_alias));

/* to[j][i] = from[i][j] of 4-byte words, i < rows, j < columns: in blocks of 4 by 4, which are
   four of the narrowest vectors, 2 by 4 and 4 by 2, and what is left word by word. */
ROUTER_INLINE void tile_transpose(int32_t rows, int32_t columns, const void *from, int64_t from_row,
                                  void *to, int64_t to_row) {
  const tile_word *a = from;
  tile_word *b = to;
  int32_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    int32_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      const tile_word *block = a + i * from_row + j;
      tile_word *turned = b + j * to_row + i;
      tile_words r0 = *(const tile_words *)block, r1 = *(const tile_words *)(block + from_row);
      tile_words r2 = *(const tile_words *)(block + 2 * from_row);
      tile_words r3 = *(const tile_words *)(block + 3 * from_row);
      tile_words low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
      tile_words low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
      tile_words high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
      tile_words high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
      *(tile_words *)turned = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
      *(tile_words *)(turned + to_row) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
      *(tile_words *)(turned + 2 * to_row) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
      *(tile_words *)(turned + 3 * to_row) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    }
    for (; i + 2 <= rows; i += 2) {
      const tile_word *block = a + i * from_row + j;
      tile_word *turned = b + j * to_row + i;
      tile_words r0 = *(const tile_words *)block, r1 = *(const tile_words *)(block + from_row);
      tile_words pairs[2] = {__builtin_shufflevector(r0, r1, 0, 4, 1, 5),
                             __builtin_shufflevector(r0, r1, 2, 6, 3, 7)};
      for (int c = 0; c < 4; c++) memcpy(turned + c * to_row, (const char *)pairs + c * 8, 8);
    }
    for (; i < rows; i++)
      for (int c = 0; c < 4; c++) b[(j + c) * to_row + i] = a[i * from_row + j + c];
  }
  for (; j + 2 <= columns; j += 2) {
    int32_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      const tile_word *block = a + i * from_row + j;
      tile_words pairs[2];
      for (int r = 0; r < 4; r++) memcpy((char *)pairs + r * 8, block + r * from_row, 8);
      tile_word *turned = b + j * to_row + i;
      *(tile_words *)turned = __builtin_shufflevector(pairs[0], pairs[1], 0, 2, 4, 6);
      *(tile_words *)(turned + to_row) = __builtin_shufflevector(pairs[0], pairs[1], 1, 3, 5, 7);
    }
    for (; i < rows; i++)
      for (int c = 0; c < 2; c++) b[(j + c) * to_row + i] = a[i * from_row + j + c];
  }
  for (; j < columns; j++)
    for (int32_t i = 0; i < rows; i++) b[j * to_row + i] = a[i * from_row + j];
}

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
   exp(x - max); for gates of scores core_gate_weight. */
ROUTER_INLINE void tile_weights(phibal_gate gate, int32_t n, int lanes, const float *x,
                                const double *largest, double *weight) {
  if (gate == PHIBAL_GATE_SIGMOID) {
    for (int32_t e = 0; e < n; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        weight[e * lanes + l] = core_sigmoid_weight((double)x[e * lanes + l], largest[l]);
  } else if (gate == PHIBAL_GATE_SQRT_SOFTPLUS) {
    for (int32_t e = 0; e < n; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        weight[e * lanes + l] = core_sqrt_softplus_weight((double)x[e * lanes + l], largest[l]);
  } else {
    for (int32_t e = 0; e < n; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        weight[e * lanes + l] = core_exp64((double)x[e * lanes + l] - largest[l]);
  }
}

/* Takes the tokens token .. token + lanes - 1 of logits [tokens][E] into the tile: their logits and
   which of them are live. For one lane the logits are used where they are. Returns the logits. */
ROUTER_INLINE const float *tile_load(router_tile *tile, int32_t experts, int lanes, int64_t tokens,
                                     const float *logits, const uint8_t *mask, int64_t token) {
  tile->tokens = tokens - token < lanes ? (int)(tokens - token) : lanes;
  tile->all_live = tile->tokens == lanes;
  for (int l = 0; l < lanes; l++) {
    tile->live[l] = l < tile->tokens && (!mask || mask[token + l] != 0);
    tile->all_live &= tile->live[l];
  }
  if (lanes == 1) return logits + token * experts;
  tile_transpose(tile->tokens, experts, logits + token * experts, experts, tile->logit, lanes);
  for (int l = 0; l < lanes && !tile->all_live; l++)
    for (int32_t e = 0; e < experts && !tile->live[l]; e++) tile->logit[e * lanes + l] = 0.0f;
  return tile->logit;
}

/* The place of the first logit that is not finite, of a tile that has one. */
static __attribute__((noinline)) void tile_not_finite(int32_t experts, int lanes, const float *x,
                                                      int64_t token, router_failure *failure) {
  for (int l = 0; l < lanes; l++) {
    for (int32_t e = 0; e < experts; e++) {
      if (!__builtin_isfinite(x[e * lanes + l])) {
        failure->token = token + l;
        failure->expert = e;
        return;
      }
    }
  }
}

/* The largest logit of each lane; false, with the place, if one is not finite. Side by side, four
   experts are compared before what was found is: each comparison with that waits for the one
   before. The last expert stands in for those that are missing from the last four. */
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
    for (int32_t e = 0; e < experts; e += 4) {
      int32_t last = experts - 1;
      const float *a = x + e * lanes, *b = x + (e + 1 < last ? e + 1 : last) * lanes;
      const float *c = x + (e + 2 < last ? e + 2 : last) * lanes;
      const float *d = x + (e + 3 < last ? e + 3 : last) * lanes;
#pragma GCC ivdep
      for (int l = 0; l < lanes; l++) {
        int32_t ka = core_float_key(a[l]), kb = core_float_key(b[l]);
        int32_t kc = core_float_key(c[l]), kd = core_float_key(d[l]);
        int32_t most = ka > kb ? ka : kb, least = ka < kb ? ka : kb;
        int32_t more = kc > kd ? kc : kd, less = kc < kd ? kc : kd;
        most = more > most ? more : most;
        least = less < least ? less : least;
        high[l] = most > high[l] ? most : high[l];
        low[l] = least < low[l] ? least : low[l];
      }
    }
  }
  int32_t bad = 0;
  for (int l = 0; l < lanes; l++) {
    bad |= high[l] >= core_float_key(__builtin_inff());
    bad |= low[l] <= core_float_key(-__builtin_inff());
  }
  for (int l = 0; l < lanes; l++) tile->largest[l] = (double)core_float_from_key(high[l]);
  if (bad) tile_not_finite(experts, lanes, x, token, failure);
  return !bad;
}

/* tile->p and tile->total from logits whose largest are known. */
ROUTER_INLINE void tile_probabilities(router_tile *tile, phibal_gate gate, int32_t experts,
                                      int lanes, const float *x) {
  tile_weights(gate, experts, lanes, x, tile->largest, tile->p);
  tile_sum(experts, lanes, tile->p, tile->scratch, tile->total);
  double inverse[ROUTER_LANES];
  for (int l = 0; l < lanes; l++) inverse[l] = 1.0 / tile->total[l];
  for (int l = 0; l < lanes && !tile->all_live; l++) inverse[l] = tile->live[l] ? inverse[l] : 0.0;
  for (int32_t e = 0; e < experts; e++)
#pragma omp simd
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
  int64_t small = 0;
  for (int l = 0; l < lanes; l++) result[l] = tile->largest[l] + core_log64(tile->total[l]);
  for (int l = 0; l < lanes; l++) small |= core_abs(result[l]) < CORE_LOGSUMEXP_SMALL;
  for (int l = 0; l < lanes && small; l++)
    if (core_abs(result[l]) < CORE_LOGSUMEXP_SMALL)
      result[l] = small_logsumexp(experts, lanes, x + l, tile->largest[l]);
}

/* The unscaled gates of `active` chosen logits a lane, in CORE_GATES_SHARES: (R3), (R5), and (R5e)
   for epsilon = 0; overwrites scratch. A logit of -infinity has the weight 0; where all are, so are
   the gates. */
ROUTER_INLINE void tile_shares(phibal_gate gate, int32_t active, int lanes, const float *chosen,
                               double *scratch, double *g) {
  double largest[ROUTER_LANES], total[ROUTER_LANES];
  for (int l = 0; l < lanes; l++) largest[l] = (double)chosen[l];
  for (int32_t s = 1; s < active; s++) {
#pragma omp simd
    for (int l = 0; l < lanes; l++) {
      double v = (double)chosen[s * lanes + l];
      largest[l] = v > largest[l] ? v : largest[l];
    }
  }
  for (int l = 0; l < lanes; l++) largest[l] = largest[l] >= -0x1p128 ? largest[l] : 0.0;
  tile_weights(gate, active, lanes, chosen, largest, g);
  tile_sum(active, lanes, g, scratch, total);
  for (int l = 0; l < lanes; l++) total[l] = total[l] > 0.0 ? 1.0 / total[l] : 0.0;
  for (int32_t s = 0; s < active; s++)
#pragma omp simd
    for (int l = 0; l < lanes; l++) g[s * lanes + l] *= total[l];
}

/* The unscaled gates (R3) to (R5z) of a selection [k][lanes], and its logits, which are left out
   where no one asks for them: of softmax gates that are probabilities. Experts that (R5z) leaves
   out have the gate 0, and -infinity for their logit. A score within 2^-45 is divided by a sum of
   at most 1024 of them plus epsilon, all positive, whose relative error is no more than 2^-44:
   before its rounding to binary32 a gate of any form is within 2^-43. Where an epsilon of 2^-149 or
   more is added, scores that vanish in binary64 are below half of 2^-149 of the result. `rest` (or
   null): epsilon over the sum with epsilon, 1 less the sum of the gates. */
ROUTER_INLINE void tile_gates(const phibal_router *router, int lanes, const float *x,
                              const int32_t *selected, router_tile *tile, float *chosen, double *g,
                              double *rest) {
  const core_gates form = core_gates_of(router);
  const bool scores = core_gate_has_scores(router->gate);
  const int32_t active = router->active;
  if (scores || form == CORE_GATES_SHARES)
    for (int32_t s = 0; s < active; s++)
      for (int l = 0; l < lanes; l++)
        chosen[s * lanes + l] = core_gate_left_out(router, selected[s * lanes + l])
                                    ? -__builtin_inff()
                                    : x[selected[s * lanes + l] * lanes + l];
  if (form == CORE_GATES_SHARES) {
    tile_shares(router->gate, active, lanes, chosen, tile->scratch, g);
    return;
  }
  const double zero[ROUTER_LANES] = {0.0};
  if (scores)
    tile_weights(router->gate, active, lanes, chosen, zero, g);
  else
    for (int32_t s = 0; s < active; s++)
      for (int l = 0; l < lanes; l++)
        g[s * lanes + l] = core_gate_left_out(router, selected[s * lanes + l])
                               ? 0.0
                               : tile->p[selected[s * lanes + l] * lanes + l];
  if (form == CORE_GATES_SCORES) return;
  double total[ROUTER_LANES];
  tile_sum(active, lanes, g, tile->scratch, total);
  for (int l = 0; l < lanes; l++) total[l] = 1.0 / (total[l] + (double)router->epsilon);
  for (int l = 0; l < lanes && rest; l++) rest[l] = (double)router->epsilon * total[l];
  for (int32_t s = 0; s < active; s++)
#pragma omp simd
    for (int l = 0; l < lanes; l++) g[s * lanes + l] *= total[l];
}

/* Whether gates need the probabilities of the row. */
static inline bool gates_need_probabilities(const phibal_router *router) {
  return !core_gate_has_scores(router->gate) && core_gates_of(router) != CORE_GATES_SHARES;
}

/* What the selection compares (R2). */
static inline double select_score(phibal_gate gate, float x, double bias) {
  return (core_gate_has_scores(gate) ? (double)core_gate_score(gate, x) : (double)x) + bias;
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
      !core_gate_has_scores(router->gate))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: there is no gate kind %d", where,
                             (int)router->gate);
  if (!__builtin_isfinite(router->scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the gates' scale is not finite", where);
  const char *fault = core_router_fault(router);
  if (fault) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s", where, fault);
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
