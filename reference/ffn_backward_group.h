/* The backward pass of the gated FFN over the rows of one expert, into a scratch and the places of
   the products' gradients. */
#ifndef PHIBAL_REFERENCE_FFN_BACKWARD_GROUP_H
#define PHIBAL_REFERENCE_FFN_BACKWARD_GROUP_H

#include "ffn_work.h"

/* h', a' and b' into the scratch; x', W_gate', W_up' and W_down', where they are wanted, into their
   places. */
phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                 phibal_reference_ffn_inputs given,
                                 phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                 phibal_reference_ffn_gradients g)
    /*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */;

#include <phibal/acsl/contracts/inside/ffn_backward_group.h>
#endif
