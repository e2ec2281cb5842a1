/* What the functions of reference/operation.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_OPERATION_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_OPERATION_H

#ifdef __FRAMAC__
#include <phibal/acsl/floating.h>
#include <phibal/acsl/product.h>
#include <phibal/acsl/router.h>
#endif

/*@ // a precision that enclosures can have and operations take
    predicate working_precision(integer precision) =
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    predicate finite_floats{L}(float *x, integer n) =
      \forall integer i; 0 <= i < n ==> \is_finite(x[i]);
    // nothing but z, t and u was written between A and B, as far as enclosures go
    predicate only_three_written{A, B}(phibal_enclosure *z, phibal_enclosure *t,
                                       phibal_enclosure *u) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) && \separated(r, t) &&
        \separated(r, u) ==> same{A, B}(r);
*/

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == (precision >= OPERATION_PRECISION ? PHIBAL_OK : PHIBAL_ERROR_ARGUMENT); */
static inline phibal_status operation_check_precision(const char *name, mpfr_prec_t precision);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == (1 <= experts <= PHIBAL_MAX_EXPERTS && precision >= OPERATION_PRECISION
                          ? PHIBAL_OK : PHIBAL_ERROR_ARGUMENT); */
static inline phibal_status operation_check_experts(const char *name, int32_t experts,
                                                    mpfr_prec_t precision);

/*@ requires \valid_read(x + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_NONFINITE;
    ensures \result == PHIBAL_OK <==> finite_floats(x, n);
    ensures \result == PHIBAL_OK && 0 < n ==> \is_finite(*x); */
static inline phibal_status operation_check_finite(const char *name, const char *what, int64_t n,
                                                   const float *x);

/*@ requires \valid(scratch) && 0 < n && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    requires \separated(scratch, enclosure_heap + (0 .. ENCLOSURE_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns *scratch \from n, precision, enclosure_heap, enclosure_heap_used;
    assigns ALLOCATED;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_MEMORY;
    ensures still_in_use{Pre, Here};
    ensures \result == PHIBAL_OK ==> scratch_given{Pre, Here}(*scratch, n);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      \separated(r, scratch) ==> same{Pre, Here}(r); */
static inline phibal_status operation_scratch(const char *name, size_t n, mpfr_prec_t precision,
                                              phibal_enclosure **scratch);

/*@ requires 0 < n && vector_output(scratch, n);
    terminates \true;
    exits \false;
    assigns scratch[0 .. n - 1];
    ensures only_vector_written{Pre, Here}(scratch, n); */
static inline void operation_scratch_clear(phibal_enclosure *scratch, size_t n);

/*@ requires output(z) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && in(z, (real)x);
    ensures only_written{Pre, Here}(z); */
static inline void operation_set_float(phibal_enclosure *z, float x);

/*@ requires output(z) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && in(z, -(real)x);
    ensures only_written{Pre, Here}(z); */
static inline void operation_set_negated(phibal_enclosure *z, float x);

/*@ requires output(z) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && in(z, \abs((real)x));
    ensures only_written{Pre, Here}(z); */
static inline void operation_set_magnitude(phibal_enclosure *z, float x);

/*@ requires \is_finite(x) && \is_finite(y);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result) && (real)\result == (real)x * (real)y; */
static inline double operation_exact_product(float x, float y);

/*@ requires output(z) && output(t) && input(x) && input(y);
    requires \separated(z, t) && \separated(t, y) && apart(t, x);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t);
    ensures only_two_written{Pre, Here}(z, t);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(z, c) && in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, c + \abs(a) * b); */
static inline phibal_status operation_add_magnitude(phibal_enclosure *z, const phibal_enclosure *x,
                                                    const phibal_enclosure *y,
                                                    phibal_enclosure *t);

/*@ requires output(z) && output(t) && input(x) && input(y);
    requires \separated(z, t) && apart(t, x) && apart(t, y);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t);
    ensures only_two_written{Pre, Here}(z, t);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(z, c) && in{Pre}(x, a) && in{Pre}(y, b) ==> in(z, c + a * b); */
static inline phibal_status operation_add_product(phibal_enclosure *z, const phibal_enclosure *x,
                                                  const phibal_enclosure *y, phibal_enclosure *t);

/*@ requires output(z) && output(t) && output(u) && input(x) && \is_finite(d);
    requires \separated(z, t) && \separated(z, u) && \separated(t, u) && \separated(u, x) &&
             apart(t, x);
    terminates \true;
    exits \false;
    assigns *z, *t, *u;
    ensures enclosure(z) && enclosure(t) && enclosure(u);
    ensures only_three_written{Pre, Here}(z, t, u);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real c, a;
      in{Pre}(z, c) && in{Pre}(x, a) ==> in(z, c + a * (real)d); */
static inline phibal_status operation_add_scaled(phibal_enclosure *z, const phibal_enclosure *x,
                                                 double d, phibal_enclosure *t,
                                                 phibal_enclosure *u);

/*@ requires output(z) && input(x) && input(one) && in(one, 1.0);
    requires apart(z, x) && \separated(z, one);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(x, a) ==> in(z, logistic(-a)); */
static inline phibal_status operation_sigmoid_negated(phibal_enclosure *z,
                                                      const phibal_enclosure *x,
                                                      const phibal_enclosure *one);

/*@ requires token_ready(token) && \valid_read(router);
    requires \valid_read(logits + (0 .. token->experts - 1)) &&
             finite_floats(logits, token->experts);
    terminates \true;
    exits \false;
    assigns token->probability[0 .. token->experts - 1], token->weight[0 .. token->experts - 1],
            token->total, token->term, token->factor, token->logsumexp, token->logsumexp_terms;
    ensures same: token_same{Pre, Here}(token);
    ensures ready: token_ready(token);
    ensures frame: only_token_written{Pre, Here}(token);
    ensures weights: \result == PHIBAL_OK ==> weights_held(token, router->gate, logits);
    ensures probabilities: \result == PHIBAL_OK ==>
      probabilities_held(token, router->gate, logits);
    ensures logsumexp: \result == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
      logsumexp_held(token, logits); */
phibal_status reference_token_probabilities(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits);

/*@ requires token_ready(token) && \valid_read(router);
    requires \valid_read(logits + (0 .. token->experts - 1)) &&
             finite_floats(logits, token->experts);
    requires selected_experts(experts, token->active, token->experts);
    terminates \true;
    exits \false;
    assigns token->part[0 .. token->active - 1], token->total, token->term, token->factor;
    ensures same: token_same{Pre, Here}(token);
    ensures ready: token_ready(token);
    ensures frame: only_token_written{Pre, Here}(token);
    ensures gates: \result == PHIBAL_OK && weights_held{Pre}(token, router->gate, logits) &&
      probabilities_held{Pre}(token, router->gate, logits) ==>
        parts_held(token, router->gate, logits, experts);
    ensures kept: same{Pre, Here}(&token->logsumexp) && same{Pre, Here}(&token->logsumexp_terms);
    ensures gradients: \forall integer e; 0 <= e < token->experts ==>
      same{Pre, Here}(token->probability + e) && same{Pre, Here}(token->gradient + e) &&
      same{Pre, Here}(token->condition + e); */
phibal_status reference_token_gates(phibal_reference_token *token, const phibal_router *router,
                                    const float *logits, const int32_t *experts);

/*@ requires token == \null || \valid_read(token);
    requires router == \null || \valid_read(router);
    requires token != \null && logits != \null ==>
      \valid_read(logits + (0 .. token->experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> token != \null && router != \null && logits != \null &&
      router->experts == token->experts && router->active == token->active &&
      \is_finite(router->scale) && finite_floats(logits, token->experts);
    ensures \result == PHIBAL_OK ==> router->gate == PHIBAL_GATE_TOPK_SOFTMAX ||
      router->gate == PHIBAL_GATE_PROBABILITY || router->gate == PHIBAL_GATE_SIGMOID; */
phibal_status reference_token_check(const char *name, const phibal_reference_token *token,
                                    const phibal_router *router, const float *logits);

#endif
