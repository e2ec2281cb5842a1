/* Which routes an expert keeps (E8), by the definition: for each route are counted those of its
   expert that go before it. Nothing is sorted, and no list is made. */
#include "operation.h"
#include <phibal/reference_capacity.h>
#include <phibal/acsl/contracts/inside/capacity_static.h>

/* Does route j go before route i? */
static bool is_before(phibal_capacity_policy policy, int32_t active, const float *gates, int64_t j,
                      int64_t i) {
  //@ assert use_floating;
  if (policy == PHIBAL_CAPACITY_TOKEN) return j < i;
  if (policy == PHIBAL_CAPACITY_SLOT)
    return j % active < i % active || (j % active == i % active && j < i);
  return gates[j] > gates[i] || (gates[j] == gates[i] && j < i);
}

/* How many routes of i's expert go before it. */
static int64_t count_before(phibal_capacity_policy policy, int32_t active, int64_t slots,
                            const int32_t *experts, const float *gates, int64_t i) {
  int64_t count = 0;
  /*@ loop invariant index: 0 <= j <= slots;
      loop invariant counted: count == routes_before(policy, active, experts, gates, i, j) &&
        0 <= count <= j;
      loop assigns j, count;
      loop variant slots - j; */
  for (int64_t j = 0; j < slots; j++)
    if (experts[j] == experts[i] && is_before(policy, active, gates, j, i)) count++;
  return count;
}

phibal_status phibal_reference_capacity(phibal_capacity_policy policy, int64_t tokens,
                                        int32_t active, int64_t limit, const int32_t *experts,
                                        const float *gates, int32_t *kept) {
  const char *name = "phibal_reference_capacity";
  if (tokens < 0 || active < 1 || limit < 0 || policy < PHIBAL_CAPACITY_TOKEN ||
      policy > PHIBAL_CAPACITY_GATE)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens of %d slots, policy %d", name,
                             (long long)tokens, (int)active, (int)policy);
  if (!experts || !kept || (policy == PHIBAL_CAPACITY_GATE && !gates))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  const int64_t slots = tokens * active;
  if (policy == PHIBAL_CAPACITY_GATE) TRY(operation_check_finite(name, "gates", slots, gates));
  /*@ loop invariant index: 0 <= i <= slots;
      loop invariant given: routes_same{Pre, Here}(experts, slots);
      loop invariant kept: routes_kept{Pre, Here}(policy, active, experts, gates, slots, limit,
                                                  kept, i);
      loop assigns i, kept[0 .. slots - 1];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++) {
    if (experts[i] < -1)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: slot %lld has expert %d", name,
                               (long long)i, (int)experts[i]);
    const int64_t before = count_before(policy, active, slots, experts, gates, i);
    /*@ ghost
      /@ loop invariant number: 0 <= n <= slots;
         loop invariant count: count_same{Pre, Here}(policy, active, experts, gates, i, n);
         loop assigns n;
         loop variant slots - n; @/
      for (int64_t n = 0; n < slots; n++) {
        //@ assert next: \at(experts[n], Here) == \at(experts[\at(n, Here)], Pre);
      }
    */
    //@ assert counted: count_same{Pre, Here}(policy, active, experts, gates, i, slots);
    kept[i] = before < limit ? experts[i] : -1;
  }
  return PHIBAL_OK;
}
