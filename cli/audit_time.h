/* Work that is ended when its time is up, and what it sends back. */
#ifndef PHIBAL_CLI_AUDIT_TIME_H
#define PHIBAL_CLI_AUDIT_TIME_H

#include "audit_report.h"
#include <stdio.h>

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

#endif
