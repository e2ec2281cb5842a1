/* The language of potentials: which trees are read, that they are written and read back, and what
   is said of files that are none. */
#include "phi_text.h"
#include "tests/reference/potential_cases.h"
#include "audit/phi.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tree in full: (+ a b), with numbers as fractions. */
static void put_tree(FILE *to, const expression *e) {
  static const char *const sign[] = {"+", "-", "*", "/", "^"};
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    gmp_fprintf(to, "%Qd", e->number);
    return;
  case EXPRESSION_PARAMETER:
    fprintf(to, "p%d", e->index);
    return;
  case EXPRESSION_VARIABLE:
    fputs("x", to);
    return;
  default:
    break;
  }
  const char *name = expression_function_name(e->kind);
  if (e->kind == EXPRESSION_SUM)
    fprintf(to, "(sum%d", e->index);
  else if (e->kind == EXPRESSION_NEGATE)
    fputs("(neg", to);
  else
    fprintf(to, "(%s", name ? name : sign[e->kind - EXPRESSION_ADD]);
  for (int i = 0; i < expression_arguments(e->kind); i++) {
    putc(' ', to);
    put_tree(to, e->argument[i]);
  }
  putc(')', to);
}

static void check_tree(const expression *e, const char *wanted, const char *of) {
  char *tree = NULL;
  size_t size;
  FILE *to = open_memstream(&tree, &size);
  put_tree(to, e);
  fclose(to);
  cr_expect(!strcmp(tree, wanted), "%s: %s, not %s", of, tree, wanted);
  free(tree);
}

/* Read in the gradient, where everything may stand but sums in sums and y. */
Test(phi_language, expressions_are_the_trees_meant) {
  static const char *const cases[][2] = {
      {"x", "x"},
      {"1 - 2 - x", "(- (- 1 2) x)"},
      {"1 - (2 - x)", "(- 1 (- 2 x))"},
      {"a*x/b*x", "(* (/ (* p0 x) p1) x)"},
      {"a + b*x", "(+ p0 (* p1 x))"},
      {"(a + b)*x", "(* (+ p0 p1) x)"},
      {"-x^2", "(neg (^ x 2))"},
      {"(-x)^2", "(^ (neg x) 2)"},
      {"2^x^3", "(^ 2 (^ x 3))"},
      {"(2^x)^3", "(^ (^ 2 x) 3)"},
      {"x^-2", "(^ x -2)"},
      {"x^-a", "(^ x (neg p0))"},
      {"x^-2^a", "(^ x (neg (^ 2 p0)))"},
      {"x^1/3", "(/ (^ x 1) 3)"},
      {"x^(1/3)", "(^ x 1/3)"},
      {"-2*x", "(* -2 x)"},
      {"- 2/6*x", "(* -1/3 x)"},
      {"1/3/5", "1/15"},
      {"-(2)", "(neg 2)"},
      {"1/(3)", "(/ 1 3)"},
      {"--x", "(neg (neg x))"},
      {"--2", "2"},
      {"+x", "x"},
      {"a--2", "(- p0 -2)"},
      {"0.1", "1/10"},
      {".5e1", "5"},
      {"1.5E-3", "3/2000"},
      {"2.e+2", "200"},
      {"007", "7"},
      {"0", "0"},
      {"max(x, 1)", "(max x 1)"},
      {"exp(-x)", "(exp (neg x))"},
      {"sum(x)", "(sum0 x)"},
      {"sum(x)/sum(x^2)", "(/ (sum0 x) (sum1 (^ x 2)))"},
      {"sum(x + 1)*sum(1 + x)*sum(x + 1)", "(* (* (sum0 (+ x 1)) (sum1 (+ 1 x))) (sum0 (+ x 1)))"},
      {"c", "(+ (* p0 x) p1)"},
      {"c*c", "(* (+ (* p0 x) p1) (+ (* p0 x) p1))"},
      {"sum(c)", "(sum0 (+ (* p0 x) p1))"},
      {"S/x", "(/ (sum0 (+ (* p0 x) p1)) x)"},
      {"sum(x^2) + S", "(+ (sum0 (^ x 2)) (sum1 (+ (* p0 x) p1)))"},
      {"(x\n + \n\n # remark\n a)", "(+ x p0)"},
      {"x +\n a", "(+ x p0)"},
      {"x # + a\n", "x"},
      {"x\r\n", "x"},
      {"x\n\n\n", "x"},
      {"\n x", "x"},
  };
  char text[512];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(
        text, sizeof text,
        "potential t\nparameter a in (0, 1) = 1/2\nparameter b in [0, 1] = 1\nlet c = a*x + b\n"
        "let S = sum(c)\nvalue sum(x)\ngradient %s",
        cases[i][0]);
    phi_potential *phi = phi_of_text(text);
    check_tree(phi->gradient.expression, cases[i][1], cases[i][0]);
    phi_destroy(phi);
  }
}

Test(phi_language, all_functions_are_read) {
  int functions = 0;
  for (int kind = 0; kind < EXPRESSION_KINDS; kind++) {
    const char *name = expression_function_name((expression_kind)kind);
    char text[128];
    if (!name) continue;
    const bool two = expression_arguments((expression_kind)kind) == 2;
    snprintf(text, sizeof text, "potential t\nvalue sum(%s(x%s))", name, two ? ", 2*x" : "");
    phi_potential *phi = phi_of_text(text);
    cr_expect_eq((int)phi->value.sum[0]->kind, kind, "%s", name);
    phi_destroy(phi);
    functions++;
  }
  cr_expect_eq(functions, 17);
}

Test(phi_language, parameters_ranges_and_sections) {
  phi_potential *phi = phi_of_text("potential log-2_b\n"
                                   "parameter a in (-inf, -1] or [0, 1/2) or (0.5, inf) = -3/2\n"
                                   "value sum(a*x) where x >= 0\n"
                                   "conjugate sum(y)\n  where 0 <= y < a\n  and y > -1");
  cr_expect_str_eq(phi->name, "log-2_b");
  cr_assert_eq(phi->parameters, 1);
  const phi_parameter *a = &phi->parameter[0];
  char ranges[64];
  phi_ranges_text(a, ranges, sizeof ranges);
  cr_expect_str_eq(ranges, "(-inf, -1] or [0, 1/2) or (1/2, inf)");
  cr_expect(mpq_cmp_si(a->fallback, -3, 2) == 0);
  cr_expect_null(phi->gradient.expression);
  cr_expect_eq(phi->value.conditions, 1);
  cr_assert_eq(phi->conjugate.conditions, 3);
  static const phi_relation relations[] = {PHI_LESS_EQUAL, PHI_LESS, PHI_GREATER};
  static const char *const sides[][2] = {{"0", "x"}, {"x", "p0"}, {"x", "-1"}};
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(phi->conjugate.condition[i].relation, relations[i]);
    check_tree(phi->conjugate.condition[i].left, sides[i][0], "left");
    check_tree(phi->conjugate.condition[i].right, sides[i][1], "right");
  }
  phi_destroy(phi);
}

Test(phi_language, nodes_know_their_place) {
  phi_potential *phi = phi_of_text("potential t\n\nvalue sum(x^2 +\n   exp(x))");
  const expression *e = phi->value.sum[0];
  cr_expect(e->kind == EXPRESSION_ADD && e->line == 3 && e->column == 15);
  cr_expect(e->argument[1]->line == 4 && e->argument[1]->column == 4);
  cr_expect(e->argument[0]->argument[1]->line == 3 && e->argument[0]->argument[1]->column == 13);
  phi_destroy(phi);
}

/* The message behind "f:". */
static const char *refusal(const char *text, size_t length) {
  phi_potential *phi = NULL;
  cr_assert(phi_read("f", text, length, &phi) == PHIBAL_ERROR_FORMAT, "read: %s", text);
  cr_assert_null(phi);
  cr_assert(!strncmp(phibal_status_message(), "f:", 2));
  return phibal_status_message() + 2;
}

/* What each text begins with; expected places count its line. */
#define HEAD "potential t\n"
#define NUMBER_WANTED                                                                              \
  "; expected a number such as 2, 0.1 or 1.5e-3, and an operator behind it (2*x)"
#define NAME_WANTED "; expected a known name: x, a parameter, a name of 'let', or a function"
#define TEXT_WANTED "; expected ASCII text, and UTF-8 in comments"
#define SUM_WANTED "; expected it inside sum(...): outside, an expert would have to be named"
#define END "found the end of the file"

Test(phi_language, what_is_wrong_is_said_with_its_place) {
  static const char *const cases[][2] = {
      /* files */
      {"", "1:1: " END "; expected 'potential' and a name"},
      {"# nothing\n\n", "3:1: " END "; expected 'potential' and a name"},
      {"value sum(x)", "1:1: found 'value'; expected 'potential' and a name"},
      {"potential", "1:10: " END "; expected a name of letters, digits, - and _"},
      {"potential 2", "1:11: found '2'; expected a name of letters, digits, - and _"},
      {"potential a b", "1:13: found 'b'; expected an operator or the end of the line"},
      {HEAD, "2:1: " END "; expected a section 'value'"},
      {HEAD "gradient x", "2:11: " END "; expected a section 'value'"},
      {HEAD "x + 1",
       "2:1: found 'x'; expected 'parameter', 'let', 'value', 'gradient' or 'conjugate'"},
      {HEAD "value sum(x)\nvalue sum(x)",
       "3:1: found 'value'; expected this section once in a file"},
      {HEAD "value sum(x) sum(x)",
       "2:14: found 'sum'; expected an operator or the end of the line"},
      {HEAD "value sum(x) where", "2:19: " END "; expected a number, a name or '('"},
      {HEAD "value sum(x) where x", "2:21: " END "; expected '<', '<=', '>' or '>='"},
      {HEAD "value sum(x) where x = 1", "2:22: found '='; expected '<', '<=', '>' or '>='"},
      {HEAD "value sum(x) where x < 1 or x > 2",
       "2:26: found 'or'; expected an operator or the end of the line"},
      /* expressions */
      {HEAD "value", "2:6: " END "; expected a number, a name or '('"},
      {HEAD "value sum(x\n", "3:1: " END "; expected ')'"},
      {HEAD "value sum(x + )", "2:15: found ')'; expected a number, a name or '('"},
      {HEAD "value sum(x + 2*)", "2:17: found ')'; expected a number, a name or '('"},
      {HEAD "value sum((x + 2)", "2:18: " END "; expected ')'"},
      {HEAD "value (sum(x)", "2:14: " END "; expected an operator or ')'"},
      {HEAD "value sum(x))", "2:13: found ')'; expected an operator or the end of the line"},
      {HEAD "value sum(x**2)",
       "2:13: found '*'; expected a number, a name or '('; powers are written x^y"},
      {HEAD "value sum(2x)", "2:11: found '2x'" NUMBER_WANTED},
      {HEAD "value sum(1.2.3*x)", "2:11: found '1.2.3'" NUMBER_WANTED},
      {HEAD "value sum(1e+*x)", "2:11: found '1e'" NUMBER_WANTED},
      {HEAD "value sum(x/0)", "2:13: found '0'; expected a divisor other than zero"},
      {HEAD "value sum(x/(0.0))", "2:13: found '('; expected a divisor other than zero"},
      {HEAD "value sum(x/-0)", "2:13: found '-'; expected a divisor other than zero"},
      {HEAD "value sum(1/0)", "2:13: found '0'; expected a divisor other than zero"},
      {HEAD "value sum(x^1e10001)",
       "2:13: found '1e10001'; expected a number between 1e-10000 and 1e10000"},
      {HEAD "value sum(x^1e99999999999999999999)",
       "2:13: found '1e99999999999999999999'; expected a number between 1e-10000 and 1e10000"},
      {HEAD "value x", "2:7: found 'x'" SUM_WANTED},
      {HEAD "value sum(x) + x", "2:16: found 'x'" SUM_WANTED},
      {HEAD "value sum(x*sum(x))", "2:13: found 'sum'; expected no sum inside a sum"},
      {HEAD "value sum(x) where sum(x) < 1", "2:20: found 'sum'; expected no sum in a condition of "
                                             "this section, which is for one expert"},
      {HEAD "value sum(y)", "2:11: found 'y'; expected x: y is the variable of the conjugate"},
      {HEAD "gradient y", "2:10: found 'y'; expected x: y is the variable of the conjugate"},
      {HEAD "conjugate sum(x)", "2:15: found 'x'; expected y: the conjugate is a function of y"},
      {HEAD "value sum(exp(x, 2))",
       "2:16: found ','; expected an operator or ')': exp takes 1 argument"},
      {HEAD "value sum(max(x))",
       "2:16: found ')'; expected ',' and argument 2 of max, which takes 2"},
      {HEAD "value sum(max(x, 1, 2))",
       "2:19: found ','; expected an operator or ')': max takes 2 arguments"},
      {HEAD "value sum(exp())", "2:15: found ')'; expected a number, a name or '('"},
      {HEAD "value sum(exp x)", "2:15: found 'x'; expected '(' and the argument of exp"},
      {HEAD "value sum", "2:10: " END "; expected '('"},
      {HEAD "value sum(delta)", "2:11: found 'delta'" NAME_WANTED},
      {HEAD "parameter delta in (0, 1) = 0.5\nvalue sum(detla)",
       "3:11: found 'detla'; expected a known name, perhaps 'delta'"},
      {HEAD "value sum(sqr(x))", "2:11: found 'sqr'; expected a known name, perhaps 'sqrt'"},
      /* names of other languages: as it is written here, not what is spelt alike */
      {HEAD "value sum(min(x, 1))", "2:11: found 'min'; expected what this language has: the "
                                    "lesser of s and t is -max(-s, -t)"},
      {HEAD "value sum(x*ln(x))", "2:13: found 'ln'; expected what this language has: the "
                                  "natural logarithm is log(t)"},
      {HEAD "value sum(pow(x, 2))",
       "2:11: found 'pow'; expected what this language has: powers are written s^t"},
      {HEAD "value sum(log10(x))", "2:11: found 'log10'; expected what this language has: the "
                                   "logarithm to base 10 is log(t)/log(10)"},
      {HEAD "value sum(x**2)",
       "2:13: found '*'; expected a number, a name or '('; powers are written x^y"},
      {HEAD "value sum(expp(x))", "2:11: found 'expp'; expected a known name, perhaps 'exp'"},
      {HEAD "value sum(e*x)", "2:11: found 'e'; expected what this language has: it is exp(1)"},
      {HEAD "value sum(inf*x)", "2:11: found 'inf'" NAME_WANTED},
      /* parameters */
      {HEAD "parameter x in (0, 1) = 0.5",
       "2:11: found 'x'; expected a name that is not a word of the language"},
      {HEAD "parameter exp in (0, 1) = 0.5",
       "2:11: found 'exp'; expected a name that is not a word of the language"},
      {HEAD "parameter a in (0, 1) = 0.5\nparameter a in (0, 1) = 0.5",
       "3:11: found 'a'; expected a new name: this one is taken"},
      {HEAD "parameter a = 1", "2:13: found '='; expected 'in'"},
      {HEAD "parameter a in 0, 1", "2:16: found '0'; expected '(' or '['"},
      {HEAD "parameter a in (0; 1)", "2:18: found ';'; expected ','"},
      {HEAD "parameter a in (0, 1", "2:21: " END "; expected ')' or ']'"},
      {HEAD "parameter a in (0, b)", "2:20: found 'b'; expected a number such as 0.1 or 1/3"},
      {HEAD "parameter a in (1, 0) = 1", "2:16: found '('; expected a range that is not empty"},
      {HEAD "parameter a in (1, 1] = 1", "2:16: found '('; expected a range that is not empty"},
      {HEAD "parameter a in [0, inf] = 1",
       "2:23: found ']'; expected ')': infinity is in no range"},
      {HEAD "parameter a in [-inf, 0] = 1",
       "2:16: found '['; expected '(': infinity is in no range"},
      {HEAD "parameter a in (inf, inf) = 1", "2:16: found '('; expected a range that is not empty"},
      {HEAD "parameter a in (0, 1) or (1/2, 2) = 1",
       "2:26: found '('; expected a range above the one before it, and apart from it"},
      {HEAD "parameter a in (0, 1] or [1, 2) = 1",
       "2:26: found '['; expected a range above the one before it, and apart from it"},
      {HEAD "parameter a in (0, 1)\nvalue sum(x)", "2:22: found the end of the line; expected '='"},
      {HEAD "parameter a in (0, 1) = 1", "2:25: found '1'; expected a default in (0, 1)"},
      {HEAD "parameter a in (0, 1) or (1, inf) = 1",
       "2:37: found '1'; expected a default in (0, 1) or (1, inf)"},
      {HEAD "parameter a in (0, 1) = 1/0", "2:27: found '0'; expected a divisor other than zero"},
      {HEAD "parameter a in (0, 1) = 1/2/2",
       "2:28: found '/'; expected an operator or the end of the line"},
      /* let */
      {HEAD "let a 1", "2:7: found '1'; expected '='"},
      {HEAD "let value = 1",
       "2:5: found 'value'; expected a name that is not a word of the language"},
      {HEAD "let a = a", "2:9: found 'a'" NAME_WANTED},
      {HEAD "let a = x + y", "2:13: found 'y'; expected either x or y in one 'let', not both"},
      {HEAD "let a = x\nvalue a",
       "3:7: found 'a'; expected it inside sum(...), as it holds the coordinate"},
      {HEAD "let a = x\nvalue sum(a)\nconjugate sum(a)",
       "4:15: found 'a'; expected y: the conjugate is a function of y"},
      {HEAD "let a = sum(x)\nvalue sum(a)",
       "3:11: found 'a'; expected no sum here, and it holds one"},
      {HEAD "let a = sum(x)\nlet b = a*x\nvalue sum(b)",
       "4:11: found 'b'; expected no sum here, and it holds one"},
      {HEAD "let a = 1\nlet a = 2", "3:5: found 'a'; expected a new name: this one is taken"},
      /* bytes */
      {HEAD "value sum(x)\a", "2:13: found the byte 0x07" TEXT_WANTED},
      {HEAD "value sum(x\302\262)", "2:12: found the character U+00B2" TEXT_WANTED},
      {HEAD "value sum(\360\235\234\223)", "2:11: found the character U+1D713" TEXT_WANTED},
      {HEAD "# \377\n", "2:3: found the byte 0xFF" TEXT_WANTED},
      {HEAD "# \300\200\n", "2:3: found the byte 0xC0" TEXT_WANTED},
      {HEAD "# \355\240\200\n", "2:3: found the byte 0xED" TEXT_WANTED},
      {HEAD "# \303", "2:3: found the byte 0xC3" TEXT_WANTED},
      {HEAD "value sum(x)\rvalue sum(x)", "2:13: found the byte 0x0D" TEXT_WANTED},
      {HEAD "value sum(x%2)", "2:12: found '%'; expected ')'"},
      {HEAD "value \"a", "2:7: found '\"'; expected a number, a name or '('"},
      {"\357\273\277potential t\nvalue sum(x)", "1:1: found the character U+FEFF" TEXT_WANTED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *said = refusal(cases[i][0], strlen(cases[i][0]));
    cr_expect(!strcmp(said, cases[i][1]), "%s\nsays     %s\nexpected %s", cases[i][0], said,
              cases[i][1]);
  }
}

Test(phi_language, comments_hold_any_text) {
  phi_destroy(
      phi_of_text("# R\303\251nyi \360\235\234\223\t\npotential t # \317\206\nvalue sum(x)#"));
}

Test(phi_language, a_zero_byte_is_no_end) {
  static const char text[] = HEAD "value sum(x)\0";
  const char *said = refusal(text, sizeof text - 1);
  cr_expect(!strncmp(said, "2:13: found the byte 0x00", 25), "%s", said);
}

/* `count` times `piece`, with `head` before and `tail` behind. */
static char *repeated(const char *head, const char *piece, size_t count, const char *tail) {
  const size_t n = strlen(piece);
  char *text = malloc(strlen(head) + n * count + strlen(tail) + 1);
  cr_assert_not_null(text);
  char *to = stpcpy(text, head);
  for (size_t i = 0; i < count; i++) to = stpcpy(to, piece);
  strcpy(to, tail);
  return text;
}

static void check_limit(const char *head, const char *piece, size_t fits, size_t too_many,
                        const char *tail, const char *said) {
  char *text = repeated(head, piece, fits, tail);
  phi_destroy(phi_of_text(text));
  free(text);
  text = repeated(head, piece, too_many, tail);
  const char *message = refusal(text, strlen(text));
  cr_expect(strstr(message, said), "%s: %s", piece, message);
  free(text);
}

Test(phi_language, sizes_have_limits) {
  enum { MILLION = 1000000 };
  check_limit(HEAD "value ", "(", 0, MILLION, "sum(x)", "at most 256 deep");
  check_limit(HEAD "value sum(", "exp(", 0, MILLION / 4, "x)", "at most 256 deep");
  check_limit(HEAD "value ", "-", 200, MILLION, "sum(x)", "at most 256 deep");
  check_limit(HEAD "value sum(", "x^", 200, MILLION / 2, "2)", "at most 256 deep");
  check_limit(HEAD "value sum(x", "+x", 200, MILLION / 2, ")",
              "fewer than 256 operations that depend on each other");
  check_limit(HEAD "value sum(x^1", "0", 900, MILLION, ")", "at most 1000 characters");
  check_limit(HEAD "value sum(1e9999", "/1e-9999", 2, 20, "*x)", "a fraction of less than");
  check_limit(HEAD "value sum(x) # ", "#", MILLION, 2 * MILLION, "", "found 2000");
}

/* let b = a*a, let c = b*b, ...: twice the size in every line. */
Test(phi_language, names_do_not_hide_size) {
  char text[2048] = HEAD "let a0 = x + 1\n";
  for (int i = 1; i < 20; i++) sprintf(text + strlen(text), "let a%d = a%d*a%d\n", i, i - 1, i - 1);
  const char *said = refusal(text, strlen(text));
  cr_expect(strstr(said, "fewer than 20000 names, numbers and operations"), "%s", said);
}

Test(phi_language, tables_have_limits) {
  char text[8192] = HEAD "value 0";
  for (int i = 0; i <= PHI_MAX_SUMS; i++) sprintf(text + strlen(text), " + sum(x^%d)", i);
  cr_expect(strstr(refusal(text, strlen(text)), "at most 16 different sums"));
  strcpy(text, HEAD);
  for (int i = 0; i <= PHI_MAX_PARAMETERS; i++)
    sprintf(text + strlen(text), "parameter a%d in (0, 1) = 1/2\n", i);
  cr_expect(
      strstr(refusal(text, strlen(text)), "10:11: found 'a8'; expected at most 8 parameters"));
  strcpy(text, HEAD);
  for (int i = 0; i <= 32; i++) sprintf(text + strlen(text), "let a%d = 1\n", i);
  cr_expect(strstr(refusal(text, strlen(text)), "34:5: found 'a32'; expected at most 32 of 'let'"));
  strcpy(text, HEAD "parameter a in (0, 1)");
  for (int i = 1; i <= PHI_MAX_RANGES; i++)
    sprintf(text + strlen(text), " or (%d, %d)", 2 * i, 2 * i + 1);
  cr_expect(strstr(refusal(text, strlen(text)), "at most 8 ranges"));
  strcpy(text, HEAD "value sum(x) where x < 1");
  for (int i = 0; i < PHI_MAX_CONDITIONS; i++) strcat(text, " and x < 1");
  cr_expect(strstr(refusal(text, strlen(text)), "at most 8 comparisons"));
}

/* A file that is cut anywhere is refused with one line, or read where its value is complete. */
Test(phi_language, truncated_files_give_one_line) {
  static const char text[] =
      HEAD "parameter a in (0, 1) or [2, 1e3] = 1/2 # a\nlet c = a*x^2\n"
           "value sum(c + exp(max(x, -1)))\nconjugate sum(y)\n  where y <= 1";
  const size_t value_ends = (size_t)(strstr(text, "conjugate") - text) - 1;
  for (size_t n = 0; n < sizeof text; n++) {
    phi_potential *phi;
    if (phi_read("f", text, n, &phi) == PHIBAL_OK)
      cr_expect_geq(n, value_ends);
    else
      cr_expect_null(strchr(phibal_status_message(), '\n'));
    phi_destroy(phi);
  }
}

Test(phi_language, files_are_read) {
  phi_potential *phi;
  cr_expect(phi_read_file("/nonexistent/a.phi", &phi) == PHIBAL_ERROR_IO);
  cr_expect(strstr(phibal_status_message(), "/nonexistent/a.phi"));
  cr_expect(phi_read_file("/", &phi) == PHIBAL_ERROR_IO);
  cr_expect(phi_read_file(PHIBAL_SOURCE_DIR "/spec/phi/renyi.phi", &phi) == PHIBAL_OK);
  cr_expect_str_eq(phi->name, "renyi");
  phi_destroy(phi);
  cr_expect(phi_read_file("/dev/zero", &phi) == PHIBAL_ERROR_FORMAT);
}

static const expression *random_leaf(expression_pool *pool, uint64_t *state) {
  const long numerator = (long)(next_random(state) % 2001) - 1000;
  switch (next_random(state) % 4) {
  case 0:
    return expression_variable(pool);
  case 1:
    return expression_parameter(pool, (int)(next_random(state) % 2));
  case 2:
    return expression_integer(pool, numerator, 1);
  default:
    return expression_integer(pool, numerator, 1 + next_random(state) % 30);
  }
}

/* A random tree of that depth at most, with all kinds of nodes and numbers. */
static const expression *random_tree(expression_pool *pool, int depth, uint64_t *state) {
  if (depth == 0 || next_random(state) % 8 == 0) return random_leaf(pool, state);
  const uint64_t kinds = EXPRESSION_KINDS - EXPRESSION_NEGATE;
  const expression_kind kind = (expression_kind)(EXPRESSION_NEGATE + next_random(state) % kinds);
  const expression *a = random_tree(pool, depth - 1, state), *b = NULL;
  if (expression_arguments(kind) == 2) b = random_tree(pool, depth - 1, state);
  return expression_make(pool, kind, a, b);
}

static bool divides_by_zero(const expression *e) {
  const expression *b = e->argument[1];
  if (e->kind == EXPRESSION_DIVIDE && b->kind == EXPRESSION_NUMBER && mpq_sgn(b->number) == 0)
    return true;
  for (int i = 0; i < expression_arguments(e->kind); i++)
    if (divides_by_zero(e->argument[i])) return true;
  return false;
}

static void check_round_trip(const expression *e) {
  static const char *const names[] = {"alpha", "b_2"};
  char *text = expression_text(e, names, "x"), *file = NULL;
  cr_assert(asprintf(&file,
                     "potential t\nparameter alpha in (0, 1) = 1/2\n"
                     "parameter b_2 in (0, 1) = 1/2\nvalue sum(x)\ngradient %s",
                     text) > 0);
  phi_potential *phi = phi_of_text(file);
  cr_assert(expression_equal(phi->gradient.expression, e), "%s", text);
  phi_destroy(phi);
  free(file);
  free(text);
}

Test(phi_language, text_reads_back_as_the_same_tree) {
  uint64_t state = 5;
  int tried = 0;
  for (int i = 0; i < 4000; i++) {
    expression_pool *pool = expression_pool_create();
    const expression *e = random_tree(pool, 1 + (int)(next_random(&state) % 6), &state);
    if (!divides_by_zero(e)) {
      check_round_trip(e);
      tried++;
    }
    expression_pool_destroy(pool);
  }
  cr_assert_gt(tried, 3000);
}

Test(phi_language, equality_sees_every_difference) {
  uint64_t state = 6;
  expression_pool *pool = expression_pool_create();
  int equal = 0;
  for (int i = 0; i < 20000; i++) {
    const expression *a = random_tree(pool, 1, &state), *b = random_tree(pool, 1, &state);
    static const char *const names[] = {"alpha", "b_2"};
    char *s = expression_text(a, names, "x"), *t = expression_text(b, names, "x");
    cr_assert_eq(expression_equal(a, b), !strcmp(s, t), "%s and %s", s, t);
    equal += !strcmp(s, t);
    free(s);
    free(t);
  }
  cr_assert_gt(equal, 50);
  expression_pool_destroy(pool);
}

Test(phi_language, numbers_are_written_short_and_exactly) {
  static const char *const cases[][2] = {
      {"1/10", "0.1"},
      {"-5/2", "-2.5"},
      {"1/3", "1/3"},
      {"-22/7", "-22/7"},
      {"1000000", "1000000"},
      {"100000000", "1e8"},
      {"1/1000", "0.001"},
      {"1/100000000", "1e-8"},
      {"123/100000000", "0.00000123"},
      {"1/1048576", "95367431640625e-20"},
      {"0", "0"},
  };
  expression_pool *pool = expression_pool_create();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mpq_t q;
    mpq_init(q);
    mpq_set_str(q, cases[i][0], 10);
    char *text = expression_text(expression_number(pool, q), NULL, "x");
    cr_expect_str_eq(text, cases[i][1]);
    free(text);
    mpq_clear(q);
  }
  expression_pool_destroy(pool);
}

Test(phi_language, parameters_are_checked_against_their_ranges) {
  static const struct {
    const char *lo, *hi;
    bool good;
  } cases[] = {
      {"1/2", "1/2", true},  {"0", "0", false},   {"0", "0.5", false}, {"1", "1", false},
      {"0.5", "1.5", false}, {"1.5", "2", true},  {"2", "2.5", false}, {"3", "1e300", true},
      {"3", "inf", false},   {"-1", "-1", false}, {"2.9", "3", false},
  };
  phi_potential *phi =
      phi_of_text(HEAD "parameter a in (0, 1) or (1, 2] or [3, inf) = 1/2\nvalue sum(x)");
  phibal_enclosure a, end;
  phibal_enclosure_init(&a, 53);
  phibal_enclosure_init(&end, 53);
  phi_fallbacks(phi, &a);
  cr_expect(mpfr_cmp_d(a.lo, 0.5) == 0 && phibal_enclosure_is_exact(&a));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phibal_enclosure_set_str(&end, cases[i].lo);
    mpfr_set(a.lo, end.lo, MPFR_RNDD);
    phibal_enclosure_set_str(&end, cases[i].hi);
    mpfr_set(a.hi, end.hi, MPFR_RNDU);
    const phibal_status status = phi_check_parameters(phi, &a);
    cr_expect(status == (cases[i].good ? PHIBAL_OK : PHIBAL_ERROR_ARGUMENT), "[%s, %s]",
              cases[i].lo, cases[i].hi);
  }
  cr_expect_str_eq(phibal_status_message(),
                   "t: a is [2.89999, 3]; it must be in (0, 1) or (1, 2] or [3, inf)");
  phibal_enclosure_clear(&a);
  phibal_enclosure_clear(&end);
  phi_destroy(phi);
}

/* As --param gives them: the second of two is set and the first is not; fractions are exact, not
   the binary64 next to them. */
Test(phi_language, given_parameters) {
  static const struct {
    const char *text;
    bool intervals;
    int which, status;
    const char *lo, *hi, *message;
  } cases[] = {
      {"bb=1/2", false, 1, PHIBAL_OK, "1/2", "1/2", NULL},
      {"bb= 1/3", false, 1, PHIBAL_OK, "1/3", "1/3", NULL},
      {"bb=0.1", false, 1, PHIBAL_OK, "1/10", "1/10", NULL},
      {"b=2e-1", false, 0, PHIBAL_OK, "1/5", "1/5", NULL},
      {"bb=1/3..2/3", true, 1, PHIBAL_OK, "1/3", "2/3", NULL},
      {"bb=1/3..2/3", false, 1, PHIBAL_ERROR_ARGUMENT, NULL, NULL, "expected one number"},
      {"bb=2/3..1/3", true, 1, PHIBAL_ERROR_ARGUMENT, NULL, NULL, "the smaller one"},
      {"bb=1/0", true, 1, PHIBAL_ERROR_FORMAT, NULL, NULL, "1/0"},
      {"bb", true, -1, PHIBAL_ERROR_ARGUMENT, NULL, NULL, "b, bb; write b=1/2 or b=1/4..1/2"},
      {"bbb=1", false, -1, PHIBAL_ERROR_ARGUMENT, NULL, NULL, "of t: b, bb; write b=1/2"},
  };
  phi_potential *phi =
      phi_of_text(HEAD "parameter b in (0, 1) = 1/2\nparameter bb in (0, 1) = 1/2\n"
                       "value sum(b*x^2 + bb*x)");
  phibal_enclosure *p = phibal_enclosure_vector(2, 200);
  mpq_t q;
  mpq_init(q);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int j = 0; j < 2; j++) phibal_enclosure_set_si(&p[j], 7);
    int which;
    const phibal_status status =
        phi_read_parameter(phi, cases[i].text, cases[i].intervals, p, &which);
    cr_assert_eq(status, (phibal_status)cases[i].status, "%s", cases[i].text);
    cr_assert_eq(which, cases[i].which, "%s", cases[i].text);
    if (cases[i].message) {
      cr_expect_not_null(strstr(phibal_status_message(), cases[i].message), "%s: %s", cases[i].text,
                         phibal_status_message());
      continue;
    }
    mpq_set_str(q, cases[i].lo, 10);
    cr_expect(mpfr_cmp_q(p[which].lo, q) <= 0 && phibal_enclosure_is_positive(&p[which]));
    mpq_set_str(q, cases[i].hi, 10);
    cr_expect(mpfr_cmp_q(p[which].hi, q) >= 0, "%s", cases[i].text);
    cr_expect(mpfr_cmp_si(p[1 - which].lo, 7) == 0, "%s sets the other", cases[i].text);
    phibal_enclosure_width(p[1 - which].lo, &p[which]);
    cr_expect(cases[i].intervals || mpfr_cmp_d(p[1 - which].lo, 0x1p-198) < 0, "%s", cases[i].text);
  }
  mpq_clear(q);
  phibal_enclosure_vector_clear(p, 2);
  phi_destroy(phi);
}

Test(phi_language, separable_forms) {
  static const char *const cases[][2] = {
      {"sum(x^2)", "x^2"},
      {"-sum(x)", "-x"},
      {"3 - 2*sum(x)/a", "-(2*x/a)"},
      {"sum(x)*a + 1", "x*a"},
      {"sum(x) - (sum(x^2) - 1)", "x - x^2"},
      {"a", "0"},
      {"sum(x)^2", NULL},
      {"sum(x)*sum(x)", NULL},
      {"1/sum(x)", NULL},
      {"log(sum(x))", NULL},
      {"sum(x) + exp(sum(x))", NULL},
      {"a - exp(sum(x))", NULL},
  };
  static const char *const names[] = {"a"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char file[128];
    snprintf(file, sizeof file, HEAD "parameter a in (0, 1) = 1/2\nvalue %s", cases[i][0]);
    phi_potential *phi = phi_of_text(file);
    const expression *psi = phi_separable(phi);
    cr_assert(!psi == !cases[i][1], "%s", cases[i][0]);
    char *text = psi ? expression_text(psi, names, "x") : NULL;
    if (text) cr_expect_str_eq(text, cases[i][1]);
    free(text);
    phi_destroy(phi);
  }
}

/* Reads every .phi file in a folder of the sources; returns how many. */
static int read_folder(const char *folder, phibal_status wanted) {
  char pattern[512];
  glob_t found;
  snprintf(pattern, sizeof pattern, PHIBAL_SOURCE_DIR "/%s/*.phi", folder);
  cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "%s", pattern);
  const int count = (int)found.gl_pathc;
  for (int i = 0; i < count; i++) {
    phi_potential *phi;
    cr_expect_eq(phi_read_file(found.gl_pathv[i], &phi), wanted, "%s", found.gl_pathv[i]);
    if (wanted != PHIBAL_OK) {
      const char *said = phibal_status_message();
      cr_expect(!strncmp(said, found.gl_pathv[i], strlen(found.gl_pathv[i])), "%s", said);
      cr_expect_null(strchr(said, '\n'));
    }
    phi_destroy(phi);
  }
  globfree(&found);
  return count;
}

Test(phi_language, the_files_of_the_sources_are_what_they_should_be) {
  cr_expect_geq(read_folder("spec/phi", PHIBAL_OK), PHIBAL_POTENTIAL_COUNT);
  cr_expect_geq(read_folder("tests/audit/phi", PHIBAL_OK), 13);
  cr_expect_geq(read_folder("tests/audit/phi/malformed", PHIBAL_ERROR_FORMAT), 15);
}
