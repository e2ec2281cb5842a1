/* Gathers the inline functions of the selection, so that WP reads them. */
#include "cpu/select.h"
