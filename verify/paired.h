/* Cases in which features meet: an orthogonal array of 49 rows, eight columns of seven levels.
   Column c < 7 of row (a, b) is a + c b mod 7, and the eighth b: for two columns the 49 rows show
   each pair of levels once, for a + c b and a + d b determine a and b where c != d. A feature of
   n <= 7 values takes level mod n, so that each pair of values of two features is some case's.

   Paired cases are numbered from PAIRED_CASES on (case_number.h), row by row; those after the first
   49 repeat the features with other numbers. */
#ifndef PHIBAL_VERIFY_PAIRED_H
#define PHIBAL_VERIFY_PAIRED_H

#include "case_number.h"

enum { PAIRED_ROWS = 49, PAIRED_COLUMNS = 8 };

static inline int paired_level(uint64_t number, int column, int values) {
  const uint64_t row = (case_base(number) - PAIRED_CASES) % PAIRED_ROWS, a = row % 7, b = row / 7;
  return (int)((column == 7 ? b : (a + (uint64_t)column * b) % 7) % (uint64_t)values);
}

#endif
