/* Router forward and backward, and loads, beside Arb. */
#include "vectors_arb_checks.h"
#include "vectors_arb_routing.h"

static void check_loads(vector_case *c, const routing *r, token *t) {
  arb_ptr P = _arb_vec_init(r->experts);
  int64_t count[EXPERTS_MAX], counted = loads_of(r, 0, r->tokens, t, P, count);
  vector_check_integer(c, "tokens", 0, counted);
  for (int64_t e = 0; r->tokens && e < r->experts; e++) {
    vector_check_integer(c, "counts", e, count[e]);
    vector_check(c, "loads", e, P + e, NULL);
    frequency(t->a, count[e], r->active * counted);
    vector_check(c, "frequencies", e, t->a, NULL);
  }
  _arb_vec_clear(P, r->experts);
}

void check_router_forward(vector_case *c) {
  routing r = routing_of(c);
  token t;
  token_init(&t, r.experts);
  for (int64_t i = 0; i < r.tokens; i++) {
    bool masked = vector_masked(r.mask, i);
    double size = 1;
    for (int64_t e = 0; !masked && e < r.experts; e++) size = fmax(size, fabs(logit(&r, i, e)));
    if (!masked) token_forward(&r, i, &t);
    for (int64_t s = 0; s < r.active; s++) {
      vector_check_integer(c, "experts", i * r.active + s, masked ? -1 : t.selected[s]);
      if (masked) continue;
      arb_set_d(t.a, r.scale);
      arb_mul(t.a, t.a, t.gate + s, ARB_BITS);
      vector_check(c, "gates", i * r.active + s, t.a, NULL);
    }
    for (int64_t e = 0; !masked && e < r.experts; e++)
      vector_check(c, "probabilities", i * r.experts + e, t.p + e, NULL);
    arb_set_d(t.a, size);
    if (!masked) vector_check(c, "logsumexp", i, t.lse, t.a);
  }
  check_loads(c, &r, &t);
  token_clear(&t, r.experts);
}

void check_loads_alone(vector_case *c) {
  routing r = routing_of(c);
  token t;
  token_init(&t, r.experts);
  check_loads(c, &r, &t);
  token_clear(&t, r.experts);
}

/* Gradients. */

/* (G1): g[e] += the gates' part; gamma [k] of this token. */
static void gate_part(const routing *r, token *t, const safetensors_tensor *gamma, int64_t i,
                      arb_ptr g) {
  arb_zero(t->a);
  for (int64_t s = 0; s < r->active; s++) {
    arb_set_d(t->b, vector_real(gamma, i * r->active + s));
    arb_addmul(t->a, t->b, t->gate + s, ARB_BITS);
  }
  bool selected_only = r->sigmoid || r->renormalised;
  for (int64_t e = 0; e < r->experts; e++) {
    int64_t slot = -1;
    for (int64_t s = 0; s < r->active; s++)
      if (t->selected[s] == e) slot = s;
    if (slot < 0 && selected_only) continue;
    arb_set_d(t->b, slot < 0 ? 0 : vector_real(gamma, i * r->active + slot));
    arb_sub(t->b, t->b, t->a, ARB_BITS);
    arb_mul(t->b, t->b, selected_only ? t->gate + slot : t->p + e, ARB_BITS);
    if (r->sigmoid) {
      arb_t rest;
      arb_init(rest);
      arb_sub_ui(rest, t->sigma + e, 1, ARB_BITS);
      arb_neg(rest, rest);
      arb_mul(t->b, t->b, rest, ARB_BITS);
      arb_clear(rest);
    }
    arb_t scale;
    arb_init(scale);
    arb_set_d(scale, r->scale);
    arb_addmul(g + e, t->b, scale, ARB_BITS);
    arb_clear(scale);
  }
}

void check_router_backward(vector_case *c) {
  routing r = routing_of(c);
  const safetensors_tensor *experts = vector_in(c, "experts"), *price = vector_in(c, "price");
  const safetensors_tensor *gamma = vector_in(c, "gate-gradient");
  token t;
  token_init(&t, r.experts);
  arb_ptr g = _arb_vec_init(r.experts), q = _arb_vec_init(r.experts);
  arb_t s;
  arb_init(s);
  for (int64_t e = 0; price && e < r.experts; e++) arb_set_d(q + e, vector_real(price, e));
  for (int64_t i = 0; i < r.tokens; i++) {
    if (vector_masked(r.mask, i)) continue;
    token_probabilities(&r, i, &t);
    for (int64_t k = 0; k < r.active; k++)
      t.selected[k] = vector_integer(experts, i * r.active + k);
    token_gates(&r, i, &t);
    _arb_vec_zero(g, r.experts);
    if (gamma) gate_part(&r, &t, gamma, i, g);
    arb_set_d(s, vector_number(c, "price-scale"));
    if (price) price_part(&r, &t, q, s, g);
    arb_set_d(s, vector_number(c, "z-scale"));
    arb_mul(s, s, t.lse, ARB_BITS);
    for (int64_t e = 0; e < r.experts; e++) {
      if (!r.sigmoid) arb_addmul(g + e, s, t.p + e, ARB_BITS);
      vector_check(c, "logit-gradient", i * r.experts + e, g + e, NULL);
    }
  }
  arb_clear(s);
  _arb_vec_clear(g, r.experts);
  _arb_vec_clear(q, r.experts);
  token_clear(&t, r.experts);
}
