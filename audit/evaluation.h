/* What jets of one variable and derivatives in many variables share. */
#ifndef PHIBAL_AUDIT_EVALUATION_H
#define PHIBAL_AUDIT_EVALUATION_H

#include "functions.h"
#include "phi.h"

/* With so many bits more than results have, and than x has, everything is computed. */
enum { EVALUATION_GUARD = 64 };

static inline mpfr_prec_t evaluation_precision(const phibal_enclosure *result,
                                               const phibal_enclosure *x) {
  mpfr_prec_t most = mpfr_get_prec(result->lo);
  if (x && mpfr_get_prec(x->lo) > most) most = mpfr_get_prec(x->lo);
  if (x && mpfr_get_prec(x->hi) > most) most = mpfr_get_prec(x->hi);
  return most > MPFR_PREC_MAX - EVALUATION_GUARD ? MPFR_PREC_MAX : most + EVALUATION_GUARD;
}

/* The whole number that an exponent is written as, or null. */
static inline mpz_srcptr evaluation_integer(const expression *exponent) {
  const bool whole =
      exponent->kind == EXPRESSION_NUMBER && mpz_cmp_ui(mpq_denref(exponent->number), 1) == 0;
  return whole ? mpq_numref(exponent->number) : NULL;
}

/* As phi_jet_eval, with derivatives up to `order` only; says why a value is not defined. */
void evaluation_jet(const expression *e, const phibal_enclosure *parameters,
                    const phibal_enclosure *sums, const phibal_enclosure *x, int order, phi_jet *j);

/* z = z + n a b c, with c null for 1; false outside the domain. */
bool evaluation_add_products(phibal_enclosure *z, long n, const phibal_enclosure *a,
                             const phibal_enclosure *b, const phibal_enclosure *c);
/* z = z + a b^n */
bool evaluation_add_power(phibal_enclosure *z, const phibal_enclosure *a, const phibal_enclosure *b,
                          unsigned long n);
/* Puts "line:column: " of the node before the message of the failure just met. */
void evaluation_locate(const expression *e);
/* Puts "coordinate 3 of 8: " before it, for e = 2 of n = 8; the status. */
phibal_status evaluation_name_coordinate(phibal_status status, size_t e, size_t n);

#endif
