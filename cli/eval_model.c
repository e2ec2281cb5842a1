/* `phibal eval-model`: a trained model on held-out text and on multiple-choice questions. */
#include "commands.h"
#include "model_tokenizer.h"
#include "formats/json_text.h"
#include "moe/train/choices.h"
#include "moe/train/evaluate.h"
#include "formats/file.h"
#include "moe/report/report.h"
#include "moe/train/result.h"
#include "moe/train/run_data.h"
#include "moe/train/trained.h"
#include <getopt.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHOICE_FILES_MAX = 16 };

typedef struct arguments {
  const char *load, *data, *tokenizer, *details, *adapters, *ignored;
  const char *choices[CHOICE_FILES_MAX];
  int choice_files, threads, batch, sequence;
  long long sequences;
  bool json, every_layer, overwrite;
} arguments;

static const char help[] =
    "usage: phibal eval-model --load FOLDER [options]\n\n"
    "Loss, perplexity, accuracy and balance of a trained model on held-out text, by layer and by\n"
    "domain; multiple choice by log-likelihood.\n\n"
    "  --load FOLDER       a run (its newest valid checkpoint), a checkpoint, a folder with\n"
    "                      model.safetensors and config.yaml, or a Hugging Face model\n"
    "                      (config.json and safetensors)\n"
    "  --adapters FOLDER   PEFT (LoRA) adapters to add to a Hugging Face model\n"
    "  --ignore-key KEY,...  keys of a Hugging Face model's config.json to go on without, though\n"
    "                      phibal does not know them\n"
    "  --data FILE         a token file (default: the run's data.validation)\n"
    "  --sequences N       number of sequences, evenly spaced (default 0: all)\n"
    "  --choices FILE      questions in JSONL, in the format of HellaSwag, MMLU or C-Eval;\n"
    "                      repeatable\n"
    "  --details FILE      write a line per question, with the log-likelihood of each option\n"
    "  --overwrite         replace an existing details file\n"
    "  --tokenizer NAME|FILE  bytes, a SentencePiece model, a tokenizer.json, or a folder with "
    "one\n"
    "                      (default: that of a Hugging Face model's folder; of a run that next to\n"
    "                      its data, that of the model it began with, or bytes where its\n"
    "                      vocabulary is theirs)\n"
    "  --batch N           sequences per batch (default: the run's)\n"
    "  --sequence N        context length (default: as in training; for a Hugging Face model\n"
    "                      its maximum, at most 2048)\n"
    "  --threads N         OpenMP threads; results do not depend on it\n"
    "  --every-layer       routed-token ratios of all layers\n"
    "  --json              print all results as JSON";

static int fail(void) {
  fprintf(stderr, "phibal eval-model: %s\n", phibal_status_message());
  return 2;
}

static const char *const *names(const char *option) {
  static const char *const tokenizers[] = {"bytes", NULL};
  return strcmp(option, "tokenizer") ? NULL : tokenizers;
}

static const struct option options[] = {{"load", required_argument, NULL, 'l'},
                                        {"data", required_argument, NULL, 'd'},
                                        {"sequences", required_argument, NULL, 's'},
                                        {"choices", required_argument, NULL, 'c'},
                                        {"details", required_argument, NULL, 'D'},
                                        {"tokenizer", required_argument, NULL, 'k'},
                                        {"batch", required_argument, NULL, 'b'},
                                        {"sequence", required_argument, NULL, 'S'},
                                        {"adapters", required_argument, NULL, 'A'},
                                        {"ignore-key", required_argument, NULL, 'i'},
                                        {"threads", required_argument, NULL, 't'},
                                        {"every-layer", no_argument, NULL, 'e'},
                                        {"overwrite", no_argument, NULL, 'w'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_eval_model = {
    .name = "eval-model", .text = help, .options = options, .names = names};

static int read_arguments(int argc, char **argv, arguments *a) {
  long long value;
  for (int c; (c = command_option(&manual_eval_model, argc, argv, NULL)) != -1;) switch (c) {
    case 'l':
      a->load = optarg;
      break;
    case 'd':
      a->data = optarg;
      break;
    case 's':
      if (!command_read_whole("eval-model", "--sequences", optarg, 0, 1LL << 40, &a->sequences))
        return 2;
      break;
    case 'c':
      if (a->choice_files == CHOICE_FILES_MAX)
        return command_usage_error("eval-model", "more than %d --choices", CHOICE_FILES_MAX);
      a->choices[a->choice_files++] = optarg;
      break;
    case 'D':
      a->details = optarg;
      break;
    case 'k':
      a->tokenizer = optarg;
      break;
    case 'b':
      if (!command_read_whole("eval-model", "--batch", optarg, 1, 1 << 20, &value)) return 2;
      a->batch = (int)value;
      break;
    case 'i':
      a->ignored = optarg;
      break;
    case 'A':
      a->adapters = optarg;
      break;
    case 'S':
      if (!command_read_whole("eval-model", "--sequence", optarg, 1, 1 << 20, &value)) return 2;
      a->sequence = (int)value;
      break;
    case 't':
      if (!command_read_whole("eval-model", "--threads", optarg, 1, 4096, &value)) return 2;
      a->threads = (int)value;
      break;
    case 'w':
      a->overwrite = true;
      break;
    case 'e':
      a->every_layer = true;
      break;
    case 'j':
      a->json = true;
      break;
    case 'h':
      return command_help(&manual_eval_model);
    case ':':
      return command_usage_error("eval-model", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("eval-model", argv, manual_eval_model.options);
    }
  if (optind < argc) return command_usage_error("eval-model", "unexpected '%s'", argv[optind]);
  if (!a->load) return command_usage_error("eval-model", "--load is needed");
  if (a->details && !a->choice_files)
    return command_usage_error("eval-model", "--details is about the questions of --choices");
  if (a->details && file_may_write(a->details, a->overwrite, NULL)) return fail();
  return -1;
}

static phibal_status evaluate_text(const arguments *a, const run_config *config, model *m,
                                   int32_t batch, json_t **json) {
  token_file file = {0};
  evaluation_plan plan = {0};
  evaluation e = {0};
  phibal_status status = run_data_open(a->data ? a->data : config->data.validation,
                                       a->data ? "--data" : "data.validation", config, &file);
  if (!status)
    status = evaluation_plan_create(&file, config->model.sequence, a->sequences,
                                    config->data.boundaries, &plan);
  if (!status) status = evaluation_run(m, &config->model, &plan, batch, &e);
  if (!status) status = result_evaluation(&e, config, &file, json);
  if (!status) status = result_details(&e, *json);
  evaluation_destroy(&e);
  evaluation_plan_destroy(&plan);
  token_file_close(&file);
  return status;
}

static phibal_status evaluate_choices(const arguments *a, const trained *from, model *m,
                                      int32_t batch, json_t *list) {
  const run_config *config = &from->config;
  tokenizer t = {0};
  FILE *details = NULL;
  phibal_status status = model_tokenizer_open(a->tokenizer, from, &t, NULL);
  char *temporary = NULL;
  int fd = -1;
  if (!status && a->details) status = file_create_temporary(a->details, &temporary, &fd);
  if (!status && a->details && !(details = fdopen(fd, "w"))) {
    status = phibal_status_set(PHIBAL_ERROR_IO, "cannot write '%s'", a->details);
    close(fd);
  }
  for (int i = 0; i < a->choice_files && !status; i++) {
    choice_file file;
    json_t *found = NULL;
    status = choices_read(a->choices[i], &file);
    if (status) break;
    status = choices_score(m, &config->model, &t, &file, batch, details, &found);
    if (!status) json_array_append_new(list, found);
    choices_close(&file);
  }
  if (details && (ferror(details) | fclose(details)) && !status)
    status = phibal_status_set(PHIBAL_ERROR_IO, "cannot write '%s'", a->details);
  if (!status && a->details) status = file_publish(temporary, a->details);
  if (status && temporary) unlink(temporary);
  free(temporary);
  tokenizer_free(&t);
  return status;
}

static void print_choices(const json_t *list) {
  size_t i, s;
  json_t *file, *subject;
  json_array_foreach(list, i, file) {
    printf("\n%s: %lld questions, of which %lld lost context\n",
           json_string_value(json_object_get(file, "file")),
           (long long)json_integer_value(json_object_get(file, "questions")),
           (long long)json_integer_value(json_object_get(file, "cut")));
    printf("  accuracy  %.2f %% +- %.2f, by log-likelihood a byte %.2f %%\n",
           100 * json_number_value(json_object_get(file, "accuracy")),
           100 * json_number_value(json_object_get(file, "standard_error")),
           100 * json_number_value(json_object_get(file, "accuracy_per_byte")));
    json_array_foreach(json_object_get(file, "subjects"), s, subject) printf(
        "    %-40.40s %6.2f %% of %lld\n", json_string_value(json_object_get(subject, "subject")),
        100 * json_number_value(json_object_get(subject, "accuracy")),
        (long long)json_integer_value(json_object_get(subject, "questions")));
  }
}

static phibal_status evaluate_all(const arguments *a, const trained *from, model *m,
                                  json_t *found) {
  const run_config *config = &from->config;
  const int32_t batch = a->batch ? a->batch : config->batch.micro_sequences;
  phibal_status status = PHIBAL_OK;
  if (a->data || *config->data.validation) {
    json_t *text = NULL;
    status = evaluate_text(a, config, m, batch, &text);
    if (text) json_object_set_new(found, "validation", text);
  } else if (!a->choice_files) {
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "nothing to evaluate: the run has no data.validation; give --data "
                               "or --choices");
  }
  if (!status && a->choice_files) {
    json_t *list = json_array();
    status = evaluate_choices(a, from, m, batch, list);
    json_object_set_new(found, "choices", list);
  }
  return status;
}

static phibal_status load_and_evaluate(const arguments *a, const trained *t, json_t **found) {
  const run_config *config = &t->config;
  const char *const path = t->hf.folder ? t->hf.folder : t->checkpoint.path;
  if (a->threads) omp_set_num_threads(a->threads);
  model *m = NULL;
  phibal_status status = trained_model(t, a->batch ? a->batch : config->batch.micro_sequences, &m);
  if (!status && a->adapters) status = trained_merge(t, a->adapters, m);
  if (!status) {
    char label[128];
    result_label(config, label, sizeof label);
    *found = json_pack("{s:o, s:o, s:s, s:s, s:{s:i, s:i}}", "checkpoint", json_text(path), "step",
                       t->checkpoint.step < 0 ? json_null() : json_integer(t->checkpoint.step),
                       "name", config->name, "label", label, "routing", "experts",
                       config->model.experts, "active", config->model.active);
    status = evaluate_all(a, t, m, *found);
  }
  model_destroy(m);
  return status;
}

int command_eval_model(int argc, char **argv) {
  arguments a = {0};
  int code = read_arguments(argc, argv, &a);
  if (code >= 0) return code;
  static trained t;
  if (trained_open(a.load, a.sequence, a.ignored, &t)) return fail();
  for (const char *line = t.skipped_checkpoints; *line; line += strcspn(line, "\n") + 1)
    fprintf(stderr, "phibal eval-model: skipped: %.*s\n", (int)strcspn(line, "\n"), line);
  json_t *found = NULL;
  phibal_status status = load_and_evaluate(&a, &t, &found);
  if (!status && a.json) {
    json_dumpf(found, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    putchar('\n');
  } else if (!status) {
    if (t.hf.folder)
      printf("%s, %d tokens at once\n", t.hf.folder, t.config.model.sequence);
    else if (t.checkpoint.step < 0)
      printf("%s\n", t.checkpoint.path);
    else
      printf("%s, after step %lld\n", t.checkpoint.path, (long long)t.checkpoint.step);
    if (json_object_get(found, "validation")) report_write_evaluation(stdout, found, a.every_layer);
    print_choices(json_object_get(found, "choices"));
  }
  json_decref(found);
  trained_close(&t);
  return status ? fail() : 0;
}
