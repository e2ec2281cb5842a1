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
#endif
