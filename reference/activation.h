/* act(a) = a sigma(v), the constants of v and the temporaries: set up once for many elements. */
#ifndef PHIBAL_REFERENCE_ACTIVATION_H
#define PHIBAL_REFERENCE_ACTIVATION_H

#include "operation.h"

typedef struct activation_work {
  phibal_activation activation;
  phibal_enclosure slope; /* 2 sqrt(2/pi) */
  phibal_enclosure cubic; /* 0.044715, the decimal number */
  phibal_enclosure one, v, v_slope, sigma, complement, square;
} activation_work;

phibal_status activation_work_init(const char *name, activation_work *work,
                                   phibal_activation activation, mpfr_prec_t precision);
void activation_work_clear(activation_work *work);

/* As phibal_reference_activation, of an enclosure; value, derivative and condition are not a. */
phibal_status activation_evaluate(activation_work *work, const phibal_enclosure *a,
                                  phibal_enclosure *value, phibal_enclosure *derivative,
                                  phibal_enclosure *condition);

#include <phibal/acsl/contracts/inside/activation.h>
#endif
