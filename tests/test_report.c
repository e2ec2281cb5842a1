/* `phibal report`: the page holds the numbers of the runs, loads nothing, and is whole with and
   without gnuplot, for runs that have not ended, and for names that HTML or gnuplot would take for
   their own. */
#include "file.h"
#include "train_case.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(report, .init = train_case_create, .fini = train_case_remove);

static char *page(const char *name) {
  char path[256];
  text_buffer text = {0};
  path_to(name, path);
  cr_assert_eq(file_read_all(path, &text), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(text_buffer_append(&text, "", 1), PHIBAL_OK);
  return text.bytes;
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) n++;
  return n;
}

/* Every element that is opened is closed, in order; nothing comes from elsewhere. */
static void expect_whole(const char *html) {
  static const char *const empty[] = {"meta", "!doctype"};
  char open[64][16];
  int depth = 0;
  for (const char *at = html; (at = strchr(at, '<')); at++) {
    char name[16] = "";
    const bool closing = at[1] == '/';
    if (!strncmp(at, "<!--", 4)) continue;
    cr_assert_eq(sscanf(at + 1 + closing, "%15[a-zA-Z0-9!]", name), 1, "%.40s", at);
    const char *end = strchr(at, '>');
    cr_assert(end);
    bool alone = end[-1] == '/';
    for (size_t i = 0; i < 2; i++) alone |= !strcmp(name, empty[i]);
    if (closing) {
      cr_assert(depth > 0 && !strcmp(open[--depth], name), "</%s> closes <%s>", name, open[depth]);
    } else if (!alone) {
      cr_assert_lt(depth, 64);
      strcpy(open[depth++], name);
    }
  }
  cr_expect_eq(depth, 0);
  cr_expect(!strstr(html, "http") && !strstr(html, "src=") && !strstr(html, "<link") &&
            !strstr(html, "@import"));
}

/* The ten pictures of the page, each whole, with a namespace and with what it is called. */
static void expect_pictures(bool drawn) {
  string_list files = {0};
  char path[256];
  path_to("all/of", path);
  cr_assert_eq(folder_files(path, &files), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(files.count, drawn ? 10 : 0);
  for (size_t i = 0; i < files.count; i++) {
    text_buffer text = {0};
    cr_assert_eq(file_read_all(files.items[i], &text), PHIBAL_OK);
    cr_assert_eq(text_buffer_append(&text, "", 1), PHIBAL_OK);
    cr_expect_eq(strncmp(text.bytes, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39), 0);
    cr_expect(string_ends_with(text.bytes, "</svg>") && count(text.bytes, "<svg") == 1 &&
              count(text.bytes, "<path") > 2);
    text_buffer_free(&text);
  }
  if (drawn)
    cr_expect(string_ends_with(files.items[0], "/01-training-loss.svg") &&
                  string_ends_with(files.items[9], "/10-where-each-domain-s-tokens-went.svg"),
              "%s, %s", files.items[0], files.items[9]);
  string_list_free(&files);
}

Test(report, runs) {
  static char output[4096];
  run_config config;
  char text[64];
  const bool gnuplot = !system("gnuplot --version >/dev/null 2>&1");
  configure(&config, PAIRS("training.steps", "30", "evaluation.every", "10"));
  json_t *phi = run(&config, "phi");
  configure(&config,
            PAIRS("training.steps", "900", "balance.method", "dense", "training.log_every", "1"));
  json_t *dense = run(&config, "dense");
  cr_assert_eq(phibal_command("", "report phi dense --out both.html --pictures all/of", output,
                              sizeof output),
               0, "%s", output);
  char *html = page("both.html");
  expect_whole(html);
  json_t *both[] = {phi, dense};
  for (int i = 0; i < 2; i++) {
    snprintf(text, sizeof text, "<td>%.4f</td>",
             number(json_object_get(both[i], "validation"), "loss"));
    cr_expect(strstr(html, text), "%s", text);
  }
  cr_expect(strstr(html, "potential: negentropy") && strstr(html, "All tables"));
  /* Seven curves; for the run with experts its loads, a map of layers, and one of domains: of two
     layers, the middle one is the last. */
  cr_expect_eq(count(html, "<svg"), gnuplot ? 7 + 3 : 0);
  cr_expect_eq(count(html, "<figure>"), count(html, "<figcaption>"));
  free(html);
  expect_pictures(gnuplot);
  /* One run into its own folder; gnuplot out of reach. */
  cr_assert_eq(phibal_command("PATH=/nonexistent", "report phi", output, sizeof output), 0, "%s",
               output);
  cr_expect_str_eq(output, "phi/report.html\n");
  html = page("phi/report.html");
  expect_whole(html);
  cr_expect(strstr(html, "gnuplot was not found") && !strstr(html, "<svg"));
  free(html);
  json_decref(phi), json_decref(dense);
}

Test(report, runs_that_have_not_ended) {
  static char output[4096];
  run_config config;
  char path[256];
  configure(&config, NULL);
  json_decref(run(&config, "it's <b> & 'x'"));
  path_to("it's <b> & 'x'/result.json", path);
  cr_assert_eq(unlink(path), 0);
  path_to("it's <b> & 'x'/metrics.jsonl", path);
  FILE *file = fopen(path, "a");
  cr_assert(file && fputs("{\"type\":\"st", file) >= 0 && !fclose(file));
  cr_assert_eq(phibal_command("", "report \"it's <b> & 'x'\" --out r.html", output, sizeof output),
               0, "%s", output);
  char *html = page("r.html");
  expect_whole(html);
  cr_expect(strstr(html, "has not ended") && strstr(html, "it's &lt;b&gt; &amp; 'x'"));
  if (!system("gnuplot --version >/dev/null 2>&1")) cr_expect_geq(count(html, "<svg"), 5);
  free(html);
  cr_expect_eq(phibal_command("", "report absent", output, sizeof output), 2);
  cr_expect(strstr(output, "absent"), "%s", output);
  cr_expect_eq(phibal_command("", "report", output, sizeof output), 2);
}

Test(report, sweeps) {
  static char output[16384];
  run_config config;
  char path[256];
  const bool gnuplot = !system("gnuplot --version >/dev/null 2>&1");
  configure(&config, PAIRS("training.threads", "1"));
  path_to("small.yaml", path);
  cr_assert_eq(run_config_save(&config, path), PHIBAL_OK, "%s", phibal_status_message());
  static const char *const grids[] = {"grid: {balance.alpha: [0.01, 0.1], balance.eta: [0.5, 1]}\n",
                                      "cases: [{name: phi}, {name: none, balance.method: none}, "
                                      "{name: d, balance.method: dense}]\n"};
  /* Five metrics over the last axis, and as heat maps where both axes are numbers. */
  static const int figures[] = {10, 5};
  for (int i = 0; i < 2; i++) {
    char text[600], out[32];
    snprintf(out, sizeof out, "sweep%d", i);
    snprintf(text, sizeof text, "base: ./small.yaml\nout: %s\nseeds: [1, 2]\n%s", out, grids[i]);
    path_to("s.yaml", path);
    cr_assert_eq(file_write(path, text, strlen(text)), PHIBAL_OK);
    cr_assert_eq(phibal_command("", "sweep s.yaml --quiet", output, sizeof output), 0, "%s",
                 output);
    snprintf(text, sizeof text, "report %s --out s.html --overwrite", out);
    cr_assert_eq(phibal_command("", text, output, sizeof output), 0, "%s", output);
    char *html = page("s.html");
    expect_whole(html);
    cr_expect_eq(count(html, "<svg"), gnuplot ? figures[i] : 0);
    snprintf(text, sizeof text, "%s/sweep.json", out);
    path_to(text, path);
    json_t *results = json_load_file(path, 0, NULL);
    const json_t *point = json_array_get(json_object_get(results, "points"), 1);
    const json_t *loss = json_object_get(json_object_get(point, "metrics"), "loss");
    snprintf(text, sizeof text, "<td>%.4f ± %.4f</td>", number(loss, "mean"),
             number(loss, "deviation"));
    cr_expect(strstr(html, text), "%s", text);
    json_decref(results);
    free(html);
  }
}

/* What is no sweep is refused, however much of one it has. */
Test(report, sweeps_that_are_none) {
  static char output[4096];
  char path[256];
  static const char *const bad[] = {
      "[]",
      "{\"axes\": [], \"points\": []}",
      "{\"axes\": [{\"name\": \"a\", \"values\": []}], \"points\": []}",
      "{\"axes\": [{\"values\": [\"x\"]}], \"points\": [{\"label\": \"p\", \"index\": [0]}]}",
      "{\"axes\": [{\"name\": \"a\", \"values\": [1]}],"
      " \"points\": [{\"label\": \"p\", \"index\": [0]}]}",
      "{\"axes\": [{\"name\": \"a\", \"values\": [\"x\"]}], \"points\": [{\"index\": [0]}]}",
      "{\"axes\": [{\"name\": \"a\", \"values\": [\"x\"]}], \"points\": [{\"label\": \"p\"}]}",
      "{\"axes\": [{\"name\": \"a\", \"values\": [\"x\", \"y\"]}],"
      " \"points\": [{\"label\": \"p\", \"index\": [0]}]}"};
  path_to("none", path);
  cr_assert_eq(folder_create(path), PHIBAL_OK);
  path_to("none/sweep.json", path);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cr_assert_eq(file_write(path, bad[i], strlen(bad[i])), PHIBAL_OK);
    cr_expect_eq(phibal_command("", "report none", output, sizeof output), 2, "%s", bad[i]);
    cr_expect(strstr(output, "not the results of a sweep"), "%s: %s", bad[i], output);
  }
  /* One that nothing is known of yet is a page without figures. */
  static const char good[] = "{\"axes\": [{\"name\": \"a\", \"values\": [\"x\"]}],"
                             " \"points\": [{\"label\": \"p\", \"index\": [0]}]}";
  cr_assert_eq(file_write(path, good, strlen(good)), PHIBAL_OK);
  cr_assert_eq(phibal_command("", "report none", output, sizeof output), 0, "%s", output);
  char *html = page("none/report.html");
  expect_whole(html);
  cr_expect(strstr(html, "<td>p</td>") && !strstr(html, "<svg"));
  free(html);
}
