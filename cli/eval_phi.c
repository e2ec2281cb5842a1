/* `phibal eval` for a potential from a file. */
#include "eval.h"
#include "audit/conjugate.h"
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

phibal_status eval_phi_open(const char *file, eval_request *r) {
  TRY(phi_read_file(file, &r->phi));
  r->name = r->phi->name;
  r->parameters = r->phi->parameters;
  for (int i = 0; i < r->parameters; i++) {
    eval_parameter *p = &r->parameter[i];
    p->name = r->phi->parameter[i].name;
    if (gmp_snprintf(p->text, sizeof p->text, "%Qd", r->phi->parameter[i].fallback) >=
        (int)sizeof p->text)
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: the default of %s is too long; give it "
                               "with --param",
                               file, p->name);
  }
  return PHIBAL_OK;
}

/* z[i, j] += sum_ab second[a, b] slope[a, i] slope[b, j]. */
static phibal_status add_coupling(size_t n, int sums, const phibal_enclosure *second,
                                  const phibal_enclosure *slope, phibal_enclosure *t,
                                  phibal_enclosure *z) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      for (int a = 0; a < sums; a++)
        for (int b = 0; b < sums; b++) {
          TRY(phibal_enclosure_mul(t, &slope[(size_t)a * n + i], &slope[(size_t)b * n + j]));
          TRY(phibal_enclosure_mul(t, t, &second[a * sums + b]));
          TRY(phibal_enclosure_add(&z[i * n + j], &z[i * n + j], t));
        }
  return PHIBAL_OK;
}

/* The diagonal where phi is separable, else the matrix, row by row. */
static phibal_status hessian(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                             const phibal_enclosure *at, bool matrix, mpfr_prec_t precision,
                             phibal_enclosure *z) {
  int sums = phi->value.sums;
  size_t squares = (size_t)(sums * sums), slopes = (size_t)sums * n;
  phibal_enclosure *diagonal = phibal_enclosure_vector(n, precision);
  phibal_enclosure *second = phibal_enclosure_vector(squares, precision);
  phibal_enclosure *slope = phibal_enclosure_vector(slopes, precision), t;
  phibal_enclosure_init(&t, precision);
  phibal_status status =
      diagonal && second && slope
          ? phi_hessian(phi, parameters, n, at, diagonal, second, slope)
          : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a Hessian of %zu", n);
  for (size_t i = 0; status == PHIBAL_OK && i < n; i++)
    phibal_enclosure_set(&z[matrix ? i * n + i : i], &diagonal[i]);
  if (status == PHIBAL_OK && matrix) status = add_coupling(n, sums, second, slope, &t, z);
  phibal_enclosure_clear(&t);
  phibal_enclosure_vector_clear(diagonal, n);
  phibal_enclosure_vector_clear(second, squares);
  phibal_enclosure_vector_clear(slope, slopes);
  return status;
}

/* (M1), (M2); and the state whose price is q', which the proximal objective's gradient compares
   with the average: 0 where they are equal. */
static phibal_status mirror_step(const eval_request *r, const phibal_enclosure *parameters,
                                 const phibal_enclosure *m, const phibal_enclosure *loads,
                                 const phibal_enclosure *eta, mpfr_prec_t precision, size_t parts,
                                 phibal_enclosure *z) {
  size_t n = r->at.n;
  phibal_enclosure *next = &z[EVAL_NEXT_AVERAGE * n], t;
  if (mpfr_sgn(eta->lo) <= 0 || mpfr_cmp_ui(eta->hi, 1) > 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "eta must be in (0, 1]; it is %s", r->eta);
  phibal_enclosure_init(&t, precision);
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; status == PHIBAL_OK && e < n; e++) {
    /* m + eta (P - m): eta is met once. */
    status = phibal_enclosure_sub(&t, &loads[e], &m[e]);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&t, &t, eta);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(&next[e], &m[e], &t);
  }
  phibal_enclosure_clear(&t);
  TRY(status);
  TRY(phi_gradient(r->phi, parameters, n, next, &z[EVAL_PRICE_AVERAGE * n]));
  if (parts <= EVAL_NEXT_ARGMAX) return PHIBAL_OK;
  status = audit_conjugate_gradient_eval(r->phi, parameters, n, &z[EVAL_PRICE_AVERAGE * n],
                                         &z[EVAL_NEXT_ARGMAX * n]);
  return status == PHIBAL_ERROR_DOMAIN
             ? phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s", phibal_status_message())
             : status;
}

typedef struct exact_numbers {
  size_t n;
  mpq_t *q;
  bool all; /* were read */
} exact_numbers;

/* What `text(i)` says, as far as that lies in its enclosure. */
static void exact_read(exact_numbers *z, size_t n,
                       const char *(*text)(const eval_request *, size_t), const eval_request *r,
                       const phibal_enclosure *enclosed) {
  *z = (exact_numbers){.n = n, .q = calloc(n ? n : 1, sizeof *z->q)};
  z->all = z->q != NULL;
  for (size_t i = 0; z->q && i < n; i++) {
    mpq_init(z->q[i]);
    z->all = z->all && eval_read_exactly(text(r, i), z->q[i]) &&
             mpfr_cmp_q(enclosed[i].lo, z->q[i]) <= 0 && mpfr_cmp_q(enclosed[i].hi, z->q[i]) >= 0;
  }
}

static void exact_clear(exact_numbers *z) {
  for (size_t i = 0; z->q && i < z->n; i++) mpq_clear(z->q[i]);
  free(z->q);
}

static const char *price_text(const eval_request *r, size_t i) {
  return r->at.text[i];
}

static const char *parameter_text(const eval_request *r, size_t i) {
  return r->parameter[i].text;
}

/* As the file gives it; where it gives none, by maximising. The dual domain is decided for the
   numbers as they were written, where they are rational. */
static phibal_status conjugate(const eval_request *r, const phibal_enclosure *parameters,
                               const phibal_enclosure *y, phibal_enclosure *z) {
  exact_numbers price, parameter;
  exact_read(&price, r->at.n, price_text, r, y);
  exact_read(&parameter, (size_t)r->parameters, parameter_text, r, parameters);
  const mpq_t *exact = price.all ? (const mpq_t *)price.q : NULL;
  phibal_status status;
  if (!r->phi->conjugate.expression)
    status = audit_conjugate_eval(r->phi, parameters, r->at.n, y, exact, z);
  else if (exact)
    status = phi_given_conjugate_exactly(r->phi, parameters,
                                         parameter.all ? (const mpq_t *)parameter.q : NULL, r->at.n,
                                         y, exact, z);
  else
    status = phi_given_conjugate(r->phi, parameters, r->at.n, y, z);
  exact_clear(&price);
  exact_clear(&parameter);
  return status;
}

phibal_status eval_phi_apply(const eval_request *r, const phibal_enclosure *parameters,
                             const phibal_enclosure *at, const phibal_enclosure *loads,
                             const phibal_enclosure *eta, mpfr_prec_t precision, size_t parts,
                             phibal_enclosure *z) {
  size_t n = r->at.n;
  switch (r->function) {
  case EVAL_VALUE:
    return phi_value(r->phi, parameters, n, at, z);
  case EVAL_GRADIENT:
    return phi_gradient(r->phi, parameters, n, at, z);
  case EVAL_HESSIAN:
    return hessian(r->phi, parameters, n, at, !phi_separable(r->phi), precision, z);
  case EVAL_CONJUGATE:
    return conjugate(r, parameters, at, z);
  case EVAL_CONJUGATE_GRADIENT:
    return audit_conjugate_gradient_eval(r->phi, parameters, n, at, z);
  case EVAL_MIRROR_STEP:
    break;
  }
  return mirror_step(r, parameters, at, loads, eta, precision, parts, z);
}
