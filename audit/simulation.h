/* A router in a closed loop with its prices, in binary64: a simulation, with nothing proved about
   it. It is the mean-field model: all tokens have the same logits z[E], P = softmax(z), and each
   step does what training does with them:

     m <- (1 - eta) m + eta P                                        (M1)
     q  = grad phi(m)                                                (M2)
     z <- z - lr (alpha E P_j (q_j - sum_e P_e q_e) + pull (P_j - target_j))

   The second term of the last line is the gradient of -pull sum_e target_e log P_e: a task that
   wants the experts loaded as `target`. */
#ifndef PHIBAL_AUDIT_SIMULATION_H
#define PHIBAL_AUDIT_SIMULATION_H

#include "phi.h"
#include <stdint.h>

typedef struct router_loop {
  const phi_potential *phi;
  const double *parameters; /* in binary64 */
  int32_t experts;
  double eta, alpha, lr;
  double pull;
  const double *target; /* [experts]; null without a pull */
} router_loop;

typedef struct router_state {
  double *logits, *average, *loads, *price; /* [experts] each */
} router_state;

/* Logits, averages, loads and prices of 0. */
phibal_status router_state_create(int32_t experts, router_state *s);
void router_state_destroy(router_state *s);
/* loads = softmax(logits). */
void router_state_route(router_state *s, int32_t experts);
/* One step, and the loads of the new logits. */
void router_loop_step(const router_loop *loop, router_state *s);
/* E max_e P_e - 1; NaN where the loop has left the numbers. */
double router_max_violation(const router_state *s, int32_t experts);

/* The lr alpha at which the loop, started close to uniform loads, stops to return there: found by
   bisection, to 1e-6 of itself. Each trial runs for as long as the slower mode, which goes as
   (1 - eta)^t, needs to vanish, and then watches whether the rest grows. NaN where it grows however
   small lr alpha is, infinite where it never does. eta of 0.01 or more: below, rounding hides what
   is to be seen. */
phibal_status simulation_limit(const phi_potential *phi, const double *parameters, int32_t experts,
                               double eta, double *limit);

/* Where the loop with a pull comes to rest: E max P - 1. NaN where it does not within `steps`. */
phibal_status simulation_rest(const router_loop *loop, int steps, double *max_violation);

/* Steps until every load is within `goal` of its share, |E P_e - 1| < goal, and stays there for the
   rest of `steps`; -1 where that does not happen. It starts with one expert's logit `head` above
   the others', m at zero, and has no pull. *least is the smallest E P_e on the way. */
phibal_status simulation_settle(const router_loop *loop, double head, double goal, int steps,
                                int *settled, double *least);

/* target ~ exp(s t_e), t_e from -1 to 1 in equal steps, with E max target - 1 = max_violation. */
void simulation_target(int32_t experts, double max_violation, double *target);

#endif
