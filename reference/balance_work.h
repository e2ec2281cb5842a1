/* What the files of balancing share: checks of loads and of a price's arguments, vectors of numbers
   as enclosures, and their centring. */
#ifndef PHIBAL_REFERENCE_BALANCE_WORK_H
#define PHIBAL_REFERENCE_BALANCE_WORK_H

#include "operation.h"

/* PHIBAL_OK only if x[0..n-1] are finite and >= 0 (-0 counts as 0). */
phibal_status balance_loads_check(const char *name, const char *what, int32_t n, const float *x);

phibal_status balance_price_check(const char *name, const phibal_potential *potential,
                                  int32_t experts, const float *m, mpfr_prec_t precision,
                                  const phibal_enclosure *output);

void balance_vector_set(int32_t n, const float *x, phibal_enclosure *z);

/* centred_e = x_e - mean(x); t is a temporary. */
phibal_status balance_vector_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                                    phibal_enclosure *centred);

#include <phibal/acsl/contracts/inside/balance_work.h>
#endif
