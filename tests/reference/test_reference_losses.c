/* The reference's Switch, sequence-wise and z-losses (L3) to (L5), and the gradients of the phi and
   sequence-wise losses with their stop-gradients (L2), against Arb. */
#include "reference_oracle.h"
#include <string.h>

static const int32_t sizes[] = {1, 2, 5, 16, 67};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 67 };

static void loads_generate(int32_t n, float *x, uint64_t *seed) {
  for (int32_t e = 0; e < n; e++) x[e] = (float)(2.0 * random_uniform(seed) / n);
}

/* (L3) and its centred price. */
Test(reference_losses, switch_agrees_with_arb) {
  float f[LARGEST], loads[LARGEST];
  phibal_enclosure *centred = phibal_enclosure_vector(LARGEST, 96);
  phibal_enclosure loss, condition;
  phibal_enclosure_init(&loss, 96);
  phibal_enclosure_init(&condition, 96);
  arb_t truth, t, mean;
  arb_init(truth);
  arb_init(t);
  arb_init(mean);
  for (int s = 0; s < SIZES; s++) {
    int32_t n = sizes[s];
    uint64_t seed = 7u + (unsigned)s;
    loads_generate(n, f, &seed);
    loads_generate(n, loads, &seed);
    cr_assert_eq(phibal_reference_switch_loss(n, 0.01, f, loads, 96, &loss, &condition), PHIBAL_OK);
    cr_assert_eq(phibal_reference_frequency_centred(n, f, 96, centred), PHIBAL_OK);
    arb_zero(truth);
    arb_zero(mean);
    for (int32_t e = 0; e < n; e++) {
      arb_set_d(t, (double)f[e] * (double)loads[e]);
      arb_add(truth, truth, t, ORACLE_PRECISION);
      arb_set_d(t, (double)f[e]);
      arb_add(mean, mean, t, ORACLE_PRECISION);
    }
    arb_set_d(t, 0.01);
    arb_mul(truth, truth, t, ORACLE_PRECISION);
    arb_mul_si(truth, truth, n, ORACLE_PRECISION);
    arb_div_si(mean, mean, n, ORACLE_PRECISION);
    cr_assert(oracle_contains(&loss, truth) && oracle_contains(&condition, truth));
    for (int32_t e = 0; e < n; e++) {
      arb_set_d(t, (double)f[e]);
      arb_sub(t, t, mean, ORACLE_PRECISION);
      cr_assert(oracle_contains(&centred[e], t));
    }
  }
  arb_clear(mean);
  arb_clear(t);
  arb_clear(truth);
  phibal_enclosure_clear(&condition);
  phibal_enclosure_clear(&loss);
  phibal_enclosure_vector_clear(centred, LARGEST);
}

/* A batch of sequences for (L4): logits, and a mask that leaves the sequences different lengths,
   one of them none. */
enum { SEQUENCES = 4, LENGTH = 6, EXPERTS = 5, ACTIVE = 2, CELLS = SEQUENCES * LENGTH * EXPERTS };

static void sequences_generate(float *logits, uint8_t *mask) {
  uint64_t seed = 41u;
  for (int i = 0; i < SEQUENCES * LENGTH; i++) {
    logits_generate(LOGITS_ORDINARY, EXPERTS, logits + i * EXPERTS, &seed);
    mask[i] = i / LENGTH != 2 && (i % LENGTH) < 3 + i / LENGTH;
  }
}

/* (L4) from the definition, in Arb: the selection is counted at the unperturbed logits. */
static void oracle_sequence_loss(const phibal_router *router, arb_srcptr x, const float *logits,
                                 const uint8_t *mask, double alpha, arb_t loss) {
  int32_t selection[ACTIVE];
  arb_ptr p = _arb_vec_init(EXPERTS), sum = _arb_vec_init(EXPERTS);
  arb_t t;
  arb_init(t);
  arb_zero(loss);
  int64_t total = 0;
  for (int b = 0; b < SEQUENCES; b++) {
    int64_t n = 0, count[EXPERTS] = {0};
    _arb_vec_zero(sum, EXPERTS);
    for (int i = b * LENGTH; i < (b + 1) * LENGTH; i++) {
      if (!mask[i]) continue;
      n++;
      oracle_probabilities(router->gate, EXPERTS, x + i * EXPERTS, p, NULL);
      _arb_vec_add(sum, sum, p, EXPERTS, ORACLE_PRECISION);
      oracle_select(router, logits + i * EXPERTS, NULL, selection);
      for (int s = 0; s < ACTIVE; s++) count[selection[s]]++;
    }
    total += n;
    for (int e = 0; e < EXPERTS && n > 0; e++) {
      /* n f P with f = count / (k n), P = sum / n */
      arb_div_si(t, sum + e, n, ORACLE_PRECISION);
      arb_mul_si(t, t, count[e], ORACLE_PRECISION);
      arb_div_si(t, t, ACTIVE * n, ORACLE_PRECISION);
      arb_mul_si(t, t, n, ORACLE_PRECISION);
      arb_add(loss, loss, t, ORACLE_PRECISION);
    }
  }
  arb_set_d(t, alpha);
  arb_mul(loss, loss, t, ORACLE_PRECISION);
  arb_mul_si(loss, loss, EXPERTS, ORACLE_PRECISION);
  arb_div_si(loss, loss, total, ORACLE_PRECISION);
  arb_clear(t);
  _arb_vec_clear(sum, EXPERTS);
  _arb_vec_clear(p, EXPERTS);
}

Test(reference_losses, sequence_loss_agrees_with_arb) {
  float logits[CELLS];
  uint8_t mask[SEQUENCES * LENGTH];
  sequences_generate(logits, mask);
  phibal_enclosure loss;
  phibal_enclosure_init(&loss, 96);
  arb_ptr x = _arb_vec_init(CELLS);
  arb_t truth;
  arb_init(truth);
  oracle_set_floats(x, CELLS, logits);
  const phibal_gate gates[] = {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_GATE_SIGMOID};
  for (int g = 0; g < 2; g++) {
    phibal_router router = {EXPERTS, ACTIVE, gates[g], 1.0f};
    cr_assert_eq(
        phibal_reference_sequence_loss((phibal_reference_batch){&router, logits, NULL, mask},
                                       SEQUENCES, LENGTH, 0.02, 96, &loss),
        PHIBAL_OK);
    oracle_sequence_loss(&router, x, logits, mask, 0.02, truth);
    cr_assert(oracle_contains(&loss, truth));
    cr_assert(oracle_is_narrow(&loss, ldexp(1.0, 12 - 96), truth));
  }
  memset(mask, 0, sizeof mask);
  phibal_router router = {EXPERTS, ACTIVE, PHIBAL_GATE_PROBABILITY, 1.0f};
  cr_assert_eq(phibal_reference_sequence_loss((phibal_reference_batch){&router, logits, NULL, mask},
                                              SEQUENCES, LENGTH, 0.02, 96, &loss),
               PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&loss));
  arb_clear(truth);
  _arb_vec_clear(x, CELLS);
  phibal_enclosure_clear(&loss);
}

/* The gradient of (L4) in one logit is the router's (G2) with price f of the token's sequence and
   price_scale alpha E / n: checked by central differences with h = 2^-100, whose truncation error
   is below h^2 = 2^-200 here (the loss and its third derivatives are below 1). A missing k, a
   missing n, or a gradient through f would be off by a factor. */
Test(reference_losses, sequence_loss_gradient_agrees_with_finite_differences) {
  float logits[CELLS], price[EXPERTS] = {0.0f};
  uint8_t mask[SEQUENCES * LENGTH];
  sequences_generate(logits, mask);
  phibal_router router = {EXPERTS, ACTIVE, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  const int token = 3 * LENGTH + 1, first = 3 * LENGTH;
  int64_t count[EXPERTS], in_sequence, total = 0;
  cr_assert_eq(phibal_reference_loads(
                   (phibal_reference_batch){&router, logits + first * EXPERTS, NULL, mask + first},
                   LENGTH, 64, NULL, count, &in_sequence),
               PHIBAL_OK);
  cr_assert_eq(in_sequence, 6);
  for (int i = 0; i < SEQUENCES * LENGTH; i++) total += mask[i];
  /* f = count / (2 * 6) is not a binary32; 12 f is, and 12 is moved into the scale. */
  for (int e = 0; e < EXPERTS; e++) price[e] = (float)count[e];
  double alpha = 0.75; /* alpha E / (12 n) enters as a binary64: choose n E so that it is near */
  double scale = alpha * EXPERTS / (12.0 * (double)total);
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, EXPERTS, ACTIVE, 128), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits + token * EXPERTS, NULL),
               PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_backward(&t, &router, logits + token * EXPERTS, t.selection,
                                               NULL, price, scale, 0.0),
               PHIBAL_OK);
  arb_ptr x = _arb_vec_init(CELLS);
  arb_t up, down, h, slack;
  arb_init(up);
  arb_init(down);
  arb_init(h);
  arb_init(slack);
  arb_set_d(h, 0x1p-100);
  oracle_set_floats(x, CELLS, logits);
  for (int e = 0; e < EXPERTS; e++) {
    arb_ptr cell = x + token * EXPERTS + e;
    arb_add(cell, cell, h, ORACLE_PRECISION);
    oracle_sequence_loss(&router, x, logits, mask, alpha, up);
    arb_sub(cell, cell, h, ORACLE_PRECISION);
    arb_sub(cell, cell, h, ORACLE_PRECISION);
    oracle_sequence_loss(&router, x, logits, mask, alpha, down);
    arb_add(cell, cell, h, ORACLE_PRECISION);
    arb_sub(up, up, down, ORACLE_PRECISION);
    arb_mul_2exp_si(up, up, 99);
    arb_add_error_2exp_si(up, -200);
    /* scale was rounded to binary64, relative error below 2^-51 (three operations) */
    arb_mul_2exp_si(slack, up, -51);
    arb_add_error(up, slack);
    cr_assert(oracle_contains(&t.gradient[e], up), "expert %d", e);
    cr_assert_not(arb_contains_zero(up));
  }
  arb_clear(slack);
  arb_clear(h);
  arb_clear(down);
  arb_clear(up);
  _arb_vec_clear(x, CELLS);
  phibal_reference_token_clear(&t);
}

/* Sum over a batch of (alpha E) P . q with q = grad phi(m) held: the gradient that phibal trains
   with. Its stop-gradient matters: the derivative with q following P, which differs in the first
   digits, is excluded. T = 3 tokens, negative entropy, m = (1 - eta) m0 + eta P. */
enum { BATCH = 3 };

static void oracle_phi_loss(arb_srcptr x, const float *price, arb_srcptr m0, double eta, bool stop,
                            arb_t loss) {
  arb_ptr p = _arb_vec_init(EXPERTS), mean = _arb_vec_init(EXPERTS);
  arb_t q, t;
  arb_init(q);
  arb_init(t);
  for (int i = 0; i < BATCH; i++) {
    oracle_probabilities(PHIBAL_GATE_PROBABILITY, EXPERTS, x + i * EXPERTS, p, NULL);
    _arb_vec_add(mean, mean, p, EXPERTS, ORACLE_PRECISION);
  }
  arb_zero(loss);
  for (int e = 0; e < EXPERTS; e++) {
    arb_div_si(mean + e, mean + e, BATCH, ORACLE_PRECISION);
    if (stop) {
      arb_set_d(q, (double)price[e]);
    } else {
      arb_set_d(t, 1.0 - eta);
      arb_mul(q, m0 + e, t, ORACLE_PRECISION);
      arb_set_d(t, eta);
      arb_addmul(q, mean + e, t, ORACLE_PRECISION);
      arb_log(q, q, ORACLE_PRECISION);
    }
    arb_mul(q, q, mean + e, ORACLE_PRECISION);
    arb_mul_si(q, q, EXPERTS, ORACLE_PRECISION);
    arb_add(loss, loss, q, ORACLE_PRECISION);
  }
  arb_clear(t);
  arb_clear(q);
  _arb_vec_clear(mean, EXPERTS);
  _arb_vec_clear(p, EXPERTS);
}

static void oracle_phi_difference(arb_ptr x, int cell, const float *price, arb_srcptr m0, bool stop,
                                  arb_t slope) {
  arb_t h, down;
  arb_init(h);
  arb_init(down);
  arb_set_d(h, 0x1p-100);
  arb_add(x + cell, x + cell, h, ORACLE_PRECISION);
  oracle_phi_loss(x, price, m0, 0.5, stop, slope);
  arb_sub(x + cell, x + cell, h, ORACLE_PRECISION);
  arb_sub(x + cell, x + cell, h, ORACLE_PRECISION);
  oracle_phi_loss(x, price, m0, 0.5, stop, down);
  arb_add(x + cell, x + cell, h, ORACLE_PRECISION);
  arb_sub(slope, slope, down, ORACLE_PRECISION);
  arb_mul_2exp_si(slope, slope, 99);
  arb_add_error_2exp_si(slope, -190); /* h^2/6 times a third derivative below 2^10 */
  arb_clear(down);
  arb_clear(h);
}

Test(reference_losses, phi_loss_gradient_stops_at_the_price) {
  float logits[BATCH * EXPERTS], price[EXPERTS];
  uint64_t seed = 51u;
  for (int i = 0; i < BATCH; i++)
    logits_generate(LOGITS_ORDINARY, EXPERTS, logits + i * EXPERTS, &seed);
  phibal_router router = {EXPERTS, 1, PHIBAL_GATE_PROBABILITY, 1.0f};
  phibal_enclosure *mean = phibal_enclosure_vector(EXPERTS, 96);
  cr_assert_eq(phibal_reference_loads((phibal_reference_batch){&router, logits, NULL, NULL}, BATCH,
                                      96, mean, NULL, NULL),
               PHIBAL_OK);
  arb_ptr x = _arb_vec_init(BATCH * EXPERTS), m0 = _arb_vec_init(EXPERTS);
  arb_t slope, slack;
  arb_init(slope);
  arb_init(slack);
  oracle_set_floats(x, BATCH * EXPERTS, logits);
  for (int e = 0; e < EXPERTS; e++) {
    arb_set_d(m0 + e, 1.0 / EXPERTS);
    double m = 0.5 / EXPERTS + 0.5 * mpfr_get_d(mean[e].lo, MPFR_RNDN);
    price[e] = (float)log(m);
  }
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, EXPERTS, 1, 128), PHIBAL_OK);
  bool differs = false;
  for (int i = 0; i < BATCH; i++) {
    const int32_t selection[1] = {0};
    /* alpha = 1: E / T, rounded to binary64 */
    cr_assert_eq(phibal_reference_token_backward(&t, &router, logits + i * EXPERTS, selection, NULL,
                                                 price, (double)EXPERTS / BATCH, 0.0),
                 PHIBAL_OK);
    for (int e = 0; e < EXPERTS; e++) {
      oracle_phi_difference(x, i * EXPERTS + e, price, m0, true, slope);
      arb_mul_2exp_si(slack, slope, -53);
      arb_add_error(slope, slack);
      cr_assert(oracle_contains(&t.gradient[e], slope), "token %d, expert %d", i, e);
      oracle_phi_difference(x, i * EXPERTS + e, price, m0, false, slope);
      /* the binary32 price above is within 2^-22 of log m: far less than what is missing */
      arb_add_error_2exp_si(slope, -16);
      differs = differs || !oracle_contains(&t.gradient[e], slope);
    }
  }
  cr_assert(differs, "the gradient through the price cannot be told from the right one");
  arb_clear(slack);
  arb_clear(slope);
  _arb_vec_clear(m0, EXPERTS);
  _arb_vec_clear(x, BATCH * EXPERTS);
  phibal_reference_token_clear(&t);
  phibal_enclosure_vector_clear(mean, EXPERTS);
}

/* (L5) with padding; the mean is over the unmasked tokens only. */
Test(reference_losses, z_loss_agrees_with_arb) {
  float lse[50];
  uint8_t mask[50];
  uint64_t seed = 61u;
  phibal_enclosure loss;
  phibal_enclosure_init(&loss, 96);
  arb_t truth, t;
  arb_init(truth);
  arb_init(t);
  int64_t n = 0;
  for (int i = 0; i < 50; i++) {
    lse[i] = random_float(&seed, i % 7 ? 20.0 : 1e4);
    mask[i] = i % 4 != 1;
    if (!mask[i]) {
      lse[i] = NAN; /* padding is not looked at */
      continue;
    }
    n++;
    arb_set_d(t, (double)lse[i]);
    arb_addmul(truth, t, t, ORACLE_PRECISION);
  }
  arb_set_d(t, 1e-3);
  arb_mul(truth, truth, t, ORACLE_PRECISION);
  arb_div_si(truth, truth, n, ORACLE_PRECISION);
  cr_assert_eq(phibal_reference_z_loss(50, 1e-3, lse, mask, 96, &loss), PHIBAL_OK);
  cr_assert(oracle_contains(&loss, truth));
  cr_assert(oracle_is_narrow(&loss, ldexp(2.0 * 54.0, 1 - 96), truth)); /* 50 sums and 4 more */
  cr_assert_eq(phibal_reference_z_loss(50, 1e-3, lse, NULL, 96, &loss), PHIBAL_ERROR_NONFINITE);
  cr_assert_eq(phibal_reference_z_loss(0, 1e-3, lse, NULL, 96, &loss), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&loss));
  arb_clear(t);
  arb_clear(truth);
  phibal_enclosure_clear(&loss);
}
