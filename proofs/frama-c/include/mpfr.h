/* A model of <mpfr.h> for Frama-C: what the proofs trust about MPFR. The product is compiled with
   the real header; proofs/frama-c/model holds this one's contracts against the library.

   A variable of type mpfr_t names a number: mkind says what the number is, mval which real number
   where it is one, mprec its precision in bits. All are functions of an abstract identity, which a
   write replaces by another: nothing is assumed of identities, so this file has no axioms. Copying
   a live mpfr_t as a struct would share its digits; the product never does, and the model would not
   notice. */
#ifndef PHIBAL_MODEL_MPFR_H
#define PHIBAL_MODEL_MPFR_H

#include <gmp.h>
#include <limits.h>
#include <stddef.h>

typedef enum {
  MPFR_RNDN = 0,
  MPFR_RNDZ,
  MPFR_RNDU,
  MPFR_RNDD,
  MPFR_RNDA,
  MPFR_RNDF,
} mpfr_rnd_t;
typedef long mpfr_prec_t;
typedef long mpfr_exp_t;
#define MPFR_PREC_MIN 1
#define MPFR_PREC_MAX 9223372036854775551

struct mpfr_number;
typedef struct {
  struct mpfr_number *number;
} __mpfr_struct;
typedef __mpfr_struct mpfr_t[1];
typedef __mpfr_struct *mpfr_ptr;
typedef const __mpfr_struct *mpfr_srcptr;

/*@ // 2^n and x^n for integers n >= 0
    logic real power_of_two(integer n) = n <= 0 ? 1.0 : 2.0 * power_of_two(n - 1);
    logic real integer_power(real x, integer n) = n <= 0 ? 1.0 : x * integer_power(x, n - 1);
    // x^y for x >= 0, with 0^0 = 1; 0^y = plus infinity for y < 0 is not a real number
    logic real power(real x, real y) = x > 0.0 ? \exp(y * \log(x)) : (y > 0.0 ? 0.0 : 1.0);
    // (e^2x - 1) / (e^2x + 1)
    logic real tanh(real x) = 1.0 - 2.0 / (\exp(2.0 * x) + 1.0);

    // the circle's constant; WP 25 does not know \pi
    axiomatic Pi {
      logic real pi;
    }
    axiomatic Mpfr {
      // -1: minus infinity, 0: a real number, 1: plus infinity, 2: NaN; another value: not
      // initialised, or cleared
      logic integer mkind(struct mpfr_number *n);
      logic real mval(struct mpfr_number *n);
      logic integer mprec(struct mpfr_number *n);
      // k as in x = m 2^k with 1/2 <= |m| < 1
      logic integer mexponent(struct mpfr_number *n);
    }

    predicate minitialised(struct mpfr_number *n) =
      -1 <= mkind(n) <= 2 && MPFR_PREC_MIN <= mprec(n) <= MPFR_PREC_MAX;
    predicate mnumber(struct mpfr_number *n) =
      -1 <= mkind(n) <= 1 && MPFR_PREC_MIN <= mprec(n) <= MPFR_PREC_MAX;
    predicate mreal(struct mpfr_number *n, real v) = mkind(n) == 0 && mval(n) == v;

    // the order of the extended reals, and their sign
    predicate mless(struct mpfr_number *a, struct mpfr_number *b) =
      mkind(a) < mkind(b) || (mkind(a) == 0 && mkind(b) == 0 && mval(a) < mval(b));
    predicate mle(struct mpfr_number *a, struct mpfr_number *b) =
      mkind(a) < mkind(b) || (mkind(a) == mkind(b) && (mkind(a) == 0 ==> mval(a) <= mval(b)));
    predicate mnegative(struct mpfr_number *n) =
      mkind(n) == -1 || (mkind(n) == 0 && mval(n) < 0.0);
    predicate mpositive(struct mpfr_number *n) =
      mkind(n) == 1 || (mkind(n) == 0 && mval(n) > 0.0);

    // a number that was x before is written, with the precision it had
    predicate written{A, B}(mpfr_srcptr x) =
      minitialised(\at(x->number, B)) && mprec(\at(x->number, B)) == mprec(\at(x->number, A));

    // n is the real number e rounded: below it, above it, and never across 0
    predicate rounded(integer rnd, struct mpfr_number *n, real e) =
      -1 <= mkind(n) <= 1 &&
      (rnd == MPFR_RNDD ==> mkind(n) <= 0 && (mkind(n) == 0 ==> mval(n) <= e)) &&
      (rnd == MPFR_RNDU ==> mkind(n) >= 0 && (mkind(n) == 0 ==> mval(n) >= e)) &&
      (e >= 0.0 ==> mkind(n) >= 0 && (mkind(n) == 0 ==> mval(n) >= 0.0)) &&
      (e <= 0.0 ==> mkind(n) <= 0 && (mkind(n) == 0 ==> mval(n) <= 0.0));
    // the same for an extended real number m: an infinity stays what it is
    predicate rounded_number(integer rnd, struct mpfr_number *n, struct mpfr_number *m) =
      (mkind(m) == 0 ==> rounded(rnd, n, mval(m))) && (mkind(m) != 0 ==> mkind(n) == mkind(m));

    predicate readable{L}(mpfr_srcptr x) = \valid_read(x) && minitialised(x->number);
    predicate readable_number{L}(mpfr_srcptr x) = \valid_read(x) && mnumber(x->number);
    predicate writable{L}(mpfr_ptr x) = \valid(x) && minitialised(x->number);
*/

/*@ requires \valid(x) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *x \from precision;
    ensures nan: mkind(x->number) == 2 && mprec(x->number) == precision; */
void mpfr_init2(mpfr_ptr x, mpfr_prec_t precision);

/*@ requires writable(x);
    terminates \true;
    exits \false;
    assigns *x \from \nothing; */
void mpfr_clear(mpfr_ptr x);

/*@ requires \valid_read(x) && minitialised(x->number);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures precision: \result == mprec(x->number);
    ensures range: MPFR_PREC_MIN <= \result <= MPFR_PREC_MAX; */
mpfr_prec_t mpfr_get_prec(mpfr_srcptr x);

/*@ requires writable(x) && writable(y);
    terminates \true;
    exits \false;
    assigns *x \from *y;
    assigns *y \from *x;
    ensures swapped: x->number == \old(y->number) && y->number == \old(x->number); */
void mpfr_swap(mpfr_ptr x, mpfr_ptr y);


/* Assignments. */

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures number: rounded_number(rnd, z->number, \old(x->number));
    ensures exact: mkind(\old(x->number)) == 0 && mprec(\old(x->number)) <= mprec(z->number) ==> mreal(z->number, mval(\old(x->number))); */
int mpfr_set(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: rounded(rnd, z->number, (real)n); */
int mpfr_set_si(mpfr_ptr z, long n, mpfr_rnd_t rnd);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: rounded(rnd, z->number, (real)n); */
int mpfr_set_ui(mpfr_ptr z, unsigned long n, mpfr_rnd_t rnd);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from d, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: \is_finite(d) ==> rounded(rnd, z->number, (real)d);
    ensures plus: \is_plus_infinity(d) ==> mkind(z->number) == 1;
    ensures minus: \is_minus_infinity(d) ==> mkind(z->number) == -1; */
int mpfr_set_d(mpfr_ptr z, double d, mpfr_rnd_t rnd);

/*@ requires writable(z) && \valid_read(q) && qinitialised(q);
    terminates \true;
    exits \false;
    assigns *z \from *q, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: rounded(rnd, z->number, qval(q)); */
int mpfr_set_q(mpfr_ptr z, mpq_srcptr q, mpfr_rnd_t rnd);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from n, e, rnd;
    ensures w: written{Pre,Here}(z);
    ensures sign: n != 0 ==> -1 <= mkind(z->number) <= 1;
    ensures plus: n > 0 ==> !mnegative(z->number);
    ensures minus: n < 0 ==> !mpositive(z->number); */
int mpfr_set_si_2exp(mpfr_ptr z, long n, mpfr_exp_t e, mpfr_rnd_t rnd);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from sign;
    ensures w: written{Pre,Here}(z);
    ensures zero: mreal(z->number, 0.0); */
void mpfr_set_zero(mpfr_ptr z, int sign);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from sign;
    ensures w: written{Pre,Here}(z);
    ensures plus: sign >= 0 ==> mkind(z->number) == 1;
    ensures minus: sign < 0 ==> mkind(z->number) == -1; */
void mpfr_set_inf(mpfr_ptr z, int sign);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from \nothing;
    ensures w: written{Pre,Here}(z);
    ensures nan: mkind(z->number) == 2; */
void mpfr_set_nan(mpfr_ptr z);

/* Arithmetic: correctly rounded; opposite infinities and 0 times infinity make NaN. */

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mkind(\old(y->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) + mval(\old(y->number)));
    ensures plus: (mkind(\old(x->number)) == 1 && 0 <= mkind(\old(y->number)) <= 1) || (0 <= mkind(\old(x->number)) <= 1 && mkind(\old(y->number)) == 1) ==> mkind(z->number) == 1;
    ensures minus: (mkind(\old(x->number)) == -1 && -1 <= mkind(\old(y->number)) <= 0) || (-1 <= mkind(\old(x->number)) <= 0 && mkind(\old(y->number)) == -1) ==> mkind(z->number) == -1; */
int mpfr_add(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mkind(\old(y->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) - mval(\old(y->number)));
    ensures plus: (mkind(\old(x->number)) == 1 && -1 <= mkind(\old(y->number)) <= 0) || (0 <= mkind(\old(x->number)) <= 1 && mkind(\old(y->number)) == -1) ==> mkind(z->number) == 1;
    ensures minus: (mkind(\old(x->number)) == -1 && 0 <= mkind(\old(y->number)) <= 1) || (-1 <= mkind(\old(x->number)) <= 0 && mkind(\old(y->number)) == 1) ==> mkind(z->number) == -1; */
int mpfr_sub(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mkind(\old(y->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) * mval(\old(y->number)));
    ensures plus: ((mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) || (mkind(\old(y->number)) == 1 || mkind(\old(y->number)) == -1)) && ((mpositive(\old(x->number)) && mpositive(\old(y->number))) || (mnegative(\old(x->number)) && mnegative(\old(y->number)))) ==> mkind(z->number) == 1;
    ensures minus: ((mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) || (mkind(\old(y->number)) == 1 || mkind(\old(y->number)) == -1)) && ((mpositive(\old(x->number)) && mnegative(\old(y->number))) || (mnegative(\old(x->number)) && mpositive(\old(y->number)))) ==> mkind(z->number) == -1; */
int mpfr_mul(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mkind(\old(y->number)) == 0 && mval(\old(y->number)) != 0.0 ==> rounded(rnd, z->number, mval(\old(x->number)) / mval(\old(y->number)));
    ensures plus: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) && mkind(\old(y->number)) == 0 && ((mpositive(\old(x->number)) && mpositive(\old(y->number))) || (mnegative(\old(x->number)) && mnegative(\old(y->number)))) ==> mkind(z->number) == 1;
    ensures minus: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) && mkind(\old(y->number)) == 0 && ((mpositive(\old(x->number)) && mnegative(\old(y->number))) || (mnegative(\old(x->number)) && mpositive(\old(y->number)))) ==> mkind(z->number) == -1;
    ensures zero: mkind(\old(x->number)) == 0 && (mkind(\old(y->number)) == 1 || mkind(\old(y->number)) == -1) ==> mreal(z->number, 0.0); */
int mpfr_div(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) * mval(\old(x->number)));
    ensures plus: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == 1; */
int mpfr_sqr(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, -mval(\old(x->number)));
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == -mkind(\old(x->number)); */
int mpfr_neg(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, \abs(mval(\old(x->number))));
    ensures plus: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == 1; */
int mpfr_abs(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) + n);
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == mkind(\old(x->number)); */
int mpfr_add_si(mpfr_ptr z, mpfr_srcptr x, long n, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) - n);
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == mkind(\old(x->number)); */
int mpfr_sub_si(mpfr_ptr z, mpfr_srcptr x, long n, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, n - mval(\old(x->number)));
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == -mkind(\old(x->number)); */
int mpfr_si_sub(mpfr_ptr z, long n, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && n > 0 ==> rounded(rnd, z->number, mval(\old(x->number)) / n);
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) && n > 0 ==> mkind(z->number) == mkind(\old(x->number)); */
int mpfr_div_ui(mpfr_ptr z, mpfr_srcptr x, unsigned long n, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, mval(\old(x->number)) / power_of_two(n));
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == mkind(\old(x->number)); */
int mpfr_div_2ui(mpfr_ptr z, mpfr_srcptr x, unsigned long n, mpfr_rnd_t rnd);

/* Exact where there is room, as long as MPFR's range of exponents holds -53 to 53. */

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && n >= 0 ==> rounded(rnd, z->number, mval(\old(x->number)) * power_of_two(n));
    ensures part: mkind(\old(x->number)) == 0 && n < 0 ==> rounded(rnd, z->number, mval(\old(x->number)) / power_of_two(-n));
    ensures exact: mkind(\old(x->number)) == 0 && mval(\old(x->number)) != 0.0 && mprec(\old(x->number)) <= mprec(z->number) && n >= 0 && mexponent(\old(x->number)) + n <= 53 ==> mreal(z->number, mval(\old(x->number)) * power_of_two(n));
    ensures exact_part: mkind(\old(x->number)) == 0 && mval(\old(x->number)) != 0.0 && mprec(\old(x->number)) <= mprec(z->number) && n < 0 && mexponent(\old(x->number)) + n >= -53 ==> mreal(z->number, mval(\old(x->number)) / power_of_two(-n));
    ensures infinite: (mkind(\old(x->number)) == 1 || mkind(\old(x->number)) == -1) ==> mkind(z->number) == mkind(\old(x->number)); */
int mpfr_mul_2si(mpfr_ptr z, mpfr_srcptr x, long n, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, n, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, integer_power(mval(\old(x->number)), n));
    ensures plus: mkind(\old(x->number)) == 1 && n > 0 ==> mkind(z->number) == 1; */
int mpfr_pow_ui(mpfr_ptr z, mpfr_srcptr x, unsigned long n, mpfr_rnd_t rnd);

/* The smaller, the greater of two numbers, rounded. */

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures first: mnumber(\old(y->number)) && mle(\old(x->number), \old(y->number)) ==> rounded_number(rnd, z->number, \old(x->number));
    ensures second: mnumber(\old(x->number)) && mless(\old(y->number), \old(x->number)) ==> rounded_number(rnd, z->number, \old(y->number)); */
int mpfr_min(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures first: mnumber(\old(y->number)) && mle(\old(y->number), \old(x->number)) ==> rounded_number(rnd, z->number, \old(x->number));
    ensures second: mnumber(\old(x->number)) && mless(\old(x->number), \old(y->number)) ==> rounded_number(rnd, z->number, \old(y->number)); */
int mpfr_max(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z) && mnumber(z->number);
    terminates \true;
    exits \false;
    assigns *z \from *z;
    ensures w: written{Pre,Here}(z);
    ensures number: mnumber(z->number); */
void mpfr_nextabove(mpfr_ptr z);

/*@ requires writable(z) && mnumber(z->number);
    terminates \true;
    exits \false;
    assigns *z \from *z;
    ensures w: written{Pre,Here}(z);
    ensures number: mnumber(z->number); */
void mpfr_nextbelow(mpfr_ptr z);

/* Elementary functions: correctly rounded, with their limits at the infinities. */

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mval(\old(x->number)) >= 0.0 ==> rounded(rnd, z->number, \sqrt(mval(\old(x->number))));
    ensures plus: mkind(\old(x->number)) == 1 ==> mkind(z->number) == 1; */
int mpfr_sqrt(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, \exp(mval(\old(x->number))));
    ensures plus: mkind(\old(x->number)) == 1 ==> mkind(z->number) == 1;
    ensures zero: mkind(\old(x->number)) == -1 ==> mreal(z->number, 0.0); */
int mpfr_exp(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, \exp(mval(\old(x->number))) - 1.0);
    ensures plus: mkind(\old(x->number)) == 1 ==> mkind(z->number) == 1;
    ensures minus: mkind(\old(x->number)) == -1 ==> rounded(rnd, z->number, -1.0); */
int mpfr_expm1(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mval(\old(x->number)) > 0.0 ==> rounded(rnd, z->number, \log(mval(\old(x->number))));
    ensures plus: mkind(\old(x->number)) == 1 ==> mkind(z->number) == 1;
    ensures zero: mreal(\old(x->number), 0.0) ==> mkind(z->number) == -1; */
int mpfr_log(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mval(\old(x->number)) > -1.0 ==> rounded(rnd, z->number, \log(1.0 + mval(\old(x->number))));
    ensures plus: mkind(\old(x->number)) == 1 ==> mkind(z->number) == 1;
    ensures minus: mreal(\old(x->number), -1.0) ==> mkind(z->number) == -1; */
int mpfr_log1p(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x);
    terminates \true;
    exits \false;
    assigns *z \from *x, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 ==> rounded(rnd, z->number, tanh(mval(\old(x->number))));
    ensures plus: mkind(\old(x->number)) == 1 ==> rounded(rnd, z->number, 1.0);
    ensures minus: mkind(\old(x->number)) == -1 ==> rounded(rnd, z->number, -1.0); */
int mpfr_tanh(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires writable(z) && readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y, rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: mkind(\old(x->number)) == 0 && mkind(\old(y->number)) == 0 && mval(\old(x->number)) > 0.0 ==> rounded(rnd, z->number, \exp(mval(\old(y->number)) * \log(mval(\old(x->number)))));
    ensures base: mkind(\old(x->number)) == 1 && mpositive(\old(y->number)) ==> mkind(z->number) == 1;
    ensures base0: mkind(\old(x->number)) == 1 && mnegative(\old(y->number)) ==> mreal(z->number, 0.0);
    ensures up: mkind(\old(y->number)) == 1 && mkind(\old(x->number)) <= 1 && (mkind(\old(x->number)) == 1 || (mkind(\old(x->number)) == 0 && mval(\old(x->number)) > 1.0)) ==> mkind(z->number) == 1;
    ensures down: mkind(\old(y->number)) == 1 && mkind(\old(x->number)) == 0 && 0.0 < mval(\old(x->number)) < 1.0 ==> mreal(z->number, 0.0);
    ensures up0: mkind(\old(y->number)) == -1 && mkind(\old(x->number)) == 0 && mval(\old(x->number)) > 1.0 ==> mreal(z->number, 0.0);
    ensures down1: mkind(\old(y->number)) == -1 && mkind(\old(x->number)) == 0 && 0.0 < mval(\old(x->number)) < 1.0 ==> mkind(z->number) == 1; */
int mpfr_pow(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd);

/*@ requires writable(z);
    terminates \true;
    exits \false;
    assigns *z \from rnd;
    ensures w: written{Pre,Here}(z);
    ensures real: rounded(rnd, z->number, pi); */
int mpfr_const_pi(mpfr_ptr z, mpfr_rnd_t rnd);

/* Comparisons: NaN is none of its callers' business where a sign is asked for, and false elsewhere. */

/*@ requires readable_number(x);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures negative: \result < 0 <==> mnegative(x->number);
    ensures positive: \result > 0 <==> mpositive(x->number);
    ensures unit: -1 <= \result <= 1; */
int mpfr_sgn(mpfr_srcptr x);

/*@ requires readable_number(x) && readable_number(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures less: \result < 0 <==> mless(x->number, y->number);
    ensures greater: \result > 0 <==> mless(y->number, x->number); */
int mpfr_cmp(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable_number(x) && readable_number(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures real: mkind(x->number) == 0 && mkind(y->number) == 0 ==> (\result > 0 <==> \abs(mval(x->number)) > \abs(mval(y->number)));
    ensures first: mkind(x->number) != 0 && mkind(y->number) == 0 ==> \result > 0;
    ensures second: mkind(y->number) != 0 ==> \result <= 0; */
int mpfr_cmpabs(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable_number(x);
    terminates \true;
    exits \false;
    assigns \result \from *x, n;
    ensures less: \result < 0 <==> mkind(x->number) == -1 || (mkind(x->number) == 0 && mval(x->number) < n);
    ensures greater: \result > 0 <==> mkind(x->number) == 1 || (mkind(x->number) == 0 && mval(x->number) > n);
    ensures bounded: -2147483647 <= \result; */
int mpfr_cmp_si(mpfr_srcptr x, long n);

/*@ requires readable_number(x);
    terminates \true;
    exits \false;
    assigns \result \from *x, n;
    ensures less: \result < 0 <==> mkind(x->number) == -1 || (mkind(x->number) == 0 && mval(x->number) < n);
    ensures greater: \result > 0 <==> mkind(x->number) == 1 || (mkind(x->number) == 0 && mval(x->number) > n);
    ensures bounded: -2147483647 <= \result; */
int mpfr_cmp_ui(mpfr_srcptr x, unsigned long n);

/*@ requires readable_number(x) && !\is_NaN(d);
    terminates \true;
    exits \false;
    assigns \result \from *x, d;
    ensures less: \is_finite(d) ==> (\result < 0 <==> mkind(x->number) == -1 || (mkind(x->number) == 0 && mval(x->number) < (real)d));
    ensures greater: \is_finite(d) ==> (\result > 0 <==> mkind(x->number) == 1 || (mkind(x->number) == 0 && mval(x->number) > (real)d));
    ensures plus: \is_plus_infinity(d) ==> (\result < 0 <==> mkind(x->number) < 1) && \result <= 0;
    ensures minus: \is_minus_infinity(d) ==> (\result > 0 <==> mkind(x->number) > -1) && \result >= 0; */
int mpfr_cmp_d(mpfr_srcptr x, double d);

/*@ requires readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures iff: \result != 0 <==> mnumber(x->number) && mnumber(y->number) && mless(x->number, y->number); */
int mpfr_less_p(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures iff: \result != 0 <==> mnumber(x->number) && mnumber(y->number) && mle(x->number, y->number); */
int mpfr_lessequal_p(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures iff: \result != 0 <==> mnumber(x->number) && mnumber(y->number) && mless(y->number, x->number); */
int mpfr_greater_p(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures iff: \result != 0 <==> mnumber(x->number) && mnumber(y->number) && mle(y->number, x->number); */
int mpfr_greaterequal_p(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns \result \from *x, *y;
    ensures iff: \result != 0 <==> mnumber(x->number) && mnumber(y->number) && mle(x->number, y->number) && mle(y->number, x->number); */
int mpfr_equal_p(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures iff: \result != 0 <==> mkind(x->number) == 0; */
int mpfr_number_p(mpfr_srcptr x);

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures iff: \result != 0 <==> mkind(x->number) == 1 || mkind(x->number) == -1; */
int mpfr_inf_p(mpfr_srcptr x);

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures iff: \result != 0 <==> mreal(x->number, 0.0); */
int mpfr_zero_p(mpfr_srcptr x);

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures iff: \result != 0 <==> mkind(x->number) == 0 && mval(x->number) != 0.0; */
int mpfr_regular_p(mpfr_srcptr x);

/* Conversions. */

/*@ requires \valid_read(x) && mkind(x->number) == 0 && mval(x->number) != 0.0;
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures exponent: \result == mexponent(x->number);
    ensures range: -4611686018427387903 <= \result <= 4611686018427387903;
    ensures small: \result <= 0 ==> \abs(mval(x->number)) * power_of_two(-\result) < 1.0;
    ensures least: \result <= 1 ==> \abs(mval(x->number)) * power_of_two(1 - \result) >= 1.0;
    ensures size: \result >= 0 ==> \abs(mval(x->number)) < power_of_two(\result);
    ensures most: \result >= 1 ==> \abs(mval(x->number)) >= power_of_two(\result - 1); */
mpfr_exp_t mpfr_get_exp(mpfr_srcptr x);

/*@ requires readable_number(x);
    terminates \true;
    exits \false;
    assigns \result \from *x, rnd;
    ensures nearest: mkind(x->number) == 0 && rnd == MPFR_RNDN && \abs(mval(x->number)) <= 9007199254740992.0 ==> \abs(\result - mval(x->number)) <= 0.5;
    ensures down: mkind(x->number) == 0 && rnd == MPFR_RNDD && \abs(mval(x->number)) <= 9007199254740992.0 ==> \result <= mval(x->number) < \result + 1;
    ensures up: mkind(x->number) == 0 && rnd == MPFR_RNDU && \abs(mval(x->number)) <= 9007199254740992.0 ==> \result - 1 < mval(x->number) <= \result;
    ensures zero: mkind(x->number) == 0 && rnd == MPFR_RNDZ && 0.0 <= mval(x->number) <= 9007199254740992.0 ==> \result <= mval(x->number) < \result + 1;
    ensures zero_up: mkind(x->number) == 0 && rnd == MPFR_RNDZ && -9007199254740992.0 <= mval(x->number) <= 0.0 ==> \result - 1 < mval(x->number) <= \result;
    ensures even: mkind(x->number) == 0 && rnd == MPFR_RNDN && \abs(mval(x->number)) <= 9007199254740992.0 && \abs(\result - mval(x->number)) == 0.5 ==> \exists integer h; \result == 2 * h; */
long mpfr_get_si(mpfr_srcptr x, mpfr_rnd_t rnd);

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \result \from *x, rnd;
    ensures down: mkind(x->number) == 0 && rnd == MPFR_RNDD && \is_finite(\result) ==> \result <= mval(x->number);
    ensures up: mkind(x->number) == 0 && rnd == MPFR_RNDU && \is_finite(\result) ==> mval(x->number) <= \result;
    ensures number: mnumber(x->number) ==> !\is_NaN(\result); */
double mpfr_get_d(mpfr_srcptr x, mpfr_rnd_t rnd);

/* n digits and a null, behind a minus where the number has one: the number is 0.d1 ... dn times
   10^*exponent. */
/*@ requires readable(x) && mkind(x->number) == 0 && mval(x->number) != 0.0;
    requires base == 10 && 1 <= n <= INT_MAX;
    requires \valid(text + (0 .. (n < 5 ? 6 : n + 1))) && \valid(exponent);
    requires \separated(text + (0 .. (n < 5 ? 6 : n + 1)), exponent);
    terminates \true;
    exits \false;
    assigns text[0 .. (n < 5 ? 6 : n + 1)] \from *x, n, rnd;
    assigns *exponent \from *x, n, rnd;
    assigns \result \from text;
    ensures same: \result == text;
    ensures digits: \let first = mval(\old(x->number)) < 0.0 ? 1 : 0;
      \forall integer i; first <= i < first + n ==> '0' <= text[i] <= '9';
    ensures null: text[n + (mval(\old(x->number)) < 0.0 ? 1 : 0)] == 0;
    ensures minus: mval(\old(x->number)) < 0.0 ==> text[0] == '-';
    ensures range: -4611686018427387904 <= *exponent <= 4611686018427387904; */
char *mpfr_get_str(char *text, mpfr_exp_t *exponent, int base, size_t n, mpfr_srcptr x, mpfr_rnd_t rnd);

#endif
