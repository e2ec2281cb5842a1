/* What <phibal/rounding.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_ROUNDING_H
#define PHIBAL_ACSL_CONTRACTS_ROUNDING_H

#ifdef __FRAMAC__
#include <phibal/acsl/rounding.h>
#endif

/*@ requires input(x) && \valid(result);
    requires 0 <= format <= PHIBAL_FORMAT_BINARY16 && 0 <= direction <= PHIBAL_ROUND_ZERO;
    terminates \true;
    exits \false;
    assigns *result;
    ensures \result == 0 || \result == 1;
    ensures \result == 0 ==> *result == \old(*result);
    ensures \result == 1 ==> \forall real a; in{Pre}(x, a) ==>
      rounded_to(format, direction, a, *result);
    ensures \result == 1 && in_plus{Pre}(x) ==> \is_plus_infinity(*result);
    ensures \result == 1 && in_minus{Pre}(x) ==> \is_minus_infinity(*result); */
bool phibal_round_enclosure(const phibal_enclosure *x, phibal_format format,
                            phibal_direction direction, double *result);

/*@ axiomatic Evaluators {
      // a is what f encloses with this context: a relation that f keeps; nothing else is assumed of it
      predicate evaluates(phibal_evaluator f, void *context, real a);
    } */

/*@ requires output(value) && point(value) && in(value, 0.0);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX / 2;
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value);
    ensures only_written{Pre, Here}(value);
    ensures \result == PHIBAL_OK ==>
      \forall real a; evaluates(evaluate, context, a) ==> in(value, a); */
phibal_status phibal_evaluate(phibal_evaluator evaluate, void *context, mpfr_prec_t precision,
                              phibal_enclosure *value);

/*@ requires result == \null || \valid(result);
    terminates \true;
    exits \false;
    assigns *result;
    ensures \result == PHIBAL_OK || *result == \old(*result) || result == \null;
    ensures \result == PHIBAL_OK ==> \forall real a; evaluates(evaluate, context, a) ==>
      rounded_to(format, direction, a, *result); */
phibal_status phibal_round_correctly(phibal_evaluator evaluate, void *context, mpfr_prec_t cap,
                                     phibal_format format, phibal_direction direction,
                                     double *result);

/*@ requires 0 <= format <= PHIBAL_FORMAT_BINARY16;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_NaN(x) ==> \is_NaN(\result);
    ensures \is_plus_infinity(x) || \is_minus_infinity(x) ==> \is_plus_infinity(\result);
    ensures \is_finite(x) && (real)x == 0.0 ==>
      \is_finite(\result) && (real)\result == two(format_least(format));
    ensures \forall integer e; \is_finite(x) && two(e - 1) <= \abs((real)x) < two(e) ==>
      \is_finite(\result) && (real)\result ==
        two(format_place(format, e < format_limit(format) ? e : format_limit(format))); */
double phibal_format_ulp(phibal_format format, double x);

/*@ requires name == \null || \exists integer n; 0 <= n <= 0x1000000000000000 &&
      \valid_read(name + (0 .. n)) && name[n] == 0;
    requires format == \null || \valid(format);
    terminates \true;
    exits \false;
    assigns *format;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK ==> name != \null && format != \null && 0 <= *format <= PHIBAL_FORMAT_BINARY16;
    ensures \result == PHIBAL_OK || format == \null || *format == \old(*format); */
phibal_status phibal_format_find(const char *name, phibal_format *format);

/*@ requires name == \null || \exists integer n; 0 <= n <= 0x1000000000000000 &&
      \valid_read(name + (0 .. n)) && name[n] == 0;
    requires direction == \null || \valid(direction);
    terminates \true;
    exits \false;
    assigns *direction;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK ==> name != \null && direction != \null && 0 <= *direction <= PHIBAL_ROUND_ZERO;
    ensures \result == PHIBAL_OK || direction == \null || *direction == \old(*direction); */
phibal_status phibal_direction_find(const char *name, phibal_direction *direction);

#endif
