/* Proves the lemmas about ends of enclosures and rows of a matrix that Renyi's proofs rest on. */
#include "potentials/potentials.h"
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/acsl/renyi_steps.h>
