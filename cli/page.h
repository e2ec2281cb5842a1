/* Pages of one file, which need nothing but themselves: their frame, style, and text. */
#ifndef PHIBAL_CLI_PAGE_H
#define PHIBAL_CLI_PAGE_H

#include "phibal/status.h"
#include <stdio.h>

/* Up to and with the heading; the title is "heading: command". */
void page_begin(FILE *to, const char *heading, const char *command);
void page_end(FILE *to);
/* Text, with what HTML would take for its own escaped. */
void page_escape(FILE *to, const char *text);

/* Writes each figure's picture as a file in `folder`, which is created: 01-training-loss.svg,
   numbered as in the page and named after its caption. PHIBAL_ERROR_IO, PHIBAL_ERROR_MEMORY. */
phibal_status page_save_pictures(const char *page, const char *folder);

#endif
