/* The reference's router (R1) to (R8), (G1), (G2) against Arb. */
#include "reference_oracle.h"
#include <omp.h>
#include <string.h>

typedef struct routing_case {
  phibal_router router;
  float *logits, *bias, *gate_gradient, *price;
  double price_scale, z_scale;
} routing_case;

static const phibal_gate all_gates[] = {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_GATE_PROBABILITY,
                                        PHIBAL_GATE_SIGMOID};

static routing_case routing_case_create(int32_t experts, int32_t active, phibal_gate gate,
                                        logit_pattern pattern, bool biased, uint64_t seed) {
  size_t e = (size_t)experts;
  routing_case c = {.router = {experts, active, gate, 1.75f},
                    .logits = malloc(e * sizeof(float)),
                    .bias = biased ? malloc(e * sizeof(float)) : NULL,
                    .gate_gradient = malloc(e * sizeof(float)),
                    .price = malloc(e * sizeof(float)),
                    .price_scale = 0.037,
                    .z_scale = gate == PHIBAL_GATE_SIGMOID ? 0.0 : 0.011};
  logits_generate(pattern, experts, c.logits, &seed);
  for (int32_t i = 0; i < experts; i++) {
    if (biased) c.bias[i] = random_float(&seed, i % 3 ? 6.0 : 0.5);
    c.gate_gradient[i] = random_float(&seed, 2.0);
    c.price[i] = random_float(&seed, 5.0);
  }
  return c;
}

static void routing_case_destroy(routing_case *c) {
  free(c->logits);
  free(c->bias);
  free(c->gate_gradient);
  free(c->price);
}

/* max |x_j - x_e|: exp(x_j - max) is known within (|x_j - max| + 1) units, since the difference was
   rounded to the working precision. For sigmoids 0 counts as a logit; where exp(x) is beyond MPFR's
   exponents this is so large that no width is asked for. */
static double logits_spread(const routing_case *c) {
  bool sigmoid = c->router.gate == PHIBAL_GATE_SIGMOID;
  double low = sigmoid ? 0.0 : HUGE_VAL, high = sigmoid ? 0.0 : -HUGE_VAL;
  for (int32_t e = 0; e < c->router.experts; e++) {
    low = fmin(low, (double)c->logits[e]);
    high = fmax(high, (double)c->logits[e]);
  }
  return high - low;
}

/* Relative width of probabilities and gates in units of 2^(1-precision): exp of both ends of an
   argument of size `spread` costs 2 spread + 2, a sum of E such terms as much plus E, the division,
   the sigmoid's factor and the scale a few more; twice over for the two roundings outward. */
static double relative_units(const routing_case *c) {
  return 2.0 * (4.0 * logits_spread(c) + c->router.experts + 16.0);
}

/* terms = |max x| + log sum exp(x - max x), the difference of two logarithms in the plain form. */
static void oracle_logsumexp_terms(int32_t n, arb_srcptr x, const arb_t lse, arb_t terms) {
  arb_t largest;
  arb_init(largest);
  arb_set(largest, x);
  for (int32_t e = 1; e < n; e++) arb_max(largest, largest, x + e, ORACLE_PRECISION);
  arb_sub(terms, lse, largest, ORACLE_PRECISION);
  arb_abs(largest, largest);
  arb_add(terms, terms, largest, ORACLE_PRECISION);
  arb_clear(largest);
}

static void check_forward(const routing_case *c, mpfr_prec_t precision, const char *what) {
  int32_t n = c->router.experts, k = c->router.active;
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, n, k, precision), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_forward(&t, &c->router, c->logits, c->bias), PHIBAL_OK,
               "%s: %s", what, phibal_status_message());
  arb_ptr x = _arb_vec_init(n), p = _arb_vec_init(n), g = _arb_vec_init(k);
  arb_t lse;
  arb_init(lse);
  int32_t *selection = malloc((size_t)k * sizeof *selection);
  oracle_set_floats(x, n, c->logits);
  oracle_probabilities(c->router.gate, n, x, p, lse);
  oracle_select(&c->router, c->logits, c->bias, selection);
  double limit = ldexp(relative_units(c), 1 - (int)precision);
  for (int32_t e = 0; e < n; e++) {
    cr_assert(oracle_contains(&t.probability[e], p + e), "%s: probability %d", what, e);
    if (limit < 0.5)
      cr_assert(oracle_is_narrow(&t.probability[e], limit, p + e), "%s: width of %d", what, e);
  }
  for (int32_t s = 0; s < k; s++)
    cr_assert_eq(t.selection[s], selection[s], "%s: slot %d is %d, not %d", what, s, t.selection[s],
                 selection[s]);
  oracle_gates(&c->router, x, selection, g);
  for (int32_t s = 0; s < k; s++) {
    cr_assert(oracle_contains(&t.gate[s], g + s), "%s: gate %d", what, s);
    if (limit < 0.5)
      cr_assert(oracle_is_narrow(&t.gate[s], limit, g + s), "%s: width of gate %d", what, s);
  }
  if (c->router.gate != PHIBAL_GATE_SIGMOID) {
    cr_assert(oracle_contains(&t.logsumexp, lse), "%s: logsumexp", what);
    oracle_logsumexp_terms(n, x, lse, lse);
    cr_assert(oracle_contains(&t.logsumexp_terms, lse), "%s: terms of logsumexp", what);
  }
  free(selection);
  arb_clear(lse);
  _arb_vec_clear(x, n);
  _arb_vec_clear(p, n);
  _arb_vec_clear(g, k);
  phibal_reference_token_clear(&t);
}

static const int32_t shapes[][2] = {{1, 1}, {2, 1}, {3, 3}, {5, 2}, {8, 2}, {13, 13}, {37, 4}};

/* Runs `check` on every shape, gate and pattern, with and without a bias. */
static void check_everywhere(void (*check)(const routing_case *, mpfr_prec_t, const char *)) {
  char what[128];
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t g = 0; g < 3; g++)
      for (int pattern = 0; pattern < LOGITS_PATTERNS; pattern++)
        for (int biased = 0; biased < 2; biased++) {
          routing_case c =
              routing_case_create(shapes[s][0], shapes[s][1], all_gates[g], (logit_pattern)pattern,
                                  biased, 1000u * s + 100u * g + 2u * (unsigned)pattern);
          snprintf(what, sizeof what, "E = %d, k = %d, gate %d, pattern %d, bias %d",
                   (int)shapes[s][0], (int)shapes[s][1], (int)all_gates[g], pattern, biased);
          check(&c, (s & 1) ? 64 : 128, what);
          routing_case_destroy(&c);
        }
}

Test(reference_router, forward_agrees_with_arb) {
  check_everywhere(check_forward);
}

Test(reference_router, forward_at_1024_experts) {
  for (size_t g = 0; g < 3; g++) {
    routing_case c =
        routing_case_create(1024, 8, all_gates[g], LOGITS_ORDINARY, g == 1, 77u + (unsigned)g);
    check_forward(&c, 96, "E = 1024");
    routing_case_destroy(&c);
  }
}

Test(reference_router, ties_go_to_the_lower_index) {
  const float logits[6] = {-0.0f, 1.0f, 0.0f, 1.0f, -0.0f, 0.0f};
  const int32_t expected[6] = {1, 3, 0, 2, 4, 5};
  phibal_router router = {6, 6, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 6, 6, 64), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_OK);
  cr_assert_arr_eq(t.selection, expected, sizeof expected);
  phibal_reference_token_clear(&t);
}

/* Logits above 17.33 all have the score 1 after rounding to binary32: a tie for sigmoid routers,
   not for softmax routers. */
Test(reference_router, sigmoid_scores_tie_after_rounding) {
  const float logits[3] = {20.0f, 40.0f, 30.0f};
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 3, 2, 64), PHIBAL_OK);
  phibal_router router = {3, 2, PHIBAL_GATE_SIGMOID, 1.0f};
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_OK);
  cr_assert(t.selection[0] == 0 && t.selection[1] == 1);
  router.gate = PHIBAL_GATE_TOPK_SOFTMAX;
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_OK);
  cr_assert(t.selection[0] == 1 && t.selection[1] == 2);
  phibal_reference_token_clear(&t);
}

/* The bias is added in binary64: 2^-30 decides between equal logits of 1, and would be lost in
   binary32. */
Test(reference_router, bias_is_added_in_binary64) {
  const float logits[2] = {1.0f, 1.0f}, bias[2] = {0.0f, 0x1p-30f};
  phibal_router router = {2, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 2, 1, 64), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, bias), PHIBAL_OK);
  cr_assert_eq(t.selection[0], 1);
  phibal_reference_token_clear(&t);
}

/* A bias can select logits so far below the largest of the row that exp(x - max) is 0 in any range
   of exponents; their gates are still 1/2 each. */
Test(reference_router, gates_do_not_see_the_rest_of_the_row) {
  const float logits[3] = {3e38f, -3e38f, -3e38f}, bias[3] = {-3.2e38f, 3e38f, 3e38f};
  for (size_t g = 0; g < 3; g += 2) {
    phibal_router router = {3, 2, all_gates[g], 1.0f};
    phibal_reference_token t;
    cr_assert_eq(phibal_reference_token_init(&t, 3, 2, 64), PHIBAL_OK);
    cr_assert_eq(phibal_reference_token_forward(&t, &router, logits, bias), PHIBAL_OK);
    cr_assert(t.selection[0] == 1 && t.selection[1] == 2);
    for (int s = 0; s < 2; s++) {
      cr_assert(mpfr_cmp_d(t.gate[s].lo, 0.4999999) > 0);
      cr_assert(mpfr_cmp_d(t.gate[s].hi, 0.5000001) < 0);
    }
    phibal_reference_token_clear(&t);
  }
}

/* du_j/dx_j: exp(x_j), or sigma(x_j) sigma(-x_j). */
static void oracle_weight_derivative(phibal_gate gate, const arb_t x, const arb_t u, arb_t du) {
  arb_set(du, u);
  if (gate != PHIBAL_GATE_SIGMOID) return;
  arb_t other;
  arb_init(other);
  arb_neg(other, x);
  oracle_sigmoid(other, other);
  arb_mul(du, du, other, ORACLE_PRECISION);
  arb_clear(other);
}

/* gradient_j += sum_i weight_i d(u_a / S)/dx_j over i with a = index[i] (null: i), S = sum of u
   over `pool`: the quotient rule, term by term. condition_j collects |terms| du_j / S. */
static void oracle_quotient_rule(phibal_gate gate, int32_t n, arb_srcptr x, int32_t terms,
                                 const int32_t *index, const float *weight, double scale,
                                 int32_t pool_size, const int32_t *pool, arb_ptr gradient,
                                 arb_ptr condition) {
  arb_ptr u = _arb_vec_init(n);
  arb_t sum, du, t, w;
  arb_init(sum);
  arb_init(du);
  arb_init(t);
  arb_init(w);
  oracle_weights(gate, n, x, u);
  for (int32_t i = 0; i < pool_size; i++)
    arb_add(sum, sum, u + (pool ? pool[i] : i), ORACLE_PRECISION);
  for (int32_t r = 0; r < pool_size; r++) {
    int32_t j = pool ? pool[r] : r;
    oracle_weight_derivative(gate, x + j, u + j, du);
    arb_div(du, du, sum, ORACLE_PRECISION);
    for (int32_t i = 0; i < terms; i++) {
      int32_t a = index ? index[i] : i;
      arb_set_d(w, (double)weight[i]);
      arb_set_d(t, scale);
      arb_mul(w, w, t, ORACLE_PRECISION);
      arb_mul(w, w, du, ORACLE_PRECISION);
      /* -u_a / S^2 u_j', and + u_j' / S where a = j */
      arb_div(t, u + a, sum, ORACLE_PRECISION);
      arb_mul(t, t, w, ORACLE_PRECISION);
      arb_sub(gradient + j, gradient + j, t, ORACLE_PRECISION);
      arb_abs(t, t);
      arb_add(condition + j, condition + j, t, ORACLE_PRECISION);
      if (a != j) continue;
      arb_add(gradient + j, gradient + j, w, ORACLE_PRECISION);
      arb_abs(w, w);
      arb_add(condition + j, condition + j, w, ORACLE_PRECISION);
    }
  }
  arb_clear(w);
  arb_clear(t);
  arb_clear(du);
  arb_clear(sum);
  _arb_vec_clear(u, n);
}

/* gradient_j += z_scale lse p_j, condition its size with the terms of lse in its place. */
static void oracle_z_rule(int32_t n, arb_srcptr x, double z_scale, arb_ptr gradient,
                          arb_ptr condition) {
  arb_ptr p = _arb_vec_init(n);
  arb_t lse, terms, t;
  arb_init(lse);
  arb_init(terms);
  arb_init(t);
  oracle_probabilities(PHIBAL_GATE_PROBABILITY, n, x, p, lse);
  oracle_logsumexp_terms(n, x, lse, terms);
  for (int32_t j = 0; j < n; j++) {
    arb_set_d(t, z_scale);
    arb_mul(t, t, p + j, ORACLE_PRECISION);
    arb_addmul(gradient + j, t, lse, ORACLE_PRECISION);
    arb_addmul(condition + j, t, terms, ORACLE_PRECISION);
  }
  arb_clear(t);
  arb_clear(terms);
  arb_clear(lse);
  _arb_vec_clear(p, n);
}

/* (G2) by the quotient rule. */
static void oracle_gradient(const routing_case *c, const int32_t *selection, arb_ptr gradient,
                            arb_ptr condition) {
  int32_t n = c->router.experts, k = c->router.active;
  arb_ptr x = _arb_vec_init(n);
  oracle_set_floats(x, n, c->logits);
  oracle_quotient_rule(c->router.gate, n, x, n, NULL, c->price, c->price_scale, n, NULL, gradient,
                       condition);
  if (c->z_scale != 0.0) oracle_z_rule(n, x, c->z_scale, gradient, condition);
  bool whole = c->router.gate == PHIBAL_GATE_PROBABILITY ||
               (c->router.gate == PHIBAL_GATE_TOPK_SOFTMAX && k == 1);
  oracle_quotient_rule(c->router.gate, n, x, k, selection, c->gate_gradient,
                       (double)c->router.scale, whole ? n : k, whole ? NULL : selection, gradient,
                       condition);
  _arb_vec_clear(x, n);
}

/* Gradient and condition, by the quotient rule. The width: every term is known within the relative
   width of a product of two probabilities, sums add one unit a term; logsumexp is max + log(sum)
   and can cancel, so that its term's width is bounded with |max| + log E in the place of
   |logsumexp|. */
static void check_backward(const routing_case *c, mpfr_prec_t precision, const char *what) {
  int32_t n = c->router.experts, k = c->router.active;
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, n, k, precision), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_select(&t, &c->router, c->logits, c->bias), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_backward(&t, &c->router, c->logits, t.selection,
                                               c->gate_gradient, c->price, c->price_scale,
                                               c->z_scale),
               PHIBAL_OK, "%s: %s", what, phibal_status_message());
  arb_ptr gradient = _arb_vec_init(n), condition = _arb_vec_init(n);
  oracle_gradient(c, t.selection, gradient, condition);
  double limit = ldexp(4.0 * relative_units(c), 1 - (int)precision);
  for (int32_t e = 0; e < n; e++) {
    cr_assert(oracle_contains(&t.gradient[e], gradient + e), "%s: gradient %d", what, e);
    if (limit > 0.5) continue;
    /* The oracle's terms -u_a/S and +1 for a = j are merged differently: never more than three
       times apart in either direction. */
    arb_t thrice;
    arb_init(thrice);
    arb_mul_si(thrice, condition + e, 3, ORACLE_PRECISION);
    cr_assert(oracle_compare_upper(t.condition[e].lo, thrice) <= 0, "%s: condition %d", what, e);
    mpfr_mul_si(t.term.hi, t.condition[e].hi, 3, MPFR_RNDU);
    cr_assert(oracle_compare_lower(t.term.hi, condition + e) >= 0, "%s: condition %d", what, e);
    cr_assert(oracle_is_narrow(&t.gradient[e], 3.0 * limit, condition + e), "%s: width %d", what,
              e);
    arb_clear(thrice);
  }
  _arb_vec_clear(gradient, n);
  _arb_vec_clear(condition, n);
  phibal_reference_token_clear(&t);
}

Test(reference_router, backward_agrees_with_the_quotient_rule) {
  check_everywhere(check_backward);
}

/* The loss that (G2) is the gradient of, in plain form: price and selection held fixed. */
static void oracle_loss(const routing_case *c, arb_srcptr x, const int32_t *selection, arb_t loss) {
  int32_t n = c->router.experts, k = c->router.active;
  arb_ptr p = _arb_vec_init(n), g = _arb_vec_init(k);
  arb_t t, lse;
  arb_init(t);
  arb_init(lse);
  oracle_probabilities(c->router.gate, n, x, p, lse);
  oracle_gates(&c->router, x, selection, g);
  arb_zero(loss);
  for (int32_t e = 0; e < n; e++) {
    arb_set_d(t, c->price_scale);
    arb_mul(p + e, p + e, t, ORACLE_PRECISION);
    arb_set_d(t, (double)c->price[e]);
    arb_addmul(loss, p + e, t, ORACLE_PRECISION);
  }
  arb_set_d(t, c->z_scale / 2.0);
  arb_mul(lse, lse, lse, ORACLE_PRECISION);
  if (c->z_scale != 0.0) arb_addmul(loss, lse, t, ORACLE_PRECISION);
  for (int32_t s = 0; s < k; s++) {
    arb_set_d(t, (double)c->gate_gradient[s]);
    arb_addmul(loss, g + s, t, ORACLE_PRECISION);
  }
  arb_clear(lse);
  arb_clear(t);
  _arb_vec_clear(p, n);
  _arb_vec_clear(g, k);
}

/* Central differences with h = 2^-100: the truncation error is h^2/6 times a third derivative,
   which for these losses (coefficients below 40, logits below 32) is below 2^12: 2^-190 in all. */
Test(reference_router, backward_agrees_with_finite_differences) {
  for (size_t g = 0; g < 3; g++)
    for (int32_t k = 1; k <= 7; k += 3) {
      routing_case c =
          routing_case_create(7, k, all_gates[g], LOGITS_ORDINARY, k == 4, 5u + (unsigned)k);
      phibal_reference_token t;
      cr_assert_eq(phibal_reference_token_init(&t, 7, k, 128), PHIBAL_OK);
      cr_assert_eq(phibal_reference_token_select(&t, &c.router, c.logits, c.bias), PHIBAL_OK);
      cr_assert_eq(phibal_reference_token_backward(&t, &c.router, c.logits, t.selection,
                                                   c.gate_gradient, c.price, c.price_scale,
                                                   c.z_scale),
                   PHIBAL_OK);
      arb_ptr x = _arb_vec_init(7);
      arb_t up, down, h;
      arb_init(up);
      arb_init(down);
      arb_init(h);
      arb_set_d(h, 0x1p-100);
      oracle_set_floats(x, 7, c.logits);
      for (int32_t e = 0; e < 7; e++) {
        arb_add(x + e, x + e, h, ORACLE_PRECISION);
        oracle_loss(&c, x, t.selection, up);
        arb_sub(x + e, x + e, h, ORACLE_PRECISION);
        arb_sub(x + e, x + e, h, ORACLE_PRECISION);
        oracle_loss(&c, x, t.selection, down);
        arb_add(x + e, x + e, h, ORACLE_PRECISION);
        arb_sub(up, up, down, ORACLE_PRECISION);
        arb_mul_2exp_si(up, up, 99);
        arb_add_error_2exp_si(up, -190);
        cr_assert(oracle_contains(&t.gradient[e], up), "gate %d, k = %d, expert %d",
                  (int)all_gates[g], (int)k, (int)e);
      }
      arb_clear(h);
      arb_clear(down);
      arb_clear(up);
      _arb_vec_clear(x, 7);
      phibal_reference_token_clear(&t);
      routing_case_destroy(&c);
    }
}

/* The softmax part of a row sums to 0 and does not see a constant added to the price; the z part
   sums to z_scale logsumexp. */
Test(reference_router, rows_of_the_gradient_sum_to_zero) {
  routing_case c = routing_case_create(9, 3, PHIBAL_GATE_TOPK_SOFTMAX, LOGITS_ORDINARY, false, 11u);
  phibal_reference_token t;
  phibal_enclosure sum, z;
  phibal_enclosure_init(&sum, 128);
  phibal_enclosure_init(&z, 128);
  cr_assert_eq(phibal_reference_token_init(&t, 9, 3, 128), PHIBAL_OK);
  const int32_t selection[3] = {8, 0, 4};
  cr_assert_eq(phibal_reference_token_backward(&t, &c.router, c.logits, selection, c.gate_gradient,
                                               c.price, 1.0, 0.0),
               PHIBAL_OK);
  cr_assert_eq(phibal_enclosure_sum(&sum, 9, t.gradient), PHIBAL_OK);
  cr_assert(phibal_enclosure_contains_zero(&sum));
  for (int e = 0; e < 9; e++) cr_assert_not(phibal_enclosure_contains_zero(&t.gradient[e]));
  phibal_enclosure *before = phibal_enclosure_vector(9, 128);
  for (int e = 0; e < 9; e++) c.price[e] = ldexpf(roundf(ldexpf(c.price[e], 10)), -10);
  cr_assert_eq(
      phibal_reference_token_backward(&t, &c.router, c.logits, selection, NULL, c.price, 1.0, 0.0),
      PHIBAL_OK);
  for (int e = 0; e < 9; e++) {
    phibal_enclosure_set(&before[e], &t.gradient[e]);
    c.price[e] += 64.0f; /* exact: multiples of 2^-10 below 2^7 */
  }
  cr_assert_eq(
      phibal_reference_token_backward(&t, &c.router, c.logits, selection, NULL, c.price, 1.0, 0.0),
      PHIBAL_OK);
  for (int e = 0; e < 9; e++)
    cr_assert(phibal_enclosure_overlaps(&before[e], &t.gradient[e]), "expert %d", e);
  cr_assert_eq(
      phibal_reference_token_backward(&t, &c.router, c.logits, selection, NULL, NULL, 1.0, 0.25),
      PHIBAL_OK);
  cr_assert_eq(phibal_enclosure_sum(&sum, 9, t.gradient), PHIBAL_OK);
  phibal_enclosure_set_d(&z, 0.25);
  cr_assert_eq(phibal_enclosure_mul(&z, &z, &t.logsumexp), PHIBAL_OK);
  cr_assert(phibal_enclosure_overlaps(&z, &sum));
  phibal_enclosure_vector_clear(before, 9);
  phibal_reference_token_clear(&t);
  phibal_enclosure_clear(&sum);
  phibal_enclosure_clear(&z);
  routing_case_destroy(&c);
}

static void vector_reverse(int32_t n, float *x) {
  for (int32_t i = 0; i < n / 2; i++) {
    float t = x[i];
    x[i] = x[n - 1 - i];
    x[n - 1 - i] = t;
  }
}

/* Reversing the experts reverses probabilities and gradients, renames the selection and leaves the
   gates alone (no ties). */
Test(reference_router, permuting_experts_permutes_everything) {
  for (size_t g = 0; g < 3; g++) {
    routing_case c = routing_case_create(10, 3, all_gates[g], LOGITS_ORDINARY, true, 21u);
    phibal_reference_token t, r;
    cr_assert_eq(phibal_reference_token_init(&t, 10, 3, 128), PHIBAL_OK);
    cr_assert_eq(phibal_reference_token_init(&r, 10, 3, 128), PHIBAL_OK);
    cr_assert_eq(phibal_reference_token_forward(&t, &c.router, c.logits, c.bias), PHIBAL_OK);
    cr_assert_eq(phibal_reference_token_backward(&t, &c.router, c.logits, t.selection,
                                                 c.gate_gradient, c.price, 0.5, c.z_scale),
                 PHIBAL_OK);
    vector_reverse(10, c.logits);
    vector_reverse(10, c.bias);
    vector_reverse(10, c.price);
    cr_assert_eq(phibal_reference_token_forward(&r, &c.router, c.logits, c.bias), PHIBAL_OK);
    cr_assert_eq(phibal_reference_token_backward(&r, &c.router, c.logits, r.selection,
                                                 c.gate_gradient, c.price, 0.5, c.z_scale),
                 PHIBAL_OK);
    for (int e = 0; e < 10; e++) {
      cr_assert(phibal_enclosure_overlaps(&t.probability[e], &r.probability[9 - e]));
      cr_assert(phibal_enclosure_overlaps(&t.gradient[e], &r.gradient[9 - e]));
    }
    for (int s = 0; s < 3; s++) {
      cr_assert_eq(t.selection[s], 9 - r.selection[s]);
      cr_assert(phibal_enclosure_overlaps(&t.gate[s], &r.gate[s]));
    }
    phibal_reference_token_clear(&t);
    phibal_reference_token_clear(&r);
    routing_case_destroy(&c);
  }
}

/* (R6), (R7) with a padding mask; every token weighs the same, padding nothing. */
static void check_loads(phibal_gate gate, int64_t tokens, int32_t n, int32_t k, bool masked) {
  phibal_router router = {n, k, gate, 1.0f};
  float *logits = malloc((size_t)(tokens * n) * sizeof *logits);
  uint8_t *mask = calloc((size_t)tokens, 1);
  uint64_t seed = 31u + (uint64_t)tokens;
  int64_t *count = calloc((size_t)n, sizeof *count), *expected = calloc((size_t)n, sizeof *count);
  int64_t counted = 0, unmasked = 0;
  int32_t *selection = malloc((size_t)k * sizeof *selection);
  arb_ptr x = _arb_vec_init(n), p = _arb_vec_init(n), sum = _arb_vec_init(n);
  for (int64_t i = 0; i < tokens; i++) {
    float *row = logits + i * n;
    logits_generate((logit_pattern)(i % LOGITS_HUGE), n, row, &seed);
    mask[i] = !masked || i % 3 != 1 || i == tokens - 1;
    if (!mask[i]) continue;
    unmasked++;
    oracle_set_floats(x, n, row);
    oracle_probabilities(gate, n, x, p, NULL);
    _arb_vec_add(sum, sum, p, n, ORACLE_PRECISION);
    oracle_select(&router, row, NULL, selection);
    for (int32_t s = 0; s < k; s++) expected[selection[s]]++;
  }
  phibal_enclosure *mean = phibal_enclosure_vector((size_t)n, 96);
  cr_assert_eq(phibal_reference_loads(&router, tokens, logits, NULL, masked ? mask : NULL, 96, mean,
                                      count, &counted),
               PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(counted, unmasked);
  for (int32_t e = 0; e < n; e++) {
    arb_div_si(sum + e, sum + e, unmasked, ORACLE_PRECISION);
    cr_assert(oracle_contains(&mean[e], sum + e), "T = %d, E = %d: expert %d", (int)tokens, (int)n,
              (int)e);
    /* Terms are known within 2 (4 * 2e4 + E + 16) units (the patterns' spread), and T are added. */
    cr_assert(oracle_is_narrow(&mean[e], ldexp(2.0 * (8e4 + n + 16.0) + (double)tokens + 4.0, -95),
                               sum + e));
    cr_assert_eq(count[e], expected[e]);
  }
  phibal_enclosure *frequency = phibal_enclosure_vector((size_t)n, 96);
  cr_assert_eq(phibal_reference_frequency(n, k, counted, count, frequency), PHIBAL_OK);
  for (int32_t e = 0; e < n; e++) {
    arb_set_si(x + e, expected[e]);
    arb_div_si(x + e, x + e, unmasked, ORACLE_PRECISION);
    arb_div_si(x + e, x + e, k, ORACLE_PRECISION);
    cr_assert(oracle_contains(&frequency[e], x + e));
    cr_assert(oracle_width_in_ulps(&frequency[e]) <= 1.0);
  }
  phibal_enclosure_vector_clear(frequency, (size_t)n);
  phibal_enclosure_vector_clear(mean, (size_t)n);
  _arb_vec_clear(sum, n);
  _arb_vec_clear(p, n);
  _arb_vec_clear(x, n);
  free(selection);
  free(expected);
  free(count);
  free(mask);
  free(logits);
}

Test(reference_router, loads_agree_with_arb) {
  for (size_t g = 0; g < 3; g++) {
    check_loads(all_gates[g], 1, 1, 1, false);
    check_loads(all_gates[g], 1, 5, 5, true);
    check_loads(all_gates[g], 63, 7, 2, true);
    check_loads(all_gates[g], 200, 3, 1, false);
  }
}

Test(reference_router, loads_do_not_depend_on_the_threads) {
  enum { N = 5, T = 150 };
  float logits[N * T];
  uint64_t seed = 71u;
  for (int i = 0; i < T; i++) logits_generate(LOGITS_ORDINARY, N, logits + i * N, &seed);
  phibal_router router = {N, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  phibal_enclosure *one = phibal_enclosure_vector(N, 64), *more = phibal_enclosure_vector(N, 64);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  cr_assert_eq(phibal_reference_loads(&router, T, logits, NULL, NULL, 64, one, NULL, NULL),
               PHIBAL_OK);
  omp_set_num_threads(3);
  cr_assert_eq(phibal_reference_loads(&router, T, logits, NULL, NULL, 64, more, NULL, NULL),
               PHIBAL_OK);
  omp_set_num_threads(threads);
  for (int e = 0; e < N; e++) {
    cr_assert(mpfr_equal_p(one[e].lo, more[e].lo) && mpfr_equal_p(one[e].hi, more[e].hi));
    cr_assert_not(phibal_enclosure_is_exact(&one[e]));
  }
  phibal_enclosure_vector_clear(one, N);
  phibal_enclosure_vector_clear(more, N);
}

Test(reference_router, wrong_arguments_are_refused) {
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 4, 5, 64), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_token_init(&t, PHIBAL_MAX_EXPERTS + 1, 1, 64),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_token_init(&t, 4, 2, 8), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_token_init(&t, 4, 2, 64), PHIBAL_OK);
  float logits[4] = {0.0f, 1.0f, NAN, 2.0f};
  const int32_t experts[2] = {0, 4};
  phibal_router router = {4, 2, PHIBAL_GATE_SIGMOID, 1.0f};
  cr_assert_eq(phibal_reference_token_forward(&t, &router, logits, NULL), PHIBAL_ERROR_NONFINITE);
  cr_assert(strstr(phibal_status_message(), "2"));
  logits[2] = INFINITY;
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_ERROR_NONFINITE);
  logits[2] = 0.0f;
  cr_assert_eq(phibal_reference_token_backward(&t, &router, logits, experts, NULL, NULL, 1.0, 0.0),
               PHIBAL_ERROR_ARGUMENT);
  const int32_t good[2] = {0, 3};
  cr_assert_eq(phibal_reference_token_backward(&t, &router, logits, good, NULL, NULL, 1.0, 0.5),
               PHIBAL_ERROR_ARGUMENT);
  router.experts = 3;
  cr_assert_eq(phibal_reference_token_forward(&t, &router, logits, NULL), PHIBAL_ERROR_ARGUMENT);
  phibal_reference_token_clear(&t);
  const uint8_t padding[1] = {0};
  phibal_enclosure mean[4];
  for (int e = 0; e < 4; e++) phibal_enclosure_init(&mean[e], 64);
  router.experts = 4;
  cr_assert_eq(phibal_reference_loads(&router, 1, logits, NULL, padding, 64, mean, NULL, NULL),
               PHIBAL_ERROR_ARGUMENT);
  for (int e = 0; e < 4; e++) phibal_enclosure_clear(&mean[e]);
}
