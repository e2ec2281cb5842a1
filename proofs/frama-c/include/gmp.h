/* A model of <gmp.h> for Frama-C: exact integers and rationals, as the reference uses them. */
#ifndef PHIBAL_MODEL_GMP_H
#define PHIBAL_MODEL_GMP_H

struct gmp_integer;
typedef struct {
  struct gmp_integer *value;
} __mpz_struct;
typedef __mpz_struct mpz_t[1];
typedef __mpz_struct *mpz_ptr;
typedef const __mpz_struct *mpz_srcptr;
typedef struct {
  __mpz_struct _mp_num, _mp_den;
} __mpq_struct;
typedef __mpq_struct mpq_t[1];
typedef __mpq_struct *mpq_ptr;
typedef const __mpq_struct *mpq_srcptr;
#define mpq_numref(q) (&((q)->_mp_num))
#define mpq_denref(q) (&((q)->_mp_den))

/*@ axiomatic Gmp {
      logic integer zval(struct gmp_integer *n);
      predicate zlive(struct gmp_integer *n); // initialised, not cleared
    }
    predicate zinitialised{L}(mpz_srcptr z) = zlive(z->value);
    logic integer zint{L}(mpz_srcptr z) = zval(z->value);
    // a rational whose denominator is not 0; not necessarily in lowest terms
    predicate qinitialised{L}(mpq_srcptr q) =
      zlive(q->_mp_num.value) && zlive(q->_mp_den.value) && zval(q->_mp_den.value) != 0;
    logic real qval{L}(mpq_srcptr q) =
      (real)zval(q->_mp_num.value) / (real)zval(q->_mp_den.value);
*/

/*@ // integers and rationals that may be written: initialised, whatever the denominator is
    predicate zwritable{L}(mpz_ptr z) = \valid(z) && zinitialised(z);
    predicate qlive{L}(mpq_srcptr q) = zlive(q->_mp_num.value) && zlive(q->_mp_den.value);
    predicate qwritable{L}(mpq_ptr q) = \valid(q) && qlive(q);
    logic integer qnum{L}(mpq_srcptr q) = zval(q->_mp_num.value);
    logic integer qden{L}(mpq_srcptr q) = zval(q->_mp_den.value);

    logic integer digit(integer c) =
      '0' <= c <= '9' ? c - '0' : 'a' <= c <= 'z' ? c - 'a' + 10 : 'A' <= c <= 'Z' ? c - 'A' + 10 : 99;
    // the number that the first n characters are in a base
    logic integer digits_value{L}(char *text, integer n, integer base) =
      n <= 0 ? 0 : base * digits_value(text, n - 1, base) + digit(text[n - 1]);
    logic integer natural_power(integer base, integer n) =
      n <= 0 ? 1 : base * natural_power(base, n - 1);
*/

/*@ requires \valid(z);
    terminates \true;
    exits \false;
    assigns *z \from \nothing;
    ensures zero: zinitialised(z) && zint(z) == 0; */
void mpz_init(mpz_ptr z);

/*@ requires zwritable(z);
    terminates \true;
    exits \false;
    assigns *z \from \nothing; */
void mpz_clear(mpz_ptr z);

/*@ requires zwritable(z) && \valid_read(x) && zinitialised(x);
    terminates \true;
    exits \false;
    assigns *z \from *x;
    ensures value: zinitialised(z) && zint(z) == \old(zint(x)); */
void mpz_set(mpz_ptr z, mpz_srcptr x);

/*@ requires zwritable(z);
    terminates \true;
    exits \false;
    assigns *z \from n;
    ensures value: zinitialised(z) && zint(z) == n; */
void mpz_set_ui(mpz_ptr z, unsigned long n);

/* Only for texts of one digit or more that are all digits of the base. */
/*@ requires zwritable(z) && (base == 10 || base == 16);
    requires \exists integer n; 0 < n && \valid_read(text + (0 .. n)) && text[n] == 0 &&
      \forall integer i; 0 <= i < n ==> digit(text[i]) < base;
    terminates \true;
    exits \false;
    assigns *z \from text[0 ..], base;
    assigns \result \from text[0 ..], base;
    ensures live: zinitialised(z) && \result == 0;
    ensures value: \forall integer n; 0 < n && \old(text[n]) == 0 &&
      (\forall integer i; 0 <= i < n ==> digit(\old(text[i])) < base) ==>
      zint(z) == digits_value{Pre}(text, n, base); */
int mpz_set_str(mpz_ptr z, const char *text, int base);

/*@ requires zwritable(z) && \valid_read(x) && zinitialised(x) && \valid_read(y) && zinitialised(y);
    terminates \true;
    exits \false;
    assigns *z \from *x, *y;
    ensures value: zinitialised(z) && zint(z) == \old(zint(x)) * \old(zint(y)); */
void mpz_mul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);

/*@ requires zwritable(z);
    terminates \true;
    exits \false;
    assigns *z \from base, n;
    ensures value: zinitialised(z) && zint(z) == natural_power(base, n);
    ensures positive: base > 0 ==> zint(z) > 0; */
void mpz_ui_pow_ui(mpz_ptr z, unsigned long base, unsigned long n);

/*@ requires \valid_read(x) && zinitialised(x);
    terminates \true;
    exits \false;
    assigns \result \from *x;
    ensures zero: \result == 0 <==> zint(x) == 0;
    ensures sign: (\result < 0 <==> zint(x) < 0) && (\result > 0 <==> zint(x) > 0); */
int mpz_sgn(mpz_srcptr x);

/*@ requires \valid(q);
    terminates \true;
    exits \false;
    assigns *q \from \nothing;
    ensures zero: qinitialised(q) && qnum(q) == 0 && qden(q) == 1; */
void mpq_init(mpq_ptr q);

/*@ requires qwritable(q);
    terminates \true;
    exits \false;
    assigns *q \from \nothing; */
void mpq_clear(mpq_ptr q);

/*@ requires qwritable(q) && qden(q) != 0;
    terminates \true;
    exits \false;
    assigns *q \from *q;
    ensures value: qinitialised(q) && qval(q) == \old(qval(q));
    ensures positive: qden(q) > 0; */
void mpq_canonicalize(mpq_ptr q);

/*@ requires \valid_read(q) && qinitialised(q) && qden(q) > 0;
    terminates \true;
    exits \false;
    assigns \result \from *q;
    ensures zero: \result == 0 <==> qval(q) == 0.0;
    ensures sign: (\result < 0 <==> qval(q) < 0.0) && (\result > 0 <==> qval(q) > 0.0); */
int mpq_sgn(mpq_srcptr q);

/*@ requires qwritable(z) && \valid_read(x) && qinitialised(x) && \valid_read(y) && qinitialised(y);
    requires qden(x) > 0 && qden(y) > 0 && qval(y) != 0.0;
    terminates \true;
    exits \false;
    assigns *z \from *x, *y;
    ensures value: qinitialised(z) && qval(z) == \old(qval(x)) / \old(qval(y));
    ensures positive: qden(z) > 0; */
void mpq_div(mpq_ptr z, mpq_srcptr x, mpq_srcptr y);

/*@ requires qwritable(z) && \valid_read(x) && qinitialised(x);
    terminates \true;
    exits \false;
    assigns *z \from *x;
    ensures value: qinitialised(z) && qval(z) == -\old(qval(x)) && qden(z) == \old(qden(x)); */
void mpq_neg(mpq_ptr z, mpq_srcptr x);
#endif
