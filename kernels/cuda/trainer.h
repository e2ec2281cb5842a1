/* What a training step on a device needs beside the operations of phibal/cuda.h: the CUDA
   counterparts of moe/model/norm.h, rope.h, head.h and optimizer.h. As those, they belong to the
   trainer and are no operations of the catalogue. Conventions are those of phibal/cuda.h: device
   pointers, the call last, no waiting and no allocation; failures found on the device are left in
   call->failure.

   Rows are binary32 or bfloat16 (`type`); what is computed from them, and every weight of a norm,
   is binary32 or binary64. In binary32 the bits are the CPU's but where it is said otherwise; in
   bfloat16 they are those of the CPU on the same numbers, rounded once more to store them. */
#ifndef PHIBAL_CUDA_TRAINER_H
#define PHIBAL_CUDA_TRAINER_H

#include <phibal/cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* RMSNorm, as moe/model/norm.h: y = w x r, r = 1 / sqrt(mean(x^2) + epsilon), over vectors of n
   numbers, `heads` of them side by side in each row. Strides are in numbers. */
typedef struct phibal_cuda_norm {
  int64_t rows;
  int32_t heads;
  int32_t n;
  float epsilon;
  phibal_rows type; /* of x, and of both gradients */
} phibal_cuda_norm;

/* y_type is no wider than x's. y may be x where they have one type. inverse [rows][heads] keeps r.
   No workspace. */
phibal_status phibal_cuda_norm_forward(const phibal_cuda_norm *norm, const void *x,
                                       int64_t x_stride, const float *weight, phibal_rows y_type,
                                       void *y, int64_t y_stride, float *inverse,
                                       const phibal_cuda *call);
/* Both results at once of binary32 x: y [..] in binary32 and `narrow` in bfloat16, of one stride,
   neither of them x. */
phibal_status phibal_cuda_norm_forward_both(const phibal_cuda_norm *norm, const float *x,
                                            int64_t x_stride, const float *weight, float *y,
                                            void *narrow, int64_t y_stride, float *inverse,
                                            const phibal_cuda *call);
/* Workspace: anything. x_gradient is overwritten, or added to with `add`; without, it may be
   y_gradient. weight_gradient [n] is added to. */
size_t phibal_cuda_norm_backward_workspace(const phibal_cuda_norm *norm);
phibal_status phibal_cuda_norm_backward(const phibal_cuda_norm *norm, const void *x,
                                        int64_t x_stride, const float *weight, const float *inverse,
                                        const void *y_gradient, int64_t y_stride, int add,
                                        void *x_gradient, int64_t gradient_stride,
                                        float *weight_gradient, const phibal_cuda *call);

/* Routes of T tokens to rows by expert, with their gates. */
typedef struct phibal_cuda_routes {
  int64_t tokens;
  int32_t active;
  const int64_t *row;   /* [T k] of each slot, by phibal_permutation; null: slot n's row is n */
  const float *gates;   /* [T][k] */
  float *gate_gradient; /* [T][k] out: <dL/dy of the token, W_down h of the row>; 0 without a row */
} phibal_cuda_routes;

/* Where the experts' rows lie: offsets [E+1] on the device. host_offsets: the same numbers on the
   host; or null, and then the products read their sizes on the device, where there are at most
   `most` rows (phibal_cuda_ffn_sizes_on_device). */
typedef struct phibal_cuda_groups {
  const int64_t *offsets, *host_offsets;
  int64_t most;
} phibal_cuda_groups;

/* Whether the library of products takes the sizes of all products of this FFN from the device.
   `places`: the bits of all addresses that the products will get. Where it does not (cuBLAS before
   13.4, devices other than compute capability 9, binary32, places that are no multiples of 16
   bytes), cublasGemmGroupedBatchedEx and products each by itself need host_offsets. */
int phibal_cuda_ffn_sizes_on_device(const phibal_ffn *ffn, phibal_rows type, int64_t most,
                                    uintptr_t places, const phibal_cuda *call);

/* phibal_cuda_ffn_forward, where host_offsets may be null. */
phibal_status phibal_cuda_ffn_forward_groups(const phibal_ffn *ffn, phibal_rows type,
                                             const phibal_cuda_groups *groups, const void *x,
                                             const void *w_gate, const void *w_up,
                                             const void *w_down, void *a, void *b, void *h, void *y,
                                             const phibal_cuda *call);
/* a and b of that, to the bit, and nothing else. */
phibal_status phibal_cuda_ffn_gate_up(const phibal_ffn *ffn, phibal_rows type,
                                      const phibal_cuda_groups *groups, const void *x,
                                      const void *w_gate, const void *w_up, void *a, void *b,
                                      const phibal_cuda *call);
/* (E6): (E3) and (E5) at once where the forward pass kept a and b alone, in the same calls and
   types as phibal_cuda_ffn_backward: h is made again, and the experts' outputs are not needed. Row
   n, of slot s, was weighted by gate s; y_gradient [N][d] are the tokens' gradients, gathered,
   without gates. h_gradient [N][f] is scratch; x_gradient may be x. `routes` may be null: gates
   of 1. With `add` the weights' gradients are added to; without, they are overwritten, those of
   experts without rows by 0. Bounds: (E6b) at the head of ffn.cu. */
phibal_status phibal_cuda_ffn_backward_recompute(
    const phibal_ffn *ffn, phibal_rows type, const phibal_cuda_groups *groups,
    const phibal_cuda_routes *routes, const void *x, const void *w_gate, const void *w_up,
    const void *w_down, void *a, void *b, const void *y_gradient, void *h_gradient,
    void *x_gradient, float *w_gate_gradient, float *w_up_gradient, float *w_down_gradient, int add,
    const phibal_cuda *call);
/* What that does between its products: from dh = W_down^T dL/dy in h_gradient, of `rows` rows of
   `hidden` numbers, gate_gradient = <dh, h>; in place of a and b dL/da and dL/db, of dL/dh = gate
   dh; in place of h_gradient gate h, which W_down's gradient multiplies. No workspace. */
phibal_status phibal_cuda_activate_backward_recompute(
    phibal_activation activation, phibal_rows type, int64_t rows, int64_t hidden,
    const phibal_cuda_routes *routes, void *a, void *b, void *h_gradient, const phibal_cuda *call);

/* phibal_cuda_gather of *count rows, and phibal_cuda_activate of *count rows of `hidden` numbers:
   count is on the device, and at most `most`. */
phibal_status phibal_cuda_gather_counted(const int64_t *count, int64_t most, int32_t active,
                                         int64_t width, phibal_rows type, const int64_t *source,
                                         const void *x, void *gathered, const phibal_cuda *call);
phibal_status phibal_cuda_activate_counted(phibal_activation activation, phibal_rows type,
                                           const int64_t *count, int64_t most, int64_t hidden,
                                           const void *a, const void *b, void *h,
                                           const phibal_cuda *call);

/* As rope_apply: turns n numbers of each of `heads` heads in place, the pairs (x_i, x_(i + n/2)),
   or (x_2i, x_(2i+1)) where they are interleaved; row i is at position i % sequence. Strides are in
   numbers, from head to head and from row to row. */
typedef struct phibal_cuda_rope_shape {
  int64_t rows;
  int32_t sequence, heads, n;
  int64_t head_stride, row_stride;
  int interleaved;
  phibal_rows type;
} phibal_cuda_rope_shape;

/* direction: 1, or -1 in the backward pass. cosine, sine [sequence][n/2] (rope_table). No
   workspace. */
phibal_status phibal_cuda_rope(const phibal_cuda_rope_shape *shape, const float *cosine,
                               const float *sine, float direction, void *x,
                               const phibal_cuda *call);

/* Cross-entropy of rows of logits [V] and its gradient: what head_loss does between its products.
   Rows whose target is -1 count in nothing. */
typedef struct phibal_cuda_loss {
  int64_t rows;
  int32_t vocabulary;
  float softcap; /* logits = cap tanh(logits / cap); 0 for none */
  phibal_rows type;
  int gradient; /* leave in logits the gradient of scale times the sum of the losses */
  double scale;
} phibal_cuda_loss;

/* row_loss [rows] in nats, 0 without a target; *loss += their sum, *correct += the rows whose
   target is the first of the largest logits, *counted += the rows with a target. No workspace. Sums
   are in another order than the CPU's; with u = 2^-53 and V the vocabulary:
   - the sum of a row's exponentials is within (V / 1024 + 20 + 1.2 log V + 1.2 a) u of the exact
     one, relatively, where a = min(largest - target's logit, 500), and 0 for bfloat16; the CPU's is
     within (V / 16 + 7) u: together s := (0.07 V + 47 + 1.2 a) u;
   - row_loss differs by s + 3 u (|loss| + |largest - target's logit|) at most;
   - a gradient in binary32 differs by s + 2^-38 of itself before it is rounded once, hence by no
     more than one unit in the last place; at the target by s scale besides;
   - *loss differs by rows u times the sum of the losses, besides what the rows do.
   Rows in bfloat16 have exponentials in binary32, by the device's instruction: with U = 2^-24 s is
   (9 + 2.3 log V) U more, and a gradient differs before it is rounded to bfloat16 by (18 + 2.3 |d|
   + 2.3 log V) U < 2^-15.9 of itself, d = logit - largest, and by 2^-126 scale besides: such
   exponentials may be 0. */
phibal_status phibal_cuda_cross_entropy(const phibal_cuda_loss *shape, const int32_t *targets,
                                        void *logits, double *row_loss, double *loss,
                                        int64_t *correct, int64_t *counted,
                                        const phibal_cuda *call);

/* *norm = the Euclidean norm of the gradients, whose block b is begin[b] .. begin[b+1]-1, with the
   bits of optimizer_norm where the blocks are its own (optimizer_unit); begin [blocks + 1]. A
   number that is not finite is a failure, which names its place. Workspace: anything. */
size_t phibal_cuda_gradient_norm_workspace(int64_t blocks);
phibal_status phibal_cuda_gradient_norm(int64_t blocks, const int64_t *begin,
                                        const float *gradients, double *norm,
                                        const phibal_cuda *call);

/* Its two halves: sums[b] of block b's squares, and *norm = the root of the sum over b of
   sums[index[b]], in that order; index null: sums[b]. What several ranks have of a gradient comes
   together between them. No workspace. */
phibal_status phibal_cuda_gradient_blocks(int64_t blocks, const int64_t *begin,
                                          const float *gradients, double *sums,
                                          const phibal_cuda *call);
phibal_status phibal_cuda_gradient_norm_of(int64_t blocks, const double *sums, const int64_t *index,
                                           double *norm, const phibal_cuda *call);

/* *gradient becomes NaN where one of failures [n] is set, and with it the norm of the gradients of
   all ranks: no parameter is updated then. */
phibal_status phibal_cuda_stop_on_failure(int32_t n, const uint64_t *failures, float *gradient,
                                          const phibal_cuda *call);

/* One AdamW step on all parameters in one launch, with the bits of optimizer_update. */
typedef struct phibal_cuda_adamw {
  int64_t parameters;
  double lr, beta1, beta2, epsilon, weight_decay;
  double first_scale, second_scale; /* 1 / (1 - beta^t), t updates with this one */
  double clip;                      /* 0: none */
  /* Stretches of parameters that decay, or do not: end[s] is where stretch s ends, rising;
     end[segments - 1] = parameters. */
  int32_t segments;
  const int64_t *end;
  const uint8_t *decays;
} phibal_cuda_adamw;

/* norm: null, or that of the gradients: they are scaled so that it is at most clip, and where it is
   not finite nothing is written. narrow: null, or [parameters] the weights again as bfloat16. No
   workspace. */
phibal_status phibal_cuda_adamw_update(const phibal_cuda_adamw *step, const double *norm,
                                       const float *gradients, float *first, float *second,
                                       float *weights, uint16_t *narrow, const phibal_cuda *call);

/* Causal attention with grouped queries, as moe/model/attention.h, by the library's products: the
   scores of all heads of one sequence exist at a time. At most PHIBAL_MAX_EXPERTS heads. Rounded
   otherwise than the CPU's (probabilities are divided by their sum, sums are the library's); scores
   are binary32, and in bfloat16 probabilities and the scores' gradients are rounded to it before
   they are multiplied. verify/attention_judged.h has the bound. */
typedef struct phibal_cuda_attention {
  int32_t batch, sequence, heads, key_value_heads, head_width;
  phibal_rows type; /* of qkv, out and their gradients */
  /* Device [batch][sequence]: the first position that each one attends to, 0 .. its own, where a
     sequence has isolated documents; null: 0. Then cuDNN has no plan. */
  const int32_t *starts;
} phibal_cuda_attention;

/* Plans of cuDNN's attention for one shape in bfloat16, made once and kept in the call; several
   shapes one after another. Where the build has no cuDNN, or the device or cuDNN has none for the
   shape, the products above go on, and _by says why. This allocates, and workspaces are to be asked
   for after it. */
phibal_status phibal_cuda_attention_create(const phibal_cuda_attention *shape, phibal_cuda *call);
void phibal_cuda_attention_destroy(phibal_cuda *call);
/* What computes the shape: "cuDNN 9.19.0", or "matrix products: " and why. For as long as the
   call's plans. */
const char *phibal_cuda_attention_by(const phibal_cuda_attention *shape, const phibal_cuda *call);

/* Workspace: anything; by products 8 heads sequence^2 bytes and a little. */
size_t phibal_cuda_attention_workspace(const phibal_cuda_attention *shape, const phibal_cuda *call);
/* logsumexp [batch][heads][sequence]: log sum_j exp(<q, k_j> / sqrt(n)). In binary32 it may be
   null; then it is not kept. */
phibal_status phibal_cuda_attention_forward(const phibal_cuda_attention *shape, const void *qkv,
                                            void *out, float *logsumexp, const phibal_cuda *call);
/* out, logsumexp: what the forward pass left; in binary32 they may be null. qkv_gradient is
   overwritten. */
phibal_status phibal_cuda_attention_backward(const phibal_cuda_attention *shape, const void *qkv,
                                             const void *out, const float *logsumexp,
                                             const void *out_gradient, void *qkv_gradient,
                                             const phibal_cuda *call);

/* As moe/model/embedding.h, with its bits: a column is added up by one thread, rows in order. */
phibal_status phibal_cuda_embedding_forward(int64_t rows, int32_t width, const int32_t *tokens,
                                            float scale, const float *weight, float *x,
                                            const phibal_cuda *call);
phibal_status phibal_cuda_embedding_backward(int64_t rows, int32_t width, const int32_t *tokens,
                                             float scale, const float *x_gradient,
                                             float *weight_gradient, const phibal_cuda *call);

/* to[i] += x[i] */
phibal_status phibal_cuda_add(int64_t n, phibal_rows type, const void *x, float *to,
                              const phibal_cuda *call);
/* to[i] = x[i] as bfloat16, to nearest, ties to even */
phibal_status phibal_cuda_narrow(int64_t n, const float *x, void *to, const phibal_cuda *call);

/* to[i] = x[i] factor / divisor, in binary64, rounded once more to binary32; to may be x */
phibal_status phibal_cuda_scale(int64_t n, const float *x, double factor, double divisor, float *to,
                                const phibal_cuda *call);
/* to[i] = (1 - eta) to[i] + eta x[i], correctly rounded, of either sign */
phibal_status phibal_cuda_average(int64_t n, float eta, const float *x, float *to,
                                  const phibal_cuda *call);

/* (L7) of rows of required biases: PHIBAL_CUDA_QUANTILE_ROUNDS rounds and a last one, from 0 on.
   Where ranks share the tokens, the caller adds up `counts` [rows][PHIBAL_CUDA_QUANTILE_BOUNDS]
   over them after each round. A round narrows the keys low .. high [rows] by what was counted, and
   counts anew; the last one writes the quantiles. `tokens` may be 0. Failures are those of
   phibal_cuda_quantile. */
#define PHIBAL_CUDA_QUANTILE_ROUNDS 8
#define PHIBAL_CUDA_QUANTILE_BOUNDS 15
phibal_status phibal_cuda_quantile_round(int32_t round, int64_t rows, int64_t tokens,
                                         int64_t stride, const float *required, int64_t place,
                                         int32_t *low, int32_t *high, uint64_t *counts,
                                         float *quantile, const phibal_cuda *call);

/* (L8) range [layers][2] = min_e low[e] - by and max_e high[e] + by of [layers][E] numbers. */
phibal_status phibal_cuda_quantile_range(int32_t layers, int32_t experts, const float *low,
                                         const float *high, double by, float *range,
                                         const phibal_cuda *call);
/* phibal_quantile_histogram of one layer over its range [2], and phibal_quantile_interpolated of
   the counts [E][bins], after which they are 0. Where the range is one number that is the quantile,
   and nothing is counted. Numbers outside, and numbers of tokens that are not one for all experts,
   are reported. */
phibal_status phibal_cuda_quantile_histogram(int32_t experts, int64_t tokens, int64_t stride,
                                             const float *required, const float *range,
                                             int32_t bins, uint64_t *count,
                                             const phibal_cuda *call);
phibal_status phibal_cuda_quantile_interpolated(int32_t experts, int32_t active, int64_t tokens,
                                                const float *range, int32_t bins, uint64_t *count,
                                                float *quantile, const phibal_cuda *call);

/* Gates y [T][k] of tokens become scale y / max(sum y, floor), with sums [T] = sum y; and from the
   gradient [T][k] of these gates that of y, in its place (kernels/core/gate_floor.h). No workspace.
 */
phibal_status phibal_cuda_gate_floor(int64_t tokens, int32_t active, float scale, float floor,
                                     float *gates, float *sums, const phibal_cuda *call);
phibal_status phibal_cuda_gate_floor_backward(int64_t tokens, int32_t active, float scale,
                                              float floor, const float *gates, const float *sums,
                                              float *gradient, const phibal_cuda *call);

/* Dense products, which add up in binary32: y [rows][out] = x [rows][in] w^T, or `to` + that where
   it is not null, which may be y; x_gradient = y_gradient w; w_gradient = y_gradient^T x, or with
   `add` w_gradient += that. `type` is that of both factors, y_type and x_type that of the result,
   which is no narrower. */
phibal_status phibal_cuda_linear(int64_t rows, int64_t out, int64_t in, phibal_rows type,
                                 const void *x, const void *w, const void *to, phibal_rows y_type,
                                 void *y, const phibal_cuda *call);
phibal_status phibal_cuda_linear_input_gradient(int64_t rows, int64_t out, int64_t in,
                                                phibal_rows type, const void *y_gradient,
                                                const void *w, phibal_rows x_type, void *x_gradient,
                                                const phibal_cuda *call);
phibal_status phibal_cuda_linear_weight_gradient(int64_t rows, int64_t out, int64_t in,
                                                 phibal_rows type, const void *y_gradient,
                                                 const void *x, float *w_gradient, int add,
                                                 const phibal_cuda *call);

/* A stream of the call's own, which waits for no other. The default stream, null, cannot be
   captured. */
phibal_status phibal_cuda_stream_create(phibal_cuda *call);
void phibal_cuda_stream_destroy(phibal_cuda *call);

/* Between _begin and _end nothing runs: what is started in the call's stream becomes a graph, which
   _launch runs as often as it is asked to. What the host reads of the device, or the device of host
   memory that is not pinned, has no place in a graph: waiting, allocating and such copies fail, and
   so does _end after them. */
typedef struct phibal_cuda_graph phibal_cuda_graph;
phibal_status phibal_cuda_capture_begin(const phibal_cuda *call);
phibal_status phibal_cuda_capture_end(const phibal_cuda *call, phibal_cuda_graph **graph);
phibal_status phibal_cuda_graph_launch(const phibal_cuda_graph *graph, const phibal_cuda *call);
void phibal_cuda_graph_destroy(phibal_cuda_graph *graph);

/* n places for failures, empty; and what one of them says, PHIBAL_OK if it is empty. */
phibal_status phibal_cuda_expect_all(int32_t n, uint64_t *failures, const phibal_cuda *call);
phibal_status phibal_cuda_failure(uint64_t failure);

/* Device memory, aligned to 256 bytes, and pinned memory of the host, which the device copies
   without the host's help; null if it is refused. Copies between any two places and zeros are in
   the call's stream: host memory has to stay until phibal_cuda_wait. */
void *phibal_cuda_allocate(size_t bytes);
void phibal_cuda_free(void *p);
void *phibal_cuda_allocate_host(size_t bytes);
void phibal_cuda_free_host(void *p);
phibal_status phibal_cuda_copy(void *to, const void *from, size_t bytes, const phibal_cuda *call);
/* `rows` rows of `bytes` bytes; strides in bytes. */
phibal_status phibal_cuda_copy_rows(int64_t rows, size_t bytes, void *to, size_t to_stride,
                                    const void *from, size_t from_stride, const phibal_cuda *call);
phibal_status phibal_cuda_zero(void *p, size_t bytes, const phibal_cuda *call);
phibal_status phibal_cuda_wait(const phibal_cuda *call);

#ifdef __cplusplus
}
#endif
#endif
