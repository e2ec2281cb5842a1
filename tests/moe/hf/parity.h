/* A model of a Hugging Face fixture beside what transformers computed with it (make_fixtures.py).
 */
#ifndef PHIBAL_TESTS_HUGGINGFACE_PARITY_H
#define PHIBAL_TESTS_HUGGINGFACE_PARITY_H

#include "moe/hf/hf.h"

enum { PARITY_BATCH = 2, PARITY_SEQUENCE = 12, PARITY_TOKENS = PARITY_BATCH * PARITY_SEQUENCE };

typedef struct parity {
  char folder[512];
  hf_checkpoint checkpoint;
  safetensors_file expected;
  model_config config; /* of the model: the checkpoint's, with the fixture's sequence */
  model *m;
} parity;

/* How far the model is off, as parts of the largest number of the same kind in transformers':
   logits a position, gates a token, gradients a tensor. */
typedef struct parity_errors {
  double logits, loss, router_logits, gates, gradients;
  int32_t other_experts; /* slots with another expert */
  char worst[96];        /* the tensor with the largest error of its gradient */
} parity_errors;

extern const char *const parity_names[];
extern const int parity_count;

void parity_folder(const char *name, char folder[512]);
/* Opens a fixture and its model; `change`, which may be null, alters the configuration first: a
   mistake that a reader could make, without another shape. */
void parity_open(const char *name, void (*change)(model_config *config), parity *p);
/* The same of p->folder. */
void parity_open_folder(void (*change)(model_config *config), parity *p);
void parity_close(parity *p);
/* The tensor of a name, which has to be there. */
const model_tensor *parity_tensor(const model *m, const char *name);
/* max |a - b| / max |b|; infinite where an `a` is no number, or any is off where all b are 0. */
double parity_difference(int64_t n, const float *a, const float *b);
/* The largest difference at a position between the logits of the last call, and `wanted`
   [PARITY_TOKENS][vocabulary]. */
double parity_logits_difference(const parity *p, const float *wanted);
/* The model's gradients of that batch. */
void parity_gradients(const parity *p, parity_errors *errors);
/* Runs a step of the fixture's batch without balancing loss. */
void parity_measure(parity *p, parity_errors *errors);

#endif
