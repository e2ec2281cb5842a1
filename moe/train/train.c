#include "train.h"
#include "moe/machine/clock.h"
#include "moe/data/mixture.h"
#include "moe/device/device.h"
#include "moe/plan/estimate.h"
#include "formats/file.h"
#include "moe/hf/hf.h"
#include "result.h"
#include "routes.h"
#include "run_data.h"
#include "run_folder.h"
#include "moe/config/schedule.h"
#include "sharding.h"
#include "trained.h"
#include <math.h>
#include <omp.h>
#include <phibal/environment.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct trainer {
  const run_config *config;
  const train_options *options;
  corpus train;
  token_file validation;
  mixture mixture;
  evaluation_plan plan, final_plan; /* null windows: no validation */
  run_folder folder;
  model *model;
  optimizer optimizer;
  int32_t *tokens, *targets, *starts; /* [sequences][S], the global batch */
  run_totals totals;
  schedule schedule;
  parallel parallel;
  model_ranks ranks;
  sharding sharding;
  device *device; /* null: the CPU */
  lora lora;      /* none: the model's own weights are trained */
  int32_t own;    /* sequences of a global batch on this rank */
  /* Recorded routes: of the file that is replayed, and (on the first rank) that is written; of this
     rank's sequences of a step, [own][layers with experts][S][k] each, null where there is none. */
  routes_shape routes;
  routes_file replayed, recorded;
  uint16_t *given, *taken;
  unsigned char *records; /* [ranks + 1], of one sequence of each, and of this rank's */
} trainer;

static void trainer_destroy(trainer *t) {
  device_destroy(t->device);
  routes_close(&t->replayed);
  routes_close(&t->recorded);
  free(t->records);
  free(t->taken);
  free(t->given);
  free(t->tokens);
  optimizer_destroy(&t->optimizer);
  lora_destroy(&t->lora);
  if (t->model) model_destroy(t->model);
  sharding_destroy(&t->sharding);
  run_folder_close(&t->folder);
  evaluation_plan_destroy(&t->plan);
  evaluation_plan_destroy(&t->final_plan);
  token_file_close(&t->validation);
  mixture_destroy(&t->mixture);
  corpus_close(&t->train);
}

/* Of data that cannot be opened: what the run that is resumed had there. */
static phibal_status expected(const trainer *t, phibal_status status, const char *key,
                              const char *option) {
  char had[1024] = "";
  if (t->options->from) checkpoint_data_text(t->options->from, key, had, sizeof had);
  if (!status || !*had) return status;
  return phibal_status_set(status, "data.%s: %s; the run that is resumed had %s (%s)", key,
                           phibal_status_message(), had, option);
}

static phibal_status open_data(trainer *t) {
  const run_config *c = t->config;
  if (!*c->data.train)
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "no data: give a token file with --data (or data.train); 'phibal data' "
        "makes them");
  phibal_status status = run_data_open_training(c, &t->train);
  if (status) return expected(t, status, "train", "--data says where it is now");
  bool examples = false;
  for (int32_t i = 0; i < t->train.shards; i++) examples |= t->train.shard[i].learned != NULL;
  if (!examples && t->train.tokens <= c->model.sequence)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "data.train '%s' holds %lld tokens: a sequence of %d and the token "
                             "after it do not fit (model.sequence)",
                             c->data.train, (long long)t->train.tokens, c->model.sequence);
  status = mixture_create(&t->train, c->model.sequence, (uint64_t)c->training.seed, c->data.mixture,
                          c->data.boundaries, &t->mixture);
  if (status) return phibal_status_set(status, "data.train: %s", phibal_status_message());
  if (c->data.change_step) {
    /* At most 10^12 steps of 2^20 sequences. */
    status = mixture_change(&t->mixture, c->data.change_step * c->batch.sequences,
                            c->data.changed_mixture);
    if (status)
      return phibal_status_set(status, "data.changed_mixture: %s", phibal_status_message());
  }
  if (!*c->data.validation) return PHIBAL_OK;
  status = run_data_open(c->data.validation, "data.validation", c, &t->validation);
  status = expected(t, status, "validation",
                    "--validation says where it is now; --validation '' continues without it");
  if (!status)
    status = evaluation_plan_create(&t->validation, c->model.sequence, c->evaluation.sequences,
                                    c->data.boundaries, &t->plan);
  if (!status)
    status =
        evaluation_plan_create(&t->validation, c->model.sequence, c->evaluation.final_sequences,
                               c->data.boundaries, &t->final_plan);
  return status;
}

static checkpoint_state state_of(trainer *t) {
  return (checkpoint_state){.config = t->config,
                            .train = &t->train,
                            .validation = &t->validation,
                            .model = t->model,
                            .optimizer = &t->optimizer,
                            .totals = &t->totals,
                            .lora = t->lora.count ? &t->lora : NULL,
                            .sharding = &t->sharding};
}

/* Sequences of one call on this rank. */
static int32_t micro_sequences(const trainer *t) {
  const int32_t most = t->config->batch.micro_sequences;
  return t->own < most ? t->own : most;
}

/* The weights that are kept, and what is trained in their place. */
static phibal_status adapt(trainer *t) {
  const run_config *c = t->config;
  hf_checkpoint from;
  const lora_config config = {c->lora.rank, c->lora.alpha, c->lora.targets, c->lora.dropout};
  if (folder_has(c->training.from, "config.yaml") && !hf_is_checkpoint(c->training.from))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "lora.rank: adapters are for a Hugging Face model, and '%s' is a "
                             "phibal model; 'phibal export' converts it",
                             c->training.from);
  phibal_status status = hf_open(c->training.from, c->training.ignore_keys, &from);
  if (!status) status = hf_restore(&from, &c->model, t->model);
  if (!status)
    status = lora_create(&config, from.config.architecture, &c->model, t->model,
                         (uint64_t)c->training.seed, &t->lora);
  if (!status && config.dropout > 0)
    status = lora_dropout_create(&t->lora, config.dropout, (uint64_t)c->training.seed,
                                 (int64_t)micro_sequences(t) * c->model.sequence);
  if (!status)
    status = optimizer_create(&c->optimizer, 2 * t->lora.count, t->lora.tensors,
                              t->lora.parameter_count, &t->optimizer);
  hf_close(&from);
  return status;
}

/* The gradient's norm, of what is trained. */
static phibal_status gradient_norm(trainer *t, double *norm) {
  if (!t->lora.count) return sharding_norm(&t->sharding, &t->optimizer, norm);
  phibal_status status = PHIBAL_OK;
  if (t->lora.dropout > 0)
    status = parallel_sum_floats(&t->parallel, t->lora.gradients, t->lora.parameter_count);
  if (status) return status;
  lora_gradients(&t->lora);
  return optimizer_norm(&t->optimizer, t->lora.gradients, norm);
}

static void update(trainer *t, double lr, double scale) {
  if (t->lora.count) {
    optimizer_update(&t->optimizer, lr, scale, t->lora.gradients, t->lora.parameters);
    lora_apply(&t->lora);
  } else {
    optimizer_update(&t->optimizer, lr, scale, model_gradients(t->model),
                     model_parameters(t->model));
    sharding_gather_weights(&t->sharding);
  }
}

/* Routes to be replayed and recorded. Before anything is written: what may go wrong. */
static phibal_status open_routes(trainer *t) {
  const run_config *c = t->config;
  const char *record = c->training.record_routes, *replay = c->training.replay_routes;
  phibal_status status = PHIBAL_OK;
  t->routes = routes_shape_of(c);
  if (!*record && !*replay) return PHIBAL_OK;
  if (t->routes.layers < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "training.%s: no layer has experts",
                             *record ? "record_routes" : "replay_routes");
  if (*replay)
    status = routes_open(replay, &t->routes, t->totals.steps, c->training.steps, &t->replayed);
  if (status)
    return phibal_status_set(status, "training.replay_routes: %s", phibal_status_message());
  if (*record && !t->parallel.rank)
    status = routes_may_create(record, t->options->overwrite || t->options->resume, &t->replayed);
  const size_t n = (size_t)t->own * (size_t)routes_of_sequence(&t->routes);
  const size_t bytes = routes_record_bytes(&t->routes) * (size_t)(t->parallel.ranks + 1);
  if (!status && ((*replay && !(t->given = malloc(n * sizeof *t->given))) ||
                  (*record && !(t->taken = malloc(n * sizeof *t->taken))) ||
                  (*record && !(t->records = malloc(bytes)))))
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the routes of a step");
  return status;
}

/* The file that is written, on the first rank. */
static phibal_status begin_recording(trainer *t) {
  const char *record = t->config->training.record_routes;
  const train_observer *see = &t->options->observer;
  phibal_status status = PHIBAL_OK;
  if (!t->taken) return PHIBAL_OK;
  if (t->options->resume && !access(record, F_OK)) {
    status = routes_continue(record, &t->routes, t->totals.steps, &t->recorded);
  } else {
    if (t->totals.steps && see->note) {
      char line[CONFIG_TEXT_MAX + 128];
      snprintf(line, sizeof line, "training.record_routes: '%s' is a new file, from step %lld on",
               record, (long long)t->totals.steps + 1);
      see->note(see->context, line);
    }
    status = routes_create(record, &t->routes, t->totals.steps, &t->recorded);
  }
  return status ? phibal_status_set(status, "training.record_routes: %s", phibal_status_message())
                : PHIBAL_OK;
}

static phibal_status trainer_create(trainer *t) {
  const run_config *c = t->config;
  if (c->training.threads) omp_set_num_threads(c->training.threads);
  t->totals.threads = omp_get_max_threads();
  const train_options *o = t->options;
  phibal_status status = phibal_environment_check("before the first step");
  if (status) return status;
  const char *began = phibal_environment_reset_threads();
  if (began && o->observer.note) {
    char line[128];
    snprintf(line, sizeof line, "threads of OpenMP began with %s; this has been reset", began);
    o->observer.note(o->observer.context, line);
  }
  t->parallel = o->parallel ? *o->parallel : (parallel){.ranks = 1};
  t->totals.ranks = t->parallel.ranks;
  t->own = c->batch.sequences / t->parallel.ranks;
  status = schedule_read(c->training.continued, c->training.steps, &t->schedule);
  if (status) return status;
  if (!o->device && c->training.precision != PRECISION_BINARY32)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "training.precision: bfloat16 needs a device (--device cuda)");
  else if (c->model.recompute != RECOMPUTE_NONE && c->lora.rank && c->lora.dropout > 0)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "training.recompute does not support lora.dropout yet");
  else if (c->batch.sequences % t->parallel.ranks)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "batch.sequences: %d sequences cannot be divided evenly among %d "
                               "ranks",
                               c->batch.sequences, t->parallel.ranks);
  if (!status) status = sharding_create(c, &t->parallel, &t->sharding);
  if (!status) status = open_data(t);
  if (!status) status = run_estimate_check(c, t->parallel.ranks);
  if (!status)
    status =
        model_create_part(&c->model, &c->balance, micro_sequences(t), (uint64_t)c->training.seed,
                          sharding_expert_ranks(&t->sharding), &t->model);
  if (!status) status = sharding_divide(&t->sharding, t->model);
  t->ranks =
      (model_ranks){&t->parallel, parallel_add_loads, parallel_sum_integer, parallel_sum_integers};
  if (!status && t->parallel.ranks > 1) model_set_ranks(t->model, &t->ranks);
  if (!status && c->lora.rank)
    status = adapt(t);
  else if (!status)
    status =
        optimizer_create_parts(&c->optimizer, model_tensor_count(t->model), model_tensors(t->model),
                               model_parameter_count(t->model), t->sharding.parts,
                               t->sharding.parts ? t->sharding.run_count : 0, &t->optimizer);
  size_t n = (size_t)c->batch.sequences * (size_t)c->model.sequence;
  if (!status && !(t->tokens = malloc(3 * n * sizeof *t->tokens)))
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a batch of %zu tokens", n);
  t->targets = t->tokens ? t->tokens + n : NULL;
  t->starts = t->tokens ? t->targets + n : NULL;
  checkpoint_state state = state_of(t);
  if (!status && o->from)
    status = checkpoint_restore(o->from, &state);
  else if (!status && *c->training.from && !c->lora.rank)
    status = trained_begin(c, t->model, &t->sharding);
  if (!status && o->from && o->observer.note && t->parallel.rank == 0 &&
      checkpoint_validation_changed(o->from, &t->validation)) {
    char had[1024], note[2 * CONFIG_TEXT_MAX + 256];
    checkpoint_data_text(o->from, "validation", had, sizeof had);
    snprintf(note, sizeof note,
             "data.validation '%.1000s' differs from the validation text before, %s: evaluations "
             "before and after are not comparable",
             c->data.validation, had);
    o->observer.note(o->observer.context, note);
  }
  if (!status) status = open_routes(t);
  const int32_t micro = micro_sequences(t);
  if (!status) { /* the device asks */
    model_set_starts(t->model, t->mixture.apart ? t->starts : NULL);
    model_set_routes(t->model, t->given, t->taken);
  }
  if (!status && o->device)
    status = device_create(o->device, t->model, t->lora.count ? &t->lora : NULL, &t->optimizer,
                           c->training.precision, (t->own + micro - 1) / micro,
                           t->parallel.launched ? &t->parallel : NULL, &t->device);
  const train_observer *see = &o->observer;
  if (!status && o->device && c->training.precision == PRECISION_BFLOAT16 && see->attention &&
      t->parallel.rank == 0)
    see->attention(see->context, device_attention_by(t->device));
  /* Last, so that a failure above leaves no run folder behind, and one that is there as it was. */
  if (!status && t->parallel.rank == 0)
    status = o->resume ? run_folder_continue(o->out, t->totals.steps, c, &t->folder)
                       : run_folder_create(o->out, o->overwrite, c, &t->folder);
  if (!status && t->parallel.rank == 0) status = begin_recording(t);
  return status;
}

static void add_times(model_times *to, const model_times *from) {
  to->embedding += from->embedding;
  to->attention += from->attention;
  to->router += from->router;
  to->permutation += from->permutation;
  to->experts += from->experts;
  to->head += from->head;
  to->total += from->total;
}

/* Reads the next global batch; returns what it holds. */
static model_batch read_batch(trainer *t) {
  const int32_t sequences = t->config->batch.sequences, sequence = t->config->model.sequence;
  for (int32_t i = 0; i < sequences; i++) {
    const size_t at = (size_t)i * (size_t)sequence;
    mixture_sequence(&t->mixture, t->totals.sequences++, t->tokens + at, t->targets + at,
                     t->starts + at);
  }
  return model_batch_count((int64_t)sequences * sequence, t->tokens, t->targets);
}

/* The recorded experts of this rank's part of the batch of `step`, 0 .. steps - 1. */
static phibal_status read_routes(trainer *t, int64_t step) {
  const int32_t first = t->parallel.rank * t->own;
  phibal_status status = PHIBAL_OK;
  for (int32_t i = 0; t->given && i < t->own && !status; i++)
    status = routes_read(&t->replayed, step, first + i,
                         t->tokens + (size_t)(first + i) * (size_t)t->config->model.sequence,
                         t->given + i * routes_of_sequence(&t->routes));
  return status;
}

/* Those that a step has taken, of all ranks, to the file. The last sequence comes last, so that a
   step is whole when its place is full. */
static phibal_status write_routes(trainer *t, int64_t step) {
  const int32_t first = t->parallel.rank * t->own, ranks = t->parallel.ranks;
  const size_t bytes = routes_record_bytes(&t->routes);
  unsigned char *own = t->records + bytes * (size_t)ranks;
  phibal_status status = PHIBAL_OK;
  for (int32_t i = 0; t->taken && i < t->own && !status; i++) {
    const size_t at = (size_t)(first + i) * (size_t)t->config->model.sequence;
    routes_record(&t->routes, t->tokens + at, t->taken + i * routes_of_sequence(&t->routes), own);
    const char *failure = NULL;
    if (ranks > 1)
      failure = parallel_gather(&t->parallel, own, bytes, t->records);
    else
      memcpy(t->records, own, bytes);
    if (failure) return phibal_status_set(PHIBAL_ERROR_IO, "training.record_routes: %s", failure);
    for (int32_t r = 0; r < ranks && !t->parallel.rank && !status; r++)
      status = routes_write(&t->recorded, step, r * t->own + i, t->records + bytes * (size_t)r);
  }
  return status;
}

/* Of all ranks. */
static void sum_losses(const trainer *t, model_losses *sum) {
  double sums[] = {sum->cross_entropy, sum->balance, sum->z};
  parallel_sum_doubles(&t->parallel, sums, 3);
  sum->cross_entropy = sums[0], sum->balance = sums[1], sum->z = sums[2];
  parallel_sum_integer(&t->parallel, &sum->correct);
  parallel_sum_integer(&t->parallel, &sum->targets);
  parallel_sum_integer(&t->parallel, &sum->routes);
  parallel_sum_integer(&t->parallel, &sum->dropped);
}

/* Forward and backward of the whole global batch, micro-batch by micro-batch. */
static phibal_status compute_gradient(trainer *t, model_batch batch, model_losses *sum) {
  const run_config *c = t->config;
  *sum = (model_losses){0};
  phibal_status status = model_step_begin(t->model, batch);
  const int32_t first = t->parallel.rank * t->own, micro = micro_sequences(t);
  const int64_t read = t->totals.sequences - c->batch.sequences; /* before this batch */
  lora_step_begin(&t->lora);
  for (int32_t i = 0; !status && i < t->own; i += micro) {
    const int32_t n = t->own - i < micro ? t->own - i : micro;
    const size_t offset = (size_t)(first + i) * (size_t)c->model.sequence;
    model_losses losses;
    model_set_starts(t->model, t->mixture.apart ? t->starts + offset : NULL);
    model_set_adapters(t->model, t->lora.dropout > 0 ? &t->lora.adapters : NULL,
                       (read + first + i) * c->model.sequence);
    const int64_t routes = i * routes_of_sequence(&t->routes);
    model_set_routes(t->model, t->given ? t->given + routes : NULL,
                     t->taken ? t->taken + routes : NULL);
    status = model_forward_backward(t->model, n, t->tokens + offset, t->targets + offset, &losses);
    if (status) break;
    sum->cross_entropy += losses.cross_entropy;
    sum->correct += losses.correct;
    sum->targets += losses.targets;
    sum->balance += losses.balance;
    sum->z += losses.z;
    sum->routes += losses.routes;
    sum->dropped += losses.dropped;
  }
  if (!status) status = model_step_finish(t->model);
  if (status) return status;
  sum_losses(t, sum);
  return sharding_sum_gradients(&t->sharding);
}

/* The same on the device, and the update of the parameters. */
static phibal_status device_step(trainer *t, model_batch batch, double lr, model_losses *sum,
                                 double *norm) {
  const run_config *c = t->config;
  const int32_t first = t->parallel.rank * t->own, micro = micro_sequences(t);
  phibal_status status = device_step_begin(t->device, batch);
  for (int32_t i = 0; !status && i < t->own; i += micro) {
    const int32_t n = t->own - i < micro ? t->own - i : micro;
    const size_t offset = (size_t)(first + i) * (size_t)c->model.sequence;
    const int64_t routes = i * routes_of_sequence(&t->routes);
    model_set_starts(t->model, t->mixture.apart ? t->starts + offset : NULL);
    model_set_routes(t->model, t->given ? t->given + routes : NULL,
                     t->taken ? t->taken + routes : NULL);
    status = device_forward_backward(t->device, n, t->tokens + offset, t->targets + offset);
  }
  if (!status) status = device_step_finish(t->device, lr, sum, norm);
  if (!status) sum_losses(t, sum);
  return status;
}

/* The host's model and optimizer as they are on the device. */
static phibal_status fetch(const trainer *t) {
  return t->device ? device_fetch(t->device) : PHIBAL_OK;
}

static phibal_status check_finite(const trainer *t, const model_losses *losses) {
  const struct {
    const char *name;
    double value;
  } all[] = {{"loss", losses->cross_entropy},
             {"balancing loss", losses->balance},
             {"router z-loss", losses->z}};
  const char *origin = model_origin(t->model);
  for (int i = 0; i < 3; i++)
    if (!isfinite(all[i].value))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "the %s is %f%s%s; a lower optimizer.peak_lr or optimizer.clip "
                               "may help",
                               all[i].name, all[i].value, *origin ? ": " : "", origin);
  return PHIBAL_OK;
}

/* The gradient and the update by it, which begins at *computed. */
static phibal_status host_step(trainer *t, model_batch batch, double lr, model_losses *losses,
                               double *norm, double *computed) {
  phibal_status status = compute_gradient(t, batch, losses);
  if (!status) status = check_finite(t, losses);
  *computed = seconds_now();
  if (!status) status = gradient_norm(t, norm);
  if (!status) update(t, lr, clip_scale(t->config->optimizer.clip, *norm));
  return status;
}

/* One optimizer step: step = 0 .. steps-1. */
static phibal_status train_step(trainer *t, int64_t step, train_progress *progress) {
  const run_config *c = t->config;
  const double start = seconds_now();
  const model_batch batch = read_batch(t);
  const double read = seconds_now();
  const double lr = schedule_rate(&t->schedule, &c->optimizer, step);
  model_losses losses;
  double norm = 0, computed = read;
  phibal_status status = read_routes(t, step);
  if (!status)
    status = t->device ? device_step(t, batch, lr, &losses, &norm)
                       : host_step(t, batch, lr, &losses, &norm, &computed);
  if (status) return status;
  const double end = seconds_now();
  if (t->device) computed = end;

  run_totals *totals = &t->totals;
  totals->steps = step + 1;
  totals->tokens += (int64_t)c->batch.sequences * c->model.sequence;
  totals->data_seconds += read - start;
  totals->optimizer_seconds += end - computed;
  totals->step_seconds += end - start;
  add_times(&totals->model, model_step_times(t->model));
  totals->loss = losses.cross_entropy / (double)losses.targets;
  *progress = (train_progress){
      .step = step + 1,
      .steps = c->training.steps,
      .loss = totals->loss,
      .balance = losses.balance,
      .z = losses.z,
      .limited = losses.routes > 0,
      .dropped = losses.routes > 0 ? (double)losses.dropped / (double)losses.routes : 0,
      .lr = lr,
      .gradient_norm = norm};
  progress->tokens_per_second = (double)totals->tokens / totals->step_seconds;
  progress->seconds_left =
      totals->step_seconds / (double)totals->steps * (double)(c->training.steps - step - 1);
  return PHIBAL_OK;
}

/* The step's balance, layer by layer; also gives the mean MaxVio. */
static phibal_status step_layers(const trainer *t, double *maxvio, json_t **layers) {
  const int32_t n = model_moe_layers(t->model);
  *layers = json_array();
  *maxvio = 0;
  for (int32_t i = 0; i < n; i++) {
    double m[BALANCE_METRICS];
    phibal_status status = balance_metrics_compute(model_step_loads(t->model, i), m);
    if (status) {
      json_decref(*layers);
      return status;
    }
    *maxvio += m[MAXVIO_LOADS] / n;
    json_array_append_new(*layers, balance_metrics_json(m));
  }
  return PHIBAL_OK;
}

static phibal_status log_step(trainer *t, const train_progress *p, json_t *layers) {
  if (t->parallel.rank) {
    json_decref(layers);
    return PHIBAL_OK;
  }
  json_t *line = json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "type", "step", "step",
                           (json_int_t)p->step, "loss", p->loss, "balance_loss", p->balance,
                           "z_loss", p->z, "lr", p->lr, "gradient_norm", p->gradient_norm,
                           "tokens_per_second", p->tokens_per_second, "layers", layers);
  if (line && p->limited) json_object_set_new(line, "dropped", json_real(p->dropped));
  return run_folder_log(&t->folder, line);
}

static phibal_status evaluate(trainer *t, const evaluation_plan *plan, int64_t step, bool logged,
                              evaluation *kept) {
  evaluation e;
  const run_config *c = t->config;
  /* The ranks that divide the experts with the first one lend them to it. */
  const bool lends = t->sharding.experts && t->parallel.rank < c->parallel.experts;
  if (t->parallel.rank && !lends) return PHIBAL_OK;
  phibal_status status = fetch(t);
  if (t->parallel.rank) return status ? status : model_serve_experts(t->model);
  if (!status) status = evaluation_run(t->model, &c->model, plan, micro_sequences(t), &e);
  if (t->sharding.experts) model_serve_end(t->model);
  if (status) return status;
  t->totals.evaluation_seconds += e.seconds;
  json_t *found = NULL;
  status = result_evaluation(&e, t->config, &t->validation, &found);
  if (!status && logged) {
    json_t *line = json_pack("{s:s, s:I}", "type", "evaluation", "step", (json_int_t)step);
    json_object_update(line, found);
    status = run_folder_log(&t->folder, line);
  }
  json_decref(found);
  if (!status && t->options->observer.evaluated)
    t->options->observer.evaluated(t->options->observer.context, step, &e);
  if (kept && !status)
    *kept = e;
  else
    evaluation_destroy(&e);
  return status;
}

/* Signals reach the ranks at different steps: they stop together. */
static int stop_asked(const trainer *t) {
  return parallel_max(&t->parallel, t->options->stop ? *t->options->stop : 0);
}

static phibal_status save(trainer *t) {
  const run_config *c = t->config;
  if (!c->checkpoint.keep || (t->parallel.rank && !sharding_is_divided(&t->sharding)))
    return PHIBAL_OK;
  checkpoint_state state = state_of(t);
  phibal_status status = fetch(t);
  if (!status) status = model_check_weights(t->model);
  /* What a run goes on from has its routes. */
  if (!status) status = routes_sync(&t->recorded);
  if (!status) status = checkpoint_save(t->folder.path, &state, c->checkpoint.keep);
  if (!status) return PHIBAL_OK;
  return phibal_status_set(status, "the checkpoint of step %lld: %s; older ones are kept",
                           (long long)t->totals.steps, phibal_status_message());
}

/* Nothing that was learned from data which changed is evaluated or saved: an older checkpoint is
   what the run goes on from. At the end the whole files are looked at. */
static phibal_status data_unchanged(trainer *t, bool whole) {
  const train_observer *see = &t->options->observer;
  phibal_status status = PHIBAL_OK;
  for (int32_t i = 0; i <= t->train.shards && !status; i++) {
    token_file *file = i < t->train.shards ? &t->train.shard[i] : &t->validation;
    bool replaced;
    status = token_file_unchanged(file, whole, &replaced);
    if (!replaced || file->reported) continue;
    file->reported = true;
    char line[CONFIG_TEXT_MAX + 128];
    snprintf(line, sizeof line,
             "'%s' was replaced or removed: the run continues with the file it opened, and cannot "
             "be resumed without it",
             file->stamp.path);
    if (see->note) see->note(see->context, line);
  }
  return status;
}

/* Tells how examples came into windows: some may be left out. */
static void print_packed(const trainer *t) {
  const train_observer *o = &t->options->observer;
  if (!o->packed || t->parallel.rank) return;
  const int32_t sequence = t->config->model.sequence;
  if (t->mixture.examples.windows)
    o->packed(o->context, "data.train", sequence, &t->mixture.examples);
  if (t->final_plan.examples.windows)
    o->packed(o->context, "data.validation", sequence, &t->final_plan.examples);
}

static phibal_status train_steps(trainer *t) {
  const run_config *c = t->config;
  const train_observer *observer = &t->options->observer;
  phibal_status status = PHIBAL_OK;
  int stop = stop_asked(t);
  for (int64_t step = t->totals.steps; !status && step < c->training.steps && !stop; step++) {
    train_progress progress = {.step = step + 1};
    json_t *layers = NULL;
    status = train_step(t, step, &progress);
    /* Nothing that was computed in another environment is logged, evaluated or saved. */
    if (!status) status = phibal_environment_check_threads("training");
    if (!status) status = step_layers(t, &progress.maxvio, &layers);
    if (!status) status = write_routes(t, step);
    /* What fails without a rank that has ended fails for that. */
    const char *lost = parallel_lost(&t->parallel);
    if (status || lost)
      return phibal_status_set(status ? status : PHIBAL_ERROR_IO, "step %lld: %s",
                               (long long)step + 1, lost ? lost : phibal_status_message());
    const bool last = step + 1 == c->training.steps;
    if ((step + 1) % c->training.log_every == 0 || last)
      status = log_step(t, &progress, layers);
    else
      json_decref(layers);
    if (!status && observer->step && !t->parallel.rank)
      observer->step(observer->context, &progress);
    if (!status && !last && t->plan.window && c->evaluation.every &&
        (step + 1) % c->evaluation.every == 0) {
      status = data_unchanged(t, false);
      if (!status) status = evaluate(t, &t->plan, step + 1, true, NULL);
    }
    /* Read once, so that what a stop has saved is where the run ends. */
    stop = stop_asked(t);
    const bool due = c->checkpoint.every && (step + 1) % c->checkpoint.every == 0;
    if (!status && (due || last || stop)) {
      status = data_unchanged(t, last || stop);
      if (!status) status = save(t);
      /* No device waits for another rank meanwhile: its patience has an end. */
      if (!status && t->device) parallel_barrier(&t->parallel);
    }
  }
  return status;
}

phibal_status train_run(const run_config *config, const train_options *options, json_t **result) {
  trainer t = {.config = config, .options = options};
  evaluation final = {0};
  if (balance_has_potential(config->balance.method) && *config->potential_file &&
      !config->balance.external)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "balance.potential: the kernel of the file '%s' is not loaded",
                             config->potential_file);
  phibal_status status = trainer_create(&t);
  if (!status) print_packed(&t);
  if (!status) status = train_steps(&t);
  t.totals.stopped = t.totals.steps < config->training.steps;
  const bool first = t.parallel.rank == 0;
  /* Asked of all ranks: the signal may have reached another one than the first. */
  const int stop = !status && t.totals.stopped ? stop_asked(&t) : 0;
  if (options->stopped_by) *options->stopped_by = stop;
  const bool evaluates = t.final_plan.window && (!stop || stop == TRAIN_STOP_EVALUATED);
  const bool evaluated = first && evaluates;
  if (!status && evaluates)
    status = evaluate(&t, &t.final_plan, t.totals.steps, !t.totals.stopped, &final);
  json_t *built = NULL;
  char digest[SHA256_TEXT];
  if (!status && (first || t.sharding.experts)) status = fetch(&t);
  if (!status) status = sharding_digest(&t.sharding, digest);
  if (!status && first)
    status = result_build(config, &t.totals, &t.mixture.examples, digest, evaluated ? &final : NULL,
                          &t.validation, &built);
  if (!status && first) status = run_folder_finish(&t.folder, built);
  if (status)
    json_decref(built);
  else
    *result = built;
  evaluation_destroy(&final);
  trainer_destroy(&t);
  return status;
}
