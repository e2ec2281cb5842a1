/* `phibal report`: runs, or a sweep, as one page that needs nothing but itself. */
#include "commands.h"
#include "formats/file.h"
#include "gnuplot.h"
#include "page.h"
#include "moe/report/report.h"
#include "report_internal.h"
#include "moe/train/run_folder.h"
#include "formats/text_limits.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: phibal report FOLDER... [--out FILE] [--pictures FOLDER] [--overwrite]\n\n"
    "Writes an HTML report that compares runs of `phibal train`, finished or not: which have\n"
    "collapsed, curves, loads, tables, differences between configurations. Or the report of a\n"
    "sweep (a folder with sweep.json). All plots of a quantity have the same scale. The page is\n"
    "self-contained. Curves and box plots need gnuplot and are omitted without it.\n"
    "SOURCE_DATE_EPOCH sets the date of the page and is the latest date on it.\n"
    "\n"
    "  --out FILE         the page (default: report.html in the first folder)\n"
    "  --pictures FOLDER  also write each plot there as an SVG file\n"
    "  --overwrite        replace an existing page, and write into a folder that is not empty;\n"
    "                     not needed for a run's own report.html";

static int fail(void) {
  fprintf(stderr, "phibal report: %s\n", phibal_status_message());
  return 2;
}

/* Reads what there is of a run; `metrics` too where its curves are wanted. */
static phibal_status load_run(const char *folder, bool metrics, report_run *run) {
  *run = (report_run){.folder = folder, .label = folder};
  char *path = string_format("%s/config.yaml", folder);
  char *result = string_format("%s/result.json", folder);
  char *lines = string_format("%s/metrics.jsonl", folder);
  text_buffer text = {0};
  phibal_status status = path && result && lines
                             ? file_read_text(path, TEXT_RUN_FILE, &text)
                             : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  if (!status) status = text_buffer_append(&text, "", 1);
  run->config = text.bytes;
  if (!status && metrics) status = run_folder_metrics(folder, &run->metrics);
  struct stat last;
  if (!status && !access(result, F_OK)) {
    status = run_folder_result(folder, &run->result);
    if (!stat(result, &last)) run->written = last.st_mtime;
  } else if (!status && !stat(lines, &last)) {
    run->written = last.st_mtime;
  }
  const char *label = json_string_value(json_object_get(run->result, "label"));
  if (label) run->label = label;
  if (label)
    snprintf(run->method, sizeof run->method, "%s", label);
  else
    report_config(run, "balance.method", run->method, sizeof run->method);
  report_judge(run);
  free(path);
  free(result);
  free(lines);
  return status;
}

phibal_status report_load_ended(const char *folder, report_run *run) {
  return load_run(folder, false, run);
}

void report_free_run(report_run *run) {
  json_decref(run->metrics);
  json_decref(run->result);
  free(run->config);
  *run = (report_run){0};
}

/* ---- the summary: a row for each run, and what is to be said of all of them ---- */

/* The loss to compare by: of the last evaluation, else of the last step; NaN: there is none. */
static double last_loss(const report_run *run, bool *training, long long *step) {
  const json_t *loss = report_member(run->result, "validation.loss");
  double found = NAN;
  size_t i;
  json_t *line;
  *training = false;
  *step = -1;
  if (json_is_number(loss)) return json_number_value(loss);
  json_array_foreach(run->metrics, i, line) {
    const char *type = json_string_value(json_object_get(line, "type"));
    const bool evaluation = type && !strcmp(type, "evaluation");
    loss = json_object_get(line, "loss");
    if (!type || !json_is_number(loss) || (!evaluation && !isnan(found) && !*training)) continue;
    found = json_number_value(loss);
    *training = !evaluation;
    *step = json_integer_value(json_object_get(line, "step"));
  }
  return found;
}

static void write_verdict(FILE *to, int n, const report_run *runs) {
  static const char *const words[] = {"collapsed", "left experts idle", "uneven loads"};
  int count[REPORT_STATES] = {0}, bad = 0;
  for (int i = 0; i < n; i++) count[runs[i].loads.state]++;
  for (int s = 0; s < REPORT_FINE; s++) bad += count[s];
  fprintf(to, "<div class=\"verdict %s\">\n", report_verdict_kind(count));
  for (int s = 0; s < REPORT_FINE; s++) {
    if (!count[s]) continue;
    if (n == 1)
      fprintf(to, "<p><b>This run has %s.</b>", words[s]);
    else
      fprintf(to, "<p><b>%d of %d runs %s %s:</b>", count[s], n, count[s] == 1 ? "has" : "have",
              words[s]);
    for (int i = 0, any = 0; i < n; i++) {
      if (runs[i].loads.state != (report_state)s) continue;
      if (n > 1) {
        fputs(any++ ? ", " : " ", to);
        page_escape(to, runs[i].folder);
        continue;
      }
      fputc(' ', to);
      report_write_judgement(to, &runs[i].loads);
    }
    fputs(n > 1 ? ".</p>\n" : "</p>\n", to);
  }
  if (!bad) {
    if (count[REPORT_FINE] == n)
      fputs(n == 1
                ? "<p><b>No collapse.</b> Every expert gets tokens.</p>\n"
                : "<p><b>No run has collapsed.</b> In all of them every expert gets tokens.</p>\n",
            to);
    else if (count[REPORT_FINE])
      fprintf(to,
              "<p><b>No collapse is seen.</b> The loads of %d of %d runs are not known, or these "
              "have no experts.</p>\n",
              count[REPORT_UNKNOWN], n);
    else
      fputs("<p><b>The loads of experts are not known</b>, or there are no experts.</p>\n", to);
  }
  fputs("</div>\n", to);
}

/* The data, where all runs have the same. */
static void write_data(FILE *to, int n, const report_run *runs) {
  static const char *const keys[][2] = {{"data.train", "Trained on"},
                                        {"data.validation", "validated on"}};
  fputs("<p class=\"soft\">", to);
  for (int k = 0; k < 2; k++) {
    char first[512], value[512];
    bool same = true;
    report_config(&runs[0], keys[k][0], first, sizeof first);
    for (int i = 1; i < n; i++) {
      report_config(&runs[i], keys[k][0], value, sizeof value);
      same &= !strcmp(value, first);
    }
    fprintf(to, "%s%s ", k ? ", " : "", keys[k][1]);
    if (same && *first) fputs("<code>", to);
    page_escape(to, !same ? "different data (see the results)" : *first ? first : "nothing");
    if (same && *first) fputs("</code>", to);
  }
  fputs(".</p>\n", to);
}

static void write_summary(FILE *to, int n, const report_run *runs) {
  write_verdict(to, n, runs);
  fputs("<h2>Summary</h2>\n", to);
  write_data(to, n, runs);
  fputs("<table class=\"glance\">\n<thead><tr><th>run</th><th>balanced by</th>"
        "<th class=\"number\">loss</th><th class=\"number\">worst MaxVio</th><th>experts</th>"
        "</tr></thead>\n<tbody>\n",
        to);
  for (int i = 0; i < n; i++) {
    const report_loads *loads = &runs[i].loads;
    bool training;
    long long step;
    const double loss = last_loss(&runs[i], &training, &step);
    fputs("<tr><td>", to);
    report_write_dot(to, i);
    fputs("<b>", to);
    page_escape(to, runs[i].folder);
    fputs("</b><small>", to);
    fputs(runs[i].result ? "ended " : "has not ended; last line of ", to);
    page_date(to, runs[i].written);
    fputs("</small></td><td data-of=\"balanced by\">", to);
    page_escape(to, runs[i].method);
    fputs("</td><td class=\"number\" data-of=\"loss\">", to);
    if (isnan(loss))
      fputs("–", to);
    else
      fprintf(to, "%.4f", loss);
    if (step >= 0)
      fprintf(to, "<small>%s, step %lld</small>", training ? "training" : "so far", step);
    fputs("</td><td class=\"number\" data-of=\"worst MaxVio\">", to);
    if (isnan(loads->maxvio))
      fputs("–", to);
    else
      fprintf(to, "%.2f", loads->maxvio);
    if (loads->step >= 0)
      fprintf(to, "<small>%sstep %lld</small>", loads->batch ? "batch of " : "", loads->step);
    fprintf(to, "</td><td><span class=\"badge %s\">%s</span><small>",
            report_state_kind(loads->state), report_state_name(loads->state));
    report_write_judgement(to, loads);
    fputs("</small></td></tr>\n", to);
  }
  fputs("</tbody></table>\n", to);
  report_write_terms(to);
}

/* ---- tables ---- */

static void write_names(FILE *to, int n, const report_run *runs) {
  enum { STACKED = 4 }; /* more columns have no room in a narrow window */
  fprintf(to, "<div class=\"scroll\"><table%s style=\"--columns:%d\">\n<thead><tr><th></th>",
          n > STACKED ? "" : " class=\"stack\"", n);
  for (int i = 0; i < n; i++) {
    fputs("<th>", to);
    report_write_dot(to, i);
    page_escape(to, runs[i].label);
    fputs("</th>", to);
  }
  fputs("</tr></thead>\n<tbody>\n", to);
}

static void write_numbers(FILE *to, int n, const report_run *runs) {
  static const struct {
    const char *label, *path;
    double scale;
    int digits;
    const char *meaning;
  } rows[] = {{"steps", "steps", 1, 0, "optimizer steps made"},
              {"seed", "seed", 1, 0, "decides the initial weights and the order of the data"},
              {"parameters, active", "parameters.active", 1, 0,
               "that one token passes through: its k experts, not all"},
              {"loss, nats a token", "validation.loss", 1, 4,
               "mean cross-entropy on the validation text; less is better"},
              {"bigram entropy of the text", "validation.bigram_entropy", 1, 4,
               "the loss of a table of pairs of tokens, counted on the validation text itself"},
              {"accuracy, %", "validation.accuracy", 100, 2,
               "how often the likeliest token is the right one"},
              {"MaxVio of loads, mean of layers", "validation.mean.maxvio_loads", 1, 4,
               "the busiest expert's load above an even share, in even shares; 0 is balance"},
              {"MaxVio of loads, worst layer", "validation.worst.maxvio_loads", 1, 4,
               "the same, where it is largest: what decides whether a run has collapsed"},
              {"MaxVio of mean probabilities, mean of layers", "validation.mean.maxvio_mean", 1, 4,
               "the same of the router's probabilities, before experts are selected"},
              {"Gini of loads, mean of layers", "validation.mean.gini_loads", 1, 4,
               "inequality over all experts: 0 is even, near 1 one expert has everything"},
              {"entropy of loads, mean of layers", "validation.mean.entropy_loads", 1, 4,
               "in nats; ln E where loads are even, 0 where one expert has everything"},
              {"last training loss", "training.last_loss", 1, 4, "of the last step's batch"},
              {"tokens a second", "training.tokens_per_second", 1, 0,
               "trained on, without the time of evaluations"}};
  static const struct {
    const char *label, *key, *meaning;
  } texts[] = {{"training data", "data.train", "token files, as the configuration names them"},
               {"validation data", "data.validation", "what loss and loads are measured on"}};
  fputs("<h2>Results</h2>\n", to);
  write_names(to, n, runs);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    fprintf(to, "<tr><td>%s<small>%s</small></td>", rows[r].label, rows[r].meaning);
    for (int i = 0; i < n; i++) {
      const json_t *value = report_member(runs[i].result, rows[r].path);
      if (json_is_number(value))
        fprintf(to, "<td>%.*f</td>", rows[r].digits, rows[r].scale * json_number_value(value));
      else
        fputs("<td>–</td>", to);
    }
    fputs("</tr>\n", to);
  }
  for (size_t r = 0; r < sizeof texts / sizeof *texts; r++) {
    fprintf(to, "<tr><td>%s<small>%s</small></td>", texts[r].label, texts[r].meaning);
    for (int i = 0; i < n; i++) {
      char value[512];
      report_config(&runs[i], texts[r].key, value, sizeof value);
      fputs("<td>", to);
      page_escape(to, *value ? value : "–");
      fputs("</td>", to);
    }
    fputs("</tr>\n", to);
  }
  fputs(
      "</tbody></table></div>\n<p class=\"notes\">–: this run has no such number, as one that has "
      "not ended, or one without experts.</p>\n",
      to);
}

/* The keys that the configurations do not agree in. */
static void write_differences(FILE *to, int n, const report_run *runs) {
  char section[64] = "", key[128], value[REPORT_RUNS_MAX][512];
  bool any = false;
  if (n < 2) return;
  fputs("<h2>Where the configurations differ</h2>\n", to);
  /* Every run's configuration has every key, in the same order. */
  for (const char *line = runs[0].config; line && *line;
       line = strchr(line, '\n'), line += line != NULL) {
    const int length = (int)strcspn(line, ":\n");
    const bool inside = *line == ' ';
    bool differs = false;
    if (!inside) {
      snprintf(section, sizeof section, "%.*s", length, line);
      continue;
    }
    const int indent = (int)strspn(line, " ");
    snprintf(key, sizeof key, "%s.%.*s", section, length - indent, line + indent);
    for (int i = 0; i < n; i++) {
      report_config(&runs[i], key, value[i], sizeof value[i]);
      differs |= strcmp(value[i], value[0]) != 0;
    }
    if (!differs) continue;
    if (!any) write_names(to, n, runs);
    any = true;
    fprintf(to, "<tr><td><code>%s</code></td>", key);
    for (int i = 0; i < n; i++) {
      fputs("<td>", to);
      page_escape(to, *value[i] ? value[i] : "–");
      fputs("</td>", to);
    }
    fputs("</tr>\n", to);
  }
  fputs(any ? "</tbody></table></div>\n" : "<p class=\"soft\">Nowhere.</p>\n", to);
}

/* What `phibal compare` prints of the runs that have ended. */
static void write_tables(FILE *to, int n, const report_run *runs) {
  json_t *results[REPORT_RUNS_MAX];
  int ended = 0;
  for (int i = 0; i < n; i++)
    if (runs[i].result) results[ended++] = runs[i].result;
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return;
  phibal_status status = ended ? report_write(stream, ended, results, true) : PHIBAL_ERROR_ARGUMENT;
  fclose(stream);
  if (!status) {
    fputs("<details><summary>All tables</summary><div class=\"scroll\"><pre class=\"table\">", to);
    page_escape(to, text);
    fputs("</pre></div></details>\n", to);
  }
  free(text);
}

static void write_runs(FILE *to, int n, const report_run *runs, bool can_draw) {
  const report_scales scales = report_scale(n, runs);
  bool loads = false, domains = false;
  for (int i = 0; i < n; i++) {
    loads |= json_array_size(runs[i].loads.layers) > 0;
    domains |= json_array_size(runs[i].loads.domains) > 1 && runs[i].loads.layers;
  }
  write_summary(to, n, runs);
  if (can_draw) {
    fputs(
        "<h2>Curves</h2>\n<p class=\"soft\">One colour a run; all go over the same steps, and both "
        "losses have the same axis.</p>\n<div class=\"pictures\">\n",
        to);
    report_write_curves(to, n, runs, &scales);
    fputs("</div>\n", to);
  }
  if (loads) {
    fputs(
        "<h2>Loads of experts</h2>\n<p class=\"soft\">In even shares: 1 is what each expert would "
        "get where loads are balanced, 0 is an idle one. Axes and colours are the same for all "
        "runs.</p>\n",
        to);
    if (can_draw) {
      fputs("<div class=\"pictures\">\n", to);
      report_write_boxes(to, n, runs, &scales);
    }
    /* The pictures of one run stand side by side. */
    if (!can_draw || n > 1)
      fputs(can_draw ? "</div>\n<div class=\"pictures\">\n" : "<div class=\"pictures\">\n", to);
    report_write_layers(to, n, runs, &scales);
    fputs("</div>\n", to);
  }
  if (domains) {
    fputs("<h2>Loads by domain</h2>\n<p class=\"soft\">Where the tokens of each domain of the "
          "validation text went, in the middle and the last layer with experts; colours as "
          "above.</p>\n<div class=\"pictures\">\n",
          to);
    report_write_domains(to, n, runs, &scales);
    fputs("</div>\n", to);
  }
  write_numbers(to, n, runs);
  write_tables(to, n, runs);
  write_differences(to, n, runs);
  fputs("<h2>Configurations</h2>\n", to);
  for (int i = 0; i < n; i++) {
    fputs("<details><summary>", to);
    page_escape(to, runs[i].label);
    fputs("</summary><pre>", to);
    page_escape(to, runs[i].config);
    fputs("</pre></details>\n", to);
  }
}

/* Where the page goes, and its pictures besides (null: nowhere else), and the command that was
   given. */
typedef struct target {
  const char *page, *pictures;
  int argc;
  char **argv;
} target;

/* The page of runs, or (runs null) of a sweep in the folder `heading`. */
static phibal_status write_page(const target *out, const char *heading, int n,
                                const report_run *runs, const json_t *sweep) {
  char *text = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  const bool can_draw = gnuplot_exists();
  page_begin(to, heading, "phibal report", report_write_map_style);
  page_made(to, out->argc, out->argv);
  if (!can_draw)
    fprintf(to,
            "<p class=\"made\">%s omitted: gnuplot was not found when this page was made.</p>\n",
            sweep ? "The curves are" : "The curves and box plots are");
  if (sweep)
    report_write_sweep(to, heading, sweep, can_draw);
  else
    write_runs(to, n, runs, can_draw);
  page_end(to);
  phibal_status status = fclose(to) ? phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory")
                                    : file_write(out->page, text, size);
  if (!status && out->pictures) status = page_save_pictures(text, out->pictures);
  free(text);
  return status;
}

static phibal_status report_sweep(const char *folder, const char *list, const target *out) {
  json_t *sweep;
  phibal_status status = file_read_json(list, TEXT_RESULT, 0, &sweep);
  if (status) return status;
  status = report_is_sweep(sweep)
               ? write_page(out, folder, 0, NULL, sweep)
               : phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not the results of a sweep", list);
  json_decref(sweep);
  return status;
}

/* Runs of one label, seeds for example, are told apart by their folders. */
static void name_apart(int n, report_run *runs) {
  bool shared[REPORT_RUNS_MAX] = {0};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (i != j && !strcmp(runs[i].label, runs[j].label)) shared[i] = true;
  for (int i = 0; i < n; i++)
    if (shared[i]) runs[i].label = runs[i].folder;
}

static phibal_status report_runs(int n, char **folders, const target *out) {
  report_run runs[REPORT_RUNS_MAX] = {0};
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < n && !status; i++) status = load_run(folders[i], true, &runs[i]);
  if (!status) name_apart(n, runs);
  char heading[64];
  snprintf(heading, sizeof heading, "%d runs compared", n);
  if (!status) status = write_page(out, n == 1 ? runs[0].folder : heading, n, runs, NULL);
  for (int i = 0; i < n; i++) report_free_run(&runs[i]);
  return status;
}

static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                        {"pictures", required_argument, NULL, 'p'},
                                        {"overwrite", no_argument, NULL, 'w'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_report = {
    .name = "report", .text = help, .options = options, .operands = "FOLDER"};

int command_report(int argc, char **argv) {
  const char *given = NULL;
  bool overwrite = false;
  /* As it was given: getopt_long moves options to the front. */
  char *words[REPORT_RUNS_MAX + 8];
  target target = {.argc = argc < REPORT_RUNS_MAX + 8 ? argc : REPORT_RUNS_MAX + 8, .argv = words};
  memcpy(words, argv, (size_t)target.argc * sizeof *argv);
  for (int c; (c = command_option(&manual_report, argc, argv, NULL)) != -1;) switch (c) {
    case 'o':
      given = optarg;
      break;
    case 'p':
      target.pictures = optarg;
      break;
    case 'w':
      overwrite = true;
      break;
    case 'h':
      return command_help(&manual_report);
    case ':':
      return command_usage_error("report", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("report", argv, manual_report.options);
    }
  const int n = argc - optind;
  if (n < 1 || n > REPORT_RUNS_MAX)
    return command_usage_error("report", "expected 1 to %d run folders, or that of a sweep, not %d",
                               REPORT_RUNS_MAX, n);
  char **folders = argv + optind;
  char *out = given ? strdup(given) : string_format("%s/report.html", folders[0]);
  char *list = string_format("%s/sweep.json", folders[0]);
  target.page = out;
  phibal_status status = out && list ? PHIBAL_OK : PHIBAL_ERROR_MEMORY;
  if (status) phibal_status_set(status, "out of memory");
  /* The page in a run's own folder is made again; what else has its name stays. */
  if (!status && (given || !access(out, F_OK)))
    status = file_may_write(out, overwrite, given ? NULL : "phibal report</title>");
  if (!status && target.pictures)
    status = folder_may_write(target.pictures, overwrite, "--overwrite writes into it");
  if (status)
    ;
  else if (!access(list, F_OK) && n == 1)
    status = report_sweep(folders[0], list, &target);
  else
    status = report_runs(n, folders, &target);
  if (!status) puts(out);
  free(out);
  free(list);
  return status ? fail() : 0;
}
