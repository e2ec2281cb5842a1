/* Judges results computed elsewhere: test vectors, their manifest, and a file of results, by case
   and by flag. Needs no reference: the vectors contain the expected outputs. */
#ifndef PHIBAL_VERIFY_JUDGE_VECTORS_H
#define PHIBAL_VERIFY_JUDGE_VECTORS_H

#include "compare.h"
#include "diagnosis.h"
#include "flags.h"
#include "reselect.h"
#include <phibal/rounding.h>
#include <stdbool.h>

typedef struct judge_request {
  const char *cases, *results; /* paths */
  const char *operation;       /* this one only; null for all */
  /* The format of the results, if narrower than the output's: an element passes if it is some
     number within the bound, rounded once. */
  bool narrow;
  phibal_format format;
  const char *format_name; /* as it was asked for */
  double times;            /* bounds are multiplied by this; 1 for the promise itself */
  bool answered_only;      /* a case without any result is counted, and is no failure */
  /* What is offered: the outputs (null-terminated; null: all), and the cases that keep all
     conditions NAME=VALUE,..., NAME!=VALUE,..., NAME<=NUMBER or NAME>=NUMBER on a parameter, E or T
     (of the logits), or an input that is given or absent. A condition on what a case does not have
     holds; one on what no case has is refused. */
  const char *const *outputs, *const *where;
  /* Experts that scores at most this far from the specified ones select, in any order of equal
     scores, are right, and the other outputs are judged by them; 0: ties in any order. Otherwise
     only the selection of (R2) is right. */
  bool any_selection;
  double score_error;
  reselection reselect; /* what another selection makes of a case; with any_selection only */
} judge_request;

/* Tokens whose experts were judged, by what was selected. */
typedef struct judged_selections {
  int64_t right;       /* as (R2) */
  int64_t by_tie;      /* another order of equal scores, */
  int64_t by_error;    /* or of scores within score_error; without any_selection both are wrong */
  int64_t wrong;       /* not admitted, */
  int64_t wrong_order; /* and among them those of the right experts in another order */
  int64_t not_given;   /* tokens of cases whose results have no experts */
} judged_selections;

/* One output of one case that failed. */
typedef struct judged_failure {
  char output[40];
  char words[320]; /* what is wrong: a line for people */
} judged_failure;

typedef struct judged_case {
  char id[96], prefix[64], operation[40], kind[40], group[40];
  size_t index; /* in the manifest */
  flag_set flags;
  bool answered;    /* the results have a tensor PREFIX/out/..., whatever its name */
  int64_t elements; /* compared */
  int64_t wrong;    /* elements over their bound */
  judged_selections selections;
  char wrong_outputs[200]; /* those with wrong elements, " name name " */
  int failures;            /* outputs that failed, */
  judged_failure first;    /* and the first of them */
} judged_case;

/* One output of an operation over all cases. */
typedef struct judged_output {
  char operation[40], output[40];
  output_measure measure;
  double bound;
  int64_t elements, wrong, not_given;
  double worst; /* largest error in the promise's measure */
  char worst_where[160];
} judged_output;

typedef struct judged_flag {
  int64_t passed, failed;
} judged_flag;

enum { LIKELY_FLAGS = 3 };

typedef struct judge_report {
  judged_case *cases;
  int64_t count, failed, unanswered; /* count: of all cases, the unanswered ones too, */
  int64_t not_offered;               /* but not those that the conditions leave out */
  bool answered_only;                /* as requested */
  judged_output *outputs;
  int64_t output_count;
  judged_flag flags[FLAG_COUNT];
  judged_selections selections; /* of all cases */
  /* What explains the wrong elements best, the best first (diagnosis.h). Cases that only lack a
     tensor say nothing, unless there are no others. */
  judged_cause likely[LIKELY_FLAGS];
  int likely_count;
  int64_t stray; /* tensors of the results that belong to no output of any case, */
  char stray_name[160];
  int64_t misnamed; /* and those among them that lie in a judged case's PREFIX/out */
  char misnamed_name[160];
} judge_report;

/* PHIBAL_ERROR_IO or PHIBAL_ERROR_FORMAT where a file cannot be used; wrong results are in the
   report. judge_report_clear in any case. */
phibal_status judge_vectors(const judge_request *request, judge_report *report);
void judge_report_clear(judge_report *report);

/* True if at least one case was answered and all that were judged passed. A case that nobody
   answered fails, or with answered_only is not judged. */
int64_t judge_judged(const judge_report *report); /* how many cases the verdict is about */
bool judge_passed(const judge_report *report);

#endif
