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

/*@ requires 0 <= s && 0 <= column < width && \valid_read(row + s);
    requires slot_there(expert_output, row[s], width);
    requires gates == \null || (\valid_read(gates + s) && \is_finite(gates[s]));
    requires output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall real a; in{Pre}(y, a) ==>
      in(y, a + combine_term(row, gates, expert_output, width, column, s));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(condition, a) ==> in(condition,
        a + \abs(combine_term(row, gates, expert_output, width, column, s))); */
static phibal_status combine_slot(int64_t s, int64_t width, int64_t column, const int64_t *row,
                                  const float *gates, const float *expert_output,
                                  phibal_enclosure *t, phibal_enclosure *y,
                                  phibal_enclosure *condition);

/*@ requires 0 <= first && first + active <= ROUTING_MAX_SLOTS && 0 <= column < width;
    requires \valid_read(row + (first .. first + active - 1));
    requires \forall integer s; first <= s < first + active ==>
      slot_there(expert_output, row[s], width);
    requires gates == \null || (\forall integer s; first <= s < first + active ==>
      \valid_read(gates + s) && \is_finite(gates[s]));
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
      combined(row, gates, expert_output, width, column, before_of(before), first, active));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==> in(condition,
      combined_magnitude(row, gates, expert_output, width, column, before_of(before), first,
                         active)); */
static phibal_status combine_element(int64_t first, int32_t active, int64_t width, int64_t column,
                                     const int64_t *row, const float *gates,
                                     const float *expert_output, const float *before,
                                     phibal_enclosure *t, phibal_enclosure *y,
                                     phibal_enclosure *condition);

/*@ requires 0 <= tokens && 1 <= active && 0 <= width;
    requires place(tokens, active) <= ROUTING_MAX_SLOTS &&
      place(tokens, width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(row + (0 .. place(tokens, active) - 1));
    requires slots_there(row, place(tokens, active), width, expert_output);
    requires gates == \null || floats_there(gates, place(tokens, active));
    requires before == \null || floats_there(before, place(tokens, width));
    requires output(t) && vector_output(y, place(tokens, width)) &&
      optional_vector(condition, place(tokens, width));
    requires vector_apart(t, y, place(tokens, width)) &&
      optional_vector_apart(t, condition, place(tokens, width)) &&
      optional_vectors_apart(y, place(tokens, width), condition, place(tokens, width));
    terminates \true;
    exits \false;
    assigns *t, y[0 .. place(tokens, width) - 1], condition[0 .. place(tokens, width) - 1];
    ensures outputs: enclosure(t) && vector_output(y, place(tokens, width)) &&
      optional_vector(condition, place(tokens, width));
    ensures frame: only_vectors_written{Pre, Here}(t, y, condition, place(tokens, width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> combined_held(y, place(tokens, width), row, gates,
      expert_output, before, active, width);
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      combined_magnitudes_held(condition, place(tokens, width), row, gates, expert_output, before,
                               active, width); */
static phibal_status combine_all(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                                 const float *gates, const float *expert_output,
                                 const float *before, phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition);

#endif
