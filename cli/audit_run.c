/* The examination: reads the potential and its parameters, then runs the parts one by one, each in
   its time. */
#include "audit_run.h"
#include "audit_time.h"
#include "commands.h"
#include "audit_picture.h"
#include "audit/audit_lp_max.h"
#include "audit/builtin.h"
#include "audit/convexity.h"
#include <math.h>
#include "audit/phi64.h"
#include <phibal/potential.h>
#include "audit/simulation.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what) {
  command_say("audit", "%s", what);
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

/* Reads a file, or a built-in by its name; messages say which there are. */
static phibal_status load(const char *source, phi_potential **phi, bool *builtin) {
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

static void send_dynamics(FILE *to, const audit_dynamics *d, const audit_loop *loop) {
  phibal_enclosure *all[AUDIT_DYNAMICS_ENCLOSURES];
  audit_dynamics from = *d;
  const size_t n = audit_dynamics_enclosures(&from, all);
  char *data = NULL;
  size_t bytes = 0;
  FILE *record = open_memstream(&data, &bytes);
  if (!record) return;
  fwrite(d, sizeof *d, 1, record);
  fwrite(loop, sizeof *loop, 1, record);
  for (size_t i = 0; i < n; i++) {
    mpfr_fpif_export(record, all[i]->lo);
    mpfr_fpif_export(record, all[i]->hi);
  }
  if (!fclose(record)) audit_send(to, AUDIT_RECORD_DYNAMICS, data, bytes);
  fflush(to);
  free(data);
}

/* The addresses in what was sent are another process's: only what is beside them is taken. */
static phibal_status take_dynamics(audit_report *r, const char *data, size_t bytes) {
  audit_dynamics sent, *d = &r->dynamics[r->counts];
  phibal_enclosure *all[AUDIT_DYNAMICS_ENCLOSURES];
  FILE *record = fmemopen((void *)(uintptr_t)data, bytes, "r");
  if (!record) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  bool good = fread(&sent, sizeof sent, 1, record) == 1 &&
              fread(&r->loop[r->counts], sizeof *r->loop, 1, record) == 1;
  if (good) {
    audit_dynamics_init(d, sent.experts);
    r->counts++;
    d->known = sent.known;
    d->stiff = sent.stiff;
    d->scales = sent.scales;
    const audit_price *from[] = {sent.share, &sent.full, &sent.empty};
    audit_price *to[] = {d->share, &d->full, &d->empty};
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < (i ? 1 : AUDIT_SHARES); j++) {
        to[i][j].exists = from[i][j].exists;
        to[i][j].floored = from[i][j].floored;
      }
    const size_t n = audit_dynamics_enclosures(d, all);
    for (size_t i = 0; good && i < n; i++)
      good = !mpfr_fpif_import(all[i]->lo, record) && !mpfr_fpif_import(all[i]->hi, record);
  }
  fclose(record);
  return good ? PHIBAL_OK
              : phibal_status_set(PHIBAL_ERROR_FORMAT, "the dynamics could not be transferred");
}

static phibal_status send_all_dynamics(const audit_options *o, const audit_report *r, FILE *to) {
  int32_t counts[AUDIT_EXPERT_COUNTS];
  size_t n = choose_counts(o, counts);
  for (size_t i = 0; i < n; i++) {
    audit_dynamics d;
    audit_loop loop = {0};
    phibal_status status = audit_dynamics_find(r->phi, r->at, counts[i], &d);
    if (status == PHIBAL_OK) status = simulate(o, r, counts[i], &loop);
    if (status == PHIBAL_OK) send_dynamics(to, &d, &loop);
    audit_dynamics_clear(&d);
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
static void show_progress(const audit_options *o, int part, double seconds) {
  if (!shows_progress(o)) return;
  command_clear_line();
  if (part < AUDIT_PART_COUNT)
    fprintf(stderr, "phibal audit: part %d of %d, %s (up to %.3g s)", part + 1, AUDIT_PART_COUNT,
            audit_part_names[part], seconds);
}

/* How far the kernel has come, and for how long it will go on. */
static void show_kernel_progress(void *options, double done, double seconds_left) {
  const audit_options *o = options;
  if (!shows_progress(o)) return;
  command_clear_line();
  fprintf(stderr, "phibal audit: part %d of %d, %s: %.0f %% of the %s, %.0f s left",
          AUDIT_PART_CORE + 1, AUDIT_PART_COUNT, audit_part_names[AUDIT_PART_CORE], 100.0 * done,
          o->quick ? "sample" : "binary32 loads", seconds_left);
}

/* Of the time that is left when a part begins: after `end` of it the part ends by itself, with what
   it has found; after `most` it is ended. What one part leaves is the next one's. */
static const struct {
  double end, most;
} part_time[AUDIT_PART_COUNT] = {
    [AUDIT_PART_CONVEXITY] = {0.3, 0.4}, [AUDIT_PART_LEGENDRE] = {0.3, 0.4},
    [AUDIT_PART_GRADIENT] = {0.2, 0.3},  [AUDIT_PART_CONJUGATE] = {0.2, 0.3},
    [AUDIT_PART_CORE] = {0.4, 0.95},     [AUDIT_PART_DYNAMICS] = {0.5, 0.8},
};

static const double kernel_rest = 24;

/* A part that runs in a process of its own. */
typedef struct part_work {
  audit_part part;
  const audit_options *o;
  audit_report *r;
  bool here; /* at the point that a run would take, although more was asked for */
} part_work;

static phibal_status work_part(void *context, FILE *to) {
  const part_work *w = context;
  const audit_options *o = w->o;
  audit_report *r = w->r;
  if (w->part == AUDIT_PART_DYNAMICS) return send_all_dynamics(o, r, to);
  const double left = audit_seconds_left(o);
  audit_request request = {.parameters = r->at,
                           .least_experts = o->least_experts,
                           .most_experts = o->most_experts,
                           .quick = o->quick,
                           .seed = o->seed,
                           .seconds = part_time[w->part].end * left,
                           .progress = show_kernel_progress,
                           .progress_context = (void *)(uintptr_t)o};
  /* Behind the run of the kernel come comparisons that take some seconds whatever is left. */
  if (w->part == AUDIT_PART_CORE) request.seconds = fmax(request.seconds, left - kernel_rest);
  audit_request wide = request;
  if (!w->here) {
    wide.parameters = r->asked;
    wide.ranges = r->ranges;
  }
  certificate *c = w->here ? &r->here : &r->certificate;
  const size_t first = c->findings;
  phibal_status status = PHIBAL_OK;
  switch (w->part) {
  case AUDIT_PART_CONVEXITY:
    status = audit_convexity(r->phi, &wide, c);
    break;
  case AUDIT_PART_LEGENDRE:
    status = audit_legendre(r->phi, &wide, c);
    break;
  case AUDIT_PART_GRADIENT:
    status = audit_gradient(r->phi, &wide, c);
    break;
  case AUDIT_PART_CONJUGATE:
    status = audit_conjugate(r->phi, &request, c);
    break;
  case AUDIT_PART_CORE:
    status = audit_core(r->phi, &request, c);
    break;
  case AUDIT_PART_DYNAMICS:
  case AUDIT_PART_COUNT:
    break;
  }
  for (size_t i = first; status == PHIBAL_OK && i < c->findings; i++) {
    const audit_finding *f = &c->finding[i];
    json_t *object =
        json_pack("{s:i, s:i, s:s, s:s?, s:O?}", "claim", (int)f->claim, "verdict", (int)f->verdict,
                  "how", f->how, "counterexample", f->counterexample, "data", f->data);
    char *text = object ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL;
    if (text)
      audit_send(to, AUDIT_RECORD_FINDING, text, strlen(text));
    else
      status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a certificate");
    free(text);
    json_decref(object);
  }
  return status;
}

static phibal_status take_finding(certificate *c, const char *data, size_t bytes) {
  json_t *object = json_loadb(data, bytes, JSON_ALLOW_NUL, NULL);
  const char *how = json_string_value(json_object_get(object, "how"));
  const char *example = json_string_value(json_object_get(object, "counterexample"));
  json_t *numbers = json_object_get(object, "data");
  phibal_status status;
  if (how) {
    audit_finding *f =
        certificate_add(c, (audit_claim)json_integer_value(json_object_get(object, "claim")),
                        (audit_verdict)json_integer_value(json_object_get(object, "verdict")),
                        json_is_object(numbers) ? json_incref(numbers) : NULL, "%s", how);
    status = audit_added(f);
    if (status == PHIBAL_OK && example) status = audit_counterexample(f, "%s", example);
  } else {
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "a finding could not be transferred");
  }
  json_decref(object);
  return status;
}

/* Time was up, or the examination ended in between: no claim of a part is without a word, and none
   is good that was not examined to the end. */
static phibal_status leave_no_gap(const audit_options *o, audit_part part, bool late,
                                  certificate *c) {
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < AUDIT_CLAIM_COUNT && status == PHIBAL_OK; i++) {
    const audit_claim claim = (audit_claim)i;
    if (audit_part_of(claim) != part || part == AUDIT_PART_DYNAMICS) continue;
    if (late)
      status = audit_added(certificate_add(c, claim, AUDIT_UNDECIDED, NULL,
                                           "Time was up before this was decided (--seconds %g).",
                                           o->seconds));
    else if (!audit_was_examined(c, claim))
      status = audit_added(
          certificate_add(c, claim, AUDIT_UNDECIDED, NULL, "The audit ended before this part."));
  }
  return status;
}

static phibal_status run_part(audit_part part, bool here, const audit_options *o, audit_report *r) {
  const double start = audit_clock(), left = audit_seconds_left(o);
  certificate *c = here ? &r->here : &r->certificate;
  part_work work = {part, o, r, here};
  audit_found answer;
  show_progress(o, part, part_time[part].most * left);
  phibal_status status =
      audit_in_time(work_part, &work, start + part_time[part].most * left, &answer);
  show_progress(o, AUDIT_PART_COUNT, 0);
  audit_record kind;
  size_t at = 0, bytes;
  for (const char *data;
       status == PHIBAL_OK && (data = audit_receive(&answer, &at, &kind, &bytes));)
    status = kind == AUDIT_RECORD_DYNAMICS ? take_dynamics(r, data, bytes)
                                           : take_finding(c, data, bytes);
  const bool late = !answer.ended;
  audit_found_clear(&answer);
  r->seconds[part] += audit_clock() - start;
  r->late[part] = r->late[part] || (late && !here);
  return status == PHIBAL_OK ? leave_no_gap(o, part, late, c) : status;
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
  bool more = r->ranges;
  for (int i = 0; i < r->phi->parameters; i++)
    more = more || !phibal_enclosure_is_exact(&r->asked[i]);
  static const struct {
    audit_part part;
    audit_claim claim;
  } parts[] = {{AUDIT_PART_CONVEXITY, AUDIT_CONVEX}, {AUDIT_PART_LEGENDRE, AUDIT_MIRROR}};
  phibal_status status = PHIBAL_OK;
  bool open = false;
  for (int i = 0; i < 2; i++)
    open = open || (!o->skip[parts[i].part] &&
                    certificate_verdict(&r->certificate, parts[i].claim) != AUDIT_PROVED);
  for (int i = 0; i < 2 && more && open && r->phi->parameters && status == PHIBAL_OK; i++)
    if (!o->skip[parts[i].part]) status = run_part(parts[i].part, true, o, r);
  return status;
}

/* ---- the whole ---- */

/* Reads, and nothing else: what takes too long here takes too long there. */
typedef struct read_work {
  const audit_options *o;
  audit_report *r;
  int status;
} read_work;

static int read_all(const audit_options *o, audit_report *r) {
  if (load(o->source, &r->phi, &r->builtin) != PHIBAL_OK) return fail_from_status();
  int status = set_parameters(o, r);
  return status == 0 && !is_lp_max(r) ? check_defined(o, r) : status;
}

static phibal_status work_read(void *context, FILE *to) {
  read_work *w = context;
  const int status = read_all(w->o, w->r);
  audit_send(to, AUDIT_RECORD_TEXT, &status, sizeof status);
  return PHIBAL_OK;
}

/* Once in a process that can be ended, and where that ends in time, and well, again. */
static int read_in_time(const audit_options *o, audit_report *r) {
  read_work work = {o, r, 0};
  audit_found answer;
  audit_record kind;
  size_t at = 0, bytes;
  int status = 2;
  const phibal_status done =
      audit_in_time(work_read, &work, o->begun + 0.5 + audit_seconds_left(o), &answer);
  const char *data = audit_receive(&answer, &at, &kind, &bytes);
  if (done != PHIBAL_OK)
    fail_from_status();
  else if (data)
    memcpy(&status, data, sizeof status);
  else
    fprintf(stderr,
            "phibal audit: %s was not read within %g seconds (--seconds): nothing is "
            "decided\n",
            o->source, o->seconds);
  audit_found_clear(&answer);
  return status ? status : read_all(o, r);
}

static phibal_status work_pictures(void *context, FILE *to) {
  const audit_report *r = context;
  for (int i = 0; i < AUDIT_PICTURES; i++) {
    char *svg = audit_picture(r, i), *text = NULL;
    const int n = svg ? asprintf(&text, "%d%s", i, svg) : -1;
    if (n > 0) audit_send(to, AUDIT_RECORD_PICTURE, text, (size_t)n);
    fflush(to);
    if (n > 0) free(text);
    free(svg);
  }
  return PHIBAL_OK;
}

static phibal_status draw_pictures(const audit_options *o, audit_report *r) {
  audit_found answer;
  audit_record kind;
  size_t at = 0, bytes;
  phibal_status status =
      audit_in_time(work_pictures, r, audit_clock() + audit_seconds_left(o), &answer);
  for (const char *data;
       status == PHIBAL_OK && (data = audit_receive(&answer, &at, &kind, &bytes));)
    r->picture[*data - '0'] = strndup(data + 1, bytes - 1);
  r->pictures_late = !answer.ended;
  audit_found_clear(&answer);
  return status;
}

int audit_run(const audit_options *o, audit_report *r) {
  *r = (audit_report){.source = o->source};
  int status = read_in_time(o, r);
  if (status == 0 && is_lp_max(r)) {
    status = run_lp_max(o, r);
  } else if (status == 0) {
    r->dynamics = calloc(AUDIT_EXPERT_COUNTS, sizeof *r->dynamics);
    if (!r->dynamics) status = fail("out of memory");
    for (int part = 0; status == 0 && part < AUDIT_PART_COUNT; part++)
      if (!o->skip[part] && run_part((audit_part)part, false, o, r) != PHIBAL_OK)
        status = fail_from_status();
    if (status == 0 && look_here(o, r) != PHIBAL_OK) status = fail_from_status();
  }
  if (status == 0 && o->html && draw_pictures(o, r) != PHIBAL_OK) status = fail_from_status();
  return status;
}
