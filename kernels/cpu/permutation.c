/* The order of rows that the experts work on (E1).

   One thread sorts: a slot costs a few nanoseconds, the expert's FFN on its row a thousand times
   that. The offsets are the counters, so nothing is allocated. */
#include <phibal/expert.h>

/* offsets[e] = the slots of expert e, offsets[experts_count] = 0. Returns the first slot that is
   routed to no expert and is not padding, or `slots`. */
/*@ requires 0 <= slots <= ROUTING_MAX_SLOTS && 1 <= experts_count < INT32_MAX;
    requires \valid_read(experts + (0 .. slots - 1)) && \valid(offsets + (0 .. experts_count));
    terminates \true;
    exits \false;
    assigns offsets[0 .. experts_count];
    ensures 0 <= \result <= slots && routes(experts, experts_count, \result);
    ensures \result < slots ==> !(-1 <= experts[\result] < experts_count);
    ensures \result == slots ==>
      \forall integer e; 0 <= e < experts_count ==> offsets[e] == routed(experts, e, slots);
    ensures offsets[experts_count] == 0; */
static int64_t slots_count(int64_t slots, int32_t experts_count, const int32_t *experts,
                           int64_t *offsets) {
  /*@ loop invariant 0 <= e <= experts_count + 1;
      loop invariant \forall integer f; 0 <= f < e ==> offsets[f] == 0;
      loop assigns e, offsets[0 .. experts_count];
      loop variant experts_count + 1 - e; */
  for (int32_t e = 0; e <= experts_count; e++) offsets[e] = 0;
  /*@ loop invariant 0 <= i <= slots && routes(experts, experts_count, i);
      loop invariant \forall integer e; 0 <= e < experts_count ==>
        offsets[e] == routed(experts, e, i) <= i;
      loop invariant offsets[experts_count] == 0;
      loop assigns i, offsets[0 .. experts_count];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++) {
    int32_t e = experts[i];
    if (e < -1 || e >= experts_count) return i;
    if (e >= 0) offsets[e]++;
  }
  return slots;
}

/* From counts to the first row of each expert. */
/*@ requires 0 <= slots <= ROUTING_MAX_SLOTS && 1 <= experts_count < INT32_MAX;
    requires \valid(offsets + (0 .. experts_count));
    requires \forall integer e; 0 <= e < experts_count ==> offsets[e] == routed(experts, e, slots);
    requires offsets[experts_count] == 0;
    terminates \true;
    exits \false;
    assigns offsets[0 .. experts_count];
    ensures expert_offsets(experts, experts_count, slots, offsets); */
static void offsets_begin(int32_t experts_count, int64_t *offsets)
/*@ ghost (int64_t slots, const int32_t *experts) */ {
  int64_t rows = 0;
  //@ ghost routing_counts(experts, slots);
  /*@ loop invariant 0 <= e <= experts_count + 1;
      loop invariant e <= experts_count ==> rows == routed_before(experts, e, slots);
      loop invariant \forall integer f; 0 <= f < e ==>
        offsets[f] == routed_before(experts, f, slots);
      loop invariant \forall integer f; e <= f <= experts_count ==>
        offsets[f] == \at(offsets[f], Pre);
      loop assigns e, rows, offsets[0 .. experts_count];
      loop variant experts_count + 1 - e; */
  for (int32_t e = 0; e <= experts_count; e++) {
    int64_t count = offsets[e];
    offsets[e] = rows;
    rows += count;
  }
}

/* Gives slot i the next row of its expert e. */
/*@ requires 0 <= i < slots && 0 <= e < experts_count && 0 <= offsets[e] < slots;
    requires slots <= ROUTING_MAX_SLOTS && \valid(offsets + (0 .. experts_count));
    requires \valid(source + (0 .. slots - 1)) && \valid(row + (0 .. slots - 1));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. slots - 1),
                        row + (0 .. slots - 1));
    terminates \true;
    exits \false;
    assigns offsets[e], source[offsets[e]], row[i];
    ensures offsets[e] == \old(offsets[e]) + 1;
    ensures row[i] == \old(offsets[e]) && source[\old(offsets[e])] == i;
    ensures \forall integer f; 0 <= f < experts_count && f != e ==> offsets[f] == \old(offsets[f]);
    ensures \forall integer j; 0 <= j < slots && j != i ==> row[j] == \old(row[j]);
    ensures \forall integer n; 0 <= n < slots && n != \old(offsets[e]) ==>
      source[n] == \old(source[n]); */
static void slot_place(int64_t i, int32_t e, int64_t *offsets, int64_t *source, int64_t *row)
/*@ ghost (int64_t slots, int32_t experts_count) */ {
  int64_t n = offsets[e]++;
  source[n] = i;
  row[i] = n;
}

/* Slot i is padding: it gets no row. */
/*@ requires 0 <= i < slots && \valid(row + (0 .. slots - 1));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. slots - 1),
                        row + (0 .. slots - 1));
    terminates \true;
    exits \false;
    assigns row[i];
    ensures row[i] == -1;
    ensures \forall integer f; 0 <= f < experts_count ==> offsets[f] == \old(offsets[f]);
    ensures \forall integer j; 0 <= j < slots && j != i ==> row[j] == \old(row[j]);
    ensures \forall integer n; 0 <= n < slots ==> source[n] == \old(source[n]); */
static void slot_pad(int64_t i, int64_t *row)
/*@ ghost (int64_t slots, int32_t experts_count, const int64_t *offsets, const int64_t *source) */ {
  row[i] = -1;
}

/* Gives each slot the next row of its expert; offsets[e] moves to where expert e + 1 began. */
/*@ requires 0 <= slots <= ROUTING_MAX_SLOTS && 1 <= experts_count < INT32_MAX;
    requires \valid_read(experts + (0 .. slots - 1)) && \valid(offsets + (0 .. experts_count));
    requires \valid(source + (0 .. slots - 1)) && \valid(row + (0 .. slots - 1));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. slots - 1),
                        row + (0 .. slots - 1));
    requires routes(experts, experts_count, slots);
    requires expert_offsets(experts, experts_count, slots, offsets);
    terminates \true;
    exits \false;
    assigns offsets[0 .. experts_count - 1], source[0 .. slots - 1], row[0 .. slots - 1];
    ensures \forall integer e; 0 <= e < experts_count ==>
      offsets[e] == routed_before(experts, e + 1, slots);
    ensures \forall integer i; 0 <= i < slots ==> row[i] ==
      (experts[i] < 0 ? -1
                      : routed_before(experts, experts[i], slots) + routed(experts, experts[i], i));
    ensures counted_sources(experts, experts_count, slots, source, row); */
static void slots_place(int64_t slots, const int32_t *experts, int64_t *offsets, int64_t *source,
                        int64_t *row)
/*@ ghost (int32_t experts_count) */ {
  //@ ghost routing_counts(experts, slots);
  /*@ loop invariant 0 <= i <= slots;
      loop invariant \forall integer e; 0 <= e < experts_count ==>
        offsets[e] == routed_before(experts, e, slots) + routed(experts, e, i);
      loop invariant \forall integer j; 0 <= j < i ==> row[j] ==
        (experts[j] < 0 ? -1 : routed_before(experts, experts[j], slots) +
                               routed(experts, experts[j], j));
      loop invariant \forall integer e, n; 0 <= e < experts_count &&
        routed_before(experts, e, slots) <= n <
          routed_before(experts, e, slots) + routed(experts, e, i) ==>
        0 <= source[n] < i && experts[source[n]] == e && row[source[n]] == n;
      loop assigns i, offsets[0 .. experts_count - 1], source[0 .. slots - 1],
        row[0 .. slots - 1];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++) {
    int32_t e = experts[i];
    //@ assert routed(experts, e, i + 1) == routed(experts, e, i) + 1;
    //@ assert \forall integer f; f != e ==> routed(experts, f, i + 1) == routed(experts, f, i);
    if (e < 0) {
      slot_pad(i, row) /*@ ghost (slots, experts_count, offsets, source) */;
    } else {
      /*@ assert routed_before(experts, e, slots) <= offsets[e] <
                   routed_before(experts, e + 1, slots) <= slots; */
      slot_place(i, e, offsets, source, row) /*@ ghost (slots, experts_count) */;
    }
  }
}

/* Back to where each expert begins, from where each ends. */
/*@ requires 1 <= experts_count < INT32_MAX && \valid(offsets + (0 .. experts_count));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. slots - 1),
                        row + (0 .. slots - 1));
    requires 0 <= slots && routes(experts, experts_count, slots);
    requires \forall integer e; 0 <= e < experts_count ==>
      offsets[e] == routed_before(experts, e + 1, slots);
    requires counted_rows(experts, slots, row);
    requires counted_sources(experts, experts_count, slots, source, row);
    terminates \true;
    exits \false;
    assigns offsets[0 .. experts_count];
    ensures placed(experts, experts_count, slots, offsets, source, row); */
static void offsets_shift(int32_t experts_count, int64_t *offsets)
/*@ ghost (int64_t slots, const int32_t *experts, const int64_t *source, const int64_t *row) */ {
  //@ ghost routing_counts(experts, slots);
  /*@ loop invariant 0 <= e <= experts_count;
      loop invariant \forall integer f; 0 <= f < e ==>
        offsets[f] == routed_before(experts, f + 1, slots);
      loop invariant \forall integer f; e < f <= experts_count ==>
        offsets[f] == routed_before(experts, f, slots);
      loop invariant \forall integer i; 0 <= i < slots ==> row[i] == \at(row[i], Pre);
      loop invariant \forall integer i; 0 <= i < slots ==> source[i] == \at(source[i], Pre);
      loop assigns e, offsets[1 .. experts_count];
      loop variant e; */
  for (int32_t e = experts_count; e > 0; e--) offsets[e] = offsets[e - 1];
  offsets[0] = 0;
  //@ assert \forall integer i; 0 <= i < slots ==> row[i] == \at(row[i], Pre);
  //@ assert \forall integer i; 0 <= i < slots ==> source[i] == \at(source[i], Pre);
  //@ assert expert_offsets(experts, experts_count, slots, offsets);
  //@ assert counted_rows(experts, slots, row);
  /*@ assert \forall integer e, n; 0 <= e < experts_count &&
        routed_before(experts, e, slots) <= n < routed_before(experts, e + 1, slots) ==>
        0 <= n < slots; */
  //@ assert counted_sources(experts, experts_count, slots, source, row);
}

phibal_status phibal_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                 const int32_t *experts, int64_t *offsets, int64_t *source,
                                 int64_t *row) {
  if (tokens < 0 || active < 1 || experts_count < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "permutation: %lld tokens, %d active of %d experts", (long long)tokens,
                             active, experts_count);
  if (!offsets || (tokens > 0 && (!experts || !source || !row)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "permutation: an array is null");
  int64_t slots = tokens * active;
  int64_t bad = slots_count(slots, experts_count, experts, offsets);
  if (bad < slots)
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "permutation: slot %lld of token %lld is routed to expert %d, there are 0 to %d "
        "(and -1 for padding)",
        (long long)(bad % active), (long long)(bad / active), experts[bad], experts_count - 1);
  //@ ghost routing_counts(experts, slots);
  offsets_begin(experts_count, offsets) /*@ ghost (slots, experts) */;
  slots_place(slots, experts, offsets, source, row) /*@ ghost (experts_count) */;
  offsets_shift(experts_count, offsets) /*@ ghost (slots, experts, source, row) */;
  //@ ghost routing_permutation(experts, experts_count, slots, offsets, source, row);
  return PHIBAL_OK;
}
