/* The paper's ablation of potentials (its Table 2) beside what stiffness alone makes of it. */
#ifndef PHIBAL_CLI_AUDIT_PAPER_H
#define PHIBAL_CLI_AUDIT_PAPER_H

#include <jansson.h>
#include "audit/phi.h"
#include <stdint.h>
#include <stdio.h>

enum { AUDIT_PAPER_EXPERTS = 16, AUDIT_PAPER_ROWS = 11 };

/* A task that pulls loads towards `target` with the strength `pull` (simulation.h). Two numbers of
   the paper fix it: MaxVio without any balancing, which is what p = 1 amounts to, since its prices
   are all equal; and MaxVio with negative entropy. */
typedef struct audit_task {
  double *target, pull;
} audit_task;

/* task->target is malloc'ed. alpha is 1 here: at rest only pull / alpha counts. */
phibal_status audit_task_fit(int32_t experts, audit_task *task);
/* MaxVio where a router under the task comes to rest; NaN where it does not. */
double audit_rest(const phi_potential *phi, const double *parameters, int32_t experts,
                  double stiffness, double alpha, const audit_task *task);

typedef struct audit_paper_row {
  const char *label, *builtin;
  const char *parameter; /* as the paper has it; null: the default, which it may not have been */
  bool stated;           /* the paper says which parameter */
  double max_violation;  /* the paper's */
  double stiffness;      /* NaN where there is none */
  double common, equal;  /* the simulation's MaxVio: same alpha; equal stiffness */
} audit_paper_row;

typedef struct audit_paper {
  audit_paper_row row[AUDIT_PAPER_ROWS];
  double rank_stated, rank_all; /* Spearman's correlation of stiffness and even loads */
  int rows_stated, rows_all;
} audit_paper;

phibal_status audit_paper_compare(audit_paper *paper);
void audit_paper_print(const audit_paper *paper, FILE *to);
json_t *audit_paper_json(const audit_paper *paper);

#endif
