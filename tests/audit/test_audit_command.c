/* `phibal audit` as a person and as a program meet it: what it prints, where, and how it exits. The
   executable is named by the environment variable PHIBAL. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct outcome {
  int exit_status;
  char text[1 << 18];
} outcome;

static outcome o;

/* Runs `phibal audit <arguments>` through the shell; keeps standard output, or standard error. */
static void run(const char *arguments, bool errors) {
  const char *executable = getenv("PHIBAL");
  cr_assert_not_null(executable, "PHIBAL names no executable");
  char command[2048];
  snprintf(command, sizeof command, "'%s' audit %s %s", executable, arguments,
           errors ? "2>&1 >/dev/null" : "2>/dev/null");
  FILE *pipe = popen(command, "r");
  cr_assert_not_null(pipe);
  size_t n = fread(o.text, 1, sizeof o.text - 1, pipe);
  o.text[n] = 0;
  int status = pclose(pipe);
  cr_assert(WIFEXITED(status), "%s: killed", arguments);
  o.exit_status = WEXITSTATUS(status);
}

/* A file of its own for each test, gone with it. */
static char file[64];

static void write_file(const char *text, size_t length) {
  snprintf(file, sizeof file, "/tmp/phibal-test-%ld.phi", (long)getpid());
  FILE *f = fopen(file, "w");
  cr_assert_not_null(f);
  cr_assert_eq(fwrite(text, 1, length, f), length);
  cr_assert_eq(fclose(f), 0);
}

static void write_potential(const char *text) {
  write_file(text, strlen(text));
}

static void remove_file(void) {
  if (file[0]) unlink(file);
}

TestSuite(audit_command, .fini = remove_file);

static json_t *run_json(const char *arguments, int exit_status) {
  json_error_t error;
  run(arguments, false);
  cr_assert_eq(o.exit_status, exit_status, "%s: exit %d", arguments, o.exit_status);
  json_t *object = json_loads(o.text, 0, &error);
  cr_assert_not_null(object, "%s: line %d: %s", arguments, error.line, error.text);
  return object;
}

static json_t *run_file(const char *arguments, int exit_status) {
  char all[512];
  snprintf(all, sizeof all, "%s --json %s", file, arguments);
  return run_json(all, exit_status);
}

static const json_t *find_claim(const json_t *object, const char *id) {
  size_t i;
  json_t *claim;
  json_array_foreach(json_object_get(object, "claims"), i, claim) {
    if (strcmp(json_string_value(json_object_get(claim, "id")), id) == 0) return claim;
  }
  cr_assert_fail("no claim %s", id);
  return NULL;
}

static const json_t *find_parameter(const json_t *object, size_t i) {
  return json_array_get(json_object_get(json_object_get(object, "potential"), "parameters"), i);
}

/* A finite number that is inside its own enclosure in the JSON. */
static double middle(const json_t *object, const char *key) {
  const json_t *x = json_object_get(object, key);
  return 0.5 * (atof(json_string_value(json_object_get(x, "lo"))) +
                atof(json_string_value(json_object_get(x, "hi"))));
}

static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  cr_assert_not_null(text, "no %s", key);
  return text;
}

static void expect_verdict(const json_t *object, const char *id, const char *verdict) {
  const json_t *claim = find_claim(object, id);
  cr_assert_str_eq(json_string_value(json_object_get(claim, "verdict")), verdict, "%s", id);
}

/* Exit 2, nothing on standard output, one line on standard error that holds `part`; two where the
   second is where help is. */
static void expect_error(const char *arguments, int lines, const char *part) {
  run(arguments, false);
  cr_assert_eq(o.exit_status, 2, "%s: exit %d", arguments, o.exit_status);
  cr_assert_str_empty(o.text, "%s prints:\n%s", arguments, o.text);
  run(arguments, true);
  int found = 0;
  for (const char *c = o.text; *c; c++) found += *c == '\n';
  cr_assert_eq(found, lines, "%s: %d lines:\n%s", arguments, found, o.text);
  cr_assert_lt(strlen(o.text), 600);
  cr_assert_eq(strncmp(o.text, "phibal audit: ", 14), 0, "%s", o.text);
  cr_assert_not_null(strstr(o.text, part), "%s says:\n%s", arguments, o.text);
}

static void expect_file_error(const char *text, size_t length, const char *part) {
  char arguments[128];
  write_file(text, length);
  expect_error(file, 1, part);
  snprintf(arguments, sizeof arguments, "%s --json --check", file);
  expect_error(arguments, 1, part);
}

/* Quick, and without what needs a compiler. */
#define FAST "--skip core,dynamics --experts 2..64"

Test(audit_command, good) {
  write_potential("potential mine\n"
                  "parameter a in [1, 4] = 2\n"
                  "value sum(x^4 + a*x^2)\n"
                  "gradient 4*x^3 + 2*a*x\n");
  json_t *object = run_file(FAST " --check", 0);
  cr_assert_str_eq(json_string_value(json_object_get(object, "certificate")), "phibal-audit/1");
  expect_verdict(object, "symmetric", "proved");
  expect_verdict(object, "differentiable", "proved");
  expect_verdict(object, "strictly-convex", "proved");
  expect_verdict(object, "unique-minimiser", "proved");
  expect_verdict(object, "conjugate", "absent");
  cr_assert(json_is_true(json_object_get(object, "passes")));
  const json_t *p =
      json_array_get(json_object_get(json_object_get(object, "potential"), "parameters"), 0);
  cr_assert_str_eq(json_string_value(json_object_get(p, "range")), "[1, 4]");
  cr_assert_str_eq(json_string_value(json_object_get(p, "convexity_for")), "range");
  json_decref(object);

  char arguments[256];
  snprintf(arguments, sizeof arguments, "%s %s --check", file, FAST);
  run(arguments, false);
  cr_assert_eq(o.exit_status, 0);
  cr_assert_not_null(strstr(o.text, "phibal audit: mine ("));
  cr_assert_not_null(strstr(o.text, "  PROVED     strictly convex on the simplex\n"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, HAVE_ALGEBRA
                                        ? "  PROVED     the gradient given is the gradient\n"
                                        : "  CHECKED    the gradient given is the gradient\n"),
                     "%s", o.text);
  cr_assert_not_null(strstr(o.text, "check: yes"));
  cr_assert_null(strstr(o.text, "REFUTED"));

  /* At points, as there is a kink at 1/3: not proved, and not said to be. */
  write_potential("potential mine\nvalue sum(x^2 + max(x, 1/3))\n"
                  "gradient 2*x + (1 + sgn(x - 1/3))/2\n");
  object = run_file("--skip convexity,legendre,core,dynamics --check", 0);
  expect_verdict(object, "gradient", "checked");
  json_decref(object);
}

/* x^2 - x^3 is concave from 1/3 on: for two experts at their share already. */
Test(audit_command, refuted) {
  write_potential("potential bent\nvalue sum(x^2 - x^3)\n");
  json_t *object = run_file(FAST " --check", 1);
  expect_verdict(object, "strictly-convex", "refuted");
  const json_t *finding =
      json_array_get(json_object_get(find_claim(object, "strictly-convex"), "findings"), 0);
  cr_assert(json_is_string(json_object_get(finding, "counterexample")));
  cr_assert(json_is_false(json_object_get(object, "passes")));
  json_decref(object);
  /* Without --check the answer is given, and that is that. */
  json_decref(run_file(FAST, 0));
  char arguments[256];
  snprintf(arguments, sizeof arguments, "%s %s", file, FAST);
  run(arguments, false);
  cr_assert_not_null(strstr(o.text, "  REFUTED    strictly convex on the simplex\n"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "counterexample:"));
}

Test(audit_command, wrong_gradient) {
  write_potential("potential slip\nvalue sum(x^3)\ngradient 3*x^2 + x/1000000\n");
  json_t *object = run_file(FAST " --check", 1);
  expect_verdict(object, "gradient", "refuted");
  expect_verdict(object, "strictly-convex", "proved");
  json_decref(object);
  /* What is left out is not asked for; another part left out changes nothing. */
  json_decref(run_file("--skip core,dynamics,convexity --check", 1));
  json_decref(run_file("--skip core,dynamics,gradient --experts 2..64 --check", 0));
}

/* An error of the file is not blamed on the kernel, whether the gradient was looked at or not; and
   a kernel is held against the value where the gradient is right. */
Test(audit_command, a_wrong_gradient_is_not_the_kernels) {
  static const struct {
    const char *gradient, *arguments, *against, *verdict;
  } rows[] = {
      {"1 + log(x) + x/1000000", "", "gradient given", "refuted"},
      {"1 + log(x) + x/1000000", ",gradient", "gradient given", "absent"},
      {"1 + log(x)", "", "derivative of the value", "proved"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[128], arguments[128];
    snprintf(text, sizeof text, "potential slip\nvalue sum(xlogx(x))\ngradient %s\n",
             rows[i].gradient);
    write_potential(text);
    snprintf(arguments, sizeof arguments, "--quick --skip dynamics,convexity,legendre%s",
             rows[i].arguments);
    json_t *object = run_file(arguments, 0);
    expect_verdict(object, "core", "checked");
    const char *verdict = text_at(find_claim(object, "gradient"), "verdict");
    cr_expect(strcmp(verdict, rows[i].verdict) == 0 || strcmp(verdict, "checked") == 0, "%s",
              verdict);
    const json_t *finding =
        json_array_get(json_object_get(find_claim(object, "core"), "findings"), 0);
    cr_expect_str_eq(text_at(json_object_get(finding, "data"), "against"), rows[i].against);
    json_decref(object);
  }
}

/* Two numbers that differ are shown to. */
Test(audit_command, digits_that_differ) {
  write_potential("potential near\nvalue sum(x^2/2)\ngradient x + x*1e-60\n");
  json_t *object = run_file("--skip dynamics,convexity,legendre,core", 0);
  const char *text =
      text_at(json_array_get(json_object_get(find_claim(object, "gradient"), "findings"), 0),
              "counterexample");
  /* x (1 + 1e-60), between the last digit down and up */
  const char *zeros = "00000000000000000000000000000000000000000000000000000000000";
  char part[160];
  snprintf(part, sizeof part, "in [0.5%s4", zeros);
  cr_expect_not_null(strstr(text, part), "%s", text);
  snprintf(part, sizeof part, ", 0.5%s5", zeros);
  cr_expect_not_null(strstr(text, part), "%s", text);
  cr_expect_not_null(strstr(text, "the derivative of the value 0.5, at least "), "%s", text);
  json_decref(object);
}

/* What was asked for has a finding with a reason, and what has none did not pass unseen: after a
   counterexample to one of two claims the other is undecided, not absent. */
Test(audit_command, every_claim_that_was_asked_has_a_finding) {
  static const struct {
    const char *text, *undecided, *refuted;
  } rows[] = {
      {"parameter a in (1, inf) = 3\nvalue sum(x^a/a)\ngradient x^(a-1)\n"
       "conjugate sum((a-1)/a*y^(a/(a-1))) where y >= 0\n",
       "conjugate", "conjugate-domain"},
      {"parameter w in [0, 1] = 1/2\nvalue sum(w*xlogx(x) + (1 - w)*x^2/2)\n"
       "conjugate sum(y^2/2)\n",
       "conjugate-domain", "conjugate"},
      {"value sum(x^2)\n", NULL, NULL},
      {"value sum(x^2 - x^3)\ngradient x\n", NULL, NULL},
      {"value log(sum(exp(x)))\n", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    snprintf(text, sizeof text, "potential mine\n%s", rows[i].text);
    write_potential(text);
    json_t *object = run_file("--skip core,dynamics --experts 2..8 --seconds 5", 0), *claim;
    size_t j;
    json_array_foreach(json_object_get(object, "claims"), j, claim) {
      const json_t *findings = json_object_get(claim, "findings");
      const char *id = text_at(claim, "id");
      cr_expect(json_array_size(findings) > 0 || strcmp(id, "core") == 0, "%s: nothing on %s", text,
                id);
      for (size_t k = 0; k < json_array_size(findings); k++)
        cr_expect_gt(strlen(text_at(json_array_get(findings, k), "how")), 10);
    }
    if (rows[i].undecided) {
      expect_verdict(object, rows[i].refuted, "refuted");
      expect_verdict(object, rows[i].undecided, "undecided");
      cr_expect(json_is_false(json_object_get(find_claim(object, rows[i].undecided), "passes")));
      cr_expect_not_null(strstr(text_at(json_object_get(object, "check"), "why"), "is undecided"));
    }
    json_decref(object);
  }
}

/* Convex for a <= 1/3, by default 1/4: what is asked decides. */
Test(audit_command, what_is_asked) {
  static const struct {
    const char *arguments, *verdict;
    double at; /* where the rest is looked at */
  } rows[] = {
      {"", "refuted", 0.25},
      {"--param a=1/4", "proved", 0.25},
      {"--param a=1/8", "proved", 0.125},
      {"--param a=1/4 --ranges", "refuted", 0.25},
      {"--param a=0..2", "refuted", 0.25},
      {"--param a=0..1/4", "proved", 0.25},
      {"--param a=0..1/8", "proved", 0.0625},
      {"--param a=1", "refuted", 1.0},
  };
  write_potential("potential bent\nparameter a in [0, 2] = 1/4\nvalue sum(x^2 - a*x^3)\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char arguments[128];
    snprintf(arguments, sizeof arguments, "%s --skip core,dynamics,legendre", rows[i].arguments);
    json_t *object = run_file(arguments, 0);
    expect_verdict(object, "strictly-convex", rows[i].verdict);
    bool proved = strcmp(rows[i].verdict, "proved") == 0;
    cr_assert_eq(json_is_true(json_object_get(find_claim(object, "strictly-convex"), "passes")),
                 proved);
    cr_assert_eq(middle(find_parameter(object, 0), "at"), rows[i].at, "%s", rows[i].arguments);
    json_decref(object);
  }
}

/* A sample is a sample: --check is content with it only where it is asked for by name. */
Test(audit_command, a_sampled_kernel_is_not_proved) {
  static const char only[] = "--skip convexity,legendre,gradient,conjugate,dynamics";
  char arguments[256];
  snprintf(arguments, sizeof arguments, "--potential euclid --check --quick --json %s", only);
  json_t *object = run_json(arguments, 1);
  expect_verdict(object, "core", "checked");
  cr_assert(json_is_false(json_object_get(object, "passes")));
  cr_assert(json_is_false(json_object_get(find_claim(object, "core"), "passes")));
  const char *why = text_at(json_object_get(object, "check"), "why");
  cr_assert_not_null(strstr(why, "--check=quick accepts"), "%s", why);
  json_decref(object);
  snprintf(arguments, sizeof arguments, "--potential euclid --check=quick --json %s", only);
  object = run_json(arguments, 0);
  cr_assert(json_is_true(json_object_get(object, "quick")));
  cr_assert_str_eq(text_at(json_object_get(object, "check"), "takes"), "a sample");
  why = text_at(json_object_get(object, "check"), "why");
  cr_assert_not_null(strstr(why, "0.105 % of the binary32 loads"), "%s", why);
  cr_assert_float_eq(json_number_value(json_object_get(object, "coverage")),
                     1122304.0 / 1065353216.0, 1e-12);
  expect_verdict(object, "core", "checked");
  const json_t *finding =
      json_array_get(json_object_get(find_claim(object, "core"), "findings"), 0);
  cr_assert(json_is_false(json_object_get(json_object_get(finding, "data"), "exhaustive")));
  /* Nothing was asked of the rest, and nothing is said. */
  expect_verdict(object, "strictly-convex", "absent");
  json_decref(object);
}

/* Over every load the same --check says yes, and the bound is proved; euclid's kernel is the
   quickest. */
Test(audit_command, a_kernel_over_every_load) {
  json_t *object = run_json("--potential euclid --check --json "
                            "--skip convexity,legendre,gradient,conjugate,dynamics",
                            0);
  expect_verdict(object, "core", "proved");
  cr_assert_eq(json_number_value(json_object_get(object, "coverage")), 1.0);
  cr_assert_str_eq(text_at(json_object_get(object, "check"), "takes"), "every load");
  cr_assert_str_eq(text_at(json_object_get(object, "check"), "why"),
                   "yes, everything asked for holds");
  json_decref(object);
}

/* Time that is up is no silent pass: how much was covered, and what would help. */
Test(audit_command, a_kernel_that_is_cut_short) {
  char only[128], arguments[256];
  json_t *object = NULL;
  /* A busy machine may need the first seconds to compile the kernel. */
  for (int seconds = 14; seconds <= 126; seconds *= 3) {
    json_decref(object);
    snprintf(only, sizeof only, "--skip convexity,legendre,conjugate,dynamics --seconds %d", seconds);
    snprintf(arguments, sizeof arguments, "--potential negentropy --check --json %s", only);
    object = run_json(arguments, 1);
    if (strcmp(text_at(find_claim(object, "core"), "verdict"), "checked") == 0) break;
  }
  expect_verdict(object, "core", "checked");
  double covered = json_number_value(json_object_get(object, "coverage"));
  cr_assert(covered > 0 && covered < 1);
  const json_t *data = json_object_get(
      json_array_get(json_object_get(find_claim(object, "core"), "findings"), 0), "data");
  cr_assert_eq(json_number_value(json_object_get(data, "coverage")), covered);
  double all = json_number_value(json_object_get(data, "seconds_for_all"));
  cr_assert_gt(all, 5);
  char part[64];
  snprintf(part, sizeof part, "the kernel ran over %.3g %% of the binary32 loads", 100 * covered);
  const char *why = text_at(json_object_get(object, "check"), "why");
  cr_assert_not_null(strstr(why, part), "%s", why);
  const char *seconds = strstr(why, "; --seconds ");
  cr_assert(seconds && atof(seconds + 12) >= all, "%s", why);
  cr_assert_not_null(strstr(why, "would cover all, and --check=quick accepts a sample"), "%s", why);
  json_decref(object);
  snprintf(arguments, sizeof arguments, "--potential negentropy %s", only);
  run(arguments, false);
  cr_assert_eq(o.exit_status, 0, "without --check the answer is given, and that is that");
  cr_assert_not_null(strstr(o.text, "% of the positive binary32"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "--check would say: no: the kernel ran over"), "%s", o.text);
  expect_error("--potential euclid --check=full", 2, "--check=quick");
}

/* Whether to train with it, for which reason, and at the alpha that makes it as strong as negative
   entropy at 0.01: alpha psi''(1/E) = 0.01 E. */
Test(audit_command, advice) {
  static const struct {
    const char *potential, *arguments, *train, *reason;
    double alpha; /* for 8 experts; 0: none is named */
  } rows[] = {
      {"value sum(xlogx(x))", "", "yes", "proved to be strictly convex on the simplex", 0.01},
      {"value sum(x^2/2)", "", "yes", "an empty expert is bounded: its centred price is -0.125",
       0.08},
      {"value sum(x^4)", "", "yes", "pulls weakly while m grows from 0", 0.01 * 8 * 64 / 12},
      {"value sum(x^2)\ngradient 2*x + x^2", "", "no", "not that of the value", 0},
      {"value sum(x^2 - x^3)", "", "no", "not strictly convex on the simplex:", 0},
      {"value sum(x)", "--skip convexity", "no", "does not pull back", 0},
      {"value sum(x^2 + max(0, x - 1/3))", "", "with care", "prices jump", 0.04},
      {"value sum(max(x, 1/8)^2)", "", "no", "not strictly convex on the simplex:", 0},
      {"value log(sum(exp(x)))", "", "yes", "proved to be strictly convex", 0.08 * 8},
      {"value sum(x^2)", "--skip convexity", "not said", "was left out", 0.04},
      {"parameter a in [0, 2] = 1/4\nvalue sum(x^2 - a*x^3)", "", "yes",
       "at a = 0.25, though not for all", 0.08 / (2 - 1.5 / 8)},
      {"parameter a in [0, 2] = 1\nvalue sum(x^2 - a*x^3)", "", "no", "simplex at a = 1:", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256], arguments[128];
    snprintf(text, sizeof text, "potential mine\n%s\n", rows[i].potential);
    write_potential(text);
    snprintf(arguments, sizeof arguments, "--experts 8 %s --skip core", rows[i].arguments);
    json_t *object = run_file(arguments, 0);
    const json_t *advice = json_object_get(object, "advice"),
                 *reasons = json_object_get(advice, "reasons"),
                 *alpha = json_object_get(advice, "alpha");
    cr_expect_str_eq(text_at(advice, "train"), rows[i].train, "%s: %s", text,
                     text_at(advice, "train"));
    bool found = false;
    size_t j;
    json_t *reason;
    json_array_foreach(reasons, j, reason) found =
        found || strstr(json_string_value(reason), rows[i].reason);
    cr_expect(found, "%s: no reason '%s'", text, rows[i].reason);
    /* what is not a yes begins with what makes it none */
    cr_expect(strcmp(rows[i].train, "yes") == 0 ||
                  strstr(json_string_value(json_array_get(reasons, 0)), rows[i].reason) ||
                  strstr(rows[i].reason, "pull back"),
              "%s: %s", text, json_string_value(json_array_get(reasons, 0)));
    cr_expect_eq(json_array_size(alpha), rows[i].alpha > 0, "%s", text);
    cr_expect_float_eq(json_number_value(json_object_get(json_array_get(alpha, 0), "alpha")),
                       rows[i].alpha, 1e-12 * (1 + rows[i].alpha), "%s", text);
    json_decref(object);
  }
  /* the text says the same, after the verdict and what --check would say */
  write_potential("potential mine\nvalue sum(x^2/2)\n");
  char arguments[128];
  snprintf(arguments, sizeof arguments, "%s --experts 8 --skip core", file);
  run(arguments, false);
  const char *verdict = strstr(o.text, "\nVerdict: Nothing is refuted"),
             *check = strstr(o.text, "\n--check would say: yes, everything asked for holds"),
             *train = strstr(o.text, "\nTrain with it: yes\n"),
             *alpha = strstr(o.text, "alpha = 0.08 for 8 experts");
  cr_assert(verdict && check && train && alpha, "%s", o.text);
  cr_assert(verdict < check && check < train && train < alpha);
}

/* Numbers as people write them; a cell without a number has a footnote, which says why. */
Test(audit_command, numbers_and_gaps_are_explained) {
  write_potential("potential flat\nvalue sum(x)\n");
  char arguments[128];
  snprintf(arguments, sizeof arguments, "%s --experts 4 --skip core", file);
  run(arguments, false);
  cr_assert_not_null(strstr(o.text, "alpha as strong as negentropy's 1                - [1]\n"),
                     "%s", o.text);
  cr_assert_not_null(strstr(o.text, "\n  [1] the stiffness, by which this is divided, is not"));
  cr_assert_not_null(strstr(o.text, "- [2]\n  price of the only expert"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "\n  [2] more than the total load"));
  cr_assert_null(strstr(o.text, "[3]"), "a footnote that nothing refers to");
  cr_assert_null(strstr(o.text, " -\n"), "%s", o.text);
  run("--potential euclid --experts 8 --skip core", false);
  cr_assert_null(strstr(o.text, "[1]"), "%s", o.text);
  run("--potential soft-l1 --experts 8 --skip core,conjugate", false);
  cr_assert_not_null(strstr(o.text, " 0 [1]\n"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "\n  [1] 0, or closer to it than 1e-25\n"), "%s", o.text);
  /* the price is the load itself: its error is next to nothing */
  run("--potential euclid --quick --skip convexity,legendre,gradient,conjugate,dynamics", false);
  cr_assert_null(strstr(o.text, "e-2"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "an error of less than 1e-6 ULP"), "%s", o.text);
}

/* A date that can be set, so that certificates can be made again byte by byte; version, options. */
Test(audit_command, heading) {
  setenv("SOURCE_DATE_EPOCH", "86400", 1);
  json_t *object = run_json("--potential lp --param p=5/2 --seed 7 --json --skip core,dynamics", 0);
  cr_assert_str_eq(text_at(object, "date"), "1970-01-02T00:00:00Z");
  cr_assert_str_eq(text_at(object, "options"),
                   "--param p=5/2 --experts 2..4096 --skip core,dynamics "
                   "--seconds 90 --seed 7");
  run("--potential lp --skip core,dynamics", false);
  cr_assert_not_null(strstr(o.text, ", 1970-01-02T00:00:00Z\n"), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "made by    phibal "), "%s", o.text);
  unsetenv("SOURCE_DATE_EPOCH");
  object = run_json("--potential lp --json --skip core,dynamics,convexity,legendre,gradient", 0);
  cr_assert_geq(atoi(text_at(object, "date")), 2025);
  json_decref(object);
}

/* A built-in at the end of its range that trains but is no potential. */
Test(audit_command, lp_at_one) {
  json_t *object = run_json("--potential lp --param p=1 --json --check " FAST, 1);
  expect_verdict(object, "strictly-convex", "refuted");
  json_decref(object);
}

/* The lower end of what `phibal eval` encloses. */
static double lp_max(const char *function, const char *at, size_t i) {
  char command[512];
  snprintf(command, sizeof command, "'%s' eval --potential lp --param p=inf --fn %s --at %s --json",
           getenv("PHIBAL"), function, at);
  FILE *pipe = popen(command, "r");
  cr_assert_not_null(pipe);
  json_t *object = json_loadf(pipe, 0, NULL);
  cr_assert_eq(pclose(pipe), 0, "%s", command);
  const json_t *lo = json_object_get(object, "lo");
  double value = atof(json_string_value(json_is_array(lo) ? json_array_get(lo, i) : lo));
  json_decref(object);
  return value;
}

/* The limit of the norm, which is not the file's formula: the largest load. What is said of it is
   what `phibal eval` computes. */
Test(audit_command, lp_at_infinity) {
  json_t *object = run_json("--potential lp --param p=inf --json --check", 1);
  expect_verdict(object, "symmetric", "proved");
  expect_verdict(object, "differentiable", "refuted");
  expect_verdict(object, "gradient", "absent");
  expect_verdict(object, "strictly-convex", "refuted");
  expect_verdict(object, "unique-minimiser", "proved");
  expect_verdict(object, "mirror-step", "refuted");
  json_decref(object);
  double mean = (lp_max("value", "1,0,0", 0) + lp_max("value", "3/4,1/4,0", 0)) / 2;
  cr_assert_eq(mean, lp_max("value", "7/8,1/8,0", 0));
  cr_assert_eq(lp_max("value", "3/8,1/8,1/4,1/4", 0) - lp_max("value", "1/4,1/4,1/4,1/4", 0),
               0.125);
  cr_assert_eq(lp_max("value", "1/8,3/8,1/4,1/4", 0) - lp_max("value", "1/4,1/4,1/4,1/4", 0),
               0.125);
  for (size_t e = 0; e < 3; e++)
    cr_assert_eq(lp_max("gradient", "3/4,1/4,0", e), lp_max("gradient", "7/8,1/8,0", e));
  cr_assert_eq(lp_max("gradient", "1/2,0,1/2", 2), 0.5);
  cr_assert_eq(lp_max("gradient", "1/2,0,1/2", 1), 0);
  run("--potential lp --param p=inf --skip convexity,legendre", false);
  cr_assert_eq(o.exit_status, 0);
  cr_assert_null(strstr(o.text, "strictly convex"));
  expect_error("--potential lp --param p=-inf", 1, "it must be in (1, inf)");
  expect_error("--potential lp --param p=2..inf", 1, "it must be in (1, inf)");
}

Test(audit_command, parameters) {
  json_t *object = run_json("--potential tsallis --param alpha=1/2..9/10 --json " FAST, 0);
  const json_t *p =
      json_array_get(json_object_get(json_object_get(object, "potential"), "parameters"), 0);
  const json_t *asked = json_object_get(p, "convexity_for"), *at = json_object_get(p, "at");
  cr_assert_str_eq(json_string_value(json_object_get(asked, "lo")), "0.5");
  cr_assert_str_eq(json_string_value(json_object_get(asked, "hi")), "0.900000000000001");
  /* The default, 1.1, is outside: the middle. */
  cr_assert_float_eq(atof(json_string_value(json_object_get(at, "lo"))), 0.7, 1e-12);
  expect_verdict(object, "strictly-convex", "proved");
  json_decref(object);

  expect_error("--potential tsallis --param alpha=1", 1, "alpha is 1");
  expect_error("--potential tsallis --param alpha=0.5..2", 1, "alpha");
  expect_error("--potential tsallis --param alpha=2..1/2", 1, "the smaller one");
  expect_error("--potential tsallis --param alpha=zz", 1, "zz");
  expect_error("--potential tsallis --param beta=1", 2, "the parameters of tsallis: alpha");
  expect_error("--potential tsallis --param alpha=2 --param alpha=3", 2, "given twice");
  expect_error("--potential euclid --param p=1", 2, "no parameters");
  expect_error("--potential lp --param p=0.99", 1, "it must be in (1, inf)");
}

Test(audit_command, usage) {
  expect_error("", 2, "name a file");
  expect_error("--potential entropy", 1, "there are euclid, log-cosh");
  expect_error("./nowhere.phi", 1, "nowhere.phi");
  expect_error("--potential euclid --potential lp", 2, "one potential");
  expect_error("--potential euclid --experts 1", 2, "2 to 4096");
  expect_error("--potential euclid --experts 8..4097", 2, "2 to 4096");
  expect_error("--potential euclid --experts 8..4", 2, "2 to 4096");
  expect_error("--potential euclid --skip kernel", 2, "the parts are");
  expect_error("--potential euclid --seconds 0", 2, "--seconds 0");
  expect_error("--potential euclid --eta 1.5", 2, "--eta");
  expect_error("--potential euclid --seed -1", 2, "--seed -1");
  expect_error("--potential euclid --frobnicate", 2, "--frobnicate");
  expect_error("--all --potential euclid", 2, "--all");
  expect_error("--potential euclid " FAST " --html /nowhere/at/all.html", 1,
               "/nowhere/at/all.html");
  run("--help", false);
  cr_assert_eq(o.exit_status, 0);
  cr_assert_not_null(strstr(o.text, "phibal audit my.phi --check=quick"));
}

Test(audit_command, malformed) {
  static const struct {
    const char *text, *part;
  } rows[] = {
      {"", "1:1"},
      {"potential a\nvalue sum(x^2", "2:14"},
      {"potential a\nvalue sum(foo(x))\n", "2:11"},
      {"potential a\nvalue sum(q*x^2)\n", "2:11"},
      {"potential a\nvalue sum(x^2)/0\n", "2:16"},
      {"potential a\nvalue sum(x^2/(1 - 1))\n", "has no value at uniform loads"},
      {"potential a\nvalue sum(log(x - 1))\n", "has no value at uniform loads"},
      {"potential a\nvalue x^2\n", "2:7"},
      {"potential a\nparameter d in (0, 1) = 2\nvalue sum(d*x^2)\n", "2:25"},
      {"\xff\xfe", "1:1"},
      {"potential a\nvalue sum(x^2) $\n", "2:16"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect_file_error(rows[i].text, strlen(rows[i].text), rows[i].part);
  expect_file_error("potential a\nvalue sum(x^2)\0\n", 28, "2:15");
}

Test(audit_command, a_megabyte_of_parentheses) {
  size_t length = 1 << 20;
  char *text = malloc(length);
  cr_assert_not_null(text);
  memset(text, '(', length);
  memcpy(text, "potential a\nvalue ", 18);
  expect_file_error(text, length, "2:");
  expect_file_error(text, length - 1, "2:");
  free(text);
}

Test(audit_command, dynamics) {
  json_t *object = run_json("--potential negentropy --json --experts 8..64 "
                            "--skip convexity,legendre,gradient,conjugate,core",
                            0);
  const json_t *all = json_object_get(object, "dynamics");
  cr_assert_eq(json_array_size(all), 3, "8, 16, 64");
  for (size_t i = 0; i < 3; i++) {
    const json_t *d = json_array_get(all, i);
    double experts = (double)json_integer_value(json_object_get(d, "experts"));
    cr_assert_float_eq(middle(d, "stiffness"), experts, 1e-12 * experts);
    cr_assert_float_eq(middle(d, "effective_per_alpha"), experts * experts, 1e-9);
    const json_t *limit =
        json_array_get(json_object_get(json_object_get(d, "simulation"), "stable_below"), 0);
    cr_assert_float_eq(json_number_value(json_object_get(limit, "lr_alpha")),
                       2.0 * (2.0 - 0.65) / 0.65, 1e-5);
  }
  json_decref(object);
  object = run_json("--potential euclid --json --experts 5 --skip core", 0);
  cr_assert_eq(json_array_size(json_object_get(object, "dynamics")), 1);
  json_decref(object);
}

static const json_t *find_named(const json_t *list, const char *key, const char *name,
                                long experts) {
  size_t i;
  json_t *row;
  json_array_foreach(list, i, row) {
    const json_t *count = json_object_get(row, "experts");
    if (strcmp(json_string_value(json_object_get(row, key)), name) == 0 &&
        (!count || json_integer_value(count) == experts))
      return row;
  }
  cr_assert_fail("no %s", name);
  return NULL;
}

static double number(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

Test(audit_command, all) {
  json_t *object = run_json("--all --json", 0);
  const json_t *list = json_object_get(object, "potentials");
  cr_assert_eq(json_array_size(list), 9 * 4);
  const json_t *lp = find_named(list, "potential", "lp", 16);
  cr_assert_float_eq(middle(lp, "stiffness"), 0.125, 1e-14);
  const json_t *entropy = find_named(list, "potential", "negentropy", 64);
  cr_assert_float_eq(number(entropy, "simulated_max_violation_at_common_alpha"), 0.104, 1e-4);
  /* 8 times as soft: more of the pull is left; made as stiff, about as much as with entropy. */
  const json_t *softer = find_named(list, "potential", "euclid", 8);
  cr_assert_gt(number(softer, "simulated_max_violation_at_common_alpha"), 0.3);
  cr_assert_float_eq(number(softer, "simulated_max_violation_at_equal_stiffness"), 0.104, 0.01);

  const json_t *paper = json_object_get(object, "paper"), *rows = json_object_get(paper, "rows");
  /* Ranks of stiffness 7 6 5 4 2 1 3 and of evenness 7 6 5 4 3 2 1: 1 - 6 (1 + 1 + 4)/(7 48). */
  cr_assert_float_eq(number(paper, "rank_correlation_stated"), 1.0 - 36.0 / 336.0, 1e-12);
  const json_t *none = find_named(rows, "label", "lp, p = 1", 0);
  cr_assert_float_eq(number(none, "simulated_at_common_alpha"), 0.77, 1e-6);
  cr_assert(json_is_null(json_object_get(none, "simulated_at_equal_stiffness")));
  const json_t *euclid = find_named(rows, "label", "lp, p = 2", 0);
  double simulated = number(euclid, "simulated_at_common_alpha");
  cr_assert(simulated > 0.104 && simulated < 0.77);
  cr_assert_float_eq(number(paper, "explained_by_stiffness"), (simulated - 0.104) / (0.61 - 0.104),
                     1e-4);
  cr_assert_not_null(strstr(json_string_value(json_object_get(paper, "verdict")), "stiffness"));
  json_decref(object);

  run("--all", false);
  cr_assert_eq(o.exit_status, 0);
  cr_assert_not_null(strstr(o.text, "E = 256"));
  cr_assert_not_null(strstr(o.text, "rank correlation 0.89"), "%s", o.text);
}

/* Nothing is fetched: no address but those that name a namespace, no script. */
static void expect_self_contained(const char *text) {
  static const char *const forbidden[] = {"http:", "https:",  "src=", "<script",
                                          "<link", "@import", "url("};
  for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
    cr_assert_null(strstr(text, forbidden[i]), "the page holds %s", forbidden[i]);
}

static char *read_page(const char *name) {
  char *text = calloc(1, 1 << 20);
  FILE *f = fopen(name, "r");
  cr_assert(text && f, "%s", name);
  cr_assert_gt(fread(text, 1, (1 << 20) - 1, f), 0);
  fclose(f);
  unlink(name);
  return text;
}

Test(audit_command, html) {
  char page[128], arguments[512];
  write_potential("potential bent\nvalue sum(x^2 - x^3)\nconjugate sum(y^2) where abs(y) < 1\n");
  snprintf(page, sizeof page, "%s.html", file);
  snprintf(arguments, sizeof arguments, "%s --html %s --skip core --experts 2..64", file, page);
  run(arguments, false);
  cr_assert_eq(o.exit_status, 0);
  char *text = read_page(page);
  expect_self_contained(text);
  cr_assert_not_null(strstr(text, "class=\"badge refuted\""));
  cr_assert_not_null(strstr(text, "</html>"));
  cr_assert_not_null(strstr(text, "where abs(y) &lt; 1"));
  /* In this order: what is found, what --check says, pictures, tables, advice. */
  static const char *const order[] = {"Made on <time>20",  "<div class=\"verdict bad\">",
                                      "Refuted: ",         "<dt>--check would say",
                                      "<dd>no: ",          "href=\"#advice\">no<",
                                      "<h2>Pictures</h2>", "<h2>Claims</h2>",
                                      "<h2>Dynamics</h2>", "<h2 id=\"advice\">Advice",
                                      "Train with it: no."};
  const char *at = text;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    at = strstr(at, order[i]);
    cr_assert_not_null(at, "%s", order[i]);
  }
  bool gnuplot = system("gnuplot --version >/dev/null 2>&1") == 0;
  cr_assert_eq(strstr(text, "<svg") != NULL, gnuplot);
  free(text);

  /* Without gnuplot the page says so. */
  char *path = strdup(getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  run(arguments, false);
  setenv("PATH", path, 1);
  free(path);
  cr_assert_eq(o.exit_status, 0);
  text = read_page(page);
  cr_assert_null(strstr(text, "<svg"));
  cr_assert_not_null(strstr(text, "gnuplot was not found"));
  free(text);
}
