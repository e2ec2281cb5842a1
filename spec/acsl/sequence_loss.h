/* What the loss of sequences is (L4), and what its sum adds up of counts and means. ACSL only;
   definitions and no axiom. */
#ifndef PHIBAL_ACSL_SEQUENCE_LOSS_H
#define PHIBAL_ACSL_SEQUENCE_LOSS_H

#include <phibal/acsl/loads_value.h>

/*@ // f_e P_e from the count, (R7), alpha E and (T_b/T) times a sum: provers match these where they
    // would not the products
    logic real frequency_term(integer count, integer active, integer tokens, real mean) =
      frequency_of(count, active, tokens) * mean;
    logic real scaled_sum(real alpha, integer experts, real sum) = alpha * (real)experts * sum;
    logic real part_of(integer tokens, integer total, real sum) =
      (real)tokens / (real)total * sum;
    // sum_e f_e P_e over the experts below n, of a sequence of `length` tokens (R6), (R7)
    logic real frequency_dot{L}(integer gate, float *x, float *bias, uint8_t *mask,
                                integer experts, integer active, integer length, integer n) =
      n <= 0 ? 0.0 :
      frequency_dot(gate, x, bias, mask, experts, active, length, n - 1) +
        frequency_term(selected_count(gate, x, bias, mask, experts, active, n - 1, length), active,
                       tokens_counted(mask, length),
                       mean_probability(gate, x, mask, experts, n - 1, length));
    // (T_b/T) sum_e f_be P_be
    logic real sequence_share{L}(integer gate, float *x, float *bias, uint8_t *mask,
                                 integer experts, integer active, integer length, integer total) =
      part_of(tokens_counted(mask, length), total,
              frequency_dot(gate, x, bias, mask, experts, active, length, experts));
    // sequence b is the tokens b length .. (b + 1) length - 1
    logic uint8_t *mask_from(uint8_t *mask, integer first) =
      mask == \null ? mask : mask + first;
    logic real sequence_shares{L}(integer gate, float *x, float *bias, uint8_t *mask,
                                  integer experts, integer active, integer length, integer total,
                                  integer b) =
      b <= 0 ? 0.0 :
      sequence_shares(gate, x, bias, mask, experts, active, length, total, b - 1) +
        sequence_share(gate, x + (b - 1) * length * experts, bias,
                       mask_from(mask, (b - 1) * length), experts, active, length, total);
    // (L4)
    logic real sequence_loss{L}(real alpha, integer gate, float *x, float *bias, uint8_t *mask,
                                integer experts, integer active, integer length,
                                integer sequences) =
      scaled_sum(alpha, experts,
                 sequence_shares(gate, x, bias, mask, experts, active, length,
                                 tokens_counted(mask, sequences * length), sequences));

    // k T_b f_be P_be
    logic real count_term(integer count, real mean) = (real)count * mean;
    // k T_b sum_e f_be P_be, as it is summed: of counts and means
    logic real count_dot{L}(integer gate, float *x, float *bias, uint8_t *mask, integer experts,
                            integer active, integer length, integer n) =
      n <= 0 ? 0.0 :
      count_dot(gate, x, bias, mask, experts, active, length, n - 1) +
        count_term(selected_count(gate, x, bias, mask, experts, active, n - 1, length),
                   mean_probability(gate, x, mask, experts, n - 1, length));
    logic real count_share{L}(integer gate, float *x, float *bias, uint8_t *mask, integer experts,
                              integer active, integer length) =
      tokens_counted(mask, length) == 0 ? 0.0 :
      count_dot(gate, x, bias, mask, experts, active, length, experts);
    logic real count_shares{L}(integer gate, float *x, float *bias, uint8_t *mask,
                               integer experts, integer active, integer length, integer b) =
      b <= 0 ? 0.0 :
      count_shares(gate, x, bias, mask, experts, active, length, b - 1) +
        count_share(gate, x + (b - 1) * length * experts, bias, mask_from(mask, (b - 1) * length),
                    experts, active, length);
*/

#endif
