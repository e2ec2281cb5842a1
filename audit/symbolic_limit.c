/* Limits: by continuation where the end is a point of analyticity, else by leading terms.

   A leading term of f, as x -> 0+ or x -> +inf, is C e^K x^p |log x|^b with f/(that) -> 1; C of one
   sign and p free of x, and K identically 0 or of limit +-inf. Products and roots of leading terms
   are leading terms; of a sum, the dominating one, or the total of those of the same order as long
   as that has a sign: what cancels is given up. */
#include "symbolic_limit.h"
#include "symbolic_internal.h"

typedef struct lead {
  const quotient *factor, *power, *exponent; /* C, p, K */
  long logs;                                 /* b */
} lead;

typedef struct approach {
  int base;
  bool to_infinity; /* else to 0 from above */
  int depth, level;
} approach;

enum { NESTED = 12 };

static bool depends(const symbolic *s, const quotient *q, int base) {
  return symbolic_quotient_bases(s, q) >> base & 1;
}

/* ---------- continuation ---------- */

static const quotient *continued(symbolic *s, const quotient *a, int base, const quotient *end,
                                 int depth);

static const quotient *atom_continued(symbolic *s, int atom, int base, const quotient *end,
                                      int depth) {
  const symbolic_atom *a = &s->atom[atom];
  if (atom == base) return end;
  if (!(a->bases >> base & 1)) return symbolic_atom_quotient(s, atom);
  const quotient *u = continued(s, a->argument, base, end, depth);
  if (!u) return NULL;
  switch (a->kind) {
  case ATOM_EXP:
    return symbolic_exp(s, u);
  case ATOM_SIN:
    return symbolic_sin(s, u);
  case ATOM_COS:
    return symbolic_cos(s, u);
  case ATOM_LOG:
    return symbolic_log(s, u);
  /* a root is continuous at 0, where nothing more is claimed of it */
  case ATOM_ROOT:
    return symbolic_is_zero(s, u) ? u : symbolic_root(s, u, a->index);
  default:
    return NULL;
  }
}

static const quotient *polynomial_continued(symbolic *s, const fmpz_mpoly_t p, int base,
                                            const quotient *end, int depth) {
  const quotient *value[SYMBOLIC_ATOMS] = {NULL}, *total = symbolic_integer(s, 0);
  uint32_t used = symbolic_used(s, p);
  slong e[SYMBOLIC_ATOMS];
  for (int v = 0; v < SYMBOLIC_ATOMS; v++)
    if (used >> v & 1) {
      value[v] = atom_continued(s, v, base, end, depth);
      if (!value[v]) return NULL;
    }
  fmpz_mpoly_t c;
  fmpz_mpoly_init(c, s->ring);
  for (slong i = 0; total && i < fmpz_mpoly_length(p, s->ring); i++) {
    fmpz_mpoly_get_term_exp_si(e, p, i, s->ring);
    fmpz_mpoly_set_fmpz(c, p->coeffs + i, s->ring);
    const quotient *term = symbolic_polynomial(s, c);
    for (int v = 0; v < SYMBOLIC_ATOMS; v++)
      if ((used >> v & 1) && e[v])
        term = symbolic_multiply(s, term, symbolic_power(s, value[v], (long)e[v]));
    total = symbolic_add(s, total, term);
  }
  fmpz_mpoly_clear(c, s->ring);
  return total;
}

static const quotient *continued(symbolic *s, const quotient *a, int base, const quotient *end,
                                 int depth) {
  if (!a || !depends(s, a, base)) return a;
  const quotient *down = polynomial_continued(s, a->denominator, base, end, depth);
  if (!down || (symbolic_sign_at_depth(s, down, depth) & SIGN_ZERO)) return NULL;
  return symbolic_divide(s, polynomial_continued(s, a->numerator, base, end, depth), down);
}

/* ---------- leading terms ---------- */

static bool quotient_lead(symbolic *s, const quotient *a, const approach *to, lead *result);

/* e^K against powers of x: K tends to infinity faster than log x. */
static bool outgrows(symbolic *s, const lead *k, const approach *to) {
  unsigned power = symbolic_sign_at_depth(s, k->power, to->depth);
  return power == SIGN_POSITIVE || power == SIGN_NEGATIVE || !symbolic_is_zero(s, k->exponent) ||
         (power == SIGN_ZERO && k->logs >= 2);
}

/* The limit that a leading term tells. */
static limit_kind lead_limit(symbolic *s, const lead *l, const approach *to,
                             const quotient **value) {
  unsigned sign = symbolic_sign_at_depth(s, l->factor, to->depth), way;
  *value = NULL;
  if (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE) return LIMIT_UNKNOWN;
  limit_kind infinite = sign == SIGN_POSITIVE ? LIMIT_PLUS : LIMIT_MINUS;
  if (!symbolic_is_zero(s, l->exponent)) {
    lead inner;
    const quotient *ignored;
    approach deeper = *to;
    deeper.level++;
    if (!quotient_lead(s, l->exponent, &deeper, &inner)) return LIMIT_UNKNOWN;
    limit_kind k = lead_limit(s, &inner, &deeper, &ignored);
    if (!outgrows(s, &inner, to) && !(symbolic_is_zero(s, l->power) && l->logs == 0))
      return LIMIT_UNKNOWN;
    if (k == LIMIT_PLUS) return infinite;
    if (k != LIMIT_MINUS) return LIMIT_UNKNOWN;
    *value = symbolic_integer(s, 0);
    return *value ? LIMIT_FINITE : LIMIT_UNKNOWN;
  }
  way = symbolic_sign_at_depth(s, l->power, to->depth);
  if (!to->to_infinity) way = sign_negative(way);
  if (way == SIGN_ZERO) way = l->logs > 0 ? SIGN_POSITIVE : l->logs < 0 ? SIGN_NEGATIVE : SIGN_ZERO;
  if (way == SIGN_POSITIVE) return infinite;
  if (way == SIGN_NEGATIVE) *value = symbolic_integer(s, 0);
  if (way == SIGN_ZERO) *value = l->factor;
  return *value ? LIMIT_FINITE : LIMIT_UNKNOWN;
}

static bool lead_constant(symbolic *s, const quotient *c, lead *result) {
  *result =
      (lead){.factor = c, .power = symbolic_integer(s, 0), .exponent = symbolic_integer(s, 0)};
  return result->factor && result->power && result->exponent;
}

static bool lead_multiply(symbolic *s, const lead *a, const lead *b, long sign, lead *result) {
  result->factor = sign > 0 ? symbolic_multiply(s, a->factor, b->factor)
                            : symbolic_divide(s, a->factor, b->factor);
  result->power =
      sign > 0 ? symbolic_add(s, a->power, b->power) : symbolic_subtract(s, a->power, b->power);
  result->exponent = sign > 0 ? symbolic_add(s, a->exponent, b->exponent)
                              : symbolic_subtract(s, a->exponent, b->exponent);
  result->logs = a->logs + sign * b->logs;
  return result->factor && result->power && result->exponent;
}

/* K's that differ by what has a finite limit belong to one order: so K is kept only where it tends
   to +-inf; a finite limit goes into C. */
static bool settle_exponent(symbolic *s, lead *l, const approach *to) {
  if (symbolic_is_zero(s, l->exponent)) return true;
  lead k;
  const quotient *value;
  approach deeper = *to;
  deeper.level++;
  if (!quotient_lead(s, l->exponent, &deeper, &k)) return false;
  limit_kind kind = lead_limit(s, &k, &deeper, &value);
  if (kind == LIMIT_UNKNOWN) return false;
  if (kind == LIMIT_FINITE) {
    l->factor = symbolic_multiply(s, l->factor, symbolic_exp(s, value));
    l->exponent = symbolic_integer(s, 0);
  }
  return l->factor && l->exponent;
}

/* a/b -> 0: -1, inf: +1, a number: 0 (*ratio is then a's and b's of one order); 2: not known. */
static int compare(symbolic *s, const lead *a, const lead *b, const approach *to, lead *ratio) {
  if (!lead_multiply(s, a, b, -1, ratio) || !settle_exponent(s, ratio, to)) return 2;
  lead size = *ratio;
  const quotient *value;
  size.factor = symbolic_integer(s, 1);
  limit_kind kind = lead_limit(s, &size, to, &value);
  if (kind == LIMIT_PLUS) return 1;
  if (kind != LIMIT_FINITE) return 2;
  return symbolic_is_zero(s, value) ? -1 : 0;
}

/* a^c, c free of x; a > 0 */
static bool lead_raise(symbolic *s, const lead *a, const quotient *c, lead *result) {
  mpq_t number;
  mpq_init(number);
  bool whole = symbolic_is_rational(s, c, number);
  if (whole && a->logs) {
    mpz_mul_si(mpq_numref(number), mpq_numref(number), a->logs);
    mpq_canonicalize(number);
    whole = mpz_cmp_ui(mpq_denref(number), 1) == 0 && mpz_fits_slong_p(mpq_numref(number));
  }
  bool good = a->logs == 0 || whole;
  if (good) {
    *result = (lead){.factor = symbolic_raise(s, a->factor, c),
                     .power = symbolic_multiply(s, a->power, c),
                     .exponent = symbolic_multiply(s, a->exponent, c),
                     .logs = a->logs ? mpz_get_si(mpq_numref(number)) : 0};
    good = result->factor && result->power && result->exponent;
  }
  mpq_clear(number);
  return good;
}

/* log u = log C + K + p log x + b log |log x| */
static bool log_lead(symbolic *s, const quotient *u, const approach *to, lead *result) {
  lead l;
  if (!quotient_lead(s, u, to, &l)) return false;
  if (!symbolic_is_zero(s, l.exponent)) {
    /* exponents tend to infinity faster than log x only if they are not logarithms themselves */
    if (!symbolic_is_zero(s, l.power) || l.logs) return false;
    return quotient_lead(s, l.exponent, to, result);
  }
  unsigned sign = symbolic_sign_at_depth(s, l.power, to->depth);
  if (sign == SIGN_POSITIVE || sign == SIGN_NEGATIVE) {
    if (!lead_constant(s, l.power, result)) return false;
    if (!to->to_infinity)
      result->factor = symbolic_subtract(s, symbolic_integer(s, 0), l.power); /* log x = -|log x| */
    result->logs = 1;
    return result->factor != NULL;
  }
  if (sign != SIGN_ZERO || l.logs) return false;
  const quotient *rest = symbolic_subtract(s, l.factor, symbolic_integer(s, 1));
  if (symbolic_is_zero(s, rest)) /* log u ~ u - 1 */
    return quotient_lead(s, symbolic_subtract(s, u, symbolic_integer(s, 1)), to, result);
  if (!rest || (symbolic_sign_at_depth(s, rest, to->depth) & SIGN_ZERO)) return false;
  return lead_constant(s, symbolic_log(s, l.factor), result);
}

/* exp(c log u) is u^c; else e^K, or e^limit. */
static bool exp_lead(symbolic *s, const quotient *k, const approach *to, lead *result) {
  for (int v = 0; v < s->atoms; v++) {
    if (s->atom[v].kind != ATOM_LOG || !(s->atom[v].bases >> to->base & 1)) continue;
    const quotient *c = symbolic_divide(s, k, symbolic_atom_quotient(s, v));
    lead l;
    if (c && !depends(s, c, to->base))
      return quotient_lead(s, s->atom[v].argument, to, &l) && lead_raise(s, &l, c, result);
  }
  if (!lead_constant(s, symbolic_integer(s, 1), result)) return false;
  result->exponent = k;
  return settle_exponent(s, result, to);
}

static bool atom_lead(symbolic *s, int atom, const approach *to, lead *result) {
  const symbolic_atom *a = &s->atom[atom];
  if (!(a->bases >> to->base & 1)) return lead_constant(s, symbolic_atom_quotient(s, atom), result);
  if (atom == to->base) {
    if (!lead_constant(s, symbolic_integer(s, 1), result)) return false;
    result->power = symbolic_integer(s, 1);
    return result->power != NULL;
  }
  lead l;
  mpq_t part;
  switch (a->kind) {
  case ATOM_LOG:
    return log_lead(s, a->argument, to, result);
  case ATOM_EXP:
    return exp_lead(s, a->argument, to, result);
  case ATOM_ROOT: {
    mpq_init(part);
    mpq_set_si(part, 1, (unsigned long)a->index);
    const quotient *c = symbolic_rational(s, part);
    mpq_clear(part);
    return quotient_lead(s, a->argument, to, &l) && lead_raise(s, &l, c, result);
  }
  default:
    return false;
  }
}

static bool term_lead(symbolic *s, const fmpz_mpoly_t p, slong term, const lead *atoms,
                      lead *result) {
  slong e[SYMBOLIC_ATOMS];
  fmpz_mpoly_t c;
  fmpz_mpoly_init(c, s->ring);
  fmpz_mpoly_get_term_exp_si(e, p, term, s->ring);
  fmpz_mpoly_set_fmpz(c, p->coeffs + term, s->ring);
  bool good = lead_constant(s, symbolic_polynomial(s, c), result);
  fmpz_mpoly_clear(c, s->ring);
  for (int v = 0; good && v < SYMBOLIC_ATOMS; v++)
    if (e[v]) {
      lead power = {.factor = symbolic_power(s, atoms[v].factor, (long)e[v]),
                    .power = symbolic_multiply(s, atoms[v].power, symbolic_integer(s, (long)e[v])),
                    .exponent =
                        symbolic_multiply(s, atoms[v].exponent, symbolic_integer(s, (long)e[v])),
                    .logs = atoms[v].logs * (long)e[v]};
      lead sofar = *result;
      good = lead_multiply(s, &sofar, &power, 1, result);
    }
  return good;
}

static bool polynomial_lead(symbolic *s, const fmpz_mpoly_t p, const approach *to, lead *result) {
  lead atoms[SYMBOLIC_ATOMS];
  uint32_t used = symbolic_used(s, p);
  for (int v = 0; v < SYMBOLIC_ATOMS; v++)
    if ((used >> v & 1) && !atom_lead(s, v, to, &atoms[v])) return false;
  bool any = false;
  for (slong i = 0; i < fmpz_mpoly_length(p, s->ring); i++) {
    lead term, ratio;
    if (!symbolic_spend(s, 1) || !term_lead(s, p, i, atoms, &term) ||
        !settle_exponent(s, &term, to))
      return false;
    int order = any ? compare(s, &term, result, to, &ratio) : 1;
    if (order == 2) return false;
    if (order == 1) *result = term;
    if (order == 0) /* C + C' e^(limit of K' - K) */
      result->factor = symbolic_multiply(s, result->factor,
                                         symbolic_add(s, symbolic_integer(s, 1), ratio.factor));
    any = true;
    if (!result->factor || symbolic_is_zero(s, result->factor)) return false;
  }
  unsigned sign = any ? symbolic_sign_at_depth(s, result->factor, to->depth) : SIGN_ANY;
  return sign == SIGN_POSITIVE || sign == SIGN_NEGATIVE;
}

static bool quotient_lead(symbolic *s, const quotient *a, const approach *to, lead *result) {
  if (!a || to->level > NESTED || !symbolic_spend(s, 2)) return false;
  if (!depends(s, a, to->base)) {
    /* a constant has itself as leading term as long as it is not 0 */
    unsigned sign = symbolic_sign_at_depth(s, a, to->depth);
    return (sign == SIGN_POSITIVE || sign == SIGN_NEGATIVE) && lead_constant(s, a, result);
  }
  approach deeper = *to;
  deeper.level++;
  lead up, down;
  return polynomial_lead(s, a->numerator, &deeper, &up) &&
         polynomial_lead(s, a->denominator, &deeper, &down) &&
         lead_multiply(s, &up, &down, -1, result) && settle_exponent(s, result, to);
}

/* ---------- limits ---------- */

limit_kind symbolic_limit_base(symbolic *s, const quotient *a, int base, bool at_high, int depth,
                               const quotient **value) {
  *value = NULL;
  if (!a || base < 0) return LIMIT_UNKNOWN;
  if (!depends(s, a, base)) {
    *value = a;
    return LIMIT_FINITE;
  }
  const phi_end *end = at_high ? &s->atom[base].range.hi : &s->atom[base].range.lo;
  bool at_zero = !end->infinite && !at_high && mpq_sgn(end->value) == 0;
  if (!end->infinite) {
    *value = continued(s, a, base, symbolic_rational(s, end->value), depth);
    if (*value) return LIMIT_FINITE;
    if (!at_zero) return LIMIT_UNKNOWN;
  } else if (end->infinite < 0) {
    return LIMIT_UNKNOWN;
  }
  lead l;
  approach to = {.base = base, .to_infinity = end->infinite > 0, .depth = depth};
  return quotient_lead(s, a, &to, &l) ? lead_limit(s, &l, &to, value) : LIMIT_UNKNOWN;
}

static int variable_atom(const symbolic *s) {
  for (int v = 0; v < s->atoms; v++)
    if (s->atom[v].kind == ATOM_VARIABLE) return v;
  return -1;
}

limit_kind symbolic_limit(symbolic *s, const quotient *a, bool at_high, const quotient **value) {
  int base = variable_atom(s);
  if (base >= 0) return symbolic_limit_base(s, a, base, at_high, 0, value);
  *value = a; /* x was never read */
  return a ? LIMIT_FINITE : LIMIT_UNKNOWN;
}

const quotient *symbolic_at_end(symbolic *s, const quotient *a, bool at_high) {
  int base = variable_atom(s);
  if (!a || base < 0) return a;
  const phi_end *end = at_high ? &s->atom[base].range.hi : &s->atom[base].range.lo;
  return end->infinite ? NULL : continued(s, a, base, symbolic_rational(s, end->value), 0);
}

bool symbolic_leading_power(symbolic *s, const quotient *a, const quotient **coefficient,
                            const quotient **power) {
  lead l;
  approach to = {.base = variable_atom(s)};
  if (to.base < 0 || !quotient_lead(s, a, &to, &l) || l.logs || !symbolic_is_zero(s, l.exponent))
    return false;
  *coefficient = l.factor;
  *power = l.power;
  return true;
}
