/* The examination: reads the potential and its parameters, then runs the parts one by one. */
#include "audit_command.h"
#include "commands.h"
#include <audit_lp_max.h>
#include <builtin.h>
#include <math.h>
#include <phi64.h>
#include <phibal/environment.h>
#include <phibal/potential.h>
#include <simulation.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const int32_t audit_expert_counts[AUDIT_EXPERT_COUNTS] = {8, 16, 64, 256};
const double audit_settle_head = 2.0, audit_settle_goal = 0.1;

static int fail(const char *what) {
  fprintf(stderr, "phibal audit: %s\n", what);
  return 2;
}

static int fail_from_status(void) {
  return fail(phibal_status_message());
}

static bool is_file(const char *source) {
  size_t n = strlen(source);
  return strchr(source, '/') || (n > 4 && strcmp(source + n - 4, ".phi") == 0);
}

static phibal_status unknown_builtin(const char *name) {
  char known[256] = "";
  for (size_t i = 0; i < phi_builtins_count; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
             phi_builtins[i].name);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "no built-in potential '%s'; there are %s; a file's name ends in .phi",
                           name, known);
}

phibal_status audit_load(const char *source, phi_potential **phi, bool *builtin) {
  *phi = NULL;
  *builtin = !is_file(source);
  if (!*builtin) return phi_read_file(source, phi);
  const phi_builtin *b = phi_builtin_find(source);
  return b ? phi_read(b->name, b->text, strlen(b->text), phi) : unknown_builtin(source);
}

/* ---- parameters ---- */

/* Where an interval is asked for, what needs points takes the default if that is inside, else the
   middle. */
static void choose_point(phibal_enclosure *at, const phibal_enclosure *asked) {
  if (mpfr_lessequal_p(asked->lo, at->lo) && mpfr_lessequal_p(at->hi, asked->hi)) return;
  mpfr_t middle;
  mpfr_init2(middle, AUDIT_PRECISION);
  mpfr_add(middle, asked->lo, asked->hi, MPFR_RNDN);
  mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
  phibal_enclosure_set_fr(at, middle);
  mpfr_clear(middle);
}

static int set_parameter(const char *text, audit_report *r, bool *given) {
  int i;
  phibal_status status = phi_read_parameter(r->phi, text, true, r->asked, &i);
  if (i < 0) return command_usage_error("audit", "--param %s: %s", text, phibal_status_message());
  if (given[i])
    return command_usage_error("audit", "--param %s is given twice", r->phi->parameter[i].name);
  given[i] = true;
  if (status != PHIBAL_OK) {
    fprintf(stderr, "phibal audit: --param %s: %s\n", text, phibal_status_message());
    return 2;
  }
  if (strstr(text, ".."))
    choose_point(&r->at[i], &r->asked[i]);
  else
    phibal_enclosure_set(&r->at[i], &r->asked[i]);
  return 0;
}

/* The ends of a built-in's range that the catalogue takes although the file does not: lp trains
   with p = 1, and the audit says what that is worth. */
static bool catalogue_takes(const audit_report *r) {
  phibal_potential potential;
  if (!r->builtin || r->phi->parameters != 1 ||
      phibal_potential_find(r->phi->name, &potential) != PHIBAL_OK ||
      !phibal_enclosure_is_exact(&r->asked[0]))
    return false;
  potential.parameter = mpfr_get_d(r->asked[0].lo, MPFR_RNDN);
  return mpfr_cmp_d(r->asked[0].lo, potential.parameter) == 0 &&
         phibal_potential_check(&potential) == PHIBAL_OK;
}

static int set_parameters(const audit_options *o, audit_report *r) {
  size_t n = (size_t)r->phi->parameters;
  r->asked = phibal_enclosure_vector(n, AUDIT_PRECISION);
  r->at = phibal_enclosure_vector(n, AUDIT_PRECISION);
  if (!r->asked || !r->at) return fail("out of memory");
  phi_fallbacks(r->phi, r->asked);
  phi_fallbacks(r->phi, r->at);
  r->ranges = o->ranges || o->parameters == 0;
  bool given[PHI_MAX_PARAMETERS] = {false};
  for (int i = 0; i < o->parameters; i++) {
    int status = set_parameter(o->parameter[i], r, given);
    if (status != 0) return status;
  }
  if (phi_check_parameters(r->phi, r->asked) == PHIBAL_OK) return 0;
  char message[512];
  snprintf(message, sizeof message, "%s", phibal_status_message());
  return catalogue_takes(r) ? 0 : fail(message);
}

/* ---- the parts ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static phibal_status simulate(const audit_options *o, const audit_report *r, int32_t experts,
                              audit_loop *loop) {
  double parameters[PHI_MAX_PARAMETERS];
  phi64_parameters(r->phi, r->at, parameters);
  for (int i = 0; i < AUDIT_ETAS; i++) {
    phibal_status status =
        simulation_limit(r->phi, parameters, experts, audit_eta[i], &loop->limit[i]);
    if (status != PHIBAL_OK) return status;
  }
  router_loop run = {.phi = r->phi,
                     .parameters = parameters,
                     .experts = experts,
                     .eta = o->eta,
                     .alpha = o->alpha,
                     .lr = o->lr};
  loop->simulated = true;
  return simulation_settle(&run, audit_settle_head, audit_settle_goal, AUDIT_SETTLE_STEPS,
                           &loop->settled, &loop->least);
}

/* The usual numbers of experts that were asked for; else the ends of what was. */
static size_t choose_counts(const audit_options *o, int32_t *counts) {
  size_t n = 0;
  for (int i = 0; i < AUDIT_EXPERT_COUNTS; i++)
    if (o->least_experts <= audit_expert_counts[i] && audit_expert_counts[i] <= o->most_experts)
      counts[n++] = audit_expert_counts[i];
  if (n == 0) counts[n++] = o->least_experts;
  if (n == 1 && o->least_experts < counts[0])
    counts[1] = counts[0], counts[0] = o->least_experts, n = 2;
  if (n == 1 && o->most_experts > counts[0]) counts[n++] = o->most_experts;
  return n;
}

static phibal_status run_dynamics(const audit_options *o, audit_report *r) {
  int32_t counts[AUDIT_EXPERT_COUNTS];
  size_t n = choose_counts(o, counts);
  r->dynamics = calloc(n, sizeof *r->dynamics);
  if (!r->dynamics) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++) {
    phibal_status status = audit_dynamics_find(r->phi, r->at, counts[i], &r->dynamics[i]);
    r->counts++;
    if (status == PHIBAL_OK) status = simulate(o, r, counts[i], &r->loop[i]);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* ---- progress, on a terminal ---- */

/* On standard error if that is a terminal; not beside JSON that goes elsewhere. */
static bool shows_progress(const audit_options *o) {
  return isatty(STDERR_FILENO) && (!o->json || isatty(STDOUT_FILENO));
}

/* Which part is at work; the line is gone when it ends. */
static void show_progress(const audit_options *o, int part) {
  if (!shows_progress(o)) return;
  fputs("\r\033[K", stderr);
  if (part < AUDIT_PART_COUNT)
    fprintf(stderr, "phibal audit: part %d of %d, %s (up to %g s)", part + 1, AUDIT_PART_COUNT,
            audit_part_name((audit_part)part),
            part == AUDIT_PART_CORE ? o->kernel_seconds : o->seconds);
}

/* How far the kernel has come, and for how long it will go on. */
static void show_kernel_progress(void *options, double done, double seconds_left) {
  const audit_options *o = options;
  if (!shows_progress(o)) return;
  fprintf(stderr, "\r\033[Kphibal audit: part %d of %d, %s: %.0f %% of the %s, %.0f s left",
          AUDIT_PART_CORE + 1, AUDIT_PART_COUNT, audit_part_name(AUDIT_PART_CORE), 100.0 * done,
          o->quick ? "sample" : "binary32 loads", seconds_left);
}

static phibal_status run_part(audit_part part, const audit_options *o, audit_report *r) {
  audit_request request = {.parameters = r->at,
                           .least_experts = o->least_experts,
                           .most_experts = o->most_experts,
                           .quick = o->quick,
                           .seed = o->seed,
                           .seconds = part == AUDIT_PART_CORE ? o->kernel_seconds : o->seconds,
                           .progress = show_kernel_progress,
                           .progress_context = (void *)(uintptr_t)o};
  audit_request wide = request;
  wide.parameters = r->asked;
  wide.ranges = r->ranges;
  switch (part) {
  case AUDIT_PART_CONVEXITY:
    return audit_convexity(r->phi, &wide, &r->certificate);
  case AUDIT_PART_LEGENDRE:
    return audit_legendre(r->phi, &wide, &r->certificate);
  case AUDIT_PART_GRADIENT:
    return audit_gradient(r->phi, &wide, &r->certificate);
  case AUDIT_PART_CONJUGATE:
    return audit_conjugate(r->phi, &request, &r->certificate);
  case AUDIT_PART_CORE:
    return audit_core(r->phi, &request, &r->certificate);
  case AUDIT_PART_DYNAMICS:
  case AUDIT_PART_COUNT:
    break;
  }
  return run_dynamics(o, r);
}

/* What has no value at uniform loads is an error of its author's, not a potential to judge. */
static int check_defined(const audit_options *o, const audit_report *r) {
  size_t n = (size_t)o->least_experts;
  phibal_enclosure *x = phibal_enclosure_vector(n, AUDIT_PRECISION), value;
  if (!x) return fail("out of memory");
  phibal_enclosure_init(&value, AUDIT_PRECISION);
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_set_si(&value, o->least_experts);
    phibal_enclosure_set_si(&x[e], 1);
    if (status == PHIBAL_OK) status = phibal_enclosure_div(&x[e], &x[e], &value);
  }
  if (status == PHIBAL_OK) status = phi_value(r->phi, r->at, n, x, &value);
  phibal_enclosure_clear(&value);
  phibal_enclosure_vector_clear(x, n);
  if (status == PHIBAL_OK) return 0;
  fprintf(stderr, "phibal audit: %s: %s has no value at uniform loads of %zu experts: %s\n",
          r->source, r->phi->name, n, phibal_status_message());
  return 2;
}

audit_part audit_part_of(audit_claim claim) {
  switch (claim) {
  case AUDIT_GRADIENT:
    return AUDIT_PART_GRADIENT;
  case AUDIT_BOUNDARY:
  case AUDIT_DUAL_DOMAIN:
  case AUDIT_MIRROR:
    return AUDIT_PART_LEGENDRE;
  case AUDIT_CONJUGATE:
  case AUDIT_CONJUGATE_DOMAIN:
    return AUDIT_PART_CONJUGATE;
  case AUDIT_CORE:
    return AUDIT_PART_CORE;
  default:
    return AUDIT_PART_CONVEXITY;
  }
}

/* lp with p = inf, which the catalogue trains with: another function than the file's. */
static bool is_lp_max(const audit_report *r) {
  phibal_potential potential;
  return r->builtin && phibal_potential_find(r->phi->name, &potential) == PHIBAL_OK &&
         potential.id == PHIBAL_POTENTIAL_LP && mpfr_inf_p(r->asked[0].lo) &&
         mpfr_sgn(r->asked[0].lo) > 0;
}

static int run_lp_max(const audit_options *o, audit_report *r) {
  bool wanted[AUDIT_CLAIM_COUNT];
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) wanted[i] = !o->skip[audit_part_of((audit_claim)i)];
  return audit_lp_max(wanted, &r->certificate) == PHIBAL_OK ? 0 : fail_from_status();
}

/* Where a whole range is asked for and not proved, the point that a run would take by itself: what
   holds there is what training rests on. */
static phibal_status look_here(const audit_options *o, audit_report *r) {
  const audit_request request = {.parameters = r->at,
                                 .least_experts = o->least_experts,
                                 .most_experts = o->most_experts,
                                 .quick = o->quick,
                                 .seed = o->seed,
                                 .seconds = o->seconds};
  bool more = r->ranges;
  for (int i = 0; i < r->phi->parameters; i++)
    more = more || !phibal_enclosure_is_exact(&r->asked[i]);
  static const struct {
    audit_part part;
    audit_claim claim;
    phibal_status (*examine)(phi_potential *, const audit_request *, certificate *);
  } parts[] = {{AUDIT_PART_CONVEXITY, AUDIT_CONVEX, audit_convexity},
               {AUDIT_PART_LEGENDRE, AUDIT_MIRROR, audit_legendre}};
  phibal_status status = PHIBAL_OK;
  bool open = false;
  for (int i = 0; i < 2; i++)
    open = open || (!o->skip[parts[i].part] &&
                    certificate_verdict(&r->certificate, parts[i].claim) != AUDIT_PROVED);
  for (int i = 0; i < 2 && more && open && r->phi->parameters && status == PHIBAL_OK; i++) {
    if (o->skip[parts[i].part]) continue;
    double start = now();
    show_progress(o, parts[i].part);
    status = parts[i].examine(r->phi, &request, &r->here);
    show_progress(o, AUDIT_PART_COUNT);
    r->seconds[parts[i].part] += now() - start;
  }
  return status;
}

/* No claim of a part that ran is without a word. */
static phibal_status leave_no_gap(audit_part part, audit_report *r) {
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < AUDIT_CLAIM_COUNT && status == PHIBAL_OK; i++) {
    audit_claim claim = (audit_claim)i;
    if (audit_part_of(claim) == part && !audit_was_examined(&r->certificate, claim))
      status = audit_added(certificate_add(&r->certificate, claim, AUDIT_UNDECIDED, NULL,
                                           "The examination ended before it came to this."));
  }
  return status;
}

int audit_run(const audit_options *o, audit_report *r) {
  *r = (audit_report){.source = o->source};
  if (audit_load(o->source, &r->phi, &r->builtin) != PHIBAL_OK) return fail_from_status();
  int status = set_parameters(o, r);
  if (status == 0 && is_lp_max(r)) return run_lp_max(o, r);
  if (status == 0) status = check_defined(o, r);
  for (int part = 0; status == 0 && part < AUDIT_PART_COUNT; part++) {
    if (o->skip[part]) continue;
    show_progress(o, part);
    double start = now();
    phibal_status done = run_part((audit_part)part, o, r);
    if (done == PHIBAL_OK) done = phibal_environment_check("the examination");
    r->seconds[part] = now() - start;
    show_progress(o, AUDIT_PART_COUNT);
    if (done == PHIBAL_OK && part != AUDIT_PART_DYNAMICS) done = leave_no_gap((audit_part)part, r);
    if (done != PHIBAL_OK) status = fail_from_status();
  }
  if (status == 0 && look_here(o, r) != PHIBAL_OK) status = fail_from_status();
  return status;
}

void audit_report_clear(audit_report *r) {
  size_t n = r->phi ? (size_t)r->phi->parameters : 0;
  if (r->asked) phibal_enclosure_vector_clear(r->asked, n);
  if (r->at) phibal_enclosure_vector_clear(r->at, n);
  for (size_t i = 0; i < r->counts; i++) audit_dynamics_clear(&r->dynamics[i]);
  free(r->dynamics);
  certificate_clear(&r->certificate);
  certificate_clear(&r->here);
  if (r->phi) phi_destroy(r->phi);
}
