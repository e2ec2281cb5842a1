/* What the functions of reference/enclosure_internal.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_INTERNAL_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_INTERNAL_H

/* Functions that implement enclosures open the definitions with `assert open_enclosure`. */
/*@ // an enclosure's place that may hold any two numbers, NaN as well
    predicate raw{L}(phibal_enclosure *z) =
      \valid(z) && minitialised(z->lo[0].number) && minitialised(z->hi[0].number);
    // the ends of t have as many bits as those of z
    predicate as_many_bits{L}(phibal_enclosure *t, phibal_enclosure *z) =
      mprec(t->lo[0].number) == mprec(z->lo[0].number) &&
      mprec(t->hi[0].number) == mprec(z->hi[0].number);
    // both ends are infinite or neither is, and such
    predicate has_infinity{L}(phibal_enclosure *x) =
      mkind(x->lo[0].number) != 0 || mkind(x->hi[0].number) != 0;
*/

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> has_infinity(x); */
static inline bool enclosure_has_infinity(const phibal_enclosure *x);

/*@ requires \valid(t) && raw(z) && \separated(t, z);
    terminates \true;
    exits \false;
    assigns *t;
    ensures raw(t);
    ensures as_many_bits(t, z);
    ensures only_written{Pre, Here}(t); */
static inline void enclosure_temporary(phibal_enclosure *t, const phibal_enclosure *z);

/*@ requires output(z) && output(t) && \separated(t, z);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z);
    ensures \forall real a; in{Pre}(t, a) ==> in(z, a);
    ensures z->lo[0].number == \old(t->lo[0].number) && z->hi[0].number == \old(t->hi[0].number);
    ensures only_two_written{Pre, Here}(z, t); */
static inline void enclosure_move(phibal_enclosure *z, phibal_enclosure *t);

/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures \result == PHIBAL_ERROR_DOMAIN && enclosure(z) && whole(z);
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
phibal_status enclosure_undefined(phibal_enclosure *z, const char *function,
                                  const phibal_enclosure *x, const char *rule);

/*@ requires output(z) && input(x) && input(y) && apart(z, x) && apart(z, y);
    terminates \true;
    exits \false;
    assigns *z;
    ensures \result == PHIBAL_ERROR_DOMAIN && enclosure(z) && whole(z);
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
phibal_status enclosure_undefined_pair(phibal_enclosure *z, const char *function,
                                       const phibal_enclosure *x, const phibal_enclosure *y,
                                       const char *rule);

#endif
