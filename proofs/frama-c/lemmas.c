/* Proves the lemmas that other proofs take for granted. */
#define PROVE_LEMMAS
#include <phibal/acsl/contracts/inside/enclosure_success.h>
#include <phibal/acsl/power.h>
#include <phibal/acsl/potentials_lemmas.h>
#include <phibal/acsl/floating.h>
#include <phibal/acsl/metrics.h>
