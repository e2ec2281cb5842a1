#include "run_folder.h"
#include "tensorboard.h"
#include "formats/file.h"
#include "formats/text_limits.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PATH_BYTES = CONFIG_TEXT_MAX + 32 };

static void file_path(const char *folder, const char *name, char *path) {
  snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static phibal_status io_error(const char *what, const char *path) {
  return phibal_status_set(PHIBAL_ERROR_IO, "cannot %s '%s': %s", what, path, strerror(errno));
}

static const char *const run_files[] = {"result.json", "metrics.jsonl", "config.yaml",
                                        RUN_FOLDER_POTENTIAL, TENSORBOARD_FILE};

static phibal_status clear_old_run(const char *folder, bool overwrite) {
  char path[PATH_BYTES];
  for (size_t i = 0; i < sizeof run_files / sizeof *run_files; i++) {
    file_path(folder, run_files[i], path);
    if (access(path, F_OK)) continue;
    if (!overwrite)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%s' already holds a run (%s); continue it with --resume, choose "
                               "another --out, or use --overwrite",
                               folder, run_files[i]);
    if (unlink(path)) return io_error("remove", path);
  }
  file_path(folder, "checkpoints", path);
  if (overwrite) folder_remove(path);
  return PHIBAL_OK;
}

/* Where it is not there: a run that is resumed has read it from there. */
static phibal_status keep_potential(const char *folder, const run_config *config) {
  char path[PATH_BYTES];
  const model_potential *external = config->balance.external;
  file_path(folder, RUN_FOLDER_POTENTIAL, path);
  if (!external || !external->source || !access(path, F_OK)) return PHIBAL_OK;
  return file_write(path, external->source, strlen(external->source));
}

static phibal_status write_config(const char *folder, const run_config *config) {
  char path[PATH_BYTES];
  file_path(folder, "config.yaml", path);
  return run_config_save(config, path);
}

static phibal_status check_path(const char *path) {
  if (*path && strlen(path) < CONFIG_TEXT_MAX) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "run folder: a path of 1 to %d bytes is needed",
                           CONFIG_TEXT_MAX - 1);
}

static phibal_status open_folder(const char *path, run_folder *folder) {
  memcpy(folder->path, path, strlen(path) + 1);
  folder->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder->lock < 0) {
    folder->lock = 0;
    return io_error("open the run folder", path);
  }
  /* Some file systems lock no folders; then nothing is lost but the warning. */
  if (flock(folder->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': another process is training in it",
                             path);
  return PHIBAL_OK;
}

static phibal_status open_metrics(run_folder *folder, const char *mode) {
  char path[PATH_BYTES];
  file_path(folder->path, "metrics.jsonl", path);
  folder->metrics = fopen(path, mode);
  return folder->metrics ? PHIBAL_OK : io_error("write", path);
}

/* What metrics.jsonl already has, and from then on what is logged. */
static phibal_status open_events(run_folder *folder, const run_config *config) {
  json_t *lines = NULL;
  if (!config->training.tensorboard) return PHIBAL_OK;
  phibal_status status = run_folder_metrics(folder->path, &lines);
  if (!status) status = tensorboard_create(folder->path, lines, &folder->events);
  json_decref(lines);
  return status;
}

phibal_status run_folder_create(const char *path, bool overwrite, const run_config *config,
                                run_folder *folder) {
  *folder = (run_folder){0};
  phibal_status status = check_path(path);
  if (!status) status = folder_create(path);
  if (!status) status = open_folder(path, folder);
  if (!status) status = clear_old_run(path, overwrite);
  if (!status) status = keep_potential(path, config);
  if (!status) status = write_config(path, config);
  if (!status) status = open_metrics(folder, "we");
  if (!status) status = open_events(folder, config);
  return status;
}

/* Whether a line is what a run of `steps` steps has written when `step` of them are done, before
   the evaluation that follows the last. */
static bool line_stays(const char *line, size_t bytes, int64_t step, int64_t steps) {
  json_t *object = json_loadb(line, bytes, 0, NULL);
  const json_t *at = json_object_get(object, "step");
  const char *type = json_string_value(json_object_get(object, "type"));
  bool stays = json_is_integer(at) && json_integer_value(at) <= step && type &&
               (strcmp(type, "evaluation") || json_integer_value(at) < steps);
  json_decref(object);
  return stays;
}

static phibal_status truncate_metrics(const char *folder, int64_t step, int64_t steps) {
  char path[PATH_BYTES];
  text_buffer text = {0};
  file_path(folder, "metrics.jsonl", path);
  if (access(path, F_OK)) return PHIBAL_OK; /* killed before it was made, or moved away */
  phibal_status status = file_read_all(path, &text);
  size_t kept = 0;
  while (!status && kept < text.count) {
    const char *line = text.bytes + kept, *end = memchr(line, '\n', text.count - kept);
    if (!end || !line_stays(line, (size_t)(end - line), step, steps)) break;
    kept = (size_t)(end + 1 - text.bytes);
  }
  if (!status && kept < text.count && truncate(path, (off_t)kept)) status = io_error("cut", path);
  text_buffer_free(&text);
  return status;
}

phibal_status run_folder_continue(const char *path, int64_t step, const run_config *config,
                                  run_folder *folder) {
  char result[PATH_BYTES];
  *folder = (run_folder){0};
  phibal_status status = check_path(path);
  if (!status) status = open_folder(path, folder);
  if (status) return status;
  file_path(path, run_files[0], result);
  if (unlink(result) && errno != ENOENT) return io_error("remove", result);
  status = keep_potential(path, config);
  if (!status) status = write_config(path, config);
  if (!status) status = truncate_metrics(path, step, config->training.steps);
  if (!status) status = open_metrics(folder, "ae");
  if (!status) status = open_events(folder, config);
  return status;
}

phibal_status run_folder_log(run_folder *folder, json_t *line) {
  if (!line) return phibal_status_set(PHIBAL_ERROR_MEMORY, "metrics.jsonl: out of memory");
  /* Seventeen digits keep a binary64; JSON has no infinities, and none are logged. */
  int failed = json_dumpf(line, folder->metrics, JSON_COMPACT | JSON_REAL_PRECISION(17));
  phibal_status status = PHIBAL_OK;
  if (failed || fputc('\n', folder->metrics) == EOF || fflush(folder->metrics))
    status = io_error("write metrics.jsonl in", folder->path);
  if (!status && folder->events) status = tensorboard_write(folder->events, line);
  json_decref(line);
  return status;
}

phibal_status run_folder_finish(run_folder *folder, const json_t *result) {
  char path[PATH_BYTES];
  file_path(folder->path, "result.json", path);
  char *text = json_dumps(result, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  char *line = text ? string_format("%s\n", text) : NULL;
  phibal_status status = line ? file_write(path, line, strlen(line))
                              : phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  free(line);
  free(text);
  return status;
}

void run_folder_close(run_folder *folder) {
  if (folder->metrics) fclose(folder->metrics);
  if (folder->events) fclose(folder->events);
  if (folder->lock) close(folder->lock);
  *folder = (run_folder){0};
}

phibal_status run_folder_result(const char *path, json_t **result) {
  char file[PATH_BYTES];
  phibal_status status = check_path(path);
  if (status) return status;
  file_path(path, "result.json", file);
  return file_read_json(file, TEXT_RESULT, 0, result);
}

phibal_status run_folder_metrics(const char *path, json_t **lines) {
  char file[PATH_BYTES];
  text_buffer text = {0};
  phibal_status status = check_path(path);
  if (status) return status;
  file_path(path, "metrics.jsonl", file);
  status = file_read_all(file, &text);
  json_t *all = json_array();
  size_t at = 0;
  for (int line = 1; !status && at < text.count; line++) {
    const char *start = text.bytes + at, *end = memchr(start, '\n', text.count - at);
    if (!end) break;
    json_error_t error;
    json_t *object = NULL;
    status = text_line_within(file, line, (size_t)(end - start));
    if (!status) object = json_loadb(start, (size_t)(end - start), 0, &error);
    if (status) break;
    if (!object)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s", file, line, error.text);
    else
      json_array_append_new(all, object);
    at = (size_t)(end + 1 - text.bytes);
  }
  text_buffer_free(&text);
  if (status)
    json_decref(all);
  else
    *lines = all;
  return status;
}
