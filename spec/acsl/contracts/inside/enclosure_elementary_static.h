/* What the static functions of reference/enclosure_elementary.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_ELEMENTARY_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_ELEMENTARY_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/power.h>
#endif

/*@ // n is the power of two numbers, the first one >= 0, rounded; where it has a meaning
    predicate powered(integer rnd, struct mpfr_number *n, struct mpfr_number *a,
                      struct mpfr_number *b) =
      (mkind(a) == 0 && mkind(b) == 0 && (mval(a) > 0.0 || mval(b) >= 0.0) ==>
        rounded(rnd, n, raised(mval(a), mval(b)))) &&
      (mreal(a, 0.0) ==> (mnegative(b) ==> mkind(n) == 1) && (mkind(b) == 1 ==> mreal(n, 0.0))) &&
      (mkind(a) == 1 ==>
        (mpositive(b) ==> mkind(n) == 1) && (mnegative(b) ==> mreal(n, 0.0))) &&
      (mkind(a) == 0 && mval(a) > 1.0 ==>
        (mkind(b) == 1 ==> mkind(n) == 1) && (mkind(b) == -1 ==> mreal(n, 0.0))) &&
      (mkind(a) == 0 && 0.0 < mval(a) < 1.0 ==>
        (mkind(b) == 1 ==> mreal(n, 0.0)) && (mkind(b) == -1 ==> mkind(n) == 1));
    // x is a base for the exponents y: neither inf^0 nor 1^inf is among the powers
    predicate base{L}(phibal_enclosure *x, phibal_enclosure *y) =
      nonnegative(x) && (in_plus(x) ==> positive(y) || negative(y)) &&
      (has_infinity(y) ==> !in(x, 1.0));
    // every power of members is in z
    predicate powers{A, L}(phibal_enclosure *z, phibal_enclosure *x, phibal_enclosure *y) =
      \forall real a, b; in{A}(x, a) && in{A}(y, b) && (a > 0.0 || b >= 0.0) ==>
        in{L}(z, raised(a, b));
*/

/*@ requires writable(r) && readable_number(x) && readable_number(y);
    requires \separated(r, x) && \separated(r, y);
    requires !mnegative(x->number);
    terminates \true;
    exits \false;
    assigns *r;
    ensures written{Pre, Here}(r);
    ensures powered(direction, r->number, \old(x->number), \old(y->number)); */
static void power_end(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t direction);

/*@ requires raw(z) && readable_number(a) && readable_number(b) && readable_number(c) &&
             readable_number(d);
    requires \separated(z, a) && \separated(z, b) && \separated(z, c) && \separated(z, d);
    requires !mnegative(a->number) && !mnegative(c->number);
    terminates \true;
    exits \false;
    assigns *z;
    ensures raw(z);
    ensures powered(MPFR_RNDD, z->lo[0].number, \old(a->number), \old(b->number));
    ensures powered(MPFR_RNDU, z->hi[0].number, \old(c->number), \old(d->number));
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void power_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr c,
                       mpfr_srcptr d);

/*@ requires readable_number(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> mkind(x->number) == 1 || (mkind(x->number) == 0 && mval(x->number) >= 1.0);
 */
static bool at_least_one(mpfr_srcptr x);

/*@ requires raw(z) && input(x) && input(y) && \separated(z, x) && \separated(z, y);
    requires nonnegative(y) && base(x, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures powers{Pre, Here}(z, x, y);
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void power_nonnegative(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *y);

/*@ requires raw(z) && input(x) && input(y) && \separated(z, x) && \separated(z, y);
    requires nonpositive(y) && base(x, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures powers{Pre, Here}(z, x, y);
    ensures infinite: \forall real b; in{Pre}(x, 0.0) && in{Pre}(y, b) && b < 0.0 ==> in_plus(z);
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void power_nonpositive(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *y);

/*@ requires raw(z) && raw(t) && \separated(z, t);
    requires mnumber(z->lo[0].number) && mnumber(z->hi[0].number);
    requires mnumber(t->lo[0].number) && mnumber(t->hi[0].number);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures raw(z);
    ensures mnumber(z->lo[0].number) && mnumber(z->hi[0].number);
    ensures \forall real r; below(\old(z->lo[0].number), r) || below(\old(t->lo[0].number), r) ==>
      below(z->lo[0].number, r);
    ensures \forall real r; above(\old(z->hi[0].number), r) || above(\old(t->hi[0].number), r) ==>
      above(z->hi[0].number, r);
    ensures mkind(\old(z->hi[0].number)) == 1 ==> mkind(z->hi[0].number) == 1;
    ensures bits_kept{Pre, Here}(z);
    ensures only_two_written{Pre, Here}(z, t); */
static void join_ends(phibal_enclosure *z, phibal_enclosure *t);

/*@ requires raw(z) && input(x) && input(y) && \separated(z, x) && \separated(z, y);
    requires !nonnegative(y) && !nonpositive(y) && base(x, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures powers{Pre, Here}(z, x, y);
    ensures infinite: \forall real b; in{Pre}(x, 0.0) && in{Pre}(y, b) && b < 0.0 ==> in_plus(z);
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static void power_straddling(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *y);

#endif
