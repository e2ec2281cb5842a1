/* C's conversion of a binary64 number to binary32. ACSL only. Frama-C's own axioms say the same of numbers
   up to the largest; those that are just beyond round to it too. */
#ifndef PHIBAL_ACSL_NARROWING_H
#define PHIBAL_ACSL_NARROWING_H

/*@ axiomatic Narrowing {
      predicate use_narrowing;
      axiom narrowing_used: use_narrowing;
      axiom narrowed_is: \forall double x; \is_finite(x) && \is_finite((float)x) ==>
        (real)(float)x == (real)\round_float(\NearestEven, (real)x);
    }
*/
#endif
