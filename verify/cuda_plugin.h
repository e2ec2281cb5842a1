/* The CUDA kernels as a plugin (phibal/plugin.h), compiled by nvcc for a device or with
   kernels/cuda/host for the host. Shared by the files of the operations. */
#ifndef PHIBAL_VERIFY_CUDA_PLUGIN_H
#define PHIBAL_VERIFY_CUDA_PLUGIN_H

#include <phibal/cuda.h>
#include <phibal/plugin.h>

/* A kernel call with its memory; ended by run_end. */
typedef struct device_run {
  phibal_plugin_case *c;
  phibal_cuda call;
  void *memory[32]; /* device */
  int taken;
  phibal_status status;
} device_run;

/* Launch shapes differ from case to case. */
device_run run_start(phibal_plugin_case *c);
/* Zeroed device memory for the run; null where the run has failed. */
void *run_take(device_run *r, size_t bytes);
void run_workspace(device_run *r, size_t bytes);
/* From device to device. */
void run_copy(device_run *r, void *to, const void *from, size_t bytes);
/* One 8-byte number from the device. */
int64_t run_read(device_run *r, const int64_t *from);
/* Synchronises, frees, and returns 0 or, with the message, the error. */
int run_end(device_run *r);

/* By name; null where the case does not have it. */
const void *case_in(phibal_plugin_case *c, const char *name);
void *case_out(phibal_plugin_case *c, const char *name);

int plugin_core(phibal_plugin_case *c);
int plugin_router_forward(phibal_plugin_case *c);
int plugin_router_refusal(phibal_plugin_case *c);
int plugin_router_backward(phibal_plugin_case *c);
int plugin_described_router(phibal_plugin_case *c);
int plugin_loads(phibal_plugin_case *c);
int plugin_frequencies(phibal_plugin_case *c);
int plugin_sequence_loss(phibal_plugin_case *c);
int plugin_step(phibal_plugin_case *c);
int plugin_ema(phibal_plugin_case *c);
int plugin_price(phibal_plugin_case *c);
int plugin_balance_loss(phibal_plugin_case *c);
int plugin_switch_loss(phibal_plugin_case *c);
int plugin_z_loss(phibal_plugin_case *c);
int plugin_loss_free(phibal_plugin_case *c);
int plugin_quantile(phibal_plugin_case *c);
int plugin_capacity(phibal_plugin_case *c);
int plugin_gate_factor(phibal_plugin_case *c);
int plugin_zero_experts(phibal_plugin_case *c);
int plugin_permutation(phibal_plugin_case *c);
int plugin_combine(phibal_plugin_case *c);
int plugin_expert_ffn(phibal_plugin_case *c);

#endif
