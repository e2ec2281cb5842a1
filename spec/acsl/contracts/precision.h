/* What <phibal/precision.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_PRECISION_H
#define PHIBAL_ACSL_CONTRACTS_PRECISION_H

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures 1 <= precision <= PHIBAL_MAX_PRECISION ==> \result == PHIBAL_OK;
    ensures precision < 1 || PHIBAL_MAX_PRECISION < precision ==>
      \result == PHIBAL_ERROR_ARGUMENT; */
phibal_status phibal_precision_check(const char *who, mpfr_prec_t precision);

/*@ requires \valid(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures 1 <= precision <= PHIBAL_MAX_PRECISION ==> \result == PHIBAL_OK;
    ensures precision < 1 || PHIBAL_MAX_PRECISION < precision ==>
      \result == PHIBAL_ERROR_ARGUMENT && same{Pre, Here}(z);
    ensures \result == PHIBAL_OK ==> enclosure(z) && point(z) && in(z, 0.0);
    ensures \result == PHIBAL_OK ==> precise(z, precision) && roomy(z, precision);
    ensures only_written{Pre, Here}(z); */
phibal_status phibal_enclosure_create(phibal_enclosure *z, mpfr_prec_t precision);

#endif
