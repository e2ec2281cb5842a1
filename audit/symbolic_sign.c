/* Signs of quotients over the whole domain.

   A quotient's sign is the product of its factors'. A factor is a polynomial in atoms each of which
   lies in a range. It is decided by, in this order,

   1. terms: each atom's range is mapped to t in (0, inf) (or [0, inf], closed ends included) by
      v = lo + t, v = hi - t, or v = (lo + hi t)/(1 + t); after multiplication by the positive
      (1 + t)^degree the polynomial is one in the t's, and if all its coefficients have one sign, so
      has it. An atom without bounds may stay where all its exponents are even. Subdivision of
      ranges makes this as strong as Bernstein's form.
   2. the discriminant, where it is quadratic in an atom;
   3. an enclosure over all ranges;
   4. monotonicity: the sign of its derivative in x or a parameter, and its limit at an end.

   Rules 1 to 3 forget how atoms depend on each other, which can only lose; rule 4 does not. */
#include "symbolic_internal.h"
#include "symbolic_limit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 5, SUBDIVISIONS = 5, CLOSED_MOST = 5, DISCRIMINANTS = 2, QUADRATIC_TERMS = 60 };

/* ---------- 1. terms ---------- */

typedef enum lens { LENS_SIGN, LENS_BEST, LENS_MIXED, LENSES } lens;

typedef struct view {
  bool even_only;         /* no bounds: even exponents, and 0 is possible */
  bool zero, infinity;    /* t = 0, t = inf are possible */
  const phi_range *range; /* of the atom, as subdivided */
} view;

typedef struct substitution {
  fmpz_mpoly_t over, under; /* v = over/under, under > 0; in t, for which v's generator stands */
} substitution;

static void integer_parts(fmpz_t n, fmpz_t m, mpq_srcptr value) {
  fmpz_set_mpz(n, mpq_numref(value));
  fmpz_set_mpz(m, mpq_denref(value));
}

/* *z = n + m t */
static void affine(symbolic *s, fmpz_mpoly_t z, int v, const fmpz_t n, const fmpz_t m) {
  fmpz_mpoly_gen(z, v, s->ring);
  fmpz_mpoly_scalar_mul_fmpz(z, z, m, s->ring);
  fmpz_mpoly_add_fmpz(z, z, n, s->ring);
}

/* How atom v is seen, and what is put for it; false where v stays as it is. */
static bool look(symbolic *s, int v, lens choice, view *w, substitution *put) {
  const phi_range *r = w->range;
  unsigned sign = domain_range_sign(r);
  bool lo = !r->lo.infinite, hi = !r->hi.infinite, no_sign = (sign & 5u) == 5u;
  fmpz_t n, m, k, j;
  w->even_only = w->infinity = w->zero = false;
  if ((no_sign && choice != LENS_BEST) || (!lo && !hi)) {
    w->even_only = w->zero = true;
    return false;
  }
  if (choice == LENS_SIGN && !(sign & SIGN_NEGATIVE)) {
    w->zero = (sign & SIGN_ZERO) != 0;
    return false;
  }
  fmpz_init(n);
  fmpz_init(m);
  fmpz_init(k);
  fmpz_init(j);
  if (choice == LENS_SIGN) {
    w->zero = (sign & SIGN_ZERO) != 0;
    fmpz_set_si(m, -1);
    affine(s, put->over, v, n, m);
    fmpz_mpoly_one(put->under, s->ring);
  } else if (lo && hi) {
    w->zero = r->lo.closed;
    w->infinity = r->hi.closed;
    integer_parts(n, m, r->lo.value);
    integer_parts(k, j, r->hi.value);
    fmpz_mul(n, n, j);
    fmpz_mul(k, k, m);
    affine(s, put->over, v, n, k);
    fmpz_mul(m, m, j);
    affine(s, put->under, v, m, m);
  } else {
    w->zero = lo ? r->lo.closed : r->hi.closed;
    integer_parts(n, m, lo ? r->lo.value : r->hi.value);
    fmpz_mpoly_set_fmpz(put->under, m, s->ring);
    if (!lo) fmpz_neg(m, m);
    affine(s, put->over, v, n, m);
  }
  fmpz_clear(n);
  fmpz_clear(m);
  fmpz_clear(k);
  fmpz_clear(j);
  return true;
}

/* p = under^degree p(over/under) */
static bool substitute(symbolic *s, fmpz_mpoly_t p, int v, const substitution *put) {
  slong degree = fmpz_mpoly_degree_si(p, v, s->ring);
  fmpz_mpoly_univar_t parts;
  fmpz_mpoly_t total, term, factor;
  fmpz_mpoly_univar_init(parts, s->ring);
  fmpz_mpoly_init(total, s->ring);
  fmpz_mpoly_init(term, s->ring);
  fmpz_mpoly_init(factor, s->ring);
  fmpz_mpoly_to_univar(parts, p, v, s->ring);
  for (slong i = 0; i < fmpz_mpoly_univar_length(parts, s->ring); i++) {
    slong e = fmpz_mpoly_univar_get_term_exp_si(parts, i, s->ring);
    fmpz_mpoly_univar_get_term_coeff(term, parts, i, s->ring);
    fmpz_mpoly_pow_ui(factor, put->over, (ulong)e, s->ring);
    fmpz_mpoly_mul(term, term, factor, s->ring);
    fmpz_mpoly_pow_ui(factor, put->under, (ulong)(degree - e), s->ring);
    fmpz_mpoly_mul(term, term, factor, s->ring);
    fmpz_mpoly_add(total, total, term, s->ring);
  }
  fmpz_mpoly_swap(p, total, s->ring);
  fmpz_mpoly_univar_clear(parts, s->ring);
  fmpz_mpoly_clear(total, s->ring);
  fmpz_mpoly_clear(term, s->ring);
  fmpz_mpoly_clear(factor, s->ring);
  slong length = fmpz_mpoly_length(p, s->ring);
  return length <= 4 * SYMBOLIC_TERMS && symbolic_spend(s, 1 + length / 4);
}

/* Some term does not vanish where the atoms in `low` are 0 and those in `high` infinite (there only
   the highest power counts). */
static bool survives(const symbolic *s, const fmpz_mpoly_t p, uint32_t low, uint32_t high,
                     const slong *degree) {
  slong e[SYMBOLIC_ATOMS];
  for (slong i = 0; i < fmpz_mpoly_length(p, s->ring); i++) {
    fmpz_mpoly_get_term_exp_si(e, p, i, s->ring);
    bool alive = true;
    for (int v = 0; alive && v < s->atoms; v++)
      alive = !((low >> v & 1) && e[v]) && !((high >> v & 1) && e[v] != degree[v]);
    if (alive) return true;
  }
  return false;
}

/* p, all of whose terms have one sign, vanishes nowhere: for every choice of ends. */
static bool never_zero(const symbolic *s, const fmpz_mpoly_t p, const view *w, uint32_t used,
                       const slong *degree) {
  int ends[SYMBOLIC_ATOMS], n = 0;
  for (int v = 0; v < s->atoms; v++)
    if ((used >> v & 1) && (w[v].zero || w[v].infinity)) ends[n++] = v;
  if (n > CLOSED_MOST) return false;
  int choices = 1;
  for (int i = 0; i < n; i++) choices *= 3;
  for (int c = 0; c < choices; c++) {
    uint32_t low = 0, high = 0;
    bool possible = true;
    for (int i = 0, rest = c; i < n; i++, rest /= 3) {
      uint32_t bit = UINT32_C(1) << ends[i];
      if (rest % 3 == 1) low |= bit, possible = possible && w[ends[i]].zero;
      if (rest % 3 == 2) high |= bit, possible = possible && w[ends[i]].infinity;
    }
    if (possible && !survives(s, p, low, high, degree)) return false;
  }
  return true;
}

static unsigned by_terms(symbolic *s, const fmpz_mpoly_t p, const view *as_given, lens choice) {
  view w[SYMBOLIC_ATOMS];
  slong degree[SYMBOLIC_ATOMS], e[SYMBOLIC_ATOMS];
  substitution put;
  fmpz_mpoly_t t;
  fmpz_mpoly_init(put.over, s->ring);
  fmpz_mpoly_init(put.under, s->ring);
  fmpz_mpoly_init(t, s->ring);
  fmpz_mpoly_set(t, p, s->ring);
  memcpy(w, as_given, sizeof w);
  uint32_t used = symbolic_used(s, p);
  fmpz_mpoly_degrees_si(degree, p, s->ring);
  bool good = true;
  for (int v = 0; good && v < s->atoms; v++)
    if ((used >> v & 1) && look(s, v, choice, &w[v], &put)) good = substitute(s, t, v, &put);
  int sign = 0;
  for (slong i = 0; good && i < fmpz_mpoly_length(t, s->ring); i++) {
    int term = fmpz_sgn(t->coeffs + i);
    good = sign == 0 || sign == term;
    sign = term;
    fmpz_mpoly_get_term_exp_si(e, t, i, s->ring);
    for (int v = 0; v < s->atoms; v++)
      if ((used >> v & 1) && w[v].even_only && e[v] % 2) good = false;
  }
  unsigned result = SIGN_ANY;
  if (good && sign) {
    result = sign > 0 ? SIGN_POSITIVE : SIGN_NEGATIVE;
    if (!never_zero(s, t, w, used, degree)) result |= SIGN_ZERO;
  }
  fmpz_mpoly_clear(put.over, s->ring);
  fmpz_mpoly_clear(put.under, s->ring);
  fmpz_mpoly_clear(t, s->ring);
  return result;
}

static void view_ranges(symbolic *s, view *w) {
  for (int v = 0; v < SYMBOLIC_ATOMS; v++)
    w[v] = (view){.range = v < s->atoms ? &s->atom[v].range : NULL};
}

/* Halves: the range of one atom after the other is cut in the middle. */
static unsigned by_parts(symbolic *s, const fmpz_mpoly_t p, const view *w, int depth, int turn) {
  unsigned sign = by_terms(s, p, w, LENS_BEST);
  if (sign != SIGN_ANY || depth == 0 || !symbolic_spend(s, 4)) return sign;
  uint32_t used = symbolic_used(s, p);
  int v = -1;
  for (int i = 0; i < s->atoms && v < 0; i++) {
    int k = (turn + i) % s->atoms;
    if ((used >> k & 1) && !(w[k].range->lo.infinite || w[k].range->hi.infinite) &&
        mpq_cmp(w[k].range->lo.value, w[k].range->hi.value) < 0)
      v = k;
  }
  if (v < 0) return sign;
  view half[SYMBOLIC_ATOMS];
  phi_range part = {.lo = {.closed = true}, .hi = {.closed = true}};
  mpq_init(part.lo.value);
  mpq_init(part.hi.value);
  memcpy(half, w, sizeof half);
  half[v].range = &part;
  domain_range_set(&part, w[v].range);
  mpq_add(part.hi.value, part.lo.value, part.hi.value);
  mpq_div_2exp(part.hi.value, part.hi.value, 1);
  part.hi.closed = true;
  sign = by_parts(s, p, half, depth - 1, v + 1);
  if (sign != SIGN_ANY) {
    domain_end_set(&part.lo, &part.hi);
    domain_end_set(&part.hi, &w[v].range->hi);
    sign |= by_parts(s, p, half, depth - 1, v + 1);
  }
  mpq_clear(part.lo.value);
  mpq_clear(part.hi.value);
  return sign;
}

/* ---------- 2. the discriminant ---------- */

/* p = a v^2 + b v + c: *a, and *d = b^2 - 4ac. */
static void quadratic(symbolic *s, const fmpz_mpoly_t p, int v, fmpz_mpoly_t a, fmpz_mpoly_t d) {
  const slong vars[1] = {v};
  const ulong powers[3][1] = {{0}, {1}, {2}};
  fmpz_mpoly_t b, c;
  fmpz_mpoly_init(b, s->ring);
  fmpz_mpoly_init(c, s->ring);
  fmpz_mpoly_get_coeff_vars_ui(c, p, vars, powers[0], 1, s->ring);
  fmpz_mpoly_get_coeff_vars_ui(b, p, vars, powers[1], 1, s->ring);
  fmpz_mpoly_get_coeff_vars_ui(a, p, vars, powers[2], 1, s->ring);
  fmpz_mpoly_mul(c, a, c, s->ring);
  fmpz_mpoly_scalar_mul_si(c, c, 4, s->ring);
  fmpz_mpoly_mul(d, b, b, s->ring);
  fmpz_mpoly_sub(d, d, c, s->ring);
  fmpz_mpoly_clear(b, s->ring);
  fmpz_mpoly_clear(c, s->ring);
}

/* With b^2 < 4ac, p has the sign of a; with b^2 <= 4ac, or it is 0. */
static unsigned by_discriminant(symbolic *s, const fmpz_mpoly_t p, int depth) {
  slong degree[SYMBOLIC_ATOMS];
  fmpz_mpoly_degrees_si(degree, p, s->ring);
  unsigned result = SIGN_ANY;
  if (depth > DISCRIMINANTS || fmpz_mpoly_length(p, s->ring) > QUADRATIC_TERMS) return result;
  fmpz_mpoly_t a, d;
  fmpz_mpoly_init(a, s->ring);
  fmpz_mpoly_init(d, s->ring);
  for (int v = 0; result == SIGN_ANY && v < s->atoms; v++) {
    if (degree[v] != 2 || !symbolic_spend(s, 8)) continue;
    quadratic(s, p, v, a, d);
    unsigned below = symbolic_polynomial_sign(s, d, depth + 1);
    if (below & SIGN_POSITIVE) continue;
    unsigned lead = symbolic_polynomial_sign(s, a, depth + 1);
    if (lead != SIGN_POSITIVE && lead != SIGN_NEGATIVE) continue;
    result = lead | (below & SIGN_ZERO);
  }
  fmpz_mpoly_clear(a, s->ring);
  fmpz_mpoly_clear(d, s->ring);
  return result;
}

/* ---------- 3. an enclosure over everything ---------- */

static unsigned by_enclosure(symbolic *s, const fmpz_mpoly_t p) {
  symbolic_point at;
  phibal_enclosure value;
  symbolic_point_init(&at, SYMBOLIC_PRECISION);
  phibal_enclosure_init(&value, SYMBOLIC_PRECISION);
  unsigned result = SIGN_ANY;
  if (symbolic_enclose_polynomial(s, p, &at, &value)) {
    if (phibal_enclosure_is_positive(&value)) result = SIGN_POSITIVE;
    if (phibal_enclosure_is_negative(&value)) result = SIGN_NEGATIVE;
  }
  symbolic_point_clear(&at);
  phibal_enclosure_clear(&value);
  return result;
}

/* ---------- 4. monotonicity ---------- */

/* The signs that a number beyond one of sign `end` in the direction +1 or -1 can have. */
static unsigned beyond(unsigned end, bool strictly) {
  if (end == SIGN_POSITIVE || (strictly && !(end & SIGN_NEGATIVE))) return SIGN_POSITIVE;
  return end & SIGN_NEGATIVE ? SIGN_ANY : SIGN_ZERO | SIGN_POSITIVE;
}

static unsigned end_sign(symbolic *s, const quotient *q, int base, bool high, int depth) {
  const quotient *value;
  switch (symbolic_limit_base(s, q, base, high, depth, &value)) {
  case LIMIT_FINITE:
    return symbolic_sign_at_depth(s, value, depth);
  case LIMIT_PLUS:
    return SIGN_POSITIVE;
  case LIMIT_MINUS:
    return SIGN_NEGATIVE;
  default:
    return SIGN_ANY;
  }
}

static unsigned by_monotonicity(symbolic *s, const fmpz_mpoly_t p, int depth) {
  const quotient *q = symbolic_polynomial(s, p);
  uint32_t bases = symbolic_quotient_bases(s, q);
  for (int b = 0; q && b < s->atoms; b++) {
    if (!(bases >> b & 1) || !symbolic_spend(s, 10)) continue;
    const quotient *slope = symbolic_derivative_base(s, q, b);
    unsigned way = slope ? symbolic_sign_at_depth(s, slope, depth + 1) : SIGN_ANY;
    bool up = !(way & SIGN_NEGATIVE), down = !(way & SIGN_POSITIVE), strict = !(way & SIGN_ZERO);
    if (!up && !down) continue;
    const phi_range *r = &s->atom[b].range;
    /* from the low end p grows (up) or falls (down); backwards from the high end the reverse */
    unsigned low = end_sign(s, q, b, false, depth + 1), high = SIGN_ANY;
    unsigned sign = up ? beyond(low, strict && !r->lo.closed)
                       : sign_negative(beyond(sign_negative(low), strict && !r->lo.closed));
    if (sign == SIGN_ANY) {
      high = end_sign(s, q, b, true, depth + 1);
      sign = down ? beyond(high, strict && !r->hi.closed)
                  : sign_negative(beyond(sign_negative(high), strict && !r->hi.closed));
    }
    if (sign != SIGN_ANY) return sign;
  }
  return SIGN_ANY;
}

/* ---------- together ---------- */

static const char *const ways[] = {
    "all its terms have one sign",
    "all its coefficients have one sign once each range is mapped to (0, inf)",
    "its discriminant is not positive",
    "by an enclosure over the whole range",
    "it is monotone, and its limit at an end has that sign",
    "all its coefficients have one sign on each part of a subdivision",
};

static unsigned factor_sign(symbolic *s, const fmpz_mpoly_t p, int depth, int *way) {
  view w[SYMBOLIC_ATOMS];
  int ignored;
  if (!way) way = &ignored;
  *way = 0;
  if (fmpz_mpoly_is_fmpz(p, s->ring)) {
    int sign = fmpz_mpoly_is_zero(p, s->ring) ? 0 : fmpz_sgn(fmpz_mpoly_leadcoeff(p));
    return sign < 0 ? SIGN_NEGATIVE : sign > 0 ? SIGN_POSITIVE : SIGN_ZERO;
  }
  if (depth > DEEPEST || !symbolic_spend(s, 2)) return SIGN_ANY;
  view_ranges(s, w);
  unsigned sign = by_terms(s, p, w, LENS_SIGN);
  if (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE)
    *way = 1, sign &= by_terms(s, p, w, LENS_BEST);
  if (sign == SIGN_ANY) sign = by_terms(s, p, w, LENS_MIXED);
  if (sign == SIGN_ANY) *way = 2, sign = by_discriminant(s, p, depth);
  if (sign == SIGN_ANY) *way = 3, sign = by_enclosure(s, p);
  if (sign == SIGN_ANY) *way = 4, sign = by_monotonicity(s, p, depth);
  view_ranges(s, w); /* there may be more atoms now */
  if (sign == SIGN_ANY) *way = 5, sign = by_parts(s, p, w, depth ? 2 : SUBDIVISIONS, 0);
  return sign;
}

unsigned symbolic_polynomial_sign(symbolic *s, const fmpz_mpoly_t p, int depth) {
  if (fmpz_mpoly_is_zero(p, s->ring)) return SIGN_ZERO;
  if (depth > DEEPEST) return SIGN_ANY;
  fmpz_mpoly_factor_t f;
  fmpz_mpoly_factor_init(f, s->ring);
  unsigned sign;
  if (symbolic_factor(s, f, p) && fmpz_is_one(f->constant_den)) {
    sign = fmpz_sgn(f->constant) < 0 ? SIGN_NEGATIVE : SIGN_POSITIVE;
    for (slong i = 0; i < f->num && sign != SIGN_ANY; i++)
      sign = sign_product(
          sign, sign_power(factor_sign(s, f->poly + i, depth, NULL), fmpz_get_ui(f->exp + i)));
  } else {
    sign = factor_sign(s, p, depth, NULL);
  }
  fmpz_mpoly_factor_clear(f, s->ring);
  return sign;
}

/* What was read is defined, so its denominator does not vanish. */
unsigned symbolic_sign_at_depth(symbolic *s, const quotient *a, int depth) {
  if (!a) return SIGN_ANY;
  unsigned up = symbolic_polynomial_sign(s, a->numerator, depth);
  if (up == SIGN_ANY || up == SIGN_ZERO) return up;
  unsigned down = symbolic_polynomial_sign(s, a->denominator, depth);
  return sign_product(up, down & ~(unsigned)SIGN_ZERO);
}

unsigned symbolic_sign(symbolic *s, const quotient *a) {
  return symbolic_sign_at_depth(s, a, 0);
}

/* The zeros of a factor that has one sign where it is not 0: isolated if the factor is a polynomial
   in one atom with x, and one of its coefficients of a positive power never vanishes, and the atom
   is not constant in x. For then the factor is constant in x for no parameter. */
static bool factor_isolated(symbolic *s, const fmpz_mpoly_t p) {
  uint32_t used = symbolic_used(s, p), with_x = 0;
  int v = -1, x = -1;
  for (int i = 0; i < s->atoms; i++)
    if (s->atom[i].kind == ATOM_VARIABLE) x = i;
  if (x < 0) return false;
  for (int i = 0; i < s->atoms; i++)
    if ((used >> i & 1) && (s->atom[i].bases >> x & 1)) with_x |= UINT32_C(1) << i, v = i;
  if (v < 0 || with_x & (with_x - 1)) return false;
  if (v != x) { /* x itself is not constant; another atom, if its derivative never vanishes */
    const quotient *slope = symbolic_derivative(s, symbolic_atom_quotient(s, v));
    if (!slope || (symbolic_sign(s, slope) & SIGN_ZERO)) return false;
  }
  bool isolated = false;
  fmpz_mpoly_t c;
  fmpz_mpoly_init(c, s->ring);
  for (slong k = fmpz_mpoly_degree_si(p, v, s->ring); k > 0 && !isolated; k--) {
    const slong vars[1] = {v};
    const ulong power[1] = {(ulong)k};
    fmpz_mpoly_get_coeff_vars_ui(c, p, vars, power, 1, s->ring);
    isolated = !(symbolic_polynomial_sign(s, c, 0) & SIGN_ZERO);
  }
  fmpz_mpoly_clear(c, s->ring);
  return isolated;
}

bool symbolic_not_negative(symbolic *s, const quotient *a) {
  return a && !(symbolic_sign(s, a) & SIGN_NEGATIVE);
}

bool symbolic_zeros_isolated(symbolic *s, const quotient *a) {
  if (!a || symbolic_is_zero(s, a)) return false;
  unsigned sign = symbolic_sign(s, a);
  if ((sign & SIGN_NEGATIVE) && (sign & SIGN_POSITIVE)) return false;
  fmpz_mpoly_factor_t f;
  fmpz_mpoly_factor_init(f, s->ring);
  bool good = symbolic_factor(s, f, a->numerator);
  for (slong i = 0; good && i < f->num; i++)
    good = !(factor_sign(s, f->poly + i, 0, NULL) & SIGN_ZERO) || factor_isolated(s, f->poly + i);
  fmpz_mpoly_factor_clear(f, s->ring);
  return good;
}

/* ---------- the argument in words ---------- */

static const char *relation(unsigned sign) {
  static const char *const text[8] = {"", " < 0", " = 0", " <= 0", " > 0", "", " >= 0", ""};
  return text[sign & 7];
}

static bool describe(symbolic *s, FILE *out, const fmpz_mpoly_t p, bool *first) {
  fmpz_mpoly_factor_t f;
  fmpz_mpoly_factor_init(f, s->ring);
  bool good = fmpz_mpoly_is_fmpz(p, s->ring) || symbolic_factor(s, f, p);
  for (slong i = 0; good && i < f->num; i++) {
    int way;
    unsigned sign = factor_sign(s, f->poly + i, 0, &way);
    char *text = symbolic_polynomial_text(s, f->poly + i);
    bool plain = fmpz_mpoly_length(f->poly + i, s->ring) == 1;
    fprintf(out, "%s%s%s", *first ? "" : "; ", text ? text : "?", relation(sign));
    if (!plain) fprintf(out, " (%s)", ways[way]);
    *first = false;
    free(text);
  }
  fmpz_mpoly_factor_clear(f, s->ring);
  return good;
}

unsigned symbolic_sign_argument(symbolic *s, const quotient *a, char **argument) {
  unsigned sign = symbolic_sign(s, a);
  *argument = NULL;
  if (!a || sign == SIGN_ANY) return sign;
  size_t size;
  FILE *out = open_memstream(argument, &size);
  if (!out) return sign;
  bool first = true;
  bool good = describe(s, out, a->numerator, &first) && describe(s, out, a->denominator, &first);
  if (first) fputs("a constant", out);
  fclose(out);
  if (!good) {
    free(*argument);
    *argument = NULL;
  }
  return sign;
}
