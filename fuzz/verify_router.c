/* Router forward and backward, and the sequence-wise loss, against the reference. */
#include "cases.h"
#include "verify.h"
#include <omp.h>
#include <phibal/reference_moe.h>
#include <stdlib.h>
#include <string.h>

/* Bits the reference works with: results come out with a relative width below 2^-60, so that the
   enclosure's own width adds less than 2^-30 ULP to the error counted. */
enum { PRECISION = 96 };

enum { OPERATION_FORWARD = 1, OPERATION_BACKWARD, OPERATION_SEQUENCE };

const char *verify_route_kind(uint64_t number) {
  return case_kind_name((case_kind)(number % CASE_KINDS));
}

typedef struct forward_outputs {
  float *probabilities, *gates, *logsumexp;
  int32_t *experts;
  phibal_loads loads;
} forward_outputs;

static void forward_destroy(forward_outputs *o) {
  free(o->probabilities);
  free(o->gates);
  free(o->logsumexp);
  free(o->experts);
  phibal_loads_destroy(&o->loads);
}

/* Outputs filled with a pattern that no kernel may leave behind. */
static phibal_status forward_create(const route_case *c, forward_outputs *o) {
  memset(o, 0, sizeof *o);
  size_t T = (size_t)c->tokens + 1, E = (size_t)c->router.experts, k = (size_t)c->router.active;
  o->probabilities = malloc(sizeof(float) * T * E);
  o->gates = malloc(sizeof(float) * T * k);
  o->logsumexp = malloc(sizeof(float) * T);
  o->experts = malloc(sizeof(int32_t) * T * k);
  phibal_status status = phibal_loads_create(&c->router, &o->loads);
  if (status != PHIBAL_OK || !o->probabilities || !o->gates || !o->logsumexp || !o->experts) {
    forward_destroy(o);
    return status != PHIBAL_OK
               ? status
               : phibal_status_set(PHIBAL_ERROR_MEMORY, "verify: out of memory for a case");
  }
  memset(o->probabilities, 0xff, sizeof(float) * T * E);
  memset(o->gates, 0xff, sizeof(float) * T * k);
  memset(o->logsumexp, 0xff, sizeof(float) * T);
  memset(o->experts, 0x7f, sizeof(int32_t) * T * k);
  return PHIBAL_OK;
}

/* Tokens first .. first + count - 1 of the case. */
static phibal_status forward_part(const route_case *c, int64_t first, int64_t count,
                                  forward_outputs *o) {
  int64_t E = c->router.experts, k = c->router.active;
  return phibal_router_forward(&c->router, count, c->logits + first * E, c->bias,
                               c->mask ? c->mask + first : NULL, o->probabilities + first * E,
                               o->experts + first * k, o->gates + first * k, o->logsumexp + first,
                               &o->loads);
}

/* One thread and two calls instead of all threads and one call: every bit must be the same. */
static phibal_status compare_split(const route_case *c, const forward_outputs *whole,
                                   tally *tallies) {
  forward_outputs cut;
  phibal_status status = forward_create(c, &cut);
  if (status != PHIBAL_OK) return status;
  int threads = omp_get_max_threads();
  omp_set_num_threads(threads > 1 ? 1 : 3);
  int64_t middle = c->tokens / 3;
  status = forward_part(c, 0, middle, &cut);
  if (status == PHIBAL_OK) status = forward_part(c, middle, c->tokens - middle, &cut);
  omp_set_num_threads(threads);
  if (status == PHIBAL_OK) {
    size_t T = (size_t)c->tokens, E = (size_t)c->router.experts, k = (size_t)c->router.active;
    tally *t = &tallies[OUTPUT_ROUTER_SAME_BITS];
    tally_integer(t, 0, 0, memcmp(cut.probabilities, whole->probabilities, 4 * T * E) != 0);
    tally_integer(t, 1, 0, memcmp(cut.gates, whole->gates, 4 * T * k) != 0);
    tally_integer(t, 2, 0, memcmp(cut.experts, whole->experts, 4 * T * k) != 0);
    tally_integer(t, 3, 0, memcmp(cut.logsumexp, whole->logsumexp, 4 * T) != 0);
    tally_integer(t, 4, 0,
                  memcmp(cut.loads.probability, whole->loads.probability,
                         sizeof(uint64_t) * PHIBAL_LOAD_LIMBS * E) != 0);
    tally_integer(t, 5, 0, memcmp(cut.loads.count, whole->loads.count, 8 * E) != 0);
    tally_integer(t, 6, whole->loads.tokens, cut.loads.tokens);
  }
  forward_destroy(&cut);
  return status;
}

static void compare_token(const route_case *c, int64_t i, const phibal_reference_token *truth,
                          const forward_outputs *o, tally *tallies) {
  int64_t E = c->router.experts, k = c->router.active;
  for (int64_t s = 0; s < k; s++) {
    tally_integer(&tallies[OUTPUT_ROUTER_EXPERTS], i * k + s, truth->selection[s],
                  o->experts[i * k + s]);
    tally_real(&tallies[OUTPUT_ROUTER_GATES], i * k + s, &truth->gate[s], NULL,
               (double)o->gates[i * k + s]);
  }
  for (int64_t e = 0; e < E; e++)
    tally_real(&tallies[OUTPUT_ROUTER_PROBABILITIES], i * E + e, &truth->probability[e], NULL,
               (double)o->probabilities[i * E + e]);
}

/* Where max + log(sum) cancels, the error is relative to |max| + log E, at least 1. */
static void compare_logsumexp(const route_case *c, int64_t i, const phibal_reference_token *truth,
                              phibal_enclosure *terms, const forward_outputs *o, tally *tallies) {
  double magnitude = 1;
  for (int32_t e = 0; e < c->router.experts; e++) {
    double x = (double)c->logits[i * c->router.experts + e];
    if (x > magnitude) magnitude = x;
    if (-x > magnitude) magnitude = -x;
  }
  phibal_enclosure_set_d(terms, magnitude);
  tally_real(&tallies[OUTPUT_ROUTER_LOGSUMEXP], i, &truth->logsumexp, terms,
             (double)o->logsumexp[i]);
}

static void compare_padding(const route_case *c, int64_t i, const forward_outputs *o,
                            tally *tallies) {
  int64_t k = c->router.active;
  for (int64_t s = 0; s < k; s++) {
    tally_integer(&tallies[OUTPUT_ROUTER_EXPERTS], i * k + s, -1, o->experts[i * k + s]);
    tally_integer(&tallies[OUTPUT_ROUTER_EXPERTS], i * k + s, 1, o->gates[i * k + s] == 0);
  }
}

/* Every token is compared for batches of up to this many; of longer ones each so many-th, the last
   one among them, while loads always count all. */
enum { TOKENS_COMPARED = 2000 };

static phibal_status compare_tokens(const route_case *c, const forward_outputs *o, tally *tallies) {
  phibal_reference_token truth;
  phibal_status status =
      phibal_reference_token_init(&truth, c->router.experts, c->router.active, PRECISION);
  if (status != PHIBAL_OK) return status;
  phibal_enclosure terms;
  phibal_enclosure_init(&terms, 53);
  int64_t step = c->tokens > TOKENS_COMPARED ? c->tokens / TOKENS_COMPARED : 1;
  for (int64_t i = (c->tokens - 1) % step; status == PHIBAL_OK && i < c->tokens; i += step) {
    if (c->mask && !c->mask[i]) {
      compare_padding(c, i, o, tallies);
      continue;
    }
    status = phibal_reference_token_forward(&truth, &c->router, c->logits + i * c->router.experts,
                                            c->bias);
    if (status != PHIBAL_OK) break;
    compare_token(c, i, &truth, o, tallies);
    if (c->router.gate != PHIBAL_GATE_SIGMOID) compare_logsumexp(c, i, &truth, &terms, o, tallies);
  }
  phibal_enclosure_clear(&terms);
  phibal_reference_token_clear(&truth);
  return status;
}

static phibal_status compare_loads(const route_case *c, const forward_outputs *o, tally *tallies) {
  int32_t E = c->router.experts;
  float mean[PHIBAL_MAX_EXPERTS], frequency[PHIBAL_MAX_EXPERTS];
  int64_t count[PHIBAL_MAX_EXPERTS], counted = 0;
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, PRECISION);
  if (!truth) return phibal_status_set(PHIBAL_ERROR_MEMORY, "verify: out of memory for a case");
  phibal_status status = phibal_reference_loads(&c->router, c->tokens, c->logits, c->bias, c->mask,
                                                PRECISION, truth, count, &counted);
  if (status == PHIBAL_OK) status = phibal_loads_mean(&o->loads, mean);
  if (status == PHIBAL_OK) status = phibal_loads_frequency(&o->loads, frequency);
  if (status == PHIBAL_OK) {
    tally_integer(&tallies[OUTPUT_ROUTER_COUNTS], -1, counted, o->loads.tokens);
    for (int32_t e = 0; e < E; e++) {
      tally_integer(&tallies[OUTPUT_ROUTER_COUNTS], e, count[e], o->loads.count[e]);
      tally_real(&tallies[OUTPUT_ROUTER_LOADS], e, &truth[e], NULL, (double)mean[e]);
    }
    status = phibal_reference_frequency(E, c->router.active, counted, count, truth);
  }
  if (status == PHIBAL_OK)
    for (int32_t e = 0; e < E; e++)
      tally_real(&tallies[OUTPUT_ROUTER_FREQUENCIES], e, &truth[e], NULL, (double)frequency[e]);
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}

phibal_status verify_router_forward(uint64_t seed, uint64_t number, tally *tallies) {
  route_case c;
  forward_outputs o;
  phibal_status status = route_case_create(seed, OPERATION_FORWARD, number, &c);
  if (status != PHIBAL_OK) return status;
  status = forward_create(&c, &o);
  if (status == PHIBAL_OK) {
    status = forward_part(&c, 0, c.tokens, &o);
    if (status == PHIBAL_OK) status = compare_split(&c, &o, tallies);
    if (status == PHIBAL_OK) status = compare_tokens(&c, &o, tallies);
    /* Without a token there is no mean; that no token was counted must still be right. */
    if (status == PHIBAL_OK && c.tokens == 0)
      tally_integer(&tallies[OUTPUT_ROUTER_COUNTS], -1, 0, o.loads.tokens);
    else if (status == PHIBAL_OK)
      status = compare_loads(&c, &o, tallies);
    forward_destroy(&o);
  }
  route_case_destroy(&c);
  return status;
}

/* What the backward pass is given besides the case. */
typedef struct backward_inputs {
  int32_t *experts;
  float *gate_gradient, *gradient, price[PHIBAL_MAX_EXPERTS];
  bool with_gates, with_price;
  double price_scale, z_scale;
} backward_inputs;

static void choose_backward(route_case *c, backward_inputs *in) {
  random_stream *r = &c->random;
  in->with_gates = random_integer(r, 0, 3) > 0;
  in->with_price = !in->with_gates || random_integer(r, 0, 3) > 0;
  in->price_scale = random_uniform(r, 0.001, 2) / (double)(c->tokens + 1);
  bool z = c->router.gate != PHIBAL_GATE_SIGMOID && random_integer(r, 0, 1);
  in->z_scale = z ? random_uniform(r, 0, 0.1) : 0;
  for (int32_t e = 0; e < c->router.experts; e++) in->price[e] = (float)(random_normal(r) * 3);
  for (int64_t i = 0; i < c->tokens * c->router.active; i++)
    in->gate_gradient[i] = (float)random_normal(r);
}

static phibal_status compare_gradients(const route_case *c, const backward_inputs *in,
                                       tally *tallies) {
  int64_t E = c->router.experts, k = c->router.active;
  phibal_reference_token truth;
  phibal_status status =
      phibal_reference_token_init(&truth, c->router.experts, c->router.active, PRECISION);
  if (status != PHIBAL_OK) return status;
  tally *t = &tallies[OUTPUT_ROUTER_GRADIENT];
  int64_t step = c->tokens > TOKENS_COMPARED ? c->tokens / TOKENS_COMPARED : 1;
  for (int64_t i = (c->tokens - 1) % step; status == PHIBAL_OK && i < c->tokens; i += step) {
    const float *got = in->gradient + i * E;
    if (c->mask && !c->mask[i]) {
      for (int64_t e = 0; e < E; e++) tally_integer(t, i * E + e, 1, got[e] == 0);
      continue;
    }
    status = phibal_reference_token_backward(
        &truth, &c->router, c->logits + i * E, in->experts + i * k,
        in->with_gates ? in->gate_gradient + i * k : NULL, in->with_price ? in->price : NULL,
        in->price_scale, in->z_scale);
    if (status != PHIBAL_OK) break;
    for (int64_t e = 0; e < E; e++)
      tally_real(t, i * E + e, &truth.gradient[e], &truth.condition[e], (double)got[e]);
  }
  phibal_reference_token_clear(&truth);
  return status;
}

phibal_status verify_router_backward(uint64_t seed, uint64_t number, tally *tallies) {
  route_case c;
  forward_outputs o;
  phibal_status status = route_case_create(seed, OPERATION_BACKWARD, number, &c);
  if (status != PHIBAL_OK) return status;
  status = forward_create(&c, &o);
  if (status != PHIBAL_OK) {
    route_case_destroy(&c);
    return status;
  }
  size_t routes = (size_t)(c.tokens * c.router.active + 1);
  size_t logits = (size_t)(c.tokens * c.router.experts + 1);
  backward_inputs in = {.experts = o.experts,
                        .gate_gradient = malloc(sizeof(float) * routes),
                        .gradient = malloc(sizeof(float) * logits)};
  if (!in.gate_gradient || !in.gradient) {
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "verify: out of memory for a case");
  } else {
    memset(in.gradient, 0xff, sizeof(float) * logits);
    choose_backward(&c, &in);
    status = forward_part(&c, 0, c.tokens, &o);
    if (status == PHIBAL_OK)
      status = phibal_router_backward(
          &c.router, c.tokens, c.logits, c.mask, o.experts, in.with_gates ? in.gate_gradient : NULL,
          in.with_price ? in.price : NULL, in.price_scale, in.z_scale, in.gradient);
    if (status == PHIBAL_OK) status = compare_gradients(&c, &in, tallies);
  }
  free(in.gate_gradient);
  free(in.gradient);
  forward_destroy(&o);
  route_case_destroy(&c);
  return status;
}

/* The sequence-wise loss as the trainer forms it: one phibal_loads a sequence, the Switch loss of
   its f and P, weighted by its share of the tokens. */
phibal_status verify_sequence_loss(uint64_t seed, uint64_t number, tally *tallies) {
  route_case c;
  forward_outputs o;
  phibal_status status = route_case_create(seed, OPERATION_SEQUENCE, number, &c);
  if (status != PHIBAL_OK) return status;
  if (c.tokens > 2000) c.tokens = 2000;
  int64_t sequences = c.tokens >= 6 ? 3 : 1, length = c.tokens / sequences, total = 0;
  double alpha = random_uniform(&c.random, 0.001, 1), loss = 0;
  status = forward_create(&c, &o);
  if (status != PHIBAL_OK) {
    route_case_destroy(&c);
    return status;
  }
  for (int64_t b = 0; status == PHIBAL_OK && b < sequences; b++) {
    float mean[PHIBAL_MAX_EXPERTS], frequency[PHIBAL_MAX_EXPERTS], one;
    phibal_loads_clear(&o.loads);
    status = forward_part(&c, b * length, length, &o);
    if (status != PHIBAL_OK || o.loads.tokens == 0) continue;
    phibal_loads_mean(&o.loads, mean);
    phibal_loads_frequency(&o.loads, frequency);
    status = phibal_switch_loss(c.router.experts, alpha, frequency, mean, &one);
    loss += (double)one * (double)o.loads.tokens;
    total += o.loads.tokens;
  }
  if (total > 0) loss /= (double)total;
  phibal_enclosure truth;
  phibal_enclosure_init(&truth, PRECISION);
  if (status == PHIBAL_OK)
    status = phibal_reference_sequence_loss(&c.router, sequences, length, c.logits, c.bias, c.mask,
                                            alpha, PRECISION, &truth);
  if (status == PHIBAL_OK) tally_real(&tallies[OUTPUT_SEQUENCE_LOSS], 0, &truth, &truth, loss);
  phibal_enclosure_clear(&truth);
  forward_destroy(&o);
  route_case_destroy(&c);
  return status;
}
