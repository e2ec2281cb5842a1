/* JUnit XML reports. */
#ifndef PHIBAL_CLI_JUNIT_H
#define PHIBAL_CLI_JUNIT_H

#include <phibal/status.h>
#include <stdbool.h>

typedef struct junit junit;

/* Null when memory is out. */
junit *junit_start(const char *suite);
/* failure: null for a case that passed; skipped: null, or why the case was not judged. */
void junit_case(junit *report, const char *group, const char *name, const char *failure,
                const char *skipped);
/* Writes the file and ends the report. */
phibal_status junit_finish(junit *report, const char *path);

#endif
