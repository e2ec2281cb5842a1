/* Figures of runs: curves over the steps, and where the tokens went in the end. */
#include "gnuplot.h"
#include "page.h"
#include "report.h"
#include "report_internal.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Curves are averaged down to this many points. */
enum { POINTS = 400 };

const char *report_colour(int i) {
  static const char *const colours[] = {"#2f6fde", "#d9480f", "#2b8a3e", "#9c36b5",
                                        "#e8a400", "#0c8599", "#c2255c", "#5f3dc4"};
  return colours[i % (int)(sizeof colours / sizeof *colours)];
}

void report_write_figure(FILE *to, char *script, const char *caption) {
  char *svg = script ? gnuplot_draw(script) : NULL;
  if (svg) {
    fprintf(to, "<figure>%s<figcaption>", svg);
    page_escape(to, caption);
    fputs("</figcaption></figure>\n", to);
  }
  free(svg);
  free(script);
}

void report_begin_script(FILE *to, const char *x, const char *y) {
  fputs("set terminal svg size 480,320 dynamic font 'sans-serif,12'\nset encoding utf8\n"
        "set grid lc rgb 'gray'\nset key above\nset border 3\nset xtics nomirror\n"
        "set ytics nomirror\nset palette defined (0 '#f1f3f9', 0.5 '#74a9ff', 1 '#12387a')\n",
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

/* The points of one run; how many there are. */
static int write_points(FILE *to, const report_run *run, const curve *c) {
  size_t i;
  json_t *line;
  int lines = 0, written = 0, in_bin = 0;
  double value, steps = 0, sum = 0;
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
    fprintf(to, "%.9g %.9g\n", steps / in_bin, sum / in_bin);
    written++;
    steps = sum = in_bin = 0;
  }
  return written;
}

static void write_curve(FILE *to, int n, const report_run *runs, const curve *c) {
  char *script = NULL;
  size_t size = 0;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  int drawn[REPORT_RUNS_MAX] = {0}, any = 0;
  report_begin_script(s, "step", c->axis);
  for (int i = 0; i < n; i++) {
    fprintf(s, "$d%d << EOD\n", i);
    drawn[i] = write_points(s, &runs[i], c);
    fputs("EOD\n", s);
  }
  for (int i = 0; i < n; i++) {
    if (!drawn[i]) continue;
    fprintf(s, "%s$d%d using 1:2 with %s lw 1.5 lc rgb '%s' title ", any++ ? ", " : "plot ", i,
            drawn[i] > 1 ? "lines" : "points pt 7", report_colour(i));
    report_write_string(s, runs[i].label);
    fputs(" noenhanced", s);
  }
  fputc('\n', s);
  fclose(s);
  if (any)
    report_write_figure(to, script, c->caption);
  else
    free(script);
}

void report_write_curves(FILE *to, int n, const report_run *runs) {
  static const curve curves[] = {
      {"step", "loss", false, "nats a token", "Training loss."},
      {"evaluation", "loss", false, "nats a token", "Loss on the validation text."},
      {"evaluation", "accuracy", false, "accuracy", "Accuracy on the validation text."},
      {"step", "maxvio_loads", true, "MaxVio",
       "MaxVio of the selection counts of each step's batch, the mean of the layers; 0 is even."},
      {"step", "maxvio_mean", true, "MaxVio",
       "MaxVio of the mean probabilities of each step's batch, the mean of the layers."},
      {"step", "gini_loads", true, "Gini",
       "Gini's coefficient of the selection counts, the mean of the layers; 0 is even."},
      {"step", "gradient_norm", false, "norm", "Norm of the gradient, before clipping."}};
  for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) write_curve(to, n, runs, &curves[i]);
}

/* Rows of numbers as a heat map; `names` of the rows, or null for `first` and on. */
static void write_map(FILE *to, const json_t *rows, const json_t *names, int first, const char *y,
                      const char *caption) {
  char *script = NULL;
  size_t size = 0, r, e, drawn = 0;
  json_t *row, *cell;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  report_begin_script(s, "expert", y);
  fputs("set cblabel 'share of the routes'\nset cbrange [0:*]\nunset grid\nset ytics (", s);
  json_array_foreach(rows, r, row) {
    const char *name = json_string_value(json_object_get(json_array_get(names, r), "name"));
    char number[24];
    snprintf(number, sizeof number, "%zu", r + (size_t)first);
    if (r) fputs(", ", s);
    report_write_string(s, name ? name : number);
    fprintf(s, " %zu", r);
  }
  fputs(") noenhanced\n$d << EOD\n", s);
  json_array_foreach(rows, r, row) {
    json_array_foreach(row, e, cell) {
      fprintf(s, "%zu %zu %.9g\n", e, r, json_number_value(cell));
      drawn++;
    }
  }
  fprintf(s,
          "EOD\nset xrange [-0.5:%g]\nset yrange [%g:-0.5]\n"
          "plot $d using 1:2:(0.5):(0.5):3 with boxxyerror fs solid fc palette notitle\n",
          (double)json_array_size(json_array_get(rows, 0)) - 0.5,
          (double)json_array_size(rows) - 0.5);
  fclose(s);
  if (drawn)
    report_write_figure(to, script, caption);
  else
    free(script);
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Of each layer's experts: the least and the most loaded, the middle half, and the ideal. */
static void write_bands(FILE *to, const json_t *layers) {
  char *script = NULL;
  size_t size = 0, l, e, experts = 0;
  json_t *layer, *cell;
  FILE *s = open_memstream(&script, &size);
  if (!s) return;
  report_begin_script(s, "layer", "share of the routes");
  fputs("$d << EOD\n", s);
  json_array_foreach(layers, l, layer) {
    const json_t *loads = json_object_get(layer, "frequency");
    const size_t n = json_array_size(loads);
    double *sorted = calloc(n + 1, sizeof *sorted);
    if (!sorted || !n) {
      free(sorted);
      continue;
    }
    json_array_foreach(loads, e, cell) sorted[e] = json_number_value(cell);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    fprintf(s, "%lld %.9g %.9g %.9g %.9g %.9g\n",
            (long long)json_integer_value(json_object_get(layer, "layer")), sorted[0],
            sorted[(n - 1) / 4], sorted[n / 2], sorted[n - 1 - (n - 1) / 4], sorted[n - 1]);
    free(sorted);
    experts = n;
  }
  fputs("EOD\nset yrange [0:*]\nset xtics 1\nset boxwidth 0.5\n", s);
  const double lowest =
      (double)json_integer_value(json_object_get(json_array_get(layers, 0), "layer"));
  fprintf(s, "set xrange [%g:%g]\n", lowest - 0.6, lowest + (double)json_array_size(layers) - 0.4);
  if (experts)
    fprintf(s, "plot %.9g with lines dt 2 lc rgb '#d9480f' title 'ideal', ", 1.0 / (double)experts);
  fputs("$d using 1:3:2:6:5 with candlesticks whiskerbars lc rgb '#2f6fde' "
        "fs transparent solid 0.25 title 'least, middle half, most', "
        "$d using 1:4:4:4:4 with candlesticks lc rgb '#2f6fde' notitle\n",
        s);
  fclose(s);
  if (experts)
    report_write_figure(to, script,
                        "Loads of each layer's experts on the validation text, against the ideal.");
  else
    free(script);
}

void report_write_loads(FILE *to, const report_run *run) {
  const json_t *layers = report_member(run->result, "validation.layers");
  const json_t *domains = report_member(run->result, "validation.domains");
  const json_t *ratios = report_member(run->result, "validation.routed_token_ratio");
  const size_t n = json_array_size(layers);
  if (!n) return;
  write_bands(to, layers);
  json_t *rows = json_array(), *layer;
  size_t l;
  json_array_foreach(layers, l, layer) json_array_append(rows, json_object_get(layer, "frequency"));
  const int first = (int)json_integer_value(json_object_get(json_array_get(layers, 0), "layer"));
  write_map(to, rows, NULL, first, "layer", "Loads of every expert on the validation text.");
  json_decref(rows);
  if (json_array_size(domains) < 2) return;
  for (l = 0; l < n; l++) {
    char caption[96];
    if (l != n / 2 && l + 1 != n) continue;
    snprintf(caption, sizeof caption, "Where each domain's tokens went, layer %lld.",
             (long long)json_integer_value(json_object_get(json_array_get(layers, l), "layer")));
    write_map(to, json_array_get(ratios, l), domains, 0, "", caption);
  }
}
