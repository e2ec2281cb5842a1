/* Self-contained HTML pages: frame, style and text. */
#ifndef PHIBAL_CLI_PAGE_H
#define PHIBAL_CLI_PAGE_H

#include "phibal/status.h"
#include <stdio.h>
#include <time.h>

/* Up to and with the heading; the title is "heading: command". `more` writes more style; null:
   none. */
void page_begin(FILE *to, const char *heading, const char *command, void (*more)(FILE *to));
void page_end(FILE *to);
/* Text, with what HTML would take for its own escaped. */
void page_escape(FILE *to, const char *text);
/* "2026-11-23 18:50 UTC". As builds do that are to give the same bytes twice, the page is of
   SOURCE_DATE_EPOCH where that is set, and nothing on it is younger. */
time_t page_time(void);
void page_date(FILE *to, time_t when);
/* When and by which version of phibal the page was made, and the command as it was given. */
void page_made(FILE *to, int argc, char *const *argv);

/* Writes each figure's picture as a file in `folder`, which is created: 01-training-loss.svg,
   numbered as in the page and named after its caption, and the run where it is one run's.
   PHIBAL_ERROR_IO, PHIBAL_ERROR_MEMORY. */
phibal_status page_save_pictures(const char *page, const char *folder);

#endif
