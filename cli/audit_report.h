/* What `phibal audit` is asked, and what its examination finds. Lowest of its files: audit_words.h
   and audit_time.h, then audit_picture.h, audit_run.h (the examination), audit_advice.h (what it
   comes to), audit_table.h, and what shows it, audit_text.h, audit_json.h, audit_html.h, call those
   before them only; audit_all.h compares the built-ins. */
#ifndef PHIBAL_CLI_AUDIT_REPORT_H
#define PHIBAL_CLI_AUDIT_REPORT_H

#include "audit/audit.h"
#include "audit/certificate.h"
#include "audit/dynamics.h"
#include "audit/phi.h"
#include <stdbool.h>

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
extern const char *const audit_part_names[]; /* ended by null */
/* Which part answers for a claim. */
audit_part audit_part_of(audit_claim claim);

enum { AUDIT_PRECISION = 128, AUDIT_EXPERT_COUNTS = 4, AUDIT_PICTURES = 5 };
enum { AUDIT_LOADS = 0x3f800000 }; /* binary32 numbers in (0, 1] */
/* The numbers of experts for which dynamics are told: 8, 16, 64, 256. */
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

void audit_report_clear(audit_report *report);

bool audit_was_examined(const certificate *c, audit_claim claim);
/* Finding i says what an earlier one has said, as happens when a proof is done in pieces. */
bool audit_repeats(const certificate *c, size_t i);

#endif
