/* Linked to a test of the reference: its program then runs in MPFR's widest range of exponents, as
   one does whose author called mpfr_set_emin(mpfr_get_emin_min()). */
#include <mpfr.h>

__attribute__((constructor)) static void widen(void) {
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
}
