/* Correct rounding of a real number given by ever tighter enclosures. */
#ifndef PHIBAL_ROUNDING_H
#define PHIBAL_ROUNDING_H

#include <phibal/enclosure.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum phibal_format {
  PHIBAL_FORMAT_BINARY64,
  PHIBAL_FORMAT_BINARY32,
  PHIBAL_FORMAT_BFLOAT16,
  PHIBAL_FORMAT_BINARY16,
} phibal_format;

typedef enum phibal_direction {
  PHIBAL_ROUND_NEAREST, /* ties to even */
  PHIBAL_ROUND_DOWN,
  PHIBAL_ROUND_UP,
  PHIBAL_ROUND_ZERO,
} phibal_direction;

/* *result = the number rounded once to `format` (every such number is a binary64), subnormals,
   overflow and signed zeros included, if all of x rounds to the same number; then true. A zero that
   comes from a nonzero member keeps that member's sign; an exact zero is +0. An infinite member is
   exactly infinite and stays so in every direction; a finite one beyond the largest number goes to
   infinity to nearest (from half a unit beyond on) and away from zero, else to the largest number.
   False, and *result unchanged, when the members of x round differently: [-1e-99, 0] too, to
   nearest, since -0 is not +0. */
bool phibal_round_enclosure(const phibal_enclosure *x, phibal_format format,
                            phibal_direction direction, double *result);

/* Encloses a real number in *value, which is initialised with `precision` bits and 0. It returns,
   and writes *value alone and what belongs to its context. */
typedef phibal_status (*phibal_evaluator)(void *context, mpfr_prec_t precision,
                                          phibal_enclosure *value);
#ifdef __FRAMAC__
/* What proofs take a call of any evaluator for; each one has this contract to keep. */
phibal_status phibal_evaluate(phibal_evaluator evaluate, void *context, mpfr_prec_t precision,
                              phibal_enclosure *value);
#include <phibal/acsl/contracts/rounding.h>
#endif

/* Raises the precision (64, 128, ... and at last `cap` bits) until the value is certain to round to
   one number. At the cap: PHIBAL_ERROR_UNDECIDED; so ends a value that lies on a boundary between
   two roundings but whose enclosures never become a point, such as sqrt(2)^2. When the evaluator
   returns PHIBAL_ERROR_DOMAIN or PHIBAL_ERROR_UNDECIDED, which a wide enclosure on the way may
   cause, the precision is raised too, and at the cap that status is returned; any other failure at
   once. The evaluator is called in a range of exponents that holds MPFR's default, in the default
   floating-point environment; the caller's are put back. */
phibal_status phibal_round_correctly(phibal_evaluator evaluate, void *context, mpfr_prec_t cap,
                                     phibal_format format, phibal_direction direction,
                                     double *result);

/* Unit in the last place of `format` at x: the gap between |x| rounded down to the format and the
   number above it, at least the smallest subnormal; beyond the largest number that number's unit,
   at infinity infinity. Exact. NaN for NaN. */
double phibal_format_ulp(phibal_format format, double x);
/* "binary32" and so on; "nearest" and so on. PHIBAL_ERROR_ARGUMENT lists the names. */
phibal_status phibal_format_find(const char *name, phibal_format *format);
phibal_status phibal_direction_find(const char *name, phibal_direction *direction);

#ifdef __cplusplus
}
#endif
#endif
