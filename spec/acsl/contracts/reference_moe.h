/* What <phibal/reference_moe.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_MOE_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_MOE_H

#ifdef __FRAMAC__
#include <phibal/acsl/activation.h>
#include <phibal/acsl/balance.h>
#include <phibal/acsl/expert.h>
#include <phibal/acsl/token.h>
#include <phibal/acsl/loads.h>
#include <phibal/acsl/ffn.h>
#endif

/*@ requires token != \null ==> \valid(token) &&
      \separated(token, enclosure_heap + (0 .. ENCLOSURE_HEAP_SIZE - 1)) &&
      \separated(token, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *token, TOKEN_ALLOCATED;
    ensures \result == PHIBAL_OK ==> token != \null && token_ready(token) &&
      token->experts == experts && token->active == active;
    ensures \result == PHIBAL_OK ==> token_in_heap(token);
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      \separated(r, token) ==> same{Pre, Here}(r);
    ensures new: \result == PHIBAL_OK ==> \forall phibal_enclosure *r;
      in_use{Pre}(r) && \separated(r, token) ==> token_apart(token, r); */
phibal_status phibal_reference_token_init(phibal_reference_token *token, int32_t experts,
                                          int32_t active, mpfr_prec_t precision);

/*@ requires token_ready(token);
    terminates \true;
    exits \false;
    assigns token->probability[0 .. 4 * token->experts + 2 * token->active - 1],
            token->logsumexp, token->logsumexp_terms, token->total, token->mean, token->magnitude,
            token->term, token->factor, token->one;
    ensures only_token_written{Pre, Here}(token); */
void phibal_reference_token_clear(phibal_reference_token *token);

/*@ requires token == \null || token_ready(token);
    requires router == \null || \valid_read(router);
    requires token != \null && logits != \null ==>
      \valid_read(logits + (0 .. token->experts - 1));
    requires token != \null && bias != \null ==> \valid_read(bias + (0 .. token->experts - 1));
    terminates \true;
    exits \false;
    assigns token->selection[0 .. token->active - 1], token->score[0 .. token->experts - 1],
            token->probability[0 .. token->experts - 1], token->gate[0 .. token->active - 1],
            token->weight[0 .. token->experts - 1], token->part[0 .. token->active - 1],
            token->logsumexp, token->logsumexp_terms, token->total, token->term, token->factor;
    ensures token != \null ==> token_ready(token) && token_same{Pre, Here}(token);
    ensures token != \null ==> only_token_written{Pre, Here}(token);
    ensures \result == PHIBAL_OK ==> token != \null && router != \null && logits != \null &&
      \old(router->experts) == token->experts && \old(router->active) == token->active &&
      \is_finite(router->scale);
    ensures ranking: \result == PHIBAL_OK ==>
      selection(token->score, token->experts, token->active, token->selection);
    ensures probabilities: \result == PHIBAL_OK ==>
      probabilities_held(token, router->gate, logits);
    ensures logsumexp: \result == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
      logsumexp_held(token, logits);
    ensures gates: \result == PHIBAL_OK ==>
      gates_held(token, router->gate, (real)router->scale, logits, token->selection);
    ensures \result == PHIBAL_OK ==> \forall integer s; 0 <= s < token->active ==>
      0 <= token->selection[s] < token->experts; */
phibal_status phibal_reference_token_forward(phibal_reference_token *token,
                                             const phibal_router *router, const float *logits,
                                             const float *bias);

/*@ requires token == \null || token_ready(token);
    requires router == \null || \valid_read(router);
    requires token != \null && logits != \null ==>
      \valid_read(logits + (0 .. token->experts - 1));
    requires token != \null && bias != \null ==> \valid_read(bias + (0 .. token->experts - 1));
    terminates \true;
    exits \false;
    assigns token->selection[0 .. token->active - 1], token->score[0 .. token->experts - 1],
            token->term, token->factor;
    ensures token != \null ==> token_ready(token) && token_same{Pre, Here}(token);
    ensures token != \null ==> only_two_written{Pre, Here}(&token->term, &token->factor);
    ensures \result == PHIBAL_OK ==> token != \null && router != \null && logits != \null &&
      \old(router->experts) == token->experts && \old(router->active) == token->active &&
      \is_finite(router->scale);
    ensures \result == PHIBAL_OK ==> \forall integer e; 0 <= e < token->experts ==>
      \is_finite(logits[e]);
    ensures ranking: \result == PHIBAL_OK ==>
      selection(token->score, token->experts, token->active, token->selection);
    ensures unbiased: \result == PHIBAL_OK && bias == \null &&
      router->group_score == PHIBAL_GROUP_NONE ==> \forall integer e; 0 <= e < token->experts ==>
        unbiased_score(router->gate, (real)logits[e], token->score[e]);
    ensures \result == PHIBAL_OK ==> \forall integer s; 0 <= s < token->active ==>
      0 <= token->selection[s] < token->experts; */
phibal_status phibal_reference_token_select(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits,
                                            const float *bias);

/*@ requires token == \null || token_ready(token);
    requires router == \null || \valid_read(router);
    requires token != \null && logits != \null ==>
      \valid_read(logits + (0 .. token->experts - 1));
    requires token != \null && experts != \null ==>
      \valid_read(experts + (0 .. token->active - 1));
    requires token != \null && gate_gradient != \null ==>
      \valid_read(gate_gradient + (0 .. token->active - 1));
    requires token != \null && price != \null ==> \valid_read(price + (0 .. token->experts - 1));
    terminates \true;
    exits \false;
    assigns token->probability[0 .. token->experts - 1],
            token->gradient[0 .. token->experts - 1], token->condition[0 .. token->experts - 1],
            token->weight[0 .. token->experts - 1], token->part[0 .. token->active - 1],
            token->logsumexp, token->logsumexp_terms, token->total, token->mean, token->magnitude,
            token->term, token->factor;
    ensures token != \null ==> token_ready(token) && token_same{Pre, Here}(token);
    ensures token != \null ==> only_token_written{Pre, Here}(token);
    ensures \result == PHIBAL_OK ==> token != \null && router != \null && logits != \null &&
      experts != \null;
    ensures value: \result == PHIBAL_OK ==> \forall sequence p, q, g, integer e;
      probabilities_are(p, router->gate, logits, token->experts) &&
      selected_are(q, router->gate, logits, token->experts, experts, token->active) &&
      gates_are(g, router->gate, logits, experts, token->active) && 0 <= e < token->experts ==>
        in(token->gradient + e,
          (price_term(router->gate, logits, token->experts, p, price, (real)price_scale, e) +
           z_term(logits, token->experts, p, (real)z_scale, e)) +
          gate_term(router->gate, logits, token->experts, experts, token->active, p, q, g,
                    gate_gradient, (real)router->scale, e)); */
phibal_status phibal_reference_token_backward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const int32_t *experts, const float *gate_gradient,
                                              const float *price, double price_scale,
                                              double z_scale);

/*@ requires batch.router == \null || \valid_read(batch.router);
    requires batch.router != \null ==>
      \separated(batch.router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires batch.router != \null && batch.logits != \null && 0 <= tokens &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        token_rows(batch.logits, batch.mask, tokens, batch.router->experts);
    requires batch.router != \null && batch.bias != \null &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires batch.router != \null && mean != \null &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        vector_output(mean, batch.router->experts) && vector_in_use(mean, batch.router->experts);
    requires batch.router != \null && count != \null &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        \valid(count + (0 .. batch.router->experts - 1)) &&
        \separated(count + (0 .. batch.router->experts - 1),
                   count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires counted == \null ||
      (\valid(counted) && \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1)));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns mean[0 .. batch.router->experts - 1], count[0 .. batch.router->experts - 1], *counted,
            LOADS_ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      sums_apart(r, mean, \old(batch.router->experts)) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> batch.router != \null && 0 <= tokens &&
      1 <= batch.router->active <= batch.router->experts <= PHIBAL_MAX_EXPERTS;
    ensures batch.router != \null && 1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
      sums_ready(mean, batch.router->experts); */
phibal_status phibal_reference_loads(phibal_reference_batch batch, int64_t tokens,
                                     mpfr_prec_t precision, phibal_enclosure *mean, int64_t *count,
                                     int64_t *counted);

/*@ requires 1 <= experts && count != \null ==> \valid_read(count + (0 .. experts - 1));
    requires 1 <= experts && frequency != \null ==> vector_output(frequency, experts);
    terminates \true;
    exits \false;
    assigns frequency[0 .. experts - 1];
    ensures 1 <= experts && frequency != \null ==>
      vector_output(frequency, experts) && only_vector_written{Pre, Here}(frequency, experts);
    ensures \result == PHIBAL_OK ==> count != \null && frequency != \null && 1 <= experts &&
      1 <= active && 1 <= tokens && (\forall integer e; 0 <= e < experts ==>
        in(frequency + e, frequency_of(count[e], active, tokens))); */
phibal_status phibal_reference_frequency(int32_t experts, int32_t active, int64_t tokens,
                                         const int64_t *count, phibal_enclosure *frequency);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && m != \null ==>
      \valid_read(m + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && loads != \null ==>
      \valid_read(loads + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && next != \null ==>
      vector_output(next, experts) && vector_in_use(next, experts);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns next[0 .. experts - 1], ALLOCATED;
    ensures still_in_use{Pre, Here} && vector_kept{Pre, Here}(next, experts);
    ensures \result == PHIBAL_OK ==> m != \null && loads != \null && next != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(eta) && 0.0 < (real)eta <= 1.0;
    ensures \result == PHIBAL_OK ==> vector_output(next, experts) &&
      (\forall integer e; 0 <= e < experts ==>
        in(next + e, moving_average((real)eta, (real)m[e], (real)loads[e]))); */
phibal_status phibal_reference_ema(int32_t experts, float eta, const float *m, const float *loads,
                                   mpfr_prec_t precision, phibal_enclosure *next);

/*@ requires potential == \null || \valid_read(potential);
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && m != \null ==>
      \valid_read(m + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && price != \null ==>
      vector_output(price, experts) && vector_in_use(price, experts);
    requires floored == \null || \valid(floored);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1], *floored, ALLOCATED;
    ensures still_in_use{Pre, Here} && vector_kept{Pre, Here}(price, experts);
    ensures 1 <= experts <= PHIBAL_MAX_EXPERTS && price != \null ==> vector_output(price, experts);
    ensures \result == PHIBAL_OK ==> potential != \null && m != \null && price != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures prices: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      separable(potential->id, (real)potential->parameter) ==> \forall integer e;
      0 <= e < experts ==>
        in(price + e, kernel_price(potential->id, (real)potential->parameter, (real)m[e]));
    ensures largest: \result == PHIBAL_OK && potential->id == PHIBAL_POTENTIAL_LP &&
      !\is_finite(potential->parameter) ==> \forall sequence s, integer e;
      floats_are(m, experts, s) && 0 <= e < experts ==>
        in(price + e, maximum_share(s, experts, e)); */
phibal_status phibal_reference_price(const phibal_potential *potential, int32_t experts,
                                     const float *m, mpfr_prec_t precision, phibal_enclosure *price,
                                     int32_t *floored);

/*@ requires potential == \null || \valid_read(potential);
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && m != \null ==>
      \valid_read(m + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && centred != \null ==>
      vector_output(centred, experts) && vector_in_use(centred, experts);
    requires largest != \null ==> output(largest) && in_use(largest);
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && centred != \null && largest != \null ==>
      vector_apart(largest, centred, experts);
    requires floored == \null || \valid(floored);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns centred[0 .. experts - 1], *largest, *floored, ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, centred, experts) && optional_apart(r, largest) ==> same{Pre, Here}(r);
    ensures 1 <= experts <= PHIBAL_MAX_EXPERTS && centred != \null ==>
      vector_output(centred, experts);
    ensures optional(largest);
    ensures \result == PHIBAL_OK ==> potential != \null && m != \null && centred != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures prices: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      separable(potential->id, (real)potential->parameter) ==> \forall sequence s, integer e;
      prices_are(potential->id, (real)potential->parameter, m, experts, s) && 0 <= e < experts ==>
        in(centred + e, centred(s, experts, e)); */
phibal_status phibal_reference_price_centred(const phibal_potential *potential, int32_t experts,
                                             const float *m, mpfr_prec_t precision,
                                             phibal_enclosure *centred, phibal_enclosure *largest,
                                             int32_t *floored);

/*@ requires potential == \null || \valid_read(potential);
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && loads != \null ==>
      \valid_read(loads + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && m != \null ==>
      \valid_read(m + (0 .. experts - 1));
    requires loss != \null ==> output(loss) && in_use(loss);
    requires condition != \null ==> output(condition) && in_use(condition);
    requires optional_apart(loss, condition);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *loss, *condition, ALLOCATED;
    ensures still_in_use{Pre, Here} && optional_kept{Pre, Here}(loss, condition);
    ensures optional(loss) && optional(condition);
    ensures \result == PHIBAL_OK ==> potential != \null && loads != \null && m != \null &&
      loss != \null && 1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures prices: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      separable(potential->id, (real)potential->parameter) ==> \forall sequence s, w;
      prices_are(potential->id, (real)potential->parameter, m, experts, s) &&
      floats_are(loads, experts, w) ==> in(loss, balance_loss((real)alpha, s, w, experts));
    ensures conditions: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      separable(potential->id, (real)potential->parameter) ==> \forall sequence s, w;
      prices_are(potential->id, (real)potential->parameter, m, experts, s) &&
      floats_are(loads, experts, w) && condition != \null ==>
        in(condition, balance_condition((real)alpha, s, w, experts)); */
phibal_status phibal_reference_balance_loss(const phibal_potential *potential, int32_t experts,
                                            double alpha, const float *loads, const float *m,
                                            mpfr_prec_t precision, phibal_enclosure *loss,
                                            phibal_enclosure *condition);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && frequency != \null ==>
      \valid_read(frequency + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && loads != \null ==>
      \valid_read(loads + (0 .. experts - 1));
    requires loss != \null ==> output(loss) && in_use(loss);
    requires condition != \null ==> output(condition) && in_use(condition);
    requires optional_apart(loss, condition);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *loss, *condition, ALLOCATED;
    ensures still_in_use{Pre, Here} && optional_kept{Pre, Here}(loss, condition);
    ensures optional(loss) && optional(condition);
    ensures \result == PHIBAL_OK ==> frequency != \null && loads != \null && loss != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(alpha);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w;
      floats_are(frequency, experts, s) && floats_are(loads, experts, w) ==>
        in(loss, balance_loss((real)alpha, s, w, experts));
    ensures \result == PHIBAL_OK && condition != \null ==> \forall sequence s, w;
      floats_are(frequency, experts, s) && floats_are(loads, experts, w) ==>
        in(condition, balance_condition((real)alpha, s, w, experts)); */
phibal_status phibal_reference_switch_loss(int32_t experts, double alpha, const float *frequency,
                                           const float *loads, mpfr_prec_t precision,
                                           phibal_enclosure *loss, phibal_enclosure *condition);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && frequency != \null ==>
      \valid_read(frequency + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && centred != \null ==>
      vector_output(centred, experts) && vector_in_use(centred, experts);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns centred[0 .. experts - 1], ALLOCATED;
    ensures still_in_use{Pre, Here} && vector_kept{Pre, Here}(centred, experts);
    ensures \result == PHIBAL_OK ==> frequency != \null && centred != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures \result == PHIBAL_OK ==> vector_output(centred, experts) &&
      (\forall sequence s, integer e; floats_are(frequency, experts, s) && 0 <= e < experts ==>
        in(centred + e, centred(s, experts, e))); */
phibal_status phibal_reference_frequency_centred(int32_t experts, const float *frequency,
                                                 mpfr_prec_t precision, phibal_enclosure *centred);

/*@ requires batch.router == \null || \valid_read(batch.router);
    requires batch.router != \null ==>
      \separated(batch.router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires batch.router != \null && batch.logits != \null && 0 < sequences && 0 < length &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        token_rows(batch.logits, batch.mask, sequences * length, batch.router->experts);
    requires batch.router != \null && batch.bias != \null &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires loss != \null ==> output(loss) && in_use(loss);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *loss, LOADS_ALLOCATED;
    ensures still_in_use{Pre, Here} && kept{Pre, Here}(loss);
    ensures optional(loss);
    ensures \result == PHIBAL_OK ==> batch.router != \null && loss != \null && 0 <= sequences &&
      0 <= length && 1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS && \is_finite(alpha); */
phibal_status phibal_reference_sequence_loss(phibal_reference_batch batch, int64_t sequences,
                                             int64_t length, double alpha, mpfr_prec_t precision,
                                             phibal_enclosure *loss);

/*@ requires 0 <= tokens && logsumexp != \null ==> \valid_read(logsumexp + (0 .. tokens - 1));
    requires 0 <= tokens && mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires loss != \null ==> output(loss) && in_use(loss);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *loss, ALLOCATED;
    ensures still_in_use{Pre, Here} && kept{Pre, Here}(loss);
    ensures optional(loss);
    ensures \result == PHIBAL_OK ==> loss != \null && 0 <= tokens &&
      (0 < tokens ==> logsumexp != \null) && \is_finite(coefficient);
    ensures \result == PHIBAL_OK && tokens_counted(mask, tokens) == 0 ==> in(loss, 0.0);
    ensures \result == PHIBAL_OK && tokens_counted(mask, tokens) > 0 ==>
      in(loss, z_loss((real)coefficient, logsumexp, mask, tokens)); */
phibal_status phibal_reference_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                      const uint8_t *mask, mpfr_prec_t precision,
                                      phibal_enclosure *loss);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && count != \null ==>
      \valid_read(count + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && bias != \null ==>
      \valid_read(bias + (0 .. experts - 1));
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && next != \null ==>
      \valid(next + (0 .. experts - 1)) &&
      \separated(next + (0 .. experts - 1), bias + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns next[0 .. experts - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
      same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> count != \null && bias != \null && next != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(rate);
    ensures balanced: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts &&
      count_sum(count, experts) == experts * count[e] ==> (real)next[e] == (real)bias[e]; */
phibal_status phibal_reference_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                                const float *bias, float *next);

/*@ requires a == \null || \valid_read(a);
    requires b == \null || \valid_read(b);
    requires a != \null && b != \null ==>
      matrix_there(a->data, a->row_stride, a->column_stride, rows, inner) &&
      matrix_there(b->data, b->row_stride, b->column_stride, inner, columns);
    requires 0 <= rows && 0 <= columns ==> place(rows, columns) <= ROUTING_MAX_SLOTS &&
      optional_vector(product, place(rows, columns)) &&
      optional_vector(condition, place(rows, columns)) &&
      optional_vectors_apart(product, place(rows, columns), condition, place(rows, columns));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns product[0 .. place(rows, columns) - 1], condition[0 .. place(rows, columns) - 1];
    ensures outputs: 0 <= rows && 0 <= columns ==>
      optional_vector(product, place(rows, columns)) &&
      optional_vector(condition, place(rows, columns));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      optional_vector_apart(r, product, place(rows, columns)) &&
      optional_vector_apart(r, condition, place(rows, columns)) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> a != \null && b != \null && 0 <= rows && 0 <= inner &&
      0 <= columns && (0 < rows && 0 < columns ==> product != \null);
    ensures value: \result == PHIBAL_OK ==>
      dots_held(product, place(rows, columns), columns, inner, \old(a->data),
                \old(a->row_stride), \old(a->column_stride), \old(b->data),
                \old(b->row_stride), \old(b->column_stride));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      magnitudes_held(condition, place(rows, columns), columns, inner, \old(a->data),
                      \old(a->row_stride), \old(a->column_stride), \old(b->data),
                      \old(b->row_stride), \old(b->column_stride)); */
phibal_status phibal_reference_product(int64_t rows, int64_t inner, int64_t columns,
                                       const phibal_reference_matrix *a,
                                       const phibal_reference_matrix *b, mpfr_prec_t precision,
                                       phibal_enclosure *product, phibal_enclosure *condition);

/*@ requires precision <= MPFR_PREC_MAX;
    requires optional(value) && optional(derivative) && optional(derivative_condition);
    requires optional_apart(value, derivative) && optional_apart(value, derivative_condition) &&
             optional_apart(derivative, derivative_condition);
    terminates \true;
    exits \false;
    assigns *value, *derivative, *derivative_condition;
    ensures optional(value) && optional(derivative) && optional(derivative_condition);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && optional_apart(r, value) &&
      optional_apart(r, derivative) && optional_apart(r, derivative_condition) ==>
        same{Pre, Here}(r);
    ensures !\is_finite(a) ==> \result != PHIBAL_OK;
    ensures \result == PHIBAL_OK && value != \null ==>
      in(value, activation_value(activation, (real)a));
    ensures \result == PHIBAL_OK && derivative != \null ==>
      in(derivative, activation_derivative(activation, (real)a));
    ensures \result == PHIBAL_OK && derivative_condition != \null ==>
      in(derivative_condition, activation_condition(activation, (real)a)); */
phibal_status phibal_reference_activation(phibal_activation activation, float a,
                                          mpfr_prec_t precision, phibal_enclosure *value,
                                          phibal_enclosure *derivative,
                                          phibal_enclosure *derivative_condition);

/*@ requires ffn_there(ffn, rows, given);
    requires ffn != \null && 0 <= rows && 1 <= ffn->width && 1 <= ffn->hidden ==>
      place(rows, ffn->width) <= ROUTING_MAX_SLOTS &&
      place(ffn->hidden, ffn->width) <= ROUTING_MAX_SLOTS &&
      forward_places(to, place(rows, ffn->hidden), place(rows, ffn->width)) &&
      forward_in_use(to, place(rows, ffn->hidden), place(rows, ffn->width));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns to.a.value[0 .. place(rows, ffn->hidden) - 1],
            to.a.condition[0 .. place(rows, ffn->hidden) - 1],
            to.b.value[0 .. place(rows, ffn->hidden) - 1],
            to.b.condition[0 .. place(rows, ffn->hidden) - 1],
            to.h.value[0 .. place(rows, ffn->hidden) - 1],
            to.h.condition[0 .. place(rows, ffn->hidden) - 1],
            to.y.value[0 .. place(rows, ffn->width) - 1],
            to.y.condition[0 .. place(rows, ffn->width) - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: ffn != \null ==> \forall phibal_enclosure *r;
      \valid_read{Pre}(r) && in_use{Pre}(r) &&
      apart_from_forward(r, to, place(rows, ffn->hidden), place(rows, ffn->width)) ==>
        same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> ffn != \null && 0 <= rows;
    ensures gates: \result == PHIBAL_OK && to.a.value != \null ==>
      dots_held(to.a.value, place(rows, ffn->hidden), ffn->hidden, ffn->width, given.x, ffn->width,
                1, given.w_gate, 1, ffn->width);
    ensures gate_conditions: \result == PHIBAL_OK && to.a.condition != \null ==>
      magnitudes_held(to.a.condition, place(rows, ffn->hidden), ffn->hidden, ffn->width, given.x,
                      ffn->width, 1, given.w_gate, 1, ffn->width);
    ensures ups: \result == PHIBAL_OK && to.b.value != \null ==>
      dots_held(to.b.value, place(rows, ffn->hidden), ffn->hidden, ffn->width, given.x, ffn->width,
                1, given.w_up, 1, ffn->width);
    ensures up_conditions: \result == PHIBAL_OK && to.b.condition != \null ==>
      magnitudes_held(to.b.condition, place(rows, ffn->hidden), ffn->hidden, ffn->width, given.x,
                      ffn->width, 1, given.w_up, 1, ffn->width);
    ensures hidden: \result == PHIBAL_OK && to.h.value != \null ==>
      hidden_held(to.h.value, place(rows, ffn->hidden), ffn->activation, given.x, given.w_gate,
                  given.w_up, ffn->width, ffn->hidden);
    ensures output: \result == PHIBAL_OK && to.y.value != \null ==> \forall sequence s;
      hidden_are(s, place(rows, ffn->hidden), ffn->activation, given.x, given.w_gate, given.w_up,
                 ffn->width, ffn->hidden) ==>
        chains_held(to.y.value, place(rows, ffn->width), ffn->width, ffn->hidden, s, ffn->hidden, 1,
                    given.w_down, 1, ffn->hidden); */
phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows,
                                           phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                           phibal_reference_ffn_results to);

/*@ requires ffn_there(ffn, rows, given);
    requires gradients == \null || \valid_read(gradients);
    requires ffn != \null ==> plain_there(saved.a, rows, ffn->hidden) &&
      plain_there(saved.b, rows, ffn->hidden) && plain_there(saved.h, rows, ffn->hidden) &&
      plain_there(saved.y_gradient, rows, ffn->width);
    requires ffn != \null && gradients != \null && 0 <= rows && 1 <= ffn->width &&
      1 <= ffn->hidden ==>
        place(rows, ffn->width) <= ROUTING_MAX_SLOTS &&
        place(ffn->hidden, ffn->width) <= ROUTING_MAX_SLOTS &&
        place(ffn->width, ffn->hidden) <= ROUTING_MAX_SLOTS &&
        ffn_gradients_there(*gradients, rows, ffn->width, ffn->hidden) &&
        ffn_gradients_in_use(*gradients, rows, ffn->width, ffn->hidden);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns gradients->h.value[0 .. place(rows, ffn->hidden) - 1],
            gradients->h.condition[0 .. place(rows, ffn->hidden) - 1],
            gradients->a.value[0 .. place(rows, ffn->hidden) - 1],
            gradients->a.condition[0 .. place(rows, ffn->hidden) - 1],
            gradients->b.value[0 .. place(rows, ffn->hidden) - 1],
            gradients->b.condition[0 .. place(rows, ffn->hidden) - 1],
            gradients->x.value[0 .. place(rows, ffn->width) - 1],
            gradients->x.condition[0 .. place(rows, ffn->width) - 1],
            gradients->w_gate.value[0 .. place(ffn->hidden, ffn->width) - 1],
            gradients->w_gate.condition[0 .. place(ffn->hidden, ffn->width) - 1],
            gradients->w_up.value[0 .. place(ffn->hidden, ffn->width) - 1],
            gradients->w_up.condition[0 .. place(ffn->hidden, ffn->width) - 1],
            gradients->w_down.value[0 .. place(ffn->width, ffn->hidden) - 1],
            gradients->w_down.condition[0 .. place(ffn->width, ffn->hidden) - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: ffn != \null && gradients != \null ==> \forall phibal_enclosure *r;
      \valid_read{Pre}(r) && in_use{Pre}(r) &&
      ffn_gradients_apart(r, \old(*gradients), rows, ffn->width, ffn->hidden) ==>
        same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> ffn != \null && gradients != \null && 0 <= rows;
    ensures value: \result == PHIBAL_OK ==>
      ffn_gradients_held(\old(*gradients), rows, ffn->width, ffn->hidden, ffn->activation, given.x,
                         given.w_gate, given.w_up, given.w_down, saved.a, saved.b, saved.h,
                         saved.y_gradient); */
phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved,
                                            mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients);

/*@ requires combine_there(c.tokens, c.active, c.width, c.row, c.expert_output);
    requires 0 <= c.tokens && 1 <= c.active && 0 <= c.width ==>
      place(c.tokens, c.width) <= ROUTING_MAX_SLOTS &&
      (c.gates == \null || \valid_read(c.gates + (0 .. place(c.tokens, c.active) - 1))) &&
      (before == \null || \valid_read(before + (0 .. place(c.tokens, c.width) - 1))) &&
      optional_vector(y.value, place(c.tokens, c.width)) &&
      optional_vector(y.condition, place(c.tokens, c.width)) &&
      optional_vector_in_use(y.value, place(c.tokens, c.width)) &&
      optional_vector_in_use(y.condition, place(c.tokens, c.width)) &&
      optional_vectors_apart(y.value, place(c.tokens, c.width), y.condition,
                             place(c.tokens, c.width));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns y.value[0 .. place(c.tokens, c.width) - 1],
            y.condition[0 .. place(c.tokens, c.width) - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: results_kept{Pre, Here}(y.value, y.condition, place(c.tokens, c.width));
    ensures outputs: 0 <= c.tokens && 1 <= c.active && 0 <= c.width ==>
      optional_vector(y.value, place(c.tokens, c.width)) &&
      optional_vector(y.condition, place(c.tokens, c.width));
    ensures \result == PHIBAL_OK ==> 0 <= c.tokens && 1 <= c.active && 0 <= c.width &&
      y.value != \null;
    ensures value: \result == PHIBAL_OK ==>
      combined_held(y.value, place(c.tokens, c.width), c.row, c.gates, c.expert_output, before,
                    c.active, c.width);
    ensures magnitude: \result == PHIBAL_OK && y.condition != \null ==>
      combined_magnitudes_held(y.condition, place(c.tokens, c.width), c.row, c.gates,
                               c.expert_output, before, c.active, c.width); */
phibal_status phibal_reference_combine(phibal_reference_combination c, const float *before,
                                       mpfr_prec_t precision, phibal_reference_result y);

/*@ requires combine_there(c.tokens, c.active, c.width, c.row, c.expert_output);
    requires 0 <= c.tokens && 1 <= c.active && 0 <= c.width ==>
      place(c.tokens, c.width) <= ROUTING_MAX_SLOTS &&
      (c.gates == \null || \valid_read(c.gates + (0 .. place(c.tokens, c.active) - 1))) &&
      (y_gradient == \null || \valid_read(y_gradient + (0 .. place(c.tokens, c.width) - 1))) &&
      gradients_there(c.row, place(c.tokens, c.active), c.width, expert_gradient,
                      gate_gradient.value, gate_gradient.condition) &&
      optional_vector_in_use(expert_gradient,
                             slots_size(c.row, place(c.tokens, c.active), c.width)) &&
      optional_vector_in_use(gate_gradient.value, place(c.tokens, c.active)) &&
      optional_vector_in_use(gate_gradient.condition, place(c.tokens, c.active));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns gate_gradient.value[0 .. place(c.tokens, c.active) - 1],
            gate_gradient.condition[0 .. place(c.tokens, c.active) - 1],
            expert_gradient[0 .. slots_size(c.row, place(c.tokens, c.active), c.width) - 1],
            ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      optional_vector_apart(r, expert_gradient,
                            slots_size(c.row, place(c.tokens, c.active), c.width)) &&
      optional_vector_apart(r, gate_gradient.value, place(c.tokens, c.active)) &&
      optional_vector_apart(r, gate_gradient.condition, place(c.tokens, c.active)) ==>
        same{Pre, Here}(r);
    ensures outputs: 0 <= c.tokens && 1 <= c.active && 0 <= c.width ==>
      gradients_there(c.row, place(c.tokens, c.active), c.width, expert_gradient,
                      gate_gradient.value, gate_gradient.condition);
    ensures \result == PHIBAL_OK ==> 0 <= c.tokens && 1 <= c.active && 0 <= c.width;
    ensures rows: \result == PHIBAL_OK && expert_gradient != \null &&
      rows_distinct(c.row, place(c.tokens, c.active)) ==>
        row_gradients_held(expert_gradient, place(c.tokens, c.active), c.row, c.gates, y_gradient,
                           c.active, c.width);
    ensures value: \result == PHIBAL_OK && gate_gradient.value != \null ==>
      gate_gradients_held(gate_gradient.value, place(c.tokens, c.active), c.row, c.expert_output,
                          y_gradient, c.active, c.width);
    ensures condition: \result == PHIBAL_OK && gate_gradient.condition != \null ==>
      gate_magnitudes_held(gate_gradient.condition, place(c.tokens, c.active), c.row,
                           c.expert_output, y_gradient, c.active, c.width); */
phibal_status phibal_reference_combine_backward(phibal_reference_combination c,
                                                const float *y_gradient, mpfr_prec_t precision,
                                                phibal_enclosure *expert_gradient,
                                                phibal_reference_result gate_gradient);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && count != \null ==>
      \valid_read(count + (0 .. experts - 1));
    requires maxvio != \null ==> output(maxvio) && in_use(maxvio);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *maxvio, ALLOCATED;
    ensures still_in_use{Pre, Here} && kept{Pre, Here}(maxvio);
    ensures maxvio != \null ==> enclosure(maxvio);
    ensures \result == PHIBAL_OK ==> count != \null && maxvio != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures \result == PHIBAL_OK ==> \forall sequence s; counts_are(count, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) && in(maxvio, maxvio(s, experts)); */
phibal_status phibal_reference_maxvio_counts(int32_t experts, const int64_t *count,
                                             mpfr_prec_t precision, phibal_enclosure *maxvio);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && mean != \null ==>
      \valid_read(mean + (0 .. experts - 1));
    requires maxvio != \null ==> output(maxvio) && in_use(maxvio);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *maxvio, ALLOCATED;
    ensures still_in_use{Pre, Here} && kept{Pre, Here}(maxvio);
    ensures maxvio != \null ==> enclosure(maxvio);
    ensures \result == PHIBAL_OK ==> mean != \null && maxvio != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures \result == PHIBAL_OK ==> \forall sequence s; floats_are(mean, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) && in(maxvio, maxvio(s, experts)); */
phibal_status phibal_reference_maxvio_mean(int32_t experts, const float *mean,
                                           mpfr_prec_t precision, phibal_enclosure *maxvio);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && x != \null ==>
      \valid_read(x + (0 .. experts - 1));
    requires gini != \null ==> output(gini) && in_use(gini);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *gini, ALLOCATED;
    ensures still_in_use{Pre, Here} && kept{Pre, Here}(gini);
    ensures gini != \null ==> enclosure(gini);
    ensures \result == PHIBAL_OK ==> x != \null && gini != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures \result == PHIBAL_OK ==> \forall sequence s; doubles_are(x, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) && in(gini, gini(s, experts)); */
phibal_status phibal_reference_gini(int32_t experts, const double *x, mpfr_prec_t precision,
                                    phibal_enclosure *gini);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && x != \null ==>
      \valid_read(x + (0 .. experts - 1));
    requires entropy != \null ==> output(entropy) && in_use(entropy);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *entropy, ALLOCATED;
    ensures still_in_use{Pre, Here} && kept{Pre, Here}(entropy);
    ensures entropy != \null ==> enclosure(entropy);
    ensures \result == PHIBAL_OK ==> x != \null && entropy != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS;
    ensures \result == PHIBAL_OK ==> \forall sequence s; doubles_are(x, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) &&
      in(entropy, entropy(s, experts)); */
phibal_status phibal_reference_entropy(int32_t experts, const double *x, mpfr_prec_t precision,
                                       phibal_enclosure *entropy);

#endif
