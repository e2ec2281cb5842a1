/* The check that every page passes where it is made: an option that only the help text has, or only
   the parser, is refused by name. And what a page and completions make of a text. */
#include "cli/manual.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct option table[] = {{"plain", no_argument, NULL, 'p'},
                                      {"name", required_argument, NULL, 'n'},
                                      {"file", required_argument, NULL, 'f'},
                                      {"check", optional_argument, NULL, 'c'},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

static const char right[] = "usage: phibal try [options]\n"
                            "\n"
                            "Tries.\n"
                            "\n"
                            "  --plain          a\\b's .\n"
                            "  --name NAME      one of them\n"
                            "  --file FILE      written\n"
                            "  --check[=quick]\n"
                            "                   whether\n";

static const char *const *names(const char *option) {
  static const char *const all[] = {"red", "green", NULL}, *const quick[] = {"quick", NULL};
  return !strcmp(option, "name") ? all : !strcmp(option, "check") ? quick : NULL;
}

/* The page of a text and a table, or null; to be freed. */
static char *page(const char *text, const struct option *options) {
  const command_manual m = {.name = "try", .text = text, .options = options, .names = names};
  char *written = NULL;
  size_t size;
  FILE *to = open_memstream(&written, &size);
  const phibal_status status = manual_write_page(to, "a try", &m);
  fclose(to);
  if (!status) return written;
  free(written);
  return NULL;
}

static char *replaced(const char *old, const char *new) {
  const char *at = strstr(right, old);
  char *text = NULL;
  cr_assert(at);
  cr_assert(asprintf(&text, "%.*s%s%s", (int)(at - right), right, new, at + strlen(old)) > 0);
  return text;
}

static void refused(const char *old, const char *new, const char *message) {
  char *text = replaced(old, new), *written = page(text, table);
  cr_expect_null(written, "'%s' for '%s' passes", new, old);
  cr_expect(strstr(phibal_status_message(), message), "%s", phibal_status_message());
  free(written);
  free(text);
}

Test(manual, help_and_parser_have_the_same_options) {
  char *written = page(right, table);
  cr_assert(written, "%s", phibal_status_message());
  free(written);
  refused("  --plain          a\\b's .\n", "", "the parser has --plain, the help does not");
  refused("--plain ", "--plane ", "the help has --plane, the parser does not");
  refused("--plain ", "--name N", "the help has --name twice");
  refused("--name NAME ", "--name      ", "--name takes a value in the help or in the parser");
  refused("--plain   ", "--plain X ", "--plain takes a value in the help or in the parser");
  refused("--check[=quick]", "--check", "--check takes a value in the help or in the parser");
  refused("--file FILE      written", "--file FILE written", "two spaces end");
  refused("usage", "Usage", "begins with no usage");
  struct option more[8] = {0};
  memcpy(more, table, sizeof table);
  more[5] = (struct option){"quiet", no_argument, NULL, 'q'};
  cr_expect_null(page(right, more));
  cr_expect(strstr(phibal_status_message(), "the parser has --quiet"));
}

Test(manual, a_page_means_the_text) {
  char *written = page(right, table);
  cr_assert(written);
  cr_expect(strstr(written, ".SH SYNOPSIS\n.nf\nphibal try [options]\n.fi\n"), "%s", written);
  cr_expect(strstr(written, ".TP\n\\fB\\-\\-plain\\fR\na\\eb\\(aqs .\n"), "%s", written);
  cr_expect(strstr(written, ".TP\n\\fB\\-\\-check[=quick]\\fR\nwhether\n"), "%s", written);
  free(written);
}

static char *completion(const char *shell) {
  static const command_manual m = {
      .name = "try", .text = right, .options = table, .names = names, .operands = "FOLDER"};
  const manual_command command = {"try", "a try", &m};
  char *written = NULL;
  size_t size;
  FILE *to = open_memstream(&written, &size);
  cr_assert_eq(manual_write_completion(to, shell, &command, 1), PHIBAL_OK);
  fclose(to);
  return written;
}

Test(manual, completions) {
  char *bash = completion("bash"), *zsh = completion("zsh");
  cr_expect(strstr(bash, "'try --name' | 'try --name=') names='red green' paths= ;;"), "%s", bash);
  cr_expect(strstr(bash, "'try --file' | 'try --file=') names='' paths=-f ;;"), "%s", bash);
  cr_expect(strstr(bash, "\n  'try --check=') names='quick' paths= ;;"), "%s", bash);
  cr_expect(strstr(bash, "words='--help --plain --name --file --check' operands=-d ;;"), "%s",
            bash);
  cr_expect(strstr(zsh, "'*--name=[one of them]:value:{compadd -- red green}'"), "%s", zsh);
  cr_expect(strstr(zsh, "'*--file=[written]:value:{_files}'"), "%s", zsh);
  cr_expect(strstr(zsh, "'*--check=-[whether]::value:{compadd -- quick}'"), "%s", zsh);
  cr_expect(strstr(zsh, "'*:FOLDER:_files -/'"), "%s", zsh);
  free(bash);
  free(zsh);
  const phibal_status other = manual_write_completion(stdout, "fish", NULL, 0);
  cr_expect_eq(other, PHIBAL_ERROR_ARGUMENT);
}
