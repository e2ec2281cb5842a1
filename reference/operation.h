/* What the reference's routing, balancing and expert operations share. */
#ifndef PHIBAL_REFERENCE_OPERATION_H
#define PHIBAL_REFERENCE_OPERATION_H

#include <phibal/reference_moe.h>
#include <math.h>
#include <stddef.h>
#ifdef __FRAMAC__
#include <model_math.h>
#endif

/* Leaves the enclosing function with the status of a call that failed. */
#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

/* The least working precision: binary32 inputs are then exact. */
#define OPERATION_PRECISION 32

#include <phibal/acsl/contracts/inside/operation.h>

static inline phibal_status operation_check_precision(const char *name, mpfr_prec_t precision) {
  if (precision >= OPERATION_PRECISION) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %ld bits of precision; at least %d", name,
                           (long)precision, OPERATION_PRECISION);
}

static inline phibal_status operation_check_experts(const char *name, int32_t experts,
                                                    mpfr_prec_t precision) {
  if (experts < 1 || experts > PHIBAL_MAX_EXPERTS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d experts; there must be 1 to %d", name,
                             (int)experts, PHIBAL_MAX_EXPERTS);
  return operation_check_precision(name, precision);
}

/* PHIBAL_ERROR_NONFINITE, naming the element, unless x[0..n-1] are finite. */
static inline phibal_status operation_check_finite(const char *name, const char *what, int64_t n,
                                                   const float *x) {
  /*@ loop invariant 0 <= i && (i <= n || i == 0);
      loop invariant checked: finite_floats(x, i);
      loop invariant first: 0 < i ==> \is_finite(*x);
      loop assigns i;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(x[i]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "%s: element %lld of %s is %g; it must be finite", name,
                               (long long)i, what, (double)x[i]);
  return PHIBAL_OK;
}

/* n temporaries at `precision`, or PHIBAL_ERROR_MEMORY. */
static inline phibal_status operation_scratch(const char *name, size_t n, mpfr_prec_t precision,
                                              phibal_enclosure **scratch) {
  //@ assert open_enclosure;
  *scratch = phibal_enclosure_vector(n, precision);
  if (*scratch) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for %zu enclosures", name, n);
}

static inline void operation_scratch_clear(phibal_enclosure *scratch, size_t n) {
  phibal_enclosure_vector_clear(scratch, n);
}

/* z = x, z = -x, z = |x| for a finite binary32 number: exact in binary64, which mpfr_set_d takes.
 */
static inline void operation_set_float(phibal_enclosure *z, float x) {
  //@ assert use_floating;
  double d = (double)x;
  //@ assert exactly: (real)d == (real)x && \is_finite(d);
  phibal_enclosure_set_d(z, d);
}

static inline void operation_set_negated(phibal_enclosure *z, float x) {
  //@ assert use_floating;
  double d = -(double)x;
  //@ assert exactly: (real)d == -(real)x && \is_finite(d);
  phibal_enclosure_set_d(z, d);
}

static inline void operation_set_magnitude(phibal_enclosure *z, float x) {
  //@ assert use_floating;
  double d = fabs((double)x);
  //@ assert exactly: (real)d == \abs((real)x) && \is_finite(d);
  phibal_enclosure_set_d(z, d);
}

/* x y, which is a binary64 number: 48 digits, the last at least 2^-298. */
static inline double operation_exact_product(float x, float y) {
  //@ assert use_exact_product && use_floating;
  return (double)x * (double)y;
}

/* z += |x| y; t is a temporary. */
static inline phibal_status operation_add_magnitude(phibal_enclosure *z, const phibal_enclosure *x,
                                                    const phibal_enclosure *y,
                                                    phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_abs(t, x);
  TRY(phibal_enclosure_mul(t, t, y));
  return phibal_enclosure_add(z, z, t);
}

/* z += x y; t is a temporary. */
static inline phibal_status operation_add_product(phibal_enclosure *z, const phibal_enclosure *x,
                                                  const phibal_enclosure *y, phibal_enclosure *t) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(t, x, y));
  return phibal_enclosure_add(z, z, t);
}

/* z += x d for a finite d; t and u are temporaries. */
static inline phibal_status operation_add_scaled(phibal_enclosure *z, const phibal_enclosure *x,
                                                 double d, phibal_enclosure *t,
                                                 phibal_enclosure *u) {
  //@ assert use_enclosure;
  phibal_enclosure_set_d(u, d);
  return operation_add_product(z, x, u, t);
}

/* z = 1 / (1 + exp(x)), that is sigma(-x). z is not x; one is [1, 1]. */
static inline phibal_status operation_sigmoid_negated(phibal_enclosure *z,
                                                      const phibal_enclosure *x,
                                                      const phibal_enclosure *one) {
  //@ assert use_enclosure && use_exp;
  phibal_enclosure_exp(z, x);
  TRY(phibal_enclosure_add(z, z, one));
  //@ assert divisor: \forall real a; in{Pre}(x, a) ==> in(z, 1.0 + e(a)) && 1.0 + e(a) > 0.0;
  return phibal_enclosure_div(z, one, z);
}

/* Shared by forward and backward (router.c, router_gates.c): (R1) or (R1s) into token->probability,
   (R8) for softmax routers; then (R3) to (R5) for the experts given into token->part, without
   router->scale. */
phibal_status reference_token_probabilities(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits);
phibal_status reference_token_gates(phibal_reference_token *token, const phibal_router *router,
                                    const float *logits, const int32_t *experts);
phibal_status reference_token_check(const char *name, const phibal_reference_token *token,
                                    const phibal_router *router, const float *logits);

#endif
