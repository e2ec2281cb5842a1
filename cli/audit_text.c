/* A certificate as text. */
#include "audit_text.h"
#include "audit_advice.h"
#include "audit_table.h"
#include "audit_words.h"
#include "build_features.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 13, LABEL = 41, COLUMN = 13 };

static void print_block(FILE *to, const char *text) {
  fprintf(to, "%*s", INDENT, "");
  audit_print_wrapped(to, text, INDENT);
}

static void print_section(FILE *to, const char *name, const phi_potential *phi,
                          const phi_section *section, const char *variable) {
  char *text = audit_section_text(phi, section, variable);
  if (!text) return;
  fprintf(to, "  %-11s", name);
  audit_print_wrapped(to, text, INDENT);
  free(text);
}

static void print_settings(FILE *to, const audit_report *r, bool wide) {
  const phi_potential *phi = r->phi;
  for (int i = 0; i < phi->parameters; i++) {
    char value[128];
    audit_short(wide ? &r->asked[i] : &r->at[i], value, sizeof value);
    fprintf(to, "%s%s = %s", i ? ", " : "", phi->parameter[i].name, value);
  }
  if (phi->parameters == 0) fputs("no parameters", to);
}

static void print_heading(FILE *to, const audit_options *o, const audit_report *r) {
  const phi_potential *phi = r->phi;
  fprintf(to, "phibal audit: %s (%s)\n", phi->name, r->builtin ? "built-in" : r->source);
  print_section(to, "value", phi, &phi->value, "x");
  print_section(to, "gradient", phi, &phi->gradient, "x");
  print_section(to, "conjugate", phi, &phi->conjugate, "y");
  for (int i = 0; i < phi->parameters; i++) {
    char *range = audit_range_text(&phi->parameter[i]);
    fprintf(to, "  %-11s%s in %s\n", "parameter", phi->parameter[i].name, range ? range : "");
    free(range);
  }
  fprintf(to, "  %-11sconvexity, Legendre type and gradient: ", "asked");
  if (r->ranges && phi->parameters)
    fputs("the whole ranges", to);
  else
    print_settings(to, r, true);
  fprintf(to, ", E = %d", (int)o->least_experts);
  if (o->most_experts > o->least_experts) fprintf(to, " to %d", (int)o->most_experts);
  fprintf(to, "\n  %-11severything else: ", "");
  print_settings(to, r, false);
  char *date = audit_date_text(), *options = audit_options_text(o);
  fprintf(to, "\n  %-11sphibal " PHIBAL_VERSION ", %s\n  %-11s", "made by", date ? date : "",
          "options");
  audit_print_wrapped(to, options ? options : "", INDENT);
  free(date);
  free(options);
}

/* ---- claims ---- */

static void print_verdict(FILE *to, audit_verdict verdict) {
  char name[16];
  snprintf(name, sizeof name, "%s", audit_verdict_name(verdict));
  for (char *c = name; *c; c++) *c = (char)(*c - ('a' <= *c && *c <= 'z' ? 'a' - 'A' : 0));
  fprintf(to, "  %-11s", name);
}

static void print_finding(FILE *to, const audit_finding *f, audit_verdict worst) {
  char *how = NULL;
  if (f->verdict != worst) audit_append(&how, "%s: ", audit_verdict_name(f->verdict));
  audit_append(&how, "%s", f->how);
  print_block(to, how ? how : "");
  free(how);
  if (!f->counterexample) return;
  print_block(to, "counterexample:");
  print_block(to, f->counterexample);
}

static void print_claim(FILE *to, const certificate *c, audit_claim claim) {
  audit_verdict worst = certificate_verdict(c, claim);
  print_verdict(to, worst);
  fprintf(to, "%s\n", audit_claim_text(claim));
  for (size_t i = 0; i < c->findings; i++)
    if (c->finding[i].claim == claim && !audit_repeats(c, i))
      print_finding(to, &c->finding[i], worst);
}

static void print_claims(FILE *to, const certificate *c) {
  const char *section = "";
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    if (!audit_was_examined(c, claim)) continue;
    if (strcmp(section, audit_claim_section(claim)) != 0) {
      section = audit_claim_section(claim);
      fprintf(to, "\n%s\n", section);
    }
    print_claim(to, c, claim);
  }
}

/* One claim below the other: proved code first, so that no "proved" above is taken for more. */
static void print_ground(FILE *to, const certificate *c) {
  fputs("\nWhat the verdicts rest on (proofs/SOUNDNESS.md)\n", to);
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    if (!audit_was_examined(c, claim)) continue;
    fprintf(to, "  %s\n", audit_claim_id(claim));
    char *said = NULL;
    audit_append(&said, "proved code: %s; tested code: %s", audit_claim_proved(claim),
                 audit_claim_tested(claim));
    print_block(to, said ? said : "");
    free(said);
  }
}

/* ---- dynamics ---- */

static void print_row(void *context, const char *label, const char *meaning, size_t n,
                      audit_cell *cell) {
  FILE *to = context;
  (void)meaning;
  fprintf(to, "  %-*s", n ? LABEL : 0, label);
  for (size_t i = 0; i < n; i++) fprintf(to, "%*s", COLUMN, cell[i].text);
  putc('\n', to);
}

/* ---- the whole ---- */

/* "Verdict:" and what is said, its lines below each other. */
static void print_line(FILE *to, const char *label, char *text) {
  fprintf(to, "%s ", label);
  audit_print_wrapped(to, text ? text : "out of memory", strlen(label) + 1);
  free(text);
}

static void print_advice(FILE *to, const audit_options *o, const audit_report *r) {
  audit_advice a;
  audit_advise(o, r, &a);
  char *all = NULL;
  for (int i = 0; i < a.reasons; i++) audit_append(&all, "%s%s", i ? " " : "", a.reason[i]);
  fprintf(to, "Train with it: %s\n", audit_answer_name(a.answer));
  print_block(to, all ? all : "");
  for (size_t i = 0; i < a.alphas; i++)
    fprintf(
        to,
        "%*salpha = %.4g for %d experts: the closed loop (eta 0.65) is stable for lr below %.4g\n",
        INDENT, "", a.alpha[i].alpha, (int)a.alpha[i].experts, a.alpha[i].lr);
  if (a.alpha_reason) print_block(to, a.alpha_reason);
  free(all);
  audit_advice_clear(&a);
}

static void print_summary(FILE *to, const audit_options *o, const audit_report *r) {
  int count[AUDIT_ABSENT + 1] = {0};
  double seconds = 0.0;
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++)
    count[certificate_verdict(&r->certificate, (audit_claim)i)]++;
  for (int i = 0; i < AUDIT_PART_COUNT; i++) seconds += r->seconds[i];
  fprintf(to, "\n%d proved, %d checked, %d refuted, %d undecided; %.1f s\n\n", count[AUDIT_PROVED],
          count[AUDIT_CHECKED], count[AUDIT_REFUTED], count[AUDIT_UNDECIDED], seconds);
  print_line(to, "Verdict:", audit_verdict_line(o, r));
  print_line(to, o->check ? "check:" : "--check would say:", audit_check_line(o, r));
  print_advice(to, o, r);
}

void audit_print_text(const audit_options *o, const audit_report *r, FILE *to) {
  print_heading(to, o, r);
  print_claims(to, &r->certificate);
  if (r->counts) {
    fputs("\nDynamics (enclosures, here to five digits; simulations are called so)\n", to);
    audit_dynamics_rows(o, r, print_row, to);
  }
  print_ground(to, &r->certificate);
  print_summary(to, o, r);
}
