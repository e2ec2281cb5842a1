/* Training on a device: model_forward_backward and optimizer_update with the CUDA kernels of a
   library that is loaded on demand. The model and optimizer on the host remain the owners: they
   initialise the device and get its state back (device_fetch) before they are evaluated or written.
   Equations, shapes and messages are the host's; results differ by roundings where sums have
   another order (kernels/cuda/trainer.h).

   In bfloat16 the products multiply rows and weights of that type and add up in binary32: the
   weights are a copy of binary32 ones, which the optimizer updates and which the host gets.
   Binary32 are the gradients of weights, the moments, the residual stream and its gradient (a
   branch is added to it unrounded, so that what L layers round away does not pile up in it),
   embeddings, norms' sums and weights, and the whole router: its input, weights, logits and their
   gradients.

   Where layers are recomputed, the backward pass makes attention, the FFN's input and its
   pre-activations again, by the same kernels from the same inputs.

   Memory is planned once: a step allocates nothing. It waits for the device once, at its end, where
   the library of products reads the sizes of the experts' products on the device; where it needs
   them on the host, or ranks exchange rows, once a MoE layer too. What goes to the device and comes
   from it is pinned. Bad data are reported at a wait, so at the end of the step.

   Of several ranks each has a device. Loads are summed over them exactly, layer by layer, before a
   price is taken, and gradients once a step, in the order of the ranks (kernels/cuda/ranks.h). */
#ifndef PHIBAL_MOE_DEVICE_H
#define PHIBAL_MOE_DEVICE_H

#include "moe/lora/lora.h"
#include "moe/model/model.h"
#include "moe/model/optimizer.h"
#include "moe/parallel/parallel.h"

typedef struct device device;

/* `kind` is "cuda" or "host-cuda", the same kernels compiled for the host. `calls` is the most
   micro-batches of a step. Where the host model has starts of documents (model_set_starts), every
   call is to have them set before, and where it has not, none; likewise with routes that are given,
   and those that are taken (model_set_routes), which are there after device_step_finish. `adapters`
   are trained instead of the model's weights, and o is of their tensors; they outlive the device
   and do not move; null: none. `ranks`: those that train the model together, which outlive the
   device; null: this process alone. They have to make the same calls. PHIBAL_ERROR_UNSUPPORTED
   names what of the configuration has no kernels there. */
phibal_status device_create(const char *kind, model *m, lora *adapters, optimizer *o,
                            model_precision precision, int32_t calls, const parallel *ranks,
                            device **created);
void device_destroy(device *d);

/* Like model_step_begin and model_forward_backward; device_step_finish returns the losses. */
phibal_status device_step_begin(device *d, model_batch global);
phibal_status device_forward_backward(device *d, int32_t batch, const int32_t *tokens,
                                      const int32_t *targets);
/* As model_step_finish and optimizer_update with this learning rate; losses are those of all this
   rank's calls of the step, to be added up, and the host model has the step's loads. A loss or
   gradient that is not finite is an error, and so is what a router refuses; these leave the
   parameters as they were. */
phibal_status device_step_finish(device *d, double lr, model_losses *losses, double *norm);

/* What computes attention: cuDNN's version, or "matrix products" and why not cuDNN. */
const char *device_attention_by(const device *d);

/* The version of the NCCL that several processes on devices need; null: this build has none. */
const char *device_nccl(void);
/* The version of the cuDNN whose attention a device has in bfloat16; null: this build has none. */
const char *device_cudnn(void);

/* Binary32 parameters, moments, m and biases to the host. With adapters A and B, from which the
   host makes the weights they are added to as it does in its own steps. */
phibal_status device_fetch(device *d);

#endif
