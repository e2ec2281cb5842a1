/* Two numbers that are not the same, for a counterexample: with as many digits as it takes to see.
 */
#ifndef PHIBAL_AUDIT_ENCLOSURE_TEXT_H
#define PHIBAL_AUDIT_ENCLOSURE_TEXT_H

#include <phibal/enclosure.h>

enum { AUDIT_LEAST_DIGITS = 25, AUDIT_MOST_DIGITS = 120 };

typedef struct audit_pair {
  char first[2 * PHIBAL_DECIMAL_SIZE(AUDIT_MOST_DIGITS) +
             8]; /* "in [lo, hi]", or "lo" if that is all */
  char second[2 * PHIBAL_DECIMAL_SIZE(AUDIT_MOST_DIGITS) + 8];
  char apart[64]; /* ", at least 1.2e-31 apart" where 25 digits do not show it; else "" */
} audit_pair;

void audit_pair_text(const phibal_enclosure *first, const phibal_enclosure *second,
                     audit_pair *pair);

#endif
