/* A certificate as one page that needs nothing but itself. */
#include "audit_command.h"
#include "audit_picture.h"
#include "build_features.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6576;--paper:#fff;--line:#e3e7ee;"
    "--card:#f7f8fb;--good:#18794e;--seen:#1c5fc4;--bad:#c92a2a;--open:#9a6700}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b5;--paper:#14171d;"
    "--line:#2b313c;--card:#1b1f27;--good:#4cc38a;--seen:#74a9ff;--bad:#ff8787;--open:#f0b43c}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "main{max-width:62rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}"
    "h1{font-size:1.9rem;margin:0 0 .25rem;letter-spacing:-.01em}"
    "h2{font-size:1.15rem;margin:2.5rem 0 .75rem;padding-bottom:.3rem;"
    "border-bottom:1px solid var(--line)}"
    "p{margin:.25rem 0}.soft{color:var(--soft)}"
    "code,pre{font:.9em/1.5 ui-monospace,'Cascadia Mono',Menlo,Consolas,monospace}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.25rem;margin:1rem 0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}"
    ".claim{display:grid;grid-template-columns:7.5rem 1fr;gap:.25rem 1rem;padding:.7rem 0;"
    "border-bottom:1px solid var(--line)}.claim:last-child{border:0}"
    ".badge{font-size:.75rem;font-weight:650;letter-spacing:.04em;text-transform:uppercase;"
    "padding-top:.2rem}.proved{color:var(--good)}.checked{color:var(--seen)}"
    ".refuted{color:var(--bad)}.undecided{color:var(--open)}.absent{color:var(--soft)}"
    ".claim b{font-weight:600}.how{color:var(--soft);font-size:.93rem;overflow-wrap:anywhere}"
    "pre{background:var(--card);border-left:3px solid var(--bad);padding:.6rem .8rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0 0}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}"
    "th,td{padding:.28rem .6rem;text-align:right;border-bottom:1px solid var(--line);"
    "font-variant-numeric:tabular-nums;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left;padding-left:0;white-space:normal}"
    "th{font-weight:600}td.group{color:var(--soft);padding-top:.9rem}td.in{padding-left:1.2rem}"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(24rem,1fr));gap:1.25rem}"
    "figure{margin:0;background:var(--card);border-radius:.6rem;padding:.8rem}"
    "figcaption{color:var(--soft);font-size:.85rem;margin-top:.4rem}"
    "svg{width:100%;height:auto;display:block}svg g{color:inherit}"
    "svg [stroke=black]{stroke:currentColor}svg [fill=black]{fill:currentColor}"
    "svg [stroke=gray]{stroke:var(--line)}svg [fill='#ffffff'],svg rect[fill=none]{fill:none}";

static void escape(FILE *to, const char *text) {
  for (; *text; text++) switch (*text) {
    case '&':
      fputs("&amp;", to);
      break;
    case '<':
      fputs("&lt;", to);
      break;
    case '>':
      fputs("&gt;", to);
      break;
    case '"':
      fputs("&quot;", to);
      break;
    default:
      putc(*text, to);
    }
}

static void write_term(FILE *to, const char *name, const char *text) {
  fprintf(to, "<dt>%s</dt><dd><code>", name);
  escape(to, text);
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
  fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        to);
  escape(to, r->phi->name);
  fprintf(to, ": phibal audit</title>\n<style>%s</style></head><body><main>\n<h1>", style);
  escape(to, r->phi->name);
  fputs("</h1>\n<p class=\"soft\">Certificate by phibal " PHIBAL_VERSION ", of ", to);
  escape(to, r->builtin ? "a built-in potential" : r->source);
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
  escape(to, f->how);
  fputs("</p>", to);
  if (!f->counterexample) return;
  fputs("<pre>", to);
  escape(to, f->counterexample);
  fputs("</pre>", to);
}

static void write_claim(FILE *to, const certificate *c, audit_claim claim) {
  audit_verdict worst = certificate_verdict(c, claim);
  const char *verdict = audit_verdict_name(worst);
  fprintf(to, "<div class=\"claim\"><span class=\"badge %s\">%s</span><div><b>", verdict, verdict);
  escape(to, audit_claim_text(claim));
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
  escape(to, label + strspn(label, " "));
  fprintf(to, "</%s>", tag);
  for (size_t i = 0; i < n; i++) {
    fprintf(to, "<%s>", tag);
    escape(to, cell[i].text);
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
  if (!audit_can_draw()) {
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
  fputs("</main></body></html>\n", to);
  bool good = !ferror(to);
  if (fclose(to) != 0 || !good)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: could not be written", file);
  return PHIBAL_OK;
}
