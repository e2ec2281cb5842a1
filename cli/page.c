#include "page.h"

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
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));"
    "gap:1.25rem}"
    "figure{margin:0;background:var(--card);border-radius:.6rem;padding:.8rem}"
    "figcaption{color:var(--soft);font-size:.85rem;margin-top:.4rem}"
    "svg{width:100%;height:auto;display:block}svg g{color:inherit}"
    "svg [stroke=black]{stroke:currentColor}svg [fill=black]{fill:currentColor}"
    "svg [stroke=gray]{stroke:var(--line)}svg [fill='#ffffff'],svg rect[fill=none]{fill:none}";

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

void page_begin(FILE *to, const char *heading, const char *command) {
  fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        to);
  page_escape(to, heading);
  fprintf(to, ": %s</title>\n<style>%s</style></head><body><main>\n<h1>", command, style);
  page_escape(to, heading);
  fputs("</h1>\n", to);
}

void page_end(FILE *to) {
  fputs("</main></body></html>\n", to);
}
