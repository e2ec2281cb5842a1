/* The examination. */
#ifndef PHIBAL_CLI_AUDIT_RUN_H
#define PHIBAL_CLI_AUDIT_RUN_H

#include "audit_report.h"

/* 0, or the exit status after a message on standard error. The report is cleared in any case. */
int audit_run(const audit_options *options, audit_report *report);

#endif
