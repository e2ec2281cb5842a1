/* The gated FFN of every expert over its group of rows, and its gradients.

   Rows are tiled inside an expert, so that one large group does not occupy one thread; weight
   gradients are tiled over their own rows and columns, each tile summing over all the rows of its
   expert. Tiles depend on the shapes and the offsets alone: the same bits for any number of
   threads. Forward, a row's result depends on that row and the weights of its expert alone.

   Bounds, u = 2^-24, gamma_n = n u / (1 - n u), |.| componentwise, products exact:
   The activation is evaluated in binary64 (core/activation.h): its value within 2^-41 relative, its
   derivative within 2^-42 absolutely, |act'| <= 1.13 (SiLU: 1.0998 at 2.40; GELU, tanh form: 1.129
   at 1.47); far below 0 both are what binary32 rounds to 0, times any b and dh. The products with b
   and dh are made in binary64 and rounded once.

   (E2b) Let A = |W_gate||x|, B = |W_up||x| and g = gamma_d. From gemm.h |da| <= g A, |db| <= g B,
   so |dh| <= H := 1.13 g A (|b| + g B) + |act(a)| g B
                  + (u + 2^-40) (|act(a)| + 1.13 g A) (|b| + g B)
     |dy| <= |W_down| H + gamma_f |W_down| (|h| + H).

   (E3b) With the a, b, h it is given taken as exact, dh = W_down^T dy:
     |error of dL/dh| <= D := gamma_d |W_down|^T |dy|
     |error of dL/db| <= |act(a)| D + (u + 2^-40) |act(a)| (|dL/dh| + D) =: D_b
     |error of dL/da| <= |b act'(a)| D + (u |act'(a)| + 2^-41) |b| (|dL/dh| + D) =: D_a
     dx = W_gate^T da + W_up^T db, two products the second of which adds to the first:
     |error| <= |W_gate|^T D_a + |W_up|^T D_b + gamma_(2 f) (|W_gate|^T (|da| + D_a)
                                                                 + |W_up|^T (|db| + D_b))
     dW = dW_before + sum over the n rows of the group:
     |error of dW_down| <= gamma_n (|before| + |dy|^T |h|)
     |error of dW_gate| <= |x|^T D_a + gamma_n (|before| + (|da| + D_a)^T |x|); W_up likewise
   (`phibal verify` allows gamma_(n+1): who adds a finished product rounds once more).
   Underflow adds at most 2^-149 to h, da and db, and (n + 1) 2^-149 to a sum of n terms. */
#include "ffn.h"

#include "gemm.h"

#include "../core/activation.h"
#include <phibal/environment.h>

#define OPENMP_BEGAN "a thread of OpenMP began"

void phibal_ffn_activate(phibal_activation activation, int64_t n, const float *restrict a,
                         const float *restrict b, float *restrict h) {
  if (activation == PHIBAL_ACTIVATION_SILU)
    for (int64_t i = 0; i < n; i++) h[i] = (float)(core_silu64((double)a[i]).value * (double)b[i]);
  else
    for (int64_t i = 0; i < n; i++) h[i] = (float)(core_gelu64((double)a[i]).value * (double)b[i]);
}

void phibal_ffn_activate_backward(phibal_activation activation, int64_t n, float *restrict a,
                                  float *restrict b, const float *restrict h_gradient) {
  /* a and b come from memory: those of the next chunk are fetched while this one is computed. */
  enum { CHUNK = 512, LINE = 16 };
  for (int64_t first = 0; first < n; first += CHUNK) {
    const int64_t end = smaller(first + CHUNK, n);
    for (int64_t i = end; i < smaller(end + CHUNK, n); i += LINE) {
      __builtin_prefetch(a + i, 1);
      __builtin_prefetch(b + i, 1);
    }
    if (activation == PHIBAL_ACTIVATION_SILU) {
      for (int64_t i = first; i < end; i++) {
        core_activation act = core_silu64((double)a[i]);
        double gradient = (double)h_gradient[i];
        a[i] = (float)(gradient * (double)b[i] * act.derivative);
        b[i] = (float)(gradient * act.value);
      }
    } else {
      for (int64_t i = first; i < end; i++) {
        core_activation act = core_gelu64((double)a[i]);
        double gradient = (double)h_gradient[i];
        a[i] = (float)(gradient * (double)b[i] * act.derivative);
        b[i] = (float)(gradient * act.value);
      }
    }
  }
}

static phibal_status ffn_check(const phibal_ffn *ffn, const int64_t *offsets) {
  if (!ffn || !offsets)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "expert FFN: null shape or offsets");
  if (ffn->experts < 1 || ffn->width < 1 || ffn->hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "expert FFN: experts %d, width %d and hidden %d must be positive",
                             ffn->experts, ffn->width, ffn->hidden);
  if (ffn->activation != PHIBAL_ACTIVATION_SILU && ffn->activation != PHIBAL_ACTIVATION_GELU)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "expert FFN: no activation %d",
                             (int)ffn->activation);
  if (offsets[0] != 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "expert FFN: offsets[0] is %lld, not 0",
                             (long long)offsets[0]);
  for (int32_t e = 0; e < ffn->experts; e++)
    if (offsets[e + 1] < offsets[e])
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "expert FFN: offsets fall from %lld to %lld at expert %d",
                               (long long)offsets[e], (long long)offsets[e + 1], e);
  return phibal_environment_check("expert FFN");
}

/* Tiles of the largest group: the loops below run over experts times this, and skip what a smaller
   group does not have. */
static int64_t most_tiles(const phibal_ffn *ffn, const int64_t *offsets) {
  int64_t rows = 0;
  for (int32_t e = 0; e < ffn->experts; e++)
    if (offsets[e + 1] - offsets[e] > rows) rows = offsets[e + 1] - offsets[e];
  return (rows + GEMM_TILE_ROWS - 1) / GEMM_TILE_ROWS;
}

phibal_status phibal_ffn_forward(const phibal_ffn *ffn, const int64_t *offsets, const float *x,
                                 const float *w_gate, const float *w_up, const float *w_down,
                                 float *a, float *b, float *h, float *y) {
  phibal_status status = ffn_check(ffn, offsets);
  if (status) return status;
  if (offsets[ffn->experts] == 0) return PHIBAL_OK;
  if (!x || !w_gate || !w_up || !w_down || !a || !b || !h || !y)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "expert FFN: null array");
  int64_t d = ffn->width, f = ffn->hidden, tiles = most_tiles(ffn, offsets);
  phibal_activation activation = ffn->activation;
#pragma omp parallel
  {
    phibal_environment_watch(OPENMP_BEGAN);
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t e = 0; e < ffn->experts; e++)
      for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t row = offsets[e] + tile * GEMM_TILE_ROWS;
        if (row >= offsets[e + 1]) continue;
        int64_t n = smaller(GEMM_TILE_ROWS, offsets[e + 1] - row);
        phibal_gemm_nt(n, f, d, x + row * d, d, w_gate + e * f * d, d, false, a + row * f, f);
        phibal_gemm_nt(n, f, d, x + row * d, d, w_up + e * f * d, d, false, b + row * f, f);
        phibal_ffn_activate(activation, n * f, a + row * f, b + row * f, h + row * f);
        phibal_gemm_nt(n, d, f, h + row * f, f, w_down + e * d * f, f, false, y + row * d, d);
      }
  }
  return phibal_environment_check("expert FFN");
}

/* Tile `tile` of w_gradient[e] [m][n] += left^T right over the rows of expert e, numbered along the
   rows of tiles; nothing past the last. */
static void weight_gradient_tile(int64_t tile, int64_t m, int64_t n, int64_t rows,
                                 const float *left, const float *right, float *w_gradient) {
  int64_t across = (n + GEMM_TILE_COLUMNS - 1) / GEMM_TILE_COLUMNS;
  int64_t i = tile / across * GEMM_TILE_ROWS, j = tile % across * GEMM_TILE_COLUMNS;
  phibal_gemm_tn(smaller(GEMM_TILE_ROWS, m - i), smaller(GEMM_TILE_COLUMNS, n - j), rows, left + i,
                 m, right + j, n, true, w_gradient + i * n + j, n);
}

static int64_t weight_tiles(int64_t m, int64_t n) {
  return (m + GEMM_TILE_ROWS - 1) / GEMM_TILE_ROWS *
         ((n + GEMM_TILE_COLUMNS - 1) / GEMM_TILE_COLUMNS);
}

phibal_status phibal_ffn_backward(const phibal_ffn *ffn, const int64_t *offsets, const float *x,
                                  const float *w_gate, const float *w_up, const float *w_down,
                                  float *a, float *b, const float *h, const float *y_gradient,
                                  float *h_gradient, float *x_gradient, float *w_gate_gradient,
                                  float *w_up_gradient, float *w_down_gradient) {
  phibal_status status = ffn_check(ffn, offsets);
  if (status) return status;
  if (offsets[ffn->experts] == 0) return PHIBAL_OK;
  if (!x || !w_gate || !w_up || !w_down || !a || !b || !h || !y_gradient || !h_gradient ||
      !x_gradient || !w_gate_gradient || !w_up_gradient || !w_down_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "expert FFN backward: null array");
  int64_t d = ffn->width, f = ffn->hidden, tiles = most_tiles(ffn, offsets);
  phibal_activation activation = ffn->activation;
  int64_t inward = weight_tiles(f, d), outward = weight_tiles(d, f);
#pragma omp parallel
  {
    phibal_environment_watch(OPENMP_BEGAN);
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t e = 0; e < ffn->experts; e++)
      for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t row = offsets[e] + tile * GEMM_TILE_ROWS;
        if (row >= offsets[e + 1]) continue;
        int64_t n = smaller(GEMM_TILE_ROWS, offsets[e + 1] - row);
        phibal_gemm_nn(n, f, d, y_gradient + row * d, d, w_down + e * d * f, f, false,
                       h_gradient + row * f, f);
        phibal_ffn_activate_backward(activation, n * f, a + row * f, b + row * f,
                                     h_gradient + row * f);
        phibal_gemm_nn(n, d, f, a + row * f, f, w_gate + e * f * d, d, false, x_gradient + row * d,
                       d);
        phibal_gemm_nn(n, d, f, b + row * f, f, w_up + e * f * d, d, true, x_gradient + row * d, d);
      }
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t e = 0; e < ffn->experts; e++)
      for (int64_t tile = 0; tile < 2 * inward + outward; tile++) {
        int64_t row = offsets[e], n = offsets[e + 1] - row;
        if (n == 0) continue;
        if (tile < inward)
          weight_gradient_tile(tile, f, d, n, a + row * f, x + row * d,
                               w_gate_gradient + e * f * d);
        else if (tile < 2 * inward)
          weight_gradient_tile(tile - inward, f, d, n, b + row * f, x + row * d,
                               w_up_gradient + e * f * d);
        else
          weight_gradient_tile(tile - 2 * inward, d, f, n, y_gradient + row * d, h + row * f,
                               w_down_gradient + e * d * f);
      }
  }
  return phibal_environment_check("expert FFN backward");
}
