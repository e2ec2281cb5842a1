/* Pages of one file, which need nothing but themselves: their frame, style, and text. */
#ifndef PHIBAL_CLI_PAGE_H
#define PHIBAL_CLI_PAGE_H

#include <stdio.h>

/* Up to and with the heading; the title is "heading: command". */
void page_begin(FILE *to, const char *heading, const char *command);
void page_end(FILE *to);
/* Text, with what HTML would take for its own escaped. */
void page_escape(FILE *to, const char *text);

#endif
