/* The built-ins side by side. */
#ifndef PHIBAL_CLI_AUDIT_ALL_H
#define PHIBAL_CLI_AUDIT_ALL_H

#include "audit_report.h"

/* To standard output. */
phibal_status audit_all(const audit_options *options);

#endif
