/* The gates of the gated FFN's backward pass, over the rows of one expert. */
#ifndef PHIBAL_REFERENCE_FFN_BACKWARD_GATES_H
#define PHIBAL_REFERENCE_FFN_BACKWARD_GATES_H

#include "ffn_work.h"

/* a' = h' b act'(a), b' = h' act(a) of n elements, with first-order conditions; h' and its
   condition are s.back. */
phibal_status ffn_gates_backward(int64_t n, activation_work *work, ffn_scratch s, const float *a,
                                 const float *b)
    /*@ ghost (phibal_enclosure *all) */;

#include <phibal/acsl/contracts/inside/ffn_backward_gates.h>
#endif
