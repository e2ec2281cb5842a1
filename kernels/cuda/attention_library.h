/* A library's attention for rows in bfloat16, in place of the products of attention.cu: cuDNN for a
   device (attention_cudnn.cu). It has plans for the shapes that it was asked for, and answers for
   no other. Arrays are those of phibal_cuda_attention_forward and _backward. */
#ifndef PHIBAL_CUDA_ATTENTION_LIBRARY_H
#define PHIBAL_CUDA_ATTENTION_LIBRARY_H

#include "trainer.h"

static inline bool attention_is_good(const phibal_cuda_attention &a) {
  return a.batch >= 0 && a.sequence >= 1 && a.key_value_heads >= 1 && a.head_width >= 1 &&
         a.heads >= 1 && a.heads <= PHIBAL_MAX_EXPERTS && a.heads % a.key_value_heads == 0;
}

/* Whether it has a plan for this shape, and how much workspace that wants. */
bool library_attention_has(const phibal_cuda_attention *shape, const phibal_cuda *call,
                           size_t *workspace);
phibal_status library_attention_forward(const phibal_cuda_attention *shape, const void *qkv,
                                        void *out, float *logsumexp, const phibal_cuda *call);
phibal_status library_attention_backward(const phibal_cuda_attention *shape, const void *qkv,
                                         const void *out, const float *logsumexp,
                                         const void *out_gradient, void *qkv_gradient,
                                         const phibal_cuda *call);

#endif
