/* The list of an audit's findings. */
#include "certificate.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
  const char *id, *section, *text;
  audit_need need;
  const char *proved, *tested;
} claims[AUDIT_CLAIM_COUNT] = {
#define CLAIM(ID, id, section, text, need, proved, tested)                                         \
  {id, section, text, AUDIT_NEEDS_##need, proved, tested},
    AUDIT_CLAIMS(CLAIM)
#undef CLAIM
};

char *audit_format(const char *format, va_list arguments) {
  char *text;
  return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

void audit_say(char **text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *said = audit_format(format, arguments);
  va_end(arguments);
  free(*text);
  *text = said;
}

static audit_finding *out_of_memory(json_t *data, char *text) {
  json_decref(data);
  free(text);
  phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a certificate");
  return NULL;
}

audit_finding *certificate_add(certificate *c, audit_claim claim, audit_verdict verdict,
                               json_t *data, const char *how, ...) {
  va_list arguments;
  va_start(arguments, how);
  char *text = audit_format(how, arguments);
  va_end(arguments);
  if (!text) return out_of_memory(data, NULL);
  audit_finding *grown = realloc(c->finding, (c->findings + 1) * sizeof *grown);
  if (!grown) return out_of_memory(data, text);
  c->finding = grown;
  audit_finding *added = &c->finding[c->findings++];
  *added = (audit_finding){.claim = claim, .verdict = verdict, .how = text, .data = data};
  return added;
}

phibal_status audit_added(const audit_finding *finding) {
  return finding ? PHIBAL_OK : PHIBAL_ERROR_MEMORY;
}

phibal_status audit_counterexample(audit_finding *finding, const char *format, ...) {
  if (!finding) return PHIBAL_ERROR_MEMORY; /* certificate_add has said so */
  va_list arguments;
  va_start(arguments, format);
  char *text = audit_format(format, arguments);
  va_end(arguments);
  if (!text) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a counterexample");
  free(finding->counterexample);
  finding->counterexample = text;
  return PHIBAL_OK;
}

/* A greater rank is worse; what was not examined has none. */
static int badness(audit_verdict verdict) {
  switch (verdict) {
  case AUDIT_PROVED:
    return 1;
  case AUDIT_CHECKED:
    return 2;
  case AUDIT_UNDECIDED:
    return 3;
  case AUDIT_REFUTED:
    return 4;
  case AUDIT_ABSENT:
    break;
  }
  return 0;
}

audit_verdict certificate_verdict(const certificate *c, audit_claim claim) {
  audit_verdict worst = AUDIT_ABSENT;
  for (size_t i = 0; i < c->findings; i++)
    if (c->finding[i].claim == claim && badness(c->finding[i].verdict) > badness(worst))
      worst = c->finding[i].verdict;
  return worst;
}

void certificate_clear(certificate *c) {
  for (size_t i = 0; i < c->findings; i++) {
    free(c->finding[i].how);
    free(c->finding[i].counterexample);
    json_decref(c->finding[i].data);
  }
  free(c->finding);
  *c = (certificate){0};
}

const char *audit_claim_id(audit_claim claim) {
  return claims[claim].id;
}

const char *audit_claim_text(audit_claim claim) {
  return claims[claim].text;
}

const char *audit_claim_section(audit_claim claim) {
  return claims[claim].section;
}

const char *audit_claim_proved(audit_claim claim) {
  return claims[claim].proved;
}

const char *audit_claim_tested(audit_claim claim) {
  return claims[claim].tested;
}

bool audit_claim_passes(audit_claim claim, audit_verdict verdict) {
  switch (claims[claim].need) {
  case AUDIT_NEEDS_NOTHING:
    return true;
  case AUDIT_NEEDS_PROOF:
    return verdict == AUDIT_PROVED;
  case AUDIT_NEEDS_CHECK:
    return verdict == AUDIT_PROVED || verdict == AUDIT_CHECKED;
  case AUDIT_NEEDS_CHECK_IF_GIVEN:
    return verdict == AUDIT_PROVED || verdict == AUDIT_CHECKED || verdict == AUDIT_ABSENT;
  }
  return false;
}

const char *audit_verdict_name(audit_verdict verdict) {
  static const char *const names[] = {"proved", "checked", "refuted", "undecided", "absent"};
  return names[verdict];
}
