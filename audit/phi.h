/* A potential in the φ language: reading it, and evaluating it in enclosures.

   phi(x) = F(S_1, .., S_r), S_i = sum_e f_i(x_e): every symmetric potential of the language has
   this form. F is the section's expression with its EXPRESSION_SUM nodes as variables, f_i the
   argument of the sum numbered i. So gradient  g_e     = sum_i F_i f_i'(x_e) Hessian   h_ee'   = [e
   = e'] sum_i F_i f_i''(x_e) + sum_ij F_ij f_i'(x_e) f_j'(x_e') with F_i, F_ij the partial
   derivatives of F at the sums. */
#ifndef PHIBAL_AUDIT_PHI_H
#define PHIBAL_AUDIT_PHI_H

#include "expression.h"
#include <phibal/enclosure.h>

enum {
  PHI_MAX_PARAMETERS = 8,
  PHI_MAX_RANGES = 8,
  PHI_MAX_SUMS = 16,
  PHI_MAX_CONDITIONS = 8,
  PHI_MAX_DEPTH = 256,        /* of an expression that was read */
  PHI_MAX_NODES = 20000,      /* numbers, names and operations in it, names of `let` written out */
  PHI_MAX_BYTES = 1024 * 1024 /* of a file */
};

/* One end of a range. */
typedef struct phi_end {
  int infinite; /* -1, 0 or +1; `value` counts only where 0 */
  mpq_t value;
  bool closed;
} phi_end;

typedef struct phi_range {
  phi_end lo, hi;
} phi_range;

typedef struct phi_parameter {
  char *name;
  phi_range *range; /* a union of disjoint ranges in ascending order */
  int ranges;
  mpq_t fallback;
} phi_parameter;

typedef enum phi_relation {
  PHI_LESS,
  PHI_LESS_EQUAL,
  PHI_GREATER,
  PHI_GREATER_EQUAL,
  PHI_EQUAL, /* of a conjugate's conditions only, as sums are */
} phi_relation;

/* left < right and so on, for every coordinate. Sums are numbered as condition_sum. */
typedef struct phi_condition {
  phi_relation relation;
  const expression *left, *right;
} phi_condition;

/* A section: value, gradient or conjugate. expression = null where the file has none. */
typedef struct phi_section {
  const expression *expression;
  int sums;
  const expression *sum[PHI_MAX_SUMS]; /* f_i: the arguments of its distinct sums */
  phi_condition *condition; /* of `where`; all must hold, else the section's value is +inf
                               (conjugate), or is not defined */
  int conditions;
  int condition_sums;
  const expression *condition_sum[PHI_MAX_SUMS];
} phi_section;

typedef struct phi_potential {
  expression_pool *pool;
  char *name;
  phi_parameter parameter[PHI_MAX_PARAMETERS];
  int parameters;
  phi_section value;     /* no coordinate outside a sum */
  phi_section gradient;  /* component e: the coordinate is x_e, sums run over all */
  phi_section conjugate; /* of y; no coordinate outside a sum */
} phi_potential;

/* Reads `length` bytes of text. On failure PHIBAL_ERROR_FORMAT, and the message is one line:
   "<file>:<line>:<column>: <what was found, what was expected>". *phi is then null. */
phibal_status phi_read(const char *file, const char *text, size_t length, phi_potential **phi);
/* PHIBAL_ERROR_IO if the file cannot be read; files of more than 1 MiB are refused. */
phibal_status phi_read_file(const char *file, phi_potential **phi);
void phi_destroy(phi_potential *phi);

/* Sets one[] (phi->parameters enclosures) to the defaults. */
void phi_fallbacks(const phi_potential *phi, phibal_enclosure *parameters);
/* Reads "name=value" or, where `intervals`, also "name=lo..hi", for whoever takes --param. Numbers
   are exact: 0.1, 1/3, 2e-3 or inf, enclosed at the precision of parameters[*which], which is set.
   PHIBAL_ERROR_ARGUMENT with *which = -1 where phi has no such parameter; its number, and any error,
   where the value is wrong; the message then says all but "--param". Ranges are phi_check_parameters'. */
phibal_status phi_read_parameter(const phi_potential *phi, const char *text, bool intervals,
                                 phibal_enclosure *parameters, int *which);
/* "(0, 1) or (1, inf)", cut to `size` characters with the final null. */
void phi_ranges_text(const phi_parameter *parameter, char *text, size_t size);
/* PHIBAL_ERROR_ARGUMENT, naming parameter and range, unless every member of every parameter is in
   its range. */
phibal_status phi_check_parameters(const phi_potential *phi, const phibal_enclosure *parameters);

/* A function of one variable and its first three derivatives, enclosed for every member of the
   argument and the parameters. */
typedef struct phi_jet {
  phibal_enclosure d[4]; /* d[j]: derivative j, not divided by j! */
  int known;  /* d[0..known-1] hold, the rest is the whole line: 0 where the function is not defined
                 at some member, 1 where it may have a kink there, ... 4 */
  int degree; /* derivatives above it vanish identically: 0 for a constant, .. 3; 4 says nothing */
} phi_jet;
void phi_jet_init(phi_jet *j, mpfr_prec_t precision);
void phi_jet_clear(phi_jet *j);

/* e as a function of the coordinate x; sums (numbered as in e) are constants, null if e has none.
 */
void phi_jet_eval(const expression *e, const phibal_enclosure *parameters,
                  const phibal_enclosure *sums, const phibal_enclosure *x, phi_jet *j);
/* e alone, for members x; PHIBAL_ERROR_DOMAIN where it is not defined at some member. x and sums
   may be null where e does not hold them. */
phibal_status phi_eval(const expression *e, const phibal_enclosure *parameters,
                       const phibal_enclosure *sums, const phibal_enclosure *x,
                       phibal_enclosure *value);
/* F of a section at sums[]: value, partials[r] and second[r * r] (symmetric). *known as in phi_jet,
   up to 3; what is not known is the whole line. PHIBAL_ERROR_MEMORY, with *known = 0, or PHIBAL_OK.
 */
phibal_status phi_outer_eval(const phi_section *section, const phibal_enclosure *parameters,
                             const phibal_enclosure *sums, phibal_enclosure *value,
                             phibal_enclosure *partials, phibal_enclosure *second, int *known);

/* The sums of a section at x[0..n-1]. */
phibal_status phi_sums(const phi_section *section, const phibal_enclosure *parameters, size_t n,
                       const phibal_enclosure *x, phibal_enclosure *sums);
/* phi(x), its gradient by differentiation of the value, and the Hessian as diagonal[n] plus
   sum_ij second[i * r + j] slope[i * n + e] slope[j * n + e'] (any of the last three may be null).
   PHIBAL_ERROR_DOMAIN where one does not exist at some member. */
phibal_status phi_value(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                        const phibal_enclosure *x, phibal_enclosure *value);
phibal_status phi_gradient(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                           const phibal_enclosure *x, phibal_enclosure *gradient);
phibal_status phi_hessian(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                          const phibal_enclosure *x, phibal_enclosure *diagonal,
                          phibal_enclosure *second, phibal_enclosure *slope);
/* The gradient and the conjugate as the file gives them; PHIBAL_ERROR_UNSUPPORTED where it does
   not. The conjugate is [+inf, +inf] where a condition certainly fails; PHIBAL_ERROR_UNDECIDED
   where that is not certain: so an equality of what is no single number always is. */
phibal_status phi_given_gradient(const phi_potential *phi, const phibal_enclosure *parameters,
                                 size_t n, const phibal_enclosure *x, phibal_enclosure *gradient);
phibal_status phi_given_conjugate(const phi_potential *phi, const phibal_enclosure *parameters,
                                  size_t n, const phibal_enclosure *y, phibal_enclosure *value);
/* The same where what y and the parameters enclose is known exactly (exact_parameters may be null):
   conditions on rational numbers, equalities among them, are decided. */
phibal_status phi_given_conjugate_exactly(const phi_potential *phi,
                                          const phibal_enclosure *parameters,
                                          const mpq_t *exact_parameters, size_t n,
                                          const phibal_enclosure *y, const mpq_t *exact_y,
                                          phibal_enclosure *value);
/* Its formula, conditions left aside. */
phibal_status phi_conjugate_formula(const phi_potential *phi, const phibal_enclosure *parameters,
                                    size_t n, const phibal_enclosure *y, phibal_enclosure *value);

/* psi with phi(x) = sum_e psi(x_e) + constant, made in the potential's pool; null unless the value
   is affine in its sums with coefficients that hold no sum. */
const expression *phi_separable(phi_potential *phi);

#endif
