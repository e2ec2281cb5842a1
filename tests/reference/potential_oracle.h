/* The potentials in Arb, as SPEC.md's table writes them: no rearrangement, so that nothing is
   shared with the reference but the mathematics. What cancels is paid for with precision. Arguments
   are in the open domain; boundary and outside values are tabulated in the tests. */
#ifndef PHIBAL_TESTS_POTENTIAL_ORACLE_H
#define PHIBAL_TESTS_POTENTIAL_ORACLE_H

#include "arb_formula.h"
#include "arb_oracle.h"
#include <phibal/potential.h>

/* Inputs have exponents from -300 to 40 or so, and the worst cancellation squares them (s -
   log(1+s) at s = 2^-300): 600 bits; log cosh at 2^-300 the same; 4096 leave 3000 to spare. */
enum { ORACLE_PRECISION = 4096 };

typedef enum oracle_function {
  ORACLE_VALUE,
  ORACLE_GRADIENT,
  ORACLE_SECOND,
  ORACLE_CONJUGATE,
  ORACLE_CONJUGATE_GRADIENT,
  ORACLE_FUNCTIONS,
} oracle_function;

enum { ORACLE_SCRATCH = 6 };

/* z = f(x) for a separable potential with parameter a; t: temporaries. */
static inline void oracle_at(arb_ptr z, phibal_potential_id id, oracle_function f, arb_srcptr x,
                             arb_srcptr a, arb_ptr t) {
  const slong p = ORACLE_PRECISION;
  arb_ptr u = t, v = t + 1, w = t + 2, r = t + 3;
  arb_abs(u, x);
  switch (id) {
  case PHIBAL_POTENTIAL_LP: /* r: the exponent of the primal or the dual side */
    arb_set(r, a);
    if (f >= ORACLE_CONJUGATE) { /* 1/p + 1/r = 1 */
      arb_inv(v, a, p);
      arb_sub_ui(v, v, 1, p);
      arb_neg(v, v);
      arb_inv(r, v, p);
    }
    if (f == ORACLE_VALUE || f == ORACLE_CONJUGATE) {
      arb_pow(z, u, r, p);
      arb_div(z, z, r, p);
    } else if (f == ORACLE_SECOND) {
      arb_sub_ui(v, r, 2, p);
      arb_pow(z, u, v, p);
      arb_sub_ui(v, r, 1, p);
      arb_mul(z, z, v, p);
    } else {
      arb_sub_ui(v, r, 1, p);
      arb_pow(z, u, v, p);
      if (arb_is_negative(x)) arb_neg(z, z);
    }
    return;
  case PHIBAL_POTENTIAL_NEGENTROPY:
    if (f >= ORACLE_CONJUGATE) {
      arb_sub_ui(v, x, 1, p);
      arb_exp(z, v, p);
    } else if (f == ORACLE_SECOND) {
      arb_inv(z, x, p);
    } else {
      arb_log(v, x, p);
      if (f == ORACLE_VALUE)
        arb_mul(z, v, x, p);
      else
        arb_add_ui(z, v, 1, p);
    }
    return;
  case PHIBAL_POTENTIAL_TSALLIS:
    arb_sub_ui(r, a, 1, p);
    if (f == ORACLE_VALUE) {
      arb_pow(v, x, a, p);
      arb_sub(v, v, x, p);
      arb_div(z, v, r, p);
    } else if (f == ORACLE_GRADIENT) {
      arb_pow(v, x, r, p);
      arb_mul(v, v, a, p);
      arb_sub_ui(v, v, 1, p);
      arb_div(z, v, r, p);
    } else if (f == ORACLE_SECOND) {
      arb_sub_ui(v, a, 2, p);
      arb_pow(v, x, v, p);
      arb_mul(z, v, a, p);
    } else {
      arb_mul(v, r, x, p);
      arb_add_ui(v, v, 1, p);
      arb_div(v, v, a, p);
      if (f == ORACLE_CONJUGATE)
        arb_div(w, a, r, p);
      else
        arb_inv(w, r, p);
      arb_pow(z, v, w, p);
    }
    return;
#define POTENTIAL_FORMULAS CASES_OF_POTENTIAL_FORMULAS
#include "potential_formulas.def"
#undef POTENTIAL_FORMULAS
    formula_evaluate(z, potential_formulas[id][f], x, a, p);
    return;
  case PHIBAL_POTENTIAL_RENYI:
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  arb_indeterminate(z);
}

/* Renyi. S = sum x^a; z[0] for values and conjugates, z[n] for gradients, z[n n] for the Hessian.
 */
static inline void oracle_renyi(arb_ptr z, oracle_function f, slong n, arb_srcptr x, arb_srcptr a,
                                arb_ptr t) {
  const slong p = ORACLE_PRECISION;
  arb_ptr sum = t, b = t + 1, c = t + 2, v = t + 3, w = t + 4;
  arb_sub_ui(b, a, 1, p);
  arb_div(c, a, b, p);
  arb_neg(c, c); /* a/(1-a) */
  arb_zero(sum);
  for (slong e = 0; e < n; e++) {
    if (f <= ORACLE_SECOND) {
      arb_pow(v, x + e, a, p);
    } else {
      arb_neg(v, x + e);
      arb_neg(w, c);
      arb_pow(v, v, w, p);
    }
    arb_add(sum, sum, v, p);
  }
  if (f == ORACLE_VALUE) {
    arb_log(v, sum, p);
    arb_div(z, v, b, p);
  } else if (f == ORACLE_CONJUGATE) {
    arb_log(v, c, p);
    arb_sub_ui(v, v, 1, p);
    arb_mul(z, v, c, p);
    arb_log(v, sum, p);
    arb_add(z, z, v, p);
  } else if (f == ORACLE_GRADIENT) {
    for (slong e = 0; e < n; e++) {
      arb_pow(v, x + e, b, p);
      arb_mul(v, v, a, p);
      arb_div(v, v, b, p);
      arb_div(z + e, v, sum, p);
    }
  } else if (f == ORACLE_CONJUGATE_GRADIENT) {
    for (slong e = 0; e < n; e++) {
      arb_neg(v, x + e);
      arb_add_ui(w, c, 1, p);
      arb_neg(w, w);
      arb_pow(v, v, w, p);
      arb_mul(v, v, c, p);
      arb_div(z + e, v, sum, p);
    }
  } else { /* d/dx_j of a x_e^b / (b S): ([e = j] b x_e^(a-2) S - x_e^b a x_j^b) a / (b S^2) */
    for (slong e = 0; e < n; e++)
      for (slong j = 0; j < n; j++) {
        arb_ptr h = z + e * n + j;
        arb_pow(v, x + e, b, p);
        arb_pow(w, x + j, b, p);
        arb_mul(v, v, w, p);
        arb_mul(h, v, a, p);
        arb_neg(h, h);
        if (e == j) {
          arb_sub_ui(v, a, 2, p);
          arb_pow(v, x + e, v, p);
          arb_mul(v, v, b, p);
          arb_addmul(h, v, sum, p);
        }
        arb_mul(h, h, a, p);
        arb_div(h, h, b, p);
        arb_div(h, h, sum, p);
        arb_div(h, h, sum, p);
      }
  }
}

#endif
