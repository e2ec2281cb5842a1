/* Small runs for tests: two token files of two domains in a folder of the test's own, and a model
   that makes a step in less than a millisecond. */
#ifndef PHIBAL_TESTS_TRAIN_CASE_H
#define PHIBAL_TESTS_TRAIN_CASE_H

#include "moe/train/train.h"

enum { VOCABULARY = 17, END = 16, SEQUENCE = 8 };

/* For .init and .fini of a TestSuite. */
void train_case_create(void);
void train_case_remove(void);

/* Of a name in the test's folder. */
void path_to(const char *name, char path[256]);
/* A token file: documents of `length` tokens and an end, rising and falling ones by turns. */
void write_tokens(const char *name, int documents, int length);

/* A corpus of bytes in the test's folder whose every line is "some words, and some more": sets
   config->data.train. */
void one_line_corpus(run_config *config);

/* The small configuration with the folder's data, and up to ten "key", "value" pairs over it. */
void configure(run_config *config, const char *const *pairs);
#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Runs into folder/name; gives the result, which the caller decrefs. */
json_t *run(const run_config *config, const char *name);
phibal_status run_status(const run_config *config, const train_options *options);

/* Reads folder/name/metrics.jsonl as an array, without what clocks measured. */
json_t *metrics(const char *name);
/* A number that has to be there. */
double number(const json_t *json, const char *key);

/* Runs `BEFORE $PHIBAL ARGUMENTS` by the shell in the test's folder; its exit status, -1 if it was
   killed, and what it wrote to both streams, cut to size - 1 bytes. */
int phibal_command(const char *before, const char *arguments, char *output, size_t size);

#endif
