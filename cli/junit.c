#include "junit.h"
#include <phibal/text.h>
#include "formats/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct junit {
  char *suite;
  text_buffer cases;
  int count, failures, skipped;
  bool broken; /* memory ran out */
};

static void put(junit *r, const char *text) {
  r->broken |= text_buffer_string(&r->cases, text) != PHIBAL_OK;
}

/* Attribute text. XML allows no control characters, and only UTF-8: they are shown as on a
   terminal. */
static void put_escaped(junit *r, const char *text) {
  for (size_t left = strlen(text); left;) {
    char one[PHIBAL_SHOWN];
    const size_t n = phibal_character_show(text, left, one);
    put(r, *text == '<'    ? "&lt;"
           : *text == '>'  ? "&gt;"
           : *text == '&'  ? "&amp;"
           : *text == '"'  ? "&quot;"
           : *text == '\n' ? "&#10;"
           : n             ? one
                           : "?");
    text += n ? n : left, left -= n ? n : left;
  }
}

junit *junit_start(const char *suite) {
  junit *r = calloc(1, sizeof *r);
  if (r && !(r->suite = strdup(suite))) {
    free(r);
    return NULL;
  }
  return r;
}

void junit_case(junit *r, const char *group, const char *name, const char *failure,
                const char *skipped) {
  if (!r) return;
  r->count++;
  put(r, "  <testcase classname=\"");
  put_escaped(r, group);
  put(r, "\" name=\"");
  put_escaped(r, name);
  put(r, failure || skipped ? "\">\n" : "\"/>\n");
  if (failure) {
    r->failures++;
    put(r, "    <failure message=\"");
    put_escaped(r, failure);
    put(r, "\"/>\n");
  } else if (skipped) {
    r->skipped++;
    put(r, "    <skipped message=\"");
    put_escaped(r, skipped);
    put(r, "\"/>\n");
  }
  if (failure || skipped) put(r, "  </testcase>\n");
}

phibal_status junit_finish(junit *r, const char *path) {
  if (!r) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  char *head = string_format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" "
                             "skipped=\"%d\">\n",
                             r->suite, r->count, r->failures, r->skipped);
  text_buffer whole = {0};
  phibal_status status = PHIBAL_OK;
  if (!head || r->broken || text_buffer_string(&whole, head) != PHIBAL_OK ||
      text_buffer_append(&whole, r->cases.bytes, r->cases.count) != PHIBAL_OK ||
      text_buffer_string(&whole, "</testsuite>\n") != PHIBAL_OK)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  if (status == PHIBAL_OK) status = file_write(path, whole.bytes, whole.count);
  free(head);
  text_buffer_free(&whole);
  text_buffer_free(&r->cases);
  free(r->suite);
  free(r);
  return status;
}
