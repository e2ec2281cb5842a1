/* The bits themselves. Routing and balancing promise the same bits from every compiler, processor
   and backend (SPEC.md N4 to N7); bounds do not see a change of bits that keeps them. One hash for
   each output over the generated cases stands here, and changes only when the specification does.
 */
#include "verify/case_number.h"
#include "verify/cases.h"
#include <criterion/criterion.h>
#include <inttypes.h>
#include <phibal/balance.h>
#include <stdlib.h>

enum { CASES = 3 * CASE_KINDS, SEED = 2026 };

typedef struct hashes {
  uint64_t probabilities, gates, experts, logsumexp, loads, gradient, centred, loss;
} hashes;

/* FNV-1a, 64 bits. */
static void hash_add(uint64_t *hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; i++) *hash = (*hash ^ p[i]) * 0x100000001b3u;
}

static void *take(size_t bytes) {
  void *p = malloc(bytes + 8);
  cr_assert_not_null(p);
  return p;
}

/* A balancing step on the case's loads, as the trainer makes it, for one potential after another.
 */
static void hash_balance(route_case *c, const phibal_loads *loads, uint64_t number, float *centred,
                         hashes *h) {
  int32_t E = c->router.experts;
  float mean[PHIBAL_MAX_EXPERTS], m[PHIBAL_MAX_EXPERTS] = {0}, loss;
  phibal_potential potential = {case_potential_id(number, number), 0};
  potential.parameter = phibal_potential_describe(potential.id)->fallback;
  cr_assert_eq(phibal_loads_mean(loads, mean), PHIBAL_OK);
  cr_assert_eq(phibal_ema(E, 0.65f, m, mean, m), PHIBAL_OK);
  cr_assert_eq(phibal_price_centred(&potential, E, m, centred, NULL), PHIBAL_OK);
  cr_assert_eq(phibal_balance_loss(&potential, E, 0.01, mean, m, &loss), PHIBAL_OK);
  hash_add(&h->loads, mean, sizeof(float) * (size_t)E);
  hash_add(&h->centred, centred, sizeof(float) * (size_t)E);
  hash_add(&h->loss, &loss, sizeof loss);
}

static void hash_case(uint64_t number, hashes *h) {
  route_case c;
  phibal_loads loads;
  cr_assert_eq(route_case_create(SEED, 0, number, &c), PHIBAL_OK);
  if (c.tokens > 1000) c.tokens = 1000;
  cr_assert_eq(phibal_loads_create(&c.router, &loads), PHIBAL_OK);
  size_t T = (size_t)c.tokens, E = (size_t)c.router.experts, k = (size_t)c.router.active;
  float *probabilities = take(4 * T * E), *gates = take(4 * T * k), *logsumexp = take(4 * T);
  float *gate_gradient = take(4 * T * k), *gradient = take(4 * T * E), *centred = take(4 * E);
  int32_t *experts = take(4 * T * k);
  cr_assert_eq(phibal_router_forward(&c.router, c.tokens, c.logits, c.bias, c.mask, probabilities,
                                     experts, gates, logsumexp, &loads),
               PHIBAL_OK);
  hash_add(&h->probabilities, probabilities, 4 * T * E);
  hash_add(&h->gates, gates, 4 * T * k);
  hash_add(&h->experts, experts, 4 * T * k);
  hash_add(&h->logsumexp, logsumexp, 4 * T);
  /* The limbs hold every bit of the binary64 probabilities, which binary32 outputs mostly hide. */
  hash_add(&h->loads, loads.probability, sizeof(uint64_t) * PHIBAL_LOAD_LIMBS * E);
  if (loads.tokens > 0) {
    hash_balance(&c, &loads, number, centred, h);
    for (size_t i = 0; i < T * k; i++) gate_gradient[i] = (float)random_uniform(&c.random, -1, 1);
    cr_assert_eq(phibal_router_backward(&c.router, c.tokens, c.logits, c.mask, experts,
                                        gate_gradient, centred, 0.01 / (double)c.tokens, 0,
                                        gradient),
                 PHIBAL_OK);
    hash_add(&h->gradient, gradient, 4 * T * E);
  }
  free(probabilities);
  free(gates);
  free(logsumexp);
  free(gate_gradient);
  free(gradient);
  free(centred);
  free(experts);
  phibal_loads_destroy(&loads);
  route_case_destroy(&c);
}

static void expect(const char *output, uint64_t got, uint64_t expected) {
  cr_expect(got == expected, "%s: hash %016" PRIx64 ", specified %016" PRIx64, output, got,
            expected);
}

Test(bits, routing_and_balancing_bits_are_the_specified_ones) {
  hashes h = {1, 1, 1, 1, 1, 1, 1, 1};
  for (uint64_t number = 0; number < CASES; number++) hash_case(number, &h);
  expect("probabilities", h.probabilities, 0xcdfb41e6cee2d31f);
  expect("gates", h.gates, 0xcbf2b2528fc8b21f);
  expect("experts", h.experts, 0x9f2c2688140ab22f);
  expect("logsumexp", h.logsumexp, 0x6cbb59040a893574);
  expect("loads", h.loads, 0x57ae224df3836db8);
  expect("gradient", h.gradient, 0xedbe83e3efef805f);
  expect("centred prices", h.centred, 0x39697cf188b250fa);
  expect("loss", h.loss, 0x044d7482bc3d0141);
}
