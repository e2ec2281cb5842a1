/* Proves the lemmas by which the potentials' functions are those of their families. */
#include "potentials/potentials.h"
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/acsl/dispatch.h>
