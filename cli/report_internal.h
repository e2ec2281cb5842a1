/* The parts of `phibal report`: the page (report.c), what the loads of a run say (report_judge.c),
   the figures of runs (report_picture.c), heat maps (report_map.c), and sweeps (report_sweep.c). */
#ifndef PHIBAL_CLI_REPORT_INTERNAL_H
#define PHIBAL_CLI_REPORT_INTERNAL_H

#include "phibal/status.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { REPORT_RUNS_MAX = 32 };

/* What became of the experts of a run, from bad to good. Collapsed: in some layer MaxVio is above
   2/3 of the most that it can be, E/k - 1, or half of the experts are idle, or more. An expert is
   idle that gets less than REPORT_IDLE_SHARE of its even share. */
typedef enum report_state {
  REPORT_COLLAPSED,
  REPORT_IDLE,   /* some expert is idle */
  REPORT_UNEVEN, /* some layer's MaxVio is above REPORT_UNEVEN_MAXVIO */
  REPORT_FINE,
  REPORT_UNKNOWN, /* nothing is known of the loads yet, or there are no experts */
  REPORT_STATES
} report_state;
#define REPORT_IDLE_SHARE 0.01
#define REPORT_UNEVEN_MAXVIO 2.0

typedef struct report_loads {
  report_state state;
  bool batch;            /* of the last step's batch: MaxVio alone is known, not each load */
  long long step;        /* of the batch, or of the evaluation; -1: of the one that ends the run */
  double maxvio;         /* of the worst layer; NaN: unknown */
  long long layer;       /* the worst */
  size_t experts;        /* of a layer */
  size_t idle, nothing;  /* of all layers' experts: how many are idle, or get nothing at all */
  size_t all;            /* experts of all layers */
  bool half;             /* of some layer's experts are idle */
  const json_t *layers;  /* as in result.json, with each expert's load; null: not known */
  const json_t *domains; /* likewise, of the same evaluation */
  const json_t *ratios;
} report_loads;

typedef struct report_run {
  const char *folder;
  const char *label;        /* of the result, or the folder: of no other run */
  char method[96];          /* how experts are balanced */
  json_t *result, *metrics; /* result: null where the run has not ended */
  char *config;             /* config.yaml */
  time_t written;           /* when its result, or its last line of metrics, was */
  report_loads loads;
} report_run;

/* The value of "section.key" in a run's config.yaml, "" where it is not there; unquoted. */
void report_config(const report_run *run, const char *key, char *text, size_t size);

/* Fills run->loads. */
void report_judge(report_run *run);
/* "collapsed", and what there is to say of it, in a sentence. */
const char *report_state_name(report_state state);
/* The class of its mark in the page's style. */
const char *report_state_kind(report_state state);
/* The class of the verdict on runs of which some are in these states: "bad", "open", "good", "". */
const char *report_verdict_kind(const int count[REPORT_STATES]);
void report_write_judgement(FILE *to, const report_loads *loads);
/* What the words mean. */
void report_write_terms(FILE *to);

/* What the pictures of a page have in common, so that they can be compared at a glance. */
typedef struct report_scales {
  double steps;                 /* curves go from 0 to here */
  double least_loss, most_loss; /* of training and validation; NaN: none */
  double load;                  /* the largest load, in even shares */
  long long first, last;        /* layers with experts */
} report_scales;
report_scales report_scale(int n, const report_run *runs);

/* Figures of 1 to REPORT_RUNS_MAX runs in one, for each run by itself what its experts get, and
   where the tokens of each domain go. */
void report_write_curves(FILE *to, int n, const report_run *runs, const report_scales *scales);
void report_write_boxes(FILE *to, int n, const report_run *runs, const report_scales *scales);
void report_write_layers(FILE *to, int n, const report_run *runs, const report_scales *scales);
void report_write_domains(FILE *to, int n, const report_run *runs, const report_scales *scales);

/* Whether sweep.json has what its page needs: axes with names and values; points with labels, as
   many as the axes make, and their places on them. */
bool report_is_sweep(const json_t *sweep);
/* The whole of a sweep in `folder`: a table of its points, and figures over its axes. */
void report_write_sweep(FILE *to, const char *folder, const json_t *sweep, bool can_draw);
/* A run without its curves; freed in any case. */
phibal_status report_load_ended(const char *folder, report_run *run);
void report_free_run(report_run *run);

/* A grid of numbers as colours. Loads are in even shares: below 1 towards the colour of idle
   experts, above it, by the logarithm, towards that of the largest. Else low to high. */
typedef struct report_map {
  int rows, columns;
  const double *value; /* by rows; NaN: none */
  char **row, **column;
  const char *x, *y, *unit;
  bool loads;
  double low, high;
} report_map;
void report_write_map(FILE *to, const report_map *map, const char *name, int colour,
                      const char *caption);
/* The style of the maps' colours, for page_begin. */
void report_write_map_style(FILE *to);

/* Draws a script and writes it as a figure, under the name of a run where that is not null; nothing
   where gnuplot refuses. Frees the script. */
void report_write_figure(FILE *to, char *script, const char *name, int colour, const char *caption);
void report_begin_figure(FILE *to, const char *name, int colour);
void report_end_figure(FILE *to, const char *caption);
/* What a script begins with. */
void report_begin_script(FILE *to, const char *x, const char *y);
/* A text as a string of gnuplot's. */
void report_write_string(FILE *to, const char *text);
/* The colour of the i-th line. */
const char *report_colour(int i);
/* The mark of the i-th run beside its name. */
void report_write_dot(FILE *to, int i);

#endif
