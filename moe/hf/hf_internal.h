/* What the files of hf share. */
#ifndef PHIBAL_MOE_HF_INTERNAL_H
#define PHIBAL_MOE_HF_INTERNAL_H

#include "hf.h"
#include "formats/file.h"
#include <jansson.h>

#define HF_OLMOE 1u
#define HF_MIXTRAL 2u
#define HF_QWEN3 4u
#define HF_DEEPSEEK 8u
#define HF_DEEPSEEK2 16u
#define HF_DEEPSEEK3 32u
#define HF_DOTS1 64u
#define HF_GLM4 128u
#define HF_GLM4_LITE 256u
#define HF_QWEN2 512u
#define HF_MINIMAX 1024u
#define HF_FLEX 2048u
#define HF_GPT_OSS 4096u
#define HF_ERNIE 8192u
#define HF_ALL 16383u
#define HF_ALL_DEEPSEEK (HF_DEEPSEEK | HF_DEEPSEEK2 | HF_DEEPSEEK3)
#define HF_LATENT (HF_DEEPSEEK2 | HF_DEEPSEEK3 | HF_GLM4_LITE)
/* With groups of experts and a factor of the gates, in keys of DeepSeek's names. */
#define HF_GROUPED (HF_LATENT | HF_DOTS1 | HF_GLM4)

extern const hf_architecture hf_architectures[];
extern const int hf_architecture_count;

/* Architectures that have been looked at, and what a model lacks to compute them. */
typedef struct hf_foreign {
  const char *model_types, *name, *lacks; /* types apart by spaces */
} hf_foreign;
extern const hf_foreign hf_foreigners[];
extern const int hf_foreigner_count;

/* hf_keys.c: gives a config.json of an architecture the keys that it leaves out, with their
   defaults. PHIBAL_ERROR_FORMAT: one that there has to be; PHIBAL_ERROR_UNSUPPORTED: a value that
   phibal has no equal of, or a key that it does not know and that is not in `ignored`; with `all`
   (may be null) the messages of these are appended there and it goes on. */
phibal_status hf_keys_complete(json_t *json, const char *path, const hf_architecture *architecture,
                               const char *ignored, string_list *all);
/* Whether `name` is in a list whose names are apart by separators. */
bool hf_is_listed(const char *list, const char *name, char separator);
/* Whether the architecture has a key that is read. */
bool hf_keys_reads(const hf_architecture *architecture, const char *name);
/* The other direction, of keys that always have the same value. */
void hf_keys_make_fixed(unsigned flag, json_t *json);

/* hf_config.c: a whole config.json, `path` standing for it in messages; `ignored` as
   hf_config_read has it. */
phibal_status hf_config_parse(const json_t *json, const char *path, const char *ignored,
                              hf_config *config);
/* The other direction; the reader decides whether it says all of `c`. */
json_t *hf_config_make(const hf_architecture *architecture, const model_config *c);

/* hf_rope.c: rope_parameters, or rope_theta and rope_scaling, and back. */
phibal_status hf_rope_parse(const json_t *json, const char *path,
                            const hf_architecture *architecture, model_config *c);
/* The value of a key that is said in the object of rotary positions, or beside it; null: nowhere.
   PHIBAL_ERROR_UNSUPPORTED: both, and not the same. */
phibal_status hf_rope_find(const json_t *json, const char *path, const char *key,
                           const json_t **value);
void hf_rope_make(const hf_architecture *architecture, const model_config *c, json_t *json);

/* hf_read.c: the numbers of a tensor of a type that hf_reads. */
void hf_numbers(const safetensors_tensor *from, float *to);

/* hf_json.c: values of an object's keys. A missing key or null leaves *value as it is where it is
   not `required`. */
phibal_status hf_json_integer(const json_t *json, const char *path, const char *key, bool required,
                              int32_t *value);
phibal_status hf_json_real(const json_t *json, const char *path, const char *key, bool required,
                           float *value);
phibal_status hf_json_boolean(const json_t *json, const char *path, const char *key, bool *value);
phibal_status hf_json_read(const char *path, json_t **json);
/* Into folder/name, whole or not at all. */
phibal_status hf_json_write(const char *folder, const char *name, const json_t *json);
/* For messages: any value, null too, as JSON in ASCII without control characters, cut to fit. */
enum { HF_SHOWN = 81 };
const char *hf_json_show(const json_t *value, char text[HF_SHOWN]);
const char *hf_json_show_text(const char *value, char text[HF_SHOWN]);

/* hf_write.c: PHIBAL_ERROR_ARGUMENT for a folder with anything in it. */
phibal_status hf_folder_create(const char *folder);

#endif
