/* Gathers the lemmas of the selection's logic, so that WP proves each once. */
#include <phibal/acsl/select_keys.h>
#include <phibal/acsl/select_lanes.h>
