#include "evaluate.h"
#include "moe/machine/clock.h"
#include <stdlib.h>

/* Windows of one domain as they are found: counted, and every `every`-th one kept. */
typedef struct window_list {
  int64_t every, seen, kept;
  evaluation_window *window; /* null: counted only */
} window_list;

static void add_window(window_list *list, int64_t start, int64_t length, int64_t targets,
                       int32_t domain) {
  if (list->seen++ % list->every) return;
  if (list->window)
    list->window[list->kept] = (evaluation_window){
        .start = start, .length = (int32_t)length, .targets = (int32_t)targets, .domain = domain};
  list->kept++;
}

static void add_domain(const token_file *file, int32_t sequence, int32_t domain,
                       mixture_examples *examples, window_list *list) {
  for (int64_t d = 0; d < file->documents;) {
    /* A stretch: neighbouring documents of one domain. */
    int64_t first = d, start = file->table[d].start, end = start;
    const int32_t of = file->table[d].domain;
    for (; d < file->documents && file->table[d].domain == of; d++)
      end = file->table[d].start + file->table[d].length;
    if (of != domain) continue;
    if (file->learned) {
      while (mixture_pack(file, d, sequence, &first, examples, &start, &end))
        add_window(list, start, end - start, end - start - 1, domain);
      continue;
    }
    for (int64_t at = start; at + 1 < end; at += sequence) {
      const int64_t length = end - at < sequence ? end - at : sequence;
      add_window(list, at, length, at + length < end ? length : length - 1, domain);
    }
  }
}

phibal_status evaluation_plan_create(const token_file *file, int32_t sequence, int64_t limit,
                                     bool boundaries, evaluation_plan *plan) {
  mixture_examples examples = {0}, again = {0};
  window_list all = {.every = 1};
  for (int32_t d = 0; d < file->domains; d++) add_domain(file, sequence, d, &examples, &all);
  if (!all.kept && examples.left_out)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "every example of the validation data is longer than %d tokens "
                             "(model.sequence)",
                             sequence);
  if (!all.kept)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "the validation data have no target: every stretch of one domain is "
                             "shorter than two tokens");
  /* Windows are counted through all domains, so that each domain keeps its share. */
  window_list kept = {.every = limit > 0 ? (all.kept + limit - 1) / limit : 1};
  *plan = (evaluation_plan){.file = file,
                            .sequence = sequence,
                            .boundaries = boundaries || file->learned != NULL,
                            .examples = examples};
  plan->window = kept.window = malloc((size_t)all.kept * sizeof *plan->window);
  if (!plan->window)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "evaluation: no memory for %lld windows",
                             (long long)all.kept);
  for (int32_t d = 0; d < file->domains; d++) add_domain(file, sequence, d, &again, &kept);
  plan->windows = kept.kept;
  return PHIBAL_OK;
}

void evaluation_plan_destroy(evaluation_plan *plan) {
  free(plan->window);
  plan->window = NULL;
}

void evaluation_destroy(evaluation *e) {
  if (e->loads)
    for (int32_t i = 0; i < (e->domains + 1) * e->moe_layers; i++)
      phibal_loads_destroy(&e->loads[i]);
  free(e->loads);
  free(e->domain);
  free(e->sequences);
  free(e->sequence_maxvio);
  *e = (evaluation){0};
}

static phibal_status evaluation_create(const model *m, const model_config *config, int32_t domains,
                                       evaluation *e) {
  *e = (evaluation){.domains = domains, .moe_layers = model_moe_layers(m)};
  size_t rows = ((size_t)domains + 1) * (size_t)e->moe_layers;
  e->domain = calloc((size_t)domains, sizeof *e->domain);
  e->loads = calloc(rows + 1, sizeof *e->loads);
  e->sequences = calloc((size_t)domains + 1, sizeof *e->sequences);
  e->sequence_maxvio = calloc(rows + 1, sizeof *e->sequence_maxvio);
  phibal_status status = PHIBAL_OK;
  if (!e->domain || !e->loads || !e->sequences || !e->sequence_maxvio)
    status =
        phibal_status_set(PHIBAL_ERROR_MEMORY, "evaluation: no memory for %d domains", domains);
  const phibal_router router = {config->experts, config->active, config->gate, config->route_scale};
  for (size_t i = 0; !status && i < rows; i++) status = phibal_loads_create(&router, &e->loads[i]);
  if (status) evaluation_destroy(e);
  return status;
}

static void score_add(evaluation_score *to, const model_losses *losses) {
  to->cross_entropy += losses->cross_entropy;
  to->correct += losses->correct;
  to->targets += losses->targets;
}

/* (V6) of the n sequences of a domain that have just been evaluated. */
static phibal_status add_sequences(const model *m, int32_t experts, int32_t domain, int32_t n,
                                   evaluation *e) {
  int64_t counts[PHIBAL_MAX_EXPERTS];
  for (int32_t s = 0; s < n; s++)
    for (int32_t l = 0; l < e->moe_layers; l++) {
      double maxvio;
      model_sequence_counts(m, l, s, counts);
      phibal_status status = phibal_maxvio_counts(experts, counts, &maxvio);
      if (status) return status;
      e->sequence_maxvio[domain * e->moe_layers + l] += maxvio;
      e->sequence_maxvio[e->domains * e->moe_layers + l] += maxvio;
    }
  e->sequences[domain] += n;
  e->sequences[e->domains] += n;
  return PHIBAL_OK;
}

phibal_status evaluation_run(model *m, const model_config *config, const evaluation_plan *plan,
                             int32_t batch, evaluation *result) {
  const int32_t sequence = plan->sequence;
  const double start = seconds_now();
  evaluation e;
  phibal_status status = evaluation_create(m, config, plan->file->domains, &e);
  if (status) return status;
  const size_t room = (size_t)batch * (size_t)sequence;
  int32_t *tokens = malloc(3 * room * sizeof *tokens);
  if (!tokens) status = phibal_status_set(PHIBAL_ERROR_MEMORY, "evaluation: out of memory");
  int32_t *targets = tokens ? tokens + room : NULL, *starts = tokens ? targets + room : NULL;
  model_set_starts(m, plan->boundaries ? starts : NULL);
  for (int64_t w = 0; !status && w < plan->windows;) {
    const int32_t domain = plan->window[w].domain;
    int32_t n = 0;
    for (; n < batch && w < plan->windows && plan->window[w].domain == domain; n++, w++) {
      const evaluation_window *window = &plan->window[w];
      const size_t at = (size_t)n * (size_t)sequence;
      mixture_window(plan->file, window->start, window->start + window->targets + 1, sequence,
                     plan->boundaries, tokens + at, targets + at, starts + at);
    }
    model_losses losses;
    status = model_evaluate(m, n, tokens, targets, &losses,
                            &e.loads[(size_t)domain * (size_t)e.moe_layers]);
    if (!status) status = add_sequences(m, config->experts, domain, n, &e);
    if (status) break;
    score_add(&e.domain[domain], &losses);
    score_add(&e.all, &losses);
  }
  model_set_starts(m, NULL);
  free(tokens);
  phibal_loads *sum = &e.loads[(size_t)e.domains * (size_t)e.moe_layers];
  for (int32_t i = 0; !status && i < e.domains * e.moe_layers; i++)
    status = phibal_loads_add(&sum[i % e.moe_layers], &e.loads[i]);
  if (status) {
    evaluation_destroy(&e);
    return status;
  }
  e.seconds = seconds_now() - start;
  e.left_out = plan->examples.left_out;
  *result = e;
  return PHIBAL_OK;
}

const char *const balance_metric_names[BALANCE_METRICS] = {
    [MAXVIO_LOADS] = "maxvio_loads",   [MAXVIO_MEAN] = "maxvio_mean",
    [GINI_LOADS] = "gini_loads",       [GINI_MEAN] = "gini_mean",
    [ENTROPY_LOADS] = "entropy_loads", [ENTROPY_MEAN] = "entropy_mean"};

phibal_status balance_metrics_compute(const phibal_loads *loads, double metrics[BALANCE_METRICS]) {
  float mean[PHIBAL_MAX_EXPERTS];
  double counts[PHIBAL_MAX_EXPERTS], means[PHIBAL_MAX_EXPERTS];
  const int32_t experts = loads->experts;
  phibal_status status = phibal_loads_mean(loads, mean);
  for (int32_t e = 0; !status && e < experts; e++) {
    counts[e] = (double)loads->count[e];
    means[e] = (double)mean[e];
  }
  if (!status) status = phibal_maxvio_counts(experts, loads->count, &metrics[MAXVIO_LOADS]);
  if (!status) status = phibal_maxvio_mean(experts, mean, &metrics[MAXVIO_MEAN]);
  if (!status) status = phibal_gini(experts, counts, &metrics[GINI_LOADS]);
  if (!status) status = phibal_gini(experts, means, &metrics[GINI_MEAN]);
  if (!status) status = phibal_entropy(experts, counts, &metrics[ENTROPY_LOADS]);
  if (!status) status = phibal_entropy(experts, means, &metrics[ENTROPY_MEAN]);
  return status;
}

json_t *balance_metrics_json(const double metrics[BALANCE_METRICS]) {
  json_t *json = json_object();
  for (int i = 0; i < BALANCE_METRICS; i++)
    json_object_set_new(json, balance_metric_names[i], json_real(metrics[i]));
  return json;
}
