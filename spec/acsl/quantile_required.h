/* The logic of the biases that tokens require of experts (L7). ACSL only; definitions and no
   axiom. */
#ifndef PHIBAL_ACSL_QUANTILE_REQUIRED_H
#define PHIBAL_ACSL_QUANTILE_REQUIRED_H

#include <phibal/acsl/loads_value.h>

/*@ // the binary32 number nearest to the binary64 number nearest to a - b
    logic real rounded_difference(real a, real b) =
      (real)\round_float(\NearestEven, (real)\round_double(\NearestEven, a - b));
    // what expert e requires where expert j is cut off
    logic real required_number{L}(integer gate, float *x, float *bias, integer j, integer e) =
      rounded_difference(router_score(gate, x, bias, j), router_score(gate, x, \null, e));
    // (L7), of one token: the cut-off is the selection score of the expert that k others precede
    predicate required_is{L}(integer gate, float *x, float *bias, integer experts, integer k,
                             integer e, real r) =
      \exists integer j; 0 <= j < experts && rank(gate, x, bias, j, experts) == k &&
        r == required_number(gate, x, bias, j, e);
    // a number stays what it was, and so does + infinity
    predicate float_same{A, B}(float *x) =
      (\at(\is_finite(*x), A) ==>
        \at(\is_finite(*x), B) && \at((real)*x, A) == \at((real)*x, B)) &&
      (\at(\is_plus_infinity(*x), A) ==> \at(\is_plus_infinity(*x), B));
    // the column of token i in rows of n is all that may change
    predicate only_token_required{A, B}(float *required, integer experts, integer n, integer i) =
      \forall integer e, j; 0 <= e < experts && 0 <= j < n && j != i ==>
        float_same{A, B}(required + element(e, n, j));
    predicate token_written{L}(float *required, integer experts, integer n, integer i) =
      0 <= i < n && \valid(required + (0 .. place(experts, n) - 1)) && address(place(experts, n));
    // a score, a rank is what it was
    predicate score_same{L1, L2}(integer gate, float *x, float *bias, integer e) =
      \at(router_score(gate, x, bias, e), L1) == \at(router_score(gate, x, bias, e), L2);
    predicate ranks_same{L1, L2}(integer gate, float *x, float *bias, integer j, integer n) =
      \at(rank(gate, x, bias, j, n), L1) == \at(rank(gate, x, bias, j, n), L2);
*/
#endif
