/* What the static functions of reference/rounding.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUNDING_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUNDING_STATIC_H

/*@ requires 0 <= format < FORMAT_COUNT;
    terminates \true;
    exits \false;
    assigns \result \from format;
    ensures \valid_read(\result) && \result->precision == format_precision(format) &&
      \result->least == format_least(format) && \result->limit == format_limit(format) &&
      \result->most == format_most(format); */
static const format_shape *shape_of(phibal_format format);

/*@ requires 0 <= direction < DIRECTION_COUNT;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures direction == PHIBAL_ROUND_NEAREST ==> \result == MPFR_RNDN;
    ensures direction == PHIBAL_ROUND_DOWN ==> \result == MPFR_RNDD;
    ensures direction == PHIBAL_ROUND_UP ==> \result == MPFR_RNDU;
    ensures direction == PHIBAL_ROUND_ZERO ==> \result == MPFR_RNDZ; */
static mpfr_rnd_t rounding_of(phibal_direction direction);

/*@ requires 0 <= format < FORMAT_COUNT && -4611686018427387903 <= e <= format_limit(format);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == format_place(format, e); */
static int last_place(phibal_format format, long e);

/*@ requires -9007199254740992 <= n <= 9007199254740992 && -1074 <= k <= 1023;
    requires -two(1024) < at_place(n, k) < two(1024);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result) && (real)\result == at_place(n, k); */
static double scaled_back(long n, int k);

/*@ requires !\is_NaN(magnitude);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures finite: \is_finite(magnitude) ==> \is_finite(\result) &&
      (real)\result == (sign < 0 ? -(real)magnitude : (real)magnitude);
    ensures infinite: \is_plus_infinity(magnitude) ==>
      (sign < 0 ? \is_minus_infinity(\result) : \is_plus_infinity(\result)); */
static double with_sign(double magnitude, int sign);

/*@ requires readable_number(a) && mkind(a->number) == 0 && mval(a->number) != 0.0;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == mexponent(a->number);
    ensures -4611686018427387903 <= \result <= 4611686018427387903;
    ensures two(\result - 1) <= \abs(mval(a->number)) < two(\result); */
static long binade(mpfr_srcptr a);

/*@ requires \is_finite(x) && -1074 <= least <= 1024;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures zero: (real)x == 0.0 ==> \result == least;
    ensures other: (real)x != 0.0 ==> -1073 <= \result <= 1024 &&
      two(\result - 1) <= \abs((real)x) < two(\result); */
static int binade_of_double(double x, int least);

/*@ requires 0 <= format < FORMAT_COUNT && 0 <= direction < DIRECTION_COUNT && sign != 0;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures plus: sign > 0 &&
      (direction == PHIBAL_ROUND_NEAREST || direction == PHIBAL_ROUND_UP) ==>
        \is_plus_infinity(\result);
    ensures minus: sign < 0 &&
      (direction == PHIBAL_ROUND_NEAREST || direction == PHIBAL_ROUND_DOWN) ==>
        \is_minus_infinity(\result);
    ensures most: sign > 0 &&
      (direction == PHIBAL_ROUND_DOWN || direction == PHIBAL_ROUND_ZERO) ==>
        \is_finite(\result) && (real)\result == largest_number(format);
    ensures least: sign < 0 &&
      (direction == PHIBAL_ROUND_UP || direction == PHIBAL_ROUND_ZERO) ==>
        \is_finite(\result) && (real)\result == -largest_number(format); */
static double overflow(phibal_format format, phibal_direction direction, int sign);

/*@ requires readable_number(a) && mkind(a->number) == 0 && mval(a->number) != 0.0;
    requires 0 <= direction < DIRECTION_COUNT && -1074 <= lsb <= 1023;
    requires \abs(in_units(mval(a->number), lsb)) <= 9007199254740992.0;
    requires mexponent(a->number) - lsb <= 53 && (lsb > 0 ==> 0 <= mexponent(a->number) - lsb);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures rounds_to_integer(direction, in_units(mval(a->number), lsb), \result); */
static long whole_units(mpfr_srcptr a, int lsb, phibal_direction direction);

/*@ requires readable_number(a) && mkind(a->number) == 0 && mval(a->number) != 0.0;
    requires 0 <= format < FORMAT_COUNT && 0 <= direction < DIRECTION_COUNT;
    requires mexponent(a->number) <= format_limit(format);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures rounded_to(format, direction, mval(a->number), \result); */
static double round_scaled(mpfr_srcptr a, phibal_format format, phibal_direction direction);

/*@ requires readable_number(a) && 0 <= format < FORMAT_COUNT && 0 <= direction < DIRECTION_COUNT;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures number: mkind(a->number) == 0 ==>
      rounded_to(format, direction, mval(a->number), \result);
    ensures plus: mkind(a->number) == 1 ==> \is_plus_infinity(\result);
    ensures minus: mkind(a->number) == -1 ==> \is_minus_infinity(\result); */
static double round_number(mpfr_srcptr a, phibal_format format, phibal_direction direction);

/*@ requires \valid(result) && \valid(decided) && \separated(result, decided);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX / 2;
    requires 0 <= format < FORMAT_COUNT && 0 <= direction < DIRECTION_COUNT;
    terminates \true;
    exits \false;
    assigns *result, *decided;
    ensures *decided == 0 || *decided == 1;
    ensures *decided == 1 ==> \result == PHIBAL_OK;
    ensures *decided == 0 ==> *result == \old(*result);
    ensures *decided == 1 ==> \forall real a; evaluates(evaluate, context, a) ==>
      rounded_to(format, direction, a, *result); */
static phibal_status round_at(phibal_evaluator evaluate, void *context, mpfr_prec_t precision,
                              phibal_format format, phibal_direction direction, double *result,
                              bool *decided);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == 1 <==> status == PHIBAL_OK || status == PHIBAL_ERROR_DOMAIN ||
      status == PHIBAL_ERROR_UNDECIDED;
    ensures \result == 0 || \result == 1; */
static bool may_be_cured(phibal_status status);

#endif
