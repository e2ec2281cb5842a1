/* The forward pass of the gated FFN over the rows of one expert, into a scratch. */
#ifndef PHIBAL_REFERENCE_FFN_GROUP_H
#define PHIBAL_REFERENCE_FFN_GROUP_H

#include "ffn_work.h"

/* a, b and h into the scratch, y, where it is wanted, into its place. */
phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                phibal_reference_result y)
    /*@ ghost (phibal_enclosure *all) */;

#include <phibal/acsl/contracts/inside/ffn_group.h>
#endif
