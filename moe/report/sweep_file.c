/* Reading sweep files, through libyaml. */
#include "formats/file.h"
#include "formats/near_name.h"
#include "sweep.h"
#include "formats/text_limits.h"
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef struct reader {
  yaml_document_t *document;
  const char *path;
} reader;

static int line_of(const yaml_node_t *node) {
  return (int)node->start_mark.line + 1;
}

static phibal_status bad(const reader *r, const yaml_node_t *node, const char *key,
                         const char *wanted) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s: %s", r->path, line_of(node), key,
                           wanted);
}

static phibal_status memory_error(const reader *r) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", r->path);
}

static const char *scalar(const yaml_node_t *node) {
  return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static yaml_node_t *node_at(const reader *r, int index) {
  return yaml_document_get_node(r->document, index);
}

static size_t pair_count(const yaml_node_t *map) {
  return (size_t)(map->data.mapping.pairs.top - map->data.mapping.pairs.start);
}

static size_t item_count(const yaml_node_t *list) {
  return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

/* Names of keys are texts, each there once. */
static phibal_status check_map(const reader *r, const yaml_node_t *map, const char *what) {
  if (map->type != YAML_MAPPING_NODE) return bad(r, map, what, "expected keys and values");
  const yaml_node_pair_t *pairs = map->data.mapping.pairs.start;
  for (size_t i = 0; i < pair_count(map); i++) {
    const yaml_node_t *key = node_at(r, pairs[i].key);
    if (!scalar(key)) return bad(r, key, what, "a key is not a string");
    for (size_t j = 0; j < i; j++)
      if (!strcmp(scalar(node_at(r, pairs[j].key)), scalar(key)))
        return bad(r, key, scalar(key), "is given twice");
  }
  return PHIBAL_OK;
}

static phibal_status add_setting(const reader *r, const yaml_node_t *key, const yaml_node_t *value,
                                 sweep_choice *to) {
  if (!scalar(value)) return bad(r, value, scalar(key), "expected a single value");
  if (!config_key_get(scalar(key))) {
    char perhaps[CONFIG_PERHAPS], wanted[CONFIG_PERHAPS + 80];
    config_key_perhaps(scalar(key), perhaps);
    snprintf(wanted, sizeof wanted,
             "not a key of a run file%s ('phibal train --keys' lists them all)", perhaps);
    return bad(r, key, scalar(key), wanted);
  }
  if (!strcmp(scalar(key), "training.seed"))
    return bad(r, key, scalar(key), "is what 'seeds' sets");
  sweep_setting *grown = realloc(to->settings, (to->count + 1) * sizeof *grown);
  if (!grown) return memory_error(r);
  to->settings = grown;
  sweep_setting *s = &grown[to->count++];
  *s = (sweep_setting){strdup(scalar(key)), strdup(scalar(value)),
                       string_format("%s:%d", r->path, line_of(value))};
  return s->key && s->value && s->from ? PHIBAL_OK : memory_error(r);
}

static phibal_status read_set(const reader *r, const yaml_node_t *map, sweep *s) {
  phibal_status status = check_map(r, map, "set");
  for (size_t i = 0; !status && i < pair_count(map); i++) {
    const yaml_node_pair_t *pair = &map->data.mapping.pairs.start[i];
    status = add_setting(r, node_at(r, pair->key), node_at(r, pair->value), &s->set);
  }
  return status;
}

static phibal_status add_axis(const reader *r, const yaml_node_t *list, const char *name, sweep *s,
                              sweep_axis **added) {
  if (list->type != YAML_SEQUENCE_NODE || !item_count(list))
    return bad(r, list, name, "expected a list of values, such as [0.1, 0.5]");
  sweep_axis *grown = realloc(s->axes, (s->axis_count + 1) * sizeof *grown);
  if (!grown) return memory_error(r);
  s->axes = grown;
  sweep_axis *axis = *added = &grown[s->axis_count++];
  *axis = (sweep_axis){.name = strdup(name), .count = item_count(list)};
  axis->choices = calloc(axis->count, sizeof *axis->choices);
  s->points *= (int64_t)axis->count;
  if (s->points > SWEEP_POINTS_MAX)
    return bad(r, list, name, "with it, the sweep has more than 10000 points");
  return axis->name && axis->choices ? PHIBAL_OK : memory_error(r);
}

static phibal_status check_labels(const reader *r, const yaml_node_t *list,
                                  const sweep_axis *axis) {
  for (size_t i = 0; i < axis->count; i++)
    for (size_t j = 0; j < i; j++)
      if (!strcmp(axis->choices[i].label, axis->choices[j].label))
        return bad(r, node_at(r, list->data.sequence.items.start[i]), axis->choices[i].label,
                   "is duplicated");
  return PHIBAL_OK;
}

static phibal_status read_grid(const reader *r, const yaml_node_t *map, sweep *s) {
  phibal_status status = check_map(r, map, "grid");
  for (size_t i = 0; !status && i < pair_count(map); i++) {
    const yaml_node_pair_t *pair = &map->data.mapping.pairs.start[i];
    const yaml_node_t *key = node_at(r, pair->key), *list = node_at(r, pair->value);
    const char *dot = strrchr(scalar(key), '.');
    sweep_axis *axis = NULL;
    status = add_axis(r, list, scalar(key), s, &axis);
    for (size_t v = 0; !status && v < axis->count; v++) {
      const yaml_node_t *value = node_at(r, list->data.sequence.items.start[v]);
      status = add_setting(r, key, value, &axis->choices[v]);
      if (status) break;
      axis->choices[v].label = string_format("%s=%s", dot ? dot + 1 : scalar(key), scalar(value));
      if (!axis->choices[v].label) status = memory_error(r);
    }
    if (!status) status = check_labels(r, list, axis);
  }
  return status;
}

static phibal_status read_text(const reader *r, const yaml_node_t *node, const char *key,
                               char **text) {
  if (!scalar(node) || !*scalar(node)) return bad(r, node, key, "expected a string");
  *text = strdup(scalar(node));
  return *text ? PHIBAL_OK : memory_error(r);
}

static phibal_status read_case(const reader *r, const yaml_node_t *map, sweep_choice *to) {
  phibal_status status = check_map(r, map, "cases");
  for (size_t i = 0; !status && i < pair_count(map); i++) {
    const yaml_node_pair_t *pair = &map->data.mapping.pairs.start[i];
    const yaml_node_t *key = node_at(r, pair->key), *value = node_at(r, pair->value);
    if (!strcmp(scalar(key), "name"))
      status = read_text(r, value, "name", &to->label);
    else if (!strcmp(scalar(key), "base"))
      status = read_text(r, value, "base", &to->base);
    else
      status = add_setting(r, key, value, to);
  }
  return status || to->label ? status : bad(r, map, "cases", "each needs a name");
}

static phibal_status read_cases(const reader *r, const yaml_node_t *list, sweep *s) {
  sweep_axis *axis = NULL;
  phibal_status status = add_axis(r, list, "case", s, &axis);
  for (size_t i = 0; !status && i < axis->count; i++)
    status = read_case(r, node_at(r, list->data.sequence.items.start[i]), &axis->choices[i]);
  return status ? status : check_labels(r, list, axis);
}

static phibal_status read_seeds(const reader *r, const yaml_node_t *list, sweep *s) {
  if (list->type != YAML_SEQUENCE_NODE || !item_count(list))
    return bad(r, list, "seeds", "expected a list of integers, such as [1, 2, 3]");
  free(s->seeds);
  s->seeds = calloc(item_count(list), sizeof *s->seeds);
  if (!s->seeds) return memory_error(r);
  s->seed_count = item_count(list);
  for (size_t i = 0; i < s->seed_count; i++) {
    const yaml_node_t *node = node_at(r, list->data.sequence.items.start[i]);
    const char *text = scalar(node);
    if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 15)
      return bad(r, node, "seeds", "expected an integer in [0, 1e15)");
    s->seeds[i] = strtoll(text, NULL, 10);
    for (size_t j = 0; j < i; j++)
      if (s->seeds[i] == s->seeds[j]) return bad(r, node, "seeds", "one is duplicated");
  }
  return PHIBAL_OK;
}

static phibal_status unknown_part(const reader *r, const yaml_node_t *key) {
  static const char *const known[] = {"base", "out", "seeds", "set", "cases", "grid"};
  char wanted[256] = "unknown; the keys are base, out, seeds, set, cases and grid";
  near_name near = {.wrong = scalar(key), .wrong_length = strlen(scalar(key))};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    near_name_consider(&near, known[i], strlen(known[i]));
  char perhaps[CONFIG_PERHAPS] = "";
  if (near.text)
    snprintf(perhaps, sizeof perhaps, "; perhaps '%s'", near.text);
  else if (strchr(scalar(key), '.') && config_key_get(scalar(key)))
    snprintf(perhaps, sizeof perhaps, "; keys of a run file belong under 'set', 'grid' or 'cases'");
  strncat(wanted, perhaps, sizeof wanted - strlen(wanted) - 1);
  return bad(r, key, scalar(key), wanted);
}

static phibal_status read_root(const reader *r, sweep *s) {
  const yaml_node_t *root = yaml_document_get_root_node(r->document);
  if (!root) return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: is empty", r->path);
  phibal_status status = check_map(r, root, "a sweep file");
  /* Cases first, wherever they stand: they vary slowest. */
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; !status && i < pair_count(root); i++) {
      const yaml_node_pair_t *pair = &root->data.mapping.pairs.start[i];
      const yaml_node_t *key = node_at(r, pair->key), *value = node_at(r, pair->value);
      const char *name = scalar(key);
      if (!strcmp(name, "cases"))
        status = pass ? PHIBAL_OK : read_cases(r, value, s);
      else if (!pass)
        continue;
      else if (!strcmp(name, "base"))
        status = read_text(r, value, name, &s->base);
      else if (!strcmp(name, "out"))
        status = read_text(r, value, name, &s->out);
      else if (!strcmp(name, "seeds"))
        status = read_seeds(r, value, s);
      else if (!strcmp(name, "set"))
        status = read_set(r, value, s);
      else if (!strcmp(name, "grid"))
        status = read_grid(r, value, s);
      else
        status = unknown_part(r, key);
    }
  if (!status && (!s->base || !s->out || !s->axis_count))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s is missing", r->path,
                               !s->base  ? "base"
                               : !s->out ? "out"
                                         : "cases or grid");
  return status;
}

/* What no sweep needs is refused before a document is made of it: libyaml's time grows with the
   square of what is open. */
static phibal_status check_extent(const char *text, size_t bytes, const char *path) {
  enum { EVENTS_MOST = 200000 };
  phibal_status status = text_within(TEXT_SWEEP, path, bytes);
  if (status) return status;
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
  bool more = true;
  for (int depth = 0, events = 0; more && !status; events++) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parser, &event)) break; /* said when it is read */
    const int line = (int)event.start_mark.line + 1;
    if (event.type == YAML_MAPPING_START_EVENT || event.type == YAML_SEQUENCE_START_EVENT)
      depth++;
    else if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT)
      depth--;
    more = event.type != YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    if (depth > YAML_LEVELS)
      status =
          phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: more than %d levels of lists and keys",
                            path, line, YAML_LEVELS);
    else if (events > EVENTS_MOST)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: more than %d keys and values", path,
                                 line, EVENTS_MOST / 2);
  }
  yaml_parser_delete(&parser);
  return status;
}

phibal_status sweep_parse(const char *text, size_t bytes, const char *path, sweep *s) {
  *s = (sweep){0};
  phibal_status status = check_extent(text, bytes, path);
  if (status) return status;
  *s = (sweep){.path = strdup(path), .points = 1, .seed_count = 1};
  yaml_parser_t parser;
  yaml_document_t document;
  s->seeds = malloc(sizeof *s->seeds);
  if (!s->path || !s->seeds || !yaml_parser_initialize(&parser)) {
    sweep_free(s);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  }
  s->seeds[0] = 1;
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
  if (yaml_parser_load(&parser, &document)) {
    const reader r = {&document, path};
    status = read_root(&r, s);
    yaml_document_delete(&document);
  } else {
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: not YAML: %s", path,
                               (int)parser.problem_mark.line + 1,
                               parser.problem ? parser.problem : "cannot be read");
  }
  yaml_parser_delete(&parser);
  if (status) sweep_free(s);
  return status;
}

phibal_status sweep_read(const char *path, sweep *s) {
  text_buffer text = {0};
  *s = (sweep){0};
  phibal_status status = file_read_text(path, TEXT_SWEEP, &text);
  if (!status) status = sweep_parse(text.bytes, text.count, path, s);
  text_buffer_free(&text);
  return status;
}

static void choice_free(sweep_choice *c) {
  for (size_t i = 0; i < c->count; i++) {
    free(c->settings[i].key);
    free(c->settings[i].value);
    free(c->settings[i].from);
  }
  free(c->settings);
  free(c->label);
  free(c->base);
}

void sweep_free(sweep *s) {
  for (size_t a = 0; a < s->axis_count; a++) {
    for (size_t i = 0; s->axes[a].choices && i < s->axes[a].count; i++)
      choice_free(&s->axes[a].choices[i]);
    free(s->axes[a].choices);
    free(s->axes[a].name);
  }
  choice_free(&s->set);
  free(s->axes);
  free(s->seeds);
  free(s->path);
  free(s->base);
  free(s->out);
  *s = (sweep){0};
}
