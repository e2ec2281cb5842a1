/* Words, numbers and ranges as `phibal audit` writes them. Texts are malloc'ed. */
#ifndef PHIBAL_CLI_AUDIT_WORDS_H
#define PHIBAL_CLI_AUDIT_WORDS_H

#include "audit_report.h"
#include <stdio.h>

/* A section as it may be written in a file, its conditions with it; malloc'ed, null where the
   potential has none. */
char *audit_section_text(const phi_potential *phi, const phi_section *section,
                         const char *variable);
/* "(0, 1) or (1, inf)"; malloc'ed. */
char *audit_range_text(const phi_parameter *p);
/* Five significant digits of an enclosure: "0.1" where it is that narrow, else "0.1..0.2". */
void audit_short(const phibal_enclosure *x, char *text, size_t size);
/* Words, broken at the width of the page; the cursor stands at column `indent`. */
void audit_print_wrapped(FILE *to, const char *text, size_t indent);
/* Adds to a malloc'ed text, which may be null; unchanged when memory is out. */
void audit_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Now in UTC, or $SOURCE_DATE_EPOCH: 2026-01-31T12:00:00Z */
char *audit_date_text(void);
/* As one would write them, defaults included. */
char *audit_options_text(const audit_options *options);

#endif
