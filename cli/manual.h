/* What a command says of itself, once: its options are read by it, and its --help, manual page and
   completions are made of it. An option that the help text lacks, and one that only the help text
   has, are errors where a page is made, which the build does. */
#ifndef PHIBAL_CLI_MANUAL_H
#define PHIBAL_CLI_MANUAL_H

#include <getopt.h>
#include <phibal/status.h>
#include <stdio.h>

/* The help text begins with "usage: " and what the command is called with. A line that begins with
   two spaces or more and "--" is about an option, or several of the same kind: their names, what
   they take in capitals, two spaces (or a new line), the description, whose further lines are
   indented. FILE and FOLDER among what an option takes are completed as such. */
typedef struct command_manual {
  const char *name;             /* "data build" */
  const char *summary;          /* in a line; of a command, main.c has it */
  const char *text;             /* the help text, or null and */
  void (*print)(void);          /* a function that prints it */
  const struct option *options; /* ended by a null name; null: none */
  /* The names that are values of an option, ended by null; null: of this option none. */
  const char *const *(*names)(const char *option);
  const char *operands;                      /* what other words are; null: there are none */
  const struct command_manual *const *parts; /* commands of this command, ended by null */
} command_manual;

/* A command as main.c lists it. */
typedef struct manual_command {
  const char *name, *summary;
  const command_manual *manual; /* null: not in this build */
} manual_command;

/* The manual page of a command, or of a part of one. */
phibal_status manual_write_page(FILE *to, const char *summary, const command_manual *m);
/* The page of phibal itself. */
phibal_status manual_write_main(FILE *to, const manual_command *commands, int count);
/* Completions of all commands, for "bash" or "zsh". */
phibal_status manual_write_completion(FILE *to, const char *shell, const manual_command *commands,
                                      int count);

#endif
