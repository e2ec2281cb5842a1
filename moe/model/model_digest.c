/* What a model is, in one number. */
#include "model_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_PIECE = 1 << 18, DIGEST_NAME = 96 };

/* Something with a name whose numbers are a part of the digest. */
typedef struct digest_part {
  char name[DIGEST_NAME];
  int32_t dimensions;
  int64_t shape[3];
  const float *data;
  const model_tensor *tensor; /* null: every rank has it */
} digest_part;

static int by_name(const void *a, const void *b) {
  return strcmp(((const digest_part *)a)->name, ((const digest_part *)b)->name);
}

/* In order of their names, and m after them. */
static int32_t list_parts(const model *m, digest_part *parts) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->tensor_count; i++) {
    const model_tensor *t = &m->tensors[i];
    digest_part *p = &parts[n++];
    *p = (digest_part){.dimensions = t->dimensions,
                       .shape = {t->whole, t->shape[1], t->shape[2]},
                       .data = m->parameters + t->offset,
                       .tensor = t};
    snprintf(p->name, sizeof p->name, "%s", t->name);
  }
  if (model_has_bias(&m->config, m->balance.method))
    for (int32_t i = 0; i < m->moe_layers; i++) {
      digest_part *p = &parts[n++];
      *p = (digest_part){.dimensions = 1,
                         .shape = {m->config.experts, 1, 1},
                         .data = m->bias + (int64_t)i * m->config.experts};
      snprintf(p->name, sizeof p->name, "model.layers.%d.mlp.gate.e_score_correction_bias",
               (int)(m->config.dense_layers + i));
    }
  qsort(parts, (size_t)n, sizeof *parts, by_name);
  if (m->moe_layers)
    parts[n++] = (digest_part){.name = "balance.m",
                               .dimensions = 2,
                               .shape = {m->moe_layers, m->config.experts, 1},
                               .data = m->m};
  return n;
}

/* Bytes from the lowest up, whatever the processor's order. */
static void add_word(sha256 *h, uint64_t word, int bytes) {
  uint8_t to[8];
  for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(word >> (8 * i));
  sha256_add(h, to, (size_t)bytes);
}

static void add_numbers(sha256 *h, const float *x, int64_t n) {
  uint8_t to[4096];
  for (int64_t at = 0; at < n; at += 1024) {
    const int64_t count = n - at < 1024 ? n - at : 1024;
    for (int64_t i = 0; i < count; i++) {
      uint32_t word;
      memcpy(&word, x + at + i, sizeof word);
      for (int b = 0; b < 4; b++) to[4 * i + b] = (uint8_t)(word >> (8 * b));
    }
    sha256_add(h, to, (size_t)(4 * count));
  }
}

phibal_status model_digest(const model *m, const model_gathering *gathering,
                           char digest[SHA256_TEXT]) {
  digest_part *parts = calloc((size_t)(m->tensor_count + m->moe_layers) + 1, sizeof *parts);
  float *piece = malloc(DIGEST_PIECE * sizeof *piece);
  phibal_status status = PHIBAL_OK;
  if (parts && piece) {
    sha256 h;
    sha256_begin(&h);
    const int32_t count = list_parts(m, parts);
    for (int32_t i = 0; i < count; i++) {
      const digest_part *p = &parts[i];
      sha256_add(&h, p->name, strlen(p->name) + 1);
      add_word(&h, (uint64_t)p->dimensions, 8);
      int64_t elements = 1;
      for (int32_t d = 0; d < p->dimensions; d++) {
        add_word(&h, (uint64_t)p->shape[d], 8);
        elements *= p->shape[d];
      }
      for (int64_t at = 0; at < elements; at += DIGEST_PIECE) {
        const int64_t n = elements - at < DIGEST_PIECE ? elements - at : DIGEST_PIECE;
        const bool gathered = gathering && p->tensor;
        if (gathered) gathering->gather(gathering->context, p->tensor, at, n, piece);
        add_numbers(&h, gathered ? piece : p->data + at, n);
      }
    }
    sha256_end(&h, digest);
  } else {
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the digest of the model");
  }
  free(parts);
  free(piece);
  return status;
}
