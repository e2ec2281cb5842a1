/* Gates over their sum, or over a floor in the place of a smaller sum (ERNIE 4.5), of one token:
   y of k slots to g = scale y / max(sum y, floor), in binary64, each rounded once. CPU and device
   compute these lines, so that they have the same bits. */
#ifndef PHIBAL_CORE_GATE_FLOOR_H
#define PHIBAL_CORE_GATE_FLOOR_H

#include "core.h"

/* y in place; returns sum y, rounded. */
CORE_FUNCTION float core_gates_over_sum(int k, float scale, float floor, float *gates) {
  double sum = 0;
  for (int s = 0; s < k; s++) sum += (double)gates[s];
  const float rounded = (float)sum;
  const double below = rounded < floor ? (double)floor : sum;
  for (int s = 0; s < k; s++) gates[s] = (float)((double)scale * (double)gates[s] / below);
  return rounded;
}

/* From dL/dg that of y, in place: (scale dL/dg_s - sum_r g_r dL/dg_r) / sum y, or
   scale dL/dg_s / floor where the floor divides, which does not depend on y. */
CORE_FUNCTION void core_gates_over_sum_backward(int k, float scale, float floor, const float *gates,
                                                float sum, float *gradient) {
  const bool floored = sum < floor;
  double along = 0;
  for (int s = 0; s < k && !floored; s++) along += (double)gates[s] * (double)gradient[s];
  for (int s = 0; s < k; s++)
    gradient[s] =
        (float)(((double)scale * (double)gradient[s] - along) / (double)(floored ? floor : sum));
}

#endif
