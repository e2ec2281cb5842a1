/* The table, the memory, and what a run of one case has in common with the others. */
#include "cuda_plugin.h"
#include "cuda_memory.h"
#include "kernels/core/exp.h"
#include "kernels/core/expm1.h"
#include "kernels/core/log.h"
#include "kernels/core/log1p.h"
#include "kernels/core/tanh.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/sqrt_softplus.h"
#include <cstdio>

device_run run_start(phibal_plugin_case *c) {
  device_run r = {};
  r.c = c;
  r.status = phibal_cuda_describe(&r.call);
  /* 0 to 5 blocks at most, by the case's shape. */
  int64_t sizes = 0;
  for (int32_t i = 0; i < c->inputs; i++)
    for (int32_t d = 0; d < c->input[i].rank; d++) sizes += c->input[i].shape[d];
  r.call.most_blocks = (int32_t)(sizes % 6);
  r.call.failure = (uint64_t *)run_take(&r, sizeof *r.call.failure);
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_expect(&r.call);
  return r;
}

void *run_take(device_run *r, size_t bytes) {
  const int most = (int)(sizeof r->memory / sizeof *r->memory);
  if (r->status != PHIBAL_OK) return nullptr;
  void *p = r->taken < most ? phibal_cuda_allocate(bytes ? bytes : 1) : nullptr;
  if (p) r->memory[r->taken++] = p;
  if (!p || device_zero(p, bytes))
    r->status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no device memory for %zu bytes", bytes);
  return p;
}

void run_workspace(device_run *r, size_t bytes) {
  r->call.workspace = run_take(r, bytes);
  r->call.workspace_bytes = bytes;
}

void run_copy(device_run *r, void *to, const void *from, size_t bytes) {
  if (r->status == PHIBAL_OK && to && bytes && device_copy(to, from, bytes))
    r->status = phibal_status_set(PHIBAL_ERROR_IO, "a copy on the device fails");
}

int64_t run_read(device_run *r, const int64_t *from) {
  int64_t value = 0;
  run_copy(r, &value, from, sizeof value);
  return value;
}

int run_end(device_run *r) {
  if (r->status == PHIBAL_OK) r->status = phibal_cuda_result(&r->call);
  /* A workspace that says so is left zero. */
  for (int i = 0; i < r->taken; i++) phibal_cuda_free(r->memory[i]);
  if (r->status != PHIBAL_OK)
    snprintf(r->c->message, sizeof r->c->message, "%.250s", phibal_status_message());
  return r->status;
}

const void *case_in(phibal_plugin_case *c, const char *name) {
  const phibal_plugin_tensor *t = phibal_plugin_find(c->input, c->inputs, name);
  return t ? t->data : nullptr;
}

void *case_out(phibal_plugin_case *c, const char *name) {
  const phibal_plugin_tensor *t = phibal_plugin_find(c->output, c->outputs, name);
  return t ? t->data : nullptr;
}

enum core_name { EXP, EXPM1, LOG, LOG1P, TANH, SIGMOID, SQRT_SOFTPLUS };

static __global__ void core_kernel(int name, int64_t n, const float *x, float *y) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += (int64_t)gridDim.x * blockDim.x)
    y[i] = name == EXP       ? core_exp(x[i])
           : name == EXPM1   ? core_expm1(x[i])
           : name == LOG     ? core_log(x[i])
           : name == LOG1P   ? core_log1p(x[i])
           : name == TANH    ? core_tanh(x[i])
           : name == SIGMOID ? core_sigmoid(x[i])
                             : core_sqrt_softplus(x[i]);
}

int plugin_core(phibal_plugin_case *c) {
  static const char *const names[] = {"exp",  "expm1",   "log",          "log1p",
                                      "tanh", "sigmoid", "sqrt-softplus"};
  device_run r = run_start(c);
  int name = 0;
  while (name < SQRT_SOFTPLUS && strcmp(names[name], c->operation) != 0) name++;
  int64_t n = phibal_plugin_extent(c, "x", 0);
  launch_shape shape = {blocks_for(&r.call, (n + 127) / 128, 4), 128, 0};
  if (r.status == PHIBAL_OK)
    r.status = launch("core", core_kernel, shape, &r.call, name, n, (const float *)case_in(c, "x"),
                      (float *)case_out(c, "value"));
  return run_end(&r);
}

static const phibal_plugin_operation cuda_operations[] = {
    {"exp", plugin_core, nullptr},
    {"expm1", plugin_core, nullptr},
    {"log", plugin_core, nullptr},
    {"log1p", plugin_core, nullptr},
    {"tanh", plugin_core, nullptr},
    {"sigmoid", plugin_core, nullptr},
    {"sqrt-softplus", plugin_core, nullptr},
    {"router-forward", plugin_router_forward, nullptr},
    {"router-refusal", plugin_router_refusal, nullptr},
    {"router-backward", plugin_router_backward, nullptr},
    {"described-router", plugin_described_router, nullptr},
    {"loads", plugin_loads, nullptr},
    {"frequencies", plugin_frequencies, nullptr},
    {"sequence-loss", plugin_sequence_loss, nullptr},
    {"balance-step", plugin_step, nullptr},
    {"switch-step", plugin_step, nullptr},
    {"ema", plugin_ema, nullptr},
    {"price", plugin_price, nullptr},
    {"balance-loss", plugin_balance_loss, nullptr},
    {"switch-loss", plugin_switch_loss, nullptr},
    {"z-loss", plugin_z_loss, nullptr},
    {"loss-free", plugin_loss_free, nullptr},
    {"quantile", plugin_quantile, "centred bias histogram histogram-quantile"},
    {"capacity", plugin_capacity, "capacity"},
    {"gate-factor", plugin_gate_factor, nullptr},
    {"zero-experts", plugin_zero_experts, nullptr},
    {"permutation", plugin_permutation, nullptr},
    {"combine", plugin_combine, nullptr},
    {"expert-ffn", plugin_expert_ffn, nullptr},
    {nullptr, nullptr, nullptr},
};

extern "C" const phibal_plugin *phibal_plugin_get(void) {
#ifdef __CUDACC__
  static const phibal_plugin table = {
      PHIBAL_PLUGIN_VERSION, "phibal CUDA kernels", cuda_operations, device_name(),
      phibal_cuda_allocate,  phibal_cuda_free,      device_copy,     device_copy};
#else
  static const phibal_plugin table = {PHIBAL_PLUGIN_VERSION,
                                      "phibal CUDA kernels, on the host",
                                      cuda_operations,
                                      device_name(),
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      nullptr};
#endif
  return &table;
}
