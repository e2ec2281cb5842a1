/* `phibal report`: the page holds the numbers of the runs, loads nothing, and is whole with and
   without gnuplot, for runs that have not ended, and for names that HTML or gnuplot would take for
   their own. */
#include "formats/file.h"
#include "tests/moe/train_case.h"
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

/* The ten pictures of the page, each whole, with a namespace and with what it is called; one that
   is of one run bears its name. Maps need no gnuplot. */
static void expect_pictures(bool drawn) {
  string_list files = {0};
  char path[256];
  path_to("all/of", path);
  cr_assert_eq(folder_files(path, &files), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(files.count, drawn ? 10 : 2);
  for (size_t i = 0; i < files.count; i++) {
    text_buffer text = {0};
    cr_assert_eq(file_read_all(files.items[i], &text), PHIBAL_OK);
    cr_assert_eq(text_buffer_append(&text, "", 1), PHIBAL_OK);
    cr_expect_eq(strncmp(text.bytes, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39), 0);
    cr_expect(string_ends_with(text.bytes, "</svg>") && count(text.bytes, "<svg") == 1 &&
              count(text.bytes, "<path") + count(text.bytes, "<rect") > 2);
    text_buffer_free(&text);
  }
  if (drawn)
    cr_expect(string_ends_with(files.items[0], "/01-training-loss.svg") &&
                  string_ends_with(files.items[9],
                                   "/10-where-each-domain-s-tokens-went-phi-negentropy.svg"),
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
  cr_expect_eq(count(html, "<svg"), gnuplot ? 7 + 3 : 2);
  cr_expect_eq(count(html, "<figure>"), count(html, "<figcaption>"));
  free(html);
  expect_pictures(gnuplot);
  /* One run into its own folder; gnuplot out of reach. */
  cr_assert_eq(phibal_command("PATH=/nonexistent", "report phi", output, sizeof output), 0, "%s",
               output);
  cr_expect_str_eq(output, "phi/report.html\n");
  html = page("phi/report.html");
  expect_whole(html);
  cr_expect(strstr(html, "The curves and box plots are omitted: gnuplot was not found"));
  cr_expect_eq(count(html, "<svg"), 2);
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
    cr_expect_eq(count(html, "<svg"), gnuplot ? figures[i] : figures[i] - 5);
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

/* A run whose result.json says these loads and MaxVio of its one layer, of so many experts. */
static void pretend(const char *name, int experts, int active, const char *loads, double maxvio) {
  char path[256], text[1024];
  path_to(name, path);
  cr_assert_eq(folder_create(path), PHIBAL_OK);
  snprintf(text, sizeof text, "%s/config.yaml", name);
  path_to(text, path);
  snprintf(text, sizeof text,
           "model:\n  experts: %d\n  active: %d\nbalance:\n  method: none\ndata:\n"
           "  train: 'some/text.tokens'\n  validation: 'other.tokens'\n",
           experts, active);
  cr_assert_eq(file_write(path, text, strlen(text)), PHIBAL_OK);
  snprintf(text, sizeof text, "%s/metrics.jsonl", name);
  path_to(text, path);
  cr_assert_eq(file_write(path, "", 0), PHIBAL_OK);
  snprintf(text, sizeof text, "%s/result.json", name);
  path_to(text, path);
  snprintf(text, sizeof text,
           "{\"label\": \"%s\", \"validation\": {\"loss\": 2.5, \"layers\": [{\"layer\": 7, "
           "\"frequency\": [%s], \"maxvio_loads\": %g}]}}",
           name, loads, maxvio);
  cr_assert_eq(file_write(path, text, strlen(text)), PHIBAL_OK);
}

/* Of 4 experts, 2 active, MaxVio is at most 1: beyond 2/3 of that a run has collapsed; of 16 that
   stand alone, beyond 10, or where 8 are idle. What the page says of a run stands in its row. */
Test(report, a_collapsed_run_is_named) {
  static char output[4096];
  static const struct {
    const char *name;
    int experts, active;
    const char *loads;
    double maxvio;
    const char *state, *says;
  } cases[] = {
      {"even", 4, 2, "0.25, 0.25, 0.25, 0.25", 0, "all in use",
       "1.00 times its even share (layer 7); none"},
      {"near", 4, 2, "0.41, 0.19, 0.2, 0.2", 0.64, "all in use", "1.64 times"},
      {"idle", 4, 2, "0.333, 0.333, 0.334, 0", 0.336, "idle experts",
       "1 of the 4 experts of all layers gets nothing."},
      {"rare", 4, 2, "0.333, 0.333, 0.333, 0.001", 0.332, "idle experts",
       "gets nothing, or less than 1/100"},
      {"seldom", 4, 2, "0.331, 0.332, 0.333, 0.004", 0.332, "all in use", "1.33 times"},
      {"fallen", 4, 2, "0.45, 0.183, 0.183, 0.184", 0.8, "collapsed",
       "1.80 times its even share (layer 7); none"},
      {"at the limit", 4, 1, "0.8, 0.1, 0.05, 0.05", 2.0, "all in use", "3.00 times"},
      {"above", 8, 1, "0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05", 2.2, "uneven", "3.20 times"},
      {"seven", 16, 1,
       "0.1111111111, 0.1111111111, 0.1111111111, 0.1111111111, 0.1111111111, 0.1111111111, "
       "0.1111111111, 0.1111111111, 0.1111111111, 0, 0, 0, 0, 0, 0, 0",
       0.78, "idle experts", "7 of the 16"},
      {"eight", 16, 1,
       "0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0, 0, 0, 0, 0, 0, 0, 0", 1,
       "collapsed", "8 of the 16"}};
  enum { CASES = sizeof cases / sizeof *cases };
  for (int i = 0; i < CASES; i++)
    pretend(cases[i].name, cases[i].experts, cases[i].active, cases[i].loads, cases[i].maxvio);
  for (int i = 0; i < CASES; i++) {
    char text[128];
    snprintf(text, sizeof text, "report '%s' --out one.html --overwrite", cases[i].name);
    cr_assert_eq(phibal_command("", text, output, sizeof output), 0, "%s", output);
    char *html = page("one.html");
    expect_whole(html);
    const char *row = strstr(html, "<tbody>"), *end = strstr(html, "</tbody>");
    cr_assert(row && end);
    snprintf(text, sizeof text, ">%s</span>", cases[i].state);
    const char *state = strstr(row, text), *says = strstr(row, cases[i].says);
    cr_expect(state && state < end && says && says < end, "%s: %.*s", cases[i].name,
              (int)(end - row), row);
    const char *verdict = strstr(html, "class=\"verdict ");
    cr_assert(verdict && verdict < row);
    verdict += strlen("class=\"verdict ");
    const char *kind = *cases[i].state == 'c' ? "bad" : *cases[i].state == 'a' ? "good" : "open";
    cr_expect_eq(strncmp(verdict, kind, strlen(kind)), 0, "%s: %.20s", cases[i].name, verdict);
    cr_expect(strstr(html, "some/text.tokens"));
    free(html);
  }
  cr_assert_eq(
      phibal_command("", "report even idle fallen rare --out four.html", output, sizeof output), 0,
      "%s", output);
  char *html = page("four.html");
  cr_expect(strstr(html, "<b>1 of 4 runs has collapsed:</b> fallen.") &&
            strstr(html, "<b>2 of 4 runs have left experts idle:</b> idle, rare."));
  free(html);
}

/* A sweep's points are marked by their runs, which stand where the sweep put them or, moved with
   it, in its folder; the point of the least loss is named, and that its runs have collapsed. */
Test(report, a_sweep_names_collapsed_points) {
  static char output[4096];
  char path[256];
  path_to("moved", path);
  cr_assert_eq(folder_create(path), PHIBAL_OK);
  pretend("sound", 4, 2, "0.25, 0.25, 0.25, 0.25", 0);
  pretend("moved/fallen", 4, 2, "0.45, 0.183, 0.183, 0.184", 0.8);
  pretend("moved/idle", 4, 2, "0.333, 0.333, 0.334, 0", 0.336);
  static const char sweep[] =
      "{\"seeds\": [1, 2], \"axes\": [{\"name\": \"case\", \"values\": [\"p\", \"q\", \"r\"]}],"
      " \"points\": ["
      "{\"label\": \"p\", \"index\": [0], \"runs\": 2, \"folders\": [\"sound\", \"old/fallen\"],"
      " \"metrics\": {\"loss\": {\"mean\": 2.25, \"deviation\": 0.5}}},"
      "{\"label\": \"q\", \"index\": [1], \"runs\": 1, \"folders\": [\"sound\"],"
      " \"metrics\": {\"loss\": {\"mean\": 2.5, \"deviation\": null}}},"
      "{\"label\": \"r\", \"index\": [2], \"runs\": 2, \"folders\": [\"sound\", \"idle\"],"
      " \"metrics\": {\"loss\": {\"mean\": 2.5, \"deviation\": 0.25}}}]}";
  path_to("moved/sweep.json", path);
  cr_assert_eq(file_write(path, sweep, strlen(sweep)), PHIBAL_OK);
  cr_assert_eq(phibal_command("", "report moved", output, sizeof output), 0, "%s", output);
  char *html = page("moved/report.html");
  expect_whole(html);
  static const char *const order[] = {
      "<div class=\"verdict bad\">",
      "The least loss, 2.2500, is of p.</b> It has runs that have collapsed.",
      "1 of 3 points has runs that have collapsed: p.",
      "1 of 3 points has runs with idle experts: r.",
      "<td>p</td>",
      ">collapsed</span><small>1 of 2 runs<",
      "<td>0.80</td>",
      "<td>q</td>",
      ">all in use</span><small>1 run<",
      "<td>0.00</td>",
      "<td>r</td>",
      ">idle experts</span><small>1 of 2 runs<"};
  const char *at = html;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    const char *next = strstr(at, order[i]);
    cr_assert(next, "%s", order[i]);
    at = next;
  }
  free(html);
}

/* SOURCE_DATE_EPOCH dates the page and all that is younger; the same page twice is the same bytes.
 */
Test(report, dates_and_the_command) {
  static char output[4096];
  pretend("dated", 4, 2, "0.25, 0.25, 0.25, 0.25", 0);
  char *html[3];
  static const char *const before[] = {"SOURCE_DATE_EPOCH=86400", "SOURCE_DATE_EPOCH=86400",
                                       "SOURCE_DATE_EPOCH=172800"};
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(phibal_command(before[i], "report dated --overwrite --out \"a b.html\"", output,
                                sizeof output),
                 0, "%s", output);
    html[i] = page("a b.html");
  }
  cr_expect_str_eq(html[0], html[1]);
  cr_expect(strcmp(html[0], html[2]));
  cr_expect_eq(count(html[0], "<time>1970-01-02 00:00 UTC</time>"), 2);
  cr_expect_eq(count(html[2], "<time>1970-01-03 00:00 UTC</time>"), 2);
  cr_expect(strstr(html[0], "<code>phibal report dated --overwrite --out 'a b.html'</code>"));
  for (int i = 0; i < 3; i++) free(html[i]);
  cr_assert_eq(phibal_command("", "report dated --out now.html", output, sizeof output), 0);
  char *now = page("now.html");
  cr_expect(!strstr(now, "1970-") && count(now, "<time>20") == 2);
  free(now);
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
