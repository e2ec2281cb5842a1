/* What the files of the potentials share.

   A separable potential is five functions of one real number. Each is written once, at a point (an
   enclosure with equal ends), over the whole real line: +inf outside the domain for a value and a
   conjugate, PHIBAL_ERROR_DOMAIN with the domain in the message for a derivative. shape.c carries
   them to intervals by what is known of their graph. Parameters are enclosures of any width. */
#ifndef PHIBAL_REFERENCE_POTENTIALS_H
#define PHIBAL_REFERENCE_POTENTIALS_H

#include <phibal/reference.h>

/* Leaves the enclosing function with the status of a call that failed. */
#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

/* Temporaries that a function at a point may use, and bits they have beyond the result's, so that
   the dozen roundings of one evaluation stay below a unit in the last place of the result. */
enum { SCRATCH = 5, GUARD_BITS = 32 };

typedef enum scalar_family {
  FAMILY_EUCLID,
  FAMILY_LP,     /* lp with p > 1 */
  FAMILY_LP_ONE, /* lp with p = 1 */
  FAMILY_SOFT_L1,
  FAMILY_NEGENTROPY,
  FAMILY_TSALLIS,
  FAMILY_PSEUDO_HUBER,
  FAMILY_LOG_COSH,
  FAMILY_SOFTPLUS,
} scalar_family;

typedef enum scalar_function {
  FUNCTION_VALUE,
  FUNCTION_GRADIENT,
  FUNCTION_SECOND,
  FUNCTION_CONJUGATE,
  FUNCTION_CONJUGATE_GRADIENT,
} scalar_function;

/* The contracts POINT and FREE_POINT of functions at a point. */
#ifdef __FRAMAC__
#include <phibal/acsl/points.h>
#include <phibal/acsl/renyi.h>
#endif
/* z holds f(x, a) for the parameter a anywhere in its enclosure. z, x, a and t[0..SCRATCH-1] are
   all apart; x is a point; t has z's precision. */
phibal_status point_at(scalar_family s, scalar_function f, phibal_enclosure *z,
                       const phibal_enclosure *x, const phibal_enclosure *a, phibal_enclosure *t);

/* The same, of each family. */
//@ FREE_POINT(REAL(euclid_value))
phibal_status euclid_value(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(euclid_gradient))
phibal_status euclid_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(euclid_second))
phibal_status euclid_second(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(euclid_conjugate))
phibal_status euclid_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(euclid_conjugate_gradient))
phibal_status euclid_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                        const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(lp_valid, REAL(lp_value))
phibal_status lp_value(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *a,
                       phibal_enclosure *t);
//@ POINT(lp_valid, REAL(lp_gradient))
phibal_status lp_gradient(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *a,
                          phibal_enclosure *t);
//@ POINT(lp_valid, REAL_OR_INFINITE(lp_second))
phibal_status lp_second(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *a,
                        phibal_enclosure *t);
//@ POINT(lp_valid, REAL(lp_conjugate))
phibal_status lp_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(lp_valid, REAL(lp_conjugate_gradient))
phibal_status lp_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                    const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(lp_one_value))
phibal_status lp_one_value(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL_INSIDE(lp_one_gradient))
phibal_status lp_one_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL_INSIDE(lp_one_second))
phibal_status lp_one_second(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(INFINITE_OUTSIDE(lp_one_conjugate))
phibal_status lp_one_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL_INSIDE(lp_one_conjugate_gradient))
phibal_status lp_one_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                        const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(soft_l1_valid, REAL(soft_l1_value))
phibal_status soft_l1_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(soft_l1_valid, REAL(soft_l1_gradient))
phibal_status soft_l1_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(soft_l1_valid, REAL(soft_l1_second))
phibal_status soft_l1_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(soft_l1_valid, INFINITE_OUTSIDE(soft_l1_conjugate))
phibal_status soft_l1_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(soft_l1_valid, REAL_INSIDE(soft_l1_conjugate_gradient))
phibal_status soft_l1_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                         const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(INFINITE_OUTSIDE(negentropy_value))
phibal_status negentropy_value(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL_INSIDE(negentropy_gradient))
phibal_status negentropy_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL_INSIDE(negentropy_second))
phibal_status negentropy_second(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(negentropy_conjugate))
phibal_status negentropy_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(negentropy_conjugate_gradient))
phibal_status negentropy_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                            const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(tsallis_valid, INFINITE_OUTSIDE(tsallis_value))
phibal_status tsallis_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(tsallis_valid, REAL_INSIDE(tsallis_gradient))
phibal_status tsallis_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(tsallis_valid, REAL_OR_INFINITE(tsallis_second))
phibal_status tsallis_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(tsallis_valid, INFINITE_OUTSIDE(tsallis_conjugate))
phibal_status tsallis_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(tsallis_valid, REAL_INSIDE(tsallis_conjugate_gradient))
phibal_status tsallis_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                         const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(pseudo_huber_valid, REAL(pseudo_huber_value))
phibal_status pseudo_huber_value(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(pseudo_huber_valid, REAL(pseudo_huber_gradient))
phibal_status pseudo_huber_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                    const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(pseudo_huber_valid, REAL(pseudo_huber_second))
phibal_status pseudo_huber_second(phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(pseudo_huber_valid, INFINITE_OUTSIDE(pseudo_huber_conjugate))
phibal_status pseudo_huber_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                                     const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(pseudo_huber_valid, REAL_INSIDE(pseudo_huber_conjugate_gradient))
phibal_status pseudo_huber_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                              const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(log_cosh_valid, REAL(log_cosh_value))
phibal_status log_cosh_value(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(log_cosh_valid, REAL(log_cosh_gradient))
phibal_status log_cosh_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(log_cosh_valid, REAL(log_cosh_second))
phibal_status log_cosh_second(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(log_cosh_valid, INFINITE_OUTSIDE(log_cosh_conjugate))
phibal_status log_cosh_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t);
//@ POINT(log_cosh_valid, REAL_INSIDE(log_cosh_conjugate_gradient))
phibal_status log_cosh_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                          const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(softplus_value))
phibal_status softplus_value(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(softplus_gradient))
phibal_status softplus_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL(softplus_second))
phibal_status softplus_second(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(INFINITE_OUTSIDE(softplus_conjugate))
phibal_status softplus_conjugate(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t);
//@ FREE_POINT(REAL_INSIDE(softplus_conjugate_gradient))
phibal_status softplus_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                          const phibal_enclosure *a, phibal_enclosure *t);

typedef enum graph_shape {
  SHAPE_MONOTONE, /* in x, on the domain; which way may depend on the parameter */
  SHAPE_EVEN,     /* f(-x) = f(x), and monotone for x >= 0 */
  SHAPE_CONVEX,   /* convex: least, -f*(0), at (f*)'(0); for a conjugate, f* is the value */
} graph_shape;

/* Everything one evaluation of a graph writes to, so that it is made and cleared in one place. */
typedef struct workspace {
  phibal_enclosure point, near, far, scratch[SCRATCH];
} workspace;

void workspace_init(workspace *w, mpfr_prec_t precision);
void workspace_clear(workspace *w);
/* z holds f(r, a) for every r in x. x is bounded; z is apart from it. */
phibal_status graph_over(scalar_family s, scalar_function f, phibal_enclosure *z,
                         const phibal_enclosure *x, const phibal_enclosure *a, workspace *w);
#include <phibal/acsl/contracts/inside/potentials/potentials.h>

/* GUARD_BITS more, or the most there can be. */
static inline mpfr_prec_t guarded_precision(mpfr_prec_t precision) {
  return precision > MPFR_PREC_MAX - GUARD_BITS ? MPFR_PREC_MAX : precision + GUARD_BITS;
}
/* The working precision of a result z from arguments x[0..n-1]: the ends of x are exact in it. */
mpfr_prec_t working_precision(const phibal_enclosure *z, size_t n, const phibal_enclosure *x);

/* PHIBAL_ERROR_DOMAIN with the message "outside the domain <domain>". */
phibal_status outside_domain(const char *domain);
/* The same status with "<function> of <potential>: coordinate i of n (x_i): <message>", the message
   being that of the failure just met. */
phibal_status name_coordinate(phibal_status status, const char *function, const char *potential,
                              size_t i, size_t n, const phibal_enclosure *x);

/* The same status with "<where>: <message>", if it is a failure's. */
phibal_status name_place(phibal_status status, const char *where);

/* Functions of vectors: lp at p = inf, and Renyi. Like the public ones, with arguments checked. */
phibal_status lp_max_value(size_t n, const phibal_enclosure *x, phibal_enclosure *value);
phibal_status lp_max_gradient(size_t n, const phibal_enclosure *x, phibal_enclosure *gradient);
phibal_status lp_max_hessian(size_t n, const phibal_enclosure *x, phibal_enclosure *hessian);
phibal_status lp_max_conjugate(size_t n, const phibal_enclosure *y, phibal_enclosure *value);
phibal_status lp_max_conjugate_gradient(size_t n, const phibal_enclosure *y,
                                        phibal_enclosure *gradient);
phibal_status renyi_value(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                          phibal_enclosure *value);
phibal_status renyi_gradient(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                             phibal_enclosure *gradient);
phibal_status renyi_hessian(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                            phibal_enclosure *hessian);
phibal_status renyi_hessian_product(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    const phibal_enclosure *v, phibal_enclosure *product);
phibal_status renyi_conjugate(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                              phibal_enclosure *value);
phibal_status renyi_conjugate_gradient(const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, phibal_enclosure *gradient);

static inline void set_infinity(phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_set_inf(z->lo, 1);
  mpfr_set_inf(z->hi, 1);
}

/* z = x + n; may be the same object. */
static inline void add_integer(phibal_enclosure *z, const phibal_enclosure *x, long n) {
  //@ assert open_enclosure;
  mpfr_add_si(z->lo, x->lo, n, MPFR_RNDD);
  mpfr_add_si(z->hi, x->hi, n, MPFR_RNDU);
}

/* z = n - x; not the same object. */
static inline void subtract_from_integer(phibal_enclosure *z, long n, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  mpfr_si_sub(z->lo, n, x->hi, MPFR_RNDD);
  mpfr_si_sub(z->hi, n, x->lo, MPFR_RNDU);
}

/* z = 2^k x; may be the same object. */
static inline void multiply_by_power_of_two(phibal_enclosure *z, const phibal_enclosure *x,
                                            long k) {
  /*@ assert powers: open_enclosure && power_of_two(1) == 2.0 && power_of_two(2) == 4.0; */
  mpfr_mul_2si(z->lo, x->lo, k, MPFR_RNDD);
  mpfr_mul_2si(z->hi, x->hi, k, MPFR_RNDU);
}

/* The sign of a point. */
static inline int point_sign(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_sgn(x->lo);
}

/* How |x| of a point compares with 1: negative, 0, positive. */
static inline int point_compare_magnitude_with_one(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_sgn(x->lo) < 0 ? -mpfr_cmp_si(x->lo, -1) : mpfr_cmp_si(x->lo, 1);
}

/* x is certain to lie in (lo, hi). */
static inline bool is_between(const phibal_enclosure *x, double lo, double hi) {
  //@ assert open_enclosure;
  return mpfr_cmp_d(x->lo, lo) > 0 && mpfr_cmp_d(x->hi, hi) < 0;
}

#endif
