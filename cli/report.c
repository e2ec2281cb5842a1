/* `phibal report`: runs, or a sweep, as one page that needs nothing but itself. */
#include "commands.h"
#include "build_features.h"
#include "file.h"
#include "gnuplot.h"
#include "page.h"
#include "report.h"
#include "report_internal.h"
#include "run_folder.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: phibal report FOLDER... [--out FILE] [--pictures FOLDER] [--overwrite]\n\n"
    "Writes a page of curves, loads, tables and configurations of runs of `phibal train`, ended "
    "or\n"
    "not, or of a sweep (a folder with sweep.json). The page is one HTML file that loads nothing;\n"
    "its pictures are drawn by gnuplot, and left out where that is missing.\n\n"
    "  --out FILE         the page (default: report.html in the first folder)\n"
    "  --pictures FOLDER  writes each picture there as well, as an SVG file\n"
    "  --overwrite        replaces a page that is there, and writes into a folder that is not "
    "empty;\n"
    "                     a run's own report.html is made again without it";

static int fail(void) {
  fprintf(stderr, "phibal report: %s\n", phibal_status_message());
  return 2;
}

static phibal_status load_run(const char *folder, report_run *run) {
  *run = (report_run){.folder = folder, .label = folder};
  char *path = string_format("%s/config.yaml", folder);
  char *result = string_format("%s/result.json", folder);
  text_buffer text = {0};
  phibal_status status = path && result ? file_read_all(path, &text)
                                        : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  if (!status) status = text_buffer_append(&text, "", 1);
  run->config = text.bytes;
  if (!status) status = run_folder_metrics(folder, &run->metrics);
  if (!status && !access(result, F_OK)) status = run_folder_result(folder, &run->result);
  const char *label = json_string_value(json_object_get(run->result, "label"));
  if (label) run->label = label;
  free(path);
  free(result);
  return status;
}

static void free_run(report_run *run) {
  json_decref(run->metrics);
  json_decref(run->result);
  free(run->config);
}

static void write_numbers(FILE *to, int n, const report_run *runs) {
  static const struct {
    const char *label, *path;
    double scale;
    int digits;
  } rows[] = {{"steps", "steps", 1, 0},
              {"seed", "seed", 1, 0},
              {"parameters, active", "parameters.active", 1, 0},
              {"loss, nats a token", "validation.loss", 1, 4},
              {"bigram entropy of the text", "validation.bigram_entropy", 1, 4},
              {"accuracy, %", "validation.accuracy", 100, 2},
              {"MaxVio of loads, mean of layers", "validation.mean.maxvio_loads", 1, 4},
              {"MaxVio of loads, worst layer", "validation.worst.maxvio_loads", 1, 4},
              {"MaxVio of mean probabilities, mean of layers", "validation.mean.maxvio_mean", 1, 4},
              {"Gini of loads, mean of layers", "validation.mean.gini_loads", 1, 4},
              {"entropy of loads, mean of layers", "validation.mean.entropy_loads", 1, 4},
              {"last training loss", "training.last_loss", 1, 4},
              {"tokens a second", "training.tokens_per_second", 1, 0}};
  fputs("<h2>Results</h2>\n<div class=\"scroll\"><table>\n<tr><th></th>", to);
  for (int i = 0; i < n; i++) {
    fputs("<th>", to);
    page_escape(to, runs[i].label);
    fputs("</th>", to);
  }
  fputs("</tr>\n<tr><td>folder</td>", to);
  for (int i = 0; i < n; i++) {
    fputs("<td>", to);
    page_escape(to, runs[i].folder);
    fputs("</td>", to);
  }
  fputs("</tr>\n", to);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    fprintf(to, "<tr><td>%s</td>", rows[r].label);
    for (int i = 0; i < n; i++) {
      const json_t *value = report_member(runs[i].result, rows[r].path);
      if (json_is_number(value))
        fprintf(to, "<td>%.*f</td>", rows[r].digits, rows[r].scale * json_number_value(value));
      else
        fputs("<td>–</td>", to);
    }
    fputs("</tr>\n", to);
  }
  fputs("</table></div>\n", to);
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
    fputs("<details><summary>All tables</summary><pre>", to);
    page_escape(to, text);
    fputs("</pre></details>\n", to);
  }
  free(text);
}

static void write_runs(FILE *to, int n, const report_run *runs, bool can_draw) {
  write_numbers(to, n, runs);
  write_tables(to, n, runs);
  if (can_draw) {
    fputs("<h2>Curves</h2>\n<div class=\"pictures\">\n", to);
    report_write_curves(to, n, runs);
    fputs("</div>\n", to);
  }
  for (int i = 0; i < n; i++) {
    fputs("<h2>", to);
    page_escape(to, runs[i].label);
    fputs("</h2>\n", to);
    if (!runs[i].result) fputs("<p class=\"soft\">This run has not ended.</p>\n", to);
    if (can_draw) {
      fputs("<div class=\"pictures\">\n", to);
      report_write_loads(to, &runs[i]);
      fputs("</div>\n", to);
    }
    fputs("<details><summary>Configuration</summary><pre>", to);
    page_escape(to, runs[i].config);
    fputs("</pre></details>\n", to);
  }
}

/* Where the page goes, and its pictures besides; null: nowhere else. */
typedef struct target {
  const char *page, *pictures;
} target;

/* The page of runs, or (runs null) of a sweep. */
static phibal_status write_page(const target *out, const char *heading, int n,
                                const report_run *runs, const json_t *sweep) {
  char *text = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  const bool can_draw = gnuplot_is_there();
  page_begin(to, heading, "phibal report");
  fputs("<p class=\"soft\">Made by phibal " PHIBAL_VERSION ".</p>\n", to);
  if (!can_draw)
    fputs("<p class=\"soft\">Pictures are left out: gnuplot was not found when this page was "
          "made.</p>\n",
          to);
  if (sweep)
    report_write_sweep(to, sweep);
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
  json_error_t error;
  json_t *sweep = json_load_file(list, 0, &error);
  if (!sweep)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s", list, error.line, error.text);
  phibal_status status =
      report_is_sweep(sweep)
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
  for (int i = 0; i < n && !status; i++) status = load_run(folders[i], &runs[i]);
  if (!status) name_apart(n, runs);
  if (!status) status = write_page(out, n == 1 ? runs[0].label : "Runs", n, runs, NULL);
  for (int i = 0; i < n; i++) free_run(&runs[i]);
  return status;
}

int command_report(int argc, char **argv) {
  static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                          {"pictures", required_argument, NULL, 'p'},
                                          {"overwrite", no_argument, NULL, 'w'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
  const char *given = NULL, *pictures = NULL;
  bool overwrite = false;
  for (int c; (c = getopt_long(argc, argv, ":", options, NULL)) != -1;) switch (c) {
    case 'o':
      given = optarg;
      break;
    case 'p':
      pictures = optarg;
      break;
    case 'w':
      overwrite = true;
      break;
    case 'h':
      puts(help);
      return 0;
    case ':':
      return command_usage_error("report", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("report", argv, options);
    }
  const int n = argc - optind;
  if (n < 1 || n > REPORT_RUNS_MAX)
    return command_usage_error("report", "1 to %d run folders, or a sweep's, are wanted, not %d",
                               REPORT_RUNS_MAX, n);
  char **folders = argv + optind;
  char *out = given ? strdup(given) : string_format("%s/report.html", folders[0]);
  char *list = string_format("%s/sweep.json", folders[0]);
  phibal_status status = out && list ? PHIBAL_OK : PHIBAL_ERROR_MEMORY;
  if (status) phibal_status_set(status, "out of memory");
  /* The page in a run's own folder is made again; what else has its name stays. */
  if (!status && (given || !access(out, F_OK)))
    status = file_may_write(out, overwrite, given ? NULL : "phibal report</title>");
  if (!status && pictures)
    status = folder_may_write(pictures, overwrite, "--overwrite writes into it");
  if (status)
    ;
  else if (!access(list, F_OK) && n == 1)
    status = report_sweep(folders[0], list, &(target){out, pictures});
  else
    status = report_runs(n, folders, &(target){out, pictures});
  if (!status) puts(out);
  free(out);
  free(list);
  return status ? fail() : 0;
}
