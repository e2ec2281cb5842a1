/* A run's configuration: defaults, file, overrides, and what must hold between keys. */
#include "config_internal.h"
#include "formats/file.h"
#include "moe/hf/hf.h"
#include "formats/near_name.h"
#include "kernels/core/router.h"
#include "schedule.h"
#include "formats/text_limits.h"
#include <phibal/text.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Where each value came from, so that a message can say so. */
typedef struct source {
  const char *origin;
  const config_values *file;
  const config_override *override[CONFIG_KEYS_MAX]; /* the last one of each key; null: none */
  char parameters[CONFIG_TEXT_MAX]; /* balance.parameters of all overrides together */
  const run_config *model; /* of which the keys of the model section fall back on; null: none */
} source;

/* "origin:line: section.key: message", or with the override's name in place of the line. */
static phibal_status fail_at(const source *from, int key, phibal_status status, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));
static phibal_status fail_at(const source *from, int key, phibal_status status, const char *format,
                             ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  const config_key *row = &config_keys[key];
  if (from->override[key])
    return phibal_status_set(status, "%s: %s.%s: %s", from->override[key]->from, row->section,
                             row->name, message);
  if (from->file->line[key])
    return phibal_status_set(status, "%s:%d: %s.%s: %s", from->origin, from->file->line[key],
                             row->section, row->name, message);
  return phibal_status_set(status, "%s: %s.%s: %s", from->origin, row->section, row->name, message);
}

static const char *given(const source *from, int key) {
  return from->override[key] ? from->override[key]->value : from->file->value[key];
}

static bool in_model(int key) {
  return !strcmp(config_keys[key].section, "model") && strcmp(config_keys[key].name, "sequence");
}

/* Reads the config.json of training.from, or the config.yaml where that is phibal's, where the run
   file does not say all of the model: what a run has written of itself does, and needs the folder
   no more. */
static phibal_status find_model(source *from, run_config *found) {
  const char *folder = given(from, config_key_find("training.from"));
  bool whole = true;
  for (int i = 0; i < (int)config_key_count; i++) whole &= !in_model(i) || given(from, i);
  if (!folder || !*folder || whole) return PHIBAL_OK;
  const bool is_hf = hf_is_checkpoint(folder), is_phibal = folder_has(folder, "config.yaml");
  if (!is_hf && !is_phibal)
    return fail_at(from, config_key_find("training.from"), PHIBAL_ERROR_IO,
                   "there is neither '%s/config.json' (of a Hugging Face model) nor "
                   "'%s/config.yaml' (of a run, a checkpoint or weights of phibal)",
                   folder, folder);
  if (!is_hf) {
    /* Its own origins are behind it. */
    const config_override alone[] = {{"training.from", "", folder}, {"lora.rank", "0", folder}};
    char *path = string_format("%s/config.yaml", folder);
    phibal_status status = path ? run_config_load(path, alone, 2, found)
                                : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
    free(path);
    found->model.selection_bias |= balance_sets_bias(found->balance.method);
    if (!status) from->model = found;
    return status;
  }
  hf_config read;
  phibal_status status =
      hf_config_read(folder, given(from, config_key_find("training.ignore_keys")), &read);
  if (status) return status;
  found->model = read.model;
  from->model = found;
  return PHIBAL_OK;
}

static phibal_status apply(const source *from, run_config *config) {
  const int potential = config_key_find("balance.potential");
  const int one = config_key_find("balance.parameter"), all = config_key_find("balance.parameters");
  char parameters[CONFIG_TEXT_MAX];
  char fallback[2 * CONFIG_TEXT_MAX + 3];
  for (int i = 0; i < (int)config_key_count; i++) {
    const config_key *key = &config_keys[i];
    const char *value = from->file->value[i];
    /* The file's parameters belong to the file's potential. */
    if ((i == one || i == all) && from->override[potential]) value = NULL;
    if (i == one && from->override[all]) value = NULL;
    if (i == all && from->override[one]) value = NULL;
    if (i == all && from->override[all]) {
      phibal_status status = config_parameters_merge(
          value && *from->override[i]->value ? value : "", from->parameters, parameters);
      if (status) return fail_at(from, i, status, "%s", phibal_status_message());
      value = parameters;
    } else if (from->override[i]) {
      value = from->override[i]->value;
    }
    if (i == all && value && *value && given(from, one) && strcmp(given(from, one), "default") &&
        !from->override[one] == !from->override[all])
      return fail_at(from, i, PHIBAL_ERROR_ARGUMENT, "balance.parameter is given too");
    if (!value && from->model && in_model(i)) {
      /* Through the text, so that its range is checked. */
      run_config_format(from->model, key, fallback, sizeof fallback);
      value = fallback;
    }
    if (!value) value = key->fallback;
    if (!value)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s.%s is missing: %s", from->origin,
                               key->section, key->name, key->help);
    phibal_status status = config_value_parse(key, value, config);
    if (status) return fail_at(from, i, status, "%s", phibal_status_message());
  }
  return PHIBAL_OK;
}

/* Fills in the values that stand for others. */
static void resolve(run_config *config, const char *origin) {
  model_config *m = &config->model;
  const char *slash = strrchr(origin, '/');
  const char *name = slash ? slash + 1 : origin;
  if (!*config->name)
    snprintf(config->name, sizeof config->name, "%.*s", (int)strcspn(name, "."), name);
  /* It stands in tables, JSON and pages. */
  char shown[CONFIG_TEXT_MAX];
  phibal_text_show(config->name, shown, sizeof shown);
  strcpy(config->name, shown);
  if (!m->key_value_heads) m->key_value_heads = m->heads;
  if (!m->dense_hidden) m->dense_hidden = (m->active + m->shared_experts) * m->hidden;
  if (!config->batch.micro_sequences) config->batch.micro_sequences = config->batch.sequences;
}

static phibal_status check(const source *from, const run_config *config) {
  const model_config *m = &config->model;
  const phibal_status bad = PHIBAL_ERROR_ARGUMENT;
  if (m->active > m->experts)
    return fail_at(from, config_key_find("model.active"), bad,
                   "%d experts a token, but there are %d", m->active, m->experts);
  if (m->heads % m->key_value_heads)
    return fail_at(from, config_key_find("model.key_value_heads"), bad,
                   "%d does not divide %d heads", m->key_value_heads, m->heads);
  if (m->head_width % 2)
    return fail_at(from, config_key_find("model.head_width"), bad,
                   "%d is odd: rotary positions rotate pairs", m->head_width);
  if (m->dense_layers > m->layers)
    return fail_at(from, config_key_find("model.dense_layers"), bad, "%d of %d layers",
                   m->dense_layers, m->layers);
  if (config->batch.micro_sequences > config->batch.sequences)
    return fail_at(from, config_key_find("batch.micro_sequences"), bad,
                   "%d, but the whole batch has %d sequences", config->batch.micro_sequences,
                   config->batch.sequences);
  if (m->zero_experts >= m->experts)
    return fail_at(from, config_key_find("model.zero_experts"), bad,
                   "%d of %d experts, and one needs weights", m->zero_experts, m->experts);
  if (model_real_experts(m) % config->parallel.experts)
    return fail_at(from, config_key_find("parallel.experts"), bad,
                   "%d experts%s cannot be divided evenly over %d ranks", model_real_experts(m),
                   m->zero_experts ? " with weights" : "", config->parallel.experts);
  if (config->balance.z_coefficient > 0 && core_gate_has_scores(m->gate))
    return fail_at(from, config_key_find("balance.z_coefficient"), PHIBAL_ERROR_UNSUPPORTED,
                   "the z-loss needs a softmax router, and model.gate is %s",
                   m->gate == PHIBAL_GATE_SIGMOID ? "sigmoid" : "sqrt_softplus");
  schedule plans;
  phibal_status status = schedule_read(config->training.continued, config->training.steps, &plans);
  if (status)
    return fail_at(from, config_key_find("training.continued"), status, "%s",
                   phibal_status_message());
  if (config->lora.rank && !*config->training.from)
    return fail_at(from, config_key_find("lora.rank"), bad,
                   "adapters are for a model of training.from");
  if (config->lora.rank && (config->parallel.experts > 1 || config->parallel.shard_optimizer))
    return fail_at(from, config_key_find("lora.rank"), PHIBAL_ERROR_UNSUPPORTED,
                   "adapters are not divided over ranks (parallel.experts, "
                   "parallel.shard_optimizer)");
  if (config->data.change_step && !*config->data.changed_mixture)
    return fail_at(from, config_key_find("data.change_step"), bad,
                   "what the data change to is not given (data.changed_mixture)");
  if (!config->data.change_step && *config->data.changed_mixture)
    return fail_at(from, config_key_find("data.changed_mixture"), bad,
                   "when the data change is not given (data.change_step)");
  status = model_config_check(m);
  if (!status) status = model_check_size(m, config->batch.micro_sequences);
  if (status) return phibal_status_set(status, "%s: %s", from->origin, phibal_status_message());
  return PHIBAL_OK;
}

static phibal_status find_overrides(const config_override *overrides, size_t n, source *from) {
  for (size_t i = 0; i < n; i++) {
    int key = config_key_find(overrides[i].key);
    char perhaps[CONFIG_PERHAPS];
    if (key < 0) config_key_perhaps(overrides[i].key, perhaps);
    if (key < 0)
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: unknown key '%s'%s ('phibal train --keys' lists them all)",
                               overrides[i].from, overrides[i].key, perhaps);
    from->override[key] = &overrides[i];
    if (config_keys[key].kind != CONFIG_PARAMETERS) continue;
    if (!*overrides[i].value) from->parameters[0] = 0; /* none, the file's neither */
    phibal_status status =
        config_parameters_merge(from->parameters, overrides[i].value, from->parameters);
    if (status) return fail_at(from, key, status, "%s", phibal_status_message());
  }
  return PHIBAL_OK;
}

phibal_status run_config_parse(const char *text, const char *origin,
                               const config_override *overrides, size_t n, run_config *config) {
  config_values values;
  phibal_status status = config_yaml_read(text, origin, &values);
  if (status) return status;
  source from = {.origin = origin, .file = &values};
  run_config read = {0}, origin_model = {0};
  status = find_overrides(overrides, n, &from);
  if (!status) status = find_model(&from, &origin_model);
  if (!status) status = apply(&from, &read);
  if (!status) resolve(&read, origin);
  if (!status) status = check(&from, &read);
  if (!status) *config = read;
  config_values_clear(&values);
  return status;
}

/* The whole file as a string. */
static phibal_status read_text(const char *path, char **text) {
  text_buffer buffer = {0};
  *text = NULL;
  phibal_status status = file_read_text(path, TEXT_RUN_FILE, &buffer);
  if (!status && memchr(buffer.bytes, 0, buffer.count))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: holds zero bytes", path);
  if (!status) status = text_buffer_append(&buffer, "", 1);
  if (status) {
    status = phibal_status_set(status, "run file %s", phibal_status_message());
    text_buffer_free(&buffer);
    return status;
  }
  *text = buffer.bytes;
  return PHIBAL_OK;
}

phibal_status run_config_load(const char *name, const config_override *overrides, size_t n,
                              run_config *config) {
  if (!strpbrk(name, "./")) {
    char list[256] = "", perhaps[CONFIG_PERHAPS] = "";
    near_name near = {.wrong = name, .wrong_length = strlen(name)};
    for (size_t i = 0; i < builtin_configs_count; i++) {
      near_name_consider(&near, builtin_configs[i].name, strlen(builtin_configs[i].name));
      if (!strcmp(name, builtin_configs[i].name)) {
        char origin[80];
        snprintf(origin, sizeof origin, "%s.yaml", name);
        return run_config_parse(builtin_configs[i].text, origin, overrides, n, config);
      }
      snprintf(list + strlen(list), sizeof list - strlen(list), " %s", builtin_configs[i].name);
    }
    if (near.text)
      snprintf(perhaps, sizeof perhaps, "; perhaps '%.*s'", (int)near.length, near.text);
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "no built-in configuration '%s'; there are:%s; a file is given by its "
                             "path, with a '/' or its ending in it%s",
                             name, list, perhaps);
  }
  char *text;
  phibal_status status = read_text(name, &text);
  if (status) return status;
  status = run_config_parse(text, name, overrides, n, config);
  free(text);
  return status;
}

phibal_status run_config_save(const run_config *config, const char *path) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *stream = open_memstream(&text, &bytes);
  if (stream) run_config_write(config, stream);
  phibal_status status = stream && !fclose(stream)
                             ? file_write(path, text, bytes)
                             : phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  free(text);
  return status;
}

const char *const *builtin_config_names(void) {
  static const char *names[32];
  for (size_t i = 0; i < builtin_configs_count && i < sizeof names / sizeof *names - 1; i++)
    names[i] = builtin_configs[i].name;
  return names;
}
