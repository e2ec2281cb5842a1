/* What an audit found: a list of claims, each with its verdict and with how it was come by. */
#ifndef PHIBAL_AUDIT_CERTIFICATE_H
#define PHIBAL_AUDIT_CERTIFICATE_H

#include <jansson.h>
#include <phibal/status.h>
#include <stdarg.h>
#include <stdbool.h>

typedef enum audit_verdict {
  AUDIT_PROVED,    /* for every point of the stated set */
  AUDIT_CHECKED,   /* at the points counted, each one rigorously; between them nothing is said */
  AUDIT_REFUTED,   /* with a counterexample that anyone can evaluate */
  AUDIT_UNDECIDED, /* neither, within the stated effort */
  AUDIT_ABSENT,    /* there was nothing to examine: no conjugate given, no compiler found */
} audit_verdict;

/* What a claim needs so that `phibal audit --check` says yes. */
typedef enum audit_need {
  AUDIT_NEEDS_NOTHING, /* it describes; there is no right answer */
  AUDIT_NEEDS_PROOF,
  AUDIT_NEEDS_CHECK,          /* proved or checked: it compares numbers, which has no end */
  AUDIT_NEEDS_CHECK_IF_GIVEN, /* the same, where the file says anything to be checked */
} audit_need;

/* CLAIM(ID, "id", "section", what is claimed, audit_need without its prefix) */
#define AUDIT_CLAIMS(CLAIM)                                                                        \
  CLAIM(SYMMETRIC, "symmetric", "Form", "symmetric in the experts", PROOF)                         \
  CLAIM(DIFFERENTIABLE, "differentiable", "Form", "differentiable on the open simplex", PROOF)     \
  CLAIM(GRADIENT, "gradient", "Form", "the gradient given is the gradient", CHECK_IF_GIVEN)        \
  CLAIM(CONVEX, "strictly-convex", "Convexity", "strictly convex on the simplex", PROOF)           \
  CLAIM(MINIMISER, "unique-minimiser", "Convexity", "uniform loads are the unique minimiser",      \
        PROOF)                                                                                     \
  CLAIM(BOUNDARY, "boundary", "Legendre", "the gradient at the boundary of the simplex", NOTHING)  \
  CLAIM(DUAL_DOMAIN, "dual-domain", "Legendre", "the range of the gradient", NOTHING)              \
  CLAIM(MIRROR, "mirror-step", "Legendre", "the mirror step is the moving average", PROOF)         \
  CLAIM(CONJUGATE, "conjugate", "Conjugate", "the conjugate given is the conjugate",               \
        CHECK_IF_GIVEN)                                                                            \
  CLAIM(CONJUGATE_DOMAIN, "conjugate-domain", "Conjugate",                                         \
        "the conjugate's domain is the one given", CHECK_IF_GIVEN)                                 \
  CLAIM(CORE, "core", "Numerics", "the generated kernel keeps its bound", CHECK)

typedef enum audit_claim {
#define CLAIM(ID, id, section, text, need) AUDIT_##ID,
  AUDIT_CLAIMS(CLAIM)
#undef CLAIM
      AUDIT_CLAIM_COUNT
} audit_claim;

typedef struct audit_finding {
  audit_claim claim;
  audit_verdict verdict;
  char *how;            /* one or more sentences: the argument, or points and bits */
  char *counterexample; /* null, or text with exact numbers and what they violate */
  json_t *data;         /* null, or an object for machines: what the text says, as numbers */
} audit_finding;

typedef struct certificate {
  audit_finding *finding;
  size_t findings;
} certificate;

/* A certificate of zeros is empty.
   Appends a finding; `how` is a printf format. `data` is taken over (may be null). The finding is
   returned so that a counterexample can be set; null when memory is out. */
audit_finding *certificate_add(certificate *c, audit_claim claim, audit_verdict verdict,
                               json_t *data, const char *how, ...)
    __attribute__((format(printf, 5, 6)));
/* PHIBAL_OK, or the failure that certificate_add has recorded. */
phibal_status audit_added(const audit_finding *finding);
phibal_status audit_counterexample(audit_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* printf into a new string, to be freed; null when memory is out. */
char *audit_format(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
/* The same in the place of the string in *text. */
void audit_say(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The worst verdict of a claim: refuted, then undecided, checked, proved; absent if not examined.
 */
audit_verdict certificate_verdict(const certificate *c, audit_claim claim);
void certificate_clear(certificate *c);

const char *audit_claim_id(audit_claim claim);
const char *audit_claim_text(audit_claim claim);
const char *audit_claim_section(audit_claim claim);
/* The verdict is enough for --check. */
bool audit_claim_passes(audit_claim claim, audit_verdict verdict);
const char *audit_verdict_name(audit_verdict verdict); /* "proved", ... */

#endif
