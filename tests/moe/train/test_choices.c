/* Multiple choice: how questions are read, where an option's tokens stand, and its log-likelihood
   against whole sequences. */
#include "moe/train/choices.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(choices, .init = train_case_create, .fini = train_case_remove);

static void write_text(const char *name, const char *text) {
  char path[256];
  path_to(name, path);
  FILE *file = fopen(path, "w");
  cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static phibal_status read_text(const char *text, choice_file *file) {
  char path[256];
  write_text("questions.jsonl", text);
  path_to("questions.jsonl", path);
  return choices_read(path, file);
}

Test(choices, layouts) {
  choice_file f;
  cr_assert_eq(
      read_text(
          "{\"ctx\":\"She\",\"endings\":[\"ran.\",\"is\",\"a\"],\"label\":\"2\"}\n\n"
          "{\"question\":\"2 + 2?\",\"choices\":[\"3\",\"4\"],\"answer\":1,\"subject\":\"sums\"}\n"
          "{\"question\":\"q\",\"choices\":[\"x\",\"y\",\"z\"],\"answer\":\"C\"}\n"
          "{\"id\":7,\"question\":\"几？\",\"A\":\"一\",\"B\":\"二\",\"C\":\"三\",\"D\":\"四\","
          "\"answer\":\"B\",\"explanation\":\"\"}",
          &f),
      PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(f.count, 4);
  const choice_question *q = f.questions;
  cr_expect_str_eq(q[0].context, "She");
  cr_expect_eq(q[0].options, 3);
  cr_expect_str_eq(q[0].option[0], " ran.");
  cr_expect_eq(q[0].answer, 2);
  cr_expect(!q[0].subject);
  cr_expect_str_eq(q[1].context, "2 + 2?\nA. 3\nB. 4\nAnswer:");
  cr_expect_str_eq(q[1].option[1], " B");
  cr_expect_eq(q[1].answer, 1);
  cr_expect_str_eq(q[1].subject, "sums");
  cr_expect_eq(q[1].line, 3);
  cr_expect_eq(q[2].answer, 2);
  cr_expect_str_eq(q[3].context, "几？\nA. 一\nB. 二\nC. 三\nD. 四\n答案：");
  cr_expect_str_eq(q[3].option[3], "D");
  cr_expect_eq(q[3].answer, 1);
  choices_close(&f);
}

Test(choices, what_is_no_question) {
  static const char *const bad[][2] = {
      {"{\"ctx\":\"a\",\"endings\":[\"b\",\"c\"],\"label\":2}", ":1: \"label\""},
      {"{\"ctx\":\"a\",\"endings\":[\"b\",\"c\"],\"label\":\"\"}", ":1: \"label\""},
      {"{\"ctx\":\"a\",\"endings\":[\"b\",\"c\"],\"label\":-1}", ":1: \"label\""},
      {"{\"ctx\":\"a\",\"endings\":[\"b\",\"c\"]}", ":1: \"label\""},
      {"{\"ctx\":\"a\",\"endings\":[\"b\"],\"label\":0}", ":1: \"endings\""},
      {"{\"ctx\":\"a\",\"endings\":[\"b\",3],\"label\":0}", ":1: \"endings\""},
      {"{\"endings\":[\"b\",\"c\"],\"label\":0}", ":1: \"ctx\""},
      {"\n{\"question\":\"a\",\"choices\":[\"b\",\"c\"],\"answer\":\"C\"}", ":2: \"answer\""},
      {"{\"question\":\"a\",\"A\":\"b\",\"B\":\"c\",\"C\":\"d\",\"answer\":\"A\"}", ":1: \"D\""},
      {"{\"question\":3,\"choices\":[\"b\",\"c\"],\"answer\":0}", ":1: \"question\""},
      {"{\"text\":\"a\"}", "neither"},
      {"{\"question\":", ":1: not JSON"},
      {" \n", "no question"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    choice_file f;
    cr_expect_eq(read_text(bad[i][0], &f), PHIBAL_ERROR_FORMAT, "%s", bad[i][0]);
    cr_expect(strstr(phibal_status_message(), bad[i][1]), "%s", phibal_status_message());
    cr_expect(!f.questions);
  }
}

/* A document's end, the context, the option; each position is asked for the next one; padding
   behind them. */
Test(choices, positions) {
  tokenizer t;
  tokenizer_bytes(&t);
  int32_t tokens[8], targets[8], first, end;
  bool cut;
  cr_assert_eq(choices_encode(&t, "abc", " de", 8, tokens, targets, &first, &end, &cut), PHIBAL_OK);
  static const int32_t read[8] = {256, 'a', 'b', 'c', ' ', 'd', -1, -1};
  static const int32_t wanted[8] = {'a', 'b', 'c', ' ', 'd', 'e', -1, -1};
  cr_expect_arr_eq(tokens, read, sizeof read);
  cr_expect_arr_eq(targets, wanted, sizeof wanted);
  cr_expect(first == 3 && end == 6 && !cut);
  /* As much as fits, from the end; exactly enough is not cut. */
  cr_assert_eq(choices_encode(&t, "abc", " de", 6, tokens, targets, &first, &end, &cut), PHIBAL_OK);
  cr_expect(first == 3 && end == 6 && !cut && tokens[0] == 256);
  cr_assert_eq(choices_encode(&t, "abc", " de", 4, tokens, targets, &first, &end, &cut), PHIBAL_OK);
  static const int32_t last[4] = {'b', 'c', ' ', 'd'}, last_wanted[4] = {'c', ' ', 'd', 'e'};
  cr_expect_arr_eq(tokens, last, sizeof last);
  cr_expect_arr_eq(targets, last_wanted, sizeof last_wanted);
  cr_expect(first == 1 && end == 4 && cut);
  cr_assert_eq(choices_encode(&t, "", "x", 4, tokens, targets, &first, &end, &cut), PHIBAL_OK);
  cr_expect(first == 0 && end == 1 && tokens[0] == 256 && targets[0] == 'x');
  cr_expect_eq(choices_encode(&t, "abc", " defg", 4, tokens, targets, &first, &end, &cut),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(choices_encode(&t, "abc", "", 8, tokens, targets, &first, &end, &cut),
               PHIBAL_ERROR_ARGUMENT);
}

/* The log-likelihood of an option is that of the text with it less that of the context alone: two
   sums of at most 32 binary64 terms below 2^3 each, so they agree within 64 * 2^3 * 2^-53. Batches
   of one and of three give the same bits: no row of the model sees what is computed beside it. */
Test(choices, scores_against_whole_sequences) {
  enum { S = 32 };
  run_config config;
  configure(&config, PAIRS("model.vocabulary", "257", "model.sequence", "32", "model.width", "24",
                           "model.experts", "8"));
  model *m;
  cr_assert_eq(model_create(&config.model, &config.balance, 3, 7, &m), PHIBAL_OK);
  /* Far enough from the uniform distribution that options differ. */
  for (int64_t i = 0; i < model_parameter_count(m); i++) model_parameters(m)[i] *= 3.0f;
  tokenizer t;
  tokenizer_bytes(&t);
  choice_file f;
  cr_assert_eq(
      read_text(
          "{\"ctx\":\"one two three\",\"endings\":[\"four\",\"fifteen\",\"x\"],\"label\":0}\n"
          "{\"ctx\":\"a context that is longer than the model can read\",\"endings\":[\"u\",\"\"],"
          "\"label\":1}\n"
          "{\"ctx\":\"q\",\"endings\":[\"qq\",\"rrr\",\"s\",\"tt\"],\"label\":3,\"subject\":\"s\"}",
          &f),
      PHIBAL_OK);
  char path[2][256];
  json_t *found[2];
  path_to("details1", path[0]);
  path_to("details3", path[1]);
  for (int i = 0; i < 2; i++) {
    FILE *details = fopen(path[i], "w+");
    cr_assert(details);
    cr_assert_eq(choices_score(m, &config.model, &t, &f, i ? 3 : 1, details, &found[i]), PHIBAL_OK,
                 "%s", phibal_status_message());
    fclose(details);
  }
  cr_expect(json_equal(found[0], found[1]));
  FILE *lines[2] = {fopen(path[0], "r"), fopen(path[1], "r")};
  int right = 0, right_per_byte = 0;
  for (int64_t i = 0; i < f.count; i++) {
    const choice_question *q = &f.questions[i];
    json_t *line = json_loadf(lines[0], JSON_DISABLE_EOF_CHECK, NULL);
    json_t *other = json_loadf(lines[1], JSON_DISABLE_EOF_CHECK, NULL);
    cr_expect(line && json_equal(line, other));
    int best = 0, best_per_byte = 0;
    double most = -HUGE_VAL, most_per_byte = -HUGE_VAL;
    for (int32_t o = 0; o < q->options; o++) {
      int32_t tokens[S], targets[S], first, end;
      bool cut;
      model_losses with, without;
      cr_assert_eq(
          choices_encode(&t, q->context, q->option[o], S, tokens, targets, &first, &end, &cut),
          PHIBAL_OK);
      cr_expect_eq(cut, i == 1);
      cr_assert_eq(model_evaluate(m, 1, tokens, targets, &with, NULL), PHIBAL_OK);
      for (int32_t p = first; p < end; p++) targets[p] = -1;
      cr_assert_eq(model_evaluate(m, 1, tokens, targets, &without, NULL), PHIBAL_OK);
      const double wanted = without.cross_entropy - with.cross_entropy;
      const double sum =
          json_number_value(json_array_get(json_object_get(line, "log_likelihood"), (size_t)o));
      cr_expect_float_eq(sum, wanted, 64 * 0x1p-50, "%g %g", sum, wanted);
      cr_expect_lt(sum, -0.1);
      if (sum > most) most = sum, best = o;
      const double per_byte = sum / (double)strlen(q->option[o]);
      if (per_byte > most_per_byte) most_per_byte = per_byte, best_per_byte = o;
    }
    cr_expect_eq((int)number(line, "chosen"), best);
    right += best == q->answer;
    right_per_byte += best_per_byte == q->answer;
    json_decref(line), json_decref(other);
  }
  cr_expect_eq(number(found[0], "accuracy"), right / 3.0);
  cr_expect_eq(number(found[0], "accuracy_per_byte"), right_per_byte / 3.0);
  cr_expect_eq((int)number(found[0], "cut"), 1);
  const json_t *subject = json_array_get(json_object_get(found[0], "subjects"), 0);
  cr_expect_eq((int)number(subject, "questions"), 1);
  fclose(lines[0]), fclose(lines[1]);
  json_decref(found[0]), json_decref(found[1]);
  choices_close(&f);
  model_destroy(m);
}
