/* What the two kinds of certificates share. */
#ifndef PHIBAL_CLI_CERTIFICATE_INTERNAL_H
#define PHIBAL_CLI_CERTIFICATE_INTERNAL_H

#include <jansson.h>

struct certificate {
  json_t *json, *operations, *exhaustive;
};

/* What a check has found. */
typedef struct findings {
  const char *path;
  int wrong, again; /* again: worst cases, or outputs, that were judged once more */
} findings;

/* Counts and prints what is wrong. */
void certificate_found(findings *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number, or "inf": JSON has no infinity. */
json_t *certificate_error(double x);
void certificate_check_judged(findings *f, json_t *judged);

#endif
