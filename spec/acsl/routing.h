/* The logic of routes: what the contracts of selection and permutation say. ACSL only; seen by
   Frama-C, not by compilers. Definitions, and consequences of them proved by induction in ghost
   code; no axiom. */
#ifndef PHIBAL_ACSL_ROUTING_H
#define PHIBAL_ACSL_ROUTING_H

#include <stdint.h>

/* Sizes of arrays that exist: their products do not overflow. */
#define ROUTING_MAX_SLOTS (INT64_MAX / 16)

/*@ // the slots before n that are routed to expert e
    logic integer routed{L}(int32_t *x, integer e, integer n) =
      n <= 0 ? 0 : routed(x, e, n - 1) + (x[n - 1] == e ? 1 : 0);
    // the slots before n that are routed to an expert before e
    logic integer routed_before{L}(int32_t *x, integer e, integer n) =
      n <= 0 ? 0 : routed_before(x, e, n - 1) + (0 <= x[n - 1] < e ? 1 : 0);

    // every slot has one of the experts 0 .. experts - 1, or -1 for padding
    predicate routes{L}(int32_t *x, integer experts, integer slots) =
      \forall integer i; 0 <= i < slots ==> -1 <= x[i] < experts;

    // (E1): expert e's rows begin after those of the experts before it
    predicate expert_offsets{L}(int32_t *x, integer experts, integer slots, int64_t *offsets) =
      \forall integer e; 0 <= e <= experts ==> offsets[e] == routed_before(x, e, slots);
    // (E1): a slot's row comes after those of its expert's earlier slots; padding has none
    predicate slot_rows{L}(int32_t *x, integer slots, int64_t *offsets, int64_t *row) =
      \forall integer i; 0 <= i < slots ==>
        row[i] == (x[i] < 0 ? -1 : offsets[x[i]] + routed(x, x[i], i));
    // (E1): each row of each expert has one of its slots as its source
    predicate row_sources{L}(int32_t *x, integer experts, integer slots, int64_t *offsets,
                             int64_t *source, int64_t *row) =
      \forall integer e, n; 0 <= e < experts && offsets[e] <= n < offsets[e + 1] ==>
        0 <= source[n] < slots && x[source[n]] == e && row[source[n]] == n;
    // the two are inverse
    predicate slots_kept{L}(int32_t *x, integer slots, int64_t *source, int64_t *row) =
      \forall integer i; 0 <= i < slots && 0 <= x[i] ==> source[row[i]] == i;
    // the rows of an expert are in the order of its slots
    predicate increasing{L}(int64_t *source, integer from, integer to) =
      \forall integer m, n; from <= m < n < to ==> source[m] < source[n];
    predicate rows_stable{L}(integer experts, int64_t *offsets, int64_t *source) =
      \forall integer e; 0 <= e < experts ==> increasing(source, offsets[e], offsets[e + 1]);

    predicate permutation{L}(int32_t *x, integer experts, integer slots, int64_t *offsets,
                             int64_t *source, int64_t *row) =
      offsets[0] == 0 && offsets[experts] <= slots &&
      expert_offsets(x, experts, slots, offsets) &&
      (\forall integer e; 0 <= e < experts ==>
         offsets[e + 1] - offsets[e] == routed(x, e, slots)) &&
      slot_rows(x, slots, offsets, row) &&
      (\forall integer i; 0 <= i < slots && 0 <= x[i] ==> 0 <= row[i] < offsets[experts]) &&
      row_sources(x, experts, slots, offsets, source, row) &&
      slots_kept(x, slots, source, row) && rows_stable(experts, offsets, source);
*/

/* What follows about counts, by induction on the slots. */
/*@ predicate counts_between{L}(int32_t *x, integer n) =
      \forall integer e; 0 <= routed(x, e, n) && 0 <= routed_before(x, e, n) <= n;
    predicate counts_add{L}(int32_t *x, integer n) =
      \forall integer e; 0 <= e ==>
        routed_before(x, e + 1, n) == routed_before(x, e, n) + routed(x, e, n);
    predicate counts_ordered{L}(int32_t *x, integer n) =
      \forall integer e, f; 0 <= e < f ==>
        routed_before(x, e, n) + routed(x, e, n) <= routed_before(x, f, n);
    predicate counts_grow{L}(int32_t *x, integer n) =
      \forall integer e, m; 0 <= m <= n ==> 0 <= routed(x, e, m) <= routed(x, e, n);
    // rows given out for the slots before m stay below those of the experts after
    predicate counts_apart{L}(int32_t *x, integer n) =
      \forall integer e, f, m; 0 <= e < f && 0 <= m <= n ==>
        routed_before(x, e, n) + routed(x, e, m) <= routed_before(x, f, n);
    // a slot of e counts for e
    predicate counts_strict{L}(int32_t *x, integer n) =
      \forall integer l, m; 0 <= l < m <= n ==>
        routed(x, x[l], l) < routed(x, x[l], m);
    predicate counts_start{L}(int32_t *x, integer n) = routed_before(x, 0, n) == 0;
*/
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures counts_between(x, n) && counts_add(x, n) && counts_ordered(x, n);
     ensures counts_grow(x, n) && counts_start(x, n);
     ensures counts_apart(x, n) && counts_strict(x, n); @/
  void routing_counts(const int32_t *x, int64_t n) {
    int64_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant counts_between(x, i);
       loop invariant counts_add(x, i);
       loop invariant counts_ordered(x, i);
       loop invariant counts_grow(x, i);
       loop invariant counts_strict(x, i);
       loop invariant counts_start(x, i);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/

/* What is left of a permutation follows from where rows and sources are. */
/*@ predicate counted_sources{L}(int32_t *x, integer experts, integer slots, int64_t *source,
                                 int64_t *row) =
      \forall integer e, n; 0 <= e < experts &&
        routed_before(x, e, slots) <= n < routed_before(x, e + 1, slots) ==>
        0 <= source[n] < slots && x[source[n]] == e && row[source[n]] == n;
    predicate counted_rows{L}(int32_t *x, integer slots, int64_t *row) =
      \forall integer i; 0 <= i < slots ==>
        row[i] == (x[i] < 0 ? -1 : routed_before(x, x[i], slots) + routed(x, x[i], i));
    predicate placed{L}(int32_t *x, integer experts, integer slots, int64_t *offsets,
                        int64_t *source, int64_t *row) =
      0 <= slots && 1 <= experts && routes(x, experts, slots) &&
      expert_offsets(x, experts, slots, offsets) && counted_rows(x, slots, row) &&
      counted_sources(x, experts, slots, source, row);
*/
/*@ ghost
  /@ requires placed(x, experts, slots, offsets, source, row);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures offsets[0] == 0 && offsets[experts] <= slots;
     ensures \forall integer e; 0 <= e < experts ==>
       offsets[e + 1] - offsets[e] == routed(x, e, slots);
     ensures \forall integer i; 0 <= i < slots && 0 <= x[i] ==>
       0 <= offsets[x[i]] <= row[i] < offsets[x[i] + 1] <= offsets[experts];
     ensures slot_rows(x, slots, offsets, row);
     ensures row_sources(x, experts, slots, offsets, source, row); @/
  void routing_rows(const int32_t *x, int32_t experts, int64_t slots, const int64_t *offsets,
                    const int64_t *source, const int64_t *row) {
    routing_counts(x, slots);
    /@ assert \forall integer e; 0 <= e < experts ==>
         offsets[e] == routed_before(x, e, slots) &&
         offsets[e + 1] == routed_before(x, e + 1, slots); @/
  }
*/
/*@ ghost
  /@ requires placed(x, experts, slots, offsets, source, row);
     requires \valid_read(x + (0 .. slots - 1)) && \valid_read(row + (0 .. slots - 1));
     requires \valid_read(source + (0 .. slots - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures slots_kept(x, slots, source, row); @/
  void routing_kept(const int32_t *x, int32_t experts, int64_t slots, const int64_t *offsets,
                    const int64_t *source, const int64_t *row) {
    routing_rows(x, experts, slots, offsets, source, row);
    routing_counts(x, slots);
    int64_t i = 0;
    /@ loop invariant 0 <= i <= slots && slots_kept(x, i, source, row);
       loop assigns i;
       loop variant slots - i; @/
    while (i < slots) {
      if (x[i] >= 0) {
        int64_t n = row[i];
        int64_t s = source[n];
        /@ assert 0 <= s < slots && x[s] == x[i] && row[s] == n; @/
        /@ assert routed(x, x[i], s) == routed(x, x[i], i); @/
        /@ assert s < i ==> routed(x, x[s], s) < routed(x, x[s], i); @/
        /@ assert i < s ==> routed(x, x[i], i) < routed(x, x[i], s); @/
        /@ assert s == i; @/
      }
      i++;
    }
  }
*/
/*@ ghost
  /@ requires placed(x, experts, slots, offsets, source, row);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures rows_stable(experts, offsets, source); @/
  void routing_stable(const int32_t *x, int32_t experts, int64_t slots, const int64_t *offsets,
                      const int64_t *source, const int64_t *row) {
    routing_counts(x, slots);
    /@ assert \forall integer e, n; 0 <= e < experts &&
         routed_before(x, e, slots) <= n < routed_before(x, e + 1, slots) ==>
         n == routed_before(x, e, slots) + routed(x, e, source[n]); @/
    /@ assert \forall integer e, m, n; 0 <= e < experts &&
         routed_before(x, e, slots) <= m < n < routed_before(x, e + 1, slots) ==>
         routed(x, e, source[m]) < routed(x, e, source[n]); @/
    /@ assert \forall integer e, m, n; 0 <= e < experts &&
         routed_before(x, e, slots) <= m < n < routed_before(x, e + 1, slots) ==>
         source[m] < source[n]; @/
  }
*/
/*@ ghost
  /@ requires placed(x, experts, slots, offsets, source, row);
     requires \valid_read(x + (0 .. slots - 1)) && \valid_read(row + (0 .. slots - 1));
     requires \valid_read(source + (0 .. slots - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures permutation(x, experts, slots, offsets, source, row); @/
  void routing_permutation(const int32_t *x, int32_t experts, int64_t slots,
                           const int64_t *offsets, const int64_t *source, const int64_t *row) {
    routing_rows(x, experts, slots, offsets, source, row);
    routing_kept(x, experts, slots, offsets, source, row);
    routing_stable(x, experts, slots, offsets, source, row);
  }
*/

#endif
