/* The structure of a run file, through libcyaml: two levels of mappings with strings at the leaves.
   The leaves' types are checked by config_schema.c and not by libcyaml, which takes 3.5 for an
   integer; and the lines are found here, because it names the line before an unknown key. */
#include "config_internal.h"
#include <cyaml/cyaml.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* libcyaml's description of config_keys: the root's struct is an array of one pointer a section, a
   section's struct is an array of one string a key. */
typedef struct yaml_schema {
  int sections;
  int first[CONFIG_SECTIONS_MAX + 1]; /* config_keys of section s: first[s] .. first[s+1]-1 */
  cyaml_schema_field_t root[CONFIG_SECTIONS_MAX + 1];
  cyaml_schema_field_t fields[CONFIG_KEYS_MAX + CONFIG_SECTIONS_MAX];
  cyaml_schema_value_t top;
} yaml_schema;

static phibal_status schema_build(yaml_schema *schema) {
  int fields = 0, sections = 0;
  for (size_t i = 0; i < config_key_count;) {
    if (sections == CONFIG_SECTIONS_MAX)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "run-file schema: more than %d sections",
                               CONFIG_SECTIONS_MAX);
    const char *section = config_keys[i].section;
    int start = fields;
    schema->first[sections] = (int)i;
    for (; i < config_key_count && !strcmp(config_keys[i].section, section); i++, fields++)
      schema->fields[fields] = (cyaml_schema_field_t){
          .key = config_keys[i].name,
          .data_offset = (uint32_t)((size_t)(fields - start) * sizeof(char *)),
          .value = {.type = CYAML_STRING,
                    .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                    .data_size = sizeof(char),
                    .string = {.min = 0, .max = CYAML_UNLIMITED}}};
    schema->root[sections] = (cyaml_schema_field_t){
        .key = section,
        .data_offset = (uint32_t)((size_t)sections * sizeof(char **)),
        .value = {.type = CYAML_MAPPING,
                  .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                  .data_size = (uint32_t)((size_t)(fields - start) * sizeof(char *)),
                  .mapping = {.fields = &schema->fields[start]}}};
    schema->fields[fields++] = (cyaml_schema_field_t)CYAML_FIELD_END;
    sections++;
  }
  schema->first[sections] = (int)config_key_count;
  schema->root[sections] = (cyaml_schema_field_t)CYAML_FIELD_END;
  schema->sections = sections;
  schema->top = (cyaml_schema_value_t){.type = CYAML_MAPPING,
                                       .flags = CYAML_FLAG_POINTER,
                                       .data_size = (uint32_t)((size_t)sections * sizeof(char **)),
                                       .mapping = {.fields = schema->root}};
  return PHIBAL_OK;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Whether `key` stands as a mapping key somewhere in line[0..n-1], comments left out. */
static int keys_in_line(const char *line, size_t n, const char *key) {
  size_t length = strlen(key);
  int found = 0;
  for (size_t i = 0; i + length <= n; i++) {
    if (line[i] == '#' && (!i || isspace((unsigned char)line[i - 1]))) break;
    if ((i && is_word(line[i - 1])) || memcmp(line + i, key, length)) continue;
    size_t after = i + length;
    while (after < n && (line[after] == ' ' || line[after] == '"' || line[after] == '\'')) after++;
    found += after < n && line[after] == ':';
  }
  return found;
}

/* The line (from 1) where `key` of `section` (null: a section itself) stands for the nth time;
   0 if it does not. */
static int32_t find_line(const char *text, const char *section, const char *key, int nth) {
  bool inside = !section;
  int32_t number = 0;
  for (const char *line = text; *line; number++) {
    size_t n = strcspn(line, "\n");
    bool top = n && !isspace((unsigned char)*line) && *line != '#';
    size_t name = top ? strcspn(line, ":\n") : 0;
    if (top && section) inside = keys_in_line(line, name < n ? name + 1 : n, section) > 0;
    if (inside && (section || top)) {
      /* A section's own name is not one of its keys; a section is looked for at column 0 only. */
      const char *from = section && top ? line + name : line;
      size_t length = section ? n - (size_t)(from - line) : name < n ? name + 1 : n;
      nth -= keys_in_line(from, length, key);
      if (nth <= 0) return number + 1;
    }
    line += n;
    if (*line) line++;
  }
  return 0;
}

/* What libcyaml logged: its first message, and the fields of the backtrace, innermost first. */
typedef struct yaml_log {
  char message[256];
  char fields[4][64];
  int field_count;
  int32_t line;
} yaml_log;

static void log_catch(cyaml_log_t level, void *context, const char *format, va_list arguments) {
  (void)level;
  yaml_log *log = context;
  char text[256];
  vsnprintf(text, sizeof text, format, arguments);
  text[strcspn(text, "\n")] = 0;
  const char *line = strstr(text, "(line: ");
  if (line) {
    if (!log->line) log->line = atoi(line + 7);
    const char *quote = strchr(text, '\'');
    if (quote && log->field_count < 4) {
      char *field = log->fields[log->field_count++];
      size_t n = strcspn(quote + 1, "'");
      snprintf(field, sizeof log->fields[0], "%.*s", (int)n, quote + 1);
    }
  } else if (!*log->message) {
    snprintf(log->message, sizeof log->message, "%s", strncmp(text, "Load: ", 6) ? text : text + 6);
  }
}

/* Turns libcyaml's log into one line: file, line, key, what is wrong, what would be right. */
static phibal_status explain(const char *text, const char *origin, const yaml_log *log) {
  static const char unknown[] = "Unexpected key: ", repeated[] = "Mapping field already seen: ";
  const char *inner = log->field_count ? log->fields[0] : NULL;
  const char *outer = log->field_count > 1 ? log->fields[1] : NULL;
  if (!strncmp(log->message, unknown, strlen(unknown))) {
    const char *key = log->message + strlen(unknown);
    const char *section = inner ? inner : NULL;
    char dotted[CONFIG_PERHAPS], perhaps[CONFIG_PERHAPS];
    snprintf(dotted, sizeof dotted, "%s%s%.60s", section ? section : "", section ? "." : "", key);
    config_key_perhaps(dotted, perhaps);
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s:%d: unknown %s '%s%s%s'%s ('phibal train --keys' lists them all)",
                             origin, find_line(text, section, key, 1), section ? "key" : "section",
                             section ? section : "", section ? "." : "", key, perhaps);
  }
  if (!strncmp(log->message, repeated, strlen(repeated))) {
    const char *key = log->message + strlen(repeated);
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: '%s%s%s' is given twice", origin,
                             find_line(text, outer, key, 2), outer ? outer : "", outer ? "." : "",
                             key);
  }
  if (inner && strstr(log->message, "Expecting "))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: '%s%s%s' must be a %s", origin,
                             find_line(text, outer, inner, 1), outer ? outer : "", outer ? "." : "",
                             inner, outer ? "single value" : "section of keys");
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: not a run file: %s", origin,
                           log->line ? log->line : 1, log->message);
}

phibal_status config_yaml_read(const char *text, const char *origin, config_values *values) {
  *values = (config_values){0};
  yaml_schema schema;
  phibal_status status = schema_build(&schema);
  if (status) return status;
  yaml_log log = {0};
  cyaml_config_t config = {.log_fn = log_catch,
                           .log_ctx = &log,
                           .mem_fn = cyaml_mem,
                           .log_level = CYAML_LOG_WARNING,
                           .flags = CYAML_CFG_NO_ALIAS};
  char ***root = NULL;
  cyaml_err_t error = cyaml_load_data((const uint8_t *)text, strlen(text), &config, &schema.top,
                                      (cyaml_data_t **)&root, NULL);
  /* A warning is an error here: libcyaml would read the first of several documents and go on. */
  if (error || *log.message) {
    if (!error) cyaml_free(&config, &schema.top, root, 0);
    if (error == CYAML_ERR_OOM) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
    if (!*log.message) snprintf(log.message, sizeof log.message, "%s", cyaml_strerror(error));
    return explain(text, origin, &log);
  }
  for (int s = 0; root && s < schema.sections; s++)
    for (int i = schema.first[s]; root[s] && i < schema.first[s + 1]; i++) {
      const char *value = root[s][i - schema.first[s]];
      if (!value) continue;
      values->value[i] = strdup(value);
      values->line[i] = find_line(text, config_keys[i].section, config_keys[i].name, 1);
      if (!values->value[i]) status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
    }
  if (root) cyaml_free(&config, &schema.top, root, 0);
  if (status) config_values_clear(values);
  return status;
}

void config_values_clear(config_values *values) {
  for (size_t i = 0; i < CONFIG_KEYS_MAX; i++) free(values->value[i]);
  *values = (config_values){0};
}
