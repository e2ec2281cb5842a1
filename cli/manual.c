/* Manual pages and completions, from help texts and the tables that options are read by. The page
   is in man(7), whose macros every roff has; the completions need nothing but the shell. */
#include "manual.h"
#include "build_features.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A line about an option is indented by 2 to ENTRY_MOST; descriptions are further. */
enum { LINES_MOST = 512, NAME_MOST = 64, ENTRY_MOST = 4 };

/* A help text, cut into lines without their ends. */
typedef struct help_text {
  char *text;
  char *line[LINES_MOST];
  int lines;
} help_text;

static int indent_of(const char *line) {
  return (int)strspn(line, " ");
}

static bool is_entry(const char *line) {
  const int n = indent_of(line);
  return n >= 2 && n <= ENTRY_MOST && !strncmp(line + n, "--", 2) && line[n + 2] &&
         line[n + 2] != ' ';
}

static phibal_status read_help(const command_manual *m, help_text *help) {
  size_t size = 0;
  *help = (help_text){0};
  if (m->text) {
    help->text = strdup(m->text);
  } else {
    FILE *shown = stdout, *memory = open_memstream(&help->text, &size);
    if (memory) {
      stdout = memory;
      m->print();
      stdout = shown;
      fclose(memory);
    }
  }
  if (!help->text) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  for (char *at = help->text; at && *at;) {
    if (help->lines == LINES_MOST)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a help text of too many lines", m->name);
    help->line[help->lines++] = at;
    at = strchr(at, '\n');
    if (at) *at++ = 0;
  }
  while (help->lines && !*help->line[help->lines - 1]) help->lines--;
  if (!help->lines || strncmp(help->line[0], "usage: phibal ", 14))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the help text begins with no usage",
                             m->name);
  return PHIBAL_OK;
}

/* What a line says of options: the label from its first "--" to two spaces or the end of the line.
 */
static int label_length(const char *label) {
  const char *end = strstr(label, "  ");
  return end ? (int)(end - label) : (int)strlen(label);
}

/* The words of a label, one a call; null after the last. */
static const char *next_word(const char **at, const char *end, int *length) {
  while (*at < end && **at == ' ') (*at)++;
  const char *word = *at;
  while (*at < end && **at != ' ') (*at)++;
  *length = (int)(*at - word);
  return *length ? word : NULL;
}

/* One option of a help text. */
typedef struct help_option {
  char name[NAME_MOST],
      takes[NAME_MOST]; /* "" where it takes nothing; [=...] of what it may take */
  int line;
} help_option;

/* Calls `each` for every option; a line with several has them all take the same. */
static phibal_status each_option(const command_manual *m, const help_text *help,
                                 phibal_status (*each)(void *context, const help_option *o),
                                 void *context) {
  for (int i = 0; i < help->lines; i++) {
    if (!is_entry(help->line[i])) continue;
    const char *label = help->line[i] + indent_of(help->line[i]),
               *end = label + label_length(label);
    char takes[NAME_MOST] = "";
    int n;
    for (const char *at = label, *word; (word = next_word(&at, end, &n));)
      if (strncmp(word, "--", 2)) {
        if (*takes || n >= NAME_MOST)
          return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                   "%s: '%.*s': two spaces end what an option takes", m->name,
                                   (int)(end - label), label);
        memcpy(takes, word, (size_t)n);
        takes[n] = 0;
      }
    for (const char *at = label, *word; (word = next_word(&at, end, &n));) {
      if (strncmp(word, "--", 2)) continue;
      help_option o = {.line = i};
      const char *bracket = memchr(word, '[', (size_t)n);
      const int length = bracket ? (int)(bracket - word) - 2 : n - 2;
      if (length >= NAME_MOST || n >= NAME_MOST)
        return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a long option", m->name);
      memcpy(o.name, word + 2, (size_t)length);
      if (bracket) memcpy(o.takes, bracket, (size_t)(word + n - bracket));
      if (!bracket) strcpy(o.takes, takes);
      const phibal_status status = each(context, &o);
      if (status) return status;
    }
  }
  return PHIBAL_OK;
}

static const struct option *find_option(const command_manual *m, const char *name) {
  for (const struct option *o = m->options; o && o->name; o++)
    if (!strcmp(o->name, name)) return o;
  return NULL;
}

/* Which options of the table the text has named, by their place in it. */
typedef struct check {
  const command_manual *m;
  bool named[256];
} check;

static phibal_status check_option(void *context, const help_option *o) {
  check *c = context;
  const struct option *found = find_option(c->m, o->name);
  if (!found)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the help has --%s, the parser does not",
                             c->m->name, o->name);
  const int takes = !*o->takes         ? no_argument
                    : *o->takes == '[' ? optional_argument
                                       : required_argument;
  if (takes != found->has_arg)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: --%s takes a value in the help or in the parser, not in both",
                             c->m->name, o->name);
  if (c->named[found - c->m->options])
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the help has --%s twice", c->m->name,
                             o->name);
  c->named[found - c->m->options] = true;
  return PHIBAL_OK;
}

/* The text, once it and the table have the same options. The table has --help besides. */
static phibal_status read_checked(const command_manual *m, help_text *help) {
  phibal_status status = read_help(m, help);
  check c = {.m = m};
  if (!status) status = each_option(m, help, check_option, &c);
  for (const struct option *o = m->options; !status && o && o->name; o++) {
    if (o - m->options >= (long)(sizeof c.named))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: too many options", m->name);
    else if (strcmp(o->name, "help") && !c.named[o - m->options])
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "%s: the parser has --%s, the help does not", m->name, o->name);
  }
  return status;
}

/* ---- manual pages ---- */

/* Text that means itself in roff, at the beginning of a line too. */
static void put_roff(FILE *to, const char *text, int n) {
  if (n && (*text == '.' || *text == '\'')) fputs("\\&", to);
  for (int i = 0; i < n; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (c == '\\')
      fputs("\\e", to);
    else if (c == '-')
      fputs("\\-", to);
    else if (c == '\'')
      fputs("\\(aq", to);
    else if (c == '`')
      fputs("\\(ga", to);
    else if (c == '^')
      fputs("\\(ha", to);
    else if (c == '~')
      fputs("\\(ti", to);
    else if (c >= 0xc0) { /* a character of UTF-8 */
      unsigned long value = c >= 0xf0 ? c & 7 : c >= 0xe0 ? c & 15 : c & 31;
      while (i + 1 < n && ((unsigned char)text[i + 1] & 0xc0) == 0x80)
        value = value << 6 | ((unsigned char)text[++i] & 0x3f);
      fprintf(to, "\\[u%04lX]", value);
    } else
      fputc(c, to);
  }
}

static void put_line(FILE *to, const char *line) {
  put_roff(to, line, (int)strlen(line));
  fputc('\n', to);
}

static void put_heading(FILE *to, const char *name) {
  fputs(*name ? ".TH \"PHIBAL-" : ".TH \"PHIBAL", to);
  for (const char *c = name; *c; c++) fputc(*c == ' ' ? '-' : *c >= 'a' ? *c - 32 : *c, to);
  fputs("\" \"1\" \"" PHIBAL_RELEASE_DATE "\" \"phibal " PHIBAL_VERSION "\" \"phibal\"\n", to);
}

/* "data build" as the page is called: phibal-data-build. */
static void put_page_name(FILE *to, const char *name) {
  fputs("phibal", to);
  if (*name) fputs("\\-", to);
  for (const char *c = name; *c; c++) fputs(*c == ' ' || *c == '-' ? "\\-" : (char[]){*c, 0}, to);
}

static void put_usage(FILE *to, const help_text *help, int *at) {
  fputs(".SH SYNOPSIS\n.nf\n", to);
  for (; *at < help->lines && *help->line[*at]; ++*at)
    put_line(to, help->line[*at] + (strlen(help->line[*at]) > 7 ? 7 : 0));
  fputs(".fi\n", to);
}

/* The lines of an entry from `at` on: label, description. */
static void put_entry(FILE *to, const help_text *help, int *at) {
  const char *line = help->line[*at];
  const int indent = indent_of(line), length = label_length(line + indent);
  const char *first = line + indent + length + strspn(line + indent + length, " ");
  int column = *first ? (int)(first - line) : 0, before = column;
  fputs(".TP\n\\fB", to);
  put_roff(to, line + indent, length);
  fputs("\\fR\n", to);
  if (*first) put_line(to, first);
  bool any = *first;
  for (++*at; *at < help->lines && indent_of(help->line[*at]) > indent && *help->line[*at] &&
              !is_entry(help->line[*at]);
       ++*at) {
    const int here = indent_of(help->line[*at]);
    /* What is indented further stands in lines of its own. */
    if (any && (here > before || before > column)) fputs(".br\n", to);
    if (!column) column = here;
    before = any ? here : column;
    any = true;
    put_line(to, help->line[*at] + here);
  }
  if (!any) fputs("\\&\n", to);
}

static void begin_section(FILE *to, const command_manual *m, const char **section, bool *begun,
                          const char *name) {
  if (!strcmp(*section, name)) return;
  if (!strcmp(*section, "OPTIONS") && find_option(m, "help"))
    fputs(".TP\n\\fB\\-\\-help\\fR\nprints the same\n", to);
  fprintf(to, ".SH %s\n", name);
  *begun = false;
  *section = name;
}

/* A paragraph; lines that are indented stand as they are. */
static void put_paragraph(FILE *to, const help_text *help, int *at, bool begun) {
  bool literal = false;
  for (bool first = true; *at < help->lines && *help->line[*at] && !is_entry(help->line[*at]);
       ++*at, first = false) {
    const char *line = help->line[*at];
    const int indent = indent_of(line);
    if (first && begun) fputs(indent < 2 ? ".PP\n" : ".sp\n", to);
    if (literal && indent < 2) fputs(".fi\n.RE\n", to);
    if (!literal && indent >= 2) fputs(".RS 2\n.nf\n", to);
    literal = indent >= 2;
    put_line(to, line + (literal ? 2 : indent));
  }
  if (literal) fputs(".fi\n.RE\n", to);
}

phibal_status manual_write_page(FILE *to, const char *summary, const command_manual *m) {
  help_text help;
  const phibal_status status = read_checked(m, &help);
  if (status) {
    free(help.text);
    return status;
  }
  put_heading(to, m->name);
  fputs(".SH NAME\n", to);
  put_page_name(to, m->name);
  fputs(" \\- ", to);
  put_line(to, summary);
  int at = 0;
  put_usage(to, &help, &at);
  const char *section = "SYNOPSIS";
  bool begun = false, options = false;
  while (at < help.lines) {
    const char *line = help.line[at];
    if (!*line) {
      at++;
    } else if (is_entry(line)) {
      begin_section(to, m, &section, &begun, "OPTIONS");
      options = begun = true;
      put_entry(to, &help, &at);
    } else {
      const int indent = indent_of(line);
      begin_section(to, m, &section, &begun,
                    !strncmp(line, "Exit status", 11)                      ? "EXIT STATUS"
                    : indent == 2 && !strncmp(line + indent, "phibal ", 7) ? "EXAMPLES"
                    : options                                              ? "NOTES"
                                                                           : "DESCRIPTION");
      put_paragraph(to, &help, &at, begun);
      begun = true;
    }
  }
  begin_section(to, m, &section, &begun, "SEE ALSO");
  fputs(".BR phibal (1)", to);
  for (int i = 0; m->parts && m->parts[i]; i++) {
    fputs(",\n.BR ", to);
    put_page_name(to, m->parts[i]->name);
    fputs(" (1)", to);
  }
  fputs("\n", to);
  free(help.text);
  return ferror(to) ? phibal_status_set(PHIBAL_ERROR_IO, "the page cannot be written") : PHIBAL_OK;
}

phibal_status manual_write_main(FILE *to, const manual_command *commands, int count) {
  put_heading(to, "");
  fputs(".SH NAME\nphibal \\- "
        "a certified reference, kernels and a trainer for mixtures of experts\n"
        ".SH SYNOPSIS\n.nf\nphibal <command> [options]\nphibal help [<command>]\n.fi\n"
        ".SH COMMANDS\n",
        to);
  for (int i = 0; i < count; i++) {
    if (!commands[i].manual) continue;
    fputs(".TP\n.BR ", to);
    put_page_name(to, commands[i].name);
    fputs(" (1)\n", to);
    put_line(to, commands[i].summary);
  }
  fputs(".SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR\nnames the commands\n"
        ".TP\n\\fB\\-\\-version\\fR\nprints the version\n"
        ".SH EXIT STATUS\n0: good; 1: the answer is no; 2: usage, input or output error. Commands "
        "that train have others besides.\n",
        to);
  return ferror(to) ? phibal_status_set(PHIBAL_ERROR_IO, "the page cannot be written") : PHIBAL_OK;
}

/* ---- completions ---- */

/* What is written of each option of a command. */
typedef struct completion {
  FILE *to;
  const command_manual *m;
  const help_text *help;
} completion;

static const char *const *names_of(const command_manual *m, const char *option) {
  return m->names ? m->names(option) : NULL;
}

/* -f, -d: what bash and zsh call files and folders; null: neither. */
static const char *paths_of(const char *takes) {
  if (!takes) return NULL;
  if (strstr(takes, "FILE") || strstr(takes, "PATH")) return "-f";
  return strstr(takes, "FOLDER") || strstr(takes, "DIR") || strstr(takes, "RUN") ? "-d" : NULL;
}

static void put_names(FILE *to, const char *const *names, const char *before) {
  for (int i = 0; names && names[i]; i++) fprintf(to, "%s%s", i ? " " : before, names[i]);
}

static phibal_status bash_option(void *context, const help_option *o) {
  const completion *c = context;
  fprintf(c->to, " --%s", o->name);
  return PHIBAL_OK;
}

/* 'eval --potential') what values there are: a row of bash's table. A value that may be left out
   comes after '=' only. */
static phibal_status bash_value(void *context, const help_option *o) {
  const completion *c = context;
  const char *const *names = names_of(c->m, o->name);
  const char *paths = paths_of(o->takes);
  if (!*o->takes) return PHIBAL_OK;
  fputs("  ", c->to);
  if (*o->takes != '[') fprintf(c->to, "'%s --%s' | ", c->m->name, o->name);
  fprintf(c->to, "'%s --%s=') names='", c->m->name, o->name);
  put_names(c->to, names, "");
  fprintf(c->to, "' paths=%s%s ;;\n", paths ? paths : "",
          strstr(o->takes, ",...") ? " several=yes" : "");
  return PHIBAL_OK;
}

/* Options as zsh's _arguments reads them: '*--name=[description]:what it takes:action'. */
static phibal_status zsh_option(void *context, const help_option *o) {
  const completion *c = context;
  const char *line = c->help->line[o->line] + indent_of(c->help->line[o->line]);
  const char *text = line + label_length(line);
  text += strspn(text, " ");
  if (!*text && o->line + 1 < c->help->lines && !is_entry(c->help->line[o->line + 1]))
    text = c->help->line[o->line + 1] + indent_of(c->help->line[o->line + 1]);
  /* To the first mark that _arguments or the quotes would take for theirs. */
  int length = (int)strcspn(text, "[]:;'\\(");
  while (length && text[length - 1] == ' ') length--;
  const bool perhaps = *o->takes == '[';
  fprintf(c->to, "      '*--%s%s[%.*s]", o->name,
          !*o->takes ? ""
          : perhaps  ? "=-"
                     : "=",
          length, text);
  if (*o->takes) {
    const char *const *names = names_of(c->m, o->name);
    const char *paths = paths_of(o->takes);
    fprintf(c->to, "%s:", perhaps ? "::value" : ":value");
    if (names && strstr(o->takes, ",...")) {
      fputs("{_values -s , name", c->to);
      put_names(c->to, names, " ");
      fputs("}", c->to);
    } else if (names || paths) {
      fputs("{", c->to);
      if (names) put_names(c->to, names, "compadd -- ");
      if (names && paths) fputs("; ", c->to);
      if (paths) fputs(strcmp(paths, "-d") ? "_files" : "_files -/", c->to);
      fputs("}", c->to);
    }
  }
  fputs("' \\\n", c->to);
  return PHIBAL_OK;
}

static phibal_status each_manual(const manual_command *commands, int count,
                                 phibal_status (*each)(completion *c), FILE *to) {
  for (int i = 0; i < count; i++) {
    const command_manual *m = commands[i].manual;
    for (int part = -1; m && (part < 0 || (m->parts && m->parts[part])); part++) {
      help_text help;
      completion c = {to, part < 0 ? m : m->parts[part], &help};
      phibal_status status = read_checked(c.m, &help);
      if (!status) status = each(&c);
      free(help.text);
      if (status) return status;
    }
  }
  return PHIBAL_OK;
}

static phibal_status bash_words(completion *c) {
  fprintf(c->to, "  '%s')\n    words='", c->m->name);
  for (int i = 0; c->m->parts && c->m->parts[i]; i++)
    fprintf(c->to, "%s ", strrchr(c->m->parts[i]->name, ' ') + 1);
  fputs("--help", c->to);
  const phibal_status status = each_option(c->m, c->help, bash_option, c);
  const char *paths = paths_of(c->m->operands);
  fprintf(c->to, "' operands=%s ;;\n", paths ? paths : "");
  return status;
}

static phibal_status bash_values(completion *c) {
  return each_option(c->m, c->help, bash_value, c);
}

static phibal_status zsh_command(completion *c) {
  fprintf(c->to, "  ('%s')\n    _arguments \\\n", c->m->name);
  const phibal_status status = each_option(c->m, c->help, zsh_option, c);
  const char *paths = paths_of(c->m->operands);
  if (c->m->parts) {
    fputs("      '1:command:(", c->to);
    for (int i = 0; c->m->parts[i]; i++)
      fprintf(c->to, "%s%s", i ? " " : "", strrchr(c->m->parts[i]->name, ' ') + 1);
    fputs(")' \\\n", c->to);
  }
  if (paths)
    fprintf(c->to, "      '*:%s:%s' \\\n", c->m->operands,
            strcmp(paths, "-d") ? "_files" : "_files -/");
  fputs("      '--help[prints what there is]' ;;\n", c->to);
  return status;
}

/* A command whose next word is the name of a part of it is that part. */
static void put_parts(FILE *to, const manual_command *commands, int count) {
  for (int i = 0; i < count; i++)
    for (int part = 0;
         commands[i].manual && commands[i].manual->parts && commands[i].manual->parts[part]; part++)
      fprintf(to, "%s'%s'", i && part ? " | " : "", commands[i].manual->parts[part]->name);
}

static phibal_status write_bash(FILE *to, const manual_command *commands, int count) {
  fputs(
      "# Completion of phibal for bash, made by `phibal help --completion bash`.\n"
      "_phibal() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} line='' names='' "
      "paths=''\n"
      "  local command=${COMP_WORDS[1]} words='' operands='' several='' lead='' equals=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '",
      to);
  for (int i = 0; i < count; i++)
    if (commands[i].manual) fprintf(to, "%s ", commands[i].name);
  fputs("help --help --version' -- \"$word\")\n    return\n  fi\n"
        "  [ \"$command\" != help ] || {\n    mapfile -t COMPREPLY < <(compgen -W '",
        to);
  for (int i = 0; i < count; i++)
    if (commands[i].manual) fprintf(to, "%s%s", i ? " " : "", commands[i].name);
  fputs("' -- \"$word\")\n    return\n  }\n"
        "  if ((COMP_CWORD > 2)); then\n    case \"$command ${COMP_WORDS[2]}\" in\n    ",
        to);
  put_parts(to, commands, count);
  fputs(") command=\"$command ${COMP_WORDS[2]}\" ;;\n    esac\n  fi\n"
        "  # Bash takes `--option=value` for three words.\n"
        "  if [ \"$word\" = = ]; then\n    word='' equals==\n"
        "  elif [ \"$before\" = = ]; then\n    before=${COMP_WORDS[COMP_CWORD-2]} equals==\n  fi\n"
        "  case \"$command $before$equals\" in\n",
        to);
  phibal_status status = each_manual(commands, count, bash_values, to);
  fputs("  *) before='' ;;\n  esac\n"
        "  case \"$command\" in\n",
        to);
  if (!status) status = each_manual(commands, count, bash_words, to);
  fputs("  esac\n"
        "  if [ -n \"$before\" ]; then words=$names\n"
        "  elif [[ $word != -* && -n $operands ]]; then words='' paths=$operands\n  fi\n"
        "  if [[ -n $several && $word == *,* ]]; then\n"
        "    lead=${word%,*}, word=${word##*,}\n  fi\n"
        "  [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -P \"$lead\" -W \"$words\" -- "
        "\"$word\")\n"
        "  if [ -n \"$paths\" ]; then\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen \"$paths\" -- "
        "\"$word\")\n"
        "  fi\n}\ncomplete -F _phibal phibal\n",
        to);
  return status;
}

static phibal_status write_zsh(FILE *to, const manual_command *commands, int count) {
  fputs("#compdef phibal\n# Made by `phibal help --completion zsh`.\n"
        "_phibal() {\n  local command=$words[2]\n  local -a commands=(\n",
        to);
  for (int i = 0; i < count; i++)
    if (commands[i].manual) {
      fprintf(to, "    '%s:", commands[i].name);
      for (const char *c = commands[i].summary; *c; c++)
        fputs(*c == '\'' ? "'\\''" : *c == ':' ? "\\:" : (char[]){*c, 0}, to);
      fputs("'\n", to);
    }
  fputs("    'help:what a command does'\n  )\n"
        "  if (( CURRENT == 2 )); then\n    _describe -t commands command commands\n    return\n  "
        "fi\n"
        "  if [[ $command == help ]]; then\n"
        "    (( CURRENT == 3 )) && _describe -t commands command commands\n    return\n  fi\n"
        "  shift words\n  (( CURRENT-- ))\n"
        "  if (( CURRENT > 2 )); then\n    case \"$command $words[2]\" in\n    (",
        to);
  put_parts(to, commands, count);
  fputs(") command=\"$command $words[2]\"; shift words; (( CURRENT-- )) ;;\n    esac\n  fi\n"
        "  case $command in\n",
        to);
  const phibal_status status = each_manual(commands, count, zsh_command, to);
  fputs("  esac\n}\n_phibal \"$@\"\n", to);
  return status;
}

phibal_status manual_write_completion(FILE *to, const char *shell, const manual_command *commands,
                                      int count) {
  phibal_status status;
  if (!strcmp(shell, "bash"))
    status = write_bash(to, commands, count);
  else if (!strcmp(shell, "zsh"))
    status = write_zsh(to, commands, count);
  else
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "completions are for bash or zsh, not '%s'",
                               shell);
  if (!status && ferror(to))
    status = phibal_status_set(PHIBAL_ERROR_IO, "the completions cannot be written");
  return status;
}
