/* What the static functions of reference/enclosure.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_STATIC_H

/*@ // v[0..n-1] is the next part of the memory that is given out
    predicate next_places{A, B}(phibal_enclosure *v, integer n) =
      (\forall integer i; 0 <= i < n ==> \valid{B}(v + i)) &&
      v == \at(enclosure_heap, A) + \at(enclosure_heap_used, A) &&
      0 <= \at(enclosure_heap_used, A) &&
      \at(enclosure_heap_used, B) == \at(enclosure_heap_used, A) + n <= ENCLOSURE_HEAP_SIZE;
*/

/*@ requires \forall integer i; 0 <= i < n ==> \valid(v + i);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns v[0 .. n - 1];
    ensures vector_output(v, n);
    ensures \forall integer i; 0 <= i < n ==>
      point(v + i) && in(v + i, 0.0) && precise(v + i, precision);
    ensures only_vector_written{Pre, Here}(v, n); */
static void init_all(phibal_enclosure *v, size_t n, mpfr_prec_t precision);

/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures \result == PHIBAL_ERROR_DOMAIN && enclosure(z) && whole(z);
    ensures bits_kept{Pre, Here}(z);
    ensures only_written{Pre, Here}(z); */
static phibal_status whole_line(phibal_enclosure *z);

#endif
