/* `phibal eval` as a person and as a program meet it: what it prints, where, and how it exits. The
   executable is named by the environment variable PHIBAL. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct outcome {
  int exit_status;
  char text[1 << 16];
} outcome;

/* Runs `phibal eval <arguments>` through the shell; keeps standard output, or standard error. */
static void run(outcome *o, const char *arguments, bool errors) {
  const char *executable = getenv("PHIBAL");
  cr_assert_not_null(executable, "PHIBAL names no executable");
  char command[2048];
  snprintf(command, sizeof command, "'%s' eval %s %s", executable, arguments,
           errors ? "2>&1 >/dev/null" : "2>/dev/null");
  FILE *pipe = popen(command, "r");
  cr_assert_not_null(pipe);
  size_t n = fread(o->text, 1, sizeof o->text - 1, pipe);
  o->text[n] = 0;
  int status = pclose(pipe);
  cr_assert(WIFEXITED(status), "%s: killed", arguments);
  o->exit_status = WEXITSTATUS(status);
}

static void expect_output(const char *arguments, int exit_status, const char *text) {
  static outcome o;
  run(&o, arguments, false);
  cr_assert_eq(o.exit_status, exit_status, "%s: exit %d", arguments, o.exit_status);
  cr_assert_str_eq(o.text, text, "%s prints:\n%s", arguments, o.text);
}

/* Exit 2, nothing on standard output, `lines` lines on standard error, `part` in the first. */
static void expect_error(const char *arguments, int lines, const char *part) {
  static outcome o;
  run(&o, arguments, false);
  cr_assert_eq(o.exit_status, 2, "%s: exit %d", arguments, o.exit_status);
  cr_assert_str_empty(o.text, "%s prints:\n%s", arguments, o.text);
  run(&o, arguments, true);
  int found = 0;
  for (const char *c = o.text; *c; c++) found += *c == '\n';
  cr_assert_eq(found, lines, "%s: %d lines:\n%s", arguments, found, o.text);
  *strchr(o.text, '\n') = 0;
  cr_assert_eq(strncmp(o.text, "phibal eval: ", 13), 0, "%s", o.text);
  cr_assert_not_null(strstr(o.text, part), "%s says:\n%s", arguments, o.text);
}

static json_t *run_json(const char *arguments, int exit_status) {
  static outcome o;
  run(&o, arguments, false);
  cr_assert_eq(o.exit_status, exit_status, "%s: exit %d", arguments, o.exit_status);
  json_error_t error;
  json_t *object = json_loads(o.text, 0, &error);
  cr_assert_not_null(object, "%s: line %d: %s", arguments, error.line, error.text);
  return object;
}

static const char *text_at(const json_t *object, const char *key, size_t i) {
  const char *text = json_string_value(json_array_get(json_object_get(object, key), i));
  cr_assert_not_null(text, "no %s[%zu]", key, i);
  return text;
}

static void expect_strings(const json_t *object, const char *key, size_t n,
                           const char *const *text) {
  cr_assert_eq(json_array_size(json_object_get(object, key)), n, "%s has %zu elements", key,
               json_array_size(json_object_get(object, key)));
  for (size_t i = 0; i < n; i++)
    cr_assert_str_eq(text_at(object, key, i), text[i], "%s[%zu] is %s", key, i,
                     text_at(object, key, i));
}

/* tanh(0.2), tanh(0.4), tanh(1.4) from bc -l, scale 60. */
Test(eval, digits) {
  expect_output("--potential log-cosh --param beta=2 --fn gradient --at 0.1,0.2,0.7 --digits 40", 0,
                "gradient of log-cosh, beta = 2\n"
                "  at 0.1  0.1973753202249040007381573188110156683894  +- 2.8e-41\n"
                "  at 0.2  0.3799489622552248852677481238968733105132  +- 1.6e-41\n"
                "  at 0.7  0.8853516482022625075834176520255739294557  +- 2.3e-41\n");
  expect_output("--potential=euclid --fn=value --at=3,4", 0,
                "value of euclid\n  at 3, 4\n  12.5\n");
  expect_output("--potential negentropy --fn value --at 1/2,-1", 0,
                "value of negentropy\n  at 1/2, -1\n  inf\n");
  /* Negative numbers are values, not options. */
  expect_output("--potential lp --param p=3 --fn gradient --at -0.5,-0x1p-2", 0,
                "gradient of lp, p = 3\n  at -0.5     -0.25\n  at -0x1p-2  -0.0625\n");
}

Test(eval, json) {
  json_t *o = run_json("--potential log-cosh --param beta=2 --fn gradient --at 0.1,-0.2 --digits 5 "
                       "--json",
                       0);
  cr_assert_str_eq(json_string_value(json_object_get(o, "potential")), "log-cosh");
  cr_assert_str_eq(json_string_value(json_object_get(o, "fn")), "gradient");
  cr_assert_str_eq(json_string_value(json_object_get(json_object_get(o, "params"), "beta")), "2");
  expect_strings(o, "at", 2, (const char *[]){"0.1", "-0.2"});
  expect_strings(o, "lo", 2, (const char *[]){"0.19737532", "-0.37994897"});
  expect_strings(o, "hi", 2, (const char *[]){"0.19737533", "-0.37994896"});
  json_decref(o);

  o = run_json("--potential softplus --fn conjugate --at 2 --json", 0);
  cr_assert_eq(json_object_size(json_object_get(o, "params")), 0);
  expect_strings(o, "lo", 1, (const char *[]){"inf"});
  expect_strings(o, "hi", 1, (const char *[]){"inf"});
  json_decref(o);

  o = run_json("--potential renyi --param alpha=1/2 --fn hessian --at 1/4,1/4 --json", 0);
  /* S = 1, r = 2: (1/2) 8 + (1/2) 4 on the diagonal, (1/2) 4 beside it. */
  expect_strings(o, "lo", 4, (const char *[]){"6", "2", "2", "6"});
  expect_strings(o, "hi", 4, (const char *[]){"6", "2", "2", "6"});
  json_decref(o);

  /* Without --param, the catalogue's default, and it says so. */
  o = run_json("--potential soft-l1 --fn hessian --at 0 --json", 0);
  cr_assert_str_eq(json_string_value(json_object_get(json_object_get(o, "params"), "delta")),
                   "0.1");
  json_decref(o);
}

Test(eval, rounding) {
  static const struct {
    const char *at, *format, *direction, *expected;
  } rows[] = {
      {"0.1", "binary64", "nearest", "0x1.999999999999ap-4\n"},
      {"0.1", "binary32", "nearest", "0x1.99999ap-4\n"},
      {"0.1", "binary32", "down", "0x1.999998p-4\n"},
      {"0.1", "binary32", "up", "0x1.99999ap-4\n"},
      {"0.1", "binary32", "zero", "0x1.999998p-4\n"},
      {"-0.1", "binary32", "down", "-0x1.99999ap-4\n"},
      {"-0.1", "binary32", "up", "-0x1.999998p-4\n"},
      {"-0.1", "binary32", "zero", "-0x1.999998p-4\n"},
      {"0.1", "bfloat16", "nearest", "0x1.9ap-4\n"},
      {"0.1", "bfloat16", "down", "0x1.98p-4\n"},
      {"0.1", "binary16", "nearest", "0x1.998p-4\n"},
      {"0.1", "binary16", "up", "0x1.99cp-4\n"},
      {"70000", "binary16", "nearest", "inf\n"},
      {"70000", "binary16", "down", "0x1.ffcp+15\n"},
      {"1e-9", "binary16", "up", "0x1p-24\n"},
      {"-1e-9", "binary16", "up", "-0x0p+0\n"},
      /* 1 + 2^-24: a tie, to even. */
      {"0x1.000001p0", "binary32", "nearest", "0x1p+0\n"},
      {"0x1.000003p0", "binary32", "nearest", "0x1.000004p+0\n"},
      {"0,1/2", "binary32", "nearest", "0x0p+0\n0x1p-1\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char arguments[256];
    snprintf(arguments, sizeof arguments,
             "--potential euclid --fn gradient --at %s --round %s --direction %s", rows[i].at,
             rows[i].format, rows[i].direction);
    expect_output(arguments, 0, rows[i].expected);
  }
  json_t *o = run_json("--potential euclid --fn gradient --at 0.1,-0.1 --round bfloat16 --json", 0);
  expect_strings(o, "rounded", 2, (const char *[]){"0x1.9ap-4", "-0x1.9ap-4"});
  cr_assert_str_eq(json_string_value(json_object_get(o, "round")), "bfloat16");
  cr_assert_str_eq(json_string_value(json_object_get(o, "direction")), "nearest");
  json_decref(o);
}

Test(eval, outside_a_domain) {
  expect_error("--potential negentropy --fn gradient --at 0.1,0", 1,
               "coordinate 2 of 2 (0) is outside the domain x > 0");
  expect_error("--potential log-cosh --fn conjugate-gradient --at 0.1,-1.5,0 --json", 1,
               "coordinate 2 of 3 (-1.5) is outside the domain |y| < 1");
  expect_error("--potential renyi --fn conjugate-gradient --at -1,2", 1,
               "coordinate 2 of 2 (2) is outside the domain y < 0");
  expect_error("--potential tsallis --param alpha=0.5 --fn conjugate-gradient --at 2", 1,
               "coordinate 1 of 1 (2) is outside the domain y < 1/(1 - alpha)");
  expect_error("--potential euclid --fn value --at 1,inf", 1, "coordinate 2 of 2 (inf)");
  expect_error("--potential negentropy --fn mirror-step --at 0.5,0.5 --loads 1,0 --eta 1", 1,
               "coordinate 2 of 2 (0) is outside the domain x > 0");
  expect_error("--potential negentropy --fn mirror-step --at 0.5,0 --loads 1,1 --eta 1/2", 1,
               "at m: gradient of negentropy: coordinate 2 of 2 (0)");
  /* Inside by 10^-50: only precision can tell, and does. */
  expect_output("--potential softplus --fn conjugate-gradient --digits 10 "
                "--at 0.99999999999999999999999999999999999999999999999999",
                0,
                "conjugate-gradient of softplus\n"
                "  at 0.99999999999999999999999999999999999999999999999999  115.1292546  "
                "+- 5.0e-08\n");
}

Test(eval, wrong_input) {
  expect_error("--potential euclid --fn value --at 0.1,zz", 1, "--at, number 2");
  expect_error("--potential euclid --fn value --at 0.1,", 1, "--at, number 2");
  expect_error("--potential euclid --fn value --at 1/0", 1, "denominator is 0");
  expect_error("--potential euclid --fn mirror-step --at 1 --loads x --eta 1", 1,
               "--loads, number 1");
  expect_error("--potential euclid --fn mirror-step --at 1 --loads 1 --eta 2", 1,
               "eta must be in (0, 1]");
  expect_error("--potential tsallis --param alpha=1 --fn value --at 1", 1, "alpha > 0 and not 1");
  expect_error("--potential lp --param p=0.99999999999999999999999999 --fn value --at 1", 1,
               "--param p=0.99999999999999999999999999: lp: p = ");
  expect_error("--potential lp --param p=inf --fn mirror-step --at 1 --loads 1 --eta 1/2", 1,
               "strictly convex");
  expect_error("--potential entropy --fn value --at 1", 2, "there are euclid, lp");
  expect_error("--potential euclid --fn grad --at 1", 2, "there are value, gradient");
  expect_error("--potential euclid --param p=2 --fn value --at 1", 2, "has no parameters");
  expect_error("--potential log-cosh --param delta=2 --fn value --at 1", 2,
               "has the parameter beta");
  expect_error("--potential log-cosh --param 2 --fn value --at 1", 2, "has the parameter beta");
  expect_error("--potential lp --param p=2 --param p=3 --fn value --at 1", 2, "given twice");
  expect_error("--fn value --at 1", 2, "--potential is missing");
  expect_error("--potential euclid --at 1", 2, "--fn is missing");
  expect_error("--potential euclid --fn value", 2, "--at is missing");
  expect_error("--potential euclid --fn value --at", 2, "--at needs a value");
  expect_error("--potential euclid --fn value --at 1 --frobnicate", 2, "--frobnicate");
  expect_error("--potential euclid --fn value --at 1 extra", 2, "unexpected 'extra'");
  expect_error("--potential euclid --fn value --at 1 --digits 0", 2, "--digits 0");
  expect_error("--potential euclid --fn value --at 1 --digits 3x", 2, "--digits 3x");
  expect_error("--potential euclid --fn value --at 1 --round half", 2, "binary16");
  expect_error("--potential euclid --fn value --at 1 --round binary16 --direction left", 2,
               "nearest");
  expect_error("--potential euclid --fn value --at 1 --direction up", 2, "goes with --round");
  expect_error("--potential euclid --fn value --at 1 --eta 1", 2, "go with --fn mirror-step");
  expect_error("--potential euclid --fn mirror-step --at 1 --eta 1", 2, "needs --loads");
  expect_error("--potential euclid --fn mirror-step --at 1 --loads 1", 2, "needs --eta");
  expect_error("--potential euclid --fn mirror-step --at 1,2 --loads 1 --eta 1", 2,
               "2 numbers and --loads 1");
}

/* (3/2) sqrt(4/9) = 1: a zero that no precision can show to be one. */
Test(eval, undecided) {
  static outcome o;
  const char *arguments = "--potential tsallis --param alpha=3/2 --fn gradient --at 4/9,1";
  run(&o, arguments, false);
  cr_assert_eq(o.exit_status, 1);
  cr_assert_not_null(strstr(o.text, "at 4/9  undecided, in [-"));
  cr_assert_not_null(strstr(o.text, "at 1    1\n"), "%s", o.text);
  run(&o, arguments, true);
  cr_assert_not_null(strstr(o.text, "undecided at the cap of"));
  json_t *object =
      run_json("--potential tsallis --param alpha=3/2 --fn gradient --at 4/9 --json", 1);
  cr_assert(json_is_false(json_object_get(object, "decided")));
  cr_assert_eq(text_at(object, "lo", 0)[0], '-');
  cr_assert_neq(text_at(object, "hi", 0)[0], '-');
  json_decref(object);
}

Test(eval, mirror_step) {
  const char *arguments = "--potential renyi --param alpha=0.9 --fn mirror-step --at 0.2,0.3,0.5 "
                          "--loads 0.6,0,0.4 --eta 0.3 --digits 12";
  static outcome o;
  run(&o, arguments, false);
  cr_assert_eq(o.exit_status, 0);
  cr_assert_not_null(strstr(o.text, "m 0.2, load 0.6  0.32  +- "), "%s", o.text);
  cr_assert_not_null(strstr(o.text, "q': the two enclosures meet; distance at most "), "%s",
                     o.text);
  char with_json[512];
  snprintf(with_json, sizeof with_json, "%s --json", arguments);
  json_t *object = run_json(with_json, 0);
  const char *const parts[] = {"next_average", "next_argmax"};
  for (int i = 0; i < 2; i++) {
    const json_t *part = json_object_get(object, parts[i]);
    expect_strings(part, "lo", 3,
                   (const char *[]){"0.319999999999999", "0.209999999999999", "0.469999999999999"});
    expect_strings(part, "hi", 3,
                   (const char *[]){"0.320000000000001", "0.210000000000001", "0.470000000000001"});
  }
  const char *const distances[] = {"next_distance", "price_distance"};
  for (int i = 0; i < 2; i++) {
    const json_t *distance = json_object_get(object, distances[i]);
    cr_assert_str_eq(json_string_value(json_object_get(distance, "lo")), "0");
    cr_assert_lt(strtod(json_string_value(json_object_get(distance, "hi")), NULL), 1e-12);
  }
  /* At the top: the price by the average. */
  for (size_t e = 0; e < 3; e++)
    cr_assert_str_eq(text_at(object, "lo", e),
                     text_at(json_object_get(object, "price_average"), "lo", e));
  json_decref(object);
}

/* A potential from a file of the test's own. */
static char file[64];

static void remove_file(void) {
  if (file[0]) unlink(file);
}

TestSuite(eval_phi, .fini = remove_file);

static void write_potential(const char *text) {
  snprintf(file, sizeof file, "/tmp/phibal-eval-%ld.phi", (long)getpid());
  FILE *f = fopen(file, "w");
  cr_assert_not_null(f);
  cr_assert_geq(fputs(text, f), 0);
  cr_assert_eq(fclose(f), 0);
}

/* "--potential <file> <arguments>" */
static const char *with_file(const char *arguments) {
  static char all[512];
  snprintf(all, sizeof all, "--potential %s %s", file, arguments);
  return all;
}

Test(eval_phi, values) {
  write_potential("potential mine\n"
                  "parameter a in (0, inf) = 1/4\n"
                  "parameter b in [1, 8] = 2\n"
                  "value sum(x^2/2 + a*x^3) + b*sum(x)^2\n"
                  "conjugate sum(y) where y < 1\n");
  /* 1/8 + 1/32 + 2 (1/2)^2 */
  expect_output(with_file("--fn value --at 1/2"), 0,
                "value of mine, a = 1/4, b = 2\n  at 1/2\n  0.65625\n");
  /* x + 3 a x^2 + 2 b (x + y) */
  expect_output(with_file("--fn gradient --at 1/2,1/4 --param a=1 --param b=3"), 0,
                "gradient of mine, a = 1, b = 3\n  at 1/2  5.75\n  at 1/4  4.9375\n");
  expect_output(with_file("--fn hessian --at 1/2,1/4 --param b=3 --param a=1"), 0,
                "hessian of mine, a = 1, b = 3\n"
                "  [1,1]  10\n  [1,2]  6\n  [2,1]  6\n  [2,2]  8.5\n");
  expect_output(with_file("--fn conjugate --at 1/2,1/4"), 0,
                "conjugate of mine, a = 1/4, b = 2\n  at 1/2, 1/4\n  0.75\n");
  expect_output(with_file("--fn conjugate --at 1/2,1"), 0,
                "conjugate of mine, a = 1/4, b = 2\n  at 1/2, 1\n  inf\n");
  expect_output(with_file("--fn gradient --at 0.1 --round binary32 --direction up"), 0,
                "0x1.03d70cp-1\n");
  json_t *o = run_json(with_file("--fn mirror-step --at 1/2,1/4 --loads 0,1/2 --eta 1/2 --json "
                                 "--param a=1 --param b=1"),
                       0);
  expect_strings(json_object_get(o, "next_average"), "lo", 2, (const char *[]){"0.25", "0.375"});
  /* 1/4 + 3/16 + 5/4 and 3/8 + 27/64 + 5/4 */
  expect_strings(o, "lo", 2, (const char *[]){"1.6875", "2.046875"});
  expect_strings(o, "hi", 2, (const char *[]){"1.6875", "2.046875"});
  json_decref(o);
}

/* A state of a file's mirror step is held against the one whose price its gradient is: where that
   is found, for potentials that are separable or not, with loads of 0 too; where not, it is left
   out. */
Test(eval_phi, mirror_step_by_maximising) {
  static const struct {
    const char *value;
    bool found;
  } cases[] = {
      {"value sum(xlogx(x))", true},
      {"value sum(x^2)", true},
      {"value sum(x^2) + sum(x)^2/2", true},
      {"value sqrt(1 + sum(x^2))", true},
      {"value -2*log(sum(sqrt(x)))", true},
      {"value log(sum(exp(x)))", false}, /* the same price along a line */
      {"value sum(x^3)", false},         /* not convex where it is defined */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    snprintf(text, sizeof text, "potential mine\n%s\n", cases[i].value);
    write_potential(text);
    const char *at = i == 1 || i == 2 ? "0,1/2,1/4" : "1/8,1/2,1/4",
               *loads = i == 1 || i == 2 ? "0,1/4,3/4" : "1/2,1/4,3/4";
    char arguments[128];
    snprintf(arguments, sizeof arguments, "--fn mirror-step --at %s --loads %s --eta 1/2 --json",
             at, loads);
    json_t *o = run_json(with_file(arguments), 0), *distance = json_object_get(o, "next_distance");
    cr_assert_eq(distance != NULL, cases[i].found, "%s", cases[i].value);
    cr_assert_eq(json_object_get(o, "next_argmax") != NULL, cases[i].found, "%s", cases[i].value);
    cr_assert_null(json_object_get(o, "price_argmax"));
    if (distance) {
      cr_assert_eq(strtod(json_string_value(json_object_get(distance, "lo")), NULL), 0, "%s",
                   cases[i].value);
      cr_assert(strtod(json_string_value(json_object_get(distance, "hi")), NULL) < 1e-20, "%s",
                cases[i].value);
    }
    json_decref(o);
  }
}

/* Conjugates where the file gives none, and dual domains of numbers as they are written. */
Test(eval_phi, conjugates) {
  write_potential("potential lse\nvalue log(sum(exp(x)))\n");
  expect_output(with_file("--fn conjugate --at 0.2,0.7,0.1 --digits 5"), 0,
                "conjugate of lse\n  at 0.2, 0.7, 0.1\n  -0.80182  +- 1.5e-06\n");
  expect_output(with_file("--fn conjugate --at 1/3,2/3,1e-3"), 0,
                "conjugate of lse\n  at 1/3, 2/3, 1e-3\n  inf\n");
  write_potential("potential lse\nvalue log(sum(exp(x)))\n"
                  "conjugate sum(xlogx(y)) where sum(y) = 1 and y >= 0\n");
  expect_output(with_file("--fn conjugate --at 0.2,0.7,0.1 --digits 5"), 0,
                "conjugate of lse\n  at 0.2, 0.7, 0.1\n  -0.80182  +- 1.5e-06\n");
  expect_output(
      with_file("--fn conjugate --at 0.2,0.7,0.1000000000000000000000000000000000001"), 0,
      "conjugate of lse\n  at 0.2, 0.7, 0.1000000000000000000000000000000000001\n  inf\n");
  write_potential("potential norm\nvalue sqrt(sum(x^2))\n");
  expect_output(with_file("--fn conjugate --at -0.6,8e-1"), 0,
                "conjugate of norm\n  at -0.6, 8e-1\n  0\n");
  write_potential("potential hyperbola\nvalue sqrt(1 + sum(x^2))\n");
  expect_output(with_file("--fn conjugate --at 0.6,0 --round binary64"), 0,
                "-0x1.999999999999ap-1\n");
}

/* A file that says what a built-in is gives that built-in's digits. */
Test(eval_phi, like_the_builtin) {
  static outcome file_says, builtin_says;
  static const char *const functions[] = {"value", "gradient", "hessian", "conjugate"};
  for (int i = 0; i < 4; i++) {
    char arguments[256];
    const char *at = i == 3 ? "-1/3,-0.2,-7" : "1/3,0.1,0.7";
    for (int j = 0; j < 2; j++) {
      snprintf(arguments, sizeof arguments, "--potential %s --fn %s --at %s --digits 60 --json",
               j ? "renyi --param alpha=19/20" : PHIBAL_SOURCE_DIR "/spec/phi/renyi.phi",
               functions[i], at);
      run(j ? &builtin_says : &file_says, arguments, false);
      cr_assert_eq((j ? &builtin_says : &file_says)->exit_status, 0, "%s", arguments);
    }
    cr_assert_str_eq(file_says.text, builtin_says.text, "%s:\n%s\n%s", functions[i], file_says.text,
                     builtin_says.text);
  }
}

/* log is defined there by 10^-60 only, which the first precision cannot tell. */
Test(eval_phi, precision_rises_at_the_end_of_a_domain) {
  write_potential("potential edge\nvalue sum(log(x - 1/3))\n");
  expect_output(with_file("--fn gradient --digits 5 --at "
                          "0.333333333333333333333333333333333333333333333333333333333334"),
                0,
                "gradient of edge\n"
                "  at 0.333333333333333333333333333333333333333333333333333333333334  1.5e60  "
                "+- 5.5e+42\n");
  expect_error(with_file("--fn gradient --at 1/3"), 1, "coordinate 1 of 1");
}

Test(eval_phi, wrong_input) {
  write_potential("potential mine\nparameter a in (0, inf) = 1/4\nparameter b in [1, 8] = 2\n"
                  "value sum(a*x^2) + b\n");
  expect_error(with_file("--fn value --at 1 --param b=9"), 1, "b is 9; it must be in [1, 8]");
  expect_error(with_file("--fn value --at 1 --param c=9"), 2, "has the parameters a, b");
  expect_error(with_file("--fn value --at 1 --param a=1 --param b=1 --param a=2"), 2,
               "--param a is given twice");
  expect_error(with_file("--fn mirror-step --at 1 --loads 1 --eta 2"), 1, "eta must be in (0, 1]");
  expect_error("--potential ./nowhere.phi --fn value --at 1", 1, "nowhere.phi");
  write_potential("potential mine\nvalue sum(x^2\n");
  expect_error(with_file("--fn value --at 1"), 1, ":3:1: ");
}

Test(eval, help) {
  static outcome o;
  run(&o, "--help", false);
  cr_assert_eq(o.exit_status, 0);
  cr_assert_not_null(
      strstr(o.text, "phibal eval --potential log-cosh --param beta=2 --fn gradient"));
}
