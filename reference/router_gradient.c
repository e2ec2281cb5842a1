/* The gradient of the router in the logits (G2) of one token, term by term, each with the sum of
   the absolute values of its terms (the condition). */
#include "operation.h"

static phibal_status gradient_check(const phibal_reference_token *t, const phibal_router *router,
                                    const int32_t *experts, const float *gate_gradient,
                                    const float *price, double price_scale, double z_scale) {
  const char *name = "phibal_reference_token_backward";
  if (!experts) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null experts", name);
  for (int32_t s = 0; s < t->active; s++)
    if (experts[s] < 0 || experts[s] >= t->experts)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: slot %d has expert %d; it must be 0 to %d", name, (int)s,
                               (int)experts[s], (int)t->experts - 1);
  if (gate_gradient)
    TRY(operation_check_finite(name, "the gates' gradient", t->active, gate_gradient));
  if (price) TRY(operation_check_finite(name, "the price", t->experts, price));
  if (!isfinite(price_scale) || !isfinite(z_scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: scales %g and %g; they must be finite",
                             name, price_scale, z_scale);
  if (z_scale != 0.0 && router->gate == PHIBAL_GATE_SIGMOID)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: z_scale %g with sigmoid gates, which have no logsumexp; pass 0",
                             name, z_scale);
  return PHIBAL_OK;
}

/* mean = sum_i weight[at(i)] x_i and magnitude = sum_i weight[at(i)] |x_i|, weights >= 0; `experts`
   null: at(i) = i. */
static phibal_status gradient_mean(phibal_reference_token *t, int32_t n,
                                   const phibal_enclosure *weight, const int32_t *experts,
                                   const float *x) {
  phibal_enclosure_set_si(&t->mean, 0);
  phibal_enclosure_set_si(&t->magnitude, 0);
  for (int32_t i = 0; i < n; i++) {
    const phibal_enclosure *w = &weight[experts ? experts[i] : i];
    TRY(operation_add_scaled(&t->mean, w, (double)x[i], &t->term, &t->factor));
    TRY(operation_add_scaled(&t->magnitude, w, fabs((double)x[i]), &t->term, &t->factor));
  }
  return PHIBAL_OK;
}

/* factor = weight scale, for sigmoid routers times 1 - sigma(x) = sigma(-x): what a softmax or a
   normalised sigmoid differentiates to, in front of (x_j - mean). */
static phibal_status gradient_factor(phibal_reference_token *t, const phibal_router *router,
                                     const phibal_enclosure *weight, double scale, float logit) {
  phibal_enclosure_set_d(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, weight));
  if (router->gate != PHIBAL_GATE_SIGMOID) return PHIBAL_OK;
  phibal_enclosure_set_d(&t->term, (double)logit);
  TRY(operation_sigmoid_negated(&t->total, &t->term, &t->one));
  return phibal_enclosure_mul(&t->factor, &t->factor, &t->total);
}

/* gradient_e += factor (x - mean), condition_e += |factor| (|x| + magnitude). */
static phibal_status gradient_add_centred(phibal_reference_token *t, int32_t e, float x) {
  phibal_enclosure_set_d(&t->term, (double)x);
  TRY(phibal_enclosure_sub(&t->term, &t->term, &t->mean));
  TRY(operation_add_product(&t->gradient[e], &t->factor, &t->term, &t->total));
  phibal_enclosure_set_d(&t->term, fabs((double)x));
  TRY(phibal_enclosure_add(&t->term, &t->term, &t->magnitude));
  return operation_add_magnitude(&t->condition[e], &t->factor, &t->term, &t->total);
}

/* The balancing term: p_j price_scale (c_j - sum_e p_e c_e), for sigmoid times 1 - sigma_j. */
static phibal_status gradient_add_price(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const float *price, double scale) {
  TRY(gradient_mean(t, t->experts, t->probability, NULL, price));
  for (int32_t e = 0; e < t->experts; e++) {
    TRY(gradient_factor(t, router, &t->probability[e], scale, logits[e]));
    TRY(gradient_add_centred(t, e, price[e]));
  }
  return PHIBAL_OK;
}

/* The z-loss's term: p_j z_scale logsumexp. */
static phibal_status gradient_add_z(phibal_reference_token *t, double scale) {
  phibal_enclosure_set_d(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->total, &t->factor, &t->logsumexp));
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, &t->logsumexp_terms));
  for (int32_t e = 0; e < t->experts; e++) {
    TRY(operation_add_product(&t->gradient[e], &t->total, &t->probability[e], &t->term));
    TRY(operation_add_magnitude(&t->condition[e], &t->factor, &t->probability[e], &t->term));
  }
  return PHIBAL_OK;
}

/* (G1) through normalised gates g (token->part, unscaled): scale g_s (dg_s - sum_r g_r dg_r), for
   sigmoid times 1 - sigma_s. Experts that are not selected get nothing. */
static phibal_status gradient_add_normalised(phibal_reference_token *t, const phibal_router *router,
                                             const float *logits, const int32_t *experts,
                                             const float *gate_gradient) {
  TRY(gradient_mean(t, t->active, t->part, NULL, gate_gradient));
  for (int32_t s = 0; s < t->active; s++) {
    int32_t e = experts[s];
    TRY(gradient_factor(t, router, &t->part[s], (double)router->scale, logits[e]));
    TRY(gradient_add_centred(t, e, gate_gradient[s]));
  }
  return PHIBAL_OK;
}

/* gradient_e += factor x, condition_e += |factor x|. */
static phibal_status gradient_add_term(phibal_reference_token *t, int32_t e, float x) {
  phibal_enclosure_set_d(&t->term, (double)x);
  TRY(operation_add_product(&t->gradient[e], &t->factor, &t->term, &t->total));
  phibal_enclosure_set_d(&t->term, fabs((double)x));
  return operation_add_magnitude(&t->condition[e], &t->factor, &t->term, &t->total);
}

/* (G1) through gates that are probabilities: scale p_j ([j selected] dg_j - sum_e p_e dg_e), e over
   the selection, j over all experts. */
static phibal_status gradient_add_probability(phibal_reference_token *t,
                                              const phibal_router *router, const int32_t *experts,
                                              const float *gate_gradient) {
  TRY(gradient_mean(t, t->active, t->probability, experts, gate_gradient));
  for (int32_t e = 0; e < t->experts; e++) {
    phibal_enclosure_set_d(&t->factor, -(double)router->scale);
    TRY(phibal_enclosure_mul(&t->factor, &t->factor, &t->probability[e]));
    TRY(operation_add_product(&t->gradient[e], &t->factor, &t->mean, &t->term));
    TRY(operation_add_magnitude(&t->condition[e], &t->factor, &t->magnitude, &t->term));
  }
  for (int32_t s = 0; s < t->active; s++) {
    phibal_enclosure_set_d(&t->factor, (double)router->scale);
    TRY(phibal_enclosure_mul(&t->factor, &t->factor, &t->probability[experts[s]]));
    TRY(gradient_add_term(t, experts[s], gate_gradient[s]));
  }
  return PHIBAL_OK;
}

static phibal_status gradient_add_gates(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient) {
  bool plain = router->gate == PHIBAL_GATE_PROBABILITY ||
               (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && t->active == 1);
  if (plain) return gradient_add_probability(t, router, experts, gate_gradient);
  TRY(reference_token_gates(t, router, logits, experts));
  return gradient_add_normalised(t, router, logits, experts, gate_gradient);
}

phibal_status phibal_reference_token_backward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const int32_t *experts, const float *gate_gradient,
                                              const float *price, double price_scale,
                                              double z_scale) {
  TRY(reference_token_check("phibal_reference_token_backward", token, router, logits));
  TRY(gradient_check(token, router, experts, gate_gradient, price, price_scale, z_scale));
  TRY(reference_token_probabilities(token, router, logits));
  for (int32_t e = 0; e < token->experts; e++) {
    phibal_enclosure_set_si(&token->gradient[e], 0);
    phibal_enclosure_set_si(&token->condition[e], 0);
  }
  if (price) TRY(gradient_add_price(token, router, logits, price, price_scale));
  if (z_scale != 0.0) TRY(gradient_add_z(token, z_scale));
  if (gate_gradient) TRY(gradient_add_gates(token, router, logits, experts, gate_gradient));
  return PHIBAL_OK;
}
