/* Proves the lemmas about the shapes of the potentials from those that Coq proves. */
#include "potentials/potentials.h"
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/acsl/point_shapes.h>
