/* Shared by the three files of the run-file reader. */
#ifndef PHIBAL_MOE_CONFIG_INTERNAL_H
#define PHIBAL_MOE_CONFIG_INTERNAL_H

#include "config.h"

/* Upper limits of the schema's size, so that tables can be arrays. */
#define CONFIG_KEYS_MAX 128
#define CONFIG_SECTIONS_MAX 16

/* The values of a YAML text as strings; null where the text has none. */
typedef struct config_values {
  char *value[CONFIG_KEYS_MAX]; /* owned */
  int32_t line[CONFIG_KEYS_MAX];
} config_values;

/* Checks the structure: two levels of mappings, known keys, each once, scalars at the leaves. */
phibal_status config_yaml_read(const char *text, const char *origin, config_values *values);
void config_values_clear(config_values *values);

/* Sets the member of `config` that `key` describes. The message has no place in it: the caller
   knows whether a file or an override is meant. */
phibal_status config_value_parse(const config_key *key, const char *text, run_config *config);

/* Parameters by name: those of `over`, and those of `under` that it does not have.
   PHIBAL_ERROR_FORMAT for what is no list of them, PHIBAL_ERROR_ARGUMENT where one has a name
   twice. */
phibal_status config_parameters_merge(const char *under, const char *over,
                                      char to[CONFIG_TEXT_MAX]);

/* Index into config_keys of "section.key"; -1 if there is none. */
int config_key_find(const char *dotted);

#endif
