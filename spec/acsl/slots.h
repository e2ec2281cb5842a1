/* The logic of sums over slots of some experts. ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_SLOTS_H
#define PHIBAL_ACSL_SLOTS_H

#include <phibal/acsl/expert.h>
#include <stdint.h>

/*@ // of the slots below n, those whose expert is first .. last: the sum of x y, and of |x y|; where y
    // is null, of x and |x|
    logic real second_number{L}(float *y, integer i) = y == \null ? 1.0 : (real)y[i];
    logic real slots_sum{L}(int32_t *experts, integer first, integer last, float *x, float *y,
                            integer n) =
      n <= 0 ? 0.0 : slots_sum(experts, first, last, x, y, n - 1) +
        (first <= experts[n - 1] && experts[n - 1] <= last
           ? (real)x[n - 1] * second_number(y, n - 1) : 0.0);
    logic real slots_magnitude{L}(int32_t *experts, integer first, integer last, float *x, float *y,
                                  integer n) =
      n <= 0 ? 0.0 : slots_magnitude(experts, first, last, x, y, n - 1) +
        (first <= experts[n - 1] && experts[n - 1] <= last
           ? \abs((real)x[n - 1] * second_number(y, n - 1)) : 0.0);
    // their numbers are finite
    predicate slots_numbers{L}(int32_t *experts, integer first, integer last, float *x, integer n) =
      \forall integer i; 0 <= i < n && first <= experts[i] <= last ==> \is_finite(x[i]);
*/
#endif
