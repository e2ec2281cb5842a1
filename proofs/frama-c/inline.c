/* Gathers the inline functions of the headers, so that each is proved once. */
#include "enclosure_internal.h"
#include "potentials/potentials.h"
#include "operation.h"
