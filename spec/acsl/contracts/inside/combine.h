/* What the functions of reference/combine.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_H

/*@ requires combine_there(c.tokens, c.active, c.width, c.row, c.expert_output);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> precision >= OPERATION_PRECISION &&
      combine_ready(c.tokens, c.active, c.width, c.row, c.expert_output); */
phibal_status reference_combine_check(const char *name, phibal_reference_combination c,
                                      mpfr_prec_t precision);

#endif
