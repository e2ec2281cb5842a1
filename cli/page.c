#include "page.h"
#include "build_features.h"
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b212c;--soft:#596273;--paper:#fff;--line:#e2e6ee;"
    "--card:#f7f8fb;--good:#18794e;--seen:#1c5fc4;--bad:#c22727;--open:#8a5b00;"
    "--good-card:#eef8f3;--bad-card:#fdf1f0;--open-card:#fcf6e8}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9da7b8;--paper:#13161c;"
    "--line:#2b313c;--card:#1a1e26;--good:#4cc38a;--seen:#7cadff;--bad:#ff8b87;--open:#f0b43c;"
    "--good-card:#14241e;--bad-card:#2b1a1b;--open-card:#28210f}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}"
    "main{max-width:70rem;margin:0 auto;padding:2.75rem 1.5rem 5rem}"
    "h1{font-size:2rem;line-height:1.2;font-weight:680;margin:0 0 .4rem;letter-spacing:-.02em;"
    "overflow-wrap:anywhere}"
    "h2{font-size:1.25rem;line-height:1.3;font-weight:650;letter-spacing:-.01em;"
    "margin:3rem 0 .35rem}h3{font-size:1rem;font-weight:650;margin:1.75rem 0 .25rem}"
    "p{margin:.25rem 0;max-width:44rem}.soft{color:var(--soft)}h2+.soft{margin-bottom:1rem}"
    "code,pre{font:.875em/1.5 ui-monospace,'Cascadia Mono',Menlo,Consolas,monospace}"
    "code{overflow-wrap:anywhere}time{white-space:nowrap}.made{color:var(--soft);font-size:.9rem;"
    "max-width:none}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1.5rem;margin:1rem 0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}"
    /* what the page has found, in a sentence or two */
    ".verdict{margin:1.75rem 0;padding:1rem 1.25rem;border-radius:.6rem;background:var(--card);"
    "border-left:4px solid var(--line)}.verdict p{max-width:none}"
    ".verdict b{font-size:1.1rem;font-weight:650}"
    ".verdict.good{background:var(--good-card);border-color:var(--good)}"
    ".verdict.bad{background:var(--bad-card);border-color:var(--bad)}"
    ".verdict.open{background:var(--open-card);border-color:var(--open)}"
    ".verdict dl{margin:.5rem 0 0}.verdict ul{margin:.5rem 0 0;padding-left:1.2rem}"
    ".verdict a{color:inherit}.counts{margin:.4rem 0}.counts .badge{margin-right:1rem}"
    ".how{color:var(--soft);font-size:.9rem;line-height:1.5;overflow-wrap:anywhere;max-width:none}"
    ".claims td{vertical-align:top}.claims td:first-child{width:36%}.claims .words{padding-right:0}"
    ".badge{font-size:.72rem;font-weight:680;letter-spacing:.05em;text-transform:uppercase;"
    "padding-top:.25rem;white-space:nowrap}"
    ".proved,.fine{color:var(--good)}.checked{color:var(--seen)}.refuted,.collapsed{color:"
    "var(--bad)}.undecided,.idle{color:var(--open)}.absent,.unknown{color:var(--soft)}"
    "pre{background:var(--card);border-left:3px solid var(--line);padding:.6rem .8rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0 0}.claims pre{border-color:"
    "var(--bad)}"
    /* tables: numbers to the right, digits of one width; a row may say what it is */
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}"
    "th,td{padding:.4rem .75rem;text-align:right;border-bottom:1px solid var(--line);"
    "font-variant-numeric:tabular-nums;white-space:nowrap;vertical-align:baseline}"
    "td:first-child,th:first-child{text-align:left;padding-left:0;white-space:normal;"
    "min-width:10rem}"
    "td:last-child,th:last-child{padding-right:0}"
    "th{font-weight:600}thead th{border-bottom:2px solid "
    "var(--line);vertical-align:bottom;white-space:normal}"
    "td.words,th.words{text-align:left;white-space:normal;overflow-wrap:anywhere}"
    "td small{display:block;color:var(--soft);font-size:.82rem;line-height:1.4;max-width:30rem}"
    "td.group{font-weight:600;padding-top:1.4rem}td.group small{font-weight:400}"
    "td.in:first-child{padding-left:1.1rem}td.deep:first-child{padding-left:2.2rem}"
    ".notes{color:var(--soft);font-size:.85rem;margin-top:.6rem}.notes+.notes{margin-top:.2rem}"
    ".glance td,.glance th{text-align:left;white-space:normal}"
    ".glance .number{text-align:right;white-space:nowrap}.glance small{max-width:none}"
    ".glance th:first-child{min-width:15.5rem}"
    ".dot{display:inline-block;width:.65em;height:.65em;border-radius:50%;margin-right:.5em}"
    "details{margin:.6rem 0}summary{cursor:pointer;color:var(--soft)}"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(25rem,100%),1fr));"
    "gap:1.25rem;margin-top:1rem}"
    "figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:.7rem;"
    "padding:.9rem 1rem 1rem;min-width:0}"
    "figcaption{color:var(--soft);font-size:.87rem;line-height:1.45;margin-top:.5rem}"
    "figure .run{font-size:.9rem;font-weight:600;margin:0 0 .4rem;overflow-wrap:anywhere}"
    "svg{width:100%;height:auto;display:block}svg g{color:inherit}svg text{font-family:inherit}"
    "svg [stroke=black]{stroke:currentColor}svg [fill=black]{fill:currentColor}"
    "svg .gridline{stroke:var(--line);stroke-dasharray:none}svg [fill='#ffffff'],svg "
    "rect[fill=none]{fill:none}"
    "@media print{figure,tr,.verdict{break-inside:avoid}}"
    "@media(max-width:44rem){main{padding:1.75rem 1rem 3rem}h1{font-size:1.6rem}"
    ".claims,.claims tbody,.claims tr,.claims td{display:block}.claims td{border:0;padding:.2rem 0}"
    ".claims td:first-child{width:auto}.claims tr{padding:.6rem 0;border-bottom:1px solid "
    "var(--line)}dl{grid-template-columns:1fr;gap:0}"
    "dd{margin-bottom:.6rem}th,td{padding:.4rem .5rem}"
    "td:first-child,th:first-child{min-width:9rem}"
    /* what a row is called above its numbers, which keep their columns */
    ".stack,.stack thead,.stack tbody{display:block}.stack tr{display:grid;border-bottom:1px solid "
    "var(--line);padding:.35rem 0;grid-template-columns:repeat(var(--columns),minmax(0,1fr))}"
    ".stack td,.stack th{border:0;padding-top:.1rem;padding-bottom:.1rem;padding-right:.2rem;"
    "white-space:normal;overflow-wrap:anywhere}"
    ".stack td:first-child,.stack th:first-child{grid-column:1/-1}"
    ".stack td.group:first-child{padding-top:1rem}"
    ".glance thead{display:none}.glance,.glance tbody,.glance tr,.glance td{display:block}"
    ".glance tr{padding:.8rem 0;border-bottom:1px solid var(--line)}"
    ".glance td{border:0;padding:.1rem 0}.glance .number{text-align:left}"
    ".glance td[data-of]::before{content:attr(data-of) ' ';color:var(--soft)}}";

void page_escape(FILE *to, const char *text) {
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

void page_begin(FILE *to, const char *heading, const char *command, void (*more)(FILE *to)) {
  fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        to);
  page_escape(to, heading);
  fprintf(to, ": %s</title>\n<style>%s", command, style);
  if (more) more(to);
  fputs("</style></head><body><main>\n<h1>", to);
  page_escape(to, heading);
  fputs("</h1>\n", to);
}

void page_end(FILE *to) {
  fputs("</main></body></html>\n", to);
}

time_t page_time(void) {
  const char *text = getenv("SOURCE_DATE_EPOCH");
  char *end = NULL;
  const long long given = text ? strtoll(text, &end, 10) : 0;
  return text && *text && !*end && given >= 0 ? (time_t)given : time(NULL);
}

void page_date(FILE *to, time_t when) {
  const time_t latest = page_time();
  struct tm parts;
  char text[32] = "";
  if (when > latest) when = latest;
  if (gmtime_r(&when, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  fprintf(to, "<time>%s</time>", text);
}

/* An argument as a shell would have to be given it. */
static void write_argument(FILE *to, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=./,:@%";
  if (*text && !text[strspn(text, plain)]) {
    page_escape(to, text);
    return;
  }
  fputc('\'', to);
  for (; *text; text++)
    if (*text == '\'')
      fputs("'\\''", to);
    else
      page_escape(to, (char[]){*text, 0});
  fputc('\'', to);
}

void page_made(FILE *to, int argc, char *const *argv) {
  fputs("<p class=\"made\">Made on ", to);
  page_date(to, page_time());
  fputs(" by phibal " PHIBAL_VERSION ": <code>phibal", to);
  for (int i = 0; i < argc; i++) {
    fputc(' ', to);
    write_argument(to, argv[i]);
  }
  fputs("</code></p>\n", to);
}
