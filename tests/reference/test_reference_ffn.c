/* The reference's activations and gated FFN (E2), (E3) against Arb and finite differences. */
#include "reference_expert.h"

/* act(a) as it is usually written: a / (1 + exp(-a)), and 0.5 a (1 + tanh(sqrt(2/pi) (a + 0.044715
   a^3))). At ORACLE_WIDE bits, since 1 + tanh cancels. */
enum { ORACLE_WIDE = 4096 };

static void oracle_activation(phibal_activation activation, arb_t z, const arb_t a) {
  const slong P = ORACLE_WIDE;
  arb_t t, u;
  arb_init(t);
  arb_init(u);
  if (activation == PHIBAL_ACTIVATION_SILU) {
    arb_neg(t, a);
    arb_exp(t, t, P);
    arb_add_si(t, t, 1, P);
    arb_div(z, a, t, P);
  } else {
    arb_pow_ui(t, a, 3, P);
    arb_mul_si(t, t, 44715, P);
    arb_div_si(t, t, 1000000, P);
    arb_add(t, t, a, P);
    arb_const_pi(u, P);
    arb_inv(u, u, P);
    arb_mul_si(u, u, 2, P);
    arb_sqrt(u, u, P);
    arb_mul(t, t, u, P);
    arb_tanh(t, t, P);
    arb_add_si(t, t, 1, P);
    arb_mul(t, t, a, P);
    arb_mul_2exp_si(z, t, -1);
  }
  arb_clear(u);
  arb_clear(t);
}

/* Central difference with h = 2^-300: the third derivative is below 16 in size. */
static void oracle_activation_slope(phibal_activation activation, arb_t z, const arb_t a) {
  arb_t t, h;
  arb_init(t);
  arb_init(h);
  arb_set_d(h, 0x1p-300);
  arb_add(t, a, h, ORACLE_WIDE);
  oracle_activation(activation, z, t);
  arb_sub(t, a, h, ORACLE_WIDE);
  oracle_activation(activation, t, t);
  arb_sub(z, z, t, ORACLE_WIDE);
  arb_mul_2exp_si(z, z, 299);
  arb_add_error_2exp_si(z, -598);
  arb_clear(h);
  arb_clear(t);
}

/* Both activations, on binary32 numbers of every size; slopes only where the differences above say
   something (|a| < 30: |act'| is then far above 2^-598). */
Test(reference_ffn, activations_agree_with_arb) {
  const float special[] = {0.0f,     -0.0f, 1.0f,  -1.0f,   -1.278464f, 10.0f,     -10.0f,
                           -20.0f,   25.0f, 80.0f, -80.0f,  1e4f,       0x1p-149f, -0x1p-149f,
                           0x1p-60f, 1e-5f, 0.75f, -0.751f, 2.4f,       1.42f};
  uint64_t seed = 17u;
  phibal_enclosure value, slope, condition;
  phibal_enclosure_init(&value, BITS);
  phibal_enclosure_init(&slope, BITS);
  phibal_enclosure_init(&condition, BITS);
  arb_t a, truth;
  arb_init(a);
  arb_init(truth);
  for (int activation = 0; activation < 2; activation++)
    for (int i = 0; i < 60; i++) {
      float x = i < 20 ? special[i] : random_float(&seed, i % 2 ? 3.0 : 25.0);
      cr_assert_eq(phibal_reference_activation((phibal_activation)activation, x, BITS, &value,
                                               &slope, &condition),
                   PHIBAL_OK);
      arb_set_d(a, (double)x);
      if (x > -30.0f) {
        oracle_activation((phibal_activation)activation, truth, a);
        cr_assert(oracle_contains(&value, truth), "activation %d at %a", activation, (double)x);
        cr_assert(oracle_is_narrow(&value, ldexp(1.0 + pow(fabs((double)x), 3.0), 6 - BITS), truth),
                  "width at %a", (double)x);
      }
      if (fabsf(x) < 30.0f) {
        oracle_activation_slope((phibal_activation)activation, truth, a);
        cr_assert(oracle_contains(&slope, truth), "slope %d at %a", activation, (double)x);
        arb_abs(truth, truth);
        cr_assert(oracle_compare_lower(condition.hi, truth) >= 0);
      }
      /* the constant that (E2)'s condition uses for sup |act'| */
      cr_assert(mpfr_cmp_d(slope.hi, 73.0 / 64.0) <= 0 && mpfr_cmp_d(slope.lo, -73.0 / 64.0) >= 0);
    }
  arb_clear(truth);
  arb_clear(a);
  phibal_enclosure_clear(&condition);
  phibal_enclosure_clear(&slope);
  phibal_enclosure_clear(&value);
}

/* GELU and SiLU far out: 0 or a, with no overflow on the way. */
Test(reference_ffn, activations_at_the_ends_of_binary32) {
  phibal_enclosure value, slope, condition;
  phibal_enclosure_init(&value, 64);
  phibal_enclosure_init(&slope, 64);
  phibal_enclosure_init(&condition, 64);
  for (int activation = 0; activation < 2; activation++) {
    cr_assert_eq(phibal_reference_activation((phibal_activation)activation, 3e38f, 64, &value,
                                             &slope, &condition),
                 PHIBAL_OK);
    cr_assert(mpfr_cmp_d(value.lo, 2.99e38) > 0 && mpfr_cmp_d(value.hi, 3.01e38) < 0);
    cr_assert(mpfr_cmp_d(slope.lo, 0.999) > 0 && mpfr_cmp_d(slope.hi, 1.001) < 0);
    cr_assert_eq(phibal_reference_activation((phibal_activation)activation, -3e38f, 64, &value,
                                             &slope, &condition),
                 PHIBAL_OK);
    cr_assert(mpfr_cmp_d(value.lo, -1e-300) > 0 && mpfr_cmp_d(value.hi, 1e-300) < 0);
    cr_assert(mpfr_cmp_d(slope.lo, -1e-300) > 0 && mpfr_cmp_d(slope.hi, 1e-300) < 0);
  }
  phibal_enclosure_clear(&condition);
  phibal_enclosure_clear(&slope);
  phibal_enclosure_clear(&value);
}

/* One group of a gated FFN. 2 f = d, so that a transposed pair of matrices has the right size. */
enum {
  ROWS = 3,
  WIDTH = 6,
  HIDDEN = 3,
  XS = ROWS * WIDTH,
  HS = ROWS * HIDDEN,
  WS = HIDDEN * WIDTH
};

typedef struct ffn_case {
  phibal_ffn ffn;
  float x[XS], w_gate[WS], w_up[WS], w_down[WS], y_gradient[XS];
  float a[HS], b[HS], h[HS];
} ffn_case;

/* Multiples of 1/8 below 2 in size: a and b are multiples of 1/64 below 24, exact in binary32. */
static void grid_generate(int n, float *x, uint64_t *seed) {
  for (int i = 0; i < n; i++) x[i] = (float)((int)(random_next(seed) % 31) - 15) / 8.0f;
}

static ffn_case ffn_case_create(phibal_activation activation, uint64_t seed) {
  ffn_case c = {.ffn = {1, WIDTH, HIDDEN, activation}};
  grid_generate(XS, c.x, &seed);
  grid_generate(WS, c.w_gate, &seed);
  grid_generate(WS, c.w_up, &seed);
  floats_generate(WS, c.w_down, 2.0, &seed);
  floats_generate(XS, c.y_gradient, 2.0, &seed);
  for (int r = 0; r < ROWS; r++)
    for (int i = 0; i < HIDDEN; i++)
      for (int j = 0; j < WIDTH; j++) {
        c.a[r * HIDDEN + i] += c.x[r * WIDTH + j] * c.w_gate[i * WIDTH + j];
        c.b[r * HIDDEN + i] += c.x[r * WIDTH + j] * c.w_up[i * WIDTH + j];
      }
  floats_generate(HS, c.h, 2.0, &seed); /* taken as it is by the backward pass */
  return c;
}

/* a, b, h, y from x and the weights, in Arb; the weights and x as balls, to be perturbed. */
static void oracle_ffn(phibal_activation activation, arb_srcptr x, arb_srcptr gate, arb_srcptr up,
                       arb_srcptr down, arb_ptr a, arb_ptr b, arb_ptr h, arb_ptr y) {
  const slong P = ORACLE_PRECISION;
  for (int r = 0; r < ROWS; r++) {
    for (int i = 0; i < HIDDEN; i++) {
      int o = r * HIDDEN + i;
      arb_zero(a + o);
      arb_zero(b + o);
      for (int j = 0; j < WIDTH; j++) {
        arb_addmul(a + o, x + r * WIDTH + j, gate + i * WIDTH + j, P);
        arb_addmul(b + o, x + r * WIDTH + j, up + i * WIDTH + j, P);
      }
      oracle_activation(activation, h + o, a + o);
      arb_mul(h + o, h + o, b + o, P);
    }
    for (int j = 0; j < WIDTH; j++) {
      arb_zero(y + r * WIDTH + j);
      for (int i = 0; i < HIDDEN; i++)
        arb_addmul(y + r * WIDTH + j, h + r * HIDDEN + i, down + j * HIDDEN + i, P);
    }
  }
}

typedef struct oracle_state {
  arb_ptr x, gate, up, down, a, b, h, y;
} oracle_state;

static oracle_state oracle_state_create(const ffn_case *c) {
  oracle_state s = {_arb_vec_init(XS), _arb_vec_init(WS), _arb_vec_init(WS), _arb_vec_init(WS),
                    _arb_vec_init(HS), _arb_vec_init(HS), _arb_vec_init(HS), _arb_vec_init(XS)};
  oracle_set_floats(s.x, XS, c->x);
  oracle_set_floats(s.gate, WS, c->w_gate);
  oracle_set_floats(s.up, WS, c->w_up);
  oracle_set_floats(s.down, WS, c->w_down);
  return s;
}

static void oracle_state_destroy(oracle_state *s) {
  _arb_vec_clear(s->x, XS);
  _arb_vec_clear(s->gate, WS);
  _arb_vec_clear(s->up, WS);
  _arb_vec_clear(s->down, WS);
  _arb_vec_clear(s->a, HS);
  _arb_vec_clear(s->b, HS);
  _arb_vec_clear(s->h, HS);
  _arb_vec_clear(s->y, XS);
}

static void oracle_run(const ffn_case *c, oracle_state *s) {
  oracle_ffn(c->ffn.activation, s->x, s->gate, s->up, s->down, s->a, s->b, s->h, s->y);
}

/* Values in the enclosures; widths within 2^15 units of the condition: GELU's v is below 2^10 here
   (|a| below 22) and known within 12 units of itself, so that sigma(v) is known within 2^14 units;
   the sums of 6 terms and the products add a few. */
static void check_result(const phibal_reference_result *r, size_t n, arb_srcptr truth,
                         const char *what) {
  mpfr_t width, allowed;
  mpfr_inits2(64, width, allowed, (mpfr_ptr)0);
  for (size_t i = 0; i < n; i++) {
    cr_assert(oracle_contains(&r->value[i], truth + i), "%s %zu", what, i);
    phibal_enclosure_width(width, &r->value[i]);
    mpfr_mul_2si(allowed, r->condition[i].hi, 16 - BITS, MPFR_RNDU);
    cr_assert(mpfr_lessequal_p(width, allowed), "%s %zu: width", what, i);
    mpfr_abs(width, r->value[i].lo, MPFR_RNDD);
    cr_assert(mpfr_lessequal_p(width, r->condition[i].hi), "%s %zu: condition", what, i);
  }
  mpfr_clears(width, allowed, (mpfr_ptr)0);
}

Test(reference_ffn, ffn_forward_agrees_with_arb) {
  for (int activation = 0; activation < 2; activation++)
    for (uint64_t seed = 1; seed < 6; seed++) {
      ffn_case c = ffn_case_create((phibal_activation)activation, seed);
      oracle_state s = oracle_state_create(&c);
      oracle_run(&c, &s);
      phibal_reference_result a = result_create(HS), b = result_create(HS), h = result_create(HS),
                              y = result_create(XS);
      cr_assert_eq(phibal_reference_ffn_forward(
                       &c.ffn, ROWS, (phibal_reference_ffn_inputs){c.x, c.w_gate, c.w_up, c.w_down},
                       BITS, (phibal_reference_ffn_results){a, b, h, y}),
                   PHIBAL_OK, "%s", phibal_status_message());
      check_result(&a, HS, s.a, "a");
      check_result(&b, HS, s.b, "b");
      check_result(&h, HS, s.h, "h");
      check_result(&y, XS, s.y, "y");
      result_destroy(&a, HS);
      result_destroy(&b, HS);
      result_destroy(&h, HS);
      result_destroy(&y, XS);
      oracle_state_destroy(&s);
    }
}

/* cond(y) of (E2) bounds what an error of relative size 2^-20 of cond(a) in a does to y: the point
   of the Lipschitz constant. */
Test(reference_ffn, ffn_forward_condition_covers_perturbed_sums) {
  for (int activation = 0; activation < 2; activation++) {
    ffn_case c = ffn_case_create((phibal_activation)activation, 33u);
    oracle_state s = oracle_state_create(&c), p = oracle_state_create(&c);
    oracle_run(&c, &s);
    phibal_reference_result none = {NULL, NULL}, y = result_create(XS);
    cr_assert_eq(phibal_reference_ffn_forward(
                     &c.ffn, ROWS, (phibal_reference_ffn_inputs){c.x, c.w_gate, c.w_up, c.w_down},
                     BITS, (phibal_reference_ffn_results){none, none, none, y}),
                 PHIBAL_OK);
    /* every weight of the gate off by a factor 1 +- 2^-20: a moves by at most 2^-20 cond(a) */
    arb_t factor;
    arb_init(factor);
    for (int i = 0; i < WS; i++) {
      arb_set_d(factor, 1.0 + (c.w_gate[i] > 0.0f ? 0x1p-20 : -0x1p-20));
      arb_mul(p.gate + i, p.gate + i, factor, ORACLE_PRECISION);
    }
    oracle_run(&c, &p);
    mpfr_t allowed;
    mpfr_init2(allowed, 64);
    for (int i = 0; i < XS; i++) {
      arb_sub(factor, p.y + i, s.y + i, ORACLE_PRECISION);
      arb_abs(factor, factor);
      mpfr_mul_2si(allowed, y.condition[i].hi, -20, MPFR_RNDU);
      cr_assert(oracle_compare_lower(allowed, factor) >= 0);
    }
    mpfr_clear(allowed);
    arb_clear(factor);
    result_destroy(&y, XS);
    oracle_state_destroy(&p);
    oracle_state_destroy(&s);
  }
}

/* L = <y_gradient, y>, the loss whose gradient (E3) is. */
static void oracle_ffn_loss(const ffn_case *c, oracle_state *s, arb_t loss) {
  arb_t t;
  arb_init(t);
  oracle_run(c, s);
  arb_zero(loss);
  for (int i = 0; i < XS; i++) {
    arb_set_d(t, (double)c->y_gradient[i]);
    arb_addmul(loss, t, s->y + i, ORACLE_PRECISION);
  }
  arb_clear(t);
}

/* Central difference of L in one number, with h = 2^-100; the third derivatives here are below 2^30
   (coefficients below 2, sums of 9 terms, act''' below 4): 2^-170 in all. */
static void oracle_ffn_slope(const ffn_case *c, oracle_state *s, arb_ptr cell, arb_t slope) {
  arb_t h, down;
  arb_init(h);
  arb_init(down);
  arb_set_d(h, 0x1p-100);
  arb_add(cell, cell, h, ORACLE_PRECISION);
  oracle_ffn_loss(c, s, slope);
  arb_sub(cell, cell, h, ORACLE_PRECISION);
  arb_sub(cell, cell, h, ORACLE_PRECISION);
  oracle_ffn_loss(c, s, down);
  arb_add(cell, cell, h, ORACLE_PRECISION);
  arb_sub(slope, slope, down, ORACLE_PRECISION);
  arb_mul_2exp_si(slope, slope, 99);
  arb_add_error_2exp_si(slope, -170);
  arb_clear(down);
  arb_clear(h);
}

static void check_slopes(const ffn_case *c, oracle_state *s, arb_ptr cells, size_t n,
                         const phibal_reference_result *gradient, const char *what) {
  arb_ptr slopes = _arb_vec_init((slong)n);
  for (size_t i = 0; i < n; i++) oracle_ffn_slope(c, s, cells + i, slopes + i);
  check_result(gradient, n, slopes, what);
  _arb_vec_clear(slopes, (slong)n);
}

/* x, a and b on a grid, so that the binary32 a and b are what the forward pass gives exactly.
   W_down' is taken with the h that is passed: y'^T h. */
Test(reference_ffn, ffn_backward_agrees_with_finite_differences) {
  for (int activation = 0; activation < 2; activation++)
    for (uint64_t seed = 11; seed < 14; seed++) {
      ffn_case c = ffn_case_create((phibal_activation)activation, seed);
      oracle_state s = oracle_state_create(&c);
      phibal_reference_ffn_gradients g = {result_create(HS), result_create(HS), result_create(HS),
                                          result_create(XS), result_create(WS), result_create(WS),
                                          result_create(WS)};
      cr_assert_eq(phibal_reference_ffn_backward(
                       &c.ffn, ROWS, (phibal_reference_ffn_inputs){c.x, c.w_gate, c.w_up, c.w_down},
                       (phibal_reference_ffn_saved){c.a, c.b, c.h, c.y_gradient}, BITS, &g),
                   PHIBAL_OK, "%s", phibal_status_message());
      check_slopes(&c, &s, s.x, XS, &g.x, "x'");
      check_slopes(&c, &s, s.gate, WS, &g.w_gate, "W_gate'");
      check_slopes(&c, &s, s.up, WS, &g.w_up, "W_up'");
      arb_ptr truth = _arb_vec_init(WS);
      for (int j = 0; j < WIDTH; j++)
        for (int i = 0; i < HIDDEN; i++)
          for (int r = 0; r < ROWS; r++)
            oracle_add_product(truth + j * HIDDEN + i, (double)c.y_gradient[r * WIDTH + j],
                               (double)c.h[r * HIDDEN + i]);
      check_result(&g.w_down, WS, truth, "W_down'");
      _arb_vec_clear(truth, WS);
      truth = _arb_vec_init(HS);
      for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < HIDDEN; i++)
          for (int j = 0; j < WIDTH; j++)
            oracle_add_product(truth + r * HIDDEN + i, (double)c.y_gradient[r * WIDTH + j],
                               (double)c.w_down[j * HIDDEN + i]);
      check_result(&g.h, HS, truth, "h'");
      arb_t act;
      arb_init(act);
      oracle_run(&c, &s);
      for (int i = 0; i < HS; i++) {
        oracle_activation(c.ffn.activation, act, s.a + i);
        arb_mul(act, act, truth + i, ORACLE_PRECISION);
        cr_assert(oracle_contains(&g.b.value[i], act), "b' %d", i);
        oracle_activation_slope(c.ffn.activation, act, s.a + i);
        arb_mul(act, act, truth + i, ORACLE_PRECISION);
        arb_mul(act, act, s.b + i, ORACLE_PRECISION);
        cr_assert(oracle_contains(&g.a.value[i], act), "a' %d", i);
      }
      arb_clear(act);
      _arb_vec_clear(truth, HS);
      result_destroy(&g.h, HS);
      result_destroy(&g.a, HS);
      result_destroy(&g.b, HS);
      result_destroy(&g.x, XS);
      result_destroy(&g.w_gate, WS);
      result_destroy(&g.w_up, WS);
      result_destroy(&g.w_down, WS);
      oracle_state_destroy(&s);
    }
}
