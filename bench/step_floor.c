/* The trainer's own schedule of a step (moe/device) over a library whose functions compute nothing:
   each adds up what its operation has to move (gpu_costs.h), multiply, and issue (gpu_floors.def).
   Addresses are reserved and never touched, so that a model of any size steps.

   The floor of an operation is the longest of: its bytes at a copy's rate; its instructions; its
   products at PEAK, or of binary32 at the data sheet's 67 TFLOP/s. The estimate takes a longer time
   where an H200 did (bench/RESULTS.md), in the place of PEAK and of the floor: `rate` and `slower`
   below. Neither has gaps between operations, waits of the host, or sums over ranks. */
#include "step_floor.h"
#include "gpu_costs.h"
#include "moe/device/device_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef enum part {
  EXPERTS,
  DENSE,
  ATTENTION,
  LOSS,
  ACTIVATION,
  ROWS,
  NORMS,
  ROUTER,
  BALANCE,
  OPTIMIZER,
  PARTS
} part;

/* Of what an H200 was measured: TFLOP/s of products and attention, forward and backward; and how
   many times its floor an operation of the part took. */
static const struct {
  const char *name;
  double rate, rate_backward, slower;
} parts[PARTS] = {
    [EXPERTS] = {"experts' products", 410, 389, 1},
    [DENSE] = {"dense products", 757, 757, 1},
    [ATTENTION] = {"attention", 342, 233, 1},
    [LOSS] = {"cross-entropy", 0, 0, 1 / 0.85},
    [ACTIVATION] = {"activations", 0, 0, 1 / 0.97},
    [ROWS] = {"gather, combine, rows", 0, 0, 1 / 0.93},
    [NORMS] = {"norms and RoPE", 0, 0, 1 / 0.54},
    [ROUTER] = {"router, permutation", 0, 0, 2.1},
    [BALANCE] = {"balancing", 0, 0, 2.1},
    [OPTIMIZER] = {"optimizer, zeros, copies", 0, 0, 1 / 0.85},
};

/* Devices of the page's first compute capability: its own (the first of gpu_floors.def), and what
   bench_gpu found of an H200. */
static const struct paper_device {
  const char *name;
  double clocks, copy; /* of all multiprocessors a second; bytes a second */
} papers[] = {
#define DEVICE(architecture, name, multiprocessors, ghz, copy)                                     \
  {name, multiprocessors * ghz * 1e9, copy * 1e12},
#define FLOOR(architecture, kernel, clocks)
#include "gpu_floors.def"
#undef DEVICE
#undef FLOOR
};
static const struct paper_device h200 = {"H200", 132 * 1.98e9, 4.236e12};
static const struct paper_device *on;
static const struct {
  int architecture;
  const char *kernel;
  double clocks;
} floors[] = {
#define DEVICE(architecture, name, multiprocessors, ghz, copy)
#define FLOOR(architecture, kernel, clocks) {architecture, kernel, clocks},
#include "gpu_floors.def"
#undef DEVICE
#undef FLOOR
};

static double issue_seconds(const char *kernel, double units) {
  for (size_t i = 0; kernel && i < sizeof floors / sizeof *floors; i++)
    if (floors[i].architecture == floors[0].architecture && !strcmp(floors[i].kernel, kernel))
      return floors[i].clocks * units / on->clocks;
  return 0;
}

typedef struct spent {
  double bytes, flops, floor, estimate;
} spent;
static spent total[PARTS];
static double peak_of_step;
static const double PEAK_BINARY32 = 67e12;

static phibal_status spend(part of, cost c) {
  const double issue = issue_seconds(c.kernel, c.units) + issue_seconds(c.next, c.next_units);
  const double bytes = c.bytes / on->copy, least = bytes > issue ? bytes : issue;
  total[of].bytes += c.bytes;
  total[of].floor += least;
  total[of].estimate += least * parts[of].slower;
  return PHIBAL_OK;
}

/* Products: `bytes` of both factors and the result. */
static phibal_status multiply(part of, double flops, double bytes, phibal_rows type,
                              bool backward) {
  const double move = bytes / on->copy;
  const double peak = type == PHIBAL_ROWS_F32 ? PEAK_BINARY32 : peak_of_step;
  const double seen = type == PHIBAL_ROWS_F32
                          ? PEAK_BINARY32
                          : 1e12 * (backward ? parts[of].rate_backward : parts[of].rate);
  total[of].bytes += bytes;
  total[of].flops += flops;
  total[of].floor += move > flops / peak ? move : flops / peak;
  total[of].estimate += move > flops / seen ? move : flops / seen;
  return PHIBAL_OK;
}

/* --- what costs nothing --- */

static phibal_status describe(phibal_cuda *call) {
  call->multiprocessors = 132;
  return PHIBAL_OK;
}
static phibal_status create(phibal_cuda *call) {
  (void)call;
  return PHIBAL_OK;
}
static void destroy(phibal_cuda *call) {
  (void)call;
}
/* Addresses alone; the size lies nowhere, and they are given back with the process. */
static void *reserve(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}
static void keep(void *p) {
  (void)p;
}
static void *allocate_host(size_t bytes) {
  return malloc(bytes);
}
static phibal_status expect_all(int32_t n, uint64_t *failures, const phibal_cuda *call) {
  (void)n, (void)failures, (void)call;
  return PHIBAL_OK;
}
static phibal_status failure(uint64_t f) {
  (void)f;
  return PHIBAL_OK;
}
static phibal_status stop_on_failure(int32_t n, const uint64_t *failures, float *gradient,
                                     const phibal_cuda *call) {
  (void)n, (void)failures, (void)gradient, (void)call;
  return PHIBAL_OK;
}
static phibal_status waits(const phibal_cuda *call) {
  (void)call;
  return PHIBAL_OK;
}
static phibal_status attention_create(const phibal_cuda_attention *a, phibal_cuda *call) {
  (void)a, (void)call;
  return PHIBAL_OK;
}
static size_t norm_workspace(const phibal_cuda_norm *n) {
  (void)n;
  return 256;
}
static size_t attention_workspace(const phibal_cuda_attention *a, const phibal_cuda *call) {
  (void)a, (void)call;
  return 256;
}
static size_t router_workspace(const phibal_router *r) {
  (void)r;
  return 256;
}
static size_t no_workspace(void) {
  return 256;
}
static size_t permutation_workspace(int64_t T, int32_t k, int32_t E, const phibal_cuda *call) {
  (void)T, (void)k, (void)E, (void)call;
  return 256;
}
static size_t ffn_workspace(const phibal_ffn *ffn) {
  (void)ffn;
  return 256;
}
static size_t gradient_norm_workspace(int64_t blocks) {
  (void)blocks;
  return 256;
}
static int sizes_on_device(const phibal_ffn *ffn, phibal_rows type, int64_t most, uintptr_t places,
                           const phibal_cuda *call) {
  (void)ffn, (void)type, (void)most, (void)places, (void)call;
  return 1;
}

/* --- what a step does --- */

static phibal_status copy(void *to, const void *from, size_t bytes, const phibal_cuda *call) {
  (void)to, (void)from, (void)call;
  return spend(OPTIMIZER, COST(2.0 * (double)bytes));
}
static phibal_status copy_rows(int64_t rows, size_t bytes, void *to, size_t to_stride,
                               const void *from, size_t from_stride, const phibal_cuda *call) {
  (void)to, (void)to_stride, (void)from, (void)from_stride, (void)call;
  return spend(ROWS, COST(2.0 * (double)rows * (double)bytes));
}
static phibal_status zero(void *p, size_t bytes, const phibal_cuda *call) {
  (void)p, (void)call;
  return spend(OPTIMIZER, COST((double)bytes));
}
static phibal_status embedding_forward(int64_t rows, int32_t width, const int32_t *tokens,
                                       float scale, const float *weight, float *x,
                                       const phibal_cuda *call) {
  (void)tokens, (void)scale, (void)weight, (void)x, (void)call;
  return spend(ROWS, cost_embedding((double)rows * width));
}
static phibal_status embedding_backward(int64_t rows, int32_t width, const int32_t *tokens,
                                        float scale, const float *x_gradient,
                                        float *weight_gradient, const phibal_cuda *call) {
  (void)tokens, (void)scale, (void)x_gradient, (void)weight_gradient, (void)call;
  return spend(ROWS, cost_embedding_backward((double)rows * width));
}
static phibal_status add(int64_t n, phibal_rows type, const void *x, float *to,
                         const phibal_cuda *call) {
  (void)x, (void)to, (void)call;
  return spend(ROWS, cost_add((double)n, type));
}
static phibal_status narrow(int64_t n, const float *x, void *to, const phibal_cuda *call) {
  (void)x, (void)to, (void)call;
  return spend(ROWS, cost_narrow((double)n));
}
static phibal_status linear(int64_t rows, int64_t out, int64_t in, phibal_rows type, const void *x,
                            const void *w, const void *to, phibal_rows y_type, void *y,
                            const phibal_cuda *call) {
  (void)x, (void)w, (void)y, (void)call;
  const double T = (double)rows, m = (double)out, n = (double)in;
  return multiply(type == PHIBAL_ROWS_F32 ? ROUTER : DENSE, 2 * T * m * n,
                  row_bytes(type) * (T * n + m * n) + row_bytes(y_type) * T * m * (to ? 2 : 1),
                  type, false);
}
static phibal_status linear_input_gradient(int64_t rows, int64_t out, int64_t in, phibal_rows type,
                                           const void *y_gradient, const void *w,
                                           phibal_rows x_type, void *x_gradient,
                                           const phibal_cuda *call) {
  return linear(rows, in, out, type, y_gradient, w, NULL, x_type, x_gradient, call);
}
static phibal_status linear_weight_gradient(int64_t rows, int64_t out, int64_t in, phibal_rows type,
                                            const void *y_gradient, const void *x,
                                            float *w_gradient, int adds, const phibal_cuda *call) {
  (void)y_gradient, (void)x, (void)w_gradient, (void)call;
  const double T = (double)rows, m = (double)out, n = (double)in;
  return multiply(type == PHIBAL_ROWS_F32 ? ROUTER : DENSE, 2 * T * m * n,
                  row_bytes(type) * T * (m + n) + 4 * m * n * (adds ? 2 : 1), type, true);
}
static phibal_status norm_forward(const phibal_cuda_norm *norm, const void *x, int64_t x_stride,
                                  const float *weight, phibal_rows y_type, void *y,
                                  int64_t y_stride, float *inverse, const phibal_cuda *call) {
  (void)x, (void)x_stride, (void)weight, (void)y, (void)y_stride, (void)inverse, (void)call;
  return spend(NORMS, cost_norm((double)norm->rows * norm->heads * norm->n, norm->type, y_type));
}
static phibal_status norm_forward_both(const phibal_cuda_norm *norm, const float *x,
                                       int64_t x_stride, const float *weight, float *y,
                                       void *narrowed, int64_t y_stride, float *inverse,
                                       const phibal_cuda *call) {
  (void)x, (void)x_stride, (void)weight, (void)y, (void)narrowed, (void)y_stride, (void)inverse;
  (void)call;
  return spend(NORMS, COST(10.0 * (double)norm->rows * norm->heads * norm->n));
}
static phibal_status norm_backward(const phibal_cuda_norm *norm, const void *x, int64_t x_stride,
                                   const float *weight, const float *inverse,
                                   const void *y_gradient, int64_t y_stride, int adds,
                                   void *x_gradient, int64_t gradient_stride,
                                   float *weight_gradient, const phibal_cuda *call) {
  (void)x, (void)x_stride, (void)weight, (void)inverse, (void)y_gradient, (void)y_stride;
  (void)x_gradient, (void)gradient_stride, (void)weight_gradient, (void)call;
  return spend(
      NORMS, cost_norm_backward((double)norm->rows * norm->heads * norm->n, norm->type, adds != 0));
}
static phibal_status rope(const phibal_cuda_rope_shape *s, const float *cosine, const float *sine,
                          float direction, void *x, const phibal_cuda *call) {
  (void)cosine, (void)sine, (void)direction, (void)x, (void)call;
  return spend(NORMS, cost_rope((double)s->rows * s->heads * s->n, s->type));
}
/* Of the triangle alone: 2 S (S + 1) n a head forward; backward 5/2 of that. */
static phibal_status attend(const phibal_cuda_attention *a, double times, bool backward) {
  const double S = a->sequence, rows = a->batch * S, size = row_bytes(a->type);
  const double n = a->head_width, all_heads = a->heads + 2.0 * a->key_value_heads;
  return multiply(ATTENTION, times * 2 * rows * (S + 1) * a->heads * n,
                  (backward ? 2 : 1) * size * rows * n * (all_heads + a->heads), a->type, backward);
}
static phibal_status attention(const phibal_cuda_attention *a, const void *qkv, void *out,
                               float *logsumexp, const phibal_cuda *call) {
  (void)qkv, (void)out, (void)logsumexp, (void)call;
  return attend(a, 1, false);
}
static phibal_status attention_gradient(const phibal_cuda_attention *a, const void *qkv,
                                        const void *out, const float *logsumexp,
                                        const void *out_gradient, void *qkv_gradient,
                                        const phibal_cuda *call) {
  (void)qkv, (void)out, (void)logsumexp, (void)out_gradient, (void)qkv_gradient, (void)call;
  return attend(a, 2.5, true);
}
static phibal_status router_forward(const phibal_router *r, int64_t T, phibal_logits type,
                                    const void *logits, const float *bias, const uint8_t *mask,
                                    float *p, int32_t *experts, float *gates, float *logsumexp,
                                    phibal_cuda_loads loads, const phibal_cuda *call) {
  (void)type, (void)logits, (void)bias, (void)mask, (void)experts, (void)gates, (void)loads;
  (void)call;
  return spend(ROUTER, cost_router_forward((double)T, r->experts, r->active, PHIBAL_ROWS_F32,
                                           p != NULL, logsumexp != NULL));
}
static phibal_status router_backward(const phibal_router *r, int64_t T, phibal_logits type,
                                     const void *logits, const uint8_t *mask,
                                     const int32_t *experts, const float *gate_gradient,
                                     const float *price, double price_scale, double z_scale,
                                     float *logit_gradient, const phibal_cuda *call) {
  (void)type, (void)logits, (void)mask, (void)experts, (void)gate_gradient, (void)price;
  (void)price_scale, (void)z_scale, (void)logit_gradient, (void)call;
  return spend(ROUTER, cost_router_backward((double)T, r->experts, r->active));
}
static phibal_status z_loss(int64_t T, double coefficient, const float *logsumexp,
                            const uint8_t *mask, float *loss, const phibal_cuda *call) {
  (void)coefficient, (void)logsumexp, (void)mask, (void)loss, (void)call;
  return spend(ROUTER, cost_z_loss((double)T));
}
static phibal_status permutation(int64_t T, int32_t k, int32_t E, const int32_t *experts,
                                 int64_t *offsets, int64_t *source, int64_t *row,
                                 const phibal_cuda *call) {
  (void)E, (void)experts, (void)offsets, (void)source, (void)row, (void)call;
  return spend(ROUTER, cost_permutation((double)T * k));
}
/* Loads, prices and losses: what is read and written is of layers and experts, not of tokens. */
static phibal_status loads_add(int32_t layers, int32_t E, phibal_cuda_loads to,
                               phibal_cuda_loads from, const phibal_cuda *call) {
  (void)to, (void)from, (void)call;
  return spend(BALANCE, COST(24.0 * layers * E * (PHIBAL_LOAD_LIMBS + 1)));
}
static phibal_status balance_step(const phibal_cuda_balance *b, const phibal_cuda *call) {
  (void)call;
  return spend(BALANCE, COST(76.0 * b->layers * b->experts));
}
static phibal_status gather_counted(const int64_t *count, int64_t most, int32_t k, int64_t width,
                                    phibal_rows type, const int64_t *source, const void *x,
                                    void *gathered, const phibal_cuda *call) {
  (void)count, (void)k, (void)source, (void)x, (void)gathered, (void)call;
  return spend(ROWS, cost_gather((double)most, (double)width, type));
}
static phibal_status gather_backward(int64_t T, int32_t k, int64_t width, phibal_rows type,
                                     const int64_t *row, const void *gathered, float *x_gradient,
                                     const phibal_cuda *call) {
  (void)row, (void)gathered, (void)x_gradient, (void)call;
  return spend(ROWS, cost_combine((double)T, k, (double)width, type));
}
static phibal_status combine(int64_t T, int32_t k, int64_t width, phibal_rows type,
                             const int64_t *row, const float *gates, const void *output, float *y,
                             const phibal_cuda *call) {
  (void)row, (void)gates, (void)output, (void)y, (void)call;
  return spend(ROWS, cost_combine((double)T, k, (double)width, type));
}

/* One product of the FFN for all its experts: rows [N][in] by a matrix [out][in] each, or both
   rows' product into the matrices' gradients. */
static phibal_status product_of_rows(const phibal_ffn *f, phibal_rows type, double N,
                                     bool backward) {
  const double d = f->width, h = f->hidden;
  return multiply(f->experts > 1 ? EXPERTS : DENSE, 2 * N * d * h,
                  row_bytes(type) * (N * (d + h) + f->experts * d * h), type, backward);
}
static phibal_status product_of_weights(const phibal_ffn *f, phibal_rows type, double N, int adds) {
  const double d = f->width, h = f->hidden;
  return multiply(f->experts > 1 ? EXPERTS : DENSE, 2 * N * d * h,
                  row_bytes(type) * N * (d + h) + 4 * f->experts * d * h * (adds ? 2 : 1), type,
                  true);
}
static phibal_status ffn_gate_up(const phibal_ffn *f, phibal_rows type,
                                 const phibal_cuda_groups *groups, const void *x,
                                 const void *w_gate, const void *w_up, void *a, void *b,
                                 const phibal_cuda *call) {
  (void)x, (void)w_gate, (void)w_up, (void)a, (void)b, (void)call;
  for (int i = 0; i < 2; i++) product_of_rows(f, type, (double)groups->most, false);
  return PHIBAL_OK;
}
static phibal_status ffn_forward(const phibal_ffn *f, phibal_rows type,
                                 const phibal_cuda_groups *groups, const void *x,
                                 const void *w_gate, const void *w_up, const void *w_down, void *a,
                                 void *b, void *h, void *y, const phibal_cuda *call) {
  (void)w_down, (void)h, (void)y;
  ffn_gate_up(f, type, groups, x, w_gate, w_up, a, b, call);
  spend(ACTIVATION, cost_activate((double)groups->most * f->hidden, type));
  return product_of_rows(f, type, (double)groups->most, false);
}
/* dh; the activation; dW of three matrices; dx from both sides. */
static phibal_status ffn_backward(const phibal_ffn *f, phibal_rows type,
                                  const phibal_cuda_groups *groups,
                                  const phibal_cuda_routes *routes, const void *x,
                                  const void *w_gate, const void *w_up, const void *w_down, void *a,
                                  void *b, const void *y_gradient, void *h_gradient,
                                  void *x_gradient, float *w_gate_gradient, float *w_up_gradient,
                                  float *w_down_gradient, int adds, const phibal_cuda *call) {
  (void)x, (void)w_gate, (void)w_up, (void)w_down, (void)a, (void)b, (void)y_gradient;
  (void)h_gradient, (void)x_gradient, (void)w_gate_gradient, (void)w_up_gradient;
  (void)w_down_gradient, (void)call;
  const double N = (double)groups->most;
  for (int i = 0; i < 3; i++) {
    product_of_rows(f, type, N, true);
    product_of_weights(f, type, N, adds);
  }
  return spend(ACTIVATION, cost_activate_recompute(N * f->hidden, routes ? N : 0, type));
}
static phibal_status cross_entropy(const phibal_cuda_loss *s, const int32_t *targets, void *logits,
                                   double *row_loss, double *loss, int64_t *correct,
                                   int64_t *counted, const phibal_cuda *call) {
  (void)targets, (void)logits, (void)row_loss, (void)loss, (void)correct, (void)counted;
  (void)call;
  return spend(LOSS, cost_cross_entropy((double)s->rows * s->vocabulary, s->type));
}
static int64_t parameters;
static phibal_status gradient_norm(int64_t blocks, const int64_t *begin, const float *gradients,
                                   double *norm, const phibal_cuda *call) {
  (void)blocks, (void)begin, (void)gradients, (void)norm, (void)call;
  return spend(OPTIMIZER, cost_gradient_norm((double)parameters));
}
static phibal_status adamw_update(const phibal_cuda_adamw *step, const double *norm,
                                  const float *gradients, float *first, float *second,
                                  float *weights, uint16_t *narrowed, const phibal_cuda *call) {
  (void)norm, (void)gradients, (void)first, (void)second, (void)weights, (void)narrowed;
  (void)call;
  return spend(OPTIMIZER, cost_adamw((double)step->parameters));
}

static const device_library paper = {
    .message = phibal_status_message,
    .describe = describe,
    .products_create = create,
    .products_destroy = destroy,
    .allocate = reserve,
    .free = keep,
    .allocate_host = allocate_host,
    .free_host = free,
    .stream_create = create,
    .stream_destroy = destroy,
    .expect_all = expect_all,
    .failure = failure,
    .stop_on_failure = stop_on_failure,
    .copy = copy,
    .copy_rows = copy_rows,
    .zero = zero,
    .wait = waits,
    .embedding_forward = embedding_forward,
    .embedding_backward = embedding_backward,
    .add = add,
    .narrow = narrow,
    .linear = linear,
    .linear_input_gradient = linear_input_gradient,
    .linear_weight_gradient = linear_weight_gradient,
    .norm_forward = norm_forward,
    .norm_forward_both = norm_forward_both,
    .norm_backward = norm_backward,
    .norm_backward_workspace = norm_workspace,
    .rope = rope,
    .attention_create = attention_create,
    .attention_destroy = destroy,
    .attention_forward = attention,
    .attention_backward = attention_gradient,
    .attention_workspace = attention_workspace,
    .router_forward = router_forward,
    .router_forward_workspace = router_workspace,
    .router_backward = router_backward,
    .loads_add = loads_add,
    .balance_step = balance_step,
    .z_loss = z_loss,
    .z_loss_workspace = no_workspace,
    .permutation = permutation,
    .permutation_workspace = permutation_workspace,
    .gather_counted = gather_counted,
    .gather_backward = gather_backward,
    .combine = combine,
    .ffn_gate_up = ffn_gate_up,
    .ffn_forward_groups = ffn_forward,
    .ffn_sizes_on_device = sizes_on_device,
    .ffn_backward_recompute = ffn_backward,
    .ffn_workspace = ffn_workspace,
    .cross_entropy = cross_entropy,
    .gradient_norm = gradient_norm,
    .gradient_norm_workspace = gradient_norm_workspace,
    .adamw_update = adamw_update,
};

/* What the paper library has no function for. */
static phibal_status check(const run_config *c) {
  const model_config *m = &c->model;
  const balance_config *b = &c->balance;
  const struct {
    bool asked;
    const char *what;
  } unknown[] = {
      {b->method == BALANCE_SEQUENCE || b->method == BALANCE_QUANTILE ||
           b->method == BALANCE_PHI_BIAS,
       "this method of balancing"},
      {b->start == START_ZERO_CORRECTED, "a corrected start"},
      {b->capacity_factor > 0, "capacity_factor"},
      {m->zero_experts > 0, "zero_experts"},
      {m->expert_factor, "expert_factor"},
      {m->gate_floor > 0, "gate_floor"},
      {m->hash_layers > 0, "hash_layers"},
  };
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    if (unknown[i].asked)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "the floor of a step has no %s yet",
                               unknown[i].what);
  return PHIBAL_OK;
}

/* The host's side of a model and its optimizer, without their numbers, which nothing reads. */
static phibal_status describe_model(const run_config *c, model *m, optimizer *o) {
  int64_t active;
  *m = (model){.config = c->model, .balance = c->balance, .batch = c->batch.micro_sequences};
  m->tensor_count = model_layout(&m->config, m->balance.method, NULL, &m->parameter_count, &active);
  m->tensors = calloc((size_t)m->tensor_count, sizeof *m->tensors);
  if (!m->tensors) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a list of tensors");
  model_layout(&m->config, m->balance.method, m->tensors, &m->parameter_count, &active);
  for (int32_t layer = 0; layer < m->config.layers; layer++)
    if (!layer_is_dense(&m->config, m->balance.method, layer)) m->moe_layers++;
  *o = (optimizer){.config = c->optimizer,
                   .tensor_count = m->tensor_count,
                   .tensors = m->tensors,
                   .parameters = m->parameter_count};
  parameters = m->parameter_count;
  return PHIBAL_OK;
}

static phibal_status step(const run_config *c) {
  const int32_t batch = c->batch.micro_sequences, calls = c->batch.sequences / batch;
  const int64_t tokens = (int64_t)batch * c->model.sequence;
  model m = {0};
  optimizer o;
  device *d = NULL;
  int32_t *ids = calloc((size_t)tokens + 1, sizeof *ids);
  phibal_status status = ids ? PHIBAL_OK : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory");
  RUN(describe_model(c, &m, &o));
  RUN(device_create_with(&paper, "paper", &m, NULL, &o, PRECISION_BFLOAT16, calls, NULL, &d));
  memset(total, 0, sizeof total); /* what creating it has copied */
  const model_batch of_call = {tokens, tokens};
  RUN(device_step_begin(d, (model_batch){of_call.targets * calls, of_call.tokens * calls}));
  for (int32_t i = 0; i < calls; i++) RUN(device_forward_backward(d, batch, ids, ids + 1));
  RUN(device_finish_start(d, 1e-4));
  device_destroy(d);
  free(m.tensors);
  free(ids);
  return status;
}

/* Of one device. */
static phibal_status print(const run_config *c, double peak, const struct paper_device *device) {
  spent sum = {0};
  on = device;
  peak_of_step = peak;
  const phibal_status status = step(c);
  if (status) return status;
  printf("  on an %s, by gpu_costs.h: GB, TFLOP, floor and estimate in ms\n", on->name);
  for (int i = 0; i < PARTS; i++) {
    printf("    %-26s %9.3f %9.3f %9.3f %9.3f\n", parts[i].name, 1e-9 * total[i].bytes,
           1e-12 * total[i].flops, 1e3 * total[i].floor, 1e3 * total[i].estimate);
    sum.bytes += total[i].bytes, sum.flops += total[i].flops;
    sum.floor += total[i].floor, sum.estimate += total[i].estimate;
  }
  printf("    %-26s %9.3f %9.3f %9.3f %9.3f\n", "a step", 1e-9 * sum.bytes, 1e-12 * sum.flops,
         1e3 * sum.floor, 1e3 * sum.estimate);
  const plan p = plan_compute(c);
  const double flops = (double)c->batch.sequences * c->model.sequence * p.token_flops;
  printf("    MFU of %.4g TFLOP: at most %.1f %%, by the estimate %.1f %%\n", 1e-12 * flops,
         100 * flops / peak / sum.floor, 100 * flops / peak / sum.estimate);
  /* The plan's are those of the formulas: attention's backward pass multiplies twice what its
     forward pass does, here 5/2, and a token meets S/2 keys, here (S + 1)/2. */
  const double schedule = sum.flops - total[ATTENTION].flops / 7;
  if (c->model.recompute == RECOMPUTE_NONE &&
      fabs(schedule - flops) > flops / 1e6 + total[ATTENTION].flops / c->model.sequence)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "a step multiplies %.6g FLOP, the plan says %.6g",
                             schedule, flops);
  return PHIBAL_OK;
}

phibal_status step_floor(const run_config *c, double peak) {
  phibal_status status = check(c);
  RUN(print(c, peak, &papers[0]));
  RUN(print(c, peak, &h200));
  return status;
}
