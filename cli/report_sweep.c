/* Figures and the table of a sweep. */
#include "page.h"
#include "report_internal.h"
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

static void write_table(FILE *to, const json_t *sweep) {
  size_t p;
  json_t *point;
  fputs("<div class=\"scroll\"><table>\n<tr><th>point</th><th>runs</th>", to);
  for (int m = 0; m < METRICS; m++) fprintf(to, "<th>%s</th>", metrics[m].heading);
  fputs("</tr>\n", to);
  json_array_foreach(json_object_get(sweep, "points"), p, point) {
    fputs("<tr><td>", to);
    page_escape(to, json_string_value(json_object_get(point, "label")));
    fprintf(to, "</td><td>%lld</td>",
            (long long)json_integer_value(json_object_get(point, "runs")));
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
  fputs("</table></div>\n", to);
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
    report_write_figure(to, script, caption);
  else
    free(script);
}

/* Two grids of numbers: each pair a square. */
static void write_heat(FILE *to, const json_t *sweep, int m) {
  const json_t *axes = json_object_get(sweep, "axes");
  size_t p, drawn = 0, size = 0;
  json_t *point;
  char *script = NULL;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  report_begin_script(s, "", "");
  for (size_t a = 0; a < 2; a++) {
    const json_t *axis = json_array_get(axes, a), *values = json_object_get(axis, "values");
    fprintf(s, "set %clabel ", a ? 'x' : 'y');
    report_write_string(s, json_string_value(json_object_get(axis, "name")));
    fprintf(s, " noenhanced\nset %ctics (", a ? 'x' : 'y');
    for (size_t i = 0; i < json_array_size(values); i++) {
      const char *text = json_string_value(json_array_get(values, i));
      if (i) fputs(", ", s);
      report_write_string(s, strchr(text, '=') + 1);
      fprintf(s, " %zu", i);
    }
    fprintf(s, ")\nset %crange [-0.5:%g]\n", a ? 'x' : 'y', (double)json_array_size(values) - 0.5);
  }
  /* What the colours stand for is in the caption: gnuplot leaves no room for a label beside them.
   */
  fputs("unset grid\n$d << EOD\n", s);
  json_array_foreach(json_object_get(sweep, "points"), p, point) {
    const json_t *index = json_object_get(point, "index"), *value = metric(point, m);
    if (!value) continue;
    fprintf(s, "%lld %lld %.9g\n", (long long)json_integer_value(json_array_get(index, 1)),
            (long long)json_integer_value(json_array_get(index, 0)),
            metrics[m].scale * json_number_value(json_object_get(value, "mean")));
    drawn++;
  }
  fputs("EOD\nplot $d using 1:2:(0.5):(0.5):3 with boxxyerror fs solid fc palette notitle\n", s);
  fclose(s);
  char caption[160];
  snprintf(caption, sizeof caption, "%s: mean over the seeds.", metrics[m].heading);
  if (drawn)
    report_write_figure(to, script, caption);
  else
    free(script);
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

void report_write_sweep(FILE *to, const json_t *sweep) {
  const json_t *axes = json_object_get(sweep, "axes");
  fprintf(to, "<h2>Points</h2>\n<p class=\"soft\">Mean ± sample deviation over %zu seeds.</p>\n",
          json_array_size(json_object_get(sweep, "seeds")));
  write_table(to, sweep);
  fputs("<h2>Pictures</h2>\n<div class=\"pictures\">\n", to);
  for (int m = 0; m < METRICS; m++) write_lines(to, sweep, m);
  if (json_array_size(axes) == 2 && is_numeric(json_array_get(axes, 0)) &&
      is_numeric(json_array_get(axes, 1)))
    for (int m = 0; m < METRICS; m++) write_heat(to, sweep, m);
  fputs("</div>\n", to);
}
