/* What a combine and its gradients ask of their arguments. */
#ifndef PHIBAL_REFERENCE_COMBINE_H
#define PHIBAL_REFERENCE_COMBINE_H

#include "expert.h"

/* The shape makes sense, no argument that is needed is null, the slots' rows are finite. */
phibal_status reference_combine_check(const char *name, phibal_reference_combination c,
                                      mpfr_prec_t precision);

#include <phibal/acsl/contracts/inside/combine.h>
#endif
