/* The parts of `phibal audit`: what is asked (audit.c), the examination (audit_run.c), how it is
   shown (audit_text.c, audit_json.c, audit_html.c, audit_picture.c), what it comes to
   (audit_advice.c), the time that it takes (audit_time.c), and the comparison of the built-ins
   (audit_all.c). */
#ifndef PHIBAL_CLI_AUDIT_COMMAND_H
#define PHIBAL_CLI_AUDIT_COMMAND_H

#include "audit/audit.h"
#include "audit/certificate.h"
#include "audit/dynamics.h"
#include <jansson.h>
#include "audit/phi.h"
#include <stdio.h>

/* PART(ID, "name"): in the order in which they run. */
#define AUDIT_PARTS(PART)                                                                          \
  PART(CONVEXITY, "convexity")                                                                     \
  PART(LEGENDRE, "legendre")                                                                       \
  PART(GRADIENT, "gradient")                                                                       \
  PART(CONJUGATE, "conjugate")                                                                     \
  PART(CORE, "core")                                                                               \
  PART(DYNAMICS, "dynamics")

typedef enum audit_part {
#define PART(ID, name) AUDIT_PART_##ID,
  AUDIT_PARTS(PART)
#undef PART
      AUDIT_PART_COUNT
} audit_part;
const char *audit_part_name(audit_part part);
/* Which part answers for a claim. */
audit_part audit_part_of(audit_claim claim);

enum { AUDIT_PRECISION = 128, AUDIT_EXPERT_COUNTS = 4, AUDIT_PICTURES = 5 };
enum { AUDIT_LOADS = 0x3f800000 }; /* binary32 numbers in (0, 1] */
/* The numbers of experts for which dynamics are computed: 8, 16, 64, 256. */
extern const int32_t audit_expert_counts[AUDIT_EXPERT_COUNTS];

typedef struct audit_options {
  const char *source;                        /* a file, or the name of a built-in */
  const char *parameter[PHI_MAX_PARAMETERS]; /* name=value or name=lo..hi, as written */
  int parameters;
  bool ranges; /* convexity, Legendre and gradient over the stated ranges despite --param */
  int32_t least_experts, most_experts;
  bool quick, check, all, json, help, overwrite;
  bool check_quick; /* --check=quick: --check takes a sample of the loads for all of them */
  const char *html;
  bool skip[AUDIT_PART_COUNT];
  double seconds, begun; /* for the whole command, from when on */
  double eta, alpha, lr;
  uint64_t seed;
} audit_options;

/* The closed loop for one number of experts, simulated; NaN or negative where it does not settle.
 */
typedef struct audit_loop {
  bool simulated;
  double limit[AUDIT_ETAS]; /* lr alpha, measured, for each of audit_eta */
  int settled;              /* steps from a head start until all loads stay close to their share */
  double least;             /* the smallest load on the way, in shares */
} audit_loop;

typedef struct audit_report {
  phi_potential *phi;
  bool builtin;
  const char *source;
  bool ranges;             /* convexity, Legendre, gradient: all of the stated ranges */
  phibal_enclosure *asked; /* else these */
  phibal_enclosure *at;    /* everything else: these points */
  certificate certificate;
  certificate here; /* convexity and the mirror step at `at` alone, where more is not proved */
  audit_dynamics *dynamics; /* [counts] */
  audit_loop loop[AUDIT_EXPERT_COUNTS];
  size_t counts;
  double seconds[AUDIT_PART_COUNT];
  bool late[AUDIT_PART_COUNT]; /* time was up before it ended */
  char *picture[AUDIT_PICTURES];
  bool pictures_late;
} audit_report;

enum { AUDIT_SETTLE_STEPS = 4000 };
extern const double audit_settle_head, audit_settle_goal; /* of the simulation's start and end */

/* 0, or the exit status after a message on standard error. The report is cleared in any case. */
int audit_run(const audit_options *options, audit_report *report);
/* Reads a file, or a built-in by its name; messages say which there are. */
phibal_status audit_load(const char *source, phi_potential **phi, bool *builtin);
void audit_report_clear(audit_report *report);

/* ---- time: audit_time.c ---- */

typedef enum audit_record {
  AUDIT_RECORD_ERROR,    /* a message */
  AUDIT_RECORD_FINDING,  /* JSON */
  AUDIT_RECORD_DYNAMICS, /* for one number of experts */
  AUDIT_RECORD_PICTURE,  /* its number, and SVG */
  AUDIT_RECORD_PAGE,     /* HTML */
  AUDIT_RECORD_TEXT,     /* for standard output */
} audit_record;

/* What came back. */
typedef struct audit_found {
  char *data;
  size_t bytes;
  bool ended; /* else time was up */
} audit_found;

/* Sends its results; what else it changes is lost. */
typedef phibal_status audit_work(void *context, FILE *to);
/* Does the work in a process of its own, which is ended at `end` (of audit_clock()) with all that
   it has started. A failure of the work's is the failure here; that time was up is none. The answer
   is cleared by the caller. */
phibal_status audit_in_time(audit_work *work, void *context, double end, audit_found *answer);
void audit_found_clear(audit_found *answer);
void audit_send(FILE *to, audit_record kind, const void *data, size_t bytes);
/* The record at *at, which goes on to the next; null after the last whole one. */
const char *audit_receive(const audit_found *answer, size_t *at, audit_record *kind, size_t *bytes);
/* Of --seconds for what is to be found; a twentieth is for showing it. */
double audit_seconds_left(const audit_options *options);

/* ---- what it comes to: audit_advice.c. Texts are malloc'ed, one line each ---- */

/* Everything asked for is proved, or checked where it can only be checked; the kernel at every
   load unless --check=quick takes a sample. A part that the options leave out is not asked for. */
bool audit_passes(const audit_options *options, const audit_report *report);
bool audit_claim_holds(const audit_options *options, const audit_report *report, audit_claim claim);
/* "yes, everything asked for holds", or "no: " and because of what, and which option helps. */
char *audit_check_line(const audit_options *options, const audit_report *report);
/* What is refuted, undecided and left out, and where time was up, in a sentence or two. */
char *audit_verdict_line(const audit_options *options, const audit_report *report);
/* The part of the binary32 loads that the kernel ran over, from 0 to 1; NaN where it did not. */
double audit_coverage(const audit_report *report);
/* Now in UTC, or $SOURCE_DATE_EPOCH: 2026-01-31T12:00:00Z */
char *audit_date_text(void);
/* As one would write them, defaults included. */
char *audit_options_text(const audit_options *options);

typedef enum audit_answer {
  AUDIT_TRAIN_YES,
  AUDIT_TRAIN_WITH_CARE,
  AUDIT_TRAIN_NO,
  AUDIT_TRAIN_UNSAID, /* what it rests on was left out */
} audit_answer;
const char *audit_answer_name(audit_answer answer); /* "yes", "with care", "no", "not said" */

/* For one number of experts: as strong as negative entropy at its default alpha. */
typedef struct audit_alpha {
  int32_t experts;
  double alpha, effective; /* alpha E psi''(1/E) */
  double lr;               /* below it the closed loop is stable at this alpha and eta 0.65 */
} audit_alpha;

enum { AUDIT_MOST_REASONS = 12 };
typedef struct audit_advice {
  audit_answer answer;
  char *reason[AUDIT_MOST_REASONS];        /* a sentence each, the weightiest first */
  audit_answer weight[AUDIT_MOST_REASONS]; /* the answer that it alone would make */
  int reasons;
  audit_alpha alpha[AUDIT_EXPERT_COUNTS]; /* none where the answer is no, or nothing is known */
  size_t alphas;
  char *alpha_reason; /* a sentence; null where there is no alpha */
} audit_advice;
/* Whether to train with it; it says no more than was computed. */
void audit_advise(const audit_options *options, const audit_report *report, audit_advice *advice);
void audit_advice_clear(audit_advice *advice);
json_t *audit_advice_json(const audit_advice *advice);

void audit_print_text(const audit_options *options, const audit_report *report, FILE *to);
json_t *audit_report_json(const audit_options *options, const audit_report *report);
/* A malloc'ed page. */
phibal_status audit_html(const audit_options *options, const audit_report *report, char **text,
                         size_t *size);
/* To standard output. */
phibal_status audit_all(const audit_options *options);

/* One cell of the table of dynamics, and who takes its rows: what a row is called, and what it
   means to someone who did not write it. Headings have no cells, notes begin with a mark of the
   cells and have no meaning. */
typedef struct audit_cell {
  char text[64];
} audit_cell;
typedef void audit_row_emitter(void *context, const char *label, const char *meaning, size_t n,
                               audit_cell *cell);
void audit_dynamics_rows(const audit_options *options, const audit_report *report,
                         audit_row_emitter *emit, void *context);

bool audit_was_examined(const certificate *c, audit_claim claim);
/* Finding i says what an earlier one has said, as happens when a proof is done in pieces. */
bool audit_repeats(const certificate *c, size_t i);
/* A section as it may be written in a file, its conditions with it; malloc'ed, null where the
   potential has none. */
char *audit_section_text(const phi_potential *phi, const phi_section *section,
                         const char *variable);
/* "(0, 1) or (1, inf)"; malloc'ed. */
char *audit_range_text(const phi_parameter *p);
/* Five significant digits of an enclosure: "0.1" where it is that narrow, else "0.1..0.2". */
void audit_short(const phibal_enclosure *x, char *text, size_t size);
/* Words, broken at the width of the page; the cursor stands at column `indent`. */
void audit_print_wrapped(FILE *to, const char *text, size_t indent);
/* Adds to a malloc'ed text, which may be null; unchanged when memory is out. */
void audit_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
