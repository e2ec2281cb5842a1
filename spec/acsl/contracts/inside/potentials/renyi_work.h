/* What the functions of reference/potentials/renyi_work.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_WORK_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_WORK_H

#ifdef __FRAMAC__
#include <phibal/acsl/renyi_steps.h>
#endif

/*@ // the scalars are enclosures
    predicate work_output{L}(renyi_work *w) =
      output(&w->point) && output(&w->b) && output(&w->sum) && output(&w->excess) &&
      output(&w->total) && output(&w->t[0]) && output(&w->t[1]);
    predicate vector_apart_from(phibal_enclosure *x, integer n, phibal_enclosure *z) =
      \forall integer i; 0 <= i < n ==> \separated(x + i, z);
    predicate vector_apart_from_work(phibal_enclosure *x, integer n, renyi_work *w) =
      \forall integer i; 0 <= i < n ==> \separated(x + i, w);
    // nothing but the scalars was written between A and B, as far as enclosures go
    predicate only_work_written{A, B}(renyi_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, w) ==> same{A, B}(r);
    // nothing but z and the scalars was
    predicate only_with_work_written{A, B}(phibal_enclosure *z, renyi_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) && \separated(r, w) ==>
        same{A, B}(r);
    // a parameter and real numbers that functions with scalars read
    predicate work_input{L}(phibal_enclosure *a, integer n, phibal_enclosure *x, renyi_work *w) =
      input(a) && (\forall real p; in(a, p) ==> renyi_valid(p)) && vector_input(x, n) &&
      vector_bounded(x, n) && work_output(w) && \separated(a, w) &&
      vector_apart_from_work(x, n, w);
    // a choice of the parameter and of the lower (upper) ends
    predicate ends_chosen{L}(phibal_enclosure *a, integer n, phibal_enclosure *x, integer upper,
                             real p, sequence s) =
      in(a, p) && renyi_valid(p) && ends(x, n, upper, s);
    // and of any members
    predicate members_chosen{L}(phibal_enclosure *a, integer n, phibal_enclosure *x, real p,
                                sequence s) =
      in(a, p) && renyi_valid(p) && members(x, n, s);
*/

/*@ // z is a place for a result, apart from the scalars, a and x[0..n-1]
    predicate result_output{L}(phibal_enclosure *z, phibal_enclosure *a, integer n,
                               phibal_enclosure *x, renyi_work *w) =
      output(z) && \separated(z, w) && \separated(a, z) && vector_apart_from(x, n, z);
*/

/*@ // z[0..n-1] is a place for results, apart from the scalars, a and x[0..n-1]
    predicate results_output{L}(phibal_enclosure *z, phibal_enclosure *a, integer n,
                                phibal_enclosure *x, renyi_work *w) =
      vector_output(z, n) && vector_apart_from_work(z, n, w) && vector_apart(a, z, n) &&
      vectors_apart(x, n, z, n);
    // nothing but z[0..n-1] and the scalars was written between A and B
    predicate only_results_written{A, B}(phibal_enclosure *z, integer n, renyi_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) &&
        (\forall integer i; 0 <= i < n ==> \separated(r, z + i)) && \separated(r, w) ==>
          same{A, B}(r);
*/

/*@ requires \valid(w) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w); */
void renyi_work_init(renyi_work *w, mpfr_prec_t precision);

/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures only_work_written{Pre, Here}(w); */
void renyi_work_clear(renyi_work *w);

/*@ requires input(x) && bounded(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall real r; end(x, upper, r) ==>
      (\result < 0 <==> r < 0.0) && (\result > 0 <==> r > 0.0); */
int renyi_end_sign(const phibal_enclosure *x, bool upper);

/*@ requires output(z) && input(x) && bounded(x) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real r; end{Pre}(x, upper, r) ==> in(z, r); */
void renyi_take_end(phibal_enclosure *z, const phibal_enclosure *x, bool upper);

/*@ requires input(a) && work_output(w) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->sum, w->t[0];
    ensures enclosure(&w->sum) && enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(&w->sum, &w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + raised(q, p)); */
phibal_status renyi_add_power(renyi_work *w, const phibal_enclosure *a);

/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z) && in_plus(z);
    ensures \forall real v, r; in{Pre}(z, v) && v <= r ==> in(z, r); */
void renyi_raise_to_infinity(phibal_enclosure *z);

/*@ requires input(x + e);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result != PHIBAL_OK; */
phibal_status renyi_refuse(bool outside, const char *domain, const char *function, size_t e,
                           size_t n, const phibal_enclosure *x);

/*@ requires vector_input(x, n) && vector_bounded(x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> \forall integer i; 0 <= i < n ==> positive(x + i); */
phibal_status renyi_require_positive(const char *function, size_t n, const phibal_enclosure *x);

/*@ predicate positive_input{L}(phibal_enclosure *a, integer n, phibal_enclosure *x,
                                renyi_work *w) =
      work_input(a, n, x, w) && \forall integer i; 0 <= i < n ==> positive(x + i);
*/

/*@ requires positive_input(a, n, x, w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->total);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) ==> in(&w->sum, renyi_sum(p, s, n)); */
phibal_status renyi_power_sum_at_ends(const phibal_enclosure *a, size_t n,
                                      const phibal_enclosure *x, bool upper, renyi_work *w);

#endif
