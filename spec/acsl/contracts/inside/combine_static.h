/* What the static functions of reference/combine.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/expert_steps.h>
#endif

/*@ requires before != \null ==> \valid_read(before) && \is_finite(*before);
    requires output(y) && optional(condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *y, *condition;
    ensures outputs: enclosure(y) && optional(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, y) &&
      optional_apart(r, condition) ==> same{Pre, Here}(r);
    ensures value: in(y, before_of(before));
    ensures magnitude: condition != \null ==> in(condition, \abs(before_of(before))); */
static void combine_start(const float *before, phibal_enclosure *y, phibal_enclosure *condition);

/*@ requires \is_finite(term) && output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(y, a) ==> in(y, a + (real)term);
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(condition, a) ==> in(condition, a + \abs((real)term)); */
static phibal_status combine_add(double term, phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition);

/*@ requires 0 <= s && 0 <= column < c.width && \valid_read(c.row + s);
    requires slot_there(c.expert_output, c.row[s], c.width);
    requires c.gates == \null || (\valid_read(c.gates + s) && \is_finite(c.gates[s]));
    requires output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall real a; in{Pre}(y, a) ==>
      in(y, a + combine_term(c.row, c.gates, c.expert_output, c.width, column, s));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(condition, a) ==> in(condition,
        a + \abs(combine_term(c.row, c.gates, c.expert_output, c.width, column, s))); */
static phibal_status combine_slot(phibal_reference_combination c, int64_t s, int64_t column,
                                  phibal_enclosure *t, phibal_enclosure *y,
                                  phibal_enclosure *condition);

/*@ requires 0 <= first && first + c.active <= ROUTING_MAX_SLOTS && 0 <= column < c.width;
    requires \valid_read(c.row + (first .. first + c.active - 1));
    requires \forall integer s; first <= s < first + c.active ==>
      slot_there(c.expert_output, c.row[s], c.width);
    requires c.gates == \null || (\forall integer s; first <= s < first + c.active ==>
      \valid_read(c.gates + s) && \is_finite(c.gates[s]));
    requires before == \null || (\valid_read(before) && \is_finite(*before));
    requires output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> in(y,
      combined(c.row, c.gates, c.expert_output, c.width, column, before_of(before), first,
               c.active));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==> in(condition,
      combined_magnitude(c.row, c.gates, c.expert_output, c.width, column, before_of(before), first,
                         c.active)); */
static phibal_status combine_element(phibal_reference_combination c, int64_t first, int64_t column,
                                     const float *before, phibal_enclosure *t, phibal_enclosure *y,
                                     phibal_enclosure *condition);

/*@ requires 0 <= c.tokens && 1 <= c.active && 0 <= c.width;
    requires place(c.tokens, c.active) <= ROUTING_MAX_SLOTS &&
      place(c.tokens, c.width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(c.row + (0 .. place(c.tokens, c.active) - 1));
    requires slots_there(c.row, place(c.tokens, c.active), c.width, c.expert_output);
    requires c.gates == \null || floats_there(c.gates, place(c.tokens, c.active));
    requires before == \null || floats_there(before, place(c.tokens, c.width));
    requires output(t) && vector_output(y, place(c.tokens, c.width)) &&
      optional_vector(condition, place(c.tokens, c.width));
    requires vector_apart(t, y, place(c.tokens, c.width)) &&
      optional_vector_apart(t, condition, place(c.tokens, c.width)) &&
      optional_vectors_apart(y, place(c.tokens, c.width), condition, place(c.tokens, c.width));
    terminates \true;
    exits \false;
    assigns *t, y[0 .. place(c.tokens, c.width) - 1], condition[0 .. place(c.tokens, c.width) - 1];
    ensures outputs: enclosure(t) && vector_output(y, place(c.tokens, c.width)) &&
      optional_vector(condition, place(c.tokens, c.width));
    ensures frame: only_vectors_written{Pre, Here}(t, y, condition, place(c.tokens, c.width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      combined_held(y, place(c.tokens, c.width), c.row, c.gates, c.expert_output, before, c.active,
                    c.width);
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      combined_magnitudes_held(condition, place(c.tokens, c.width), c.row, c.gates, c.expert_output,
                               before, c.active, c.width); */
static phibal_status combine_all(phibal_reference_combination c, const float *before,
                                 phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition);

#endif
