/* What <phibal/status.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_STATUS_H
#define PHIBAL_ACSL_CONTRACTS_STATUS_H

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == status; */
phibal_status phibal_status_recorded(phibal_status status);

#endif
