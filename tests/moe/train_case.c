#include "train_case.h"
#include "moe/data/token_writer.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char small[] =
    "model: {vocabulary: 17, width: 16, layers: 2, heads: 2, key_value_heads: 1, head_width: 8,\n"
    "        sequence: 8, experts: 4, active: 2, hidden: 12}\n"
    "batch: {sequences: 4, micro_sequences: 2}\n"
    "optimizer: {peak_lr: 1e-2}\n"
    "training: {steps: 3}\n";

static char folder[64]; /* of one test */

void path_to(const char *name, char path[256]) {
  snprintf(path, 256, "%s/%s", folder, name);
}

void write_tokens(const char *name, int documents, int length) {
  char path[256];
  path_to(name, path);
  token_writer *w;
  cr_assert_eq(token_writer_create(path, VOCABULARY, END, &w), PHIBAL_OK);
  cr_assert_eq(token_writer_domain(w, "rising"), PHIBAL_OK);
  cr_assert_eq(token_writer_domain(w, "falling"), PHIBAL_OK);
  uint32_t *tokens = malloc((size_t)length * sizeof *tokens);
  for (int d = 0; d < documents; d++) {
    for (int i = 0; i < length; i++)
      tokens[i] = (uint32_t)(d % 2 ? (160 - i + d) % 16 : (i * 3 + d) % 16);
    cr_assert_eq(token_writer_document(w, tokens, length, d % 2), PHIBAL_OK);
  }
  free(tokens);
  cr_assert_eq(token_writer_finish(w), PHIBAL_OK);
  cr_assert_eq(token_writer_publish(w), PHIBAL_OK, "%s", phibal_status_message());
  token_writer_destroy(w);
}

void train_case_create(void) {
  strcpy(folder, "/tmp/phibal-test-train-XXXXXX");
  cr_assert(mkdtemp(folder));
  write_tokens("train.tokens", 20, 25);
  write_tokens("validation.tokens", 5, 21);
}

void train_case_remove(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  cr_expect_eq(system(command), 0);
}

void configure(run_config *config, const char *const *pairs) {
  char train[256], validation[256];
  path_to("train.tokens", train);
  path_to("validation.tokens", validation);
  config_override o[12] = {{"data.train", train, "-"}, {"data.validation", validation, "-"}};
  size_t n = 2;
  for (; pairs && *pairs; pairs += 2) o[n++] = (config_override){pairs[0], pairs[1], "-"};
  cr_assert_eq(run_config_parse(small, "small.yaml", o, n, config), PHIBAL_OK, "%s",
               phibal_status_message());
}

json_t *run(const run_config *config, const char *name) {
  char out[256];
  path_to(name, out);
  json_t *result = NULL;
  cr_assert_eq(train_run(config, &(train_options){.out = out}, &result), PHIBAL_OK, "%s",
               phibal_status_message());
  return result;
}

phibal_status run_status(const run_config *config, const train_options *options) {
  json_t *result = NULL;
  phibal_status status = train_run(config, options, &result);
  json_decref(result);
  return status;
}

json_t *metrics(const char *name) {
  char path[256], line[1 << 16];
  snprintf(path, sizeof path, "%s/%s/metrics.jsonl", folder, name);
  FILE *file = fopen(path, "r");
  cr_assert(file, "%s", path);
  json_t *all = json_array();
  while (fgets(line, sizeof line, file)) {
    json_error_t error;
    json_t *object = json_loads(line, 0, &error);
    cr_assert(object, "%s: %s", error.text, line);
    json_object_del(object, "tokens_per_second");
    json_object_del(object, "seconds");
    json_array_append_new(all, object);
  }
  fclose(file);
  return all;
}

double number(const json_t *json, const char *key) {
  json_t *value = json_object_get(json, key);
  cr_assert(json_is_number(value), "no number '%s'", key);
  return json_number_value(value);
}

int phibal_command(const char *before, const char *arguments, char *output, size_t size) {
  char command[1024];
  snprintf(command, sizeof command, "cd '%s' && %s '%s' %s 2>&1", folder, before, getenv("PHIBAL"),
           arguments);
  FILE *pipe = popen(command, "r");
  cr_assert(pipe);
  size_t n = fread(output, 1, size - 1, pipe);
  output[n] = 0;
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void one_line_corpus(run_config *config) {
  char path[256], command[700];
  path_to("", path);
  snprintf(command, sizeof command,
           "cd '%s' && mkdir text && yes 'some words, and some more' | head -n 400 > text/a && "
           "'%s' data build --out bytes --validation 0 --domain a=text >/dev/null 2>&1",
           path, getenv("PHIBAL"));
  cr_assert_eq(system(command), 0);
  path_to("bytes/train.tokens", config->data.train);
}
