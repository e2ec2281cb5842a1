/* Sweeps: a grid of runs. A sweep file is YAML:

     base: tiny                    # a run file: a built-in name or a path
     out: sweeps/eta               # the folder of the runs
     seeds: [1, 2, 3]              # each point of the grid is run with each
     set: {training.steps: 200}    # over the base, for every run
     cases:                        # points that need several keys; each has a name
       - {name: negentropy}
       - {name: lp 3, balance.potential: lp, balance.parameter: 3}
       - {name: larger, base: 111M} # on another run file
     grid:                         # and every combination of these
       balance.eta: [0.1, 0.65]
       optimizer.peak_lr: [1e-3, 3e-3]

   `base`, `out` and one of `cases` and `grid` have to be there; seeds are [1] otherwise. Keys are
   those of run files. */
#ifndef PHIBAL_MOE_SWEEP_H
#define PHIBAL_MOE_SWEEP_H

#include "moe/train/train.h"

typedef struct sweep_setting {
  char *key, *value, *from; /* from: "FILE:LINE", for messages */
} sweep_setting;

/* One value of a grid's key, or one case. */
typedef struct sweep_choice {
  char *label;
  char *base; /* of a case, in place of the sweep's; null: none */
  sweep_setting *settings;
  size_t count;
} sweep_choice;

typedef struct sweep_axis {
  char *name; /* the key, or "case" */
  sweep_choice *choices;
  size_t count;
} sweep_axis;

typedef struct sweep {
  char *path, *base, *out;
  int64_t *seeds;
  size_t seed_count, axis_count;
  sweep_choice set;
  sweep_axis *axes; /* the last one varies fastest */
  int64_t points;
} sweep;

enum { SWEEP_LABEL = 256, SWEEP_POINTS_MAX = 10000 };

/* PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT: the message names the line and the key. The runs'
   configurations are not made yet. On failure *s is freed. */
phibal_status sweep_read(const char *path, sweep *s);
phibal_status sweep_parse(const char *text, size_t bytes, const char *path, sweep *s);
void sweep_free(sweep *s); /* accepts one that is all zeros */

/* Which choice of an axis a point has, 0 <= point < points. */
size_t sweep_index(const sweep *s, int64_t point, size_t axis);
/* "lp 3, eta=0.1": a case's name, and the last component of each key with its value. */
void sweep_label(const sweep *s, int64_t point, char label[SWEEP_LABEL]);
/* OUT/LABEL,seed=N, with '_' for characters unsuitable in file names. */
void sweep_folder(const sweep *s, int64_t point, size_t seed, char path[CONFIG_TEXT_MAX]);
/* A point's configuration; errors name the line of the sweep file. */
phibal_status sweep_config(const sweep *s, int64_t point, size_t seed, run_config *config);

typedef struct sweep_options {
  const volatile sig_atomic_t *stop; /* as of train_options */
  void *context;                     /* of the functions below, each of which may be null */
  size_t seeds;                      /* only the first so many; 0: all */
  /* Of the runs r = 0, 1, ... in their order only those with r mod parts = part, so that several
     processes share a sweep; parts 0: all. */
  int64_t part, parts;
  /* Before a run: makes ready what its configuration names (a potential from a file); after it:
     takes that away again. */
  phibal_status (*prepare)(void *context, run_config *config);
  void (*release)(void *context);
  /* A run is about to begin or go on, is there already (`done`), or has failed with the message of
     phibal_status_message. */
  void (*begins)(void *context, int64_t run, int64_t runs, const char *folder, bool done);
  void (*failed)(void *context, const char *folder);
  void (*step)(void *context, const train_progress *progress);
} sweep_options;

/* Run r of the order in which runs are made: all points with the first seed, then with the second,
   so that the points of a sweep that is not through have the same seeds. False where the options
   leave it out. */
bool sweep_run_number(const sweep *s, const sweep_options *options, int64_t r, int64_t *point,
                      size_t *seed);
/* Checks all configurations, then makes missing runs and resumes unfinished ones. A run folder with
   a different configuration is PHIBAL_ERROR_ARGUMENT. A run that diverges (PHIBAL_ERROR_NONFINITE)
   is skipped; *failures counts them. Any other error ends the sweep. */
phibal_status sweep_run(const sweep *s, const sweep_options *options, int64_t *failures);

/* The results so far: {"sweep", "seeds", "axes": [{"name", "values"}], "points": [{"label",
   "index":
   [...], "runs", "folders": [...], "metrics": {NAME: {"mean", "deviation", "n"}}}]}. deviation is
   the sample's, over n - 1, null for n = 1; a metric that no run has is left out. */
phibal_status sweep_results(const sweep *s, json_t **json);
/* One line per point, mean and deviation. */
void sweep_print(FILE *to, const json_t *results);

#endif
