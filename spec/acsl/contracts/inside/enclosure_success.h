/* When the functions of enclosures succeed, and that their results keep the bits of their place:
   contracts beside those of <phibal/enclosure.h>, which say what a success means. They are proved
   where the functions are. A file includes them where its own contracts say when it succeeds; other
   proofs are quicker without them. */
#ifndef PHIBAL_ENCLOSURE_SUCCESS_H
#define PHIBAL_ENCLOSURE_SUCCESS_H

#include <phibal/enclosure.h>

/*@ // the ends have as many bits as before
    predicate bits_kept{A, B}(phibal_enclosure *z) =
      mprec(\at(z->lo[0].number, B)) == mprec(\at(z->lo[0].number, A)) &&
      mprec(\at(z->hi[0].number, B)) == mprec(\at(z->hi[0].number, A));
    predicate without_zero{L}(phibal_enclosure *x) = positive(x) || negative(x);

    axiomatic EnclosureSigns {
      predicate use_signs;
      axiom signs_used: use_signs;
      LEMMA positive_sign{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        positive(x) ==> nonnegative(x);
      LEMMA nonnegative_sign{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        enclosure(x) && nonnegative(x) ==> positive(x) || in(x, 0.0);
      LEMMA nonnegative_end{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        nonnegative(x) ==> !in_minus(x);
      LEMMA point_kinds{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        point(x) ==> bounded(x) && (nonnegative(x) || negative(x));
    }
*/

//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_set(phibal_enclosure *z, const phibal_enclosure *x);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_set_si(phibal_enclosure *z, long n);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_set_d(phibal_enclosure *z, double d);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_set_fr(phibal_enclosure *z, mpfr_srcptr x);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_set_q(phibal_enclosure *z, mpq_srcptr q);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_hull(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *y);

/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==>
      !(in_plus{Pre}(x) && in_minus{Pre}(y)) && !(in_minus{Pre}(x) && in_plus{Pre}(y));
    ensures bits: bits_kept{Pre, Here}(z);
    ensures sign: \result == PHIBAL_OK && nonnegative{Pre}(x) && nonnegative{Pre}(y) ==>
      nonnegative(z); */
phibal_status phibal_enclosure_add(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==>
      !(in_plus{Pre}(x) && in_plus{Pre}(y)) && !(in_minus{Pre}(x) && in_minus{Pre}(y));
    ensures bits: bits_kept{Pre, Here}(z); */
phibal_status phibal_enclosure_sub(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==> (bounded{Pre}(x) || without_zero{Pre}(y)) &&
      (bounded{Pre}(y) || without_zero{Pre}(x));
    ensures bits: bits_kept{Pre, Here}(z);
    ensures sign: \result == PHIBAL_OK &&
      ((nonnegative{Pre}(x) && nonnegative{Pre}(y)) || (negative{Pre}(x) && negative{Pre}(y))) ==>
      nonnegative(z); */
phibal_status phibal_enclosure_mul(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==>
      without_zero{Pre}(y) && (bounded{Pre}(x) || bounded{Pre}(y));
    ensures bits: bits_kept{Pre, Here}(z); */
phibal_status phibal_enclosure_div(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_neg(phibal_enclosure *z, const phibal_enclosure *x);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_abs(phibal_enclosure *z, const phibal_enclosure *x);
/*@ terminates \true;
    ensures success: (\forall integer i; 0 <= i < n ==>
      !in_plus{Pre}(x + i) && !in_minus{Pre}(x + i)) ==> \result == PHIBAL_OK;
    ensures bits: bits_kept{Pre, Here}(z); */
phibal_status phibal_enclosure_sum(phibal_enclosure *z, size_t n, const phibal_enclosure *x);

/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==> nonnegative{Pre}(x);
    ensures bits: bits_kept{Pre, Here}(z);
    ensures sign: \result == PHIBAL_OK ==> nonnegative(z); */
phibal_status phibal_enclosure_sqrt(phibal_enclosure *z, const phibal_enclosure *x);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z); ensures sign: nonnegative(z);
void phibal_enclosure_exp(phibal_enclosure *z, const phibal_enclosure *x);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_expm1(phibal_enclosure *z, const phibal_enclosure *x);
//@ terminates \true; ensures bits: bits_kept{Pre, Here}(z);
void phibal_enclosure_tanh(phibal_enclosure *z, const phibal_enclosure *x);
/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==> nonnegative{Pre}(x);
    ensures bits: bits_kept{Pre, Here}(z); */
phibal_status phibal_enclosure_log(phibal_enclosure *z, const phibal_enclosure *x);
/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==>
      !in_minus{Pre}(x) && \forall real a; in{Pre}(x, a) ==> a >= -1.0;
    ensures bits: bits_kept{Pre, Here}(z); */
phibal_status phibal_enclosure_log1p(phibal_enclosure *z, const phibal_enclosure *x);
/*@ terminates \true;
    ensures success: \result == PHIBAL_OK <==> nonnegative{Pre}(x) &&
      (in_plus{Pre}(x) ==> without_zero{Pre}(y)) && (bounded{Pre}(y) || !in{Pre}(x, 1.0));
    ensures bits: bits_kept{Pre, Here}(z); */
phibal_status phibal_enclosure_pow(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y);

#endif
