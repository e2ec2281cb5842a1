/* The encoding of case numbers. An operation's cases are numbered from 0; vectors and reports refer
   to them by number, so numbers never change.

   Small cases, those from SMALL_CASES on, have the fewest experts, tokens and columns that their
   kind allows, so that a million per operation take minutes. Kinds defined by size (most experts,
   tiles, long batches) are ordinary there.

   Paired cases, from PAIRED_CASES on, combine features so that each pair of them meets (paired.h).

   Field cases, from FIELD_CASES on, are those of bugs that were seen in the field and that no other
   number reaches surely: some small numbers of each kind. An operation's features that came later
   have cases there too.

   Operations that take a potential go through the first nine rows of spec/potentials.def in turn.
   Cases of a later row are numbered from ROW << CASE_ROW_BITS on, so adding a row to the catalogue
   renumbers no case. */
#ifndef PHIBAL_VERIFY_CASE_NUMBER_H
#define PHIBAL_VERIFY_CASE_NUMBER_H

#include <phibal/potential.h>
#include <stdbool.h>
#include <stdint.h>

#define SMALL_CASES (UINT64_C(1) << 32)
#define PAIRED_CASES (UINT64_C(1) << 36)
#define FIELD_CASES (UINT64_C(1) << 37)
enum { CASE_ROW_BITS = 40, CASE_FIRST_POTENTIALS = 9 };

/* The number within its row. */
static inline uint64_t case_base(uint64_t number) {
  return number & ((UINT64_C(1) << CASE_ROW_BITS) - 1);
}

static inline bool case_is_paired(uint64_t number) {
  return case_base(number) >= PAIRED_CASES && case_base(number) < FIELD_CASES;
}

static inline bool case_is_field(uint64_t number) {
  return case_base(number) >= FIELD_CASES;
}

static inline bool case_is_small(uint64_t number) {
  return case_base(number) >= SMALL_CASES && case_base(number) < PAIRED_CASES;
}

/* The potential of a case that is the turn-th of those on a potential. */
static inline phibal_potential_id case_potential_id(uint64_t number, uint64_t turn) {
  uint64_t row = number >> CASE_ROW_BITS;
  return (phibal_potential_id)(row ? row : turn % CASE_FIRST_POTENTIALS);
}

/* Whether the number is valid. */
static inline bool case_exists(uint64_t number, bool on_potentials) {
  uint64_t row = number >> CASE_ROW_BITS;
  return !row || (on_potentials && row >= CASE_FIRST_POTENTIALS && row < PHIBAL_POTENTIAL_COUNT);
}

/* The number of the i-th case that is run: one of each later row after nine of the first rows'. */
static inline uint64_t case_number(uint64_t i, uint64_t rows) {
  const uint64_t first = CASE_FIRST_POTENTIALS;
  uint64_t small = i >= SMALL_CASES ? SMALL_CASES : 0, round = (i - small) / rows,
           place = (i - small) % rows;
  return small + (place < first ? round * first + place : (place << CASE_ROW_BITS) + round);
}

#endif
