#include "result.h"
#include "formats/json_text.h"
#include "kernels/core/dd_elementary.h"
#include "moe/config/schedule.h"
#include <phibal/text.h>
#include <inttypes.h>
#include <string.h>

/* The key of (V6) beside those of balance_metric_names. */
#define SEQUENCES "maxvio_sequences"

static json_t *score_json(const evaluation_score *score) {
  if (!score->targets) return json_pack("{s:n, s:n, s:i}", "loss", "accuracy", "targets", 0);
  return json_pack("{s:f, s:f, s:I}", "loss", score->cross_entropy / (double)score->targets,
                   "accuracy", (double)score->correct / (double)score->targets, "targets",
                   (json_int_t)score->targets);
}

static json_t *float_array(const float *x, int32_t n) {
  json_t *array = json_array();
  for (int32_t i = 0; i < n; i++) json_array_append_new(array, json_real((double)x[i]));
  return array;
}

/* The frequencies of one domain in one layer are its routed-token ratios. */
static phibal_status ratios_json(const evaluation *e, int32_t layer, json_t *to) {
  for (int32_t d = 0; d < e->domains; d++) {
    const phibal_loads *loads = evaluation_loads(e, d, layer);
    if (!loads->tokens) {
      json_array_append_new(to, json_null());
      continue;
    }
    float frequency[PHIBAL_MAX_EXPERTS];
    phibal_status status = phibal_loads_frequency(loads, frequency);
    if (status) return status;
    json_array_append_new(to, float_array(frequency, loads->experts));
  }
  return PHIBAL_OK;
}

static phibal_status layer_json(const phibal_loads *loads, int32_t index,
                                double metrics[BALANCE_METRICS], json_t **json) {
  float frequency[PHIBAL_MAX_EXPERTS], mean[PHIBAL_MAX_EXPERTS];
  phibal_status status = balance_metrics_compute(loads, metrics);
  if (!status) status = phibal_loads_frequency(loads, frequency);
  if (!status) status = phibal_loads_mean(loads, mean);
  if (status) return status;
  *json = balance_metrics_json(metrics);
  json_object_set_new(*json, "layer", json_integer(index));
  json_object_set_new(*json, "frequency", float_array(frequency, loads->experts));
  json_object_set_new(*json, "mean_probability", float_array(mean, loads->experts));
  return PHIBAL_OK;
}

/* Adds 1/layers of each metric to the mean; entropy is worst where it is smallest. */
static void gather(const double *metrics, int32_t layers, bool first, double *mean, double *worst) {
  for (int i = 0; i < BALANCE_METRICS; i++) {
    bool smallest = i == ENTROPY_LOADS || i == ENTROPY_MEAN;
    bool worse = smallest ? metrics[i] < worst[i] : metrics[i] > worst[i];
    if (first || worse) worst[i] = metrics[i];
    mean[i] += metrics[i] / layers;
  }
}

phibal_status result_evaluation(const evaluation *e, const run_config *config,
                                const token_file *file, json_t **json) {
  json_t *domains = json_array(), *layers = json_array(), *ratios = json_array();
  double mean[BALANCE_METRICS] = {0}, worst[BALANCE_METRICS] = {0};
  double sequences = 0, worst_sequences = 0; /* (V6), mean and worst over layers */
  phibal_status status = PHIBAL_OK;
  for (int32_t d = 0; d < e->domains; d++) {
    json_t *score = score_json(&e->domain[d]);
    json_object_set_new(score, "name", json_text(file->domain_names[d]));
    json_array_append_new(domains, score);
  }
  for (int32_t l = 0; !status && l < e->moe_layers; l++) {
    double metrics[BALANCE_METRICS];
    json_t *layer = NULL, *by_domain = json_array();
    status = layer_json(evaluation_loads(e, e->domains, l), config->model.dense_layers + l, metrics,
                        &layer);
    if (!status) status = ratios_json(e, l, by_domain);
    if (!status) gather(metrics, e->moe_layers, l == 0, mean, worst);
    const double single = evaluation_sequence_maxvio(e, e->domains, l);
    sequences += single / e->moe_layers;
    if (single > worst_sequences) worst_sequences = single;
    if (layer) json_object_set_new(layer, SEQUENCES, json_real(single));
    if (layer) json_array_append_new(layers, layer);
    json_array_append_new(ratios, by_domain);
  }
  json_t *all = score_json(&e->all);
  json_object_set_new(all, "seconds", json_real(e->seconds));
  if (file->learned) json_object_set_new(all, "left_out", json_integer(e->left_out));
  json_object_set_new(all, "domains", domains);
  json_object_set_new(all, "layers", layers);
  if (e->moe_layers) {
    json_t *of_mean = balance_metrics_json(mean), *of_worst = balance_metrics_json(worst);
    json_object_set_new(of_mean, SEQUENCES, json_real(sequences));
    json_object_set_new(of_worst, SEQUENCES, json_real(worst_sequences));
    json_object_set_new(all, "mean", of_mean);
    json_object_set_new(all, "worst", of_worst);
  }
  json_object_set_new(all, "routed_token_ratio", ratios);
  if (status)
    json_decref(all);
  else
    *json = all;
  return status;
}

static void add_perplexity(json_t *score) {
  json_t *loss = json_object_get(score, "loss");
  json_object_set_new(score, "perplexity",
                      json_is_real(loss)
                          ? json_real(core_dd_exp(core_dd_from(json_real_value(loss))).hi)
                          : json_null());
}

phibal_status result_details(const evaluation *e, json_t *json) {
  size_t i;
  json_t *domain, *balance = json_array();
  add_perplexity(json);
  json_array_foreach(json_object_get(json, "domains"), i, domain) add_perplexity(domain);
  phibal_status status = PHIBAL_OK;
  for (int32_t l = 0; l < e->moe_layers && !status; l++) {
    json_t *row = json_array();
    json_array_append_new(balance, row);
    for (int32_t d = 0; d < e->domains && !status; d++) {
      const phibal_loads *loads = evaluation_loads(e, d, l);
      double metrics[BALANCE_METRICS];
      if (loads->tokens) status = balance_metrics_compute(loads, metrics);
      if (status) break;
      json_t *balanced = loads->tokens ? balance_metrics_json(metrics) : json_null();
      if (loads->tokens)
        json_object_set_new(balanced, SEQUENCES, json_real(evaluation_sequence_maxvio(e, d, l)));
      json_array_append_new(row, balanced);
    }
  }
  json_object_set_new(json, "domain_balance", balance);
  return status;
}

static void format_key(const run_config *config, const char *dotted, char *text, size_t size) {
  run_config_format(config, config_key_get(dotted), text, size);
}

/* "3", "a=1/2,b=3", "default" */
static void format_parameter(const run_config *config, char *text, size_t size) {
  if (*config->parameters)
    snprintf(text, size, "%.*s", (int)size - 1, config->parameters);
  else
    format_key(config, "balance.parameter", text, size);
}

void result_label(const run_config *config, char *label, size_t size) {
  char method[32], parameter[64];
  const phibal_potential_info *info = phibal_potential_describe(config->balance.potential.id);
  format_key(config, "balance.method", method, sizeof method);
  format_parameter(config, parameter, sizeof parameter);
  if (config->balance.method == BALANCE_QUANTILE && config->balance.quantile_bins)
    snprintf(label, size, "%s, %d bins", method, config->balance.quantile_bins);
  else if (!balance_has_potential(config->balance.method))
    snprintf(label, size, "%s", method);
  else if (config->balance.external && strcmp(parameter, "default"))
    snprintf(label, size, "%s, %s %s", method, config->balance.external->name, parameter);
  else if (config->balance.external)
    snprintf(label, size, "%s, %s", method, config->balance.external->name);
  else if (*config->potential_file) /* read, but not loaded: nothing is trained here */
    snprintf(label, size, "%s, %.90s", method, config->potential_file);
  else if (*info->parameter)
    snprintf(label, size, "%s, %s %s=%s", method, info->name, info->parameter, parameter);
  else
    snprintf(label, size, "%s, %s", method, info->name);
  char shown[128];
  phibal_text_show(label, shown, sizeof shown < size ? sizeof shown : size);
  strcpy(label, shown);
}

static json_t *seconds_json(const run_totals *t) {
  const model_times *m = &t->model;
  const double named = m->embedding + m->attention + m->router + m->permutation + m->experts +
                       m->head + t->data_seconds + t->optimizer_seconds;
  return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "router", m->router,
                   "permutation", m->permutation, "experts", m->experts, "attention", m->attention,
                   "embedding", m->embedding, "head", m->head, "optimizer", t->optimizer_seconds,
                   "data", t->data_seconds, "other", t->step_seconds - named, "steps",
                   t->step_seconds);
}

/* The bigram entropies beside the losses: of the whole validation text, and by domain. They say
   nothing about a loss that is not of all of it. */
static phibal_status add_bigrams(const token_file *file, json_t *validation) {
  double nats;
  json_object_set_new(validation, "file_tokens", json_integer(file->tokens));
  if (file->learned) return PHIBAL_OK;
  phibal_status status = token_file_bigram_entropy(file, -1, &nats);
  if (status) return status;
  json_object_set_new(validation, "bigram_entropy", json_real(nats));
  size_t d;
  json_t *domain;
  json_array_foreach(json_object_get(validation, "domains"), d, domain) {
    /* A domain may have no pair at all; then there is no entropy to print. */
    bool known = !token_file_bigram_entropy(file, (int32_t)d, &nats);
    json_object_set_new(domain, "bigram_entropy", known ? json_real(nats) : json_null());
  }
  return PHIBAL_OK;
}

phibal_status result_build(const run_config *config, const run_totals *totals,
                           const mixture_examples *examples, const char *digest,
                           const evaluation *final, const token_file *validation, json_t **json) {
  char label[128], parameter[CONFIG_TEXT_MAX];
  result_label(config, label, sizeof label);
  format_parameter(config, parameter, sizeof parameter);
  const phibal_potential_info *potential = phibal_potential_describe(config->balance.potential.id);
  const model_potential *external = config->balance.external;
  const balance_method method = config->balance.method;
  const bool has_loss =
      !balance_sets_bias(method) && method != BALANCE_NONE && method != BALANCE_DENSE;
  json_t *eta =
      balance_has_potential(method) ? json_real((double)config->balance.eta) : json_null();
  json_t *alpha = has_loss ? json_real(config->balance.alpha) : json_null();
  int64_t total, active;
  model_count(&config->model, method, &total, &active);
  json_t *result = json_pack(
      "{s:s, s:s, s:{s:o, s:s}, s:o, s:o, s:I, s:I, s:I, s:b, s:{s:I, s:I}, s:{s:i, s:i}}", "name",
      config->name, "label", label, "potential", "name",
      json_text(external ? external->name : potential->name), "parameter", parameter, "eta", eta,
      "alpha", alpha, "seed", (json_int_t)config->training.seed, "steps", (json_int_t)totals->steps,
      "steps_planned", (json_int_t)config->training.steps, "stopped", totals->stopped, "parameters",
      "total", (json_int_t)total, "active", (json_int_t)active, "routing", "experts",
      config->model.experts, "active", config->model.active);
  if (!result) return phibal_status_set(PHIBAL_ERROR_MEMORY, "result.json: out of memory");
  json_object_set_new(result, "digest", json_string(digest));
  if (external) {
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, external->hash);
    json_t *from = json_object_get(result, "potential");
    json_object_set_new(from, "file", json_text(config->potential_file));
    json_object_set_new(from, "kernel_hash", json_string(hash));
  }
  double rate = totals->step_seconds > 0 ? (double)totals->tokens / totals->step_seconds : 0;
  json_object_set_new(result, "training",
                      json_pack("{s:f, s:I, s:f, s:f, s:f, s:i, s:i}", "last_loss", totals->loss,
                                "tokens", (json_int_t)totals->tokens, "seconds",
                                totals->step_seconds, "evaluation_seconds",
                                totals->evaluation_seconds, "tokens_per_second", rate, "threads",
                                (int)totals->threads, "ranks", (int)totals->ranks));
  if (examples->windows)
    json_object_set_new(json_object_get(result, "training"), "left_out",
                        json_integer(examples->left_out));
  if (config->training.precision != PRECISION_BINARY32) {
    char precision[32];
    format_key(config, "training.precision", precision, sizeof precision);
    json_object_set_new(result, "precision", json_string(precision));
  }
  schedule plans;
  phibal_status status = schedule_read(config->training.continued, config->training.steps, &plans);
  json_t *earlier = json_array();
  for (int32_t i = 0; !status && i < plans.earlier; i++)
    json_array_append_new(earlier, json_pack("{s:I, s:I}", "steps", (json_int_t)plans.plan[i].steps,
                                             "until", (json_int_t)plans.plan[i].until));
  json_object_set_new(result, "schedule",
                      json_pack("{s:I, s:o}", "warmup_steps",
                                (json_int_t)schedule_warmup(&plans, &config->optimizer),
                                "earlier_plans", earlier));
  if (method == BALANCE_PHI) {
    char track[32];
    format_key(config, "balance.track", track, sizeof track);
    json_object_set_new(result, "track", json_string(track));
  }
  json_object_set_new(result, "seconds", seconds_json(totals));
  if (final && !status) {
    json_t *evaluated = NULL;
    status = result_evaluation(final, config, validation, &evaluated);
    if (!status) status = add_bigrams(validation, evaluated);
    if (evaluated) json_object_set_new(result, "validation", evaluated);
  }
  if (status)
    json_decref(result);
  else
    *json = result;
  return status;
}
