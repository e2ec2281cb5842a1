/* audit_core, from a kernel's source on. */
#ifndef PHIBAL_AUDIT_CORE_CHECK_H
#define PHIBAL_AUDIT_CORE_CHECK_H

#include "audit.h"

/* As audit_core, for a source that may have been edited since codegen_source made it. */
phibal_status core_check(phi_potential *phi, const audit_request *request, const char *source,
                         certificate *c);

#endif
