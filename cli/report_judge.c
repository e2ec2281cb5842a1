/* What the loads of a run say: whether its router has collapsed, or leaves experts idle. */
#include "moe/report/report.h"
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
    size_t idle = 0;
    json_array_foreach(loads, e, load) {
      const double shares = json_number_value(load) * (double)to->experts;
      to->idle += shares < REPORT_IDLE_SHARE;
      to->nothing += !(shares > 0);
      idle += shares < REPORT_IDLE_SHARE;
    }
    to->half |= 2 * idle >= to->experts && to->experts;
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
  /* Where every token goes to every expert, MaxVio is 0 but for rounding. */
  const double most = k >= 1 && E >= k ? E / k - 1 : INFINITY;
  loads->state = loads->maxvio > 2 * most / 3 + 1e-6 || loads->half ? REPORT_COLLAPSED
                 : loads->idle                                      ? REPORT_IDLE
                 : isnan(loads->maxvio)                             ? REPORT_UNKNOWN
                 : loads->maxvio > REPORT_UNEVEN_MAXVIO             ? REPORT_UNEVEN
                                                                    : REPORT_FINE;
}

static const struct {
  const char *name, *kind, *verdict;
} states[REPORT_STATES] = {[REPORT_COLLAPSED] = {"collapsed", "collapsed", "bad"},
                           [REPORT_IDLE] = {"idle experts", "idle", "open"},
                           [REPORT_UNEVEN] = {"uneven", "idle", "open"},
                           [REPORT_FINE] = {"all in use", "fine", "good"},
                           [REPORT_UNKNOWN] = {"not known", "unknown", ""}};

const char *report_state_name(report_state state) {
  return states[state].name;
}

const char *report_state_kind(report_state state) {
  return states[state].kind;
}

const char *report_verdict_kind(const int count[REPORT_STATES]) {
  int worst = REPORT_COLLAPSED;
  while (worst < REPORT_UNKNOWN && !count[worst]) worst++;
  return states[worst].verdict;
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
  fputs(
      "<p class=\"notes\">An even share is 1/E of a layer's routes, which each of its E experts "
      "has where loads are balanced. <b>MaxVio</b> is how far the busiest expert is above it, in "
      "even shares: 0 is balance, E/k − 1 the most that is possible. An expert is <b>idle</b> that "
      "gets less than 1/100 of its even share. <b>Collapsed</b>: in some layer MaxVio is above "
      "2/3 of the most that is possible, or half of the experts or more are idle. "
      "<b>Uneven</b>: in some layer MaxVio is above 2.</p>\n",
      to);
}
