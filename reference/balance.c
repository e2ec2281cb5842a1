/* Balancing: the average (M1), prices (M2), (M3), losses (L1), (L3), (L4), (L5) and the loss-free
   update (L6). */
#include "operation.h"
#include <phibal/rounding.h>
#include <stdlib.h>
#ifdef __FRAMAC__
#include <phibal/acsl/balance.h>
#include <phibal/acsl/floating.h>
#endif

/* A sum of two binary32 numbers is a multiple of 2^-149 below 2^129: exact in so many bits. */
#define EXACT_BINARY32_SUM 288

/* PHIBAL_ERROR_ARGUMENT unless x[0..n-1] are finite and >= 0 (-0 counts as 0). */
/*@ requires n >= 0 && \valid_read(x + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==>
      finite_floats(x, n) && (\forall integer i; 0 <= i < n ==> 0.0 <= (real)x[i]); */
static phibal_status loads_check(const char *name, const char *what, int32_t n, const float *x) {
  TRY(operation_check_finite(name, what, n, x));
  //@ assert use_floating;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant checked: \forall integer i; 0 <= i < e ==> 0.0 <= (real)x[i];
      loop assigns e;
      loop variant n - e; */
  for (int32_t e = 0; e < n; e++)
    if (x[e] < 0.0f)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: element %d of %s is %g; it must be >= 0",
                               name, (int)e, what, (double)x[e]);
  return PHIBAL_OK;
}

/* next = (1 - eta) m + eta load; t[0] = 1 - eta, t[1] = eta, t[2..3] free. */
/*@ requires vector_output(t, 4) && output(next) && vector_apart(next, t, 4);
    requires \is_finite(m) && \is_finite(load);
    terminates \true;
    exits \false;
    assigns t[2], t[3], *next;
    ensures enclosure(t + 2) && enclosure(t + 3) && enclosure(next);
    ensures only_three_written{Pre, Here}(next, t + 2, t + 3);
    ensures \result == PHIBAL_OK ==> \forall real a, b; in{Pre}(t + 0, a) && in{Pre}(t + 1, b) ==>
      in(next, weighted((real)m, a, (real)load, b)); */
static phibal_status ema_element(float m, float load, phibal_enclosure *t, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[2], (double)m);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[0]));
  //@ assert kept: \forall real a; in{Pre}(t + 0, a) ==> in(t + 2, (real)m * a);
  phibal_enclosure_set_d(&t[3], (double)load);
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[1]));
  //@ assert added: \forall real b; in{Pre}(t + 1, b) ==> in(t + 3, (real)load * b);
  return phibal_enclosure_add(next, &t[2], &t[3]);
}

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(eta);
    requires \valid_read(m + (0 .. experts - 1)) && finite_floats(m, experts);
    requires \valid_read(loads + (0 .. experts - 1)) && finite_floats(loads, experts);
    requires vector_output(t, 4) && vector_output(next, experts);
    requires \forall integer e; 0 <= e < experts ==> vector_apart(next + e, t, 4);
    terminates \true;
    exits \false;
    assigns t[0 .. 3], next[0 .. experts - 1];
    ensures vector_output(t, 4);
    ensures vector_output(next, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 4) &&
      vector_apart(r, next, experts) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      in(next + e, moving_average((real)eta, (real)m[e], (real)loads[e])); */
static phibal_status ema_vector(int32_t experts, float eta, const float *m, const float *loads,
                                phibal_enclosure *t, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[1], (double)eta);
  phibal_enclosure_set_si(&t[0], 1);
  TRY(phibal_enclosure_sub(&t[0], &t[0], &t[1]));
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant weights: in(t + 0, 1.0 - (real)eta) && in(t + 1, (real)eta);
      loop invariant scratch: vector_output(t, 4);
      loop invariant outputs: vector_output(next, experts);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 4) && vector_apart(r, next, experts) ==> same{Pre, Here}(r);
      loop invariant averages: \forall integer i; 0 <= i < e ==>
        in(next + i, moving_average((real)eta, (real)m[i], (real)loads[i]));
      loop assigns e, t[2 .. 3], next[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_status status = ema_element(m[e], loads[e], t, &next[e]);
    //@ assert scratch: vector_output(t, 4);
    //@ assert outputs: vector_output(next, experts);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_ema(int32_t experts, float eta, const float *m, const float *loads,
                                   mpfr_prec_t precision, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  const char *name = "phibal_reference_ema";
  if (!m || !loads || !next)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_experts(name, experts, precision));
  if (!(isfinite(eta) && eta > 0.0f && eta <= 1.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta = %g; it must be in (0, 1]", name,
                             (double)eta);
  TRY(operation_check_finite(name, "m", experts, m));
  TRY(operation_check_finite(name, "the loads", experts, loads));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 4, precision, &t));
  phibal_status status = ema_vector(experts, eta, m, loads, t, next);
  operation_scratch_clear(t, 4);
  return status;
}

/* Does the kernel raise small m_e for this potential? The catalogue says so; tsallis has a finite
   price at 0 when alpha > 1. */
static bool price_is_floored(const phibal_potential *potential) {
  if (potential->id == PHIBAL_POTENTIAL_TSALLIS) return potential->parameter < 1.0;
  return phibal_potential_describe(potential->id)->floored;
}

/* The m_e that the price is taken at; *raised counts those below the floor. */
static float price_argument(bool floored, float m, int32_t *raised) {
  if (!floored || m >= PHIBAL_SMALLEST_LOAD) return m;
  ++*raised;
  return PHIBAL_SMALLEST_LOAD;
}

/* lp with p = 1: sgn(m_e), the subgradient that is 0 at 0. */
static void price_sign(int32_t experts, const float *m, phibal_enclosure *price) {
  for (int32_t e = 0; e < experts; e++)
    phibal_enclosure_set_si(&price[e], (m[e] > 0.0f) - (m[e] < 0.0f));
}

/* lp with p = inf: of max_e m_e, the subgradient that treats the n largest alike. */
static phibal_status price_largest(int32_t experts, const float *m, phibal_enclosure *price) {
  float largest = m[0];
  long n = 0;
  for (int32_t e = 1; e < experts; e++)
    if (m[e] > largest) largest = m[e];
  for (int32_t e = 0; e < experts; e++) n += m[e] == largest;
  mpq_t share;
  mpq_init(share);
  mpq_set_si(share, 1, (unsigned long)n);
  for (int32_t e = 0; e < experts; e++) {
    if (m[e] == largest)
      phibal_enclosure_set_q(&price[e], share);
    else
      phibal_enclosure_set_si(&price[e], 0);
  }
  mpq_clear(share);
  return PHIBAL_OK;
}

/* grad phi at m, raised where the kernels raise it. x [E] is a temporary. */
static phibal_status price_gradient(const phibal_potential *potential, int32_t experts,
                                    const float *m, mpfr_prec_t precision, phibal_enclosure *x,
                                    phibal_enclosure *price, int32_t *raised) {
  bool floored = price_is_floored(potential);
  for (int32_t e = 0; e < experts; e++)
    phibal_enclosure_set_d(&x[e], (double)price_argument(floored, m[e], raised));
  phibal_reference_potential phi = {.id = potential->id};
  phibal_enclosure_init(&phi.parameter, precision > 64 ? precision : 64);
  phibal_enclosure_set_d(&phi.parameter, potential->parameter);
  phibal_status status = phibal_reference_gradient(&phi, (size_t)experts, x, price);
  phibal_enclosure_clear(&phi.parameter);
  return status;
}

static phibal_status price_check(const char *name, const phibal_potential *potential,
                                 int32_t experts, const float *m, mpfr_prec_t precision,
                                 const void *output) {
  if (!potential || !m || !output)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(phibal_potential_check(potential));
  TRY(operation_check_experts(name, experts, precision));
  return loads_check(name, "m", experts, m);
}

phibal_status phibal_reference_price(const phibal_potential *potential, int32_t experts,
                                     const float *m, mpfr_prec_t precision, phibal_enclosure *price,
                                     int32_t *floored) {
  const char *name = "phibal_reference_price";
  TRY(price_check(name, potential, experts, m, precision, price));
  int32_t raised = 0;
  phibal_status status = PHIBAL_OK;
  if (potential->id == PHIBAL_POTENTIAL_LP && potential->parameter == 1.0) {
    price_sign(experts, m, price);
  } else if (potential->id == PHIBAL_POTENTIAL_LP && isinf(potential->parameter)) {
    status = price_largest(experts, m, price);
  } else {
    phibal_enclosure *x;
    TRY(operation_scratch(name, (size_t)experts, precision, &x));
    status = price_gradient(potential, experts, m, precision, x, price, &raised);
    operation_scratch_clear(x, (size_t)experts);
  }
  if (floored) *floored = raised;
  return status;
}

/* centred_e = x_e - mean(x); t is a temporary. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires vector_output(t, 2) && vector_output(centred, experts);
    requires vector_apart(t + 0, x, experts) && vector_apart(t + 1, x, experts) &&
             vector_apart(t + 0, centred, experts) && vector_apart(t + 1, centred, experts);
    requires vectors_apart(centred, experts, x, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], centred[0 .. experts - 1];
    ensures enclosure(t + 0) && enclosure(t + 1);
    ensures vector_output(centred, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      vector_apart(r, centred, experts) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall sequence s, integer e;
      members{Pre}(x, experts, s) && 0 <= e < experts ==>
        in(centred + e, centred(s, experts, e)); */
static phibal_status vector_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                                   phibal_enclosure *centred) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_sum(&t[0], (size_t)experts, x));
  phibal_enclosure_set_si(&t[1], experts);
  /*@ assert sum: (real)experts != 0.0 && in(t + 1, (real)experts) &&
        (\forall sequence s; members{Pre}(x, experts, s) ==> in(t + 0, sum(s, experts))); */
  TRY(phibal_enclosure_div(&t[0], &t[0], &t[1]));
  /*@ assert mean: \forall sequence s; members{Pre}(x, experts, s) ==>
        in(t + 0, mean(s, experts)); */
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant mean: enclosure(t + 0) && enclosure(t + 1) &&
        (\forall sequence s; members{Pre}(x, experts, s) ==>
          in(t + 0, mean(s, experts)));
      loop invariant outputs: vector_output(centred, experts);
      loop invariant inputs: vector_same{Pre, Here}(x, experts);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 2) && vector_apart(r, centred, experts) ==> same{Pre, Here}(r);
      loop invariant differences: \forall sequence s, integer i;
        members{Pre}(x, experts, s) && 0 <= i < e ==> in(centred + i, centred(s, experts, i));
      loop assigns e, centred[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) TRY(phibal_enclosure_sub(&centred[e], &x[e], &t[0]));
  return PHIBAL_OK;
}

/* The hull of 0 and every |x_e|: its upper end is at least each of them. */
static void vector_largest(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                           phibal_enclosure *largest) {
  phibal_enclosure_set_si(largest, 0);
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_abs(t, &x[e]);
    phibal_enclosure_hull(largest, largest, t);
  }
}

phibal_status phibal_reference_price_centred(const phibal_potential *potential, int32_t experts,
                                             const float *m, mpfr_prec_t precision,
                                             phibal_enclosure *centred, phibal_enclosure *largest,
                                             int32_t *floored) {
  const char *name = "phibal_reference_price_centred";
  TRY(price_check(name, potential, experts, m, precision, centred));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 2;
  TRY(operation_scratch(name, n, precision, &t));
  phibal_status status = phibal_reference_price(potential, experts, m, precision, t + 2, floored);
  if (status == PHIBAL_OK && largest) vector_largest(experts, t + 2, t, largest);
  if (status == PHIBAL_OK) status = vector_centre(experts, t + 2, t, centred);
  operation_scratch_clear(t, n);
  return status;
}

/* loss = scale E sum_e weight_e x_e with weights >= 0, condition with |scale| and |x_e|. t[0..3]
   are temporaries. */
static phibal_status loss_dot(int32_t experts, double scale, const float *weight,
                              const phibal_enclosure *x, phibal_enclosure *t,
                              phibal_enclosure *loss, phibal_enclosure *condition) {
  phibal_enclosure_set_si(&t[0], 0);
  phibal_enclosure_set_si(&t[1], 0);
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_d(&t[2], (double)weight[e]);
    TRY(operation_add_product(&t[0], &x[e], &t[2], &t[3]));
    TRY(operation_add_magnitude(&t[1], &x[e], &t[2], &t[3]));
  }
  phibal_enclosure_set_d(&t[2], scale);
  phibal_enclosure_set_si(&t[3], experts);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  TRY(phibal_enclosure_mul(loss, &t[2], &t[0]));
  if (!condition) return PHIBAL_OK;
  phibal_enclosure_abs(&t[2], &t[2]);
  return phibal_enclosure_mul(condition, &t[2], &t[1]);
}

/*@ requires 0 <= experts && (weight != \null ==> \valid_read(weight + (0 .. experts - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> weight != \null && !null && \is_finite(alpha) &&
      finite_floats(weight, experts) &&
      (\forall integer i; 0 <= i < experts ==> 0.0 <= (real)weight[i]); */
static phibal_status loss_check(const char *name, double alpha, int32_t experts,
                                const float *weight, bool null) {
  if (!weight || null) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (!isfinite(alpha))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha = %g; it must be finite", name,
                             alpha);
  return loads_check(name, "the loads", experts, weight);
}

phibal_status phibal_reference_balance_loss(const phibal_potential *potential, int32_t experts,
                                            double alpha, const float *loads, const float *m,
                                            mpfr_prec_t precision, phibal_enclosure *loss,
                                            phibal_enclosure *condition) {
  const char *name = "phibal_reference_balance_loss";
  TRY(price_check(name, potential, experts, m, precision, loss));
  TRY(loss_check(name, alpha, experts, loads, !loss));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 4;
  TRY(operation_scratch(name, n, precision, &t));
  phibal_status status = phibal_reference_price(potential, experts, m, precision, t + 4, NULL);
  if (status == PHIBAL_OK) status = loss_dot(experts, alpha, loads, t + 4, t, loss, condition);
  operation_scratch_clear(t, n);
  return status;
}

/*@ requires 0 <= n && \valid_read(x + (0 .. n - 1)) && finite_floats(x, n) && vector_output(z, n);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1];
    ensures vector_output(z, n) && only_vector_written{Pre, Here}(z, n);
    ensures \forall sequence s; floats_are(x, n, s) ==> members(z, n, s); */
static void vector_set(int32_t n, const float *x, phibal_enclosure *z) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant frame: only_vector_written{Pre, Here}(z, n);
      loop invariant set: \forall sequence s; floats_are(x, n, s) ==> members(z, i, s);
      loop assigns i, z[0 .. n - 1];
      loop variant n - i; */
  for (int32_t i = 0; i < n; i++) phibal_enclosure_set_d(&z[i], (double)x[i]);
}

phibal_status phibal_reference_switch_loss(int32_t experts, double alpha, const float *frequency,
                                           const float *loads, mpfr_prec_t precision,
                                           phibal_enclosure *loss, phibal_enclosure *condition) {
  const char *name = "phibal_reference_switch_loss";
  TRY(operation_check_experts(name, experts, precision));
  TRY(loss_check(name, alpha, experts, loads, !loss));
  TRY(loss_check(name, alpha, experts, frequency, !loss));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 4;
  TRY(operation_scratch(name, n, precision, &t));
  vector_set(experts, frequency, t + 4);
  phibal_status status = loss_dot(experts, alpha, loads, t + 4, t, loss, condition);
  operation_scratch_clear(t, n);
  return status;
}

phibal_status phibal_reference_frequency_centred(int32_t experts, const float *frequency,
                                                 mpfr_prec_t precision, phibal_enclosure *centred) {
  const char *name = "phibal_reference_frequency_centred";
  if (!frequency || !centred)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_experts(name, experts, precision));
  TRY(operation_check_finite(name, "the frequencies", experts, frequency));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 2;
  TRY(operation_scratch(name, n, precision, &t));
  vector_set(experts, frequency, t + 2);
  phibal_status status = vector_centre(experts, t + 2, t, centred);
  operation_scratch_clear(t, n);
  return status;
}

/* total += sum_e count_e mean_e, which is k n_b sum_e f_e P_e of one sequence; t is a temporary. */
static phibal_status sequence_add(int32_t experts, const int64_t *count,
                                  const phibal_enclosure *mean, phibal_enclosure *t,
                                  phibal_enclosure *total) {
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(&t[0], (long)count[e]);
    TRY(operation_add_product(total, &mean[e], &t[0], &t[1]));
  }
  return PHIBAL_OK;
}

/*@ requires tokens >= 0 && (mask != \null ==> \valid_read(mask + (0 .. tokens - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_counted(mask, tokens) && 0 <= \result <= tokens; */
static int64_t mask_count(int64_t tokens, const uint8_t *mask) {
  int64_t n = 0;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant counted: n == tokens_counted(mask, i) && 0 <= n <= i;
      loop assigns i, n;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) n += !mask || mask[i];
  return n;
}

/* Sums (L4) over sequences into t[0], without alpha E / (k n); mean [E] and count [E] are
   temporaries. *counted becomes n. */
static phibal_status sequence_sum(const phibal_router *router, int64_t sequences, int64_t length,
                                  const float *logits, const float *bias, const uint8_t *mask,
                                  mpfr_prec_t precision, int64_t *count, phibal_enclosure *t,
                                  phibal_enclosure *mean, int64_t *counted) {
  phibal_enclosure_set_si(&t[0], 0);
  *counted = 0;
  for (int64_t b = 0; b < sequences; b++) {
    const uint8_t *mask_b = mask ? mask + b * length : NULL;
    int64_t n = mask_count(length, mask_b);
    if (n == 0) continue;
    TRY(phibal_reference_loads(router, length, logits + b * length * router->experts, bias, mask_b,
                               precision, mean, count, NULL));
    TRY(sequence_add(router->experts, count, mean, &t[1], &t[0]));
    *counted += n;
  }
  return PHIBAL_OK;
}

/* loss = alpha E t[0] / (k n). */
static phibal_status sequence_scale(const phibal_router *router, double alpha, int64_t counted,
                                    phibal_enclosure *t, phibal_enclosure *loss) {
  phibal_enclosure_set_d(&t[1], alpha);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  phibal_enclosure_set_si(&t[1], router->experts);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  phibal_enclosure_set_si(&t[1], (long)counted * router->active);
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_sequence_loss(const phibal_router *router, int64_t sequences,
                                             int64_t length, const float *logits, const float *bias,
                                             const uint8_t *mask, double alpha,
                                             mpfr_prec_t precision, phibal_enclosure *loss) {
  const char *name = "phibal_reference_sequence_loss";
  if (!router || !loss || sequences < 0 || length < 0 || (!logits && sequences * length > 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or negative shape", name);
  TRY(operation_check_experts(name, router->experts, precision));
  if (!isfinite(alpha))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha = %g; it must be finite", name,
                             alpha);
  phibal_enclosure *t;
  size_t n = (size_t)router->experts + 3;
  TRY(operation_scratch(name, n, precision, &t));
  int64_t *count = calloc((size_t)router->experts, sizeof *count), counted = 0;
  phibal_status status =
      count ? sequence_sum(router, sequences, length, logits, bias, mask, precision, count, t,
                           t + 3, &counted)
            : phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for the counts", name);
  if (status == PHIBAL_OK && counted > 0) status = sequence_scale(router, alpha, counted, t, loss);
  if (status == PHIBAL_OK && counted == 0) phibal_enclosure_set_si(loss, 0);
  free(count);
  operation_scratch_clear(t, n);
  return status;
}

/* t[0] = sum of logsumexp_t^2 over the unmasked tokens; t[1] is a temporary. */
static phibal_status z_sum(int64_t tokens, const float *logsumexp, const uint8_t *mask,
                           phibal_enclosure *t) {
  phibal_enclosure_set_si(&t[0], 0);
  for (int64_t i = 0; i < tokens; i++) {
    if (mask && !mask[i]) continue;
    if (!isfinite(logsumexp[i]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "phibal_reference_z_loss: logsumexp of token %lld is %g; it must be "
                               "finite",
                               (long long)i, (double)logsumexp[i]);
    /* the square of a binary32 number is a binary64 number */
    phibal_enclosure_set_d(&t[1], (double)logsumexp[i] * (double)logsumexp[i]);
    TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  }
  return PHIBAL_OK;
}

/*@ requires vector_output(t, 2) && output(loss) && vector_apart(loss, t, 2);
    requires \is_finite(coefficient) && 0 < n;
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *loss;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(loss);
    ensures only_three_written{Pre, Here}(loss, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(t + 0, a) ==> in(loss, (a * (real)coefficient) / n); */
static phibal_status z_scale(double coefficient, int64_t n, phibal_enclosure *t,
                             phibal_enclosure *loss) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[1], coefficient);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  phibal_enclosure_set_si(&t[1], (long)n);
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                      const uint8_t *mask, mpfr_prec_t precision,
                                      phibal_enclosure *loss) {
  const char *name = "phibal_reference_z_loss";
  if (!loss || tokens < 0 || (!logsumexp && tokens > 0) || !isfinite(coefficient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: null argument, %lld tokens or coefficient %g", name,
                             (long long)tokens, coefficient);
  TRY(operation_check_precision(name, precision));
  int64_t n = mask_count(tokens, mask);
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, precision, &t));
  phibal_status status = z_sum(tokens, logsumexp, mask, t);
  if (status == PHIBAL_OK && n > 0) status = z_scale(coefficient, n, t, loss);
  if (status == PHIBAL_OK && n == 0) phibal_enclosure_set_si(loss, 0);
  operation_scratch_clear(t, 2);
  return status;
}

/* The mean of the counts is whole + rest / experts with 0 <= rest < experts; no sum of them that
   could overflow is formed. */
typedef struct mean_count {
  int64_t whole, rest;
} mean_count;

static mean_count mean_count_compute(int32_t experts, const int64_t *count) {
  int64_t whole = 0, rest = 0;
  for (int32_t e = 0; e < experts; e++) {
    whole += count[e] / experts;
    rest += count[e] % experts;
  }
  int64_t carry = rest / experts;
  if (rest % experts < 0) carry--;
  return (mean_count){whole + carry, rest - carry * experts};
}

/* sign(mean(count) - count_e), in integers. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall integer experts; 0 <= mean.rest < experts ==>
      \result == sign_of(mean.whole * experts + mean.rest - experts * count); */
static int loss_free_sign(mean_count mean, int64_t count) {
  if (mean.whole != count) return mean.whole > count ? 1 : -1;
  return mean.rest > 0;
}

/* The binary32 nearest to x + y, from the exact sum. t[0..1] hold EXACT_BINARY32_SUM bits. */
static phibal_status binary32_sum(float x, float y, phibal_enclosure *t, float *sum) {
  double rounded;
  phibal_enclosure_set_d(&t[0], (double)x);
  phibal_enclosure_set_d(&t[1], (double)y);
  TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  if (!phibal_round_enclosure(&t[0], PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &rounded))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "the sum of %a and %a is not exact", (double)x,
                             (double)y);
  *sum = (float)rounded;
  return PHIBAL_OK;
}

static phibal_status loss_free_vector(int32_t experts, float rate, const int64_t *count,
                                      const float *bias, phibal_enclosure *t, float *next) {
  mean_count mean = mean_count_compute(experts, count);
  for (int32_t e = 0; e < experts; e++) {
    int sign = loss_free_sign(mean, count[e]);
    next[e] = bias[e];
    if (sign != 0) TRY(binary32_sum(bias[e], sign > 0 ? rate : -rate, t, &next[e]));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                                const float *bias, float *next) {
  const char *name = "phibal_reference_loss_free_update";
  if (!count || !bias || !next || !isfinite(rate))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or rate %g", name,
                             (double)rate);
  TRY(operation_check_experts(name, experts, OPERATION_PRECISION));
  TRY(operation_check_finite(name, "the bias", experts, bias));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, EXACT_BINARY32_SUM, &t));
  phibal_status status = loss_free_vector(experts, rate, count, bias, t, next);
  operation_scratch_clear(t, 2);
  return status;
}
