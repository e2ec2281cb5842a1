/* What the contracts of Frama-C's <math.h> leave out: that these functions return, and what they are
   exactly where they are exact. proofs/frama-c/model_test.c holds each clause against the library. */
#ifndef PHIBAL_MODEL_MATH_H
#define PHIBAL_MODEL_MATH_H

#include <math.h>
#include <mpfr.h>

/*@ // a whole number that every double of its size can be
    predicate whole_double(double x) = \is_finite(x) &&
      \exists integer n; -9007199254740992 <= n <= 9007199254740992 && (real)x == (real)n;
*/

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result != 0 <==> \is_finite(x); */
int model_finite(double x);
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result != 0 <==> \is_finite(x); */
int model_finitef(float x);
#undef isfinite
#define isfinite(x) (sizeof(x) == sizeof(float) ? model_finitef(x) : model_finite(x))

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures value: \is_finite(x) ==> \is_finite(\result) && (real)\result == \abs((real)x);
    ensures infinite: \is_plus_infinity(x) || \is_minus_infinity(x) ==> \is_plus_infinity(\result);
    ensures nan: \is_NaN(x) ==> \is_NaN(\result); */
double model_fabs(double x);
#define fabs model_fabs

/* x 2^e: exact for a whole x where the result is in range. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures number: !\is_NaN(x) ==> !\is_NaN(\result);
    ensures zero: \is_finite(x) && (real)x == 0.0 ==> \is_finite(\result) && (real)\result == 0.0;
    ensures up: whole_double(x) && 0 <= e <= 1023 && \abs((real)x * power_of_two(e)) < power_of_two(1024) ==>
      \is_finite(\result) && (real)\result == (real)x * power_of_two(e);
    ensures down: whole_double(x) && -1074 <= e <= 0 ==>
      \is_finite(\result) && (real)\result == (real)x / power_of_two(-e); */
double model_ldexp(double x, int e);
#define ldexp model_ldexp

/*@ requires \valid(e);
    terminates \true;
    exits \false;
    assigns *e \from x;
    assigns \result \from x;
    ensures range: \is_finite(x) && (real)x != 0.0 ==> -1073 <= *e <= 1024;
    ensures zero: \is_finite(x) ==> \is_finite(\result) && ((real)\result == 0.0 <==> (real)x == 0.0);
    ensures small: \is_finite(x) && *e <= 0 ==> \abs((real)x) * power_of_two(-*e) < 1.0;
    ensures least: \is_finite(x) && (real)x != 0.0 && *e <= 1 ==> \abs((real)x) * power_of_two(1 - *e) >= 1.0;
    ensures size: \is_finite(x) && *e >= 0 ==> \abs((real)x) < power_of_two(*e);
    ensures most: \is_finite(x) && (real)x != 0.0 && *e >= 1 ==> \abs((real)x) >= power_of_two(*e - 1); */
double model_frexp(double x, int *e);
#define frexp model_frexp

/*@ terminates \true;
    exits \false;
    assigns \nothing; */
int model_signbit(double x);
#undef signbit
#define signbit model_signbit

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures infinite: \is_plus_infinity(\result); */
double model_infinity(void);
#undef HUGE_VAL
#define HUGE_VAL model_infinity()

#endif
