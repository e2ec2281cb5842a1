/* Reading questions. */
#include "choices.h"
#include "formats/file.h"
#include "formats/text_limits.h"
#include <stdlib.h>
#include <string.h>

typedef struct place {
  const char *path;
  int32_t line;
} place;

static phibal_status bad(const place *at, const char *key, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: \"%s\" %s", at->path, at->line, key, what);
}

static phibal_status memory_error(const place *at) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s:%d: out of memory", at->path, at->line);
}

/* An index, as a number, as its digits, or as a letter from A. */
static phibal_status read_answer(const place *at, const json_t *json, const char *key,
                                 choice_question *q) {
  const json_t *value = json_object_get(json, key);
  const char *text = json_string_value(value);
  long long index = -1;
  if (json_is_integer(value))
    index = json_integer_value(value);
  else if (text && *text >= '0' && *text <= '9' && !text[1])
    index = *text - '0';
  else if (text && *text >= 'A' && *text <= 'Z' && !text[1])
    index = *text - 'A';
  if (index < 0 || index >= q->options) return bad(at, key, "names none of the options");
  q->answer = (int32_t)index;
  return PHIBAL_OK;
}

static phibal_status read_options(const place *at, const json_t *json, const char *key,
                                  const char **option, int32_t *count) {
  const json_t *list = json_object_get(json, key);
  const size_t n = json_array_size(list);
  if (n < 2 || n > CHOICES_MAX) return bad(at, key, "is not a list of 2 to 26 options");
  for (size_t i = 0; i < n; i++)
    if (!(option[i] = json_string_value(json_array_get(list, i))))
      return bad(at, key, "has an element that is not a string");
  *count = (int32_t)n;
  return PHIBAL_OK;
}

static phibal_status read_endings(const place *at, const json_t *json, choice_question *q) {
  const char *context = json_string_value(json_object_get(json, "ctx")), *ending[CHOICES_MAX];
  if (!context) return bad(at, "ctx", "is no text");
  phibal_status status = read_options(at, json, "endings", ending, &q->options);
  if (!status) status = read_answer(at, json, "label", q);
  if (status) return status;
  q->context = strdup(context);
  bool whole = q->context;
  for (int32_t i = 0; i < q->options; i++)
    whole &= (q->option[i] = string_format(" %s", ending[i])) != NULL;
  return whole ? PHIBAL_OK : memory_error(at);
}

/* The question, its options behind their letters, and the word that the letter follows. */
static phibal_status make_exam(const place *at, const char *question, const char *const *option,
                               const char *word, const char *space, choice_question *q) {
  text_buffer text = {0};
  phibal_status status = text_buffer_string(&text, question);
  for (int32_t i = 0; i < q->options && !status; i++) {
    const char mark[] = {'\n', (char)('A' + i), '.', ' '};
    status = text_buffer_append(&text, mark, sizeof mark);
    if (!status) status = text_buffer_string(&text, option[i]);
    q->option[i] = string_format("%s%c", space, 'A' + i);
    if (!q->option[i]) status = memory_error(at);
  }
  if (!status) status = text_buffer_string(&text, "\n");
  if (!status) status = text_buffer_string(&text, word);
  if (!status) status = text_buffer_append(&text, "", 1);
  q->context = text.bytes;
  return status;
}

static phibal_status read_exam(const place *at, const json_t *json, choice_question *q) {
  const char *question = json_string_value(json_object_get(json, "question"));
  const char *option[CHOICES_MAX];
  if (!question) return bad(at, "question", "is no text");
  if (json_object_get(json, "choices")) {
    phibal_status status = read_options(at, json, "choices", option, &q->options);
    if (!status) status = read_answer(at, json, "answer", q);
    return status ? status : make_exam(at, question, option, "Answer:", " ", q);
  }
  for (q->options = 0; q->options < 4; q->options++) {
    const char key[] = {(char)('A' + q->options), 0};
    option[q->options] = json_string_value(json_object_get(json, key));
    if (!option[q->options]) return bad(at, key, "is no text");
  }
  phibal_status status = read_answer(at, json, "answer", q);
  return status ? status : make_exam(at, question, option, "答案：", "", q);
}

static phibal_status read_question(const place *at, const char *line, size_t bytes,
                                   choice_question *q) {
  json_error_t error;
  phibal_status status = text_line_within(at->path, at->line, bytes);
  json_t *json = status ? NULL : json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
  q->line = at->line;
  if (status) return status;
  if (!json)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: not JSON: %s", at->path, at->line,
                               error.text);
  else if (json_object_get(json, "endings"))
    status = read_endings(at, json, q);
  else if (json_object_get(json, "question"))
    status = read_exam(at, json, q);
  else
    status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s:%d: neither \"endings\" (as HellaSwag has) nor \"question\" (as "
                               "MMLU and C-Eval have)",
                               at->path, at->line);
  const char *subject = json_string_value(json_object_get(json, "subject"));
  if (!status && subject && !(q->subject = strdup(subject))) status = memory_error(at);
  json_decref(json);
  return status;
}

static phibal_status read_lines(const text_buffer *text, choice_file *file) {
  place at = {file->path, 0};
  size_t capacity = 0;
  for (size_t i = 0; i < text->count;) {
    const char *line = text->bytes + i, *end = memchr(line, '\n', text->count - i);
    const size_t bytes = end ? (size_t)(end - line) : text->count - i;
    i += bytes + 1;
    at.line++;
    if (strspn(line, " \t\r") >= bytes) continue;
    if ((size_t)file->count == capacity) {
      capacity = capacity ? 2 * capacity : 256;
      choice_question *grown = realloc(file->questions, capacity * sizeof *grown);
      if (!grown) return memory_error(&at);
      file->questions = grown;
    }
    choice_question *q = &file->questions[file->count++];
    *q = (choice_question){0};
    phibal_status status = read_question(&at, line, bytes, q);
    if (status) return status;
  }
  return file->count ? PHIBAL_OK
                     : phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: holds no question", file->path);
}

phibal_status choices_read(const char *path, choice_file *file) {
  *file = (choice_file){.path = strdup(path)};
  text_buffer text = {0};
  phibal_status status = file->path ? file_read_all(path, &text) : memory_error(&(place){path, 0});
  /* A zero ends the last line, so that nothing looks beyond it. */
  if (!status) status = text_buffer_append(&text, "", 1);
  if (!status) text.count--;
  if (!status) status = read_lines(&text, file);
  text_buffer_free(&text);
  if (status) choices_close(file);
  return status;
}

void choices_close(choice_file *file) {
  for (int64_t i = 0; i < file->count; i++) {
    choice_question *q = &file->questions[i];
    for (int32_t o = 0; o < CHOICES_MAX; o++) free(q->option[o]);
    free(q->context);
    free(q->subject);
  }
  free(file->questions);
  free(file->path);
  *file = (choice_file){0};
}
