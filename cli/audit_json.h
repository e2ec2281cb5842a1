/* A certificate as JSON. */
#ifndef PHIBAL_CLI_AUDIT_JSON_H
#define PHIBAL_CLI_AUDIT_JSON_H

#include "audit_report.h"
#include <jansson.h>

json_t *audit_report_json(const audit_options *options, const audit_report *report);

#endif
