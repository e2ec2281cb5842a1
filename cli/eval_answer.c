/* The numbers of `phibal eval`: at one precision, and at rising precision until they are certain.
 */
#include "eval.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

enum {
  LEAST_CAP = 1 << 15,        /* bits */
  LEAST_CAP_SEARCH = 1 << 12, /* where an argmax is searched, each step of it an evaluation */
  LEAST_PRECISION = 128,
  CAP_OVER_START = 8,
};

static mpfr_prec_t first_precision(const eval_request *r) {
  /* log2 10 < 4; the rest pays for the roundings on the way. */
  mpfr_prec_t precision = 4 * (mpfr_prec_t)r->digits + 64;
  return r->round || precision < LEAST_PRECISION ? LEAST_PRECISION : precision;
}

mpfr_prec_t eval_precision_cap(const eval_request *r) {
  mpfr_prec_t cap = CAP_OVER_START * first_precision(r);
  const bool maximised =
      r->phi && (r->function == EVAL_CONJUGATE_GRADIENT ||
                 (r->function == EVAL_CONJUGATE && !r->phi->conjugate.expression));
  mpfr_prec_t least = r->function == EVAL_MIRROR_STEP || maximised ? LEAST_CAP_SEARCH : LEAST_CAP;
  return cap > least ? cap : least;
}

/* Everything read at one precision. */
typedef struct arguments {
  phibal_reference_potential phi;
  phibal_enclosure eta, *at, *loads, *parameters;
} arguments;

static phibal_status read_number(phibal_enclosure *z, const char *text, const char *option,
                                 size_t i) {
  phibal_status status = phibal_enclosure_set_str(z, text);
  if (status == PHIBAL_OK) return PHIBAL_OK;
  return phibal_status_set(status, "%s, number %zu: %s", option, i, phibal_status_message());
}

static phibal_status read_list(phibal_enclosure *z, const eval_list *list, const char *option) {
  for (size_t i = 0; i < list->n; i++) TRY(read_number(&z[i], list->text[i], option, i + 1));
  return PHIBAL_OK;
}

static phibal_status read_parameter(phibal_enclosure *z, const eval_parameter *p) {
  phibal_status status = phibal_enclosure_set_str(z, p->text);
  if (status == PHIBAL_OK) return PHIBAL_OK;
  return phibal_status_set(status, "--param %s=%s: %s", p->name, p->text,
                           strstr(p->text, "..")
                               ? "an interval; expected one number, such as 0.1 or 1/3"
                               : phibal_status_message());
}

static phibal_status read_arguments(const eval_request *r, arguments *a) {
  for (int i = 0; i < r->parameters; i++) TRY(read_parameter(&a->parameters[i], &r->parameter[i]));
  if (r->phi) TRY(phi_check_parameters(r->phi, a->parameters));
  if (!r->phi && r->parameters) phibal_enclosure_set(&a->phi.parameter, &a->parameters[0]);
  TRY(read_list(a->at, &r->at, "--at"));
  if (r->function != EVAL_MIRROR_STEP) return PHIBAL_OK;
  TRY(read_list(a->loads, &r->loads, "--loads"));
  return read_number(&a->eta, r->eta, "--eta", 1);
}

static phibal_status mirror_step(const eval_request *r, const arguments *a, mpfr_prec_t precision,
                                 phibal_enclosure *z) {
  size_t n = r->at.n;
  TRY(phibal_reference_mirror_ema(&a->phi, n, a->at, a->loads, &a->eta, &z[EVAL_NEXT_AVERAGE * n],
                                  &z[EVAL_PRICE_AVERAGE * n]));
  return phibal_reference_mirror_argmax(&a->phi, n, a->at, a->loads, &a->eta, precision,
                                        &z[EVAL_NEXT_ARGMAX * n], &z[EVAL_PRICE_ARGMAX * n]);
}

static phibal_status apply(const eval_request *r, const arguments *a, mpfr_prec_t precision,
                           size_t parts, phibal_enclosure *z) {
  size_t n = r->at.n;
  if (r->phi)
    return eval_phi_apply(r, a->parameters, a->at, a->loads, &a->eta, precision, parts, z);
  switch (r->function) {
  case EVAL_VALUE:
    return phibal_reference_value(&a->phi, n, a->at, z);
  case EVAL_GRADIENT:
    return phibal_reference_gradient(&a->phi, n, a->at, z);
  case EVAL_HESSIAN:
    return phibal_reference_hessian(&a->phi, n, a->at, z);
  case EVAL_CONJUGATE:
    return phibal_reference_conjugate(&a->phi, n, a->at, z);
  case EVAL_CONJUGATE_GRADIENT:
    return phibal_reference_conjugate_gradient(&a->phi, n, a->at, z);
  case EVAL_MIRROR_STEP:
    break;
  }
  return mirror_step(r, a, precision, z);
}

/* Fills answer->result, which has `precision` bits. */
static phibal_status evaluate(const eval_request *r, mpfr_prec_t precision, eval_answer *answer) {
  arguments a = {.phi.id = r->id};
  phibal_enclosure_init(&a.phi.parameter, precision);
  phibal_enclosure_init(&a.eta, precision);
  a.at = phibal_enclosure_vector(r->at.n, precision);
  a.loads = phibal_enclosure_vector(r->loads.n, precision);
  a.parameters = phibal_enclosure_vector((size_t)r->parameters, precision);
  phibal_status status = PHIBAL_OK;
  if (!a.at || !a.loads || !a.parameters)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu numbers", r->at.n);
  if (status == PHIBAL_OK) status = read_arguments(r, &a);
  if (status == PHIBAL_OK) status = apply(r, &a, precision, answer->parts, answer->result);
  phibal_enclosure_vector_clear(a.at, r->at.n);
  phibal_enclosure_vector_clear(a.loads, r->loads.n);
  phibal_enclosure_vector_clear(a.parameters, (size_t)r->parameters);
  phibal_enclosure_clear(&a.eta);
  phibal_enclosure_clear(&a.phi.parameter);
  return status;
}

/* hi - lo < 10^-(digits + 2) min(|lo|, |hi|), or a point. */
static bool is_known(const phibal_enclosure *z, int digits) {
  if (phibal_enclosure_is_exact(z)) return true;
  if (phibal_enclosure_contains_zero(z)) return false;
  mpfr_t width, least;
  mpfr_init2(width, 64);
  mpfr_init2(least, 64);
  phibal_enclosure_width(width, z);
  mpfr_set_si(least, digits + 2, MPFR_RNDU);
  mpfr_exp10(least, least, MPFR_RNDU);
  mpfr_mul(width, width, least, MPFR_RNDU);
  mpfr_abs(least, mpfr_cmpabs(z->lo, z->hi) < 0 ? z->lo : z->hi, MPFR_RNDD);
  bool known = mpfr_less_p(width, least) != 0;
  mpfr_clear(width);
  mpfr_clear(least);
  return known;
}

/* hi - lo < 10^-(digits + 2): beside loads, which sum to 1, where 0 cannot be had exactly. */
static bool is_narrow(const phibal_enclosure *z, int digits) {
  mpfr_t width, most;
  mpfr_init2(width, 64);
  mpfr_init2(most, 64);
  phibal_enclosure_width(width, z);
  mpfr_set_si(most, -digits - 2, MPFR_RNDD);
  mpfr_exp10(most, most, MPFR_RNDD);
  bool narrow = mpfr_less_p(width, most) != 0;
  mpfr_clear(width);
  mpfr_clear(most);
  return narrow;
}

static void decide(const eval_request *r, eval_answer *answer) {
  const bool maximised = r->phi && r->function == EVAL_MIRROR_STEP && !r->round;
  answer->all_decided = true;
  for (size_t i = 0; i < answer->count; i++) {
    if (maximised && i >= EVAL_NEXT_ARGMAX * answer->n)
      answer->decided[i] = is_narrow(&answer->result[i], r->digits);
    else
      answer->decided[i] = r->round ? phibal_round_enclosure(&answer->result[i], r->format,
                                                             r->direction, &answer->rounded[i])
                                    : is_known(&answer->result[i], r->digits);
    answer->all_decided = answer->all_decided && answer->decided[i];
  }
}

static bool has_matrix(const eval_request *r) {
  return r->phi ? !phi_separable(r->phi) : !phibal_potential_describe(r->id)->separable;
}

static size_t count_parts(const eval_request *r) {
  return r->phi ? EVAL_PRICE_ARGMAX : EVAL_MIRROR_PARTS;
}

static size_t count_results(const eval_request *r, size_t parts) {
  size_t n = r->at.n;
  switch (r->function) {
  case EVAL_VALUE:
  case EVAL_CONJUGATE:
    return 1;
  case EVAL_HESSIAN:
    return has_matrix(r) ? n * n : n;
  case EVAL_MIRROR_STEP:
    return parts * n;
  default:
    return n;
  }
}

/* One attempt. UNDECIDED leaves results that say nothing. */
static phibal_status attempt(const eval_request *r, mpfr_prec_t precision, eval_answer *answer) {
  phibal_enclosure_vector_clear(answer->result, answer->count);
  answer->precision = precision;
  answer->all_decided = false;
  answer->result = phibal_enclosure_vector(answer->count, precision);
  if (!answer->result)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu results", answer->count);
  TRY(evaluate(r, precision, answer));
  decide(r, answer);
  return PHIBAL_OK;
}

phibal_status eval_answer_find(const eval_request *r, eval_answer *answer) {
  size_t count = count_results(r, count_parts(r));
  *answer = (eval_answer){.n = r->at.n,
                          .count = count,
                          .matrix = r->function == EVAL_HESSIAN && count > r->at.n,
                          .parts = count_parts(r),
                          .rounded = calloc(count, sizeof(double)),
                          .decided = calloc(count, sizeof(bool))};
  if (!answer->rounded || !answer->decided)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu results", count);
  mpfr_prec_t cap = eval_precision_cap(r);
  for (mpfr_prec_t precision = first_precision(r);; precision *= 2) {
    bool last = precision >= cap;
    phibal_status status = attempt(r, last ? cap : precision, answer);
    /* grad phi* is not found: what else there is stands alone. */
    if (status == PHIBAL_ERROR_UNSUPPORTED && r->phi && r->function == EVAL_MIRROR_STEP) {
      phibal_enclosure_vector_clear(answer->result, answer->count);
      answer->result = NULL;
      answer->parts = EVAL_NEXT_ARGMAX;
      answer->count = count_results(r, answer->parts);
      status = attempt(r, last ? cap : precision, answer);
    }
    /* An expression cannot tell "outside" from "too wide to tell". */
    bool may_be_wide = r->phi && status == PHIBAL_ERROR_DOMAIN;
    if (status != PHIBAL_OK && status != PHIBAL_ERROR_UNDECIDED && !may_be_wide) return status;
    if (last || answer->all_decided) return status;
  }
}

void eval_answer_clear(eval_answer *answer) {
  phibal_enclosure_vector_clear(answer->result, answer->count);
  free(answer->rounded);
  free(answer->decided);
}

/* distance grows to hold the distances between members of x and y. */
static void widen_distance(phibal_enclosure *distance, const phibal_enclosure *x,
                           const phibal_enclosure *y, phibal_enclosure *t) {
  if (phibal_enclosure_sub(t, x, y) != PHIBAL_OK) mpfr_set_inf(t->hi, 1);
  phibal_enclosure_abs(t, t);
  mpfr_max(distance->lo, distance->lo, t->lo, MPFR_RNDD);
  mpfr_max(distance->hi, distance->hi, t->hi, MPFR_RNDU);
}

void eval_mirror_distance(const eval_answer *answer, eval_mirror_part a, eval_mirror_part b,
                          phibal_enclosure *distance) {
  phibal_enclosure t;
  phibal_enclosure_init(&t, answer->precision);
  phibal_enclosure_set_si(distance, 0);
  for (size_t e = 0; e < answer->n; e++)
    widen_distance(distance, &answer->result[a * answer->n + e], &answer->result[b * answer->n + e],
                   &t);
  phibal_enclosure_clear(&t);
}
