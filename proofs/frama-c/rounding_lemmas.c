/* Proves the lemmas of rounding to a format. */
#include <phibal/enclosure.h>
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/rounding.h>
