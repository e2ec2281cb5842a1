#include "formats/file.h"
#include "hf_internal.h"
#include "formats/text_limits.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_of(const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_OBJECT:
    return "an object";
  case JSON_ARRAY:
    return "a list";
  case JSON_STRING:
    return "a text";
  case JSON_INTEGER:
  case JSON_REAL:
    return "a number";
  default:
    return "true or false";
  }
}

typedef enum wanted { WANTED_INTEGER, WANTED_REAL, WANTED_BOOLEAN } wanted;

static bool is_wanted(const json_t *value, wanted kind) {
  return kind == WANTED_INTEGER ? json_is_integer(value)
         : kind == WANTED_REAL  ? json_is_number(value)
                                : json_is_boolean(value);
}

/* *found is null for none, and where the status is an error: missing though required, or of another
   kind. */
static phibal_status find(const json_t *json, const char *path, const char *key, bool required,
                          wanted kind, const json_t **found) {
  static const char *const names[] = {"a whole number", "a number", "true or false"};
  const json_t *value = json_object_get(json, key);
  *found = NULL;
  if (!value || json_is_null(value))
    return required ? phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is missing", path, key)
                    : PHIBAL_OK;
  if (!is_wanted(value, kind)) {
    const bool fraction = kind == WANTED_INTEGER && json_is_real(value);
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %s, expected %s", path, key,
                             fraction ? "not whole" : kind_of(value), names[kind]);
  }
  *found = value;
  return PHIBAL_OK;
}

phibal_status hf_json_integer(const json_t *json, const char *path, const char *key, bool required,
                              int32_t *value) {
  const json_t *found;
  phibal_status status = find(json, path, key, required, WANTED_INTEGER, &found);
  if (!found) return status;
  const json_int_t number = json_integer_value(found);
  if (number < 0 || number > INT32_MAX)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: '%s' is %" JSON_INTEGER_FORMAT ", not in 0 .. 2147483647", path,
                             key, number);
  *value = (int32_t)number;
  return PHIBAL_OK;
}

phibal_status hf_json_real(const json_t *json, const char *path, const char *key, bool required,
                           float *value) {
  const json_t *found;
  phibal_status status = find(json, path, key, required, WANTED_REAL, &found);
  if (!found) return status;
  const double number = json_number_value(found);
  if (fabs(number) > (double)FLT_MAX)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %g, beyond binary32", path, key,
                             number);
  *value = (float)number;
  return PHIBAL_OK;
}

phibal_status hf_json_boolean(const json_t *json, const char *path, const char *key, bool *value) {
  const json_t *found;
  phibal_status status = find(json, path, key, false, WANTED_BOOLEAN, &found);
  if (found) *value = json_is_true(found);
  return status;
}

const char *hf_json_show(const json_t *value, char text[HF_SHOWN]) {
  char *whole = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII |
                                      JSON_REAL_PRECISION(15));
  snprintf(text, HF_SHOWN, "%s", whole ? whole : "none");
  free(whole);
  return text;
}

const char *hf_json_show_text(const char *value, char text[HF_SHOWN]) {
  json_t *json = json_string(value);
  hf_json_show(json, text);
  json_decref(json);
  return text;
}

phibal_status hf_json_read(const char *path, json_t **json) {
  text_buffer text = {0};
  json_error_t error;
  *json = NULL;
  phibal_status status = file_read_text(path, TEXT_HUGGING_FACE, &text);
  if (status) return status;
  *json = json_loadb(text.bytes, text.count, JSON_REJECT_DUPLICATES, &error);
  text_buffer_free(&text);
  if (*json && json_is_object(*json)) return PHIBAL_OK;
  status = *json
               ? phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not a JSON object", path)
               : phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s", path, error.line, error.text);
  json_decref(*json);
  *json = NULL;
  return status;
}

phibal_status hf_json_write(const char *folder, const char *name, const json_t *json) {
  char *path = string_format("%s/%s", folder, name);
  char *text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  char *whole = text ? string_format("%s\n", text) : NULL;
  phibal_status status =
      path && whole ? file_write(path, whole, strlen(whole))
                    : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to write the model");
  free(whole);
  free(text);
  free(path);
  return status;
}
