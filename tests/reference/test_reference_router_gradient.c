/* The reference's gradient of the router in the logits (G1), (G2) against the quotient rule in Arb,
   finite differences and identities. */
#include "reference_routing.h"

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
    cr_assert(oracle_contains(&t.condition[e], condition + e), "%s: condition %d", what, e);
    if (limit < 0.5)
      cr_assert(oracle_is_narrow(&t.gradient[e], limit, condition + e), "%s: width %d", what, e);
  }
  _arb_vec_clear(gradient, n);
  _arb_vec_clear(condition, n);
  phibal_reference_token_clear(&t);
}

Test(reference_router_gradient, backward_agrees_with_the_quotient_rule) {
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
Test(reference_router_gradient, backward_agrees_with_finite_differences) {
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
Test(reference_router_gradient, rows_of_the_gradient_sum_to_zero) {
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
Test(reference_router_gradient, permuting_experts_permutes_everything) {
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
