/* Manual pages as text. */
#ifndef PHIBAL_MOE_MANUAL_H
#define PHIBAL_MOE_MANUAL_H

#include "formats/file.h"

/* Appends the text of a page in the man macros of groff(7): headings, paragraphs and examples are
   kept, fonts, sizes, requests, comments and the layout of tables are dropped. A page that only
   names another (.so) has no text. Unknown constructs are dropped or kept as they are: a light
   cleaning for language models, not a formatter. */
phibal_status manual_text(const char *page, size_t n, text_buffer *text);

#endif
