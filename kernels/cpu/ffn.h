/* The elementwise parts of the gated FFN, for those that add something to its products. Bounds are
   in ffn.c. */
#ifndef PHIBAL_CPU_FFN_H
#define PHIBAL_CPU_FFN_H

#include <phibal/expert.h>

/* h = act(a) b; arrays [n], not overlapping. On the calling thread. */
void phibal_ffn_activate(phibal_activation activation, int64_t n, const float *restrict a,
                         const float *restrict b, float *restrict h);
/* a, b in; dL/da = dh b act'(a) and dL/db = dh act(a) out. */
void phibal_ffn_activate_backward(phibal_activation activation, int64_t n, float *restrict a,
                                  float *restrict b, const float *restrict h_gradient);

#endif
