#include "instructions.h"
#include "formats/text_limits.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
  const char *path;
  int64_t line; /* 0: none */
} place;

__attribute__((format(printf, 2, 3))) static phibal_status bad(const place *at, const char *format,
                                                               ...) {
  char what[256];
  va_list values;
  va_start(values, format);
  vsnprintf(what, sizeof what, format, values);
  va_end(values);
  for (char *c = what; *c; c++) /* a name out of the file may be anything */
    if ((unsigned char)*c < ' ') *c = '?';
  if (!at->line) return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s", at->path, what);
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%lld: %s", at->path, (long long)at->line, what);
}

static phibal_status memory_error(const place *at) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s:%lld: out of memory", at->path,
                           (long long)at->line);
}

phibal_status chat_template_default(chat_template *t) {
  *t = (chat_template){0};
  t->roles =
      json_pack("{s:[s, s], s:[s, s], s:[s, s], s:[s, s]}", "system", "<|system|>\n", "\n", "user",
                "<|user|>\n", "\n", "tool", "<|tool|>\n", "\n", "assistant", "<|assistant|>\n", "");
  return t->roles ? PHIBAL_OK
                  : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the chat template");
}

static phibal_status template_check(const char *path, const json_t *roles) {
  const place at = {path, 0};
  const char *role;
  json_t *around;
  json_object_foreach((json_t *)(uintptr_t)roles, role, around) {
    if (json_array_size(around) != 2 || !json_is_string(json_array_get(around, 0)) ||
        !json_is_string(json_array_get(around, 1)))
      return bad(&at, "\"%.40s\": expected two strings, [before, after] its messages", role);
  }
  return json_object_get(roles, "assistant")
             ? PHIBAL_OK
             : bad(&at, "no \"assistant\": {role: [before, after]}");
}

phibal_status chat_template_read(const char *path, chat_template *t) {
  text_buffer text = {0};
  json_error_t error;
  *t = (chat_template){0};
  phibal_status status = file_read_text(path, TEXT_CHAT_TEMPLATE, &text);
  if (status) return status;
  t->roles = json_loadb(text.bytes, text.count, JSON_REJECT_DUPLICATES, &error);
  status = t->roles ? template_check(path, t->roles)
                    : bad(&(place){path, error.line}, "not JSON: %s", error.text);
  text_buffer_free(&text);
  if (status) chat_template_free(t);
  return status;
}

void chat_template_free(chat_template *t) {
  json_decref(t->roles);
  free(t->begin);
  *t = (chat_template){0};
}

/* The buffer's text becomes the next one of the example. */
static phibal_status add_text(const place *at, text_buffer *from, string_list *to) {
  if (text_buffer_append(from, "", 1) || string_list_append(to, from->bytes))
    return memory_error(at);
  from->count = 0;
  return PHIBAL_OK;
}

static phibal_status append(const place *at, const char *text, text_buffer *to) {
  return text_buffer_string(to, text) ? memory_error(at) : PHIBAL_OK;
}

/* A message's role and content. */
static phibal_status read_message(const place *at, size_t i, const json_t *message,
                                  const char **role, const char **content) {
  const char *key;
  json_t *value;
  if (!json_is_object(message)) return bad(at, "\"messages\"[%zu] is not an object", i);
  *role = json_string_value(json_object_get(message, "role"));
  *content = json_string_value(json_object_get(message, "content"));
  if (!*role) return bad(at, "\"messages\"[%zu].\"role\" is no text", i);
  if (!*content) return bad(at, "\"messages\"[%zu].\"content\" is no text", i);
  json_object_foreach((json_t *)(uintptr_t)message, key, value) {
    if (!json_is_null(value) && strcmp(key, "role") && strcmp(key, "content"))
      return bad(at, "\"messages\"[%zu].\"%.40s\" is not supported by the template", i, key);
  }
  return PHIBAL_OK;
}

/* Whether a message may stand where it does. */
static phibal_status check_order(const place *at, const chat_template *t, size_t i,
                                 const char *role) {
  const bool system = !strcmp(role, "system"), own = !strcmp(role, "assistant");
  if (t->alternates && own != (i % 2 == 1))
    return bad(at, "\"messages\"[%zu].\"role\": in this format user and assistant take turns", i);
  if (t->system_first && system && i)
    return bad(at, "\"messages\"[%zu].\"role\": in this format only the first is of system", i);
  if (t->needs_system && !system && !i)
    return bad(at,
               "\"messages\"[0].\"role\": the model's chat template puts a system message of its "
               "own here, which is not read: begin with one");
  return PHIBAL_OK;
}

static phibal_status parse_chat(const place *at, const chat_template *t, const json_t *messages,
                                text_buffer *read, text_buffer *learned, string_list *to) {
  size_t i;
  const json_t *message;
  bool answered = false;
  if (!json_is_array(messages)) return bad(at, "\"messages\" is no list");
  if (t->begin && append(at, t->begin, read)) return memory_error(at);
  json_array_foreach(messages, i, message) {
    const char *role = NULL, *content = NULL;
    phibal_status status = read_message(at, i, message, &role, &content);
    if (status) return status;
    const json_t *around = json_object_get(t->roles, role);
    if (!around) return bad(at, "\"messages\"[%zu].\"role\": the template has no '%.40s'", i, role);
    status = check_order(at, t, i, role);
    if (status) return status;
    const char *before = json_string_value(json_array_get(around, 0));
    const char *after = json_string_value(json_array_get(around, 1));
    const bool own = !strcmp(role, "assistant");
    text_buffer *said = own ? learned : read;
    if (answered && t->between) status = append(at, t->between, read);
    if (!status) status = append(at, before, read);
    if (!status && own && t->lead) status = append(at, t->lead, said);
    if (!status) status = append(at, content, said);
    answered = own;
    if (!status) status = append(at, after, said);
    if (!status && own && !to->count && !read->count)
      return bad(at, "\"messages\"[%zu]: the assistant's first message has nothing before it", i);
    if (!status && own) status = add_text(at, read, to);
    if (!status && own) status = add_text(at, learned, to);
    if (status) return status;
  }
  return to->count ? PHIBAL_OK : bad(at, "\"messages\" has no assistant message");
}

static phibal_status parse_plain(const place *at, const json_t *json, string_list *to) {
  const char *prompt = json_string_value(json_object_get(json, "prompt"));
  const char *completion = json_string_value(json_object_get(json, "completion"));
  if (!prompt) return bad(at, "\"prompt\" is no text");
  if (!completion) return bad(at, "\"completion\" is no text");
  if (!*prompt) return bad(at, "\"prompt\" is empty: the completion has nothing before it");
  return string_list_append(to, prompt) || string_list_append(to, completion) ? memory_error(at)
                                                                              : PHIBAL_OK;
}

phibal_status instruction_parse(const chat_template *t, const char *path, int64_t line,
                                const char *bytes, size_t n, string_list *example) {
  const place at = {path, line};
  json_error_t error;
  text_buffer read = {0}, learned = {0};
  *example = (string_list){0};
  phibal_status status = text_line_within(path, line, n);
  json_t *json = status ? NULL : json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &error);
  const json_t *tools = json_object_get(json, "tools");
  if (status) return status;
  if (!json)
    status = bad(&at, "not JSON: %s", error.text);
  else if (!json_is_object(json))
    status = bad(&at, "no object");
  else if (tools && !json_is_null(tools))
    status = bad(&at, "\"tools\" is not supported by the template");
  else if (json_object_get(json, "messages"))
    status = parse_chat(&at, t, json_object_get(json, "messages"), &read, &learned, example);
  else if (json_object_get(json, "prompt") || json_object_get(json, "completion"))
    status = parse_plain(&at, json, example);
  else
    status = bad(&at, "neither \"messages\" nor \"prompt\" and \"completion\"");
  json_decref(json);
  text_buffer_free(&read);
  text_buffer_free(&learned);
  if (status) string_list_free(example);
  return status;
}

/* Room for the marks of `count` tokens, and marks from `first` on. */
static bool mark(instruction_tokens *to, size_t first, uint8_t learned) {
  const size_t count = to->tokens.count;
  if (count > to->capacity) {
    uint8_t *grown = realloc(to->learned, 2 * count);
    if (!grown) return false;
    to->learned = grown;
    to->capacity = 2 * count;
  }
  for (size_t i = first; i < count; i++) to->learned[i] = learned;
  return true;
}

phibal_status instruction_encode(const string_list *example, const tokenizer *t, bool ends,
                                 const char *path, int64_t line, instruction_tokens *to) {
  const place at = {path, line};
  phibal_status status = PHIBAL_OK;
  to->tokens.count = 0;
  for (size_t i = 0; i < example->count && !status; i++) {
    const size_t first = to->tokens.count;
    status = tokenizer_encode(t, example->items[i], strlen(example->items[i]), &to->of_text);
    for (size_t j = 0; j < to->of_text.count && !status; j++)
      status = token_buffer_append(&to->tokens, to->of_text.ids[j]);
    if (!status && !i && !to->tokens.count)
      status = bad(&at, "there is no token before the first completion");
    if (!status && !ends && i % 2 && i + 1 < example->count)
      status = token_buffer_append(&to->tokens, (uint32_t)t->end_of_document);
    if (!status && !mark(to, first, i % 2)) status = memory_error(&at);
  }
  return status;
}

void instruction_tokens_free(instruction_tokens *to) {
  token_buffer_free(&to->tokens);
  token_buffer_free(&to->of_text);
  free(to->learned);
  *to = (instruction_tokens){0};
}
