/* Contexts, canonical form, and the arithmetic of quotients. */
#include "symbolic_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const quotient *symbolic_fail(symbolic *s, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(s->reason, sizeof s->reason, format, list);
  va_end(list);
  return NULL;
}

const char *symbolic_reason(const symbolic *s) {
  return s->reason;
}

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool symbolic_spend(symbolic *s, long cost) {
  if (s->effort > 0) s->effort -= cost;
  if (processor_seconds() > s->last) s->effort = 0;
  if (s->effort > 0) return true;
  symbolic_fail(s, "the effort for exact algebra is spent");
  return false;
}

symbolic *symbolic_create(const audit_domain *domain) {
  symbolic *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  domain_init(&s->domain);
  domain_range_set(&s->domain.x, &domain->x);
  domain_range_set(&s->domain.experts, &domain->experts);
  s->domain.parameters = domain->parameters;
  for (int i = 0; i < domain->parameters; i++) {
    domain_range_set(&s->domain.parameter[i], &domain->parameter[i]);
    s->domain.name[i] = domain->name[i];
  }
  fmpz_mpoly_ctx_init(s->ring, SYMBOLIC_ATOMS, ORD_LEX);
  s->effort = SYMBOLIC_EFFORT;
  s->last = processor_seconds() + SYMBOLIC_SECONDS;
  return s;
}

void symbolic_destroy(symbolic *s) {
  if (!s) return;
  while (s->all) {
    quotient *next = s->all->next;
    fmpz_mpoly_clear(s->all->numerator, s->ring);
    fmpz_mpoly_clear(s->all->denominator, s->ring);
    free(s->all);
    s->all = next;
  }
  for (int i = 0; i < s->atoms; i++) domain_range_clear(&s->atom[i].range);
  domain_clear(&s->domain);
  fmpz_mpoly_ctx_clear(s->ring);
  free(s);
  flint_cleanup();
}

/* ---------- canonical form ---------- */

/* Small enough to go on with. */
static bool within_limits(symbolic *s, const fmpz_mpoly_t p) {
  slong degrees[SYMBOLIC_ATOMS];
  slong length = fmpz_mpoly_length(p, s->ring);
  if (length > SYMBOLIC_TERMS || fmpz_mpoly_max_bits(p) > SYMBOLIC_HEIGHT ||
      fmpz_mpoly_max_bits(p) < -SYMBOLIC_HEIGHT) {
    symbolic_fail(s, "the expression grows too large for exact algebra");
    return false;
  }
  if (length == 0) return true;
  fmpz_mpoly_degrees_si(degrees, p, s->ring);
  for (int i = 0; i < SYMBOLIC_ATOMS; i++)
    if (degrees[i] > SYMBOLIC_DEGREE) {
      symbolic_fail(s, "the expression grows too large for exact algebra");
      return false;
    }
  return symbolic_spend(s, 1 + length / 8);
}

/* p and *scale: p_new / scale_new = p / scale with every `atom^power` of that atom replaced. */
static bool reduce_atom(symbolic *s, fmpz_mpoly_t p, fmpz_mpoly_t scale, int atom) {
  const symbolic_atom *a = &s->atom[atom];
  slong degree = fmpz_mpoly_degree_si(p, atom, s->ring);
  if (degree < a->power) return true;
  slong most = degree / a->power;
  fmpz_mpoly_univar_t parts;
  fmpz_mpoly_t total, term, factor;
  fmpz_mpoly_univar_init(parts, s->ring);
  fmpz_mpoly_init(total, s->ring);
  fmpz_mpoly_init(term, s->ring);
  fmpz_mpoly_init(factor, s->ring);
  fmpz_mpoly_to_univar(parts, p, atom, s->ring);
  bool good = true;
  for (slong i = 0; good && i < fmpz_mpoly_univar_length(parts, s->ring); i++) {
    slong e = fmpz_mpoly_univar_get_term_exp_si(parts, i, s->ring), k = e / a->power;
    fmpz_mpoly_univar_get_term_coeff(term, parts, i, s->ring);
    fmpz_mpoly_gen(factor, atom, s->ring);
    fmpz_mpoly_pow_ui(factor, factor, (ulong)(e % a->power), s->ring);
    fmpz_mpoly_mul(term, term, factor, s->ring);
    fmpz_mpoly_pow_ui(factor, a->value->numerator, (ulong)k, s->ring);
    good = within_limits(s, factor);
    if (!good) break;
    fmpz_mpoly_mul(term, term, factor, s->ring);
    fmpz_mpoly_pow_ui(factor, a->value->denominator, (ulong)(most - k), s->ring);
    good = within_limits(s, factor) && within_limits(s, term);
    if (!good) break;
    fmpz_mpoly_mul(term, term, factor, s->ring);
    fmpz_mpoly_add(total, total, term, s->ring);
    good = within_limits(s, total);
  }
  if (good) {
    fmpz_mpoly_swap(p, total, s->ring);
    fmpz_mpoly_pow_ui(factor, a->value->denominator, (ulong)most, s->ring);
    fmpz_mpoly_mul(scale, scale, factor, s->ring);
    good = within_limits(s, scale);
  }
  fmpz_mpoly_univar_clear(parts, s->ring);
  fmpz_mpoly_clear(total, s->ring);
  fmpz_mpoly_clear(term, s->ring);
  fmpz_mpoly_clear(factor, s->ring);
  return good;
}

/* Every relation, from the atoms made last down: their values hold earlier ones only. */
static bool reduce(symbolic *s, fmpz_mpoly_t p, fmpz_mpoly_t scale) {
  for (int i = s->atoms - 1; i >= 0; i--)
    if (s->atom[i].power && !reduce_atom(s, p, scale, i)) return false;
  return true;
}

/* The power of the atom that divides p. */
static slong power_within(symbolic *s, const fmpz_mpoly_t p, int atom) {
  slong least = WORD_MAX;
  for (slong i = 0; i < fmpz_mpoly_length(p, s->ring); i++) {
    slong e = (slong)fmpz_mpoly_get_term_var_exp_ui(p, i, atom, s->ring);
    if (e < least) least = e;
  }
  return least;
}

/* No root divides d: 1/r becomes r^(q-1)/r^q. */
static bool clear_roots(symbolic *s, fmpz_mpoly_t n, fmpz_mpoly_t d) {
  bool good = true;
  fmpz_mpoly_t g, scale;
  fmpz_mpoly_init(g, s->ring);
  fmpz_mpoly_init(scale, s->ring);
  for (int i = s->atoms - 1; good && i >= 0; i--) {
    if (s->atom[i].kind != ATOM_ROOT) continue;
    slong k = power_within(s, d, i);
    if (k == 0) continue;
    fmpz_mpoly_gen(g, i, s->ring);
    fmpz_mpoly_pow_ui(g, g, (ulong)(s->atom[i].power - k), s->ring);
    fmpz_mpoly_mul(n, n, g, s->ring);
    fmpz_mpoly_mul(d, d, g, s->ring);
    fmpz_mpoly_one(scale, s->ring);
    good = reduce(s, d, scale);
    fmpz_mpoly_mul(n, n, scale, s->ring);
    fmpz_mpoly_one(scale, s->ring);
    good = good && reduce(s, n, scale);
    fmpz_mpoly_mul(d, d, scale, s->ring);
  }
  fmpz_mpoly_clear(g, s->ring);
  fmpz_mpoly_clear(scale, s->ring);
  return good;
}

static bool cancel(symbolic *s, fmpz_mpoly_t n, fmpz_mpoly_t d) {
  fmpz_mpoly_t g, a, b;
  fmpz_mpoly_init(g, s->ring);
  fmpz_mpoly_init(a, s->ring);
  fmpz_mpoly_init(b, s->ring);
  bool good = within_limits(s, n) && within_limits(s, d) &&
              fmpz_mpoly_gcd_cofactors(g, a, b, n, d, s->ring);
  if (good) {
    fmpz_mpoly_swap(n, a, s->ring);
    fmpz_mpoly_swap(d, b, s->ring);
    if (fmpz_sgn(fmpz_mpoly_leadcoeff(d)) < 0) {
      fmpz_mpoly_neg(n, n, s->ring);
      fmpz_mpoly_neg(d, d, s->ring);
    }
  }
  fmpz_mpoly_clear(g, s->ring);
  fmpz_mpoly_clear(a, s->ring);
  fmpz_mpoly_clear(b, s->ring);
  return good;
}

static bool canonical(symbolic *s, fmpz_mpoly_t n, fmpz_mpoly_t d) {
  fmpz_mpoly_t up, down;
  fmpz_mpoly_init(up, s->ring);
  fmpz_mpoly_init(down, s->ring);
  fmpz_mpoly_one(up, s->ring);
  fmpz_mpoly_one(down, s->ring);
  bool good = within_limits(s, n) && within_limits(s, d) && reduce(s, n, down) && reduce(s, d, up);
  if (good && fmpz_mpoly_is_zero(d, s->ring)) {
    symbolic_fail(s, "a division by 0");
    good = false;
  }
  if (good) {
    fmpz_mpoly_mul(n, n, up, s->ring);
    fmpz_mpoly_mul(d, d, down, s->ring);
    good = cancel(s, n, d) && clear_roots(s, n, d) && cancel(s, n, d);
  }
  fmpz_mpoly_clear(up, s->ring);
  fmpz_mpoly_clear(down, s->ring);
  return good;
}

const quotient *symbolic_make(symbolic *s, const fmpz_mpoly_t numerator,
                              const fmpz_mpoly_t denominator) {
  quotient *q = malloc(sizeof *q);
  if (!q) return symbolic_fail(s, "memory is exhausted");
  fmpz_mpoly_init(q->numerator, s->ring);
  fmpz_mpoly_init(q->denominator, s->ring);
  q->next = s->all;
  s->all = q;
  fmpz_mpoly_set(q->numerator, numerator, s->ring);
  fmpz_mpoly_set(q->denominator, denominator, s->ring);
  return canonical(s, q->numerator, q->denominator) ? q : NULL;
}

const quotient *symbolic_polynomial(symbolic *s, const fmpz_mpoly_t p) {
  fmpz_mpoly_t one;
  fmpz_mpoly_init(one, s->ring);
  fmpz_mpoly_one(one, s->ring);
  const quotient *q = symbolic_make(s, p, one);
  fmpz_mpoly_clear(one, s->ring);
  return q;
}

/* ---------- constants and tests ---------- */

const quotient *symbolic_rational(symbolic *s, mpq_srcptr value) {
  if (mpz_sizeinbase(mpq_numref(value), 2) > SYMBOLIC_HEIGHT ||
      mpz_sizeinbase(mpq_denref(value), 2) > SYMBOLIC_HEIGHT)
    return symbolic_fail(s, "a number is too long for exact algebra");
  fmpz_t z;
  fmpz_mpoly_t n, d;
  fmpz_init(z);
  fmpz_mpoly_init(n, s->ring);
  fmpz_mpoly_init(d, s->ring);
  fmpz_set_mpz(z, mpq_numref(value));
  fmpz_mpoly_set_fmpz(n, z, s->ring);
  fmpz_set_mpz(z, mpq_denref(value));
  fmpz_mpoly_set_fmpz(d, z, s->ring);
  const quotient *q = symbolic_make(s, n, d);
  fmpz_mpoly_clear(n, s->ring);
  fmpz_mpoly_clear(d, s->ring);
  fmpz_clear(z);
  return q;
}

const quotient *symbolic_integer(symbolic *s, long n) {
  mpq_t value;
  mpq_init(value);
  mpq_set_si(value, n, 1);
  const quotient *q = symbolic_rational(s, value);
  mpq_clear(value);
  return q;
}

bool symbolic_is_zero(const symbolic *s, const quotient *a) {
  return a && fmpz_mpoly_is_zero(a->numerator, s->ring);
}

bool symbolic_equal(const symbolic *s, const quotient *a, const quotient *b) {
  return a && b && fmpz_mpoly_equal(a->numerator, b->numerator, s->ring) &&
         fmpz_mpoly_equal(a->denominator, b->denominator, s->ring);
}

bool symbolic_is_rational(const symbolic *s, const quotient *a, mpq_t value) {
  if (!a || !fmpz_mpoly_is_fmpz(a->numerator, s->ring) ||
      !fmpz_mpoly_is_fmpz(a->denominator, s->ring))
    return false;
  fmpz_t z;
  fmpz_init(z);
  fmpz_mpoly_get_fmpz(z, a->numerator, s->ring);
  fmpz_get_mpz(mpq_numref(value), z);
  fmpz_mpoly_get_fmpz(z, a->denominator, s->ring);
  fmpz_get_mpz(mpq_denref(value), z);
  fmpz_clear(z);
  mpq_canonicalize(value);
  return true;
}

/* ---------- arithmetic ---------- */

/* (an bd + sign ad bn) / (ad bd) */
static const quotient *add_signed(symbolic *s, const quotient *a, const quotient *b, bool minus) {
  if (!a || !b) return NULL;
  fmpz_mpoly_t n, d, t;
  fmpz_mpoly_init(n, s->ring);
  fmpz_mpoly_init(d, s->ring);
  fmpz_mpoly_init(t, s->ring);
  fmpz_mpoly_mul(n, a->numerator, b->denominator, s->ring);
  fmpz_mpoly_mul(t, a->denominator, b->numerator, s->ring);
  if (minus)
    fmpz_mpoly_sub(n, n, t, s->ring);
  else
    fmpz_mpoly_add(n, n, t, s->ring);
  fmpz_mpoly_mul(d, a->denominator, b->denominator, s->ring);
  const quotient *q = symbolic_make(s, n, d);
  fmpz_mpoly_clear(n, s->ring);
  fmpz_mpoly_clear(d, s->ring);
  fmpz_mpoly_clear(t, s->ring);
  return q;
}

const quotient *symbolic_add(symbolic *s, const quotient *a, const quotient *b) {
  return add_signed(s, a, b, false);
}

const quotient *symbolic_subtract(symbolic *s, const quotient *a, const quotient *b) {
  return add_signed(s, a, b, true);
}

/* (an cn) / (ad cd) */
static const quotient *product(symbolic *s, const fmpz_mpoly_t an, const fmpz_mpoly_t ad,
                               const fmpz_mpoly_t cn, const fmpz_mpoly_t cd) {
  fmpz_mpoly_t n, d;
  fmpz_mpoly_init(n, s->ring);
  fmpz_mpoly_init(d, s->ring);
  fmpz_mpoly_mul(n, an, cn, s->ring);
  fmpz_mpoly_mul(d, ad, cd, s->ring);
  const quotient *q = symbolic_make(s, n, d);
  fmpz_mpoly_clear(n, s->ring);
  fmpz_mpoly_clear(d, s->ring);
  return q;
}

const quotient *symbolic_multiply(symbolic *s, const quotient *a, const quotient *b) {
  if (!a || !b) return NULL;
  return product(s, a->numerator, a->denominator, b->numerator, b->denominator);
}

const quotient *symbolic_divide(symbolic *s, const quotient *a, const quotient *b) {
  if (!a || !b) return NULL;
  return product(s, a->numerator, a->denominator, b->denominator, b->numerator);
}

const quotient *symbolic_power(symbolic *s, const quotient *a, long n) {
  if (!a) return NULL;
  bool number = fmpz_mpoly_is_fmpz(a->numerator, s->ring) &&
                fmpz_mpoly_is_fmpz(a->denominator, s->ring); /* has a height, and no degree */
  long most = number ? SYMBOLIC_HEIGHT : SYMBOLIC_DEGREE;
  if (n > most || n < -most) return symbolic_fail(s, "an exponent beyond %ld", most);
  const quotient *result = symbolic_integer(s, 1), *square = a;
  for (unsigned long k = (unsigned long)labs(n); k && result; k >>= 1) {
    if (k & 1) result = symbolic_multiply(s, result, square);
    if (k > 1) square = symbolic_multiply(s, square, square);
  }
  return n < 0 ? symbolic_divide(s, symbolic_integer(s, 1), result) : result;
}

/* ---------- what a quotient is made of ---------- */

uint32_t symbolic_used(const symbolic *s, const fmpz_mpoly_t p) {
  slong degrees[SYMBOLIC_ATOMS];
  if (fmpz_mpoly_is_zero(p, s->ring)) return 0;
  fmpz_mpoly_degrees_si(degrees, p, s->ring);
  uint32_t used = 0;
  for (int i = 0; i < s->atoms; i++)
    if (degrees[i] > 0) used |= UINT32_C(1) << i;
  return used;
}

uint32_t symbolic_bases(const symbolic *s, const fmpz_mpoly_t p) {
  uint32_t used = symbolic_used(s, p), bases = 0;
  for (int i = 0; i < s->atoms; i++)
    if (used >> i & 1) bases |= s->atom[i].bases;
  return bases;
}

uint32_t symbolic_quotient_bases(const symbolic *s, const quotient *a) {
  return a ? symbolic_bases(s, a->numerator) | symbolic_bases(s, a->denominator) : 0;
}

static bool holds(const symbolic *s, const quotient *a, atom_kind kind) {
  uint32_t bases = symbolic_quotient_bases(s, a);
  for (int i = 0; i < s->atoms; i++)
    if ((bases >> i & 1) && s->atom[i].kind == kind) return true;
  return false;
}

bool symbolic_holds_variable(const symbolic *s, const quotient *a) {
  return holds(s, a, ATOM_VARIABLE);
}

bool symbolic_holds_sum(const symbolic *s, const quotient *a) {
  return holds(s, a, ATOM_SUM);
}

bool symbolic_factor(symbolic *s, fmpz_mpoly_factor_t factors, const fmpz_mpoly_t p) {
  slong length = fmpz_mpoly_length(p, s->ring);
  return length > 0 && length <= SYMBOLIC_FACTORED && symbolic_spend(s, 1 + length) &&
         fmpz_mpoly_factor(factors, p, s->ring);
}
