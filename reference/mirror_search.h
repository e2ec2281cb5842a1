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

#ifdef __FRAMAC__
#include <phibal/acsl/search.h>
#endif

/* Asks at the price q (at the prices q direction). *residual becomes about f(q) - target where
   there is such a number: it guides the search and decides nothing. */
/*@ requires probe_vectors(p) && probe_separated(p);
    requires readable_number(q) && mkind(q->number) == 0 && writable(residual) && \valid(side);
    requires \separated(q, residual) && probe_apart(p, q) && probe_apart(p, residual);
    requires \separated(side, p, residual) && \separated(side, q) && \separated(side, p->phi);
    terminates \true;
    exits \false;
    assigns *side, *residual, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures minitialised(residual->number);
    ensures probe_vectors(p) && probe_same{Pre, Here}(p);
    ensures only_probe_and_number_written{Pre, Here}(p, residual);
    ensures \result == PHIBAL_OK && *side == SEARCH_BELOW ==>
      before_solutions{Pre}(p, \old(q->number));
    ensures \result == PHIBAL_OK && *side == SEARCH_ABOVE ==>
      after_solutions{Pre}(p, \old(q->number));
    ensures \result == PHIBAL_OK && *side == SEARCH_EQUAL && mreal(\old(q->number), 0.0) ==>
      before_solutions{Pre}(p, \old(q->number)) && after_solutions{Pre}(p, \old(q->number)); */
phibal_status step_probe_at(const step_probe *p, mpfr_srcptr q, search_side *side,
                            mpfr_ptr residual);

/* `root` encloses every q where the nondecreasing function that the probe compares with its target
   equals it, to about `precision` bits. PHIBAL_ERROR_UNDECIDED if no q is found on one of the
   sides: the target is the infimum or supremum of f, or cannot be told from it. */
/*@ requires probe_vectors(p) && probe_separated(p);
    requires output(root) && \separated(root, p) && probe_writes_apart(p, root);
    requires MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *root, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures enclosure(root);
    ensures probe_temporaries(p);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, root) &&
      probe_writes_apart{Pre}(p, r) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==>
      \forall choice c, real r; choice_of{Pre}(p, c) && solves(c, r) ==> in(root, r); */
phibal_status search_root(phibal_enclosure *root, const step_probe *p, mpfr_prec_t precision);

#endif
