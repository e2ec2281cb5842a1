/* Generated kernels: against the kernels written by hand, against the enclosed truth, and with
   faults planted in them. */
#include "verify/random.h"
#include "kernel_folder.h"
#include "audit/codegen.h"
#include "audit/core_check.h"
#include "audit/core_sweep.h"
#include "audit/core_truth.h"
#include <math.h>
#include <phibal/balance.h>
#include <string.h>
#include <phibal/environment.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(codegen, .init = folder_create_own, .fini = folder_remove_own);

enum { MOST_EXPERTS = 40, VECTORS = 200, LOADS = 700 };

typedef struct fixture {
  phi_potential *phi;
  phibal_enclosure *parameters;
  codegen_kernel kernel;
  char *source;
} fixture;

static void fixture_read(fixture *f, const char *text, double parameter) {
  *f = (fixture){0};
  cr_assert_eq(phi_read("test", text, strlen(text), &f->phi), PHIBAL_OK, "%s",
               phibal_status_message());
  f->parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, 200);
  phi_fallbacks(f->phi, f->parameters);
  if (f->phi->parameters && parameter != 0) phibal_enclosure_set_d(f->parameters, parameter);
  cr_assert_eq(codegen_source(f->phi, f->parameters, &f->source), PHIBAL_OK, "%s: %s", f->phi->name,
               phibal_status_message());
}

static void fixture_load(fixture *f) {
  cr_assert_eq(codegen_load_source(f->source, &f->kernel), PHIBAL_OK, "%s: %s", f->phi->name,
               phibal_status_message());
}

/* The file of a built-in, with or without its gradient. */
static void fixture_builtin(fixture *f, const char *name, double parameter, bool gradient) {
  char path[512], text[4096];
  snprintf(path, sizeof path, PHIBAL_SOURCE_DIR "/spec/phi/%s.phi", name);
  FILE *file = fopen(path, "rb");
  cr_assert(file, "%s", path);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  char *given = strstr(text, "\ngradient");
  cr_assert(given, "%s gives no gradient", path);
  if (!gradient) given[1] = '#';
  fixture_read(f, text, parameter);
  fixture_load(f);
}

static void fixture_clear(fixture *f) {
  codegen_close(&f->kernel);
  free(f->source);
  phibal_enclosure_vector_clear(f->parameters, PHI_MAX_PARAMETERS);
  phi_destroy(f->phi);
}

static void draw_vector(random_stream *r, int n, float *m) {
  int spread = (int)random_integer(r, 0, 2) ? (int)random_integer(r, 1, 148) : 1;
  for (int e = 0; e < n; e++) {
    m[e] = (float)ldexp(random_unit(r), -(int)random_integer(r, 0, spread));
    if (random_integer(r, 0, 20) == 0) m[e] = 0;
    if (e && random_integer(r, 0, 10) == 0) m[e] = nextafterf(m[e - 1], 1);
    if (e && random_integer(r, 0, 10) == 0) m[e] = m[e - 1];
  }
  if (n > 1 && m[0] == 0) m[0] = 1;
}

/* The kernel written by hand is off by 0.5 ULP and 2^-60 at most, the generated one here too: they
   differ where the price lies between two numbers, if at all. */
static void check_by_hand(const fixture *f, const char *name, double parameter) {
  phibal_potential p;
  cr_assert_eq(phibal_potential_find(name, &p), PHIBAL_OK);
  if (parameter != 0) p.parameter = parameter;
  random_stream r = random_start(21, p.id, 0);
  int prices = 0, differ = 0;
  for (int i = 0; i < VECTORS; i++) {
    float m[MOST_EXPERTS], ours[MOST_EXPERTS], theirs[MOST_EXPERTS];
    int n = (int)random_integer(&r, 1, MOST_EXPERTS), raised;
    int32_t raised_theirs;
    draw_vector(&r, n, m);
    cr_assert_eq(phibal_price(&p, n, m, theirs, &raised_theirs), PHIBAL_OK);
    cr_assert_eq(f->kernel.price(n, m, ours, &raised), 0);
    cr_assert_eq(raised, raised_theirs, "%s: %d and %d loads raised", name, raised, raised_theirs);
    for (int e = 0; e < n; e++) {
      prices++;
      differ += ours[e] != theirs[e];
      cr_assert(ours[e] == theirs[e] || nextafterf(ours[e], theirs[e]) == theirs[e],
                "%s(%g), load %a: %a, by hand %a", name, p.parameter, (double)m[e], (double)ours[e],
                (double)theirs[e]);
    }
    cr_assert_eq(phibal_price_centred(&p, n, m, theirs, NULL), PHIBAL_OK);
    cr_assert_eq(f->kernel.price_centred(n, m, ours, NULL), 0);
    float largest = 0;
    for (int e = 0; e < n; e++) largest = fmaxf(largest, fabsf(theirs[e]));
    for (int e = 0; e < n; e++) {
      double off = fabs((double)ours[e] - (double)theirs[e]);
      cr_assert(off <= 0x1p-23 * fabs((double)theirs[e]) + 0x1p-80 * (double)largest,
                "%s(%g), load %a: centred %a, by hand %a", name, p.parameter, (double)m[e],
                (double)ours[e], (double)theirs[e]);
      if (m[e] == m[0]) cr_assert_eq(ours[e], ours[0]);
    }
  }
  cr_assert(differ <= prices / 1000, "%s(%g): %d of %d prices differ", name, p.parameter, differ,
            prices);
}

/* Every bound holds against the enclosed derivative of the value. */
static void check_bounds(const fixture *f, int others, bool floored, double most_ulps) {
  static const float rest[] = {0.5f, 0.25f, 0x1p-60f, 0x1p-10f};
  core_subject s = {f->phi, f->parameters, &f->kernel, others, rest, floored, false};
  random_stream r = random_start(22, 0, 0);
  float m[LOADS];
  for (int i = 0; i < LOADS; i++) {
    uint32_t bits = (uint32_t)random_integer(&r, 1, 0x3f800000);
    if (i % 4 == 0) bits = 0x3f800000u - (uint32_t)(i / 4) * (uint32_t)(i / 4);
    if (i % 16 == 1) bits &= 0x7f800000u; /* a power of two */
    if (i % 16 == 5) bits = (bits & 0x7f800000u) + 0x7fffffu;
    if (i % 16 == 9) bits = (uint32_t)i;
    if (!bits) bits = 1;
    memcpy(&m[i], &bits, sizeof bits);
  }
  core_comparison result = {0};
  cr_assert_eq(core_compare(&s, LOADS, m, &result), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(result.wrong, 0, "%s: %s", f->phi->name, result.counterexample);
  cr_assert_eq(result.compared, LOADS, "%s: %d compared", f->phi->name, (int)result.compared);
  cr_assert(result.worst <= most_ulps, "%s: %g ULP at %a", f->phi->name, result.worst,
            (double)result.worst_load);
  double lost = -HUGE_VAL;
  for (int i = 0; i < 30; i++) {
    float v[MOST_EXPERTS];
    int n = (int)random_integer(&r, 2, MOST_EXPERTS);
    draw_vector(&r, n, v);
    for (int e = 0; e < n; e++) v[e] = fmaxf(v[e], 0x1p-126f);
    cr_assert_eq(core_compare_centred(&s, n, v, &result, &lost), PHIBAL_OK, "%s",
                 phibal_status_message());
  }
  cr_assert_eq(result.wrong, 0, "%s: %s", f->phi->name, result.counterexample);
}

static bool is_floored(const codegen_kernel *kernel) {
  const float m[2] = {0, 1};
  float price[2];
  int raised;
  cr_assert_eq(kernel->price(2, m, price, &raised), 0);
  return raised > 0;
}

static const struct {
  const char *name;
  double parameter; /* 0: the default */
} builtins[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {name, fallback},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {"lp", 1.0625}, {"soft-l1", 1e-12}, {"tsallis", 0.3}, {"tsallis", 1.001}, {"log-cosh", 20},
};

Test(codegen, kernels_of_the_built_ins_are_those_written_by_hand) {
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
    fixture f;
    fixture_builtin(&f, builtins[i].name, builtins[i].parameter, true);
    check_by_hand(&f, builtins[i].name, builtins[i].parameter);
    bool vector = !strcmp(builtins[i].name, "renyi");
    check_bounds(&f, vector ? 4 : 0, is_floored(&f.kernel), 0.5001);
    fixture_clear(&f);
  }
}

/* Without a gradient in the file it is derived. Near 0 the derivative of soft-l1's value, 1 - 1/(1
   + x/delta), loses its digits: bounds must say so. */
Test(codegen, kernels_of_derived_gradients_keep_their_bounds) {
  static const struct {
    const char *name;
    double ulps;
  } cases[] = {{"renyi", 0.5001}, {"pseudo-huber", 0.5001}, {"lp", 0.5001}, {"soft-l1", HUGE_VAL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    fixture_builtin(&f, cases[i].name, 0, false);
    check_bounds(&f, !strcmp(cases[i].name, "renyi") ? 4 : 0, is_floored(&f.kernel), cases[i].ulps);
    fixture_clear(&f);
  }
}

/* Every function and operation of the language, in a price of one coordinate and of sums. */
Test(codegen, every_function_has_a_kernel) {
  static const char *const values[] = {
      "sum(exp(x) + expm1(3*x)*log1p(x) - log(x + 1/3))",
      "sum(sqrt(x + 1/7) + abs(x - 1/2)*x + sin(5*x)*cos(7*x^2))",
      "sum(tanh(2*x)*sinh(x) + cosh(3*x)/(1 + sigmoid(x - 1/2)))",
      "sum(logcosh(4*x) + softplus(9*x - 3) + max(x^2, x/3) + xlogx(x + 1/5))",
      "sum(x^3 - x^(-2)/1000 + x^(1/2) + (x + 1)^x + 2^x)",
      "sum(x^2 + max(0, x - 1/4))",
      "log(sum(x^(3/2)))*sum(exp(x)) + sqrt(sum(x^2) + 1)",
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char text[400];
    snprintf(text, sizeof text, "potential every%zu\nvalue %s\n", i, values[i]);
    fixture f;
    fixture_read(&f, text, 0);
    fixture_load(&f);
    static const float rest[] = {0.5f, 0.25f};
    core_subject s = {f.phi, f.parameters,          &f.kernel, i == 6 ? 2 : 0,
                      rest,  is_floored(&f.kernel), false};
    float m[LOADS];
    random_stream r = random_start(23, i, 0);
    for (int k = 0; k < LOADS; k++)
      m[k] = (float)ldexp(1 + random_unit(&r), -(int)random_integer(&r, 1, 30));
    core_comparison result = {0};
    cr_assert_eq(core_compare(&s, LOADS, m, &result), PHIBAL_OK, "%s", phibal_status_message());
    cr_assert_eq(result.wrong, 0, "%s: %s", values[i], result.counterexample);
    cr_assert(result.compared >= LOADS - 5, "%s: %d compared", values[i], (int)result.compared);
    cr_assert(result.worst <= 0.501, "%s: %g ULP at %a", values[i], result.worst,
              (double)result.worst_load);
    fixture_clear(&f);
  }
}

/* Replaces the last `from` of a text, which may be longer afterwards. */
static char *planted(const char *source, const char *from, const char *to) {
  const char *at = NULL;
  for (const char *next = source; (next = strstr(next, from)); next++) at = next;
  cr_assert(at, "the source holds no %s", from);
  char *text = malloc(strlen(source) + strlen(to) + 1);
  sprintf(text, "%.*s%s%s", (int)(at - source), source, to, at + strlen(from));
  return text;
}

/* `gradient`: what was found of the file's gradient before. */
static audit_verdict verdict_after(fixture *f, audit_verdict gradient, const char *source,
                                   bool *counterexample) {
  audit_request request = {.parameters = f->parameters,
                           .least_experts = 2,
                           .most_experts = 64,
                           .quick = true,
                           .seed = 1,
                           .seconds = 60};
  certificate c = {0};
  cr_assert_not_null(certificate_add(&c, AUDIT_GRADIENT, gradient, NULL, "before"));
  cr_assert_eq(core_check(f->phi, &request, source, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(c.findings, 2);
  audit_verdict verdict = c.finding[1].verdict;
  *counterexample = c.finding[1].counterexample && strstr(c.finding[1].counterexample, "load");
  certificate_clear(&c);
  return verdict;
}

static audit_verdict verdict_of(fixture *f, const char *source, bool *counterexample) {
  return verdict_after(f, AUDIT_PROVED, source, counterexample);
}

/* One wrong constant or sign each: in the price, in the elementary functions below it, in a bound.
 */
Test(codegen, planted_faults_are_refuted) {
  static const struct {
    const char *name, *from, *to;
  } faults[] = {
      {"tsallis", "0x1.199999999999ap+0", "0x1.199999999999bp+0"}, /* alpha, one unit off */
      {"tsallis", "core_ball_dd_sub(", "core_ball_dd_add("},
      {"negentropy", "0x1.9999999995", "0x1.9999998995"}, /* a coefficient of log in binary64 */
      {"negentropy", "0x1.62e42fefa3800p-1", "0x1.62e42fefa3900p-1"}, /* log 2 */
      {"negentropy", "BALL_U2 0x1p-106", "BALL_U2 0x1p-112"},         /* a bound */
      {"renyi", "0x1.e666666666666p-1", "0x1.e666666666667p-1"},
      {"renyi", "(double)(j + 1)", "(double)(j + 2)"}, /* the series of exp */
      {"softplus", "0x1.5555555555556p-3", "0x1.5555555555956p-3"},
      {"pseudo-huber", "core_ball_dd_sqrt(t", "core_ball_dd_abs(t"},
      {"euclid", "return t0", "return core_ball_dd_neg(t0)"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    fixture f;
    fixture_builtin(&f, faults[i].name, 0, true);
    char *source = planted(f.source, faults[i].from, faults[i].to);
    bool counterexample;
    audit_verdict verdict = verdict_of(&f, source, &counterexample);
    cr_expect(verdict == AUDIT_REFUTED, "%s: %s for %s is not found", faults[i].name, faults[i].to,
              faults[i].from);
    cr_expect(counterexample, "%s: no load is named", faults[i].name);
    free(source);
    fixture_clear(&f);
  }
}

Test(codegen, sound_kernels_are_checked) {
  static const char *const names[] = {"negentropy", "renyi", "pseudo-huber"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fixture f;
    fixture_builtin(&f, names[i], 0, true);
    bool counterexample;
    cr_assert_eq(verdict_of(&f, f.source, &counterexample), AUDIT_CHECKED, "%s", names[i]);
    cr_assert_not(counterexample);
    fixture_clear(&f);
  }
}

/* Prices whose formula cancels to 0 or to a sign, and prices next to powers of two. */
Test(codegen, kinks_and_small_terms_are_checked) {
  static const char *const texts[] = {"potential hinge\nvalue sum(x^2 + max(0, x - 1/4))\n",
                                      "potential cosine\nvalue sum(cos(x))\ngradient -sin(x)\n",
                                      "potential one\nvalue sum(abs(x))\ngradient sgn(x)\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    fixture f;
    bool counterexample;
    fixture_read(&f, texts[i], 0);
    cr_expect_eq(verdict_of(&f, f.source, &counterexample), AUDIT_CHECKED, "%s", texts[i]);
    fixture_clear(&f);
  }
}

/* exp(1/x) is beyond binary64 below 1/709: its kernel must not say otherwise. */
Test(codegen, overflow_is_not_passed_over) {
  fixture f;
  fixture_read(&f, "potential steep\nvalue sum(x*tanh(exp(1/(x + 1/1000))))\n", 0);
  bool counterexample;
  cr_assert_neq(verdict_of(&f, f.source, &counterexample), AUDIT_CHECKED);
  fixture_clear(&f);
}

/* A library whose constructor leaves a mark, in place of every file below a folder that could be a
   compiled kernel. */
static void plant(const char *folder, const char *mark) {
  char command[1024];
  snprintf(
      command, sizeof command,
      "cd '%s' && printf '#include <stdio.h>\n__attribute__((constructor)) static void f(void)"
      "{ fclose(fopen(\"%s\", \"w\")); }\n' >planted.c && cc -shared -fPIC -o planted planted.c "
      "&& find . -name '*.so' | while read -r so; do cp --remove-destination planted $so; done",
      folder, mark);
  cr_assert_eq(system(command), 0);
}

/* Nothing that lies in a folder from before is opened as code, however it is named, and nothing is
   left behind. */
Test(codegen, no_other_code_is_loaded) {
  static const char *const places[] = {"XDG_CACHE_HOME", "HOME", "TMPDIR"};
  fixture f;
  char mark[sizeof kernel_folder + 16], command[sizeof kernel_folder + 64];
  snprintf(mark, sizeof mark, "%s/mark", kernel_folder);
  for (int i = 0; i < 3; i++) setenv(places[i], kernel_folder, 1);
  fixture_builtin(&f, "euclid", 0, true);
  codegen_close(&f.kernel);
  snprintf(command, sizeof command, "[ -z \"$(ls -A '%s')\" ]", kernel_folder);
  cr_expect_eq(system(command), 0, "something is left behind");
  plant(kernel_folder, mark);
  fixture_load(&f);
  float m = 0.25f, price;
  cr_assert_eq(f.kernel.price(1, &m, &price, NULL), 0);
  cr_assert_eq(price, 0.25f);
  cr_assert_neq(access(mark, F_OK), 0, "a planted constructor ran");
  fixture_clear(&f);
}

/* Where others may rename files, a kernel could be exchanged between compiling and loading. */
Test(codegen, a_shared_folder_is_refused) {
  codegen_kernel kernel;
  setenv("TMPDIR", kernel_folder, 1);
  cr_assert_eq(chmod(kernel_folder, 0777), 0);
  cr_assert_eq(codegen_load_source("int x;\n", &kernel), PHIBAL_ERROR_IO);
  cr_assert(strstr(phibal_status_message(), "TMPDIR"), "%s", phibal_status_message());
  cr_assert_eq(chmod(kernel_folder, 01777), 0);
  cr_assert_eq(codegen_load_source("int x;\n", &kernel), PHIBAL_ERROR_FORMAT);
  setenv("TMPDIR", "/nonexistent", 1);
  cr_assert_eq(codegen_load_source("int x;\n", &kernel), PHIBAL_ERROR_IO);
}

/* A compiler that was told to make fast mathematics. */
Test(codegen, a_changed_environment_is_refused) {
  codegen_kernel kernel;
  char file[sizeof kernel_folder + 16], compiler[sizeof file + 8];
  snprintf(file, sizeof file, "%s/load.c", kernel_folder);
  FILE *c = fopen(file, "w");
  fputs("#include <fenv.h>\n"
        "__attribute__((constructor)) static void f(void) { fesetround(FE_UPWARD); }\n",
        c);
  fclose(c);
  snprintf(compiler, sizeof compiler, "cc %s", file);
  setenv("CC", compiler, 1);
  cr_assert_eq(codegen_load_source("int x;\n", &kernel), PHIBAL_ERROR_UNSUPPORTED);
  cr_assert(strstr(phibal_status_message(), "rounding upward"), "%s", phibal_status_message());
  cr_assert_null(phibal_environment_changed());
}

Test(codegen, no_compiler_is_said) {
  fixture f;
  setenv("CC", "/nonexistent/cc", 1);
  fixture_read(&f, "potential none\nvalue sum(x^2)\n", 0);
  cr_assert_eq(codegen_load_source(f.source, &f.kernel), PHIBAL_ERROR_UNSUPPORTED);
  cr_assert(strstr(phibal_status_message(), "/nonexistent/cc"), "%s", phibal_status_message());
  bool counterexample;
  cr_assert_eq(verdict_of(&f, f.source, &counterexample), AUDIT_ABSENT);
  fixture_clear(&f);
}

Test(codegen, a_compiler_that_fails_is_quoted) {
  codegen_kernel kernel;
  cr_assert_eq(codegen_load_source("int x = ;\n", &kernel), PHIBAL_ERROR_IO);
  cr_assert(strstr(phibal_status_message(), "error"), "%s", phibal_status_message());
  cr_assert_null(strchr(phibal_status_message(), '\n'));
}

Test(codegen, bad_loads_are_refused) {
  fixture f;
  fixture_builtin(&f, "negentropy", 0, true);
  float m[3] = {0.5f, -0.25f, NAN}, price[3];
  cr_assert_eq(f.kernel.price(3, m, price, NULL), 2);
  m[1] = 0;
  cr_assert_eq(f.kernel.price(3, m, price, NULL), 3);
  cr_assert_eq(f.kernel.price_centred(3, m, price, NULL), 3);
  m[2] = INFINITY;
  cr_assert_eq(f.kernel.price(3, m, price, NULL), 3);
  cr_assert_eq(f.kernel.price(0, m, price, NULL), -1);
  cr_assert_eq(f.kernel.price(1025, m, price, NULL), -1);
  fixture_clear(&f);
}

/* The same text as C++, as which CUDA reads it, has the same bits. */
Test(codegen, the_source_is_cpp_as_well) {
  if (system("command -v g++ >/dev/null 2>&1")) cr_skip_test("no g++");
  fixture f;
  fixture_builtin(&f, "renyi", 0, true);
  codegen_kernel other;
  setenv("CC", "g++ -x c++ -Wno-all", 1);
  cr_assert_eq(codegen_load_source(f.source, &other), PHIBAL_OK, "%s", phibal_status_message());
  random_stream r = random_start(24, 0, 0);
  for (int i = 0; i < 100; i++) {
    float m[MOST_EXPERTS], one[MOST_EXPERTS], two[MOST_EXPERTS];
    int n = (int)random_integer(&r, 1, MOST_EXPERTS);
    draw_vector(&r, n, m);
    cr_assert_eq(f.kernel.price(n, m, one, NULL), 0);
    cr_assert_eq(other.price(n, m, two, NULL), 0);
    cr_assert_arr_eq(one, two, (size_t)n * sizeof *one);
    cr_assert_eq(f.kernel.price_centred(n, m, one, NULL), 0);
    cr_assert_eq(other.price_centred(n, m, two, NULL), 0);
    cr_assert_arr_eq(one, two, (size_t)n * sizeof *one);
  }
  codegen_close(&other);
  fixture_clear(&f);
}

/* A gradient that is refuted is no fault of the kernel, which computes it; a kernel that does not
   is still at fault. Where the gradient counts as proved, the same kernel is held against the
   value. */
Test(codegen, a_wrong_gradient_is_not_the_kernels) {
  fixture f;
  bool counterexample;
  fixture_read(&f, "potential t\nvalue sum(x^3)\ngradient 3*x^2 + abs(x)/1000000", 0);
  cr_assert_eq(verdict_after(&f, AUDIT_REFUTED, f.source, &counterexample), AUDIT_CHECKED);
  cr_assert_not(counterexample);
  cr_assert_eq(verdict_after(&f, AUDIT_ABSENT, f.source, &counterexample), AUDIT_CHECKED);
  cr_assert_eq(verdict_after(&f, AUDIT_PROVED, f.source, &counterexample), AUDIT_REFUTED);
  char *edited = planted(f.source, "core_ball_dd_abs(t", "core_ball_dd_neg(t");
  cr_assert_eq(verdict_after(&f, AUDIT_REFUTED, edited, &counterexample), AUDIT_REFUTED);
  cr_assert(counterexample);
  free(edited);
  fixture_clear(&f);
}

/* ---- which loads a kernel runs over ---- */

static int slow;
static uint64_t seen; /* loads, and their bits added up */
static uint64_t added;

static int fake_sweep(int n, const float *m, int others, const float *rest, float *price,
                      double *off, double *ulps, unsigned char *path) {
  (void)others;
  (void)rest;
  uint64_t sum = 0;
  for (int i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &m[i], sizeof bits);
    sum += bits;
    price[i] = m[i];
    off[i] = 0;
    ulps[i] = 0.5;
    path[i] = 0;
  }
#pragma omp atomic
  seen += (uint64_t)n;
#pragma omp atomic
  added += sum;
  if (slow) usleep((useconds_t)slow);
  return 0;
}

typedef struct told {
  int times;
  double last, left;
} told;

static void note(void *context, double done, double seconds_left) {
  told *t = context;
  cr_assert(done >= t->last && done <= 1 && seconds_left >= 0);
  t->times++;
  t->last = done;
  t->left = seconds_left;
}

static core_sweep run_fake(bool quick, double seconds, int microseconds, told *t) {
  const codegen_kernel kernel = {.sweep = fake_sweep};
  const audit_request request = {
      .quick = quick, .seed = 1, .seconds = seconds, .progress = note, .progress_context = t};
  core_sweep s;
  *t = (told){0};
  seen = added = 0;
  slow = microseconds;
  cr_assert_eq(core_sweep_run(&kernel, 0, NULL, &request, &s), PHIBAL_OK);
  cr_assert_eq(s.inputs, seen);
  return s;
}

/* All of them once, and that is said. */
Test(codegen, every_load_is_run_over) {
  told t;
  const core_sweep s = run_fake(false, 600, 0, &t);
  cr_assert(s.exhaustive && !s.cut_short);
  cr_assert_eq(s.inputs, 0x3f800000u);
  cr_assert_eq(added, 0x3f800000ull * 0x3f800001ull / 2);
}

/* Time is up: how much, and how long the rest would take; progress as it goes. */
Test(codegen, a_run_that_is_cut_short_says_so) {
  told t;
  const core_sweep s = run_fake(false, 1, 2000, &t);
  cr_assert(s.cut_short && !s.exhaustive);
  cr_assert(s.inputs > 0 && s.inputs < 0x3f800000u);
  const double rate = 0x3f800000u / (double)s.inputs;
  cr_assert(s.seconds_for_all > 0.9 * rate && s.seconds_for_all < 2.5 * rate, "%g, rate %g",
            s.seconds_for_all, rate);
  cr_assert(t.times >= 2 && t.times <= 6, "%d", t.times);
  cr_assert_float_eq(t.last, (double)s.inputs / 0x3f800000u, 0.5 * t.last);
  cr_assert_lt(t.left, 1);
}

/* A sample is the same on a machine of any speed. */
Test(codegen, a_sample_does_not_depend_on_time) {
  told t;
  const core_sweep fast = run_fake(true, 600, 0, &t);
  const uint64_t first = added;
  const core_sweep late = run_fake(true, 0.001, 2000, &t);
  cr_assert_eq(fast.inputs, late.inputs);
  cr_assert_eq(first, added);
  cr_assert(!late.cut_short && !late.exhaustive);
}
