/* The kernels on a CUDA device. Each function has the name of the CPU's with `cuda`, its arguments
   in its order with device pointers in the place of host pointers, and one more: the call, which
   says where it runs. Equations and bounds are those of the CPU's function; router and balance
   operations give its bits too, whatever the device and the shape of the launch.

   No function waits for the device or allocates. What can be seen without looking at device memory
   is answered by the status: PHIBAL_ERROR_ARGUMENT, or PHIBAL_ERROR_MEMORY for a workspace that is
   too small. What the device finds in the data (a logit that is not finite, an expert that does not
   exist) is left in call->failure, and phibal_cuda_result, which does wait, gives it as the CPU's
   function would have. */
#ifndef PHIBAL_CUDA_H
#define PHIBAL_CUDA_H

#include <phibal/balance.h>
#include <phibal/capacity.h>
#include <phibal/expert.h>
#include <phibal/gate_factor.h>
#include <phibal/router.h>
#include <phibal/zero_experts.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct phibal_cuda {
  void *stream;    /* cudaStream_t; null for the default one */
  void *workspace; /* device memory, aligned to 256 bytes: as many bytes as the function's
                      ..._workspace says; one that says so finds it all zero, and leaves it so */
  size_t workspace_bytes;
  uint64_t *failure;       /* device: one number; see phibal_cuda_expect */
  int32_t multiprocessors; /* of the device: phibal_cuda_describe */
  int32_t most_blocks;     /* of a launch; 0: as many as keep the device busy. Changes no bit. */
  void *products;          /* phibal_cuda_products_create; null where no matrix product is called */
  void *attention;         /* the trainer's; null otherwise */
} phibal_cuda;

/* How rows of numbers are stored. */
typedef enum phibal_rows { PHIBAL_ROWS_F32, PHIBAL_ROWS_BF16 } phibal_rows;

/* The library of matrix products (cuBLAS) with what it needs, once for all calls in one stream: the
   one function here that allocates. */
phibal_status phibal_cuda_products_create(phibal_cuda *call);
void phibal_cuda_products_destroy(phibal_cuda *call);

/* Sets call->multiprocessors for the current device. */
phibal_status phibal_cuda_describe(phibal_cuda *call);
/* From here on in the stream nothing has failed. */
phibal_status phibal_cuda_expect(const phibal_cuda *call);
/* Waits for the stream; PHIBAL_OK, or what failed first by token since phibal_cuda_expect. */
phibal_status phibal_cuda_result(const phibal_cuda *call);

/* phibal_loads, on the device: all three created with zeros by the caller. */
typedef struct phibal_cuda_loads {
  int64_t *tokens;       /* [1] */
  uint64_t *probability; /* [E][PHIBAL_LOAD_LIMBS] */
  int64_t *count;        /* [E] */
} phibal_cuda_loads;

/* to += from, exactly, for each of `layers` loads that lie one after another. No workspace. */
phibal_status phibal_cuda_loads_add(int32_t layers, int32_t experts, phibal_cuda_loads to,
                                    phibal_cuda_loads from, const phibal_cuda *call);

typedef enum phibal_logits {
  PHIBAL_LOGITS_F32,
  PHIBAL_LOGITS_BF16, /* each stands for the binary32 that it is */
} phibal_logits;

/* Workspace: zero. */
size_t phibal_cuda_router_forward_workspace(const phibal_router *router);
phibal_status phibal_cuda_router_forward(const phibal_router *router, int64_t tokens,
                                         phibal_logits type, const void *logits, const float *bias,
                                         const uint8_t *mask, float *probabilities,
                                         int32_t *experts, float *gates, float *logsumexp,
                                         phibal_cuda_loads loads, const phibal_cuda *call);

/* No workspace. */
phibal_status phibal_cuda_router_backward(const phibal_router *router, int64_t tokens,
                                          phibal_logits type, const void *logits,
                                          const uint8_t *mask, const int32_t *experts,
                                          const float *gate_gradient, const float *price,
                                          double price_scale, double z_scale, float *logit_gradient,
                                          const phibal_cuda *call);

/* Balancing of all layers in one launch: for each layer, in this order, what the pointers that are
   not null ask for. All arrays are [layers][E] but those said otherwise. */
typedef struct phibal_cuda_balance {
  int32_t layers, experts, active;
  /* The exact loads of each layer, or null: then `loads` and `frequencies` are inputs. */
  const int64_t *tokens;       /* [layers] */
  const uint64_t *probability; /* [layers][E][PHIBAL_LOAD_LIMBS] */
  const int64_t *count;
  float *loads;       /* (R6) as phibal_loads_mean; 0 for a layer that counted no token */
  float *frequencies; /* (R7) as phibal_loads_frequency; likewise */
  float eta;
  const float *m; /* the state; prices are of it unless there is a next one */
  float *next;    /* (M1) as phibal_ema, from m and loads; may be m */
  phibal_potential potential;
  float *price;             /* (M2) as phibal_price */
  float *centred;           /* (M3) as phibal_price_centred */
  int32_t *floored;         /* [layers] */
  double alpha;             /* of both losses */
  float *balance_loss;      /* [layers] (L1) as phibal_balance_loss */
  float *frequency_centred; /* (L3) as phibal_frequency_centred */
  float *switch_loss;       /* [layers] (L3) as phibal_switch_loss */
  float rate;
  float *bias; /* (L6) in and out, as phibal_loss_free_update, from count */
} phibal_cuda_balance;

/* No workspace. A layer whose numbers are refused as the CPU's functions refuse them is reported
   and gets no outputs. */
phibal_status phibal_cuda_balance_step(const phibal_cuda_balance *balance, const phibal_cuda *call);

/* (L7) No workspace. The order statistic of one device's tokens: 1 <= place <= tokens <= 2^34. What
   the CPU's functions refuse in the data is reported; outputs are then unspecified. */
phibal_status phibal_cuda_quantile_required(const phibal_router *router, int64_t tokens,
                                            const float *logits, const float *bias,
                                            const uint8_t *mask, int64_t stride, float *required,
                                            const phibal_cuda *call);
phibal_status phibal_cuda_quantile(int32_t experts, int64_t tokens, int64_t stride,
                                   const float *required, int64_t place, float *quantile,
                                   const phibal_cuda *call);

/* (L5) Workspace: zero. */
size_t phibal_cuda_z_loss_workspace(void);
phibal_status phibal_cuda_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                 const uint8_t *mask, float *loss, const phibal_cuda *call);

/* (E8), (E9) as the CPU's functions; no workspace. By gate k T is 2^34 at most. Rows that are no
   routes, gates that are not finite, and negative ones that would be renormalised are reported. */
phibal_status phibal_cuda_capacity(phibal_capacity_policy policy, int64_t tokens, int32_t active,
                                   int32_t experts_count, int64_t limit, const int64_t *offsets,
                                   const int64_t *source, const float *gates, int32_t *kept,
                                   int64_t *place, const phibal_cuda *call);
phibal_status phibal_cuda_capacity_gates(int64_t tokens, int32_t active, bool renormalise,
                                         const int32_t *kept, const float *gates, float *kept_gates,
                                         const phibal_cuda *call);
phibal_status phibal_cuda_capacity_gates_backward(int64_t tokens, int32_t active, bool renormalise,
                                                  const int32_t *kept, const float *gates,
                                                  const float *kept_gradient, float *gate_gradient,
                                                  const phibal_cuda *call);

#define PHIBAL_CUDA_GATE_FACTOR_ROUTES ((int64_t)1 << 31) /* most slots of a call */

/* (R5f) as the CPU's functions, of at most PHIBAL_CUDA_GATE_FACTOR_ROUTES slots. Workspace of the
   gradients: zero. Factors, gates and gradients that are not finite, and experts that do not exist,
   are reported; the results are then unspecified. */
phibal_status phibal_cuda_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                      const int32_t *experts, const float *gates,
                                      const float *factor, float *scaled, const phibal_cuda *call);
size_t phibal_cuda_gate_factor_workspace(int32_t experts_count);
phibal_status phibal_cuda_gate_factor_backward(int64_t tokens, int32_t active,
                                               int32_t experts_count, const int32_t *experts,
                                               const float *gates, const float *factor,
                                               const float *scaled_gradient, float *gate_gradient,
                                               float *factor_gradient, const phibal_cuda *call);

/* (E10) as the CPU's functions; no workspace. Experts that do not exist are reported; results of
   their tokens are then unspecified. */
phibal_status phibal_cuda_zero_experts_dispatch(int64_t tokens, int32_t active,
                                                int32_t experts_count, int32_t zero_experts,
                                                const int32_t *experts, int32_t *real,
                                                const phibal_cuda *call);
phibal_status phibal_cuda_zero_experts(phibal_zero_output output, int64_t tokens, int32_t active,
                                       int32_t experts_count, int32_t zero_experts, int64_t width,
                                       const int32_t *experts, const float *gates, const float *x,
                                       float *y, const phibal_cuda *call);
phibal_status phibal_cuda_zero_experts_backward(phibal_zero_output output, int64_t tokens,
                                                int32_t active, int32_t experts_count,
                                                int32_t zero_experts, int64_t width,
                                                const int32_t *experts, const float *gates,
                                                const float *x, const float *y_gradient,
                                                float *x_gradient, float *gate_gradient,
                                                const phibal_cuda *call);

/* (E1) E <= PHIBAL_MAX_EXPERTS. Workspace: anything. */
size_t phibal_cuda_permutation_workspace(int64_t tokens, int32_t active, int32_t experts_count,
                                         const phibal_cuda *call);
phibal_status phibal_cuda_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                      const int32_t *experts, int64_t *offsets, int64_t *source,
                                      int64_t *row, const phibal_cuda *call);

/* (E1), (E1b), (E4), (E5): as the CPU's functions, whose bits these have too; (E2) and (E3) without
   their products: h = act(a) b, and from dL/dh in place of a and b dL/da and dL/db, for n elements.
   `type` is that of the experts' rows, and of x in gather; sums over a token's slots, and y's
   gradient, are binary32. What is written as bfloat16 is the CPU's result on the same numbers,
   rounded once more. No workspace; no array may overlap another. */
phibal_status phibal_cuda_gather(int64_t rows, int32_t active, int64_t width, phibal_rows type,
                                 const int64_t *source, const void *x, void *gathered,
                                 const phibal_cuda *call);
phibal_status phibal_cuda_gather_backward(int64_t tokens, int32_t active, int64_t width,
                                          phibal_rows type, const int64_t *row,
                                          const void *gathered_gradient, float *x_gradient,
                                          const phibal_cuda *call);
phibal_status phibal_cuda_combine(int64_t tokens, int32_t active, int64_t width, phibal_rows type,
                                  const int64_t *row, const float *gates, const void *expert_output,
                                  float *y, const phibal_cuda *call);
phibal_status phibal_cuda_combine_backward(int64_t tokens, int32_t active, int64_t width,
                                           phibal_rows type, const int64_t *row, const float *gates,
                                           const void *expert_output, const float *y_gradient,
                                           void *expert_gradient, float *gate_gradient,
                                           const phibal_cuda *call);
phibal_status phibal_cuda_activate(phibal_activation activation, phibal_rows type, int64_t n,
                                   const void *a, const void *b, void *h, const phibal_cuda *call);
phibal_status phibal_cuda_activate_backward(phibal_activation activation, phibal_rows type,
                                            int64_t n, void *a, void *b, const void *h_gradient,
                                            const phibal_cuda *call);

/* (E2), (E3): as phibal_ffn_forward and phibal_ffn_backward, whose bounds these have in binary32.
   Products are grouped and ragged, nothing is padded; they add up in binary32. `type` is that of
   all arrays but the gradients of weights, which are binary32. The products' library takes the
   sizes of groups from the host: host_offsets [E+1] are the numbers that `offsets` has on the
   device. The same call gives the same bits each time. Workspace: anything. */
size_t phibal_cuda_ffn_workspace(const phibal_ffn *ffn);
phibal_status phibal_cuda_ffn_forward(const phibal_ffn *ffn, phibal_rows type,
                                      const int64_t *offsets, const int64_t *host_offsets,
                                      const void *x, const void *w_gate, const void *w_up,
                                      const void *w_down, void *a, void *b, void *h, void *y,
                                      const phibal_cuda *call);
phibal_status phibal_cuda_ffn_backward(const phibal_ffn *ffn, phibal_rows type,
                                       const int64_t *offsets, const int64_t *host_offsets,
                                       const void *x, const void *w_gate, const void *w_up,
                                       const void *w_down, void *a, void *b, const void *h,
                                       const void *y_gradient, void *h_gradient, void *x_gradient,
                                       float *w_gate_gradient, float *w_up_gradient,
                                       float *w_down_gradient, const phibal_cuda *call);

#ifdef __cplusplus
}
#endif
#endif
