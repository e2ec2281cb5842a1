/* How precise enclosures may be. MPFR ends the program where it finds no memory for a number, and
   GMP does so long before MPFR's own limit of 2^63 bits. So a precision that comes from outside
   is held against a limit first.

   The functions of the reference that take a precision and return a status refuse one beyond the
   limit, with PHIBAL_ERROR_ARGUMENT and a line that says so; phibal_enclosure_vector returns null.
   phibal_enclosure_init returns nothing: there it makes an enclosure of MPFR_PREC_MIN bits.
   phibal_enclosure_create returns a status. Within the limit MPFR still ends the program if the
   machine has less memory than its numbers need. */
#ifndef PHIBAL_PRECISION_H
#define PHIBAL_PRECISION_H

#include <phibal/enclosure.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 2^30 bits: 128 MiB for each end of an enclosure. */
#define PHIBAL_MAX_PRECISION 0x40000000

/* PHIBAL_ERROR_ARGUMENT unless 1 <= precision <= PHIBAL_MAX_PRECISION; the message begins with
   `who`. */
phibal_status phibal_precision_check(const char *who, mpfr_prec_t precision);

/* phibal_enclosure_init, or PHIBAL_ERROR_ARGUMENT: then z is untouched, and not to be cleared. */
phibal_status phibal_enclosure_create(phibal_enclosure *z, mpfr_prec_t precision);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/precision.h>
#endif

#ifdef __cplusplus
}
#endif

#endif
