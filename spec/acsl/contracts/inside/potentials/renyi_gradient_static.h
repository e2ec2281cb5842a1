/* What the static functions of reference/potentials/renyi_gradient.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_GRADIENT_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_GRADIENT_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/renyi_sums.h>
#endif

/*@ requires input(a) && work_output(w) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->t[0];
    ensures enclosure(&w->t[0]);
    ensures only_written{Pre, Here}(&w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(&w->b, renyi_b(p)) && in{Pre}(&w->point, q) && 0.0 < q &&
      in{Pre}(&w->sum, s) && 0.0 < s ==> in(&w->t[0], renyi_gradient_of(p, q, s)); */
static phibal_status gradient_of_one(const phibal_enclosure *a, renyi_work *w);

/*@ requires input(a) && work_output(w) && \separated(a, w);
    requires input(x) && bounded(x) && \separated(x, w);
    requires output(z) && \separated(z, w) && \separated(a, z) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z, w->point, w->t[0];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 < q &&
      in{Pre}(&w->sum, s) && 0.0 < s ==> in(z, renyi_gradient_of(p, q, s));
    ensures joined: \result == PHIBAL_OK && upper ==> \forall real p, q, s, l, r; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 < q &&
      in{Pre}(&w->sum, s) && 0.0 < s && in{Pre}(z, l) && l <= r <= renyi_gradient_of(p, q, s) ==>
        in(z, r); */
static phibal_status gradient_at_end(phibal_enclosure *z, const phibal_enclosure *a,
                                     const phibal_enclosure *x, bool upper, renyi_work *w);

/*@ requires positive_input(a, n, x, w) && 1 <= n && results_output(z, a, n, x, w);
    requires \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *w;
    ensures vector_output(z, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(z, n, w);
    ensures same{Pre, Here}(&w->b);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      ends_chosen{Pre}(a, n, x, upper, p, s) && 0 <= i < n ==>
        in(z + i, renyi_gradient(p, s, n, i));
    ensures joined: \result == PHIBAL_OK && upper ==> \forall real p, l, r, sequence s, integer i;
      ends_chosen{Pre}(a, n, x, upper, p, s) && 0 <= i < n && in{Pre}(z + i, l) &&
      l <= r <= renyi_gradient(p, s, n, i) ==> in(z + i, r); */
static phibal_status gradient_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                      const phibal_enclosure *x, bool upper, renyi_work *w);

/*@ requires positive_input(a, n, x, w) && 1 <= n && results_output(z, a, n, x, w);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *w;
    ensures vector_output(z, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(z, n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      members_chosen{Pre}(a, n, x, p, s) && 0 <= i < n ==>
        in(z + i, renyi_gradient(p, s, n, i)); */
static phibal_status gradient_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, renyi_work *w);

#endif
