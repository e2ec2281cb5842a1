/* The parts of `phibal eval`: what is asked (eval.c), the numbers (eval_answer.c), how they are
   shown (eval_print.c). */
#ifndef PHIBAL_CLI_EVAL_H
#define PHIBAL_CLI_EVAL_H

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

typedef struct eval_request {
  phibal_potential_id id;
  const phibal_potential_info *potential;
  char parameter[256]; /* "" where the potential has none */
  eval_function function;
  eval_list at, loads;
  const char *eta;
  int digits;
  bool json, round;
  phibal_format format;
  phibal_direction direction;
} eval_request;

const char *eval_function_name(eval_function function);

/* What a mirror step's 4 n results are, n at a time. */
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

void eval_print_text(const eval_request *request, const eval_answer *answer);
phibal_status eval_print_json(const eval_request *request, const eval_answer *answer);

#endif
