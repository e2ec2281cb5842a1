/* What the proofs take of <string.h>. */
#ifndef PHIBAL_MODEL_STRING_H
#define PHIBAL_MODEL_STRING_H

#include <string.h>

/* The second text is one of the caller's literals, about whose contents WP knows nothing. */
/*@ requires \exists integer n; 0 <= n <= 0x1000000000000000 &&
      \valid_read(a + (0 .. n)) && a[n] == 0;
    terminates \true;
    exits \false;
    assigns \nothing; */
int model_strcmp(const char *a, const char *b);
#define strcmp model_strcmp

#endif
