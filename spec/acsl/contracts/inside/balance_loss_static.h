/* What the static functions of reference/balance_loss.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_LOSS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_LOSS_STATIC_H

/*@ // nothing but a loss, its condition where there is one, and t[0..3] was written
    predicate loss_written{A, B}(phibal_enclosure *loss, phibal_enclosure *condition,
                                 phibal_enclosure *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, loss) &&
        optional_apart(r, condition) && vector_apart(r, t, 4) ==> same{A, B}(r);
    // a weight as a real number: provers match the predicate where they would not an equation
    predicate weight_is(float weight, real a) = a == (real)weight;
*/

/*@ requires input(x) && \is_finite(weight) && vector_output(t, 4) && vector_apart(x, t, 4);
    terminates \true;
    exits \false;
    assigns t[0 .. 3];
    ensures vector_output(t, 4) && only_vector_written{Pre, Here}(t, 4);
    ensures \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(t + 0, c) && in{Pre}(x, a) && weight_is(weight, b) ==> in(t + 0, c + a * b);
    ensures \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(t + 1, c) && in{Pre}(x, a) && weight_is(weight, b) ==> in(t + 1, c + \abs(a) * b); */
static phibal_status loss_add_term(const phibal_enclosure *x, float weight, phibal_enclosure *t);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires \valid_read(weight + (0 .. experts - 1)) && finite_floats(weight, experts);
    requires vector_output(t, 4) && vectors_apart(t, 4, x, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 3];
    ensures vector_output(t, 4) && only_vector_written{Pre, Here}(t, 4);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w;
      members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
        in(t + 0, dot(s, w, experts)) && in(t + 1, absolute_dot(s, w, experts)); */
static phibal_status loss_sums(int32_t experts, const float *weight, const phibal_enclosure *x,
                               phibal_enclosure *t);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(scale);
    requires vector_output(t, 4) && output(loss) && vector_apart(loss, t, 4);
    requires optional(condition) && optional_apart(condition, loss) &&
             (condition == \null || vector_apart(condition, t, 4));
    terminates \true;
    exits \false;
    assigns t[2 .. 3], *loss, *condition;
    ensures enclosure(t + 2) && enclosure(t + 3) && enclosure(loss) && optional(condition);
    ensures same{Pre, Here}(t + 0) && same{Pre, Here}(t + 1);
    ensures loss_written{Pre, Here}(loss, condition, t);
    ensures \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(t + 0, a) ==> in(loss, (real)scale * experts * a);
    ensures \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(t + 1, a) ==> in(condition, \abs((real)scale * experts) * a); */
static phibal_status loss_scale(int32_t experts, double scale, phibal_enclosure *t,
                                phibal_enclosure *loss, phibal_enclosure *condition);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(scale);
    requires \valid_read(weight + (0 .. experts - 1)) && finite_floats(weight, experts);
    requires vector_input(x, experts) && vector_output(t, 4) && vectors_apart(t, 4, x, experts);
    requires output(loss) && vector_apart(loss, t, 4);
    requires optional(condition) && optional_apart(condition, loss) &&
             (condition == \null || vector_apart(condition, t, 4));
    terminates \true;
    exits \false;
    assigns t[0 .. 3], *loss, *condition;
    ensures vector_output(t, 4) && enclosure(loss) && optional(condition);
    ensures loss_written{Pre, Here}(loss, condition, t);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w;
      members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
        in(loss, balance_loss((real)scale, s, w, experts));
    ensures \result == PHIBAL_OK && condition != \null ==> \forall sequence s, w;
      members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
        in(condition, balance_condition((real)scale, s, w, experts)); */
static phibal_status loss_dot(int32_t experts, double scale, const float *weight,
                              const phibal_enclosure *x, phibal_enclosure *t,
                              phibal_enclosure *loss, phibal_enclosure *condition);

/*@ requires 0 <= experts && (weight != \null ==> \valid_read(weight + (0 .. experts - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> weight != \null && !null && \is_finite(alpha) &&
      finite_floats(weight, experts) &&
      (\forall integer i; 0 <= i < experts ==> 0.0 <= (real)weight[i]); */
static phibal_status loss_check(const char *name, double alpha, int32_t experts,
                                const float *weight, bool null);

#endif
