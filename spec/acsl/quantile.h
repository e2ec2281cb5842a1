/* The logic of order statistics (L7). ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_QUANTILE_H
#define PHIBAL_ACSL_QUANTILE_H

#include <stdint.h>

/*@ // token i is no padding
    predicate is_token{L}(uint8_t *mask, integer i) = mask == \null || mask[i] != 0;
    // the tokens below n, those among them of which x is less than v, and at most v
    logic integer tokens_of{L}(uint8_t *mask, integer n) =
      n <= 0 ? 0 : tokens_of(mask, n - 1) + (mask == \null || mask[n - 1] != 0 ? 1 : 0);
    logic integer tokens_below{L}(uint8_t *mask, float *x, integer n, real v) =
      n <= 0 ? 0 : tokens_below(mask, x, n - 1, v) +
        ((mask == \null || mask[n - 1] != 0) && x[n - 1] < v ? 1 : 0);
    logic integer tokens_up_to{L}(uint8_t *mask, float *x, integer n, real v) =
      n <= 0 ? 0 : tokens_up_to(mask, x, n - 1, v) +
        ((mask == \null || mask[n - 1] != 0) && x[n - 1] <= v ? 1 : 0);
    predicate tokens_finite{L}(uint8_t *mask, float *x, integer n) =
      \forall integer i; 0 <= i < n && is_token(mask, i) ==> \is_finite(x[i]);

    // (L7): q is a token's number; fewer than a share k/E of them are less, and a share of k/E or
    // more is at most q. With m = ceil(k T / E): below < m <= up to.
    predicate quantile_is{L}(uint8_t *mask, float *x, integer n, integer k, integer experts,
                             real q) =
      tokens_finite(mask, x, n) &&
      (\exists integer i; 0 <= i < n && is_token(mask, i) && q == x[i]) &&
      experts * tokens_below(mask, x, n, q) < k * tokens_of(mask, n) &&
      k * tokens_of(mask, n) <= experts * tokens_up_to(mask, x, n, q);
*/
#endif
