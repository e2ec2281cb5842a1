/* The parts of `phibal report`. */
#ifndef PHIBAL_CLI_REPORT_INTERNAL_H
#define PHIBAL_CLI_REPORT_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { REPORT_RUNS_MAX = 32 };

typedef struct report_run {
  const char *folder;
  const char *label;        /* of the result, or the folder: of no other run */
  json_t *result, *metrics; /* result: null where the run has not ended */
  char *config;             /* config.yaml */
} report_run;

/* Figures of 1 to REPORT_RUNS_MAX runs in one; and of one run by itself. */
void report_write_curves(FILE *to, int n, const report_run *runs);
void report_write_loads(FILE *to, const report_run *run);
/* Whether sweep.json has what its page needs: axes with names and values; points with labels, as
   many as the axes make, and their places on them. */
bool report_is_sweep(const json_t *sweep);
/* The whole of a sweep: a table of its points, and figures over its axes. */
void report_write_sweep(FILE *to, const json_t *sweep);

/* Draws a script and writes it as a figure; nothing where gnuplot refuses. Frees the script. */
void report_write_figure(FILE *to, char *script, const char *caption);
/* What a script begins with. */
void report_begin_script(FILE *to, const char *x, const char *y);
/* A text as a string of gnuplot's. */
void report_write_string(FILE *to, const char *text);
/* The colour of the i-th line. */
const char *report_colour(int i);

#endif
