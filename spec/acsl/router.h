/* The logic of the router: what SPEC.md's sections R and G say of one token's logits, as real
   numbers. ACSL only. The logits are an array x of E binary32 numbers, and
   e(x) is exp(x) (real.h). */
#ifndef PHIBAL_ACSL_ROUTER_H
#define PHIBAL_ACSL_ROUTER_H

#include <phibal/acsl/enclosure.h>

/*@ // the logistic function
    logic real sigmoid(real a) = 1.0 / (1.0 + e(-a));
*/

#endif
