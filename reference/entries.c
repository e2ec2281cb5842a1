/* The public doors of libphibal-reference: each function that computes is entered here, and what
   its proof takes for granted of the thread is made true first, or the call is refused.

   MPFR's range of exponents belongs to the thread, and so to the program that calls: one that
   emulates binary16 sets -23 .. 16. The proofs hold for ranges that hold -53 .. 53 (mpfr_mul_2si in
   proofs/frama-c/include/mpfr.h), in an environment of IEEE 754's default.

   - Enclosures and rounding compute in a range that holds the caller's and MPFR's default, and in
     the default environment; both are put back. An end that the caller's range does not hold
     is then rounded outward to it: the enclosure is wider and as true.
   - The others, whose results are many, refuse with PHIBAL_ERROR_UNSUPPORTED where the
     range is narrower than the default or the environment another.
   - Those that are given a precision refuse one that MPFR would end the program for (precision.h).

   The functions themselves have the suffix _inside; inside.h gives it to them when the library is
   compiled, so that they call each other without these doors. What is no more than memory,
   comparisons or names has none (tests/reference/entries.py holds the list against the headers). */
#include <fenv.h>
#include <phibal/environment.h>
#include <phibal/precision.h>
#include <phibal/reference.h>
#include <phibal/reference_moe.h>
#include <phibal/reference_capacity.h>
#include <phibal/reference_gate_factor.h>
#include <phibal/reference_quantile.h>
#include <phibal/reference_sinkhorn.h>
#include <phibal/reference_zero_experts.h>
#include <phibal/reference_router.h>
#include <phibal/rounding.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  mpfr_exp_t emin, emax;
  fenv_t environment;
  bool narrow, changed;
} thread_state;

static bool range_is_narrow(void) {
  return mpfr_get_emin() > MPFR_EMIN_DEFAULT || mpfr_get_emax() < MPFR_EMAX_DEFAULT;
}

/* Sets MPFR's range of exponents and the floating-point environment where the caller has narrowed
   or changed them; `leave` undoes that. */
static thread_state enter(void) {
  thread_state s = {.emin = mpfr_get_emin(), .emax = mpfr_get_emax()};
  s.narrow = range_is_narrow();
  s.changed = phibal_environment_changed() != NULL;
  if (s.narrow && s.emin > MPFR_EMIN_DEFAULT) mpfr_set_emin(MPFR_EMIN_DEFAULT);
  if (s.narrow && s.emax < MPFR_EMAX_DEFAULT) mpfr_set_emax(MPFR_EMAX_DEFAULT);
  if (s.changed) {
    fegetenv(&s.environment);
    fesetenv(FE_DFL_ENV);
  }
  return s;
}

/* up and down, the ends that were written, may be null. */
static void leave(const thread_state *s, mpfr_ptr up, mpfr_ptr down) {
  if (s->changed) fesetenv(&s->environment);
  if (!s->narrow) return;
  mpfr_set_emin(s->emin);
  mpfr_set_emax(s->emax);
  if (up) mpfr_check_range(up, 0, MPFR_RNDU);
  if (down) mpfr_check_range(down, 0, MPFR_RNDD);
}

static phibal_status check(const char *name, bool threads) {
  if (range_is_narrow())
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: MPFR's range of exponents is narrower in this thread than its "
                             "default (mpfr_set_emin, mpfr_set_emax)",
                             name);
  if (!threads) return phibal_environment_check(name);
  /* A team of OpenMP computes: none of its threads may differ. */
  bool narrow = false;
#pragma omp parallel reduction(|| : narrow)
  narrow = range_is_narrow();
  if (narrow)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: MPFR's range of exponents is narrower in a thread of OpenMP than "
                             "its default (mpfr_set_emin, mpfr_set_emax)",
                             name);
  return phibal_environment_check_threads(name);
}

/* Too small a precision is refused by the functions themselves. */
static phibal_status check_precision(const char *name, mpfr_prec_t precision) {
  return precision <= PHIBAL_MAX_PRECISION ? PHIBAL_OK : phibal_precision_check(name, precision);
}

#define SET(name, parameters, arguments, up, down)                                                 \
  void name##_inside parameters;                                                                   \
  void name parameters {                                                                           \
    const thread_state s = enter();                                                                \
    name##_inside arguments;                                                                       \
    leave(&s, up, down);                                                                           \
  }
#define ANSWER(type, name, parameters, arguments, up, down)                                        \
  type name##_inside parameters;                                                                   \
  type name parameters {                                                                           \
    const thread_state s = enter();                                                                \
    const type answer = name##_inside arguments;                                                   \
    leave(&s, up, down);                                                                           \
    return answer;                                                                                 \
  }
#define REFUSED(name, parameters, arguments, threads, bits)                                        \
  phibal_status name##_inside parameters;                                                          \
  phibal_status name parameters {                                                                  \
    phibal_status status = check(#name, threads);                                                  \
    if (!status) status = check_precision(#name, bits);                                            \
    return status ? status : name##_inside arguments;                                              \
  }
#define REFUSE(name, parameters, arguments) REFUSED(name, parameters, arguments, false, 0)
/* These have a parameter `precision`. */
#define PRECISE(name, parameters, arguments) REFUSED(name, parameters, arguments, false, precision)
#define THREADS(name, parameters, arguments) REFUSED(name, parameters, arguments, true, precision)

/* It returns nothing. Where the precision is refused, z gets the least one: it can be used and
   cleared as any other, and encloses what is computed in it, widely. */
void phibal_enclosure_init_inside(phibal_enclosure *z, mpfr_prec_t precision);
void phibal_enclosure_init(phibal_enclosure *z, mpfr_prec_t precision) {
  const bool refused = phibal_precision_check("phibal_enclosure_init", precision) != PHIBAL_OK;
  phibal_enclosure_init_inside(z, refused ? MPFR_PREC_MIN : precision);
}

/* n numbers at once may be too much where one is not: MPFR would find that out one by one. */
phibal_enclosure *phibal_enclosure_vector_inside(size_t n, mpfr_prec_t precision);
phibal_enclosure *phibal_enclosure_vector(size_t n, mpfr_prec_t precision) {
  if (phibal_precision_check("phibal_enclosure_vector", precision)) return NULL;
  const size_t each = sizeof(phibal_enclosure) + 2 * ((size_t)precision / 8 + 8);
  if (n >= SIZE_MAX / 2 / each) return NULL;
  void *volatile room = malloc((n + 1) * each);
  if (!room) return NULL;
  free(room);
  return phibal_enclosure_vector_inside(n, precision);
}

/* Enclosures. */
SET(phibal_enclosure_set, (phibal_enclosure * z, const phibal_enclosure *x), (z, x), z->hi, z->lo)
SET(phibal_enclosure_set_si, (phibal_enclosure * z, long n), (z, n), z->hi, z->lo)
SET(phibal_enclosure_set_d, (phibal_enclosure * z, double d), (z, d), z->hi, z->lo)
SET(phibal_enclosure_set_fr, (phibal_enclosure * z, mpfr_srcptr x), (z, x), z->hi, z->lo)
SET(phibal_enclosure_set_q, (phibal_enclosure * z, mpq_srcptr q), (z, q), z->hi, z->lo)
SET(phibal_enclosure_hull,
    (phibal_enclosure * z, const phibal_enclosure *x, const phibal_enclosure *y), (z, x, y), z->hi,
    z->lo)
ANSWER(phibal_status, phibal_enclosure_set_str, (phibal_enclosure * z, const char *text), (z, text),
       z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_get_decimal,
       (const phibal_enclosure *x, int digits, char *lo, char *hi, size_t size),
       (x, digits, lo, hi, size), NULL, NULL)
ANSWER(phibal_status, phibal_enclosure_add,
       (phibal_enclosure * z, const phibal_enclosure *x, const phibal_enclosure *y), (z, x, y),
       z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_sub,
       (phibal_enclosure * z, const phibal_enclosure *x, const phibal_enclosure *y), (z, x, y),
       z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_mul,
       (phibal_enclosure * z, const phibal_enclosure *x, const phibal_enclosure *y), (z, x, y),
       z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_div,
       (phibal_enclosure * z, const phibal_enclosure *x, const phibal_enclosure *y), (z, x, y),
       z->hi, z->lo)
SET(phibal_enclosure_neg, (phibal_enclosure * z, const phibal_enclosure *x), (z, x), z->hi, z->lo)
SET(phibal_enclosure_abs, (phibal_enclosure * z, const phibal_enclosure *x), (z, x), z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_sqrt, (phibal_enclosure * z, const phibal_enclosure *x),
       (z, x), z->hi, z->lo)
SET(phibal_enclosure_exp, (phibal_enclosure * z, const phibal_enclosure *x), (z, x), z->hi, z->lo)
SET(phibal_enclosure_expm1, (phibal_enclosure * z, const phibal_enclosure *x), (z, x), z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_log, (phibal_enclosure * z, const phibal_enclosure *x),
       (z, x), z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_log1p, (phibal_enclosure * z, const phibal_enclosure *x),
       (z, x), z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_pow,
       (phibal_enclosure * z, const phibal_enclosure *x, const phibal_enclosure *y), (z, x, y),
       z->hi, z->lo)
SET(phibal_enclosure_tanh, (phibal_enclosure * z, const phibal_enclosure *x), (z, x), z->hi, z->lo)
ANSWER(phibal_status, phibal_enclosure_sum,
       (phibal_enclosure * z, size_t n, const phibal_enclosure *x), (z, n, x), z->hi, z->lo)
SET(phibal_enclosure_width, (mpfr_ptr width, const phibal_enclosure *x), (width, x), width, NULL)

/* Rounding. */
ANSWER(bool, phibal_round_enclosure,
       (const phibal_enclosure *x, phibal_format format, phibal_direction direction,
        double *result),
       (x, format, direction, result), NULL, NULL)
phibal_status phibal_round_correctly_inside(phibal_evaluator, void *, mpfr_prec_t, phibal_format,
                                            phibal_direction, double *);
phibal_status phibal_round_correctly(phibal_evaluator evaluate, void *context, mpfr_prec_t cap,
                                     phibal_format format, phibal_direction direction,
                                     double *result) {
  phibal_status status = check_precision("phibal_round_correctly", cap);
  if (status) return status;
  const thread_state s = enter();
  status = phibal_round_correctly_inside(evaluate, context, cap, format, direction, result);
  leave(&s, NULL, NULL);
  return status;
}
ANSWER(double, phibal_format_ulp, (phibal_format format, double x), (format, x), NULL, NULL)

/* Potentials, and every operation of a model. */
REFUSE(phibal_reference_value,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *x,
        phibal_enclosure *value),
       (phi, n, x, value))
REFUSE(phibal_reference_gradient,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *x,
        phibal_enclosure *gradient),
       (phi, n, x, gradient))
REFUSE(phibal_reference_hessian,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *x,
        phibal_enclosure *hessian),
       (phi, n, x, hessian))
REFUSE(phibal_reference_hessian_product,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *x,
        const phibal_enclosure *v, phibal_enclosure *product),
       (phi, n, x, v, product))
REFUSE(phibal_reference_conjugate,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *y,
        phibal_enclosure *value),
       (phi, n, y, value))
REFUSE(phibal_reference_conjugate_gradient,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *y,
        phibal_enclosure *gradient),
       (phi, n, y, gradient))
REFUSE(phibal_reference_mirror_ema,
       (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *m,
        const phibal_enclosure *loads, const phibal_enclosure *eta, phibal_enclosure *next,
        phibal_enclosure *price),
       (phi, n, m, loads, eta, next, price))
PRECISE(phibal_reference_mirror_argmax,
        (const phibal_reference_potential *phi, size_t n, const phibal_enclosure *m,
         const phibal_enclosure *loads, const phibal_enclosure *eta, mpfr_prec_t precision,
         phibal_enclosure *next, phibal_enclosure *price),
        (phi, n, m, loads, eta, precision, next, price))
PRECISE(phibal_reference_token_init,
        (phibal_reference_token * token, int32_t experts, int32_t active, mpfr_prec_t precision),
        (token, experts, active, precision))
REFUSE(phibal_reference_token_forward,
       (phibal_reference_token * token, const phibal_router *router, const float *logits,
        const float *bias),
       (token, router, logits, bias))
REFUSE(phibal_reference_token_select,
       (phibal_reference_token * token, const phibal_router *router, const float *logits,
        const float *bias),
       (token, router, logits, bias))
REFUSE(phibal_reference_token_backward,
       (phibal_reference_token * token, const phibal_router *router, const float *logits,
        const int32_t *experts, const float *gate_gradient, const float *price, double price_scale,
        double z_scale),
       (token, router, logits, experts, gate_gradient, price, price_scale, z_scale))
THREADS(phibal_reference_loads,
        (phibal_reference_batch batch, int64_t tokens, mpfr_prec_t precision,
         phibal_enclosure *mean, int64_t *count, int64_t *counted),
        (batch, tokens, precision, mean, count, counted))
REFUSE(phibal_reference_frequency,
       (int32_t experts, int32_t active, int64_t tokens, const int64_t *count,
        phibal_enclosure *frequency),
       (experts, active, tokens, count, frequency))
PRECISE(phibal_reference_ema,
        (int32_t experts, float eta, const float *m, const float *loads, mpfr_prec_t precision,
         phibal_enclosure *next),
        (experts, eta, m, loads, precision, next))
PRECISE(phibal_reference_price,
        (const phibal_potential *potential, int32_t experts, const float *m, mpfr_prec_t precision,
         phibal_enclosure *price, int32_t *floored),
        (potential, experts, m, precision, price, floored))
PRECISE(phibal_reference_price_centred,
        (const phibal_potential *potential, int32_t experts, const float *m, mpfr_prec_t precision,
         phibal_enclosure *centred, phibal_enclosure *largest, int32_t *floored),
        (potential, experts, m, precision, centred, largest, floored))
PRECISE(phibal_reference_balance_loss,
        (const phibal_potential *potential, int32_t experts, double alpha, const float *loads,
         const float *m, mpfr_prec_t precision, phibal_enclosure *loss,
         phibal_enclosure *condition),
        (potential, experts, alpha, loads, m, precision, loss, condition))
PRECISE(phibal_reference_switch_loss,
        (int32_t experts, double alpha, const float *frequency, const float *loads,
         mpfr_prec_t precision, phibal_enclosure *loss, phibal_enclosure *condition),
        (experts, alpha, frequency, loads, precision, loss, condition))
PRECISE(phibal_reference_frequency_centred,
        (int32_t experts, const float *frequency, mpfr_prec_t precision, phibal_enclosure *centred),
        (experts, frequency, precision, centred))
PRECISE(phibal_reference_sequence_loss,
        (phibal_reference_batch batch, int64_t sequences, int64_t length, double alpha,
         mpfr_prec_t precision, phibal_enclosure *loss),
        (batch, sequences, length, alpha, precision, loss))
PRECISE(phibal_reference_z_loss,
        (int64_t tokens, double coefficient, const float *logsumexp, const uint8_t *mask,
         mpfr_prec_t precision, phibal_enclosure *loss),
        (tokens, coefficient, logsumexp, mask, precision, loss))
REFUSE(phibal_reference_loss_free_update,
       (int32_t experts, float rate, const int64_t *count, const float *bias, float *next),
       (experts, rate, count, bias, next))
REFUSE(phibal_reference_router_forward,
       (phibal_reference_token * token, const phibal_router *router, const float *logits,
        const float *bias, const int32_t *experts),
       (token, router, logits, bias, experts))
REFUSE(phibal_reference_router_backward,
       (phibal_reference_token * token, const phibal_router *router, const float *logits,
        const int32_t *experts, const float *gate_gradient, const float *price, double price_scale,
        double z_scale),
       (token, router, logits, experts, gate_gradient, price, price_scale, z_scale))
REFUSE(phibal_reference_quantile_required,
       (const phibal_router *router, int64_t tokens, const float *logits, const float *bias,
        const uint8_t *mask, float *required),
       (router, tokens, logits, bias, mask, required))
REFUSE(phibal_reference_quantile,
       (int32_t experts, int32_t active, int64_t tokens, const uint8_t *mask, const float *required,
        float *quantile),
       (experts, active, tokens, mask, required, quantile))
REFUSE(phibal_reference_capacity_limit,
       (float factor, int64_t minimum, int64_t tokens, int32_t active, int32_t experts_count,
        int64_t *limit),
       (factor, minimum, tokens, active, experts_count, limit))
REFUSE(phibal_reference_capacity,
       (phibal_capacity_policy policy, int64_t tokens, int32_t active, int64_t limit,
        const int32_t *experts, const float *gates, int32_t *kept),
       (policy, tokens, active, limit, experts, gates, kept))
REFUSE(phibal_reference_capacity_place,
       (phibal_capacity_policy policy, int64_t tokens, int32_t active, const int32_t *kept,
        int64_t *place),
       (policy, tokens, active, kept, place))
PRECISE(phibal_reference_capacity_gates,
        (int32_t active, bool renormalise, const int32_t *kept, const float *gates,
         const float *kept_gradient, mpfr_prec_t precision, phibal_enclosure *kept_gates,
         phibal_reference_result gate_gradient),
        (active, renormalise, kept, gates, kept_gradient, precision, kept_gates, gate_gradient))
PRECISE(phibal_reference_zero_experts,
        (phibal_zero_output output, phibal_reference_zero_token token, mpfr_prec_t precision,
         phibal_reference_zero_results results),
        (output, token, precision, results))
PRECISE(phibal_reference_gate_factor,
        (phibal_reference_factor_batch batch, mpfr_prec_t precision,
         phibal_reference_factor_results to),
        (batch, precision, to))
PRECISE(phibal_reference_sinkhorn,
        (int64_t tokens, int32_t experts, int32_t rounds, const float *logits, const uint8_t *mask,
         mpfr_prec_t precision, phibal_enclosure *plan),
        (tokens, experts, rounds, logits, mask, precision, plan))
REFUSE(phibal_reference_permutation,
       (int64_t tokens, int32_t active, int32_t experts_count, const int32_t *experts,
        int64_t *offsets, int64_t *source, int64_t *row),
       (tokens, active, experts_count, experts, offsets, source, row))
THREADS(phibal_reference_product,
        (int64_t rows, int64_t inner, int64_t columns, const phibal_reference_matrix *a,
         const phibal_reference_matrix *b, mpfr_prec_t precision, phibal_enclosure *product,
         phibal_enclosure *condition),
        (rows, inner, columns, a, b, precision, product, condition))
PRECISE(phibal_reference_activation,
        (phibal_activation activation, float a, mpfr_prec_t precision, phibal_enclosure *value,
         phibal_enclosure *derivative, phibal_enclosure *derivative_condition),
        (activation, a, precision, value, derivative, derivative_condition))
THREADS(phibal_reference_ffn_forward,
        (const phibal_ffn *ffn, int64_t rows, phibal_reference_ffn_inputs given,
         mpfr_prec_t precision, phibal_reference_ffn_results to),
        (ffn, rows, given, precision, to))
THREADS(phibal_reference_ffn_backward,
        (const phibal_ffn *ffn, int64_t rows, phibal_reference_ffn_inputs given,
         phibal_reference_ffn_saved saved, mpfr_prec_t precision,
         const phibal_reference_ffn_gradients *gradients),
        (ffn, rows, given, saved, precision, gradients))
PRECISE(phibal_reference_combine,
        (phibal_reference_combination c, const float *before, mpfr_prec_t precision,
         phibal_reference_result y),
        (c, before, precision, y))
PRECISE(phibal_reference_combine_backward,
        (phibal_reference_combination c, const float *y_gradient, mpfr_prec_t precision,
         phibal_enclosure *expert_gradient, phibal_reference_result gate_gradient),
        (c, y_gradient, precision, expert_gradient, gate_gradient))
PRECISE(phibal_reference_maxvio_counts,
        (int32_t experts, const int64_t *count, mpfr_prec_t precision, phibal_enclosure *maxvio),
        (experts, count, precision, maxvio))
PRECISE(phibal_reference_maxvio_mean,
        (int32_t experts, const float *mean, mpfr_prec_t precision, phibal_enclosure *maxvio),
        (experts, mean, precision, maxvio))
PRECISE(phibal_reference_gini,
        (int32_t experts, const double *x, mpfr_prec_t precision, phibal_enclosure *gini),
        (experts, x, precision, gini))
PRECISE(phibal_reference_entropy,
        (int32_t experts, const double *x, mpfr_prec_t precision, phibal_enclosure *entropy),
        (experts, x, precision, entropy))
