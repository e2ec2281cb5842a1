/* The gated FFN of every expert over its group of rows, and its gradients: the products of
   products.h with the activation between them. Bounds in binary32: those at the head of
   kernels/cpu/ffn.c, which hold for any order of the sums.

   (E6b) phibal_cuda_ffn_backward_recompute, notation of (E3b), g the gate of a row; a and b taken
   as exact, h = act(a) b and dh = W_down^T dL/dy, |error of dh| <= D := gamma_d |W_down|^T |dL/dy|.
   g dh is exact in binary64: what (E3b) says of dL/db and dL/da holds with |g| D for D and g dh for
   dL/dh. h is made in binary64 within 2^-40 of itself; a term dh h goes through at most f / 16 + 8
   roundings of 2^-53 in its sum (the order is at the head of activation.cu), where f <= 2^16 below
   2^-40 together:
     |error of gate_gradient| <= sum |h| D + 2^-39 sum |h| (|dh| + D)
                                 + u (|<dh, h>| + sum |h| D)
   g h is rounded once, H := (u + 2^-40) |g h|:
     |error of dW_down| <= |dL/dy|^T H + gamma_(n+1) (|before| + |dL/dy|^T (|g h| + H))
   and dW_gate, dW_up, dx as (E3b) has them. Underflow as there, of g h too. Rows of bfloat16 have
   (E2n) in place of the 2^-40, and each number stored is rounded to it.

   FLOPs, N rows in all, d and f the widths: 6 N d f forward, 12 N d f backward. Bytes are those of
   the operands, once for each product, and of the activation (activation.cu): at N = 81920, d =
   768, f = 1024 in bfloat16 forward moves about 1.6 GB for 387 GFLOP, so that a device of 800
   TFLOP/s and 3 TB/s would be a tenth over the floor of its arithmetic. What would go first: the
   activation fused into the products. Measured: bench/RESULTS.md. */
#include "products.h"
#include "trainer.h"

size_t phibal_cuda_ffn_workspace(const phibal_ffn *ffn) {
  return ffn ? products_workspace(ffn->experts) : 0;
}

static phibal_status ffn_check(const char *name, const phibal_ffn *ffn, phibal_rows type,
                               const phibal_cuda_groups *groups, const phibal_cuda *call) {
  if (!ffn || !groups || !groups->offsets)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null shape or offsets", name);
  if (ffn->experts < 1 || ffn->experts > PHIBAL_MAX_EXPERTS || ffn->width < 1 || ffn->hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: experts %d, at most %d of them, width %d and hidden %d must be "
                             "positive",
                             name, ffn->experts, PHIBAL_MAX_EXPERTS, ffn->width, ffn->hidden);
  if (type != PHIBAL_ROWS_F32 && type != PHIBAL_ROWS_BF16)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no type %d of rows", name, (int)type);
  const int64_t *host_offsets = groups->host_offsets;
  if (!host_offsets && groups->most < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: at most %lld rows", name,
                             (long long)groups->most);
  if (host_offsets && host_offsets[0] != 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: offsets[0] is %lld, not 0", name,
                             (long long)host_offsets[0]);
  for (int32_t e = 0; host_offsets && e < ffn->experts; e++)
    if (host_offsets[e + 1] < host_offsets[e])
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: offsets fall from %lld to %lld at expert %d", name,
                               (long long)host_offsets[e], (long long)host_offsets[e + 1], e);
  return call_check(name, call, phibal_cuda_ffn_workspace(ffn));
}

/* Rows, or the most that there may be. */
static int64_t rows_at_most(const phibal_ffn *ffn, const phibal_cuda_groups *groups) {
  return groups->host_offsets ? groups->host_offsets[ffn->experts] : groups->most;
}

static product_groups groups_of(const phibal_ffn *ffn, const phibal_cuda_groups *groups) {
  return {ffn->experts, groups->offsets, groups->host_offsets, rows_at_most(ffn, groups)};
}

phibal_status phibal_cuda_ffn_gate_up(const phibal_ffn *ffn, phibal_rows type,
                                      const phibal_cuda_groups *groups, const void *x,
                                      const void *w_gate, const void *w_up, void *a, void *b,
                                      const phibal_cuda *call) {
  const char *name = "expert FFN";
  phibal_status status = ffn_check(name, ffn, type, groups, call);
  if (status != PHIBAL_OK || rows_at_most(ffn, groups) == 0) return status;
  if (!x || !w_gate || !w_up || !a || !b)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", name);
  const int64_t d = ffn->width, f = ffn->hidden;
  const product gate_up[] = {{PRODUCT_FORWARD, type, type, f, d, x, w_gate, a, false},
                             {PRODUCT_FORWARD, type, type, f, d, x, w_up, b, false}};
  return products_independent(name, gate_up, 2, groups_of(ffn, groups), call);
}

phibal_status phibal_cuda_ffn_forward_groups(const phibal_ffn *ffn, phibal_rows type,
                                             const phibal_cuda_groups *groups, const void *x,
                                             const void *w_gate, const void *w_up,
                                             const void *w_down, void *a, void *b, void *h, void *y,
                                             const phibal_cuda *call) {
  const char *name = "expert FFN";
  phibal_status status = ffn_check(name, ffn, type, groups, call);
  if (status != PHIBAL_OK || rows_at_most(ffn, groups) == 0) return status;
  if (!w_down || !h || !y) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", name);
  const int64_t d = ffn->width, f = ffn->hidden, rows = rows_at_most(ffn, groups);
  status = phibal_cuda_ffn_gate_up(ffn, type, groups, x, w_gate, w_up, a, b, call);
  if (status == PHIBAL_OK)
    status =
        groups->host_offsets
            ? phibal_cuda_activate(ffn->activation, type, rows * f, a, b, h, call)
            : phibal_cuda_activate_counted(ffn->activation, type, groups->offsets + ffn->experts,
                                           rows, f, a, b, h, call);
  const product outward = {PRODUCT_FORWARD, type, type, d, f, h, w_down, y, false};
  return status == PHIBAL_OK ? products_grouped(name, outward, groups_of(ffn, groups), call)
                             : status;
}

phibal_status phibal_cuda_ffn_forward(const phibal_ffn *ffn, phibal_rows type,
                                      const int64_t *offsets, const int64_t *host_offsets,
                                      const void *x, const void *w_gate, const void *w_up,
                                      const void *w_down, void *a, void *b, void *h, void *y,
                                      const phibal_cuda *call) {
  const phibal_cuda_groups groups = {offsets, host_offsets, 0};
  if (!host_offsets)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "expert FFN: null shape or offsets");
  return phibal_cuda_ffn_forward_groups(ffn, type, &groups, x, w_gate, w_up, w_down, a, b, h, y,
                                        call);
}

/* Every address as one number's bits. */
int phibal_cuda_ffn_sizes_on_device(const phibal_ffn *ffn, phibal_rows type, int64_t most,
                                    uintptr_t places, const phibal_cuda *call) {
  const int64_t d = ffn->width, f = ffn->hidden;
  void *const at = (void *)places;
  const int64_t *none = nullptr;
  const product_groups groups = {ffn->experts, none, none, most};
  const product products[] = {
      {PRODUCT_FORWARD, type, type, f, d, at, at, at, false},
      {PRODUCT_FORWARD, type, type, d, f, at, at, at, false},
      {PRODUCT_INPUT_GRADIENT, type, type, d, f, at, at, at, false},
      {PRODUCT_INPUT_GRADIENT, type, type, f, d, at, at, at, false},
      {PRODUCT_INPUT_GRADIENT, type, type, f, d, at, at, at, true},
      {PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, d, f, at, at, at, true},
      {PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, f, d, at, at, at, true},
  };
  for (const product &p : products)
    if (!products_sizes_on_device(p, groups, call)) return 0;
  return 1;
}

/* The products behind the activation: a and b are their gradients now. x has been read where
   x_gradient is written, so that they may be one. */
static phibal_status ffn_gradients(const char *name, const phibal_ffn *ffn, phibal_rows type,
                                   const product_groups &groups, const void *x, const void *w_gate,
                                   const void *w_up, const void *a, const void *b, const void *h,
                                   const void *y_gradient, void *x_gradient, float *w_gate_gradient,
                                   float *w_up_gradient, float *w_down_gradient, bool add,
                                   const phibal_cuda *call) {
  const int64_t d = ffn->width, f = ffn->hidden;
  const product of_weights[] = {
      {PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, d, f, y_gradient, h, w_down_gradient, add},
      {PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, f, d, a, x, w_gate_gradient, add},
      {PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, f, d, b, x, w_up_gradient, add},
  };
  const product of_x[] = {
      {PRODUCT_INPUT_GRADIENT, type, type, f, d, a, w_gate, x_gradient, false},
      {PRODUCT_INPUT_GRADIENT, type, type, f, d, b, w_up, x_gradient, true},
  };
  phibal_status status = products_independent(name, of_weights, 3, groups, call);
  for (const product &p : of_weights)
    if (status == PHIBAL_OK && !add) status = products_clear(name, p, groups, call);
  for (const product &p : of_x)
    if (status == PHIBAL_OK) status = products_grouped(name, p, groups, call);
  return status;
}

phibal_status phibal_cuda_ffn_backward(const phibal_ffn *ffn, phibal_rows type,
                                       const int64_t *offsets, const int64_t *host_offsets,
                                       const void *x, const void *w_gate, const void *w_up,
                                       const void *w_down, void *a, void *b, const void *h,
                                       const void *y_gradient, void *h_gradient, void *x_gradient,
                                       float *w_gate_gradient, float *w_up_gradient,
                                       float *w_down_gradient, const phibal_cuda *call) {
  const char *name = "expert FFN backward";
  if (!host_offsets)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null shape or offsets", name);
  const phibal_cuda_groups at = {offsets, host_offsets, 0};
  phibal_status status = ffn_check(name, ffn, type, &at, call);
  if (status != PHIBAL_OK || host_offsets[ffn->experts] == 0) return status;
  if (!x || !w_gate || !w_up || !w_down || !a || !b || !h || !y_gradient || !h_gradient ||
      !x_gradient || !w_gate_gradient || !w_up_gradient || !w_down_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", name);
  const int64_t d = ffn->width, f = ffn->hidden, rows = host_offsets[ffn->experts];
  const product_groups groups = groups_of(ffn, &at);
  const product first = {
      PRODUCT_INPUT_GRADIENT, type, type, d, f, y_gradient, w_down, h_gradient, false};
  status = products_grouped(name, first, groups, call);
  if (status == PHIBAL_OK)
    status = phibal_cuda_activate_backward(ffn->activation, type, rows * f, a, b, h_gradient, call);
  return status == PHIBAL_OK ? ffn_gradients(name, ffn, type, groups, x, w_gate, w_up, a, b, h,
                                             y_gradient, x_gradient, w_gate_gradient, w_up_gradient,
                                             w_down_gradient, true, call)
                             : status;
}

phibal_status phibal_cuda_ffn_backward_recompute(
    const phibal_ffn *ffn, phibal_rows type, const phibal_cuda_groups *at,
    const phibal_cuda_routes *routes, const void *x, const void *w_gate, const void *w_up,
    const void *w_down, void *a, void *b, const void *y_gradient, void *h_gradient,
    void *x_gradient, float *w_gate_gradient, float *w_up_gradient, float *w_down_gradient, int add,
    const phibal_cuda *call) {
  const char *name = "expert FFN backward";
  phibal_status status = ffn_check(name, ffn, type, at, call);
  if (status != PHIBAL_OK) return status;
  if (!at->host_offsets && !routes)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: neither offsets on the host nor routes",
                             name);
  const int64_t d = ffn->width, f = ffn->hidden, rows = rows_at_most(ffn, at);
  if (rows > 0 && (!x || !w_gate || !w_up || !w_down || !a || !b || !y_gradient || !h_gradient ||
                   !x_gradient || !w_gate_gradient || !w_up_gradient || !w_down_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", name);
  const product_groups groups = groups_of(ffn, at);
  const product first = {
      PRODUCT_INPUT_GRADIENT, type, type, d, f, y_gradient, w_down, h_gradient, false};
  status = products_grouped(name, first, groups, call);
  if (status == PHIBAL_OK) /* without rows too: the gates have gradients of 0 */
    status = phibal_cuda_activate_backward_recompute(ffn->activation, type, rows, f, routes, a, b,
                                                     h_gradient, call);
  return status == PHIBAL_OK ? ffn_gradients(name, ffn, type, groups, x, w_gate, w_up, a, b,
                                             h_gradient, y_gradient, x_gradient, w_gate_gradient,
                                             w_up_gradient, w_down_gradient, add != 0, call)
                             : status;
}
