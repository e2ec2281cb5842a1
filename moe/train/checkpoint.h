/* Checkpoints: the state of a run between two steps. Each is a folder

     RUN/checkpoints/step-000000000100/
       model.safetensors     the weights; under loss-free balancing also the bias, with its Hugging
   Face name training.safetensors  AdamW's moments and powers, m, the steps done, the sequences read
       config.yaml           the run file
       checkpoint.json       the length and CRC-32 of each of the three, the names, tokens and
                             checksums of the data, and the clocks so far

   that is written atomically: it is written and synced under a name with a leading dot, then
   renamed. The random number generator is counter-based (random.h, data/sampler.h), so the seed, in
   config.yaml, and the number of sequences read are its whole state. */
#ifndef PHIBAL_MOE_CHECKPOINT_H
#define PHIBAL_MOE_CHECKPOINT_H

#include "moe/config/config.h"
#include "moe/data/corpus.h"
#include "moe/lora/lora.h"
#include "result.h"
#include "formats/safetensors.h"
#include "sharding.h"
#include <jansson.h>

enum { CHECKPOINT_PATH_MAX = CONFIG_TEXT_MAX + 64 };

/* A checkpoint that is open: all its files have been read and agree with their checksums. */
typedef struct checkpoint {
  char path[CHECKPOINT_PATH_MAX];
  int64_t step; /* steps done */
  safetensors_file model, training;
  json_t *manifest;
} checkpoint;

/* What is saved, and restored in place. `config` is the run's. */
typedef struct checkpoint_state {
  const run_config *config;
  const corpus *train;
  const token_file *validation; /* of no tokens: none */
  model *model;
  optimizer *optimizer;
  run_totals *totals;
  lora *lora;               /* what `optimizer` updates; null: the model's weights */
  const sharding *sharding; /* where the model is divided over ranks; null: it is not */
} checkpoint_state;

/* Writes the checkpoint of totals->steps into run/checkpoints; one that is there under the same
   name is replaced. Then removes all but the newest `keep` >= 1. On failure (PHIBAL_ERROR_IO, a
   full disk for example) no older one is touched, and nothing of the new one stays. The caller
   holds the run's lock (run_folder.h). Where the model is divided every rank calls it; the first
   one writes what the others have, a few mebibytes at a time, so that the files do not depend on
   the division. */
phibal_status checkpoint_save(const char *run, const checkpoint_state *state, int64_t keep);

/* Opens one checkpoint's folder. PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT (truncated, corrupt, not a
   checkpoint: the message names the file). On failure *c is closed. */
phibal_status checkpoint_open(const char *path, checkpoint *c);
/* A folder of which only the weights are wanted: model.safetensors and config.yaml, checked against
   checkpoint.json where that is there too. c->step is -1, and c->training closed. */
phibal_status checkpoint_open_weights(const char *path, checkpoint *c);
/* The newest checkpoint of a run that opens. *skipped_checkpoints says why newer ones do not, one a
   line,
   "" if there is none (to be freed; null on failure). PHIBAL_ERROR_FORMAT if there are checkpoints
   and none opens; PHIBAL_OK with c->step = -1 if there is none at all. */
phibal_status checkpoint_newest(const char *run, checkpoint *c, char **skipped_checkpoints);
/* Accepts a closed one (all zeros). */
void checkpoint_close(checkpoint *c);

/* The run file inside, with overrides. */
phibal_status checkpoint_config(const checkpoint *c, const config_override *overrides, size_t n,
                                run_config *config);
/* PHIBAL_ERROR_ARGUMENT names the first key that a resumed run must leave as it was and `now` does
   not: all but threads, logs, evaluations, checkpoints, and where the data are. */
phibal_status checkpoint_config_continues(const run_config *then, const run_config *now);

/* "'data/train.tokens' of 1234 tokens, checksum ...", of "train" or "validation" as the run had
   them, cut to `size`; "" where the checkpoint does not say. */
void checkpoint_data_text(const checkpoint *c, const char *key, char *text, size_t size);
/* Whether the validation text is another than the run has been evaluated on. */
bool checkpoint_validation_changed(const checkpoint *c, const token_file *validation);

/* Weights and bias only. PHIBAL_ERROR_FORMAT names the first tensor that is missing, of another
   shape, or that the model has no place for; the model is then unspecified. */
phibal_status checkpoint_restore_model(const checkpoint *c, const run_config *config, model *m);
/* The same where the model is divided over ranks (null: it is not). */
phibal_status checkpoint_restore_divided(const checkpoint *c, const run_config *config, model *m,
                                         const sharding *divided);
/* Everything, totals included. Besides, PHIBAL_ERROR_ARGUMENT if the training data or the kernel of
   an external potential are not those of the checkpoint. */
phibal_status checkpoint_restore(const checkpoint *c, const checkpoint_state *state);

#endif
