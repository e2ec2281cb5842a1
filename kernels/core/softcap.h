/* The soft cap of logits: cap tanh(z / cap). */
#ifndef PHIBAL_CORE_SOFTCAP_H
#define PHIBAL_CORE_SOFTCAP_H

#include "exp64.h"

/* tanh z = (1 - e^-2|z|) / (1 + e^-2|z|) with the sign of z: within 2^-50 absolutely, all that a
   cap needs. */
CORE_FUNCTION double core_cap_tanh(double z) {
  double e = core_exp64(z < 0 ? 2.0 * z : -2.0 * z);
  double t = (1.0 - e) / (1.0 + e);
  return z < 0 ? -t : t;
}

/* cap > 0 */
CORE_FUNCTION float core_softcap(float z, double cap) {
  return (float)(cap * core_cap_tanh((double)z / cap));
}

#endif
