/* INFINITY, which WP would read as the real number 1/0. proofs/frama-c/model_test.c holds the
   clause against the library. */
#ifndef PHIBAL_MODEL_INFINITY_H
#define PHIBAL_MODEL_INFINITY_H

#include <math.h>

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures infinite: \is_plus_infinity(\result); */
float model_infinityf(void);
#undef INFINITY
#define INFINITY model_infinityf()

#endif
