/* The reference of the potentials and of mirror ascent, in enclosures. Equations: SPEC.md (P), (M).

   Vectors are arrays of n >= 1 enclosures with finite ends; outputs are none of the inputs. A
   result holds what the function is at every choice of members of the arguments and of the
   parameter, and is rounded outward to its own precision from 32 more bits. Arguments may have any
   precision.

   Values and conjugates are defined on all of R^n: where the mathematics says +inf the result is
   [+inf, +inf], and [v, +inf] where that is so for some members only. A gradient or a Hessian
   exists on a domain:
     PHIBAL_ERROR_DOMAIN     the argument, or each end of it, is outside: the message names the
                             coordinate, counted from 1, its value and the domain; infinite
                             arguments are outside as well
     PHIBAL_ERROR_UNDECIDED  some members are inside and some are not, as happens to an inexact
                             argument next to the end of a domain: more precision may decide
     PHIBAL_ERROR_ARGUMENT   a null pointer, n = 0, a parameter that is not valid
     PHIBAL_ERROR_UNSUPPORTED  this thread's range of exponents is narrower than MPFR's default
                             (mpfr_set_emin, mpfr_set_emax), or its floating-point environment is
                             not IEEE 754's default: nothing was computed
   After a failure outputs hold nothing of use.

   At x = 0: lp has the second derivative +inf for p < 2; tsallis with alpha > 1 has the one-sided
   gradient -1/(alpha - 1) and the limit of the second derivative; negentropy, renyi and tsallis
   with alpha < 1 have none. lp with p = 1: no gradient at 0 (kernels say 0). lp with p = inf:
   phi = max |x_e|, the gradient divides 1 (with the signs of x) equally among the maxima, the
   conjugate is 0 on the unit ball of the 1-norm and +inf outside it. */
#ifndef PHIBAL_REFERENCE_H
#define PHIBAL_REFERENCE_H

#include <phibal/enclosure.h>
#include <phibal/potential.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (P1) to (P9): .v value, .g gradient, .h Hessian, .c conjugate, .d conjugate's gradient. */

/* A potential whose parameter is a real number known to an enclosure (exactly [a, a] for a binary64
   parameter; a point for p = +inf). Unlike phibal_potential, which kernels take. */
typedef struct phibal_reference_potential {
  phibal_potential_id id;
  phibal_enclosure parameter;
} phibal_reference_potential;

#ifdef __FRAMAC__
#include <phibal/acsl/coordinates.h>
#include <phibal/acsl/lp_max.h>
#include <phibal/acsl/renyi.h>
#include <phibal/acsl/step.h>
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
#endif

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
/* The n diagonal entries; for Renyi the full n x n matrix, row by row. */
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
/* product = Hessian(x) v, without forming the matrix. */
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

/* (M1), (M2): next = (1 - eta) m + eta loads, price = grad phi(next). 0 < eta <= 1, all of it, or
   PHIBAL_ERROR_ARGUMENT; a price that does not exist is PHIBAL_ERROR_DOMAIN. */
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
/* (M4): price = argmax_q <loads - m, q> - D_phi*(q, q_t) / eta with q_t = grad phi(m), found by a
   rigorous search for the q at which the objective's gradient (loads - m) - (grad phi*(q) -
   grad phi*(q_t)) / eta vanishes: only certain signs of that gradient, from
   phibal_reference_conjugate_gradient, move the ends of the search, and grad phi is never taken of
   the average. next = grad phi*(price).
   From exact arguments each price is known to 2^-(precision - 20) of itself, except where it is
   small because terms of size 1 cancel (negentropy near m = 1/e), and then to that of 1; a price of
   0 at m = loads = 0 exactly. `next` is as narrow as that makes it: where phi'' is small beside
   price / m (tsallis near 0, renyi with alpha near 1) it is wider.
     PHIBAL_ERROR_DOMAIN       grad phi(m) does not exist
     PHIBAL_ERROR_UNDECIDED    the argmax does not exist or is not unique (the average is on the
                               boundary of the domain), or this precision cannot tell
     PHIBAL_ERROR_UNSUPPORTED  lp with p = 1 or inf, which are not strictly convex */
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

#ifdef __cplusplus
}
#endif
#endif
