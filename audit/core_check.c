/* audit_core: the generated kernel over the binary32 loads, by its own bounds; its bounds, and it,
   at thousands of loads against the enclosed derivative of the value. Where the file's gradient,
   which the kernel computes, is not known to be that, it is held against this gradient: an error of
   the file is no error of the kernel. */
#include "core_check.h"
#include "codegen.h"
#include "convexity.h"
#include "core_sweep.h"
#include "core_truth.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The others that an expert is priced among where its price depends on them. */
static const float among[] = {0x1p-1f, 0x1p-2f, 0x1p-10f};
enum { AMONG = sizeof among / sizeof *among, MOST_VECTOR = 256 };

typedef struct checked {
  core_subject subject;
  core_sweep sweep;
  core_comparison point, centred;
  double lost;             /* log2: bits of centred prices, beside the largest of the vector */
  double condition[2];     /* over the binades */
  float at_zero, at_floor; /* prices */
} checked;

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t next_random(uint64_t *state) { /* SplitMix64 */
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Loads to compare at: every bfloat16 up to 1 (quick: one in 16), the ends of each binade and some
   within it, those that the sweep found worth a look. */
static int choose_loads(const core_sweep *sweep, bool quick, uint64_t seed, float *m) {
  int n = 0;
  uint64_t state = seed ^ 0x6c6f616473u;
  for (uint32_t b = 1; b <= 0x3f80; b += quick ? 16 : 1) m[n++] = from_bits(b << 16);
  for (uint32_t e = 0; e < 127; e++)
    for (int i = 0; i < (quick ? 8 : 32); i++) {
      uint32_t within = i == 0 ? 0 : i == 1 ? 0x7fffff : (uint32_t)next_random(&state) & 0x7fffff;
      /* The subnormals have binades of their own. */
      if (e == 0) within = (within >> ((uint32_t)i % 23)) | 1;
      m[n++] = from_bits(e << 23 | within);
    }
  m[n++] = 1.0f;
  const core_range *ranges[] = {&sweep->inexact, &sweep->unbounded, &sweep->underflow,
                                &sweep->overflow};
  for (int r = 0; r < 4; r++) {
    if (!ranges[r]->count) continue;
    m[n++] = ranges[r]->low;
    m[n++] = ranges[r]->high;
    for (int i = 0; i < ranges[r]->examples; i++) m[n++] = ranges[r]->example[i];
  }
  if (sweep->worst > 0) m[n++] = sweep->worst_load;
  return n;
}

/* Loads of n experts: nearly equal, next to each other, far apart, all at one. */
static void choose_vector(int number, int n, uint64_t *state, float *m) {
  double sum = 0, value[MOST_VECTOR];
  for (int e = 0; e < n; e++) {
    double unit = (double)(next_random(state) >> 11) * 0x1p-53;
    switch (number % 5) {
    case 0: /* within a part in 2^1, 2^2, .. of 1/n */
      value[e] = 1 + ldexp(unit, -(number / 5) % 24);
      break;
    case 1: /* from neighbour to neighbour */
      value[e] = (double)from_bits(0x3f000000u + (uint32_t)(next_random(state) % 3));
      break;
    case 2:
      value[e] = ldexp(1 + unit, -(int)(next_random(state) % 120));
      break;
    case 3: /* nearly all with one expert */
      value[e] = e == number / 5 % n ? 1 : ldexp(unit, number % 2 ? -126 : -60);
      break;
    default:
      value[e] = unit;
      break;
    }
    sum += value[e];
  }
  for (int e = 0; e < n; e++) m[e] = (float)(value[e] / sum);
}

static phibal_status compare_vectors(checked *k, const audit_request *request) {
  static const int experts[] = {2, 3, 8, 64, MOST_VECTOR};
  uint64_t state = request->seed ^ 0x766563746f72u;
  k->lost = -HUGE_VAL;
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < (request->quick ? 40 : 200) && !status; i++) {
    float m[MOST_VECTOR];
    int n = experts[i % (int)(sizeof experts / sizeof *experts)];
    choose_vector(i / 5 + i % 5, n, &state, m);
    status = core_compare_centred(&k->subject, n, m, &k->centred, &k->lost);
  }
  return status;
}

static phibal_status compare_points(checked *k, const audit_request *request) {
  enum { MOST = 0x3f80 + 127 * 32 + 4 * (CORE_EXAMPLES + 2) + 2 };
  float *m = malloc(MOST * sizeof *m);
  if (!m) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for loads to compare at");
  int n = choose_loads(&k->sweep, request->quick, request->seed, m);
  phibal_status status = core_compare(&k->subject, n, m, &k->point);
  free(m);
  return status;
}

static void measure(checked *k) {
  const core_subject *s = &k->subject;
  float load[1 + AMONG] = {0}, price[1 + AMONG];
  memcpy(load + 1, among, sizeof among);
  k->at_zero = s->kernel->price(1 + s->others, load, price, NULL) ? NAN : price[0];
  load[0] = 0x1p-126f;
  k->at_floor = s->kernel->price(1 + s->others, load, price, NULL) ? NAN : price[0];
  k->condition[0] = HUGE_VAL;
  k->condition[1] = 0;
  for (int i = 0; i < 127; i++) {
    double condition = core_condition(s, ldexpf(1.25f, -i - 1));
    k->condition[0] = fmin(k->condition[0], condition);
    k->condition[1] = fmax(k->condition[1], condition);
  }
}

/* Finite numbers as such, others as null: JSON has no infinities. */
static json_t *number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

static json_t *range_json(const core_range *r) {
  if (!r->count) return json_pack("{s:i}", "count", 0);
  return json_pack("{s:I, s:f, s:f}", "count", (json_int_t)r->count, "low", (double)r->low, "high",
                   (double)r->high);
}

static json_t *data(const checked *k) {
  const core_sweep *s = &k->sweep;
  json_t *curve = json_array();
  for (int i = 0; i < CORE_BINADES; i++)
    if (s->binade[i] > 0)
      json_array_append_new(curve,
                            json_pack("{s:i, s:f}", "exponent", i - 149, "ulp", s->binade[i]));
  json_t *all =
      json_pack("{s:I, s:b, s:b, s:I, s:I, s:I, s:o, s:f, s:o}", "inputs", (json_int_t)s->inputs,
                "exhaustive", s->exhaustive, "cut_short", s->cut_short, "decided_in_binary64",
                (json_int_t)s->path[0], "decided_in_double_double", (json_int_t)s->path[1],
                "undecided", (json_int_t)s->path[2], "bound_ulp", number(s->worst), "bound_load",
                (double)s->worst_load, "error_by_binade", curve);
  if (!all) return NULL;
  json_object_set_new(all, "coverage", json_real((double)s->inputs / CORE_LOADS));
  json_object_set_new(all, "seconds_for_all",
                      s->cut_short ? json_real(s->seconds_for_all) : json_null());
  json_object_set_new(all, "inexact", range_json(&s->inexact));
  json_object_set_new(all, "unbounded", range_json(&s->unbounded));
  json_object_set_new(all, "underflow", range_json(&s->underflow));
  json_object_set_new(all, "overflow", range_json(&s->overflow));
  json_object_set_new(all, "compared", json_integer((json_int_t)k->point.compared));
  json_object_set_new(all, "against",
                      json_string(k->subject.given ? "gradient given" : "derivative of the value"));
  json_object_set_new(all, "measured_ulp", number(k->point.worst));
  json_object_set_new(all, "measured_load", number((double)k->point.worst_load));
  json_object_set_new(all, "centred_compared", json_integer((json_int_t)k->centred.compared));
  json_object_set_new(all, "centred_bits", number(-k->lost));
  json_object_set_new(all, "floored", json_boolean(k->subject.floored));
  json_object_set_new(all, "price_at_0", number((double)k->at_zero));
  json_object_set_new(all, "price_at_floor", number((double)k->at_floor));
  json_object_set_new(all, "condition_low", number(k->condition[0]));
  json_object_set_new(all, "condition_high", number(k->condition[1]));
  return all;
}

/* The loads that the kernel ran over, in words. */
static void extent(const checked *k, char *text, size_t size) {
  const core_sweep *s = &k->sweep;
  const double percent = 100.0 * (double)s->inputs / CORE_LOADS;
  if (s->exhaustive)
    snprintf(text, size, "every positive binary32 up to 1");
  else if (s->cut_short)
    snprintf(text, size,
             "%.3g %% of the positive binary32 numbers up to 1, as many as there was time for (all "
             "would take about %.0f s here)",
             percent, ceil(s->seconds_for_all));
  else
    snprintf(text, size, "a sample of binary32 loads from every binade up to 1, %.3g %% of them",
             percent);
}

/* What the kernel is compared with. */
static const char *truth_of(const checked *k, certificate *c) {
  if (!k->subject.given) return "derivative of the value";
  return certificate_verdict(c, AUDIT_GRADIENT) == AUDIT_REFUTED
             ? "gradient given, which it computes and which is refuted as the derivative of the "
               "value"
             : "gradient given, which it computes and which is not checked against the value here";
}

static phibal_status report_wrong(const checked *k, certificate *c) {
  const char *counterexample = k->point.wrong ? k->point.counterexample : k->centred.counterexample;
  uint64_t wrong = k->point.wrong + k->centred.wrong;
  audit_finding *f = certificate_add(
      c, AUDIT_CORE, AUDIT_REFUTED, data(k),
      "Of %llu loads and %llu load vectors, the generated kernel is wrong at %llu, "
      "held against the %s.",
      (unsigned long long)k->point.compared, (unsigned long long)k->centred.compared,
      (unsigned long long)wrong, truth_of(k, c));
  return audit_counterexample(f, "%s", counterexample ? counterexample : "");
}

/* A price whose error is far below the prices of loads that are used: the formula loses digits
   where they do not matter. */
static bool harmless(const checked *k) {
  return k->sweep.inexact.count == 0 || k->sweep.inexact_size <= 0x1p-60 * k->sweep.scale;
}

/* "; 12 prices below 2^-126 (loads 0x1p-149 to 0x1p-126)", or "; no prices below 2^-126" */
static void print_range(FILE *out, const core_range *r, const char *what) {
  if (r->count)
    fprintf(out, "; %llu prices %s (loads %a to %a)", (unsigned long long)r->count, what,
            (double)r->low, (double)r->high);
  else
    fprintf(out, "; no price %s", what);
}

/* What else was measured; malloc'ed. */
static char *measures(const checked *k) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fprintf(out, "The price is %.6g at load 0 and %.6g at 2^-126%s", (double)k->at_zero,
          (double)k->at_floor, k->subject.floored ? ", to which smaller loads are raised" : "");
  print_range(out, &k->sweep.underflow, "below 2^-126");
  print_range(out, &k->sweep.overflow, "infinite");
  if (k->condition[0] <= k->condition[1])
    fprintf(out, "; a relative error of the load is magnified %.3g to %.3g times", k->condition[0],
            k->condition[1]);
  if (k->lost > -HUGE_VAL)
    fprintf(out,
            "; centred prices keep %.3g bits, beside the largest of their vector, in the worst",
            -k->lost);
  fputc('.', out);
  fclose(out);
  return text;
}

/* Nobody reads 1.69e-277: what is below a millionth is said to be so. */
static void print_ulps(double ulps, char *text, size_t size) {
  if (ulps > 0 && ulps < 1e-6)
    snprintf(text, size, "less than 1e-6");
  else
    snprintf(text, size, "%.9g", ulps);
}

static phibal_status report(const checked *k, const audit_request *request, certificate *c) {
  const core_sweep *s = &k->sweep;
  if (k->point.wrong || k->centred.wrong) return report_wrong(k, c);
  audit_verdict verdict = s->exhaustive && !k->subject.others ? AUDIT_PROVED : AUDIT_CHECKED;
  if (s->unbounded.count || !harmless(k)) verdict = AUDIT_UNDECIDED;
  char rest[640] = "";
  size_t used = 0;
  if (s->inexact.count)
    used += (size_t)snprintf(
        rest + used, sizeof rest - used,
        " At %llu of them, from %a to %a, the expression loses more digits than double-double has "
        "to spare: the bound there is up to %.3g ULP, and %.2g of the prices of loads above "
        "2^-12%s.",
        (unsigned long long)s->inexact.count, (double)s->inexact.low, (double)s->inexact.high,
        s->worst, s->inexact_size / s->scale, harmless(k) ? "" : "; another gradient is wanted");
  if (s->unbounded.count && used < sizeof rest)
    used += (size_t)snprintf(
        rest + used, sizeof rest - used,
        " At %llu, from %a to %a, something overflows or is not defined, and nothing is said.",
        (unsigned long long)s->unbounded.count, (double)s->unbounded.low,
        (double)s->unbounded.high);
  char *measured = measures(k), where[160];
  char bound[32], worst[32];
  extent(k, where, sizeof where);
  print_ulps(s->worst, bound, sizeof bound);
  print_ulps(k->point.worst, worst, sizeof worst);
  audit_finding *f = certificate_add(
      c, AUDIT_CORE, verdict, data(k),
      "At %s, %llu loads%s, the kernel's price has an error of %s%s ULP by its running "
      "error bound, and is the correctly rounded one at all but %llu.%s Held against the enclosed "
      "%s, at 320 bits, at %llu of these loads, %s among them, and for %llu "
      "vectors of centred prices: no bound broken, %s ULP at worst, at load %a. %s",
      where, (unsigned long long)s->inputs,
      k->subject.others ? " beside others of 1/2, 1/4 and 1/1024" : "",
      *bound == 'l' ? "" : "at most ", bound, (unsigned long long)s->path[2], rest, truth_of(k, c),
      (unsigned long long)k->point.compared,
      request->quick ? "one bfloat16 in 16" : "every bfloat16",
      (unsigned long long)k->centred.compared, worst, (double)k->point.worst_load,
      measured ? measured : "");
  free(measured);
  return audit_added(f);
}

static phibal_status check(checked *k, const audit_request *request, certificate *c) {
  phibal_status status =
      core_sweep_run(k->subject.kernel, k->subject.others, k->subject.rest, request, &k->sweep);
  if (!status) status = compare_points(k, request);
  if (!status) status = compare_vectors(k, request);
  if (!status) {
    measure(k);
    status = report(k, request, c);
  }
  free(k->point.counterexample);
  free(k->centred.counterexample);
  return status;
}

phibal_status core_check(phi_potential *phi, const audit_request *request, const char *source,
                         certificate *c) {
  const double start = audit_clock();
  codegen_kernel kernel;
  phibal_status status = codegen_load_source(source, &kernel);
  audit_request rest = *request; /* compiling takes its part of the time */
  rest.seconds = fmax(0.0, request->seconds - (audit_clock() - start));
  if (status == PHIBAL_ERROR_UNSUPPORTED || status == PHIBAL_ERROR_IO) {
    audit_verdict verdict = status == PHIBAL_ERROR_IO ? AUDIT_UNDECIDED : AUDIT_ABSENT;
    return audit_added(certificate_add(c, AUDIT_CORE, verdict, NULL, "No kernel was run: %s.",
                                       phibal_status_message()));
  }
  if (status) return status;
  int floored = 0;
  const float empty[] = {0.0f, 1.0f};
  float prices[2];
  kernel.price(2, empty, prices, &floored);
  checked *k = calloc(1, sizeof *k);
  if (!k) {
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for the check of a kernel");
  } else {
    int others = phi_separable(phi) ? 0 : AMONG;
    audit_verdict gradient = certificate_verdict(c, AUDIT_GRADIENT);
    bool right = gradient == AUDIT_PROVED || gradient == AUDIT_CHECKED;
    k->subject = (core_subject){.phi = phi,
                                .parameters = request->parameters,
                                .kernel = &kernel,
                                .others = others,
                                .rest = among,
                                .floored = floored > 0,
                                .given = phi->gradient.expression && !right};
    status = check(k, &rest, c);
  }
  free(k);
  codegen_close(&kernel);
  return status;
}

phibal_status audit_core(phi_potential *phi, const audit_request *request, certificate *c) {
  char *source;
  phibal_status status = codegen_source(phi, request->parameters, &source);
  if (status == PHIBAL_ERROR_UNSUPPORTED)
    return audit_added(certificate_add(c, AUDIT_CORE, AUDIT_UNDECIDED, NULL,
                                       "No kernel was made: %s.", phibal_status_message()));
  if (status) return status;
  status = core_check(phi, request, source, c);
  free(source);
  return status;
}
