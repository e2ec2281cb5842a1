/* The logic of keys and of the tournament that finds the largest. ACSL only; definitions and no
   axiom. */
#ifndef PHIBAL_ACSL_SELECT_KEYS_H
#define PHIBAL_ACSL_SELECT_KEYS_H

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
