/* A certificate as a page. */
#ifndef PHIBAL_CLI_AUDIT_HTML_H
#define PHIBAL_CLI_AUDIT_HTML_H

#include "audit_report.h"

/* A malloc'ed page. */
phibal_status audit_html(const audit_options *options, const audit_report *report, char **text,
                         size_t *size);

#endif
