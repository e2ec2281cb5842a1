/* The reference of the routing, balancing and expert operations, in enclosures. Equations: SPEC.md,
   sections R, G, L, E and V. Inputs are the kernels' own (binary32 and binary64 numbers taken as
   the exact reals they are); results enclose what the equations mean for them in real arithmetic,
   with no intermediate rounding: P is the mean of exact softmax probabilities, gates come from the
   exact logits, gradients from exact probabilities.

   Outputs are arrays of initialised enclosures that are none of the inputs; a result is as tight as
   `precision` (the working precision in bits, at least 32) and the outputs' own precision allow.
   A *condition* is the sum of the absolute values of the terms of the equation (the quantity that a
   componentwise bound c u condition multiplies), as an enclosure; a null pointer leaves it out.
   Every function may be called from several threads on different outputs. Where a thread's range of
   exponents is narrower than MPFR's default (mpfr_set_emin, mpfr_set_emax), or its floating-point
   environment is not IEEE 754's default, a function returns PHIBAL_ERROR_UNSUPPORTED and has
   computed nothing; where a team of OpenMP computes, this goes for each of its threads. */
#ifndef PHIBAL_REFERENCE_MOE_H
#define PHIBAL_REFERENCE_MOE_H

#include <phibal/balance.h>
#include <phibal/expert.h>
#include <phibal/reference.h>
#include <phibal/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Router: one token at a time. */

/* The results for one token, and the temporaries that compute them, allocated once for many tokens.
   One per thread. */
typedef struct phibal_reference_token {
  int32_t experts, active;
  mpfr_prec_t precision;
  /* results of phibal_reference_token_forward */
  phibal_enclosure *probability;    /* [E] (R1), (R1s) */
  phibal_enclosure logsumexp;       /* (R8) */
  phibal_enclosure logsumexp_terms; /* |max x| + log sum exp(x - max x): what cancels in (R8) */
  int32_t *selection;               /* [k] (R2), by falling score, ties to the lower index */
  phibal_enclosure *gate; /* [k] (R3) to (R5), of the selection, multiplied by router.scale */
  /* results of phibal_reference_token_backward */
  phibal_enclosure *gradient;  /* [E] (G2) */
  phibal_enclosure *condition; /* [E] sum of the absolute values of the terms of (G2), with
                                  logsumexp_terms for logsumexp */
  /* temporaries */
  phibal_enclosure *weight; /* [E] unnormalised probabilities: exp(x - max), or scaled sigmoids */
  phibal_enclosure *part;   /* [k] unnormalised, then unscaled, gates */
  double *score;            /* [E] what the selection compares */
  phibal_enclosure total, mean, magnitude, term, factor, one;
} phibal_reference_token;

/* PHIBAL_ERROR_ARGUMENT unless 1 <= active <= experts <= PHIBAL_MAX_EXPERTS and precision >= 32;
   PHIBAL_ERROR_MEMORY. After a failure there is nothing to clear. */
phibal_status phibal_reference_token_init(phibal_reference_token *token, int32_t experts,
                                          int32_t active, mpfr_prec_t precision);
void phibal_reference_token_clear(phibal_reference_token *token);

/* (R1) to (R5), (R8) of one token; the token was initialised for router.experts and router.active.
     logits [E], all finite: else PHIBAL_ERROR_NONFINITE names the expert
     bias   [E] or null */
phibal_status phibal_reference_token_forward(phibal_reference_token *token,
                                             const phibal_router *router, const float *logits,
                                             const float *bias);

/* (R2) alone, exactly: selection [k]. No probabilities are computed (for sigmoid gates the
   correctly rounded scores are). */
phibal_status phibal_reference_token_select(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits,
                                            const float *bias);

/* (G2) of one token, for the selection that is passed; computes probabilities and gates (for that
   selection) anew, so no forward call is needed before.
     experts       [k] distinct, 0 .. E-1
     gate_gradient [k] dL/dgates, or null
     price         [E] used as it is (not centred here), or null
     price_scale, z_scale  as in phibal_router_backward; z_scale != 0 with sigmoid gates is
                   PHIBAL_ERROR_ARGUMENT */
phibal_status phibal_reference_token_backward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const int32_t *experts, const float *gate_gradient,
                                              const float *price, double price_scale,
                                              double z_scale);

/* A batch of tokens and what selects their experts: logits [T][E], bias [E] or null; mask [T], 0
   for padding, null where all tokens count. */
typedef struct phibal_reference_batch {
  const phibal_router *router;
  const float *logits, *bias;
  const uint8_t *mask;
} phibal_reference_batch;

/* (R6), (R7) over a batch, with OpenMP over tokens; the same enclosures for any number of threads.
     mean    [E] (R6): P_e, the mean probability over the unmasked tokens; may be null
     count   [E] out: unmasked tokens whose selection holds e; may be null
     counted     out: unmasked tokens
   With no unmasked token the means are PHIBAL_ERROR_ARGUMENT. */
phibal_status phibal_reference_loads(phibal_reference_batch batch, int64_t tokens,
                                     mpfr_prec_t precision, phibal_enclosure *mean, int64_t *count,
                                     int64_t *counted);

/* (R7), (V5) frequency_e = count_e / (k tokens). Over the tokens of one domain it is the
   routed-token ratio: 1/E where routing ignores the domain. */
phibal_status phibal_reference_frequency(int32_t experts, int32_t active, int64_t tokens,
                                         const int64_t *count, phibal_enclosure *frequency);

/* Balancing. */

/* (M1) next_e = (1 - eta) m_e + eta loads_e. */
phibal_status phibal_reference_ema(int32_t experts, float eta, const float *m, const float *loads,
                                   mpfr_prec_t precision, phibal_enclosure *next);

/* (M2) with the kernels' conventions: for floored potentials (tsallis: alpha < 1) m_e is raised to
   PHIBAL_SMALLEST_LOAD first and *floored (may be null) counts those raised; lp with p = 1 has
   price sgn(m_e), 0 at 0; lp with p = inf has 1/n at the n largest m_e, 0 elsewhere. m >= 0. */
phibal_status phibal_reference_price(const phibal_potential *potential, int32_t experts,
                                     const float *m, mpfr_prec_t precision, phibal_enclosure *price,
                                     int32_t *floored);

/* (M3) centred_e = price_e - mean(price). largest (may be null): an upper end of it is at least
   every |price_e|, for the absolute part of the kernel's bound. */
phibal_status phibal_reference_price_centred(const phibal_potential *potential, int32_t experts,
                                             const float *m, mpfr_prec_t precision,
                                             phibal_enclosure *centred, phibal_enclosure *largest,
                                             int32_t *floored);

/* (L1) alpha E sum_e loads_e price_e(m). */
phibal_status phibal_reference_balance_loss(const phibal_potential *potential, int32_t experts,
                                            double alpha, const float *loads, const float *m,
                                            mpfr_prec_t precision, phibal_enclosure *loss,
                                            phibal_enclosure *condition);

/* (L3) alpha E sum_e frequency_e loads_e. */
phibal_status phibal_reference_switch_loss(int32_t experts, double alpha, const float *frequency,
                                           const float *loads, mpfr_prec_t precision,
                                           phibal_enclosure *loss, phibal_enclosure *condition);

/* (L3) centred_e = frequency_e - mean(frequency). */
phibal_status phibal_reference_frequency_centred(int32_t experts, const float *frequency,
                                                 mpfr_prec_t precision, phibal_enclosure *centred);

/* (L4) alpha E sum_b (n_b / n) sum_e f_be P_be from the logits: sequence b is tokens b length ..
   (b+1) length - 1, of which n_b are unmasked, n in all; f and P are those of its unmasked tokens.
   (Equal n_b: the plain mean over sequences.) n = 0 gives 0. */
phibal_status phibal_reference_sequence_loss(phibal_reference_batch batch, int64_t sequences,
                                             int64_t length, double alpha, mpfr_prec_t precision,
                                             phibal_enclosure *loss);

/* (L5) coefficient / n sum_t logsumexp_t^2 over the n unmasked tokens; n = 0 gives 0. */
phibal_status phibal_reference_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                      const uint8_t *mask, mpfr_prec_t precision,
                                      phibal_enclosure *loss);

/* (L6) next_e = the binary32 nearest to bias_e + rate sign(mean(count) - count_e); bias_e itself
   where the sign is 0. next is not bias. */
phibal_status phibal_reference_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                                const float *bias, float *next);

/* Experts. */

/* (E1), straight from its definition: the rows of expert e are its slots in the order t k + s. */
phibal_status phibal_reference_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                           const int32_t *experts, int64_t *offsets,
                                           int64_t *source, int64_t *row);

/* A matrix of binary32 numbers: element (i, j) is data[i row_stride + j column_stride], so that a
   transpose is a swap of the strides. */
typedef struct phibal_reference_matrix {
  const float *data;
  int64_t row_stride, column_stride;
} phibal_reference_matrix;

/* product[rows][columns] = A B, condition = |A| |B|; A is rows x inner, B is inner x columns.
   With OpenMP over elements. */
phibal_status phibal_reference_product(int64_t rows, int64_t inner, int64_t columns,
                                       const phibal_reference_matrix *a,
                                       const phibal_reference_matrix *b, mpfr_prec_t precision,
                                       phibal_enclosure *product, phibal_enclosure *condition);

/* act(a) = a sigma(v): v = a for SiLU, v = 2 sqrt(2/pi) (a + 0.044715 a^3) for GELU's tanh form.
   derivative (may be null) = sigma(v) (1 + a v' sigma(-v)); derivative_condition (may be null) has
   |a| in the place of a. `a` finite. */
phibal_status phibal_reference_activation(phibal_activation activation, float a,
                                          mpfr_prec_t precision, phibal_enclosure *value,
                                          phibal_enclosure *derivative,
                                          phibal_enclosure *derivative_condition);

/* A result and its condition (null to leave it out), both row by row. */
typedef struct phibal_reference_result {
  phibal_enclosure *value, *condition;
} phibal_reference_result;

/* Gradients of one expert's FFN, (E3): of h, a and b [rows][f], of x [rows][d], of w_gate and w_up
   [f][d] and of w_down [d][f]; null values are left out. */
typedef struct phibal_reference_ffn_gradients {
  phibal_reference_result h, a, b, x, w_gate, w_up, w_down;
} phibal_reference_ffn_gradients;

/* What a pass over the rows of one expert reads: x [rows][d], w_gate and w_up [f][d], w_down
   [d][f]. */
typedef struct phibal_reference_ffn_inputs {
  const float *x, *w_gate, *w_up, *w_down;
} phibal_reference_ffn_inputs;

/* What its backward pass reads besides: a, b and h [rows][f], as the forward pass left them, and
   dL/dy [rows][d]. */
typedef struct phibal_reference_ffn_saved {
  const float *a, *b, *h, *y_gradient;
} phibal_reference_ffn_saved;

/* The results of a forward pass: a, b and h [rows][f], y [rows][d]; null values are left out. */
typedef struct phibal_reference_ffn_results {
  phibal_reference_result a, b, h, y;
} phibal_reference_ffn_results;

/* (E2) for the rows of one expert: a = x W_gate^T, b = x W_up^T, h = act(a) b, y = h W_down^T, all
   in exact arithmetic from x and the weights. Conditions, to first order in u: a: |x||W_gate|^T; b:
   likewise; h: L cond(a) |b| + |act(a)| cond(b) with L = 73/64 >= sup |act'|; y: cond(h)
   |W_down|^T. A kernel that rounds each sum over d or f within n u of its terms stays within about
   (d + f + 4) u of these. For sharper checks, hold h against phibal_reference_activation of the
   kernel's own a and b, and y against phibal_reference_product of the kernel's own h. */
phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows,
                                           phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                           phibal_reference_ffn_results to);

/* (E3) for the rows of one expert, from the binary32 a, b, h that the forward pass left, as the
   kernel gets them: h' = y' W_down, a' = h' b act'(a), b' = h' act(a), x' = a' W_gate + b' W_up,
   W_gate' = a'^T x, W_up' = b'^T x, W_down' = y'^T h (the primes are gradients).
   Conditions: the same expressions with absolute values, and the derivative's condition for act'.
   The weights' gradients are those of this group alone (the kernel adds them to what was there). */
phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients);

/* What a combine sums: row[t k + s], -1 for padding, is the row of expert_output [..][d] that slot
   s of token t has, row [T][k]; gates [T][k]. */
typedef struct phibal_reference_combination {
  int64_t tokens;
  int32_t active;
  int64_t width;
  const int64_t *row;
  const float *gates, *expert_output;
} phibal_reference_combination;

/* (E4) y[T][d] = before[T][d] + sum_s gates[t][s] expert_output[row[t k + s]][d]; padded slots
   contribute nothing. The condition is |before| + sum |gates| |expert_output|. `before` null:
   0. With gates null (all 1) and x' for before this is (E1b), the gather's backward. */
phibal_status phibal_reference_combine(phibal_reference_combination c, const float *before,
                                       mpfr_prec_t precision, phibal_reference_result y);

/* (E5) expert_gradient[row[t k + s]] = gates[t][s] y_gradient[t]; gate_gradient[t][s] =
   <y_gradient[t], expert_output[row]>, 0 for padding; its condition is the sum of |terms|. Outputs
   may be null. No two slots have the same row. */
phibal_status phibal_reference_combine_backward(phibal_reference_combination c,
                                                const float *y_gradient, mpfr_prec_t precision,
                                                phibal_enclosure *expert_gradient,
                                                phibal_reference_result gate_gradient);

/* Metrics. */

/* (V1) max_e count_e / mean(count) - 1. */
phibal_status phibal_reference_maxvio_counts(int32_t experts, const int64_t *count,
                                             mpfr_prec_t precision, phibal_enclosure *maxvio);
/* (V2) E max_e p_e / sum p - 1, p >= 0 and not all 0. */
phibal_status phibal_reference_maxvio_mean(int32_t experts, const float *mean,
                                           mpfr_prec_t precision, phibal_enclosure *maxvio);
/* (V3) sum_ij |x_i - x_j| / (2 E sum x), x >= 0 and not all 0. */
phibal_status phibal_reference_gini(int32_t experts, const double *x, mpfr_prec_t precision,
                                    phibal_enclosure *gini);
/* (V4) -sum_e (x_e / s) log(x_e / s), s = sum x, 0 log 0 = 0; x >= 0 and not all 0. */
phibal_status phibal_reference_entropy(int32_t experts, const double *x, mpfr_prec_t precision,
                                       phibal_enclosure *entropy);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_moe.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
