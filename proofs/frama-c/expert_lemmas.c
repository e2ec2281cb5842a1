/* Proves the lemmas of the expert layer. */
#include "operation.h"
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/acsl/expert.h>
