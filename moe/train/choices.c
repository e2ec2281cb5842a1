#include "choices.h"
#include "formats/json_text.h"
#include "formats/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

phibal_status choices_encode(const tokenizer *t, const char *context, const char *option,
                             int32_t sequence, int32_t *tokens, int32_t *targets, int32_t *first,
                             int32_t *end, bool *cut) {
  token_buffer before = {0}, whole = {0};
  char *text = string_format("%s%s", context, option);
  phibal_status status = text ? tokenizer_encode(t, context, strlen(context), &before)
                              : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a question");
  if (!status) status = tokenizer_encode(t, text, strlen(text), &whole);
  free(text);
  if (!status && whole.count <= before.count)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "the option '%.40s' has no token of its own",
                               option);
  const size_t own = status ? 0 : whole.count - before.count;
  if (!status && own > (size_t)sequence)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "the option '%.40s' has %zu tokens, the model reads %d", option, own,
                               sequence);
  if (!status) {
    /* Position p of the model reads token p - 1 of the text, the first one an end of document. */
    const size_t skipped = whole.count > (size_t)sequence ? whole.count - (size_t)sequence : 0;
    const int32_t n = (int32_t)(whole.count - skipped);
    for (int32_t i = 0; i < sequence; i++) {
      const size_t at = skipped + (size_t)i;
      tokens[i] = i >= n ? -1 : at ? (int32_t)whole.ids[at - 1] : t->end_of_document;
      targets[i] = i < n ? (int32_t)whole.ids[at] : -1;
    }
    *end = n;
    *first = n - (int32_t)own;
    *cut = skipped > 0;
  }
  token_buffer_free(&before);
  token_buffer_free(&whole);
  return status;
}

typedef struct tally {
  const char *subject;
  int64_t questions, right, right_per_byte, cut;
} tally;

static int32_t best(const choice_likelihood *all, int32_t n, bool per_byte) {
  int32_t chosen = 0;
  double most = 0;
  for (int32_t i = 0; i < n; i++) {
    const double value = per_byte ? all[i].sum / (double)all[i].bytes : all[i].sum;
    if (!i || value > most) most = value, chosen = i;
  }
  return chosen;
}

static void count(tally *to, const choice_question *q, const choice_likelihood *found, bool cut) {
  to->questions++;
  to->right += best(found, q->options, false) == q->answer;
  to->right_per_byte += best(found, q->options, true) == q->answer;
  to->cut += cut;
}

static json_t *tally_json(const tally *t) {
  const double n = (double)t->questions, accuracy = (double)t->right / n;
  return json_pack("{s:I, s:f, s:f, s:f, s:I}", "questions", (json_int_t)t->questions, "accuracy",
                   accuracy, "accuracy_per_byte", (double)t->right_per_byte / n, "standard_error",
                   sqrt(accuracy * (1 - accuracy) / n), "cut", (json_int_t)t->cut);
}

static void write_details(FILE *to, const choice_question *q, const choice_likelihood *found) {
  json_t *sums = json_array();
  for (int32_t i = 0; i < q->options; i++) json_array_append_new(sums, json_real(found[i].sum));
  json_t *line = json_pack("{s:i, s:i, s:i, s:o}", "line", q->line, "answer", q->answer, "chosen",
                           best(found, q->options, false), "log_likelihood", sums);
  json_dumpf(line, to, JSON_COMPACT | JSON_REAL_PRECISION(17));
  fputc('\n', to);
  json_decref(line);
}

/* A batch of options on their way through the model. */
typedef struct scorer {
  model *m;
  const tokenizer *t;
  int32_t sequence, batch, filled;
  int32_t *tokens, *targets;  /* [batch][sequence] */
  int32_t *first, *end;       /* [batch] */
  choice_likelihood **result; /* [batch] */
} scorer;

static phibal_status run_batch(scorer *s) {
  if (!s->filled) return PHIBAL_OK;
  model_losses losses;
  phibal_status status = model_evaluate(s->m, s->filled, s->tokens, s->targets, &losses, NULL);
  if (status) return status;
  const double *loss = model_position_losses(s->m);
  for (int32_t i = 0; i < s->filled; i++) {
    double sum = 0;
    for (int32_t p = s->first[i]; p < s->end[i]; p++) sum -= loss[(int64_t)i * s->sequence + p];
    s->result[i]->sum = sum;
  }
  s->filled = 0;
  return PHIBAL_OK;
}

static phibal_status add_option(scorer *s, const choice_question *q, int32_t option,
                                choice_likelihood *result, bool *cut) {
  const int32_t i = s->filled;
  const size_t at = (size_t)i * (size_t)s->sequence;
  bool option_cut = false;
  phibal_status status =
      choices_encode(s->t, q->context, q->option[option], s->sequence, s->tokens + at,
                     s->targets + at, &s->first[i], &s->end[i], &option_cut);
  if (status) return status;
  *cut |= option_cut;
  *result = (choice_likelihood){0, (int64_t)strlen(q->option[option])};
  s->result[i] = result;
  return ++s->filled == s->batch ? run_batch(s) : PHIBAL_OK;
}

static phibal_status find_tally(const char *subject, tally **tallies, size_t *n, tally **found) {
  for (size_t i = 0; i < *n; i++)
    if (!strcmp((*tallies)[i].subject, subject)) {
      *found = &(*tallies)[i];
      return PHIBAL_OK;
    }
  tally *grown = realloc(*tallies, (*n + 1) * sizeof *grown);
  if (!grown) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu subjects", *n + 1);
  *tallies = grown;
  *found = &grown[(*n)++];
  **found = (tally){.subject = subject};
  return PHIBAL_OK;
}

static phibal_status sum_up(const choice_file *file, const choice_likelihood *found,
                            const bool *cut, FILE *details, json_t **json) {
  tally all = {0}, *subjects = NULL;
  size_t n = 0;
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < file->count && !status; i++) {
    const choice_question *q = &file->questions[i];
    const choice_likelihood *its = found + i * CHOICES_MAX;
    count(&all, q, its, cut[i]);
    tally *subject = NULL;
    if (q->subject) status = find_tally(q->subject, &subjects, &n, &subject);
    if (subject) count(subject, q, its, cut[i]);
    if (details) write_details(details, q, its);
  }
  json_t *list = json_array();
  for (size_t i = 0; i < n && !status; i++) {
    json_t *entry = tally_json(&subjects[i]);
    json_object_set_new(entry, "subject", json_string(subjects[i].subject));
    json_array_append_new(list, entry);
  }
  free(subjects);
  if (status) {
    json_decref(list);
    return status;
  }
  *json = tally_json(&all);
  json_object_set_new(*json, "file", json_text(file->path));
  json_object_set_new(*json, "subjects", list);
  return PHIBAL_OK;
}

phibal_status choices_score(model *m, const model_config *config, const tokenizer *t,
                            const choice_file *file, int32_t batch, FILE *details, json_t **json) {
  const size_t n = (size_t)file->count, rows = (size_t)batch * (size_t)config->sequence;
  scorer s = {.m = m, .t = t, .sequence = config->sequence, .batch = batch};
  choice_likelihood *found = calloc(n * CHOICES_MAX, sizeof *found);
  bool *cut = calloc(n, sizeof *cut);
  s.tokens = malloc(rows * sizeof *s.tokens);
  s.targets = malloc(rows * sizeof *s.targets);
  s.first = malloc((size_t)batch * sizeof *s.first);
  s.end = malloc((size_t)batch * sizeof *s.end);
  s.result = malloc((size_t)batch * sizeof *s.result);
  phibal_status status = PHIBAL_OK;
  if (!found || !cut || !s.tokens || !s.targets || !s.first || !s.end || !s.result)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for its questions", file->path);
  for (size_t i = 0; i < n && !status; i++) {
    const choice_question *q = &file->questions[i];
    for (int32_t o = 0; o < q->options && !status; o++)
      status = add_option(&s, q, o, &found[i * CHOICES_MAX + (size_t)o], &cut[i]);
    if (status)
      phibal_status_set(status, "%s:%d: %s", file->path, q->line, phibal_status_message());
  }
  if (!status) status = run_batch(&s);
  if (!status) status = sum_up(file, found, cut, details, json);
  free(s.tokens), free(s.targets), free(s.first), free(s.end), free(s.result);
  free(found), free(cut);
  return status;
}
