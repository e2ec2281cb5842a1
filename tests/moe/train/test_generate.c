/* `phibal generate`, and the draw of a token. */
#include "moe/train/generate.h"
#include "tests/data_files.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(generate, .init = train_case_create, .fini = train_case_remove);

enum { V = 6 };
static const float logits[V] = {0.5f, 2, -1, 2, 1.25f, -1000};

static int32_t next(generate_options o, uint64_t index) {
  int32_t token;
  cr_assert_eq(generate_next(&o, V, logits, index, &token), PHIBAL_OK);
  return token;
}

Test(generate, most_probable) {
  for (uint64_t i = 0; i < 100; i++) {
    cr_expect_eq(next((generate_options){0, 0, 1, i}, i), 1); /* of equal ones the lower id */
    cr_expect_eq(next((generate_options){1, 1, 1, 7}, i), 1);
    cr_expect_eq(next((generate_options){1, 0, 1e-9, 7}, i), 1);
    const int32_t of_two = next((generate_options){1, 2, 1, 7}, i);
    cr_expect(of_two == 1 || of_two == 3);
    /* exp(2) of each of two is 0.37 of the sum, so that two are fewer than 0.75, and three not. */
    const int32_t of_three = next((generate_options){1, 0, 0.75, 7}, i);
    cr_expect(of_three == 1 || of_three == 3 || of_three == 4);
  }
}

/* The frequencies of 2^18 draws beside the probabilities: within 5 standard deviations. */
Test(generate, frequencies) {
  enum { DRAWS = 1 << 18 };
  static const struct {
    double temperature, top_p;
    int32_t top_k, stay;
  } cases[] = {{1, 1, 0, V}, {0.5, 1, 0, V}, {3, 1, 4, 4}, {1, 0.75, 0, 3}, {2, 0.999, 3, 3}};
  static const int32_t order[V] = {1, 3, 4, 0, 2, 5};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    double p[V] = {0}, sum = 0;
    for (int32_t i = 0; i < cases[c].stay; i++)
      sum += p[order[i]] = exp(((double)logits[order[i]] - 2) / cases[c].temperature);
    int64_t seen[V] = {0};
    for (uint64_t i = 0; i < DRAWS; i++)
      seen[next((generate_options){cases[c].temperature, cases[c].top_k, cases[c].top_p, 3}, i)]++;
    for (int32_t i = 0; i < V; i++) {
      const double mean = DRAWS * p[i] / sum, spread = sqrt(mean * (1 - p[i] / sum));
      cr_expect(fabs((double)seen[i] - mean) <= 5 * spread, "case %zu, token %d: %lld, not %g", c,
                i, (long long)seen[i], mean);
    }
  }
}

/* Draws of another seed or place are others; the same are the same. */
Test(generate, seeds) {
  int same[2] = {0, 0};
  for (uint64_t i = 0; i < 1000; i++) {
    const int32_t one = next((generate_options){5, 0, 1, 1}, i);
    cr_expect_eq(next((generate_options){5, 0, 1, 1}, i), one);
    same[0] += next((generate_options){5, 0, 1, 2}, i) == one;
    same[1] += next((generate_options){5, 0, 1, 1}, i + 1) == one;
  }
  for (int i = 0; i < 2; i++) cr_expect(same[i] < 400, "%d of 1000 alike", same[i]);
}

Test(generate, not_finite) {
  float bad[3] = {1, NAN, 2};
  int32_t token;
  generate_options o = {1, 0, 1, 1};
  cr_expect_eq(generate_next(&o, 3, bad, 0, &token), PHIBAL_ERROR_NONFINITE);
  bad[1] = INFINITY;
  o.temperature = 0;
  cr_expect_eq(generate_next(&o, 3, bad, 0, &token), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "token 1"));
}

static void expect(int code, const char *arguments, const char *part) {
  static char text[1 << 16];
  cr_expect_eq(phibal_command("", arguments, text, sizeof text), code, "%s: %s", arguments, text);
  cr_expect(strstr(text, part), "%s: no '%s' in %s", arguments, part, text);
}

static void printed(const char *variables, const char *arguments, char text[1 << 16]) {
  cr_assert_eq(phibal_command(variables, arguments, text, 1 << 16), 0, "%s: %s", arguments, text);
}

/* A model of bytes that has learned one line: it says it, however it is asked. */
Test(generate, command) {
  static char text[1 << 16], other[1 << 16];
  run_config config;
  configure(&config, PAIRS("training.steps", "150", "model.vocabulary", "257", "model.sequence",
                           "64", "data.validation", ""));
  one_line_corpus(&config);
  json_decref(run(&config, "run"));

  printed("", "generate --load run --prompt 'some words, ' --length 12 --temperature 0", text);
  cr_expect_str_eq(text, "some words, and some mor\n");
  printed("", "generate --load run --prompt 'some words, ' --length 12 --top-k 1 --seed 9", other);
  cr_expect_str_eq(other, text);
  printed("", "generate --load run --prompt 'some words, ' --length 12 --temperature 0 --json",
          text);
  json_t *json = json_loads(text, 0, NULL);
  cr_assert(json, "%s", text);
  cr_expect_str_eq(json_string_value(json_object_get(json, "prompt")), "some words, ");
  cr_expect_str_eq(json_string_value(json_object_get(json, "text")), "and some mor");
  cr_expect_str_eq(json_string_value(json_object_get(json, "stopped")), "length");
  cr_expect_eq(json_array_size(json_object_get(json, "tokens")), 12);
  cr_expect_eq(json_integer_value(json_array_get(json_object_get(json, "tokens"), 0)), 'a');
  json_decref(json);
  /* Ids, without an end of document before them: "so". */
  printed("", "generate --load run --tokens 115,111 --length 2 --temperature 0", text);
  cr_expect_str_eq(text, "some\n");

  /* The same bits with any number of threads and every instruction set; other ones for a seed. */
  const char *const drawn = "generate --load run --length 60 --temperature 2 --seed 4";
  printed("", drawn, text);
  printed("OMP_NUM_THREADS=3 PHIBAL_ISA=x86-64-v2", drawn, other);
  cr_expect_str_eq(other, text);
  printed("", "generate --load run --length 60 --temperature 2 --seed 5", other);
  cr_expect(strcmp(other, text));
  /* By default as much as fits. */
  printed("", "generate --load run --temperature 0 --json", text);
  json = json_loads(text, 0, NULL);
  const char *stopped = json_string_value(json_object_get(json, "stopped"));
  const size_t made = json_array_size(json_object_get(json, "tokens"));
  cr_expect(!strcmp(stopped, "end") || made == 63, "%s after %zu", stopped, made);
  json_decref(json);

  expect(2, "generate --prompt a", "--load is needed");
  expect(2, "generate --load run --prompt a --length 64", "more than the 64 positions");
  expect(2, "generate --load run --tokens 1,x", "ids from 0 to 256");
  expect(2, "generate --load run --tokens 257", "ids from 0 to 256");
  expect(2, "generate --load run --tokens ''", "ids from 0 to 256");
  expect(2, "generate --load run --tokens 1 --prompt a", "exclude each other");
  expect(2, "generate --load run --temperature -1", "--temperature '-1'");
  expect(2, "generate --load run --temperature nan", "--temperature 'nan'");
  expect(2, "generate --load run --top-p 0", "--top-p '0'");
  expect(2, "generate --load run --seed 99999999999999999999", "--seed '9999");
  expect(2, "generate --load run --length 0", "--length '0'");
  expect(2, "generate --load absent", "absent");
  expect(2, "generate --load run --tokenizer absent", "absent");
}
