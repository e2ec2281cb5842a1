/* Proves the lemmas of the search for a mirror step's price and of the step itself. */
#include <phibal/reference.h>
#include <phibal/acsl/potential_shapes.h>
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include "../../reference/mirror_search.c"
#include <phibal/acsl/mirror.h>
