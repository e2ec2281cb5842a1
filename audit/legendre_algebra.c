/* The range of the gradient, by exact algebra.

   Separable: where psi' is continuous and strictly increasing on an open interval X, it maps X onto
   the open interval between its limits at the ends. X is R if psi is proved twice differentiable
   and strictly convex on both half lines and psi, psi' meet at 0; else (0, inf), else (0, 1).

   phi = F(S), S = sum f(x_e), where f' is proportional to x^s and S F''(S) = m F'(S), s and m
   constants: then f is x f'/(s + 1), and g_e = C x_e^s S^m, is homogeneous of degree
   d = s + (s + 1) m. If s and d are not 0, g maps the open orthant one to one onto the open orthant
   of C's sign: for y there, g(x) = y exactly for x = t z, z_e = (y_e/C)^(1/s), t^d = S(z)^-m. And
   phi is strictly convex on the orthant if D = F' f'' > 0 and 1 + F'' sum_e f'^2/D > 0 (where
   F'' < 0, by Cauchy and Schwarz); as f'^2/f'' = (s + 1) f/s, the latter is d/s > 0. */
#include "legendre.h"
#include "symbolic.h"
#include "symbolic_limit.h"
#include <stdlib.h>

enum { PRECISION = 128 };

static void set_end(symbolic *s, legendre_end *end, limit_kind kind, const quotient *value,
                    bool negative) {
  static const legendre_end_kind kinds[] = {[LIMIT_UNKNOWN] = END_UNKNOWN,
                                            [LIMIT_FINITE] = END_FINITE,
                                            [LIMIT_PLUS] = END_PLUS,
                                            [LIMIT_MINUS] = END_MINUS};
  if (negative && kind == LIMIT_FINITE) {
    value = symbolic_subtract(s, symbolic_integer(s, 0), value);
    if (!value) kind = LIMIT_UNKNOWN;
  } else if (negative && kind != LIMIT_UNKNOWN) {
    kind = kind == LIMIT_PLUS ? LIMIT_MINUS : LIMIT_PLUS;
  }
  free(end->text);
  end->kind = kinds[kind];
  end->text = NULL;
  if (kind == LIMIT_PLUS && asprintf(&end->text, "inf") < 0) end->text = NULL;
  if (kind == LIMIT_MINUS && asprintf(&end->text, "-inf") < 0) end->text = NULL;
  if (kind != LIMIT_FINITE) return;
  end->text = symbolic_text(s, value);
  end->enclosed = symbolic_enclose(s, value, NULL, NULL, NULL, NULL, &end->value) == PHIBAL_OK;
}

/* psi on (0, b) as read at `x` of the context's coordinate, and its derivatives in the coordinate.
 */
typedef struct piece {
  symbolic *s;
  const quotient *value, *slope;
  bool strict; /* psi'' > 0, or >= 0 with isolated zeros */
} piece;

typedef enum place { RIGHT, LEFT, UNIT, FROM_ONE } place;

static piece piece_create(const expression *psi, const audit_domain *domain, place where) {
  piece p = {.s = NULL};
  audit_domain wide;
  domain_init(&wide);
  domain_copy(&wide, domain);
  domain_end_at(&wide.x.lo, 0, 1, false);
  domain_end_at(&wide.x.hi, 1, 1, false);
  if (where == RIGHT || where == LEFT) domain_end_infinite(&wide.x.hi, 1);
  p.s = symbolic_create(&wide);
  domain_clear(&wide);
  if (!p.s) return p;
  const quotient *x = symbolic_variable(p.s);
  if (where == LEFT) x = symbolic_subtract(p.s, symbolic_integer(p.s, 0), x);
  if (where == FROM_ONE) x = symbolic_subtract(p.s, symbolic_integer(p.s, 1), x);
  p.value = symbolic_read_at(p.s, psi, x, NULL);
  p.slope = symbolic_derivative(p.s, p.value);
  const quotient *second = symbolic_derivative(p.s, p.slope);
  unsigned sign = symbolic_sign(p.s, second);
  p.strict = second && (sign == SIGN_POSITIVE ||
                        (!(sign & SIGN_NEGATIVE) && symbolic_zeros_isolated(p.s, second)));
  return p;
}

/* The limit of psi' at 0 (LEFT: from below) or at the other end, in psi's own direction. */
static void slope_end(piece *p, place where, bool at_high, legendre_end *end) {
  const quotient *value;
  limit_kind kind = p->slope ? symbolic_limit(p->s, p->slope, at_high, &value) : LIMIT_UNKNOWN;
  set_end(p->s, end, kind, kind == LIMIT_FINITE ? value : NULL, where == LEFT || where == FROM_ONE);
}

/* psi and psi' go on through 0: both limits are finite and equal. The contexts differ, so the
   difference is read in one: psi(x) - psi(-x) and its slope tend to 0, and 2 psi'(0+) from
   psi'(x) + (psi(-x))'. */
static bool meet_at_zero(const expression *psi, piece *right) {
  symbolic *s = right->s;
  const quotient *minus = symbolic_subtract(s, symbolic_integer(s, 0), symbolic_variable(s)),
                 *mirrored = symbolic_read_at(s, psi, minus, NULL),
                 *gap = symbolic_subtract(s, right->value, mirrored),
                 *turn = symbolic_add(s, right->slope, symbolic_derivative(s, mirrored)), *value;
  return gap && turn && symbolic_limit(s, right->value, false, &value) == LIMIT_FINITE &&
         symbolic_limit(s, right->slope, false, &value) == LIMIT_FINITE &&
         symbolic_limit(s, gap, false, &value) == LIMIT_FINITE && symbolic_is_zero(s, value) &&
         symbolic_limit(s, turn, false, &value) == LIMIT_FINITE && symbolic_is_zero(s, value);
}

static bool known(const legendre_end *end) {
  return end->kind != END_UNKNOWN;
}

static void separable(const expression *psi, const audit_domain *domain, legendre_proof *proof) {
  piece unit = piece_create(psi, domain, UNIT), one = piece_create(psi, domain, FROM_ONE),
        right = piece_create(psi, domain, RIGHT), left = piece_create(psi, domain, LEFT);
  slope_end(&unit, UNIT, false, &proof->at_zero);
  slope_end(&unit, UNIT, true, &proof->at_one);
  if (!known(&proof->at_one)) slope_end(&one, FROM_ONE, false, &proof->at_one);
  if (unit.slope) proof->slope = symbolic_text(unit.s, unit.slope);
  /* sgn(0) may differ from both limits; nothing else of the language jumps where it is defined */
  bool half = right.strict, line = half && left.strict && !expression_holds(psi, EXPRESSION_SGN) &&
                                   meet_at_zero(psi, &right);
  if (line) {
    slope_end(&left, LEFT, true, &proof->lo);
    slope_end(&right, RIGHT, true, &proof->hi);
    proof->set = LEGENDRE_LINE;
  } else if (half) {
    slope_end(&right, RIGHT, false, &proof->lo);
    slope_end(&right, RIGHT, true, &proof->hi);
    proof->set = LEGENDRE_HALF;
  }
  /* where the half line does not do, the interval that holds the loads */
  if (proof->set == LEGENDRE_NONE && unit.strict) {
    slope_end(&unit, UNIT, false, &proof->lo);
    slope_end(&unit, UNIT, true, &proof->hi);
    if (!known(&proof->hi)) slope_end(&one, FROM_ONE, false, &proof->hi);
    proof->set = LEGENDRE_UNIT;
  }
  if (proof->set == LEGENDRE_NONE)
    audit_say(&proof->how, "psi' is not proved to increase strictly, even on (0, 1)");
  piece *all[] = {&unit, &one, &right, &left};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) symbolic_destroy(all[i]->s);
}

/* a = s b with s free of the atoms of b's kind: x f''/f' and S F''/F'. */
static const quotient *exponent(symbolic *s, const quotient *base, const quotient *slope,
                                const quotient *curvature) {
  return symbolic_divide(s, symbolic_multiply(s, base, curvature), slope);
}

static bool one_signed(unsigned sign) {
  return sign == SIGN_POSITIVE || sign == SIGN_NEGATIVE;
}

/* One share goes to 0 and the others stay, so that S tends to a positive number: the component
   F'(S) f'(x_e) is finite or not with f'(0+). */
static void near_a_face(symbolic *s, const quotient *f, const quotient *f1, const quotient *g1,
                        legendre_proof *proof) {
  const quotient *value;
  if (symbolic_limit(s, f, false, &value) != LIMIT_FINITE) return;
  limit_kind kind = symbolic_limit(s, f1, false, &value);
  if (kind == LIMIT_FINITE) proof->at_zero.kind = END_FINITE;
  if (kind == LIMIT_PLUS || kind == LIMIT_MINUS)
    set_end(s, &proof->at_zero, kind, NULL, symbolic_sign(s, g1) == SIGN_NEGATIVE);
}

/* phi = F(S), f > 0, with F' and f' of one sign each. */
static void one_sum(symbolic *s, const phi_section *section, legendre_proof *proof) {
  const quotient *x = symbolic_variable(s), *f = symbolic_read(s, section->sum[0], NULL),
                 *f1 = symbolic_derivative(s, f), *f2 = symbolic_derivative(s, f1);
  phi_range positive;
  domain_range_init(&positive);
  domain_end_at(&positive.lo, 0, 1, false);
  domain_end_infinite(&positive.hi, 1);
  const quotient *sum = symbolic_sum(s, 0, &positive), *sums[1] = {sum};
  domain_range_clear(&positive);
  if (symbolic_sign(s, f) != SIGN_POSITIVE || !one_signed(symbolic_sign(s, f1))) return;
  const quotient *outer = symbolic_read(s, section->expression, sums),
                 *g1 = symbolic_derivative_sum(s, outer, 0),
                 *g2 = symbolic_derivative_sum(s, g1, 0);
  if (!g2 || !one_signed(symbolic_sign(s, g1))) return;
  near_a_face(s, f, f1, g1, proof);
  const quotient *power = exponent(s, x, f1, f2), *m = exponent(s, sum, g1, g2),
                 *next = symbolic_add(s, power, symbolic_integer(s, 1)),
                 *rest = symbolic_subtract(s, symbolic_multiply(s, next, f),
                                           symbolic_multiply(s, x, f1));
  if (!power || !m || symbolic_holds_variable(s, power) || symbolic_holds_variable(s, m) ||
      symbolic_holds_sum(s, m) || !symbolic_is_zero(s, rest))
    return;
  const quotient *degree = symbolic_add(s, power, symbolic_multiply(s, next, m));
  char *text = symbolic_text(s, degree);
  proof->slope = symbolic_text(s, symbolic_multiply(s, g1, f1));
  if (symbolic_is_zero(s, degree))
    audit_say(&proof->how,
              "the gradient %s is homogeneous of degree 0: it is the same at x and at 2x, and "
              "its range is no open set",
              proof->slope ? proof->slope : "");
  else if (one_signed(symbolic_sign(s, power)) &&
           symbolic_sign(s, symbolic_multiply(s, g1, f2)) == SIGN_POSITIVE &&
           symbolic_sign(s, symbolic_divide(s, degree, power)) == SIGN_POSITIVE) {
    proof->set = LEGENDRE_ORTHANT;
    proof->orthant = symbolic_sign(s, symbolic_multiply(s, g1, f1)) == SIGN_POSITIVE ? 1 : -1;
    audit_say(&proof->how,
              "the gradient %s is homogeneous of degree %s, and a power of x_e up to a common "
              "factor: one to one from x > 0, where phi is strictly convex, onto y %s 0",
              proof->slope ? proof->slope : "", text ? text : "?", proof->orthant > 0 ? ">" : "<");
  }
  free(text);
}

static void not_separable(const phi_section *section, const audit_domain *domain,
                          legendre_proof *proof) {
  audit_domain wide;
  domain_init(&wide);
  domain_copy(&wide, domain);
  domain_end_infinite(&wide.x.hi, 1);
  symbolic *s = symbolic_create(&wide);
  domain_clear(&wide);
  if (s && section->sums == 1) one_sum(s, section, proof);
  if (!proof->how)
    audit_say(&proof->how,
              "phi is not separable, nor a function of one sum of powers: the range of "
              "its gradient was not found");
  symbolic_destroy(s);
}

void legendre_by_algebra(phi_potential *phi, const expression *psi, const audit_domain *domain,
                         legendre_proof *proof) {
  if (psi)
    separable(psi, domain, proof);
  else
    not_separable(&phi->value, domain, proof);
}
