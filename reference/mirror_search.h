/* The root of an increasing function, enclosed by certified comparisons alone. */
#ifndef PHIBAL_REFERENCE_MIRROR_SEARCH_H
#define PHIBAL_REFERENCE_MIRROR_SEARCH_H

#include <phibal/reference.h>

typedef enum search_side {
  SEARCH_BELOW,   /* f(q) < target, certainly */
  SEARCH_ABOVE,   /* f(q) > target, certainly */
  SEARCH_EQUAL,   /* f(q) = target, certainly */
  SEARCH_OUTSIDE, /* q is outside f's domain, an interval */
  SEARCH_UNKNOWN,
} search_side;

/* What is asked of candidate prices: where their image under grad phi* lies, held against the
   target. */
typedef struct step_probe {
  const phibal_reference_potential *phi;
  size_t n;                          /* 1 for a separable potential */
  const phibal_enclosure *target;    /* [n] */
  const phibal_enclosure *direction; /* [n]; null: the candidate is one coordinate's price */
  phibal_enclosure *point, *image;   /* [n] each, temporaries */
  const phibal_enclosure *start;     /* in the function's domain: a sensible first guess */
} step_probe;

/* Asks at the price q (at the prices q direction). *residual becomes about f(q) - target where
   there is such a number: it guides the search and decides nothing. */
phibal_status step_probe_at(const step_probe *p, mpfr_srcptr q, search_side *side,
                            mpfr_ptr residual);

/* `root` encloses every q where the nondecreasing function that the probe compares with its target
   equals it, to about `precision` bits. PHIBAL_ERROR_UNDECIDED if no q is found on one of the
   sides: the target is the infimum or supremum of f, or cannot be told from it. */
phibal_status search_root(phibal_enclosure *root, const step_probe *p, mpfr_prec_t precision);

#include <phibal/acsl/contracts/inside/mirror_search.h>
#endif
