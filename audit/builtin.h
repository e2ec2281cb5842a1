/* The potentials of spec/phi/, as they were when this was built: the catalogue in the φ language.
 */
#ifndef PHIBAL_AUDIT_BUILTIN_H
#define PHIBAL_AUDIT_BUILTIN_H

#include <stddef.h>

typedef struct phi_builtin {
  const char *name; /* the file's name without .phi, which is the catalogue's */
  const char *text;
} phi_builtin;

extern const phi_builtin phi_builtins[]; /* in alphabetical order */
extern const size_t phi_builtins_count;

/* Null where there is none. */
const phi_builtin *phi_builtin_find(const char *name);

#endif
