/* Whole runs on a small token file: what they write, that threads change nothing, how they stop. */
#include "moe/data/sampler.h"
#include "moe/report/report.h"
#include "moe/train/run_folder.h"
#include "moe/config/schedule.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(train, .init = train_case_create, .fini = train_case_remove);

static double loss_of(const json_t *lines, size_t line) {
  return number(json_array_get(lines, line), "loss");
}

/* 17 digits give binary64 back, so equal JSON is equal bits. */
Test(train, threads_change_no_bit) {
  static const char *const methods[] = {"phi",       "switch", "switch-global", "sequence",
                                        "loss-free", "none",   "dense"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    json_t *lines[2];
    for (int t = 0; t < 2; t++) {
      run_config config;
      char name[64];
      /* Large enough that the work is divided: 8192 router logits, 128 rows for an expert. */
      configure(&config, PAIRS("training.threads", t ? "2" : "1", "balance.method", methods[i],
                               "model.width", "48", "model.hidden", "40", "model.experts", "8",
                               "model.sequence", "64", "batch.sequences", "16",
                               "batch.micro_sequences", "8"));
      snprintf(name, sizeof name, "%s-%d", methods[i], t);
      json_decref(run(&config, name));
      lines[t] = metrics(name);
    }
    cr_expect_eq(json_array_size(lines[0]), 4, "three steps and an evaluation");
    cr_expect(json_equal(lines[0], lines[1]), "%s", methods[i]);
    json_decref(lines[0]), json_decref(lines[1]);
  }
}

/* The run's steps, computed here once more: which sequences, how the micro-batches add up, the
   rate, the norm, the update. Equal to the bit. */
Test(train, steps_are_what_they_should_be) {
  run_config config;
  configure(&config,
            PAIRS("training.seed", "5", "batch.micro_sequences", "3", "training.steps", "4"));
  json_decref(run(&config, "out"));
  json_t *lines = metrics("out");

  char path[256];
  path_to("train.tokens", path);
  token_file file;
  sampler order;
  model *m;
  optimizer o;
  cr_assert_eq(token_file_open(path, &file), PHIBAL_OK);
  cr_assert_eq(sampler_create(&file, SEQUENCE, 5, &order), PHIBAL_OK);
  cr_assert_eq(model_create(&config.model, &config.balance, 3, 5, &m), PHIBAL_OK);
  cr_assert_eq(optimizer_create(&config.optimizer, model_tensor_count(m), model_tensors(m),
                                model_parameter_count(m), &o),
               PHIBAL_OK);
  for (int step = 0; step < 4; step++) {
    int32_t tokens[4 * SEQUENCE], targets[4 * SEQUENCE];
    for (int i = 0; i < 4; i++)
      sampler_training_sequence(&order, 4 * step + i, tokens + i * SEQUENCE, targets + i * SEQUENCE,
                                NULL);
    const model_batch batch = model_batch_count(4 * SEQUENCE, tokens, targets);
    /* Three sequences, then the one that is left. */
    model_losses a, b;
    double norm;
    cr_assert_eq(model_step_begin(m, batch), PHIBAL_OK);
    cr_assert_eq(model_forward_backward(m, 3, tokens, targets, &a), PHIBAL_OK);
    cr_assert_eq(model_forward_backward(m, 1, tokens + 3 * SEQUENCE, targets + 3 * SEQUENCE, &b),
                 PHIBAL_OK);
    cr_assert_eq(model_step_finish(m), PHIBAL_OK);
    cr_assert_eq(optimizer_norm(&o, model_gradients(m), &norm), PHIBAL_OK);
    double lr = learning_rate(&config.optimizer, step, 4);
    optimizer_update(&o, lr, clip_scale(1.0, norm), model_gradients(m), model_parameters(m));
    const json_t *line = json_array_get(lines, (size_t)step);
    cr_expect_eq(number(line, "loss"), (a.cross_entropy + b.cross_entropy) / (double)batch.targets);
    cr_expect_eq(number(line, "balance_loss"), a.balance + b.balance);
    cr_expect_eq(number(line, "lr"), lr);
    cr_expect_eq(number(line, "gradient_norm"), norm);
  }
  optimizer_destroy(&o);
  model_destroy(m);
  token_file_close(&file);
  json_decref(lines);
}

/* A dense layer is not a MoE layer, and the summary is the mean and the worst of the MoE layers. */
Test(train, layers_and_their_summary) {
  run_config config;
  configure(&config, PAIRS("model.layers", "3", "model.dense_layers", "1"));
  json_t *result = run(&config, "out");
  json_t *validation = json_object_get(result, "validation");
  json_t *layers = json_object_get(validation, "layers");
  cr_assert_eq(json_array_size(layers), 2);
  const json_t *a = json_array_get(layers, 0), *b = json_array_get(layers, 1);
  cr_expect_eq((int)number(a, "layer"), 1);
  cr_expect_eq((int)number(b, "layer"), 2);
  for (int i = 0; i < BALANCE_METRICS; i++) {
    const char *name = balance_metric_names[i];
    double x = number(a, name), y = number(b, name);
    bool entropy = !strncmp(name, "entropy", 7);
    cr_expect_neq(x, y, "%s: a case that tells the layers apart", name);
    cr_expect_eq(number(json_object_get(validation, "mean"), name), x / 2 + y / 2, "%s", name);
    cr_expect_eq(number(json_object_get(validation, "worst"), name),
                 entropy ? fmin(x, y) : fmax(x, y), "%s", name);
    if (entropy) cr_expect_leq(x, log(4) * (1 + 1e-15));
  }
  json_decref(result);
}

/* What must matter does: seed, method, potential, eta, alpha, learning rate. The first step's loss
   depends on the seed only; the balancing loss and the third step's loss on the rest. */
Test(train, settings_reach_the_run) {
  static const char *const pairs[][4] = {
      {"training.seed", "2"},          {"balance.method", "switch"},
      {"balance.method", "none"},      {"balance.potential", "lp"},
      {"balance.eta", "0.2"},          {"balance.alpha", "0.3"},
      {"optimizer.peak_lr", "0.02"},   {"optimizer.clip", "0.01"},
      {"optimizer.weight_decay", "5"}, {"model.gate", "sigmoid"},
      {"balance.z_coefficient", "0.1"}};
  run_config config;
  configure(&config, NULL);
  json_decref(run(&config, "base"));
  json_t *base = metrics("base");
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char name[32];
    snprintf(name, sizeof name, "run%zu", i);
    configure(&config, PAIRS(pairs[i][0], pairs[i][1]));
    json_decref(run(&config, name));
    json_t *lines = metrics(name);
    bool seed_or_model = i == 0 || !strncmp(pairs[i][0], "model.", 6);
    cr_expect_eq(loss_of(base, 0) == loss_of(lines, 0), !seed_or_model, "%s", pairs[i][0]);
    cr_expect_neq(loss_of(base, 2), loss_of(lines, 2), "%s", pairs[i][0]);
    json_decref(lines);
  }
  json_decref(base);
}

Test(train, learns_and_reports) {
  run_config config;
  configure(&config, PAIRS("training.steps", "60", "training.log_every", "20", "evaluation.every",
                           "30", "evaluation.sequences", "2"));
  json_t *result = run(&config, "out");
  json_t *lines = metrics("out");
  /* Steps 20, 40, 60; an evaluation after 30 and the last one. */
  cr_assert_eq(json_array_size(lines), 5);
  static const int steps[] = {20, 30, 40, 60, 60};
  for (size_t i = 0; i < 5; i++)
    cr_expect_eq((int)number(json_array_get(lines, i), "step"), steps[i]);
  cr_expect_lt(loss_of(lines, 3), 0.8 * loss_of(lines, 0));

  json_t *validation = json_object_get(result, "validation");
  cr_expect_eq(number(validation, "loss"), loss_of(lines, 4));
  /* Every stretch of a domain predicts all of its 22 tokens but the first. */
  cr_expect_eq((int)number(validation, "targets"), 5 * 21);
  double sum = 0, targets = 0;
  size_t i;
  json_t *domain;
  json_array_foreach(json_object_get(validation, "domains"), i, domain) {
    cr_expect_eq((int)number(domain, "targets"), i ? 2 * 21 : 3 * 21);
    sum += number(domain, "loss") * number(domain, "targets");
    targets += number(domain, "targets");
  }
  cr_expect_float_eq(sum / targets, number(validation, "loss"), 1e-14);
  /* Ratios: each row sums to 1, and rows weighted by tokens give the layer's frequency. Six
     binary32 roundings of numbers below 1 err by less than 6 * 2^-25. */
  for (size_t layer = 0; layer < 2; layer++) {
    json_t *rows = json_array_get(json_object_get(validation, "routed_token_ratio"), layer);
    json_t *all =
        json_object_get(json_array_get(json_object_get(validation, "layers"), layer), "frequency");
    for (size_t e = 0; e < 4; e++) {
      double ratio[2];
      for (size_t d = 0; d < 2; d++)
        ratio[d] = json_number_value(json_array_get(json_array_get(rows, d), e));
      cr_expect_float_eq((3 * ratio[0] + 2 * ratio[1]) / 5,
                         json_number_value(json_array_get(all, e)), 6 * 0x1p-25);
    }
  }

  char path[256];
  path_to("out", path);
  json_t *read = NULL;
  cr_assert_eq(run_folder_result(path, &read), PHIBAL_OK);
  cr_expect(json_equal(read, result), "result.json holds what the run returned");
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  json_t *both[] = {result, read};
  cr_expect_eq(report_write(stream, 2, both, true), PHIBAL_OK);
  fclose(stream);
  cr_expect(strstr(text, "bigram entropy") && strstr(text, "MaxVio from mean probabilities") &&
            strstr(text, "falling"));
  free(text);
  json_decref(read), json_decref(lines), json_decref(result);
}

/* Runs on other data have other domains: a loss stands in the row of its own domain's name, and a
   run that lacks the domain has a dash there. */
Test(train, report_keeps_domains_apart) {
  json_t *a = json_pack("{s:s, s:{s:f}, s:{s:[{s:s,s:f},{s:s,s:f}]}}", "label", "none", "training",
                        "seconds", 1.0, "validation", "domains", "name", "prose", "loss", 1.25,
                        "name", "code", "loss", 1.5);
  json_t *b = json_pack("{s:s, s:{s:f}, s:{s:[{s:s,s:f},{s:s,s:f}]}}", "label", "none", "training",
                        "seconds", 1.0, "validation", "domains", "name", "verse", "loss", 2.25,
                        "name", "prose", "loss", 2.5);
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  json_t *both[] = {a, b};
  cr_assert_eq(report_write(stream, 2, both, false), PHIBAL_OK);
  fclose(stream);
  static const char *const rows[][3] = {{"\n  prose ", "1.2500", "2.5000"},
                                        {"\n  code ", "1.5000", "-"},
                                        {"\n  verse ", "-", "2.2500"}};
  for (size_t r = 0; r < 3; r++) {
    const char *row = strstr(text, rows[r][0]);
    cr_assert(row && !strstr(row + 1, rows[r][0]), "row%s once", rows[r][0]);
    char first[32], second[32];
    cr_assert_eq(sscanf(row, "%*s %31s %31s", first, second), 2);
    cr_expect_str_eq(first, rows[r][1]);
    cr_expect_str_eq(second, rows[r][2]);
  }
  free(text);
  json_decref(a), json_decref(b);
}

/* The share of routes beyond the capacity is in each step's line where there is one; the rest of
   the line does not depend on how many threads dropped them. Nothing is dropped of E C routes or
   fewer. */
Test(train, capacity_is_reported) {
  static const char *const policies[] = {"token-order", "slot-order", "lowest-gate"};
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
    for (int limited = 0; limited < 3; limited++) {
      static const char *const factors[] = {"0", "0.5", "8"};
      run_config config, again;
      char name[64], alone_name[64];
      snprintf(name, sizeof name, "%s-%d", policies[p], limited);
      snprintf(alone_name, sizeof alone_name, "%s-%d-alone", policies[p], limited);
      configure(&config, PAIRS("balance.capacity_factor", factors[limited], "model.experts", "8",
                               "balance.capacity_policy", policies[p], "training.threads", "2"));
      json_decref(run(&config, name));
      json_t *lines = metrics(name), *line;
      size_t i, steps = 0;
      json_array_foreach(lines, i, line) {
        if (strcmp(json_string_value(json_object_get(line, "type")), "step") != 0) continue;
        const json_t *dropped = json_object_get(line, "dropped");
        const double share = json_real_value(dropped);
        steps++;
        cr_expect_eq(dropped != NULL, limited > 0);
        cr_expect(limited == 1 ? share >= 0.5 && share < 1 : share <= 0, "%s: %g", policies[p],
                  share);
      }
      cr_expect_eq(steps, 3);
      configure(&again, PAIRS("balance.capacity_factor", factors[limited], "model.experts", "8",
                              "balance.capacity_policy", policies[p], "training.threads", "1"));
      json_decref(run(&again, alone_name));
      json_t *alone = metrics(alone_name);
      cr_expect(json_equal(lines, alone), "%s, %s", policies[p], factors[limited]);
      json_decref(lines), json_decref(alone);
    }
}

/* The folder's config.yaml is a run file that repeats the run. */
Test(train, config_reproduces_the_run) {
  run_config config, again;
  configure(&config, PAIRS("balance.potential", "renyi", "balance.eta", "0.1"));
  json_decref(run(&config, "first"));
  char path[256];
  path_to("first/config.yaml", path);
  cr_assert_eq(run_config_load(path, NULL, 0, &again), PHIBAL_OK, "%s", phibal_status_message());
  json_decref(run(&again, "second"));
  json_t *a = metrics("first"), *b = metrics("second");
  cr_expect(json_equal(a, b));
  json_decref(a), json_decref(b);
}

/* (M5): however a global batch is split into micro-batches, the step leaves the same m, bias and
   loads in every layer, to the bit: a token's experts do not depend on what is computed beside it
   (gemm_product.c), and loads are summed exactly. Weights after the step agree within the rounding
   of the gradients' sums only, and under phi a micro-batch is priced by what came before it; so
   this is about one step from the same weights. The batch has 7 sequences, the splits every size.
 */
Test(train, split_of_the_batch_leaves_m) {
  static const char *const cases[][2] = {
      {"balance.method", "phi"},       {"balance.track", "frequency"},
      {"balance.method", "loss-free"}, {"balance.method", "switch-global"},
      {"balance.method", "sequence"},  {"model.gate", "sigmoid"}};
  enum { BATCH = 7, LAYERS = 3, EXPERTS = 6, S = 24 };
  int32_t tokens[BATCH * S], targets[BATCH * S];
  for (int i = 0; i < BATCH * S; i++) { /* sequences of S down to S - 6 tokens */
    tokens[i] = i % S >= S - i / S ? -1 : (i * 5 + i / 7) % 16;
    targets[i] = i % 11 == 3 || tokens[i] < 0 ? -1 : (i * 7) % 16;
  }
  const model_batch batch = model_batch_count(BATCH * S, tokens, targets);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    run_config config;
    configure(&config, PAIRS(cases[c][0], cases[c][1], "model.layers", "3", "model.experts", "6",
                             "model.sequence", "24", "model.width", "40", "model.hidden", "52",
                             "balance.start", "uniform", "balance.bias_rate", "0.1"));
    struct {
      float m[LAYERS][EXPERTS], bias[LAYERS][EXPERTS];
      int64_t count[LAYERS][EXPERTS];
      uint64_t probability[LAYERS][EXPERTS * PHIBAL_LOAD_LIMBS];
    } left[BATCH + 1] = {0};
    for (int32_t micro = 1; micro <= BATCH; micro++) {
      model *m;
      model_losses losses;
      cr_assert_eq(model_create(&config.model, &config.balance, micro, 1, &m), PHIBAL_OK);
      cr_assert_eq(model_step_begin(m, batch), PHIBAL_OK);
      for (int32_t i = 0; i < BATCH; i += micro)
        cr_assert_eq(model_forward_backward(m, micro < BATCH - i ? micro : BATCH - i,
                                            tokens + i * S, targets + i * S, &losses),
                     PHIBAL_OK);
      cr_assert_eq(model_step_finish(m), PHIBAL_OK);
      for (int32_t l = 0; l < LAYERS; l++) {
        const phibal_loads *loads = model_step_loads(m, l);
        memcpy(left[micro].m[l], model_balance_state(m, l), sizeof left->m[l]);
        memcpy(left[micro].bias[l], model_bias(m, l), sizeof left->bias[l]);
        memcpy(left[micro].count[l], loads->count, sizeof left->count[l]);
        memcpy(left[micro].probability[l], loads->probability, sizeof left->probability[l]);
      }
      model_destroy(m);
      cr_expect_arr_eq(&left[micro], &left[1], sizeof *left, "%s, micro-batches of %d", cases[c][1],
                       micro);
    }
    /* What moves has moved. */
    const bool phi = config.balance.method == BALANCE_PHI;
    for (int l = 0; l < LAYERS; l++) {
      cr_expect_eq(left[1].m[l][0] != 1.0f / EXPERTS, phi);
      cr_expect_eq(left[1].bias[l][0] != 0, config.balance.method == BALANCE_LOSS_FREE);
      cr_expect_neq(
          memcmp(left[1].count[l], left[1].count[(l + 1) % LAYERS], sizeof left->count[l]), 0,
          "layers are told apart");
    }
  }
}

Test(train, refuses_what_does_not_fit) {
  run_config config;
  char out[256], file[256];
  path_to("out", out);
  train_options options = {.out = out};
  configure(&config, PAIRS("model.vocabulary", "16"));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "vocabulary of 17"), "%s", phibal_status_message());
  configure(&config, PAIRS("model.vocabulary", "145"));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  configure(&config, PAIRS("model.sequence", "520"));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "model.sequence"), "%s", phibal_status_message());
  configure(&config, PAIRS("data.train", ""));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "--data"), "%s", phibal_status_message());
  configure(&config, PAIRS("data.train", "/nonexistent"));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_IO);
  configure(&config,
            PAIRS("model.hidden", "1048576", "model.experts", "1024", "model.width", "65536"));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_MEMORY);
  cr_expect(strstr(phibal_status_message(), "GiB"), "%s", phibal_status_message());
  cr_expect_neq(access(out, F_OK), 0, "no folder is left behind");

  /* A folder inside a file cannot be made, whoever asks. */
  path_to("train.tokens/out", file);
  configure(&config, NULL);
  cr_expect_eq(run_status(&config, &(train_options){.out = file}), PHIBAL_ERROR_IO);
  cr_expect(strstr(phibal_status_message(), "train.tokens"), "%s", phibal_status_message());
  cr_expect_eq(run_status(&config, &options), PHIBAL_OK);
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "--overwrite"), "%s", phibal_status_message());
  options.overwrite = true;
  cr_expect_eq(run_status(&config, &options), PHIBAL_OK);
}

/* Weights that a weight decay of 10 at a rate of 10 multiplies by -99 a step overflow. */
Test(train, nonfinite_numbers_name_the_step) {
  run_config config;
  char out[256];
  path_to("out", out);
  configure(&config, PAIRS("training.steps", "60", "optimizer.peak_lr", "10", "optimizer.warmup",
                           "0", "optimizer.weight_decay", "10"));
  cr_expect_eq(run_status(&config, &(train_options){.out = out}), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "step ") && strstr(phibal_status_message(), "layer"),
            "%s", phibal_status_message());
  path_to("out/result.json", out);
  cr_expect_neq(access(out, F_OK), 0, "no result of a run that failed");
}

static volatile sig_atomic_t stop;
static void stop_after_two(void *context, const train_progress *p) {
  (void)context;
  if (p->step == 2) stop = TRAIN_STOP_EVALUATED;
}

Test(train, stops_after_the_current_step) {
  run_config config;
  char out[256];
  path_to("out", out);
  configure(&config, PAIRS("training.steps", "50"));
  train_options options = {.out = out, .stop = &stop, .observer = {.step = stop_after_two}};
  json_t *result = NULL;
  cr_assert_eq(train_run(&config, &options, &result), PHIBAL_OK);
  cr_expect_eq((int)number(result, "steps"), 2);
  cr_expect_eq((int)number(result, "steps_planned"), 50);
  cr_expect(json_is_true(json_object_get(result, "stopped")));
  cr_expect(json_object_get(result, "validation"), "final results are written");
  json_decref(result);
}

/* Windows stay inside a stretch of one domain and miss no target. */
Test(train, evaluation_windows) {
  char path[256];
  path_to("validation.tokens", path);
  token_file file;
  cr_assert_eq(token_file_open(path, &file), PHIBAL_OK);
  evaluation_plan plan;
  cr_assert_eq(evaluation_plan_create(&file, SEQUENCE, 0, false, &plan), PHIBAL_OK);
  cr_expect_eq(plan.windows, 5 * 3, "22 tokens are 8 + 8 + 6");
  int64_t targets = 0;
  for (int64_t w = 0; w < plan.windows; w++) {
    const evaluation_window *window = &plan.window[w];
    int64_t first = token_file_document(&file, window->start);
    int64_t last = token_file_document(&file, window->start + window->targets);
    cr_expect_eq(first, last, "no target beyond the stretch");
    cr_expect_eq(file.table[first].domain, window->domain);
    cr_expect_leq(window->length, SEQUENCE);
    if (w) cr_expect_geq(window->domain, window[-1].domain, "grouped by domain");
    targets += window->targets;
  }
  cr_expect_eq(targets, 5 * 21);
  evaluation_plan_destroy(&plan);
  /* A limit takes every so many windows, of both domains. */
  cr_assert_eq(evaluation_plan_create(&file, SEQUENCE, 5, false, &plan), PHIBAL_OK);
  cr_expect_eq(plan.windows, 5);
  cr_expect_eq(plan.window[0].domain, 0);
  cr_expect_eq(plan.window[4].domain, 1);
  evaluation_plan_destroy(&plan);
  token_file_close(&file);
}
