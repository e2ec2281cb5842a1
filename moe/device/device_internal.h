/* Shared by the files of training on a device. */
#ifndef PHIBAL_MOE_DEVICE_INTERNAL_H
#define PHIBAL_MOE_DEVICE_INTERNAL_H

#include "device.h"
#include "moe/model/model_internal.h"

#include "kernels/cuda/ranks.h"
#include "kernels/cuda/trainer.h"

/* The functions of the library, phibal_cuda_ before each name. */
#define DEVICE_FUNCTIONS(X)                                                                        \
  X(describe)                                                                                      \
  X(products_create)                                                                               \
  X(products_destroy)                                                                              \
  X(allocate)                                                                                      \
  X(free)                                                                                          \
  X(allocate_host)                                                                                 \
  X(free_host)                                                                                     \
  X(stream_create)                                                                                 \
  X(stream_destroy)                                                                                \
  X(capture_begin)                                                                                 \
  X(capture_end)                                                                                   \
  X(graph_launch)                                                                                  \
  X(graph_destroy)                                                                                 \
  X(expect_all)                                                                                    \
  X(failure)                                                                                       \
  X(stop_on_failure)                                                                               \
  X(copy)                                                                                          \
  X(copy_rows)                                                                                     \
  X(zero)                                                                                          \
  X(wait)                                                                                          \
  X(embedding_forward)                                                                             \
  X(embedding_backward)                                                                            \
  X(add)                                                                                           \
  X(narrow)                                                                                        \
  X(linear)                                                                                        \
  X(linear_input_gradient)                                                                         \
  X(linear_weight_gradient)                                                                        \
  X(norm_forward)                                                                                  \
  X(norm_forward_both)                                                                             \
  X(norm_backward)                                                                                 \
  X(norm_backward_workspace)                                                                       \
  X(rope)                                                                                          \
  X(attention_create)                                                                              \
  X(attention_destroy)                                                                             \
  X(attention_by)                                                                                  \
  X(attention_forward)                                                                             \
  X(attention_backward)                                                                            \
  X(attention_workspace)                                                                           \
  X(router_forward)                                                                                \
  X(router_forward_workspace)                                                                      \
  X(router_backward)                                                                               \
  X(gate_floor)                                                                                    \
  X(gate_floor_backward)                                                                           \
  X(gate_factor)                                                                                   \
  X(gate_factor_workspace)                                                                         \
  X(gate_factor_backward)                                                                          \
  X(zero_experts_dispatch)                                                                         \
  X(zero_experts)                                                                                  \
  X(zero_experts_backward)                                                                         \
  X(capacity)                                                                                      \
  X(loads_add)                                                                                     \
  X(balance_step)                                                                                  \
  X(scale)                                                                                         \
  X(average)                                                                                       \
  X(quantile_required)                                                                             \
  X(quantile_round)                                                                                \
  X(quantile_range)                                                                                \
  X(quantile_histogram)                                                                            \
  X(quantile_interpolated)                                                                         \
  X(z_loss)                                                                                        \
  X(z_loss_workspace)                                                                              \
  X(permutation)                                                                                   \
  X(permutation_workspace)                                                                         \
  X(gather)                                                                                        \
  X(gather_counted)                                                                                \
  X(gather_backward)                                                                               \
  X(combine)                                                                                       \
  X(ffn_gate_up)                                                                                   \
  X(ffn_forward_groups)                                                                            \
  X(ffn_sizes_on_device)                                                                           \
  X(ffn_backward_recompute)                                                                        \
  X(ffn_workspace)                                                                                 \
  X(cross_entropy)                                                                                 \
  X(gradient_norm)                                                                                 \
  X(gradient_norm_workspace)                                                                       \
  X(adamw_update)                                                                                  \
  X(ranks_create)                                                                                  \
  X(ranks_destroy)                                                                                 \
  X(ranks_wait)                                                                                    \
  X(ranks_sum)                                                                                     \
  X(ranks_sum_workspace)                                                                           \
  X(ranks_sum_integers)                                                                            \
  X(ranks_exchange)                                                                                \
  X(gradient_blocks)                                                                               \
  X(gradient_norm_of)

typedef struct device_library {
  void *handle;
  const char *(*message)(void); /* of its last failure */
#define DEVICE_FUNCTION(name) __typeof__(phibal_cuda_##name) *name;
  DEVICE_FUNCTIONS(DEVICE_FUNCTION)
#undef DEVICE_FUNCTION
} device_library;

/* A step's sums, on the device. */
typedef struct device_sums {
  double cross_entropy, norm;
  int64_t correct, targets;
} device_sums;

/* Quantile balancing, as model_required, of all layers: what each token of the step so far would
   need. Of the order statistic: keys and counts of each row. Of the histogram: its
   ranges and the counts of one layer, which are 0 between layers. */
typedef struct device_quantiles {
  float *required; /* [moe layers][E][room] */
  int64_t tokens, room;
  int32_t *low, *high; /* [moe layers][E] */
  uint64_t *counts;    /* [moe layers][E][PHIBAL_CUDA_QUANTILE_BOUNDS] */
  float *range;        /* [moe layers][2] */
  uint64_t *histogram; /* [E][bins] */
} device_quantiles;

typedef struct device_exchange device_exchange;

/* Of adapters, on the device: W0 of all matrices, s I [r][r], and s A^T and s B where A and B are
   in `trained`. */
typedef struct device_adapters {
  float *base, *scale, *scaled;
} device_adapters;

/* Pinned: what a call takes to the device. Each call of a step has its own, so that none has to
   wait until the last one's has been copied. */
typedef struct device_input {
  int32_t *tokens, *targets, *starts;
  uint8_t *mask;
  int64_t *dense_offsets; /* [2] */
  /* Routes that are given, and (from the device) taken, [layers with experts][T][k]; null: none. */
  int32_t *given, *taken;
  uint16_t *recorded; /* not pinned: where the host has those that were taken */
  int32_t batch;
} device_input;

struct device {
  device_library library;
  char name[128];
  model *host;
  optimizer *optimizer;     /* of the host */
  lora *lora;               /* likewise; null: the model's weights are trained */
  model model;              /* its arrays lie on the device */
  unsigned char *memory[3]; /* device: state, activations, workspaces */
  phibal_cuda call, zeroed; /* zeroed: with a workspace that is zero between calls */
  phibal_rows rows;         /* the type of the rows and weights that products multiply */
  uint16_t *narrow;         /* in bfloat16: the parameters rounded; null */
  /* What the optimizer updates: the model's parameters, or the adapters'. */
  float *trained, *trained_gradients, *first, *second;
  device_adapters adapters;
  int32_t *tokens, *targets; /* device, of one call */
  /* Likewise, of the documents (model_set_starts); null: a sequence is one. Until memory is planned
     the host's, which says that there are any. */
  int32_t *starts;
  unsigned char *pinned;  /* all that is pinned */
  device_input *inputs;   /* [calls] */
  bool routed;            /* every call has routes that are given (model_set_routes) */
  bool waited;            /* since the last call's inputs were given to the stream */
  bool sizes_on_device;   /* the experts' products read theirs there */
  int64_t *host_offsets;  /* pinned [L][E+1]; not used where sizes are on the device */
  int64_t *dense_offsets; /* device [2]: 0 and the call's tokens, the rows of a dense layer */
  int64_t host_dense[2];
  phibal_cuda_loads step_loads, call_loads; /* [moe layers] */
  float *mean, *state;                      /* [moe layers][E] */
  /* (L4) Of each sequence of the call: loads and, of each call, losses [calls][moe layers][batch];
     null for other methods. mean, state and prices have `parts` rows of a layer: its sequences. */
  phibal_cuda_loads sequence_loads; /* [moe layers][batch] */
  float *sequence_losses;
  int32_t parts;
  float *prices; /* [moe layers][parts][E], this call's if has_price */
  bool has_price;
  device_quantiles quantiles;
  float *losses;          /* [calls][2][moe layers], balance and z of each call */
  double *shares;         /* [calls] of the global batch, on the host */
  int64_t *seen;          /* [calls] tokens that are not padding, likewise */
  int64_t *kept;          /* [calls][moe layers] routes within the capacity; null without one */
  float *factor_gradient; /* [E] of one call; null without expert_factor */
  int32_t calls, most_calls;
  device_sums *sums;
  /* What data can break, one place for each layer's forward pass, for the rest of the calls, and
     for the optimizer. */
  uint64_t *failures; /* device [L + 2] */
  /* What comes to the host, at once: sums, failures, losses, sequence_losses, kept, step_loads; and
     where, pinned. */
  unsigned char *results, *host_results;
  size_t results_bytes;
  phibal_cuda_ranks *ranks; /* null: alone */
  int32_t rank_count;
  device_exchange *exchange; /* null: this rank has every expert */
  uint64_t *loads_sum;       /* device [loads_sum_count], as call_loads: this rank's, all's */
  int64_t loads_sum_count;
  int64_t *blocks; /* device [block count + 1], of the gradient's norm */
  int64_t block_count;
  phibal_cuda_adamw step;
};

/* Waits for the device; PHIBAL_OK, or what failed: in the forward pass of the first layer where
   anything did, else in the rest. */
phibal_status device_result(device *d);
/* Whether the gradient that begins there is made by products alone: in the first call of a step
   they overwrite it, in the others they add. */
bool device_gradient_is_product(const model *m, const float *gradient);
/* Failures are left in this place of d->failures from here on. */
static inline void device_failures_in(device *d, int32_t place) {
  d->call.failure = d->zeroed.failure = d->failures + place;
}
/* device_step_finish in two: what it starts, and the step's one wait with what comes to the host. A
   step can be captured as a graph from device_step_begin to the end of _start, where the products
   read sizes on the device and no ranks exchange rows. */
phibal_status device_finish_start(device *d, double lr);
phibal_status device_finish_wait(device *d, model_losses *losses, double *norm);

/* device_create with these functions, without a library of `kind`; null: with it. */
phibal_status device_create_with(const device_library *library, const char *kind, model *m,
                                 lora *adapters, optimizer *o, model_precision precision,
                                 int32_t calls, const parallel *ranks, device **created);

/* device_library.c */
phibal_status device_library_open(const char *kind, device_library *l);
void device_library_close(device_library *l);

/* device_memory.c: takes the memory and points the model into it; then what the optimizer reads. */
phibal_status device_plan_memory(device *d);
phibal_status device_plan_optimizer(device *d);

/* device_adapters.c: nothing without adapters. Takes memory; what the host has to the device, with
   the weights that follow from it, and back; the adapters' gradients from those of the weights, and
   the weights from the adapters. */
void device_adapters_allocate(device *d, arena *a);
phibal_status device_adapters_push(device *d);
phibal_status device_adapters_fetch(device *d);
phibal_status device_adapters_gradients(device *d);
phibal_status device_adapters_apply(device *d);

/* device_exchange.c: the experts' FFN where ranks divide them; nothing where they do not. */
phibal_status device_exchange_create(device *d, const parallel *ranks);
void device_exchange_destroy(device *d);
/* After the permutation: waits, gives the offsets [E + 1] of this rank's routes to the host, and
   makes room for the rows that come. */
phibal_status device_exchange_offsets(device *d, int32_t layer, int64_t *offsets);
/* Rows [N][d] of this rank's routes to what their experts make of them: device arrays. */
phibal_status device_exchange_forward(device *d, int32_t layer, const float *rows, float *output);
/* Back, from the routes' gates [N] and their tokens' gradients [N][d], which may lie where the
   inputs' and the gates' gradients come. */
phibal_status device_exchange_backward(device *d, int32_t layer, const float *gates,
                                       const float *gradient, float *gate_gradient,
                                       float *input_gradient);
/* Sums of the gradients over the ranks that have them, and the whole gradient's norm. */
phibal_status device_exchange_gradients(device *d);

/* device_balance.c (model_balance.c): between the passes of a call, of all layers at once, since
   the backward pass is the first to need them: the loads, the prices, and the losses of this call.
   Then what the step leaves behind. */
phibal_status device_balance(device *d);
/* Quantile balancing: what the call's tokens would need (L7), by their logits or, where these are
   not null, the probabilities that experts are selected by. */
phibal_status device_balance_require(device *d, int32_t layer, int32_t moe_layer, int64_t tokens,
                                     const float *probabilities);
phibal_status device_balance_finish(device *d);

/* device_ffn.c, device_attention.c: one branch of a layer, as the functions of model_internal.h. */
phibal_status device_attention_forward(device *d, int32_t layer, int32_t batch);
phibal_status device_attention_backward(device *d, int32_t layer, int32_t batch);
phibal_status device_ffn_forward(device *d, int32_t layer, int32_t moe_layer, int32_t batch,
                                 float *out);
/* Recomputes activations that were not saved for the backward pass. */
phibal_status device_ffn_recompute(device *d, int32_t layer, int32_t batch);
phibal_status device_ffn_backward(device *d, int32_t layer, int32_t batch);

/* A failure's message is the library's. */
static inline phibal_status check_call(const device *d, phibal_status status) {
  if (status) phibal_status_set(status, "%s: %s", d->name, d->library.message());
  return status;
}

/* What products multiply as weights, by where the parameters have them. */
static inline const void *device_weight(const device *d, const float *parameter) {
  return d->narrow ? (const void *)(d->narrow + (parameter - d->model.parameters)) : parameter;
}

/* Of a number in rows that products multiply, and the place of one of them. */
static inline size_t device_row_size(const device *d) {
  return d->rows == PHIBAL_ROWS_F32 ? sizeof(float) : sizeof(uint16_t);
}
static inline void *device_row_at(const device *d, const float *rows, int64_t number) {
  return (unsigned char *)rows + number * (int64_t)device_row_size(d);
}

/* The residual stream's gradient [n] as products multiply it. */
static inline const float *device_stream_gradient(device *d, int64_t n, phibal_status *status) {
  model_scratch *s = &d->model.scratch;
  if (d->rows == PHIBAL_ROWS_F32) return s->stream_gradient;
  if (!*status) *status = d->library.narrow(n, s->stream_gradient, s->narrow_gradient, &d->call);
  return s->narrow_gradient;
}

/* RMSNorm of rows of the residual stream. */
static inline phibal_cuda_norm device_norm(const device *d, int64_t tokens) {
  const model_config *c = &d->model.config;
  return (phibal_cuda_norm){tokens, 1, c->width, c->norm_epsilon, PHIBAL_ROWS_F32};
}

static inline phibal_cuda_attention device_attention(const device *d, int32_t batch) {
  const model_config *c = &d->model.config;
  return (phibal_cuda_attention){batch,         c->sequence, c->heads, c->key_value_heads,
                                 c->head_width, d->rows,     d->starts};
}

/* Returns on the first failure. */
#define RUN(call)                                                                                  \
  do {                                                                                             \
    if (!status) status = (call);                                                                  \
  } while (0)

#endif
