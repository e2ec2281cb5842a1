/* The folder a run writes: config.yaml, metrics.jsonl, result.json, checkpoints (checkpoint.h), a
   copy of the potential if it is from a file, potential.phi, and TensorBoard events if configured.
 */
#ifndef PHIBAL_MOE_RUN_FOLDER_H
#define PHIBAL_MOE_RUN_FOLDER_H

#include "moe/config/config.h"
#include <jansson.h>

#define RUN_FOLDER_POTENTIAL "potential.phi"

typedef struct run_folder {
  char path[CONFIG_TEXT_MAX];
  FILE *metrics; /* metrics.jsonl */
  FILE *events;  /* tensorboard.h; null: none */
  int lock;      /* the folder itself, locked against another run in it; 0: not open */
} run_folder;

/* Creates the folder (and those above it), writes config.yaml and opens metrics.jsonl.
   PHIBAL_ERROR_IO if it cannot be written, PHIBAL_ERROR_ARGUMENT if another process trains in it,
   or if it already holds a run and `overwrite` is false; with `overwrite` that run's files and
   checkpoints are removed first. */
phibal_status run_folder_create(const char *path, bool overwrite, const run_config *config,
                                run_folder *folder);
/* Opens a run's folder to go on after `step` steps: metrics.jsonl keeps the lines up to that step
   and loses later ones, one that was cut, and the evaluation after the last step; config.yaml
   becomes `config`'s, and result.json is removed. Refuses where another process trains in it. */
phibal_status run_folder_continue(const char *path, int64_t step, const run_config *config,
                                  run_folder *folder);
/* Appends one line to metrics.jsonl, and its numbers to the events, and flushes them. Takes the
   reference. */
phibal_status run_folder_log(run_folder *folder, json_t *line);
/* Writes result.json: whole or not at all. */
phibal_status run_folder_finish(run_folder *folder, const json_t *result);
void run_folder_close(run_folder *folder);

/* Reads the result.json of a run folder. */
phibal_status run_folder_result(const char *path, json_t **result);
/* Reads metrics.jsonl as an array; a last line that was cut, as a killed run leaves it, is left
   out. */
phibal_status run_folder_metrics(const char *path, json_t **lines);

#endif
