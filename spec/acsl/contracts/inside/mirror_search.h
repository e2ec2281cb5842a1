/* What the functions of reference/mirror_search.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_MIRROR_SEARCH_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_MIRROR_SEARCH_H

#ifdef __FRAMAC__
#include <phibal/acsl/search.h>
#endif

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
