/* From points to intervals: the range of a function over [lo, hi] from its values at the ends, by
   the shape of its graph. */
#include "potentials.h"
#ifdef __FRAMAC__
#include <phibal/acsl/point_shapes.h>
#endif

/*@ // nothing but t[0..4] was written between A and B, as far as enclosures go
    predicate only_scratch_written{A, B}(phibal_enclosure *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && apart_from_scratch(r, t) ==> same{A, B}(r);
*/

/*@ requires \valid(t + (0 .. 4)) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns t[0 .. 4];
    ensures scratch(t) && only_scratch_written{Pre, Here}(t); */
static void scratch_init(phibal_enclosure *t, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  phibal_enclosure_init(&t[0], precision);
  phibal_enclosure_init(&t[1], precision);
  phibal_enclosure_init(&t[2], precision);
  phibal_enclosure_init(&t[3], precision);
  phibal_enclosure_init(&t[4], precision);
}

/*@ requires scratch(t);
    terminates \true;
    exits \false;
    assigns t[0 .. 4];
    ensures only_scratch_written{Pre, Here}(t); */
static void scratch_clear(phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_clear(&t[0]);
  phibal_enclosure_clear(&t[1]);
  phibal_enclosure_clear(&t[2]);
  phibal_enclosure_clear(&t[3]);
  phibal_enclosure_clear(&t[4]);
}

void workspace_init(workspace *w, mpfr_prec_t precision) {
  //@ assert use_enclosure && use_room;
  phibal_enclosure_init(&w->point, precision);
  phibal_enclosure_init(&w->near, precision);
  phibal_enclosure_init(&w->far, precision);
  scratch_init(w->scratch, precision);
}

void workspace_clear(workspace *w) {
  //@ assert use_enclosure;
  phibal_enclosure_clear(&w->point);
  phibal_enclosure_clear(&w->near);
  phibal_enclosure_clear(&w->far);
  scratch_clear(w->scratch);
}

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == (a > b ? a : b); */
static mpfr_prec_t larger(mpfr_prec_t a, mpfr_prec_t b) {
  return a > b ? a : b;
}

mpfr_prec_t working_precision(const phibal_enclosure *z, size_t n, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  mpfr_prec_t precision = mpfr_get_prec(z->lo);
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant least: \forall integer k; 0 <= k < i ==> precise(x + k, precision);
      loop invariant range: MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
      loop assigns i, precision;
      loop variant n - i; */
  for (size_t i = 0; i < n; i++)
    precision = larger(precision, larger(mpfr_get_prec(x[i].lo), mpfr_get_prec(x[i].hi)));
  return guarded_precision(precision);
}

/*@ requires family(s) && function(f);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == SHAPE_MONOTONE ==> monotone_point(s, f);
    ensures \result == SHAPE_EVEN ==> even_point(s, f);
    ensures \result == SHAPE_CONVEX ==> convex_point(s, f);
    ensures \result == SHAPE_MONOTONE || \result == SHAPE_EVEN || \result == SHAPE_CONVEX; */
static graph_shape shape_of(scalar_family s, scalar_function f) {
  bool entropy = s == FAMILY_NEGENTROPY || s == FAMILY_TSALLIS, softplus = s == FAMILY_SOFTPLUS;
  switch (f) {
  case FUNCTION_VALUE:
    return entropy ? SHAPE_CONVEX : softplus ? SHAPE_MONOTONE : SHAPE_EVEN;
  case FUNCTION_SECOND:
    return entropy ? SHAPE_MONOTONE : SHAPE_EVEN;
  case FUNCTION_CONJUGATE:
    return entropy ? SHAPE_MONOTONE : softplus ? SHAPE_CONVEX : SHAPE_EVEN;
  case FUNCTION_GRADIENT:
  case FUNCTION_CONJUGATE_GRADIENT:
    break;
  }
  return SHAPE_MONOTONE;
}

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
                              mpfr_srcptr x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && use_room && open_order;
  phibal_enclosure_set_fr(&w->point, x);
  return point_at(s, f, z, &w->point, a, w->scratch);
}

/* The status of values at two points of x: outside the domain if both are, else open if one is. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> near == PHIBAL_OK && far == PHIBAL_OK; */
static phibal_status join(phibal_status near, phibal_status far) {
  if ((near == PHIBAL_ERROR_DOMAIN) == (far == PHIBAL_ERROR_DOMAIN))
    return near != PHIBAL_OK ? near : far;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "too near the end of the domain to tell");
}

/* z = near. */
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
static void set_value(phibal_enclosure *z, const phibal_enclosure *near) {
  //@ assert use_enclosure && open_order;
  phibal_enclosure_set(z, near);
}

/* z holds what near and far hold, and what is between. */
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
                     const phibal_enclosure *far) {
  //@ assert use_enclosure && open_order && use_plus;
  phibal_enclosure_hull(z, near, far);
}

/* The hull of the values at two points: the range between them of a function that is monotone
   there for each parameter, whichever way. */
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
                                 workspace *w) {
  //@ assert use_enclosure && use_room;
  if (mpfr_equal_p(lo, hi)) {
    TRY(value_at(s, f, &w->near, lo, a, w));
    /*@ assert point: \forall real p; chosen{Pre}(s, a, p) ==> holds(&w->near, s, f, p,
          mval(lo->number)); */
    //@ assert ready: workspace_output(w);
    set_value(z, &w->near);
    return PHIBAL_OK;
  }
  phibal_status near = value_at(s, f, &w->near, lo, a, w);
  /*@ assert near: near == PHIBAL_OK ==> \forall real p; chosen{Pre}(s, a, p) ==>
        holds(&w->near, s, f, p, mval(lo->number)); */
  phibal_status far = value_at(s, f, &w->far, hi, a, w);
  //@ assert kept: same{Pre, Here}(a) && lo->number == \at(lo->number, Pre);
  TRY(join(near, far));
  /*@ assert both: \forall real p; chosen{Pre}(s, a, p) ==> holds(&w->near, s, f, p,
        mval(lo->number)) && holds(&w->far, s, f, p, mval(hi->number)); */
  //@ assert ready_far: workspace_output(w);
  set_hull(z, &w->near, &w->far);
  return PHIBAL_OK;
}

/* Of an even function where x has no members of both signs: between its ends. */
/*@ requires family(s) && function(f) && parameter_input(a, s) && output(z) && workspace_output(w);
    requires even_point(s, f) && room_for(w, x) && input(x) && bounded(x) && \separated(z, x) &&
             apart_from_workspace(x, w);
    requires apart_from_workspace(z, w) && apart_from_workspace(a, w) && \separated(z, a);
    requires nonnegative(x) || nonpositive(x);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
      holds(z, s, f, p, r); */
static phibal_status over_side(scalar_family s, scalar_function f, phibal_enclosure *z,
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && open_enclosure && open_room;
  phibal_status status = over_points(s, f, z, x->lo, x->hi, a, w);
  //@ assert use_point_shapes;
  return status;
}

/* Of an even function where it has: between 0 and the end farther from it. */
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
                                  const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && open_enclosure && open_room;
  mpfr_srcptr far = mpfr_cmpabs(x->lo, x->hi) > 0 ? x->lo : x->hi;
  /*@ assert farther: readable_number(far) && mkind(far->number) == 0 &&
        \forall real r; in{Pre}(x, r) ==> \abs(r) <= \abs(mval(far->number)); */
  phibal_status status = over_points(s, f, z, zero->lo, far, a, w);
  //@ assert use_point_shapes;
  return status;
}

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
                                     workspace *w) {
  //@ assert use_enclosure && use_room;
  phibal_enclosure zero;
  phibal_enclosure_init(&zero, MPFR_PREC_MIN);
  phibal_status status = over_farther(s, f, z, &zero, x, a, w);
  phibal_enclosure_clear(&zero);
  return status;
}

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
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && open_enclosure;
  if (mpfr_sgn(x->lo) >= 0 || mpfr_sgn(x->hi) <= 0) return over_side(s, f, z, x, a, w);
  return over_both_sides(s, f, z, x, a, w);
}

/*@ // z's upper end bounds f(r)
    predicate below_ends{L}(phibal_enclosure *z, integer s, integer f, real a, real r) =
      (point_inside(s, f, a, r) && above(z->hi[0].number, point_value(s, f, a, r))) ||
      (!point_inside(s, f, a, r) && point_infinite(s, f, a, r) && in_plus(z));
    // x lies on one side of m
    predicate beside_turn{L}(phibal_enclosure *x, real m) =
      mval(x->hi[0].number) <= m || m <= mval(x->lo[0].number);
*/

/* Between the values at the ends: above none, and the range on one side of the minimiser. */
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
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && open_enclosure && open_room;
  phibal_status status = over_points(s, f, z, x->lo, x->hi, a, w);
  //@ assert use_point_shapes;
  /*@ assert convex: \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
        point_le(s, f, p, r, mval(x->lo[0].number)) ||
        point_le(s, f, p, r, mval(x->hi[0].number)); */
  //@ assert open_order;
  return status;
}

/* All of x is on one side of the minimiser, wherever in its enclosure that is. */
/*@ requires input(x) && bounded(x) && input(turn);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real m; in(turn, m) ==> beside_turn(x, m); */
static bool is_beside(const phibal_enclosure *x, const phibal_enclosure *turn) {
  //@ assert open_enclosure;
  return mpfr_less_p(x->hi, turn->lo) || mpfr_greater_p(x->lo, turn->hi);
}

/* z's lower end goes down to least's; a workspace beside it stays what it is. */
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
static void lower_end(phibal_enclosure *z, const phibal_enclosure *least) {
  //@ assert open_enclosure;
  mpfr_min(z->lo, z->lo, least->lo, MPFR_RNDD);
}

/*@ requires output(z) && input(least) && \separated(z, least);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall workspace *w; workspace_output{Pre}(w) && apart_from_workspace(z, w) ==>
      workspace_output(w);
    ensures \forall integer s, f, real a, r, v; below_ends{Pre}(z, s, f, a, r) &&
      in{Pre}(least, v) && v <= point_value(s, f, a, r) ==> holds(z, s, f, a, r);
    ensures \forall integer s, f, real a, r; below_ends{Pre}(z, s, f, a, r) &&
      !point_inside(s, f, a, r) ==> holds(z, s, f, a, r); */
static void lower(phibal_enclosure *z, const phibal_enclosure *least) {
  //@ assert use_enclosure;
  lower_end(z, least);
}

/* z, bounded above by the ends, is bounded below by the least value; 0 is in the workspace. */
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
                                    const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && use_room && use_plus;
  TRY(point_at(s, f == FUNCTION_VALUE ? FUNCTION_CONJUGATE : FUNCTION_VALUE, &w->near, &w->point, a,
               w->scratch));
  //@ assert use_point_shapes;
  /*@ assert dual: \forall real p; chosen{Pre}(s, a, p) ==>
        in(&w->near, point_value(s, dual(f), p, 0.0)); */
  phibal_enclosure_neg(&w->near, &w->near);
  //@ assert ready: workspace_output(w);
  /*@ assert least: \forall real p; chosen{Pre}(s, a, p) ==>
        in(&w->near, -point_value(s, dual(f), p, 0.0)); */
  /*@ assert bound: \forall real p, r; chosen{Pre}(s, a, p) && below_ends{Pre}(z, s, f, p, r) ==>
        below_ends(z, s, f, p, r); */
  lower(z, &w->near);
  return PHIBAL_OK;
}

/* Convexity: greatest at an end; least at an end too, unless the minimiser may lie between. */
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
                                 workspace *w) {
  //@ assert use_enclosure && use_room && use_plus;
  TRY(over_ends(s, f, z, x, a, w));
  if (phibal_enclosure_is_exact(x)) return PHIBAL_OK;
  phibal_enclosure_set_si(&w->point, 0);
  //@ assert ready: workspace_output(w);
  TRY(point_at(s, f == FUNCTION_VALUE ? FUNCTION_CONJUGATE_GRADIENT : FUNCTION_GRADIENT, &w->near,
               &w->point, a, w->scratch));
  //@ assert ready_turn: workspace_output(w);
  //@ assert use_point_shapes;
  /*@ assert turn: \forall real p; chosen{Pre}(s, a, p) ==>
        in(&w->near, point_value(s, dual_gradient(f), p, 0.0)); */
  if (is_beside(x, &w->near)) {
    /*@ assert beside: \forall real p; chosen{Pre}(s, a, p) ==>
          beside_turn{Pre}(x, point_value(s, dual_gradient(f), p, 0.0)); */
    return PHIBAL_OK;
  }
  /*@ assert bound: \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
        below_ends(z, s, f, p, r); */
  return lower_to_least(s, f, z, a, w);
}

/* The gradient of lp at p = 1 jumps at 0: whether that is between the ends of x. */
/*@ requires input(x) && bounded(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures !\result ==> \forall real r; in(x, r) && jump(s, f, r) ==>
      mval(x->lo[0].number) == r || mval(x->hi[0].number) == r; */
static bool jumps_between(scalar_family s, scalar_function f, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return s == FAMILY_LP_ONE && f == FUNCTION_GRADIENT && mpfr_sgn(x->lo) < 0 && mpfr_sgn(x->hi) > 0;
}

/* Of a monotone function: between its ends. */
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
                                   workspace *w) {
  //@ assert use_enclosure && open_enclosure && use_room && open_room;
  if (jumps_between(s, f, x))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "too near 0, where the gradient jumps");
  phibal_status status = over_points(s, f, z, x->lo, x->hi, a, w);
  //@ assert use_point_shapes && open_points;
  return status;
}

phibal_status graph_over(scalar_family s, scalar_function f, phibal_enclosure *z,
                         const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && use_room;
  switch (shape_of(s, f)) {
  case SHAPE_EVEN:
    return over_even(s, f, z, x, a, w);
  case SHAPE_CONVEX:
    return over_convex(s, f, z, x, a, w);
  case SHAPE_MONOTONE:
    break;
  }
  return over_monotone(s, f, z, x, a, w);
}

phibal_status outside_domain(const char *domain) {
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "outside the domain %s", domain);
}
