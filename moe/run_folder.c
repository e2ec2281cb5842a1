#include "run_folder.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = CONFIG_TEXT_MAX + 32 };

static void file_path(const char *folder, const char *name, char *path) {
  snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static phibal_status io_error(const char *what, const char *path) {
  return phibal_status_set(PHIBAL_ERROR_IO, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* Like mkdir -p. */
static phibal_status make_folders(const char *path) {
  char part[CONFIG_TEXT_MAX];
  size_t n = strlen(path);
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && path[i]) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) && errno != EEXIST) return io_error("create the run folder", part);
  }
  struct stat info;
  if (stat(path, &info)) return io_error("read the run folder", path);
  if (!S_ISDIR(info.st_mode)) {
    errno = ENOTDIR;
    return io_error("use as a run folder", path);
  }
  return PHIBAL_OK;
}

static const char *const run_files[] = {"result.json", "metrics.jsonl", "config.yaml"};

static phibal_status clear_old_run(const char *folder, bool overwrite) {
  for (size_t i = 0; i < sizeof run_files / sizeof *run_files; i++) {
    char path[PATH_BYTES];
    file_path(folder, run_files[i], path);
    if (access(path, F_OK)) continue;
    if (!overwrite)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%s' holds a run already (%s); choose another --out or say "
                               "--overwrite",
                               folder, run_files[i]);
    if (unlink(path)) return io_error("remove", path);
  }
  return PHIBAL_OK;
}

static phibal_status write_config(const char *folder, const run_config *config) {
  char path[PATH_BYTES];
  file_path(folder, "config.yaml", path);
  FILE *file = fopen(path, "w");
  if (!file) return io_error("write", path);
  run_config_write(config, file);
  int failed = ferror(file);
  if (fclose(file) || failed) return io_error("write", path);
  return PHIBAL_OK;
}

phibal_status run_folder_create(const char *path, bool overwrite, const run_config *config,
                                run_folder *folder) {
  *folder = (run_folder){0};
  if (!*path || strlen(path) >= sizeof folder->path)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "run folder: a path of 1 to %zu bytes is needed",
                             sizeof folder->path - 1);
  memcpy(folder->path, path, strlen(path) + 1);
  phibal_status status = make_folders(path);
  if (!status) status = clear_old_run(path, overwrite);
  if (!status) status = write_config(path, config);
  if (status) return status;
  char metrics[PATH_BYTES];
  file_path(path, "metrics.jsonl", metrics);
  folder->metrics = fopen(metrics, "w");
  return folder->metrics ? PHIBAL_OK : io_error("write", metrics);
}

phibal_status run_folder_log(run_folder *folder, json_t *line) {
  if (!line) return phibal_status_set(PHIBAL_ERROR_MEMORY, "metrics.jsonl: out of memory");
  /* Seventeen digits keep a binary64; JSON has no infinities, and none are logged. */
  int failed = json_dumpf(line, folder->metrics, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(line);
  if (failed || fputc('\n', folder->metrics) == EOF || fflush(folder->metrics))
    return io_error("write metrics.jsonl in", folder->path);
  return PHIBAL_OK;
}

phibal_status run_folder_finish(run_folder *folder, const json_t *result) {
  char path[PATH_BYTES], partial[PATH_BYTES];
  file_path(folder->path, "result.json", path);
  file_path(folder->path, "result.json.partial", partial);
  FILE *file = fopen(partial, "w");
  if (!file) return io_error("write", partial);
  int failed = json_dumpf(result, file, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) ||
               fputc('\n', file) == EOF;
  failed |= fclose(file) != 0;
  if (!failed && !rename(partial, path)) return PHIBAL_OK;
  phibal_status status = io_error("write", path);
  unlink(partial);
  return status;
}

void run_folder_close(run_folder *folder) {
  if (folder->metrics) fclose(folder->metrics);
  folder->metrics = NULL;
}

phibal_status run_folder_result(const char *path, json_t **result) {
  char file[PATH_BYTES];
  if (strlen(path) >= CONFIG_TEXT_MAX)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "run folder: the path is too long");
  file_path(path, "result.json", file);
  if (access(file, R_OK)) return io_error("read", file);
  json_error_t error;
  *result = json_load_file(file, 0, &error);
  if (!*result)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s", file, error.line, error.text);
  return PHIBAL_OK;
}
