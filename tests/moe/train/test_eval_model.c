/* `phibal eval-model` on runs that have just been trained: the numbers are those the run ended
   with. */
#include "tests/data_files.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(eval_model, .init = train_case_create, .fini = train_case_remove);

static json_t *found(const char *arguments) {
  static char text[1 << 20];
  cr_assert_eq(phibal_command("", arguments, text, sizeof text), 0, "%s", text);
  json_error_t error;
  json_t *json = json_loads(text, 0, &error);
  cr_assert(json, "%s: %s", error.text, text);
  return json;
}

static double at(const json_t *array, size_t i, const char *key) {
  return number(json_array_get(array, i), key);
}

Test(eval_model, numbers_of_the_run) {
  static const char *const methods[] = {"phi", "loss-free", "dense"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    run_config config;
    configure(&config, PAIRS("balance.method", methods[i], "training.steps", "20",
                             "checkpoint.every", "10", "balance.bias_rate", "0.1"));
    json_t *result = run(&config, methods[i]);
    json_t *trained = json_object_get(result, "validation");
    char arguments[128];
    snprintf(arguments, sizeof arguments, "eval-model --json --load %s", methods[i]);
    json_t *all = found(arguments);
    json_t *evaluated = json_object_get(all, "validation");
    cr_expect_eq((int)number(all, "step"), 20);
    cr_expect_eq(number(evaluated, "perplexity"), exp(number(evaluated, "loss")));
    /* Each domain by itself: the largest of its ratios, which are binary32 numbers below 1. */
    json_t *balance = json_object_get(evaluated, "domain_balance");
    const size_t layers = json_array_size(json_object_get(evaluated, "routed_token_ratio"));
    cr_expect_eq(json_array_size(balance), layers);
    /* Windows of 8 of two and three documents of 22 tokens, each a stretch. */
    const double windows[] = {9, 6};
    for (size_t l = 0; l < layers; l++) {
      double singles = 0;
      for (size_t d = 0; d < 2; d++) {
        json_t *ratios =
            json_array_get(json_array_get(json_object_get(evaluated, "routed_token_ratio"), l), d);
        double most = 0;
        for (size_t e = 0; e < 4; e++)
          most = fmax(most, json_number_value(json_array_get(ratios, e)));
        cr_expect_float_eq(at(json_array_get(balance, l), d, "maxvio_loads"), 4 * most - 1,
                           4 * 0x1p-25);
        singles += at(json_array_get(balance, l), d, "maxvio_sequences") * windows[d];
      }
      cr_expect_float_eq(at(json_object_get(evaluated, "layers"), l, "maxvio_sequences"),
                         singles / (windows[0] + windows[1]), 1e-14);
    }
    /* The rest is what the run itself found, to the bit. */
    json_t *domains = json_object_get(evaluated, "domains");
    for (size_t d = 0; d < 2; d++) {
      json_t *theirs = json_array_get(json_object_get(trained, "domains"), d);
      cr_expect_eq(at(domains, d, "perplexity"), exp(number(theirs, "loss")));
      json_object_del(json_array_get(domains, d), "perplexity");
      json_object_del(theirs, "bigram_entropy");
    }
    json_object_del(evaluated, "perplexity");
    json_object_del(evaluated, "domain_balance");
    json_object_del(evaluated, "seconds");
    json_object_del(trained, "seconds");
    json_object_del(trained, "bigram_entropy");
    json_object_del(trained, "file_tokens");
    cr_expect(json_equal(trained, evaluated), "%s", methods[i]);
    json_decref(all), json_decref(result);
  }
  /* Another checkpoint, other data, fewer windows, several threads. */
  json_t *last = found("eval-model --json --load phi --threads 2");
  json_t *other = found("eval-model --json --load phi/checkpoints/step-000000000010");
  json_t *train = found("eval-model --json --load phi --data train.tokens --sequences 3");
  const double loss = number(json_object_get(last, "validation"), "loss");
  cr_expect_eq((int)number(other, "step"), 10);
  cr_expect_neq(number(json_object_get(other, "validation"), "loss"), loss);
  /* A document of 25 tokens and an end is 8 + 8 + 8 + 2, the last of which predicts one. */
  const int targets = (int)number(json_object_get(train, "validation"), "targets");
  cr_expect(targets > 2 * SEQUENCE && targets <= 3 * SEQUENCE, "%d", targets);
  json_decref(last), json_decref(other), json_decref(train);
}

Test(eval_model, refuses) {
  static char text[1 << 16];
  run_config config;
  configure(&config, PAIRS("training.steps", "2", "data.validation", "", "checkpoint.every", "1"));
  json_decref(run(&config, "run"));
  static const struct {
    const char *arguments, *word;
  } cases[] = {{"eval-model", "--load is needed"},
               {"eval-model --load absent", "neither a checkpoint nor a run"},
               {"eval-model --load run", "no data.validation"},
               {"eval-model --load run --data absent", "absent"},
               {"eval-model --load run --data run/config.yaml", "config.yaml"},
               {"eval-model --load run --sequences -1 --data train.tokens", "--sequences '-1'"},
               {"eval-model --load run --batch 0", "--batch '0'"},
               {"eval-model --load run --details x", "--choices"},
               {"eval-model --load run --choices absent",
                "its vocabulary of 17 tokens is not that of bytes"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_expect_eq(phibal_command("", cases[i].arguments, text, sizeof text), 2, "%s",
                 cases[i].arguments);
    cr_expect(strstr(text, cases[i].word), "no '%s' in: %s", cases[i].word, text);
  }
  char path[256];
  path_to("run/checkpoints/step-000000000002/model.safetensors", path);
  cr_assert_eq(truncate(path, 100), 0);
  cr_expect_eq(
      phibal_command("", "eval-model --load run --data validation.tokens", text, sizeof text), 0);
  cr_expect(strstr(text, "skipped:") && strstr(text, "after step 1"), "%s", text);
  cr_expect_eq(
      phibal_command("",
                     "eval-model --load run/checkpoints/step-000000000002 --data validation.tokens",
                     text, sizeof text),
      2);
  cr_expect(strstr(text, "truncated"), "%s", text);
}

/* Documents can be isolated only where something divides them. */
Test(eval_model, boundaries_need_an_end_of_documents) {
  char path[256];
  run_config config;
  path_to("web.bin", path);
  FILE *file = fopen(path, "wb");
  for (int i = 0; i < 512; i++)
    cr_assert_eq(fwrite((const unsigned char[]){(unsigned char)(i % 13), 0}, 1, 2, file), 2);
  cr_assert_eq(fclose(file), 0);
  configure(&config, PAIRS("training.steps", "1", "data.boundaries", "true", "data.train", path));
  train_options options = {0};
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(message_has("web.bin' has no end of a document, which data.boundaries needs"), "%s",
            phibal_status_message());
  configure(&config, PAIRS("training.steps", "1", "data.boundaries", "true", "data.train", path,
                           "data.end_of_document", "12"));
  json_decref(run(&config, "divided"));
  configure(&config, PAIRS("training.steps", "1", "data.train", path));
  json_decref(run(&config, "whole"));
  configure(&config,
            PAIRS("training.steps", "1", "data.boundaries", "true", "data.validation", path));
  cr_expect_eq(run_status(&config, &options), PHIBAL_ERROR_ARGUMENT);
}

/* Bytes are the model's vocabulary: what is asked reaches it, and a table comes back. */
Test(eval_model, choices) {
  static char text[1 << 16];
  char path[256];
  run_config config;
  configure(&config, PAIRS("training.steps", "2", "model.vocabulary", "257", "model.sequence", "64",
                           "data.validation", ""));
  /* The data's vocabulary of 17 does not fit 257; a file of bytes does. */
  path_to("bytes", path);
  cr_assert_eq(phibal_command("", "eval-model --help", text, sizeof text), 0);
  one_line_corpus(&config);
  config.training.steps = 60;
  json_decref(run(&config, "run"));
  path_to("q.jsonl", path);
  FILE *file = fopen(path, "w");
  cr_assert(file);
  /* What stands in the text is likelier than what does not. */
  for (int i = 0; i < 5; i++)
    fprintf(file,
            "{\"ctx\":\"some words, and\",\"endings\":[\"zq#\",\"some more\"],\"label\":1,"
            "\"subject\":\"%c\"}\n",
            i < 2 ? 'a' : 'b');
  cr_assert_eq(fclose(file), 0);
  json_t *all = found("eval-model --json --load run --choices q.jsonl --details d.jsonl --batch 3");
  const json_t *its = json_array_get(json_object_get(all, "choices"), 0);
  cr_expect_eq((int)number(its, "questions"), 5);
  cr_expect_eq(number(its, "accuracy_per_byte"), 1.0);
  cr_expect_eq((int)at(json_object_get(its, "subjects"), 1, "questions"), 3);
  cr_expect(!json_object_get(all, "validation"));
  json_decref(all);
  cr_expect_eq(phibal_command("", "eval-model --load run --choices q.jsonl", text, sizeof text), 0);
  cr_expect(strstr(text, "q.jsonl: 5 questions") && strstr(text, "by log-likelihood a byte 100.00"),
            "%s", text);
}
