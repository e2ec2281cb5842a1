/* What the static functions of reference/potentials/renyi_conjugate.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_CONJUGATE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_RENYI_CONJUGATE_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/renyi_dual.h>
#endif

/*@ requires input(a) && work_output(w) && \separated(a, w);
    requires input(y) && bounded(y) && \separated(y, w);
    terminates \true;
    exits \false;
    assigns w->excess, w->b, w->t[0];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures scale: \result == PHIBAL_OK ==> \forall real r; end{Pre}(y, 0, r) ==> in(&w->b, r);
    ensures exponent: \result == PHIBAL_OK ==>
      \forall real p; in{Pre}(a, p) && renyi_valid(p) ==> in(&w->excess, renyi_exponent(p)); */
static phibal_status set_scale(renyi_work *w, const phibal_enclosure *a,
                               const phibal_enclosure *y);

/*@ requires output(z) && input(x) && \separated(z, x) && \exists real r; in(z, r) && in(x, r);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures \forall real r; in{Pre}(z, r) && in{Pre}(x, r) ==> in(z, r); */
static void intersect(phibal_enclosure *z, const phibal_enclosure *x);

/*@ // there is a scale r, and a price y < 0 at the point
    predicate has_price{L}(renyi_work *w) =
      \exists real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0;
    // of all of them, q(r, y) is in x
    predicate price_input{L}(renyi_work *w, real r, real y) =
      in(&w->b, r) && r < 0.0 && in(&w->point, y) && y < 0.0;
*/

/*@ requires work_output(w) && has_price(w);
    requires \forall real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0 ==>
      in(&w->t[0], over(r, y));
    terminates \true;
    exits \false;
    assigns w->t[0], w->t[1];
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_two_written{Pre, Here}(&w->t[0], &w->t[1]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r, y; in{Pre}(&w->b, r) &&
      in{Pre}(&w->point, y) && y < 0.0 ==> in(&w->t[0], over(r, y) - 1.0); */
static phibal_status ratio_less_one(renyi_work *w);

/*@ requires work_output(w) && has_price(w);
    requires \forall real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0 ==>
      in(&w->t[0], over(r, y));
    terminates \true;
    exits \false;
    assigns w->t[0], w->t[1];
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_two_written{Pre, Here}(&w->t[0], &w->t[1]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, y; in{Pre}(&w->excess, c) &&
      price_input{Pre}(w, r, y) ==> in(&w->t[0], renyi_weight(c, r, y)); */
static phibal_status weight_near_one(renyi_work *w);

/*@ requires work_output(w) && has_price(w);
    terminates \true;
    exits \false;
    assigns w->t[0], w->t[1];
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_two_written{Pre, Here}(&w->t[0], &w->t[1]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, y; in{Pre}(&w->excess, c) &&
      price_input{Pre}(w, r, y) ==> in(&w->t[0], renyi_weight(c, r, y)); */
static phibal_status weight_of_one(renyi_work *w);

/*@ requires work_output(w) && input(y) && bounded(y) && \separated(y, w);
    requires \exists real r; in(&w->b, r);
    requires \exists real q; end(y, upper, q) && q < 0.0;
    terminates \true;
    exits \false;
    assigns w->sum, w->point, w->t[0 .. 1];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, q, s; in{Pre}(&w->excess, c) &&
      in{Pre}(&w->b, r) && r < 0.0 && end{Pre}(y, upper, q) && q < 0.0 && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + renyi_weight(c, r, q)); */
static phibal_status add_weight(renyi_work *w, const phibal_enclosure *y, bool upper);

/*@ requires work_input(a, n, y, w) && 1 <= n;
    requires \forall sequence s; ends(y, n, upper, s) ==> all_negative(s, n);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures scale: \result == PHIBAL_OK ==> \forall real r; end{Pre}(y + 0, 0, r) ==> in(&w->b, r);
    ensures exponent: \result == PHIBAL_OK ==>
      \forall real p; in{Pre}(a, p) ==> in(&w->excess, renyi_exponent(p));
    ensures sum: \result == PHIBAL_OK ==> \forall real p, r, sequence s;
      ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 ==>
        in(&w->sum, renyi_weights(p, r, s, n)); */
static phibal_status add_weights(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                                 bool upper, renyi_work *w);

/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns w->t[0];
    ensures enclosure(&w->t[0]);
    ensures only_written{Pre, Here}(&w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r; in{Pre}(&w->excess, c) &&
      0.0 < c && in{Pre}(&w->b, r) && r < 0.0 ==>
        in(&w->t[0], renyi_scale_part(c, r)); */
static phibal_status scale_part(renyi_work *w);

/*@ requires work_input(a, n, y, w) && 1 <= n && output(z);
    requires z == &w->total || \separated(z, w);
    requires \forall sequence s; ends(y, n, upper, s) ==> all_negative(s, n);
    requires \forall real r; end(y + 0, 0, r) ==> r < 0.0;
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, y, upper, p, s) ==> in(z, renyi_conjugate(p, s, n)); */
static phibal_status conjugate_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, bool upper, renyi_work *w);

/*@ requires vector_input(y, n) && vector_bounded(y, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall sequence s; ends(y, n, upper, s) ==> (\result <==> !all_negative(s, n)); */
static bool has_nonnegative(size_t n, const phibal_enclosure *y, bool upper);

/*@ requires work_input(a, n, y, w) && 1 <= n && result_output(z, a, n, y, w);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, y, p, s) ==>
        (all_negative(s, n) ? in(z, renyi_conjugate(p, s, n)) : in_plus(z)); */
static phibal_status conjugate_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                    const phibal_enclosure *y, renyi_work *w);

/*@ predicate negative_input{L}(phibal_enclosure *a, integer n, phibal_enclosure *y,
                                renyi_work *w) =
      work_input(a, n, y, w) && 1 <= n && \forall integer i; 0 <= i < n ==> negative(y + i);
*/

/*@ requires work_output(w) && input(y) && bounded(y) && negative(y) && \separated(y, w);
    requires \exists real r; in(&w->b, r);
    terminates \true;
    exits \false;
    assigns w->point, w->t[0 .. 1];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->excess);
    ensures same{Pre, Here}(&w->sum);
    ensures point: \forall real q; in{Pre}(y, q) ==> in(&w->point, q);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, q; in{Pre}(&w->excess, c) &&
      in{Pre}(&w->b, r) && r < 0.0 && in{Pre}(y, q) ==>
        in(&w->t[0], renyi_weight(c, r, q)); */
static phibal_status weight_over(renyi_work *w, const phibal_enclosure *y);

/*@ requires negative_input(a, n, y, w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures scale: \result == PHIBAL_OK ==>
      \exists real r; r < 0.0 && in(&w->b, r) && end{Pre}(y + 0, 0, r);
    ensures exponent: \result == PHIBAL_OK ==>
      \forall real p; in{Pre}(a, p) ==> in(&w->excess, renyi_exponent(p));
    ensures sum: \result == PHIBAL_OK ==> \forall real p, r, sequence s;
      members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) ==>
        in(&w->sum, renyi_weights(p, r, s, n)); */
static phibal_status weights_over(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                                  renyi_work *w);

/*@ requires work_output(w) && input(y) && bounded(y) && negative(y) && \separated(y, w);
    requires output(z) && \separated(z, w) && \exists real r; in(&w->b, r);
    terminates \true;
    exits \false;
    assigns *z, w->point, w->t[0 .. 1];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->excess);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, q, s; in{Pre}(&w->excess, c) &&
      in{Pre}(&w->b, r) && r < 0.0 && in{Pre}(y, q) && in{Pre}(&w->sum, s) && s != 0.0 ==>
        in(z, renyi_share(c, r, q, s)); */
static phibal_status conjugate_gradient_of_one(phibal_enclosure *z, const phibal_enclosure *y,
                                               renyi_work *w);

/*@ requires negative_input(a, n, y, w) && results_output(z, a, n, y, w);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *w;
    ensures vector_output(z, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(z, n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      members_chosen{Pre}(a, n, y, p, s) && 0 <= i < n ==>
        in(z + i, renyi_conjugate_gradient(p, s, n, i)); */
static phibal_status conjugate_gradient_over(phibal_enclosure *z, const phibal_enclosure *a,
                                             size_t n, const phibal_enclosure *y, renyi_work *w);

/*@ requires vector_input(y, n) && vector_bounded(y, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> \forall integer i; 0 <= i < n ==> negative(y + i); */
static phibal_status require_negative(const char *function, size_t n, const phibal_enclosure *y);

#endif
