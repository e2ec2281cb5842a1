/* What the static functions of reference/capacity.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_CAPACITY_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_CAPACITY_STATIC_H

/*@ requires 0 <= policy <= 2 && 1 <= active && 0 <= i && 0 <= j;
    requires policy == 2 ==> \valid_read(gates + i) && \valid_read(gates + j);
    requires policy == 2 ==> \is_finite(gates[i]) && \is_finite(gates[j]);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> goes_before(policy, active, gates, j, i) == 1;
    ensures 0 <= goes_before(policy, active, gates, j, i) <= 1; */
static bool is_before(phibal_capacity_policy policy, int32_t active, const float *gates, int64_t j,
                      int64_t i);

/*@ requires 0 <= policy <= 2 && 1 <= active && 0 <= i < slots;
    requires \valid_read(experts + (0 .. slots - 1));
    requires policy == 2 ==>
      \valid_read(gates + (0 .. slots - 1)) && finite_floats(gates, slots);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == routes_before(policy, active, experts, gates, i, slots);
    ensures 0 <= \result <= slots; */
static int64_t count_before(phibal_capacity_policy policy, int32_t active, int64_t slots,
                            const int32_t *experts, const float *gates, int64_t i);

#endif
