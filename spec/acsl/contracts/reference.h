/* What <phibal/reference.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_H

/*@ // a potential, an argument x[0..n-1] and a place for a vector, which is apart from both
    predicate vector_call{L}(phibal_reference_potential *phi, integer n, phibal_enclosure *x,
                             phibal_enclosure *z) =
      \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(x, n) &&
      vector_output(z, n) && \separated(phi, z + (0 .. n - 1)) &&
      \separated(x + (0 .. n - 1), z + (0 .. n - 1));
    // and a place for one number
    predicate scalar_call{L}(phibal_reference_potential *phi, integer n, phibal_enclosure *x,
                             phibal_enclosure *z) =
      \valid_read(phi) && input(&phi->parameter) && 1 <= n && vector_input(x, n) && output(z) &&
      \separated(phi, z) && \separated(x + (0 .. n - 1), z);
    // lp with p = inf
    predicate largest_magnitude{L}(phibal_reference_potential *phi) =
      phi->id == PHIBAL_POTENTIAL_LP && only_plus(&phi->parameter);
    // z holds the second derivative at r, a coordinate
    predicate holds_curvature{L}(phibal_enclosure *z, integer id, real a, real r) =
      (curvature_exists(id, a, r) && in(z, curvature_of(id, a, r))) ||
      (!curvature_exists(id, a, r) && curvature_infinite(id, a, r) && in_plus(z));
    // the Hessian has so many entries
    logic integer hessian_size(integer id, integer n) = id == PHIBAL_POTENTIAL_RENYI ? n * n : n;
    // and a place for k entries; all in use, so that what is allocated is apart from it
    predicate hessian_call{L}(phibal_reference_potential *phi, integer n, phibal_enclosure *x,
                              phibal_enclosure *z, integer k) =
      \valid_read(phi) && input(&phi->parameter) && 1 <= n <= 0xffffffff && vector_input(x, n) &&
      vector_output(z, k) && \separated(phi, z + (0 .. k - 1)) &&
      \separated(x + (0 .. n - 1), z + (0 .. k - 1)) && in_use(&phi->parameter) &&
      vector_in_use(x, n) && vector_in_use(z, k);
*/

/*@ requires scalar_call(phi, n, x, value);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures separable: \result == PHIBAL_OK ==> \forall real a, sequence s, v;
      in{Pre}(&phi->parameter, a) && separable(phi->id, a) && members{Pre}(x, n, s) &&
      values_are(phi->id, a, s, v, n) ==> in(value, sum(v, n));
    ensures outside: \result == PHIBAL_OK ==> \forall real a, sequence s, integer i;
      in{Pre}(&phi->parameter, a) && separable(phi->id, a) && members{Pre}(x, n, s) &&
      0 <= i < n && !value_finite(phi->id, a, term(s, i)) ==> in_plus(value);
    ensures largest: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s, real m; members{Pre}(x, n, s) && greatest(m, s, n) ==> in(value, m);
    ensures renyi: \result == PHIBAL_OK && phi->id == PHIBAL_POTENTIAL_RENYI ==>
      \forall real a, sequence s; in{Pre}(&phi->parameter, a) && members{Pre}(x, n, s) ==>
      (renyi_value_inside(s, n) ? in(value, renyi_value(a, s, n)) : in_plus(value)); */
phibal_status phibal_reference_value(const phibal_reference_potential *phi, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *value);

/*@ requires vector_call(phi, n, x, gradient);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n) && only_vector_written{Pre, Here}(gradient, n);
    ensures separable: \result == PHIBAL_OK ==> \forall integer e, real a, r;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(x + e, r) && separable(phi->id, a) ==>
      price_exists(phi->id, a, r) && in(gradient + e, price_of(phi->id, a, r));
    ensures largest: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s, real m, integer e; members{Pre}(x, n, s) && greatest(m, s, n) &&
      0 <= e < n ==> in(gradient + e, share(term(s, e), reached(s, n, m), m));
    ensures renyi: \result == PHIBAL_OK && phi->id == PHIBAL_POTENTIAL_RENYI ==>
      \forall real a, sequence s, integer e; in{Pre}(&phi->parameter, a) &&
      members{Pre}(x, n, s) && 0 <= e < n ==>
      all_positive(s, n) && in(gradient + e, renyi_gradient(a, s, n, e)); */
phibal_status phibal_reference_gradient(const phibal_reference_potential *phi, size_t n,
                                        const phibal_enclosure *x, phibal_enclosure *gradient);

/*@ requires hessian_call(phi, n, x, hessian, hessian_size(phi->id, n));
    terminates \true;
    exits \false;
    assigns hessian[0 .. hessian_size(phi->id, n) - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures vector_output(hessian, hessian_size(phi->id, n));
    ensures vector_kept{Pre, Here}(hessian, hessian_size(phi->id, n));
    ensures separable: \result == PHIBAL_OK ==> \forall integer e, real a, r;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(x + e, r) && separable(phi->id, a) ==>
      holds_curvature(hessian + e, phi->id, a, r);
    ensures largest: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s, real m, integer e; members{Pre}(x, n, s) && greatest(m, s, n) &&
      0 <= e < n ==> 0.0 < m && reached(s, n, m) == 1 && in(hessian + e, 0.0);
    ensures renyi: \result == PHIBAL_OK && phi->id == PHIBAL_POTENTIAL_RENYI ==>
      \forall real a, sequence s, integer e, j; in{Pre}(&phi->parameter, a) &&
      members{Pre}(x, n, s) && 0 <= e < n && 0 <= j < n ==>
      all_positive(s, n) && in(hessian + (e * n + j), renyi_hessian(a, s, n, e, j)); */
phibal_status phibal_reference_hessian(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, phibal_enclosure *hessian);

/*@ requires hessian_call(phi, n, x, product, n) && vector_input(v, n) && vector_in_use(v, n);
    requires \separated(v + (0 .. n - 1), product + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns product[0 .. n - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures vector_output(product, n) && vector_kept{Pre, Here}(product, n);
    ensures separable: \result == PHIBAL_OK ==> \forall integer e, real a, r, w; 0 <= e < n &&
      in{Pre}(&phi->parameter, a) && in{Pre}(x + e, r) && in{Pre}(v + e, w) &&
      separable(phi->id, a) && curvature_exists(phi->id, a, r) ==>
      in(product + e, curvature_of(phi->id, a, r) * w);
    ensures largest: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s, real m, w, integer e; members{Pre}(x, n, s) && greatest(m, s, n) &&
      0 <= e < n && in{Pre}(v + e, w) ==>
      0.0 < m && reached(s, n, m) == 1 && in(product + e, 0.0);
    ensures renyi: \result == PHIBAL_OK && phi->id == PHIBAL_POTENTIAL_RENYI ==>
      \forall real a, sequence s, t, integer e; in{Pre}(&phi->parameter, a) &&
      members{Pre}(x, n, s) && members{Pre}(v, n, t) && 0 <= e < n ==>
      all_positive(s, n) && in(product + e, renyi_hessian_product(a, s, t, n, e)); */
phibal_status phibal_reference_hessian_product(const phibal_reference_potential *phi, size_t n,
                                               const phibal_enclosure *x, const phibal_enclosure *v,
                                               phibal_enclosure *product);

/*@ requires scalar_call(phi, n, y, value);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures separable: \result == PHIBAL_OK ==> \forall real a, sequence s, v;
      in{Pre}(&phi->parameter, a) && separable(phi->id, a) && members{Pre}(y, n, s) &&
      conjugates_are(phi->id, a, s, v, n) ==> in(value, sum(v, n));
    ensures outside: \result == PHIBAL_OK ==> \forall real a, sequence s, integer i;
      in{Pre}(&phi->parameter, a) && separable(phi->id, a) && members{Pre}(y, n, s) &&
      0 <= i < n && !conjugate_finite(phi->id, a, term(s, i)) ==> in_plus(value);
    ensures largest: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s; members{Pre}(y, n, s) && one_norm(s, n) <= 1.0 ==> in(value, 0.0);
    ensures beyond: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s; members{Pre}(y, n, s) && 1.0 < one_norm(s, n) ==> in_plus(value);
    ensures renyi: \result == PHIBAL_OK && phi->id == PHIBAL_POTENTIAL_RENYI ==>
      \forall real a, sequence s; in{Pre}(&phi->parameter, a) && members{Pre}(y, n, s) ==>
      (all_negative(s, n) ? in(value, renyi_conjugate(a, s, n)) : in_plus(value)); */
phibal_status phibal_reference_conjugate(const phibal_reference_potential *phi, size_t n,
                                         const phibal_enclosure *y, phibal_enclosure *value);

/*@ requires vector_call(phi, n, y, gradient);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n) && only_vector_written{Pre, Here}(gradient, n);
    ensures separable: \result == PHIBAL_OK ==> \forall integer e, real a, r;
      0 <= e < n && in{Pre}(&phi->parameter, a) && in{Pre}(y + e, r) && separable(phi->id, a) ==>
      load_exists(phi->id, a, r) && in(gradient + e, load_of(phi->id, a, r));
    ensures largest: \result == PHIBAL_OK && largest_magnitude{Pre}(phi) ==>
      \forall sequence s, integer e; members{Pre}(y, n, s) && 0 <= e < n ==>
      one_norm(s, n) < 1.0 && in(gradient + e, 0.0);
    ensures renyi: \result == PHIBAL_OK && phi->id == PHIBAL_POTENTIAL_RENYI ==>
      \forall real a, sequence s, integer e; in{Pre}(&phi->parameter, a) &&
      members{Pre}(y, n, s) && 0 <= e < n ==>
      all_negative(s, n) && in(gradient + e, renyi_conjugate_gradient(a, s, n, e)); */
phibal_status phibal_reference_conjugate_gradient(const phibal_reference_potential *phi, size_t n,
                                                  const phibal_enclosure *y,
                                                  phibal_enclosure *gradient);

/*@ requires step_call(phi, n, m, loads, eta, next, price);
    requires step_settled(phi, n, m, loads, eta, next, price);
    terminates \true;
    exits \false;
    assigns next[0 .. n - 1], price[0 .. n - 1], ALLOCATED;
    ensures vector_output(next, n) && vector_output(price, n);
    ensures still_in_use{Pre, Here} && step_kept{Pre, Here}(next, price, n);
    ensures eta: \result == PHIBAL_OK ==> \forall real h; in{Pre}(eta, h) ==> 0.0 < h <= 1.0;
    ensures step: \result == PHIBAL_OK ==>
      holds_step{Pre, Here}(phi, n, m, loads, eta, next, price); */
phibal_status phibal_reference_mirror_ema(const phibal_reference_potential *phi, size_t n,
                                          const phibal_enclosure *m, const phibal_enclosure *loads,
                                          const phibal_enclosure *eta, phibal_enclosure *next,
                                          phibal_enclosure *price);

/*@ requires step_call(phi, n, m, loads, eta, next, price);
    requires step_settled(phi, n, m, loads, eta, next, price);
    terminates \true;
    exits \false;
    assigns next[0 .. n - 1], price[0 .. n - 1], ALLOCATED;
    ensures vector_output(next, n) && vector_output(price, n);
    ensures still_in_use{Pre, Here} && step_kept{Pre, Here}(next, price, n);
    ensures eta: \result == PHIBAL_OK ==> \forall real h; in{Pre}(eta, h) ==> 0.0 < h <= 1.0;
    ensures argmax: \result == PHIBAL_OK ==>
      holds_argmax{Pre, Here}(phi, n, m, loads, eta, next, price);
    ensures step: \result == PHIBAL_OK ==>
      holds_step{Pre, Here}(phi, n, m, loads, eta, next, price); */
phibal_status phibal_reference_mirror_argmax(const phibal_reference_potential *phi, size_t n,
                                             const phibal_enclosure *m,
                                             const phibal_enclosure *loads,
                                             const phibal_enclosure *eta, mpfr_prec_t precision,
                                             phibal_enclosure *next, phibal_enclosure *price);

#endif
