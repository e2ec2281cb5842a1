/* The z-loss's term of the router's gradient (G2). */
#include "router_gradient_work.h"
#include <phibal/acsl/contracts/inside/router_gradient_z_static.h>

/* gradient_e += total p and condition_e += |factor| p, where p is expert e's probability. */
static phibal_status gradient_add_z_term(phibal_reference_token *t,
                                         const phibal_enclosure *probability, int32_t e,
                                         phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(operation_add_product(&gradient[e], &t->total, probability, &t->term));
  return operation_add_magnitude(&condition[e], &t->factor, probability, &t->term);
}

/* The z-loss's term: gradient_e += scale logsumexp p_e and condition_e += |scale logsumexp_terms|
   p_e for every expert e. */
static phibal_status gradient_add_z(phibal_reference_token *t, double scale,
                                    const phibal_enclosure *probability, phibal_enclosure *gradient,
                                    phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t->factor, scale);
  phibal_status status = phibal_enclosure_mul(&t->total, &t->factor, &t->logsumexp);
  /*@ assert total: status == PHIBAL_OK ==> \forall real a; in{Pre}(&t->logsumexp, a) ==>
        in(&t->total, (real)scale * a); */
  if (status == PHIBAL_OK)
    status = phibal_enclosure_mul(&t->factor, &t->factor, &t->logsumexp_terms);
  //@ assert places: gradient_places(t, gradient, condition);
  /*@ assert kept: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(gradient + e) &&
        same{Pre, Here}(condition + e) && same{Pre, Here}(probability + e); */
  /*@ loop invariant index: 0 <= e <= t->experts;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant kept: logsumexp_kept{Pre, Here}(t);
      loop invariant total: status == PHIBAL_OK ==> \forall real a;
        in{Pre}(&t->logsumexp, a) ==> in(&t->total, (real)scale * a);
      loop invariant factor: status == PHIBAL_OK ==> \forall real a;
        in{Pre}(&t->logsumexp_terms, a) ==> in(&t->factor, (real)scale * a);
      loop invariant weights: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(probability + i);
      loop invariant left: \forall integer i; e <= i < t->experts ==>
        same{Pre, Here}(gradient + i) && same{Pre, Here}(condition + i);
      loop invariant value: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->logsumexp, a) ==>
        gained{Pre, Here}(gradient + i, ((real)scale * a) * p);
      loop invariant terms: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->logsumexp_terms, a) ==>
        gained{Pre, Here}(condition + i, \abs((real)scale * a) * p);
      loop assigns e, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term;
      loop variant t->experts - e; */
  for (int32_t e = 0; e < t->experts && status == PHIBAL_OK; e++) {
    status = gradient_add_z_term(t, &probability[e], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp, a) ==>
          gained{Pre, Here}(gradient + e, ((real)scale * a) * p); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp_terms, a) ==>
          gained{Pre, Here}(condition + e, \abs((real)scale * a) * p); */
  }
  return status;
}

phibal_status router_gradient_add_z(phibal_reference_token *t, double scale) {
  //@ assert use_enclosure && use_floating;
  //@ ghost token_opened_up(t);
  if (scale == 0.0) return PHIBAL_OK;
  //@ ghost token_beside_gradient(t);
  //@ assert places: gradient_places(t, t->gradient, t->condition);
  phibal_status status = gradient_add_z(t, scale, t->probability, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert probability_kept: vector_same{Pre, Here}(t->probability, t->experts);
  //@ assert lies: token_lies(t);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ ghost token_put_together(t);
  return status;
}
