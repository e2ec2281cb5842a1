/* `phibal eval`: a potential's functions and mirror steps at given points, as guaranteed digits. */
#include "eval.h"
#include "commands.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_DIGITS = 20, MOST_DIGITS = 10000 };

static const char *const function_names[] = {
    "value", "gradient", "hessian", "conjugate", "conjugate-gradient", "mirror-step", NULL};

const char *eval_function_name(eval_function function) {
  return function_names[function];
}

static void print_help(void) {
  puts("usage: phibal eval --potential <name> [--param <name>=<number>] --fn <function>\n"
       "                   --at <numbers> [--digits <d>] [--json]\n"
       "                   [--round <format> [--direction <direction>]]\n"
       "       phibal eval --potential <name> [--param ...] --fn mirror-step --at <m>\n"
       "                   --loads <P> --eta <number>\n"
       "\n"
       "Evaluates a potential's functions at a point; every digit printed is correct.\n"
       "\n"
       "  --potential NAME|FILE  a file in the language of spec/PHI-LANGUAGE.md (its name has a\n"
       "                         / or ends in .phi), or one of");
  command_print_potentials(25);
  puts("  --param NAME=X         the potential's parameter, such as beta=2 or p=inf; repeatable\n"
       "                         for files\n"
       "  --fn NAME              value, gradient, hessian (the diagonal; the matrix for renyi),\n"
       "                         conjugate, conjugate-gradient, mirror-step (both ways: the\n"
       "                         average, then its gradient; and the argmax of the proximal\n"
       "                         objective; for a file, the state that has this gradient as its\n"
       "                         price, by maximisation, if found: it equals the average if the\n"
       "                         argmax does)\n"
       "  --at X,...             one number per coordinate, separated by commas. Numbers are\n"
       "                         exact: 0.1, 0x1.8p-3, 1/3\n"
       "  --loads P,...          the loads P of a mirror step; --at is then m\n"
       "  --eta X                its step, in (0, 1]\n"
       "  --digits N             significant digits (20)\n"
       "  --json                 one object: potential, params, fn, at, and lo and hi, decimal\n"
       "                         strings rounded outward\n"
       "  --round FORMAT         binary64, binary32, bfloat16 or binary16: the correctly rounded\n"
       "                         numbers, in C99 hexadecimal\n"
       "  --direction NAME       nearest (default), down, up, zero\n"
       "\n"
       "Exit status: 0 success; 1 undecided at the precision limit (the enclosures are printed),\n"
       "or the two ways of a mirror step differ; 2 usage error, or outside a domain.\n"
       "\n"
       "  phibal eval --potential log-cosh --param beta=2 --fn gradient --at 0.1,0.2,0.7 "
       "--digits 40\n"
       "  phibal eval --potential tsallis --param alpha=1/2 --fn conjugate --at -0.5,1/3 --json\n"
       "  phibal eval --potential negentropy --fn gradient --at 0.3 --round bfloat16 "
       "--direction up\n"
       "  phibal eval --potential ./my.phi --param a=1/3 --param b=2 --fn hessian --at 0.2,0.8\n"
       "  phibal eval --potential renyi --param alpha=0.9 --fn mirror-step --at 0.2,0.3,0.5 \\\n"
       "      --loads 0.6,0,0.4 --eta 0.3");
}

/* The options as they were written; null where not given. */
typedef struct options {
  const char *potential, *function, *at, *loads, *eta, *digits, *format, *direction;
  const char *parameter[PHI_MAX_PARAMETERS];
  int parameters;
  bool json, help;
} options;

static int usage(const char *what) {
  return command_usage_error("eval", "%s", what);
}

static int usage_from_status(void) {
  return usage(phibal_status_message());
}

/* An option that may be given once. */
static int take(const char **slot, const char *name) {
  if (*slot) return command_usage_error("eval", "--%s is given twice", name);
  *slot = optarg;
  return 0;
}

static int add_parameter(options *o) {
  if (o->parameters == PHI_MAX_PARAMETERS)
    return command_usage_error("eval", "--param %s: no potential has so many", optarg);
  o->parameter[o->parameters++] = optarg;
  return 0;
}

static const char *const *names(const char *option) {
  static const char *const directions[] = {"nearest", "down", "up", "zero", NULL};
  if (!strcmp(option, "potential")) return command_potential_names;
  if (!strcmp(option, "fn")) return function_names;
  if (!strcmp(option, "round")) return command_format_names;
  return strcmp(option, "direction") ? NULL : directions;
}

static const struct option table[] = {{"potential", required_argument, NULL, 'p'},
                                      {"param", required_argument, NULL, 'a'},
                                      {"fn", required_argument, NULL, 'f'},
                                      {"at", required_argument, NULL, 'x'},
                                      {"loads", required_argument, NULL, 'l'},
                                      {"eta", required_argument, NULL, 'e'},
                                      {"digits", required_argument, NULL, 'd'},
                                      {"round", required_argument, NULL, 'r'},
                                      {"direction", required_argument, NULL, 'o'},
                                      {"json", no_argument, NULL, 'j'},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

const command_manual manual_eval = {
    .name = "eval", .print = print_help, .options = table, .names = names};

static int parse_options(int argc, char **argv, options *o) {
  opterr = 0;
  int index = 0, status = 0;
  for (int c; status == 0 && (c = command_option(&manual_eval, argc, argv, &index)) != -1;) {
    const char **slot = c == 'p'   ? &o->potential
                        : c == 'f' ? &o->function
                        : c == 'x' ? &o->at
                        : c == 'l' ? &o->loads
                        : c == 'e' ? &o->eta
                        : c == 'd' ? &o->digits
                        : c == 'r' ? &o->format
                        : c == 'o' ? &o->direction
                                   : NULL;
    if (slot)
      status = take(slot, table[index].name);
    else if (c == 'a')
      status = add_parameter(o);
    else if (c == 'j')
      o->json = true;
    else if (c == 'h')
      o->help = true;
    else if (c == ':')
      status = command_usage_error("eval", "%s needs a value", argv[optind - 1]);
    else
      status = command_unknown_option("eval", argv, manual_eval.options);
  }
  if (status == 0 && !o->help && optind < argc)
    return command_usage_error("eval", "unexpected '%s'", argv[optind]);
  return status;
}

static bool is_file(const char *name) {
  size_t n = strlen(name);
  return strchr(name, '/') || (n > 4 && strcmp(name + n - 4, ".phi") == 0);
}

static int set_potential(const options *o, eval_request *r) {
  if (!o->potential) return usage("--potential is missing");
  if (is_file(o->potential)) {
    if (eval_phi_open(o->potential, r) == PHIBAL_OK) return 0;
    fprintf(stderr, "phibal eval: %s\n", phibal_status_message());
    return 2;
  }
  phibal_potential potential;
  if (phibal_potential_find(o->potential, &potential) != PHIBAL_OK) return usage_from_status();
  const phibal_potential_info *info = phibal_potential_describe(potential.id);
  r->id = potential.id;
  r->name = info->name;
  if (!info->parameter[0]) return 0;
  r->parameters = 1;
  r->parameter[0].name = info->parameter;
  snprintf(r->parameter[0].text, sizeof r->parameter[0].text, "%.15g", potential.parameter);
  return 0;
}

static int unknown_parameter(const eval_request *r, const char *text) {
  char known[512] = "";
  if (r->parameters == 0)
    return command_usage_error("eval", "%s has no parameters; leave --param %s out", r->name, text);
  for (int i = 0; i < r->parameters; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
             r->parameter[i].name);
  return command_usage_error("eval", "--param %s: %s has the parameter%s %s; write --param %s=%s",
                             text, r->name, r->parameters > 1 ? "s" : "", known,
                             r->parameter[0].name, r->parameter[0].text);
}

static int set_parameter(const char *text, eval_request *r, bool *given) {
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : 0;
  for (int i = 0; equals && i < r->parameters; i++) {
    eval_parameter *p = &r->parameter[i];
    if (length != strlen(p->name) || strncmp(text, p->name, length) != 0) continue;
    if (given[i]) return command_usage_error("eval", "--param %s is given twice", p->name);
    if (strlen(equals + 1) >= sizeof p->text)
      return command_usage_error("eval", "--param %s: more than %zu characters", p->name,
                                 sizeof p->text - 1);
    strcpy(p->text, equals + 1);
    given[i] = true;
    return 0;
  }
  return unknown_parameter(r, text);
}

static int set_parameters(const options *o, eval_request *r) {
  bool given[PHI_MAX_PARAMETERS] = {false};
  int status = 0;
  for (int i = 0; status == 0 && i < o->parameters; i++)
    status = set_parameter(o->parameter[i], r, given);
  return status;
}

static int set_function(const options *o, eval_request *r) {
  if (!o->function) return usage("--fn is missing");
  for (size_t i = 0; function_names[i]; i++)
    if (strcmp(o->function, function_names[i]) == 0) {
      r->function = (eval_function)i;
      return 0;
    }
  return command_usage_error(
      "eval",
      "unknown function '%s'; there are value, gradient, hessian, conjugate, "
      "conjugate-gradient and mirror-step",
      o->function);
}

/* Cuts `text`, which it changes, at its commas; the caller frees list->text. */
static int split(char *text, eval_list *list) {
  size_t n = 1;
  for (const char *c = text; *c; c++) n += *c == ',';
  list->text = calloc(n, sizeof *list->text);
  if (!list->text) return usage("out of memory");
  list->n = n;
  for (size_t i = 0; i < n; i++) {
    list->text[i] = text;
    text += strcspn(text, ",");
    if (*text) *text++ = 0;
  }
  return 0;
}

static int set_points(const options *o, eval_request *r, char *at, char *loads) {
  bool mirror = r->function == EVAL_MIRROR_STEP;
  if (!o->at) return usage("--at is missing");
  if (mirror && !o->loads) return usage("--fn mirror-step needs --loads");
  if (mirror && !o->eta) return usage("--fn mirror-step needs --eta");
  if (!mirror && (o->loads || o->eta)) return usage("--loads and --eta go with --fn mirror-step");
  r->eta = o->eta;
  int status = split(at, &r->at);
  if (status == 0 && mirror) status = split(loads, &r->loads);
  if (status == 0 && mirror && r->loads.n != r->at.n)
    return command_usage_error("eval", "--at has %zu numbers and --loads %zu; they must agree",
                               r->at.n, r->loads.n);
  return status;
}

static int set_output(const options *o, eval_request *r) {
  r->json = o->json;
  r->digits = DEFAULT_DIGITS;
  if (o->digits) {
    char *end;
    long digits = strtol(o->digits, &end, 10);
    if (*end || end == o->digits || digits < 1 || digits > MOST_DIGITS)
      return command_usage_error("eval", "--digits %s: write a whole number from 1 to %d",
                                 o->digits, MOST_DIGITS);
    r->digits = (int)digits;
  }
  r->round = o->format != NULL;
  if (o->direction && !o->format) return usage("--direction goes with --round");
  if (o->format && phibal_format_find(o->format, &r->format) != PHIBAL_OK)
    return usage_from_status();
  r->direction = PHIBAL_ROUND_NEAREST;
  if (o->direction && phibal_direction_find(o->direction, &r->direction) != PHIBAL_OK)
    return usage_from_status();
  return 0;
}

static bool apart(const eval_answer *answer, eval_mirror_part a, eval_mirror_part b) {
  phibal_enclosure distance;
  phibal_enclosure_init(&distance, answer->precision);
  eval_mirror_distance(answer, a, b, &distance);
  bool yes = phibal_enclosure_is_positive(&distance);
  phibal_enclosure_clear(&distance);
  return yes;
}

/* The two ways of a mirror step are certain to differ. */
static bool ways_differ(const eval_request *r, const eval_answer *answer) {
  return r->function == EVAL_MIRROR_STEP &&
         ((answer->parts > EVAL_NEXT_ARGMAX &&
           apart(answer, EVAL_NEXT_AVERAGE, EVAL_NEXT_ARGMAX)) ||
          (answer->parts > EVAL_PRICE_ARGMAX &&
           apart(answer, EVAL_PRICE_AVERAGE, EVAL_PRICE_ARGMAX)));
}

static int show(const eval_request *r, const eval_answer *answer) {
  if (!r->json) eval_print_text(r, answer);
  if (r->json && eval_print_json(r, answer) != PHIBAL_OK) {
    fprintf(stderr, "phibal eval: %s\n", phibal_status_message());
    return 2;
  }
  if (!answer->all_decided)
    fprintf(stderr, "phibal eval: undecided at the cap of %ld bits; what is certain is printed\n",
            (long)answer->precision);
  return !answer->all_decided || ways_differ(r, answer) ? 1 : 0;
}

/* A built-in's parameter that is not valid is quoted as it was written: the library shows it
   rounded. */
static void print_failure(const eval_request *r, phibal_status status) {
  const char *message = phibal_status_message();
  bool parameter = !r->phi && status == PHIBAL_ERROR_ARGUMENT && r->parameters &&
                   strncmp(message, r->name, strlen(r->name)) == 0;
  fputs("phibal eval: ", stderr);
  if (parameter) fprintf(stderr, "--param %s=%s: ", r->parameter[0].name, r->parameter[0].text);
  fprintf(stderr, "%s\n", message);
}

static int answer_request(const eval_request *r) {
  eval_answer answer;
  phibal_status status = eval_answer_find(r, &answer);
  int exit_status = status == PHIBAL_ERROR_UNDECIDED ? 1 : 2;
  if (status == PHIBAL_OK)
    exit_status = show(r, &answer);
  else
    print_failure(r, status);
  eval_answer_clear(&answer);
  return exit_status;
}

static int run(const options *o, char *at, char *loads) {
  eval_request r = {0};
  int status = set_potential(o, &r);
  if (status == 0) status = set_parameters(o, &r);
  if (status == 0) status = set_function(o, &r);
  if (status == 0) status = set_output(o, &r);
  if (status == 0) status = set_points(o, &r, at, loads);
  if (status == 0) status = answer_request(&r);
  free(r.at.text);
  free(r.loads.text);
  phi_destroy(r.phi);
  return status;
}

int command_eval(int argc, char **argv) {
  options o = {0};
  int status = parse_options(argc, argv, &o);
  if (status != 0) return status;
  if (o.help) return command_help(&manual_eval);
  char *at = strdup(o.at ? o.at : ""), *loads = strdup(o.loads ? o.loads : "");
  status = at && loads ? run(&o, at, loads) : usage("out of memory");
  free(at);
  free(loads);
  return status;
}
