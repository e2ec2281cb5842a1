/* What one call of a device operation must move, and the kernels of kernels/cuda/BUDGETS.md that it
   runs, with their units: the floors of bench_gpu's times, and of a whole step in
   bench_step_launches. T tokens, E experts, k of them a token, rows of d numbers of `type`. */
#ifndef PHIBAL_BENCH_GPU_COSTS_H
#define PHIBAL_BENCH_GPU_COSTS_H

#include <phibal/cuda.h>

typedef struct cost {
  double bytes;       /* read and written, of device memory */
  const char *kernel; /* null: the page does not have it */
  double units;
  const char *next; /* what runs after it in the same call */
  double next_units;
} cost;

#ifdef __cplusplus
#define COST(...)                                                                                  \
  cost {                                                                                           \
    __VA_ARGS__                                                                                    \
  }
#else
#define COST(...) ((cost){__VA_ARGS__})
#endif

static inline double row_bytes(phibal_rows type) {
  return type == PHIBAL_ROWS_F32 ? 4 : 2;
}
static inline const char *of_type(phibal_rows type, const char *binary32, const char *bfloat16) {
  return type == PHIBAL_ROWS_F32 ? binary32 : bfloat16;
}
static inline const char *of_experts(int32_t E, const char *to_8, const char *to_16,
                                     const char *to_64, const char *to_256) {
  return E == 8 ? to_8 : E == 16 ? to_16 : E == 64 ? to_64 : E == 256 ? to_256 : 0;
}

/* Logits, experts and gates; with the probabilities where they are written. */
static inline cost cost_router_forward(double T, int32_t E, int32_t k, phibal_rows type,
                                       bool probabilities, bool logsumexp) {
  const char *kernel = of_experts(
      E, "router forward without bias E = 8, k = 2", "router forward without bias E = 16, k = 2",
      "router forward without bias E = 64, k = 8", "router forward without bias E = 256, k = 8");
  const double rows = E * (row_bytes(type) + (probabilities ? 4 : 0));
  const bool on_page = type == PHIBAL_ROWS_F32 && !probabilities;
  return COST(T * (rows + 8.0 * k + (logsumexp ? 4 : 0)), on_page ? kernel : 0, T * E);
}
static inline cost cost_router_backward(double T, int32_t E, int32_t k) {
  const char *kernel =
      of_experts(E, "router backward E = 8, k = 2", "router backward E = 16, k = 2",
                 "router backward E = 64, k = 8", "router backward E = 256, k = 8");
  return COST(T * (8.0 * E + 8.0 * k), kernel, T * E);
}
static inline cost cost_quantile_required(double T, int32_t E) {
  const char *kernel =
      of_experts(E, "required biases E = 8, k = 2", "required biases E = 16, k = 2",
                 "required biases E = 64, k = 8", "required biases E = 256, k = 8");
  return COST(8 * T * E, kernel, T * E);
}
static inline cost cost_z_loss(double T) {
  return COST(4 * T, "z-loss", T);
}
static inline cost cost_permutation(double slots) {
  return COST(24 * slots, "permutation: counts of slots", slots, "permutation: places of slots",
              slots);
}

static inline cost cost_gather(double rows, double d, phibal_rows type) {
  return COST(rows * (2 * row_bytes(type) * d + 8),
              of_type(type, "gather float", "gather bfloat16"), rows * d);
}
/* A token's row is added to, as is x's gradient in gather's backward pass. */
static inline cost cost_combine(double T, int32_t k, double d, phibal_rows type) {
  return COST(
      T * (8 * d + k * (row_bytes(type) * d + 12)),
      of_type(type, "combine float, a number of a slot", "combine bfloat16, a number of a slot"),
      T * k * d);
}
static inline cost cost_combine_backward(double T, int32_t k, double d, phibal_rows type) {
  return COST(T * (4 * d + k * (2 * row_bytes(type) * d + 16)),
              of_type(type, "combine backward float", "combine backward bfloat16"), T * k * d);
}

/* Of n numbers. */
static inline cost cost_activate(double n, phibal_rows type) {
  return COST(3 * row_bytes(type) * n, of_type(type, "activate float", "activate bfloat16"), n);
}
static inline cost cost_activate_backward(double n, phibal_rows type) {
  return COST(5 * row_bytes(type) * n,
              of_type(type, "activate backward float", "activate backward bfloat16"), n);
}
static inline cost cost_activate_recompute(double n, double routes, phibal_rows type) {
  return COST(6 * row_bytes(type) * n + 16 * routes,
              routes > 0
                  ? of_type(type, "recompute float, with gates", "recompute bfloat16, with gates")
                  : of_type(type, "recompute float", "recompute bfloat16"),
              n);
}
/* From x to y; only one pair of types is on the page. */
static inline cost cost_norm(double n, phibal_rows x, phibal_rows y) {
  return COST((row_bytes(x) + row_bytes(y)) * n,
              x == PHIBAL_ROWS_F32 && y == PHIBAL_ROWS_BF16 ? "RMSNorm" : 0, n);
}
/* x's gradient is written, or added to. */
static inline cost cost_norm_backward(double n, phibal_rows type, bool add) {
  return COST((3 + add) * row_bytes(type) * n, type == PHIBAL_ROWS_F32 ? "RMSNorm backward" : 0, n);
}
static inline cost cost_rope(double n, phibal_rows type) {
  return COST(2 * row_bytes(type) * n, of_type(type, "RoPE float", "RoPE bfloat16"), n);
}
static inline cost cost_add(double n, phibal_rows type) {
  return COST((row_bytes(type) + 8) * n, of_type(type, 0, "addition of bfloat16 rows"), n);
}
static inline cost cost_narrow(double n) {
  return COST(6 * n);
}
static inline cost cost_embedding(double n) {
  return COST(8 * n, "embedding", n);
}
static inline cost cost_embedding_backward(double n) {
  return COST(12 * n);
}
static inline cost cost_cross_entropy(double n, phibal_rows type) {
  return COST(2 * row_bytes(type) * n,
              of_type(type, "cross-entropy float", "cross-entropy bfloat16"), n);
}
static inline cost cost_gradient_norm(double parameters) {
  return COST(4 * parameters, "gradient norm", parameters);
}
static inline cost cost_adamw(double parameters) {
  return COST(30 * parameters, "AdamW and bfloat16 weights", parameters);
}

#endif
