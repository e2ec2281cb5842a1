/* A row of phibal_cuda_activate_backward_recompute, in the order of its sum
   (kernels/cuda/activation.cu). */
#ifndef PHIBAL_VERIFY_RECOMPUTE_H
#define PHIBAL_VERIFY_RECOMPUTE_H

#include "kernels/core/activation.h"
#include "kernels/core/activation32.h"

#include <phibal/expert.h>

/* a, b, h [f]: from pre-activations and dh = W_down^T dL/dy to dL/da, dL/db and gate h, in
   binary32. Returns the gate's gradient. */
static inline float recompute_row(phibal_activation activation, int64_t f, float gate, float *a,
                                  float *b, float *h) {
  double lane[16] = {0};
  for (int64_t j = 0; j < f; j++) {
    const core_activation of = activation == PHIBAL_ACTIVATION_SILU ? core_silu64((double)a[j])
                                                                    : core_gelu64((double)a[j]);
    const double made = of.value * (double)b[j], dh = (double)h[j], gated = (double)gate * dh;
    lane[j / 4 % 16] = CORE_FMA(dh, made, lane[j / 4 % 16]);
    a[j] = (float)(gated * (double)b[j] * of.derivative);
    b[j] = (float)(gated * of.value);
    h[j] = (float)((double)gate * made);
  }
  for (int s = 8; s; s /= 2)
    for (int l = 0; l < s; l++) lane[l] += lane[l + s];
  return (float)lane[0];
}

/* The same of a row of bfloat16 (E2n); what is left in a, b and h is to be rounded to it. */
static inline float recompute_row16(phibal_activation activation, int64_t f, float gate, float *a,
                                    float *b, float *h) {
  double lane[16] = {0};
  for (int64_t j = 0; j < f; j++) {
    const core_activation32 of =
        activation == PHIBAL_ACTIVATION_SILU ? core_silu32(a[j]) : core_gelu32(a[j]);
    const float made = of.value * b[j], dh = h[j], gated = gate * dh;
    lane[j / 4 % 16] = CORE_FMA((double)dh, (double)made, lane[j / 4 % 16]);
    a[j] = gated * b[j] * of.derivative;
    b[j] = gated * of.value;
    h[j] = gate * made;
  }
  for (int s = 8; s; s /= 2)
    for (int l = 0; l < s; l++) lane[l] += lane[l + s];
  return (float)lane[0];
}

#endif
