/* The loss-free update of the biases, (L6). ACSL only. */
#ifndef PHIBAL_ACSL_LOSS_FREE_H
#define PHIBAL_ACSL_LOSS_FREE_H

#include <phibal/acsl/balance.h>
#include <phibal/rounding.h>

/*@ // of mean(count) - count_e
    logic integer load_sign{L}(int64_t *count, integer n, integer e) =
      sign_of(count_sum(count, n) - n * count[e]);
    // (L6) of one expert, rounded once; a bias that stays is what it was
    predicate bias_moved(real bias, real rate, integer step, float next) =
      step == 0 ? \is_finite(next) && (real)next == bias :
      rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, bias + rate * step, (double)next);
*/
#endif
