/* The potentials of spec/phi/, as they were when this was built: the catalogue in the φ language.
 */
#ifndef PHIBAL_AUDIT_BUILTIN_H
#define PHIBAL_AUDIT_BUILTIN_H

#include <stddef.h>

typedef struct phi_builtin {
  const char *name; /* the file's name without .phi, which is the catalogue's */
  const char *text;
  size_t length;
} phi_builtin;

/* Null where there is none. */
const phi_builtin *phi_builtin_find(const char *name);
/* The one numbered i, in alphabetical order; null from the last on. */
const phi_builtin *phi_builtin_at(size_t i);

#endif
