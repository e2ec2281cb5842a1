/* The parts of `phibal eval`: what is asked (eval.c), the numbers (eval_answer.c; eval_phi.c for a
   potential from a file), how they are shown (eval_print.c). */
#ifndef PHIBAL_CLI_EVAL_H
#define PHIBAL_CLI_EVAL_H

#include "audit/phi.h"
#include <phibal/reference.h>
#include <phibal/rounding.h>

typedef enum eval_function {
  EVAL_VALUE,
  EVAL_GRADIENT,
  EVAL_HESSIAN,
  EVAL_CONJUGATE,
  EVAL_CONJUGATE_GRADIENT,
  EVAL_MIRROR_STEP,
} eval_function;

/* Numbers as they were written; they are read anew, exactly, at every precision. */
typedef struct eval_list {
  size_t n;
  char **text;
} eval_list;

typedef struct eval_parameter {
  const char *name;
  char text[256];
} eval_parameter;

typedef struct eval_request {
  const char *name;
  phi_potential *phi;     /* from a file; null for a built-in, which is */
  phibal_potential_id id; /* this one */
  eval_parameter parameter[PHI_MAX_PARAMETERS];
  int parameters;
  eval_function function;
  eval_list at, loads;
  const char *eta;
  int digits;
  bool json, round;
  phibal_format format;
  phibal_direction direction;
} eval_request;

const char *eval_function_name(eval_function function);

/* What a mirror step's results are, n at a time. From a file the argmax of the proximal objective
   is held against its first-order condition: NEXT_ARGMAX is grad phi*(q') at q' by the average,
   found by maximising where that can be, and PRICE_ARGMAX is left out. */
typedef enum eval_mirror_part {
  EVAL_NEXT_AVERAGE,
  EVAL_PRICE_AVERAGE,
  EVAL_NEXT_ARGMAX,
  EVAL_PRICE_ARGMAX,
  EVAL_MIRROR_PARTS,
} eval_mirror_part;

typedef struct eval_answer {
  size_t n, count;          /* coordinates asked at; results */
  bool matrix;              /* the results are n x n, row by row */
  size_t parts;             /* of a mirror step: those there are, from the first */
  phibal_enclosure *result; /* [count] */
  double *rounded;          /* [count], where rounding was asked for */
  bool *decided;            /* [count] */
  bool all_decided;
  mpfr_prec_t precision; /* of the last evaluation, in bits */
} eval_answer;

/* The precision at which an answer is given up. */
mpfr_prec_t eval_precision_cap(const eval_request *request);
/* Evaluates at rising precision until every result is known to 10^-(digits + 2) of itself, or
   rounds to one number. At the cap: PHIBAL_OK with all_decided false if there are enclosures to
   show. */
phibal_status eval_answer_find(const eval_request *request, eval_answer *answer);
void eval_answer_clear(eval_answer *answer);
/* The least and the greatest distance that two parts of a mirror step may have, over coordinates.
 */
void eval_mirror_distance(const eval_answer *answer, eval_mirror_part a, eval_mirror_part b,
                          phibal_enclosure *distance);

/* A decimal, or a fraction of two, that phibal_enclosure_set_str takes: its value; false for what
   is written otherwise, or has exponents beyond 10000. */
bool eval_read_exactly(const char *text, mpq_t value);

/* Opens the request's file and sets its name and parameters to what the file says. */
phibal_status eval_phi_open(const char *file, eval_request *request);
/* The function asked for, at one precision, for a potential from a file; `parts` of a mirror step.
   PHIBAL_ERROR_UNSUPPORTED where grad phi* is asked for and is not found. */
phibal_status eval_phi_apply(const eval_request *request, const phibal_enclosure *parameters,
                             const phibal_enclosure *at, const phibal_enclosure *loads,
                             const phibal_enclosure *eta, mpfr_prec_t precision, size_t parts,
                             phibal_enclosure *z);

void eval_print_text(const eval_request *request, const eval_answer *answer);
phibal_status eval_print_json(const eval_request *request, const eval_answer *answer);

#endif
