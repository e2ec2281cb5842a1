/* The logic of enclosures: what their contracts say. ACSL only; seen by Frama-C, not by compilers.

   The predicates are opaque to proofs about functions that merely use enclosures, which are then
   quick: such proofs see the lemmas of EnclosureUse, proved in proofs/frama-c/lemmas.c from the
   definitions, after `assert use_enclosure`. Functions that implement enclosures see the
   definitions after `assert open_enclosure`. Both keys are true; they only sort what provers see:
   an axiomatic is shown to a proof when one of its symbols occurs in it. */
#ifndef PHIBAL_ACSL_ENCLOSURE_H
#define PHIBAL_ACSL_ENCLOSURE_H

#include <phibal/acsl/real.h>

/*@ axiomatic Enclosure {
      // an enclosure: two numbers, neither NaN, the first at most the second
      predicate enclosure{L}(phibal_enclosure *x) reads x->lo[0].number, x->hi[0].number;
      // the real number a is a member
      predicate in{L}(phibal_enclosure *x, real a) reads x->lo[0].number, x->hi[0].number;
      // plus infinity, minus infinity is a member; the only member
      predicate in_plus{L}(phibal_enclosure *x) reads x->hi[0].number;
      predicate in_minus{L}(phibal_enclosure *x) reads x->lo[0].number;
      predicate only_plus{L}(phibal_enclosure *x) reads x->lo[0].number;
      predicate whole{L}(phibal_enclosure *x) reads x->lo[0].number, x->hi[0].number;
      // both ends are the same number; both are real numbers; both are the same real number
      predicate exact{L}(phibal_enclosure *x) reads x->lo[0].number, x->hi[0].number;
      predicate bounded{L}(phibal_enclosure *x) reads x->lo[0].number, x->hi[0].number;
      predicate point{L}(phibal_enclosure *x) reads x->lo[0].number, x->hi[0].number;
      // all members are > 0, < 0, >= 0, <= 0
      predicate positive{L}(phibal_enclosure *x) reads x->lo[0].number;
      predicate negative{L}(phibal_enclosure *x) reads x->hi[0].number;
      predicate nonnegative{L}(phibal_enclosure *x) reads x->lo[0].number;
      predicate nonpositive{L}(phibal_enclosure *x) reads x->hi[0].number;
      // the ends have at most this many bits of precision
      predicate precise{L}(phibal_enclosure *x, integer bits)
        reads x->lo[0].number, x->hi[0].number;
      // not written between A and B
      predicate same{A, B}(phibal_enclosure *x)
        reads \at(x->lo[0].number, A), \at(x->hi[0].number, A),
              \at(x->lo[0].number, B), \at(x->hi[0].number, B);
    }
    // the real number a is at least, at most the number n
    predicate below(struct mpfr_number *n, real a) =
      mkind(n) == -1 || (mkind(n) == 0 && mval(n) <= a);
    predicate above(struct mpfr_number *n, real a) =
      mkind(n) == 1 || (mkind(n) == 0 && a <= mval(n));

    axiomatic EnclosureDefinition {
      predicate open_enclosure;
      axiom opened: open_enclosure;
      axiom enclosure_is{L}: \forall phibal_enclosure *x; enclosure(x) <==>
        mnumber(x->lo[0].number) && mnumber(x->hi[0].number) &&
        mle(x->lo[0].number, x->hi[0].number);
      axiom in_is{L}: \forall phibal_enclosure *x, real a; in(x, a) <==>
        below(x->lo[0].number, a) && above(x->hi[0].number, a);
      axiom in_plus_is{L}: \forall phibal_enclosure *x; in_plus(x) <==>
        mkind(x->hi[0].number) == 1;
      axiom in_minus_is{L}: \forall phibal_enclosure *x; in_minus(x) <==>
        mkind(x->lo[0].number) == -1;
      axiom only_plus_is{L}: \forall phibal_enclosure *x; only_plus(x) <==>
        mkind(x->lo[0].number) == 1;
      axiom whole_is{L}: \forall phibal_enclosure *x; whole(x) <==>
        mkind(x->lo[0].number) == -1 && mkind(x->hi[0].number) == 1;
      axiom exact_is{L}: \forall phibal_enclosure *x; exact(x) <==>
        mkind(x->lo[0].number) == mkind(x->hi[0].number) &&
        (mkind(x->lo[0].number) == 0 ==> mval(x->lo[0].number) == mval(x->hi[0].number));
      axiom bounded_is{L}: \forall phibal_enclosure *x; bounded(x) <==>
        mkind(x->lo[0].number) == 0 && mkind(x->hi[0].number) == 0;
      axiom point_is{L}: \forall phibal_enclosure *x; point(x) <==>
        mkind(x->lo[0].number) == 0 && mkind(x->hi[0].number) == 0 &&
        mval(x->lo[0].number) == mval(x->hi[0].number);
      axiom positive_is{L}: \forall phibal_enclosure *x; positive(x) <==>
        mpositive(x->lo[0].number);
      axiom negative_is{L}: \forall phibal_enclosure *x; negative(x) <==>
        mnegative(x->hi[0].number);
      axiom nonnegative_is{L}: \forall phibal_enclosure *x; nonnegative(x) <==>
        !mnegative(x->lo[0].number);
      axiom nonpositive_is{L}: \forall phibal_enclosure *x; nonpositive(x) <==>
        !mpositive(x->hi[0].number);
      axiom precise_is{L}: \forall phibal_enclosure *x, integer bits; precise(x, bits) <==>
        mprec(x->lo[0].number) <= bits && mprec(x->hi[0].number) <= bits;
      axiom same_is{A, B}: \forall phibal_enclosure *x; same{A, B}(x) <==>
        \at(x->lo[0].number, A) == \at(x->lo[0].number, B) &&
        \at(x->hi[0].number, A) == \at(x->hi[0].number, B);
    }

    axiomatic EnclosureUse {
      predicate use_enclosure;
      axiom used: use_enclosure;
      LEMMA same_self{A}: GIVEN(open_enclosure) \forall phibal_enclosure *x; same{A, A}(x);
      LEMMA same_chain{A, B, C}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        same{A, B}(x) && same{B, C}(x) ==> same{A, C}(x);
      LEMMA same_enclosure{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        same{A, B}(x) && enclosure{A}(x) ==> enclosure{B}(x);
      LEMMA same_in{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        same{A, B}(x) && in{A}(x, a) ==> in{B}(x, a);
      LEMMA same_in_back{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        same{A, B}(x) && in{B}(x, a) ==> in{A}(x, a);
      LEMMA same_signs{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x; same{A, B}(x) ==>
        (positive{A}(x) <==> positive{B}(x)) && (negative{A}(x) <==> negative{B}(x)) &&
        (nonnegative{A}(x) <==> nonnegative{B}(x)) && (nonpositive{A}(x) <==> nonpositive{B}(x));
      LEMMA same_kinds{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x; same{A, B}(x) ==>
        (point{A}(x) <==> point{B}(x)) && (exact{A}(x) <==> exact{B}(x)) && (bounded{A}(x) <==> bounded{B}(x)) &&
        (in_plus{A}(x) <==> in_plus{B}(x)) && (in_minus{A}(x) <==> in_minus{B}(x)) &&
        (only_plus{A}(x) <==> only_plus{B}(x)) && (whole{A}(x) <==> whole{B}(x));
      LEMMA same_precise{A, B}: GIVEN(open_enclosure) \forall phibal_enclosure *x, integer bits;
        same{A, B}(x) && precise{A}(x, bits) ==> precise{B}(x, bits);
      LEMMA positive_member{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        positive(x) && in(x, a) ==> a > 0.0;
      LEMMA negative_member{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        negative(x) && in(x, a) ==> a < 0.0;
      LEMMA nonnegative_member{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        nonnegative(x) && in(x, a) ==> a >= 0.0;
      LEMMA nonpositive_member{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        nonpositive(x) && in(x, a) ==> a <= 0.0;
      LEMMA exact_point{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x;
        point(x) <==> bounded(x) && exact(x);
      LEMMA point_member{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a, b;
        point(x) && in(x, a) && in(x, b) ==> a == b;
      LEMMA whole_member{L}: GIVEN(open_enclosure) \forall phibal_enclosure *x, real a;
        whole(x) ==> in(x, a);
    }

    // both ends have at least so many bits: room for a number of that precision
    axiomatic Room {
      predicate roomy{L}(phibal_enclosure *x, integer bits)
        reads x->lo[0].number, x->hi[0].number;
    }
    axiomatic RoomDefinition {
      predicate open_room;
      axiom room_opened: open_room;
      axiom roomy_is{L}: \forall phibal_enclosure *x, integer bits; roomy(x, bits) <==>
        bits <= mprec(x->lo[0].number) && bits <= mprec(x->hi[0].number);
    }
    axiomatic RoomUse {
      predicate use_room;
      axiom room_used: use_room;
      LEMMA same_room{A, B}: GIVEN(open_room && open_enclosure) \forall phibal_enclosure *x, integer bits;
        same{A, B}(x) && roomy{A}(x, bits) ==> roomy{B}(x, bits);
    }

    // what functions ask of arguments and of places for results, and leave in results
    predicate input{L}(phibal_enclosure *x) = \valid_read(x) && enclosure(x);
    predicate output{L}(phibal_enclosure *z) = \valid(z) && enclosure(z);
    predicate apart(phibal_enclosure *z, phibal_enclosure *x) = z == x || \separated(z, x);
    // nothing but z, or z and w, was written between A and B, as far as enclosures go
    predicate only_written{A, B}(phibal_enclosure *z) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) ==> same{A, B}(r);
    predicate only_two_written{A, B}(phibal_enclosure *z, phibal_enclosure *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) && \separated(r, w) ==>
        same{A, B}(r);
    predicate vector_input{L}(phibal_enclosure *x, integer n) =
      \forall integer i; 0 <= i < n ==> input(x + i);
    predicate vector_output{L}(phibal_enclosure *z, integer n) =
      \forall integer i; 0 <= i < n ==> output(z + i);
*/
#include <phibal/acsl/sequence.h>

#endif
