/* Balancing: from mean loads to prices, losses and biases. Equations: SPEC.md, sections M and L.
   Vectors have E <= PHIBAL_MAX_EXPERTS elements of binary32; outputs never alias inputs unless
   said. All of it is deterministic, single-threaded and allocation-free: E is small. */
#ifndef PHIBAL_BALANCE_H
#define PHIBAL_BALANCE_H

#include <phibal/potential.h>
#include <phibal/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (M1) next = (1 - eta) m + eta loads, 0 < eta <= 1, each element correctly rounded. `next` may be
   `m`. */
phibal_status phibal_ema(int32_t experts, float eta, const float *m, const float *loads,
                         float *next);

/* (M2) price = grad phi(m), <= 0.501 ULP. m >= 0 finite. Where the catalogue says floored, elements
   below PHIBAL_SMALLEST_LOAD are raised to it first and *floored (if not null) is their number. */
phibal_status phibal_price(const phibal_potential *potential, int32_t experts, const float *m,
                           float *price, int32_t *floored);

/* (M3) centred = price - mean(price), <= 0.501 ULP of the exact difference (plus 2^-90 of the
   largest exact price where the exact difference cancels below that); constant offsets never enter.
 */
phibal_status phibal_price_centred(const phibal_potential *potential, int32_t experts,
                                   const float *m, float *centred, int32_t *floored);

/* (L1) *loss = alpha E sum_e loads_e grad phi(m)_e, <= 0.501 ULP (plus 2^-90 of the sum of absolute
   values of the terms). */
phibal_status phibal_balance_loss(const phibal_potential *potential, int32_t experts, double alpha,
                                  const float *loads, const float *m, float *loss);

/* (L3) Switch: *loss = alpha E sum_e frequency_e loads_e, <= 0.501 ULP. With f and P of one
   sequence, averaged over sequences, it is the sequence-wise loss (L4). */
phibal_status phibal_switch_loss(int32_t experts, double alpha, const float *frequency,
                                 const float *loads, float *loss);

/* (L3) the price of the Switch and sequence-wise losses: centred = frequency - mean(frequency),
   <= 0.501 ULP (of the exact difference of the binary32 inputs). */
phibal_status phibal_frequency_centred(int32_t experts, const float *frequency, float *centred);

/* (L5) z-loss: *loss = coefficient / n sum_t logsumexp_t^2 over the n unmasked tokens, <= 0.501
   ULP, the same bits for any order of the tokens. mask may be null. n = 0 gives 0. */
phibal_status phibal_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                            const uint8_t *mask, float *loss);

/* (L6) loss-free: bias_e += rate sign(mean(count) - count_e), decided in integers, correctly
   rounded addition. */
phibal_status phibal_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                      float *bias);

#ifdef __cplusplus
}
#endif
#endif
