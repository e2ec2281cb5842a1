/* Models in the layout of Hugging Face transformers: config.json beside one or several safetensors
   files. Read, trained further, and written so that transformers loads them.

   An architecture is a row of a table (hf_internal.h) over the options of model_config: nothing in
   the model itself knows one. What a config.json asks for and no option covers is refused by name,
   and so is a tensor that the model has no place for, or misses. */
#ifndef PHIBAL_MOE_HF_H
#define PHIBAL_MOE_HF_H

#include "hf_architecture.h"
#include "formats/file.h"
#include "formats/safetensors.h"

/* What a config.json says. model.sequence is its max_position_embeddings. */
typedef struct hf_config {
  const hf_architecture *architecture;
  model_config model;
  int32_t block[2];          /* rows and columns that share a scale in FP8 weights; 0: none are */
  bool packed;               /* the experts' matrices are MXFP4 */
  int32_t prediction_layers; /* of multi-token prediction, after the model's own layers */
} hf_config;

/* A checkpoint whose files are open. All zeros is a closed one. */
typedef struct hf_checkpoint {
  char *folder;
  hf_config config;
  int32_t files;
  safetensors_file *file; /* [files] */
} hf_checkpoint;

/* Whether a folder has a config.json. */
bool hf_is_checkpoint(const char *folder);

/* Reads folder/config.json. `ignored` (null: none) names, with commas between, the keys that may be
   there although phibal does not know them. PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT (not JSON; a key
   that is missing or ill-typed), PHIBAL_ERROR_UNSUPPORTED (an architecture or a value that phibal
   has no equal of): the message names the file and the key. */
phibal_status hf_config_read(const char *folder, const char *ignored, hf_config *config);

/* The same, to say all that stands in the way: *reasons gets the messages of keys that are refused,
   one by one, and of the first other error; none: hf_config_read has the same config. An
   architecture of null: none that phibal has. An error is that of reading the file. */
phibal_status hf_config_explain(const char *folder, const char *ignored, hf_config *config,
                                string_list *reasons);

/* Opens config.json and the weights: model.safetensors, or the files that
   model.safetensors.index.json lists. On failure *c is closed. */
phibal_status hf_open(const char *folder, const char *ignored, hf_checkpoint *c);
/* Accepts a closed one. */
void hf_close(hf_checkpoint *c);

/* Sets the parameters of m, and its selection bias, which was created with `config`: c's own, or
   one that differs from it in nothing that has a shape. F32, BF16 and F16 are read, and F8_E4M3
   with a scale for each block, which it is multiplied by, and MXFP4 of gpt-oss. The experts of a
   layer are read one by one, or from the two tensors that transformers 5 has them in. Tensors of
   multi-token prediction are left out, with a line on stderr. PHIBAL_ERROR_FORMAT names the first
   tensor that is missing, of another shape, there twice, or unknown; PHIBAL_ERROR_UNSUPPORTED one
   of another type. Then m's parameters are unspecified. */
phibal_status hf_restore(const hf_checkpoint *c, const model_config *config, model *m);

/* Whether numbers of this type are read without more: F32, BF16 and F16. */
bool hf_reads(safetensors_dtype type);
/* Whether numbers of this type are read in weights of c. */
bool hf_reads_weights(const hf_checkpoint *c, safetensors_dtype type);
/* The tensors of multi-token prediction. */
int64_t hf_prediction_tensors(const hf_checkpoint *c);

/* Opens, restores, closes. */
phibal_status hf_load(const char *folder, const char *ignored, const model_config *config,
                      model *m);

/* "OlmoeForCausalLM, ..." */
void hf_architectures_list(char *text, size_t size);

#endif
