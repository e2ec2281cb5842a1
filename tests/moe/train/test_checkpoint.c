/* Checkpoints: runs that are stopped and resumed give the bits of those that are not; whatever is
   wrong with a file is said, and the checkpoint before it is used. */
#include "formats/file.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(checkpoint, .init = train_case_create, .fini = train_case_remove);

static volatile sig_atomic_t stop;
static int64_t stop_at;
static void stop_there(void *context, const train_progress *p) {
  (void)context;
  if (p->step == stop_at) stop = TRAIN_STOP_AT_ONCE;
}

/* Goes on with folder/name, or begins it, until `until` steps are done. */
static json_t *run_until(const run_config *config, const char *name, int64_t until) {
  char out[256], *skipped_checkpoints;
  path_to(name, out);
  checkpoint from;
  cr_assert_eq(checkpoint_newest(out, &from, &skipped_checkpoints), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_expect_str_eq(skipped_checkpoints, "");
  stop = 0;
  stop_at = until;
  const bool saved = from.step >= 0;
  const train_options options = {.out = out,
                                 .resume = saved,
                                 .from = saved ? &from : NULL,
                                 .stop = &stop,
                                 .observer = {.step = stop_there}};
  json_t *result = NULL;
  cr_assert_eq(train_run(config, &options, &result), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq((int64_t)number(result, "steps"), until);
  checkpoint_close(&from);
  free(skipped_checkpoints);
  return result;
}

static text_buffer contents(const char *run, int64_t step, const char *file) {
  char name[128], path[256];
  text_buffer text = {0};
  snprintf(name, sizeof name, "%s/checkpoints/step-%012lld/%s", run, (long long)step, file);
  path_to(name, path);
  cr_assert_eq(file_read_all(path, &text), PHIBAL_OK, "%s", phibal_status_message());
  return text;
}

static void expect_same_file(const char *a, const char *b, int64_t step, const char *file) {
  text_buffer x = contents(a, step, file), y = contents(b, step, file);
  cr_expect(x.count == y.count && !memcmp(x.bytes, y.bytes, x.count), "%s of %s and %s", file, a,
            b);
  text_buffer_free(&x), text_buffer_free(&y);
}

static void forget_clocks(json_t *result) {
  json_object_del(result, "seconds");
  json_t *training = json_object_get(result, "training");
  json_object_del(training, "seconds");
  json_object_del(training, "evaluation_seconds");
  json_object_del(training, "tokens_per_second");
  json_object_del(json_object_get(result, "validation"), "seconds");
}

static void expect_same_run(const char *a, json_t *x, const char *b, json_t *y, int64_t steps) {
  json_t *lines[2] = {metrics(a), metrics(b)};
  cr_expect_gt(json_array_size(lines[0]), 1);
  cr_expect(json_equal(lines[0], lines[1]), "metrics of %s and %s", a, b);
  forget_clocks(x), forget_clocks(y);
  cr_expect(json_equal(x, y), "result.json of %s and %s", a, b);
  expect_same_file(a, b, steps, "model.safetensors");
  expect_same_file(a, b, steps, "training.safetensors");
  json_decref(lines[0]), json_decref(lines[1]);
}

/* 200 steps straight; 100, stop, and 100 more; for every method, and for every way of keeping m.
   Steps 30, 60 .. 180 are evaluated and steps 7, 14 .. logged, so that no stop falls on a line. */
Test(checkpoint, resumed_to_the_bit) {
  static const char *const cases[][4] = {
      {"balance.method", "phi"},
      {"balance.method", "switch"},
      {"balance.method", "switch-global"},
      {"balance.method", "sequence"},
      {"balance.method", "loss-free", "balance.bias_rate", "0.02"},
      {"balance.method", "phi-bias", "balance.bias_scale", "0.1"},
      {"balance.method", "quantile", "balance.quantile_eta", "0.5"},
      {"balance.method", "none"},
      {"balance.method", "dense"},
      {"balance.start", "zero-corrected", "balance.eta", "0.01"},
      {"balance.start", "uniform", "balance.eta", "0.01"},
      {"balance.track", "frequency", "balance.potential", "tsallis"},
      {"model.dense_layers", "1", "model.shared_experts", "1"},
      {"model.zero_experts", "1", "balance.method", "loss-free"},
      {"model.hash_layers", "1", "model.hash_seed", "7"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_config config;
    const char *const *c = cases[i];
    configure(&config,
              PAIRS("training.threads", "1", "training.steps", "200", "training.log_every", "7",
                    "evaluation.every", "30", "balance.alpha", "0.1", c[0], c[1], c[2], c[3]));
    char a[32], b[32];
    snprintf(a, sizeof a, "straight%zu", i);
    snprintf(b, sizeof b, "resumed%zu", i);
    json_t *straight = run(&config, a);
    json_decref(run_until(&config, b, 100));
    json_t *resumed = run_until(&config, b, 200);
    expect_same_run(a, straight, b, resumed, 200);
    json_decref(straight), json_decref(resumed);
  }
}

/* Stops at the first step, after each other, and where a checkpoint is due anyway; more threads and
   another rhythm of checkpoints change nothing; a run that is done is done again from its end. */
Test(checkpoint, resumed_many_times) {
  run_config config, other;
  configure(&config, PAIRS("training.steps", "40", "training.threads", "1"));
  json_t *straight = run(&config, "straight");
  static const int64_t stops[] = {1, 2, 3, 10, 11, 30, 39, 40};
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    configure(&other, PAIRS("training.steps", "40", "training.threads", i % 2 ? "2" : "1",
                            "checkpoint.every", i % 2 ? "5" : "1", "checkpoint.keep", "1"));
    cr_expect_eq(checkpoint_config_continues(&config, &other), PHIBAL_OK);
    json_decref(run_until(&other, "resumed", stops[i]));
  }
  for (int again = 0; again < 2; again++) {
    json_t *resumed = run_until(&config, "resumed", 40);
    expect_same_run("straight", straight, "resumed", resumed, 40);
    json_decref(resumed);
  }
  json_decref(straight);
}

/* What a killed process leaves in metrics.jsonl beyond its last checkpoint is cut away. */
Test(checkpoint, metrics_are_cut_to_the_checkpoint) {
  run_config config;
  configure(&config, PAIRS("training.steps", "12", "evaluation.every", "4"));
  json_t *straight = run(&config, "straight");
  static const char *const junk[] = {
      "{\"type\":\"step\",\"step\":9,\"loss\":1.0}\n{\"type\":\"step\",\"step\":10,\"lo",
      "{\"type\":\"step\",\"st", "not JSON\n"};
  for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
    char name[32], path[256];
    snprintf(name, sizeof name, "resumed%zu", i);
    json_decref(run_until(&config, name, 8));
    snprintf(path, sizeof path, "%s/metrics.jsonl", name);
    char full[256];
    path_to(path, full);
    FILE *file = fopen(full, "a");
    cr_assert(file && fputs(junk[i], file) >= 0 && !fclose(file));
    json_t *resumed = run_until(&config, name, 12);
    expect_same_run("straight", straight, name, resumed, 12);
    json_decref(resumed);
  }
  /* Killed after the last evaluation was logged and before result.json. */
  char path[256];
  path_to("resumed0/result.json", path);
  cr_assert_eq(unlink(path), 0);
  json_t *resumed = run_until(&config, "resumed0", 12);
  expect_same_run("straight", straight, "resumed0", resumed, 12);
  json_decref(resumed), json_decref(straight);
}

static bool is_there(const char *run, int64_t step) {
  char name[128], path[256];
  snprintf(name, sizeof name, "%s/checkpoints/step-%012lld", run, (long long)step);
  path_to(name, path);
  return !access(path, F_OK);
}

static int entries(const char *run) {
  char name[64], path[256], command[300];
  snprintf(name, sizeof name, "%s/checkpoints", run);
  path_to(name, path);
  snprintf(command, sizeof command, "ls -A '%s' | wc -l", path);
  FILE *pipe = popen(command, "r");
  int n = -1;
  cr_assert(pipe && fscanf(pipe, "%d", &n) == 1 && !pclose(pipe));
  return n;
}

Test(checkpoint, keeps_the_newest) {
  run_config config;
  char path[256];
  configure(&config,
            PAIRS("training.steps", "11", "checkpoint.every", "2", "checkpoint.keep", "3"));
  json_decref(run(&config, "three"));
  cr_expect(is_there("three", 8) && is_there("three", 10) && is_there("three", 11));
  cr_expect_eq(entries("three"), 3);
  configure(&config,
            PAIRS("training.steps", "11", "checkpoint.every", "2", "checkpoint.keep", "0"));
  json_decref(run(&config, "none"));
  path_to("none/checkpoints", path);
  cr_expect_neq(access(path, F_OK), 0);
  /* Remains of killed processes go when the next checkpoint is written; other files stay. */
  configure(&config, PAIRS("training.steps", "6"));
  json_decref(run_until(&config, "remains", 3));
  path_to("remains/checkpoints/.step-new/.model.safetensors.x7Yz90", path);
  cr_assert_eq(folder_create(path), PHIBAL_OK);
  path_to("remains/checkpoints/.step-000000000001", path);
  cr_assert_eq(folder_create(path), PHIBAL_OK);
  path_to("remains/checkpoints/notes", path);
  cr_assert_eq(folder_create(path), PHIBAL_OK);
  json_decref(run_until(&config, "remains", 6));
  cr_expect_eq(entries("remains"), 3, "steps 3 and 6, and the notes");
  /* --overwrite takes the old run's checkpoints away: else the new one would go on from them. */
  char out[256];
  path_to("remains", out);
  configure(&config, PAIRS("training.steps", "2"));
  cr_assert_eq(run_status(&config, &(train_options){.out = out, .overwrite = true}), PHIBAL_OK);
  cr_expect(is_there("remains", 2) && !is_there("remains", 3) && !is_there("remains", 6));
}

static void damage(const char *run, int64_t step, const char *file, int64_t at, int bit) {
  char name[128], path[256];
  snprintf(name, sizeof name, "%s/checkpoints/step-%012lld/%s", run, (long long)step, file);
  path_to(name, path);
  if (bit < 0) {
    cr_assert_eq(truncate(path, at), 0);
    return;
  }
  FILE *f = fopen(path, "r+");
  cr_assert(f && !fseek(f, at, SEEK_SET));
  int byte = fgetc(f);
  cr_assert(byte != EOF && !fseek(f, at, SEEK_SET));
  cr_assert(fputc(byte ^ 1 << bit, f) != EOF && !fclose(f));
}

static phibal_status open_step(const char *run, int64_t step, checkpoint *c) {
  char name[128], path[256];
  snprintf(name, sizeof name, "%s/checkpoints/step-%012lld", run, (long long)step);
  path_to(name, path);
  return checkpoint_open(path, c);
}

/* A bit, or the end of a file, anywhere: the file is named and the checkpoint before it is used. */
Test(checkpoint, damage_is_found_and_the_one_before_is_used) {
  static const char *const files[] = {"model.safetensors", "training.safetensors", "config.yaml"};
  run_config config;
  configure(&config, PAIRS("training.steps", "8", "checkpoint.every", "4"));
  json_decref(run(&config, "run"));
  char out[256], *skipped_checkpoints;
  path_to("run", out);
  checkpoint c;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    text_buffer whole = contents("run", 8, files[i]);
    const int64_t n = (int64_t)whole.count;
    const int64_t places[] = {0, 5, n / 3, n / 2, n - 1};
    for (int cut = 0; cut < 2; cut++)
      for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        damage("run", 8, files[i], places[p], cut ? -1 : (int)p);
        cr_expect_eq(open_step("run", 8, &c), PHIBAL_ERROR_FORMAT);
        cr_expect(strstr(phibal_status_message(), files[i]), "%s", phibal_status_message());
        cr_expect(strstr(phibal_status_message(), cut ? "truncated" : "corrupt"), "%s",
                  phibal_status_message());
        cr_assert_eq(checkpoint_newest(out, &c, &skipped_checkpoints), PHIBAL_OK);
        cr_expect_eq(c.step, 4);
        cr_expect(strstr(skipped_checkpoints, "step-000000000008") &&
                  strstr(skipped_checkpoints, files[i]));
        checkpoint_close(&c);
        free(skipped_checkpoints);
        char name[128], path[256];
        snprintf(name, sizeof name, "run/checkpoints/step-000000000008/%s", files[i]);
        path_to(name, path);
        cr_assert_eq(file_write(path, whole.bytes, whole.count), PHIBAL_OK);
      }
    text_buffer_free(&whole);
  }
  cr_expect_eq(open_step("run", 8, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(c.step, 8);
  checkpoint_close(&c);

  /* The steps from 4 on are done again, and the corrupt checkpoint is replaced. */
  json_t *straight = run(&config, "straight");
  damage("run", 8, "model.safetensors", 1000, 3);
  cr_assert_eq(checkpoint_newest(out, &c, &skipped_checkpoints), PHIBAL_OK);
  json_t *again = NULL;
  const train_options options = {.out = out, .resume = true, .from = &c};
  cr_assert_eq(train_run(&config, &options, &again), PHIBAL_OK, "%s", phibal_status_message());
  expect_same_run("straight", straight, "run", again, 8);
  checkpoint_close(&c);
  free(skipped_checkpoints);
  json_decref(straight), json_decref(again);

  /* None is left: an error, and not a silent start from the first step. */
  damage("run", 8, "config.yaml", 0, -1);
  damage("run", 4, "training.safetensors", 100, 0);
  cr_expect_eq(checkpoint_newest(out, &c, &skipped_checkpoints), PHIBAL_ERROR_FORMAT);
  cr_expect(strstr(phibal_status_message(), "no checkpoint can be used") &&
                strstr(phibal_status_message(), "step-000000000008/config.yaml"),
            "%s", phibal_status_message());
  cr_expect(!skipped_checkpoints);
}

/* The list of files has no checksum of its own: every bit of it either is found to be wrong or
   changes nothing but clocks. */
/* Right checksums, and numbers that no run has: sequences without end were read for ever. */
Test(checkpoint, numbers_that_no_run_has) {
  static const struct {
    const char *name, *word;
    int64_t whole;
    double real;
  } cases[] = {{"sequences", "'sequences' is 9223372036854775807", INT64_MAX, 0},
               {"sequences", "'sequences' is -1", -1, 0},
               {"adamw.beta1_power", "adamw.beta1_power", 0, 2},
               {"adamw.beta2_power", "adamw.beta2_power", 0, -1}};
  run_config config;
  configure(&config, PAIRS("training.steps", "4", "checkpoint.every", "2"));
  json_decref(run_until(&config, "run", 2));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    checkpoint c;
    json_t *result = NULL;
    char out[256];
    path_to("run", out);
    cr_assert_eq(open_step("run", 2, &c), PHIBAL_OK, "%s", phibal_status_message());
    safetensors_tensor *t =
        (safetensors_tensor *)(uintptr_t)safetensors_find(&c.training, cases[i].name);
    cr_assert(t);
    t->data = t->dtype == SAFETENSORS_I64 ? (const void *)&cases[i].whole : &cases[i].real;
    const train_options options = {.out = out, .resume = true, .from = &c};
    cr_expect_eq(train_run(&config, &options, &result), PHIBAL_ERROR_FORMAT, "case %zu", i);
    cr_expect(strstr(phibal_status_message(), cases[i].word), "%s", phibal_status_message());
    checkpoint_close(&c);
  }
}

Test(checkpoint, every_bit_of_the_list) {
  run_config config;
  configure(&config, PAIRS("training.steps", "2"));
  json_decref(run(&config, "run"));
  text_buffer list = contents("run", 2, "checkpoint.json");
  const char *clocks = memmem(list.bytes, list.count, "\"seconds\"", 9);
  const char *files = memmem(list.bytes, list.count, "\"files\"", 7);
  cr_assert(files && clocks > files);
  int found = 0;
  for (size_t i = 0; i < list.count; i++)
    for (int bit = 0; bit < 8; bit++) {
      checkpoint c;
      damage("run", 2, "checkpoint.json", (int64_t)i, bit);
      if (open_step("run", 2, &c) == PHIBAL_OK) {
        cr_expect_eq(c.step, 2);
        checkpoint_close(&c);
      } else {
        found++;
      }
      damage("run", 2, "checkpoint.json", (int64_t)i, bit);
    }
  cr_expect_gt(found, 8 * 100);
  text_buffer_free(&list);
}

static void expect_refused(const checkpoint *c, const run_config *config, const char *word) {
  model *m;
  cr_assert_eq(model_create(&config->model, &config->balance, 1, 1, &m), PHIBAL_OK);
  cr_expect_eq(checkpoint_restore_model(c, config, m), PHIBAL_ERROR_FORMAT);
  cr_expect(strstr(phibal_status_message(), word), "no '%s' in: %s", word, phibal_status_message());
  model_destroy(m);
}

Test(checkpoint, another_shape_names_the_tensor) {
  run_config config, other;
  configure(&config, PAIRS("training.steps", "1"));
  json_decref(run(&config, "run"));
  checkpoint c;
  cr_assert_eq(open_step("run", 1, &c), PHIBAL_OK);
  configure(&other, PAIRS("model.vocabulary", "18"));
  expect_refused(&c, &other, "'model.embed_tokens.weight': extent 0 of its shape is 17");
  /* As many numbers in all, shaped otherwise. */
  configure(&other, PAIRS("model.experts", "2", "model.hidden", "24"));
  expect_refused(&c, &other, "'model.layers.0.mlp.gate.weight'");
  configure(&other, PAIRS("balance.method", "dense"));
  expect_refused(&c, &other, "'model.layers.0.mlp.gate_proj.weight' is missing");
  configure(&other, PAIRS("model.layers", "1"));
  expect_refused(&c, &other, "'model.layers.1.");
  configure(&other, PAIRS("balance.method", "loss-free"));
  expect_refused(&c, &other, "'model.layers.0.mlp.gate.e_score_correction_bias' is missing");
  configure(&other, PAIRS("model.shared_experts", "1"));
  expect_refused(&c, &other, "shared_experts.gate_proj.weight' is missing");
  checkpoint_close(&c);
}

Test(checkpoint, what_a_resumed_run_must_keep) {
  static const char *const refused[][2] = {
      {"training.steps", "30"},        {"training.seed", "2"},       {"model.width", "32"},
      {"balance.eta", "0.5"},          {"balance.alpha", "0.02"},    {"optimizer.peak_lr", "0.1"},
      {"batch.micro_sequences", "4"},  {"balance.method", "none"},   {"batch.sequences", "8"},
      {"balance.potential", "euclid"}, {"model.gate", "probability"}};
  run_config config, other;
  configure(&config, NULL);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    configure(&other, PAIRS(refused[i][0], refused[i][1]));
    cr_expect_eq(checkpoint_config_continues(&config, &other), PHIBAL_ERROR_ARGUMENT, "%s",
                 refused[i][0]);
    cr_expect(strstr(phibal_status_message(), refused[i][0]), "%s", phibal_status_message());
  }
  /* Other data under the same name; the folder stays as it was. */
  json_decref(run_until(&config, "run", 2));
  json_t *before = metrics("run");
  write_tokens("train.tokens", 20, 26);
  char out[256], *skipped_checkpoints;
  path_to("run", out);
  checkpoint c;
  cr_assert_eq(checkpoint_newest(out, &c, &skipped_checkpoints), PHIBAL_OK);
  const train_options options = {.out = out, .resume = true, .from = &c};
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "checksum"), "%s", phibal_status_message());
  json_t *after = metrics("run");
  cr_expect(json_equal(before, after));
  checkpoint_close(&c);
  free(skipped_checkpoints);
  json_decref(before), json_decref(after);
}

/* A disk that fills up between the second checkpoint and the third: no file may grow beyond what
   config.yaml needs. */
static void fill_disk(void *context, const train_progress *p) {
  (void)context;
  if (p->step == 5)
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 8192, .rlim_max = RLIM_INFINITY});
}

Test(checkpoint, full_disk) {
  run_config config;
  configure(&config, PAIRS("training.steps", "9", "checkpoint.every", "2"));
  json_t *straight = run(&config, "straight");
  char out[256], *skipped_checkpoints;
  path_to("run", out);
  signal(SIGXFSZ, SIG_IGN);
  const train_options options = {.out = out, .observer = {.step = fill_disk}};
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_IO);
  cr_expect(strstr(phibal_status_message(), "the checkpoint of step 6") &&
                strstr(phibal_status_message(), "model.safetensors") &&
                strstr(phibal_status_message(), strerror(EFBIG)),
            "%s", phibal_status_message());
  cr_expect_eq(entries("run"), 2, "nothing of the third stays");
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY});
  checkpoint c;
  cr_assert_eq(checkpoint_newest(out, &c, &skipped_checkpoints), PHIBAL_OK);
  cr_expect_str_eq(skipped_checkpoints, "");
  cr_expect_eq(c.step, 4);
  checkpoint_close(&c);
  free(skipped_checkpoints);
  json_t *resumed = run_until(&config, "run", 9);
  expect_same_run("straight", straight, "run", resumed, 9);
  json_decref(straight), json_decref(resumed);
}

static phibal_status second;
static void train_beside(void *context, const train_progress *p) {
  if (p->step == 1) second = run_status(context, &(train_options){.out = ".", .overwrite = true});
}

Test(checkpoint, one_process_at_a_time) {
  run_config config;
  char out[256];
  configure(&config, NULL);
  path_to("run", out);
  cr_assert_eq(folder_create(out), PHIBAL_OK);
  cr_assert_eq(chdir(out), 0);
  const train_options options = {.out = out, .observer = {&config, train_beside, NULL}};
  cr_expect_eq(run_status(&config, &options), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(second, PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "another process"), "%s", phibal_status_message());
}
