/* Run files: YAML in two levels (section, key), checked against the schema of config_keys.def.
   Values come, in this order, from the schema's defaults, the config.json or config.yaml of
   training.from (the model section only, without `sequence`), the file, and the overrides. */
#ifndef PHIBAL_MOE_CONFIG_H
#define PHIBAL_MOE_CONFIG_H

#include "moe/model/model.h"
#include "moe/model/optimizer.h"
#include <stddef.h>
#include <stdio.h>

#define CONFIG_TEXT_MAX 1024

typedef struct run_config {
  char name[CONFIG_TEXT_MAX]; /* by default the file's, without folder and ending */
  model_config model;
  balance_config balance;
  /* balance.potential where it is a file in the φ language, "" where it is in the catalogue. Then
     balance.external is to be set before training, and balance.potential.parameter is the value of
     its only parameter, NaN for the file's default. */
  char potential_file[CONFIG_TEXT_MAX];
  char parameters[CONFIG_TEXT_MAX]; /* of the file, "a=1/2,b=3", exactly; "" for one of the
                                       catalogue */
  struct {
    int32_t sequences, micro_sequences;
  } batch;
  optimizer_config optimizer;
  struct {
    int64_t steps, seed, log_every;
    int32_t threads;
    model_precision precision;
    bool tensorboard;
    /* The source of the initial weights (trained.h), or "". Keys of the model section missing from
       the run file come from its config.json or config.yaml. */
    char from[CONFIG_TEXT_MAX];
    char ignore_keys[CONFIG_TEXT_MAX]; /* of that config.json: hf_config_read */
    char continued[CONFIG_TEXT_MAX];   /* the plans before `steps` (schedule.h) */
    char record_routes[CONFIG_TEXT_MAX],
        replay_routes[CONFIG_TEXT_MAX]; /* files (routes.h), or "" */
  } training;
  /* Of lora.h; rank 0: all weights are trained. */
  struct {
    int32_t rank;
    double alpha, dropout;
    char targets[CONFIG_TEXT_MAX];
  } lora;
  struct {
    int64_t every, sequences, final_sequences;
  } evaluation;
  struct {
    int64_t every, keep;
  } checkpoint;
  struct {
    int32_t experts;      /* ranks that the experts of a layer are divided over */
    bool shard_optimizer; /* each rank has a part of the moments */
  } parallel;
  struct {
    char train[CONFIG_TEXT_MAX], validation[CONFIG_TEXT_MAX];
    char mixture[CONFIG_TEXT_MAX], changed_mixture[CONFIG_TEXT_MAX];
    int64_t change_step; /* steps with the first; 0: all */
    bool boundaries, copy;
    int32_t end_of_document;
  } data;
} run_config;

typedef enum config_kind {
  CONFIG_INTEGER32,
  CONFIG_INTEGER64,
  CONFIG_REAL32,
  CONFIG_REAL64,
  CONFIG_BOOLEAN,
  CONFIG_CHOICE,
  CONFIG_POTENTIAL,
  CONFIG_PARAMETER,  /* a real, or "default": what the catalogue gives the potential */
  CONFIG_PARAMETERS, /* NAME=VALUE,... */
  CONFIG_TEXT,
} config_kind;

/* One row of config_keys.def. */
typedef struct config_key {
  const char *section, *name;
  config_kind kind;
  size_t offset; /* into run_config */
  char open;     /* '[' or '(' */
  double low, high;
  char close;               /* ']' or ')' */
  const char *fallback;     /* null: required */
  const char *const *names; /* of a choice, ended by null */
  const char *help;
} config_key;

extern const config_key config_keys[];
extern const size_t config_key_count;
/* The row of "section.key"; null if there is none. */
const config_key *config_key_get(const char *dotted);

/* "; perhaps 'optimizer.peak_lr'" for a key, or a section alone, that is not known; "" where none
   is near. */
enum { CONFIG_PERHAPS = 128 };
void config_key_perhaps(const char *dotted, char text[CONFIG_PERHAPS]);

/* Sets one key over the file's value. `from` is what the user typed, for messages ("--eta"). Later
   overrides of the same key win. */
typedef struct config_override {
  const char *key; /* "section.key" */
  const char *value;
  const char *from;
} config_override;

/* Reads a run file: the name of a built-in configuration, or a path (anything with a '/' or a '.').
   Every error names the file and line (or the override) and the key: PHIBAL_ERROR_IO (unreadable),
   PHIBAL_ERROR_FORMAT (not YAML, unknown, repeated, missing or ill-typed key),
   PHIBAL_ERROR_ARGUMENT (out of range, or conflicts with another key). */
phibal_status run_config_load(const char *name, const config_override *overrides, size_t n,
                              run_config *config);
/* The same from a text; `origin` stands for the file in messages and gives config its name. */
phibal_status run_config_parse(const char *text, const char *origin,
                               const config_override *overrides, size_t n, run_config *config);

/* Writes every key with its value, so that run_config_parse gives the same bits back. */
void run_config_write(const run_config *config, FILE *to);
/* Writes a file, atomically. PHIBAL_ERROR_IO, PHIBAL_ERROR_MEMORY. */
phibal_status run_config_save(const run_config *config, const char *path);
/* The value of one key as run_config_write writes it. */
void run_config_format(const run_config *config, const config_key *key, char *text, size_t size);
/* The schema as the rows of a Markdown table. */
void config_keys_write(FILE *to);

/* The files of moe/configs, compiled in. */
typedef struct builtin_config {
  const char *name, *text;
} builtin_config;
extern const builtin_config builtin_configs[];
extern const size_t builtin_configs_count;
const char *const *builtin_config_names(void); /* ended by null */

#endif
