/* What the files of the symbolic part share. */
#ifndef PHIBAL_AUDIT_SYMBOLIC_INTERNAL_H
#define PHIBAL_AUDIT_SYMBOLIC_INTERNAL_H

#include "symbolic.h"
#include <flint/fmpq.h>
#include <flint/fmpz_mpoly.h>
#include <flint/fmpz_mpoly_factor.h>
#include <stdint.h>

enum {
  SYMBOLIC_ATOMS = 28,
  SYMBOLIC_TERMS = 600,    /* of a polynomial: larger ones are given up */
  SYMBOLIC_DEGREE = 96,    /* in one atom */
  SYMBOLIC_ROOT = 24,      /* the highest root that is an atom of its own */
  SYMBOLIC_HEIGHT = 4000,  /* bits of a coefficient */
  SYMBOLIC_EFFORT = 12000, /* about: operations on polynomials in one context */
  SYMBOLIC_SECONDS = 4,    /* the same as a guard: some operations cost much more than most */
  SYMBOLIC_FACTORED = 150, /* terms of a polynomial that is factored */
  SYMBOLIC_PRECISION = 160,
};

typedef enum atom_kind {
  ATOM_VARIABLE,
  ATOM_PARAMETER,
  ATOM_SUM,
  ATOM_EXPERTS,
  ATOM_EXP,
  ATOM_LOG,
  ATOM_ROOT,
  ATOM_COS,
  ATOM_SIN,
} atom_kind;

struct quotient {
  fmpz_mpoly_t numerator, denominator;
  struct quotient *next; /* of the same context */
};

typedef struct symbolic_atom {
  atom_kind kind;
  int index;                /* of the parameter or sum; the degree of a root */
  const quotient *argument; /* null for the first four kinds */
  int power;                /* 0, or: atom^power = value */
  const quotient *value;
  uint32_t bases; /* the atoms of the first four kinds it depends on, a bit each */
  phi_range range;
} symbolic_atom;

struct symbolic {
  audit_domain domain;
  fmpz_mpoly_ctx_t ring;
  symbolic_atom atom[SYMBOLIC_ATOMS];
  int atoms;
  quotient *all;
  long effort; /* left */
  double last; /* of the thread's processor time */
  char reason[256];
};

/* Keeps the reason; returns null. */
const quotient *symbolic_fail(symbolic *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes `cost` from the effort; false when it is spent. */
bool symbolic_spend(symbolic *s, long cost);

/* numerator/denominator in canonical form; both are left as they are. */
const quotient *symbolic_make(symbolic *s, const fmpz_mpoly_t numerator,
                              const fmpz_mpoly_t denominator);
const quotient *symbolic_polynomial(symbolic *s, const fmpz_mpoly_t p);
/* The atom of that kind and argument, made where there is none; -1 when there is no room. */
int symbolic_atom_find(symbolic *s, atom_kind kind, int index, const quotient *argument);
const quotient *symbolic_atom_quotient(symbolic *s, int atom);
/* a is exactly an atom: which; else -1. */
int symbolic_is_atom(const symbolic *s, const quotient *a);
uint32_t symbolic_bases(const symbolic *s, const fmpz_mpoly_t p);
uint32_t symbolic_quotient_bases(const symbolic *s, const quotient *a);
uint32_t symbolic_used(const symbolic *s, const fmpz_mpoly_t p); /* atoms, a bit each */
const quotient *symbolic_derivative_base(symbolic *s, const quotient *a, int base);
bool symbolic_factor(symbolic *s, fmpz_mpoly_factor_t factors, const fmpz_mpoly_t p);

/* Signs: of a polynomial; of p - 1 and the like the callers make the polynomial themselves. */
unsigned symbolic_polynomial_sign(symbolic *s, const fmpz_mpoly_t p, int depth);
unsigned symbolic_sign_at_depth(symbolic *s, const quotient *a, int depth);
/* Where the new atom's values lie. */
void symbolic_bound_atom(symbolic *s, int atom);
/* Text of a polynomial, of an atom; malloc'ed. */
char *symbolic_polynomial_text(symbolic *s, const fmpz_mpoly_t p);

/* An enclosure of p over its atoms' values, given for the base atoms in use. */
typedef struct symbolic_point {
  phibal_enclosure value[SYMBOLIC_ATOMS];
  uint32_t known; /* values that hold */
} symbolic_point;
void symbolic_point_init(symbolic_point *p, mpfr_prec_t precision);
void symbolic_point_clear(symbolic_point *p);
bool symbolic_enclose_polynomial(symbolic *s, const fmpz_mpoly_t p, symbolic_point *at,
                                 phibal_enclosure *value);
#endif
