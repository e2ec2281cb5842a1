/* What <phibal/enclosure.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_ENCLOSURE_H
#define PHIBAL_ACSL_CONTRACTS_ENCLOSURE_H

#ifdef __FRAMAC__
#include <phibal/acsl/heap.h>
#endif

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
void phibal_enclosure_set_d(phibal_enclosure *z, double d);

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
void phibal_enclosure_set_fr(phibal_enclosure *z, mpfr_srcptr x);

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
phibal_status phibal_enclosure_sqrt(phibal_enclosure *z, const phibal_enclosure *x);

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
phibal_status phibal_enclosure_log(phibal_enclosure *z, const phibal_enclosure *x);

/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || (\result == PHIBAL_ERROR_DOMAIN && whole(z));
    ensures \forall real a; in{Pre}(x, a) && a > -1.0 ==> in(z, \log(1.0 + a)); */
phibal_status phibal_enclosure_log1p(phibal_enclosure *z, const phibal_enclosure *x);

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
bool phibal_enclosure_is_zero(const phibal_enclosure *x);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> exact(x); */
bool phibal_enclosure_is_exact(const phibal_enclosure *x);

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

/*@ requires writable(width) && input(x) && \separated(width, x);
    terminates \true;
    exits \false;
    assigns *width;
    ensures mnumber(width->number);
    ensures \forall real a, b; in(x, a) && in(x, b) ==> above(width->number, b - a); */
void phibal_enclosure_width(mpfr_ptr width, const phibal_enclosure *x);

#endif
