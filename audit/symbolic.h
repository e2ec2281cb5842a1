/* Expressions as exact quotients of polynomials, and their signs over whole ranges.

   A quotient is N/D with N, D in Z[atoms], coprime; atoms are the coordinate x, the parameters, the
   sums S_i, the number of experts E, and what is not rational in them: exp(u), log(u), roots,
   sin(u), cos(u) with a quotient u as argument. All functions of the language are written in these
   (u^v = exp(v log u), tanh u = (exp(2u) - 1)/(exp(2u) + 1), ...), with the rules that matter for
   derivatives of potentials: exp(u + v) = exp(u) exp(v), exp(c log u) = u^c, root^q = argument,
   sin^2 = 1 - cos^2, log(u v) = log u + log v. So a difference that is identically zero mostly
   becomes the quotient 0; where it is 0, it is identically zero.

   Everything holds on a domain: the ranges of x, of the parameters and of E. An expression is read
   only if it is proved to be defined and analytic on all of it, so what has been read may be
   cancelled, differentiated and bounded without looking back.

   Quotients are immutable and belong to the context; functions return null when memory or the
   effort is exhausted or a rule does not apply, accept null, and then return null, so that calls
   nest. symbolic_reason says why the last null came. */
#ifndef PHIBAL_AUDIT_SYMBOLIC_H
#define PHIBAL_AUDIT_SYMBOLIC_H

#include "domain.h"

typedef struct symbolic symbolic;
typedef struct quotient quotient;

/* The domain is copied. Null when memory is out. */
symbolic *symbolic_create(const audit_domain *domain);
void symbolic_destroy(symbolic *s);
const char *symbolic_reason(const symbolic *s);

const quotient *symbolic_rational(symbolic *s, mpq_srcptr value);
const quotient *symbolic_integer(symbolic *s, long n);
const quotient *symbolic_variable(symbolic *s);
const quotient *symbolic_parameter(symbolic *s, int index);
const quotient *symbolic_experts(symbolic *s);
/* Sum number i, a constant in a range. */
const quotient *symbolic_sum(symbolic *s, int index, const phi_range *range);

const quotient *symbolic_add(symbolic *s, const quotient *a, const quotient *b);
const quotient *symbolic_subtract(symbolic *s, const quotient *a, const quotient *b);
const quotient *symbolic_multiply(symbolic *s, const quotient *a, const quotient *b);
const quotient *symbolic_divide(symbolic *s, const quotient *a, const quotient *b);
const quotient *symbolic_power(symbolic *s, const quotient *a, long n);
/* These prove that they are defined, and analytic: roots and logarithms of what is positive. */
const quotient *symbolic_exp(symbolic *s, const quotient *a);
const quotient *symbolic_log(symbolic *s, const quotient *a);
const quotient *symbolic_sin(symbolic *s, const quotient *a);
const quotient *symbolic_cos(symbolic *s, const quotient *a);
const quotient *symbolic_root(symbolic *s, const quotient *a, long degree);
const quotient *symbolic_raise(symbolic *s, const quotient *a, const quotient *b);

/* `sums` stand for the sums of e by number (null if e has none); null unless e is defined and
   analytic on the domain, as far as can be proved. */
const quotient *symbolic_read(symbolic *s, const expression *e, const quotient *const *sums);
/* e(x) for a quotient x, of the coordinate or not. */
const quotient *symbolic_read_at(symbolic *s, const expression *e, const quotient *x,
                                 const quotient *const *sums);

/* The conditions of a section are proved to hold on the whole domain. */
bool symbolic_conditions(symbolic *s, const phi_section *section);

/* d/dx, or d/dS_i, with everything else constant. */
const quotient *symbolic_derivative(symbolic *s, const quotient *a);
const quotient *symbolic_derivative_sum(symbolic *s, const quotient *a, int sum);

bool symbolic_is_zero(const symbolic *s, const quotient *a);
bool symbolic_equal(const symbolic *s, const quotient *a, const quotient *b);
bool symbolic_holds_variable(const symbolic *s, const quotient *a);
bool symbolic_holds_sum(const symbolic *s, const quotient *a);
/* Whether a is a rational number, and which. */
bool symbolic_is_rational(const symbolic *s, const quotient *a, mpq_t value);

/* The signs that a can have on the domain are among these. */
unsigned symbolic_sign(symbolic *s, const quotient *a);
/* The same, and the argument in words, malloc'ed (null where nothing is known, or no memory). */
unsigned symbolic_sign_argument(symbolic *s, const quotient *a, char **argument);
/* a is known to be nowhere negative; false for null. */
bool symbolic_not_negative(symbolic *s, const quotient *a);
/* a >= 0 or a <= 0 is known, and for all parameters it is not constantly 0 in x: so that its zeros
   in x are isolated, being those of an analytic function. */
bool symbolic_zeros_isolated(symbolic *s, const quotient *a);

/* a at the end of x's range (at_high: the upper), where it continues analytically there. */
const quotient *symbolic_at_end(symbolic *s, const quotient *a, bool at_high);

/* a for members of x, the parameters, sums and E (null where a does not hold them).
   PHIBAL_ERROR_DOMAIN where it cannot be enclosed. */
phibal_status symbolic_enclose(symbolic *s, const quotient *a, const phibal_enclosure *parameters,
                               const phibal_enclosure *sums, const phibal_enclosure *experts,
                               const phibal_enclosure *x, phibal_enclosure *value);

/* As it may be written in the language, factored; malloc'ed. */
char *symbolic_text(symbolic *s, const quotient *a);

#endif
