#include "dynamics.h"
#include <phibal/potential.h>
#include <math.h>
#include <stdlib.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

enum { PRECISION = 128, MOST_GROUPS = 2 };

const int audit_share[AUDIT_SHARES][2] = {{0, 1}, {1, 4}, {1, 2}, {2, 1}, {4, 1}, {8, 1}};
const double audit_eta[AUDIT_ETAS] = {0.65, 1.0, 0.1, 0.01};

/* Experts in at most two groups, all in a group with the same load. */
typedef struct profile {
  int groups;
  int32_t count[MOST_GROUPS];
  phibal_enclosure load[MOST_GROUPS];
} profile;

/* Where phi and its first two derivatives are wanted, and what becomes of them. */
typedef struct workspace {
  phi_jet jet[MOST_GROUPS][PHI_MAX_SUMS]; /* of the inner functions, in each group */
  phibal_enclosure sum[PHI_MAX_SUMS], partial[PHI_MAX_SUMS];
  phibal_enclosure second[PHI_MAX_SUMS * PHI_MAX_SUMS];
  phibal_enclosure value, t;
  int sums, outer_known;
} workspace;

static workspace *workspace_create(int sums) {
  workspace *w = malloc(sizeof *w);
  if (!w) {
    phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for derivatives");
    return NULL;
  }
  w->sums = sums;
  for (int g = 0; g < MOST_GROUPS; g++)
    for (int i = 0; i < sums; i++) phi_jet_init(&w->jet[g][i], PRECISION);
  for (int i = 0; i < sums; i++) {
    phibal_enclosure_init(&w->sum[i], PRECISION);
    phibal_enclosure_init(&w->partial[i], PRECISION);
  }
  for (int i = 0; i < sums * sums; i++) phibal_enclosure_init(&w->second[i], PRECISION);
  phibal_enclosure_init(&w->value, PRECISION);
  phibal_enclosure_init(&w->t, PRECISION);
  return w;
}

static void workspace_destroy(workspace *w) {
  if (!w) return;
  for (int g = 0; g < MOST_GROUPS; g++)
    for (int i = 0; i < w->sums; i++) phi_jet_clear(&w->jet[g][i]);
  for (int i = 0; i < w->sums; i++) {
    phibal_enclosure_clear(&w->sum[i]);
    phibal_enclosure_clear(&w->partial[i]);
  }
  for (int i = 0; i < w->sums * w->sums; i++) phibal_enclosure_clear(&w->second[i]);
  phibal_enclosure_clear(&w->value);
  phibal_enclosure_clear(&w->t);
  free(w);
}

static void profile_init(profile *p, int groups) {
  p->groups = groups;
  for (int g = 0; g < MOST_GROUPS; g++) phibal_enclosure_init(&p->load[g], PRECISION);
}

static void profile_clear(profile *p) {
  for (int g = 0; g < MOST_GROUPS; g++) phibal_enclosure_clear(&p->load[g]);
}

static phibal_status no_derivative(int order) {
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "derivative %d does not exist there", order);
}

/* The jets of the inner functions and the outer function's partial derivatives at p. */
static phibal_status differentiate(const phi_potential *phi, const phibal_enclosure *parameters,
                                   const profile *p, workspace *w) {
  for (int i = 0; i < w->sums; i++) {
    phibal_enclosure_set_si(&w->sum[i], 0);
    for (int g = 0; g < p->groups; g++) {
      phi_jet *j = &w->jet[g][i];
      phi_jet_eval(phi->value.sum[i], parameters, NULL, &p->load[g], j);
      if (j->known < 1) return no_derivative(0);
      phibal_enclosure_set_si(&w->t, p->count[g]);
      TRY(phibal_enclosure_mul(&w->t, &w->t, &j->d[0]));
      TRY(phibal_enclosure_add(&w->sum[i], &w->sum[i], &w->t));
    }
  }
  phi_outer_eval(&phi->value, parameters, w->sum, &w->value, w->partial, w->second,
                 &w->outer_known);
  return w->outer_known < 2 ? no_derivative(1) : PHIBAL_OK;
}

/* sum_i F_i f_i^(order) in group g. Order 1 is the price. Order 2 is the Hessian's diagonal less
   what all entries in the group share, so where there is one group only, the eigenvalue on the
   tangent space: the rest of the Hessian is constant there, and a tangent vector sums to zero. */
static phibal_status combine(workspace *w, int g, int order, phibal_enclosure *z) {
  phibal_enclosure_set_si(z, 0);
  for (int i = 0; i < w->sums; i++) {
    const phi_jet *j = &w->jet[g][i];
    if (j->known <= order) return no_derivative(order);
    TRY(phibal_enclosure_mul(&w->t, &w->partial[i], &j->d[order]));
    TRY(phibal_enclosure_add(z, z, &w->t));
  }
  return PHIBAL_OK;
}

static phibal_status stiffness_at(const phi_potential *phi, const phibal_enclosure *parameters,
                                  int32_t experts, const phibal_enclosure *c, workspace *w,
                                  phibal_enclosure *h) {
  profile p;
  profile_init(&p, 1);
  p.count[0] = experts;
  phibal_enclosure_set_si(&w->t, experts);
  phibal_status status = phibal_enclosure_div(&p.load[0], c, &w->t);
  if (status == PHIBAL_OK) status = differentiate(phi, parameters, &p, w);
  if (status == PHIBAL_OK) status = combine(w, 0, 2, h);
  profile_clear(&p);
  return status;
}

phibal_status audit_stiffness(const phi_potential *phi, const phibal_enclosure *parameters,
                              int32_t experts, const phibal_enclosure *c, phibal_enclosure *h) {
  workspace *w = workspace_create(phi->value.sums);
  if (!w) return PHIBAL_ERROR_MEMORY;
  phibal_status status = stiffness_at(phi, parameters, experts, c, w, h);
  workspace_destroy(w);
  return status;
}

/* One expert with `numerator`/`denominator` of its share, the others with the rest. */
static phibal_status set_split(profile *p, int32_t experts, int numerator, int denominator,
                               phibal_enclosure *t) {
  p->count[0] = 1, p->count[1] = experts - 1;
  phibal_enclosure_set_si(&p->load[0], numerator);
  phibal_enclosure_set_si(t, (long)denominator * experts);
  TRY(phibal_enclosure_div(&p->load[0], &p->load[0], t));
  phibal_enclosure_set_si(t, 1);
  TRY(phibal_enclosure_sub(&p->load[1], t, &p->load[0]));
  phibal_enclosure_set_si(t, experts - 1);
  return phibal_enclosure_div(&p->load[1], &p->load[1], t);
}

/* Raises a load of 0 as kernels do (P.k); false where there is none. */
static bool floor_loads(profile *p) {
  bool raised = false;
  for (int g = 0; g < p->groups; g++)
    if (phibal_enclosure_is_zero(&p->load[g])) {
      phibal_enclosure_set_d(&p->load[g], (double)PHIBAL_SMALLEST_LOAD);
      raised = true;
    }
  return raised;
}

/* An infinite price is none. */
static phibal_status prices_at(const phi_potential *phi, const phibal_enclosure *parameters,
                               const profile *p, workspace *w, phibal_enclosure *price) {
  TRY(differentiate(phi, parameters, p, w));
  for (int g = 0; g < p->groups; g++) {
    TRY(combine(w, g, 1, &price[g]));
    if (mpfr_inf_p(price[g].lo) || mpfr_inf_p(price[g].hi)) return no_derivative(1);
  }
  return PHIBAL_OK;
}

/* The prices of both groups; where there is none at a load of 0, at the smallest load. */
static phibal_status find_prices(const phi_potential *phi, const phibal_enclosure *parameters,
                                 profile *p, workspace *w, phibal_enclosure *price, bool *floored) {
  phibal_status status = prices_at(phi, parameters, p, w, price);
  *floored = status != PHIBAL_OK && floor_loads(p);
  return *floored ? prices_at(phi, parameters, p, w, price) : status;
}

/* (1 - 1/E) (q_1 - q_2): what (M3) leaves of q_1 when all others have q_2. */
static phibal_status centre(phibal_enclosure *z, const phibal_enclosure *price, int32_t experts,
                            phibal_enclosure *t) {
  TRY(phibal_enclosure_sub(z, &price[0], &price[1]));
  phibal_enclosure_set_si(t, experts - 1);
  TRY(phibal_enclosure_mul(z, z, t));
  phibal_enclosure_set_si(t, experts);
  return phibal_enclosure_div(z, z, t);
}

/* price[0] and price[1] of the split, and what centring leaves of the first in price[2]. */
static phibal_status price_split(const phi_potential *phi, const phibal_enclosure *parameters,
                                 int32_t experts, const int *share, workspace *w,
                                 phibal_enclosure *price, bool *floored) {
  profile p;
  profile_init(&p, 2);
  phibal_status status = set_split(&p, experts, share[0], share[1], &w->t);
  if (status == PHIBAL_OK) status = find_prices(phi, parameters, &p, w, price, floored);
  if (status == PHIBAL_OK) status = centre(&price[2], price, experts, &w->t);
  profile_clear(&p);
  return status;
}

static void set_price(audit_price *p, const phibal_enclosure *value, bool exists, bool floored) {
  if (exists) phibal_enclosure_set(&p->value, value);
  p->exists = exists;
  p->floored = exists && floored;
}

static void find_all_prices(const phi_potential *phi, const phibal_enclosure *parameters,
                            workspace *w, audit_dynamics *d) {
  phibal_enclosure price[3];
  for (int i = 0; i < 3; i++) phibal_enclosure_init(&price[i], PRECISION);
  for (int i = 0; i < AUDIT_SHARES; i++) {
    bool floored = false, fits = audit_share[i][0] <= d->experts * audit_share[i][1];
    bool exists = fits && price_split(phi, parameters, d->experts, audit_share[i], w, price,
                                      &floored) == PHIBAL_OK;
    set_price(&d->share[i], &price[2], exists, floored);
  }
  bool floored = false;
  bool exists = price_split(phi, parameters, d->experts, (const int[]){d->experts, 1}, w, price,
                            &floored) == PHIBAL_OK;
  set_price(&d->full, &price[0], exists, floored);
  set_price(&d->empty, &price[1], exists, floored);
  for (int i = 0; i < 3; i++) phibal_enclosure_clear(&price[i]);
}

/* ---- what follows from the stiffness ---- */

static phibal_status find_scales(const phi_potential *phi, const phibal_enclosure *parameters,
                                 workspace *w, audit_dynamics *d) {
  phibal_enclosure c, h;
  phibal_enclosure_init(&c, PRECISION);
  phibal_enclosure_init(&h, PRECISION);
  phibal_status status = PHIBAL_OK;
  for (d->scales = 0; d->scales < AUDIT_SCALES; d->scales++) {
    phibal_enclosure *scale = &d->scale[d->scales];
    phibal_enclosure_set_d(&c, ldexp(1.0, -d->scales));
    status = stiffness_at(phi, parameters, d->experts, &c, w, &h);
    if (status == PHIBAL_OK) status = phibal_enclosure_mul(scale, &c, &h);
    if (status == PHIBAL_OK) status = phibal_enclosure_div(scale, scale, &d->stiffness);
    if (status != PHIBAL_OK) break;
  }
  phibal_enclosure_clear(&c);
  phibal_enclosure_clear(&h);
  return status;
}

/* log2(scale[last - 1] / scale[last]). */
static phibal_status find_power(audit_dynamics *d, phibal_enclosure *t) {
  phibal_enclosure *z = &d->scale_power;
  TRY(phibal_enclosure_div(z, &d->scale[AUDIT_SCALES - 2], &d->scale[AUDIT_SCALES - 1]));
  TRY(phibal_enclosure_log(z, z));
  phibal_enclosure_set_si(t, 2);
  TRY(phibal_enclosure_log(t, t));
  return phibal_enclosure_div(z, z, t);
}

/* Stability of the loop of simulation.h without a task, at its fixed point: uniform P and m. Let
   v be a tangent vector of the simplex (it sums to zero). With logits v, to first order P = (1 +
   v)/E, so that the average moves as  E m' = (1 - eta) E m + eta v, and prices as q = h m'. The
   gradient (L2) is alpha E P_e (q_e - sum P q) = alpha q_e, since q sums to zero. So each tangent
   direction is a system of its own, of two numbers, u = E m and v:
       u' = (1 - eta) u + eta v,    v' = v - k u',    k = lr alpha h / E
   with trace 2 - eta - k eta and determinant 1 - eta. Both eigenvalues are inside the unit circle
   iff |determinant| < 1 and |trace| < 1 + determinant: iff 0 < k eta < 4 - 2 eta. At the end of
   that range one eigenvalue is -1: loads jump from one side to the other. Where trace^2 <
   4 determinant, so for k eta above (1 - sqrt(1 - eta))^2, they are not real: loads swing past
   uniform, each swing smaller than the last. (There is a range beyond, up to (1 + sqrt(1 - eta))^2,
   that swings, and behind it they alternate.) */
static phibal_status find_limits(audit_dynamics *d, int i, phibal_enclosure *eta,
                                 phibal_enclosure *t) {
  phibal_enclosure *stable = &d->stable[i], *overshoots = &d->overshoots[i];
  phibal_enclosure_set_d(eta, audit_eta[i]);
  phibal_enclosure_set_si(t, 2);
  TRY(phibal_enclosure_sub(stable, t, eta));
  TRY(phibal_enclosure_mul(stable, stable, t));
  phibal_enclosure_set_si(t, 1);
  TRY(phibal_enclosure_sub(overshoots, t, eta));
  TRY(phibal_enclosure_sqrt(overshoots, overshoots));
  TRY(phibal_enclosure_sub(overshoots, t, overshoots));
  TRY(phibal_enclosure_mul(overshoots, overshoots, overshoots));
  TRY(phibal_enclosure_mul(t, eta, &d->stiffness));
  phibal_enclosure_set_si(eta, d->experts);
  TRY(phibal_enclosure_div(t, eta, t)); /* k eta = lr alpha / t */
  TRY(phibal_enclosure_mul(stable, stable, t));
  return phibal_enclosure_mul(overshoots, overshoots, t);
}

static phibal_status find_quotients(audit_dynamics *d, workspace *w) {
  phibal_enclosure_set_si(&w->t, 1);
  TRY(phibal_enclosure_div(&d->equal_switch, &w->t, &d->stiffness));
  phibal_enclosure_set_si(&w->t, d->experts);
  TRY(phibal_enclosure_mul(&d->equal_negentropy, &w->t, &d->equal_switch));
  for (int i = 0; i < AUDIT_ETAS; i++) TRY(find_limits(d, i, &w->value, &w->t));
  return PHIBAL_OK;
}

size_t audit_dynamics_enclosures(audit_dynamics *d, phibal_enclosure **all) {
  size_t n = 0;
  all[n++] = &d->stiffness;
  all[n++] = &d->effective;
  all[n++] = &d->equal_negentropy;
  all[n++] = &d->equal_switch;
  for (int i = 0; i < AUDIT_SHARES; i++) all[n++] = &d->share[i].value;
  all[n++] = &d->full.value;
  all[n++] = &d->empty.value;
  for (int i = 0; i < AUDIT_SCALES; i++) all[n++] = &d->scale[i];
  all[n++] = &d->scale_power;
  for (int i = 0; i < AUDIT_ETAS; i++) {
    all[n++] = &d->stable[i];
    all[n++] = &d->overshoots[i];
  }
  return n;
}

void audit_dynamics_init(audit_dynamics *d, int32_t experts) {
  phibal_enclosure *all[AUDIT_DYNAMICS_ENCLOSURES];
  *d = (audit_dynamics){.experts = experts};
  const size_t n = audit_dynamics_enclosures(d, all);
  for (size_t i = 0; i < n; i++) phibal_enclosure_init(all[i], PRECISION);
}

phibal_status audit_dynamics_find(const phi_potential *phi, const phibal_enclosure *parameters,
                                  int32_t experts, audit_dynamics *d) {
  audit_dynamics_init(d, experts);
  workspace *w = workspace_create(phi->value.sums);
  if (!w) return PHIBAL_ERROR_MEMORY;
  phibal_enclosure one;
  phibal_enclosure_init(&one, PRECISION);
  phibal_enclosure_set_si(&one, 1);
  d->known = stiffness_at(phi, parameters, experts, &one, w, &d->stiffness) == PHIBAL_OK;
  phibal_enclosure_clear(&one);
  phibal_enclosure_set_si(&w->t, experts);
  if (d->known) d->known = phibal_enclosure_mul(&d->effective, &d->stiffness, &w->t) == PHIBAL_OK;
  d->stiff =
      d->known && phibal_enclosure_is_positive(&d->stiffness) && find_quotients(d, w) == PHIBAL_OK;
  if (d->stiff && find_scales(phi, parameters, w, d) == PHIBAL_OK &&
      find_power(d, &w->t) != PHIBAL_OK)
    d->scales = 0;
  find_all_prices(phi, parameters, w, d);
  workspace_destroy(w);
  return PHIBAL_OK;
}

void audit_dynamics_clear(audit_dynamics *d) {
  phibal_enclosure *all[AUDIT_DYNAMICS_ENCLOSURES];
  const size_t n = audit_dynamics_enclosures(d, all);
  for (size_t i = 0; i < n; i++) phibal_enclosure_clear(all[i]);
}
