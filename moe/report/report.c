#include "report.h"
#include <string.h>

/* The widest label of a run, "phi, pseudo-huber delta=0.1", fits a column; two fit 100 characters.
 */
enum { LABEL = 34, COLUMN = 28 };

json_t *report_member(const json_t *json, const char *path) {
  char key[64];
  json_t *at = (json_t *)json;
  while (at && *path) {
    size_t n = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)n, path);
    at = json_object_get(at, key);
    path += n + (path[n] == '.');
  }
  return at;
}

/* Labels are cut to the column, so that tables keep their shape. */
static void write_label(FILE *to, const char *label) {
  fprintf(to, "%-*.*s", LABEL, LABEL, label);
}

static void write_heading(FILE *to, const char *heading, int n, json_t *const *results) {
  fputc('\n', to);
  write_label(to, heading);
  for (int i = 0; i < n; i++) {
    const char *label = json_string_value(report_member(results[i], "label"));
    fprintf(to, "  %*.*s", COLUMN, COLUMN, label ? label : "?");
  }
  fputc('\n', to);
}

/* One row of numbers, `digits` after the point; a dash where a run has none, no row where none has.
 */
static void write_row(FILE *to, const char *label, const char *path, double scale, int digits,
                      const char *unit, int n, json_t *const *results) {
  bool any = false;
  for (int i = 0; i < n; i++) any |= json_is_number(report_member(results[i], path));
  if (!any) return;
  write_label(to, label);
  for (int i = 0; i < n; i++) {
    json_t *value = report_member(results[i], path);
    int width = COLUMN - (int)strlen(unit);
    if (json_is_number(value))
      fprintf(to, "  %*.*f%s", width, digits, scale * json_number_value(value), unit);
    else
      fprintf(to, "  %*s", COLUMN, "-");
  }
  fputc('\n', to);
}

/* One row of words, such as what the moving average follows; no row where no run has any. Of a long
   one the end is shown, which tells folders apart. */
static void write_words(FILE *to, const char *label, const char *path, int n,
                        json_t *const *results) {
  bool any = false;
  for (int i = 0; i < n; i++) any |= json_is_string(report_member(results[i], path));
  if (!any) return;
  write_label(to, label);
  for (int i = 0; i < n; i++) {
    const char *word = json_string_value(report_member(results[i], path));
    size_t length = word ? strlen(word) : 0;
    if (length > COLUMN) word += length - COLUMN;
    fprintf(to, "  %*s", COLUMN, word ? word : "-");
  }
  fputc('\n', to);
}

static void write_quality(FILE *to, int n, json_t *const *results) {
  write_heading(to, "quality on the validation text", n, results);
  write_row(to, "  loss (nats a token)", "validation.loss", 1, 4, "", n, results);
  write_row(to, "  bigram entropy of the text", "validation.bigram_entropy", 1, 4, "", n, results);
  write_row(to, "  perplexity", "validation.perplexity", 1, 3, "", n, results);
  write_row(to, "  accuracy", "validation.accuracy", 100, 2, " %", n, results);
  write_row(to, "  tokens predicted", "validation.targets", 1, 0, "", n, results);
  write_row(to, "  examples left out", "validation.left_out", 1, 0, "", n, results);
}

/* Two numbers a cell: mean over layers, and the worst layer's. */
static void write_balance_row(FILE *to, const char *label, const char *metric, int n,
                              json_t *const *results) {
  write_label(to, label);
  for (int i = 0; i < n; i++) {
    char path[96], cell[64] = "-";
    snprintf(path, sizeof path, "validation.mean.%s", metric);
    json_t *mean = report_member(results[i], path);
    snprintf(path, sizeof path, "validation.worst.%s", metric);
    json_t *worst = report_member(results[i], path);
    if (mean && worst)
      snprintf(cell, sizeof cell, "%.4f (%.4f)", json_number_value(mean), json_number_value(worst));
    fprintf(to, "  %*s", COLUMN, cell);
  }
  fputc('\n', to);
}

static void write_balance(FILE *to, int n, json_t *const *results) {
  bool any = false;
  for (int i = 0; i < n; i++) any |= report_member(results[i], "validation.mean") != NULL;
  if (!any) return; /* dense runs only, or none evaluated */
  write_heading(to, "balance: mean of layers (worst)", n, results);
  write_balance_row(to, "  MaxVio from loads", "maxvio_loads", n, results);
  write_balance_row(to, "  MaxVio from mean probabilities", "maxvio_mean", n, results);
  for (int i = 0; i < n; i++) /* older results have none */
    if (report_member(results[i], "validation.mean.maxvio_sequences")) {
      write_balance_row(to, "  MaxVio of single sequences", "maxvio_sequences", n, results);
      break;
    }
  write_balance_row(to, "  Gini of loads", "gini_loads", n, results);
  write_balance_row(to, "  Gini of mean probabilities", "gini_mean", n, results);
  write_balance_row(to, "  entropy of loads (nats)", "entropy_loads", n, results);
}

static size_t layer_count(const json_t *result) {
  return json_array_size(report_member(result, "validation.layers"));
}

/* The transformer's number of the l-th MoE layer, from the first run that has it. */
static long long layer_number(int n, json_t *const *results, size_t l) {
  for (int i = 0; i < n; i++) {
    json_t *layer = json_array_get(report_member(results[i], "validation.layers"), l);
    if (layer) return json_integer_value(report_member(layer, "layer"));
  }
  return (long long)l;
}

/* A row for each layer; the three metrics of every run in one cell. */
static void write_layers(FILE *to, int n, json_t *const *results) {
  size_t layers = 0;
  for (int i = 0; i < n; i++)
    if (layer_count(results[i]) > layers) layers = layer_count(results[i]);
  if (!layers) return;
  write_heading(to, "layer: MaxVio loads, mean, Gini", n, results);
  for (size_t l = 0; l < layers; l++) {
    char label[48];
    snprintf(label, sizeof label, "  layer %lld", layer_number(n, results, l));
    write_label(to, label);
    for (int i = 0; i < n; i++) {
      json_t *layer = json_array_get(report_member(results[i], "validation.layers"), l);
      char cell[64] = "-";
      if (layer)
        snprintf(cell, sizeof cell, "%.3f  %.3f  %.3f",
                 json_number_value(report_member(layer, "maxvio_loads")),
                 json_number_value(report_member(layer, "maxvio_mean")),
                 json_number_value(report_member(layer, "gini_loads")));
      fprintf(to, "  %*s", COLUMN, cell);
    }
    fputc('\n', to);
  }
}

/* Domains down, experts across, in percent of the domain's routes; 100/E is even. Many experts are
   cut to the first sixteen: result.json has them all. */
static void write_ratios(FILE *to, const json_t *result, size_t layer) {
  enum { EXPERTS_SHOWN = 16 };
  json_t *domains = report_member(result, "validation.domains");
  json_t *ratios = json_array_get(report_member(result, "validation.routed_token_ratio"), layer);
  int experts = (int)json_integer_value(report_member(result, "routing.experts"));
  int shown = experts < EXPERTS_SHOWN ? experts : EXPERTS_SHOWN;
  const char *label = json_string_value(report_member(result, "label"));
  fprintf(to, "\nrouted-token ratio, %%, layer %lld: %s (even: %.2f)\n",
          layer_number(1, (json_t *const[]){(json_t *)result}, layer), label ? label : "?",
          100.0 / experts);
  fprintf(to, "  %-20s", "domain");
  for (int e = 0; e < shown; e++) fprintf(to, " %5d", e);
  fputs(shown < experts ? " ...\n" : "\n", to);
  size_t d;
  json_t *domain;
  json_array_foreach(domains, d, domain) {
    json_t *row = json_array_get(ratios, d);
    fprintf(to, "  %-20.20s", json_string_value(json_object_get(domain, "name")));
    for (int e = 0; e < shown; e++)
      if (json_is_array(row))
        fprintf(to, " %5.1f", 100.0 * json_number_value(json_array_get(row, (size_t)e)));
      else
        fprintf(to, " %5s", "-");
    fputc('\n', to);
  }
}

/* The score of a domain by its name: runs on other data have other domains. */
static json_t *domain_score(const json_t *result, const char *name) {
  size_t d;
  json_t *domain;
  json_array_foreach(report_member(result, "validation.domains"), d, domain) {
    const char *its = json_string_value(json_object_get(domain, "name"));
    if (its && !strcmp(its, name)) return domain;
  }
  return NULL;
}

/* Whether a run before the i-th has the domain, whose row is then there. */
static bool domain_written(json_t *const *results, int i, const char *name) {
  while (i-- > 0)
    if (domain_score(results[i], name)) return true;
  return false;
}

static void write_domain(FILE *to, const char *name, int n, json_t *const *results) {
  char label[96];
  snprintf(label, sizeof label, "  %s", name);
  write_label(to, label);
  for (int i = 0; i < n; i++) {
    json_t *loss = report_member(domain_score(results[i], name), "loss");
    if (json_is_number(loss))
      fprintf(to, "  %*.4f", COLUMN, json_number_value(loss));
    else
      fprintf(to, "  %*s", COLUMN, "-");
  }
  fputc('\n', to);
}

static void write_domains(FILE *to, int n, json_t *const *results) {
  size_t most = 0;
  for (int i = 0; i < n; i++) {
    size_t its = json_array_size(report_member(results[i], "validation.domains"));
    most = its > most ? its : most;
  }
  if (most < 2) return;
  write_heading(to, "validation loss by domain", n, results);
  for (int i = 0; i < n; i++) {
    size_t d;
    json_t *domain;
    json_array_foreach(report_member(results[i], "validation.domains"), d, domain) {
      const char *name = json_string_value(json_object_get(domain, "name"));
      if (name && !domain_written(results, i, name)) write_domain(to, name, n, results);
    }
  }
}

/* Seconds of training by section, in percent of the steps' time. */
static void write_times(FILE *to, int n, json_t *const *results) {
  static const struct {
    const char *label, *path;
  } rows[] = {{"  router", "seconds.router"},       {"  permutation", "seconds.permutation"},
              {"  experts", "seconds.experts"},     {"  attention", "seconds.attention"},
              {"  embedding", "seconds.embedding"}, {"  head and loss", "seconds.head"},
              {"  optimizer", "seconds.optimizer"}, {"  data", "seconds.data"},
              {"  other", "seconds.other"}};
  write_heading(to, "time of the steps", n, results);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    bool any = false;
    for (int i = 0; i < n; i++)
      any |= json_number_value(report_member(results[i], rows[r].path)) != 0;
    if (!any) continue; /* dense runs have no router */
    write_label(to, rows[r].label);
    for (int i = 0; i < n; i++) {
      double steps = json_number_value(report_member(results[i], "seconds.steps"));
      double part = json_number_value(report_member(results[i], rows[r].path));
      fprintf(to, "  %*.2f %%", COLUMN - 2, steps > 0 ? 100 * part / steps : 0);
    }
    fputc('\n', to);
  }
  write_row(to, "  seconds", "training.seconds", 1, 1, "", n, results);
  write_row(to, "  tokens a second", "training.tokens_per_second", 1, 0, "", n, results);
  write_row(to, "  threads", "training.threads", 1, 0, "", n, results);
}

static void write_all_ratios(FILE *to, int n, json_t *const *results, bool every_layer) {
  for (int i = 0; i < n; i++) {
    size_t layers = layer_count(results[i]);
    for (size_t l = 0; l < layers; l++)
      if (every_layer || l == layers / 2 || l + 1 == layers) write_ratios(to, results[i], l);
  }
}

static void write_evaluation(FILE *to, int n, json_t *const *results) {
  write_quality(to, n, results);
  write_domains(to, n, results);
  write_balance(to, n, results);
  write_layers(to, n, results);
}

/* How balanced each domain is by itself: a router that gives each domain experts of its own is
   balanced on all of them together and on none of them. */
static void write_domain_balance(FILE *to, const json_t *result) {
  static const char *const metrics[] = {"maxvio_loads", "maxvio_mean",   "gini_loads",
                                        "gini_mean",    "entropy_loads", "maxvio_sequences"};
  enum { METRICS = sizeof metrics / sizeof *metrics };
  json_t *layers = report_member(result, "validation.domain_balance");
  if (!json_array_size(layers)) return;
  fprintf(to, "\n%-*s %13s %13s %13s %13s %13s %13s\n", LABEL,
          "each domain by itself: mean of layers", "MaxVio loads", "MaxVio mean", "Gini loads",
          "Gini mean", "entropy", "sequences");
  size_t d, l;
  json_t *domain, *layer;
  json_array_foreach(report_member(result, "validation.domains"), d, domain) {
    double sum[METRICS] = {0};
    size_t counted = 0;
    json_array_foreach(layers, l, layer) {
      json_t *its = json_array_get(layer, d);
      if (!json_is_object(its)) continue;
      counted++;
      for (int i = 0; i < METRICS; i++)
        sum[i] += json_number_value(json_object_get(its, metrics[i]));
    }
    if (!counted) continue;
    fprintf(to, "  %-*.*s", LABEL + 1, LABEL + 1,
            json_string_value(json_object_get(domain, "name")));
    for (int i = 0; i < METRICS; i++) fprintf(to, " %13.4f", sum[i] / (double)counted);
    fputc('\n', to);
  }
}

void report_write_evaluation(FILE *to, json_t *result, bool every_layer) {
  write_evaluation(to, 1, &result);
  write_domain_balance(to, result);
  write_all_ratios(to, 1, &result, every_layer);
}

phibal_status report_write(FILE *to, int n, json_t *const *results, bool every_layer) {
  for (int i = 0; i < n; i++)
    if (!json_is_string(report_member(results[i], "label")) ||
        !report_member(results[i], "training.seconds"))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "result %d is not one of 'phibal train'",
                               i + 1);
  write_heading(to, "run", n, results);
  write_words(to, "  folder", "folder", n, results);
  write_words(to, "  moving average of", "track", n, results);
  write_words(to, "  precision, not binary32", "precision", n, results);
  write_row(to, "  steps", "steps", 1, 0, "", n, results);
  write_row(to, "  seed", "seed", 1, 0, "", n, results);
  write_row(to, "  eta", "eta", 1, 4, "", n, results);
  write_row(to, "  alpha", "alpha", 1, 4, "", n, results);
  write_row(to, "  parameters, in all", "parameters.total", 1, 0, "", n, results);
  write_row(to, "  parameters, active", "parameters.active", 1, 0, "", n, results);
  write_row(to, "  last training loss", "training.last_loss", 1, 4, "", n, results);
  bool evaluated = false;
  for (int i = 0; i < n; i++) evaluated |= report_member(results[i], "validation") != NULL;
  if (evaluated) write_evaluation(to, n, results);
  write_times(to, n, results);
  write_all_ratios(to, n, results, every_layer);
  return PHIBAL_OK;
}
