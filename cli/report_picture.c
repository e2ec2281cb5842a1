/* Figures of runs: curves over the steps, and where the tokens went in the end. */
#include "formats/file.h"
#include "gnuplot.h"
#include "page.h"
#include "moe/report/report.h"
#include "report_internal.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Curves are averaged down to this many points. */
enum { POINTS = 400 };

const char *report_colour(int i) {
  static const char *const colours[] = {"#2f6fde", "#d9480f", "#2b8a3e", "#a63fc4",
                                        "#c98a00", "#0c8599", "#d6336c", "#7a63e8"};
  return colours[i % (int)(sizeof colours / sizeof *colours)];
}

void report_write_dot(FILE *to, int i) {
  fprintf(to, "<i class=\"dot\" style=\"background:%s\"></i>", report_colour(i));
}

void report_begin_figure(FILE *to, const char *name, int colour) {
  fputs("<figure>", to);
  if (!name) return;
  fputs("<p class=\"run\">", to);
  report_write_dot(to, colour);
  page_escape(to, name);
  fputs("</p>", to);
}

void report_end_figure(FILE *to, const char *caption) {
  fputs("<figcaption>", to);
  page_escape(to, caption);
  fputs("</figcaption></figure>\n", to);
}

void report_write_figure(FILE *to, char *script, const char *name, int colour,
                         const char *caption) {
  char *svg = script ? gnuplot_draw(script) : NULL;
  if (svg) {
    report_begin_figure(to, name, colour);
    fputs(svg, to);
    report_end_figure(to, caption);
  }
  free(svg);
  free(script);
}

void report_begin_script(FILE *to, const char *x, const char *y) {
  fputs("set terminal svg size 480,320 dynamic font 'sans-serif,12'\nset encoding utf8\n"
        "set grid lc rgb 'gray'\nset key above\nset border 3\nset "
        "xtics nomirror\n"
        "set ytics nomirror\n",
        to);
  fprintf(to, "set xlabel '%s'\nset ylabel '%s'\n", x, y);
}

void report_write_string(FILE *to, const char *text) {
  putc('\'', to);
  /* No enhanced text: a label's underscores and braces are themselves. */
  for (; *text; text++)
    if (*text == '\'')
      fputs("''", to);
    else if ((unsigned char)*text >= ' ')
      putc(*text, to);
  putc('\'', to);
}

/* The mean over a line's layers, or the line's own number; false if it has none. */
static bool value_of(const json_t *line, const char *key, bool layers, double *value) {
  if (!layers) {
    const json_t *number = report_member(line, key);
    *value = json_number_value(number);
    return json_is_number(number);
  }
  size_t i;
  json_t *layer;
  const json_t *all = json_object_get(line, "layers");
  double sum = 0;
  json_array_foreach(all, i, layer) sum += json_number_value(json_object_get(layer, key));
  *value = sum / (double)json_array_size(all);
  return json_array_size(all) > 0;
}

typedef struct curve {
  const char *type, *key; /* of the lines; what is drawn */
  bool layers;            /* the mean over the layers */
  const char *axis, *caption;
} curve;

static const curve curves[] = {
    {"step", "loss", false, "nats a token", "Training loss."},
    {"evaluation", "loss", false, "nats a token", "Loss on the validation text."},
    {"evaluation", "accuracy", false, "accuracy", "Accuracy on the validation text."},
    {"step", "maxvio_loads", true, "MaxVio",
     "MaxVio of the selection counts of each step's batch, the mean of the layers; 0 is even."},
    {"step", "maxvio_mean", true, "MaxVio of means",
     "MaxVio of the mean probabilities of each step's batch, the mean of the layers."},
    {"step", "gini_loads", true, "Gini",
     "Gini's coefficient of the selection counts, the mean of the layers; 0 is even."},
    {"step", "gradient_norm", false, "norm", "Norm of the gradient, before clipping."}};
enum { CURVES = sizeof curves / sizeof *curves, FIRST_LOSS = 0, LOSSES = 2 };

/* The points of one curve of a run, as text for gnuplot, and how many there are. */
typedef struct points {
  char *text;
  int count;
} points;

static points find_points(const report_run *run, const curve *c, report_scales *scales) {
  points found = {0};
  size_t i, size = 0;
  json_t *line;
  int lines = 0, in_bin = 0;
  double value, steps = 0, sum = 0;
  FILE *to = open_memstream(&found.text, &size);
  if (!to) return found;
  json_array_foreach(run->metrics, i, line) {
    const char *type = json_string_value(json_object_get(line, "type"));
    lines += type && !strcmp(type, c->type) && value_of(line, c->key, c->layers, &value);
  }
  const int bin = (lines + POINTS - 1) / POINTS;
  json_array_foreach(run->metrics, i, line) {
    const char *type = json_string_value(json_object_get(line, "type"));
    if (!type || strcmp(type, c->type) || !value_of(line, c->key, c->layers, &value)) continue;
    steps += json_number_value(json_object_get(line, "step"));
    sum += value;
    lines--;
    if (++in_bin < bin && lines) continue;
    const double step = steps / in_bin, mean = sum / in_bin;
    fprintf(to, "%.9g %.9g\n", step, mean);
    found.count++;
    if (scales) {
      scales->steps = fmax(scales->steps, step);
      if (c < curves + FIRST_LOSS + LOSSES) {
        scales->least_loss = fmin(scales->least_loss, mean);
        scales->most_loss = fmax(scales->most_loss, mean);
      }
    }
    steps = sum = in_bin = 0;
  }
  fclose(to);
  return found;
}

report_scales report_scale(int n, const report_run *runs) {
  report_scales s = {.least_loss = NAN, .most_loss = NAN, .load = 2, .first = -1};
  for (int i = 0; i < n; i++) {
    size_t l, e, d;
    json_t *layer, *load, *domain;
    for (int c = 0; c < CURVES; c++) free(find_points(&runs[i], &curves[c], &s).text);
    json_array_foreach(runs[i].loads.layers, l, layer) {
      const json_t *loads = json_object_get(layer, "frequency");
      const long long index = json_integer_value(json_object_get(layer, "layer"));
      s.first = s.first < 0 || index < s.first ? index : s.first;
      s.last = index > s.last ? index : s.last;
      json_array_foreach(loads, e, load) s.load =
          fmax(s.load, json_number_value(load) * (double)json_array_size(loads));
    }
    json_array_foreach(runs[i].loads.ratios, l, layer) {
      json_array_foreach(layer, d, domain) {
        json_array_foreach(domain, e, load) s.load =
            fmax(s.load, json_number_value(load) * (double)json_array_size(domain));
      }
    }
  }
  return s;
}

static void write_curve(FILE *to, int n, const report_run *runs, const curve *c,
                        const report_scales *scales) {
  enum { SHORT = 24 }; /* curves of fewer points bear a mark at each */
  char *script = NULL;
  size_t size = 0;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  int drawn[REPORT_RUNS_MAX] = {0}, any = 0;
  report_begin_script(s, "step", c->axis);
  /* Room for many names. */
  if (n > 3)
    fprintf(s, "set terminal svg size 480,%d dynamic font 'sans-serif,12'\n", 320 + 14 * (n - 3));
  fprintf(s, "set xrange [0:%g]\n", fmax(scales->steps, 1));
  if (c < curves + FIRST_LOSS + LOSSES) {
    const double room = fmax(0.04 * (scales->most_loss - scales->least_loss), 1e-3);
    fprintf(s, "set yrange [%.9g:%.9g]\n", scales->least_loss - room, scales->most_loss + room);
  } else if (c->layers) {
    fputs("set yrange [0:*]\n", s);
  }
  for (int i = 0; i < n; i++) {
    points p = find_points(&runs[i], c, NULL);
    fprintf(s, "$d%d << EOD\n%sEOD\n", i, p.text ? p.text : "");
    drawn[i] = p.count;
    free(p.text);
  }
  for (int i = 0; i < n; i++) {
    if (!drawn[i]) continue;
    fprintf(s, "%s$d%d using 1:2 with %s lw 1.5 lc rgb '%s' title ", any++ ? ", " : "plot ", i,
            drawn[i] >= SHORT ? "lines"
            : drawn[i] > 2    ? "linespoints pt 7 ps 0.45"
                              : "linespoints pt 7 ps 0.7",
            report_colour(i));
    report_write_string(s, runs[i].label);
    fputs(" noenhanced", s);
  }
  fputc('\n', s);
  fclose(s);
  if (any)
    report_write_figure(to, script, NULL, 0, c->caption);
  else
    free(script);
}

void report_write_curves(FILE *to, int n, const report_run *runs, const report_scales *scales) {
  for (int i = 0; i < CURVES; i++) write_curve(to, n, runs, &curves[i], scales);
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Of each layer's experts: the least and the most loaded, the middle half, and the ideal. */
static void write_boxes(FILE *to, const report_run *run, int colour, const report_scales *scales) {
  char *script = NULL;
  size_t size = 0, l, e;
  json_t *layer, *cell;
  bool any = false;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  report_begin_script(s, "layer", "load, in even shares");
  fputs("$d << EOD\n", s);
  json_array_foreach(run->loads.layers, l, layer) {
    const json_t *loads = json_object_get(layer, "frequency");
    const size_t n = json_array_size(loads);
    double *sorted = calloc(n + 1, sizeof *sorted);
    if (!sorted || !n) {
      free(sorted);
      continue;
    }
    json_array_foreach(loads, e, cell) sorted[e] = json_number_value(cell) * (double)n;
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    fprintf(s, "%lld %.9g %.9g %.9g %.9g %.9g\n",
            (long long)json_integer_value(json_object_get(layer, "layer")), sorted[0],
            sorted[(n - 1) / 4], sorted[n / 2], sorted[n - 1 - (n - 1) / 4], sorted[n - 1]);
    free(sorted);
    any = true;
  }
  /* The same axes for every run. */
  const long long layers = scales->last - scales->first + 1;
  fprintf(s,
          "EOD\nset yrange [0:%.9g]\nset xrange [%g:%g]\nset xtics %lld,%lld\nset boxwidth 0.5\n",
          1.04 * scales->load, (double)scales->first - 0.6, (double)scales->last + 0.6,
          scales->first, 1 + (layers - 1) / 12);
  fputs("plot 1 with lines dt 2 lc rgb '#d9480f' title 'even share', "
        "$d using 1:3:2:6:5 with candlesticks whiskerbars lc rgb '#2f6fde' "
        "fs transparent solid 0.25 title 'least, middle half, most', "
        "$d using 1:4:4:4:4 with candlesticks lc rgb '#2f6fde' notitle\n",
        s);
  fclose(s);
  if (any)
    report_write_figure(to, script, run->label, colour,
                        "Loads of each layer's experts on the validation text, against the even "
                        "share.");
  else
    free(script);
}

void report_write_boxes(FILE *to, int n, const report_run *runs, const report_scales *scales) {
  for (int i = 0; i < n; i++) write_boxes(to, &runs[i], i, scales);
}

/* Rows of loads, as shares of the routes, as a map in even shares; `names` of the rows, or null for
   their "layer" of `layers`. */
static void write_loads(FILE *to, const json_t *rows, const json_t *names, const json_t *layers,
                        const report_run *run, int colour, const report_scales *scales,
                        const char *caption) {
  const size_t n = json_array_size(rows);
  size_t r, e, columns = 0;
  json_t *row, *load;
  json_array_foreach(rows, r, row) if (json_array_size(row) > columns) columns =
      json_array_size(row);
  double *value = calloc(n * columns + 1, sizeof *value);
  char **row_name = calloc(n + 1, sizeof *row_name), **column = calloc(columns + 1, sizeof *column);
  bool good = value && row_name && column && columns;
  for (r = 0; good && r < n; r++) {
    const char *name = json_string_value(json_object_get(json_array_get(names, r), "name"));
    const json_t *layer = json_object_get(json_array_get(layers, r), "layer");
    row_name[r] = name ? strdup(name) : string_format("%lld", (long long)json_integer_value(layer));
    good = row_name[r];
    for (e = 0; e < columns; e++) {
      load = json_array_get(json_array_get(rows, r), e);
      value[r * columns + e] =
          json_is_number(load) ? json_number_value(load) * (double)columns : NAN;
    }
  }
  for (e = 0; good && e < columns; e++) good = (column[e] = string_format("%zu", e));
  if (good)
    report_write_map(to,
                     &(report_map){.rows = (int)n,
                                   .columns = (int)columns,
                                   .value = value,
                                   .row = row_name,
                                   .column = column,
                                   .x = "expert",
                                   .y = names ? "" : "layer",
                                   .unit = "load, in even shares",
                                   .loads = true,
                                   .high = scales->load},
                     run->label, colour, caption);
  for (r = 0; row_name && r < n; r++) free(row_name[r]);
  for (e = 0; column && e < columns; e++) free(column[e]);
  free(value);
  free(row_name);
  free(column);
}

void report_write_layers(FILE *to, int n, const report_run *runs, const report_scales *scales) {
  for (int i = 0; i < n; i++) {
    const json_t *layers = runs[i].loads.layers;
    json_t *rows = json_array(), *layer;
    size_t l;
    json_array_foreach(layers, l, layer)
        json_array_append(rows, json_object_get(layer, "frequency"));
    if (json_array_size(rows))
      write_loads(to, rows, NULL, layers, &runs[i], i, scales,
                  "Loads of every expert on the validation text.");
    json_decref(rows);
  }
}

void report_write_domains(FILE *to, int n, const report_run *runs, const report_scales *scales) {
  for (int i = 0; i < n; i++) {
    const report_loads *loads = &runs[i].loads;
    const size_t layers = json_array_size(loads->layers);
    if (json_array_size(loads->domains) < 2) continue;
    for (size_t l = 0; l < layers; l++) {
      char caption[96];
      if (l != layers / 2 && l + 1 != layers) continue;
      snprintf(caption, sizeof caption, "Where each domain's tokens went, layer %lld.",
               (long long)json_integer_value(
                   json_object_get(json_array_get(loads->layers, l), "layer")));
      write_loads(to, json_array_get(loads->ratios, l), loads->domains, NULL, &runs[i], i, scales,
                  caption);
    }
  }
}
