/* Floating-point numbers as the real numbers that they are: what provers need told, since their own
   theories do not relate the two. ACSL only. The lemmas are proved in proofs/frama-c/lemmas.c by
   cvc5 over Why3's axioms of floating-point arithmetic.

   Conversions in annotations are those of C: (double)x is the binary64 number nearest to x. */
#ifndef PHIBAL_ACSL_FLOATING_H
#define PHIBAL_ACSL_FLOATING_H

#include <phibal/acsl/real.h>

/*@ axiomatic Floating {
      predicate use_floating;
      axiom floating_used: use_floating;
      LEMMA float_is_double: \forall float x;
        \is_finite(x) ==> \is_finite((double)x) && (real)(double)x == (real)x;
      LEMMA double_not_nan: \forall double x; \is_finite(x) ==> !\is_NaN(x);
      LEMMA double_less: \forall double x, y; \is_finite(x) && \is_finite(y) ==>
        (\lt_double(x, y) <==> (real)x < (real)y);
      LEMMA double_at_most: \forall double x, y; \is_finite(x) && \is_finite(y) ==>
        (\le_double(x, y) <==> (real)x <= (real)y);
      LEMMA double_equal: \forall double x, y; \is_finite(x) && \is_finite(y) ==>
        (\eq_double(x, y) <==> (real)x == (real)y);
      LEMMA float_less: \forall float x, y; \is_finite(x) && \is_finite(y) ==>
        (\lt_float(x, y) <==> (real)x < (real)y);
      LEMMA float_at_most: \forall float x, y; \is_finite(x) && \is_finite(y) ==>
        (\le_float(x, y) <==> (real)x <= (real)y);
      LEMMA float_equal: \forall float x, y; \is_finite(x) && \is_finite(y) ==>
        (\eq_float(x, y) <==> (real)x == (real)y);
    }
*/
#endif
