/* Gathers the selection by scores, so that WP reads it. */
#include "cpu/select_scores.h"
