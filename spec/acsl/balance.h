/* The logic of balancing: SPEC.md's sections M and L. ACSL only. */
#ifndef PHIBAL_ACSL_BALANCE_H
#define PHIBAL_ACSL_BALANCE_H

#include <phibal/acsl/activation.h>
#include <phibal/acsl/heap.h>
#include <phibal/acsl/metrics.h>
#include <phibal/acsl/separable.h>

/*@ // (M1) of one expert
    logic real weighted(real m, real a, real load, real b) = m * a + load * b;
    logic real moving_average(real eta, real m, real load) =
      weighted(m, 1.0 - eta, load, eta);
    // what a price is taken at: kernels raise small loads where prices have no bound
    logic real price_point(integer floored, real m) = floored != 0 && m < 0x1p-126 ? 0x1p-126 : m;
    // lp with p = 1, with p = inf: 1 over the number of the largest at each of them
    logic real sign_real(real x) = x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
    logic integer multiplicity(sequence s, real a, integer n) =
      n <= 0 ? 0 : multiplicity(s, a, n - 1) + (term(s, n - 1) == a ? 1 : 0);
    logic real maximum_share(sequence s, integer n, integer e) =
      term(s, e) == largest(s, n) ? 1.0 / multiplicity(s, largest(s, n), n) : 0.0;
    logic integer price_raised(integer id, real a) =
      id == PHIBAL_POTENTIAL_NEGENTROPY || id == PHIBAL_POTENTIAL_RENYI ||
      (id == PHIBAL_POTENTIAL_TSALLIS && a < 1.0) ? 1 : 0;
    // (M2) of one expert, for separable potentials
    logic real gradient_price(integer id, real a, real m) =
      price_of(id, a, price_point(price_raised(id, a), m));
    logic real kernel_price(integer id, real a, real m) =
      id == PHIBAL_POTENTIAL_LP && a == 1.0 ? sign_real(m) : gradient_price(id, a, m);
    predicate prices_are{L}(integer id, real a, float *m, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> term(s, i) == kernel_price(id, a, (real)m[i]);
    // (M3) of one expert
    logic real mean(sequence s, integer n) = sum(s, n) / n;
    logic real centred(sequence s, integer n, integer e) = term(s, e) - mean(s, n);
    // sum_e x_e w_e, and with the absolute values of x
    logic real dot(sequence x, sequence w, integer n) =
      n <= 0 ? 0.0 : dot(x, w, n - 1) + term(x, n - 1) * term(w, n - 1);
    logic real absolute_dot(sequence x, sequence w, integer n) =
      n <= 0 ? 0.0 : absolute_dot(x, w, n - 1) + \abs(term(x, n - 1)) * term(w, n - 1);
    // (L1), (L3), and their condition
    logic real balance_loss(real alpha, sequence x, sequence w, integer n) =
      alpha * n * dot(x, w, n);
    logic real balance_condition(real alpha, sequence x, sequence w, integer n) =
      \abs(alpha * n) * absolute_dot(x, w, n);

    // a token counts where there is no mask or the mask is not 0
    logic integer unmasked{L}(uint8_t *mask, integer i) =
      (mask == \null || mask[i] != 0) ? 1 : 0;
    logic integer tokens_counted{L}(uint8_t *mask, integer n) =
      n <= 0 ? 0 : tokens_counted(mask, n - 1) + unmasked(mask, n - 1);
    // the sum in (L5)
    logic real squares{L}(float *x, uint8_t *mask, integer n) =
      n <= 0 ? 0.0 :
      squares(x, mask, n - 1) +
        (unmasked(mask, n - 1) == 1 ? (real)x[n - 1] * (real)x[n - 1] : 0.0);
    logic real z_loss{L}(real coefficient, float *x, uint8_t *mask, integer n) =
      coefficient * squares(x, mask, n) / tokens_counted(mask, n);
    // of what was in use before, nothing was written but z and y, if they are there
    predicate optional_kept{A, B}(phibal_enclosure *z, phibal_enclosure *y) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && in_use{A}(r) && optional_apart(r, z) &&
        optional_apart(r, y) ==> same{A, B}(r);
    // sum over the experts
    logic integer count_sum{L}(int64_t *count, integer n) =
      n <= 0 ? 0 : count_sum(count, n - 1) + count[n - 1];
    // the sign in (L6): of mean(count) - count_e
    logic integer sign_of(integer x) = x > 0 ? 1 : x < 0 ? -1 : 0;
*/
#endif
