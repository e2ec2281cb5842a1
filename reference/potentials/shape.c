/* From points to intervals: the range of a function over [lo, hi] from its values at the ends, by
   the shape of its graph. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/potentials/shape_static.h>

void workspace_init(workspace *w, mpfr_prec_t precision) {
  //@ assert use_enclosure && use_room;
  phibal_enclosure_init(&w->point, precision);
  phibal_enclosure_init(&w->near, precision);
  phibal_enclosure_init(&w->far, precision);
  phibal_enclosure_init(&w->scratch[0], precision);
  phibal_enclosure_init(&w->scratch[1], precision);
  phibal_enclosure_init(&w->scratch[2], precision);
  phibal_enclosure_init(&w->scratch[3], precision);
  phibal_enclosure_init(&w->scratch[4], precision);
}

void workspace_clear(workspace *w) {
  //@ assert use_enclosure;
  phibal_enclosure_clear(&w->point);
  phibal_enclosure_clear(&w->near);
  phibal_enclosure_clear(&w->far);
  phibal_enclosure_clear(&w->scratch[0]);
  phibal_enclosure_clear(&w->scratch[1]);
  phibal_enclosure_clear(&w->scratch[2]);
  phibal_enclosure_clear(&w->scratch[3]);
  phibal_enclosure_clear(&w->scratch[4]);
}

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

/* Whether the graph of a function is even, monotone or convex. */
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

static phibal_status value_at(scalar_family s, scalar_function f, phibal_enclosure *z,
                              mpfr_srcptr x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && use_room && open_order;
  phibal_enclosure_set_fr(&w->point, x);
  return point_at(s, f, z, &w->point, a, w->scratch);
}

/* The status of values at two points of x: outside the domain if both are, else open if one is. */
static phibal_status join(phibal_status near, phibal_status far) {
  if ((near == PHIBAL_ERROR_DOMAIN) == (far == PHIBAL_ERROR_DOMAIN))
    return near != PHIBAL_OK ? near : far;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "too near the end of the domain to tell");
}

/* z = near. */
static void set_value(phibal_enclosure *z, const phibal_enclosure *near) {
  //@ assert use_enclosure && open_order;
  phibal_enclosure_set(z, near);
}

/* z holds what near and far hold, and what is between. */
static void set_hull(phibal_enclosure *z, const phibal_enclosure *near,
                     const phibal_enclosure *far) {
  //@ assert use_enclosure && open_order && use_plus;
  phibal_enclosure_hull(z, near, far);
}

/* The hull of the values at two points: the range between them of a function that is monotone
   there for each parameter, whichever way. */
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

/* Of an even function where x has members of both signs: between 0 and the end farther from it. */
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

/* Of an even function where 0 is inside x: between its values at 0 and at the farther end. */
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

/* Of an even function: between the ends of x if its members have one sign. */
static phibal_status over_even(scalar_family s, scalar_function f, phibal_enclosure *z,
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  //@ assert use_enclosure && open_enclosure && open_room;
  if (mpfr_sgn(x->lo) < 0 && mpfr_sgn(x->hi) > 0) return over_both_sides(s, f, z, x, a, w);
  phibal_status status = over_points(s, f, z, x->lo, x->hi, a, w);
  //@ assert use_point_shapes;
  return status;
}

/* Between the values at the ends: above none, and the range on one side of the minimiser. */
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
static bool is_beside(const phibal_enclosure *x, const phibal_enclosure *turn) {
  //@ assert open_enclosure;
  return mpfr_less_p(x->hi, turn->lo) || mpfr_greater_p(x->lo, turn->hi);
}

/* z's lower end goes down to least's. */
static void lower_end(phibal_enclosure *z, const phibal_enclosure *least) {
  //@ assert open_enclosure;
  mpfr_min(z->lo, z->lo, least->lo, MPFR_RNDD);
}

/* z, bounded above by the ends, is bounded below by the least value; 0 is in the workspace. */
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
  lower_end(z, &w->near);
  return PHIBAL_OK;
}

/* Convexity: greatest at an end; least at an end too, unless the minimiser may lie between. */
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
static bool jumps_between(scalar_family s, scalar_function f, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return s == FAMILY_LP_ONE && f == FUNCTION_GRADIENT && mpfr_sgn(x->lo) < 0 && mpfr_sgn(x->hi) > 0;
}

/* Of a monotone function: between its ends. */
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
