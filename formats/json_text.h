/* A text from outside, such as a file's name, as a JSON string: as it is, or where it is not UTF-8,
   which JSON has to be, as phibal_text_show shows it. Null when out of memory. */
#ifndef PHIBAL_FORMATS_JSON_TEXT_H
#define PHIBAL_FORMATS_JSON_TEXT_H

#include <jansson.h>
#include <phibal/status.h>
#include <phibal/text.h>
#include <stdlib.h>
#include <string.h>

static inline json_t *json_text(const char *text) {
  json_t *json = json_string(text);
  const size_t room = 6 * strlen(text) + 1;
  char *shown = json ? NULL : malloc(room);
  if (shown) phibal_text_show(text, shown, room);
  if (shown) json = json_string(shown);
  free(shown);
  return json;
}

#endif
