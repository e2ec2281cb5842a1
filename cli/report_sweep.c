/* Figures and the table of a sweep. */
#include "formats/file.h"
#include "page.h"
#include "report_internal.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *heading;
  double scale;
  int digits;
} metrics[] = {{"loss", "loss, nats a token", 1, 4},
               {"accuracy", "accuracy, %", 100, 2},
               {"maxvio_loads", "MaxVio of loads", 1, 4},
               {"maxvio_mean", "MaxVio of mean probabilities", 1, 4},
               {"gini_loads", "Gini of loads", 1, 4}};
enum { METRICS = sizeof metrics / sizeof *metrics };

static const json_t *metric(const json_t *point, int m) {
  return json_object_get(json_object_get(point, "metrics"), metrics[m].name);
}

/* How many of a point's runs are in which state. */
typedef struct point_runs {
  int count[REPORT_STATES];
  double maxvio; /* of the worst layer of the worst run; NaN: unknown */
} point_runs;

/* The runs stand where the sweep put them, or, where all has been moved, in the sweep's folder. */
static point_runs judge_point(const char *folder, const json_t *point) {
  point_runs found = {.maxvio = NAN};
  size_t i;
  json_t *name;
  json_array_foreach(json_object_get(point, "folders"), i, name) {
    const char *path = json_string_value(name), *last = path ? strrchr(path, '/') : NULL;
    char *moved = string_format("%s/%s", folder, last ? last + 1 : path ? path : "");
    const bool is_there = path && folder_has(path, "result.json");
    report_run run = {0};
    report_state state = REPORT_UNKNOWN;
    if (moved && path && !report_load_ended(is_there ? path : moved, &run)) {
      state = run.loads.state;
      found.maxvio = fmax(found.maxvio, run.loads.maxvio);
    }
    found.count[state]++;
    report_free_run(&run);
    free(moved);
  }
  return found;
}

static void write_state(FILE *to, const point_runs *p, long long runs) {
  int worst = REPORT_COLLAPSED;
  while (worst < REPORT_UNKNOWN && !p->count[worst]) worst++;
  fprintf(to, "<span class=\"badge %s\">%s</span><small>", report_state_kind((report_state)worst),
          runs ? report_state_name((report_state)worst) : "no runs");
  if (worst < REPORT_FINE) fprintf(to, "%d of ", p->count[worst]);
  fprintf(to, "%lld run%s</small>", runs, runs == 1 ? "" : "s");
}

static void write_table(FILE *to, const json_t *sweep, const point_runs *judged) {
  size_t p;
  json_t *point;
  fputs("<div class=\"scroll\"><table>\n<thead><tr><th>point</th><th class=\"words\">experts</th>"
        "<th>worst MaxVio</th>",
        to);
  for (int m = 0; m < METRICS; m++) fprintf(to, "<th>%s</th>", metrics[m].heading);
  fputs("</tr></thead>\n<tbody>\n", to);
  json_array_foreach(json_object_get(sweep, "points"), p, point) {
    const long long runs = (long long)json_integer_value(json_object_get(point, "runs"));
    fputs("<tr><td>", to);
    page_escape(to, json_string_value(json_object_get(point, "label")));
    fputs("</td><td class=\"words\">", to);
    write_state(to, &judged[p], runs);
    if (isnan(judged[p].maxvio))
      fputs("</td><td>–</td>", to);
    else
      fprintf(to, "</td><td>%.2f</td>", judged[p].maxvio);
    for (int m = 0; m < METRICS; m++) {
      const json_t *value = metric(point, m), *deviation = json_object_get(value, "deviation");
      fputs("<td>", to);
      if (value)
        fprintf(to, "%.*f", metrics[m].digits,
                metrics[m].scale * json_number_value(json_object_get(value, "mean")));
      if (json_is_number(deviation))
        fprintf(to, " ± %.*f", metrics[m].digits, metrics[m].scale * json_number_value(deviation));
      fputs(value ? "</td>" : "–</td>", to);
    }
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n<p class=\"notes\">Mean ± sample deviation over the seeds. "
        "MaxVio and Gini are means of a run's layers; <b>worst MaxVio</b> is that of the worst "
        "layer of the worst run. –: not known.</p>\n",
        to);
  report_write_terms(to);
}

/* The least loss, and whether there are points that it should not be read without. */
static void write_verdict(FILE *to, const json_t *sweep, const point_runs *judged) {
  static const char *const words[] = {"runs that have collapsed", "runs with idle experts",
                                      "runs with uneven loads"};
  const json_t *best = NULL;
  double least = INFINITY;
  size_t p, points = json_array_size(json_object_get(sweep, "points")), best_at = 0;
  int count[REPORT_STATES] = {0};
  json_t *point;
  json_array_foreach(json_object_get(sweep, "points"), p, point) {
    const json_t *loss = metric(point, 0);
    for (int s = 0; s < REPORT_STATES; s++) count[s] += judged[p].count[s] > 0;
    if (!loss || !(json_number_value(json_object_get(loss, "mean")) < least)) continue;
    least = json_number_value(json_object_get(loss, "mean"));
    best = json_object_get(point, "label");
    best_at = p;
  }
  fprintf(to, "<div class=\"verdict %s\">\n", report_verdict_kind(count));
  if (best) {
    fputs("<p><b>The least loss, ", to);
    fprintf(to, "%.4f, is of ", least);
    page_escape(to, json_string_value(best));
    fputs(".</b>", to);
    for (int s = 0; s < REPORT_FINE; s++)
      if (judged[best_at].count[s]) {
        fprintf(to, " It has %s.", words[s]);
        break;
      }
    fputs("</p>\n", to);
  } else {
    fputs("<p><b>No run of the sweep has ended.</b></p>\n", to);
  }
  for (int s = 0; s < REPORT_FINE; s++) {
    if (!count[s]) continue;
    fprintf(to, "<p>%d of %zu points %s %s: ", count[s], points, count[s] == 1 ? "has" : "have",
            words[s]);
    int any = 0;
    json_array_foreach(json_object_get(sweep, "points"), p, point) {
      if (!judged[p].count[s]) continue;
      if (any++) fputs("; ", to);
      page_escape(to, json_string_value(json_object_get(point, "label")));
    }
    fputs(".</p>\n", to);
  }
  if (best && !count[REPORT_COLLAPSED] && !count[REPORT_IDLE] && !count[REPORT_UNEVEN])
    fputs(count[REPORT_FINE] ? "<p>No run has collapsed, or has idle experts or uneven loads.</p>\n"
                             : "<p>The loads of the runs' experts are not known.</p>\n",
          to);
  fputs("</div>\n", to);
}

/* What all pictures of one metric span: means and deviations of every point. */
static bool find_range(const json_t *sweep, int m, double *low, double *high) {
  size_t p;
  json_t *point;
  *low = INFINITY;
  *high = -INFINITY;
  json_array_foreach(json_object_get(sweep, "points"), p, point) {
    const json_t *value = metric(point, m);
    if (!value) continue;
    const double mean = metrics[m].scale * json_number_value(json_object_get(value, "mean"));
    const double away = metrics[m].scale * json_number_value(json_object_get(value, "deviation"));
    *low = fmin(*low, mean - away);
    *high = fmax(*high, mean + away);
  }
  if (!(*low <= *high)) return false;
  if (*high - *low < 1e-9 * fmax(1, fabs(*high))) *low -= 0.5, *high += 0.5;
  return true;
}

/* The number after the '=' of a grid's value; false for what is none, as a case's name. */
static bool number_of(const json_t *axis, size_t i, double *number) {
  const char *text = json_string_value(json_array_get(json_object_get(axis, "values"), i));
  const char *equals = text ? strchr(text, '=') : NULL;
  char *end;
  if (!equals) return false;
  *number = strtod(equals + 1, &end);
  return end != equals + 1 && !*end;
}

static bool is_numeric(const json_t *axis) {
  double number;
  const size_t n = json_array_size(json_object_get(axis, "values"));
  for (size_t i = 0; i < n; i++)
    if (!number_of(axis, i, &number)) return false;
  return n > 1;
}

/* A point's label without its last part, which is on the axis. */
static void write_group(FILE *to, const char *label, bool alone) {
  char text[256];
  const char *comma = strrchr(label, ',');
  snprintf(text, sizeof text, "%.*s", alone || !comma ? 0 : (int)(comma - label), label);
  report_write_string(to, text);
}

/* Mean and deviation over the last axis; a line for each combination of the others. */
static void write_lines(FILE *to, const json_t *sweep, int m) {
  const json_t *axes = json_object_get(sweep, "axes"), *points = json_object_get(sweep, "points");
  const size_t count = json_array_size(axes);
  const json_t *axis = json_array_get(axes, count - 1);
  const size_t steps = json_array_size(json_object_get(axis, "values"));
  const bool numeric = is_numeric(axis);
  char *script = NULL;
  size_t size = 0;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  report_begin_script(s, "", metrics[m].heading);
  fputs("set xlabel ", s);
  report_write_string(s, json_string_value(json_object_get(axis, "name")));
  fputs(" noenhanced\n", s);
  double low, high;
  if (find_range(sweep, m, &low, &high))
    fprintf(s, "set yrange [%.9g:%.9g]\n", low - 0.03 * (high - low), high + 0.03 * (high - low));
  double least = 0, most = 0;
  for (size_t i = 0; i < steps && numeric; i++) {
    double x = 0;
    number_of(axis, i, &x);
    if (!i || x < least) least = x;
    if (!i || x > most) most = x;
  }
  if (least > 0 && most >= 10 * least) fputs("set logscale x\n", s);
  if (!numeric) {
    fputs("set xtics rotate by 35 right noenhanced (", s);
    for (size_t i = 0; i < steps; i++) {
      if (i) fputs(", ", s);
      report_write_string(s, json_string_value(json_array_get(json_object_get(axis, "values"), i)));
      fprintf(s, " %zu", i);
    }
    fputs(")\nset offsets 0.5, 0.5, 0, 0\n", s);
  }
  const size_t groups = json_array_size(points) / steps;
  size_t drawn = 0;
  for (size_t g = 0; g < groups; g++) {
    fprintf(s, "$d%zu << EOD\n", g);
    for (size_t i = 0; i < steps; i++) {
      const json_t *value = metric(json_array_get(points, g * steps + i), m);
      double x = (double)i;
      if (!value) continue;
      if (numeric) number_of(axis, i, &x);
      fprintf(s, "%.9g %.9g %.9g\n", x,
              metrics[m].scale * json_number_value(json_object_get(value, "mean")),
              metrics[m].scale * json_number_value(json_object_get(value, "deviation")));
      drawn++;
    }
    fputs("EOD\n", s);
  }
  for (size_t g = 0; g < groups; g++) {
    fprintf(s, "%s$d%zu using 1:2:3 with %s pt 7 ps 0.6 lw 1.5 lc rgb '%s' title ",
            g ? ", " : "plot ", g, numeric ? "yerrorlines" : "yerrorbars", report_colour((int)g));
    write_group(s, json_string_value(json_object_get(json_array_get(points, g * steps), "label")),
                count == 1);
    fputs(" noenhanced", s);
  }
  fputc('\n', s);
  fclose(s);
  char caption[160];
  snprintf(caption, sizeof caption, "%s: mean and sample deviation over the seeds.",
           metrics[m].heading);
  if (drawn)
    report_write_figure(to, script, NULL, 0, caption);
  else
    free(script);
}

/* Two grids of numbers: each pair a square. */
static void write_heat(FILE *to, const json_t *sweep, int m) {
  enum { ACROSS = 1, DOWN = 0 };
  const json_t *axes = json_object_get(sweep, "axes");
  char **name[2] = {0};
  size_t p, count[2], drawn = 0;
  json_t *point;
  bool good = true;
  double low, high;
  for (size_t a = 0; a < 2; a++) {
    const json_t *values = json_object_get(json_array_get(axes, a), "values");
    count[a] = json_array_size(values);
    name[a] = calloc(count[a] + 1, sizeof *name[a]);
    for (size_t i = 0; good && name[a] && i < count[a]; i++)
      good = (name[a][i] = strdup(strchr(json_string_value(json_array_get(values, i)), '=') + 1));
  }
  double *value = calloc(count[0] * count[1] + 1, sizeof *value);
  good = good && value && name[0] && name[1] && find_range(sweep, m, &low, &high);
  for (size_t i = 0; good && i < count[0] * count[1]; i++) value[i] = NAN;
  json_array_foreach(json_object_get(sweep, "points"), p, point) {
    const json_t *index = json_object_get(point, "index"), *of = metric(point, m);
    const json_int_t row = json_integer_value(json_array_get(index, DOWN));
    const json_int_t column = json_integer_value(json_array_get(index, ACROSS));
    if (!good || !of || row < 0 || column < 0 || row >= (json_int_t)count[DOWN] ||
        column >= (json_int_t)count[ACROSS])
      continue;
    value[(size_t)row * count[ACROSS] + (size_t)column] =
        metrics[m].scale * json_number_value(json_object_get(of, "mean"));
    drawn++;
  }
  char caption[160];
  snprintf(caption, sizeof caption, "%s: mean over the seeds.", metrics[m].heading);
  if (drawn)
    report_write_map(
        to,
        &(report_map){.rows = (int)count[DOWN],
                      .columns = (int)count[ACROSS],
                      .value = value,
                      .row = name[DOWN],
                      .column = name[ACROSS],
                      .x = json_string_value(json_object_get(json_array_get(axes, ACROSS), "name")),
                      .y = json_string_value(json_object_get(json_array_get(axes, DOWN), "name")),
                      .unit = metrics[m].heading,
                      .low = low,
                      .high = high},
        NULL, 0, caption);
  for (size_t a = 0; a < 2; a++) {
    for (size_t i = 0; name[a] && i < count[a]; i++) free(name[a][i]);
    free(name[a]);
  }
  free(value);
}

bool report_is_sweep(const json_t *sweep) {
  const json_t *axes = json_object_get(sweep, "axes"), *points = json_object_get(sweep, "points");
  size_t a, v, p, count = 1;
  json_t *axis, *value, *point;
  json_array_foreach(axes, a, axis) {
    const json_t *values = json_object_get(axis, "values");
    if (!json_is_string(json_object_get(axis, "name")) || !json_array_size(values)) return false;
    json_array_foreach(values, v, value) if (!json_is_string(value)) return false;
    if (count > json_array_size(points)) return false;
    count *= json_array_size(values);
  }
  json_array_foreach(points, p, point) {
    if (!json_is_string(json_object_get(point, "label")) ||
        json_array_size(json_object_get(point, "index")) != json_array_size(axes))
      return false;
  }
  return json_array_size(axes) && json_array_size(points) == count;
}

void report_write_sweep(FILE *to, const char *folder, const json_t *sweep, bool can_draw) {
  const json_t *axes = json_object_get(sweep, "axes"), *points = json_object_get(sweep, "points");
  point_runs *judged = calloc(json_array_size(points) + 1, sizeof *judged);
  size_t p, seeds = json_array_size(json_object_get(sweep, "seeds"));
  json_t *point;
  if (!judged) return;
  json_array_foreach(points, p, point) judged[p] = judge_point(folder, point);
  write_verdict(to, sweep, judged);
  fprintf(to, "<h2>Points</h2>\n<p class=\"soft\">%zu points, %zu seed%s each.</p>\n",
          json_array_size(points), seeds, seeds == 1 ? "" : "s");
  write_table(to, sweep, judged);
  const bool maps = json_array_size(axes) == 2 && is_numeric(json_array_get(axes, 0)) &&
                    is_numeric(json_array_get(axes, 1));
  if (can_draw) {
    fputs("<h2>Along the last axis</h2>\n<p class=\"soft\">Mean and sample deviation over the "
          "seeds.</p>\n<div class=\"pictures\">\n",
          to);
    for (int m = 0; m < METRICS; m++) write_lines(to, sweep, m);
    fputs("</div>\n", to);
  }
  if (maps) {
    fputs("<h2>Over both axes</h2>\n<p class=\"soft\">Colours span what the axes above span.</p>\n"
          "<div class=\"pictures\">\n",
          to);
    for (int m = 0; m < METRICS; m++) write_heat(to, sweep, m);
    fputs("</div>\n", to);
  }
  free(judged);
}
