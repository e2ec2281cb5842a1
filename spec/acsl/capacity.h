/* The logic of capacity (E7), (E8), (E9). ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_CAPACITY_H
#define PHIBAL_ACSL_CAPACITY_H

#include <phibal/acsl/slots.h>
#include <stdint.h>

/*@ // (E7): n is the least whole number that is at least the minimum and c k T / E
    predicate limit_is(integer n, real factor, integer minimum, integer slots, integer experts) =
      minimum <= n && factor * slots / experts <= n &&
      (n == minimum || n - 1 < factor * slots / experts);

    // 1 where route j goes before route i of the same expert: 0 by token, 1 by slot, 2 by gate; of
    // routes with a place, by token where the policy is by gate
    logic integer stands_before(integer policy, integer active, integer j, integer i) =
      policy == 1 ? (j % active < i % active || (j % active == i % active && j < i) ? 1 : 0)
                  : (j < i ? 1 : 0);
    logic integer goes_before{L}(integer policy, integer active, float *gates, integer j,
                                 integer i) =
      policy == 2 ? (gates[j] > gates[i] || (gates[j] == gates[i] && j < i) ? 1 : 0)
                  : stands_before(policy, active, j, i);

    // of the routes below n, those of i's expert that go before i
    logic integer routes_before{L}(integer policy, integer active, int32_t *experts, float *gates,
                                   integer i, integer n) =
      n <= 0 ? 0
             : routes_before(policy, active, experts, gates, i, n - 1) +
                 (experts[n - 1] == experts[i] ? goes_before(policy, active, gates, n - 1, i) : 0);

    // the experts and gates that a count reads are what they were, and so is the count
    predicate routes_same{L1, L2}(int32_t *experts, integer n) =
      \forall integer j; 0 <= j < n ==> \at(experts[j], L1) == \at(experts[j], L2);
    predicate count_same{L1, L2}(integer policy, integer active, int32_t *experts, float *gates,
                                 integer i, integer n) =
      \at(routes_before(policy, active, experts, gates, i, n), L1) ==
        \at(routes_before(policy, active, experts, gates, i, n), L2);

    // (E8): what a route is where it is kept, if fewer than C go before it, and -1 elsewhere
    logic integer route_kept{L}(integer policy, integer active, int32_t *experts, float *gates,
                                integer slots, integer limit, integer i) =
      routes_before(policy, active, experts, gates, i, slots) < limit ? experts[i] : -1;
    predicate routes_kept{L1, L2}(integer policy, integer active, int32_t *experts, float *gates,
                                  integer slots, integer limit, int32_t *kept, integer n) =
      \forall integer i; 0 <= i < n ==>
        \at(kept[i], L2) ==
          \at(route_kept(policy, active, experts, gates, slots, limit, i), L1);

    // (E8), the place of kept route i: those of its expert, of the first n, that stand before it
    logic integer places_before{L}(integer policy, integer active, int32_t *kept, integer i,
                                   integer n) =
      n <= 0 ? 0
             : places_before(policy, active, kept, i, n - 1) +
                 (kept[n - 1] == kept[i] ? stands_before(policy, active, n - 1, i) : 0);
    predicate places_of{L}(integer policy, integer active, int32_t *kept, integer slots,
                           int64_t *place, integer n) =
      \forall integer i; 0 <= i < n ==>
        place[i] == (kept[i] < 0 ? -1 : places_before(policy, active, kept, i, slots));

    // (E9), of one token: the sum of x over the kept of n slots, of products x y, and of |x y|
    logic real kept_sum{L}(int32_t *kept, float *x, integer n) =
      slots_sum(kept, 0, INT32_MAX, x, \null, n);
    logic real kept_dot{L}(int32_t *kept, float *x, float *y, integer n) =
      slots_sum(kept, 0, INT32_MAX, x, y, n);
    logic real kept_magnitude{L}(int32_t *kept, float *x, float *y, integer n) =
      slots_magnitude(kept, 0, INT32_MAX, x, y, n);
    predicate kept_real{L}(int32_t *kept, float *x, integer n) =
      slots_numbers(kept, 0, INT32_MAX, x, n);

    // what becomes of a token's slots: 0 all of them are 0, as where the sum of kept gates is; 1 the
    // kept ones stay, 2 they are renormalised
    logic integer kept_mode{L}(integer renormalise, int32_t *kept, float *gates, integer n) =
      renormalise == 0 ? 1 : kept_sum(kept, gates, n) == 0.0 ? 0 : 2;
    logic real kept_number{L}(int32_t *kept, float *x, integer mode, real sum, real offset,
                              integer s) =
      kept[s] < 0 || mode == 0 ? 0.0 : mode == 1 ? (real)x[s] : ((real)x[s] + offset) / sum;
    logic real kept_absolute{L}(int32_t *kept, float *x, integer mode, real sum, real offset,
                                integer s) =
      kept[s] < 0 || mode == 0 ? 0.0 : mode == 1 ? \abs((real)x[s])
                                                 : (\abs((real)x[s]) + offset) / sum;
    predicate kept_numbers_held{L}(phibal_enclosure *z, integer n, int32_t *kept, float *x,
                                   integer mode, real sum, real offset) =
      \forall integer s; 0 <= s < n ==> in(z + s, kept_number(kept, x, mode, sum, offset, s));
    predicate kept_absolutes_held{L}(phibal_enclosure *z, integer n, int32_t *kept, float *x,
                                     integer mode, real sum, real offset) =
      \forall integer s; 0 <= s < n ==> in(z + s, kept_absolute(kept, x, mode, sum, offset, s));
    // what is added to a slot's gradient, and to its condition
    logic real kept_offset{L}(int32_t *kept, float *gates, float *gradient, integer n) =
      -(kept_dot(kept, gates, gradient, n) / kept_sum(kept, gates, n));
    logic real kept_offset_magnitude{L}(int32_t *kept, float *gates, float *gradient, integer n) =
      kept_magnitude(kept, gates, gradient, n) / kept_sum(kept, gates, n);

    // places for the results of one token, which may be null, apart from each other
    predicate kept_results_there{L}(phibal_enclosure *gates, phibal_enclosure *gradient,
                                    phibal_enclosure *condition, integer n) =
      optional_vector(gates, n) && optional_vector(gradient, n) && optional_vector(condition, n) &&
      optional_vectors_apart(gates, n, gradient, n) &&
      optional_vectors_apart(gates, n, condition, n) &&
      optional_vectors_apart(gradient, n, condition, n);
*/
#endif
