/* Suggests a known name for an unknown one. Header-only, since the language of potentials is also
   compiled on its own. */
#ifndef PHIBAL_FORMATS_NEAR_NAME_H
#define PHIBAL_FORMATS_NEAR_NAME_H

#include <stddef.h>

enum { NEAR_NAME_MOST = 64 }; /* longer names are near to none */

/* A search: {.wrong = name, .wrong_length = strlen(name)}, near_name_consider() with each name that
   exists, then `text` is the first of the nearest, or null. */
typedef struct near_name {
  const char *wrong;
  size_t wrong_length;
  const char *text; /* `length` letters; no copy, not ended where the candidate was not */
  size_t length;
  int edits; /* that make it of the wrong name: letters to insert, remove or change */
} near_name;

/* At most two edits, and at most half of the letters; names of up to three letters must share the
   first one (not 'sin' for 'min'), since short names are close to many. */
static inline void near_name_consider(near_name *search, const char *text, size_t length) {
  int row[NEAR_NAME_MOST + 1];
  if (search->wrong_length > NEAR_NAME_MOST || length > NEAR_NAME_MOST) return;
  for (size_t j = 0; j <= length; j++) row[j] = (int)j;
  for (size_t i = 1; i <= search->wrong_length; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= length; j++) {
      int least = diagonal + (search->wrong[i - 1] != text[j - 1]);
      if (row[j] + 1 < least) least = row[j] + 1;
      if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = least;
    }
  }
  const int edits = row[length];
  if (search->wrong_length <= 3 && length && search->wrong[0] != text[0]) return;
  if (edits > 2 || 2 * (size_t)edits > search->wrong_length) return;
  if (search->text && edits >= search->edits) return;
  search->text = text;
  search->length = length;
  search->edits = edits;
}

#endif
