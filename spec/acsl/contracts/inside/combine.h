/* What the functions of reference/combine.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_H

/*@ requires combine_there(tokens, active, width, row, expert_output);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> precision >= OPERATION_PRECISION &&
      combine_ready(tokens, active, width, row, expert_output); */
phibal_status reference_combine_check(const char *name, int64_t tokens, int32_t active,
                                      int64_t width, const int64_t *row, const float *expert_output,
                                      mpfr_prec_t precision);

#endif
