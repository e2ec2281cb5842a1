/* A certificate as a self-contained HTML page. */
#include "audit_html.h"
#include "audit_advice.h"
#include "audit_picture.h"
#include "audit_table.h"
#include "audit_words.h"
#include "build_features.h"
#include "gnuplot.h"
#include "page.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void write_term(FILE *to, const char *name, const char *text) {
  fprintf(to, "<dt>%s</dt><dd><code>", name);
  page_escape(to, text);
  fputs("</code></dd>\n", to);
}

static void write_section(FILE *to, const char *name, const phi_potential *phi,
                          const phi_section *section, const char *variable) {
  char *text = audit_section_text(phi, section, variable);
  if (text) write_term(to, name, text);
  free(text);
}

static void write_parameter(FILE *to, const audit_report *r, int i) {
  char at[64], asked[64], *range = audit_range_text(&r->phi->parameter[i]), *text = NULL;
  audit_short(&r->at[i], at, sizeof at);
  audit_short(&r->asked[i], asked, sizeof asked);
  audit_append(&text, "%s in %s; convexity for %s, everything else at %s",
               r->phi->parameter[i].name, range ? range : "", r->ranges ? "all of it" : asked, at);
  if (text) write_term(to, "parameter", text);
  free(text);
  free(range);
}

/* What the claims are, for someone who has not read spec/AUDIT.md. */
static const char *const meanings[AUDIT_CLAIM_COUNT] = {
    [AUDIT_SYMMETRIC] = "Exchanging two experts changes nothing: none is preferred.",
    [AUDIT_DIFFERENTIABLE] = "Prices are the gradient: without one they are not defined, or jump.",
    [AUDIT_GRADIENT] = "Prices come from the gradient in the file; it is compared with the "
                       "derivative of the value.",
    [AUDIT_CONVEX] = "The more a load grows, the higher its price: balancing has one goal and no "
                     "other place to come to rest.",
    [AUDIT_MINIMISER] = "Even loads are that goal.",
    [AUDIT_BOUNDARY] = "What becomes of an expert's price as its load goes to 0. This describes; "
                       "nothing is required.",
    [AUDIT_DUAL_DOMAIN] = "Which prices there can be, over all loads. This describes; nothing is "
                          "required.",
    [AUDIT_MIRROR] = "Training keeps a moving average of the loads; for this potential that is the "
                     "mirror step of the theory.",
    [AUDIT_CONJUGATE] = "The conjugate in the file is compared with what the potential makes it. "
                        "Training does not use it.",
    [AUDIT_CONJUGATE_DOMAIN] = "Whether the conjugate is finite just where the file says so.",
    [AUDIT_CORE] = "The C code that computes prices in training is run against exact prices: its "
                   "error stays below a proved bound.",
};

static void write_top(FILE *to, const audit_options *o, const audit_report *r,
                      const audit_advice *advice) {
  char *verdict = audit_verdict_line(o, r), *check = audit_check_line(o, r);
  char *options = audit_options_text(o);
  int count[AUDIT_ABSENT + 1] = {0};
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++)
    count[certificate_verdict(&r->certificate, (audit_claim)i)]++;
  const bool good = audit_passes(o, r);
  page_begin(to, r->phi->name, "phibal audit", NULL);
  fputs("<p class=\"made\">Made on ", to);
  page_date(to, page_time());
  fputs(" by phibal " PHIBAL_VERSION ": <code>phibal audit</code> of <code>", to);
  fputs(r->builtin ? "--potential " : "", to);
  page_escape(to, o->source);
  fputs("</code> with <code>", to);
  page_escape(to, options ? options : "");
  fputs(o->check_quick ? " --check=quick" : o->check ? " --check" : "", to);
  fprintf(to, "</code></p>\n<div class=\"verdict %s\">\n<p><b>",
          count[AUDIT_REFUTED] ? "bad"
          : good               ? "good"
                               : "open");
  page_escape(to, verdict ? verdict : "");
  fputs("</b></p>\n<p class=\"counts\">", to);
  for (int v = 0; v <= AUDIT_UNDECIDED; v++) {
    const char *name = audit_verdict_name((audit_verdict)v);
    fprintf(to, "%s<span class=\"badge %s\">%d %s</span>", v ? " " : "",
            count[v] ? name : audit_verdict_name(AUDIT_ABSENT), count[v], name);
  }
  fprintf(to, "</p>\n<dl><dt>%s</dt><dd>",
          o->check_quick ? "--check=quick"
          : o->check     ? "--check"
                         : "--check would say");
  page_escape(to, check ? check : "");
  fprintf(to, "</dd><dt>train with it?</dt><dd><a href=\"#advice\">%s</a></dd></dl>\n</div>\n",
          audit_answer_name(advice->answer));
  fputs("<h2>The potential</h2>\n<dl>\n", to);
  write_term(to, "from", r->builtin ? "a built-in" : r->source);
  write_section(to, "value", r->phi, &r->phi->value, "x");
  write_section(to, "gradient", r->phi, &r->phi->gradient, "x");
  write_section(to, "conjugate", r->phi, &r->phi->conjugate, "y");
  for (int i = 0; i < r->phi->parameters; i++) write_parameter(to, r, i);
  char experts[48];
  snprintf(experts, sizeof experts, o->most_experts > o->least_experts ? "%d to %d" : "%d",
           (int)o->least_experts, (int)o->most_experts);
  write_term(to, "experts", experts);
  fputs("</dl>\n", to);
  free(verdict);
  free(check);
  free(options);
}

static void write_finding(FILE *to, const audit_finding *f, audit_verdict worst) {
  fputs("<p class=\"how\">", to);
  if (f->verdict != worst) fprintf(to, "%s: ", audit_verdict_name(f->verdict));
  page_escape(to, f->how);
  fputs("</p>", to);
  if (!f->counterexample) return;
  fputs("<pre>", to);
  page_escape(to, f->counterexample);
  fputs("</pre>", to);
}

/* The claims, a section of theirs under each heading; what is claimed, what that means, and how
   the verdict was come by. */
static void write_claims(FILE *to, const certificate *c) {
  const char *section = "";
  fputs("<h2>Claims</h2>\n<p class=\"soft\">Proved: for every point of the stated set. Checked: at "
        "the points that were counted. Refuted: with a counterexample. Undecided: neither, within "
        "the time that there was. Absent: there was nothing to examine.</p>\n<div class=\"scroll\">"
        "<table class=\"claims\">\n<tbody>\n",
        to);
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    const audit_claim claim = (audit_claim)i;
    if (!audit_was_examined(c, claim)) continue;
    if (strcmp(section, audit_claim_section(claim)) != 0) {
      section = audit_claim_section(claim);
      fprintf(to, "<tr><td class=\"group\" colspan=\"2\">%s</td></tr>\n", section);
    }
    const audit_verdict worst = certificate_verdict(c, claim);
    const char *verdict = audit_verdict_name(worst);
    fputs("<tr><td>", to);
    page_escape(to, audit_claim_text(claim));
    fputs("<small>", to);
    page_escape(to, meanings[claim] ? meanings[claim] : "");
    fprintf(to, "</small></td><td class=\"words\"><span class=\"badge %s\">%s</span>", verdict,
            verdict);
    for (size_t f = 0; f < c->findings; f++)
      if (c->finding[f].claim == claim && !audit_repeats(c, f))
        write_finding(to, &c->finding[f], worst);
    fputs("<p class=\"soft\">Proved code: ", to);
    page_escape(to, audit_claim_proved(claim));
    fputs(". Tested code: ", to);
    page_escape(to, audit_claim_tested(claim));
    fputs(".</p></td></tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

/* A table that is being written, and the notes that go under it. */
typedef struct table {
  FILE *to;
  char *notes;
} table;

static void write_row(void *context, const char *label, const char *meaning, size_t n,
                      audit_cell *cell) {
  table *t = context;
  FILE *to = t->to;
  const size_t indent = strspn(label, " ");
  const bool head = n && !meaning;
  if (!n && !meaning) {
    audit_append(&t->notes, "%s%s", t->notes ? "\n" : "", label);
    return;
  }
  if (head)
    fputs("<thead><tr><th>", to);
  else if (n)
    fprintf(to, "<tr><td%s>", indent > 2 ? " class=\"deep\"" : indent ? " class=\"in\"" : "");
  else
    fprintf(to, "<tr><td class=\"group\" colspan=\"%d\">", AUDIT_EXPERT_COUNTS + 1);
  page_escape(to, label + indent);
  if (meaning) {
    fputs("<small>", to);
    page_escape(to, meaning);
    fputs("</small>", to);
  }
  fputs(head ? "</th>" : "</td>", to);
  for (size_t i = 0; i < n; i++) {
    fputs(head ? "<th>" : "<td>", to);
    page_escape(to, cell[i].text);
    fputs(head ? "</th>" : "</td>", to);
  }
  fputs(head ? "</tr></thead>\n<tbody>\n" : "</tr>\n", to);
}

static void write_dynamics(FILE *to, const audit_options *o, const audit_report *r) {
  table t = {.to = to};
  if (r->counts == 0) return;
  fputs("<h2>Dynamics</h2>\n<p class=\"soft\">What the potential does to a router. Numbers are "
        "enclosures, shown to five digits; what is simulated says so.</p>\n"
        "<div class=\"scroll\">",
        to);
  fprintf(to, "<table class=\"stack\" style=\"--columns:%zu\">\n", r->counts);
  audit_dynamics_rows(o, r, write_row, &t);
  fputs("</tbody></table></div>\n", to);
  for (char *note = t.notes ? strtok(t.notes, "\n") : NULL; note; note = strtok(NULL, "\n")) {
    fputs("<p class=\"notes\">", to);
    page_escape(to, note);
    fputs(".</p>\n", to);
  }
  free(t.notes);
}

static void write_pictures(FILE *to, const audit_report *r) {
  fputs("<h2>Pictures</h2>\n", to);
  if (!gnuplot_exists()) {
    fputs("<p class=\"soft\">Left out: gnuplot was not found when this page was made.</p>\n", to);
    return;
  }
  fputs("<div class=\"pictures\">\n", to);
  for (int i = 0; i < AUDIT_PICTURES; i++)
    if (r->picture[i])
      fprintf(to, "<figure>%s<figcaption>%s</figcaption></figure>\n", r->picture[i],
              audit_picture_caption(i));
  fputs("</div>\n", to);
  if (r->pictures_late)
    fputs("<p class=\"soft\">Time was up before all pictures were drawn.</p>\n", to);
}

static void write_alphas(FILE *to, const audit_advice *a) {
  static const struct {
    const char *label, *meaning;
    size_t offset;
  } rows[] = {{"alpha", "the coefficient of the balancing loss to begin with",
               offsetof(audit_alpha, alpha)},
              {"effective coefficient",
               "alpha E times the stiffness: what alphas of different "
               "potentials can be compared by",
               offsetof(audit_alpha, effective)},
              {"learning rate, below",
               "where the closed loop at this alpha and eta 0.65 is "
               "stable, of gradient descent on the logits alone",
               offsetof(audit_alpha, lr)}};
  fputs("<h3>At which alpha</h3>\n<p>", to);
  page_escape(to, a->alpha_reason ? a->alpha_reason : "");
  fprintf(to,
          "</p>\n<div class=\"scroll\"><table class=\"stack\" style=\"--columns:%zu\">\n"
          "<thead><tr><th>experts E</th>",
          a->alphas);
  for (size_t i = 0; i < a->alphas; i++) fprintf(to, "<th>%d</th>", (int)a->alpha[i].experts);
  fputs("</tr></thead>\n<tbody>\n", to);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    fprintf(to, "<tr><td>%s<small>%s</small></td>", rows[r].label, rows[r].meaning);
    for (size_t i = 0; i < a->alphas; i++)
      fprintf(to, "<td>%.4g</td>",
              *(const double *)(const void *)((const char *)&a->alpha[i] + rows[r].offset));
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

static void write_advice(FILE *to, const audit_advice *a) {
  static const char *const kinds[] = {[AUDIT_TRAIN_YES] = "good",
                                      [AUDIT_TRAIN_WITH_CARE] = "open",
                                      [AUDIT_TRAIN_NO] = "bad",
                                      [AUDIT_TRAIN_UNSAID] = ""};
  fprintf(to,
          "<h2 id=\"advice\">Advice</h2>\n<div class=\"verdict %s\">\n<p><b>Train with it: "
          "%s.</b></p>\n<ul>\n",
          kinds[a->answer], audit_answer_name(a->answer));
  for (int i = 0; i < a->reasons; i++) {
    fputs("<li>", to);
    page_escape(to, a->reason[i]);
    fputs("</li>\n", to);
  }
  fputs("</ul>\n</div>\n", to);
  if (a->alphas) write_alphas(to, a);
}

phibal_status audit_html(const audit_options *o, const audit_report *r, char **text, size_t *size) {
  *text = NULL;
  FILE *to = open_memstream(text, size);
  if (!to) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  audit_advice advice;
  audit_advise(o, r, &advice);
  write_top(to, o, r, &advice);
  write_pictures(to, r);
  write_claims(to, &r->certificate);
  write_dynamics(to, o, r);
  write_advice(to, &advice);
  audit_advice_clear(&advice);
  page_end(to);
  const bool good = !ferror(to);
  if (!fclose(to) && good) return PHIBAL_OK;
  free(*text);
  *text = NULL;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
}
