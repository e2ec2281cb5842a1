/* The subcommands of `phibal`. Each takes its own argument vector (argv[0] is the command's name)
   and returns the exit status: 0 good, 1 the answer is no, 2 usage or input error. The symbols are
   weak: a command that a build leaves out (eval, audit and verify without MPFR) is null. */
#ifndef PHIBAL_CLI_COMMANDS_H
#define PHIBAL_CLI_COMMANDS_H

#include <getopt.h>

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
int command_export(int argc, char **argv) __attribute__((weak));
int command_report(int argc, char **argv) __attribute__((weak));
int command_plan(int argc, char **argv) __attribute__((weak));
int command_compare(int argc, char **argv) __attribute__((weak));
int command_bench(int argc, char **argv) __attribute__((weak));

/* Prints "phibal <command>: <message>" and where help is, to stderr; returns 2. */
int command_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints "phibal <command>: <message>", one line whatever names are in it, to stderr. */
void command_say(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For a help text, indented: "lp (p); soft-l1 (delta); negentropy; ...". */
void command_print_potentials(void);
/* On a terminal: begins its last line again. Nothing else that is printed moves the cursor. */
void command_clear_line(void);

/* The same of the option that getopt_long did not know, with the nearest that there is. */
int command_unknown_option(const char *command, char *const *argv, const struct option *options);

#endif
