#include "simulation.h"
#include "phi64.h"
#include <math.h>
#include <stdlib.h>

phibal_status router_state_create(int32_t experts, router_state *s) {
  size_t n = (size_t)experts;
  double *all = calloc(4 * n, sizeof *all);
  if (!all) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu experts", n);
  *s = (router_state){all, all + n, all + 2 * n, all + 3 * n};
  return PHIBAL_OK;
}

void router_state_destroy(router_state *s) {
  free(s->logits);
  *s = (router_state){0};
}

void router_state_route(router_state *s, int32_t experts) {
  double most = s->logits[0], sum = 0.0;
  for (int32_t e = 1; e < experts; e++) most = fmax(most, s->logits[e]);
  for (int32_t e = 0; e < experts; e++) sum += s->loads[e] = exp(s->logits[e] - most);
  for (int32_t e = 0; e < experts; e++) s->loads[e] /= sum;
}

void router_loop_step(const router_loop *loop, router_state *s) {
  int32_t n = loop->experts;
  for (int32_t e = 0; e < n; e++)
    s->average[e] = (1.0 - loop->eta) * s->average[e] + loop->eta * s->loads[e];
  phi64_gradient(loop->phi, loop->parameters, (size_t)n, s->average, s->price);
  /* Prices relative to the first: nothing is left of an offset that all share. */
  double mean = 0.0, offset = s->price[0];
  for (int32_t e = 0; e < n; e++) s->price[e] -= offset;
  for (int32_t e = 0; e < n; e++) mean += s->loads[e] * s->price[e];
  for (int32_t e = 0; e < n; e++) {
    double force = loop->alpha * n * s->loads[e] * (s->price[e] - mean);
    if (loop->target) force += loop->pull * (s->loads[e] - loop->target[e]);
    s->logits[e] -= loop->lr * force;
  }
  router_state_route(s, n);
}

double router_max_violation(const router_state *s, int32_t experts) {
  double most = 0.0;
  for (int32_t e = 0; e < experts; e++) {
    if (!isfinite(s->logits[e]) || !isfinite(s->loads[e])) return NAN;
    most = fmax(most, s->loads[e]);
  }
  return experts * most - 1.0;
}

/* ---- the limit of stability ---- */

/* FAR is small enough for a loop that is not quite stable to get there: its growth ends where what
   is not linear, of the order of the square of the distance, makes up for what the loop is beyond
   its limit. So a limit is seen to FAR^2 of itself, 1e-7. Between START and FAR is room for what a
   disturbance gains before it settles into its modes: near the limit these are -1 and eta - 1, and
   it gains about 1/eta. GONE is above what rounding keeps up: 1e-16 in P, times k = 4/eta in the
   logits, times 1/eta again, 4e-12 for eta = 0.01; and below all that a growing loop passes
   through. GROWTH is above what rounding makes of a loop that does not move at all. */
static const double START = 1e-7, FAR = 3e-4, GONE = 1e-9, GROWTH = 1e-7;
static const double SLOWER_MODE_GONE = 30.0; /* e^-30 */
enum { MOST_DOUBLINGS = 90, MOST_HALVINGS = 60 };

/* How far the first expert is from uniform, in logits or in its average. Both vanish together only
   when the disturbance is gone. */
static double distance(const router_state *s, int32_t experts) {
  double mean = 0.0;
  for (int32_t e = 0; e < experts; e++) mean += s->logits[e];
  double logit = fabs(s->logits[0] - mean / experts);
  double average = fabs(experts * s->average[0] - 1.0);
  return logit > average ? logit : average;
}

/* By what the disturbance grows from the time when only the slower-dying mode is left on, in as
   many steps again. */
static double growth(const router_loop *loop, router_state *s) {
  int32_t n = loop->experts;
  for (int32_t e = 0; e < n; e++) {
    s->logits[e] = e == 0 ? START : e == 1 ? -START : 0.0;
    s->average[e] = 1.0 / n;
  }
  router_state_route(s, n);
  int wait = (int)ceil(SLOWER_MODE_GONE / loop->eta);
  double before = 0.0, now = START;
  for (int t = 0; t < 2 * wait; t++) {
    if (t == wait) before = now;
    router_loop_step(loop, s);
    now = distance(s, n);
    if (!(now < FAR)) return INFINITY;
    if (now < GONE) return 0.0;
  }
  return now / before;
}

static bool grows(const router_loop *loop, router_state *s) {
  return growth(loop, s) > 1.0 + GROWTH;
}

/* Ends with *lo not growing and *hi growing. Going down, what does not grow must shrink, and
   clearly: a loop that never settles grows too slowly to be seen when lr alpha is tiny. */
static bool bracket(router_loop *loop, router_state *s, double *lo, double *hi) {
  *lo = *hi = loop->lr = 1.0;
  if (grows(loop, s)) {
    for (int i = 0; i < MOST_HALVINGS; i++) {
      loop->lr = *lo *= 0.5;
      double by = growth(loop, s);
      if (by < 0.5) return true;
      if (by > 1.0 + GROWTH) *hi = *lo;
    }
    *lo = NAN;
    return false;
  }
  for (int i = 0; i < MOST_DOUBLINGS; i++) {
    loop->lr = *hi = 2.0 * *lo;
    if (grows(loop, s)) return true;
    *lo = *hi;
  }
  *lo = INFINITY;
  return false;
}

phibal_status simulation_limit(const phi_potential *phi, const double *parameters, int32_t experts,
                               double eta, double *limit) {
  router_loop loop = {
      .phi = phi, .parameters = parameters, .experts = experts, .eta = eta, .alpha = 1.0};
  router_state s;
  if (router_state_create(experts, &s) != PHIBAL_OK) return PHIBAL_ERROR_MEMORY;
  double lo, hi;
  if (bracket(&loop, &s, &lo, &hi))
    while (hi - lo > 1e-6 * lo) {
      loop.lr = 0.5 * (lo + hi);
      if (grows(&loop, &s))
        hi = loop.lr;
      else
        lo = loop.lr;
    }
  *limit = lo;
  router_state_destroy(&s);
  return PHIBAL_OK;
}

/* ---- rest and settling ---- */

/* Runs until no logit is pushed by more than `least`; false if that takes more than `steps`. */
static bool comes_to_rest(const router_loop *loop, router_state *s, int steps, double least) {
  int32_t n = loop->experts;
  for (int32_t e = 0; e < n; e++) {
    s->logits[e] = 0.0;
    s->average[e] = 1.0 / n;
  }
  router_state_route(s, n);
  for (int t = 0; t < steps; t++) {
    double first = s->logits[0], last = s->logits[n - 1];
    router_loop_step(loop, s);
    double push = fmax(fabs(s->logits[0] - first), fabs(s->logits[n - 1] - last)) / loop->lr;
    if (!isfinite(push)) return false;
    if (push < least) return true;
  }
  return false;
}

phibal_status simulation_rest(const router_loop *loop, int steps, double *max_violation) {
  enum { MOST_HALVINGS_OF_LR = 30 };
  router_state s;
  if (router_state_create(loop->experts, &s) != PHIBAL_OK) return PHIBAL_ERROR_MEMORY;
  router_loop slower = *loop;
  *max_violation = NAN;
  for (int i = 0; i < MOST_HALVINGS_OF_LR && isnan(*max_violation); i++, slower.lr *= 0.5)
    if (comes_to_rest(&slower, &s, steps, 1e-9 * loop->pull / loop->experts))
      *max_violation = router_max_violation(&s, loop->experts);
  router_state_destroy(&s);
  return PHIBAL_OK;
}

phibal_status simulation_settle(const router_loop *loop, double head, double goal, int steps,
                                int *settled, double *least) {
  int32_t n = loop->experts;
  router_state s;
  if (router_state_create(n, &s) != PHIBAL_OK) return PHIBAL_ERROR_MEMORY;
  s.logits[0] = head;
  router_state_route(&s, n);
  int last_away = -1;
  *least = INFINITY;
  for (int t = 0; t <= steps; t++) {
    double away = 0.0;
    for (int32_t e = 0; e < n; e++) {
      double share = n * s.loads[e];
      away = fabs(share - 1.0) <= away ? away : fabs(share - 1.0); /* NaN stays */
      *least = fmin(*least, share);
    }
    if (!(away < goal)) last_away = t;
    router_loop_step(loop, &s);
  }
  *settled = last_away == steps ? -1 : last_away + 1;
  router_state_destroy(&s);
  return PHIBAL_OK;
}

static double target_violation(int32_t experts, double steepness, double *target) {
  double sum = 0.0, most = 0.0;
  for (int32_t e = 0; e < experts; e++) {
    target[e] = exp(steepness * (2.0 * e / (experts - 1.0) - 2.0));
    sum += target[e];
  }
  for (int32_t e = 0; e < experts; e++) most = fmax(most, target[e] /= sum);
  return experts * most - 1.0;
}

void simulation_target(int32_t experts, double max_violation, double *target) {
  double lo = 0.0, hi = 700.0;
  for (int i = 0; i < 80; i++) {
    double middle = 0.5 * (lo + hi);
    if (target_violation(experts, middle, target) < max_violation)
      lo = middle;
    else
      hi = middle;
  }
  target_violation(experts, lo, target);
}
