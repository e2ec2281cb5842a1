/* Writes a model as a folder that transformers loads. */
#ifndef PHIBAL_MOE_HF_WRITE_H
#define PHIBAL_MOE_HF_WRITE_H

#include "moe/hf/hf.h"

typedef enum hf_dtype { HF_FLOAT32, HF_BFLOAT16 } hf_dtype;

typedef struct hf_save_options {
  /* A Hugging Face folder of the same model: its config.json is taken, with another dtype, and the
     files beside it that are neither weights nor folders, such as its tokenizer. Null: config.json
     is made from the options of the model. */
  const char *like;
  const char *ignored; /* of that config.json: hf_config_read */
  int32_t positions;   /* without `like`: max_position_embeddings; 0: the model's sequence */
  hf_dtype dtype;      /* BF16 rounds to nearest, ties to even; the selection bias stays F32 */
  int64_t shard_bytes; /* of tensors in a file; larger tensors get one of their own */
} hf_save_options;

/* Writes a folder, which must not be there or be empty; config.json comes last. The architecture is
   the first of the table that can say all of `config`. PHIBAL_ERROR_UNSUPPORTED names the options
   that stand in the way where none can; PHIBAL_ERROR_ARGUMENT those in which `like` is another
   model. */
phibal_status hf_save(const char *folder, const model_config *config, model *m,
                      const hf_save_options *options);

#endif
