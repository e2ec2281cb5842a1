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

#endif
