/* A certificate as one page that needs nothing but itself. */
#include "audit_command.h"
#include "audit_picture.h"
#include "build_features.h"
#include "gnuplot.h"
#include "page.h"
#include <errno.h>
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

static void write_heading(FILE *to, const audit_options *o, const audit_report *r) {
  page_begin(to, r->phi->name, "phibal audit", NULL);
  fputs("<p class=\"soft\">Certificate by phibal " PHIBAL_VERSION ", of ", to);
  page_escape(to, r->builtin ? "a built-in potential" : r->source);
  fprintf(to, ", for %d to %d experts</p>\n<dl>\n", (int)o->least_experts, (int)o->most_experts);
  write_section(to, "value", r->phi, &r->phi->value, "x");
  write_section(to, "gradient", r->phi, &r->phi->gradient, "x");
  write_section(to, "conjugate", r->phi, &r->phi->conjugate, "y");
  for (int i = 0; i < r->phi->parameters; i++) write_parameter(to, r, i);
  fputs("</dl>\n", to);
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

static void write_claim(FILE *to, const certificate *c, audit_claim claim) {
  audit_verdict worst = certificate_verdict(c, claim);
  const char *verdict = audit_verdict_name(worst);
  fprintf(to, "<div class=\"claim\"><span class=\"badge %s\">%s</span><div><b>", verdict, verdict);
  page_escape(to, audit_claim_text(claim));
  fputs("</b>", to);
  for (size_t i = 0; i < c->findings; i++)
    if (c->finding[i].claim == claim && !audit_repeats(c, i))
      write_finding(to, &c->finding[i], worst);
  fputs("</div></div>\n", to);
}

static void write_claims(FILE *to, const certificate *c) {
  const char *section = "";
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    if (!audit_was_examined(c, claim)) continue;
    if (strcmp(section, audit_claim_section(claim)) != 0)
      fprintf(to, "<h2>%s</h2>\n", section = audit_claim_section(claim));
    write_claim(to, c, claim);
  }
}

static void write_row(void *context, const char *label, size_t n, audit_cell *cell) {
  FILE *to = context;
  const char *tag = n && strncmp(label, "experts", 7) == 0 ? "th" : "td";
  bool inside = label[0] == ' ';
  if (n)
    fprintf(to, "<tr><%s%s>", tag, inside ? " class=\"in\"" : "");
  else
    fprintf(to, "<tr><td class=\"group\" colspan=\"%d\">", AUDIT_EXPERT_COUNTS + 1);
  page_escape(to, label + strspn(label, " "));
  fprintf(to, "</%s>", tag);
  for (size_t i = 0; i < n; i++) {
    fprintf(to, "<%s>", tag);
    page_escape(to, cell[i].text);
    fprintf(to, "</%s>", tag);
  }
  fputs("</tr>\n", to);
}

static void write_dynamics(FILE *to, const audit_options *o, const audit_report *r) {
  if (r->counts == 0) return;
  fputs("<h2>Dynamics</h2>\n<p class=\"soft\">Enclosures, shown to five digits; what is simulated "
        "says so.</p><div class=\"scroll\"><table>\n",
        to);
  audit_dynamics_rows(o, r, write_row, to);
  fputs("</table></div>\n", to);
}

static void write_pictures(FILE *to, const audit_report *r) {
  fputs("<h2>Pictures</h2>\n", to);
  if (!gnuplot_is_there()) {
    fputs("<p class=\"soft\">Left out: gnuplot was not found when this page was made.</p>\n", to);
    return;
  }
  fputs("<div class=\"pictures\">\n", to);
  for (int i = 0; i < AUDIT_PICTURES; i++) {
    char *svg = audit_picture(r, i);
    if (svg)
      fprintf(to, "<figure>%s<figcaption>%s</figcaption></figure>\n", svg,
              audit_picture_caption(i));
    free(svg);
  }
  fputs("</div>\n", to);
}

phibal_status audit_write_html(const audit_options *o, const audit_report *r, const char *file) {
  FILE *to = fopen(file, "w");
  if (!to) return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", file, strerror(errno));
  write_heading(to, o, r);
  write_claims(to, &r->certificate);
  write_dynamics(to, o, r);
  write_pictures(to, r);
  page_end(to);
  bool good = !ferror(to);
  if (fclose(to) != 0 || !good)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: could not be written", file);
  return PHIBAL_OK;
}
