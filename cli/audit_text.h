/* A certificate for people. */
#ifndef PHIBAL_CLI_AUDIT_TEXT_H
#define PHIBAL_CLI_AUDIT_TEXT_H

#include "audit_report.h"
#include <stdio.h>

void audit_print_text(const audit_options *options, const audit_report *report, FILE *to);

#endif
