/* The limit of precision, and enclosures that keep it. */
#include <phibal/precision.h>

phibal_status phibal_precision_check(const char *who, mpfr_prec_t precision) {
  if (precision >= MPFR_PREC_MIN && precision <= PHIBAL_MAX_PRECISION) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "%s: %ld bits of precision; at least %d, at most %ld", who,
                           (long)precision, (int)MPFR_PREC_MIN, (long)PHIBAL_MAX_PRECISION);
}

phibal_status phibal_enclosure_create(phibal_enclosure *z, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  const phibal_status status = phibal_precision_check("phibal_enclosure_create", precision);
  if (status == PHIBAL_OK) phibal_enclosure_init(z, precision);
  return status;
}
