/* Enclosures of real numbers: closed intervals of the extended reals with MPFR ends.
   Contract of every function: for all a in x (and b in y), f(a, b) is in z. `z` is rounded outward
   to its own precision, each end correctly, so that an exact result of a point is a point; it may
   be the same object as x or y, but not overlap in part.
   Ends may be infinite: [v, +inf] says "v or more, perhaps +inf itself" (so also a finite number
   beyond MPFR's exponents), [+inf, +inf] says "exactly plus infinity". Functions take their limits
   at infinite members. NaN never appears, and -0 is 0. A function that is undefined somewhere in
   its arguments (inf - inf, 0 * inf, inf / inf, inf^0, 1^inf, a divisor that holds 0, a negative
   logarithm) returns PHIBAL_ERROR_DOMAIN and leaves z the whole line [-inf, +inf].
   MPFR's range of exponents and the floating-point environment belong to the caller's thread. Each
   function computes in a range that holds the caller's and MPFR's default, in the default
   environment, and puts both back. An end that the caller's range does not hold is rounded outward
   to it. */
#ifndef PHIBAL_ENCLOSURE_H
#define PHIBAL_ENCLOSURE_H

#include <phibal/status.h>
#include <mpfr.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct phibal_enclosure {
  mpfr_t lo, hi;
} phibal_enclosure;

// The contracts in ACSL, proved by `./dev prove`, say it for real members: in(x, a) is "a is a
// member of x". They are in <phibal/acsl/contracts/enclosure.h>, their vocabulary in
// <phibal/acsl/enclosure.h>.

/* z = [0, 0]. Where phibal_precision_check of <phibal/precision.h> refuses the precision, z gets
   MPFR_PREC_MIN bits, and phibal_status_message says so: what is computed in z is still enclosed,
   but widely. phibal_enclosure_create returns a status instead. */
void phibal_enclosure_init(phibal_enclosure *z, mpfr_prec_t precision);
void phibal_enclosure_clear(phibal_enclosure *z);
/* n enclosures, initialised; null when memory is out. */
phibal_enclosure *phibal_enclosure_vector(size_t n, mpfr_prec_t precision);
void phibal_enclosure_vector_clear(phibal_enclosure *v, size_t n);

void phibal_enclosure_set(phibal_enclosure *z, const phibal_enclosure *x);
void phibal_enclosure_set_si(phibal_enclosure *z, long n);
void phibal_enclosure_set_d(phibal_enclosure *z, double d); /* d may be infinite; not NaN */
void phibal_enclosure_set_fr(phibal_enclosure *z, mpfr_srcptr x); /* not NaN */
void phibal_enclosure_set_q(phibal_enclosure *z, mpq_srcptr q);
void phibal_enclosure_swap(phibal_enclosure *x, phibal_enclosure *y);
/* The smallest interval that holds both. */
void phibal_enclosure_hull(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *y);
/* Decimal (1.5e-3), C99 hexadecimal (0x1.8p-10), a fraction of two of these (1/3), or inf, with a
   sign and blanks around: read exactly, then enclosed, so that a number that fits z is a point.
   PHIBAL_ERROR_FORMAT says what is wrong with the text and where; z is then unchanged. Exponents
   beyond 10^+-100000 or 2^+-400000 are such errors. */
phibal_status phibal_enclosure_set_str(phibal_enclosure *z, const char *text);
/* Characters, final null included, that a decimal string of `digits` digits may take. */
#define PHIBAL_DECIMAL_SIZE(digits) ((size_t)(digits) + 32)
/* The ends in decimal with `digits` >= 1 significant digits, lo rounded down and hi rounded up;
   zeros that end a fraction are left out. Plain from 1e-5 up to `digits` digits before the point,
   else 1.25e-30; "inf", "-inf". lo and hi hold `size` characters each, PHIBAL_DECIMAL_SIZE(digits)
   or more, else PHIBAL_ERROR_ARGUMENT. Either may be null. */
phibal_status phibal_enclosure_get_decimal(const phibal_enclosure *x, int digits, char *lo,
                                           char *hi, size_t size);

phibal_status phibal_enclosure_add(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
phibal_status phibal_enclosure_sub(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
phibal_status phibal_enclosure_mul(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
phibal_status phibal_enclosure_div(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
void phibal_enclosure_neg(phibal_enclosure *z, const phibal_enclosure *x);
void phibal_enclosure_abs(phibal_enclosure *z, const phibal_enclosure *x);
phibal_status phibal_enclosure_sqrt(phibal_enclosure *z, const phibal_enclosure *x); /* x >= 0 */
void phibal_enclosure_exp(phibal_enclosure *z, const phibal_enclosure *x);
void phibal_enclosure_expm1(phibal_enclosure *z, const phibal_enclosure *x);
phibal_status phibal_enclosure_log(phibal_enclosure *z, const phibal_enclosure *x);   /* x >= 0 */
phibal_status phibal_enclosure_log1p(phibal_enclosure *z, const phibal_enclosure *x); /* x >= -1 */
/* x^y for x >= 0; 0^y is 0 for y > 0, 1 for y = 0, +inf for y < 0. */
phibal_status phibal_enclosure_pow(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
void phibal_enclosure_tanh(phibal_enclosure *z, const phibal_enclosure *x);
/* z = sum of x[0..n-1]; 0 for n = 0. z is none of them. */
phibal_status phibal_enclosure_sum(phibal_enclosure *z, size_t n, const phibal_enclosure *x);

/* Comparisons: true only when certain for every pair of members. */
bool phibal_enclosure_is_less(const phibal_enclosure *x, const phibal_enclosure *y);
bool phibal_enclosure_is_positive(const phibal_enclosure *x);
bool phibal_enclosure_is_negative(const phibal_enclosure *x);
bool phibal_enclosure_is_zero(const phibal_enclosure *x);  /* exactly [0, 0] */
bool phibal_enclosure_is_exact(const phibal_enclosure *x); /* lo = hi */
bool phibal_enclosure_contains_zero(const phibal_enclosure *x);
bool phibal_enclosure_overlaps(const phibal_enclosure *x, const phibal_enclosure *y);
/* An upper bound of hi - lo; +inf if either end is infinite, 0 if both are the same infinity. */
void phibal_enclosure_width(mpfr_ptr width, const phibal_enclosure *x);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/enclosure.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
