/* External text, such as a file name, as a JSON string: unchanged if UTF-8, else escaped by
   phibal_text_show. Null when out of memory. */
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
