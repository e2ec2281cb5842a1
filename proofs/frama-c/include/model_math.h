/* What the contracts of Frama-C's <math.h> leave out: that these functions return, and fabs exactly. */
#ifndef PHIBAL_MODEL_MATH_H
#define PHIBAL_MODEL_MATH_H

#include <math.h>

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result != 0 <==> \is_finite(x); */
int model_finite(double x);
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result != 0 <==> \is_finite(x); */
int model_finitef(float x);
#undef isfinite
#define isfinite(x) (sizeof(x) == sizeof(float) ? model_finitef(x) : model_finite(x))

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(x) ==> \is_finite(\result) && (real)\result == \abs((real)x); */
double model_fabs(double x);
#define fabs model_fabs

/* x 2^e: its kind and sign; that it is exact where it can be is not used. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures !\is_NaN(x) ==> !\is_NaN(\result);
    ensures \is_finite(x) && (real)x == 0.0 ==> \is_finite(\result) && (real)\result == 0.0; */
double model_ldexp(double x, int e);
#define ldexp model_ldexp

/*@ requires \valid(e);
    terminates \true;
    exits \false;
    assigns *e \from x;
    assigns \result \from x;
    ensures \is_finite(x) && (real)x != 0.0 ==> -1073 <= *e <= 1024;
    ensures \is_finite(x) ==> \is_finite(\result) && ((real)\result == 0.0 <==> (real)x == 0.0); */
double model_frexp(double x, int *e);
#define frexp model_frexp

/*@ terminates \true;
    exits \false;
    assigns \nothing; */
double model_copysign(double x, double y);
#define copysign model_copysign

/*@ terminates \true;
    exits \false;
    assigns \nothing; */
int model_signbit(double x);
#undef signbit
#define signbit model_signbit

#endif
