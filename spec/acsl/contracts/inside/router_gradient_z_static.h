/* What the static functions of reference/router_gradient_z.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_Z_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_Z_STATIC_H

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
static phibal_status gradient_add_z_term(phibal_reference_token *t,
                                         const phibal_enclosure *probability, int32_t e,
                                         phibal_enclosure *gradient, phibal_enclosure *condition);

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
                                    phibal_enclosure *condition);

#endif
