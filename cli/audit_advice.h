/* What an examination comes to. Texts are malloc'ed, one line each. */
#ifndef PHIBAL_CLI_AUDIT_ADVICE_H
#define PHIBAL_CLI_AUDIT_ADVICE_H

#include "audit_report.h"
#include <jansson.h>

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

#endif
