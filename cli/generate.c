/* `phibal generate`: continues a text with a trained model, a token at a time. */
#include "commands.h"
#include "formats/json_text.h"
#include "model_tokenizer.h"
#include "moe/data/chat.h"
#include "moe/data/text.h"
#include "moe/train/generate.h"
#include "moe/train/trained.h"
#include <getopt.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
  const char *load, *prompt, *given, *tokenizer, *adapters, *ignored, *chat, *system;
  generate_options options;
  long long length, threads;
  bool json;
} arguments;

static const char help[] =
    "usage: phibal generate --load FOLDER [--prompt TEXT] [options]\n\n"
    "Continues a text with a trained model and prints it token by token. A seed gives the same\n"
    "text on every machine.\n\n"
    "  --load FOLDER       a run, a checkpoint or a Hugging Face model, as for eval-model\n"
    "  --prompt TEXT       the text to continue (default: none); the end-of-document token is put\n"
    "                      before it, as in training data\n"
    "  --chat FORMAT       --prompt is a message of a user, put as the model's chats are: chatml,\n"
    "                      tulu, mistral, deepseek, deepseek-v3, or own: phibal's; only the "
    "answer\n"
    "                      is printed\n"
    "  --system TEXT       with --chat, the message of the system before it\n"
    "  --tokens ID,...     token ids to continue instead; nothing is put before them\n"
    "  --length N          number of tokens to add (default 256, or as many as the model has\n"
    "                      positions for); generation stops at an end of document\n"
    "  --temperature X     divides the logits (default 1); 0: always the most probable token\n"
    "  --top-k N           draw from the N most probable tokens (default 0: all)\n"
    "  --top-p X           draw from the smallest set of them with probability X (default 1)\n"
    "  --seed N            of the random draws (default 1)\n"
    "  --adapters FOLDER   PEFT (LoRA) adapters to add to a Hugging Face model\n"
    "  --ignore-key KEY,...  as for eval-model\n"
    "  --tokenizer NAME|FILE  as for eval-model\n"
    "  --threads N         OpenMP threads; results do not depend on it\n"
    "  --json              print one object: prompt, text, tokens, stopped (end or length)\n\n"
    "  phibal generate --load runs/b --prompt 'The ' --temperature 0.8 --top-p 0.95";

static const char *const *names(const char *option) {
  static const char *const tokenizers[] = {"bytes", NULL};
  if (!strcmp(option, "chat")) return chat_format_names;
  return strcmp(option, "tokenizer") ? NULL : tokenizers;
}

static const struct option options[] = {{"load", required_argument, NULL, 'l'},
                                        {"prompt", required_argument, NULL, 'p'},
                                        {"chat", required_argument, NULL, 'c'},
                                        {"system", required_argument, NULL, 'S'},
                                        {"tokens", required_argument, NULL, 'i'},
                                        {"length", required_argument, NULL, 'n'},
                                        {"temperature", required_argument, NULL, 'T'},
                                        {"top-k", required_argument, NULL, 'k'},
                                        {"top-p", required_argument, NULL, 'P'},
                                        {"seed", required_argument, NULL, 's'},
                                        {"adapters", required_argument, NULL, 'A'},
                                        {"ignore-key", required_argument, NULL, 'I'},
                                        {"tokenizer", required_argument, NULL, 'z'},
                                        {"threads", required_argument, NULL, 't'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_generate = {
    .name = "generate", .text = help, .options = options, .names = names};

static int read_arguments(int argc, char **argv, arguments *a) {
  *a = (arguments){.options = {1, 0, 1, 1}, .length = 0};
  long long value;
  for (int c; (c = command_option(&manual_generate, argc, argv, NULL)) != -1;) switch (c) {
    case 'l':
      a->load = optarg;
      break;
    case 'p':
      a->prompt = optarg;
      break;
    case 'c':
      a->chat = optarg;
      break;
    case 'S':
      a->system = optarg;
      break;
    case 'i':
      a->given = optarg;
      break;
    case 'n':
      if (!command_read_whole("generate", "--length", optarg, 1, 1 << 20, &a->length)) return 2;
      break;
    case 'T':
      if (!command_read_real("generate", "--temperature", optarg, 0, 1e6, &a->options.temperature))
        return 2;
      break;
    case 'k':
      if (!command_read_whole("generate", "--top-k", optarg, 0, INT32_MAX, &value)) return 2;
      a->options.top_k = (int32_t)value;
      break;
    case 'P':
      if (!command_read_real("generate", "--top-p", optarg, 0x1p-52, 1, &a->options.top_p))
        return 2;
      break;
    case 's':
      if (!command_read_whole("generate", "--seed", optarg, 0, INT64_MAX, &value)) return 2;
      a->options.seed = (uint64_t)value;
      break;
    case 'A':
      a->adapters = optarg;
      break;
    case 'I':
      a->ignored = optarg;
      break;
    case 'z':
      a->tokenizer = optarg;
      break;
    case 't':
      if (!command_read_whole("generate", "--threads", optarg, 1, 4096, &a->threads)) return 2;
      break;
    case 'j':
      a->json = true;
      break;
    case 'h':
      return command_help(&manual_generate);
    case ':':
      return command_usage_error("generate", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("generate", argv, manual_generate.options);
    }
  if (optind < argc) return command_usage_error("generate", "unexpected '%s'", argv[optind]);
  if (!a->load) return command_usage_error("generate", "--load is needed");
  if (a->given && a->prompt)
    return command_usage_error("generate", "--prompt and --tokens exclude each other");
  if (a->chat && !a->prompt) return command_usage_error("generate", "--chat needs --prompt");
  if (a->system && !a->chat) return command_usage_error("generate", "--system needs --chat");
  return -1;
}

/* The ids of --tokens. */
static phibal_status read_ids(const char *text, int32_t vocabulary, token_buffer *ids) {
  for (const char *at = text;; at++) {
    char *end;
    const long long id = strtoll(at, &end, 10);
    if (end == at || id < 0 || id >= vocabulary || (*end && *end != ','))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "--tokens '%s': expected ids from 0 to %d, separated by commas",
                               text, vocabulary - 1);
    phibal_status status = token_buffer_append(ids, (uint32_t)id);
    if (status || !*end) return status;
    at = end;
  }
}

/* Prints what the text of ids has beyond its first *shown bytes. A character that is not yet whole,
   which SentencePiece decodes as U+FFFD, waits for the next tokens. */
static phibal_status show(const tokenizer *t, const token_buffer *ids, bool last, size_t *shown) {
  char *text;
  size_t bytes;
  phibal_status status = tokenizer_decode(t, ids->ids, ids->count, &text, &bytes);
  if (status) return status;
  const size_t begun = bytes - text_utf8_valid(text, bytes);
  const bool broken = (t->pieces && bytes >= 3 && !memcmp(text + bytes - 3, "\xef\xbf\xbd", 3)) ||
                      (t->json && begun && begun < 4);
  if (bytes > *shown && (last || !broken)) {
    fwrite(text + *shown, 1, bytes - *shown, stdout);
    fflush(stdout);
    *shown = bytes;
  }
  free(text);
  return PHIBAL_OK;
}

typedef struct text {
  token_buffer ids;
  size_t prompt;   /* so many of them were given */
  int32_t ends[2]; /* what ends it: of a document, of a chat's message; -1: nothing */
  bool ended;
} text;

/* Adds tokens to x, of the first `known` ids; `t` null: no text is shown. The prompt is one pass;
   from there on only the last token's row is made, with the keys and values of those before it. */
static phibal_status continue_text(const arguments *a, const trained *from, const tokenizer *t,
                                   int32_t known, text *x) {
  const int32_t sequence = from->config.model.sequence, vocabulary = from->config.model.vocabulary;
  model *m = NULL;
  int32_t *tokens = malloc((size_t)sequence * sizeof *tokens);
  float *logits = malloc((size_t)vocabulary * sizeof *logits);
  phibal_status status = tokens && logits ? trained_model(from, 1, &m)
                                          : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  if (!status && a->adapters) status = trained_merge(from, a->adapters, m);
  size_t shown = 0;
  if (!status && t && a->chat) { /* the answer only */
    char *before = NULL;
    status = tokenizer_decode(t, x->ids.ids, x->prompt, &before, &shown);
    free(before);
  } else if (!status && t) {
    status = show(t, &x->ids, false, &shown);
  }
  int32_t held = 0;
  for (long long i = 0; i < a->length && !status && !x->ended && !ferror(stdout); i++) {
    const int32_t fresh = (int32_t)x->ids.count - held;
    for (int32_t j = 0; j < fresh; j++) tokens[j] = (int32_t)x->ids.ids[held + j];
    int32_t next = 0;
    status = model_continue(m, held, fresh, tokens);
    held += fresh;
    if (!status) model_logits(m, fresh - 1, logits);
    if (!status) status = generate_next(&a->options, known, logits, (uint64_t)i, &next);
    if (!status) status = token_buffer_append(&x->ids, (uint32_t)next);
    x->ended = !status && (next == x->ends[0] || next == x->ends[1]);
    if (!status && t && !x->ended) status = show(t, &x->ids, false, &shown);
  }
  token_buffer said = x->ids; /* without what ended it */
  said.count -= x->ended;
  if (!status && t) status = show(t, &said, true, &shown);
  model_destroy(m);
  free(tokens);
  free(logits);
  return status;
}

static phibal_status print_json(const tokenizer *t, const text *x) {
  char *whole = NULL, *before = NULL;
  size_t bytes = 0, first = 0;
  json_t *ids = json_array();
  for (size_t i = x->prompt; i < x->ids.count; i++)
    json_array_append_new(ids, json_integer(x->ids.ids[i]));
  phibal_status status = PHIBAL_OK;
  if (t) status = tokenizer_decode(t, x->ids.ids, x->ids.count - x->ended, &whole, &bytes);
  if (t && !status) status = tokenizer_decode(t, x->ids.ids, x->prompt, &before, &first);
  if (!status) {
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:s}", "prompt", before ? json_text(before) : json_null(),
                  "text", whole && first <= bytes ? json_text(whole + first) : json_null(),
                  "tokens", ids, "stopped", x->ended ? "end" : "length");
    json_dumpf(object, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(object);
  } else {
    json_decref(ids);
  }
  free(whole);
  free(before);
  return status;
}

static phibal_status generate(arguments *a, trained *from, tokenizer *t, text *x) {
  phibal_status status = trained_open(a->load, 0, a->ignored, from);
  if (status) return status;
  const int32_t vocabulary = from->config.model.vocabulary;
  /* With ids a tokenizer is only for showing the text, and need not be there. */
  char path[MODEL_TOKENIZER_PATH];
  status = model_tokenizer_open(a->tokenizer, from, t, path);
  const bool readable = !status;
  if (a->given && !a->tokenizer) status = PHIBAL_OK;
  if (!status && a->given) status = read_ids(a->given, vocabulary, &x->ids);
  chat_template chat = {0};
  text_buffer asked = {0};
  if (!status && a->chat) status = chat_template_named(a->chat, path, t, &chat);
  if (!status && a->chat) status = chat_prompt(&chat, a->system, a->prompt, &asked);
  x->ends[0] = readable ? t->end_of_document : -1;
  x->ends[1] = a->chat && !status ? chat.end : -1;
  if (!status && !a->given) {
    const char *prompt = a->prompt ? a->prompt : "";
    token_buffer words = {0};
    status = a->chat ? tokenizer_encode(t, asked.bytes, asked.count, &words)
                     : tokenizer_encode(t, prompt, strlen(prompt), &words);
    if (!status && !a->chat) status = token_buffer_append(&x->ids, (uint32_t)t->end_of_document);
    for (size_t i = 0; i < words.count && !status; i++)
      status = token_buffer_append(&x->ids, words.ids[i]);
    token_buffer_free(&words);
  }
  chat_template_free(&chat);
  text_buffer_free(&asked);
  x->prompt = x->ids.count;
  int32_t positions = 0;
  if (!status) status = trained_positions(from, &positions);
  if (!a->length)
    a->length = 256 < positions - (long long)x->prompt ? 256 : positions - (long long)x->prompt;
  const long long whole = (long long)x->prompt + a->length;
  if (!status && (whole > positions || a->length < 1))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%zu tokens and %lld more (--length) are more than the %d positions "
                               "of the model",
                               x->prompt, a->length, positions);
  trained_close(from);
  if (!status) status = trained_open(a->load, (int32_t)whole, a->ignored, from);
  from->config.model.recompute = RECOMPUTE_NONE; /* every layer keeps its keys and values */
  /* The output head may have more rows than the tokenizer has tokens: padding, never drawn. */
  const int32_t known = readable && t->vocabulary < vocabulary ? t->vocabulary : vocabulary;
  if (!status) status = continue_text(a, from, readable && !a->json ? t : NULL, known, x);
  if (!status && (a->json || !readable)) return print_json(readable ? t : NULL, x);
  if (!status) putchar('\n');
  return status;
}

int command_generate(int argc, char **argv) {
  arguments a;
  int code = read_arguments(argc, argv, &a);
  if (code >= 0) return code;
  if (a.threads) omp_set_num_threads((int)a.threads);
  static trained from;
  tokenizer t = {0};
  text x = {0};
  phibal_status status = generate(&a, &from, &t, &x);
  if (status) command_say("generate", "%s", phibal_status_message());
  token_buffer_free(&x.ids);
  tokenizer_free(&t);
  trained_close(&from);
  return status ? 2 : 0;
}
