/* Dynamics of potentials: enclosures against values worked out by hand, the simulation against
   the linearised loop and against equations that its rest must satisfy. */
#include <criterion/criterion.h>
#include "audit/dynamics.h"
#include <math.h>
#include "audit/phi64.h"
#include <phibal/potential.h>
#include "audit/simulation.h"
#include <string.h>

enum { MOST = 64 };

/* A potential of one line, without parameters. */
static phi_potential *read_value(const char *value) {
  char text[256];
  phi_potential *phi;
  int n = snprintf(text, sizeof text, "potential test\nvalue %s\n", value);
  cr_assert_eq(phi_read("test", text, (size_t)n, &phi), PHIBAL_OK, "%s", phibal_status_message());
  return phi;
}

static double middle(const phibal_enclosure *x) {
  return 0.5 * (mpfr_get_d(x->lo, MPFR_RNDN) + mpfr_get_d(x->hi, MPFR_RNDN));
}

/* Holds `expected`, up to its own rounding, and is narrow. */
static void expect(const phibal_enclosure *x, double expected, const char *what) {
  double lo = mpfr_get_d(x->lo, MPFR_RNDD), hi = mpfr_get_d(x->hi, MPFR_RNDU);
  double slack = 1e-14 * fabs(expected);
  cr_assert(lo - slack <= expected && expected <= hi + slack, "%s: %.17g not in [%.17g, %.17g]",
            what, expected, lo, hi);
  cr_assert_leq(hi - lo, 1e-13 * fabs(expected) + 1e-30, "%s: [%.17g, %.17g] is wide", what, lo,
                hi);
}

/* h at uniform loads, and the power with which force goes as m grows from zero. */
static const struct {
  const char *value;
  double stiffness[2]; /* E = 8, 64 */
  double power;
} potentials[] = {
    {"sum(x^2/2)", {1.0, 1.0}, 1.0},
    {"sum(x*log(x))", {8.0, 64.0}, 0.0},
    {"sum(x^3/3)", {0.25, 0.03125}, 2.0},
    {"-sum(log(x))", {64.0, 4096.0}, -1.0},
    {"-sum(sqrt(x))", {0.25 * 0x1.6a09e667f3bcdp+4, 128.0}, -0.5},
    /* a E: the part of the Hessian that is alike everywhere does not count. */
    {"log(sum(sqrt(x)))/(1/2 - 1)", {4.0, 32.0}, -1.0},
    {"sum(x^2/2) + sum(x)^2", {1.0, 1.0}, 1.0},
    /* 2 S_3 + 6 u S_2 = 8 u^2 */
    {"sum(x^2)*sum(x^3)", {0.125, 8.0 / 4096.0}, 4.0},
    /* 2 S / (4 u^(3/2)) = E^2/2 */
    {"-sum(sqrt(x))^2", {32.0, 2048.0}, 0.0},
};

Test(dynamics, stiffness) {
  for (size_t i = 0; i < sizeof potentials / sizeof *potentials; i++) {
    phi_potential *phi = read_value(potentials[i].value);
    for (int j = 0; j < 2; j++) {
      int32_t experts = j ? 64 : 8;
      double h = potentials[i].stiffness[j];
      audit_dynamics d;
      cr_assert_eq(audit_dynamics_find(phi, NULL, experts, &d), PHIBAL_OK);
      cr_assert(d.known && d.stiff, "%s", potentials[i].value);
      expect(&d.stiffness, h, potentials[i].value);
      expect(&d.effective, h * experts, "effective");
      expect(&d.equal_negentropy, experts / h, "equal to negentropy");
      expect(&d.equal_switch, 1.0 / h, "equal to ST-MoE");
      audit_dynamics_clear(&d);
    }
    phi_destroy(phi);
  }
}

/* The same eigenvalue from the Hessian itself: v H v / v v for v = (1, -1, 0, ..). */
Test(dynamics, stiffness_is_an_eigenvalue_of_the_hessian) {
  enum { N = 4, R = PHI_MAX_SUMS };
  for (size_t i = 0; i < sizeof potentials / sizeof *potentials; i++) {
    phi_potential *phi = read_value(potentials[i].value);
    phibal_enclosure *x = phibal_enclosure_vector(N, 100);
    phibal_enclosure *diagonal = phibal_enclosure_vector(N, 100);
    phibal_enclosure *second = phibal_enclosure_vector(R * R, 100);
    phibal_enclosure *slope = phibal_enclosure_vector(R * N, 100);
    for (int e = 0; e < N; e++) phibal_enclosure_set_d(&x[e], 0.25);
    cr_assert_eq(phi_hessian(phi, NULL, N, x, diagonal, second, slope), PHIBAL_OK);
    double rayleigh = 0.5 * (middle(&diagonal[0]) + middle(&diagonal[1]));
    int r = phi->value.sums;
    for (int a = 0; a < r; a++)
      for (int b = 0; b < r; b++) {
        double va = middle(&slope[a * N]) - middle(&slope[a * N + 1]);
        double vb = middle(&slope[b * N]) - middle(&slope[b * N + 1]);
        rayleigh += 0.5 * middle(&second[a * r + b]) * va * vb;
      }
    audit_dynamics d;
    cr_assert_eq(audit_dynamics_find(phi, NULL, N, &d), PHIBAL_OK);
    cr_assert_float_eq(middle(&d.stiffness), rayleigh, 1e-12 * rayleigh, "%s", potentials[i].value);
    audit_dynamics_clear(&d);
    phibal_enclosure_vector_clear(x, N);
    phibal_enclosure_vector_clear(diagonal, N);
    phibal_enclosure_vector_clear(second, R * R);
    phibal_enclosure_vector_clear(slope, R * N);
    phi_destroy(phi);
  }
}

Test(dynamics, growth_from_zero) {
  for (size_t i = 0; i < sizeof potentials / sizeof *potentials; i++) {
    phi_potential *phi = read_value(potentials[i].value);
    audit_dynamics d;
    cr_assert_eq(audit_dynamics_find(phi, NULL, 16, &d), PHIBAL_OK);
    cr_assert_eq(d.scales, AUDIT_SCALES, "%s", potentials[i].value);
    for (int j = 0; j < AUDIT_SCALES; j++)
      expect(&d.scale[j], exp2(-j * potentials[i].power), potentials[i].value);
    cr_assert_float_eq(middle(&d.scale_power), potentials[i].power, 1e-12, "%s",
                       potentials[i].value);
    audit_dynamics_clear(&d);
    phi_destroy(phi);
  }
  /* Not homogeneous: 2 c near zero, and c (12 c^2 u^2 + 2)/(12 u^2 + 2) on the way. */
  phi_potential *phi = read_value("sum(x^4 + x^2)");
  audit_dynamics d;
  cr_assert_eq(audit_dynamics_find(phi, NULL, 2, &d), PHIBAL_OK);
  expect(&d.scale[1], 0.5 * (12.0 / 16.0 + 2.0) / (12.0 / 4.0 + 2.0), "x^4 + x^2");
  cr_assert_float_eq(middle(&d.scale_power), 1.0, 1e-10);
  audit_dynamics_clear(&d);
  phi_destroy(phi);
}

/* (1 - 1/E) (log load - log others): (M3). */
static double entropy_price(int experts, double load) {
  return (1.0 - 1.0 / experts) * (log(load) - log((1.0 - load) / (experts - 1)));
}

static void expect_entropy_prices(const char *value) {
  phi_potential *phi = read_value(value);
  audit_dynamics d;
  cr_assert_eq(audit_dynamics_find(phi, NULL, 16, &d), PHIBAL_OK);
  static const double shares[] = {0.0, 0.25, 0.5, 2.0, 4.0, 8.0};
  for (int i = 0; i < AUDIT_SHARES; i++) {
    cr_assert(d.share[i].exists);
    cr_assert_eq(d.share[i].floored, i == 0);
    double load = i ? shares[i] / 16.0 : (double)PHIBAL_SMALLEST_LOAD;
    double others = (i ? 1.0 - load : 1.0) / 15.0; /* a floor takes nothing from the others */
    expect(&d.share[i].value, (1.0 - 1.0 / 16.0) * (log(load) - log(others)), "price");
    if (i) expect(&d.share[i].value, entropy_price(16, load), "price");
  }
  cr_assert(d.full.exists && d.full.floored && d.empty.floored);
  expect(&d.full.value, 1.0, "log 1 + 1");
  expect(&d.empty.value, 1.0 - 126.0 * log(2.0), "log 2^-126 + 1");
  audit_dynamics_clear(&d);

  cr_assert_eq(audit_dynamics_find(phi, NULL, 4, &d), PHIBAL_OK);
  cr_assert_not(d.share[5].exists, "8 shares of a quarter");
  cr_assert(d.share[4].exists && d.share[4].floored, "4 shares are everything");
  audit_dynamics_clear(&d);
  phi_destroy(phi);
}

/* x*log(x) is not defined at 0, xlogx(x) is, with an infinite slope. */
Test(dynamics, prices) {
  expect_entropy_prices("sum(x*log(x))");
  expect_entropy_prices("sum(xlogx(x))");
  audit_dynamics d;
  phi_potential *phi = read_value("sum(x^2/2)");
  cr_assert_eq(audit_dynamics_find(phi, NULL, 8, &d), PHIBAL_OK);
  cr_assert_not(d.share[0].floored);
  expect(&d.share[0].value, -0.125, "euclid at 0");
  expect(&d.share[4].value, 0.5 - 0.125, "euclid at 4 shares");
  expect(&d.full.value, 1.0, "euclid, everything");
  cr_assert(d.empty.exists && phibal_enclosure_is_zero(&d.empty.value));
  audit_dynamics_clear(&d);
  phi_destroy(phi);
}

/* A linear potential pushes nowhere, and x^2 - x^3 with two experts pushes away. */
Test(dynamics, without_stiffness) {
  static const char *const values[] = {"sum(x)", "sum(x^2 - x^3)"};
  for (int i = 0; i < 2; i++) {
    phi_potential *phi = read_value(values[i]);
    audit_dynamics d;
    cr_assert_eq(audit_dynamics_find(phi, NULL, 2, &d), PHIBAL_OK);
    cr_assert(d.known);
    cr_assert_not(d.stiff);
    json_t *object = audit_dynamics_json(&d);
    cr_assert(json_is_null(json_object_get(object, "alpha_equal_to_switch")));
    json_decref(object);
    audit_dynamics_clear(&d);
    phi_destroy(phi);
  }
}

/* phi64 against the enclosures. */
Test(dynamics, binary64) {
  static const char *const values[] = {
      "sum(x*log(x))",
      "log(sum(x^(19/20)))/(19/20 - 1)",
      "sum(abs(x) - 0.1*log(abs(x)/0.1 + 1))",
      "sum(sqrt(x^2 + 0.01) - 0.1)",
      "sum(logcosh(2*x))/2",
      "sum(softplus(x))",
      "sum(tanh(x) + sinh(x)*cosh(x) - sin(x)/cos(x) + sigmoid(-x) + max(x, 1/3))",
      "exp(sum(expm1(x)*log1p(x)))",
      "sum(xlogx(x) + sgn(x - 1/7)*x)*sum(x)",
      "sum(x^2)*sum(x^3) - sum(2^x)/sum(x)"};
  enum { N = 5 };
  static const double loads[N] = {0.05, 0.2, 0.2, 0.15, 0.4};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    phi_potential *phi = read_value(values[i]);
    phibal_enclosure *x = phibal_enclosure_vector(N, 128), value;
    phibal_enclosure *gradient = phibal_enclosure_vector(N, 128);
    phibal_enclosure_init(&value, 128);
    double g[N], size = 0.0;
    for (int e = 0; e < N; e++) phibal_enclosure_set_d(&x[e], loads[e]);
    cr_assert_eq(phi_value(phi, NULL, N, x, &value), PHIBAL_OK, "%s", values[i]);
    cr_assert_eq(phi_gradient(phi, NULL, N, x, gradient), PHIBAL_OK, "%s", values[i]);
    phi64_gradient(phi, NULL, N, loads, g);
    cr_assert_float_eq(phi64_value(phi, NULL, N, loads), middle(&value),
                       1e-13 * (1.0 + fabs(middle(&value))), "%s", values[i]);
    for (int e = 0; e < N; e++) size = fmax(size, fabs(middle(&gradient[e])));
    for (int e = 0; e < N; e++)
      cr_assert_float_eq(g[e], middle(&gradient[e]), 1e-13 * (1.0 + size), "%s [%d]", values[i], e);
    phibal_enclosure_clear(&value);
    phibal_enclosure_vector_clear(x, N);
    phibal_enclosure_vector_clear(gradient, N);
    phi_destroy(phi);
  }
}

/* Bisection ends within 1e-6 of the limit. A growth of 1 + 1e-7 goes unseen, over 30/eta steps each
   of which grows by 2 (2 - eta)/eta times the distance to the limit: 1e-7 / 60 at most. What is not
   linear hides c (3e-4)^2 (simulation.c), where c is of order 1. */
Test(dynamics, stability_measured_as_linearised) {
  static const int32_t experts[] = {2, 8, 16};
  for (size_t i = 0; i < sizeof potentials / sizeof *potentials; i++) {
    phi_potential *phi = read_value(potentials[i].value);
    for (int k = 0; k < 3; k++) {
      audit_dynamics d;
      cr_assert_eq(audit_dynamics_find(phi, NULL, experts[k], &d), PHIBAL_OK);
      for (int j = 0; j < AUDIT_ETAS; j++) {
        double measured, linear = middle(&d.stable[j]);
        cr_assert_eq(simulation_limit(phi, NULL, experts[k], audit_eta[j], &measured), PHIBAL_OK);
        cr_assert_float_eq(measured, linear, 1.1e-6 * linear, "%s, E %d, eta %g: %.9g, %.9g",
                           potentials[i].value, experts[k], audit_eta[j], measured, linear);
      }
      audit_dynamics_clear(&d);
    }
    phi_destroy(phi);
  }
}

/* By hand: eta = 1, where each step is gradient descent with lr alpha h / E < 2. */
Test(dynamics, stability_by_hand) {
  phi_potential *phi = read_value("sum(x*log(x))");
  audit_dynamics d;
  cr_assert_eq(audit_dynamics_find(phi, NULL, 8, &d), PHIBAL_OK);
  cr_assert_eq(audit_eta[1], 1.0);
  expect(&d.stable[1], 2.0, "stable");
  expect(&d.overshoots[1], 1.0, "overshoots");
  cr_assert_eq(audit_eta[2], 0.1);
  cr_assert_float_eq(middle(&d.stable[2]), 38.0, 1e-13, "2 (19/10) / (1/10)");
  audit_dynamics_clear(&d);
  phi_destroy(phi);
  double limit;
  phi = read_value("sum(x)");
  cr_assert_eq(simulation_limit(phi, NULL, 8, 0.5, &limit), PHIBAL_OK);
  cr_assert(isinf(limit), "what does not move is stable");
  phi_destroy(phi);
  phi = read_value("-sum(x^2)");
  cr_assert_eq(simulation_limit(phi, NULL, 8, 0.5, &limit), PHIBAL_OK);
  cr_assert(isnan(limit), "concave: never stable");
  phi_destroy(phi);
}

/* Whether expert 0, disturbed, comes back past uniform. */
static bool swings(const phi_potential *phi, double lr_alpha) {
  enum { N = 4 };
  router_loop loop = {.phi = phi, .experts = N, .eta = 0.65, .alpha = 1.0, .lr = lr_alpha};
  router_state s;
  bool past = false;
  cr_assert_eq(router_state_create(N, &s), PHIBAL_OK);
  s.logits[0] = 1e-4, s.logits[1] = -1e-4;
  for (int e = 0; e < N; e++) s.average[e] = 0.25;
  router_state_route(&s, N);
  /* 30 steps bring a swing down to 1e-4 0.35^15, 1e-11, far above the rounding of P. */
  for (int t = 0; t < 30; t++) {
    router_loop_step(&loop, &s);
    past = past || s.logits[0] < -1e-13;
  }
  router_state_destroy(&s);
  return past;
}

Test(dynamics, overshoots_where_it_says) {
  phi_potential *phi = read_value("sum(x^2/2)");
  audit_dynamics d;
  cr_assert_eq(audit_dynamics_find(phi, NULL, 4, &d), PHIBAL_OK);
  cr_assert_eq(audit_eta[0], 0.65);
  double limit = middle(&d.overshoots[0]);
  cr_assert_not(swings(phi, 0.9 * limit));
  cr_assert(swings(phi, 1.2 * limit));
  audit_dynamics_clear(&d);
  phi_destroy(phi);
}

Test(dynamics, settles) {
  phi_potential *phi = read_value("sum(x*log(x))");
  router_loop loop = {.phi = phi, .experts = 8, .eta = 0.65, .alpha = 0.01, .lr = 10.0};
  int settled;
  double least;
  cr_assert_eq(simulation_settle(&loop, 2.0, 0.1, 400, &settled, &least), PHIBAL_OK);
  cr_assert(settled > 1 && settled < 200, "%d", settled);
  /* At the start the others hold 8/(7 + e^2) of their share, and it never gets worse. */
  cr_assert_float_eq(least, 8.0 / (7.0 + exp(2.0)), 1e-12);
  int fast = settled;
  loop.alpha = 0.005;
  cr_assert_eq(simulation_settle(&loop, 2.0, 0.1, 400, &settled, &least), PHIBAL_OK);
  cr_assert_gt(settled, fast);
  loop.alpha = 0.0;
  cr_assert_eq(simulation_settle(&loop, 2.0, 0.1, 400, &settled, &least), PHIBAL_OK);
  cr_assert_eq(settled, -1);
  /* Beyond the limit, 2 (2 - eta)/eta = 4.15 for lr alpha, it does not come to rest. */
  loop.alpha = 0.6;
  cr_assert_eq(simulation_settle(&loop, 2.0, 0.1, 400, &settled, &least), PHIBAL_OK);
  cr_assert_eq(settled, -1);
  phi_destroy(phi);
}

/* A step so large that the expert that was ahead is left with nothing, for good: MaxVio is then
   1/7, which is small, and yet this is no balance. */
Test(dynamics, a_lost_expert_is_no_balance) {
  phi_potential *phi = read_value("sum(x^2/2)");
  router_loop loop = {.phi = phi, .experts = 8, .eta = 0.65, .alpha = 0.2, .lr = 200.0};
  int settled;
  double least;
  cr_assert_eq(simulation_settle(&loop, 3.0, 0.2, 400, &settled, &least), PHIBAL_OK);
  cr_assert_eq(settled, -1);
  cr_assert_lt(least, 1e-9);
  phi_destroy(phi);
}

/* At rest pull (P_1 - t_1) + alpha E P_1 P_2 (log P_1 - log P_2) = 0, for two experts. */
Test(dynamics, rest) {
  phi_potential *phi = read_value("sum(x*log(x))");
  double target[2];
  simulation_target(2, 0.77, target);
  cr_assert_float_eq(target[1], 0.885, 1e-9);
  cr_assert_float_eq(target[0], 0.115, 1e-9);
  router_loop loop = {
      .phi = phi, .experts = 2, .eta = 1.0, .alpha = 0.5, .lr = 0.5, .pull = 2.0, .target = target};
  double violation, lo = 0.5, hi = target[1];
  cr_assert_eq(simulation_rest(&loop, 20000, &violation), PHIBAL_OK);
  while (hi - lo > 1e-12) {
    double p = 0.5 * (lo + hi);
    bool beyond = 2.0 * (p - target[1]) + 0.5 * 2.0 * p * (1.0 - p) * log(p / (1.0 - p)) > 0.0;
    *(beyond ? &hi : &lo) = p;
  }
  cr_assert_float_eq(violation, 2.0 * lo - 1.0, 1e-7);
  cr_assert(violation > 0.1 && violation < 0.7);
  loop.alpha = 0.0;
  cr_assert_eq(simulation_rest(&loop, 20000, &violation), PHIBAL_OK);
  cr_assert_float_eq(violation, 0.77, 1e-7);
  phi_destroy(phi);
}
