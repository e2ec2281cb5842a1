/* Tokens and loads in Arb, from the equations of the router (R1) to (R8) and (L2). */
#ifndef PHIBAL_TESTS_VECTORS_ARB_ROUTING_H
#define PHIBAL_TESTS_VECTORS_ARB_ROUTING_H

#include "vectors_arb.h"

enum { EXPERTS_MAX = 1024 };

typedef struct routing {
  int64_t tokens, experts, active;
  const safetensors_tensor *logits, *bias, *mask;
  bool sigmoid, renormalised; /* R5; R3 */
  double scale;
  int64_t base; /* of the first token in logits */
} routing;

/* One token: p, sigma, gates of the selected, logsumexp. */
typedef struct token {
  arb_ptr p, sigma, gate;
  arb_t lse, a, b;
  int64_t selected[EXPERTS_MAX];
} token;

static inline void token_init(token *t, int64_t experts) {
  t->p = _arb_vec_init(experts);
  t->sigma = _arb_vec_init(experts);
  t->gate = _arb_vec_init(experts);
  arb_init(t->lse);
  arb_init(t->a);
  arb_init(t->b);
}

static inline void token_clear(token *t, int64_t experts) {
  _arb_vec_clear(t->p, experts);
  _arb_vec_clear(t->sigma, experts);
  _arb_vec_clear(t->gate, experts);
  arb_clear(t->lse);
  arb_clear(t->a);
  arb_clear(t->b);
}

static inline routing routing_of(const vector_case *c) {
  const safetensors_tensor *logits = vector_in(c, "logits");
  const char *gate = vector_text(c, "gate");
  int32_t last = logits->dimensions - 1;
  int64_t k = vector_count(c, "k");
  return (routing){.tokens = logits->shape[last - 1],
                   .experts = logits->shape[last],
                   .active = k,
                   .logits = logits,
                   .bias = vector_in(c, "bias"),
                   .mask = vector_in(c, "mask"),
                   .sigmoid = gate && !strcmp(gate, "sigmoid"),
                   .renormalised = gate && !strcmp(gate, "topk-softmax") && k > 1,
                   .scale = gate ? vector_number(c, "scale") : 1};
}

static inline double logit(const routing *r, int64_t i, int64_t e) {
  return vector_real(r->logits, r->base + i * r->experts + e);
}

/* s = 1 / (1 + e^-x) */
static inline void sigmoid(arb_t s, double x) {
  arb_set_d(s, -x);
  arb_exp(s, s, ARB_BITS);
  arb_add_ui(s, s, 1, ARB_BITS);
  arb_inv(s, s, ARB_BITS);
}

/* (R1), (R1s), (R8): the exponents of Arb reach so far that nothing needs a shift. */
static inline void token_probabilities(const routing *r, int64_t i, token *t) {
  arb_zero(t->a);
  arb_zero(t->b);
  for (int64_t e = 0; e < r->experts; e++) {
    sigmoid(t->sigma + e, logit(r, i, e));
    arb_set_d(t->p + e, logit(r, i, e));
    arb_exp(t->p + e, t->p + e, ARB_BITS);
    arb_add(t->a, t->a, t->p + e, ARB_BITS);
    arb_add(t->b, t->b, t->sigma + e, ARB_BITS);
  }
  arb_log(t->lse, t->a, ARB_BITS);
  for (int64_t e = 0; e < r->experts; e++)
    if (r->sigmoid)
      arb_div(t->p + e, t->sigma + e, t->b, ARB_BITS);
    else
      arb_div(t->p + e, t->p + e, t->a, ARB_BITS);
}

/* (R2) */
static inline void token_select(const routing *r, int64_t i, token *t) {
  double score[EXPERTS_MAX];
  bool taken[EXPERTS_MAX] = {false};
  for (int64_t e = 0; e < r->experts; e++) {
    score[e] = r->sigmoid ? vector_single(t->sigma + e) : logit(r, i, e);
    if (r->bias) score[e] += vector_real(r->bias, e);
  }
  for (int64_t s = 0; s < r->active; s++) {
    int64_t best = -1;
    for (int64_t e = 0; e < r->experts; e++)
      if (!taken[e] && (best < 0 || score[e] > score[best])) best = e;
    taken[best] = true;
    t->selected[s] = best;
  }
}

/* (R3), (R4), (R5), without the scale. */
static inline void token_gates(const routing *r, int64_t i, token *t) {
  arb_zero(t->a);
  for (int64_t s = 0; s < r->active; s++) {
    int64_t e = t->selected[s];
    if (r->sigmoid) {
      arb_set(t->gate + s, t->sigma + e);
    } else if (r->renormalised) {
      arb_set_d(t->gate + s, logit(r, i, e));
      arb_exp(t->gate + s, t->gate + s, ARB_BITS);
    } else {
      arb_set(t->gate + s, t->p + e);
      continue;
    }
    arb_add(t->a, t->a, t->gate + s, ARB_BITS);
  }
  for (int64_t s = 0; (r->sigmoid || r->renormalised) && s < r->active; s++)
    arb_div(t->gate + s, t->gate + s, t->a, ARB_BITS);
}

static inline void token_forward(const routing *r, int64_t i, token *t) {
  token_probabilities(r, i, t);
  token_select(r, i, t);
  token_gates(r, i, t);
}

/* (R6), (R7) of tokens first .. first + n - 1: P[E], counts; the number of unmasked tokens. */
static inline int64_t loads_of(const routing *r, int64_t first, int64_t n, token *t, arb_ptr P,
                               int64_t *count) {
  int64_t counted = 0;
  for (int64_t e = 0; e < r->experts; e++) {
    arb_zero(P + e);
    count[e] = 0;
  }
  for (int64_t i = first; i < first + n; i++) {
    if (vector_masked(r->mask, i)) continue;
    counted++;
    token_forward(r, i, t);
    for (int64_t e = 0; e < r->experts; e++) arb_add(P + e, P + e, t->p + e, ARB_BITS);
    for (int64_t s = 0; s < r->active; s++) count[t->selected[s]]++;
  }
  for (int64_t e = 0; counted && e < r->experts; e++) arb_div_si(P + e, P + e, counted, ARB_BITS);
  return counted;
}

static inline void frequency(arb_t f, int64_t count, int64_t slots) {
  arb_set_si(f, count);
  arb_div_si(f, f, slots, ARB_BITS);
}

/* (L2): g[e] += s p_e (q_e - sum p q), with 1 - sigma_e besides for sigmoid routers. */
static inline void price_part(const routing *r, token *t, arb_srcptr q, const arb_t s, arb_ptr g) {
  arb_zero(t->a);
  for (int64_t e = 0; e < r->experts; e++) arb_addmul(t->a, t->p + e, q + e, ARB_BITS);
  for (int64_t e = 0; e < r->experts; e++) {
    arb_sub(t->b, q + e, t->a, ARB_BITS);
    arb_mul(t->b, t->b, t->p + e, ARB_BITS);
    if (r->sigmoid) arb_submul(t->b, t->b, t->sigma + e, ARB_BITS);
    arb_addmul(g + e, t->b, s, ARB_BITS);
  }
}

#endif
