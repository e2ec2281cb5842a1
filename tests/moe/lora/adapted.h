/* A fixture's model with the fixture's adapters, beside what torch computed with both. */
#ifndef PHIBAL_TESTS_HUGGINGFACE_ADAPTED_H
#define PHIBAL_TESTS_HUGGINGFACE_ADAPTED_H

#include "moe/lora/lora.h"
#include "tests/moe/hf/parity.h"

#define ADAPTED_PREFIX "base_model.model."
enum { ADAPTED_CASES = 2 };

typedef struct adapted {
  parity p;
  safetensors_file file, expected; /* the adapters; logits and gradients with them */
  lora l;
} adapted;

/* The factors are the fixture's, not yet applied. */
void adapted_open(int i, adapted *t);
void adapted_close(adapted *t);
/* The tensor of a factor, which has to be there. */
const safetensors_tensor *adapted_named(const safetensors_file *file, const char *prefix,
                                        const model_tensor *tensor);
/* The logits of an evaluation against those with adapters. */
double adapted_logits_off(adapted *t);

#endif
