/* Strict convexity with kinks that may be anywhere, by how convex functions compose.

   phi is read as a sum of terms with coefficients of known sign. Those that exact algebra reads are
   smooth; let s be their sum for one expert. The others have kinks: they must be convex, by rules:

     max(u, v), u and v convex          |u|, u affine
     c u, c >= 0, u convex              u + v, sum(u), u and v convex
     exp(u), softplus(u), u convex      u^p, p >= 1, u convex and not negative

   Then phi is sum_e s(x_e) and a convex function, so strictly convex where s'' > 0, or >= 0 with
   isolated zeros. That is for all parameters of the domain, as signs are; where a kink is does not
   matter. */
#include "convexity.h"
#include "symbolic.h"
#include <stdlib.h>

typedef struct composition {
  symbolic *s;
  const quotient *smooth; /* s; null after a failure */
  int others;             /* terms that are not in it */
} composition;

static bool is_constant(const expression *e) {
  return !expression_holds(e, EXPRESSION_VARIABLE) && !expression_holds(e, EXPRESSION_SUM);
}

/* Of e, a function of one load; SIGN_ANY where it is not known. */
static unsigned sign_of(symbolic *s, const expression *e) {
  const quotient *read = symbolic_read(s, e, NULL);
  if (read) return symbolic_sign(s, read);
  if (e->kind == EXPRESSION_ABS) return SIGN_ZERO | SIGN_POSITIVE;
  if (e->kind == EXPRESSION_SUM) return sign_of(s, e->argument[0]);
  if (e->kind == EXPRESSION_MAX) {
    unsigned a = sign_of(s, e->argument[0]), b = sign_of(s, e->argument[1]);
    return !(a & SIGN_NEGATIVE) || !(b & SIGN_NEGATIVE) ? SIGN_ZERO | SIGN_POSITIVE : SIGN_ANY;
  }
  return SIGN_ANY;
}

/* The second derivative of e, a function of one load, has these signs. */
static unsigned curvature(symbolic *s, const expression *e) {
  const quotient *second =
      symbolic_derivative(s, symbolic_derivative(s, symbolic_read(s, e, NULL)));
  return second ? symbolic_sign(s, second) : SIGN_ANY;
}

/* way e is convex, way being 1 or -1. */
static bool convex(symbolic *s, const expression *e, int way);

/* c e, or e/c where `divides`. */
static bool scaled(symbolic *s, const expression *c, bool divides, const expression *e, int way) {
  unsigned sign = is_constant(c) ? sign_of(s, c) : SIGN_ANY;
  if (divides && (sign & SIGN_ZERO)) return false;
  return (!(sign & SIGN_NEGATIVE) && convex(s, e, way)) ||
         (!(sign & SIGN_POSITIVE) && convex(s, e, -way));
}

static bool convex_power(symbolic *s, const expression *base, const expression *exponent) {
  const quotient *p = is_constant(exponent) ? symbolic_read(s, exponent, NULL) : NULL,
                 *above = symbolic_subtract(s, p, symbolic_integer(s, 1));
  return above && !(symbolic_sign(s, above) & SIGN_NEGATIVE) &&
         !(sign_of(s, base) & SIGN_NEGATIVE) && convex(s, base, 1);
}

static bool convex(symbolic *s, const expression *e, int way) {
  const expression *a = e->argument[0], *b = e->argument[1];
  if (is_constant(e)) return true;
  if (!expression_holds(e, EXPRESSION_SUM)) {
    unsigned sign = curvature(s, e);
    if (!((way > 0 ? sign : sign_negative(sign)) & SIGN_NEGATIVE)) return true;
  }
  switch (e->kind) {
  case EXPRESSION_SUM:
    return convex(s, a, way);
  case EXPRESSION_NEGATE:
    return convex(s, a, -way);
  case EXPRESSION_ADD:
    return convex(s, a, way) && convex(s, b, way);
  case EXPRESSION_SUBTRACT:
    return convex(s, a, way) && convex(s, b, -way);
  case EXPRESSION_MULTIPLY:
    return scaled(s, a, false, b, way) || scaled(s, b, false, a, way);
  case EXPRESSION_DIVIDE:
    return scaled(s, b, true, a, way);
  case EXPRESSION_MAX:
    return way > 0 && convex(s, a, 1) && convex(s, b, 1);
  case EXPRESSION_ABS:
    return way > 0 && convex(s, a, 1) && convex(s, a, -1);
  case EXPRESSION_POWER:
    return way > 0 && convex_power(s, a, b);
  case EXPRESSION_EXP:
  case EXPRESSION_EXPM1:
  case EXPRESSION_SOFTPLUS:
    return way > 0 && convex(s, a, 1);
  default:
    return false;
  }
}

/* Adds c e to the smooth part, or sees that it is convex. `c` is the coefficient, `way` its sign.
 */
static bool take(composition *z, const expression *e, const quotient *c) {
  symbolic *s = z->s;
  const expression *a = e->argument[0], *b = e->argument[1];
  const quotient *factor;
  unsigned sign = c ? symbolic_sign(s, c) : SIGN_ANY;
  if (is_constant(e)) return true;
  const quotient *read = expression_holds(e, EXPRESSION_SUM) ? NULL : symbolic_read(s, e, NULL);
  if (read) {
    z->smooth = symbolic_add(s, z->smooth, symbolic_multiply(s, c, read));
    return z->smooth != NULL;
  }
  switch (e->kind) {
  case EXPRESSION_SUM:
    return take(z, a, c);
  case EXPRESSION_NEGATE:
    return take(z, a, symbolic_subtract(s, symbolic_integer(s, 0), c));
  case EXPRESSION_ADD:
    return take(z, a, c) && take(z, b, c);
  case EXPRESSION_SUBTRACT:
    return take(z, a, c) && take(z, b, symbolic_subtract(s, symbolic_integer(s, 0), c));
  case EXPRESSION_MULTIPLY:
    if (!is_constant(a) && !is_constant(b)) break;
    factor = symbolic_read(s, is_constant(a) ? a : b, NULL);
    if (!factor) return false;
    return take(z, is_constant(a) ? b : a, symbolic_multiply(s, c, factor));
  case EXPRESSION_DIVIDE:
    if (!is_constant(b)) break;
    factor = symbolic_read(s, b, NULL);
    if (!factor || (symbolic_sign(s, factor) & SIGN_ZERO)) return false;
    return take(z, a, symbolic_divide(s, c, factor));
  default:
    break;
  }
  z->others++;
  return (!(sign & SIGN_NEGATIVE) && convex(s, e, 1)) ||
         (!(sign & SIGN_POSITIVE) && convex(s, e, -1));
}

void convexity_by_composition(const phi_potential *phi, const audit_domain *domain,
                              convexity_proof *proof) {
  *proof = (convexity_proof){.boxes = 0};
  composition z = {.s = symbolic_create(domain)};
  if (!z.s) return;
  z.smooth = symbolic_integer(z.s, 0);
  if (symbolic_conditions(z.s, &phi->value) &&
      take(&z, phi->value.expression, symbolic_integer(z.s, 1))) {
    const quotient *second = symbolic_derivative(z.s, symbolic_derivative(z.s, z.smooth));
    unsigned sign = second ? symbolic_sign(z.s, second) : SIGN_ANY;
    proof->strict =
        sign == SIGN_POSITIVE || (!(sign & SIGN_NEGATIVE) && symbolic_zeros_isolated(z.s, second));
    char *text = symbolic_text(z.s, second);
    if (proof->strict)
      audit_say(&proof->how,
                "phi is the sum over the experts of a smooth term with second derivative %s, which "
                "is %s, and of what is convex, wherever its kinks are, by the rules for maxima, "
                "absolute values, powers and sums (terms: %d)",
                text ? text : "?",
                sign == SIGN_POSITIVE ? "positive" : "nowhere negative and has isolated zeros",
                z.others);
    free(text);
  }
  symbolic_destroy(z.s);
}
