/* The truth of a balancing step, and the bounds that its stages' promises add up to.

   Exact values come from the reference, one micro-batch a of one layer after the other: P^(a), the
   mean over micro-batches 1 .. a (for the price), and P_a, that of a alone (for the loss).
   Bounds, u = 2^-24, 1 ULP of x at most 2 u |x| + 2^-149 =: ulp(x):
     dP  = ulp(P)                                         a mean, within 1 ULP
     dm  = eta dP + ulp(m)                                M1
     dq  = how far grad phi on the box m +- dm is from grad phi(m), by enclosures
     dc_e = dq_e + (1/E) sum_j dq_j + ulp(c_e) + 2^-90 max |q|      M3
   and for Switch df = ulp(f), dc_e = df_e + (1/E) sum_j df_j + ulp(c_e). Then, s = alpha E / T,
     |dL/dx_ij error| <= s p_ij (dc_j + sum_e p_ie dc_e) (1 + 2 u)
                         + 1.001 u s p_ij (|c_j| + sum_e p_ie |c_e|) (1 + 2 u) + 2^-149
   which is the promise of router-backward on inputs that are off by dc, and
     |L error| <= alpha E sum_a (n_a/T) sum_e ((P_e + dP_e)(|q_e| + dq_e) - P_e |q_e|
                                                + 4 u (P_e + dP_e)(|q_e| + dq_e)) + 2^-149,
   3 u of them the roundings of one loss (0.501 ULP, at most 1.002 u of the terms), of the share and
   of the sum, 1 u to spare. All of it in binary64 on positive numbers, rounded up by the factor
   1 + 2^-40. */
#include "bounds.h"
#include "selection.h"
#include "step_case.h"

enum { PRECISION = 128 };

/* One layer, micro-batch by micro-batch. E values each, exact and how far they may be off. */
typedef struct expected_layer {
  const operation_case *c;
  const step_case *s;
  judgement *j;
  int64_t layer, counted; /* counted: unmasked tokens of the global batch */
  phibal_enclosure *v;    /* all of the following */
  phibal_enclosure *P, *m, *q, *box, *box_q, *centred, *terms;
  phibal_enclosure *loss, *factor, *sum, *t;
  double dP[PHIBAL_MAX_EXPERTS], dm[PHIBAL_MAX_EXPERTS], dq[PHIBAL_MAX_EXPERTS];
  double dc[PHIBAL_MAX_EXPERTS], loss_bound;
  phibal_reference_token token;
  output_id counts, loss_promise, gradient;
} expected_layer;

static int64_t count_unmasked(const step_case *s, int64_t first, int64_t n) {
  int64_t counted = 0;
  for (int64_t t = first; t < first + n; t++) counted += !s->mask || s->mask[t];
  return counted;
}

static const float *layer_logits(const expected_layer *w, int64_t token) {
  return w->s->logits + (w->layer * w->s->tokens + token) * w->s->router.experts;
}

/* The tokens of each expert, where the selection is given. */
static void count_given(const expected_layer *w, int64_t first, int64_t n, int64_t *count) {
  const step_case *s = w->s;
  const int32_t k = s->router.active;
  if (s->experts)
    selection_count(s->experts + (w->layer * s->tokens + first) * k, n * k, s->router.experts,
                    count);
}

/* Mean probabilities (or for Switch frequencies) of tokens first .. first + n - 1. */
static phibal_status tracked_loads(expected_layer *w, int64_t first, int64_t n, bool frequencies,
                                   phibal_enclosure *to) {
  const step_case *s = w->s;
  int64_t count[PHIBAL_MAX_EXPERTS], counted;
  phibal_status status =
      phibal_reference_loads((phibal_reference_batch){&s->router, layer_logits(w, first), NULL,
                                                      s->mask ? s->mask + first : NULL},
                             n, PRECISION, to, count, &counted);
  count_given(w, first, n, count);
  if (status == PHIBAL_OK && frequencies)
    status = phibal_reference_frequency(s->router.experts, s->router.active, counted, count, to);
  return status;
}

/* x +- d, not below 0. */
static void widen(phibal_enclosure *box, const phibal_enclosure *x, double d) {
  mpfr_sub_d(box->lo, x->lo, d, MPFR_RNDD);
  mpfr_add_d(box->hi, x->hi, d, MPFR_RNDU);
  if (mpfr_sgn(box->lo) < 0) mpfr_set_zero(box->lo, 1);
}

/* How far members of the box are from the exact value. */
static double deviation(const phibal_enclosure *box, const phibal_enclosure *exact) {
  double above = mpfr_get_d(box->hi, MPFR_RNDU) - mpfr_get_d(exact->lo, MPFR_RNDD);
  double below = mpfr_get_d(exact->hi, MPFR_RNDU) - mpfr_get_d(box->lo, MPFR_RNDD);
  double most = above > below ? above : below;
  return most * UP;
}

/* q = grad phi(m) and dq, from P of the batch so far. */
static phibal_status price_of_state(expected_layer *w, int64_t so_far) {
  const step_case *s = w->s;
  size_t E = (size_t)s->router.experts;
  const float *m = s->m + w->layer * (int64_t)E;
  phibal_status status = tracked_loads(w, 0, so_far, false, w->P);
  if (status != PHIBAL_OK) return status;
  double eta = (double)s->eta;
  for (size_t e = 0; e < E; e++) {
    phibal_enclosure_set_d(w->factor, eta);
    phibal_enclosure_mul(&w->m[e], &w->P[e], w->factor);
    phibal_enclosure_set_d(w->factor, 1 - eta);
    phibal_enclosure_set_d(w->t, (double)m[e]);
    phibal_enclosure_mul(w->t, w->t, w->factor);
    phibal_enclosure_add(&w->m[e], &w->m[e], w->t);
    w->dm[e] = (eta * ulp(magnitude(&w->P[e])) + ulp(magnitude(&w->m[e]))) * UP;
    widen(&w->box[e], &w->m[e], w->dm[e]);
  }
  phibal_reference_potential phi = {.id = s->potential.id};
  phibal_enclosure_init(&phi.parameter, 64);
  phibal_enclosure_set_d(&phi.parameter, s->potential.parameter);
  status = phibal_reference_gradient(&phi, E, w->m, w->q);
  if (status == PHIBAL_OK) status = phibal_reference_gradient(&phi, E, w->box, w->box_q);
  phibal_enclosure_clear(&phi.parameter);
  for (size_t e = 0; e < E; e++) w->dq[e] = deviation(&w->box_q[e], &w->q[e]);
  return status;
}

static phibal_status price_of_frequencies(expected_layer *w, int64_t first, int64_t n) {
  bool global = w->s->global;
  phibal_status status = tracked_loads(w, global ? 0 : first, global ? first + n : n, true, w->q);
  for (int32_t e = 0; e < w->s->router.experts; e++) w->dq[e] = ulp(magnitude(&w->q[e]));
  return status;
}

/* centred = q - mean q, and dc. */
static void centre(expected_layer *w) {
  int32_t E = w->s->router.experts;
  phibal_enclosure_sum(w->sum, (size_t)E, w->q);
  phibal_enclosure_set_si(w->factor, E);
  phibal_enclosure_div(w->sum, w->sum, w->factor);
  double mean = 0, largest = 0;
  for (int32_t e = 0; e < E; e++) {
    mean += w->dq[e] / E;
    if (magnitude(&w->q[e]) > largest) largest = magnitude(&w->q[e]);
  }
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_sub(&w->centred[e], &w->q[e], w->sum);
    w->dc[e] =
        (w->dq[e] + mean + ulp(magnitude(&w->centred[e])) + 0x1p-90 * (largest + w->dq[e])) * UP;
  }
}

/* Adds the micro-batch's part to the loss: w->P is made its own P_a. */
static phibal_status add_loss(expected_layer *w, int64_t first, int64_t n, int64_t counted) {
  const step_case *s = w->s;
  int32_t E = s->router.experts;
  phibal_status status = tracked_loads(w, first, n, false, w->P);
  if (status != PHIBAL_OK) return status;
  phibal_enclosure_set_si(w->sum, 0);
  double bound = 0;
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_mul(w->t, &w->P[e], &w->q[e]);
    phibal_enclosure_add(w->sum, w->sum, w->t);
    double P = magnitude(&w->P[e]), q = magnitude(&w->q[e]), dP = ulp(P), dq = w->dq[e];
    bound += dP * q + P * dq + dP * dq + 4 * U * (P + dP) * (q + dq);
  }
  phibal_enclosure_set_d(w->factor, s->alpha);
  phibal_enclosure_mul(w->sum, w->sum, w->factor);
  phibal_enclosure_set_si(w->factor, E * counted);
  phibal_enclosure_mul(w->sum, w->sum, w->factor);
  phibal_enclosure_set_si(w->factor, w->counted);
  phibal_enclosure_div(w->sum, w->sum, w->factor);
  phibal_enclosure_add(w->loss, w->loss, w->sum);
  w->loss_bound += s->alpha * E * (double)counted / (double)w->counted * bound * UP;
  return PHIBAL_OK;
}

static void judge_token_gradient(expected_layer *w, int64_t token) {
  const step_case *s = w->s;
  int32_t E = s->router.experts;
  const phibal_enclosure *p = w->token.probability;
  const tensor *to = case_output(w->c, "logit-gradient");
  double scale = s->alpha * E / (double)w->counted * UP, sum_dc = 0, sum_c = 0;
  phibal_enclosure_set_si(w->sum, 0);
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_mul(w->t, &p[e], &w->centred[e]);
    phibal_enclosure_add(w->sum, w->sum, w->t);
    sum_dc += magnitude(&p[e]) * w->dc[e];
    sum_c += magnitude(&p[e]) * magnitude(&w->centred[e]);
  }
  for (int32_t e = 0; e < E; e++) {
    phibal_enclosure_sub(w->t, &w->centred[e], w->sum);
    phibal_enclosure_mul(w->t, w->t, &p[e]);
    phibal_enclosure_set_d(w->factor, s->alpha);
    phibal_enclosure_mul(w->t, w->t, w->factor);
    phibal_enclosure_set_si(w->factor, E);
    phibal_enclosure_mul(w->t, w->t, w->factor);
    phibal_enclosure_set_si(w->factor, w->counted);
    phibal_enclosure_div(w->t, w->t, w->factor);
    double part = scale * magnitude(&p[e]) * (1 + 2 * U) * UP;
    double bound =
        part * (w->dc[e] + sum_dc) + 1.001 * U * part * (magnitude(&w->centred[e]) + sum_c) + LEAST;
    phibal_enclosure_set_d(w->terms, bound * UP);
    judge_real(w->j, w->gradient, to, (w->layer * s->tokens + token) * E + e, w->t, w->terms);
  }
}

static phibal_status judge_micro_batch(expected_layer *w, int64_t a) {
  const step_case *s = w->s;
  int64_t E = s->router.experts, n = s->tokens / s->micro_batches, first = a * n;
  int64_t counted = count_unmasked(s, first, n);
  phibal_status status = PHIBAL_OK;
  if (counted > 0) {
    status = s->m ? price_of_state(w, first + n) : price_of_frequencies(w, first, n);
    if (status == PHIBAL_OK) {
      centre(w);
      status = add_loss(w, first, n, counted);
    }
  }
  for (int64_t t = first; status == PHIBAL_OK && t < first + n; t++) {
    if (s->mask && !s->mask[t]) {
      for (int64_t e = 0; e < E; e++)
        judge_exact(w->j, w->gradient, case_output(w->c, "logit-gradient"),
                    (w->layer * s->tokens + t) * E + e, 0);
      continue;
    }
    status = phibal_reference_token_forward(&w->token, &s->router, layer_logits(w, t), NULL);
    if (status == PHIBAL_OK) judge_token_gradient(w, t);
  }
  return status;
}

static phibal_status judge_layer(expected_layer *w) {
  const step_case *s = w->s;
  int64_t E = s->router.experts, count[PHIBAL_MAX_EXPERTS], counted;
  phibal_enclosure_set_si(w->loss, 0);
  w->loss_bound = LEAST;
  phibal_status status = PHIBAL_OK;
  for (int64_t a = 0; status == PHIBAL_OK && a < s->micro_batches; a++)
    status = judge_micro_batch(w, a);
  if (status == PHIBAL_OK)
    status = phibal_reference_loads(
        (phibal_reference_batch){&s->router, layer_logits(w, 0), NULL, s->mask}, s->tokens,
        PRECISION, NULL, count, &counted);
  if (status != PHIBAL_OK) return status;
  count_given(w, 0, s->tokens, count);
  for (int64_t e = 0; e < E; e++) {
    judge_integer(w->j, w->counts, case_output(w->c, "counts"), w->layer * E + e, count[e]);
    if (!s->m) continue;
    phibal_enclosure_set_d(w->terms, w->dm[e]);
    judge_real(w->j, OUTPUT_STEP_STATE, case_output(w->c, "m"), w->layer * E + e, &w->m[e],
               w->terms);
  }
  phibal_enclosure_set_d(w->terms, w->loss_bound * UP);
  judge_real(w->j, w->loss_promise, case_output(w->c, "loss"), w->layer, w->loss, w->terms);
  return PHIBAL_OK;
}

static phibal_status expected_step(const operation_case *c, judgement *j, output_id counts,
                                   output_id loss, output_id gradient) {
  step_case s = step_case_of(c);
  size_t E = (size_t)s.router.experts, all = 6 * E + 5;
  expected_layer w = {.c = c,
                      .s = &s,
                      .j = j,
                      .counted = count_unmasked(&s, 0, s.tokens),
                      .counts = counts,
                      .loss_promise = loss,
                      .gradient = gradient};
  w.v = phibal_enclosure_vector(all, PRECISION);
  if (!w.v) return arena_out_of_memory();
  phibal_enclosure **vectors[] = {&w.P, &w.m, &w.q, &w.box, &w.box_q, &w.centred};
  for (size_t i = 0; i < 6; i++) *vectors[i] = w.v + i * E;
  phibal_enclosure **scalars[] = {&w.terms, &w.loss, &w.factor, &w.sum, &w.t};
  for (size_t i = 0; i < 5; i++) *scalars[i] = w.v + 6 * E + i;
  phibal_status status =
      phibal_reference_token_init(&w.token, s.router.experts, s.router.active, PRECISION);
  if (status == PHIBAL_OK) {
    for (w.layer = 0; status == PHIBAL_OK && w.layer < s.layers; w.layer++)
      status = judge_layer(&w);
    phibal_reference_token_clear(&w.token);
  }
  phibal_enclosure_vector_clear(w.v, all);
  return status;
}

phibal_status operation_balance_step_expected(const operation_case *c, judgement *j) {
  return expected_step(c, j, OUTPUT_STEP_COUNTS, OUTPUT_STEP_LOSS, OUTPUT_STEP_GRADIENT);
}

phibal_status operation_switch_step_expected(const operation_case *c, judgement *j) {
  return expected_step(c, j, OUTPUT_SWITCH_STEP_COUNTS, OUTPUT_SWITCH_STEP_LOSS,
                       OUTPUT_SWITCH_STEP_GRADIENT);
}
