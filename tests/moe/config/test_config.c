/* Run files: the schema, the places that messages name, overrides, and the built-in configurations.
 */
#include "moe/config/config.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A complete run file whose lines the tests know: model on 1, its keys from 2. */
#define MODEL                                                                                      \
  "model:\n  vocabulary: 257\n  width: 16\n  layers: 2\n  heads: 2\n  head_width: 8\n"             \
  "  sequence: 8\n  experts: 4\n  active: 2\n  hidden: 12\n"
#define REST                                                                                       \
  "batch: {sequences: 4}\n"                                                                        \
  "optimizer: {peak_lr: 1e-3}\n"                                                                   \
  "training: {steps: 3}\n"

static phibal_status parse(const char *text, run_config *config) {
  return run_config_parse(text, "some/file.yaml", NULL, 0, config);
}

static void expect_error(const char *text, phibal_status expected, const char *place,
                         const char *word) {
  run_config config;
  phibal_status status = parse(text, &config);
  cr_expect_eq(status, expected, "status %d for\n%s%s", (int)status, text, phibal_status_message());
  cr_expect(strstr(phibal_status_message(), place), "no '%s' in: %s", place,
            phibal_status_message());
  cr_expect(strstr(phibal_status_message(), word), "no '%s' in: %s", word, phibal_status_message());
}

Test(config, defaults_and_file) {
  run_config c;
  cr_assert_eq(parse(MODEL REST, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_str_eq(c.name, "file");
  cr_expect_eq(c.model.vocabulary, 257);
  cr_expect_eq(c.model.hidden, 12);
  cr_expect_eq(c.model.key_value_heads, 2);
  cr_expect_eq(c.model.dense_hidden, 24);
  cr_expect_eq(c.batch.micro_sequences, 4);
  cr_expect_eq(c.balance.method, BALANCE_PHI);
  cr_expect_eq(c.balance.potential.id, PHIBAL_POTENTIAL_NEGENTROPY);
  cr_expect_eq(c.balance.eta, 0.65f);
  cr_expect_eq(c.optimizer.peak_lr, 1e-3);
  cr_expect_eq(c.training.steps, 3);
  cr_expect(c.model.embedding_scale && !c.model.qk_norm);
}

Test(config, choices_keep_their_order) {
  static const struct {
    const char *method;
    balance_method value;
  } methods[] = {{"phi", BALANCE_PHI},
                 {"switch", BALANCE_SWITCH},
                 {"switch-global", BALANCE_SWITCH_GLOBAL},
                 {"sequence", BALANCE_SEQUENCE},
                 {"loss-free", BALANCE_LOSS_FREE},
                 {"phi-bias", BALANCE_PHI_BIAS},
                 {"quantile", BALANCE_QUANTILE},
                 {"none", BALANCE_NONE},
                 {"dense", BALANCE_DENSE}};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    run_config c;
    config_override o = {"balance.method", methods[i].method, "--method"};
    cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", &o, 1, &c), PHIBAL_OK);
    cr_expect_eq(c.balance.method, methods[i].value, "%s", methods[i].method);
  }
  run_config c;
  config_override o[] = {
      {"model.activation", "silu", "-"},   {"model.gate", "sigmoid", "-"},
      {"balance.track", "frequency", "-"}, {"balance.start", "zero-corrected", "-"},
      {"model.qk_norm", "true", "-"},      {"model.selection_score", "of_gate", "-"}};
  cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, 6, &c), PHIBAL_OK);
  cr_expect_eq(c.model.selection_score, PHIBAL_SCORE_OF_GATE);
  cr_expect_eq(c.model.activation, PHIBAL_ACTIVATION_SILU);
  cr_expect_eq(c.model.gate, PHIBAL_GATE_SIGMOID);
  cr_expect_eq(c.balance.track, TRACK_FREQUENCY);
  cr_expect_eq(c.balance.start, START_ZERO_CORRECTED);
  cr_expect(c.model.qk_norm);
}

/* Gates of a softmax have probabilities to select by, others none. */
Test(config, selection_by_probabilities) {
  run_config c;
  config_override o[] = {{"model.selection_score", "probability", "-"},
                         {"model.gate", "probability", "-"}};
  for (size_t n = 1; n <= 2; n++) {
    cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, n, &c), PHIBAL_OK);
    cr_expect_eq(c.model.selection_score, PHIBAL_SCORE_PROBABILITY);
  }
  expect_error(MODEL "  selection_score: probability\n  gate: sigmoid\n" REST,
               PHIBAL_ERROR_ARGUMENT, "some/file.yaml", "selection_score probability");
  expect_error(MODEL "  selection_score: probability\n  gate: sqrt_softplus\n" REST,
               PHIBAL_ERROR_ARGUMENT, "some/file.yaml", "selection_score probability");
}

Test(config, floors_of_sums) {
  run_config c;
  config_override o[] = {{"model.gate", "probability", "-"},
                         {"model.gate_normalisation", "sum", "-"},
                         {"model.gate_floor", "1e-12", "-"},
                         {"model.gate_epsilon", "0.1", "-"}};
  cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, 3, &c), PHIBAL_OK);
  cr_expect_eq(c.model.gate_floor, 1e-12f);
  cr_expect_eq(run_config_parse(MODEL REST, "f.yaml", o, 4, &c), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "without gate_epsilon"), "%s", phibal_status_message());
  expect_error(MODEL "  gate_floor: 0.5\n" REST, PHIBAL_ERROR_ARGUMENT, "some/file.yaml",
               "gate_floor is for gate_normalisation sum");
  expect_error(MODEL "  gate_floor: 1.5\n" REST, PHIBAL_ERROR_ARGUMENT,
               "some/file.yaml:11:", "[0, 1]");
}

Test(config, experts_that_compute_nothing) {
  run_config c;
  config_override o[] = {{"model.zero_experts", "3", "-"},
                         {"model.zero_gates", "left_out", "-"},
                         {"model.zero_output", "zero", "-"},
                         {"parallel.experts", "2", "-"}};
  cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, 2, &c), PHIBAL_OK);
  cr_expect_eq(c.model.zero_output, ZERO_IDENTITY);
  cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, 3, &c), PHIBAL_OK);
  cr_expect_eq(c.model.zero_output, ZERO_NOTHING);
  cr_expect_eq(c.model.zero_experts, 3);
  cr_expect_eq(c.model.zero_gates, PHIBAL_ZERO_GATES_LEFT_OUT);
  cr_expect_eq(run_config_parse(MODEL REST, "f.yaml", o, 4, &c), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "1 experts with weights cannot be divided evenly"),
            "%s", phibal_status_message());
  expect_error(MODEL "  zero_experts: 4\n" REST, PHIBAL_ERROR_ARGUMENT,
               "some/file.yaml:11:", "4 of 4 experts, and one needs weights");
  expect_error(MODEL "  zero_gates: left_out\n" REST, PHIBAL_ERROR_ARGUMENT, "some/file.yaml",
               "there are no zero_experts");
  expect_error(MODEL "  zero_output: zero\n" REST, PHIBAL_ERROR_ARGUMENT, "some/file.yaml",
               "zero_output zero, and there are no zero_experts");
}

Test(config, unknown_keys_name_line_and_key) {
  const phibal_status bad = PHIBAL_ERROR_FORMAT;
  expect_error(MODEL "  witdh: 3\n" REST, bad, "some/file.yaml:11:", "model.witdh");
  expect_error(MODEL REST "trainig:\n  steps: 1\n", bad, "some/file.yaml:14:", "trainig");
  /* The same word in a comment and as another section's key is not the place. */
  expect_error(MODEL REST "# eta: x\nbalance:\n  # steps: 4\n  eta: 0.5\n  steps: 4\n", bad,
               "some/file.yaml:18:", "balance.steps");
  expect_error(MODEL "batch: {sequences: 4,\n  squences: 4}\n", bad,
               "some/file.yaml:12:", "batch.squences");
}

Test(config, ill_typed_keys_name_line_and_key) {
  const phibal_status bad = PHIBAL_ERROR_FORMAT;
#define WITH(line) MODEL REST "balance:\n" line
  expect_error(WITH("  eta: high\n"), bad, "some/file.yaml:15:", "balance.eta");
  expect_error(WITH("  alpha: 0.1x\n"), bad, "some/file.yaml:15:", "'0.1x' is not a number");
  expect_error(WITH("  alpha: nan\n"), bad, "some/file.yaml:15:", "balance.alpha");
  expect_error(WITH("  alpha: inf\n"), bad, "some/file.yaml:15:", "balance.alpha");
  expect_error(WITH("  alpha: [0.1, 0.2]\n"), bad, "some/file.yaml:15:", "balance.alpha");
  expect_error(WITH("  alpha:\n"), bad, "some/file.yaml:15:", "balance.alpha");
  expect_error(WITH("  method: fi\n"), bad, "some/file.yaml:15:", "switch-global");
  expect_error(WITH("  eta: 0.5\n  eta: 0.6\n"), bad, "some/file.yaml:16:", "twice");
  expect_error(MODEL REST "evaluation:\n  every: 3.5\n", bad,
               "some/file.yaml:15:", "'3.5' is not an integer");
  expect_error(MODEL REST "evaluation:\n  every: 1e3\n", bad,
               "some/file.yaml:15:", "'1e3' is not an integer");
  expect_error(MODEL "  qk_norm: yes\n" REST, bad, "some/file.yaml:11:", "model.qk_norm");
  expect_error("model: 3\n" REST, bad, "some/file.yaml:1:", "'model' must be a section");
  expect_error(MODEL REST "\tx\n", bad, "some/file.yaml:", "not a run file");
  expect_error("- a\n- b\n", bad, "some/file.yaml:", "not a run file");
  expect_error(MODEL REST "---\nmodel:\n  width: 3\n", bad, "some/file.yaml:", "not a run file");
}

Test(config, ranges_and_missing_keys) {
  const phibal_status bad = PHIBAL_ERROR_ARGUMENT;
  expect_error(WITH("  eta: 0\n"), bad, "some/file.yaml:15:", "(0, 1]");
  expect_error(WITH("  eta: 1e-60\n"), bad, "some/file.yaml:15:", "(0, 1]");
  expect_error(WITH("  eta: 1.0001\n"), bad, "some/file.yaml:15:", "balance.eta");
  expect_error(MODEL REST "evaluation:\n  every: 99999999999999999999\n", bad,
               "some/file.yaml:15:", "outside");
  expect_error(WITH("  potential: lq\n"), bad, "some/file.yaml:15:", "balance.potential");
  expect_error(WITH("  potential: lp\n  parameter: 0.5\n"), bad,
               "some/file.yaml:16:", "balance.parameter");
  expect_error(WITH("  parameter: 2\n"), bad, "some/file.yaml:15:", "negentropy");
  expect_error(MODEL "  key_value_heads: 3\n" REST, bad,
               "some/file.yaml:11:", "model.key_value_heads");
  expect_error(MODEL "  dense_layers: 3\n" REST, bad, "some/file.yaml:11:", "of 2 layers");
  expect_error(MODEL REST "model:\n", PHIBAL_ERROR_FORMAT, "some/file.yaml:14:", "twice");
  expect_error(MODEL "batch: {sequences: 4, micro_sequences: 5}\n", PHIBAL_ERROR_FORMAT,
               "some/file.yaml", "optimizer.peak_lr is missing");
  expect_error("", PHIBAL_ERROR_FORMAT, "some/file.yaml", "model.vocabulary is missing");
  /* The ends that belong to an interval are good. */
  run_config c;
  cr_expect_eq(parse(WITH("  eta: 1\n  alpha: 0\n"), &c), PHIBAL_OK);
}

Test(config, overrides_win_and_are_named) {
  run_config c;
  const config_override o[] = {{"optimizer.peak_lr", "5e-4", "--set"},
                               {"training.steps", "7", "--steps"},
                               {"training.steps", "9", "--steps"}};
  cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, 3, &c), PHIBAL_OK);
  cr_expect_eq(c.optimizer.peak_lr, 5e-4);
  cr_expect_eq(c.training.steps, 9, "the later override wins");
  cr_expect_eq(c.model.width, 16, "other keys keep the file's value");

  config_override bad = {"balance.eta", "2", "--eta"};
  cr_expect_eq(run_config_parse(MODEL REST, "f.yaml", &bad, 1, &c), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "--eta: balance.eta: '2'"), "%s",
            phibal_status_message());
  bad = (config_override){"balance.eat", "1", "--set"};
  cr_expect_eq(run_config_parse(MODEL REST, "f.yaml", &bad, 1, &c), PHIBAL_ERROR_FORMAT);
  cr_expect(strstr(phibal_status_message(), "balance.eat"), "%s", phibal_status_message());
  /* A missing key may be given by an override alone. */
  config_override steps = {"training.steps", "2", "--steps"};
  cr_expect_eq(run_config_parse(MODEL "batch: {sequences: 4}\noptimizer: {peak_lr: 1}\n", "f.yaml",
                                &steps, 1, &c),
               PHIBAL_OK);
}

Test(config, parameter_follows_potential) {
  static const char text[] = WITH("  parameter: 0.9\n  potential: renyi\n");
  run_config c;
  cr_assert_eq(parse(text, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(c.balance.potential.parameter, 0.9, "whatever the order of the keys");
  /* Another potential does not inherit Renyi's alpha. */
  const config_override o[] = {{"balance.parameter", "inf", "--p"},
                               {"balance.potential", "lp", "--potential"}};
  cr_assert_eq(run_config_parse(text, "f.yaml", o + 1, 1, &c), PHIBAL_OK);
  cr_expect_eq(c.balance.potential.parameter, 3.0);
  cr_assert_eq(run_config_parse(text, "f.yaml", o, 2, &c), PHIBAL_OK);
  cr_expect_eq(c.balance.potential.id, PHIBAL_POTENTIAL_LP);
  cr_expect(isinf(c.balance.potential.parameter));
}

/* A file stands for itself until somebody loads it; the next potential forgets it. */
Test(config, potential_from_a_file) {
  static const char text[] = WITH("  parameter: 0.9\n  potential: 'my phi/it''s.phi'\n");
  run_config c;
  cr_assert_eq(parse(text, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_str_eq(c.potential_file, "my phi/it's.phi");
  cr_expect_eq(c.balance.potential.parameter, 0.9);
  cr_expect_null(c.balance.external);
  char written[160];
  run_config_format(&c, config_key_get("balance.potential"), written, sizeof written);
  cr_expect_str_eq(written, "'my phi/it''s.phi'");
  run_config_format(&c, config_key_get("balance.parameter"), written, sizeof written);
  cr_expect_str_eq(written, "0.9");
  const config_override o[] = {{"balance.potential", "other.phi", "-"},
                               {"balance.potential", "euclid", "-"}};
  cr_assert_eq(run_config_parse(text, "f.yaml", o, 1, &c), PHIBAL_OK);
  cr_expect_str_eq(c.potential_file, "other.phi");
  run_config_format(&c, config_key_get("balance.parameter"), written, sizeof written);
  cr_expect_str_eq(written, "default", "another file has its own default");
  cr_assert_eq(run_config_parse(text, "f.yaml", o, 2, &c), PHIBAL_OK);
  cr_expect_str_empty(c.potential_file);
  cr_expect_eq(c.balance.potential.id, PHIBAL_POTENTIAL_EUCLID);
}

/* What was perhaps meant, in run files and options; nothing where nothing is near. */
Test(config, suggestions) {
  static const struct {
    const char *text, *message;
  } files[] = {{"optimizer: {paek_lr: 1}\n", "'optimizer.paek_lr'; perhaps 'optimizer.peak_lr'"},
               {"optimiser: {peak_lr: 1}\n", "section 'optimiser'; perhaps 'optimizer'"},
               {"peak_lr: 1\n", "'peak_lr'; perhaps 'optimizer.peak_lr'"},
               {"training: {peak_lr: 1}\n", "'training.peak_lr'; perhaps 'optimizer.peak_lr'"},
               {"model: {nothing_like_it: 1}\n", "'model.nothing_like_it' ('phibal"},
               {"else: {a: 1}\n", "section 'else' ('phibal"}};
  static const struct {
    const char *key, *value, *message;
  } options[] = {{"training.setps", "1", "'training.setps'; perhaps 'training.steps'"},
                 {"steps", "1", "'steps'; perhaps 'training.steps'"},
                 {"optimizer", "1", "'optimizer'; that is a section"},
                 {"zzz", "1", "'zzz' ('phibal"},
                 {"balance.method", "loss_free", "dense; perhaps 'loss-free'"},
                 {"balance.method", "sqrt", "none, dense"},
                 {"balance.potential", "negentropi", "perhaps 'negentropy'"},
                 {"balance.potential", "tsalis", "perhaps 'tsallis'"},
                 {"model.gate", "sigmoyd", "perhaps 'sigmoid'"}};
  run_config c;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    cr_expect_neq(parse(files[i].text, &c), PHIBAL_OK);
    cr_expect(strstr(phibal_status_message(), files[i].message), "%s", phibal_status_message());
  }
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const config_override o = {options[i].key, options[i].value, "--set"};
    cr_expect_neq(run_config_parse(MODEL REST, "f.yaml", &o, 1, &c), PHIBAL_OK);
    cr_expect(strstr(phibal_status_message(), options[i].message), "%s", phibal_status_message());
  }
  cr_expect_neq(run_config_load("tinny", NULL, 0, &c), PHIBAL_OK);
  cr_expect(strstr(phibal_status_message(), "perhaps 'tiny'"), "%s", phibal_status_message());
}

static phibal_status parse_with(const char *text, const config_override *o, size_t n,
                                run_config *c) {
  return run_config_parse(text, "f.yaml", o, n, c);
}

/* Parameters by name: options add to the run file's, another potential forgets them, and nothing
   that is said twice is taken once. */
Test(config, parameters_by_name) {
  static const char text[] = WITH("  potential: two.phi\n  parameters: ' a = 1/3,b=2 '\n");
  static const char builtin[] = WITH("  potential: lp\n  parameter: 11/5\n");
  run_config c;
  cr_assert_eq(parse(text, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_str_eq(c.parameters, "a=1/3,b=2");
  const config_override o[] = {
      {"balance.parameters", "b=5", "--param"},   {"balance.parameters", "d=7", "--param"},
      {"balance.potential", "lp", "-"},           {"balance.parameter", "4", "--p"},
      {"balance.parameters", "p=1/2", "--param"}, {"balance.parameters", "", "--set"}};
  cr_assert_eq(parse_with(text, o, 2, &c), PHIBAL_OK);
  cr_expect_str_eq(c.parameters, "a=1/3,b=5,d=7");
  cr_assert_eq(parse_with(text, o + 2, 1, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_str_empty(c.parameters);
  cr_expect_eq(c.balance.potential.parameter, 3.0);
  cr_assert_eq(parse_with(text, o + 3, 1, &c), PHIBAL_OK);
  cr_expect_str_empty(c.parameters, "the value of the only one, not beside two");
  cr_assert_eq(parse_with(text, o + 5, 1, &c), PHIBAL_OK);
  cr_expect_str_empty(c.parameters);
  cr_expect_eq(parse_with(text, o + 2, 2, &c), PHIBAL_OK);
  cr_expect_eq(c.balance.potential.parameter, 4.0);
  cr_expect_eq(parse_with(text, o + 3, 2, &c), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "given too"), "%s", phibal_status_message());
  cr_assert_eq(parse(builtin, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(c.balance.potential.parameter, 2.2);
  const config_override p = {"balance.parameters", "p=7/2", "--param"};
  cr_assert_eq(parse_with(builtin, &p, 1, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(c.balance.potential.parameter, 3.5);
  cr_expect_str_empty(c.parameters, "balance.parameter says it");
  static const char *const wrong[] = {"a",    "=1",      "a=",      "a=1,",
                                      ",a=1", "a=1;b=2", "a=1,a=2", "a=1=2"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const config_override bad = {"balance.parameters", wrong[i], "--set"};
    cr_expect_neq(parse_with(text, &bad, 1, &c), PHIBAL_OK, "%s", wrong[i]);
    cr_expect(strstr(phibal_status_message(), "--set: balance.parameters"), "%s",
              phibal_status_message());
  }
}

/* What run_config_write writes reads back to the same bits, numbers without short decimals and
   quotes in paths included. */
Test(config, round_trip) {
  const config_override o[] = {{"balance.eta", "0.1", "-"},
                               {"optimizer.weight_decay", "0.30000000000000004", "-"},
                               {"optimizer.epsilon", "1.2345678901234567e-8", "-"},
                               {"balance.potential", "lp", "-"},
                               {"balance.parameter", "inf", "-"},
                               {"model.rope_theta", "16777217", "-"},
                               {"data.train", "it's a #path: x", "-"}};
  run_config first, second;
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  cr_assert_eq(run_config_parse(MODEL REST, "f.yaml", o, 7, &first), PHIBAL_OK, "%s",
               phibal_status_message());
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  run_config_write(&first, stream);
  fclose(stream);
  cr_assert_eq(run_config_parse(text, "f.yaml", NULL, 0, &second), PHIBAL_OK, "%s\n%s",
               phibal_status_message(), text);
  cr_expect_str_eq(second.data.train, "it's a #path: x");
  cr_expect_eq(second.optimizer.weight_decay, 0.30000000000000004);
  for (size_t i = 0; i < config_key_count; i++) {
    char a[3000], b[3000];
    run_config_format(&first, &config_keys[i], a, sizeof a);
    run_config_format(&second, &config_keys[i], b, sizeof b);
    cr_expect_str_eq(a, b);
  }
  free(text);
}

Test(config, load_says_what_is_there) {
  run_config c;
  cr_expect_eq(run_config_load("small", NULL, 0, &c), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "tiny"), "%s", phibal_status_message());
  cr_expect_eq(run_config_load("/nonexistent/x.yaml", NULL, 0, &c), PHIBAL_ERROR_IO);
  cr_expect(strstr(phibal_status_message(), "/nonexistent/x.yaml"));
}

/* The table of moe/README.md is the schema's, row by row. */
Test(config, readme_documents_every_key) {
  FILE *file = fopen(PHIBAL_SOURCE_DIR "/moe/README.md", "r");
  cr_assert(file, "moe/README.md");
  static char readme[1 << 18];
  const size_t read = fread(readme, 1, sizeof readme, file);
  fclose(file);
  cr_assert(read < sizeof readme, "moe/README.md is longer");
  char *table = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&table, &size);
  config_keys_write(stream);
  fclose(stream);
  cr_expect(strstr(readme, table),
            "the table of moe/README.md differs from what 'phibal train --keys' prints");
  free(table);
}
