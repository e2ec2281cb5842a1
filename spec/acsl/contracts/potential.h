/* What <phibal/potential.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_POTENTIAL_H
#define PHIBAL_ACSL_CONTRACTS_POTENTIAL_H

/*@ predicate known_potential(integer id) = 0 <= id < PHIBAL_POTENTIAL_COUNT;
    // the row of potential id: which have a parameter, and where it may lie
    predicate has_parameter(integer id) =
      id == PHIBAL_POTENTIAL_LP || id == PHIBAL_POTENTIAL_SOFT_L1 ||
      id == PHIBAL_POTENTIAL_TSALLIS || id == PHIBAL_POTENTIAL_RENYI ||
      id == PHIBAL_POTENTIAL_PSEUDO_HUBER || id == PHIBAL_POTENTIAL_LOG_COSH;
    predicate catalogue_row{L}(phibal_potential_info *row, integer id) =
      \valid_read(row) && \valid_read(row->parameter) &&
      (row->parameter[0] != 0 <==> has_parameter(id)) &&
      \is_finite(row->low) && (real)row->low == (id == PHIBAL_POTENTIAL_LP ? 1.0 : 0.0) &&
      !\is_NaN(row->high) && !\is_minus_infinity(row->high) &&
      (id == PHIBAL_POTENTIAL_RENYI ==> \is_finite(row->high) && (real)row->high == 1.0);
*/

/*@ terminates \true;
    exits \false;
    assigns \result \from id;
    ensures known_potential(id) ==> catalogue_row(\result, id);
    ensures !known_potential(id) ==> \result == \null; */
const phibal_potential_info *phibal_potential_describe(phibal_potential_id id);

/*@ requires potential == \null || \valid_read(potential);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures potential == \null ==> \result == PHIBAL_ERROR_ARGUMENT; */
phibal_status phibal_potential_check(const phibal_potential *potential);

#endif
