/* What the static functions of reference/potentials/dispatch.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_DISPATCH_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_DISPATCH_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/dispatch.h>
#include <phibal/acsl/floating.h>
#endif

/*@ // the parameter of potential id is valid
    predicate valid_parameter{L}(integer id, phibal_enclosure *p) =
      (id == PHIBAL_POTENTIAL_LP ==> only_plus(p) || (point(p) && in(p, 1.0)) ||
        (bounded(p) && \forall real a; in(p, a) ==> 1.0 < a)) &&
      (id == PHIBAL_POTENTIAL_SOFT_L1 || id == PHIBAL_POTENTIAL_PSEUDO_HUBER ||
       id == PHIBAL_POTENTIAL_LOG_COSH || id == PHIBAL_POTENTIAL_TSALLIS ||
       id == PHIBAL_POTENTIAL_RENYI ==>
         bounded(p) && \forall real a; in(p, a) ==> 0.0 < a) &&
      (id == PHIBAL_POTENTIAL_TSALLIS ==> \forall real a; in(p, a) ==> a != 1.0) &&
      (id == PHIBAL_POTENTIAL_RENYI ==> \forall real a; in(p, a) ==> a < 1.0);
    predicate valid_potential{L}(phibal_reference_potential *phi) =
      \valid_read(phi) && input(&phi->parameter) && known_potential(phi->id) &&
      valid_parameter(phi->id, &phi->parameter);
*/

/*@ requires input(x) && \is_finite(d);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> point(x) && in(x, (real)d); */
static bool is_point(const phibal_enclosure *x, double d);

/*@ requires \valid_read(phi) && input(&phi->parameter);
    requires valid_parameter(phi->id, &phi->parameter);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> phi->id == PHIBAL_POTENTIAL_LP && only_plus(&phi->parameter); */
static bool is_lp_infinity(const phibal_reference_potential *phi);

/*@ requires valid_potential(phi) && \valid(s) && \separated(s, phi);
    terminates \true;
    exits \false;
    assigns *s;
    ensures only: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==> same{Pre, Here}(r);
    ensures family: \result ==> family(*s) && parameter_input(&phi->parameter, *s);
    ensures of: \result ==> \forall real a; in(&phi->parameter, a) ==>
      of_family(*s, phi->id, a);
    ensures others: !\result <==> phi->id == PHIBAL_POTENTIAL_RENYI ||
      (phi->id == PHIBAL_POTENTIAL_LP && only_plus(&phi->parameter));
    ensures none: !\result ==> \forall real a; in(&phi->parameter, a) ==>
      !separable(phi->id, a); */
static bool find_family(const phibal_reference_potential *phi, scalar_family *s);

/*@ requires input(a) && \is_finite(low) && !\is_NaN(high) && !\is_minus_infinity(high);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == INSIDE || \result == OUTSIDE || \result == UNSURE;
    ensures \result == INSIDE ==> bounded(a) && \forall real r; in(a, r) ==>
      (real)low < r && (\is_finite(high) ==> r < (real)high); */
static membership in_open_interval(const phibal_enclosure *a, double low, double high);

/*@ requires \valid_read(phi) && input(&phi->parameter);
    requires known_potential(phi->id) && catalogue_row(row, phi->id);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == INSIDE || \result == OUTSIDE || \result == UNSURE;
    ensures \result == INSIDE ==> valid_parameter(phi->id, &phi->parameter); */
static membership parameter_membership(const phibal_reference_potential *phi,
                                       const phibal_potential_info *row);

/*@ requires \valid_read(phi) && input(&phi->parameter);
    requires known_potential(phi->id) && catalogue_row(row, phi->id);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> valid_parameter(phi->id, &phi->parameter); */
static phibal_status check_parameter(const phibal_reference_potential *phi,
                                     const phibal_potential_info *row);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> bounded(x); */
static bool is_bounded(const phibal_enclosure *x);

/*@ requires \valid_read(phi) && input(&phi->parameter) && vector_input(x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> valid_potential(phi) && vector_bounded(x, n) && 1 <= n; */
static phibal_status check(const char *function, const phibal_reference_potential *phi, size_t n,
                           const phibal_enclosure *x, const phibal_enclosure *result);

/*@ requires \valid_read(phi) && known_potential(phi->id) && input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == status; */
static phibal_status name_failure(phibal_status status, const char *function,
                                  const phibal_reference_potential *phi, size_t e, size_t n,
                                  const phibal_enclosure *x);

/*@ // the arguments of what walks coordinates: a family of phi's, its function
    predicate family_call{L}(integer s, integer f, phibal_reference_potential *phi) =
      family(s) && function(f) && \valid_read(phi) && known_potential(phi->id) &&
      parameter_input(&phi->parameter, s);
    // x[0..n-1] are apart from the workspace, which has room for them
    predicate vector_beside_workspace(phibal_enclosure *x, integer n, workspace *w) =
      \forall integer i; 0 <= i < n ==> apart_from_workspace(x + i, w);
    predicate room_for_vector{L}(workspace *w, phibal_enclosure *x, integer n) =
      \forall integer i; 0 <= i < n ==> room_for(w, x + i);
    // p is apart from z[0..n-1] and the workspace
    predicate parameter_apart(phibal_enclosure *p, phibal_enclosure *z, integer n, workspace *w) =
      vector_apart(p, z, n) && apart_from_workspace(p, w);
    // nothing but z[0..n-1] and the workspace was written between A and B
    predicate only_graphs_written{A, B}(phibal_enclosure *z, integer n, workspace *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, z, n) &&
        apart_from_workspace{A}(r, w) ==> same{A, B}(r);
    // nothing but these was; nothing was
    predicate only_sum_written{A, B}(phibal_enclosure *z, phibal_enclosure *t, workspace *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) && \separated(r, t) &&
        apart_from_workspace{A}(r, w) ==> same{A, B}(r);
    predicate untouched{A, B} =
      \forall phibal_enclosure *r; \valid_read{A}(r) ==> same{A, B}(r);
*/

/*@ requires family_call(f.family, f.function, phi) && vector_places(n, x, result);
    requires vectors_apart(x, n, result, n) && workspace_output(w);
    requires vector_beside_workspace(x, n, w) && vector_beside_workspace(result, n, w);
    requires parameter_apart(&phi->parameter, result, n, w);
    requires room_for_vector(w, x, n);
    terminates \true;
    exits \false;
    assigns result[0 .. n - 1], *w;
    ensures vector_output(result, n) && workspace_output(w);
    ensures only_graphs_written{Pre, Here}(result, n, w);
    ensures holds: \result == PHIBAL_OK ==> \forall integer e, real p, r; 0 <= e < n &&
      in{Pre}(&phi->parameter, p) && in{Pre}(x + e, r) ==>
      holds(result + e, f.family, f.function, p, r); */
static phibal_status map_with(applied_function f, const phibal_reference_potential *phi, size_t n,
                              const phibal_enclosure *x, phibal_enclosure *result, workspace *w);

/*@ // result[0..n-1] hold f of x[0..n-1]
    predicate holds_all{A, B}(integer s, integer f, phibal_enclosure *a, integer n,
                              phibal_enclosure *x, phibal_enclosure *result) =
      \forall integer e, real p, r; 0 <= e < n && in{A}(a, p) && in{A}(x + e, r) ==>
        holds{B}(result + e, s, f, p, r);
    // result holds the sum of f over x[0..n-1], of what is inside; what is not makes it infinite
    predicate holds_sum{A, B}(integer s, integer f, phibal_enclosure *a, integer n,
                              phibal_enclosure *x, phibal_enclosure *result) =
      (\forall real p, sequence c, v; in{A}(a, p) && members{A}(x, n, c) &&
        points_are(s, f, p, c, v, n) ==> in{B}(result, sum(v, n))) &&
      (\forall real p, sequence c, integer i; in{A}(a, p) && members{A}(x, n, c) &&
        0 <= i < n && !point_inside(s, f, p, term(c, i)) ==> in_plus{B}(result));
*/

/*@ requires family_call(f.family, f.function, phi) && vector_places(n, x, result);
    requires \separated(phi, result + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns result[0 .. n - 1];
    ensures vector_output(result, n);
    ensures only_vector_written{Pre, Here}(result, n);
    ensures holds: \result == PHIBAL_OK ==>
      holds_all{Pre, Here}(f.family, f.function, &phi->parameter, n, x, result); */
static phibal_status map_coordinates(applied_function f, const phibal_reference_potential *phi,
                                     size_t n, const phibal_enclosure *x,
                                     phibal_enclosure *result);

/*@ requires family(s) && function(f) && parameter_input(a, s) && input(x) && bounded(x);
    requires output(sum) && output(term) && \separated(sum, term) && workspace_output(w);
    requires \separated(sum, x) && \separated(term, x) && \separated(sum, a) &&
             \separated(term, a);
    requires apart_from_workspace(sum, w) && apart_from_workspace(term, w) &&
             apart_from_workspace(x, w) && apart_from_workspace(a, w);
    requires room_for(w, x);
    terminates \true;
    exits \false;
    assigns *sum, *term, *w;
    ensures enclosure(sum) && enclosure(term);
    ensures workspace_output(w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures only_sum_written{Pre, Here}(sum, term, w);
    ensures inside: \result == PHIBAL_OK ==> \forall real p, r, t; in{Pre}(a, p) &&
      in{Pre}(x, r) && in{Pre}(sum, t) && point_inside(s, f, p, r) ==>
      in(sum, t + point_value(s, f, p, r));
    ensures outside: \result == PHIBAL_OK ==> \forall real p, r; in{Pre}(a, p) &&
      in{Pre}(x, r) && !point_inside(s, f, p, r) ==> in_plus(sum);
    ensures infinite: \result == PHIBAL_OK && in_plus{Pre}(sum) ==> in_plus(sum); */
static phibal_status add_coordinate(scalar_family s, scalar_function f, const phibal_enclosure *a,
                                    const phibal_enclosure *x, phibal_enclosure *sum,
                                    phibal_enclosure *term, workspace *w);

/*@ requires family_call(f.family, f.function, phi) && 1 <= n && vector_input(x, n) &&
      vector_bounded(x, n);
    requires output(sum) && output(term) && \separated(sum, term) && in(sum, 0.0);
    requires vector_apart(sum, x, n) && vector_apart(term, x, n) && workspace_output(w);
    requires apart_from_workspace(sum, w) && apart_from_workspace(term, w);
    requires vector_beside_workspace(x, n, w) && apart_from_workspace(&phi->parameter, w);
    requires \separated(&phi->parameter, sum) && \separated(&phi->parameter, term);
    requires room_for_vector(w, x, n);
    terminates \true;
    exits \false;
    assigns *sum, *term, *w;
    ensures enclosure(sum) && enclosure(term);
    ensures workspace_output(w);
    ensures only_sum_written{Pre, Here}(sum, term, w);
    ensures sum: \result == PHIBAL_OK ==>
      holds_sum{Pre, Here}(f.family, f.function, &phi->parameter, n, x, sum); */
static phibal_status add_coordinates(applied_function f, const phibal_reference_potential *phi,
                                     size_t n, const phibal_enclosure *x, phibal_enclosure *sum,
                                     phibal_enclosure *term, workspace *w);

/*@ requires family_call(f.family, f.function, phi) && scalar_places(n, x, result) &&
      \separated(phi, result);
    terminates \true;
    exits \false;
    assigns *result;
    ensures enclosure(result);
    ensures only_written{Pre, Here}(result);
    ensures sum: \result == PHIBAL_OK ==>
      holds_sum{Pre, Here}(f.family, f.function, &phi->parameter, n, x, result); */
static phibal_status sum_coordinates(applied_function f, const phibal_reference_potential *phi,
                                     size_t n, const phibal_enclosure *x,
                                     phibal_enclosure *result);

/*@ requires \valid_read(phi) && known_potential(phi->id);
    requires vector_input(x, n) && vector_input(v, n) && vector_output(product, n);
    requires \separated(v + (0 .. n - 1), product + (0 .. n - 1));
    requires \separated(x + (0 .. n - 1), product + (0 .. n - 1));
    requires \separated(phi, product + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns product[0 .. n - 1];
    ensures vector_output(product, n) && only_vector_written{Pre, Here}(product, n);
    ensures \result == PHIBAL_OK ==> \forall integer e, real c, w; 0 <= e < n &&
      in{Pre}(product + e, c) && in{Pre}(v + e, w) ==> in(product + e, c * w); */
static phibal_status scale_coordinates(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, const phibal_enclosure *v,
                                       phibal_enclosure *product);

#endif
