#include "mixture.h"
#include "sampler.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the order of the data");
}

static phibal_status add_stretch(mixture_part *p, int32_t sequence, mixture_stretch s) {
  const int64_t targets = s.end - s.start - 1;
  if (targets < 1) return PHIBAL_OK;
  /* Capacity grows by doubling. */
  if (!(p->stretches & (p->stretches - 1))) {
    const size_t room = p->stretches ? 2 * (size_t)p->stretches : 1;
    mixture_stretch *more = realloc(p->stretch, room * sizeof *more);
    if (!more) return memory_error();
    p->stretch = more;
  }
  s.windows = p->windows;
  p->stretch[p->stretches++] = s;
  p->windows += (targets + sequence - 1) / sequence;
  return PHIBAL_OK;
}

bool mixture_pack(const token_file *file, int64_t last, int32_t sequence, int64_t *document,
                  mixture_examples *counts, int64_t *start, int64_t *end) {
  const token_document *t = file->table;
  for (; *document < last && t[*document].length > sequence; (*document)++) counts->left_out++;
  if (*document == last) return false;
  *start = *end = t[*document].start;
  for (; *document < last && *end + t[*document].length - *start <= sequence; (*document)++) {
    *end += t[*document].length;
    counts->examples++;
  }
  counts->windows++;
  counts->tokens += *end - *start;
  return true;
}

/* Documents first .. last - 1 of a shard: a stretch, or examples. */
static phibal_status add_documents(mixture_part *p, const corpus *c, int32_t shard, int64_t first,
                                   int64_t last, int32_t sequence) {
  const token_file *file = &c->shard[shard];
  const token_document *end = &file->table[last - 1];
  mixture_stretch s = {
      .shard = shard, .start = file->table[first].start, .end = end->start + end->length};
  if (!file->learned) return add_stretch(p, sequence, s);
  phibal_status status = PHIBAL_OK;
  while (!status && mixture_pack(file, last, sequence, &first, &p->examples, &s.start, &s.end))
    status = add_stretch(p, sequence, s);
  return status;
}

/* The weights of the domains; 0: not used. */
static phibal_status read_weights(const corpus *c, const char *text, double *weight) {
  for (const char *at = text; *at; at += *at == ',') {
    const size_t n = strcspn(at, ",");
    const char *equals = memchr(at, '=', n);
    const size_t name = equals ? (size_t)(equals - at) : n;
    int32_t d = 0;
    while (d < c->domains && (strlen(c->domain[d]) != name || memcmp(c->domain[d], at, name))) d++;
    char *end = NULL;
    errno = 0;
    const double value = equals ? strtod(equals + 1, &end) : 0;
    if (!equals || end != at + n || equals + 1 == end || !(value > 0) || !isfinite(value))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%.*s': expected DOMAIN=WEIGHT, a number above 0", (int)n, at);
    if (d == c->domains)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%.*s': the data have no such domain; the first of their %d is "
                               "'%s'",
                               (int)name, at, c->domains, c->domain[0]);
    if (weight[d] > 0)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%.*s': the domain has two weights",
                               (int)name, at);
    weight[d] = value;
    at += n;
  }
  return PHIBAL_OK;
}

/* Appends runs of documents of one domain to that domain's part. */
static phibal_status split_domains(const corpus *c, int32_t sequence, mixture_part *parts) {
  for (int32_t s = 0; s < c->shards; s++) {
    const token_file *file = &c->shard[s];
    for (int64_t d = 0; d < file->documents;) {
      const int32_t of = file->table[d].domain;
      const int64_t first = d;
      while (d < file->documents && file->table[d].domain == of) d++;
      phibal_status status = add_documents(&parts[c->domain_of[s][of]], c, s, first, d, sequence);
      if (status) return status;
    }
  }
  return PHIBAL_OK;
}

/* Drops the parts without weight, and normalises the weights. */
static phibal_status keep_weighted(mixture *m, const double *weight) {
  double sum = 0;
  int32_t kept = 0;
  for (int32_t d = 0; d < m->corpus->domains; d++) sum += weight[d];
  for (int32_t d = 0; d < m->corpus->domains; d++) {
    mixture_part *p = &m->part[d];
    if (!(weight[d] > 0)) {
      free(p->stretch);
      *p = (mixture_part){0};
      continue;
    }
    if (!p->windows)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               p->examples.left_out
                                   ? "domain '%s': every example is longer than model.sequence"
                                   : "domain '%s' has no target",
                               m->corpus->domain[d]);
    p->weight = weight[d] / sum;
    m->part[kept++] = *p;
    if (kept <= d) *p = (mixture_part){0};
  }
  m->parts = kept;
  return PHIBAL_OK;
}

static phibal_status cut(mixture *m, const char *weights) {
  const corpus *c = m->corpus;
  const int32_t parts = *weights ? c->domains : 1;
  m->part = calloc((size_t)parts, sizeof *m->part);
  if (!m->part) return memory_error();
  m->parts = parts;
  phibal_status status = PHIBAL_OK;
  if (!*weights) {
    m->part->weight = 1;
    for (int32_t s = 0; s < c->shards && !status; s++)
      status = add_documents(m->part, c, s, 0, c->shard[s].documents, m->sequence);
    if (!status && !m->part->windows && m->part->examples.left_out)
      status =
          phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                            "every example is longer than %d tokens (model.sequence)", m->sequence);
    else if (!status && !m->part->windows)
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "the data have no target");
    return status;
  }
  double *weight = calloc((size_t)c->domains, sizeof *weight);
  status = weight ? read_weights(c, weights, weight) : memory_error();
  if (!status) status = split_domains(c, m->sequence, m->part);
  if (!status) status = keep_weighted(m, weight);
  free(weight);
  return status;
}

phibal_status mixture_create(const corpus *c, int32_t sequence, uint64_t seed, const char *weights,
                             bool boundaries, mixture *m) {
  *m = (mixture){.corpus = c, .sequence = sequence, .seed = seed, .boundaries = boundaries};
  if (sequence < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "sequence length %d: must be at least 1",
                             sequence);
  phibal_status status = cut(m, weights);
  for (int32_t i = 0; i < m->parts; i++) {
    const mixture_examples *e = &m->part[i].examples;
    m->examples.windows += e->windows;
    m->examples.examples += e->examples;
    m->examples.tokens += e->tokens;
    m->examples.left_out += e->left_out;
  }
  m->apart = boundaries || m->examples.windows;
  if (status) mixture_destroy(m);
  return status;
}

phibal_status mixture_change(mixture *m, int64_t from, const char *weights) {
  for (int32_t s = 0; s < m->corpus->shards; s++)
    if (m->corpus->shard[s].learned)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "a change of the mixture is not for files of examples: '%s'",
                               m->corpus->path[s]);
  mixture *changed = malloc(sizeof *changed);
  if (!changed) return memory_error();
  phibal_status status =
      mixture_create(m->corpus, m->sequence, m->seed, weights, m->boundaries, changed);
  if (status) {
    free(changed);
    return status;
  }
  m->change = from;
  m->changed = changed;
  return PHIBAL_OK;
}

void mixture_destroy(mixture *m) {
  if (m->changed) mixture_destroy(m->changed);
  free(m->changed);
  for (int32_t i = 0; i < m->parts; i++) free(m->part[i].stretch);
  free(m->part);
  *m = (mixture){0};
}

/* The part of sequence m->next. */
static mixture_part *choose(mixture *m) {
  mixture_part *best = m->part;
  double most = -HUGE_VAL;
  for (int32_t i = 0; i < m->parts; i++) {
    const double lack = m->part[i].weight * (double)(m->next + 1) - (double)m->part[i].taken;
    if (lack > most) most = lack, best = &m->part[i];
  }
  m->next++;
  best->taken++;
  return best;
}

void mixture_window(const token_file *file, int64_t at, int64_t end, int32_t sequence,
                    bool boundaries, int32_t *tokens, int32_t *targets, int32_t *starts) {
  boundaries |= file->learned != NULL;
  int64_t document = boundaries ? token_file_document(file, at) : 0;
  int64_t next = boundaries ? file->table[document].start + file->table[document].length : end;
  int32_t start = 0;
  for (int32_t i = 0; i < sequence; i++) {
    const int64_t t = at + i;
    if (boundaries && t < end && t == next) {
      start = i;
      next += file->table[++document].length;
    }
    tokens[i] = t < end ? token_file_at(file, t) : -1;
    const bool follows = t + 1 < end && !(boundaries && t + 1 == next);
    targets[i] = follows && token_file_learned(file, t + 1) ? token_file_at(file, t + 1) : -1;
    if (starts) starts[i] = start;
  }
}

void mixture_sequence(mixture *m, int64_t index, int32_t *tokens, int32_t *targets,
                      int32_t *starts) {
  if (m->changed && index >= m->change) {
    mixture_sequence(m->changed, index - m->change, tokens, targets, starts);
    return;
  }
  if (index < m->next) {
    m->next = 0;
    for (int32_t i = 0; i < m->parts; i++) m->part[i].taken = 0;
  }
  while (m->next < index) choose(m);
  const mixture_part *p = choose(m);
  const int64_t window = sampler_shuffled(m->seed, p->taken - 1, p->windows);
  int64_t low = 0, high = p->stretches; /* stretch[low].windows <= window < stretch[high].windows */
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (p->stretch[middle].windows <= window)
      low = middle;
    else
      high = middle;
  }
  const mixture_stretch *s = &p->stretch[low];
  mixture_window(&m->corpus->shard[s->shard], s->start + (window - s->windows) * m->sequence,
                 s->end, m->sequence, m->boundaries, tokens, targets, starts);
}
