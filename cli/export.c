/* `phibal export`: a trained model as a folder that Hugging Face transformers loads. */
#include "commands.h"
#include "moe/train/trained.h"
#include "formats/file.h"
#include "moe/export/hf_write.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
  const char *load, *out, *merge;
  bool adapters;
  hf_save_options options;
} arguments;

static void print_help(void) {
  char known[512];
  hf_architectures_list(known, sizeof known);
  for (char *line = known, *at; (at = strchr(line, ' ')); line = at + 1) {
    /* The last space before column 80. */
    for (char *next = at; next && next - line < 80; next = strchr(next + 1, ' ')) at = next;
    if (strlen(line) < 80) break;
    *at = '\n';
  }
  printf(
      "usage: phibal export --load FOLDER --out FOLDER [options]\n\n"
      "Writes a model for Hugging Face transformers: config.json and safetensors. The\n"
      "architecture is the one that covers the model:\n%s.\n\n"
      "  --load FOLDER        a run, a checkpoint, or a Hugging Face model\n"
      "  --out FOLDER         a new or empty folder\n"
      "  --like FOLDER        a Hugging Face model of the same shape, such as the one training\n"
      "                       started from: keeps its config.json and copies the tokenizer and\n"
      "                       other files next to its weights\n"
      "  --positions N        max_position_embeddings without --like (default: that of the model\n"
      "                       training started from, or the longest sequence it was trained with)\n"
      "  --ignore-key KEY,...  keys of a Hugging Face model's config.json to go on without,\n"
      "                       though phibal does not know them\n"
      "  --merge FOLDER       first add PEFT (LoRA) adapters to the weights\n"
      "  --adapters           for a run with lora.rank: write only the adapters, for PEFT\n"
      "  --dtype TYPE         float32 (default) or bfloat16\n"
      "  --shard-gib N        maximum size of a weight file (default 5)\n",
      known);
}

static const char *const *names(const char *option) {
  static const char *const types[] = {"float32", "bfloat16", NULL};
  return strcmp(option, "dtype") ? NULL : types;
}

static const struct option options[] = {{"load", required_argument, NULL, 'l'},
                                        {"out", required_argument, NULL, 'o'},
                                        {"like", required_argument, NULL, 'k'},
                                        {"positions", required_argument, NULL, 'p'},
                                        {"ignore-key", required_argument, NULL, 'i'},
                                        {"merge", required_argument, NULL, 'm'},
                                        {"adapters", no_argument, NULL, 'a'},
                                        {"dtype", required_argument, NULL, 'd'},
                                        {"shard-gib", required_argument, NULL, 's'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_export = {
    .name = "export", .print = print_help, .options = options, .names = names};

static int read_arguments(int argc, char **argv, arguments *a) {
  for (int c; (c = command_option(&manual_export, argc, argv, NULL)) != -1;) switch (c) {
    case 'l':
      a->load = optarg;
      break;
    case 'o':
      a->out = optarg;
      break;
    case 'k':
      a->options.like = optarg;
      break;
    case 'p': {
      char *end;
      const long positions = strtol(optarg, &end, 10);
      if (!*optarg || *end || positions < 1 || positions > INT32_MAX)
        return command_usage_error("export", "--positions '%s': a whole number above 0", optarg);
      a->options.positions = (int32_t)positions;
      break;
    }
    case 'i':
      a->options.ignored = optarg;
      break;
    case 'm':
      a->merge = optarg;
      break;
    case 'a':
      a->adapters = true;
      break;
    case 'd':
      if (strcmp(optarg, "float32") && strcmp(optarg, "bfloat16"))
        return command_usage_error("export", "--dtype '%s': float32 or bfloat16", optarg);
      a->options.dtype = strcmp(optarg, "bfloat16") ? HF_FLOAT32 : HF_BFLOAT16;
      break;
    case 's': {
      char *end;
      const double gib = strtod(optarg, &end);
      if (!*optarg || *end || !(gib > 0) || gib > 0x1p20)
        return command_usage_error("export", "--shard-gib '%s': a number above 0", optarg);
      a->options.shard_bytes = (int64_t)(gib * 0x1p30);
      break;
    }
    case 'h':
      return command_help(&manual_export);
    case ':':
      return command_usage_error("export", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("export", argv, manual_export.options);
    }
  if (optind < argc) return command_usage_error("export", "unexpected '%s'", argv[optind]);
  if (!a->load || !a->out)
    return command_usage_error("export", "--%s is needed", a->load ? "out" : "load");
  return -1;
}

static phibal_status save_adapters(const arguments *a, const trained *t) {
  const run_config *c = &t->config;
  const lora_config config = {c->lora.rank, c->lora.alpha, c->lora.targets, c->lora.dropout};
  if (t->hf.folder || !c->lora.rank)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s' is not a run with adapters (lora.rank)",
                             a->load);
  return lora_save(a->out, &config, &c->model, c->training.from, &t->checkpoint.training);
}

static phibal_status save_model(const arguments *a, const trained *t) {
  model *m = NULL;
  model_config config = t->config.model;
  if (t->config.balance.method == BALANCE_DENSE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "'%s' has no experts", a->load);
  phibal_status status = trained_model(t, 1, &m);
  if (!status && a->merge) status = trained_merge(t, a->merge, m);
  /* Whatever gave the model a bias in the selection, here it is part of it. */
  config.selection_bias |=
      config.gate == PHIBAL_GATE_SIGMOID || model_has_bias(&config, t->config.balance.method);
  hf_save_options options = a->options;
  if (!status && !options.like && !options.positions && trained_positions(t, &options.positions))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s; give --like or --positions",
                               phibal_status_message());
  if (!status) status = hf_save(a->out, &config, m, &options);
  model_destroy(m);
  return status;
}

int command_export(int argc, char **argv) {
  arguments a = {.options.shard_bytes = (int64_t)5 << 30};
  static trained t;
  int code = read_arguments(argc, argv, &a);
  if (code >= 0) return code;
  phibal_status status = folder_may_write(a.out, false, "name another");
  if (!status) status = trained_open(a.load, 0, a.options.ignored, &t);
  if (!status) status = a.adapters ? save_adapters(&a, &t) : save_model(&a, &t);
  trained_close(&t);
  if (!status) return 0;
  fprintf(stderr, "phibal export: %s\n", phibal_status_message());
  return 2;
}
