/* What the functions of reference/potentials/potentials.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_POTENTIALS_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_POTENTIALS_H

/*@ requires family(s) && function(f) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, f, p, r)) */
phibal_status point_at(scalar_family s, scalar_function f, phibal_enclosure *z,
                       const phibal_enclosure *x, const phibal_enclosure *a, phibal_enclosure *t);

/*@ // the workspace's parts are enclosures; x is none of them
    predicate workspace_output{L}(workspace *w) =
      output(&w->point) && output(&w->near) && output(&w->far) && scratch(&w->scratch[0]);
    predicate apart_from_workspace{L}(phibal_enclosure *x, workspace *w) =
      \separated(x, &w->point) && \separated(x, &w->near) && \separated(x, &w->far) &&
      apart_from_scratch(x, &w->scratch[0]);
    // nothing but z and the workspace was written between A and B, as far as enclosures go
    predicate only_graph_written{A, B}(phibal_enclosure *z, workspace *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) &&
        apart_from_workspace{A}(r, w) ==> same{A, B}(r);
    predicate only_workspace_written{A, B}(workspace *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && apart_from_workspace{A}(r, w) ==>
        same{A, B}(r);
    // the ends of x are exact in the workspace's point; what was so stays so
    predicate room_for{L}(workspace *w, phibal_enclosure *x) =
      \exists integer bits; roomy(&w->point, bits) && precise(x, bits);
    predicate room_kept{A, B}(phibal_enclosure *p) =
      \forall integer bits; roomy{A}(p, bits) ==> roomy{B}(p, bits);
*/

/*@ requires \valid(w) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *w;
    ensures workspace_output(w) && only_workspace_written{Pre, Here}(w);
    ensures roomy(&w->point, precision); */
void workspace_init(workspace *w, mpfr_prec_t precision);

/*@ requires workspace_output(w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures only_workspace_written{Pre, Here}(w); */
void workspace_clear(workspace *w);

/*@ requires family(s) && function(f) && parameter_input(a, s) && input(x) && bounded(x);
    requires output(z) && workspace_output(w) && \separated(z, x) && \separated(z, a);
    requires apart_from_workspace(z, w) && apart_from_workspace(x, w) && apart_from_workspace(a, w);
    requires room_for(w, x);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures workspace_output(w);
    ensures only_graph_written{Pre, Here}(z, w);
    ensures room_kept{Pre, Here}(&w->point);
    ensures \result == PHIBAL_OK ==> \forall real p, r; chosen{Pre}(s, a, p) && in{Pre}(x, r) ==>
      holds(z, s, f, p, r); */
phibal_status graph_over(scalar_family s, scalar_function f, phibal_enclosure *z,
                         const phibal_enclosure *x, const phibal_enclosure *a, workspace *w);

/*@ requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures precision <= \result <= MPFR_PREC_MAX; */
static inline mpfr_prec_t guarded_precision(mpfr_prec_t precision);

/*@ requires input(z) && vector_input(x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures MPFR_PREC_MIN <= \result <= MPFR_PREC_MAX;
    ensures \forall integer i; 0 <= i < n ==> precise(x + i, \result); */
mpfr_prec_t working_precision(const phibal_enclosure *z, size_t n, const phibal_enclosure *x);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_ERROR_DOMAIN; */
phibal_status outside_domain(const char *domain);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == status; */
phibal_status name_coordinate(phibal_status status, const char *function, const char *potential,
                              size_t i, size_t n, const phibal_enclosure *x);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == status; */
phibal_status name_place(phibal_status status, const char *where);

/*@ // arguments x[0..n-1], which are bounded, and a place for a vector, for a number
    predicate vector_bounded{L}(phibal_enclosure *x, integer n) =
      \forall integer i; 0 <= i < n ==> bounded(x + i);
    predicate vector_places{L}(integer n, phibal_enclosure *x, phibal_enclosure *z) =
      1 <= n && vector_input(x, n) && vector_bounded(x, n) && vector_output(z, n) &&
      \separated(x + (0 .. n - 1), z + (0 .. n - 1));
    predicate scalar_places{L}(integer n, phibal_enclosure *x, phibal_enclosure *z) =
      1 <= n && vector_input(x, n) && vector_bounded(x, n) && output(z) &&
      \separated(x + (0 .. n - 1), z);
    // a is a parameter of Renyi's, apart from z[0..k-1]
    predicate renyi_parameter{L}(phibal_enclosure *a, phibal_enclosure *z, integer k) =
      input(a) && bounded(a) && (\forall real p; in(a, p) ==> 0.0 < p && p < 1.0) &&
      \separated(a, z + (0 .. k - 1));
    // a, x[0..n-1] and a place z[0..k-1], all in use
    predicate renyi_places{L}(phibal_enclosure *a, integer n, phibal_enclosure *x,
                              phibal_enclosure *z, integer k) =
      renyi_parameter(a, z, k) && 1 <= n <= 0xffffffff && vector_input(x, n) &&
      vector_bounded(x, n) && vector_output(z, k) &&
      \separated(x + (0 .. n - 1), z + (0 .. k - 1)) && in_use(a) && vector_in_use(x, n) &&
      vector_in_use(z, k);
*/

/*@ requires scalar_places(n, x, value);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures \result == PHIBAL_OK;
    ensures largest: \forall sequence s, real m; members{Pre}(x, n, s) && greatest(m, s, n) ==>
      in(value, m); */
phibal_status lp_max_value(size_t n, const phibal_enclosure *x, phibal_enclosure *value);

/*@ requires vector_places(n, x, gradient);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n) && only_vector_written{Pre, Here}(gradient, n);
    ensures \result == PHIBAL_OK;
    ensures largest: \forall sequence s, real m, integer e; members{Pre}(x, n, s) &&
      greatest(m, s, n) && 0 <= e < n ==>
      in(gradient + e, share(term(s, e), reached(s, n, m), m)); */
phibal_status lp_max_gradient(size_t n, const phibal_enclosure *x, phibal_enclosure *gradient);

/*@ requires vector_places(n, x, hessian);
    terminates \true;
    exits \false;
    assigns hessian[0 .. n - 1];
    ensures vector_output(hessian, n) && only_vector_written{Pre, Here}(hessian, n);
    ensures largest: \result == PHIBAL_OK ==> \forall sequence s, real m, integer e;
      members{Pre}(x, n, s) && greatest(m, s, n) && 0 <= e < n ==>
      0.0 < m && reached(s, n, m) == 1 && in(hessian + e, 0.0);
    ensures outside: \result == PHIBAL_ERROR_DOMAIN ==> \forall sequence s, real m;
      members{Pre}(x, n, s) && greatest(m, s, n) ==> m == 0.0 || 1 < reached(s, n, m); */
phibal_status lp_max_hessian(size_t n, const phibal_enclosure *x, phibal_enclosure *hessian);

/*@ requires scalar_places(n, y, value);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures largest: \result == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) &&
      one_norm(s, n) <= 1.0 ==> in(value, 0.0);
    ensures outside: \result == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) &&
      1.0 < one_norm(s, n) ==> in_plus(value); */
phibal_status lp_max_conjugate(size_t n, const phibal_enclosure *y, phibal_enclosure *value);

/*@ requires vector_places(n, y, gradient);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n);
    ensures only_vector_written{Pre, Here}(gradient, n);
    ensures largest: \result == PHIBAL_OK ==> \forall sequence s, integer e;
      members{Pre}(y, n, s) && 0 <= e < n ==> one_norm(s, n) < 1.0 && in(gradient + e, 0.0); */
phibal_status lp_max_conjugate_gradient(size_t n, const phibal_enclosure *y,
                                        phibal_enclosure *gradient);

/*@ requires scalar_places(n, x, value) && renyi_parameter(a, value, 1);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      in{Pre}(a, p) && members{Pre}(x, n, s) ==>
        (renyi_value_inside(s, n) ? in(value, renyi_value(p, s, n)) : in_plus(value)); */
phibal_status renyi_value(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                          phibal_enclosure *value);

/*@ requires vector_places(n, x, gradient) && renyi_parameter(a, gradient, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n) && only_vector_written{Pre, Here}(gradient, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer e;
      in{Pre}(a, p) && members{Pre}(x, n, s) && 0 <= e < n ==>
        all_positive(s, n) && in(gradient + e, renyi_gradient(p, s, n, e)); */
phibal_status renyi_gradient(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                             phibal_enclosure *gradient);

/*@ requires renyi_places(a, n, x, hessian, n * n);
    terminates \true;
    exits \false;
    assigns hessian[0 .. n * n - 1], ALLOCATED;
    ensures vector_output(hessian, n * n);
    ensures still_in_use{Pre, Here} && vector_kept{Pre, Here}(hessian, n * n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer e, j;
      in{Pre}(a, p) && members{Pre}(x, n, s) && 0 <= e < n && 0 <= j < n ==>
        all_positive(s, n) && in(hessian + (e * n + j), renyi_hessian(p, s, n, e, j)); */
phibal_status renyi_hessian(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                            phibal_enclosure *hessian);

/*@ requires renyi_places(a, n, x, product, n);
    requires vector_input(v, n) && vector_in_use(v, n) &&
             \separated(v + (0 .. n - 1), product + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns product[0 .. n - 1], ALLOCATED;
    ensures vector_output(product, n);
    ensures still_in_use{Pre, Here} && vector_kept{Pre, Here}(product, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t, integer e;
      in{Pre}(a, p) && members{Pre}(x, n, s) && members{Pre}(v, n, t) && 0 <= e < n ==>
        all_positive(s, n) && in(product + e, renyi_hessian_product(p, s, t, n, e)); */
phibal_status renyi_hessian_product(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    const phibal_enclosure *v, phibal_enclosure *product);

/*@ requires scalar_places(n, y, value) && renyi_parameter(a, value, 1);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      in{Pre}(a, p) && members{Pre}(y, n, s) ==>
        (all_negative(s, n) ? in(value, renyi_conjugate(p, s, n)) : in_plus(value)); */
phibal_status renyi_conjugate(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                              phibal_enclosure *value);

/*@ requires vector_places(n, y, gradient) && renyi_parameter(a, gradient, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n) && only_vector_written{Pre, Here}(gradient, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer e;
      in{Pre}(a, p) && members{Pre}(y, n, s) && 0 <= e < n ==>
        all_negative(s, n) && in(gradient + e, renyi_conjugate_gradient(p, s, n, e)); */
phibal_status renyi_conjugate_gradient(const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, phibal_enclosure *gradient);

/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures in_plus(z); */
static inline void set_infinity(phibal_enclosure *z);

/*@ requires output(z) && input(x) && apart(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real r; in{Pre}(x, r) ==> in(z, r + n);
    ensures zero: \forall real r; point{Pre}(x) && in{Pre}(x, r) && r + n == 0.0 ==> point(z); */
static inline void add_integer(phibal_enclosure *z, const phibal_enclosure *x, long n);

/*@ requires output(z) && input(x) && \separated(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real r; in{Pre}(x, r) ==> in(z, n - r);
    ensures zero: \forall real r; point{Pre}(x) && in{Pre}(x, r) && n - r == 0.0 ==> point(z); */
static inline void subtract_from_integer(phibal_enclosure *z, long n, const phibal_enclosure *x);

/*@ requires output(z) && input(x) && apart(z, x);
    requires k == -1 || k == 1 || k == 2;
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures half: k == -1 ==> \forall real r; in{Pre}(x, r) ==> in(z, r / 2.0);
    ensures twice: k == 1 ==> \forall real r; in{Pre}(x, r) ==> in(z, r * 2.0);
    ensures four: k == 2 ==> \forall real r; in{Pre}(x, r) ==> in(z, r * 4.0); */
static inline void multiply_by_power_of_two(phibal_enclosure *z, const phibal_enclosure *x,
                                            long k);

/*@ requires input(x) && point(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall real r; in(x, r) ==>
      (\result < 0 <==> r < 0.0) && (\result > 0 <==> r > 0.0);
    ensures -1 <= \result <= 1; */
static inline int point_sign(const phibal_enclosure *x);

/*@ requires input(x) && point(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall real r; in(x, r) ==>
      (\result < 0 <==> \abs(r) < 1.0) && (\result > 0 <==> \abs(r) > 1.0); */
static inline int point_compare_magnitude_with_one(const phibal_enclosure *x);

/*@ requires input(x) && \is_finite(lo) && \is_finite(hi);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real r; in(x, r) ==> (real)lo < r && r < (real)hi; */
static inline bool is_between(const phibal_enclosure *x, double lo, double hi);

#endif
