/* What the loads of a run say: whether its router has collapsed, or leaves experts idle. */
#include "report.h"
#include "report_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_config(const report_run *run, const char *key, char *text, size_t size) {
  const char *dot = strchr(key, '.'), *line = run->config;
  bool inside = false;
  *text = 0;
  for (; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    const size_t length = strcspn(line, "\n"), indent = strspn(line, " ");
    if (!indent)
      inside = !strncmp(line, key, (size_t)(dot - key)) && line[dot - key] == ':';
    else if (inside && !strncmp(line + indent, dot + 1, strlen(dot + 1)) &&
             line[indent + strlen(dot + 1)] == ':') {
      const char *value = line + indent + strlen(dot + 1) + 1;
      value += strspn(value, " ");
      size_t n = (size_t)(line + length - value);
      if (n >= 2 && (*value == '\'' || *value == '"') && value[n - 1] == *value) value++, n -= 2;
      snprintf(text, size, "%.*s", (int)n, value);
      return;
    }
  }
}

/* MaxVio of the worst layer, and which. */
static void find_worst(const json_t *layers, report_loads *to) {
  size_t l;
  json_t *layer;
  to->maxvio = NAN;
  json_array_foreach(layers, l, layer) {
    const json_t *value = json_object_get(layer, "maxvio_loads");
    const json_t *index = json_object_get(layer, "layer");
    if (!json_is_number(value) || json_number_value(value) <= to->maxvio) continue;
    to->maxvio = json_number_value(value);
    to->layer = json_is_integer(index) ? json_integer_value(index) : (long long)l;
  }
}

static void count_idle(const json_t *layers, report_loads *to) {
  size_t l, e;
  json_t *layer, *load;
  json_array_foreach(layers, l, layer) {
    const json_t *loads = json_object_get(layer, "frequency");
    to->experts = json_array_size(loads);
    to->all += to->experts;
    json_array_foreach(loads, e, load) {
      const double shares = json_number_value(load) * (double)to->experts;
      to->idle += shares < REPORT_IDLE_SHARE;
      to->nothing += !(shares > 0);
    }
  }
}

void report_judge(report_run *run) {
  report_loads *loads = &run->loads;
  *loads = (report_loads){.state = REPORT_UNKNOWN, .step = -1, .maxvio = NAN};
  const json_t *from = json_object_get(run->result, "validation"), *last_step = NULL;
  size_t i;
  json_t *line;
  if (!json_array_size(json_object_get(from, "layers"))) {
    /* Not ended, or ended without an evaluation: the last one on the way, or the last batch. */
    from = NULL;
    json_array_foreach(run->metrics, i, line) {
      const char *type = json_string_value(json_object_get(line, "type"));
      if (!type || !json_array_size(json_object_get(line, "layers"))) continue;
      if (!strcmp(type, "evaluation"))
        from = line;
      else if (!strcmp(type, "step"))
        last_step = line;
    }
    loads->batch = !from;
    if (!from) from = last_step;
    if (from) loads->step = json_integer_value(json_object_get(from, "step"));
  }
  if (!from) return;
  const json_t *layers = json_object_get(from, "layers");
  if (!loads->batch) {
    loads->layers = layers;
    loads->domains = json_object_get(from, "domains");
    loads->ratios = json_object_get(from, "routed_token_ratio");
    count_idle(layers, loads);
  }
  find_worst(layers, loads);
  char experts[32], active[32];
  report_config(run, "model.experts", experts, sizeof experts);
  report_config(run, "model.active", active, sizeof active);
  const double E = strtod(experts, NULL), k = strtod(active, NULL);
  loads->limit = k >= 1 && E >= k ? fmin(2, 2 * (E / k - 1) / 3) : 2;
  /* Where every token goes to every expert, MaxVio is 0 but for rounding. */
  loads->state = loads->maxvio > loads->limit + 1e-6 ? REPORT_COLLAPSED
                 : loads->idle                       ? REPORT_IDLE
                 : isnan(loads->maxvio)              ? REPORT_UNKNOWN
                                                     : REPORT_FINE;
}

const char *report_state_name(report_state state) {
  static const char *const names[REPORT_STATES] = {"collapsed", "idle experts", "all in use",
                                                   "not known"};
  return names[state];
}

void report_write_judgement(FILE *to, const report_loads *l) {
  if (l->state == REPORT_UNKNOWN) {
    fputs("No loads of experts are on record.", to);
    return;
  }
  fprintf(to, "The busiest expert%s gets %.*f times its even share (layer %lld)",
          l->batch ? " of the last batch" : "", l->maxvio < 9 ? 2 : 1, l->maxvio + 1, l->layer);
  if (l->idle)
    fprintf(to, "; %zu of the %zu experts of all layers get%s %s", l->idle, l->all,
            l->idle == 1 ? "s" : "",
            l->nothing == l->idle ? "nothing" : "nothing, or less than 1/100 of theirs");
  else if (!l->batch)
    fputs("; none is idle", to);
  fputc('.', to);
}

void report_write_terms(FILE *to) {
  fputs("<p class=\"notes\">An even share is 1/E of a layer's routes, which each of its E experts "
        "has where loads are balanced. <b>MaxVio</b> is how far the busiest expert is above it, in "
        "even shares: 0 is balance, E/k − 1 the most that is possible. <b>Collapsed</b>: in some "
        "layer MaxVio is above 2, or above 2/3 of the most that is possible where that is less. "
        "<b>Idle experts</b>: some expert gets less than 1/100 of its even share.</p>\n",
        to);
}
