/* The k largest of E scores, largest first, ties to the lower index (R2).

   A finite score becomes an integer key: its bits in an order-preserving form, with the ten lowest
   replaced by 1023 - index. Keys are unique, larger is better, ties are settled, and the next
   choice after a key is the largest key below it: nothing is ever marked as taken. This is exact
   whenever the ten bits were 0: always for scores that are binary32 numbers, and for sums of two
   unless their exponents are 20 or more apart. The other tokens, found out by the bits or-ed
   together, are selected by comparing the scores themselves. */
#ifndef PHIBAL_CPU_SELECT_H
#define PHIBAL_CPU_SELECT_H

#include "../core/core.h"
#include <phibal/router.h>

#ifdef __FRAMAC__
#include <phibal/acsl/select_keys.h>
#endif

#define SELECT_INDEX 1023 /* the bits of a key that hold the index */
#define SELECT_NONE INT64_MIN
#define SELECT_BLOCK 16

_Static_assert(SELECT_INDEX == PHIBAL_MAX_EXPERTS - 1, "a key has room for every index");

/* The key of a score; *lost collects the bits that gave way to the index. -0 counts as +0. */
static inline int64_t select_key(double score, int32_t index, int64_t *lost) {
  int64_t bits = (int64_t)core_bits64(score + 0.0);
  *lost |= bits & SELECT_INDEX;
  int64_t ordered = bits ^ ((bits >> 63) & INT64_MAX);
  return (ordered & ~(int64_t)SELECT_INDEX) | (SELECT_INDEX - index);
}

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result <= SELECT_INDEX && \result == key_expert(key); */
static inline int32_t select_index(int64_t key) {
  return SELECT_INDEX - (int32_t)((uint64_t)key % (SELECT_INDEX + 1));
}

#ifndef __FRAMAC__ /* which does not read vectors: what they compute is tested, not proved */
/* Eight keys, in the vector extension that gcc and clang share and map to any width of machine:
   left to themselves they do not vectorise these conditional maxima. */
typedef int64_t select_vector __attribute__((vector_size(64)));

/* v where it is below `bound` and above `most`, most elsewhere. */
#define SELECT_BETTER(v, bound, most)                                                              \
  (((v) & (((v) < (bound)) & ((v) > (most)))) | ((most) & ~(((v) < (bound)) & ((v) > (most)))))

/* The largest key of a block that is below `bound`. */
static inline int64_t select_block_largest(const int64_t *key, int64_t bound) {
  select_vector bounds = bound - (select_vector){0};
  select_vector most = SELECT_NONE - (select_vector){0};
  for (int i = 0; i < SELECT_BLOCK; i += 8) {
    select_vector v;
    memcpy(&v, key + i, sizeof v);
    most = SELECT_BETTER(v, bounds, most);
  }
  int64_t part[8];
  memcpy(part, &most, sizeof part);
  for (int half = 4; half >= 1; half /= 2)
    for (int i = 0; i < half; i++) part[i] = part[i] > part[i + half] ? part[i] : part[i + half];
  return part[0];
}
#endif

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

#ifndef __FRAMAC__
/* One token: a tournament among blocks of 16 keys, replayed for the winner's block after each
   choice. key has room for E rounded up to SELECT_BLOCK. */
static inline void select_row(int32_t experts, int32_t active, int64_t *key, int32_t *selected) {
  int64_t tree[2 * PHIBAL_MAX_EXPERTS / SELECT_BLOCK]; /* node i has children 2 i and 2 i + 1 */
  int blocks = (experts + SELECT_BLOCK - 1) / SELECT_BLOCK;
  int leaves = 1;
  while (leaves < blocks) leaves *= 2;
  for (int32_t e = experts; e < blocks * SELECT_BLOCK; e++) key[e] = SELECT_NONE;
  for (int b = 0; b < leaves; b++)
    tree[leaves + b] =
        b < blocks ? select_block_largest(key + b * SELECT_BLOCK, INT64_MAX) : SELECT_NONE;
  for (int i = leaves - 1; i >= 1; i--)
    tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
  for (int32_t s = 0; s < active; s++) {
    int64_t winner = tree[1];
    selected[s] = select_index(winner);
    int b = selected[s] / SELECT_BLOCK;
    int64_t most = select_block_largest(key + b * SELECT_BLOCK, winner);
    select_replay(tree, leaves + b, most) /*@ ghost (leaves) */;
  }
}

/* `lanes` tokens side by side, one pass for each choice: for few experts. lanes is a multiple of 8;
   key [E][lanes], selected [k][lanes]. */
static inline __attribute__((always_inline)) void
select_lanes(int32_t experts, int32_t active, int lanes, const int64_t *key, int32_t *selected) {
  for (int group = 0; group < lanes; group += 8) {
    select_vector bound = INT64_MAX - (select_vector){0};
    for (int32_t s = 0; s < active; s++) {
      select_vector most = SELECT_NONE - (select_vector){0};
      for (int32_t e = 0; e < experts; e++) {
        select_vector v;
        memcpy(&v, key + e * lanes + group, sizeof v);
        most = SELECT_BETTER(v, bound, most);
      }
      for (int l = 0; l < 8; l++) selected[s * lanes + group + l] = select_index(most[l]);
      bound = most;
    }
  }
}
#endif

/* One of `lanes` tokens, by its scores, of which score [E][lanes] points to the first; they are
   overwritten. For the rare scores of which a key cannot hold all bits. */
static inline void select_by_scores(int32_t experts, int32_t active, int lanes, double *score,
                                    int32_t *selected) {
  for (int32_t s = 0; s < active; s++) {
    int32_t best = 0;
    for (int32_t e = 1; e < experts; e++)
      if (score[e * lanes] > score[best * lanes]) best = e;
    selected[s * lanes] = best;
    score[best * lanes] = -CORE_INFINITY;
  }
}

#endif
