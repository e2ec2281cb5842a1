/* Instruction data: what is read and what is learned of an example, its way into a token file and
   into windows, and the loss of a step. */
#include "moe/data/instructions.h"
#include "moe/data/mixture.h"
#include "moe/data/token_file_internal.h"
#include "moe/data/token_writer.h"
#include "tests/data_files.h"
#include "tests/moe/train_case.h"
#include <math.h>

TestSuite(instructions, .init = train_case_create, .fini = train_case_remove);

static phibal_status parse(const char *line, string_list *example) {
  chat_template t;
  must(chat_template_default(&t));
  phibal_status status = instruction_parse(&t, "e.jsonl", 7, line, strlen(line), example);
  chat_template_free(&t);
  return status;
}

static void check_texts(const char *line, const char *const *texts) {
  string_list example;
  size_t n = 0;
  must(parse(line, &example));
  for (; texts[n]; n++) {
    cr_assert_lt(n, example.count, "%s", line);
    cr_expect_str_eq(example.items[n], texts[n]);
  }
  cr_expect_eq(example.count, n, "%s", line);
  string_list_free(&example);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(instructions, what_is_read_and_what_is_learned) {
  check_texts("{\"prompt\": \"2 + 2 = \", \"completion\": \"4\", \"id\": 3}",
              TEXTS("2 + 2 = ", "4"));
  check_texts("{\"prompt\": \"p\", \"completion\": \"\"}", TEXTS("p", ""));
  check_texts(
      "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"},"
      " {\"role\": \"user\", \"content\": \"U\", \"name\": null},"
      " {\"role\": \"assistant\", \"content\": \"A\\nB\"}], \"prompt\": 1, \"tools\": null}",
      TEXTS("<|system|>\nS\n<|user|>\nU\n<|assistant|>\n", "A\nB"));
  /* Two answers, one after the other without a question, a tool's, and a question without one. */
  check_texts("{\"messages\": [{\"role\": \"user\", \"content\": \"U\"},"
              " {\"role\": \"assistant\", \"content\": \"A\"},"
              " {\"role\": \"assistant\", \"content\": \"B\"},"
              " {\"role\": \"tool\", \"content\": \"T\"},"
              " {\"role\": \"assistant\", \"content\": \"C\"},"
              " {\"role\": \"user\", \"content\": \"V\"}]}",
              TEXTS("<|user|>\nU\n<|assistant|>\n", "A", "<|assistant|>\n", "B",
                    "<|tool|>\nT\n<|assistant|>\n", "C"));
  /* An assistant that speaks first is told to, by the template. */
  check_texts("{\"messages\": [{\"role\": \"assistant\", \"content\": \"A\"}]}",
              TEXTS("<|assistant|>\n", "A"));
}

Test(instructions, errors_name_line_and_field) {
  static const char *const cases[][2] = {
      {"{", "not JSON"},
      {"[]", "no object"},
      {"{\"prompt\": \"a\", \"prompt\": \"b\", \"completion\": \"c\"}", "not JSON"},
      {"{}", "neither \"messages\" nor \"prompt\""},
      {"{\"prompt\": \"a\"}", "\"completion\" is no text"},
      {"{\"completion\": \"a\"}", "\"prompt\" is no text"},
      {"{\"prompt\": [], \"completion\": \"a\"}", "\"prompt\" is no text"},
      {"{\"prompt\": \"\", \"completion\": \"a\"}", "\"prompt\" is empty"},
      {"{\"messages\": {}}", "\"messages\" is no list"},
      {"{\"messages\": []}", "no assistant message"},
      {"{\"messages\": [3]}", "\"messages\"[0] is not an object"},
      {"{\"messages\": [{\"content\": \"a\"}]}", "\"messages\"[0].\"role\" is no text"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}", "no assistant message"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\","
       " \"content\": [{\"type\": \"text\"}]}]}",
       "\"messages\"[1].\"content\" is no text"},
      {"{\"messages\": [{\"role\": \"bot\", \"content\": \"a\"}]}", "the template has no 'bot'"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\", \"tool_calls\": [1]}]}",
       "\"messages\"[0].\"tool_calls\""},
      {"{\"tools\": [1], \"prompt\": \"a\", \"completion\": \"b\"}", "\"tools\""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    string_list example;
    cr_expect_eq(parse(cases[i][0], &example), PHIBAL_ERROR_FORMAT, "%s", cases[i][0]);
    cr_expect(!strncmp(phibal_status_message(), "e.jsonl:7: ", 11) &&
                  strstr(phibal_status_message(), cases[i][1]),
              "%s: %s", cases[i][0], phibal_status_message());
    cr_expect_null(example.items);
  }
}

static phibal_status read_template(const char *text, chat_template *t) {
  char path[256];
  path_to("template.json", path);
  must(file_write_scratch(path, text, strlen(text)));
  return chat_template_read(path, t);
}

Test(instructions, templates) {
  static const char line[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"U\"},"
                             " {\"role\": \"assistant\", \"content\": \"A\"}]}";
  chat_template t;
  string_list example;
  must(read_template("{\"user\": [\"[INST] \", \" [/INST]\"], \"assistant\": [\"\", \"!\"]}", &t));
  must(instruction_parse(&t, "e", 1, line, strlen(line), &example));
  cr_expect(example.count == 2 && !strcmp(example.items[0], "[INST] U [/INST]") &&
            !strcmp(example.items[1], "A!"));
  string_list_free(&example);
  static const char first[] = "{\"messages\": [{\"role\": \"assistant\", \"content\": \"A\"}]}";
  cr_expect_eq(instruction_parse(&t, "e", 1, first, strlen(first), &example), PHIBAL_ERROR_FORMAT);
  cr_expect(strstr(phibal_status_message(), "has nothing before it"), "%s",
            phibal_status_message());
  chat_template_free(&t);
  static const char *const bad[][2] = {{"{", "not JSON"},
                                       {"{\"user\": [\"a\", \"b\"]}", "\"assistant\""},
                                       {"{\"assistant\": [\"a\"]}", "expected two strings"},
                                       {"{\"assistant\": \"a\"}", "expected two strings"},
                                       {"[]", "\"assistant\""}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cr_expect_eq(read_template(bad[i][0], &t), PHIBAL_ERROR_FORMAT);
    cr_expect(strstr(phibal_status_message(), "template.json") &&
                  strstr(phibal_status_message(), bad[i][1]),
              "%s", phibal_status_message());
    cr_expect_null(t.roles);
  }
}

/* Each learned text is followed by an end of document that is learned; the last one is left to the
   file. */
Test(instructions, tokens_and_marks) {
  tokenizer t;
  instruction_tokens to = {0};
  char *texts[] = {(char[]){"ab"}, (char[]){"c"}, (char[]){""},
                   (char[]){""},   (char[]){"d"}, (char[]){"ef"}};
  const string_list example = {texts, 6, 6};
  tokenizer_bytes(&t);
  for (int again = 0; again < 2; again++) {
    must(instruction_encode(&example, &t, false, "e", 1, &to));
    static const uint32_t tokens[] = {'a', 'b', 'c', 256, 256, 'd', 'e', 'f'};
    static const uint8_t learned[] = {0, 0, 1, 1, 1, 0, 1, 1};
    cr_assert_eq(to.tokens.count, 8);
    cr_expect_arr_eq(to.tokens.ids, tokens, sizeof tokens);
    cr_expect_arr_eq(to.learned, learned, sizeof learned);
  }
  *texts[0] = 0;
  cr_expect_eq(instruction_encode(&example, &t, false, "e", 4, &to), PHIBAL_ERROR_FORMAT);
  cr_expect(strstr(phibal_status_message(), "e:4: "));
  instruction_tokens_free(&to);
}

enum { EXAMPLES = 61 };

/* Tokens of example d with its end: 3 to 8, and at two places 9, one more than a window has. */
static int length_of(int d) {
  return d == 7 || d == EXAMPLES - 1 ? 9 : 3 + d * d % 6;
}

/* The first two tell the example. */
static uint32_t token_of(int d, int i) {
  return (uint32_t)(i == 0 ? d % 16 : i == 1 ? d / 16 : (d * 5 + i * 3) % 16);
}

/* Learned are the end, of every other example all but the first token, and here and there one. */
static bool learned_of(int d, int i) {
  return i == length_of(d) - 1 || (i && (d % 2 || (d + i) % 5 == 0));
}

static void write_examples(const char *name) {
  char path[256];
  path_to(name, path);
  token_writer *w;
  must(token_writer_create(path, VOCABULARY, END, &w));
  must(token_writer_domain(w, "a"));
  must(token_writer_domain(w, "b"));
  for (int d = 0; d < EXAMPLES; d++) {
    uint32_t tokens[9];
    uint8_t learned[9];
    const int n = length_of(d) - 1;
    for (int i = 0; i < n; i++) tokens[i] = token_of(d, i), learned[i] = learned_of(d, i);
    must(token_writer_example(w, tokens, learned, n, d % 9 == 8));
  }
  cr_expect_eq(token_writer_document(w, (uint32_t[]){1}, 1, 0), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(token_writer_example(w, (uint32_t[]){1}, (uint8_t[]){1}, 1, 0),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(token_writer_example(w, NULL, (uint8_t[]){0}, 0, 0), PHIBAL_ERROR_ARGUMENT);
  must(token_writer_finish(w));
  must(token_writer_publish(w));
  token_writer_destroy(w);
}

Test(instructions, a_file_keeps_what_is_learned) {
  char path[256];
  token_file f;
  write_examples("examples.tokens");
  path_to("examples.tokens", path);
  must(token_file_open(path, &f));
  cr_assert_eq(f.documents, EXAMPLES);
  for (int d = 0; d < EXAMPLES; d++)
    for (int i = 0; i < length_of(d); i++)
      cr_assert_eq(token_file_learned(&f, f.table[d].start + i), learned_of(d, i), "%d %d", d, i);
  const uint64_t checksum = f.checksum;
  token_file_close(&f);

  /* Bits that cannot be, under a checksum that is right; one that can be is another checksum. */
  text_buffer b = {0};
  must(file_read_all(path, &b));
  token_header h;
  memcpy(&h, b.bytes, sizeof h);
  const size_t section = (size_t)(h.file_bytes - 8 - token_format_learned(&h));
  const struct {
    int64_t bit;
    const char *message;
  } cases[] = {{0, "document 0: its first token"},
               {h.tokens, "after the last"},
               {length_of(0) - 1, "document 0: it has no target"},
               {length_of(0) + 1, NULL}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char *byte = &b.bytes[section + (size_t)cases[c].bit / 8];
    const char kept = *byte;
    *byte = (char)(*byte ^ 1 << cases[c].bit % 8);
    uint64_t sum = token_checksum(0, (const uint64_t *)(b.bytes + sizeof h),
                                  (h.file_bytes - (int64_t)sizeof h - 8) / 8);
    sum = token_checksum(sum, (const uint64_t *)b.bytes, sizeof h / 8);
    memcpy(b.bytes + h.file_bytes - 8, &sum, 8);
    const phibal_status status = token_file_view(b.bytes, b.count, "f", &f);
    cr_expect_eq(status, cases[c].message ? PHIBAL_ERROR_FORMAT : PHIBAL_OK);
    cr_expect(cases[c].message ? strstr(phibal_status_message(), cases[c].message) != NULL
                               : f.checksum != checksum,
              "%s", phibal_status_message());
    token_file_close(&f);
    *byte = kept;
  }
  text_buffer_free(&b);
}

/* Checks a window that begins with example `first`; counts what it has. */
static void check_window(const int32_t *tokens, const int32_t *targets, const int32_t *starts,
                         int first, int *seen) {
  int32_t at = 0;
  int d = first;
  for (; d < EXAMPLES && at + length_of(d) <= SEQUENCE && length_of(d) <= SEQUENCE; d++) {
    const int n = length_of(d);
    for (int i = 0; i < n; i++) {
      const int32_t next = i + 1 == n - 1 ? END : (int32_t)token_of(d, i + 1);
      cr_assert_eq(tokens[at + i], i == n - 1 ? END : (int32_t)token_of(d, i));
      cr_assert_eq(starts[at + i], at);
      cr_assert_eq(targets[at + i], i + 1 < n && learned_of(d, i + 1) ? next : -1, "%d %d", d, i);
    }
    at += n;
    seen[d]++;
  }
  cr_assert_gt(d, first);
  for (; at < SEQUENCE; at++) cr_assert(tokens[at] == -1 && targets[at] == -1);
}

/* An epoch has every example that fits once, whole, beside its neighbours as long as they fit. */
Test(instructions, windows_of_whole_examples) {
  char path[256];
  corpus c;
  mixture m;
  int seen[EXAMPLES] = {0};
  write_examples("train.tokens");
  path_to("train.tokens", path);
  must(corpus_open(path, -1, &c));
  must(mixture_create(&c, SEQUENCE, 3, "", false, &m));
  cr_expect(m.apart);
  cr_expect_eq(m.examples.left_out, 2);
  cr_expect_eq(m.examples.examples, EXAMPLES - 2);
  cr_expect_eq(m.examples.windows, m.part[0].windows);
  int64_t real = 0;
  for (int64_t w = 0; w < m.part[0].windows; w++) {
    int32_t tokens[SEQUENCE], targets[SEQUENCE], starts[SEQUENCE];
    mixture_sequence(&m, w, tokens, targets, starts);
    const model_batch batch = model_batch_count(SEQUENCE, tokens, targets);
    cr_expect_gt(batch.targets, 0);
    real += batch.tokens;
    /* Which example begins it: the first one not seen whose tokens are there. */
    int first = 0;
    for (; first < EXAMPLES; first++) {
      bool same =
          !seen[first] && length_of(first) <= SEQUENCE && tokens[length_of(first) - 1] == END;
      for (int i = 0; i + 1 < length_of(first) && same; i++)
        same = tokens[i] == (int32_t)token_of(first, i);
      if (same) break;
    }
    cr_assert_lt(first, EXAMPLES);
    check_window(tokens, targets, starts, first, seen);
  }
  for (int d = 0; d < EXAMPLES; d++) cr_expect_eq(seen[d], length_of(d) <= SEQUENCE, "%d", d);
  cr_expect_eq(real, m.examples.tokens);
  mixture_destroy(&m);

  /* With weights no window has two domains; what is too long for all of one is said. */
  must(mixture_create(&c, SEQUENCE, 3, "b=1", false, &m));
  cr_expect_eq(mixture_change(&m, 1, ""), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect_eq(m.examples.examples + m.examples.left_out, EXAMPLES / 9);
  mixture_destroy(&m);
  cr_expect_eq(mixture_create(&c, 2, 3, "", false, &m), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "longer than 2"), "%s", phibal_status_message());
  corpus_close(&c);
}

/* What the first example of a window says changes no bit of the second one's losses. */
Test(instructions, examples_do_not_see_each_other) {
  run_config config;
  char path[256];
  token_file f;
  model *m;
  model_losses losses;
  write_examples("train.tokens");
  path_to("train.tokens", path);
  must(token_file_open(path, &f));
  configure(&config, NULL);
  must(model_create(&config.model, &config.balance, 1, 1, &m));
  int32_t tokens[SEQUENCE], targets[SEQUENCE], starts[SEQUENCE];
  int64_t document = 0, start, end;
  mixture_examples counts = {0};
  do cr_assert(mixture_pack(&f, f.documents, SEQUENCE, &document, &counts, &start, &end));
  while (token_file_document(&f, end - 1) == token_file_document(&f, start));
  mixture_window(&f, start, end, SEQUENCE, false, tokens, targets, starts);
  double kept[SEQUENCE];
  int32_t second = 0;
  while (!starts[second]) second++;
  model_set_starts(m, starts);
  must(model_evaluate(m, 1, tokens, targets, &losses, NULL));
  memcpy(kept, model_position_losses(m), sizeof kept);
  for (int i = 0; i < second; i++) tokens[i] = (tokens[i] + 1) % 16;
  must(model_evaluate(m, 1, tokens, targets, &losses, NULL));
  cr_expect_neq(memcmp(kept, model_position_losses(m), (size_t)second * sizeof *kept), 0);
  cr_expect_arr_eq(kept + second, model_position_losses(m) + second,
                   (SEQUENCE - (size_t)second) * sizeof *kept);
  model_destroy(m);
  token_file_close(&f);
}

/* The loss of a step is the sum over its targets by their number, however the batch is split; the
   mean of the micro-batches' means is another number. Both are sums of at most 32 binary64 terms in
   some order: within 64 2^-53, relatively. */
Test(instructions, the_loss_is_a_mean_over_targets) {
  enum { BATCH = 4 };
  run_config config;
  char path[256];
  corpus c;
  mixture order;
  model *m;
  write_examples("train.tokens");
  path_to("train.tokens", path);
  configure(&config, NULL);
  must(corpus_open(path, -1, &c));
  must(mixture_create(&c, SEQUENCE, (uint64_t)config.training.seed, "", false, &order));
  must(model_create(&config.model, &config.balance, 1, (uint64_t)config.training.seed, &m));
  double sum = 0, means = 0;
  int64_t count = 0;
  for (int i = 0; i < BATCH; i++) {
    int32_t tokens[SEQUENCE], targets[SEQUENCE], starts[SEQUENCE];
    model_losses losses;
    mixture_sequence(&order, i, tokens, targets, starts);
    model_set_starts(m, starts);
    must(model_evaluate(m, 1, tokens, targets, &losses, NULL));
    sum += losses.cross_entropy;
    count += losses.targets;
    means += losses.cross_entropy / (double)losses.targets / BATCH;
  }
  const double loss = sum / (double)count, band = 64 * 0x1p-53 * loss;
  cr_assert_gt(fabs(means - loss), 1e6 * band, "a batch that tells them apart");
  json_t *first = NULL;
  static const char *const micro[] = {"4", "3", "2", "1"};
  for (int i = 0; i < 4; i++) {
    configure(&config, PAIRS("batch.micro_sequences", micro[i], "training.steps", "1"));
    json_decref(run(&config, micro[i]));
    json_t *lines = metrics(micro[i]);
    const json_t *line = json_array_get(lines, 0);
    cr_expect_float_eq(number(line, "loss"), loss, band, "micro-batches of %s: %.17g, not %.17g",
                       micro[i], number(line, "loss"), loss);
    if (!first) first = json_incref(json_object_get(line, "layers"));
    cr_expect(json_equal(first, json_object_get(line, "layers")), "micro-batches of %s", micro[i]);
    json_decref(lines);
  }
  json_decref(first);
  model_destroy(m);
  mixture_destroy(&order);
  corpus_close(&c);
}

/* An evaluation predicts what is learned of the examples that fit, each once. */
Test(instructions, evaluation) {
  run_config config;
  write_examples("train.tokens");
  write_examples("validation.tokens");
  int64_t learned[2] = {0};
  for (int d = 0; d < EXAMPLES; d++)
    for (int i = 0; i < length_of(d) && length_of(d) <= SEQUENCE; i++)
      learned[d % 9 == 8] += learned_of(d, i);
  configure(&config, PAIRS("evaluation.final_sequences", "0"));
  json_t *result = run(&config, "out"), *validation = json_object_get(result, "validation");
  cr_expect_eq((int64_t)number(validation, "targets"), learned[0] + learned[1]);
  cr_expect_eq((int64_t)number(validation, "left_out"), 2);
  cr_expect_eq((int64_t)number(json_object_get(result, "training"), "left_out"), 2);
  cr_expect_null(json_object_get(validation, "bigram_entropy"));
  for (int d = 0; d < 2; d++) {
    const json_t *domain = json_array_get(json_object_get(validation, "domains"), (size_t)d);
    cr_expect_eq((int64_t)number(domain, "targets"), learned[d]);
  }
  json_decref(result);
}
