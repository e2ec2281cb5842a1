/* Proves the lemmas of the expert layer. */
#include <phibal/balance.h>
#include <phibal/expert.h>
#include <phibal/reference.h>
#include <phibal/router.h>
#include <phibal/acsl/activation.h>
#include <phibal/acsl/balance.h>
#include <phibal/acsl/product.h>
#undef LEMMA
#undef GIVEN
#define LEMMA lemma
#define GIVEN(key) key ==>
#include <phibal/acsl/expert.h>
