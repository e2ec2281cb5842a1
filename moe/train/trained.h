/* A model that was trained, wherever it lies: a run's folder, of which the newest whole checkpoint
   is taken, one checkpoint's folder, one with model.safetensors and config.yaml alone, or a Hugging
   Face model's. */
#ifndef PHIBAL_MOE_TRAINED_H
#define PHIBAL_MOE_TRAINED_H

#include "checkpoint.h"
#include "moe/hf/hf.h"

/* All zeros is a closed one. */
typedef struct trained {
  checkpoint checkpoint; /* closed for a Hugging Face model */
  hf_checkpoint hf;      /* closed for a run's */
  run_config config; /* a Hugging Face model's: its own options, one sequence at once, no data */
  char *
      skipped_checkpoints; /* why newer checkpoints do not open, one a line; never null when open */
} trained;

/* With sequence > 0, the model reads so many tokens at once; else as many as it was trained with,
   and of a Hugging Face model as many as its positions, at most TRAINED_SEQUENCE. `ignored` is that
   of hf_config_read. Errors are those of checkpoint_open and hf_open; PHIBAL_ERROR_IO for what is
   neither. On failure *t is closed. */
enum { TRAINED_SEQUENCE = 2048 };
phibal_status trained_open(const char *path, int32_t sequence, const char *ignored, trained *t);
/* Creates the model for so many sequences at once, with its weights and no balancing loss. */
phibal_status trained_model(const trained *t, int32_t batch, model **created);
/* Adds adapters of PEFT (lora.h), which are for Hugging Face models and runs that began with one.
 */
phibal_status trained_merge(const trained *t, const char *adapters, model *m);

/* The positions that the model can be used with: max_position_embeddings of the Hugging Face model
   that it is or that it began with, perhaps through other runs, or the longest sequence of those
   runs that it was trained with. PHIBAL_ERROR_IO: one of them is not there. */
phibal_status trained_positions(const trained *t, int32_t *positions);

/* training.from. A run's folder becomes that of its newest whole checkpoint, so that a run which is
   begun again has the weights that it had; *is_phibal is whether it is phibal's, and
   *skipped_checkpoints as checkpoint_newest has it (to be freed; null where no run was looked
   into). */
phibal_status trained_settle(char path[CONFIG_TEXT_MAX], bool *is_phibal,
                             char **skipped_checkpoints);
/* Gives m, created with `config` and divided over ranks or not (null), the weights of
   config->training.from, and the selection's bias where that has one and m too.
   PHIBAL_ERROR_ARGUMENT names the first key in which a phibal model is another one. */
phibal_status trained_begin(const run_config *config, model *m, const sharding *divided);
void trained_close(trained *t);

#endif
