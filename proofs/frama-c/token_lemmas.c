/* Proves the lemmas about where a token's parts lie. */
#include <phibal/balance.h>
#include <phibal/expert.h>
#include <phibal/reference.h>
#include <phibal/acsl/activation.h>
#include <phibal/acsl/balance.h>
#include <phibal/rounding.h>
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/reference_moe.h>
