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

/* CLAIM(ID, "id", "section", what is claimed, audit_need without its prefix, what its verdicts rest
   on that is proved, and the code of the audit that is tested and under no proof). "Enclosures" are
   all that the audit calls of the reference: functions whose contracts proofs/STATUS.md counts. Of
   a theorem the audit decides by tested code that its premises hold. */
#define AUDIT_CLAIMS(CLAIM)                                                                        \
  CLAIM(SYMMETRIC, "symmetric", "Form", "symmetric in the experts", PROOF, "nothing",              \
        "that the language has no other potentials (phi_parse_expression.c)")                      \
  CLAIM(DIFFERENTIABLE, "differentiable", "Form", "differentiable on the open simplex", PROOF,     \
        "enclosures", "the search for kinks (kink.c, jet.c)")                                      \
  CLAIM(                                                                                           \
      GRADIENT, "gradient", "Form", "the gradient given is the gradient", CHECK_IF_GIVEN,          \
      "enclosures",                                                                                \
      "derivatives (derivative.c), exact algebra (gradient_algebra.c), points (gradient_check.c)") \
  CLAIM(CONVEX, "strictly-convex", "Convexity", "strictly convex on the simplex", PROOF,           \
        "enclosures",                                                                              \
        "derivatives (derivative.c, jet.c), exact algebra (convexity_algebra.c), the division of " \
        "ranges (convexity_search.c)")                                                             \
  CLAIM(MINIMISER, "unique-minimiser", "Convexity", "uniform loads are the unique minimiser",      \
        PROOF, "Lemma 1 (uniform_unique_minimiser_symmetric), enclosures",                         \
        "its premises, symmetry and convexity (convexity.c)")                                      \
  CLAIM(BOUNDARY, "boundary", "Legendre", "the gradient at the boundary of the simplex", NOTHING,  \
        "enclosures", "limits (legendre_algebra.c, symbolic_limit.c)")                             \
  CLAIM(DUAL_DOMAIN, "dual-domain", "Legendre", "the range of the gradient", NOTHING,              \
        "enclosures", "limits (legendre_algebra.c, symbolic_limit.c), convexity (convexity.c)")    \
  CLAIM(MIRROR, "mirror-step", "Legendre", "the mirror step is the moving average", PROOF,         \
        "Lemma 2 (mirror_ascent_is_ema), enclosures",                                              \
        "its premises, limits and convexity (legendre.c, convexity.c)")                            \
  CLAIM(CONJUGATE, "conjugate", "Conjugate", "the conjugate given is the conjugate",               \
        CHECK_IF_GIVEN, "enclosures",                                                              \
        "the conjugate computed (conjugate.c, conjugate_form.c, conjugate_newton.c), points "      \
        "(conjugate_check.c)")                                                                     \
  CLAIM(CONJUGATE_DOMAIN, "conjugate-domain", "Conjugate",                                         \
        "the conjugate's domain is the one given", CHECK_IF_GIVEN, "enclosures",                   \
        "the conjugate computed (conjugate.c), points (conjugate_check.c)")                        \
  CLAIM(CORE, "core", "Numerics", "the generated kernel keeps its bound", CHECK, "enclosures",     \
        "the comparison (core_sweep.c, core_truth.c, evaluation.c) and the compiler")

typedef enum audit_claim {
#define CLAIM(ID, id, section, text, need, proved, tested) AUDIT_##ID,
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
const char *audit_claim_proved(audit_claim claim); /* what its verdicts rest on that is proved, */
const char *audit_claim_tested(audit_claim claim); /* and that is tested */
/* The verdict is enough for --check. */
bool audit_claim_passes(audit_claim claim, audit_verdict verdict);
const char *audit_verdict_name(audit_verdict verdict); /* "proved", ... */

#endif
