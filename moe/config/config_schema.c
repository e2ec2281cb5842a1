/* The schema's table, and how a value is read from and written to text. */
#include "config_internal.h"
#include "formats/near_name.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the enumerations in model.h, rope.h, expert.h and router.h. */
static const char *const activation_names[] = {"silu", "gelu", NULL};
static const char *const qk_norm_names[] = {"false", "true", "projection", NULL};
static const char *const rope_scaling_names[] = {"yarn", "linear", "llama3", NULL};
static const char *const gate_names[] = {"topk_softmax", "probability", "sigmoid", "sqrt_softplus",
                                         NULL};
static const char *const zero_gates_names[] = {"counted", "left_out", NULL};
static const char *const zero_output_names[] = {"identity", "zero", NULL};
static const char *const selection_score_names[] = {"of_gate", "probability", NULL};
static const char *const group_score_names[] = {"of_gate", "largest", "two_largest", "share", NULL};
static const char *const normalisation_names[] = {"of_gate", "none", "sum", NULL};
static const char *const method_names[] = {"phi",       "switch",   "switch-global", "sequence",
                                           "loss-free", "phi-bias", "quantile",      "none",
                                           "dense",     NULL};
static const char *const track_names[] = {"probability", "frequency", NULL};
static const char *const capacity_names[] = {"token-order", "slot-order", "lowest-gate", NULL};
static const char *const start_names[] = {"zero", "uniform", "zero-corrected", NULL};
static const char *const precision_names[] = {"binary32", "bfloat16", NULL};
static const char *const recompute_names[] = {"none", "layers", NULL};

const config_key config_keys[] = {
#define CONFIG_KEY(section, key, KIND, field, open, low, high, close, fallback, names, help)       \
  {#section, #key,  CONFIG_##KIND, offsetof(run_config, field), open, low, high, close,            \
   fallback, names, help},
#include "config_keys.def"
#undef CONFIG_KEY
};
const size_t config_key_count = sizeof config_keys / sizeof *config_keys;
_Static_assert(sizeof config_keys / sizeof *config_keys <= CONFIG_KEYS_MAX, "raise the limit");

/* Choices are stored through an int, whichever enumeration they belong to. */
_Static_assert(sizeof(balance_method) == sizeof(int) && sizeof(balance_track) == sizeof(int) &&
                   sizeof(balance_start) == sizeof(int) && sizeof(phibal_gate) == sizeof(int) &&
                   sizeof(phibal_activation) == sizeof(int) &&
                   sizeof(phibal_group_score) == sizeof(int) &&
                   sizeof(phibal_normalisation) == sizeof(int) &&
                   sizeof(qk_norm_kind) == sizeof(int) && sizeof(rope_scaling) == sizeof(int) &&
                   sizeof(model_precision) == sizeof(int) &&
                   sizeof(phibal_capacity_policy) == sizeof(int) &&
                   sizeof(model_recompute) == sizeof(int) &&
                   sizeof(phibal_potential_id) == sizeof(int),
               "enumerations are ints");

int config_key_find(const char *dotted) {
  for (size_t i = 0; i < config_key_count; i++) {
    size_t n = strlen(config_keys[i].section);
    if (!strncmp(dotted, config_keys[i].section, n) && dotted[n] == '.' &&
        !strcmp(dotted + n + 1, config_keys[i].name))
      return (int)i;
  }
  return -1;
}

const config_key *config_key_get(const char *dotted) {
  int i = config_key_find(dotted);
  return i < 0 ? NULL : &config_keys[i];
}

static void write_perhaps(const near_name *near, const char *section, char text[CONFIG_PERHAPS]) {
  text[0] = 0;
  if (near->text)
    snprintf(text, CONFIG_PERHAPS, "; perhaps '%s%s%.*s'", section, *section ? "." : "",
             (int)near->length, near->text);
}

void config_key_perhaps(const char *dotted, char text[CONFIG_PERHAPS]) {
  char names[CONFIG_KEYS_MAX][64];
  const char *dot = strrchr(dotted, '.'), *name = dot ? dot + 1 : dotted;
  near_name whole = {.wrong = dotted, .wrong_length = strlen(dotted)}, section = whole;
  near_name key = {.wrong = name, .wrong_length = strlen(name)};
  const char *key_section = "";
  for (size_t i = 0; i < config_key_count; i++) {
    const config_key *row = &config_keys[i];
    snprintf(names[i], sizeof names[i], "%s.%s", row->section, row->name);
    near_name_consider(&whole, names[i], strlen(names[i]));
    if (!dot) near_name_consider(&section, row->section, strlen(row->section));
    const char *before = key.text;
    near_name_consider(&key, row->name, strlen(row->name));
    if (key.text != before) key_section = row->section;
  }
  /* The key under its own section, a section, the key under another one. */
  if (whole.text)
    write_perhaps(&whole, "", text);
  else if (section.text && !section.edits)
    snprintf(text, CONFIG_PERHAPS, "; that is a section, of keys '%s.KEY'", section.text);
  else if (section.text && !dot && !(key.text && key.edits < section.edits))
    write_perhaps(&section, "", text);
  else
    write_perhaps(&key, key_section, text);
}

static void interval_format(const config_key *key, char *text, size_t size) {
  snprintf(text, size, "%c%.15g, %.15g%c", key->open, key->low, key->high, key->close);
}

static phibal_status check_range(const config_key *key, const char *text, double value) {
  bool low = key->open == '[' ? value >= key->low : value > key->low;
  bool high = key->close == ']' ? value <= key->high : value < key->high;
  if (low && high) return PHIBAL_OK;
  char interval[64];
  interval_format(key, interval, sizeof interval);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s' is outside %s", text, interval);
}

static phibal_status parse_integer(const config_key *key, const char *text, int64_t *value) {
  char *end;
  const char *digits = text + (*text == '-' || *text == '+');
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  /* strtoll skips leading blanks; a value that starts with one is not an integer. */
  if (*digits < '0' || *digits > '9' || *end)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s' is not an integer", text);
  *value = parsed;
  return errno ? check_range(key, text, parsed < 0 ? -HUGE_VAL : HUGE_VAL)
               : check_range(key, text, (double)parsed);
}

/* A decimal number, or inf (YAML's .inf too) where that is allowed. */
static phibal_status parse_real(const char *text, bool infinite, double *value) {
  if (infinite && (!strcmp(text, "inf") || !strcmp(text, ".inf"))) {
    *value = HUGE_VAL;
    return PHIBAL_OK;
  }
  char *end;
  const char *digits = text + (*text == '-' || *text == '+');
  *value = strtod(text, &end);
  bool number = (*digits >= '0' && *digits <= '9') || *digits == '.';
  if (!number || end == text || *end || !isfinite(*value))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s' is not a number", text);
  return PHIBAL_OK;
}

/* The same, or a fraction of two whole numbers: then the quotient, rounded once. */
static phibal_status parse_fraction(const char *text, bool infinite, double *value) {
  const char *slash = strchr(text, '/');
  if (!slash) return parse_real(text, infinite, value);
  const char *digits = text + (*text == '-' || *text == '+');
  const size_t above = strspn(digits, "0123456789"), below = strspn(slash + 1, "0123456789");
  const double n = strtod(text, NULL), d = strtod(slash + 1, NULL);
  if (!above || digits + above != slash || !below || slash[1 + below] || !(fabs(n) <= 0x1p53) ||
      !(d > 0 && d <= 0x1p53))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "'%s' is not a number, nor a fraction of whole numbers such as 1/3",
                             text);
  *value = n / d;
  return PHIBAL_OK;
}

static phibal_status parse_choice(const config_key *key, const char *text, int *value) {
  char list[256] = "", perhaps[CONFIG_PERHAPS];
  near_name near = {.wrong = text, .wrong_length = strlen(text)};
  for (int i = 0; key->names[i]; i++) {
    if (!strcmp(text, key->names[i])) {
      *value = i;
      return PHIBAL_OK;
    }
    near_name_consider(&near, key->names[i], strlen(key->names[i]));
    if (i) strncat(list, ", ", sizeof list - strlen(list) - 1);
    strncat(list, key->names[i], sizeof list - strlen(list) - 1);
  }
  write_perhaps(&near, "", perhaps);
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s' is none of: %s%s", text, list, perhaps);
}

/* A name of the catalogue, or a file: with a '/' in it, or ending in .phi. */
static phibal_status parse_potential(const char *text, run_config *config) {
  size_t n = strlen(text);
  bool file = strchr(text, '/') || (n > 4 && !strcmp(text + n - 4, ".phi"));
  config->potential_file[0] = 0;
  if (!file) {
    near_name near = {.wrong = text, .wrong_length = n};
    char perhaps[CONFIG_PERHAPS];
    phibal_status status = phibal_potential_find(text, &config->balance.potential);
    for (int id = 0; status && id < PHIBAL_POTENTIAL_COUNT; id++) {
      const char *name = phibal_potential_describe((phibal_potential_id)id)->name;
      near_name_consider(&near, name, strlen(name));
    }
    write_perhaps(&near, "", perhaps);
    return status ? phibal_status_set(status, "%s; a file's name ends in .phi%s",
                                      phibal_status_message(), perhaps)
                  : PHIBAL_OK;
  }
  if (n >= CONFIG_TEXT_MAX)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "longer than %d bytes", CONFIG_TEXT_MAX - 1);
  memcpy(config->potential_file, text, n + 1);
  config->balance.potential = (phibal_potential){PHIBAL_POTENTIAL_NEGENTROPY, (double)NAN};
  return PHIBAL_OK;
}

/* lp, tsallis and the others name their parameter; the key is the same for all. */
static phibal_status parse_parameter(const char *text, run_config *config) {
  phibal_potential *potential = &config->balance.potential;
  if (!strcmp(text, "default")) return PHIBAL_OK; /* choosing the potential has set it */
  if (*config->potential_file) return parse_fraction(text, false, &potential->parameter);
  const phibal_potential_info *info = phibal_potential_describe(potential->id);
  if (!*info->parameter)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s has no parameter; leave it out",
                             info->name);
  double value;
  phibal_status status = parse_fraction(text, true, &value);
  if (status) return status;
  phibal_potential chosen = {potential->id, value};
  status = phibal_potential_check(&chosen);
  if (!status) *potential = chosen;
  return status;
}

/* The next "name=value" of a list, without the blanks around it; false where there is none that is
   one. *list is then as it was. */
static bool next_parameter(const char **list, char name[CONFIG_TEXT_MAX],
                           char value[CONFIG_TEXT_MAX]) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const char *at = *list + strspn(*list, " ");
  const size_t n = strspn(at, letters);
  const char *equals = at + n + strspn(at + n, " ");
  const char *from = equals + 1 + (*equals == '=' ? strspn(equals + 1, " ") : 0);
  const size_t v = *equals == '=' ? strcspn(from, ", =") : 0;
  if (!n || !v || n >= CONFIG_TEXT_MAX || v >= CONFIG_TEXT_MAX) return false;
  const char *end = from + v + strspn(from + v, " ");
  if (*end && (*end != ',' || !end[1])) return false;
  snprintf(name, CONFIG_TEXT_MAX, "%.*s", (int)n, at);
  snprintf(value, CONFIG_TEXT_MAX, "%.*s", (int)v, from);
  *list = end + (*end == ',');
  return true;
}

static bool has_parameter(const char *list, const char *name) {
  char other[CONFIG_TEXT_MAX], value[CONFIG_TEXT_MAX];
  while (*list && next_parameter(&list, other, value))
    if (!strcmp(name, other)) return true;
  return false;
}

phibal_status config_parameters_merge(const char *under, const char *over,
                                      char to[CONFIG_TEXT_MAX]) {
  char name[CONFIG_TEXT_MAX], value[CONFIG_TEXT_MAX], made[CONFIG_TEXT_MAX] = "";
  size_t n = 0;
  for (int list = 0; list < 2; list++)
    for (const char *at = list ? over : under; *at && n < sizeof made;) {
      if (!next_parameter(&at, name, value))
        return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s': expected NAME=VALUE,NAME=VALUE,...",
                                 list ? over : under);
      if (!list && has_parameter(over, name)) continue;
      if (has_parameter(made, name))
        return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s' is given twice", name);
      n += (size_t)snprintf(made + n, sizeof made - n, "%s%s=%s", n ? "," : "", name, value);
    }
  if (n >= sizeof made)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "longer than %d bytes", CONFIG_TEXT_MAX - 1);
  memcpy(to, made, sizeof made);
  return PHIBAL_OK;
}

/* Of a file as they are: the reader of its language knows what they may be. */
static phibal_status parse_parameters(const char *text, run_config *config) {
  char name[CONFIG_TEXT_MAX], value[CONFIG_TEXT_MAX];
  phibal_status status = config_parameters_merge("", text, config->parameters);
  if (status || *config->potential_file) return status;
  const phibal_potential_info *info = phibal_potential_describe(config->balance.potential.id);
  for (const char *at = config->parameters; *at && next_parameter(&at, name, value);) {
    if (!*info->parameter)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': %s has no parameters", name,
                               info->name);
    if (strcmp(name, info->parameter))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%s': the parameters of %s: %s; write %s=1/2", name, info->name,
                               info->parameter, info->parameter);
    status = parse_parameter(value, config);
    if (status) return status;
  }
  config->parameters[0] = 0; /* balance.parameter says it */
  return PHIBAL_OK;
}

phibal_status config_value_parse(const config_key *key, const char *text, run_config *config) {
  void *field = (char *)config + key->offset;
  phibal_status status = PHIBAL_OK;
  int64_t integer;
  double real;
  switch (key->kind) {
  case CONFIG_INTEGER32:
    status = parse_integer(key, text, &integer);
    if (!status) *(int32_t *)field = (int32_t)integer;
    break;
  case CONFIG_INTEGER64:
    status = parse_integer(key, text, &integer);
    if (!status) *(int64_t *)field = integer;
    break;
  case CONFIG_REAL32:
    status = parse_real(text, false, &real);
    /* The rounded value counts: 1e-60 is inside (0, 1] but its binary32 is not. */
    if (!status) status = check_range(key, text, (double)(float)real);
    if (!status) *(float *)field = (float)real;
    break;
  case CONFIG_REAL64:
    status = parse_real(text, false, &real);
    if (!status) status = check_range(key, text, real);
    if (!status) *(double *)field = real;
    break;
  case CONFIG_BOOLEAN:
    if (strcmp(text, "true") && strcmp(text, "false"))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s' is neither true nor false", text);
    *(bool *)field = !strcmp(text, "true");
    break;
  case CONFIG_CHOICE:
    status = parse_choice(key, text, field);
    break;
  case CONFIG_POTENTIAL:
    status = parse_potential(text, config);
    break;
  case CONFIG_PARAMETER:
    status = parse_parameter(text, config);
    break;
  case CONFIG_PARAMETERS:
    status = parse_parameters(text, config);
    break;
  case CONFIG_TEXT:
    if (strlen(text) >= CONFIG_TEXT_MAX)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "longer than %d bytes", CONFIG_TEXT_MAX - 1);
    memcpy(field, text, strlen(text) + 1);
    break;
  }
  return status;
}

/* The shortest decimal that reads back as the same number. */
static void format_real(double value, bool single, char *text, size_t size) {
  if (isinf(value)) {
    snprintf(text, size, "%sinf", value < 0 ? "-" : "");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, value);
    double back = strtod(text, NULL);
    if (single ? (float)back == (float)value : back == value) return;
  }
}

/* Text in single quotes, as YAML doubles them inside. */
static void format_text(const char *value, char *text, size_t size) {
  size_t n = 0;
  text[n++] = '\'';
  for (; *value && n + 3 < size; value++) {
    if (*value == '\'') text[n++] = '\'';
    text[n++] = *value;
  }
  text[n++] = '\'';
  text[n] = 0;
}

void run_config_format(const run_config *config, const config_key *key, char *text, size_t size) {
  const void *field = (const char *)config + key->offset;
  const phibal_potential_info *potential = phibal_potential_describe(config->balance.potential.id);
  switch (key->kind) {
  case CONFIG_INTEGER32:
    snprintf(text, size, "%d", *(const int32_t *)field);
    break;
  case CONFIG_INTEGER64:
    snprintf(text, size, "%lld", (long long)*(const int64_t *)field);
    break;
  case CONFIG_REAL32:
    format_real((double)*(const float *)field, true, text, size);
    break;
  case CONFIG_REAL64:
    format_real(*(const double *)field, false, text, size);
    break;
  case CONFIG_BOOLEAN:
    snprintf(text, size, "%s", *(const bool *)field ? "true" : "false");
    break;
  case CONFIG_CHOICE:
    snprintf(text, size, "%s", key->names[*(const int *)field]);
    break;
  case CONFIG_POTENTIAL:
    if (*config->potential_file)
      format_text(config->potential_file, text, size);
    else
      snprintf(text, size, "%s", potential->name);
    break;
  case CONFIG_PARAMETER:
    if (*config->potential_file ? !isnan(config->balance.potential.parameter)
                                : *potential->parameter)
      format_real(config->balance.potential.parameter, false, text, size);
    else
      snprintf(text, size, "default");
    break;
  case CONFIG_PARAMETERS:
  case CONFIG_TEXT:
    format_text(field, text, size);
    break;
  }
}

void run_config_write(const run_config *config, FILE *to) {
  const char *section = "";
  for (size_t i = 0; i < config_key_count; i++) {
    const config_key *key = &config_keys[i];
    if (strcmp(section, key->section)) fprintf(to, "%s:\n", key->section);
    section = key->section;
    char text[2 * CONFIG_TEXT_MAX + 3];
    run_config_format(config, key, text, sizeof text);
    fprintf(to, "  %s: %s\n", key->name, text);
  }
}

static void write_domain(const config_key *key, FILE *to) {
  static const char *const plain[] = {[CONFIG_BOOLEAN] = "true, false",
                                      [CONFIG_POTENTIAL] =
                                          "`phibal eval --help` lists them; or a .phi file",
                                      [CONFIG_PARAMETER] = "number or fraction",
                                      [CONFIG_PARAMETERS] = "NAME=VALUE,...",
                                      [CONFIG_TEXT] = "text"};
  char interval[64];
  interval_format(key, interval, sizeof interval);
  switch (key->kind) {
  case CONFIG_INTEGER32:
  case CONFIG_INTEGER64:
    fprintf(to, "integer in %s", interval);
    break;
  case CONFIG_REAL32:
  case CONFIG_REAL64:
    fprintf(to, "number in %s", interval);
    break;
  case CONFIG_CHOICE:
    for (int i = 0; key->names[i]; i++) fprintf(to, "%s%s", i ? ", " : "", key->names[i]);
    break;
  default:
    fputs(plain[key->kind], to);
  }
}

void config_keys_write(FILE *to) {
  fputs("| key | values | default | meaning |\n| --- | --- | --- | --- |\n", to);
  for (size_t i = 0; i < config_key_count; i++) {
    const config_key *key = &config_keys[i];
    fprintf(to, "| `%s.%s` | ", key->section, key->name);
    write_domain(key, to);
    fprintf(to, " | %s | %s |\n",
            !key->fallback   ? "required"
            : *key->fallback ? key->fallback
                             : "none",
            key->help);
  }
}
