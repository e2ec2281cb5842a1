/* What the findings come to: a verdict in one sentence, what --check says, and an advice whether to
   train with the potential and at which alpha. For the text, the JSON and the page alike. */
#include "audit_advice.h"
#include "audit_words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Negative entropy's alpha in `phibal train`, to which other potentials are made as strong. */
static const double usual_alpha = 0.01;

/* ---- what --check says ---- */

static const json_t *kernel_data(const audit_report *r) {
  for (size_t i = 0; i < r->certificate.findings; i++) {
    const audit_finding *f = &r->certificate.finding[i];
    if (f->claim == AUDIT_CORE && f->data) return f->data;
  }
  return NULL;
}

double audit_coverage(const audit_report *r) {
  const json_t *inputs = json_object_get(kernel_data(r), "inputs");
  return inputs ? (double)json_integer_value(inputs) / AUDIT_LOADS : NAN;
}

/* The kernel ran, and not over every load. */
static bool is_sample(const audit_report *r) {
  return audit_coverage(r) < 1.0;
}

bool audit_claim_holds(const audit_options *o, const audit_report *r, audit_claim claim) {
  return audit_claim_passes(claim, certificate_verdict(&r->certificate, claim)) &&
         (claim != AUDIT_CORE || o->check_quick || !is_sample(r));
}

bool audit_passes(const audit_options *o, const audit_report *r) {
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    if (!o->skip[audit_part_of(claim)] && !audit_claim_holds(o, r, claim)) return false;
  }
  for (int i = 0; i < AUDIT_PART_COUNT; i++)
    if (r->late[i]) return false;
  return true;
}

static void append_coverage(char **text, const audit_report *r) {
  audit_append(text, "%.3g %% of the binary32 loads up to 1", 100.0 * audit_coverage(r));
}

static void append_failure(char **text, const audit_options *o, const audit_report *r,
                           audit_claim claim) {
  audit_verdict verdict = certificate_verdict(&r->certificate, claim);
  if (!audit_claim_passes(claim, verdict)) {
    audit_append(text, "\"%s\" is %s", audit_claim_text(claim),
                 verdict == AUDIT_ABSENT ? "not examined" : audit_verdict_name(verdict));
    if (verdict == AUDIT_CHECKED) audit_append(text, " only, not proved");
    return;
  }
  const json_t *all = json_object_get(kernel_data(r), "seconds_for_all");
  audit_append(text, "the kernel ran over ");
  append_coverage(text, r);
  if (json_is_number(all))
    audit_append(text, "; --seconds %.0f would cover all, and --check=quick accepts a sample",
                 /* of which the kernel has nearly six tenths, a tenth more than at the rate
                    measured, and some for the other parts; in tens */
                 10.0 * ceil(0.12 * json_number_value(all) + 4.0));
  else
    audit_append(text, "%s and --check=quick accepts them",
                 o->quick ? "; without --quick it runs over all," : ",");
}

char *audit_check_line(const audit_options *o, const audit_report *r) {
  char *text = NULL;
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    if (o->skip[audit_part_of(claim)] || audit_claim_holds(o, r, claim)) continue;
    audit_append(&text, "%s", text ? "; " : "no: ");
    append_failure(&text, o, r, claim);
  }
  if (r->late[AUDIT_PART_DYNAMICS])
    audit_append(&text, "%stime was up before the dynamics were computed", text ? "; " : "no: ");
  if (!text && !audit_passes(o, r)) audit_append(&text, "no: time was up");
  if (text) return text;
  audit_append(&text, "yes, everything asked for holds");
  if (is_sample(r)) {
    audit_append(&text, ", the kernel at a sample: ");
    append_coverage(&text, r);
  }
  return text;
}

/* ---- the verdict ---- */

static int list_claims(char **text, const char *heading, const audit_options *o,
                       const audit_report *r, audit_verdict verdict) {
  int n = 0;
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    if (o->skip[audit_part_of(claim)] || certificate_verdict(&r->certificate, claim) != verdict ||
        audit_claim_passes(claim, verdict))
      continue;
    audit_append(text, "%s%s", n ? "; " : heading, audit_claim_text(claim));
    n++;
  }
  if (n) audit_append(text, ". ");
  return n;
}

char *audit_verdict_line(const audit_options *o, const audit_report *r) {
  char *text = NULL;
  int proved = 0, checked = 0;
  int bad = list_claims(&text, "Refuted: ", o, r, AUDIT_REFUTED);
  bad += list_claims(&text, "Undecided: ", o, r, AUDIT_UNDECIDED);
  bad += list_claims(&text, "Checked at points, not proved: ", o, r, AUDIT_CHECKED);
  bad += list_claims(&text, "Not examined: ", o, r, AUDIT_ABSENT);
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_verdict verdict = certificate_verdict(&r->certificate, (audit_claim)i);
    proved += verdict == AUDIT_PROVED;
    checked += verdict == AUDIT_CHECKED;
  }
  if (!bad)
    audit_append(&text,
                 "Nothing is refuted and nothing that was asked for is undecided: %d proved, "
                 "%d checked. ",
                 proved, checked);
  if (is_sample(r)) {
    audit_append(&text, "The kernel ran over ");
    append_coverage(&text, r);
    audit_append(&text, ". ");
  }
  bool left_out = false, late = false;
  for (int i = 0; i < AUDIT_PART_COUNT; i++)
    if (r->late[i]) {
      audit_append(&text, "%s%s", late ? ", " : "Time was up in: ", audit_part_names[i]);
      late = true;
    }
  if (late) audit_append(&text, " (--seconds %g). ", o->seconds);
  for (int i = 0; i < AUDIT_PART_COUNT; i++)
    if (o->skip[i]) {
      audit_append(&text, "%s%s", left_out ? ", " : "Left out as asked: ", audit_part_names[i]);
      left_out = true;
    }
  if (left_out) audit_append(&text, ". ");
  size_t length = text ? strlen(text) : 0;
  if (length) text[length - 1] = 0;
  return text;
}

/* ---- the advice ---- */

const char *audit_answer_name(audit_answer answer) {
  static const char *const names[] = {"yes", "with care", "no", "not said"};
  return names[answer];
}

/* no, then not said, with care, yes */
static int rank(audit_answer answer) {
  static const int ranks[] = {[AUDIT_TRAIN_YES] = 0,
                              [AUDIT_TRAIN_WITH_CARE] = 1,
                              [AUDIT_TRAIN_UNSAID] = 2,
                              [AUDIT_TRAIN_NO] = 3};
  return ranks[answer];
}

static void say(audit_advice *a, audit_answer answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a reason, behind those that weigh as much or more. The worst answer is the answer. */
static void say(audit_advice *a, audit_answer answer, const char *format, ...) {
  if (a->reasons == AUDIT_MOST_REASONS) return;
  va_list arguments;
  va_start(arguments, format);
  char *text = audit_format(format, arguments);
  va_end(arguments);
  if (!text) return;
  int i = a->reasons++;
  for (; i > 0 && rank(answer) > rank(a->weight[i - 1]); i--) {
    a->reason[i] = a->reason[i - 1];
    a->weight[i] = a->weight[i - 1];
  }
  a->reason[i] = text;
  a->weight[i] = answer;
  a->answer = a->weight[0];
}

/* At the parameters that a run would have: where the whole set that was asked for is not proved,
   these were examined by themselves. */
static audit_verdict verdict_here(const audit_report *r, audit_claim claim) {
  const audit_verdict all = certificate_verdict(&r->certificate, claim),
                      here = certificate_verdict(&r->here, claim);
  return all == AUDIT_PROVED || here == AUDIT_ABSENT ? all : here;
}

static void judge_convexity(const audit_options *o, const audit_report *r, audit_advice *a) {
  if (o->skip[AUDIT_PART_CONVEXITY]) {
    say(a, AUDIT_TRAIN_UNSAID,
        "Convexity was left out, and training rests on "
        "it.");
    return;
  }
  audit_verdict all = certificate_verdict(&r->certificate, AUDIT_CONVEX),
                here = verdict_here(r, AUDIT_CONVEX);
  char *at = NULL;
  for (int i = 0; r->here.findings && i < r->phi->parameters; i++) {
    char value[128];
    audit_short(&r->at[i], value, sizeof value);
    audit_append(&at, "%s%s = %s", i ? ", " : " at ", r->phi->parameter[i].name, value);
  }
  const char *where = at ? at : "";
  if (here == AUDIT_REFUTED && verdict_here(r, AUDIT_MINIMISER) == AUDIT_PROVED)
    say(a, AUDIT_TRAIN_WITH_CARE,
        "It is not strictly convex on the simplex%s, though least at uniform loads only: prices do "
        "not tell all other loads apart.",
        where);
  else if (here == AUDIT_REFUTED)
    say(a, AUDIT_TRAIN_NO,
        "It is not strictly convex on the simplex%s: nothing says that balancing pulls to uniform "
        "loads.",
        where);
  else if (here != AUDIT_PROVED)
    say(a, AUDIT_TRAIN_WITH_CARE,
        "Whether it is strictly convex on the simplex%s is %s: it is not known that uniform loads "
        "are where balancing pulls to.",
        where, here == AUDIT_ABSENT ? "not examined" : "undecided");
  else
    say(a, AUDIT_TRAIN_YES, "It is proved to be strictly convex on the simplex%s%s.", where,
        all == AUDIT_REFUTED     ? ", though not for all that was asked for: do not move the "
                                   "parameters without another audit"
        : all == AUDIT_UNDECIDED ? ", though not for all that was asked for"
                                 : "");
  free(at);
  if (certificate_verdict(&r->certificate, AUDIT_DIFFERENTIABLE) == AUDIT_REFUTED)
    say(a, AUDIT_TRAIN_WITH_CARE,
        "It is not differentiable everywhere on the open simplex: prices "
        "jump where it has a kink.");
}

static void judge_gradient(const audit_options *o, const audit_report *r, audit_advice *a) {
  audit_verdict verdict = certificate_verdict(&r->certificate, AUDIT_GRADIENT);
  if (!r->phi->gradient.expression)
    say(a, AUDIT_TRAIN_YES, "Its prices are the derivative of its value, taken by phibal.");
  else if (o->skip[AUDIT_PART_GRADIENT])
    say(a, AUDIT_TRAIN_UNSAID,
        "Whether the gradient given is right was left out, and prices come "
        "from it.");
  else if (verdict == AUDIT_REFUTED)
    say(a, AUDIT_TRAIN_NO,
        "The gradient given is not that of the value, and prices come from it: "
        "correct it, or leave it out and phibal differentiates the value.");
  else if (verdict == AUDIT_PROVED || verdict == AUDIT_CHECKED)
    say(a, AUDIT_TRAIN_YES, "The gradient given is %s.",
        verdict == AUDIT_PROVED ? "proved to be right" : "right at all points that were compared");
  else if (verdict == AUDIT_ABSENT)
    say(a, AUDIT_TRAIN_YES, "The gradient given is not for these parameters.");
  else
    say(a, AUDIT_TRAIN_WITH_CARE, "Whether the gradient given is right is undecided.");
}

static void judge_kernel(const audit_options *o, const audit_report *r, audit_advice *a) {
  audit_verdict verdict = certificate_verdict(&r->certificate, AUDIT_CORE);
  if (o->skip[AUDIT_PART_CORE])
    say(a, AUDIT_TRAIN_YES, "Its kernel was not examined, as asked.");
  else if (verdict == AUDIT_REFUTED)
    say(a, AUDIT_TRAIN_NO, "The kernel that would compute its prices exceeds its error bound.");
  else if (verdict == AUDIT_UNDECIDED || verdict == AUDIT_ABSENT)
    say(a, AUDIT_TRAIN_WITH_CARE,
        "The kernel that would compute its prices has no known error bound.");
  else if (is_sample(r))
    say(a, AUDIT_TRAIN_YES,
        "Its kernel is within its error bound at all loads that it ran over, %.3g %% of them.",
        100.0 * audit_coverage(r));
  else
    say(a, AUDIT_TRAIN_YES, "Its kernel is within its error bound at every load.");
}

static double middle(const phibal_enclosure *x) {
  return 0.5 * (mpfr_get_d(x->lo, MPFR_RNDN) + mpfr_get_d(x->hi, MPFR_RNDN));
}

/* The pull at uniform loads, and prices of an empty expert. */
static void judge_pull(const audit_options *o, const audit_report *r, audit_advice *a) {
  bool weak = false, unknown = false;
  for (size_t i = 0; i < r->counts; i++) {
    const audit_dynamics *d = &r->dynamics[i];
    weak = weak || (d->known && mpfr_sgn(d->stiffness.hi) <= 0);
    unknown = unknown || (!d->stiff && !(d->known && mpfr_sgn(d->stiffness.hi) <= 0));
  }
  if (weak)
    say(a, AUDIT_TRAIN_NO,
        "At uniform loads it does not pull back: its stiffness is not positive.");
  else if (unknown)
    say(a, AUDIT_TRAIN_WITH_CARE,
        "Its stiffness at uniform loads is not known to be positive for every number of experts.");
  const audit_dynamics *d = r->counts ? &r->dynamics[r->counts - 1] : NULL;
  if (!d) {
    say(a, AUDIT_TRAIN_YES, "No alpha is named: %s.",
        o->skip[AUDIT_PART_DYNAMICS]   ? "dynamics were left out"
        : r->late[AUDIT_PART_DYNAMICS] ? "time was up before its dynamics were computed"
                                       : "its dynamics were not computed");
    return;
  }
  char price[64] = "";
  if (d->share[0].exists) audit_short(&d->share[0].value, price, sizeof price);
  if (d->share[0].exists && d->share[0].floored)
    say(a, AUDIT_TRAIN_YES,
        "The price of an empty expert is unbounded: kernels raise its load to 2^-126, where its "
        "centred price is %s (%d experts).",
        price, (int)d->experts);
  else if (d->share[0].exists)
    say(a, AUDIT_TRAIN_YES,
        "The pull towards an empty expert is bounded: its centred price is %s (%d experts).", price,
        (int)d->experts);
  if (d->scales == AUDIT_SCALES && mpfr_cmp_d(d->scale_power.lo, 0.01) > 0) {
    audit_short(&d->scale[4], price, sizeof price);
    say(a, AUDIT_TRAIN_YES,
        "It pulls weakly while m grows from 0: at 1/16 of the simplex with %s of its later force.",
        price);
  }
}

static void judge_rest(const audit_options *o, const audit_report *r, audit_advice *a) {
  audit_verdict mirror = verdict_here(r, AUDIT_MIRROR);
  if (!o->skip[AUDIT_PART_LEGENDRE] && mirror != AUDIT_PROVED && mirror != AUDIT_ABSENT)
    say(a, AUDIT_TRAIN_WITH_CARE,
        "That a mirror step is the moving average, which training takes, is %s for it.",
        audit_verdict_name(mirror));
  if (certificate_verdict(&r->certificate, AUDIT_CONJUGATE) == AUDIT_REFUTED ||
      certificate_verdict(&r->certificate, AUDIT_CONJUGATE_DOMAIN) == AUDIT_REFUTED)
    say(a, AUDIT_TRAIN_YES, "The conjugate given is wrong; training does not use it.");
}

/* At equal stiffness potentials balance alike, so alpha is chosen for that. */
static void choose_alpha(const audit_report *r, audit_advice *a) {
  if (a->answer == AUDIT_TRAIN_NO) return;
  for (size_t i = 0; i < r->counts; i++) {
    const audit_dynamics *d = &r->dynamics[i];
    if (!d->stiff) continue;
    audit_alpha *z = &a->alpha[a->alphas++];
    z->experts = d->experts;
    z->alpha = usual_alpha * middle(&d->equal_negentropy);
    z->effective = z->alpha * middle(&d->effective);
    double limit = middle(&d->stable[0]), simulated = r->loop[i].limit[0];
    z->lr = fmin(limit, r->loop[i].simulated && isfinite(simulated) ? simulated : limit) / z->alpha;
  }
  if (a->alphas)
    audit_append(&a->alpha_reason,
                 "With it the effective coefficient alpha E %s is the one that negative "
                 "entropy has at its default alpha of %g (%.4g for %d experts); at equal stiffness "
                 "the built-ins balanced alike in the sweeps of moe/RESULTS.md (8 experts).",
                 phi_separable(r->phi) ? "psi''(1/E)" : "h", usual_alpha, a->alpha[0].effective,
                 (int)a->alpha[0].experts);
}

void audit_advise(const audit_options *o, const audit_report *r, audit_advice *a) {
  *a = (audit_advice){.answer = AUDIT_TRAIN_YES};
  judge_convexity(o, r, a);
  judge_gradient(o, r, a);
  judge_kernel(o, r, a);
  judge_pull(o, r, a);
  judge_rest(o, r, a);
  choose_alpha(r, a);
}

void audit_advice_clear(audit_advice *a) {
  for (int i = 0; i < a->reasons; i++) free(a->reason[i]);
  free(a->alpha_reason);
  *a = (audit_advice){0};
}

json_t *audit_advice_json(const audit_advice *a) {
  json_t *reasons = json_array(), *alphas = json_array();
  for (int i = 0; i < a->reasons; i++) json_array_append_new(reasons, json_string(a->reason[i]));
  for (size_t i = 0; i < a->alphas; i++)
    json_array_append_new(alphas,
                          json_pack("{s:i, s:f, s:f, s:f}", "experts", (int)a->alpha[i].experts,
                                    "alpha", a->alpha[i].alpha, "effective_coefficient",
                                    a->alpha[i].effective, "lr_stable_below", a->alpha[i].lr));
  return json_pack("{s:s, s:o, s:o, s:s?}", "train", audit_answer_name(a->answer), "reasons",
                   reasons, "alpha", alphas, "alpha_reason", a->alpha_reason);
}
