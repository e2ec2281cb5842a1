/* The table of dynamics, row by row. */
#ifndef PHIBAL_CLI_AUDIT_TABLE_H
#define PHIBAL_CLI_AUDIT_TABLE_H

#include "audit_report.h"
#include <stddef.h>

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

#endif
