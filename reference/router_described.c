/* Routers of any description: gates with another normalisation (R5n), (R5e), forward and backward,
   and selections that are given. The rest is that of the router without (router.c). */
#include "router_work.h"
#include <phibal/reference_router.h>

/* The router with the gates and the selection that its kind of gate has. */
static phibal_router plain_router(const phibal_router *router) {
  phibal_router plain = *router;
  plain.normalisation = PHIBAL_NORMALISATION_OF_GATE;
  plain.epsilon = 0.0f;
  plain.selection = PHIBAL_SELECTION_OF_SCORES;
  return plain;
}

static phibal_status described_check(const char *name, const phibal_router *router,
                                     const float *bias, const int32_t *experts) {
  if (!router) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  const bool of_gate = router->normalisation == PHIBAL_NORMALISATION_OF_GATE;
  const bool over_sum = router->normalisation == PHIBAL_NORMALISATION_SUM;
  if ((!of_gate && !over_sum && router->normalisation != PHIBAL_NORMALISATION_NONE) ||
      (!of_gate && router->gate == PHIBAL_GATE_TOPK_SOFTMAX))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no normalisation %d of gates %d", name,
                             (int)router->normalisation, (int)router->gate);
  if (!(isfinite(router->epsilon) && router->epsilon >= 0.0f) ||
      (!over_sum && router->epsilon != 0.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: epsilon %g of normalisation %d", name,
                             (double)router->epsilon, (int)router->normalisation);
  const bool given = router->selection == PHIBAL_SELECTION_GIVEN;
  if ((!given && router->selection != PHIBAL_SELECTION_OF_SCORES) || given != (experts != NULL) ||
      (given && (bias || router->group_score != PHIBAL_GROUP_NONE)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: selection %d; one that is given has experts, and neither a bias "
                             "nor groups",
                             name, (int)router->selection);
  return PHIBAL_OK;
}

static phibal_status experts_check(const char *name, int32_t E, int32_t k, const int32_t *experts) {
  for (int32_t s = 0; s < k; s++) {
    bool twice = false;
    for (int32_t r = 0; r < s; r++) twice = twice || experts[r] == experts[s];
    if (twice || experts[s] < 0 || experts[s] >= E)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: slot %d has expert %d", name, (int)s,
                               (int)experts[s]);
  }
  return PHIBAL_OK;
}

/* t->part = the scores of the experts, y: probabilities, or sigmoids; over their sum plus epsilon
   (R5e), if there is to be one, which is left in t->total. */
static phibal_status described_parts(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, const int32_t *experts) {
  operation_set_float(&t->total, router->epsilon);
  for (int32_t s = 0; s < t->active; s++) {
    if (router->gate == PHIBAL_GATE_SIGMOID)
      TRY(router_sigmoid(t, logits[experts[s]], &t->part[s]));
    else
      phibal_enclosure_set(&t->part[s], &t->probability[experts[s]]);
    TRY(phibal_enclosure_add(&t->total, &t->total, &t->part[s]));
  }
  if (router->normalisation != PHIBAL_NORMALISATION_SUM) return PHIBAL_OK;
  for (int32_t s = 0; s < t->active; s++)
    TRY(phibal_enclosure_div(&t->part[s], &t->part[s], &t->total));
  return PHIBAL_OK;
}

phibal_status phibal_reference_router_forward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const float *bias, const int32_t *experts) {
  const char *name = "phibal_reference_router_forward";
  TRY(described_check(name, router, bias, experts));
  const phibal_router plain = plain_router(router);
  TRY(phibal_reference_token_forward(token, &plain, logits, bias));
  if (experts) {
    TRY(experts_check(name, token->experts, token->active, experts));
    for (int32_t s = 0; s < token->active; s++) token->selection[s] = experts[s];
  }
  if (router->normalisation == PHIBAL_NORMALISATION_OF_GATE)
    TRY(reference_token_gates(token, &plain, logits, token->selection));
  else
    TRY(described_parts(token, router, logits, token->selection));
  operation_set_float(&token->factor, router->scale);
  for (int32_t s = 0; s < token->active; s++)
    TRY(phibal_enclosure_mul(&token->gate[s], &token->part[s], &token->factor));
  return PHIBAL_OK;
}

/* gradient[e] += x, condition[e] += |x|, of terms that occur once. */
static phibal_status term_add(phibal_reference_token *t, int32_t e, phibal_enclosure *x) {
  TRY(phibal_enclosure_add(&t->gradient[e], &t->gradient[e], x));
  phibal_enclosure_abs(x, x);
  return phibal_enclosure_add(&t->condition[e], &t->condition[e], x);
}

/* gradient[e] -= factor x mean, of terms whose sizes are |factor| magnitude. */
static phibal_status product_add(phibal_reference_token *t, int32_t e, phibal_enclosure *factor) {
  TRY(phibal_enclosure_mul(&t->term, factor, &t->mean));
  TRY(phibal_enclosure_sub(&t->gradient[e], &t->gradient[e], &t->term));
  phibal_enclosure_abs(factor, factor);
  TRY(phibal_enclosure_mul(&t->term, factor, &t->magnitude));
  return phibal_enclosure_add(&t->condition[e], &t->condition[e], &t->term);
}

/* (G1) of gates g = y, or y over D = sum y + epsilon, in t->part, of the scores y. Through the
   scores, dL/dy_s is scale dg_s or scale (dg_s - sum_r g_r dg_r) / D; a sigmoid's derivative is
   y (1 - y), and a probability's p_j ([j = e] - p_e), so that of the latter
     x_j += scale g_s dg_s - scale g_s m for the expert of slot s, and for every expert
     -scale p_j m r,  m = sum_r g_r dg_r,  r = 1 for g = y, otherwise epsilon / D,
   the first minus where there is a D. */
static phibal_status described_gradient(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient) {
  const bool over_sum = router->normalisation == PHIBAL_NORMALISATION_SUM;
  const bool sigmoid = router->gate == PHIBAL_GATE_SIGMOID;
  phibal_enclosure x, one_less;
  phibal_enclosure_init(&x, t->precision);
  phibal_enclosure_init(&one_less, t->precision);
  phibal_status status = described_parts(t, router, logits, experts);
  phibal_enclosure_set_si(&t->mean, 0);
  phibal_enclosure_set_si(&t->magnitude, 0);
  for (int32_t s = 0; status == PHIBAL_OK && s < t->active; s++) {
    operation_set_float(&x, gate_gradient[s]);
    status = phibal_enclosure_mul(&x, &x, &t->part[s]);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(&t->mean, &t->mean, &x);
    phibal_enclosure_abs(&x, &x);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(&t->magnitude, &t->magnitude, &x);
  }
  /* t->part = scale g (1 - sigma) */
  for (int32_t s = 0; status == PHIBAL_OK && s < t->active; s++) {
    const float logit = logits[experts[s]];
    phibal_enclosure_set_si(&one_less, 1);
    if (sigmoid) status = router_sigmoid(t, -logit, &one_less);
    operation_set_float(&x, router->scale);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&x, &x, &one_less);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&t->part[s], &t->part[s], &x);
    operation_set_float(&x, gate_gradient[s]);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&x, &x, &t->part[s]);
    if (status == PHIBAL_OK) status = term_add(t, experts[s], &x);
    if (status == PHIBAL_OK && over_sum) status = product_add(t, experts[s], &t->part[s]);
  }
  /* t->total = r scale */
  operation_set_float(&x, router->epsilon);
  if (status == PHIBAL_OK && over_sum) status = phibal_enclosure_div(&x, &x, &t->total);
  if (!over_sum) phibal_enclosure_set_si(&x, 1);
  operation_set_float(&one_less, router->scale);
  if (status == PHIBAL_OK) status = phibal_enclosure_mul(&t->total, &x, &one_less);
  for (int32_t e = 0; status == PHIBAL_OK && !sigmoid && e < t->experts; e++) {
    status = phibal_enclosure_mul(&x, &t->total, &t->probability[e]);
    if (status == PHIBAL_OK) status = product_add(t, e, &x);
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&one_less);
  return status;
}

phibal_status phibal_reference_router_backward(phibal_reference_token *token,
                                               const phibal_router *router, const float *logits,
                                               const int32_t *experts, const float *gate_gradient,
                                               const float *price, double price_scale,
                                               double z_scale) {
  const char *name = "phibal_reference_router_backward";
  const bool given = router && router->selection == PHIBAL_SELECTION_GIVEN;
  TRY(described_check(name, router, NULL, given ? experts : NULL));
  const phibal_router plain = plain_router(router);
  if (router->normalisation == PHIBAL_NORMALISATION_OF_GATE)
    return phibal_reference_token_backward(token, &plain, logits, experts, gate_gradient, price,
                                           price_scale, z_scale);
  TRY(phibal_reference_token_backward(token, &plain, logits, experts, NULL, price, price_scale,
                                      z_scale));
  if (!gate_gradient) return PHIBAL_OK;
  TRY(experts_check(name, token->experts, token->active, experts));
  TRY(operation_check_finite(name, "the gates' gradient", token->active, gate_gradient));
  return described_gradient(token, router, logits, experts, gate_gradient);
}
