/* `phibal compare`: the final tables of several runs, side by side. */
#include "commands.h"
#include "formats/json_text.h"
#include "moe/report/report.h"
#include "moe/train/run_folder.h"
#include <getopt.h>

enum { RUNS_MAX = 16 };

static const char help[] =
    "usage: phibal compare [--every-layer] [--json] FOLDER...\n\n"
    "Prints the final tables of runs of `phibal train` side by side, from their result.json.\n\n"
    "  --every-layer   routed-token ratios of all layers, not only the middle and last one\n"
    "  --json          print an array of the runs' result.json";

static int print_runs(int n, json_t *const *runs, bool every_layer, bool json) {
  if (!json) {
    if (!report_write(stdout, n, runs, every_layer)) return 0;
    return command_usage_error("compare", "%s", phibal_status_message());
  }
  json_t *all = json_array();
  for (int i = 0; i < n; i++) json_array_append(all, runs[i]);
  json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  putchar('\n');
  json_decref(all);
  return 0;
}

static const struct option options[] = {{"every-layer", no_argument, NULL, 'l'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_compare = {
    .name = "compare", .text = help, .options = options, .operands = "FOLDER"};

int command_compare(int argc, char **argv) {
  bool every_layer = false, json = false;
  for (int c; (c = command_option(&manual_compare, argc, argv, NULL)) != -1;) switch (c) {
    case 'l':
      every_layer = true;
      break;
    case 'j':
      json = true;
      break;
    case 'h':
      return command_help(&manual_compare);
    default:
      return command_unknown_option("compare", argv, manual_compare.options);
    }
  int n = argc - optind;
  if (n < 1 || n > RUNS_MAX)
    return command_usage_error("compare", "expected 1 to %d run folders, not %d", RUNS_MAX, n);
  json_t *runs[RUNS_MAX] = {0};
  int code = 0;
  for (int i = 0; i < n && !code; i++)
    if (run_folder_result(argv[optind + i], &runs[i]))
      code = command_usage_error("compare", "%s", phibal_status_message());
  for (int i = 0; i < n && !code && !json; i++)
    json_object_set_new(runs[i], "folder", json_text(argv[optind + i]));
  if (!code) code = print_runs(n, runs, every_layer, json);
  for (int i = 0; i < n; i++) json_decref(runs[i]);
  return code;
}
