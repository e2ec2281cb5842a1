/* `phibal info`: what was built in, what was left out, versions. */
#include "commands.h"
#include "build_features.h"
#include "info_model.h"
#include "moe/device/device.h"
#include "moe/parallel/parallel.h"
#include "moe/machine/processor.h"
#include <getopt.h>
#include <jansson.h>
#include <omp.h>
#include <phibal/isa.h>
#include <stdio.h>
#include <string.h>

#if PHIBAL_HAVE_REFERENCE
#include "verify/backend_cuda.h"
#include <mpfr.h>
#endif
#if PHIBAL_HAVE_FLINT
#include <flint/flint.h>
#else
#define FLINT_VERSION NULL
#endif

typedef struct feature {
  const char *name;
  const char *version; /* null: left out */
  const char *without; /* what a build without it lacks */
} feature;

/* What a program says of its version, in one line; null where it is not found. */
static const char *program_version(const char *command, char *text, int size) {
  FILE *pipe = popen(command, "r");
  if (!pipe) return NULL;
  char *line = fgets(text, size, pipe);
  if (line) line[strcspn(line, "\n")] = 0;
  return pclose(pipe) == 0 ? line : NULL;
}

static void print_text(const feature *features, size_t n) {
  puts("phibal " PHIBAL_VERSION);
  puts("  compiler       " PHIBAL_COMPILER);
  printf("  processor      %s, %s\n", processor_name(),
         vector_instruction_names[processor_vectors()]);
  if (phibal_isa_check() == PHIBAL_OK)
    printf("  kernels        %s\n", phibal_isa());
  else
    printf("  kernels        refused: %s\n", phibal_status_message());
  printf("  threads        %d\n", omp_get_max_threads());
  for (size_t i = 0; i < n; i++)
    if (features[i].version)
      printf("  %-14s %s\n", features[i].name, features[i].version);
    else
      printf("  %-14s left out: %s\n", features[i].name, features[i].without);
}

static int print_json(const feature *features, size_t n) {
  json_t *all = json_pack("{s:s, s:s, s:s, s:i}", "version", PHIBAL_VERSION, "compiler",
                          PHIBAL_COMPILER, "isa", phibal_isa(), "threads", omp_get_max_threads());
  json_t *list = json_object();
  for (size_t i = 0; i < n; i++)
    json_object_set_new(list, features[i].name,
                        features[i].version ? json_string(features[i].version) : json_null());
  json_object_set_new(all, "features", list);
  json_object_set_new(all, "processor",
                      json_pack("{s:s, s:s}", "name", processor_name(), "vectors",
                                vector_instruction_names[processor_vectors()]));
  json_dumpf(all, stdout, JSON_INDENT(2));
  puts("");
  json_decref(all);
  return 0;
}

static const char help[] =
    "usage: phibal info [--model FOLDER] [--json]\n\n"
    "Prints the features of this build, and why others are missing; or what a Hugging Face\n"
    "model is, and all that phibal refuses in it. Exit status 1: something is refused.\n\n"
    "  --model FOLDER        a model: config.json and safetensors\n"
    "  --ignore-key KEY,...  keys of its config.json to go on without, though phibal does not\n"
    "                        know them\n"
    "  --json                as an object";

static const struct option options[] = {{"model", required_argument, NULL, 'm'},
                                        {"ignore-key", required_argument, NULL, 'i'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_info = {.name = "info", .text = help, .options = options};

int command_info(int argc, char **argv) {
  int json = 0;
  const char *folder = NULL, *ignored = NULL;
  for (int c; (c = command_option(&manual_info, argc, argv, NULL)) != -1;) switch (c) {
    case 'm':
      folder = optarg;
      break;
    case 'i':
      ignored = optarg;
      break;
    case ':':
      return command_usage_error("info", "'%s' needs a value", argv[optind - 1]);
    case 'j':
      json = 1;
      break;
    case 'h':
      return command_help(&manual_info);
    default:
      return command_unknown_option("info", argv, manual_info.options);
    }
  if (optind < argc) return command_usage_error("info", "unexpected '%s'", argv[optind]);
  if (ignored && !folder) return command_usage_error("info", "--ignore-key is for --model");
  if (folder) return info_model(folder, ignored, json);

  char gnuplot[80];
  const feature features[] = {
    {"jansson", jansson_version_str(), ""},
#if PHIBAL_HAVE_REFERENCE
    {"MPFR", mpfr_get_version(), ""},
#else
    {"MPFR", NULL, "no reference, no `phibal eval`, `audit` or `verify`"},
#endif
    {"FLINT", PHIBAL_HAVE_FLINT ? FLINT_VERSION : NULL,
     "no exact algebra: `phibal audit` proves convexity by boxes alone"},
    {"gnuplot", program_version("gnuplot --version 2>/dev/null", gnuplot, sizeof gnuplot),
     "no pictures in the pages of `phibal report` and `phibal audit --html`"},
    {"SentencePiece", PHIBAL_HAVE_SENTENCEPIECE ? "yes" : NULL,
     "no tokenizer.model: bytes and tokenizer.json only"},
    {"utf8proc", PHIBAL_HAVE_UTF8PROC ? "yes" : NULL, "no tokenizer.json with NFC or NFKC"},
#if PHIBAL_HAVE_REFERENCE
    {"CUDA", backend_cuda_left_out(true) ? NULL : PHIBAL_NVCC, backend_cuda_left_out(true)},
    {"CUDA on host", backend_cuda_left_out(false) ? NULL : "yes", backend_cuda_left_out(false)},
#endif
    {"NCCL", device_nccl(), "one process trains on CUDA devices"},
    {"cuDNN", device_cudnn(), "attention on a device is by matrix products"},
    {"MPI", parallel_library(), "one process trains a model: no `mpirun phibal train`"},
    {"libsodium", PHIBAL_HAVE_SODIUM ? "yes" : NULL,
     "one process trains on devices: no processes of torchrun or srun"},
  };
  size_t n = sizeof features / sizeof *features;
  if (json) return print_json(features, n);
  print_text(features, n);
  return 0;
}
