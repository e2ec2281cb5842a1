/* Sweeps: how the file is read, which runs it makes, that a sweep that is stopped and begun again
   ends with the results of one that was not, and the statistics. */
#include "formats/file.h"
#include "moe/train/run_folder.h"
#include "moe/report/sweep.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(sweep, .init = train_case_create, .fini = train_case_remove);

static sweep parse(const char *text) {
  sweep s;
  cr_assert_eq(sweep_parse(text, strlen(text), "s.yaml", &s), PHIBAL_OK, "%s",
               phibal_status_message());
  return s;
}

Test(sweep, points_and_their_names) {
  sweep s = parse("base: tiny\nout: o\nseeds: [4, 2]\nset: {training.steps: 3}\n"
                  "grid:\n  balance.eta: [0.1, 1]\n  optimizer.peak_lr: [1e-3, 2e-3, 3e-3]\n"
                  "cases:\n  - {name: \"a b/c\", balance.potential: lp, balance.parameter: 3}\n"
                  "  - {name: none, balance.method: none}\n");
  cr_assert_eq(s.points, 12);
  cr_assert_eq(s.seed_count, 2);
  char label[SWEEP_LABEL], folder[CONFIG_TEXT_MAX];
  run_config c;
  int64_t p = 0;
  static const char *const lr[] = {"1e-3", "2e-3", "3e-3"}, *const eta[] = {"0.1", "1"};
  for (int i = 0; i < 2; i++)
    for (int e = 0; e < 2; e++)
      for (int l = 0; l < 3; l++, p++) {
        char wanted[SWEEP_LABEL];
        snprintf(wanted, sizeof wanted, "%s, eta=%s, peak_lr=%s", i ? "none" : "a b/c", eta[e],
                 lr[l]);
        sweep_label(&s, p, label);
        cr_expect_str_eq(label, wanted);
        cr_assert_eq(sweep_config(&s, p, 1, &c), PHIBAL_OK, "%s", phibal_status_message());
        cr_expect_str_eq(c.name, wanted);
        cr_expect_eq(c.training.seed, 2);
        cr_expect_eq(c.training.steps, 3);
        cr_expect_eq(c.optimizer.peak_lr, 1e-3 * (l + 1));
        cr_expect_eq(c.balance.eta, e ? 1.0f : 0.1f);
        cr_expect_eq(c.balance.method, i ? BALANCE_NONE : BALANCE_PHI);
        cr_expect_eq(c.balance.potential.id, i ? PHIBAL_POTENTIAL_NEGENTROPY : PHIBAL_POTENTIAL_LP);
        if (!i) cr_expect_eq(c.balance.potential.parameter, 3.0);
      }
  sweep_folder(&s, 0, 1, folder);
  cr_expect_str_eq(folder, "o/a_b_c,eta=0.1,peak_lr=1e-3,seed=2");
  sweep_free(&s);
}

/* A case may stand on another run file: its keys come from there, those of `set` and the grid hold
   over it as over any, and the next case is on the sweep's again. */
Test(sweep, a_case_on_another_run_file) {
  sweep s = parse("base: tiny\nout: o\nset: {training.steps: 3}\ncases:\n"
                  "  - {name: large, base: 111M, balance.alpha: 0.5}\n  - {name: small}\n"
                  "  - {name: lost, base: none.yaml}\ngrid: {balance.eta: [0.1]}\n");
  run_config c, wanted;
  static const char *const base[] = {"111M", "tiny"};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(run_config_load(base[i], NULL, 0, &wanted), PHIBAL_OK);
    cr_assert_eq(sweep_config(&s, i, 0, &c), PHIBAL_OK, "%s", phibal_status_message());
    cr_expect_eq(c.model.width, wanted.model.width);
    cr_expect_eq(c.optimizer.peak_lr, wanted.optimizer.peak_lr);
    cr_expect_eq(c.training.steps, 3);
    cr_expect_eq(c.balance.eta, 0.1f);
    cr_expect_eq(c.balance.alpha, i ? wanted.balance.alpha : 0.5);
  }
  cr_expect_eq(sweep_config(&s, 2, 0, &c), PHIBAL_ERROR_IO);
  cr_expect(strstr(phibal_status_message(), "none.yaml"), "%s", phibal_status_message());
  sweep_free(&s);
}

Test(sweep, what_is_no_sweep) {
  static const char *const bad[][2] = {
      {"", "empty"},
      {"base: [", "s.yaml:2: not YAML"},
      {"- a\n", "s.yaml:1: a sweep file: expected keys and values"},
      {"out: o\ngrid: {balance.eta: [1]}\n", "base is missing"},
      {"base: tiny\ngrid: {balance.eta: [1]}\n", "out is missing"},
      {"base: tiny\nout: o\n", "cases or grid is missing"},
      {"base: tiny\nout: o\nmore: 3\n", "s.yaml:3: more: unknown"},
      {"base: tiny\nseds: [1]\n",
       "s.yaml:2: seds: unknown; the keys are base, out, seeds, set, cases and grid; "
       "perhaps 'seeds'"},
      {"base: tiny\nout: o\ntraining.steps: 3\n", "of a run file belong under 'set'"},
      {"base: tiny\nout: o\nset: {training.setps: 3}\n",
       "s.yaml:3: training.setps: not a key of a run file; perhaps 'training.steps'"},
      {"base: tiny\nbase: tiny\n", "s.yaml:2: base: is given twice"},
      {"base: tiny\nout: o\ngrid:\n  balance.etta: [1]\n", "s.yaml:4: balance.etta: not a key"},
      {"base: tiny\nout: o\ngrid:\n  balance.eta: 1\n", "s.yaml:4: balance.eta: expected a list"},
      {"base: tiny\nout: o\ngrid:\n  balance.eta: []\n", "s.yaml:4: balance.eta: expected a list"},
      {"base: tiny\nout: o\ngrid:\n  balance.eta: [1, 1]\n", "s.yaml:4: eta=1: is duplicated"},
      {"base: tiny\nout: o\ngrid:\n  balance.eta: [[1]]\n",
       "s.yaml:4: balance.eta: expected a single"},
      {"base: tiny\nout: o\ngrid:\n  training.seed: [1]\n", "s.yaml:4: training.seed"},
      {"base: tiny\nout: o\ncases:\n  - {balance.eta: 1}\n", "s.yaml:4: cases: each needs a name"},
      {"base: tiny\nout: o\ncases:\n  - {name: a, base: [b]}\n",
       "s.yaml:4: base: expected a string"},
      {"base: tiny\nout: o\nseeds: 3\n", "s.yaml:3: seeds: expected a list"},
      {"base: tiny\nout: o\nseeds: [1, -2]\n", "s.yaml:3: seeds: expected an integer"},
      {"base: tiny\nout: o\nseeds: [1, 1]\n", "s.yaml:3: seeds: one is duplicated"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    sweep s;
    cr_expect_eq(sweep_parse(bad[i][0], strlen(bad[i][0]), "s.yaml", &s), PHIBAL_ERROR_FORMAT, "%s",
                 bad[i][0]);
    cr_expect(strstr(phibal_status_message(), bad[i][1]), "no '%s' in: %s", bad[i][1],
              phibal_status_message());
  }
  /* What only the run file's schema knows, with the sweep's own line, before anything is run. */
  sweep s = parse("base: tiny\nout: o\ngrid:\n  balance.eta: [0.5,\n    7]\n");
  int64_t failures;
  cr_expect_eq(sweep_run(&s, &(sweep_options){0}, &failures), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "s.yaml:5: balance.eta"), "%s",
            phibal_status_message());
  cr_expect_neq(access("o", F_OK), 0);
  sweep_free(&s);
}

/* The sweeps of the repository make runs that the trainer takes. */
/* Large and deep files are refused at once; libyaml would take minutes. */
Test(sweep, what_no_sweep_needs_is_refused, .timeout = 20) {
  static const char *const units[] = {"[", "{a: ", "- ", "a: b\n", "? ", "- [&a ["};
  enum { MOST = 1000000 };
  char *text = malloc(MOST + 32);
  for (size_t u = 0; u < sizeof units / sizeof *units; u++)
    for (size_t bytes = 1000; bytes <= MOST; bytes *= 1000) {
      size_t n = 0;
      while (n < bytes) n += (size_t)sprintf(text + n, "%s", units[u]);
      sweep s;
      cr_expect_neq(sweep_parse(text, n, "s.yaml", &s), PHIBAL_OK, "%s", units[u]);
      cr_expect(!strncmp(phibal_status_message(), "s.yaml:", 7), "%s", phibal_status_message());
    }
  sweep s;
  char *large = calloc(1, (1 << 20) + 2);
  memset(large, '#', (1 << 20) + 1);
  cr_expect_eq(sweep_parse(large, (1 << 20) + 1, "s.yaml", &s), PHIBAL_ERROR_FORMAT);
  cr_expect_str_eq(phibal_status_message(), "s.yaml: 1048577 bytes; a sweep has at most 1 MiB");
  free(large), free(text);
}

Test(sweep, those_of_the_repository) {
  string_list files = {0};
  cr_assert_eq(folder_files(PHIBAL_SOURCE_DIR "/moe/sweeps", &files), PHIBAL_OK);
  cr_expect_geq(files.count, 20);
  for (size_t i = 0; i < files.count; i++) {
    sweep s;
    run_config *config = malloc(sizeof *config);
    cr_assert_eq(sweep_read(files.items[i], &s), PHIBAL_OK, "%s", phibal_status_message());
    for (int64_t p = 0; p < s.points; p++) {
      model *m;
      const phibal_status status = sweep_config(&s, p, 0, config);
      if (strstr(files.items[i], "tuning")) { /* needs published models */
        cr_assert_eq(status, PHIBAL_ERROR_IO);
        cr_expect(strstr(phibal_status_message(), "/config.json"), "%s", phibal_status_message());
        continue;
      }
      cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
      config->model.width = 8, config->model.hidden = 4, config->model.layers = 1;
      config->model.vocabulary = 16, config->model.sequence = 8;
      cr_assert_eq(model_create(&config->model, &config->balance, 1, 1, &m), PHIBAL_OK, "%s",
                   phibal_status_message());
      model_destroy(m);
    }
    sweep_free(&s);
    free(config);
  }
  string_list_free(&files);
}

/* A sweep file on the small case: 2 methods, 2 learning rates, 3 seeds. */
static char *small_sweep(const char *out, const char *steps) {
  run_config config;
  char base[256];
  configure(&config, PAIRS("training.steps", "12", "training.threads", "1"));
  path_to("small.yaml", base);
  cr_assert_eq(run_config_save(&config, base), PHIBAL_OK, "%s", phibal_status_message());
  char folder[256];
  path_to(out, folder);
  return string_format("base: %s\nout: %s\nseeds: [1, 2, 3]\n"
                       "set: {training.name: '', training.steps: %s}\n"
                       "cases: [{name: phi}, {name: switch, balance.method: switch}]\n"
                       "grid: {optimizer.peak_lr: [1e-3, 1e-2]}\n",
                       base, folder, steps);
}

static volatile sig_atomic_t stop;
static int begun, kept;
static void count_begun(void *context, int64_t run, int64_t runs, const char *folder, bool done) {
  (void)context, (void)run, (void)folder;
  cr_expect_eq(runs, 12);
  begun += !done, kept += done;
}
static void stop_in_the_fifth(void *context, const train_progress *p) {
  (void)context;
  if (begun == 5 && p->step == 7) stop = TRAIN_STOP_AT_ONCE;
}

static void forget_folders(json_t *results) {
  size_t i;
  json_t *point;
  json_array_foreach(json_object_get(results, "points"), i, point)
      json_object_del(point, "folders");
}

Test(sweep, stopped_and_begun_again) {
  char *text = small_sweep("straight", "12"), *other = small_sweep("stopped", "12");
  sweep straight = parse(text), stopped = parse(other);
  json_t *results[2], *half;
  int64_t failures;
  cr_assert_eq(sweep_run(&straight, &(sweep_options){0}, &failures), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_expect_eq(failures, 0);
  const sweep_options options = {.stop = &stop, .begins = count_begun, .step = stop_in_the_fifth};
  cr_assert_eq(sweep_run(&stopped, &options, &failures), PHIBAL_OK);
  cr_expect(begun == 5 && kept == 0);
  cr_assert_eq(sweep_results(&stopped, &half), PHIBAL_OK);
  const json_t *second = json_array_get(json_object_get(half, "points"), 1);
  cr_expect_eq((int)number(second, "runs"), 1, "the run that was stopped does not count");
  begun = kept = 0, stop = 0;
  const sweep_options rest = {.begins = count_begun};
  cr_assert_eq(sweep_run(&stopped, &rest, &failures), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect(begun == 8 && kept == 4);
  cr_assert_eq(sweep_results(&straight, &results[0]), PHIBAL_OK);
  cr_assert_eq(sweep_results(&stopped, &results[1]), PHIBAL_OK);
  forget_folders(results[0]), forget_folders(results[1]);
  cr_expect(json_equal(results[0], results[1]));
  /* The same folder, another sweep. */
  char *changed = small_sweep("stopped", "13");
  sweep third = parse(changed);
  cr_expect_eq(sweep_run(&third, &rest, &failures), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "training.steps"), "%s", phibal_status_message());
  sweep_free(&straight), sweep_free(&stopped), sweep_free(&third);
  free(text), free(other), free(changed);
  json_decref(results[0]), json_decref(results[1]), json_decref(half);
}

/* All points with one seed before the next; the parts of a sweep are disjoint and make all of it.
 */
Test(sweep, seed_by_seed_and_in_parts) {
  char *text = small_sweep("out", "12");
  sweep s = parse(text);
  int seen[12] = {0};
  for (int part = 0; part < 5; part++)
    for (int64_t r = 0; r < 12; r++) {
      int64_t point;
      size_t seed;
      const sweep_options options = {.seeds = 2, .part = part, .parts = 5};
      const bool runs = sweep_run_number(&s, &options, r, &point, &seed);
      cr_expect(point == r % 4 && seed == (size_t)r / 4);
      if (runs) seen[r]++;
      cr_expect(!runs || (int)(r % 5) == part);
      cr_expect(sweep_run_number(&s, &(sweep_options){0}, r, &point, &seed));
    }
  for (int r = 0; r < 12; r++) cr_expect_eq(seen[r], r < 8, "%d", r);
  /* What is made is what the number says. */
  int64_t failures;
  const sweep_options second = {.seeds = 2, .part = 1, .parts = 3};
  cr_assert_eq(sweep_run(&s, &second, &failures), PHIBAL_OK, "%s", phibal_status_message());
  for (int64_t r = 0; r < 12; r++) {
    char folder[CONFIG_TEXT_MAX];
    sweep_folder(&s, r % 4, (size_t)r / 4, folder);
    cr_expect_eq(!access(folder, F_OK), r < 8 && r % 3 == 1, "%s", folder);
  }
  sweep_free(&s);
  free(text);
}

/* Mean and deviation by their definition, from the runs' own files; a run that diverges is left out
   and counted. */
Test(sweep, statistics) {
  char *text = small_sweep("out", "12");
  sweep s = parse(text);
  int64_t failures;
  json_t *results;
  cr_assert_eq(sweep_run(&s, &(sweep_options){0}, &failures), PHIBAL_OK);
  cr_assert_eq(sweep_results(&s, &results), PHIBAL_OK);
  for (int64_t p = 0; p < 4; p++) {
    double loss[3], accuracy[3], mean = 0, square = 0;
    const json_t *point = json_array_get(json_object_get(results, "points"), (size_t)p);
    for (size_t i = 0; i < 3; i++) {
      char folder[CONFIG_TEXT_MAX];
      json_t *result;
      sweep_folder(&s, p, i, folder);
      cr_assert_eq(run_folder_result(folder, &result), PHIBAL_OK);
      loss[i] = number(json_object_get(result, "validation"), "loss");
      accuracy[i] = number(json_object_get(result, "validation"), "accuracy");
      json_decref(result);
    }
    for (int i = 0; i < 3; i++) mean += loss[i] / 3;
    for (int i = 0; i < 3; i++) square += (loss[i] - mean) * (loss[i] - mean) / 2;
    const json_t *found = json_object_get(json_object_get(point, "metrics"), "loss");
    cr_expect_float_eq(number(found, "mean"), mean, 8 * 0x1p-52);
    cr_expect_float_eq(number(found, "deviation"), sqrt(square), 1e-12);
    cr_expect_gt(sqrt(square), 1e-6, "seeds make a difference");
    cr_expect_eq((int)number(found, "n"), 3);
    const json_t *right = json_object_get(json_object_get(point, "metrics"), "accuracy");
    cr_expect_float_eq(number(right, "mean"), (accuracy[0] + accuracy[1] + accuracy[2]) / 3, 1e-15);
  }
  json_decref(results);
  sweep_free(&s);
  free(text);
}

Test(sweep, command) {
  static char output[1 << 16];
  char *text = small_sweep("out", "3"), path[256];
  path_to("s.yaml", path);
  cr_assert_eq(file_write(path, text, strlen(text)), PHIBAL_OK);
  cr_expect_eq(phibal_command("", "sweep s.yaml --dry-run", output, sizeof output), 0);
  cr_expect(strstr(output, "out/phi,peak_lr=1e-3,seed=1\n") &&
                strstr(output, "out/switch,peak_lr=1e-2,seed=3\n"),
            "%s", output);
  path_to("out", path);
  cr_expect_neq(access(path, F_OK), 0);
  cr_expect_eq(phibal_command("", "sweep s.yaml --quiet", output, sizeof output), 0);
  cr_expect(strstr(output, "switch, peak_lr=1e-2") && strstr(output, "+-"), "%s", output);
  path_to("out/sweep.json", path);
  json_t *saved = json_load_file(path, 0, NULL);
  cr_assert(saved);
  cr_expect_eq(json_array_size(json_object_get(saved, "points")), 4);
  json_decref(saved);
  cr_expect_eq(phibal_command("", "sweep s.yaml", output, sizeof output), 0);
  cr_expect(strstr(output, "12/12") && strstr(output, "is there"), "%s", output);
  cr_expect_eq(
      phibal_command("", "sweep s.yaml --dry-run --seeds 2 --part 8/8", output, sizeof output), 0);
  cr_expect_str_eq(strrchr(strstr(output, "out/"), '/'), "/switch,peak_lr=1e-2,seed=2\n", "%s",
                   output);
  static const char *const bad[] = {"0/2", "3/2", "1", "1/", "/2", "1/2/3", "x/2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char arguments[64];
    snprintf(arguments, sizeof arguments, "sweep s.yaml --dry-run --part %s", bad[i]);
    cr_expect_eq(phibal_command("", arguments, output, sizeof output), 2, "%s", bad[i]);
  }
  cr_expect_eq(phibal_command("", "sweep absent.yaml", output, sizeof output), 2);
  cr_expect_eq(phibal_command("", "sweep ", output, sizeof output), 2);
  free(text);
  /* Weights that a weight decay of 10 at a rate of 10 multiplies by -99 a step overflow. */
  char folder[256], base[256];
  path_to("diverging", folder);
  path_to("small.yaml", base);
  text = string_format("base: %s\nout: %s\nset: {optimizer.warmup: 0, training.steps: 60}\ncases:\n"
                       "  - {name: good}\n"
                       "  - {name: bad, optimizer.peak_lr: 10, optimizer.weight_decay: 10}\n"
                       "  - {name: good as well}\n",
                       base, folder);
  path_to("d.yaml", path);
  cr_assert_eq(file_write(path, text, strlen(text)), PHIBAL_OK);
  cr_expect_eq(phibal_command("", "sweep d.yaml --quiet", output, sizeof output), 1);
  cr_expect(strstr(output, "diverging/bad,seed=1: step ") && strstr(output, "good as well"), "%s",
            output);
  json_t *results;
  path_to("diverging/sweep.json", path);
  results = json_load_file(path, 0, NULL);
  const json_t *points = json_object_get(results, "points");
  static const int wanted[] = {1, 0, 1};
  for (size_t i = 0; i < 3; i++)
    cr_expect_eq((int)number(json_array_get(points, i), "runs"), wanted[i]);
  cr_expect(json_is_null(json_object_get(
      json_object_get(json_object_get(json_array_get(points, 0), "metrics"), "loss"),
      "deviation")));
  json_decref(results);
  free(text);
}
