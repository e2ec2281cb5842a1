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
   comes from a nonzero member keeps that member's sign; an exact zero is +0. False when the members
   of x round differently. */
bool phibal_round_enclosure(const phibal_enclosure *x, phibal_format format,
                            phibal_direction direction, double *result);

/* Evaluates a real number to an enclosure at a given working precision. */
typedef phibal_status (*phibal_evaluator)(void *context, mpfr_prec_t precision,
                                          phibal_enclosure *value);

/* Raises the precision (64, 128, ... up to `cap` bits) until the value is certain to round to one
   number. PHIBAL_ERROR_UNDECIDED at the cap. */
phibal_status phibal_round_correctly(phibal_evaluator evaluate, void *context, mpfr_prec_t cap,
                                     phibal_format format, phibal_direction direction,
                                     double *result);

/* Unit in the last place of `format` at |x| (the gap above |x| rounded down to the format; at least
   the smallest subnormal). Exact. */
double phibal_format_ulp(phibal_format format, double x);
/* "binary32" and so on; "nearest" and so on. PHIBAL_ERROR_ARGUMENT lists the names. */
phibal_status phibal_format_find(const char *name, phibal_format *format);
phibal_status phibal_direction_find(const char *name, phibal_direction *direction);

#ifdef __cplusplus
}
#endif
#endif
