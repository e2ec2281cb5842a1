/* The root of an increasing function, enclosed by certified comparisons alone. */
#ifndef PHIBAL_REFERENCE_MIRROR_SEARCH_H
#define PHIBAL_REFERENCE_MIRROR_SEARCH_H

#include <phibal/enclosure.h>

typedef enum search_side {
  SEARCH_BELOW,   /* f(q) < target, certainly */
  SEARCH_ABOVE,   /* f(q) > target, certainly */
  SEARCH_EQUAL,   /* f(q) = target, certainly */
  SEARCH_OUTSIDE, /* q is outside f's domain, an interval */
  SEARCH_UNKNOWN,
} search_side;

/* `residual` is set to about f(q) - target where there is such a number: it guides the search and
   decides nothing. It comes in as NaN. */
typedef phibal_status search_probe(void *context, mpfr_srcptr q, search_side *side,
                                   mpfr_ptr residual);

/* `root` encloses every q where the nondecreasing function that `probe` compares with its target
   equals it, to about `precision` bits. `start` lies in the function's domain and holds a sensible
   first guess. PHIBAL_ERROR_UNDECIDED if no q is found on one of the sides: the target is the
   infimum or supremum of f, or cannot be told from it. */
phibal_status search_root(phibal_enclosure *root, const phibal_enclosure *start,
                          mpfr_prec_t precision, search_probe *probe, void *context);

#endif
