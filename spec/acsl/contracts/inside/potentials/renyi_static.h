/* What the static functions of reference/potentials/renyi.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/renyi_sums.h>
#endif

/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns w->excess, w->t[0];
    ensures enclosure(&w->excess);
    ensures enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(&w->excess, &w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real b, q, s; in{Pre}(&w->b, b) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->excess, s) ==>
        in(&w->excess, s + renyi_excess(b, q)); */
static phibal_status add_excess(renyi_work *w);

/*@ requires work_output(w) && input(a) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->sum, w->excess, w->total, w->t[0];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures sum: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + raised(q, p));
    ensures excess: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(&w->b, renyi_b(p)) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->excess, s) ==>
        in(&w->excess, s + (raised(q, p) - q));
    ensures total: \result == PHIBAL_OK ==> \forall real q, s; in{Pre}(&w->point, q) &&
      in{Pre}(&w->total, s) ==> in(&w->total, s + q); */
static phibal_status add_point(renyi_work *w, const phibal_enclosure *a);

/*@ requires work_output(w) && input(a) && \separated(a, w);
    requires input(x) && bounded(x) && \separated(x, w);
    terminates \true;
    exits \false;
    assigns w->point, w->sum, w->excess, w->total, w->t[0];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures sum: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) && renyi_valid(p) &&
      end{Pre}(x, upper, q) && 0.0 <= q && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + raised(q, p));
    ensures excess: \result == PHIBAL_OK ==> \forall real p, q, s; renyi_valid(p) &&
      in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 <= q &&
      in{Pre}(&w->excess, s) ==> in(&w->excess, s + (raised(q, p) - q));
    ensures total: \result == PHIBAL_OK ==> \forall real q, s; end{Pre}(x, upper, q) &&
      0.0 <= q && in{Pre}(&w->total, s) ==> in(&w->total, s + q); */
static phibal_status add_end(renyi_work *w, const phibal_enclosure *a, const phibal_enclosure *x,
                             bool upper);

/*@ requires work_input(a, n, x, w);
    requires \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures sum: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
        in(&w->sum, renyi_sum(p, s, n));
    ensures excess: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
        in(&w->excess, renyi_sum(p, s, n) - 1.0); */
static phibal_status add_ends(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                              bool upper, renyi_work *w);

/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns w->t[0];
    ensures enclosure(&w->t[0]);
    ensures only_written{Pre, Here}(&w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real s; in{Pre}(&w->sum, s) &&
      in{Pre}(&w->excess, s - 1.0) && 0.0 < s ==> in(&w->t[0], \log(s)); */
static phibal_status log_of_sum(renyi_work *w);

/*@ requires work_input(a, n, x, w) && output(z);
    requires z == &w->t[1] || \separated(z, w);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) && renyi_value_inside(s, n) ==>
        in(z, renyi_value(p, s, n)); */
static phibal_status value_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, bool upper, renyi_work *w);

/*@ requires vector_input(x, n) && vector_bounded(x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall sequence s; ends(x, n, upper, s) ==>
      (\result <==> !renyi_value_inside(s, n)); */
static bool is_outside(size_t n, const phibal_enclosure *x, bool upper);

/*@ requires work_input(a, n, x, w) && result_output(z, a, n, x, w);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, x, p, s) ==>
        (renyi_value_inside(s, n) ? in(z, renyi_value(p, s, n)) : in_plus(z)); */
static phibal_status value_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                const phibal_enclosure *x, renyi_work *w);

#endif
