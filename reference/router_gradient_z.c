/* The z-loss's term of the router's gradient (G2). */
#include "router_gradient_work.h"

/* gradient += total probability, condition += |factor| probability. */
/*@ requires token_scratch(t) && input(probability) && \separated(probability, t);
    requires output(gradient) && output(condition);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(probability, gradient) && \separated(probability, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term;
    ensures outputs: enclosure(&t->term) && enclosure(gradient) && enclosure(condition);
    ensures frame: only_three_written{Pre, Here}(gradient, condition, &t->term);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient, g) && in{Pre}(&t->total, a) && in{Pre}(probability, p) ==>
        in(gradient, g + a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition, c) && in{Pre}(&t->factor, a) && in{Pre}(probability, p) ==>
        in(condition, c + \abs(a) * p); */
static phibal_status gradient_add_z_term(phibal_reference_token *t,
                                         const phibal_enclosure *probability,
                                         phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(operation_add_product(gradient, &t->total, probability, &t->term));
  return operation_add_magnitude(condition, &t->factor, probability, &t->term);
}

/* The same for gradient_e and condition_e. */
/*@ requires token_scratch(t);
    requires gradient_places(t, gradient, condition) && 0 <= e < t->experts;
    requires weight_input(t, gradient, condition, probability);
    terminates \true;
    exits \false;
    assigns gradient[e], condition[e], t->term;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures others: others_kept{Pre, Here}(t, gradient, condition, e);
    ensures factors: same{Pre, Here}(&t->total) && same{Pre, Here}(&t->factor);
    ensures kept: logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient + e, g) && in{Pre}(&t->total, a) && in{Pre}(probability, p) ==>
        in(gradient + e, g + a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition + e, c) && in{Pre}(&t->factor, a) && in{Pre}(probability, p) ==>
        in(condition + e, c + \abs(a) * p); */
static phibal_status gradient_add_z_at(phibal_reference_token *t,
                                       const phibal_enclosure *probability, int32_t e,
                                       phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  return gradient_add_z_term(t, probability, &gradient[e], &condition[e]);
}

/* gradient_e += total p_e and condition_e += |factor| p_e for every expert e. */
/*@ requires token_scratch(t) && gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->total, a) ==>
      gained{Pre, Here}(gradient + e, a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->factor, a) ==>
      gained{Pre, Here}(condition + e, \abs(a) * p); */
static phibal_status gradient_add_z_terms(phibal_reference_token *t,
                                          const phibal_enclosure *probability,
                                          phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= e <= t->experts;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant kept: logsumexp_kept{Pre, Here}(t);
      loop invariant factors: same{Pre, Here}(&t->total) && same{Pre, Here}(&t->factor);
      loop invariant weights: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(probability + i);
      loop invariant left: \forall integer i; e <= i < t->experts ==>
        same{Pre, Here}(gradient + i) && same{Pre, Here}(condition + i);
      loop invariant value: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->total, a) ==>
        gained{Pre, Here}(gradient + i, a * p);
      loop invariant terms: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->factor, a) ==>
        gained{Pre, Here}(condition + i, \abs(a) * p);
      loop assigns e, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term;
      loop variant t->experts - e; */
  for (int32_t e = 0; e < t->experts && status == PHIBAL_OK; e++) {
    status = gradient_add_z_at(t, &probability[e], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->total, a) ==>
          gained{Pre, Here}(gradient + e, a * p); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->factor, a) ==>
          gained{Pre, Here}(condition + e, \abs(a) * p); */
  }
  return status;
}

/* total = scale logsumexp and factor = scale times what cancels in it. */
/*@ requires token_scratch(t) && \is_finite(scale);
    terminates \true;
    exits \false;
    assigns t->factor, t->total;
    ensures scratch: token_scratch(t);
    ensures frame: only_two_written{Pre, Here}(&t->factor, &t->total);
    ensures total: \result == PHIBAL_OK ==> \forall real a; in{Pre}(&t->logsumexp, a) ==>
      in(&t->total, (real)scale * a);
    ensures factor: \result == PHIBAL_OK ==> \forall real a; in{Pre}(&t->logsumexp_terms, a) ==>
      in(&t->factor, (real)scale * a); */
static phibal_status gradient_z_factors(phibal_reference_token *t, double scale) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->total, &t->factor, &t->logsumexp));
  /*@ assert total: \forall real a; in{Pre}(&t->logsumexp, a) ==>
        in(&t->total, (real)scale * a); */
  return phibal_enclosure_mul(&t->factor, &t->factor, &t->logsumexp_terms);
}

/* The z-loss's term: p_j z_scale logsumexp. */
/*@ requires token_scratch(t) && \is_finite(scale);
    requires gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term, t->factor,
            t->total;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp, a) ==>
      gained{Pre, Here}(gradient + e, ((real)scale * a) * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp_terms, a) ==>
      gained{Pre, Here}(condition + e, \abs((real)scale * a) * p); */
static phibal_status gradient_add_z(phibal_reference_token *t, double scale,
                                    const phibal_enclosure *probability, phibal_enclosure *gradient,
                                    phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = gradient_z_factors(t, scale);
  //@ assert places: gradient_places(t, gradient, condition);
  /*@ assert kept: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(gradient + e) &&
        same{Pre, Here}(condition + e) && same{Pre, Here}(probability + e); */
  if (status != PHIBAL_OK) return status;
  return gradient_add_z_terms(t, probability, gradient, condition);
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
  //@ assert gate_kept: vector_same{Pre, Here}(t->gate, t->active);
  //@ assert weight_kept: vector_same{Pre, Here}(t->weight, t->experts);
  //@ assert part_kept: vector_same{Pre, Here}(t->part, t->active);
  //@ assert scratch: token_scratch(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}
