#include "chat.h"
#include "formats/text_limits.h"
#include "tokenizer_internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROLES = 3, MARKS = 3 };

/* `begin` stands before the first message, `end` after each of the assistant: tokens, or "" for
   none. What a tokenizer_config.json names as bos_token and eos_token goes before those marked (*);
   they are those of the published models. The assistant is asked by its `before` alone; `lead` and
   its message are the answer, and `between` stands after `end` where another message follows. */
typedef struct chat_format {
  const char *name;
  const char *begin; /* (*) */
  struct {
    const char *role, *before, *after;
  } around[ROLES];
  const char *lead, *end, *between; /* end (*) where own_end is not set */
  bool own_end, alternates, system_first;
  const char *tokens[MARKS]; /* of the texts around messages, those that are tokens */
  const char *marks[MARKS];  /* that the model's own template has */
  const char *others[MARKS]; /* and has not: those of a relative of the format */
  int most_ends;             /* so often it has eos_token at most; 0: any number */
} chat_format;

/* Documented by: OpenAI's ChatML and Qwen's documentation (key concepts, chat template); the model
   cards of OLMoE-Instruct and OLMo 2 ("chat template"), which is that of Tulu (arXiv:2306.04751);
   transformers' guide on chat templates, of Mistral; the model cards of DeepSeek-MoE-16B and
   DeepSeek-V2 ("chat completion"); DeepSeek-V3's tokenizer_config.json. */
#define BAR "\xef\xbd\x9c"   /* U+FF5C */
#define SPACE "\xe2\x96\x81" /* U+2581 */
#define DEEPSEEK_BEGIN "<" BAR "begin" SPACE "of" SPACE "sentence" BAR ">"
#define DEEPSEEK_END "<" BAR "end" SPACE "of" SPACE "sentence" BAR ">"
static const chat_format formats[] = {
    {.name = "chatml",
     .begin = "",
     .around = {{"system", "<|im_start|>system\n", "<|im_end|>\n"},
                {"user", "<|im_start|>user\n", "<|im_end|>\n"},
                {"assistant", "<|im_start|>assistant\n", ""}},
     .lead = "",
     .end = "<|im_end|>",
     .own_end = true,
     .between = "\n",
     .tokens = {"<|im_start|>", "<|im_end|>"},
     .marks = {"<|im_start|>", "<|im_end|>"}},
    {.name = "tulu",
     .begin = "<|endoftext|>",
     .around = {{"system", "<|system|>\n", "\n"},
                {"user", "<|user|>\n", "\n"},
                {"assistant", "<|assistant|>\n", ""}},
     .lead = "",
     .end = "<|endoftext|>",
     .between = "\n",
     .marks = {"<|user|>", "<|assistant|>"},
     .others = {"<|end|>", "[gMASK]"},
     .most_ends = 2 /* Zephyr has it after each message */},
    {.name = "mistral",
     .begin = "<s>",
     .around = {{"user", "[INST] ", " [/INST]"}, {"assistant", "", ""}},
     .lead = "",
     .end = "</s>",
     .between = "",
     .alternates = true,
     .marks = {"[INST] ", " [/INST]"},
     .others = {" [INST]", "<<SYS>>", "' ' +"}},
    {.name = "deepseek",
     .begin = DEEPSEEK_BEGIN,
     .around = {{"system", "", "\n\n"},
                {"user", "User: ", "\n\n"},
                {"assistant", "Assistant:", ""}},
     .lead = " ",
     .end = DEEPSEEK_END,
     .between = "",
     .marks = {"User: ", "Assistant:"}},
    {.name = "deepseek-v3",
     .begin = DEEPSEEK_BEGIN,
     .around = {{"system", "", ""},
                {"user", "<" BAR "User" BAR ">", ""},
                {"assistant", "<" BAR "Assistant" BAR ">", ""}},
     .lead = "",
     .end = DEEPSEEK_END,
     .between = "",
     .system_first = true,
     .tokens = {"<" BAR "User" BAR ">", "<" BAR "Assistant" BAR ">"},
     .marks = {"<" BAR "User" BAR ">", "<" BAR "Assistant" BAR ">"}},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const char *const chat_format_names[] = {"chatml",      "tulu", "mistral", "deepseek",
                                         "deepseek-v3", "own",  NULL};

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the chat template");
}

static phibal_status folder_of(const char *path, char **folder) {
  struct stat found;
  const char *slash = strrchr(path, '/');
  if (!stat(path, &found) && S_ISDIR(found.st_mode))
    *folder = strdup(path);
  else
    *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  return *folder ? PHIBAL_OK : memory_error();
}

/* What lies beside a tokenizer: *config, null without; *text, the template, null without. */
static phibal_status read_beside(const char *path, json_t **config, char **text) {
  char *folder = NULL, *file = NULL;
  *config = NULL;
  *text = NULL;
  phibal_status status = folder_of(path, &folder);
  if (!status && folder_has(folder, "tokenizer_config.json")) {
    file = string_format("%s/tokenizer_config.json", folder);
    status = file ? file_read_json(file, TEXT_HUGGING_FACE, JSON_REJECT_DUPLICATES, config)
                  : memory_error();
  }
  free(file);
  file = NULL;
  if (!status && folder_has(folder, "chat_template.jinja")) {
    text_buffer own = {0};
    file = string_format("%s/chat_template.jinja", folder);
    status = file ? file_read_text(file, TEXT_CHAT_TEMPLATE, &own) : memory_error();
    if (!status) status = text_buffer_append(&own, "", 1);
    if (status)
      text_buffer_free(&own);
    else
      *text = own.bytes;
  } else if (!status) {
    const json_t *own = json_object_get(*config, "chat_template");
    /* Several: the one named default is meant. */
    for (size_t i = 0; json_is_array(own) && i < json_array_size(own); i++) {
      const json_t *one = json_array_get(own, i);
      const char *name = json_string_value(json_object_get(one, "name"));
      if (name && !strcmp(name, "default")) own = json_object_get(one, "template");
    }
    if (own && !json_is_null(own) && !json_is_string(own))
      status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                                 "%s/tokenizer_config.json: chat_template is no text", folder);
    else if (json_is_string(own) && !(*text = strdup(json_string_value(own))))
      status = memory_error();
  }
  free(file);
  free(folder);
  if (status) {
    json_decref(*config);
    *config = NULL;
  }
  return status;
}

phibal_status chat_template_beside(const char *path, bool *there) {
  json_t *config;
  char *text;
  phibal_status status = read_beside(path, &config, &text);
  *there = text;
  json_decref(config);
  free(text);
  return status;
}

/* Whether the model's own template may be that format: it has the format's texts, not those of a
   relative, and nothing that changes what messages say. */
static phibal_status check_own(const chat_format *f, const char *path, const char *text) {
  static const char *const changes[] = {"strip(", "trim", "think", "replace("};
  for (int i = 0; i < MARKS && f->marks[i]; i++)
    if (!strstr(text, f->marks[i]))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "chat format %s: the chat template of '%s' has no '%s', so it is "
                               "another one; --template FILE says what stands around messages",
                               f->name, path, f->marks[i]);
  for (size_t i = 0; i < MARKS + sizeof changes / sizeof *changes; i++) {
    const char *mark = i < MARKS ? f->others[i] : changes[i - MARKS];
    if (mark && strstr(text, mark))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "chat format %s: the chat template of '%s' has '%s', which the "
                               "format has not; --template FILE says what stands around messages",
                               f->name, path, mark);
  }
  int ends = 0;
  for (const char *at = text; (at = strstr(at, "eos_token")); at++) ends++;
  if (f->most_ends && ends > f->most_ends)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "chat format %s: the chat template of '%s' ends %d messages with "
                             "eos_token, the format those of the assistant; --template FILE says "
                             "what stands around messages",
                             f->name, path, ends);
  return PHIBAL_OK;
}

/* The text of a token of tokenizer_config.json, or `usual` without that file. */
static const char *token_named(const json_t *config, const char *key, const char *usual) {
  const json_t *token = json_object_get(config, key);
  if (!config) return usual;
  return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

/* A token that the format has is found in a text, as one. */
static phibal_status check_token(const chat_format *f, const char *path, const tokenizer *t,
                                 const char *what, const char *token) {
  token_buffer ids = {0};
  phibal_status status =
      token && *token ? tokenizer_encode(t, token, strlen(token), &ids) : PHIBAL_OK;
  if (!status && (!token || (*token && ids.count != 1)))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "chat format %s: the tokenizer of '%s' has no token '%s'", f->name,
                               path, token ? token : what);
  token_buffer_free(&ids);
  return status;
}

phibal_status chat_template_named(const char *format, const char *path, const tokenizer *of,
                                  chat_template *t) {
  *t = (chat_template){0};
  if (!strcmp(format, "own")) {
    phibal_status status = chat_template_default(t);
    t->end = of->end_of_document;
    return status;
  }
  const chat_format *f = NULL;
  for (int i = 0; i < FORMATS; i++)
    if (!strcmp(formats[i].name, format)) f = &formats[i];
  if (!f) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "no chat format '%.40s'", format);
  if (!of->json)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "chat format %s: a tokenizer.json is needed, which finds special "
                             "tokens in a text",
                             f->name);
  json_t *config;
  char *text;
  phibal_status status = read_beside(path, &config, &text);
  if (!status && text) status = check_own(f, path, text);
  const bool system = text && (strstr(text, "You are") || strstr(text, "default_system"));
  const char *begin = *f->begin ? token_named(config, "bos_token", f->begin) : "";
  const char *end = f->own_end ? f->end : token_named(config, "eos_token", f->end);
  if (!status) status = check_token(f, path, of, "bos_token", begin);
  if (!status) status = check_token(f, path, of, "eos_token", end);
  for (int i = 0; i < MARKS && f->tokens[i] && !status; i++)
    status = check_token(f, path, of, NULL, f->tokens[i]);
  if (!status) {
    /* Where that is what ends a document, instruction_encode puts it. */
    const bool same = tokenizer_json_id(of->json, end) == of->end_of_document;
    t->roles = json_object();
    for (int i = 0; i < ROLES && f->around[i].role; i++) {
      const bool own = !strcmp(f->around[i].role, "assistant");
      json_object_set_new(
          t->roles, f->around[i].role,
          json_pack("[s, s]", f->around[i].before, own ? (same ? "" : end) : f->around[i].after));
    }
    t->begin = strdup(begin);
    t->name = f->name;
    t->lead = f->lead;
    t->between = f->between;
    t->end = tokenizer_json_id(of->json, end);
    t->ends = !same;
    t->alternates = f->alternates;
    t->system_first = f->system_first;
    t->needs_system = system;
    if (json_object_size(t->roles) < 2 || !t->begin) status = memory_error();
  }
  json_decref(config);
  free(text);
  if (status) chat_template_free(t);
  return status;
}

phibal_status chat_prompt(const chat_template *t, const char *system, const char *user,
                          text_buffer *to) {
  const char *const roles[] = {"system", "user", "assistant"};
  const char *const said[] = {system, user, NULL};
  if (t->needs_system && !system)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "the model's chat template puts a system message of its own before a "
                             "chat that has none, which is not read: give --system");
  if (system && !json_object_get(t->roles, "system"))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "chat format %s has no messages of the system", t->name);
  phibal_status status = t->begin ? text_buffer_string(to, t->begin) : PHIBAL_OK;
  for (int i = system ? 0 : 1; i < 3 && !status; i++) {
    const json_t *around = json_object_get(t->roles, roles[i]);
    status = text_buffer_string(to, json_string_value(json_array_get(around, 0)));
    if (!status && said[i]) status = text_buffer_string(to, said[i]);
    if (!status && said[i])
      status = text_buffer_string(to, json_string_value(json_array_get(around, 1)));
  }
  return status;
}
