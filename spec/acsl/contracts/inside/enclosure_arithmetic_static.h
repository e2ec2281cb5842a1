/* What the static functions of reference/enclosure_arithmetic.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_ARITHMETIC_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_ARITHMETIC_STATIC_H

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> in_minus(x); */
static bool holds_minus_infinity(const phibal_enclosure *x);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> in_plus(x); */
static bool holds_plus_infinity(const phibal_enclosure *x);

/*@ // n is the product, the quotient of two numbers, rounded; where it has a meaning
    predicate product(integer rnd, struct mpfr_number *n, struct mpfr_number *a,
                      struct mpfr_number *b) =
      (mkind(a) == 0 && mkind(b) == 0 ==> rounded(rnd, n, times(mval(a), mval(b)))) &&
      ((mkind(a) != 0 || mkind(b) != 0) ==>
        ((mpositive(a) && mpositive(b)) || (mnegative(a) && mnegative(b)) ==> mkind(n) == 1) &&
        ((mpositive(a) && mnegative(b)) || (mnegative(a) && mpositive(b)) ==> mkind(n) == -1));
    predicate quotient(integer rnd, struct mpfr_number *n, struct mpfr_number *a,
                       struct mpfr_number *b) =
      (mkind(a) == 0 && mkind(b) == 0 ==> rounded(rnd, n, over(mval(a), mval(b)))) &&
      (mkind(a) != 0 && mkind(b) == 0 ==>
        ((mpositive(a) && mpositive(b)) || (mnegative(a) && mnegative(b)) ==> mkind(n) == 1) &&
        ((mpositive(a) && mnegative(b)) || (mnegative(a) && mpositive(b)) ==> mkind(n) == -1)) &&
      (mkind(a) == 0 && mkind(b) != 0 ==> mreal(n, 0.0));
*/

/*@ requires raw(z) && readable_number(a) && readable_number(b) && readable_number(c) &&
             readable_number(d);
    requires \separated(z, a) && \separated(z, b) && \separated(z, c) && \separated(z, d);
    terminates \true;
    exits \false;
    assigns *z;
    ensures raw(z);
    ensures product(MPFR_RNDD, z->lo[0].number, \old(a->number), \old(b->number));
    ensures product(MPFR_RNDU, z->hi[0].number, \old(c->number), \old(d->number));
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void product_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr c,
                         mpfr_srcptr d);

/*@ requires raw(z) && input(x) && input(y) && \separated(z, x) && \separated(z, y);
    requires !nonnegative(x) && !nonpositive(x) && !nonnegative(y) && !nonpositive(y);
    requires has_infinity(x) ==> positive(y) || negative(y);
    requires has_infinity(y) ==> positive(x) || negative(x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, times(a, b));
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void product_straddling(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *y);

/*@ requires raw(z) && input(x) && input(y) && \separated(z, x) && \separated(z, y);
    requires nonnegative(x);
    requires has_infinity(x) ==> positive(y) || negative(y);
    requires has_infinity(y) ==> positive(x) || negative(x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, times(a, b));
    ensures infinite: (positive{Pre}(x) && in_plus{Pre}(y)) ||
      (in_plus{Pre}(x) && positive{Pre}(y)) ==> in_plus(z);
    ensures bits_kept{Pre, Here}(z);
    ensures sign: nonnegative{Pre}(y) ==> nonnegative(z);
    ensures only_written{Pre, Here}(z); */
static void product_nonnegative(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *y);

/*@ requires raw(z) && input(x) && input(y) && \separated(z, x) && \separated(z, y);
    requires nonpositive(x);
    requires has_infinity(x) ==> positive(y) || negative(y);
    requires has_infinity(y) ==> positive(x) || negative(x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, times(a, b));
    ensures bits_kept{Pre, Here}(z);
    ensures sign: nonpositive{Pre}(y) ==> nonnegative(z);
    ensures only_written{Pre, Here}(z); */
static void product_nonpositive(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *y);

/*@ requires raw(z) && readable_number(a) && readable_number(b) && readable_number(c) &&
             readable_number(d) && !mreal(b->number, 0.0) && !mreal(d->number, 0.0);
    requires \separated(z, a) && \separated(z, b) && \separated(z, c) && \separated(z, d);
    terminates \true;
    exits \false;
    assigns *z;
    ensures raw(z);
    ensures quotient(MPFR_RNDD, z->lo[0].number, \old(a->number), \old(b->number));
    ensures quotient(MPFR_RNDU, z->hi[0].number, \old(c->number), \old(d->number));
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void quotient_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr c,
                          mpfr_srcptr d);

#endif
