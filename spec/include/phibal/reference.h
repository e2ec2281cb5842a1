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
#endif

phibal_status phibal_reference_value(const phibal_reference_potential *phi, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *value);
phibal_status phibal_reference_gradient(const phibal_reference_potential *phi, size_t n,
                                        const phibal_enclosure *x, phibal_enclosure *gradient);
/* The n diagonal entries; for Renyi the full n x n matrix, row by row. */
phibal_status phibal_reference_hessian(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, phibal_enclosure *hessian);
/* product = Hessian(x) v, without forming the matrix. */
phibal_status phibal_reference_hessian_product(const phibal_reference_potential *phi, size_t n,
                                               const phibal_enclosure *x, const phibal_enclosure *v,
                                               phibal_enclosure *product);
phibal_status phibal_reference_conjugate(const phibal_reference_potential *phi, size_t n,
                                         const phibal_enclosure *y, phibal_enclosure *value);
phibal_status phibal_reference_conjugate_gradient(const phibal_reference_potential *phi, size_t n,
                                                  const phibal_enclosure *y,
                                                  phibal_enclosure *gradient);

/* (M1), (M2): next = (1 - eta) m + eta loads, price = grad phi(next). 0 < eta <= 1, all of it, or
   PHIBAL_ERROR_ARGUMENT; a price that does not exist is PHIBAL_ERROR_DOMAIN. */
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
phibal_status phibal_reference_mirror_argmax(const phibal_reference_potential *phi, size_t n,
                                             const phibal_enclosure *m,
                                             const phibal_enclosure *loads,
                                             const phibal_enclosure *eta, mpfr_prec_t precision,
                                             phibal_enclosure *next, phibal_enclosure *price);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
