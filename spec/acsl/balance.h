/* The logic of balancing: SPEC.md's sections M and L. ACSL only. */
#ifndef PHIBAL_ACSL_BALANCE_H
#define PHIBAL_ACSL_BALANCE_H

#include <phibal/acsl/metrics.h>

/*@ // (M1) of one expert
    logic real weighted(real m, real a, real load, real b) = m * a + load * b;
    logic real moving_average(real eta, real m, real load) =
      weighted(m, 1.0 - eta, load, eta);
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
    // the sign in (L6): of mean(count) - count_e
    logic integer sign_of(integer x) = x > 0 ? 1 : x < 0 ? -1 : 0;
*/
#endif
