/* The reference of the potentials and of mirror ascent, in enclosures. Equations: SPEC.md (P), (M).
   Vectors are arrays of n enclosures; outputs are none of the inputs. Where the mathematics says
   +inf (a conjugate outside its domain) the result is [+inf, +inf]; where there is no value at all
   (a gradient outside the domain) the status is PHIBAL_ERROR_DOMAIN and the message names the
   coordinate and the domain. */
#ifndef PHIBAL_REFERENCE_H
#define PHIBAL_REFERENCE_H

#include <phibal/enclosure.h>
#include <phibal/potential.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A potential whose parameter is a real number known to an enclosure (exactly [a, a] for a binary64
   parameter; a point for p = +inf). Unlike phibal_potential, which kernels take. */
typedef struct phibal_reference_potential {
  phibal_potential_id id;
  phibal_enclosure parameter;
} phibal_reference_potential;

phibal_status phibal_reference_value(const phibal_reference_potential *phi, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *value);
phibal_status phibal_reference_gradient(const phibal_reference_potential *phi, size_t n,
                                        const phibal_enclosure *x, phibal_enclosure *gradient);
/* The n diagonal entries; for Renyi the full n x n matrix, row by row. */
phibal_status phibal_reference_hessian(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, phibal_enclosure *hessian);
/* product = Hessian(x) v, without forming the matrix. */
phibal_status phibal_reference_hessian_product(const phibal_reference_potential *phi, size_t n,
                                               const phibal_enclosure *x,
                                               const phibal_enclosure *v,
                                               phibal_enclosure *product);
phibal_status phibal_reference_conjugate(const phibal_reference_potential *phi, size_t n,
                                         const phibal_enclosure *y, phibal_enclosure *value);
phibal_status phibal_reference_conjugate_gradient(const phibal_reference_potential *phi, size_t n,
                                                  const phibal_enclosure *y,
                                                  phibal_enclosure *gradient);

/* (M1), (M2): next = (1 - eta) m + eta loads, price = grad phi(next). */
phibal_status phibal_reference_mirror_ema(const phibal_reference_potential *phi, size_t n,
                                          const phibal_enclosure *m, const phibal_enclosure *loads,
                                          const phibal_enclosure *eta, phibal_enclosure *next,
                                          phibal_enclosure *price);
/* (M4): price = argmax_q <loads - m, q> - D_phi*(q, grad phi(m)) / eta, found by a rigorous root
   search on the conjugate's gradient (never through grad phi of the EMA), next = grad phi*(price).
   `precision` bits are worked with. */
phibal_status phibal_reference_mirror_argmax(const phibal_reference_potential *phi, size_t n,
                                             const phibal_enclosure *m,
                                             const phibal_enclosure *loads,
                                             const phibal_enclosure *eta, mpfr_prec_t precision,
                                             phibal_enclosure *next, phibal_enclosure *price);

#ifdef __cplusplus
}
#endif
#endif
