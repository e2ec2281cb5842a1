/* The k largest of E scores by the scores themselves (R2): for the rare token of which a key of
   select.h cannot hold all bits. */
#ifndef PHIBAL_CPU_SELECT_SCORES_H
#define PHIBAL_CPU_SELECT_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __FRAMAC__
#include <phibal/acsl/select_scores.h>
#endif

/* Is score i the higher? */
/*@ requires \valid_read(score + i) && \valid_read(score + j);
    requires \is_finite(score[i]) && \is_finite(score[j]);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> score[i] > score[j]; */
static inline bool select_above(const double *score, int32_t i, int32_t j) {
  return score[i] > score[j];
}

/* Puts expert e, which has the highest index, in its place among n chosen ones, which stand in
   order. */
/*@ requires 0 <= n <= e && \valid_read(score + (0 .. e)) && \valid(selected + (0 .. n));
    requires \separated(score + (0 .. e), selected + (0 .. n));
    requires scores_finite(score, e + 1) && chosen(score, e, n, selected);
    terminates \true;
    exits \false;
    assigns selected[0 .. n];
    ensures chosen(score, e + 1, n + 1, selected) && has(selected, n + 1, e);
    ensures kept: \forall integer f; has{Pre}(selected, n, f) ==> has(selected, n + 1, f);
    ensures only: \forall integer f; has(selected, n + 1, f) ==>
      f == e || has{Pre}(selected, n, f); */
static inline void select_insert(const double *score, int32_t e, int32_t n, int32_t *selected) {
  int32_t at = n;
  /*@ loop invariant index: 0 <= at <= n;
      loop invariant before: \forall integer t; 0 <= t < at ==>
        selected[t] == \at(selected[t], Pre);
      loop invariant behind: \forall integer t; at <= t < n ==>
        selected[t + 1] == \at(selected[t], Pre);
      loop invariant lower: \forall integer t; at <= t < n ==>
        score[e] > score[\at(selected[t], Pre)];
      loop assigns at, selected[0 .. n];
      loop variant at; */
  while (at > 0 && select_above(score, e, selected[at - 1])) {
    selected[at] = selected[at - 1];
    at--;
  }
  //@ ghost int32_t last = at > 0 ? selected[at - 1] : 0;
  //@ assert last: at > 0 ==> last == \at(selected[\at(at - 1, Here)], Pre) && 0 <= last < e;
  //@ assert least: at > 0 ==> score[e] <= score[last];
  /*@ assert order: \forall integer t; 0 <= t < at - 1 ==>
        precedes(score, \at(selected[t], Pre), last); */
  /*@ assert more: \forall integer t; 0 <= t < at ==>
        score[\at(selected[t], Pre)] >= score[last]; */
  /*@ assert enough: \forall integer t; 0 <= t < at ==>
        score[\at(selected[t], Pre)] >= score[e] && \at(selected[t], Pre) < e; */
  //@ assert old: \forall integer t; 0 <= t < at ==> precedes(score, \at(selected[t], Pre), e);
  selected[at] = e;
  /*@ assert before: \forall integer t; 0 <= t < at ==>
        selected[t] == \at(selected[t], Pre) && precedes(score, selected[t], e); */
  /*@ assert behind: \forall integer t; at < t <= n ==>
        selected[t] == \at(selected[t - 1], Pre) && precedes(score, e, selected[t]); */
  /*@ assert order_kept: \forall integer t, u; 0 <= t < u < n ==>
        precedes(score, \at(selected[t], Pre), \at(selected[u], Pre)); */
  //@ assert range: \forall integer t; 0 <= t < n + 1 ==> 0 <= selected[t] < e + 1;
  /*@ assert front: \forall integer t, u; 0 <= t < u < at ==>
        precedes(score, selected[t], selected[u]); */
  /*@ assert rear_old: \forall integer t, u; at < t < u <= n ==>
        selected[t] == \at(selected[t - 1], Pre) && selected[u] == \at(selected[u - 1], Pre) &&
        precedes(score, \at(selected[t - 1], Pre), \at(selected[u - 1], Pre)); */
  /*@ assert rear: \forall integer t, u; at < t < u <= n ==>
        precedes(score, selected[t], selected[u]); */
  /*@ assert across: \forall integer t, u; 0 <= t < at < u <= n ==>
        precedes(score, selected[t], selected[u]); */
  //@ assert new: selected[at] == e;
  /*@ assert around: \forall integer t;
        (0 <= t < at ==> precedes(score, selected[t], selected[at])) &&
        (at < t <= n ==> precedes(score, selected[at], selected[t])); */
  /*@ assert sorted: \forall integer t, u; 0 <= t < u < n + 1 ==>
        precedes(score, selected[t], selected[u]); */
  /*@ assert shifted: \forall integer t; at <= t < n ==>
        selected[t + 1] == \at(selected[t], Pre); */
}

/* Puts expert e among the first of those below it, if it belongs there; the last falls out. */
/*@ requires 1 <= active <= e && \valid_read(score + (0 .. e));
    requires \valid(selected + (0 .. active - 1));
    requires \separated(score + (0 .. e), selected + (0 .. active - 1));
    requires scores_finite(score, e + 1) && first(score, e, active, selected);
    terminates \true;
    exits \false;
    assigns selected[0 .. active - 1];
    ensures first(score, e + 1, active, selected); */
static inline void select_offer(const double *score, int32_t e, int32_t active, int32_t *selected) {
  int32_t last = selected[active - 1];
  if (!select_above(score, e, last)) return;
  select_insert(score, e, active - 1, selected);
  //@ assert above: \forall integer f; has(selected, active, f) ==> precedes(score, f, last);
  //@ assert first: \forall integer s; 0 <= s < active ==> precedes(score, selected[s], last);
  //@ assert finite: \forall integer s; 0 <= s < active ==> \is_finite(score[selected[s]]);
  /*@ assert behind: \forall integer f; 0 <= f < e + 1 &&
        (f == last || precedes(score, last, f)) ==> behind(score, active, selected, f); */
  /*@ assert others: \forall integer f; 0 <= f < e && behind{Pre}(score, active, selected, f) ==>
        precedes(score, last, f); */
  /*@ assert kept: \forall integer f; 0 <= f < e && has{Pre}(selected, active, f) ==>
        f == last || has{Pre}(selected, active - 1, f); */
  /*@ assert either: \forall integer f; 0 <= f < e + 1 ==>
        has(selected, active, f) || behind(score, active, selected, f); */
}

/* One token: score [E], finite, selected [k]. */
/*@ requires 1 <= active <= experts && \valid_read(score + (0 .. experts - 1));
    requires \valid(selected + (0 .. active - 1));
    requires \separated(score + (0 .. experts - 1), selected + (0 .. active - 1));
    requires scores_finite(score, experts);
    terminates \true;
    exits \false;
    assigns selected[0 .. active - 1];
    ensures selection(score, experts, active, selected); */
static inline void select_by_scores(int32_t experts, int32_t active, const double *score,
                                    int32_t *selected) {
  /*@ loop invariant index: 0 <= e <= active;
      loop invariant order: chosen(score, e, e, selected);
      loop invariant all: \forall integer f; 0 <= f < e ==> has(selected, e, f);
      loop assigns e, selected[0 .. active - 1];
      loop variant active - e; */
  for (int32_t e = 0; e < active; e++) select_insert(score, e, e, selected);
  //@ assert none_left: \forall integer f; 0 <= f < active ==> has(selected, active, f);
  /*@ loop invariant index: active <= e <= experts;
      loop invariant first: first(score, e, active, selected);
      loop assigns e, selected[0 .. active - 1];
      loop variant experts - e; */
  for (int32_t e = active; e < experts; e++) select_offer(score, e, active, selected);
  //@ ghost select_first(score, experts, active, selected);
}

#endif
