/* `phibal vectors`: golden vectors as files. */
#include "commands.h"
#include "formats/file.h"
#include <getopt.h>
#include <phibal/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify/vectors.h"

static const char help[] =
    "usage: phibal vectors --op NAME|all --out cases.safetensors [options]\n\n"
    "Writes generated cases of operations, with inputs, expected outputs and an error bound for\n"
    "each element, to a safetensors file or, by the name, .npz; and a manifest, cases.json, next\n"
    "to it (spec/VECTORS.md). `phibal judge` compares an implementation's results with them. The\n"
    "same options give the same bytes on every machine.\n"
    "\n"
    "  --op NAME       the operation (repeatable), or all; `phibal verify --list` names them\n"
    "  --cases N       cases per operation. By default 24, and those that combine each value of\n"
    "                  each parameter, and each pair of features, at least once\n"
    "  --seed S        seed (default 1)\n"
    "  --out FILE      output file\n"
    "  --results FILE  also write the results of the built-in CPU kernels\n"
    "  --overwrite     replace existing files\n";

static bool read_number(const char *text, int64_t least, int64_t *n) {
  char *end;
  *n = strtoll(text, &end, 10);
  return end != text && *end == 0 && *n >= least;
}

typedef struct vectors_arguments {
  const operation *chosen[64];
  vectors_request request;
  const char *out, *results;
  bool overwrite;
} vectors_arguments;

static bool choose(vectors_arguments *a, const char *name) {
  bool all = strcmp(name, "all") == 0, found = false;
  for (int i = 0; i < operation_count; i++) {
    if (!all && strcmp(name, operations[i].name) != 0) continue;
    found = true;
    bool known = false;
    for (int j = 0; j < a->request.count; j++) known |= a->chosen[j] == &operations[i];
    if (!known && a->request.count < (int)(sizeof a->chosen / sizeof *a->chosen))
      a->chosen[a->request.count++] = &operations[i];
  }
  return found;
}

static const char *const *names(const char *option) {
  static const char *const all[] = {
#define PHIBAL_OPERATION(ID, name, stem, kinds, potentials, pairs, cases) name,
#include <phibal/ops.def>
      "all", NULL};
  return strcmp(option, "op") ? NULL : all;
}

static const struct option options[] = {
    {"op", required_argument, NULL, 'o'},      {"cases", required_argument, NULL, 'n'},
    {"seed", required_argument, NULL, 's'},    {"out", required_argument, NULL, 'f'},
    {"overwrite", no_argument, NULL, 'w'},     {"help", no_argument, NULL, 'h'},
    {"results", required_argument, NULL, 'r'}, {0}};

const command_manual manual_vectors = {
    .name = "vectors", .text = help, .options = options, .names = names};

/* -1 to go on, or the exit status. */
static int read_arguments(int argc, char **argv, vectors_arguments *a) {
  int64_t n;
  for (int c; (c = command_option(&manual_vectors, argc, argv, NULL)) != -1;) switch (c) {
    case 'o':
      if (!choose(a, optarg))
        return command_usage_error("vectors",
                                   "no operation '%s'; `phibal verify --list` names them", optarg);
      break;
    case 'n':
      if (!read_number(optarg, 1, &a->request.cases) || a->request.cases > 1000000)
        return command_usage_error("vectors", "--cases takes a number from 1 to 1000000, not '%s'",
                                   optarg);
      a->request.paired = false;
      break;
    case 's':
      if (!read_number(optarg, 0, &n))
        return command_usage_error("vectors", "--seed takes a number of at least 0, not '%s'",
                                   optarg);
      a->request.seed = (uint64_t)n;
      break;
    case 'f':
      a->out = optarg;
      break;
    case 'r':
      a->results = optarg;
      break;
    case 'w':
      a->overwrite = true;
      break;
    case 'h':
      return command_help(&manual_vectors);
    case ':':
      return command_usage_error("vectors", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("vectors", argv, manual_vectors.options);
    }
  if (optind < argc) return command_usage_error("vectors", "unexpected '%s'", argv[optind]);
  if (!a->request.count)
    return command_usage_error("vectors", "--op NAME, or --op all, is missing");
  if (!a->out && !a->results)
    return command_usage_error("vectors", "--out cases.safetensors is missing");
  return -1;
}

/* That nothing is replaced: the two files, and the manifest beside the first. */
static phibal_status check_files(const vectors_arguments *a) {
  char *manifest = a->out ? vectors_manifest_path(a->out) : NULL;
  const char *const paths[] = {a->out, manifest, a->results};
  phibal_status status = PHIBAL_OK;
  if (a->out && !manifest) status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  static const char *const others[] = {".npy", ".pt", ".pth", ".bin", ".gguf", ".h5"};
  for (int i = 0; i < 3; i += 2)
    for (size_t e = 0; paths[i] && e < sizeof others / sizeof *others; e++)
      if (string_ends_with(paths[i], others[e]))
        status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                   "%s: the name must end in .safetensors or .npz", paths[i]);
  if (status == PHIBAL_OK && a->out && file_is_device(a->out))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: expected a file; its manifest is written next to it", a->out);
  for (int i = 0; i < 3 && status == PHIBAL_OK; i++) {
    if (!paths[i]) continue;
    status = file_may_write(paths[i], a->overwrite, NULL);
    for (int j = 0; j < i && status == PHIBAL_OK; j++)
      if (paths[j] && strcmp(paths[i], paths[j]) == 0)
        status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s is named twice", paths[i]);
  }
  free(manifest);
  return status;
}

int command_vectors(int argc, char **argv) {
  vectors_arguments a = {.request = {.seed = 1, .cases = 24, .paired = true}};
  a.request.operations = a.chosen;
  int done = read_arguments(argc, argv, &a);
  if (done >= 0) return done;
  phibal_status status = check_files(&a);
  if (status == PHIBAL_OK && a.out) status = vectors_write(&a.request, a.out);
  if (status == PHIBAL_OK && a.results)
    status = vectors_answer(&a.request, &backend_cpu, a.results);
  if (status != PHIBAL_OK) {
    fprintf(stderr, "phibal vectors: %s\n", phibal_status_message());
    return 2;
  }
  return 0;
}
