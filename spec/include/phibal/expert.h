/* The expert layer: token permutation, gated FFN over ragged groups, weighted combine, and their
   gradients. Equations: SPEC.md section E. Deterministic for any number of threads. */
#ifndef PHIBAL_EXPERT_H
#define PHIBAL_EXPERT_H

#include <phibal/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (E1) Stable counting sort of the routes by expert; dropless.
     experts  [T][k]  expert of each slot, -1 for padding (the slot gets no row)
     offsets  [E+1]   out: rows offsets[e] .. offsets[e+1]-1 belong to expert e; N = offsets[E]
     source   [T k]   out: source[row] = t k + s for row < N
     row      [T k]   out: row[t k + s], or -1 for padding; the inverse of source
   PHIBAL_ERROR_ARGUMENT names an expert outside -1 .. E-1. */
phibal_status phibal_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                 const int32_t *experts, int64_t *offsets, int64_t *source,
                                 int64_t *row);

/* gathered[N][d] = x[source[row] / k] : exact copies. */
phibal_status phibal_gather(int64_t rows, int32_t active, int64_t width, const int64_t *source,
                            const float *x, float *gathered);
/* (E1b) x_gradient[T][d] += sum over the slots s of a token of gathered_gradient[row[t k + s]], in
   the order s = 0 .. k-1. */
phibal_status phibal_gather_backward(int64_t tokens, int32_t active, int64_t width,
                                     const int64_t *row, const float *gathered_gradient,
                                     float *x_gradient);

typedef enum phibal_activation {
  PHIBAL_ACTIVATION_SILU, /* SwiGLU */
  PHIBAL_ACTIVATION_GELU, /* GeGLU, the tanh form */
} phibal_activation;

typedef struct phibal_ffn {
  int32_t experts; /* groups; 1 for a dense FFN */
  int32_t width;   /* d, the model's width */
  int32_t hidden;  /* f, the width of one expert */
  phibal_activation activation;
} phibal_ffn;

/* (E2) For each row n of expert e: a = W_gate x, b = W_up x, h = act(a) b, y = W_down h.
     offsets [E+1]; x [N][d]; w_gate, w_up [E][f][d]; w_down [E][d][f]
     a, b, h [N][f] out, kept for the backward pass; y [N][d] out
   Bounds: (E2b) at the head of kernels/cpu/ffn.c, those of two matrix products and what act and the
   rounding of h add between them. */
phibal_status phibal_ffn_forward(const phibal_ffn *ffn, const int64_t *offsets, const float *x,
                                 const float *w_gate, const float *w_up, const float *w_down,
                                 float *a, float *b, float *h, float *y);

/* (E3) Gradients. y_gradient [N][d]; a, b, h as the forward pass left them (a and b are overwritten
   with dL/da and dL/db). x_gradient [N][d] is overwritten; weight gradients are added to. Bounds:
   (E3b) there. */
phibal_status phibal_ffn_backward(const phibal_ffn *ffn, const int64_t *offsets, const float *x,
                                  const float *w_gate, const float *w_up, const float *w_down,
                                  float *a, float *b, const float *h, const float *y_gradient,
                                  float *h_gradient, float *x_gradient, float *w_gate_gradient,
                                  float *w_up_gradient, float *w_down_gradient);

/* (E4) y[T][d] += sum_s gates[t][s] expert_output[row[t k + s]], s in order, one fma a term; padded
   slots contribute nothing. Bound: (k + 1) u (|y| + sum |g||h|). */
phibal_status phibal_combine(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                             const float *gates, const float *expert_output, float *y);

/* (E5) expert_gradient[row] = gates[t][s] y_gradient[t]; gate_gradient[t][s] = <y_gradient[t],
   expert_output[row]> (0 for padding), accumulated in binary64. */
phibal_status phibal_combine_backward(int64_t tokens, int32_t active, int64_t width,
                                      const int64_t *row, const float *gates,
                                      const float *expert_output, const float *y_gradient,
                                      float *expert_gradient, float *gate_gradient);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/expert.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
