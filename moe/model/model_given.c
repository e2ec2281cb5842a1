/* Selections that are given: hash routing, in which a token's experts depend on its id alone
   (Roller et al., NeurIPS 2021; the first layers of DeepSeek-V4).

   Token v has k different experts of E. Let g = gcd(k, E). Decks of E / g tokens, in the order of
   their ids, share one permutation s of the experts, and token j of a deck has

     s[(j k + i) mod E],  i = 0 .. k - 1.

   Of a whole deck each expert has k / g tokens, so that of the first n tokens of the vocabulary,
   for any n, each has n k / E to within one. Which tokens these are does not depend on V.
   Tokenizers order their tokens roughly by frequency, so that those of a deck occur about equally
   often.

   s is a shuffle (Fisher and Yates) of 0 .. E - 1 by random_bits(hash_seed, stream, deck E + e):
   for e = E - 1 .. 1, s[e] and s[floor((e + 1) x / 2^32)] change places, x the upper 32 bits. The
   stream is a layer's own.

   Recorded routes are given to calls that train, hashes or none, in the order of their slots, in
   which gates and gradients have the bits that they had. */
#include "model_internal.h"
#include "moe/machine/random.h"

#define FIRST_STREAM (UINT64_C(6) << 32)

/* Tokens of a deck. */
static int32_t deck_tokens(const model_config *c) {
  int32_t a = c->experts, b = c->active;
  while (b) {
    const int32_t rest = a % b;
    a = b;
    b = rest;
  }
  return c->experts / a;
}

static void shuffle(const model_config *c, int32_t moe_layer, int64_t deck, int32_t *s) {
  const uint64_t seed = (uint64_t)c->hash_seed, stream = FIRST_STREAM + (uint64_t)moe_layer;
  for (int32_t e = 0; e < c->experts; e++) s[e] = e;
  for (int32_t e = c->experts - 1; e > 0; e--) {
    const uint64_t x = random_bits(seed, stream, (uint64_t)(deck * c->experts + e)) >> 32;
    const int32_t other = (int32_t)((uint64_t)(e + 1) * x >> 32), kept = s[e];
    s[e] = s[other];
    s[other] = kept;
  }
}

void model_hash_experts(const model_config *c, int32_t moe_layer, int32_t token, int32_t *experts) {
  int32_t s[PHIBAL_MAX_EXPERTS];
  const int64_t of_deck = token % deck_tokens(c);
  shuffle(c, moe_layer, token / deck_tokens(c), s);
  for (int32_t i = 0; i < c->active; i++) experts[i] = s[(of_deck * c->active + i) % c->experts];
}

void model_fill_hash(model *m) {
  const model_config *c = &m->config;
  const int64_t tokens = deck_tokens(c), decks = (c->vocabulary + tokens - 1) / tokens;
  const int64_t count = (int64_t)c->vocabulary * c->active;
#pragma omp parallel for collapse(2) schedule(static)
  for (int32_t layer = 0; layer < c->hash_layers; layer++)
    for (int64_t deck = 0; deck < decks; deck++) {
      int32_t s[PHIBAL_MAX_EXPERTS] = {0};
      shuffle(c, layer, deck, s);
      const int64_t first = deck * tokens * c->active, end = first + tokens * c->active;
      for (int64_t i = first; i < (end < count ? end : count); i++)
        m->hash[layer * count + i] = (uint16_t)s[(i - first) % c->experts];
    }
}

phibal_router model_layer_router(const model_config *c, const layer_activations *on) {
  phibal_router router = model_router(c);
  if (!on->given) return router;
  router.selection = PHIBAL_SELECTION_GIVEN;
  router.score = PHIBAL_SCORE_OF_GATE;
  router.group_score = PHIBAL_GROUP_NONE;
  router.groups = router.active_groups = 0;
  return router;
}

void model_set_routes(model *m, const uint16_t *given, uint16_t *taken) {
  m->routes = given;
  m->taken = taken;
}

/* Where the routes of a layer and a sequence begin. */
static int64_t place_of(const model *m, int32_t moe_layer, int64_t sequence) {
  const int64_t layer = (int64_t)m->config.sequence * m->config.active;
  return (sequence * m->moe_layers + moe_layer) * layer;
}

void model_take_routes(const model *m, int32_t moe_layer, int32_t batch, const int32_t *experts,
                       uint16_t *taken) {
  const int64_t n = (int64_t)m->config.sequence * m->config.active;
#pragma omp parallel for schedule(static)
  for (int32_t s = 0; s < batch; s++)
    for (int64_t i = 0; i < n; i++)
      taken[place_of(m, moe_layer, s) + i] = (uint16_t)experts[s * n + i];
}

/* -1 for padding. */
static int32_t expert_of(uint16_t route) {
  return route == UINT16_MAX ? -1 : route;
}

bool model_give(const model *m, layer_activations *on, int32_t moe_layer, int64_t tokens,
                bool training) {
  const model_config *c = &m->config;
  const bool replayed = training && m->routes;
  if (!replayed && balance_acts(c, moe_layer)) return false;
  const int64_t k = c->active;
  const uint16_t *hash = replayed ? NULL : m->hash + (int64_t)moe_layer * c->vocabulary * k;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < tokens; t++) {
    const int64_t at = place_of(m, moe_layer, t / c->sequence) + t % c->sequence * k;
    const uint16_t *from = replayed           ? m->routes + at
                           : m->tokens[t] < 0 ? NULL
                                              : hash + m->tokens[t] * k;
    for (int64_t s = 0; s < k; s++) on->experts[t * k + s] = from ? expert_of(from[s]) : -1;
  }
  return true;
}
