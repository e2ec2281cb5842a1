/* Atoms: making them, their derivatives, and exp, log and roots of quotients in them. */
#include "symbolic_internal.h"
#include <stdlib.h>

const quotient *symbolic_atom_quotient(symbolic *s, int atom) {
  if (atom < 0) return NULL;
  fmpz_mpoly_t p;
  fmpz_mpoly_init(p, s->ring);
  fmpz_mpoly_gen(p, atom, s->ring);
  const quotient *q = symbolic_polynomial(s, p);
  fmpz_mpoly_clear(p, s->ring);
  return q;
}

int symbolic_is_atom(const symbolic *s, const quotient *a) {
  if (!a || !fmpz_mpoly_is_one(a->denominator, s->ring)) return -1;
  for (int i = 0; i < s->atoms; i++)
    if (fmpz_mpoly_is_gen(a->numerator, i, s->ring)) return i;
  return -1;
}

/* The relation of a new root or sine. */
static bool relate(symbolic *s, symbolic_atom *a) {
  if (a->kind == ATOM_ROOT) {
    a->value = a->argument;
    a->power = a->index;
  } else if (a->kind == ATOM_SIN) {
    const quotient *cosine = symbolic_cos(s, a->argument);
    a->value = symbolic_subtract(s, symbolic_integer(s, 1), symbolic_multiply(s, cosine, cosine));
    if (!a->value) return false;
    a->power = 2;
  }
  return true;
}

int symbolic_atom_find(symbolic *s, atom_kind kind, int index, const quotient *argument) {
  if (kind > ATOM_EXPERTS && !argument) return -1;
  for (int i = 0; i < s->atoms; i++) {
    const symbolic_atom *a = &s->atom[i];
    if (a->kind == kind && a->index == index &&
        (!argument || symbolic_equal(s, a->argument, argument)))
      return i;
  }
  symbolic_atom atom = {.kind = kind, .index = index, .argument = argument};
  /* what it is related to gets a lower number */
  if (!relate(s, &atom)) return -1;
  if (s->atoms == SYMBOLIC_ATOMS) {
    symbolic_fail(s, "more than %d different terms that are not rational", SYMBOLIC_ATOMS);
    return -1;
  }
  int i = s->atoms++;
  atom.bases = argument ? symbolic_quotient_bases(s, argument) : UINT32_C(1) << i;
  mpq_init(atom.range.lo.value);
  mpq_init(atom.range.hi.value);
  atom.range.lo.infinite = -1;
  atom.range.hi.infinite = 1;
  s->atom[i] = atom;
  symbolic_bound_atom(s, i);
  return i;
}

const quotient *symbolic_variable(symbolic *s) {
  return symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_VARIABLE, 0, NULL));
}

/* a range that is one number */
static const quotient *single(symbolic *s, const phi_range *range) {
  if (range->lo.infinite || range->hi.infinite || !mpq_equal(range->lo.value, range->hi.value))
    return NULL;
  return symbolic_rational(s, range->lo.value);
}

const quotient *symbolic_parameter(symbolic *s, int index) {
  const quotient *number = single(s, &s->domain.parameter[index]);
  return number ? number
                : symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_PARAMETER, index, NULL));
}

const quotient *symbolic_experts(symbolic *s) {
  const quotient *number = single(s, &s->domain.experts);
  return number ? number : symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_EXPERTS, 0, NULL));
}

const quotient *symbolic_sum(symbolic *s, int index, const phi_range *range) {
  int atom = symbolic_atom_find(s, ATOM_SUM, index, NULL);
  if (atom >= 0) domain_range_set(&s->atom[atom].range, range);
  return symbolic_atom_quotient(s, atom);
}

/* ---------- derivatives ---------- */

static const quotient *atom_derivative(symbolic *s, int atom, int base) {
  if (atom == base) return symbolic_integer(s, 1);
  const symbolic_atom *a = &s->atom[atom];
  const quotient *self = symbolic_atom_quotient(s, atom), *u = a->argument,
                 *inner = symbolic_derivative_base(s, u, base);
  switch (a->kind) {
  case ATOM_EXP:
    return symbolic_multiply(s, self, inner);
  case ATOM_LOG:
    return symbolic_divide(s, inner, u);
  case ATOM_ROOT:
    return symbolic_divide(s, symbolic_multiply(s, self, inner),
                           symbolic_multiply(s, u, symbolic_integer(s, a->index)));
  case ATOM_SIN:
    return symbolic_multiply(s, symbolic_cos(s, u), inner);
  case ATOM_COS:
    return symbolic_subtract(s, symbolic_integer(s, 0),
                             symbolic_multiply(s, symbolic_sin(s, u), inner));
  default:
    return symbolic_integer(s, 0);
  }
}

static const quotient *polynomial_derivative(symbolic *s, const fmpz_mpoly_t p, int base) {
  const quotient *total = symbolic_integer(s, 0);
  uint32_t used = symbolic_used(s, p);
  fmpz_mpoly_t partial;
  fmpz_mpoly_init(partial, s->ring);
  for (int i = 0; total && i < s->atoms; i++) {
    if (!(used >> i & 1) || !(s->atom[i].bases >> base & 1)) continue;
    fmpz_mpoly_derivative(partial, p, i, s->ring);
    const quotient *outer = symbolic_polynomial(s, partial);
    total = symbolic_add(s, total, symbolic_multiply(s, outer, atom_derivative(s, i, base)));
  }
  fmpz_mpoly_clear(partial, s->ring);
  return total;
}

const quotient *symbolic_derivative_base(symbolic *s, const quotient *a, int base) {
  if (!a) return NULL;
  if (base < 0 || !(symbolic_quotient_bases(s, a) >> base & 1)) return symbolic_integer(s, 0);
  const quotient *up = polynomial_derivative(s, a->numerator, base),
                 *down = polynomial_derivative(s, a->denominator, base),
                 *d = symbolic_polynomial(s, a->denominator);
  /* n'/d - (n/d) d'/d */
  return symbolic_divide(s, symbolic_subtract(s, up, symbolic_multiply(s, a, down)), d);
}

static int base_find(const symbolic *s, atom_kind kind, int index) {
  for (int i = 0; i < s->atoms; i++)
    if (s->atom[i].kind == kind && s->atom[i].index == index) return i;
  return -1;
}

const quotient *symbolic_derivative(symbolic *s, const quotient *a) {
  return symbolic_derivative_base(s, a, base_find(s, ATOM_VARIABLE, 0));
}

const quotient *symbolic_derivative_sum(symbolic *s, const quotient *a, int sum) {
  return symbolic_derivative_base(s, a, base_find(s, ATOM_SUM, sum));
}

/* ---------- exp, log, roots ---------- */

static const quotient *integer_quotient(symbolic *s, const fmpz_t p, const fmpz_t q) {
  fmpz_mpoly_t n, d;
  fmpz_mpoly_init(n, s->ring);
  fmpz_mpoly_init(d, s->ring);
  fmpz_mpoly_set_fmpz(n, p, s->ring);
  fmpz_mpoly_set_fmpz(d, q, s->ring);
  const quotient *result = symbolic_make(s, n, d);
  fmpz_mpoly_clear(n, s->ring);
  fmpz_mpoly_clear(d, s->ring);
  return result;
}

/* w^(p/q) with w > 0: whole powers, roots of small degree, and an exponential of (p/q mod 1) log w
   for what is left, so that all w^(n + p/q) share one atom. */
static const quotient *rational_power(symbolic *s, const quotient *w, const fmpz_t p,
                                      const fmpz_t q) {
  fmpz_t whole, rest;
  fmpz_init(whole);
  fmpz_init(rest);
  fmpz_fdiv_qr(whole, rest, p, q);
  const quotient *result = NULL;
  if (fmpz_cmp_si(whole, SYMBOLIC_DEGREE) > 0 || fmpz_cmp_si(whole, -SYMBOLIC_DEGREE) < 0)
    symbolic_fail(s, "an exponent beyond %d", SYMBOLIC_DEGREE);
  else
    result = symbolic_power(s, w, (long)fmpz_get_si(whole));
  if (!fmpz_is_zero(rest)) {
    const quotient *part;
    if (fmpz_cmp_si(q, SYMBOLIC_ROOT) <= 0) {
      part = symbolic_power(s, symbolic_root(s, w, (long)fmpz_get_si(q)), (long)fmpz_get_si(rest));
    } else {
      const quotient *log = symbolic_log(s, w);
      part = symbolic_multiply(s, log, integer_quotient(s, rest, q));
      part = symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_EXP, 0, part));
    }
    result = symbolic_multiply(s, result, part);
  }
  fmpz_clear(whole);
  fmpz_clear(rest);
  return result;
}

/* exp(p/q k), k primitive with a positive first coefficient. exp(c log w) = w^c. Few powers of one
   exponential are powers of an atom; else the atom takes the number. */
static const quotient *exp_of_term(symbolic *s, const quotient *k, const fmpz_t p, const fmpz_t q) {
  enum { FEW = 24 };
  int atom = symbolic_is_atom(s, k);
  if (atom >= 0 && s->atom[atom].kind == ATOM_LOG)
    return rational_power(s, s->atom[atom].argument, p, q);
  fmpz_t one, up;
  fmpz_init_set_ui(one, 1);
  fmpz_init(up);
  bool few = fmpz_cmp_si(p, FEW) <= 0 && fmpz_cmp_si(p, -FEW) >= 0;
  fmpz_abs(up, few ? one : p);
  long power = few ? (long)fmpz_get_si(p) : fmpz_sgn(p);
  k = symbolic_multiply(s, k, integer_quotient(s, up, q));
  fmpz_clear(one);
  fmpz_clear(up);
  return symbolic_power(s, symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_EXP, 0, k)), power);
}

/* exp of sum_t c_t m_t / (d D): the product over the terms. */
const quotient *symbolic_exp(symbolic *s, const quotient *a) {
  if (!a) return NULL;
  const quotient *result = symbolic_integer(s, 1);
  fmpz_t content, p, q;
  fmpz_mpoly_t monomial, rest;
  fmpz_init(content);
  fmpz_init(p);
  fmpz_init(q);
  fmpz_mpoly_init(monomial, s->ring);
  fmpz_mpoly_init(rest, s->ring);
  _fmpz_vec_content(content, a->denominator->coeffs, a->denominator->length);
  fmpz_mpoly_set(rest, a->denominator, s->ring);
  fmpz_mpoly_scalar_divexact_fmpz(rest, rest, content, s->ring);
  for (slong i = 0; result && i < fmpz_mpoly_length(a->numerator, s->ring); i++) {
    fmpz_mpoly_get_term_coeff_fmpz(p, a->numerator, i, s->ring);
    fmpz_mpoly_get_term_monomial(monomial, a->numerator, i, s->ring);
    fmpz_gcd(q, p, content);
    fmpz_divexact(p, p, q);
    fmpz_divexact(q, content, q);
    result = symbolic_multiply(s, result, exp_of_term(s, symbolic_make(s, monomial, rest), p, q));
  }
  fmpz_mpoly_clear(monomial, s->ring);
  fmpz_mpoly_clear(rest, s->ring);
  fmpz_clear(content);
  fmpz_clear(p);
  fmpz_clear(q);
  return result;
}

/* log of a polynomial factor > 0 */
static const quotient *log_of_factor(symbolic *s, const quotient *f) {
  int atom = symbolic_is_atom(s, f);
  if (atom >= 0 && s->atom[atom].kind == ATOM_EXP) return s->atom[atom].argument;
  if (atom >= 0 && s->atom[atom].kind == ATOM_ROOT)
    return symbolic_divide(s, symbolic_log(s, s->atom[atom].argument),
                           symbolic_integer(s, s->atom[atom].index));
  mpq_t number;
  mpq_init(number);
  bool one = symbolic_is_rational(s, f, number) && mpq_cmp_ui(number, 1, 1) == 0;
  mpq_clear(number);
  if (one) return symbolic_integer(s, 0);
  return symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_LOG, 0, f));
}

/* sum_i e_i log |f_i| + log |constant|, or the logarithm of |p| whole where a factor's sign is not
   known. Right only up to the signs, which must cancel: p > 0 is known. */
static const quotient *log_of_polynomial(symbolic *s, const fmpz_mpoly_t p) {
  fmpz_mpoly_factor_t factors;
  fmpz_mpoly_t f;
  fmpz_mpoly_init(f, s->ring);
  fmpz_mpoly_factor_init(factors, s->ring);
  const quotient *total = NULL;
  if (symbolic_factor(s, factors, p) && fmpz_is_one(factors->constant_den)) {
    fmpz_t constant;
    fmpz_init(constant);
    fmpz_abs(constant, factors->constant);
    fmpz_mpoly_set_fmpz(f, constant, s->ring);
    total = log_of_factor(s, symbolic_polynomial(s, f));
    for (slong i = 0; total && i < factors->num; i++) {
      unsigned sign = symbolic_polynomial_sign(s, factors->poly + i, 1);
      if (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE) {
        total = NULL;
        break;
      }
      fmpz_mpoly_set(f, factors->poly + i, s->ring);
      if (sign == SIGN_NEGATIVE) fmpz_mpoly_neg(f, f, s->ring);
      const quotient *e = fmpz_fits_si(factors->exp + i)
                              ? symbolic_integer(s, (long)fmpz_get_si(factors->exp + i))
                              : NULL;
      total = symbolic_add(s, total,
                           symbolic_multiply(s, e, log_of_factor(s, symbolic_polynomial(s, f))));
    }
    fmpz_clear(constant);
  }
  fmpz_mpoly_factor_clear(factors, s->ring);
  fmpz_mpoly_clear(f, s->ring);
  return total;
}

const quotient *symbolic_log(symbolic *s, const quotient *a) {
  if (!a) return NULL;
  if (symbolic_sign_at_depth(s, a, 1) != SIGN_POSITIVE)
    return symbolic_fail(s, "a logarithm of what is not proved positive");
  const quotient *up = log_of_polynomial(s, a->numerator),
                 *down = up ? log_of_polynomial(s, a->denominator) : NULL;
  const quotient *split = symbolic_subtract(s, up, down);
  return split ? split : symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_LOG, 0, a));
}

/* Factors out of the root what is a perfect power of something of one sign: *outside gets the
   |factors|^(e div q), and inside what is left, so that outside^q inside = |p|. */
static bool split_root(symbolic *s, const fmpz_mpoly_t p, ulong q, fmpz_mpoly_t outside,
                       fmpz_mpoly_t inside) {
  fmpz_mpoly_factor_t factors;
  fmpz_mpoly_t f;
  fmpz_t c, root;
  fmpz_mpoly_factor_init(factors, s->ring);
  fmpz_mpoly_init(f, s->ring);
  fmpz_init(c);
  fmpz_init(root);
  bool good = symbolic_factor(s, factors, p) && fmpz_is_one(factors->constant_den);
  if (good) {
    fmpz_abs(c, factors->constant);
    bool perfect = fmpz_root(root, c, (slong)q);
    fmpz_mpoly_set_fmpz(perfect ? outside : inside, perfect ? root : c, s->ring);
    fmpz_mpoly_one(perfect ? inside : outside, s->ring);
  }
  for (slong i = 0; good && i < factors->num; i++) {
    unsigned sign = symbolic_polynomial_sign(s, factors->poly + i, 1);
    ulong e = fmpz_get_ui(factors->exp + i);
    good = e <= SYMBOLIC_DEGREE && (sign == SIGN_POSITIVE || sign == SIGN_NEGATIVE);
    if (!good) break;
    fmpz_mpoly_set(f, factors->poly + i, s->ring);
    if (sign == SIGN_NEGATIVE) fmpz_mpoly_neg(f, f, s->ring);
    fmpz_mpoly_pow_ui(f, f, e / q, s->ring);
    fmpz_mpoly_mul(outside, outside, f, s->ring);
    fmpz_mpoly_set(f, factors->poly + i, s->ring);
    if (sign == SIGN_NEGATIVE) fmpz_mpoly_neg(f, f, s->ring);
    fmpz_mpoly_pow_ui(f, f, e % q, s->ring);
    fmpz_mpoly_mul(inside, inside, f, s->ring);
  }
  fmpz_mpoly_factor_clear(factors, s->ring);
  fmpz_mpoly_clear(f, s->ring);
  fmpz_clear(c);
  fmpz_clear(root);
  return good;
}

static const quotient *root_of_rest(symbolic *s, const quotient *a, long degree) {
  mpq_t number;
  mpq_init(number);
  bool one = symbolic_is_rational(s, a, number) && mpq_cmp_ui(number, 1, 1) == 0;
  mpq_clear(number);
  if (one) return a;
  return symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_ROOT, (int)degree, a));
}

const quotient *symbolic_root(symbolic *s, const quotient *a, long degree) {
  if (!a || degree == 1) return a;
  if (degree < 1 || degree > SYMBOLIC_ROOT)
    return symbolic_fail(s, "a root of degree beyond %d", SYMBOLIC_ROOT);
  if (symbolic_sign_at_depth(s, a, 1) != SIGN_POSITIVE)
    return symbolic_fail(s, "a root of what is not proved positive");
  fmpz_mpoly_t on, in, od, id;
  fmpz_mpoly_init(on, s->ring);
  fmpz_mpoly_init(in, s->ring);
  fmpz_mpoly_init(od, s->ring);
  fmpz_mpoly_init(id, s->ring);
  const quotient *result = NULL;
  if (split_root(s, a->numerator, (ulong)degree, on, in) &&
      split_root(s, a->denominator, (ulong)degree, od, id))
    result = symbolic_multiply(s, symbolic_make(s, on, od),
                               root_of_rest(s, symbolic_make(s, in, id), degree));
  else
    result = root_of_rest(s, a, degree);
  fmpz_mpoly_clear(on, s->ring);
  fmpz_mpoly_clear(in, s->ring);
  fmpz_mpoly_clear(od, s->ring);
  fmpz_mpoly_clear(id, s->ring);
  return result;
}

/* a^b for a rational b; a > 0 unless b is whole */
static const quotient *raise_to_rational(symbolic *s, const quotient *a, mpq_srcptr b) {
  if (mpz_cmp_ui(mpq_denref(b), 1) == 0) {
    if (!mpz_fits_slong_p(mpq_numref(b)))
      return symbolic_fail(s, "an exponent beyond %d", SYMBOLIC_DEGREE);
    if (mpz_sgn(mpq_numref(b)) < 0 && (symbolic_sign_at_depth(s, a, 1) & SIGN_ZERO))
      return symbolic_fail(s, "a division by what is not proved to differ from 0");
    return symbolic_power(s, a, mpz_get_si(mpq_numref(b)));
  }
  if (symbolic_sign_at_depth(s, a, 1) != SIGN_POSITIVE)
    return symbolic_fail(s, "a power of what is not proved positive");
  fmpz_t p, q;
  fmpz_init(p);
  fmpz_init(q);
  fmpz_set_mpz(p, mpq_numref(b));
  fmpz_set_mpz(q, mpq_denref(b));
  const quotient *result = rational_power(s, a, p, q);
  fmpz_clear(p);
  fmpz_clear(q);
  return result;
}

const quotient *symbolic_raise(symbolic *s, const quotient *a, const quotient *b) {
  if (!a || !b) return NULL;
  mpq_t number;
  mpq_init(number);
  const quotient *result = symbolic_is_rational(s, b, number)
                               ? raise_to_rational(s, a, number)
                               : symbolic_exp(s, symbolic_multiply(s, b, symbolic_log(s, a)));
  mpq_clear(number);
  return result;
}

const quotient *symbolic_cos(symbolic *s, const quotient *a) {
  if (symbolic_is_zero(s, a)) return symbolic_integer(s, 1);
  return symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_COS, 0, a));
}

const quotient *symbolic_sin(symbolic *s, const quotient *a) {
  if (symbolic_is_zero(s, a)) return a;
  return symbolic_atom_quotient(s, symbolic_atom_find(s, ATOM_SIN, 0, a));
}
