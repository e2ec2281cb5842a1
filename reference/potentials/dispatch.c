/* The public functions of the potentials: arguments checked, coordinates walked, sums taken. */
#include "potentials.h"
#include <stddef.h>

typedef enum membership { INSIDE, OUTSIDE, UNSURE } membership;

/* What is applied to each coordinate, and how messages call it. */
typedef struct applied_function {
  scalar_family family;
  scalar_function function;
  const char *name;
} applied_function;

#include <phibal/acsl/contracts/inside/potentials/dispatch_static.h>

static bool is_point(const phibal_enclosure *x, double d) {
  //@ assert open_enclosure && use_floating;
  return mpfr_cmp_d(x->lo, d) == 0 && mpfr_cmp_d(x->hi, d) == 0;
}

static bool is_lp_infinity(const phibal_reference_potential *phi) {
  //@ assert open_enclosure;
  return phi->id == PHIBAL_POTENTIAL_LP && mpfr_inf_p(phi->parameter.lo);
}

#define FAMILY_OF_1(ID)                                                                            \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    *s = FAMILY_##ID;                                                                              \
    return true;
#define FAMILY_OF_0(ID)

/* Whether the potential, its parameter valid, is a sum of one family's functions; which family. */
static bool find_family(const phibal_reference_potential *phi, scalar_family *s) {
  //@ assert open_enclosure && open_points && open_separable;
  if (phi->id == PHIBAL_POTENTIAL_LP) {
    *s = is_point(&phi->parameter, 1) ? FAMILY_LP_ONE : FAMILY_LP;
    return !is_lp_infinity(phi);
  }
  switch (phi->id) {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  FAMILY_OF_##separable(ID)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_RENYI:
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return false;
}

static membership in_open_interval(const phibal_enclosure *a, double low, double high) {
  //@ assert open_enclosure && use_floating;
  //@ assert kinds: \is_finite(high) || \is_plus_infinity(high);
  if (mpfr_cmp_d(a->lo, low) > 0 && mpfr_cmp_d(a->hi, high) < 0) return INSIDE;
  if (mpfr_cmp_d(a->hi, low) <= 0 || mpfr_cmp_d(a->lo, high) >= 0) return OUTSIDE;
  return UNSURE;
}

/* Whether the parameter is in its family's interval; p of lp may also be 1 or infinite, alpha of
   tsallis may not be 1. */
static membership parameter_membership(const phibal_reference_potential *phi,
                                       const phibal_potential_info *row) {
  //@ assert open_enclosure;
  const phibal_enclosure *a = &phi->parameter;
  if (phi->id == PHIBAL_POTENTIAL_LP) {
    if (is_point(a, 1) || (mpfr_inf_p(a->lo) && mpfr_sgn(a->lo) > 0)) return INSIDE;
    if (mpfr_cmp_si(a->hi, 1) == 0) return UNSURE;
  }
  if (phi->id == PHIBAL_POTENTIAL_TSALLIS && mpfr_cmp_si(a->lo, 1) <= 0 &&
      mpfr_cmp_si(a->hi, 1) >= 0)
    return is_point(a, 1) ? OUTSIDE : UNSURE;
  return in_open_interval(a, row->low, row->high);
}

/* One of phibal_potential_check's messages, or UNDECIDED where the enclosure is too wide to say. */
static phibal_status check_parameter(const phibal_reference_potential *phi,
                                     const phibal_potential_info *row) {
  //@ assert use_enclosure && open_enclosure && use_floating;
  if (!row->parameter[0]) return PHIBAL_OK;
  switch (parameter_membership(phi, row)) {
  case INSIDE:
    return PHIBAL_OK;
  case OUTSIDE: {
    /* Away from the interval, whose ends are binary64 numbers, so that it stays outside. */
    bool below = mpfr_cmp_d(phi->parameter.hi, row->low) <= 0;
    phibal_potential rounded = {phi->id, below ? mpfr_get_d(phi->parameter.hi, MPFR_RNDD)
                                               : mpfr_get_d(phi->parameter.lo, MPFR_RNDU)};
    phibal_potential_check(&rounded); /* for its message */
    return PHIBAL_ERROR_ARGUMENT;
  }
  case UNSURE:
    break;
  }
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "%s: the enclosure of %s is too wide to tell whether it is valid",
                           row->name, row->parameter);
}

static bool is_bounded(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_number_p(x->lo) && mpfr_number_p(x->hi);
}

/* Arguments that all functions share. */
static phibal_status check(const char *function, const phibal_reference_potential *phi, size_t n,
                           const phibal_enclosure *x, const phibal_enclosure *result) {
  const phibal_potential_info *row = phi ? phibal_potential_describe(phi->id) : NULL;
  if (!row || !x || !result || n == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_reference %s: a null argument, no coordinates, or an unknown "
                             "potential",
                             function);
  TRY(check_parameter(phi, row));
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant bounded: vector_bounded(x, e);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (!is_bounded(&x[e])) {
      phibal_status_set(PHIBAL_ERROR_DOMAIN, "not bounded; it must be a real number");
      return name_coordinate(PHIBAL_ERROR_DOMAIN, function, row->name, e, n, &x[e]);
    }
  return PHIBAL_OK;
}

/* name_coordinate with the potential's name. */
static phibal_status name_failure(phibal_status status, const char *function,
                                  const phibal_reference_potential *phi, size_t e, size_t n,
                                  const phibal_enclosure *x) {
  return name_coordinate(status, function, phibal_potential_describe(phi->id)->name, e, n, x);
}

/* map_coordinates with workspace w. */
static phibal_status map_with(applied_function f, const phibal_reference_potential *phi, size_t n,
                              const phibal_enclosure *x, phibal_enclosure *result, workspace *w) {
  //@ assert use_enclosure && use_room;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(result, n) && workspace_output(w);
      loop invariant frame: only_graphs_written{Pre, Here}(result, n, w);
      loop invariant room: room_for_vector(w, x, n);
      loop invariant holds: \forall integer i, real p, r; 0 <= i < e &&
        in{Pre}(&phi->parameter, p) && in{Pre}(x + i, r) ==>
        holds(result + i, f.family, f.function, p, r);
      loop assigns e, result[0 .. n - 1], *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert kept: same{Pre, Here}(&phi->parameter) && same{Pre, Here}(x + e);
    /*@ assert chosen: \forall real p; in{Pre}(&phi->parameter, p) ==>
          chosen(f.family, &phi->parameter, p); */
    phibal_status status = graph_over(f.family, f.function, &result[e], &x[e], &phi->parameter, w);
    /*@ assert others: \forall integer i; 0 <= i < n && i != e ==>
          same{LoopCurrent, Here}(result + i); */
    /*@ assert earlier: \forall integer i, real p, r; 0 <= i < e &&
          in{Pre}(&phi->parameter, p) && in{Pre}(x + i, r) ==>
          holds(result + i, f.family, f.function, p, r); */
    /*@ assert one: status == PHIBAL_OK ==> \forall real p, r; in{Pre}(&phi->parameter, p) &&
          in{Pre}(x + e, r) ==> holds(result + e, f.family, f.function, p, r); */
    if (status != PHIBAL_OK) return name_failure(status, f.name, phi, e, n, &x[e]);
  }
  return PHIBAL_OK;
}

/* result_e = f(x_e) for each coordinate. */
static phibal_status map_coordinates(applied_function f, const phibal_reference_potential *phi,
                                     size_t n, const phibal_enclosure *x,
                                     phibal_enclosure *result) {
  //@ assert use_enclosure && use_room;
  mpfr_prec_t precision = working_precision(result, n, x);
  workspace w;
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        apart_from_workspace(r, &w); */
  workspace_init(&w, precision);
  //@ assert before: untouched{Pre, Here};
  //@ assert kept: same{Pre, Here}(&phi->parameter) && vector_same{Pre, Here}(x, n);
  //@ assert precise: \forall integer i; 0 <= i < n ==> precise(x + i, precision);
  //@ assert room: room_for_vector(&w, x, n);
  //@ assert outputs: vector_output(result, n);
  phibal_status status = map_with(f, phi, n, x, result, &w);
  /*@ assert holds: status == PHIBAL_OK ==>
        holds_all{Pre, Here}(f.family, f.function, &phi->parameter, n, x, result); */
  //@ assert frame: only_vector_written{Pre, Here}(result, n);
  workspace_clear(&w);
  //@ assert still: vector_output(result, n);
  return status;
}

/* sum += f(x); term is a temporary. */
static phibal_status add_coordinate(scalar_family s, scalar_function f, const phibal_enclosure *a,
                                    const phibal_enclosure *x, phibal_enclosure *sum,
                                    phibal_enclosure *term, workspace *w) {
  //@ assert use_enclosure && use_room;
  //@ assert chosen: \forall real p; in(a, p) ==> chosen(s, a, p);
  TRY(graph_over(s, f, term, x, a, w));
  //@ assert kept: same{Pre, Here}(sum);
  /*@ assert term: \forall real p, r; in{Pre}(a, p) && in{Pre}(x, r) ==>
        holds(term, s, f, p, r); */
  return phibal_enclosure_add(sum, sum, term);
}

/* sum = sum_e f(x_e); term is a temporary of the workspace's precision, as is sum. */
static phibal_status add_coordinates(applied_function f, const phibal_reference_potential *phi,
                                     size_t n, const phibal_enclosure *x, phibal_enclosure *sum,
                                     phibal_enclosure *term, workspace *w) {
  //@ assert use_enclosure && use_room;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: output(sum) && output(term);
      loop invariant workspace: workspace_output(w);
      loop invariant frame: only_sum_written{Pre, Here}(sum, term, w);
      loop invariant room: room_for_vector(w, x, n);
      loop invariant sum: \forall real p, sequence c, v; in{Pre}(&phi->parameter, p) &&
        members{Pre}(x, n, c) && points_are(f.family, f.function, p, c, v, e) ==>
        in(sum, sum(v, e));
      loop invariant infinite: \forall real p, sequence c, integer i;
        in{Pre}(&phi->parameter, p) && members{Pre}(x, n, c) && 0 <= i < e &&
        !point_inside(f.family, f.function, p, term(c, i)) ==> in_plus(sum);
      loop assigns e, *sum, *term, *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert kept: same{Pre, Here}(&phi->parameter) && vector_same{Pre, Here}(x, n);
    //@ assert step: \forall sequence v; sum(v, e + 1) == sum(v, e) + term(v, e);
    phibal_status status =
        add_coordinate(f.family, f.function, &phi->parameter, &x[e], sum, term, w);
    //@ assert still: vector_same{Pre, Here}(x, n);
    if (status != PHIBAL_OK) return name_failure(status, f.name, phi, e, n, &x[e]);
  }
  return PHIBAL_OK;
}

/* result = sum_e f(x_e). */
static phibal_status sum_coordinates(applied_function f, const phibal_reference_potential *phi,
                                     size_t n, const phibal_enclosure *x,
                                     phibal_enclosure *result) {
  //@ assert use_enclosure && use_room;
  mpfr_prec_t precision = working_precision(result, n, x);
  workspace w;
  phibal_enclosure sum, term;
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        apart_from_workspace(r, &w) && \separated(r, &sum) && \separated(r, &term); */
  phibal_enclosure_init(&sum, precision);
  phibal_enclosure_init(&term, precision);
  //@ assert temporaries_only: untouched{Pre, Here};
  //@ assert outputs: output(&sum) && output(&term) && in(&sum, 0.0);
  workspace_init(&w, precision);
  //@ assert before: untouched{Pre, Here};
  //@ assert kept: same{Pre, Here}(&phi->parameter) && vector_same{Pre, Here}(x, n);
  //@ assert precise: \forall integer i; 0 <= i < n ==> precise(x + i, precision);
  //@ assert room: room_for_vector(&w, x, n);
  //@ assert ready: output(&sum) && output(&term) && in(&sum, 0.0);
  phibal_status status = add_coordinates(f, phi, n, x, &sum, &term, &w);
  /*@ assert sum: status == PHIBAL_OK ==>
        holds_sum{Pre, Here}(f.family, f.function, &phi->parameter, n, x, &sum); */
  //@ assert after: untouched{Pre, Here};
  workspace_clear(&w);
  //@ assert frame: untouched{Pre, Here};
  //@ assert ends: output(&sum) && output(&term) && output(result);
  /*@ assert still: status == PHIBAL_OK ==>
        holds_sum{Pre, Here}(f.family, f.function, &phi->parameter, n, x, &sum); */
  if (status == PHIBAL_OK) phibal_enclosure_set(result, &sum);
  /*@ assert result: status == PHIBAL_OK ==>
        holds_sum{Pre, Here}(f.family, f.function, &phi->parameter, n, x, result); */
  //@ assert only: only_written{Pre, Here}(result);
  //@ assert temporaries: output(&sum) && output(&term);
  phibal_enclosure_clear(&term);
  phibal_enclosure_clear(&sum);
  return status;
}

phibal_status phibal_reference_value(const phibal_reference_potential *phi, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *value) {
  //@ assert use_enclosure && use_families;
  TRY(check("value", phi, n, x, value));
  scalar_family s;
  if (find_family(phi, &s))
    return sum_coordinates((applied_function){s, FUNCTION_VALUE, "value"}, phi, n, x, value);
  if (is_lp_infinity(phi)) return lp_max_value(n, x, value);
  return renyi_value(&phi->parameter, n, x, value);
}

phibal_status phibal_reference_gradient(const phibal_reference_potential *phi, size_t n,
                                        const phibal_enclosure *x, phibal_enclosure *gradient) {
  //@ assert use_enclosure && use_families;
  TRY(check("gradient", phi, n, x, gradient));
  scalar_family s;
  if (find_family(phi, &s))
    return map_coordinates((applied_function){s, FUNCTION_GRADIENT, "gradient"}, phi, n, x,
                           gradient);
  if (is_lp_infinity(phi)) return lp_max_gradient(n, x, gradient);
  return renyi_gradient(&phi->parameter, n, x, gradient);
}

phibal_status phibal_reference_hessian(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, phibal_enclosure *hessian) {
  //@ assert use_enclosure && use_families;
  TRY(check("hessian", phi, n, x, hessian));
  scalar_family s;
  if (find_family(phi, &s))
    return map_coordinates((applied_function){s, FUNCTION_SECOND, "hessian"}, phi, n, x, hessian);
  if (is_lp_infinity(phi)) return lp_max_hessian(n, x, hessian);
  return renyi_hessian(&phi->parameter, n, x, hessian);
}

/* product_e times= v_e. */
static phibal_status scale_coordinates(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, const phibal_enclosure *v,
                                       phibal_enclosure *product) {
  //@ assert use_enclosure;
  //@ assert apart: vectors_apart(x, n, product, n) && vectors_apart(v, n, product, n);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(product, n);
      loop invariant frame: only_vector_written{Pre, Here}(product, n);
      loop invariant left: \forall integer i; e <= i < n ==> same{Pre, Here}(product + i);
      loop invariant scaled: \forall integer i, real c, w; 0 <= i < e &&
        in{Pre}(product + i, c) && in{Pre}(v + i, w) ==> in(product + i, c * w);
      loop assigns e, product[0 .. n - 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert kept: same{Pre, Here}(product + e) && same{Pre, Here}(v + e);
    //@ assert kept_x: same{Pre, Here}(x + e);
    phibal_status status = phibal_enclosure_mul(&product[e], &product[e], &v[e]);
    /*@ assert one: \forall real c, w; in{Pre}(product + e, c) && in{Pre}(v + e, w) ==>
          in(product + e, c * w); */
    //@ assert still: same{Pre, Here}(x + e);
    if (status != PHIBAL_OK) return name_failure(status, "hessian product", phi, e, n, &x[e]);
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_hessian_product(const phibal_reference_potential *phi, size_t n,
                                               const phibal_enclosure *x, const phibal_enclosure *v,
                                               phibal_enclosure *product) {
  //@ assert use_enclosure && use_families;
  TRY(check("hessian product", phi, n, v, product));
  TRY(check("hessian product", phi, n, x, product));
  if (phi->id == PHIBAL_POTENTIAL_RENYI)
    return renyi_hessian_product(&phi->parameter, n, x, v, product);
  //@ assert apart: vectors_apart(x, n, product, n) && vectors_apart(v, n, product, n);
  TRY(phibal_reference_hessian(phi, n, x, product));
  //@ assert kept: vector_kept{Pre, Here}(product, n);
  //@ assert kept_x: vector_same{Pre, Here}(x, n);
  //@ assert kept_v: vector_same{Pre, Here}(v, n);
  //@ assert members: \forall sequence s; members{Pre}(x, n, s) ==> members(x, n, s);
  /*@ assert curved: \forall integer e, real a, r; 0 <= e < n && in{Pre}(&phi->parameter, a) &&
        in{Pre}(x + e, r) && separable(phi->id, a) && curvature_exists(phi->id, a, r) ==>
        in(product + e, curvature_of(phi->id, a, r)); */
  /*@ assert flat: largest_magnitude{Pre}(phi) ==> \forall sequence s, real m, integer e;
        members{Pre}(x, n, s) && greatest(m, s, n) && 0 <= e < n ==>
        0.0 < m && reached(s, n, m) == 1 && in(product + e, 0.0); */
  phibal_status status = scale_coordinates(phi, n, x, v, product);
  /*@ assert scaled: status == PHIBAL_OK ==> \forall integer e, real a, r, w; 0 <= e < n &&
        in{Pre}(&phi->parameter, a) && in{Pre}(x + e, r) && in{Pre}(v + e, w) &&
        separable(phi->id, a) && curvature_exists(phi->id, a, r) ==>
        in(product + e, curvature_of(phi->id, a, r) * w); */
  return status;
}

phibal_status phibal_reference_conjugate(const phibal_reference_potential *phi, size_t n,
                                         const phibal_enclosure *y, phibal_enclosure *value) {
  //@ assert use_enclosure && use_families;
  TRY(check("conjugate", phi, n, y, value));
  scalar_family s;
  if (find_family(phi, &s))
    return sum_coordinates((applied_function){s, FUNCTION_CONJUGATE, "conjugate"}, phi, n, y,
                           value);
  if (is_lp_infinity(phi)) return lp_max_conjugate(n, y, value);
  return renyi_conjugate(&phi->parameter, n, y, value);
}

phibal_status phibal_reference_conjugate_gradient(const phibal_reference_potential *phi, size_t n,
                                                  const phibal_enclosure *y,
                                                  phibal_enclosure *gradient) {
  //@ assert use_enclosure && use_families;
  TRY(check("conjugate-gradient", phi, n, y, gradient));
  scalar_family s;
  if (find_family(phi, &s))
    return map_coordinates((applied_function){s, FUNCTION_CONJUGATE_GRADIENT, "conjugate-gradient"},
                           phi, n, y, gradient);
  if (is_lp_infinity(phi)) return lp_max_conjugate_gradient(n, y, gradient);
  return renyi_conjugate_gradient(&phi->parameter, n, y, gradient);
}
