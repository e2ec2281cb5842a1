/* What the static functions of reference/potentials/renyi_hessian.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_HESSIAN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_HESSIAN_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/renyi_rows.h>
#include <phibal/acsl/renyi_sums.h>
#endif

/*@ requires positive_input(a, n, x, w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, x, p, s) ==> in(&w->sum, renyi_sum(p, s, n)); */
static phibal_status power_sum_over(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    renyi_work *w);

/*@ requires input(a) && work_output(w) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->excess, w->t[0 .. 1];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
      in(&w->excess, renyi_one(p)); */
static phibal_status set_rank_one(renyi_work *w, const phibal_enclosure *a);

/*@ requires input(a) && input(x) && work_output(w) && output(z) && \separated(a, w) &&
             \separated(x, w) && \separated(z, w) && \separated(a, z) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z, w->t[0 .. 1];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->sum);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(x, q) && 0.0 < q && in{Pre}(&w->sum, s) && 0.0 < s ==>
        in(z, renyi_diagonal_of(p, q, s)); */
static phibal_status set_diagonal(phibal_enclosure *z, const phibal_enclosure *a,
                                  const phibal_enclosure *x, renyi_work *w);

/*@ requires input(a) && input(x) && work_output(w) && output(z) && \separated(a, w) &&
             \separated(x, w) && \separated(z, w) && \separated(a, z) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z, w->t[0 .. 1];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->sum);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(x, q) && 0.0 < q && in{Pre}(&w->sum, s) && 0.0 < s ==>
        in(z, renyi_ray(p, q, s)); */
static phibal_status set_ray(phibal_enclosure *z, const phibal_enclosure *a,
                             const phibal_enclosure *x, renyi_work *w);

/*@ // h[0..2n-1] and w->excess hold the Hessian's parts at s for the parameter p
    predicate hessian_parts{L}(phibal_enclosure *h, integer n, renyi_work *w, real p,
                               sequence s) =
      renyi_valid(p) && all_positive(s, n) && in(&w->excess, renyi_one(p)) &&
      (\forall integer i; 0 <= i < n ==>
        in(h + i, renyi_diagonal_of(p, term(s, i), renyi_sum(p, s, n)))) &&
      (\forall integer i; 0 <= i < n ==>
        in(h + (n + i), renyi_ray(p, term(s, i), renyi_sum(p, s, n))));
*/

/*@ requires positive_input(a, n, x, w) && 1 <= n <= 0xffffffff;
    requires vector_output(h, 2 * n) && vector_apart_from_work(h, 2 * n, w) &&
             vector_apart(a, h, 2 * n) && vectors_apart(x, n, h, 2 * n);
    terminates \true;
    exits \false;
    assigns h[0 .. 2 * n - 1], *w;
    ensures vector_output(h, 2 * n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(h, 2 * n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, x, p, s) ==> hessian_parts(h, n, w, p, s); */
static phibal_status set_hessian_parts(phibal_enclosure *h, const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *x, renyi_work *w);

/*@ // the scalars that entries read and write
    predicate entry_scratch{L}(renyi_work *w) = output(&w->t[0]) && input(&w->excess);
    // nothing but z and x[first..first+n-1] was written between A and B
    predicate only_with_row_written{A, B}(phibal_enclosure *z, phibal_enclosure *x, integer first,
                                          integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) &&
        (\forall integer i; first <= i < first + n ==> \separated(r, x + i)) ==> same{A, B}(r);
*/

/*@ requires entry_scratch(w) && output(z) && input(left) && input(right);
    requires diagonal == \null || (input(diagonal) && \separated(diagonal, w));
    requires \separated(z, w) && \separated(left, w) && \separated(right, w);
    terminates \true;
    exits \false;
    assigns *z, w->t[0];
    ensures enclosure(z);
    ensures entry_scratch(w);
    ensures only_two_written{Pre, Here}(z, &w->t[0]);
    ensures same{Pre, Here}(&w->excess);
    ensures off: \result == PHIBAL_OK && diagonal == \null ==> \forall real k, u, v;
      in{Pre}(&w->excess, k) && in{Pre}(left, u) && in{Pre}(right, v) ==> in(z, u * v * k);
    ensures on: \result == PHIBAL_OK && diagonal != \null ==> \forall real k, u, v, d;
      in{Pre}(&w->excess, k) && in{Pre}(left, u) && in{Pre}(right, v) && in{Pre}(diagonal, d) ==>
        in(z, u * v * k + d); */
static phibal_status hessian_entry(phibal_enclosure *z, const phibal_enclosure *left,
                                   const phibal_enclosure *right, const phibal_enclosure *diagonal,
                                   renyi_work *w);

/*@ requires e < n <= 0xffffffff && first + n <= 0xffffffffffffffff;
    requires vector_output(z, first + n) && vector_input(h, 2 * n);
    requires entry_scratch(w) && vector_apart_from_work(z, first + n, w) &&
             vector_apart_from_work(h, 2 * n, w) && vectors_apart(h, 2 * n, z, first + n);
    terminates \true;
    exits \false;
    assigns z[first .. first + n - 1], w->t[0];
    ensures vector_output(z, first + n);
    ensures entry_scratch(w);
    ensures only_with_row_written{Pre, Here}(&w->t[0], z, first, n);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < n ==>
        in(z + (first + i), renyi_hessian(p, s, n, e, i)); */
static phibal_status hessian_row(phibal_enclosure *z, size_t first, const phibal_enclosure *h,
                                 size_t n, size_t e, renyi_work *w);

/*@ requires 1 <= n <= 0xffffffff && vector_output(z, n * n) && vector_input(h, 2 * n);
    requires entry_scratch(w) && vector_apart_from_work(z, n * n, w) &&
             vector_apart_from_work(h, 2 * n, w) && vectors_apart(h, 2 * n, z, n * n);
    terminates \true;
    exits \false;
    assigns z[0 .. n * n - 1], w->t[0];
    ensures vector_output(z, n * n);
    ensures entry_scratch(w);
    ensures only_with_vector_written{Pre, Here}(&w->t[0], z, n * n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i, j;
      hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < n && 0 <= j < n ==>
        in(z + cell(n, i, j), renyi_hessian(p, s, n, i, j)); */
static phibal_status hessian_matrix(phibal_enclosure *z, const phibal_enclosure *h, size_t n,
                                    renyi_work *w);

/*@ // the Hessian's parts and a vector v
    predicate product_parts{L}(phibal_enclosure *h, integer n, phibal_enclosure *v, renyi_work *w,
                               real p, sequence s, sequence t) =
      hessian_parts(h, n, w, p, s) && members(v, n, t);
*/

/*@ requires n <= 0xffffffff && vector_input(h, 2 * n) && vector_input(v, n) && work_output(w);
    requires vector_apart_from_work(h, 2 * n, w) && vector_apart_from_work(v, n, w);
    terminates \true;
    exits \false;
    assigns w->sum, w->t[0];
    ensures enclosure(&w->sum);
    ensures enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(&w->sum, &w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t;
      product_parts{Pre}(h, n, v, w, p, s, t) ==>
        in(&w->sum, renyi_ray_dot(p, s, t, n, n) * renyi_one(p)); */
static phibal_status ray_dot(const phibal_enclosure *h, size_t n, const phibal_enclosure *v,
                             renyi_work *w);

/*@ requires output(z) && input(diagonal) && input(ray) && input(v) && work_output(w);
    requires \separated(z, w) && \separated(diagonal, w) && \separated(ray, w) && \separated(v, w);
    terminates \true;
    exits \false;
    assigns *z, w->t[0 .. 1];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real d, u, t, c; in{Pre}(diagonal, d) &&
      in{Pre}(ray, u) && in{Pre}(v, t) && in{Pre}(&w->sum, c) ==> in(z, d * t + u * c); */
static phibal_status product_of_one(phibal_enclosure *z, const phibal_enclosure *diagonal,
                                    const phibal_enclosure *ray, const phibal_enclosure *v,
                                    renyi_work *w);

/*@ requires 1 <= n <= 0xffffffff && vector_output(product, n) && vector_input(h, 2 * n) &&
             vector_input(v, n);
    requires work_output(w) && vector_apart_from_work(product, n, w) &&
             vector_apart_from_work(h, 2 * n, w) && vector_apart_from_work(v, n, w) &&
             vectors_apart(h, 2 * n, product, n) && vectors_apart(v, n, product, n);
    terminates \true;
    exits \false;
    assigns product[0 .. n - 1], *w;
    ensures vector_output(product, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(product, n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t, integer i;
      product_parts{Pre}(h, n, v, w, p, s, t) && 0 <= i < n ==>
        in(product + i, renyi_hessian_product(p, s, t, n, i)); */
static phibal_status hessian_times(phibal_enclosure *product, const phibal_enclosure *h, size_t n,
                                   const phibal_enclosure *v, renyi_work *w);

/*@ requires input(a) && (\forall real p; in(a, p) ==> renyi_valid(p)) && 1 <= n <= 0xffffffff;
    requires vector_input(x, n) && vector_bounded(x, n);
    requires \forall integer i; 0 <= i < n ==> positive(x + i);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    requires vector_output(h, 2 * n) && vector_apart(a, h, 2 * n) && vectors_apart(x, n, h, 2 * n);
    requires vector_output(z, n * n) && vectors_apart(h, 2 * n, z, n * n);
    terminates \true;
    exits \false;
    assigns h[0 .. 2 * n - 1], z[0 .. n * n - 1];
    ensures vector_output(h, 2 * n);
    ensures vector_output(z, n * n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, h, 2 * n) &&
      vector_apart(r, z, n * n) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i, j;
      members_chosen{Pre}(a, n, x, p, s) && 0 <= i < n && 0 <= j < n ==>
        in(z + cell(n, i, j), renyi_hessian(p, s, n, i, j)); */
static phibal_status matrix_with(phibal_enclosure *z, phibal_enclosure *h,
                                 const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                 mpfr_prec_t precision);

/*@ requires input(a) && (\forall real p; in(a, p) ==> renyi_valid(p)) && 1 <= n <= 0xffffffff;
    requires vector_input(x, n) && vector_bounded(x, n);
    requires \forall integer i; 0 <= i < n ==> positive(x + i);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    requires vector_output(h, 2 * n) && vector_apart(a, h, 2 * n) && vectors_apart(x, n, h, 2 * n);
    requires vector_output(z, n) && vectors_apart(h, 2 * n, z, n);
    requires vector_input(v, n) && vectors_apart(v, n, z, n) && vectors_apart(v, n, h, 2 * n);
    terminates \true;
    exits \false;
    assigns h[0 .. 2 * n - 1], z[0 .. n - 1];
    ensures vector_output(h, 2 * n);
    ensures vector_output(z, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, h, 2 * n) &&
      vector_apart(r, z, n) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t, integer i;
      members_chosen{Pre}(a, n, x, p, s) && members{Pre}(v, n, t) && 0 <= i < n ==>
        in(z + i, renyi_hessian_product(p, s, t, n, i)); */
static phibal_status product_with(phibal_enclosure *z, phibal_enclosure *h,
                                  const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                  const phibal_enclosure *v, mpfr_prec_t precision);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_ERROR_MEMORY; */
static phibal_status no_memory(size_t n);

#endif
