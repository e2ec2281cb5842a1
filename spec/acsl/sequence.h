/* Finite sequences of real numbers and their sums. ACSL only. A sequence is any function from
   integers to real numbers; contracts quantify over sequences where they mean "every choice of one
   member from each enclosure of a vector". */
#ifndef PHIBAL_ACSL_SEQUENCE_H
#define PHIBAL_ACSL_SEQUENCE_H

/*@ axiomatic Sequence {
      type sequence;
      logic real term(sequence s, integer i);
    }
    logic real sum(sequence s, integer n) = n <= 0 ? 0.0 : sum(s, n - 1) + term(s, n - 1);

    // s chooses a member of each of x[0..n-1]
    predicate members{L}(phibal_enclosure *x, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> in(x + i, term(s, i));
    predicate vector_same{A, B}(phibal_enclosure *x, integer n) =
      \forall integer i; 0 <= i < n ==> same{A, B}(x + i);
*/
#endif
