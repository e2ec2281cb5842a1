/* The k largest of E scores, largest first, ties to the lower index (R2).

   A finite score becomes an integer key: its bits in an order-preserving form, with the ten lowest
   replaced by 1023 - index. Keys are unique, larger is better, ties are settled, and the next
   choice after a key is the largest key below it: nothing is ever marked as taken. This is exact
   whenever the ten bits were 0: always for scores that are binary32 numbers, and for sums of two
   unless their exponents are 20 or more apart. The other tokens, found out by the bits or-ed
   together, are selected by the scores themselves (select_scores.h). */
#ifndef PHIBAL_CPU_SELECT_H
#define PHIBAL_CPU_SELECT_H

#include "../core/core.h"
#include <phibal/router.h>

#ifdef __FRAMAC__
#include <phibal/acsl/select_key.h>
#include <phibal/acsl/select_lanes.h>
#endif

/* Vectors for the loop that follows; Frama-C does not read the pragma. */
#ifdef __FRAMAC__
#define SELECT_SIMD(clause)
#else
#define SELECT_PRAGMA(text) _Pragma(#text)
#define SELECT_SIMD(clause) SELECT_PRAGMA(omp simd clause)
#endif

#define SELECT_INDEX 1023 /* the bits of a key that hold the index */
#define SELECT_NONE INT64_MIN
#define SELECT_BLOCK 16
#define SELECT_LANES 16

_Static_assert(SELECT_INDEX == PHIBAL_MAX_EXPERTS - 1, "a key has room for every index");

/* The key of a score; *lost collects the bits that gave way to the index. -0 counts as +0. */
/*@ requires \is_finite(score) && 0 <= index <= SELECT_INDEX && \valid(lost);
    terminates \true;
    exits \false;
    assigns *lost;
    ensures \result == key_of(score, index);
    ensures *lost == 0 ==> \old(*lost) == 0 && key_holds(score); */
static inline int64_t select_key(double score, int32_t index, int64_t *lost);

#ifndef __FRAMAC__ /* which does not read bits: proofs/frama-c/select_key.smt2 is about them */
static inline int64_t select_key(double score, int32_t index, int64_t *lost) {
  int64_t bits = (int64_t)core_bits64(score + 0.0);
  *lost |= bits & SELECT_INDEX;
  int64_t ordered = bits ^ ((bits >> 63) & INT64_MAX);
  return (ordered & ~(int64_t)SELECT_INDEX) | (SELECT_INDEX - index);
}
#endif

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result <= SELECT_INDEX && \result == key_expert(key); */
static inline int32_t select_index(int64_t key) {
  return SELECT_INDEX - (int32_t)((uint64_t)key % (SELECT_INDEX + 1));
}

/* The largest key of a block that is below `bound`; SELECT_NONE when there is none. */
/*@ requires \valid_read(key + (0 .. SELECT_BLOCK - 1)) && key == all + 16 * (leaf - leaves);
    requires keys_placed(all, 16 * (leaf - leaves), 16 * (leaf - leaves) + 16);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures block_best(all, leaves, leaf, bound, \result); */
static inline int64_t select_block_largest(const int64_t *key, int64_t bound)
/*@ ghost (const int64_t *all, int32_t leaves, int32_t leaf) */ {
  int64_t most = SELECT_NONE;
  //@ ghost int64_t first = 16 * ((int64_t)leaf - leaves);
  SELECT_SIMD(reduction(max : most))
  /*@ loop invariant 0 <= i <= SELECT_BLOCK;
      loop invariant found: most == SELECT_NONE ||
        (most < bound && first <= key_expert(most) < first + i && all[key_expert(most)] == most);
      loop invariant largest: \forall integer e; first <= e < first + i && all[e] < bound ==>
        all[e] <= most;
      loop assigns i, most;
      loop variant SELECT_BLOCK - i; */
  for (int i = 0; i < SELECT_BLOCK; i++) {
    int64_t below = key[i] < bound ? key[i] : SELECT_NONE;
    most = below > most ? below : most;
  }
  return most;
}

/* Puts `most` into leaf i of a tournament and replays its games. */
/*@ requires 1 <= leaves <= 64 && leaves <= i < 2 * leaves;
    requires \valid(tree + (0 .. 2 * leaves - 1)) && tournament(tree, leaves, 0);
    terminates \true;
    exits \false;
    assigns tree[1 .. 2 * leaves - 1];
    ensures tournament(tree, leaves, 0) && tree[i] == most;
    ensures \forall integer l; leaves <= l < 2 * leaves && l != i ==> tree[l] == \old(tree[l]); */
static inline void select_replay(int64_t *tree, int i, int64_t most)
/*@ ghost (int leaves) */ {
  //@ ghost int leaf = i;
  //@ ghost int64_t put = most;
  tree[i] = most;
  /*@ loop invariant 1 <= i < 2 * leaves && most == tree[i];
      loop invariant tournament(tree, leaves, i / 2);
      loop invariant tree[leaf] == put && \forall integer l; leaves <= l < 2 * leaves &&
        l != leaf ==> tree[l] == \at(tree[l], Pre);
      loop assigns i, most, tree[1 .. leaves - 1];
      loop variant i; */
  while (i > 1) {
    int parent = i / 2;
    int sibling = 4 * parent + 1 - i; /* the parent's other child */
    /*@ assert (i == 2 * parent && sibling == 2 * parent + 1) ||
               (i == 2 * parent + 1 && sibling == 2 * parent); */
    most = tree[sibling] > most ? tree[sibling] : most;
    tree[parent] = most;
    /*@ assert \forall integer l; 1 <= l < 2 * leaves && l != parent ==>
          tree[l] == \at(tree[l], LoopCurrent); */
    /*@ assert tree[i] <= tree[parent] && tree[sibling] <= tree[parent] &&
               (tree[parent] == tree[i] || tree[parent] == tree[sibling]); */
    //@ assert i == 2 * parent ==> node(tree, parent);
    //@ assert i == 2 * parent + 1 ==> node(tree, parent);
    /*@ assert \forall integer p; 1 <= p < leaves && p != parent && p != parent / 2 ==>
          2 * p != parent && 2 * p + 1 != parent && node{LoopCurrent}(tree, p); */
    /*@ assert \forall integer p; 1 <= p < leaves && p != parent && p != parent / 2 ==>
          node(tree, p); */
    i = parent;
  }
}

#define SELECT_LEAVES (PHIBAL_MAX_EXPERTS / SELECT_BLOCK)

/* The leaves of a tournament: the largest key of each block, and nothing for the rest. */
/*@ requires 1 <= blocks <= leaves <= SELECT_LEAVES;
    requires \valid_read(key + (0 .. 16 * blocks - 1)) && \valid(tree + (0 .. 2 * leaves - 1));
    requires \separated(key + (0 .. 16 * blocks - 1), tree + (0 .. 2 * leaves - 1));
    requires keys_placed(key, 0, 16 * blocks);
    terminates \true;
    exits \false;
    assigns tree[leaves .. 2 * leaves - 1];
    ensures leaves_best(key, blocks, tree, leaves, INT64_MAX); */
static inline void select_enter(int blocks, int leaves, const int64_t *key, int64_t *tree) {
  /*@ loop invariant blocks <= b <= leaves;
      loop invariant none: \forall integer l; leaves + blocks <= l < leaves + b ==>
        tree[l] == SELECT_NONE;
      loop assigns b, tree[leaves .. 2 * leaves - 1];
      loop variant leaves - b; */
  for (int b = blocks; b < leaves; b++) tree[leaves + b] = SELECT_NONE;
  /*@ loop invariant 0 <= b <= blocks;
      loop invariant none: \forall integer l; leaves + blocks <= l < 2 * leaves ==>
        tree[l] == SELECT_NONE;
      loop invariant same: \forall integer e; 0 <= e < 16 * blocks ==> key[e] == \at(key[e], Pre);
      loop invariant best: \forall integer l; leaves <= l < leaves + b ==>
        block_best(key, leaves, l, INT64_MAX, tree[l]);
      loop assigns b, tree[leaves .. 2 * leaves - 1];
      loop variant blocks - b; */
  for (int b = 0; b < blocks; b++) {
    int64_t most = select_block_largest(key + b * SELECT_BLOCK, INT64_MAX)
        /*@ ghost (key, leaves, leaves + b) */;
    tree[leaves + b] = most;
    //@ assert new: block_best(key, leaves, leaves + b, INT64_MAX, most);
    /*@ assert old: \forall integer l; leaves <= l < leaves + b ==>
          tree[l] == \at(tree[l], LoopCurrent) &&
          block_best(key, leaves, l, INT64_MAX, tree[l]); */
  }
}

/* The power of two that is at least `blocks`. */
/*@ requires 1 <= blocks <= SELECT_LEAVES;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures blocks <= \result <= SELECT_LEAVES; */
static inline int select_leaves(int blocks) {
  int leaves = 1;
  /*@ loop invariant leaves == 1 || leaves == 2 || leaves == 4 || leaves == 8 || leaves == 16 ||
                     leaves == 32 || leaves == 64;
      loop assigns leaves;
      loop variant 64 - leaves; */
  while (leaves < blocks) leaves *= 2;
  return leaves;
}

/* Fills the last block up. */
/*@ requires 0 <= experts <= room <= PHIBAL_MAX_EXPERTS && \valid(key + (0 .. room - 1));
    terminates \true;
    exits \false;
    assigns key[experts .. room - 1];
    ensures \forall integer e; experts <= e < room ==> key[e] == SELECT_NONE; */
static inline void select_pad(int32_t experts, int32_t room, int64_t *key) {
  /*@ loop invariant experts <= e <= room;
      loop invariant \forall integer f; experts <= f < e ==> key[f] == SELECT_NONE;
      loop assigns e, key[experts .. room - 1];
      loop variant room - e; */
  for (int32_t e = experts; e < room; e++) key[e] = SELECT_NONE;
}

/* Node i's game. */
/*@ requires 1 <= i < SELECT_LEAVES && \valid(tree + i) && \valid_read(tree + (2 * i .. 2 * i + 1));
    terminates \true;
    exits \false;
    assigns tree[i];
    ensures node(tree, i); */
static inline void select_game(int64_t *tree, int i) {
  tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

/* A tournament among blocks of keys: node i has children 2 i and 2 i + 1. */
/*@ requires 1 <= blocks <= leaves <= SELECT_LEAVES;
    requires \valid_read(key + (0 .. 16 * blocks - 1)) && \valid(tree + (0 .. 2 * leaves - 1));
    requires \separated(key + (0 .. 16 * blocks - 1), tree + (0 .. 2 * leaves - 1));
    requires keys_placed(key, 0, 16 * blocks);
    terminates \true;
    exits \false;
    assigns tree[1 .. 2 * leaves - 1];
    ensures tournament(tree, leaves, 0) && leaves_best(key, blocks, tree, leaves, INT64_MAX); */
static inline void select_plant(int blocks, int leaves, const int64_t *key, int64_t *tree) {
  select_enter(blocks, leaves, key, tree);
  /*@ loop invariant index: 0 <= i < leaves;
      loop invariant games: \forall integer j; i < j < leaves ==> node(tree, j);
      loop invariant kept: leaves_best(key, blocks, tree, leaves, INT64_MAX);
      loop assigns i, tree[1 .. leaves - 1];
      loop variant i; */
  for (int i = leaves - 1; i >= 1; i--) {
    select_game(tree, i);
    /*@ assert same: \forall integer e; 0 <= e < 16 * blocks ==>
          key[e] == \at(key[e], LoopCurrent); */
    /*@ assert others: \forall integer l; 1 <= l < 2 * leaves && l != i ==>
          tree[l] == \at(tree[l], LoopCurrent); */
    /*@ assert kept: \forall integer l, most; leaves <= l < leaves + blocks &&
          block_best{LoopCurrent}(key, leaves, l, INT64_MAX, most) ==>
          block_best(key, leaves, l, INT64_MAX, most); */
    /*@ assert before: \forall integer l; leaves <= l < leaves + blocks ==>
          block_best{LoopCurrent}(key, leaves, l, INT64_MAX, tree[l]); */
    //@ assert game: node(tree, i);
    //@ assert old: \forall integer j; i < j < leaves ==> node{LoopCurrent}(tree, j);
    //@ assert games: \forall integer j; i < j < leaves ==> node(tree, j);
  }
}

/* The next choice: the winner of the tournament, which is replayed for the winner's block. */
/*@ requires 1 <= experts <= 16 * blocks && 1 <= blocks <= leaves <= SELECT_LEAVES;
    requires \valid_read(key + (0 .. 16 * blocks - 1)) && \valid(tree + (0 .. 2 * leaves - 1));
    requires \separated(key + (0 .. 16 * blocks - 1), tree + (0 .. 2 * leaves - 1));
    requires keys_name(key, experts) && keys_padded(key, experts, blocks);
    requires tournament(tree, leaves, 0) && leaves_best(key, blocks, tree, leaves, bound);
    requires 0 <= left < experts && key[left] < bound;
    terminates \true;
    exits \false;
    assigns tree[1 .. 2 * leaves - 1];
    ensures 0 <= \result < experts && key[\result] < bound;
    ensures \forall integer e; 0 <= e < experts && key[e] < bound ==> key[e] <= key[\result];
    ensures tournament(tree, leaves, 0) && leaves_best(key, blocks, tree, leaves, key[\result]);
    ensures keys_from(key, key[\result], experts) == keys_from{Pre}(key, bound, experts) + 1; */
static inline int32_t select_next(const int64_t *key, int leaves, int64_t *tree)
/*@ ghost (int32_t experts, int blocks, int64_t bound, int32_t left) */ {
  int64_t winner = tree[1];
  //@ ghost int leaf = select_root(tree, leaves);
  //@ ghost int home = leaves + left / 16;
  //@ assert home: 16 * (home - leaves) <= left < 16 * (home - leaves) + 16;
  //@ assert home_leaf: leaves <= home < leaves + blocks;
  //@ assert home_best: block_best(key, leaves, home, bound, tree[home]);
  //@ assert some: INT64_MIN < key[left] <= tree[home] <= winner;
  //@ assert within: leaf < leaves + blocks;
  //@ assert best: block_best(key, leaves, leaf, bound, winner);
  int32_t next = select_index(winner);
  //@ assert place: 16 * (leaf - leaves) <= next < 16 * (leaf - leaves) + 16;
  //@ assert named: key[next] == winner < bound && next < experts;
  int b = next / SELECT_BLOCK;
  //@ assert block: b == leaf - leaves;
  //@ assert placed: keys_placed(key, 0, 16 * blocks);
  int64_t most =
      select_block_largest(key + b * SELECT_BLOCK, winner) /*@ ghost (key, leaves, leaves + b) */;
  /*@ assert lower: \forall integer l; leaves <= l < leaves + blocks && l != leaf ==>
        tree[l] <= winner && tree[l] != winner; */
  /*@ assert others: \forall integer l; leaves <= l < leaves + blocks && l != leaf ==>
        block_best(key, leaves, l, winner, tree[l]); */
  /*@ assert largest: \forall integer l, e; leaves <= l < leaves + blocks &&
        16 * (l - leaves) <= e < 16 * (l - leaves) + 16 && key[e] < bound ==>
        key[e] <= tree[l] <= winner; */
  /*@ assert all: \forall integer e; 0 <= e < experts && key[e] < bound ==>
        \let l = leaves + e / 16; leaves <= l < leaves + blocks &&
        16 * (l - leaves) <= e < 16 * (l - leaves) + 16 && tree[l] <= winner; */
  /*@ assert somewhere: \forall integer e; 0 <= e < experts && key[e] < bound ==>
        \exists integer l; leaves <= l < leaves + blocks &&
        16 * (l - leaves) <= e < 16 * (l - leaves) + 16 && tree[l] <= winner; */
  //@ assert greatest: \forall integer e; 0 <= e < experts && key[e] < bound ==> key[e] <= winner;
  select_replay(tree, leaves + b, most) /*@ ghost (leaves) */;
  //@ assert same: \forall integer e; 0 <= e < 16 * blocks ==> key[e] == \at(key[e], Pre);
  /*@ assert kept: \forall integer l, best; leaves <= l < leaves + blocks &&
        block_best{Pre}(key, leaves, l, winner, best) ==>
        block_best(key, leaves, l, winner, best); */
  /*@ assert still: \forall integer l; leaves <= l < leaves + blocks && l != leaf ==>
        block_best(key, leaves, l, winner, tree[l]); */
  //@ assert own: tree[leaf] == most && block_best(key, leaves, leaf, winner, most);
  /*@ assert none: \forall integer l; leaves + blocks <= l < 2 * leaves ==>
        tree[l] == SELECT_NONE; */
  //@ assert updated: leaves_best(key, blocks, tree, leaves, winner);
  //@ ghost int32_t i = 0;
  /*@ ghost
    /@ loop invariant 0 <= i <= experts;
       loop invariant keys_from(key, bound, i) == keys_from{Pre}(key, bound, i);
       loop assigns i;
       loop variant experts - i; @/
    while (i < experts) i++; */
  //@ ghost keys_next(key, bound, winner, experts);
  return next;
}

/* One token: the largest keys one after another. key has room for E rounded up to SELECT_BLOCK. */
/*@ requires 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid(key + (0 .. padded(experts) - 1)) && keys_name(key, experts);
    requires \valid(selected + (0 .. active - 1));
    requires \separated(key + (0 .. padded(experts) - 1), selected + (0 .. active - 1));
    terminates \true;
    exits \false;
    assigns key[experts .. padded(experts) - 1], selected[0 .. active - 1];
    ensures key_selection(key, experts, active, selected); */
static inline void select_row(int32_t experts, int32_t active, int64_t *key, int32_t *selected) {
  int64_t tree[2 * SELECT_LEAVES];
  int blocks = (experts + SELECT_BLOCK - 1) / SELECT_BLOCK;
  //@ assert blocks: 1 <= blocks <= 64 && experts <= 16 * blocks && 16 * blocks == padded(experts);
  int leaves = select_leaves(blocks);
  select_pad(experts, blocks * SELECT_BLOCK, key);
  //@ assert padded: keys_name(key, experts) && keys_padded(key, experts, blocks);
  select_plant(blocks, leaves, key, tree);
  //@ ghost int64_t last = INT64_MAX;
  //@ ghost keys_none(key, experts);
  /*@ loop invariant index: 0 <= s <= active;
      loop invariant keys: keys_name(key, experts) && keys_padded(key, experts, blocks);
      loop invariant count: keys_from(key, last, experts) == s;
      loop invariant games: tournament(&tree[0], leaves, 0);
      loop invariant leaves: leaves_best(key, blocks, &tree[0], leaves, last);
      loop invariant range: \forall integer t; 0 <= t < s ==>
        0 <= selected[t] < experts && last <= key[selected[t]];
      loop invariant falling: \forall integer t, u; 0 <= t < u < s ==>
        key[selected[t]] > key[selected[u]];
      loop invariant rest: \forall integer e; 0 <= e < experts ==>
        (\exists integer t; 0 <= t < s && selected[t] == e) || key[e] < last;
      loop assigns s, last, tree[1 .. 2 * leaves - 1], selected[0 .. active - 1];
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    //@ ghost int left = keys_left(key, last, experts);
    int32_t next = select_next(key, leaves, tree) /*@ ghost (experts, blocks, last, left) */;
    /*@ assert same: \forall integer e; 0 <= e < experts ==>
          key[e] == \at(key[e], LoopCurrent); */
    //@ assert lower: \forall integer t; 0 <= t < s ==> key[next] < last <= key[selected[t]];
    //@ assert only: \forall integer e; 0 <= e < experts && key[e] == key[next] ==> e == next;
    /*@ assert left_over: \forall integer e; 0 <= e < experts && key[e] < last ==>
          e == next || key[e] < key[next]; */
    selected[s] = next;
    //@ ghost last = key[next];
    /*@ assert before: \forall integer t; 0 <= t < s ==>
          selected[t] == \at(selected[t], LoopCurrent); */
    /*@ assert chosen: \forall integer e; 0 <= e < experts &&
          (\exists integer t; 0 <= t < s && \at(selected[t], LoopCurrent) == e) ==>
          (\exists integer t; 0 <= t < s + 1 && selected[t] == e); */
    //@ assert new: \exists integer t; 0 <= t < s + 1 && selected[t] == next;
  }
  /*@ assert others: \forall integer e, t; 0 <= e < experts && key[e] < last && 0 <= t < active ==>
        key[e] < key[selected[t]]; */
  /*@ assert either: \forall integer e; 0 <= e < experts ==>
        (\exists integer t; 0 <= t < active && selected[t] == e) ||
        (\forall integer t; 0 <= t < active ==> key[e] < key[selected[t]]); */
}

/* The largest key of a token so far, when the next is `here`. */
/*@ requires 0 <= e < experts && lane_names(lane, experts) && here == lane_key(lane, e);
    requires lane_best(lane, e, bound, most);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures lane_best(lane, e + 1, bound, \result); */
static inline int64_t select_better(int64_t here, int64_t bound, int64_t most)
/*@ ghost (const int64_t *lane, int32_t experts, int32_t e) */ {
  int64_t below = here < bound ? here : SELECT_NONE;
  //@ assert named: INT64_MIN < here < INT64_MAX && key_expert(here) == e;
  //@ ghost int64_t better = below > most ? below : most;
  /*@ assert placed: better == INT64_MIN || (better < bound && 0 <= key_expert(better) < e + 1 &&
        lane_key(lane, key_expert(better)) == better); */
  /*@ assert before: \forall integer f; 0 <= f < e && lane_key(lane, f) < bound ==>
        lane_key(lane, f) <= most <= better; */
  //@ assert last: lane_key(lane, e) < bound ==> lane_key(lane, e) <= better;
  /*@ assert largest: \forall integer f; 0 <= f < e + 1 && lane_key(lane, f) < bound ==>
        lane_key(lane, f) <= better; */
  return below > most ? below : most;
}

/* most[l] = the largest key of token l below bound[l]; SELECT_NONE when there is none. */
/*@ requires 0 <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid_read(key + (0 .. 16 * experts - 1)) && \valid_read(bound + (0 .. 15));
    requires \valid(most + (0 .. 15));
    requires \separated(key + (0 .. 16 * experts - 1), most + (0 .. 15));
    requires \separated(bound + (0 .. 15), most + (0 .. 15));
    requires \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
    terminates \true;
    exits \false;
    assigns most[0 .. 15];
    ensures \forall integer l; 0 <= l < 16 ==> lane_best(key + l, experts, bound[l], most[l]); */
static inline void select_lanes_largest(int32_t experts, const int64_t *key, const int64_t *bound,
                                        int64_t *most) {
  /*@ loop invariant 0 <= l <= 16 && \forall integer k; 0 <= k < l ==> most[k] == INT64_MIN;
      loop assigns l, most[0 .. 15];
      loop variant 16 - l; */
  for (int l = 0; l < SELECT_LANES; l++) most[l] = SELECT_NONE;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant names: \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
      loop invariant best: \forall integer l; 0 <= l < 16 ==>
        lane_best(key + l, e, bound[l], most[l]);
      loop assigns e, most[0 .. 15];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    SELECT_SIMD()
    /*@ loop invariant index: 0 <= l <= 16;
        loop invariant names: \forall integer k; 0 <= k < 16 ==> lane_names(key + k, experts);
        loop invariant done: \forall integer k; 0 <= k < l ==>
          lane_best(key + k, e + 1, bound[k], most[k]);
        loop invariant left: \forall integer k; l <= k < 16 ==>
          lane_best(key + k, e, bound[k], most[k]);
        loop assigns l, most[0 .. 15];
        loop variant 16 - l; */
    for (int l = 0; l < SELECT_LANES; l++) {
      //@ assert names_here: lane_names(key + l, experts);
      most[l] = select_better(key[e * SELECT_LANES + l], bound[l], most[l])
          /*@ ghost (key + l, experts, e) */;
      /*@ assert same: \forall integer i; 0 <= i < 16 * experts ==>
            key[i] == \at(key[i], LoopCurrent); */
      /*@ assert lanes: \forall integer k; 0 <= k < 16 ==>
            lane_same{LoopCurrent, Here}(key + k, experts); */
      /*@ assert others: \forall integer k; 0 <= k < 16 ==>
            bound[k] == \at(bound[k], LoopCurrent) &&
            (k != l ==> most[k] == \at(most[k], LoopCurrent)); */
      /*@ assert kept: \forall integer k, n; 0 <= k < 16 && k != l && n <= experts &&
            lane_best{LoopCurrent}(key + k, n, bound[k], most[k]) ==>
            lane_best(key + k, n, bound[k], most[k]); */
      //@ assert own: lane_best(key + l, e + 1, bound[l], most[l]);
    }
  }
}

/* bound[l] = the largest key of token l below bound[l]. */
/*@ requires 0 <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid_read(key + (0 .. 16 * experts - 1)) && \valid(bound + (0 .. 15));
    requires \separated(key + (0 .. 16 * experts - 1), bound + (0 .. 15));
    requires \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts) &&
      lane_from(key + l, bound[l], experts) < experts;
    terminates \true;
    exits \false;
    assigns bound[0 .. 15];
    ensures names: \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
    ensures best: \forall integer l; 0 <= l < 16 ==> INT64_MIN < bound[l] &&
      lane_best(key + l, experts, \old(bound[l]), bound[l]);
    ensures count: \forall integer l; 0 <= l < 16 ==>
      lane_from(key + l, bound[l], experts) ==
        lane_from{Pre}(key + l, \old(bound[l]), experts) + 1; */
static inline void select_lanes_next(int32_t experts, const int64_t *key, int64_t *bound) {
  int64_t most[SELECT_LANES];
  //@ ghost int32_t k = 0;
  /*@ ghost
    /@ loop invariant 0 <= k <= 16;
       loop invariant \forall integer l; 0 <= l < k ==> lane_more(key + l, experts, bound[l]);
       loop assigns k;
       loop variant 16 - k; @/
    while (k < 16) {
      lane_left(key + k, bound[k], experts);
      k++;
    } */
  select_lanes_largest(experts, key, bound, most);
  /*@ loop invariant index: 0 <= l <= 16;
      loop invariant same: \forall integer i; 0 <= i < 16 * experts ==> key[i] == \at(key[i], Pre);
      loop invariant done: \forall integer i; 0 <= i < l ==> bound[i] == most[i];
      loop assigns l, bound[0 .. 15];
      loop variant 16 - l; */
  for (int l = 0; l < SELECT_LANES; l++) bound[l] = most[l];
  /*@ assert lanes: \forall integer l; 0 <= l < 16 ==>
        lane_same{Pre, Here}(key + l, experts); */
  /*@ assert more: \forall integer l; 0 <= l < 16 ==>
        lane_more{Pre}(key + l, experts, \at(bound[l], Pre)); */
  /*@ assert best: \forall integer l; 0 <= l < 16 ==>
        lane_best(key + l, experts, \at(bound[l], Pre), bound[l]); */
  //@ ghost k = 0;
  /*@ ghost
    /@ loop invariant 0 <= k <= 16;
       loop invariant some: \forall integer l; 0 <= l < k ==> INT64_MIN < bound[l];
       loop invariant count: \forall integer l; 0 <= l < k ==>
         lane_from(key + l, bound[l], experts) ==
           lane_from{Pre}(key + l, \at(bound[l], Pre), experts) + 1;
       loop assigns k;
       loop variant 16 - k; @/
    while (k < 16) {
      /@ assert names_here: lane_names(key + k, experts); @/
      /@ assert more_here: lane_more{Pre}(key + k, experts, \at(bound[\at(k, Here)], Pre)); @/
      /@ assert same_here: lane_same{Pre, Here}(key + k, experts); @/
      /@ assert best_here: lane_best(key + k, experts, \at(bound[\at(k, Here)], Pre), bound[k]); @/
      /@ assert some_here: INT64_MIN < bound[k]; @/
      int32_t i = 0;
      /@ loop invariant 0 <= i <= experts;
         loop invariant sum: lane_from(key + k, bound[k], i) ==
           lane_from{Pre}(key + k, \at(bound[\at(k, Here)], Pre), i) +
             (key_expert(bound[k]) < i ? 1 : 0);
         loop assigns i;
         loop variant experts - i; @/
      while (i < experts) {
        /@ assert one: lane_key(key + k, i) == bound[k] <==> i == key_expert(bound[k]); @/
        /@ assert same: lane_key(key + k, i) == lane_key{Pre}(key + k, i); @/
        i++;
      }
      k++;
    } */
}

/* Notes a token's choice, its next: row [k][SELECT_LANES] points to its first. */
/*@ requires 0 <= s < PHIBAL_MAX_EXPERTS && \valid(row + 16 * s);
    terminates \true;
    exits \false;
    assigns row[16 * s];
    ensures \forall integer bound; lane_best(lane, experts, bound, most) && INT64_MIN < most &&
      lane_names(lane, experts) && lane_taken{Pre}(lane, experts, s, bound, row) ==>
      lane_taken(lane, experts, s + 1, most, row); */
static inline void select_take(int64_t most, int32_t s, int32_t *row)
/*@ ghost (const int64_t *lane, int32_t experts) */ {
  row[s * SELECT_LANES] = select_index(most);
  //@ assert new: lane_choice(row, s) == key_expert(most);
  /*@ assert kept: \forall integer t; 0 <= t < s ==>
        lane_choice(row, t) == lane_choice{Pre}(row, t); */
  /*@ assert at: \forall integer t, e; 0 <= t < s && lane_at{Pre}(row, t, e) ==>
        lane_at(row, t, e); */
  //@ assert at_new: lane_at(row, s, key_expert(most));
  //@ assert has: \forall integer e; lane_has{Pre}(row, s, e) ==> lane_has(row, s + 1, e);
  //@ assert has_new: lane_has(row, s + 1, key_expert(most));
  /*@ assert lower: \forall integer b, t; 0 <= t < s && lane_best(lane, experts, b, most) &&
        INT64_MIN < most && lane_taken{Pre}(lane, experts, s, b, row) ==>
        0 <= lane_choice{Pre}(row, t) < experts &&
        most < b <= lane_key(lane, lane_choice{Pre}(row, t)); */
  /*@ assert falling: \forall integer b, t, u; 0 <= t < u < s &&
        lane_taken{Pre}(lane, experts, s, b, row) ==>
        lane_key(lane, lane_choice(row, t)) > lane_key(lane, lane_choice(row, u)); */
  /*@ assert rest: \forall integer b, e; 0 <= e < experts && lane_names(lane, experts) &&
        lane_best(lane, experts, b, most) && lane_taken{Pre}(lane, experts, s, b, row) ==>
        lane_has(row, s + 1, e) || lane_key(lane, e) < most; */
}

/* SELECT_LANES tokens side by side, one pass for each choice: for few experts.
   key [E][SELECT_LANES], selected [k][SELECT_LANES]. */
/*@ requires 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid_read(key + (0 .. 16 * experts - 1));
    requires \valid(selected + (0 .. 16 * active - 1));
    requires \separated(key + (0 .. 16 * experts - 1), selected + (0 .. 16 * active - 1));
    requires \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
    terminates \true;
    exits \false;
    assigns selected[0 .. 16 * active - 1];
    ensures \forall integer l; 0 <= l < 16 ==>
      lane_selection(key + l, experts, active, selected + l); */
static inline void select_lanes(int32_t experts, int32_t active, const int64_t *key,
                                int32_t *selected) {
  int64_t bound[SELECT_LANES];
  /*@ loop invariant 0 <= l <= 16 && \forall integer k; 0 <= k < l ==> bound[k] == INT64_MAX;
      loop assigns l, bound[0 .. 15];
      loop variant 16 - l; */
  for (int l = 0; l < SELECT_LANES; l++) bound[l] = INT64_MAX;
  //@ assert names: \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
  //@ ghost lanes_none(key, experts);
  /*@ assert all: \forall integer l; 0 <= l < 16 ==>
        lane_from(key + l, bound[l], experts) == 0 &&
        lane_taken(key + l, experts, 0, bound[l], selected + l); */
  /*@ loop invariant index: 0 <= s <= active;
      loop invariant names: \forall integer l; 0 <= l < 16 ==> lane_names(key + l, experts);
      loop invariant count: \forall integer l; 0 <= l < 16 ==>
        lane_from(key + l, bound[l], experts) == s;
      loop invariant taken: \forall integer l; 0 <= l < 16 ==>
        lane_taken(key + l, experts, s, bound[l], selected + l);
      loop assigns s, bound[0 .. 15], selected[0 .. 16 * active - 1];
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    //@ ghost Before:;
    select_lanes_next(experts, key, bound);
    /*@ assert lanes: \forall integer l; 0 <= l < 16 ==>
          lane_same{Before, Here}(key + l, experts); */
    /*@ assert still: \forall integer l; 0 <= l < 16 ==>
          lane_taken(key + l, experts, s, \at(bound[l], Before), selected + l); */
    /*@ loop invariant index: 0 <= l <= 16;
        loop invariant done: \forall integer k; 0 <= k < l ==>
          lane_taken(key + k, experts, s + 1, bound[k], selected + k);
        loop invariant left: \forall integer k; l <= k < 16 ==>
          lane_taken(key + k, experts, s, \at(bound[k], Before), selected + k);
        loop assigns l, selected[16 * s .. 16 * s + 15];
        loop variant 16 - l; */
    for (int l = 0; l < SELECT_LANES; l++) {
      /*@ assert ready: lane_taken(key + l, experts, s, \at(bound[\at(l, Here)], Before),
            selected + l); */
      /*@ assert best: lane_best(key + l, experts, \at(bound[\at(l, Here)], Before), bound[l]) &&
            lane_names(key + l, experts) && INT64_MIN < bound[l]; */
      select_take(bound[l], s, selected + l) /*@ ghost (key + l, experts) */;
      //@ assert own: lane_taken(key + l, experts, s + 1, bound[l], selected + l);
      /*@ assert elsewhere: \forall integer i; i != 16 * s + l ==>
            selected[i] == \at(selected[i], LoopCurrent); */
      /*@ assert others: \forall integer k, t; 0 <= k < 16 && k != l && 0 <= t <= s ==>
            lane_choice(selected + k, t) == lane_choice{LoopCurrent}(selected + k, t); */
      /*@ assert rows: \forall integer k; 0 <= k < 16 && k != l ==>
            lane_row_same{LoopCurrent, Here}(selected + k, s + 1); */
      /*@ assert same: \forall integer k; 0 <= k < 16 ==>
            lane_same{LoopCurrent, Here}(key + k, experts); */
      /*@ assert done_before: \forall integer k; 0 <= k < l ==>
            lane_row_same{LoopCurrent, Here}(selected + k, s + 1) &&
            lane_same{LoopCurrent, Here}(key + k, experts) &&
            lane_taken{LoopCurrent}(key + k, experts, s + 1, bound[k], selected + k); */
      /*@ assert done: \forall integer k; 0 <= k < l ==>
            lane_taken(key + k, experts, s + 1, bound[k], selected + k); */
      /*@ assert left: \forall integer k; l < k < 16 ==>
            lane_taken(key + k, experts, s, \at(bound[k], Before), selected + k); */
    }
  }
  /*@ assert selects: \forall integer l; 0 <= l < 16 ==>
        lane_selection(key + l, experts, active, selected + l); */
}

#endif
