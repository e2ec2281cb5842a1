/* The logic of capacity (E8). ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_CAPACITY_H
#define PHIBAL_ACSL_CAPACITY_H

#include <stdint.h>

/*@ // 1 where route j goes before route i of the same expert: 0 by token, 1 by slot, 2 by gate
    logic integer goes_before{L}(integer policy, integer active, float *gates, integer j,
                                 integer i) =
      policy == 0 ? (j < i ? 1 : 0)
      : policy == 1 ? (j % active < i % active || (j % active == i % active && j < i) ? 1 : 0)
                    : (gates[j] > gates[i] || (gates[j] == gates[i] && j < i) ? 1 : 0);

    // of the routes below n, those of i's expert that go before i
    logic integer routes_before{L}(integer policy, integer active, int32_t *experts, float *gates,
                                   integer i, integer n) =
      n <= 0 ? 0
             : routes_before(policy, active, experts, gates, i, n - 1) +
                 (experts[n - 1] == experts[i] ? goes_before(policy, active, gates, n - 1, i) : 0);

    // (E8): what a route is where it is kept, if fewer than C go before it, and -1 elsewhere
    logic integer route_kept{L}(integer policy, integer active, int32_t *experts, float *gates,
                                integer slots, integer limit, integer i) =
      routes_before(policy, active, experts, gates, i, slots) < limit ? experts[i] : -1;
    predicate routes_kept{L1, L2}(integer policy, integer active, int32_t *experts, float *gates,
                                  integer slots, integer limit, int32_t *kept, integer n) =
      \forall integer i; 0 <= i < n ==>
        \at(kept[i], L2) ==
          \at(route_kept(policy, active, experts, gates, slots, limit, i), L1);
*/
#endif
