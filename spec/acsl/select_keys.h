/* The logic of keys and of the tournament that finds the largest. ACSL only; definitions and no
   axiom. */
#ifndef PHIBAL_ACSL_SELECT_KEYS_H
#define PHIBAL_ACSL_SELECT_KEYS_H

#include <phibal/router.h>
#include <stdint.h>

/*@ // the expert that a key names
    logic integer key_expert(integer key) = 1023 - (uint64_t)key % 1024;

    // node i is the larger of its children
    predicate node{L}(int64_t *tree, integer i) =
      tree[2 * i] <= tree[i] && tree[2 * i + 1] <= tree[i] &&
      (tree[i] == tree[2 * i] || tree[i] == tree[2 * i + 1]);
    // a tournament, but for the node `except`
    predicate tournament{L}(int64_t *tree, integer leaves, integer except) =
      \forall integer i; 1 <= i < leaves && i != except ==> node(tree, i);

    // keys are kept in blocks of 16, the last filled up with the least number, which is no key
    logic integer padded(integer experts) = 16 * ((experts + 15) / 16);
    predicate keys_padded{L}(int64_t *key, integer experts, integer blocks) =
      \forall integer e; experts <= e < 16 * blocks ==> key[e] == INT64_MIN;
    predicate keys_placed{L}(int64_t *key, integer first, integer end) =
      \forall integer e; first <= e < end ==> key[e] == INT64_MIN || key_expert(key[e]) == e;
    // most is the largest below the bound among the 16 keys of a leaf of a tournament's leaves, or
    // there is none
    axiomatic BlockBest {
      predicate block_best{L}(int64_t *key, integer leaves, integer leaf, integer bound,
                              integer most) reads key[0 .. PHIBAL_MAX_EXPERTS - 1];
      axiom block_best_is{L}: \forall int64_t *key, integer leaves, leaf, bound, most;
        block_best(key, leaves, leaf, bound, most) <==>
        (most == INT64_MIN ||
         (most < bound && 16 * (leaf - leaves) <= key_expert(most) < 16 * (leaf - leaves) + 16 &&
          key[key_expert(most)] == most)) &&
        (\forall integer e; 16 * (leaf - leaves) <= e < 16 * (leaf - leaves) + 16 &&
          key[e] < bound ==> key[e] <= most);
    }
    lemma block_best_kept{A, B}: \forall int64_t *key, integer leaves, leaf, bound, most;
      block_best{A}(key, leaves, leaf, bound, most) &&
      (\forall integer e; 16 * (leaf - leaves) <= e < 16 * (leaf - leaves) + 16 ==>
        \at(key[e], A) == \at(key[e], B)) ==> block_best{B}(key, leaves, leaf, bound, most);
    lemma block_best_lower{L}: \forall int64_t *key, integer leaves, leaf, bound, lower, most;
      block_best(key, leaves, leaf, bound, most) && lower <= bound &&
      (most < lower || most == INT64_MIN) ==> block_best(key, leaves, leaf, lower, most);
    predicate leaves_best{L}(int64_t *key, integer blocks, int64_t *tree, integer leaves,
                             integer bound) =
      (\forall integer l; leaves <= l < leaves + blocks ==>
         block_best(key, leaves, l, bound, tree[l])) &&
      (\forall integer l; leaves + blocks <= l < 2 * leaves ==> tree[l] == INT64_MIN);

    // each key names its expert, and none is the least or the greatest number
    predicate keys_name{L}(int64_t *key, integer experts) =
      \forall integer e; 0 <= e < experts ==>
        INT64_MIN < key[e] < INT64_MAX && key_expert(key[e]) == e;
    // the keys among the first n that are at least the bound
    logic integer keys_from{L}(int64_t *key, integer bound, integer n) =
      n <= 0 ? 0 : keys_from(key, bound, n - 1) + (key[n - 1] >= bound ? 1 : 0);
    // (R2): the experts with the largest keys, in falling order
    predicate key_selection{L}(int64_t *key, integer experts, integer active, int32_t *selected) =
      (\forall integer s; 0 <= s < active ==> 0 <= selected[s] < experts) &&
      (\forall integer s, t; 0 <= s < t < active ==> key[selected[s]] > key[selected[t]]) &&
      (\forall integer e; 0 <= e < experts ==>
         (\exists integer s; 0 <= s < active && selected[s] == e) ||
         (\forall integer s; 0 <= s < active ==> key[e] < key[selected[s]]));
*/
/*@ ghost
  /@ requires 0 <= n && keys_name(key, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures keys_from(key, INT64_MAX, n) == 0; @/
  void keys_none(const int64_t *key, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n && keys_from(key, INT64_MAX, i) == 0;
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/
/* When fewer than n keys are at least the bound, one is below it. */
/*@ ghost
  /@ requires 0 <= n && \valid_read(key + (0 .. n - 1)) && keys_from(key, bound, n) < n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= \result < n && key[\result] < bound; @/
  int32_t keys_left(const int64_t *key, int64_t bound, int32_t n) {
    int32_t i = n;
    /@ loop invariant 1 <= i <= n && keys_from(key, bound, i) < i;
       loop assigns i;
       loop variant i; @/
    while (key[i - 1] >= bound) i--;
    return i - 1;
  }
*/
/* The largest key below the bound is one more. */
/*@ ghost
  /@ requires 0 <= n && keys_name(key, n) && most < bound;
     requires 0 <= key_expert(most) < n && key[key_expert(most)] == most;
     requires \forall integer e; 0 <= e < n && key[e] < bound ==> key[e] <= most;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures keys_from(key, most, n) == keys_from(key, bound, n) + 1; @/
  void keys_next(const int64_t *key, int64_t bound, int64_t most, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant keys_from(key, most, i) ==
         keys_from(key, bound, i) + (key_expert(most) < i ? 1 : 0);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert key[i] == most <==> i == key_expert(most); @/
      i++;
    }
  }
*/

/* The root of a tournament is the largest of its leaves. */
/*@ ghost
  /@ requires 1 <= leaves <= 64 && tournament(tree, leaves, 0);
     requires \valid_read(tree + (0 .. 2 * leaves - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures leaves <= \result < 2 * leaves && tree[\result] == tree[1];
     ensures \forall integer i; 1 <= i < 2 * leaves ==> tree[i] <= tree[1]; @/
  int select_root(const int64_t *tree, int leaves) {
    int j = 1;
    /@ loop invariant 1 <= j <= 2 * leaves;
       loop invariant \forall integer i; 1 <= i < j ==> tree[i] <= tree[1];
       loop assigns j;
       loop variant 2 * leaves - j; @/
    while (j < 2 * leaves) {
      /@ assert j > 1 ==> 1 <= j / 2 < leaves && (j == 2 * (j / 2) || j == 2 * (j / 2) + 1); @/
      /@ assert j > 1 ==> node(tree, j / 2); @/
      j++;
    }
    int i = 1;
    /@ loop invariant 1 <= i < 2 * leaves && tree[i] == tree[1];
       loop assigns i;
       loop variant 2 * leaves - i; @/
    while (i < leaves) {
      /@ assert node(tree, i); @/
      i = tree[i] == tree[2 * i] ? 2 * i : 2 * i + 1;
    }
    return i;
  }
*/

#endif
