/* What the static functions of reference/potentials/shape.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_SHAPE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_SHAPE_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_shapes.h>
#endif

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == (a > b ? a : b); */
static mpfr_prec_t larger(mpfr_prec_t a, mpfr_prec_t b);

/*@ requires family(s) && function(f);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == SHAPE_MONOTONE ==> monotone_point(s, f);
    ensures \result == SHAPE_EVEN ==> even_point(s, f);
    ensures \result == SHAPE_CONVEX ==> convex_point(s, f);
    ensures \result == SHAPE_MONOTONE || \result == SHAPE_EVEN || \result == SHAPE_CONVEX; */
static graph_shape shape_of(scalar_family s, scalar_function f);

/*@ // a real number's place, apart from what a graph writes
    predicate end_input{L}(mpfr_srcptr x, phibal_enclosure *z, workspace *w) =
      readable_number(x) && mkind(x->number) == 0 && roomy(&w->point, mprec(x->number)) &&
      \separated(x, z) && \separated(x, &w->point) &&
      \separated(x, &w->near) && \separated(x, &w->far) && \separated(x, &w->scratch[0]) &&
      \separated(x, &w->scratch[1]) && \separated(x, &w->scratch[2]) &&
      \separated(x, &w->scratch[3]) && \separated(x, &w->scratch[4]);
*/

/*@ requires family(s) && function(f) && parameter_input(a, s) && workspace_output(w);
    requires z == &w->near || z == &w->far;
    requires end_input(x, z, w) && apart_from_workspace(a, w);
    terminates \true;
    exits \false;
    assigns *z, w->point, w->scratch[0 .. 4];
    ensures workspace_output(w) && room_kept{Pre, Here}(&w->point);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, z) &&
      \separated(r, &w->point) && apart_from_scratch(r, &w->scratch[0]) ==> same{Pre, Here}(r);
    ensures x->number == \old(x->number);
    ensures \result == PHIBAL_OK ==> \forall real p; chosen{Pre}(s, a, p) ==>
      holds(z, s, f, p, mval(x->number)) && point_defined(s, f, p, mval(x->number)); */
static phibal_status value_at(scalar_family s, scalar_function f, phibal_enclosure *z,
                              mpfr_srcptr x, const phibal_enclosure *a, workspace *w);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> near == PHIBAL_OK && far == PHIBAL_OK; */
static phibal_status join(phibal_status near, phibal_status far);

/*@ requires output(z) && input(near) && \separated(z, near);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall workspace *w; workspace_output{Pre}(w) && apart_from_workspace(z, w) ==>
      workspace_output(w);
    ensures \forall integer s, f, real a, x; holds{Pre}(near, s, f, a, x) ==> holds(z, s, f, a, x);
    ensures \forall integer s, f, real a, x, r; holds{Pre}(near, s, f, a, x) &&
      point_between(s, f, a, x, r, x) ==> holds(z, s, f, a, r); */
static void set_value(phibal_enclosure *z, const phibal_enclosure *near);

/*@ requires output(z) && input(near) && input(far) && \separated(z, near) && \separated(z, far);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall workspace *w; workspace_output{Pre}(w) && apart_from_workspace(z, w) ==>
      workspace_output(w);
    ensures \forall integer s, f, real a, x;
      holds{Pre}(near, s, f, a, x) || holds{Pre}(far, s, f, a, x) ==> holds(z, s, f, a, x);
    ensures \forall integer s, f, real a, x, r, y; holds{Pre}(near, s, f, a, x) &&
      holds{Pre}(far, s, f, a, y) && point_between(s, f, a, x, r, y) ==> holds(z, s, f, a, r); */
static void set_hull(phibal_enclosure *z, const phibal_enclosure *near,
                     const phibal_enclosure *far);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires end_input(lo, z, w) && end_input(hi, z, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures lo->number == \old(lo->number) && hi->number == \old(hi->number);
    ensures ends: \result == PHIBAL_OK ==> \forall real p; chosen{Pre}(s, a, p) ==>
      holds(z, s, f, p, mval(lo->number)) && holds(z, s, f, p, mval(hi->number));
    ensures defined: \result == PHIBAL_OK ==> \forall real p; chosen{Pre}(s, a, p) ==>
      point_defined(s, f, p, mval(lo->number)) && point_defined(s, f, p, mval(hi->number));
    ensures between: \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) &&
      point_between(s, f, p, mval(lo->number), r, mval(hi->number)) ==> holds(z, s, f, p, r); */
static phibal_status over_points(scalar_family s, scalar_function f, phibal_enclosure *z,
                                 mpfr_srcptr lo, mpfr_srcptr hi, const phibal_enclosure *a,
                                 workspace *w);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires even_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    requires precise(zero, MPFR_PREC_MIN) && point(zero) && in(zero, 0.0) && input(zero) &&
   \separated(zero, z) && apart_from_workspace(zero, w); terminates \true; exits \false; assigns *z,
   *w; ensures enclosure(z); ensures workspace_output(w); ensures only_graph_written{Pre, Here}(z,
   w); ensures room_kept{Pre, Here}(&w->point); ensures \result == PHIBAL_OK ==> \forall real p, r;
   chosen{Pre}(s, a, p) && in{Pre}(x, r) ==> holds(z, s, f, p, r); */
static phibal_status over_farther(scalar_family s, scalar_function f, phibal_enclosure *z,
                                  const phibal_enclosure *zero, const phibal_enclosure *x,
                                  const phibal_enclosure *a, workspace *w);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires even_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
      holds(z, s, f, p, r); */
static phibal_status over_both_sides(scalar_family s, scalar_function f, phibal_enclosure *z,
                                     const phibal_enclosure *x, const phibal_enclosure *a,
                                     workspace *w);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires even_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
      holds(z, s, f, p, r); */
static phibal_status over_even(scalar_family s, scalar_function f, phibal_enclosure *z,
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w);

/*@ // z's upper end bounds f(r)
    predicate below_ends{L}(phibal_enclosure *z, integer s, integer f, real a, real r) =
      (point_inside(s, f, a, r) && above(z->hi[0].number, point_value(s, f, a, r))) ||
      (!point_inside(s, f, a, r) && point_infinite(s, f, a, r) && in_plus(z));
    // x lies on one side of m
    predicate beside_turn{L}(phibal_enclosure *x, real m) =
      mval(x->hi[0].number) <= m || m <= mval(x->lo[0].number);
*/

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires convex_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures bounded: \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) &&
      in{Pre}(x, r) ==> below_ends(z, s, f, p, r);
    ensures side: \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) &&
      in{Pre}(x, r) && beside_turn{Pre}(x, point_value(s, dual_gradient(f), p, 0.0)) ==>
      holds(z, s, f, p, r);
    ensures exact: \result == PHIBAL_OK && exact{Pre}(x) ==> \forall real p, r;
      chosen{Pre}(s, a, p) && in{Pre}(x, r) ==> holds(z, s, f, p, r); */
static phibal_status over_ends(scalar_family s, scalar_function f, phibal_enclosure *z,
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w);

/*@ requires input(x) && bounded(x) && input(turn);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real m; in(turn, m) ==> beside_turn(x, m); */
static bool is_beside(const phibal_enclosure *x, const phibal_enclosure *turn);

/*@ requires output(z) && input(least) && \separated(z, least);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall integer s, f, real a, r, v; below_ends{Pre}(z, s, f, a, r) &&
      in{Pre}(least, v) && v <= point_value(s, f, a, r) ==> holds(z, s, f, a, r);
    ensures \forall integer s, f, real a, r; below_ends{Pre}(z, s, f, a, r) &&
      !point_inside(s, f, a, r) ==> holds(z, s, f, a, r); */
static void lower_end(phibal_enclosure *z, const phibal_enclosure *least);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires convex_point(s, f) && point(&w->point) && in(&w->point, 0.0);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) &&
      below_ends{Pre}(z, s, f, p, r) ==> holds(z, s, f, p, r); */
static phibal_status lower_to_least(scalar_family s, scalar_function f, phibal_enclosure *z,
                                    const phibal_enclosure *a, workspace *w);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires convex_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
      holds(z, s, f, p, r); */
static phibal_status over_convex(scalar_family s, scalar_function f, phibal_enclosure *z,
                                 const phibal_enclosure *x, const phibal_enclosure *a,
                                 workspace *w);

/*@ requires input(x) && bounded(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures !\result ==> \forall real r; in(x, r) && jump(s, f, r) ==>
      mval(x->lo[0].number) == r || mval(x->hi[0].number) == r; */
static bool jumps_between(scalar_family s, scalar_function f, const phibal_enclosure *x);

/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires monotone_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
      holds(z, s, f, p, r); */
static phibal_status over_monotone(scalar_family s, scalar_function f, phibal_enclosure *z,
                                   const phibal_enclosure *x, const phibal_enclosure *a,
                                   workspace *w);

#endif
