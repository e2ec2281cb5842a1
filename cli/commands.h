/* The subcommands of `phibal`. Each takes its own argument vector (argv[0] is the command's name)
   and returns the exit status: 0 good, 1 the answer is no, 2 usage or input error. The symbols are
   weak: a command that a build leaves out (eval, audit and verify without MPFR) is null. */
#ifndef PHIBAL_CLI_COMMANDS_H
#define PHIBAL_CLI_COMMANDS_H

#include "manual.h"
#include <stdbool.h>

typedef int (*phibal_command)(int argc, char **argv);

int command_info(int argc, char **argv) __attribute__((weak));
int command_eval(int argc, char **argv) __attribute__((weak));
int command_audit(int argc, char **argv) __attribute__((weak));
int command_verify(int argc, char **argv) __attribute__((weak));
int command_vectors(int argc, char **argv) __attribute__((weak));
int command_judge(int argc, char **argv) __attribute__((weak));
int command_data(int argc, char **argv) __attribute__((weak));
int command_train(int argc, char **argv) __attribute__((weak));
int command_sweep(int argc, char **argv) __attribute__((weak));
int command_eval_model(int argc, char **argv) __attribute__((weak));
int command_generate(int argc, char **argv) __attribute__((weak));
int command_export(int argc, char **argv) __attribute__((weak));
int command_report(int argc, char **argv) __attribute__((weak));
int command_plan(int argc, char **argv) __attribute__((weak));
int command_compare(int argc, char **argv) __attribute__((weak));
int command_bench(int argc, char **argv) __attribute__((weak));

/* What each says of itself, null like the command. */
extern const command_manual manual_info __attribute__((weak)), manual_eval __attribute__((weak)),
    manual_audit __attribute__((weak)), manual_verify __attribute__((weak)),
    manual_vectors __attribute__((weak)), manual_judge __attribute__((weak)),
    manual_data __attribute__((weak)), manual_data_build, manual_data_debian, manual_data_show,
    manual_train __attribute__((weak)), manual_sweep __attribute__((weak)),
    manual_eval_model __attribute__((weak)), manual_generate __attribute__((weak)),
    manual_export __attribute__((weak)), manual_report __attribute__((weak)),
    manual_plan __attribute__((weak)), manual_compare __attribute__((weak)),
    manual_bench __attribute__((weak));

/* The next option, as getopt_long: its value, ':' for a missing value, '?' for one that there is
   not, -1 after the last. *row, if not null: its place in the table. */
int command_option(const command_manual *m, int argc, char **argv, int *row);
/* Prints the help text; returns 0. */
int command_help(const command_manual *m);

/* Names that options of several commands take, ended by null. */
extern const char *const command_potential_names[],
    *const command_operation_names[],
        *const command_format_names[]; /* from binary64 to the narrowest */

/* Prints "phibal <command>: <message>" and where help is, to stderr; returns 2. */
int command_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The value of an option, as "--batch"; false, with the usage error printed, for what is not a
   number from `low` to `high`. */
bool command_read_whole(const char *command, const char *option, const char *text, long long low,
                        long long high, long long *value);
bool command_read_real(const char *command, const char *option, const char *text, double low,
                       double high, double *value);

/* Prints "phibal <command>: <message>", one line whatever names are in it, to stderr. */
void command_say(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For a help text, indented: "lp (p); soft-l1 (delta); negentropy; ...". */
void command_print_potentials(int indent);
/* On a terminal: begins its last line again. Nothing else that is printed moves the cursor. */
void command_clear_line(void);

/* The same of the option that getopt_long did not know, with the nearest that there is. */
int command_unknown_option(const char *command, char *const *argv, const struct option *options);

#endif
