/* Routers of any description: gates with another normalisation (R5n), (R5e), of square roots of
   softplus (R5s) or that leave out experts (R5z), forward and backward; selections by probabilities
   (R2p), and selections that are given. The rest is that of the router without (router.c). */
#include "router_softplus.h"
#include <phibal/reference_router.h>
#include <phibal/rounding.h>

/* The router that the functions of one token know: with the gates, the scores and the selection of
   its kind of gate. */
static phibal_router plain_router(const phibal_router *router) {
  phibal_router plain = *router;
  plain.normalisation = PHIBAL_NORMALISATION_OF_GATE;
  plain.epsilon = 0.0f;
  plain.selection = PHIBAL_SELECTION_OF_SCORES;
  plain.score = PHIBAL_SCORE_OF_GATE;
  plain.zero_gates = PHIBAL_ZERO_GATES_COUNTED;
  return plain;
}

/* That compares given binary32 numbers, in the groups of the router or in none. */
static phibal_router comparing_router(const phibal_router *router, bool groups) {
  phibal_router compares = plain_router(router);
  compares.gate = PHIBAL_GATE_TOPK_SOFTMAX;
  if (groups) return compares;
  compares.group_score = PHIBAL_GROUP_NONE;
  compares.groups = compares.active_groups = 0;
  return compares;
}

/* Gates that are scores of one logit each: (R5), (R5s). */
static bool has_scores(const phibal_router *router) {
  return router->gate == PHIBAL_GATE_SIGMOID || router->gate == PHIBAL_GATE_SQRT_SOFTPLUS;
}

/* Whether router.c knows all of its gates. */
static bool gates_are_plain(const phibal_router *router) {
  return router->normalisation == PHIBAL_NORMALISATION_OF_GATE &&
         router->gate != PHIBAL_GATE_SQRT_SOFTPLUS &&
         router->zero_gates == PHIBAL_ZERO_GATES_COUNTED;
}

/* Whether they are y itself, y a score or a probability; otherwise y over a sum. */
static bool gates_are_scores(const phibal_router *router) {
  if (router->normalisation != PHIBAL_NORMALISATION_OF_GATE)
    return router->normalisation == PHIBAL_NORMALISATION_NONE;
  return router->gate == PHIBAL_GATE_PROBABILITY ||
         (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && router->active == 1);
}

/* (R5z) */
static bool left_out(const phibal_router *router, int32_t expert) {
  return router->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT &&
         expert >= router->experts - router->zero_experts;
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
  if (router->score != PHIBAL_SCORE_OF_GATE &&
      (router->score != PHIBAL_SCORE_PROBABILITY || has_scores(router) || given))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: score %d of gates %d and selection %d",
                             name, (int)router->score, (int)router->gate, (int)router->selection);
  const bool leaves_out = router->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT;
  if (router->zero_experts < 0 || router->zero_experts > router->experts ||
      (!leaves_out && router->zero_gates != PHIBAL_ZERO_GATES_COUNTED) ||
      (leaves_out && router->zero_experts == 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: gates %d of %d experts that compute nothing", name,
                             (int)router->zero_gates, (int)router->zero_experts);
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

/* z = exp(x), sigma(x) or sqrt(softplus(x)), relative to the reference (router_weights.c). */
static phibal_status described_weight(phibal_reference_token *t, const phibal_router *router,
                                      float x, float reference, phibal_enclosure *z) {
  if (router->gate == PHIBAL_GATE_SQRT_SOFTPLUS) return router_softplus_weight(t, x, reference, z);
  return router_weight(t, router, x, reference, z);
}

static float described_reference(const phibal_router *router, float largest) {
  return has_scores(router) && largest > 0.0f ? 0.0f : largest;
}

/* z = the derivative of log y, y the score: 1 - sigma(x), or sigma(x) / (2 softplus(x)). 1 for
   gates without scores. */
static phibal_status described_slope(phibal_reference_token *t, const phibal_router *router,
                                     float x, phibal_enclosure *z) {
  if (router->gate == PHIBAL_GATE_SIGMOID) return router_sigmoid(t, -x, z);
  if (router->gate == PHIBAL_GATE_SQRT_SOFTPLUS) return router_softplus_slope(t, x, z);
  phibal_enclosure_set_si(z, 1);
  return PHIBAL_OK;
}

/* (R1s) of square roots of softplus. */
static phibal_status sqrt_softplus_probabilities(phibal_reference_token *t,
                                                 const phibal_router *router, const float *logits) {
  const float reference = described_reference(router, router_logits_largest(t->experts, logits));
  for (int32_t e = 0; e < t->experts; e++)
    TRY(router_softplus_weight(t, logits[e], reference, &t->weight[e]));
  return router_weights_normalise(t->experts, t->weight, &t->total, t->probability);
}

/* t->probability and t->logsumexp. */
static phibal_status described_probabilities(phibal_reference_token *t, const phibal_router *router,
                                             const float *logits) {
  if (router->gate != PHIBAL_GATE_SQRT_SOFTPLUS) {
    const phibal_router plain = plain_router(router);
    return reference_token_probabilities(t, &plain, logits);
  }
  const phibal_router softmax = comparing_router(router, false);
  TRY(reference_token_probabilities(t, &softmax, logits));
  return sqrt_softplus_probabilities(t, router, logits);
}

/* The selection by the binary32 numbers nearest to scores or probabilities. */
static phibal_status described_select(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, const float *bias) {
  float rounded[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < t->experts; e++) {
    phibal_enclosure *score = &t->probability[e];
    double nearest = 0.0;
    if (router->score == PHIBAL_SCORE_OF_GATE) {
      score = &t->part[0];
      TRY(router_softplus_weight(t, logits[e], 0.0f, score));
    }
    if (!phibal_round_enclosure(score, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &nearest))
      return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                               "the score of the logit %a: its rounding is undecided at %d bits",
                               (double)logits[e], (int)t->precision);
    rounded[e] = (float)nearest;
  }
  const phibal_router compares = comparing_router(router, true);
  return phibal_reference_token_select(t, &compares, rounded, bias);
}

/* t->part = the unscaled gates of the experts, with what they are divided by, if anything, in
   t->total. With an epsilon it is the sum of y and epsilon; without, of weights, which are the y
   divided by one number. Of experts that are left out the gate is 0. */
static phibal_status described_parts(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, const int32_t *experts) {
  const bool over_sum = !gates_are_scores(router), of_weights = over_sum && router->epsilon == 0.0f;
  float largest = 0.0f;
  bool any = false;
  for (int32_t s = 0; s < t->active; s++) {
    const float x = logits[experts[s]];
    if (left_out(router, experts[s])) continue;
    if (!any || x > largest) largest = x;
    any = true;
  }
  const float reference = of_weights ? described_reference(router, largest) : 0.0f;
  operation_set_float(&t->total, router->epsilon);
  for (int32_t s = 0; s < t->active; s++) {
    if (left_out(router, experts[s]))
      phibal_enclosure_set_si(&t->part[s], 0);
    else if (of_weights || has_scores(router))
      TRY(described_weight(t, router, logits[experts[s]], reference, &t->part[s]));
    else
      phibal_enclosure_set(&t->part[s], &t->probability[experts[s]]);
    TRY(phibal_enclosure_add(&t->total, &t->total, &t->part[s]));
  }
  if (!over_sum || !any) return PHIBAL_OK;
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
  const bool known = router->gate != PHIBAL_GATE_SQRT_SOFTPLUS;
  const bool selected = known && router->score == PHIBAL_SCORE_OF_GATE;
  const phibal_router first = selected ? plain : comparing_router(router, false);
  TRY(phibal_reference_token_forward(token, &first, logits, bias));
  if (!selected) {
    TRY(described_probabilities(token, router, logits));
    if (!experts) TRY(described_select(token, router, logits, bias));
  }
  if (experts) {
    TRY(experts_check(name, token->experts, token->active, experts));
    for (int32_t s = 0; s < token->active; s++) token->selection[s] = experts[s];
  }
  if (gates_are_plain(router))
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
   scores, dL/dy_s is scale dg_s or scale (dg_s - sum_r g_r dg_r) / D; a score's derivative is y
   times its slope, and a probability's p_j ([j = e] - p_e), so that of the latter
     x_j += scale g_s dg_s - scale g_s m for the expert of slot s, and for every expert
     -scale p_j m r,  m = sum_r g_r dg_r,  r = 1 for g = y, otherwise epsilon / D,
   the first minus where there is a D. Gates of experts that are left out are the constant 0. */
static phibal_status described_gradient(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient) {
  const bool over_sum = !gates_are_scores(router);
  phibal_enclosure x, slope;
  phibal_enclosure_init(&x, t->precision);
  phibal_enclosure_init(&slope, t->precision);
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
  /* t->part = scale g slope */
  for (int32_t s = 0; status == PHIBAL_OK && s < t->active; s++) {
    status = described_slope(t, router, logits[experts[s]], &slope);
    operation_set_float(&x, router->scale);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&x, &x, &slope);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&t->part[s], &t->part[s], &x);
    operation_set_float(&x, gate_gradient[s]);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&x, &x, &t->part[s]);
    if (status == PHIBAL_OK) status = term_add(t, experts[s], &x);
    if (status == PHIBAL_OK && over_sum) status = product_add(t, experts[s], &t->part[s]);
  }
  /* t->total = r scale */
  operation_set_float(&x, router->epsilon);
  if (status == PHIBAL_OK && over_sum && router->epsilon != 0.0f)
    status = phibal_enclosure_div(&x, &x, &t->total);
  if (!over_sum) phibal_enclosure_set_si(&x, 1);
  operation_set_float(&slope, router->scale);
  if (status == PHIBAL_OK) status = phibal_enclosure_mul(&t->total, &x, &slope);
  for (int32_t e = 0; status == PHIBAL_OK && !has_scores(router) && e < t->experts; e++) {
    status = phibal_enclosure_mul(&x, &t->total, &t->probability[e]);
    if (status == PHIBAL_OK) status = product_add(t, e, &x);
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&slope);
  return status;
}

/* The balancing term of square roots of softplus: p_j slope_j price_scale (c_j - sum_e p_e c_e). */
static phibal_status sqrt_softplus_price(phibal_reference_token *t, const phibal_router *router,
                                         const float *logits, const float *price,
                                         double price_scale) {
  phibal_enclosure x, factor;
  phibal_enclosure_init(&x, t->precision);
  phibal_enclosure_init(&factor, t->precision);
  phibal_status status = PHIBAL_OK;
  phibal_enclosure_set_si(&t->mean, 0);
  phibal_enclosure_set_si(&t->magnitude, 0);
  for (int32_t e = 0; status == PHIBAL_OK && e < t->experts; e++) {
    operation_set_float(&x, price[e]);
    status = phibal_enclosure_mul(&x, &x, &t->probability[e]);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(&t->mean, &t->mean, &x);
    phibal_enclosure_abs(&x, &x);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(&t->magnitude, &t->magnitude, &x);
  }
  for (int32_t e = 0; status == PHIBAL_OK && e < t->experts; e++) {
    status = described_slope(t, router, logits[e], &factor);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&factor, &factor, &t->probability[e]);
    phibal_enclosure_set_d(&x, price_scale);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&factor, &factor, &x);
    operation_set_float(&x, price[e]);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(&x, &x, &factor);
    if (status == PHIBAL_OK) status = term_add(t, e, &x);
    if (status == PHIBAL_OK) status = product_add(t, e, &factor);
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&factor);
  return status;
}

/* The terms that do not come through the gates, of square roots of softplus. */
static phibal_status sqrt_softplus_backward(phibal_reference_token *t, const phibal_router *router,
                                            const float *logits, const int32_t *experts,
                                            const float *price, double price_scale,
                                            double z_scale) {
  const char *name = "phibal_reference_router_backward";
  if (!isfinite(price_scale) || z_scale != 0.0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: price scale %g, z scale %g; the z-loss is for softmax routers",
                             name, price_scale, z_scale);
  const phibal_router softmax = comparing_router(router, false);
  TRY(phibal_reference_token_backward(t, &softmax, logits, experts, NULL, NULL, 0.0, 0.0));
  if (price) TRY(operation_check_finite(name, "the price", t->experts, price));
  TRY(sqrt_softplus_probabilities(t, router, logits));
  return price ? sqrt_softplus_price(t, router, logits, price, price_scale) : PHIBAL_OK;
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
  if (gates_are_plain(router))
    return phibal_reference_token_backward(token, &plain, logits, experts, gate_gradient, price,
                                           price_scale, z_scale);
  if (router->gate == PHIBAL_GATE_SQRT_SOFTPLUS)
    TRY(sqrt_softplus_backward(token, router, logits, experts, price, price_scale, z_scale));
  else
    TRY(phibal_reference_token_backward(token, &plain, logits, experts, NULL, price, price_scale,
                                        z_scale));
  if (!gate_gradient) return PHIBAL_OK;
  TRY(experts_check(name, token->experts, token->active, experts));
  TRY(operation_check_finite(name, "the gates' gradient", token->active, gate_gradient));
  return described_gradient(token, router, logits, experts, gate_gradient);
}
