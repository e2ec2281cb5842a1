/* The expert FFN, forward and backward. */
#include "cuda_plugin.h"
#include <cstring>
#include <vector>

/* An output that the case may not ask for. */
static float *out_or_own(device_run *r, const char *name, size_t bytes) {
  float *p = (float *)case_out(r->c, name);
  return p ? p : (float *)run_take(r, bytes);
}

/* A gradient that is added to what the input of its name has. */
static float *added(device_run *r, const char *name, size_t bytes) {
  float *p = (float *)case_out(r->c, name);
  run_copy(r, p, case_in(r->c, name), bytes);
  return p;
}

int plugin_expert_ffn(phibal_plugin_case *c) {
  device_run r = run_start(c);
  phibal_ffn ffn = {
      (int32_t)phibal_plugin_extent(c, "w-gate", 0), (int32_t)phibal_plugin_extent(c, "w-gate", 2),
      (int32_t)phibal_plugin_extent(c, "w-gate", 1),
      strcmp(phibal_plugin_text(c, "activation"), "silu") == 0 ? PHIBAL_ACTIVATION_SILU
                                                               : PHIBAL_ACTIVATION_GELU};
  const size_t rows = (size_t)phibal_plugin_extent(c, "x", 0);
  const size_t hidden = sizeof(float) * rows * (size_t)ffn.hidden;
  const size_t weights =
      sizeof(float) * (size_t)ffn.experts * (size_t)ffn.hidden * (size_t)ffn.width;
  const int64_t *offsets = (const int64_t *)case_in(c, "offsets");
  std::vector<int64_t> host((size_t)ffn.experts + 1);
  run_copy(&r, host.data(), offsets, sizeof(int64_t) * host.size());
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_products_create(&r.call);
  run_workspace(&r, phibal_cuda_ffn_workspace(&ffn));
  const void *x = case_in(c, "x"), *y_gradient = case_in(c, "y-gradient");
  const void *w_gate = case_in(c, "w-gate"), *w_up = case_in(c, "w-up");
  const void *w_down = case_in(c, "w-down");
  float *a = out_or_own(&r, "a", hidden), *b = out_or_own(&r, "b", hidden);
  float *h = out_or_own(&r, "h", hidden), *h_gradient = out_or_own(&r, "h-gradient", hidden);
  float *a_gradient = out_or_own(&r, "a-gradient", hidden);
  float *b_gradient = out_or_own(&r, "b-gradient", hidden);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_ffn_forward(&ffn, PHIBAL_ROWS_F32, offsets, host.data(), x, w_gate, w_up,
                                       w_down, a, b, h, case_out(c, "y"), &r.call);
  run_copy(&r, a_gradient, a, hidden);
  run_copy(&r, b_gradient, b, hidden);
  float *dw[] = {added(&r, "w-gate-gradient", weights), added(&r, "w-up-gradient", weights),
                 added(&r, "w-down-gradient", weights)};
  if (r.status == PHIBAL_OK)
    r.status =
        phibal_cuda_ffn_backward(&ffn, PHIBAL_ROWS_F32, offsets, host.data(), x, w_gate, w_up,
                                 w_down, a_gradient, b_gradient, h, y_gradient, h_gradient,
                                 case_out(c, "x-gradient"), dw[0], dw[1], dw[2], &r.call);
  const int status = run_end(&r); /* waits */
  phibal_cuda_products_destroy(&r.call);
  return status;
}
