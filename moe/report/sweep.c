/* The runs of a sweep and their results. */
#include "sweep.h"
#include "formats/json_text.h"
#include "formats/file.h"
#include "report.h"
#include "moe/train/run_folder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t sweep_index(const sweep *s, int64_t point, size_t axis) {
  for (size_t a = s->axis_count; a-- > axis + 1;) point /= (int64_t)s->axes[a].count;
  return (size_t)(point % (int64_t)s->axes[axis].count);
}

void sweep_label(const sweep *s, int64_t point, char label[SWEEP_LABEL]) {
  size_t n = 0;
  label[0] = 0;
  for (size_t a = 0; a < s->axis_count && n < SWEEP_LABEL; a++)
    n += (size_t)snprintf(label + n, SWEEP_LABEL - n, "%s%s", a ? ", " : "",
                          s->axes[a].choices[sweep_index(s, point, a)].label);
}

void sweep_folder(const sweep *s, int64_t point, size_t seed, char path[CONFIG_TEXT_MAX]) {
  char label[SWEEP_LABEL];
  sweep_label(s, point, label);
  size_t kept = 0;
  for (const char *c = label; *c; c++) {
    if (*c == ' ' && c > label && c[-1] == ',') continue;
    const bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                       (*c >= 'A' && *c <= 'Z') || strchr(".,=+-", *c);
    label[kept++] = plain ? *c : '_';
  }
  snprintf(path, CONFIG_TEXT_MAX, "%s/%.*s,seed=%lld", s->out, (int)kept, label,
           (long long)s->seeds[seed]);
}

phibal_status sweep_config(const sweep *s, int64_t point, size_t seed, run_config *config) {
  char number[32], label[SWEEP_LABEL];
  size_t n = s->set.count + 2;
  for (size_t a = 0; a < s->axis_count; a++)
    n += s->axes[a].choices[sweep_index(s, point, a)].count;
  config_override *overrides = calloc(n, sizeof *overrides);
  if (!overrides) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", s->path);
  snprintf(number, sizeof number, "%lld", (long long)s->seeds[seed]);
  sweep_label(s, point, label);
  overrides[0] = (config_override){"training.seed", number, s->path};
  overrides[1] = (config_override){"training.name", label, s->path};
  n = 2;
  const char *base = s->base;
  const sweep_choice *choice = &s->set;
  for (size_t a = 0;; choice = &s->axes[a].choices[sweep_index(s, point, a)], a++) {
    for (size_t i = 0; i < choice->count; i++)
      overrides[n++] = (config_override){choice->settings[i].key, choice->settings[i].value,
                                         choice->settings[i].from};
    if (choice->base) base = choice->base;
    if (a == s->axis_count) break;
  }
  phibal_status status = run_config_load(base, overrides, n, config);
  free(overrides);
  return status;
}

static phibal_status check_all(const sweep *s) {
  char(*folders)[CONFIG_TEXT_MAX] = calloc((size_t)s->points, sizeof *folders);
  run_config *config = malloc(sizeof *config);
  phibal_status status = PHIBAL_OK;
  if (!folders || !config)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", s->path);
  for (int64_t p = 0; p < s->points && !status; p++) {
    status = sweep_config(s, p, 0, config);
    if (status) break;
    sweep_folder(s, p, 0, folders[p]);
    for (int64_t q = 0; q < p && !status; q++)
      if (!strcmp(folders[p], folders[q]))
        status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: two points have the same folder, '%s'",
                                   s->path, folders[p]);
  }
  free(folders);
  free(config);
  return status;
}

/* Of a run that has ended well; null for any other. */
static json_t *result_of(const char *folder) {
  json_t *result = NULL;
  if (!run_folder_result(folder, &result) && !json_is_true(json_object_get(result, "stopped")))
    return result;
  json_decref(result);
  return NULL;
}

/* The folder's own configuration, if it has one, must be the one that the sweep gives it. */
static phibal_status check_folder(const sweep *s, const char *folder, const run_config *config,
                                  bool *is_there) {
  char *path = string_format("%s/config.yaml", folder);
  run_config *then = malloc(sizeof *then);
  phibal_status status = PHIBAL_OK;
  if (!path || !then) status = phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", s->path);
  *is_there = !status && !access(path, F_OK);
  if (*is_there) {
    status = run_config_load(path, NULL, 0, then);
    if (!status && checkpoint_config_continues(then, config))
      status = phibal_status_set(
          PHIBAL_ERROR_ARGUMENT,
          "%s: the run '%s' exists with a different configuration; choose another 'out': %s",
          s->path, folder, phibal_status_message());
  }
  free(path);
  free(then);
  return status;
}

static phibal_status make_run(const run_config *config, const char *folder, bool resume,
                              const sweep_options *o) {
  checkpoint *from = calloc(1, sizeof *from);
  char *skipped_checkpoints = NULL;
  json_t *result = NULL;
  phibal_status status =
      from ? PHIBAL_OK : phibal_status_set(PHIBAL_ERROR_MEMORY, "sweep: out of memory");
  if (!status && resume) status = checkpoint_newest(folder, from, &skipped_checkpoints);
  const train_options options = {.out = folder,
                                 .resume = resume,
                                 .from = !status && resume && from->step > 0 ? from : NULL,
                                 .stop = o->stop,
                                 .observer = {.context = o->context, .step = o->step}};
  if (!status) status = train_run(config, &options, &result);
  json_decref(result);
  free(skipped_checkpoints);
  if (from) checkpoint_close(from);
  free(from);
  return status;
}

static phibal_status one_run(const sweep *s, int64_t point, size_t seed, const sweep_options *o,
                             int64_t *failures) {
  char folder[CONFIG_TEXT_MAX];
  bool is_there = false;
  run_config *config = malloc(sizeof *config);
  if (!config) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", s->path);
  sweep_folder(s, point, seed, folder);
  phibal_status status = sweep_config(s, point, seed, config);
  if (!status) status = check_folder(s, folder, config, &is_there);
  json_t *result = !status && is_there ? result_of(folder) : NULL;
  const bool done = result;
  json_decref(result);
  const int64_t run = (int64_t)seed * s->points + point;
  if (!status && o->begins)
    o->begins(o->context, run, s->points * (int64_t)s->seed_count, folder, done);
  if (!status && !done) {
    if (o->prepare) status = o->prepare(o->context, config);
    if (!status) status = make_run(config, folder, is_there, o);
    if (o->release) o->release(o->context);
  }
  free(config);
  if (status != PHIBAL_ERROR_NONFINITE) return status;
  ++*failures;
  if (o->failed) o->failed(o->context, folder);
  return PHIBAL_OK;
}

bool sweep_run_number(const sweep *s, const sweep_options *options, int64_t r, int64_t *point,
                      size_t *seed) {
  *point = r % s->points;
  *seed = (size_t)(r / s->points);
  if (options->seeds && *seed >= options->seeds) return false;
  return !options->parts || r % options->parts == options->part;
}

phibal_status sweep_run(const sweep *s, const sweep_options *options, int64_t *failures) {
  *failures = 0;
  phibal_status status = check_all(s);
  for (int64_t r = 0; r < s->points * (int64_t)s->seed_count && !status; r++) {
    int64_t point;
    size_t seed;
    if (options->stop && *options->stop) return PHIBAL_OK;
    if (sweep_run_number(s, options, r, &point, &seed))
      status = one_run(s, point, seed, options, failures);
  }
  return status;
}

static const struct {
  const char *name, *path, *heading;
  double scale;
  int digits;
} metrics[] = {{"loss", "validation.loss", "loss", 1, 4},
               {"accuracy", "validation.accuracy", "accuracy, %", 100, 2},
               {"maxvio_loads", "validation.mean.maxvio_loads", "MaxVio loads", 1, 4},
               {"maxvio_mean", "validation.mean.maxvio_mean", "MaxVio mean", 1, 4},
               {"gini_loads", "validation.mean.gini_loads", "Gini loads", 1, 4},
               {"gini_mean", "validation.mean.gini_mean", "Gini mean", 1, 4},
               {"entropy_loads", "validation.mean.entropy_loads", "entropy loads", 1, 4},
               {"training_loss", "training.last_loss", "training loss", 1, 4}};
enum { METRICS = sizeof metrics / sizeof *metrics };

static const json_t *metric_of(const json_t *result, size_t metric) {
  const json_t *value = report_member(result, metrics[metric].path);
  return json_is_number(value) ? value : NULL;
}

/* Mean and sample deviation; the deviations are taken from the mean, so that nothing cancels. */
static json_t *statistics(const json_t *results, size_t metric) {
  size_t i, n = 0;
  double sum = 0, squares = 0;
  json_t *result;
  json_array_foreach(results, i, result) {
    const json_t *value = metric_of(result, metric);
    if (value) sum += json_number_value(value), n++;
  }
  if (!n) return NULL;
  const double mean = sum / (double)n;
  json_array_foreach(results, i, result) {
    const json_t *value = metric_of(result, metric);
    const double away = value ? json_number_value(value) - mean : 0;
    squares += away * away;
  }
  json_t *deviation = n > 1 ? json_real(sqrt(squares / (double)(n - 1))) : json_null();
  return json_pack("{s:f, s:o, s:I}", "mean", mean, "deviation", deviation, "n", (json_int_t)n);
}

static json_t *point_results(const sweep *s, int64_t point) {
  char label[SWEEP_LABEL], folder[CONFIG_TEXT_MAX];
  json_t *results = json_array(), *folders = json_array(), *index = json_array();
  for (size_t a = 0; a < s->axis_count; a++)
    json_array_append_new(index, json_integer((json_int_t)sweep_index(s, point, a)));
  for (size_t i = 0; i < s->seed_count; i++) {
    sweep_folder(s, point, i, folder);
    json_t *result = result_of(folder);
    if (!result) continue;
    json_array_append_new(results, result);
    json_array_append_new(folders, json_text(folder));
  }
  json_t *found = json_object();
  for (size_t i = 0; i < METRICS; i++) {
    json_t *value = statistics(results, i);
    if (value) json_object_set_new(found, metrics[i].name, value);
  }
  sweep_label(s, point, label);
  json_t *json =
      json_pack("{s:s, s:o, s:I, s:o, s:o}", "label", label, "index", index, "runs",
                (json_int_t)json_array_size(results), "folders", folders, "metrics", found);
  json_decref(results);
  return json;
}

phibal_status sweep_results(const sweep *s, json_t **json) {
  json_t *seeds = json_array(), *axes = json_array(), *points = json_array();
  for (size_t i = 0; i < s->seed_count; i++)
    json_array_append_new(seeds, json_integer((json_int_t)s->seeds[i]));
  for (size_t a = 0; a < s->axis_count; a++) {
    json_t *values = json_array();
    for (size_t i = 0; i < s->axes[a].count; i++)
      json_array_append_new(values, json_text(s->axes[a].choices[i].label));
    json_array_append_new(axes, json_pack("{s:s, s:o}", "name", s->axes[a].name, "values", values));
  }
  for (int64_t p = 0; p < s->points; p++) json_array_append_new(points, point_results(s, p));
  *json = json_pack("{s:o, s:o, s:o, s:o}", "sweep", json_text(s->path), "seeds", seeds, "axes",
                    axes, "points", points);
  return *json ? PHIBAL_OK
               : phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for results", s->path);
}

void sweep_print(FILE *to, const json_t *results) {
  enum { SHOWN = 5, LABEL = 36 };
  size_t i;
  json_t *point;
  fprintf(to, "%-*s %4s", LABEL, "", "runs");
  for (size_t m = 0; m < SHOWN; m++) fprintf(to, "  %18s", metrics[m].heading);
  fputc('\n', to);
  json_array_foreach(json_object_get(results, "points"), i, point) {
    fprintf(to, "%-*.*s %4d", LABEL, LABEL, json_string_value(json_object_get(point, "label")),
            (int)json_integer_value(json_object_get(point, "runs")));
    for (size_t m = 0; m < SHOWN; m++) {
      const json_t *value = json_object_get(json_object_get(point, "metrics"), metrics[m].name);
      const json_t *deviation = json_object_get(value, "deviation");
      char cell[48] = "-";
      const double scale = metrics[m].scale;
      if (value)
        snprintf(cell, sizeof cell, "%.*f", metrics[m].digits,
                 scale * json_number_value(json_object_get(value, "mean")));
      if (json_is_number(deviation))
        snprintf(cell + strlen(cell), sizeof cell - strlen(cell), " +- %.*f", metrics[m].digits,
                 scale * json_number_value(deviation));
      fprintf(to, "  %18s", cell);
    }
    fputc('\n', to);
  }
}
