/* Enclosures of quotients, and the ranges of atoms. */
#include "functions.h"
#include "symbolic_internal.h"
#include <stdlib.h>

void symbolic_point_init(symbolic_point *p, mpfr_prec_t precision) {
  for (int i = 0; i < SYMBOLIC_ATOMS; i++) phibal_enclosure_init(&p->value[i], precision);
  p->known = 0;
}

void symbolic_point_clear(symbolic_point *p) {
  for (int i = 0; i < SYMBOLIC_ATOMS; i++) phibal_enclosure_clear(&p->value[i]);
}

static bool enclose_root(phibal_enclosure *z, const phibal_enclosure *u, int degree) {
  if (mpfr_sgn(u->hi) < 0) return false;
  if (mpfr_sgn(u->lo) > 0)
    mpfr_rootn_ui(z->lo, u->lo, (unsigned long)degree, MPFR_RNDD);
  else
    mpfr_set_zero(z->lo, 1); /* the argument is known to be positive */
  mpfr_rootn_ui(z->hi, u->hi, (unsigned long)degree, MPFR_RNDU);
  return true;
}

static bool enclose_log(phibal_enclosure *z, const phibal_enclosure *u) {
  if (mpfr_sgn(u->hi) <= 0) return false;
  if (mpfr_sgn(u->lo) > 0)
    mpfr_log(z->lo, u->lo, MPFR_RNDD);
  else
    mpfr_set_inf(z->lo, -1);
  mpfr_log(z->hi, u->hi, MPFR_RNDU);
  return true;
}

static bool enclose_quotient(symbolic *s, const quotient *a, symbolic_point *at,
                             phibal_enclosure *value);

/* exp(c log w) for one logarithm and a c that is enclosed: w^c, which also holds where w may be 0.
 */
static bool enclose_power(symbolic *s, const quotient *k, symbolic_point *at, phibal_enclosure *z) {
  if (fmpz_mpoly_length(k->numerator, s->ring) != 1) return false;
  for (int v = 0; v < s->atoms; v++) {
    if (s->atom[v].kind != ATOM_LOG || fmpz_mpoly_degree_si(k->numerator, v, s->ring) != 1)
      continue;
    fmpz_mpoly_t g, c;
    phibal_enclosure w, d;
    fmpz_mpoly_init(g, s->ring);
    fmpz_mpoly_init(c, s->ring);
    phibal_enclosure_init(&w, mpfr_get_prec(z->lo));
    phibal_enclosure_init(&d, mpfr_get_prec(z->lo));
    fmpz_mpoly_gen(g, v, s->ring);
    bool good = fmpz_mpoly_divides(c, k->numerator, g, s->ring) &&
                symbolic_enclose_polynomial(s, c, at, z) &&
                symbolic_enclose_polynomial(s, k->denominator, at, &d) &&
                phibal_enclosure_div(z, z, &d) == PHIBAL_OK &&
                enclose_quotient(s, s->atom[v].argument, at, &w);
    if (good && mpfr_sgn(w.lo) < 0) mpfr_set_zero(w.lo, 1); /* w > 0 is known */
    good = good && mpfr_sgn(w.hi) >= 0 && phibal_enclosure_pow(z, &w, z) == PHIBAL_OK;
    fmpz_mpoly_clear(g, s->ring);
    fmpz_mpoly_clear(c, s->ring);
    phibal_enclosure_clear(&w);
    phibal_enclosure_clear(&d);
    return good;
  }
  return false;
}

/* Cuts z down to a range that is known to hold it. */
static void intersect(phibal_enclosure *z, const phi_range *range) {
  phibal_enclosure r;
  phibal_enclosure_init(&r, mpfr_get_prec(z->lo));
  domain_range_enclosure(range, &r);
  if (phibal_enclosure_overlaps(z, &r)) {
    if (mpfr_cmp(r.lo, z->lo) > 0) mpfr_swap(r.lo, z->lo);
    if (mpfr_cmp(r.hi, z->hi) < 0) mpfr_swap(r.hi, z->hi);
  }
  phibal_enclosure_clear(&r);
}

static bool enclose_function(symbolic *s, const symbolic_atom *a, symbolic_point *at,
                             phibal_enclosure *z) {
  if (a->kind == ATOM_EXP && enclose_power(s, a->argument, at, z)) return true;
  phibal_enclosure u;
  phibal_enclosure_init(&u, mpfr_get_prec(z->lo));
  bool good = enclose_quotient(s, a->argument, at, &u);
  if (good) switch (a->kind) {
    case ATOM_EXP:
      phibal_enclosure_exp(z, &u);
      break;
    case ATOM_LOG:
      good = enclose_log(z, &u);
      break;
    case ATOM_ROOT:
      good = enclose_root(z, &u, a->index);
      break;
    case ATOM_COS:
      good = function_cos(z, &u) == PHIBAL_OK;
      break;
    default:
      good = function_sin(z, &u) == PHIBAL_OK;
      break;
    }
  phibal_enclosure_clear(&u);
  return good;
}

/* at->value[v]: at worst the atom's range. */
static void enclose_atom(symbolic *s, int v, symbolic_point *at) {
  uint32_t bit = UINT32_C(1) << v;
  if (at->known & bit) return;
  const symbolic_atom *a = &s->atom[v];
  phibal_enclosure *z = &at->value[v];
  if (a->argument && enclose_function(s, a, at, z))
    intersect(z, &a->range);
  else
    domain_range_enclosure(&a->range, z);
  at->known |= bit;
}

/* z = z x^n */
static bool multiply_power(phibal_enclosure *z, const phibal_enclosure *x, unsigned long n) {
  phibal_enclosure p;
  mpz_t exponent;
  phibal_enclosure_init(&p, mpfr_get_prec(z->lo));
  mpz_init_set_ui(exponent, n);
  bool good =
      function_power(&p, x, exponent) == PHIBAL_OK && phibal_enclosure_mul(z, z, &p) == PHIBAL_OK;
  mpz_clear(exponent);
  phibal_enclosure_clear(&p);
  return good;
}

bool symbolic_enclose_polynomial(symbolic *s, const fmpz_mpoly_t p, symbolic_point *at,
                                 phibal_enclosure *value) {
  slong e[SYMBOLIC_ATOMS];
  mpq_t c;
  fmpz_t z;
  phibal_enclosure term, total;
  uint32_t used = symbolic_used(s, p);
  for (int v = 0; v < s->atoms; v++)
    if (used >> v & 1) enclose_atom(s, v, at);
  mpq_init(c);
  fmpz_init(z);
  phibal_enclosure_init(&term, mpfr_get_prec(value->lo));
  phibal_enclosure_init(&total, mpfr_get_prec(value->lo));
  bool good = true;
  for (slong i = 0; good && i < fmpz_mpoly_length(p, s->ring); i++) {
    fmpz_mpoly_get_term_coeff_fmpz(z, p, i, s->ring);
    fmpz_get_mpz(mpq_numref(c), z);
    phibal_enclosure_set_q(&term, c);
    fmpz_mpoly_get_term_exp_si(e, p, i, s->ring);
    for (int v = 0; good && v < s->atoms; v++)
      if (e[v] > 0) good = multiply_power(&term, &at->value[v], (unsigned long)e[v]);
    good = good && phibal_enclosure_add(&total, &total, &term) == PHIBAL_OK;
  }
  phibal_enclosure_swap(value, &total);
  phibal_enclosure_clear(&term);
  phibal_enclosure_clear(&total);
  fmpz_clear(z);
  mpq_clear(c);
  return good;
}

static bool enclose_quotient(symbolic *s, const quotient *a, symbolic_point *at,
                             phibal_enclosure *value) {
  phibal_enclosure d;
  phibal_enclosure_init(&d, mpfr_get_prec(value->lo));
  bool good = symbolic_enclose_polynomial(s, a->numerator, at, value) &&
              symbolic_enclose_polynomial(s, a->denominator, at, &d) &&
              phibal_enclosure_div(value, value, &d) == PHIBAL_OK;
  phibal_enclosure_clear(&d);
  return good;
}

phibal_status symbolic_enclose(symbolic *s, const quotient *a, const phibal_enclosure *parameters,
                               const phibal_enclosure *sums, const phibal_enclosure *experts,
                               const phibal_enclosure *x, phibal_enclosure *value) {
  if (!a) return phibal_status_set(PHIBAL_ERROR_DOMAIN, "symbolic: no such quotient");
  symbolic_point at;
  symbolic_point_init(&at, mpfr_get_prec(value->lo));
  for (int v = 0; v < s->atoms; v++) {
    const symbolic_atom *b = &s->atom[v];
    const phibal_enclosure *given = b->kind == ATOM_VARIABLE  ? x
                                    : b->kind == ATOM_EXPERTS ? experts
                                    : b->kind == ATOM_PARAMETER && parameters
                                        ? &parameters[b->index]
                                    : b->kind == ATOM_SUM && sums ? &sums[b->index]
                                                                  : NULL;
    if (!given) continue;
    phibal_enclosure_set(&at.value[v], given);
    at.known |= UINT32_C(1) << v;
  }
  bool good = enclose_quotient(s, a, &at, value);
  symbolic_point_clear(&at);
  return good ? PHIBAL_OK
              : phibal_status_set(PHIBAL_ERROR_DOMAIN, "symbolic: not enclosed on this box");
}

/* ---------- the ranges of atoms ---------- */

static void end_at(phi_end *end, long value, bool closed) {
  end->infinite = 0;
  end->closed = closed;
  mpq_set_si(end->value, value, 1);
}

/* Above or below 1 (exp: of 0), where the argument is above or below. */
static void bound_at(symbolic *s, phi_range *range, const quotient *gap, long value) {
  unsigned sign = symbolic_sign_at_depth(s, gap, 2);
  if (sign == SIGN_ANY || !gap) return;
  if (!(sign & SIGN_NEGATIVE)) end_at(&range->lo, value, (sign & SIGN_ZERO) != 0);
  if (!(sign & SIGN_POSITIVE)) end_at(&range->hi, value, (sign & SIGN_ZERO) != 0);
}

/* Puts `value`, rounded outward to few bits, for an end where it says more. */
static void tighten_end(phi_end *end, mpfr_ptr value, bool low) {
  enum { BITS = 20, FAR = 200 }; /* ends of long numbers serve nobody */
  mpfr_prec_round(value, BITS, low ? MPFR_RNDD : MPFR_RNDU);
  if (!mpfr_number_p(value) || (mpfr_regular_p(value) && labs((long)mpfr_get_exp(value)) > FAR))
    return;
  mpq_t q;
  mpq_init(q);
  mpfr_get_q(q, value);
  int order = mpq_cmp(q, end->value);
  if (end->infinite || (low ? order > 0 : order < 0)) {
    end->infinite = 0;
    end->closed = true;
    mpq_set(end->value, q);
  }
  mpq_clear(q);
}

/* Ends from an enclosure over all ranges. */
static void tighten(symbolic *s, int v) {
  symbolic_point at;
  symbolic_point_init(&at, SYMBOLIC_PRECISION);
  enclose_atom(s, v, &at);
  tighten_end(&s->atom[v].range.lo, at.value[v].lo, true);
  tighten_end(&s->atom[v].range.hi, at.value[v].hi, false);
  symbolic_point_clear(&at);
}

void symbolic_bound_atom(symbolic *s, int v) {
  symbolic_atom *a = &s->atom[v];
  switch (a->kind) {
  case ATOM_VARIABLE:
    domain_range_set(&a->range, &s->domain.x);
    return;
  case ATOM_PARAMETER:
    domain_range_set(&a->range, &s->domain.parameter[a->index]);
    return;
  case ATOM_EXPERTS:
    domain_range_set(&a->range, &s->domain.experts);
    return;
  case ATOM_SUM:
    return;
  case ATOM_EXP:
    end_at(&a->range.lo, 0, false);
    bound_at(s, &a->range, a->argument, 1);
    break;
  case ATOM_ROOT:
    end_at(&a->range.lo, 0, false);
    bound_at(s, &a->range, symbolic_subtract(s, a->argument, symbolic_integer(s, 1)), 1);
    break;
  case ATOM_LOG:
    bound_at(s, &a->range, symbolic_subtract(s, a->argument, symbolic_integer(s, 1)), 0);
    break;
  case ATOM_COS:
  case ATOM_SIN:
    end_at(&a->range.lo, -1, true);
    end_at(&a->range.hi, 1, true);
    break;
  }
  tighten(s, v);
}
