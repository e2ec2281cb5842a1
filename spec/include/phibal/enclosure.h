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
// member of x". Their vocabulary is in <phibal/acsl/enclosure.h>.
#ifdef __FRAMAC__
#include <phibal/acsl/heap.h>
#endif

/* z = [0, 0]. Where phibal_precision_check of <phibal/precision.h> refuses the precision, z gets
   MPFR_PREC_MIN bits, and phibal_status_message says so: what is computed in z is still enclosed,
   but widely. phibal_enclosure_create returns a status instead. */
/*@ requires \valid(z) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && point(z) && in(z, 0.0);
    ensures precise(z, precision) && roomy(z, precision);
    ensures only_written{Pre, Here}(z); */
void phibal_enclosure_init(phibal_enclosure *z, mpfr_prec_t precision);
/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures only_written{Pre, Here}(z); */
void phibal_enclosure_clear(phibal_enclosure *z);
/* n enclosures, initialised; null when memory is out. */
/*@ requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns ALLOCATED;
    assigns \result \from n, precision, enclosure_heap, enclosure_heap_used;
    ensures \result == \null || (vector_output(\result, n) && given_out{Pre, Here}(\result, n));
    ensures \result == \null || (\forall integer i; 0 <= i < n ==>
      point(\result + i) && in(\result + i, 0.0) && precise(\result + i, precision));
    ensures still_in_use{Pre, Here};
    ensures vector_kept{Pre, Here}(\result, 0); */
phibal_enclosure *phibal_enclosure_vector(size_t n, mpfr_prec_t precision);
/*@ requires v == \null || vector_output(v, n);
    terminates \true;
    exits \false;
    assigns v[0 .. n - 1];
    ensures only_vector_written{Pre, Here}(v, n); */
void phibal_enclosure_vector_clear(phibal_enclosure *v, size_t n);

/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) ==> in(z, a);
    ensures in_plus{Pre}(x) ==> in_plus(z);
    ensures in_minus{Pre}(x) ==> in_minus(z);
    ensures nonnegative{Pre}(x) ==> nonnegative(z);
    ensures nonpositive{Pre}(x) ==> nonpositive(z); */
void phibal_enclosure_set(phibal_enclosure *z, const phibal_enclosure *x);
/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures in(z, (real)n);
    ensures n == 0 ==> point(z);
    ensures n > 0 ==> nonnegative(z);
    ensures \forall integer bits; roomy{Pre}(z, bits) ==> roomy(z, bits); */
void phibal_enclosure_set_si(phibal_enclosure *z, long n);
/*@ requires output(z) && !\is_NaN(d);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \is_finite(d) ==> in(z, (real)d);
    ensures \is_finite(d) && (real)d == 0.0 ==> point(z);
    ensures \is_plus_infinity(d) ==> in_plus(z);
    ensures \is_minus_infinity(d) ==> in_minus(z); */
void phibal_enclosure_set_d(phibal_enclosure *z, double d); /* d may be infinite; not NaN */
/*@ requires output(z) && readable_number(x);
    requires \separated(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; mreal(\old(x->number), a) ==> in(z, a);
    ensures mkind(\old(x->number)) == 1 ==> only_plus(z) && in_plus(z);
    ensures mkind(\old(x->number)) == -1 ==> in_minus(z);
    ensures \forall integer bits; roomy{Pre}(z, bits) ==> roomy(z, bits);
    ensures mkind(\old(x->number)) == 0 && roomy{Pre}(z, mprec(\old(x->number))) ==> point(z); */
void phibal_enclosure_set_fr(phibal_enclosure *z, mpfr_srcptr x); /* not NaN */
/*@ requires output(z) && \valid_read(q) && qinitialised(q) && \separated(z, q);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures in(z, qval(q)); */
void phibal_enclosure_set_q(phibal_enclosure *z, mpq_srcptr q);
/*@ requires output(x) && output(y) && apart(x, y);
    terminates \true;
    exits \false;
    assigns *x, *y;
    ensures enclosure(x) && enclosure(y);
    ensures only_two_written{Pre, Here}(x, y);
    ensures \forall real a; in{Pre}(x, a) <==> in(y, a);
    ensures \forall real a; in{Pre}(y, a) <==> in(x, a);
    ensures x->lo[0].number == \old(y->lo[0].number) && x->hi[0].number == \old(y->hi[0].number);
    ensures y->lo[0].number == \old(x->lo[0].number) && y->hi[0].number == \old(x->hi[0].number); */
void phibal_enclosure_swap(phibal_enclosure *x, phibal_enclosure *y);
/* The smallest interval that holds both. */
/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) || in{Pre}(y, a) ==> in(z, a);
    ensures \forall real a, b, r; in{Pre}(x, a) && in{Pre}(y, b) && (a <= r <= b || b <= r <= a) ==> in(z, r);
    ensures in_plus{Pre}(x) || in_plus{Pre}(y) ==> in_plus(z);
    ensures in_minus{Pre}(x) || in_minus{Pre}(y) ==> in_minus(z); */
void phibal_enclosure_hull(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *y);
/* Decimal (1.5e-3), C99 hexadecimal (0x1.8p-10), a fraction of two of these (1/3), or inf, with a
   sign and blanks around: read exactly, then enclosed, so that a number that fits z is a point.
   PHIBAL_ERROR_FORMAT says what is wrong with the text and where; z is then unchanged. Exponents
   beyond 10^+-100000 or 2^+-400000 are such errors. */
/*@ requires z == \null || output(z);
    requires text == \null || \exists integer n; 0 <= n <= 0x1000000000000000 &&
      \valid_read(text + (0 .. n)) && text[n] == 0;
    terminates \true;
    exits \false;
    assigns *z, TEXT_ALLOCATED;
    ensures z == \null || enclosure(z);
    ensures \result != PHIBAL_OK ==> same{Pre, Here}(z);
    ensures z == \null || text == \null ==> \result == PHIBAL_ERROR_ARGUMENT;
    ensures only_written{Pre, Here}(z); */
phibal_status phibal_enclosure_set_str(phibal_enclosure *z, const char *text);
/* Characters, final null included, that a decimal string of `digits` digits may take. */
#define PHIBAL_DECIMAL_SIZE(digits) ((size_t)(digits) + 32)
/* The ends in decimal with `digits` >= 1 significant digits, lo rounded down and hi rounded up;
   zeros that end a fraction are left out. Plain from 1e-5 up to `digits` digits before the point,
   else 1.25e-30; "inf", "-inf". lo and hi hold `size` characters each, PHIBAL_DECIMAL_SIZE(digits)
   or more, else PHIBAL_ERROR_ARGUMENT. Either may be null. */
/*@ requires x == \null || input(x);
    requires lo == \null || \valid(lo + (0 .. size - 1));
    requires hi == \null || \valid(hi + (0 .. size - 1));
    requires lo == \null || hi == \null || \separated(lo + (0 .. size - 1), hi + (0 .. size - 1));
    requires lo == \null || \separated(lo + (0 .. size - 1), x);
    requires hi == \null || \separated(hi + (0 .. size - 1), x);
    terminates \true;
    exits \false;
    assigns lo[0 .. size - 1], hi[0 .. size - 1];
    ensures \result == PHIBAL_OK <==> x != \null && digits >= 1 && size >= digits + 32;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK ==>
      (lo == \null || (\exists integer i; 0 <= i < digits + 32 && lo[i] == 0)) &&
      (hi == \null || (\exists integer i; 0 <= i < digits + 32 && hi[i] == 0)); */
phibal_status phibal_enclosure_get_decimal(const phibal_enclosure *x, int digits, char *lo,
                                           char *hi, size_t size);

/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, a + b);
    ensures \result == PHIBAL_OK && (in_plus{Pre}(x) || in_plus{Pre}(y)) ==> in_plus(z); */
phibal_status phibal_enclosure_add(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, a - b); */
phibal_status phibal_enclosure_sub(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, a * b);
    ensures infinite: \result == PHIBAL_OK ==> \forall real a; a > 0.0 &&
      ((in{Pre}(x, a) && in_plus{Pre}(y)) || (in_plus{Pre}(x) && in{Pre}(y, a))) ==> in_plus(z); */
phibal_status phibal_enclosure_mul(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) && b != 0.0 ==> in(z, a / b); */
phibal_status phibal_enclosure_div(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) ==> in(z, -a);
    ensures in_plus{Pre}(x) ==> in_minus(z);
    ensures in_minus{Pre}(x) ==> in_plus(z);
    ensures nonnegative{Pre}(x) ==> nonpositive(z);
    ensures nonpositive{Pre}(x) ==> nonnegative(z); */
void phibal_enclosure_neg(phibal_enclosure *z, const phibal_enclosure *x);
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) ==> in(z, \abs(a));
    ensures nonnegative(z); */
void phibal_enclosure_abs(phibal_enclosure *z, const phibal_enclosure *x);
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a; in{Pre}(x, a) && a >= 0.0 ==> in(z, \sqrt(a)); */
phibal_status phibal_enclosure_sqrt(phibal_enclosure *z, const phibal_enclosure *x); /* x >= 0 */
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) ==> in(z, \exp(a));
    ensures nonnegative(z); */
void phibal_enclosure_exp(phibal_enclosure *z, const phibal_enclosure *x);
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) ==> in(z, \exp(a) - 1.0); */
void phibal_enclosure_expm1(phibal_enclosure *z, const phibal_enclosure *x);
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a; in{Pre}(x, a) && a > 0.0 ==> in(z, \log(a)); */
phibal_status phibal_enclosure_log(phibal_enclosure *z, const phibal_enclosure *x);   /* x >= 0 */
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a; in{Pre}(x, a) && a > -1.0 ==> in(z, \log(1.0 + a)); */
phibal_status phibal_enclosure_log1p(phibal_enclosure *z, const phibal_enclosure *x); /* x >= -1 */
/* x^y for x >= 0; 0^y is 0 for y > 0, 1 for y = 0, +inf for y < 0. */
/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) && a >= 0.0 && (a > 0.0 || b >= 0.0) ==> in(z, power(a, b));
    ensures infinite: \result == PHIBAL_OK ==> \forall real b;
      in{Pre}(x, 0.0) && in{Pre}(y, b) && b < 0.0 ==> in_plus(z); */
phibal_status phibal_enclosure_pow(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real a; in{Pre}(x, a) ==> in(z, tanh(a)); */
void phibal_enclosure_tanh(phibal_enclosure *z, const phibal_enclosure *x);
/* z = sum of x[0..n-1]; 0 for n = 0. z is none of them. */
/*@ requires output(z) && vector_input(x, n);
    requires \forall integer i; 0 <= i < n ==> \separated(z, x + i);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      \forall sequence s; members{Pre}(x, n, s) ==> in(z, sum(s, n)); */
phibal_status phibal_enclosure_sum(phibal_enclosure *z, size_t n, const phibal_enclosure *x);

/* Comparisons: true only when certain for every pair of members. */
/*@ requires input(x) && input(y);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> (\forall real a, b; in(x, a) && in(y, b) ==> a < b); */
bool phibal_enclosure_is_less(const phibal_enclosure *x, const phibal_enclosure *y);
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> positive(x); */
bool phibal_enclosure_is_positive(const phibal_enclosure *x);
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> negative(x); */
bool phibal_enclosure_is_negative(const phibal_enclosure *x);
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> point(x) && in(x, 0.0); */
bool phibal_enclosure_is_zero(const phibal_enclosure *x);  /* exactly [0, 0] */
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> exact(x); */
bool phibal_enclosure_is_exact(const phibal_enclosure *x); /* lo = hi */
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures !\result ==> positive(x) || negative(x);
    ensures positive(x) || negative(x) ==> !\result; */
bool phibal_enclosure_contains_zero(const phibal_enclosure *x);
/*@ requires input(x) && input(y);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures (\exists real a; in(x, a) && in(y, a)) ==> \result; */
bool phibal_enclosure_overlaps(const phibal_enclosure *x, const phibal_enclosure *y);
/* An upper bound of hi - lo; +inf if either end is infinite, 0 if both are the same infinity. */
/*@ requires writable(width) && input(x) && \separated(width, x);
    terminates \true;
    exits \false;
    assigns *width;
    ensures mnumber(width->number);
    ensures \forall real a, b; in(x, a) && in(x, b) ==> above(width->number, b - a); */
void phibal_enclosure_width(mpfr_ptr width, const phibal_enclosure *x);

#ifdef __cplusplus
}
#endif
#endif
