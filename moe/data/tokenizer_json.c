/* A text becomes tokens in five steps:
     1. added tokens that are looked for in the text as it is divide it into sections;
     2. each section is normalised, and divided by the other added tokens;
     3. pre-tokenizers, one after another, divide sections into words;
     4. a word begins as a token for each of its characters, or with ByteLevel of its bytes;
     5. of all pairs of neighbours that merge, the one first in the list of merges does, the
   leftmost of these, until none is left. */
#include "tokenizer_internal.h"
#include "formats/file.h"
#include "pattern.h"
#include "text.h"
#include "token_file_internal.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#if PHIBAL_DATA_UTF8PROC
#include <utf8proc.h>
#endif

/* A normalised text has at most 4096 + MOST_GROWTH n bytes, of a text of n. */
enum {
  MOST_GROWTH = 1024,
  MOST_STEPS = 32,
  CACHE_SLOTS = 1 << 14,
  CACHE_BYTES = 24,
  CACHE_IDS = 8
};

typedef struct string {
  char *s; /* null: none */
  size_t n;
} string;

/* Tokens by their text, and pairs of tokens by their ids: open addressing, at most half full. */
typedef struct word_slot {
  const char *s;
  size_t n;
  uint32_t id;
} word_slot;

typedef struct merge_slot {
  uint64_t pair; /* left << 32 | right */
  uint32_t rank, id;
} merge_slot;

static const uint64_t no_pair = UINT64_MAX;

typedef enum norm_kind { NORM_UNICODE, NORM_PREPEND, NORM_REPLACE } norm_kind;
typedef struct norm_step {
  norm_kind kind;
  bool compatible, composed; /* of NORM_UNICODE: NFC, NFD, NFKC, NFKD */
  pattern *pattern;
  string content;
} norm_step;

typedef enum behavior {
  ISOLATED,
  REMOVED,
  MERGED_WITH_PREVIOUS,
  MERGED_WITH_NEXT,
  CONTIGUOUS
} behavior;
typedef enum pre_kind { PRE_SPLIT, PRE_PREPEND, PRE_DIGITS, PRE_METASPACE } pre_kind;
typedef struct pre_step {
  pre_kind kind;
  pattern *pattern; /* of PRE_SPLIT, PRE_METASPACE */
  behavior behavior;
  bool inverted, divides, always, first;
  string content; /* what is put before a word, or in place of a space */
} pre_step;

typedef struct added {
  string given;   /* as the file has it */
  string content; /* as it is looked for and decoded */
  uint32_t id;
  bool single_word, lstrip, rstrip, normalized;
} added;

/* Added tokens by their first byte, longest first. */
typedef struct added_list {
  added **items;
  size_t count;
  size_t start[257];
  uint8_t pairs[65536 / 8]; /* the first two bytes of some token */
} added_list;

typedef struct cached {
  uint8_t bytes, count;
  char text[CACHE_BYTES];
  uint32_t ids[CACHE_IDS];
} cached;

struct tokenizer_json {
  char *name;
  string *tokens; /* [vocabulary] by id, as in the file */
  size_t vocabulary;
  word_slot *words; /* of the model, with ByteLevel as bytes */
  size_t word_mask;
  merge_slot *merges;
  size_t merge_mask;
  string *owned; /* the words that are not in tokens[] */
  size_t owned_count;
  bool byte_level, ignore_merges, byte_fallback, fuse_unknown;
  int64_t unknown;      /* -1: none */
  int32_t of_byte[256]; /* ByteLevel's token of a byte, or byte_fallback's; -1: none */
  norm_step norm[MOST_STEPS];
  pre_step pre[MOST_STEPS];
  size_t norm_count, pre_count;
  added *added;
  size_t added_count;
  added_list raw, normal; /* looked for in the text, in the normalised text */
  bool decode_bytes, decode_fallback, decode_fuse;
  string decode_from, decode_to; /* Replace */
  string decode_metaspace;       /* the replacement of Metaspace */
  bool metaspace_first;
  string strip;
  size_t strip_start, strip_stop;
  code_set *word_set, *space_set, *number_set, *kept_set;
  cached *cache;
};

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a tokenizer");
}

static phibal_status refuse(const tokenizer_json *j, const char *what, const char *value) {
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: %s%s%.100s%s is not supported", j->name,
                           what, value ? " '" : "", value ? value : "", value ? "'" : "");
}

static phibal_status bad(const tokenizer_json *j, const char *what, const char *value) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s '%.100s'", j->name, what, value);
}

static bool string_copy(string *to, const char *s, size_t n) {
  to->s = malloc(n + 1);
  if (!to->s) return false;
  memcpy(to->s, s, n);
  to->s[n] = 0;
  to->n = n;
  return true;
}

static bool string_is(const json_t *json, const char *text) {
  return json_is_string(json) && !strcmp(json_string_value(json), text);
}

/* ByteLevel writes byte b as a character: itself if it is printable in Latin-1, else the next one
   from U+0100 on. */
static uint32_t byte_character(int b) {
  static uint32_t table[256];
  if (!table['!']) {
    uint32_t next = 256;
    for (int i = 0; i < 256; i++)
      table[i] =
          (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae ? (uint32_t)i : next++;
  }
  return table[b];
}

static int character_byte(uint32_t code) {
  static int16_t table[0x144];
  if (!table['!']) {
    memset(table, -1, sizeof table);
    for (int b = 0; b < 256; b++) table[byte_character(b)] = (int16_t)b;
  }
  return code < 0x144 ? table[code] : -1;
}

/* The bytes that text of ByteLevel stands for, into to[n]; their number, or SIZE_MAX. */
static size_t level_bytes(const char *s, size_t n, char *to) {
  size_t count = 0;
  for (size_t i = 0, width; i < n; i += width) {
    const int b = character_byte(utf8_code(s + i, &width));
    if (b < 0) return SIZE_MAX;
    to[count++] = (char)b;
  }
  return count;
}

static uint64_t hash_bytes(const char *s, size_t n) {
  uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15);
  for (; n >= 8; s += 8, n -= 8) {
    uint64_t w;
    memcpy(&w, s, 8);
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
  }
  uint64_t w = 0;
  memcpy(&w, s, n);
  h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
  return h ^ h >> 29;
}

static word_slot *word_find(const tokenizer_json *j, const char *s, size_t n) {
  size_t i = hash_bytes(s, n) & j->word_mask;
  while (j->words[i].s && (j->words[i].n != n || memcmp(j->words[i].s, s, n)))
    i = (i + 1) & j->word_mask;
  return &j->words[i];
}

static int64_t word_id(const tokenizer_json *j, const char *s, size_t n) {
  const word_slot *slot = word_find(j, s, n);
  return slot->s ? (int64_t)slot->id : -1;
}

static merge_slot *merge_find(const tokenizer_json *j, uint32_t left, uint32_t right) {
  const uint64_t pair = (uint64_t)left << 32 | right;
  uint64_t h = pair * UINT64_C(0x9e3779b97f4a7c15);
  size_t i = (h ^ h >> 31) & j->merge_mask;
  while (j->merges[i].pair != no_pair && j->merges[i].pair != pair) i = (i + 1) & j->merge_mask;
  return &j->merges[i];
}

static size_t table_size(size_t n) {
  size_t size = 16;
  while (size < 2 * n) size *= 2;
  return size;
}

/* Reading the file. */

/* Every key of an object is one of `known`, a list that ends with null. */
static phibal_status keys_known(const tokenizer_json *j, const json_t *object, const char *what,
                                const char *const *known) {
  const char *key;
  const json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    (void)value;
    size_t i = 0;
    while (known[i] && strcmp(known[i], key)) i++;
    if (!known[i]) {
      char name[160];
      snprintf(name, sizeof name, "%s's '%.100s'", what, key);
      return refuse(j, name, NULL);
    }
  }
  return PHIBAL_OK;
}
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A flag, with a value where there is none. */
static bool flag(const json_t *object, const char *key, bool missing) {
  const json_t *value = json_object_get(object, key);
  return json_is_boolean(value) ? json_is_true(value) : missing;
}

static phibal_status flags_check(const tokenizer_json *j, const json_t *object,
                                 const char *const *keys) {
  for (size_t i = 0; keys[i]; i++) {
    const json_t *value = json_object_get(object, keys[i]);
    if (value && !json_is_boolean(value)) return bad(j, "not true or false:", keys[i]);
  }
  return PHIBAL_OK;
}

static phibal_status text_of(const tokenizer_json *j, const json_t *object, const char *key,
                             string *to) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_string(value)) return bad(j, "no text:", key);
  return string_copy(to, json_string_value(value), json_string_length(value)) ? PHIBAL_OK
                                                                              : memory_error();
}

/* {"String": text} or {"Regex": text}. */
static phibal_status pattern_of(const tokenizer_json *j, const json_t *object, pattern **p) {
  const json_t *value = json_object_get(object, "pattern");
  const json_t *literal = json_object_get(value, "String"),
               *regex = json_object_get(value, "Regex");
  const json_t *text = literal ? literal : regex;
  if (!json_is_string(text) || json_object_size(value) != 1)
    return bad(j, "neither a String nor a Regex:", "pattern");
  return (literal ? pattern_literal : pattern_compile)(j->name, json_string_value(text),
                                                       json_string_length(text), p);
}

static phibal_status read_normalizer(tokenizer_json *j, const json_t *json, int depth) {
  if (!json || json_is_null(json)) return PHIBAL_OK;
  const json_t *type = json_object_get(json, "type");
  if (string_is(type, "Sequence")) {
    const json_t *list = json_object_get(json, "normalizers");
    phibal_status status = keys_known(j, json, "normalizer", KEYS("type", "normalizers"));
    if (!status && (!json_is_array(list) || depth > 8)) return bad(j, "no list:", "normalizers");
    for (size_t i = 0; i < json_array_size(list) && !status; i++)
      status = json_is_null(json_array_get(list, i))
                   ? bad(j, "null in", "normalizers")
                   : read_normalizer(j, json_array_get(list, i), depth + 1);
    return status;
  }
  if (j->norm_count == MOST_STEPS) return refuse(j, "a normalizer of more than 32 steps", NULL);
  norm_step *step = &j->norm[j->norm_count++];
  phibal_status status;
  if (string_is(type, "NFC") || string_is(type, "NFD") || string_is(type, "NFKC") ||
      string_is(type, "NFKD")) {
    const char *form = json_string_value(type);
    *step = (norm_step){.kind = NORM_UNICODE,
                        .compatible = form[2] == 'K',
                        .composed = form[strlen(form) - 1] == 'C'};
#if !PHIBAL_DATA_UTF8PROC
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: normalizer '%s': this build has no utf8proc: install "
                             "libutf8proc-dev and build again",
                             j->name, form);
#endif
    return keys_known(j, json, "normalizer", KEYS("type"));
  }
  if (string_is(type, "Prepend")) {
    step->kind = NORM_PREPEND;
    status = keys_known(j, json, "normalizer", KEYS("type", "prepend"));
    return status ? status : text_of(j, json, "prepend", &step->content);
  }
  if (string_is(type, "Replace")) {
    step->kind = NORM_REPLACE;
    status = keys_known(j, json, "normalizer", KEYS("type", "pattern", "content"));
    if (!status) status = text_of(j, json, "content", &step->content);
    return status ? status : pattern_of(j, json, &step->pattern);
  }
  return refuse(j, "normalizer", json_is_string(type) ? json_string_value(type) : "without a type");
}

static phibal_status replacement_of(const tokenizer_json *j, const json_t *json, string *to) {
  phibal_status status = text_of(j, json, "replacement", to);
  size_t width = 0;
  if (!status && to->n) utf8_code(to->s, &width);
  return status || width != to->n || !width ? bad(j, "not one character:", "replacement")
                                            : PHIBAL_OK;
}

/* prepend_scheme, or the older add_prefix_space. */
static phibal_status scheme_of(const tokenizer_json *j, const json_t *json, bool *always,
                               bool *first) {
  const json_t *scheme = json_object_get(json, "prepend_scheme");
  *always = scheme ? string_is(scheme, "always") : flag(json, "add_prefix_space", true);
  *first = string_is(scheme, "first");
  if (scheme && !*always && !*first && !string_is(scheme, "never"))
    return bad(j, "neither always nor first nor never:", "prepend_scheme");
  const json_t *older = json_object_get(json, "add_prefix_space");
  if (scheme && older && json_is_true(older) != (*always || *first))
    return bad(j, "contradicts prepend_scheme:", "add_prefix_space");
  return flags_check(j, json, KEYS("add_prefix_space", "split"));
}

static phibal_status read_pre_tokenizer(tokenizer_json *j, const json_t *json, int depth) {
  static const char gpt2[] =
      "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
  if (!json || json_is_null(json)) return PHIBAL_OK;
  const json_t *type = json_object_get(json, "type");
  const char *name = json_is_string(type) ? json_string_value(type) : "without a type";
  phibal_status status;
  if (!strcmp(name, "Sequence")) {
    const json_t *list = json_object_get(json, "pretokenizers");
    status = keys_known(j, json, "pre_tokenizer", KEYS("type", "pretokenizers"));
    if (!status && (!json_is_array(list) || depth > 8)) return bad(j, "no list:", "pretokenizers");
    for (size_t i = 0; i < json_array_size(list) && !status; i++)
      status = json_is_null(json_array_get(list, i))
                   ? bad(j, "null in", "pretokenizers")
                   : read_pre_tokenizer(j, json_array_get(list, i), depth + 1);
    return status;
  }
  if (j->byte_level) return refuse(j, "after ByteLevel the pre_tokenizer", name);
  if (j->pre_count + 2 > MOST_STEPS) return refuse(j, "a pre_tokenizer of more steps", NULL);
  pre_step *step = &j->pre[j->pre_count++];
  if (!strcmp(name, "ByteLevel")) {
    /* trim_offsets is of no consequence here. */
    status = keys_known(j, json, "ByteLevel",
                        KEYS("type", "add_prefix_space", "trim_offsets", "use_regex"));
    if (!status)
      status = flags_check(j, json, KEYS("add_prefix_space", "trim_offsets", "use_regex"));
    if (status) return status;
    j->byte_level = true;
    j->pre_count--;
    if (flag(json, "add_prefix_space", true)) {
      step->kind = PRE_PREPEND;
      j->pre_count++;
      if (!string_copy(&step->content, " ", 1)) return memory_error();
    }
    if (!flag(json, "use_regex", true)) return PHIBAL_OK;
    step = &j->pre[j->pre_count++];
    *step = (pre_step){.kind = PRE_SPLIT, .behavior = ISOLATED};
    return pattern_compile(j->name, gpt2, strlen(gpt2), &step->pattern);
  }
  if (!strcmp(name, "Digits")) {
    status = keys_known(j, json, "Digits", KEYS("type", "individual_digits"));
    if (!status) status = flags_check(j, json, KEYS("individual_digits"));
    *step = (pre_step){.kind = PRE_DIGITS,
                       .behavior = flag(json, "individual_digits", false) ? ISOLATED : CONTIGUOUS};
    return status;
  }
  if (!strcmp(name, "Split")) {
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const json_t *how = json_object_get(json, "behavior");
    size_t i = 0;
    while (i < 5 && !string_is(how, names[i])) i++;
    status = keys_known(j, json, "Split", KEYS("type", "pattern", "behavior", "invert"));
    if (!status) status = flags_check(j, json, KEYS("invert"));
    if (!status && i == 5)
      return refuse(j, "Split's behavior", json_is_string(how) ? json_string_value(how) : "none");
    *step = (pre_step){
        .kind = PRE_SPLIT, .behavior = (behavior)i, .inverted = flag(json, "invert", false)};
    return status ? status : pattern_of(j, json, &step->pattern);
  }
  if (!strcmp(name, "Metaspace")) {
    step->kind = PRE_METASPACE;
    step->behavior = MERGED_WITH_NEXT;
    step->divides = flag(json, "split", true);
    status = keys_known(j, json, "Metaspace",
                        KEYS("type", "replacement", "prepend_scheme", "split", "add_prefix_space"));
    if (!status) status = replacement_of(j, json, &step->content);
    if (!status) status = scheme_of(j, json, &step->always, &step->first);
    return status ? status
                  : pattern_literal(j->name, step->content.s, step->content.n, &step->pattern);
  }
  return refuse(j, "pre_tokenizer", name);
}

/* A decoder is one of the two, or a Sequence of Replace, ByteFallback, Fuse and Strip. */
static phibal_status read_decoder(tokenizer_json *j, const json_t *json) {
  const json_t *type = json_object_get(json, "type");
  const char *name = json_is_string(type) ? json_string_value(type) : "without a type";
  if (!strcmp(name, "ByteLevel")) {
    j->decode_bytes = true;
    return keys_known(j, json, "decoder",
                      KEYS("type", "add_prefix_space", "trim_offsets", "use_regex"));
  }
  if (!strcmp(name, "Metaspace")) {
    bool always;
    phibal_status status =
        keys_known(j, json, "decoder",
                   KEYS("type", "replacement", "prepend_scheme", "split", "add_prefix_space"));
    if (!status) status = replacement_of(j, json, &j->decode_metaspace);
    if (!status) status = scheme_of(j, json, &always, &j->metaspace_first);
    j->metaspace_first |= !status && always;
    return status;
  }
  const json_t *list = json_object_get(json, "decoders");
  if (strcmp(name, "Sequence") || !json_is_array(list))
    return refuse(j, "decoder", json_is_null(json) ? "null" : name);
  phibal_status status = keys_known(j, json, "decoder", KEYS("type", "decoders"));
  int done = 0;
  for (size_t i = 0; i < json_array_size(list) && !status; i++) {
    const json_t *step = json_array_get(list, i);
    type = json_object_get(step, "type");
    name = json_is_string(type) ? json_string_value(type) : "without a type";
    const int place = !strcmp(name, "Replace")        ? 1
                      : !strcmp(name, "ByteFallback") ? 2
                      : !strcmp(name, "Fuse")         ? 3
                      : !strcmp(name, "Strip")        ? 4
                                                      : 0;
    if (place <= done || (place == 4 && done != 3)) return refuse(j, "in this place decoder", name);
    done = place;
    if (place == 1) {
      const json_t *from = json_object_get(step, "pattern");
      status = keys_known(j, step, "decoder", KEYS("type", "pattern", "content"));
      if (!status && !json_object_get(from, "String"))
        return refuse(j, "in a decoder", "Replace of a Regex");
      if (!status) status = text_of(j, from, "String", &j->decode_from);
      if (!status) status = text_of(j, step, "content", &j->decode_to);
      if (!status && !j->decode_from.n) return bad(j, "empty:", "pattern");
    } else if (place == 4) {
      const json_t *start = json_object_get(step, "start"), *stop = json_object_get(step, "stop");
      status = keys_known(j, step, "decoder", KEYS("type", "content", "start", "stop"));
      if (!status) status = text_of(j, step, "content", &j->strip);
      if (!status && (!json_is_integer(start) || !json_is_integer(stop) || !j->strip.n ||
                      json_integer_value(start) < 0 || json_integer_value(stop) < 0))
        return bad(j, "not understood:", "Strip");
      j->strip_start = (size_t)json_integer_value(start);
      j->strip_stop = (size_t)json_integer_value(stop);
    } else {
      j->decode_fallback |= place == 2;
      j->decode_fuse |= place == 3;
      status = keys_known(j, step, "decoder", KEYS("type"));
    }
  }
  return status;
}

static phibal_status post_processor_check(const tokenizer_json *j, const json_t *json) {
  static const char *const known[] = {"TemplateProcessing", "ByteLevel", "RobertaProcessing",
                                      "BertProcessing", "Sequence"};
  if (!json || json_is_null(json)) return PHIBAL_OK;
  const json_t *type = json_object_get(json, "type");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (string_is(type, known[i])) return PHIBAL_OK;
  return refuse(j, "post_processor",
                json_is_string(type) ? json_string_value(type) : "of its kind");
}

static phibal_status token_set(tokenizer_json *j, const char *key, size_t n, const json_t *value) {
  const json_int_t id = json_integer_value(value);
  if (!json_is_integer(value) || id < 0 || id >= TOKEN_FORMAT_MAX_VOCABULARY)
    return bad(j, "the id of a token is none of 0 to 16777215:", key);
  if ((size_t)id >= j->vocabulary) {
    size_t room = j->vocabulary ? j->vocabulary : 1024;
    while (room <= (size_t)id) room *= 2;
    string *grown = realloc(j->tokens, room * sizeof *grown);
    if (!grown) return memory_error();
    memset(grown + j->vocabulary, 0, (room - j->vocabulary) * sizeof *grown);
    j->tokens = grown;
    j->vocabulary = room;
  }
  string *to = &j->tokens[id];
  if (to->s && (to->n != n || memcmp(to->s, key, n)))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: id %lld is of two tokens, '%.40s' and '%.40s'", j->name,
                             (long long)id, to->s, key);
  return to->s || string_copy(to, key, n) ? PHIBAL_OK : memory_error();
}

/* A text of the file as it is looked for: with ByteLevel, the bytes that it stands for; SIZE_MAX:
   no text becomes it. */
static size_t word_text(const tokenizer_json *j, const char *s, size_t n, char *to) {
  if (j->byte_level) return level_bytes(s, n, to);
  memcpy(to, s, n);
  return n;
}

static phibal_status read_vocabulary(tokenizer_json *j, const json_t *vocab) {
  const char *key;
  json_t *value;
  size_t n = json_object_size(vocab);
  const size_t size = table_size(n);
  j->words = calloc(size, sizeof *j->words);
  j->owned = calloc(n + 1, sizeof *j->owned);
  if (!j->words || !j->owned) return memory_error();
  j->word_mask = size - 1;
  json_object_foreach((json_t *)vocab, key, value) {
    n = strlen(key);
    phibal_status status = token_set(j, key, n, value);
    if (status) return status;
    string *own = &j->owned[j->owned_count];
    if (!(own->s = malloc(n + 1))) return memory_error();
    own->n = word_text(j, key, n, own->s);
    if (own->n == SIZE_MAX) {
      free(own->s);
      own->s = NULL;
      continue;
    }
    j->owned_count++;
    word_slot *slot = word_find(j, own->s, own->n);
    *slot = (word_slot){own->s, own->n, (uint32_t)json_integer_value(value)};
  }
  for (int b = 0; b < 256; b++) {
    const char byte = (char)b;
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", b);
    j->of_byte[b] = (int32_t)(j->byte_level ? word_id(j, &byte, 1) : word_id(j, name, 6));
  }
  return PHIBAL_OK;
}

static phibal_status read_merges(tokenizer_json *j, const json_t *merges) {
  if (!json_is_array(merges)) return bad(j, "no list:", "merges");
  const size_t count = json_array_size(merges), size = table_size(count);
  j->merges = malloc(size * sizeof *j->merges);
  if (!j->merges) return memory_error();
  for (size_t i = 0; i < size; i++) j->merges[i].pair = no_pair;
  j->merge_mask = size - 1;
  text_buffer whole = {0};
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const json_t *one = json_array_get(merges, i);
    const json_t *a = json_array_get(one, 0), *b = json_array_get(one, 1);
    const char *left = NULL, *right = NULL;
    size_t n = 0, m = 0;
    if (json_is_string(a) && json_is_string(b) && json_array_size(one) == 2) {
      left = json_string_value(a), n = json_string_length(a);
      right = json_string_value(b), m = json_string_length(b);
    } else if (json_is_string(one)) {
      left = json_string_value(one);
      const char *space = strchr(left, ' ');
      right = space && !strchr(space + 1, ' ') ? space + 1 : NULL;
      n = space ? (size_t)(space - left) : 0;
      m = right ? strlen(right) : 0;
    }
    if (!left || !right || !n || !m) {
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: merge %zu is no pair", j->name, i);
      break;
    }
    whole.count = 0;
    status = text_buffer_append(&whole, left, n);
    if (!status) status = text_buffer_append(&whole, right, m);
    if (status) break;
    size_t x = n, y = m;
    if (j->byte_level) {
      x = level_bytes(whole.bytes, n, whole.bytes);
      if (x != SIZE_MAX) y = level_bytes(whole.bytes + n, m, whole.bytes + x);
    }
    int64_t p = -1, q = -1, to = -1;
    if (x != SIZE_MAX && y != SIZE_MAX) {
      p = word_id(j, whole.bytes, x);
      q = word_id(j, whole.bytes + x, y);
      to = word_id(j, whole.bytes, x + y);
    }
    if (p < 0 || q < 0 || to < 0) {
      status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                                 "%s: merge %zu ('%.40s'): its parts, or what they make, are no "
                                 "tokens of the vocabulary",
                                 j->name, i, left);
      break;
    }
    merge_slot *slot = merge_find(j, (uint32_t)p, (uint32_t)q);
    *slot = (merge_slot){(uint64_t)p << 32 | (uint64_t)q, (uint32_t)i, (uint32_t)to};
  }
  text_buffer_free(&whole);
  return status;
}

static phibal_status read_model(tokenizer_json *j, const json_t *model) {
  const json_t *type = json_object_get(model, "type"), *vocab = json_object_get(model, "vocab");
  const json_t *dropout = json_object_get(model, "dropout");
  const json_t *unknown = json_object_get(model, "unk_token");
  if (!json_is_object(model)) return bad(j, "no object:", "model");
  if (type ? !string_is(type, "BPE") : !json_object_get(model, "merges"))
    return refuse(j, "a model of type", json_is_string(type) ? json_string_value(type) : "none");
  phibal_status status = keys_known(j, model, "model",
                                    KEYS("type", "vocab", "merges", "dropout", "unk_token",
                                         "continuing_subword_prefix", "end_of_word_suffix",
                                         "fuse_unk", "byte_fallback", "ignore_merges"));
  if (!status) status = flags_check(j, model, KEYS("fuse_unk", "byte_fallback", "ignore_merges"));
  if (status) return status;
  if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0)
    return refuse(j, "model's 'dropout'", NULL);
  static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  for (int i = 0; i < 2; i++) {
    const json_t *affix = json_object_get(model, affixes[i]);
    if (affix && !json_is_null(affix) && !string_is(affix, "")) return refuse(j, affixes[i], NULL);
  }
  if (!json_is_object(vocab)) return bad(j, "no object:", "vocab");
  j->ignore_merges = flag(model, "ignore_merges", false);
  j->byte_fallback = flag(model, "byte_fallback", false);
  j->fuse_unknown = flag(model, "fuse_unk", false);
  if (j->byte_level && j->byte_fallback) return refuse(j, "byte_fallback beside ByteLevel", NULL);
  status = read_vocabulary(j, vocab);
  if (status) return status;
  j->unknown = -1;
  if (unknown && !json_is_null(unknown)) {
    const json_t *id =
        json_is_string(unknown) ? json_object_get(vocab, json_string_value(unknown)) : NULL;
    if (!id) return bad(j, "not in the vocabulary:", "unk_token");
    j->unknown = json_integer_value(id);
  }
  return read_merges(j, json_object_get(model, "merges"));
}

static phibal_status normalise(const tokenizer_json *j, const char *s, size_t n, text_buffer *to);

static int by_first_byte(const void *a, const void *b) {
  const added *x = *(added *const *)a, *y = *(added *const *)b;
  const unsigned char p = (unsigned char)x->content.s[0], q = (unsigned char)y->content.s[0];
  if (p != q) return p < q ? -1 : 1;
  if (x->content.n != y->content.n) return x->content.n > y->content.n ? -1 : 1;
  return x < y ? -1 : x > y;
}

static phibal_status list_added(tokenizer_json *j, bool normalized, added_list *list) {
  list->items = calloc(j->added_count + 1, sizeof(added *));
  if (!list->items) return memory_error();
  for (size_t i = 0; i < j->added_count; i++)
    if (j->added[i].normalized == normalized && j->added[i].content.n)
      list->items[list->count++] = &j->added[i];
  qsort(list->items, list->count, sizeof *list->items, by_first_byte);
  size_t i = 0;
  for (size_t b = 0; b < 256; b++) {
    list->start[b] = i;
    for (; i < list->count && (unsigned char)list->items[i]->content.s[0] == b; i++) {
      const string *s = &list->items[i]->content;
      for (size_t second = 0; second < 256; second++)
        if (s->n == 1 || (unsigned char)s->s[1] == second)
          list->pairs[(b << 8 | second) >> 3] =
              (uint8_t)(list->pairs[(b << 8 | second) >> 3] | 1 << (second & 7));
    }
  }
  list->start[256] = list->count;
  return PHIBAL_OK;
}

static phibal_status read_added(tokenizer_json *j, const json_t *list) {
  if (list && !json_is_array(list)) return bad(j, "no list:", "added_tokens");
  const size_t n = json_array_size(list);
  j->added = calloc(n + 1, sizeof *j->added);
  if (!j->added) return memory_error();
  text_buffer text = {0};
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < n && !status; i++) {
    const json_t *one = json_array_get(list, i), *id = json_object_get(one, "id");
    added *a = &j->added[j->added_count++];
    status = keys_known(
        j, one, "added_tokens",
        KEYS("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"));
    if (!status)
      status =
          flags_check(j, one, KEYS("single_word", "lstrip", "rstrip", "normalized", "special"));
    if (!status) status = text_of(j, one, "content", &a->content);
    if (!status) status = token_set(j, a->content.s, a->content.n, id);
    if (status) break;
    if (!string_copy(&a->given, a->content.s, a->content.n)) status = memory_error();
    a->id = (uint32_t)json_integer_value(id);
    a->single_word = flag(one, "single_word", false);
    a->lstrip = flag(one, "lstrip", false);
    a->rstrip = flag(one, "rstrip", false);
    a->normalized = flag(one, "normalized", !flag(one, "special", false));
    for (size_t k = 0; k < i && !status; k++)
      if (j->added[k].content.n == a->content.n &&
          !memcmp(j->added[k].content.s, a->content.s, a->content.n))
        status = bad(j, "added twice:", a->content.s);
  }
  /* Those of the normalised text are looked for, and decoded, as that has them. */
  for (size_t i = 0; i < n && !status; i++) {
    added *a = &j->added[i];
    if (!a->normalized || !j->norm_count || !a->content.n) continue;
    text.count = 0;
    status = normalise(j, a->content.s, a->content.n, &text);
    free(a->content.s);
    a->content.s = NULL;
    string *shown = &j->tokens[a->id];
    if (status) break;
    free(shown->s);
    shown->s = NULL;
    if (!string_copy(&a->content, text.bytes, text.count) ||
        !string_copy(shown, text.bytes, text.count))
      status = memory_error();
  }
  text_buffer_free(&text);
  if (!status) status = list_added(j, false, &j->raw);
  if (!status) status = list_added(j, true, &j->normal);
  return status;
}

/* The normal forms of `tokenizers` are those of Unicode 9: it decomposes, reorders and composes
   nothing that came later. Such characters stay as they are, and nothing combines across them. So
   does U+11A7, which utf8proc 2.8 takes for a final consonant and drops after a Hangul syllable. */
static const uint32_t kept[][2] = {
    {0x7fd, 0x7fd},     {0x897, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},
    {0xc3c, 0xc3c},     {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x11a7, 0x11a7},
    {0x1715, 0x1715},   {0x1abf, 0x1aeb},   {0x1df6, 0x1dfa},   {0x32ff, 0x32ff},
    {0xa7f1, 0xa7f4},   {0xa82c, 0xa82c},   {0xab69, 0xab69},   {0x105c0, 0x105ff},
    {0x10780, 0x107ba}, {0x10d24, 0x10d27}, {0x10d69, 0x10d6d}, {0x10eab, 0x10eac},
    {0x10efa, 0x10eff}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070},
    {0x1133b, 0x1133b}, {0x11380, 0x113ff}, {0x1145e, 0x1145e}, {0x11839, 0x1183a},
    {0x11930, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34}, {0x11a47, 0x11a47},
    {0x11a99, 0x11a99}, {0x11d42, 0x11d45}, {0x11d97, 0x11d97}, {0x11f41, 0x11f42},
    {0x16100, 0x1613f}, {0x16d40, 0x16d7f}, {0x16ff0, 0x16ff1}, {0x1ccd6, 0x1ccf9},
    {0x1e030, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef},
    {0x1e4ec, 0x1e4ef}, {0x1e5ee, 0x1e5ef}, {0x1e6c0, 0x1e6ff}, {0x1f16c, 0x1f16c},
    {0x1fbf0, 0x1fbf9}};

static phibal_status make_sets(tokenizer_json *j) {
  j->word_set = calloc(1, sizeof *j->word_set);
  j->space_set = calloc(1, sizeof *j->space_set);
  j->number_set = calloc(1, sizeof *j->number_set);
  j->kept_set = calloc(1, sizeof *j->kept_set);
  if (!j->word_set || !j->space_set || !j->number_set || !j->kept_set) return memory_error();
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    code_set_add(j->kept_set, kept[i][0], kept[i][1]);
  /* Alphabetic characters, marks, decimal digits, connectors and joiners: \w of Rust. */
  static const char *const word[] = {"L", "M", "Nd", "Nl", "Pc"};
  for (size_t i = 0; i < sizeof word / sizeof *word; i++)
    code_set_add_category(j->word_set, word[i], strlen(word[i]));
  code_set_add(j->word_set, 0x24b6, 0x24e9);
  code_set_add(j->word_set, 0x1f130, 0x1f149);
  code_set_add(j->word_set, 0x1f150, 0x1f169);
  code_set_add(j->word_set, 0x1f170, 0x1f189);
  code_set_add(j->word_set, 0x200c, 0x200d);
  code_set_add(j->space_set, 9, 13);
  code_set_add(j->space_set, 0x85, 0x85);
  code_set_add_category(j->space_set, "Z", 1);
  /* Digits has the numbers of Unicode 17, patterns those of 16. */
  code_set_add_category(j->number_set, "N", 1);
  code_set_add(j->number_set, 0x11de0, 0x11de9);
  code_set_add(j->number_set, 0x16ff4, 0x16ff6);
  return PHIBAL_OK;
}

static phibal_status read_all(tokenizer_json *j, const json_t *root) {
  phibal_status status =
      keys_known(j, root, "file",
                 KEYS("version", "truncation", "padding", "added_tokens", "normalizer",
                      "pre_tokenizer", "post_processor", "decoder", "model"));
  static const char *const absent[] = {"truncation", "padding"};
  for (int i = 0; i < 2 && !status; i++) {
    const json_t *value = json_object_get(root, absent[i]);
    if (value && !json_is_null(value)) status = refuse(j, absent[i], NULL);
  }
  if (!status) status = make_sets(j);
  if (!status) status = read_normalizer(j, json_object_get(root, "normalizer"), 0);
  if (!status) status = read_pre_tokenizer(j, json_object_get(root, "pre_tokenizer"), 0);
  if (!status) status = read_model(j, json_object_get(root, "model"));
  if (!status) status = read_added(j, json_object_get(root, "added_tokens"));
  if (!status) status = post_processor_check(j, json_object_get(root, "post_processor"));
  if (!status) status = read_decoder(j, json_object_get(root, "decoder"));
  return status;
}

phibal_status tokenizer_json_parse(const char *name, const char *text, size_t bytes,
                                   tokenizer_json **to, int32_t *vocabulary) {
  json_error_t error;
  *to = NULL;
  tokenizer_json *j = calloc(1, sizeof *j);
  if (j) j->name = strdup(name);
  if (j) j->cache = calloc(CACHE_SLOTS, sizeof *j->cache);
  if (!j || !j->name || !j->cache) {
    tokenizer_json_free(j);
    return memory_error();
  }
  json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  phibal_status status =
      !root ? phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s", name, error.line, error.text)
      : json_is_object(root) ? read_all(j, root)
                             : bad(j, "no object:", "tokenizer.json");
  json_decref(root);
  while (j->vocabulary && !j->tokens[j->vocabulary - 1].s) j->vocabulary--;
  if (!status && !j->vocabulary) status = bad(j, "empty:", "vocab");
  if (status) {
    tokenizer_json_free(j);
    return status;
  }
  *vocabulary = (int32_t)j->vocabulary;
  *to = j;
  return PHIBAL_OK;
}

int32_t tokenizer_json_id(const tokenizer_json *j, const char *token) {
  for (size_t i = 0; i < j->added_count; i++)
    if (!strcmp(j->added[i].given.s, token)) return (int32_t)j->added[i].id;
  for (size_t i = 0; i < j->vocabulary; i++)
    if (j->tokens[i].s && !strcmp(j->tokens[i].s, token)) return (int32_t)i;
  return -1;
}

bool tokenizer_json_has(const tokenizer_json *j, int32_t id) {
  return id >= 0 && (size_t)id < j->vocabulary && j->tokens[id].s;
}

/* Normalisation. */

static phibal_status normal_form(const tokenizer_json *j, const norm_step *step, const char *s,
                                 size_t n, text_buffer *to) {
#if PHIBAL_DATA_UTF8PROC
  size_t from = 0;
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0, width = 0; i <= n && !status; i += width) {
    const bool end = i == n;
    const uint32_t code = end ? 0 : utf8_code(s + i, &width);
    const bool stays = !end && code_set_has(j->kept_set, code);
    if (end) width = 1;
    if (!end && !stays) continue;
    const int options = UTF8PROC_STABLE | (step->composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                        (step->compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_uint8_t *out = NULL;
    const utf8proc_ssize_t length =
        utf8proc_map((const utf8proc_uint8_t *)s + from, (utf8proc_ssize_t)(i - from), &out,
                     (utf8proc_option_t)options);
    if (i > from && length < 0)
      status = phibal_status_set(PHIBAL_ERROR_MEMORY, "normalising %zu bytes: %s", n,
                                 utf8proc_errmsg(length));
    else if (i > from)
      status = text_buffer_append(to, out, (size_t)length);
    free(out);
    if (!status && stays) status = text_buffer_append(to, s + i, width);
    from = i + width;
  }
  return status;
#else
  (void)j, (void)step;
  return text_buffer_append(to, s, n);
#endif
}

/* Appends the normalised text of s[n]. */
static phibal_status normalise(const tokenizer_json *j, const char *s, size_t n, text_buffer *to) {
  text_buffer from = {0}, next = {0};
  phibal_status status = text_buffer_append(&from, s, n);
  const size_t most = 4096 + MOST_GROWTH * n;
  for (size_t i = 0; i < j->norm_count && !status; i++) {
    const norm_step *step = &j->norm[i];
    next.count = 0;
    status = text_buffer_append(&next, "", 0);
    if (step->kind == NORM_UNICODE && !status) {
      bool ascii = true;
      for (size_t k = 0; k < from.count && ascii; k++) ascii = !(from.bytes[k] & 0x80);
      status = ascii ? text_buffer_append(&next, from.bytes, from.count)
                     : normal_form(j, step, from.bytes, from.count, &next);
    } else if (step->kind == NORM_PREPEND && !status) {
      if (from.count) status = text_buffer_append(&next, step->content.s, step->content.n);
      if (!status) status = text_buffer_append(&next, from.bytes, from.count);
    } else {
      size_t at = 0;
      while (!status && at < from.count && next.count <= most) {
        bool found;
        size_t a, b;
        status = pattern_find(step->pattern, from.bytes, from.count, at, &found, &a, &b);
        if (!status && !found) a = b = from.count;
        if (!status) status = text_buffer_append(&next, from.bytes + at, a - at);
        if (!status && found) status = text_buffer_append(&next, step->content.s, step->content.n);
        at = b;
      }
    }
    if (!status && next.count > most)
      status = refuse(j, "a normalizer that makes a text a thousand times longer", NULL);
    text_buffer swap = from;
    from = next;
    next = swap;
  }
  if (!status) status = text_buffer_append(to, from.bytes, from.count);
  text_buffer_free(&from);
  text_buffer_free(&next);
  return status;
}

/* Words: parts of a buffer. */
typedef struct span {
  size_t at, n;
  bool first; /* begins where the text does */
} span;

typedef struct span_list {
  span *items;
  size_t count, capacity;
} span_list;

static phibal_status span_add(span_list *list, size_t at, size_t n, bool first) {
  if (!n) return PHIBAL_OK;
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity ? 2 * list->capacity : 256;
    span *grown = realloc(list->items, capacity * sizeof *grown);
    if (!grown) return memory_error();
    list->items = grown;
    list->capacity = capacity;
  }
  list->items[list->count++] = (span){at, n, first};
  return PHIBAL_OK;
}

/* The next match of a step in s[n] from `from`. */
static phibal_status step_find(const tokenizer_json *j, const pre_step *step, const char *s,
                               size_t n, size_t from, bool *found, size_t *start, size_t *end) {
  if (step->kind != PRE_DIGITS) return pattern_find(step->pattern, s, n, from, found, start, end);
  *found = false;
  for (size_t width; from < n && !*found; from += width)
    if (code_set_has(j->number_set, utf8_code(s + from, &width))) {
      *found = true;
      *start = from;
      *end = from + width;
    }
  return PHIBAL_OK;
}

/* Divides word w of text s at the matches of a step. The parts alternate in no order: matches can
   be neighbours. What becomes of a match is the behavior. */
static phibal_status divide(const tokenizer_json *j, const pre_step *step, const char *s, span w,
                            span_list *to, span_list *parts) {
  phibal_status status = PHIBAL_OK;
  parts->count = 0;
  for (size_t at = 0; at < w.n && !status;) {
    bool found;
    size_t a = w.n, b = w.n;
    status = step_find(j, step, s + w.at, w.n, at, &found, &a, &b);
    if (!status && !found) a = b = w.n;
    /* `first` serves as the mark of a match here. */
    if (!status) status = span_add(parts, at, a - at, step->inverted);
    if (!status) status = span_add(parts, a, b - a, !step->inverted);
    at = b;
  }
  const size_t before = to->count;
  bool previous = false;
  if (step->behavior == MERGED_WITH_NEXT) {
    /* From the end: a match takes in what has come after it, unless that is a match. */
    for (size_t i = parts->count; i-- > 0 && !status;) {
      const span p = parts->items[i];
      if (p.first && !previous && to->count > before) {
        to->items[to->count - 1].n += to->items[to->count - 1].at - (w.at + p.at);
        to->items[to->count - 1].at = w.at + p.at;
      } else {
        status = span_add(to, w.at + p.at, p.n, false);
      }
      previous = p.first;
    }
    for (size_t i = before, k = to->count; i + 1 < k--; i++) {
      const span swap = to->items[i];
      to->items[i] = to->items[k];
      to->items[k] = swap;
    }
  } else {
    for (size_t i = 0; i < parts->count && !status; i++) {
      const span p = parts->items[i];
      const bool joins =
          to->count > before && (step->behavior == MERGED_WITH_PREVIOUS ? p.first && !previous
                                 : step->behavior == CONTIGUOUS         ? p.first == previous
                                                                        : false);
      if (joins)
        to->items[to->count - 1].n = w.at + p.at + p.n - to->items[to->count - 1].at;
      else if (step->behavior != REMOVED || !p.first)
        status = span_add(to, w.at + p.at, p.n, false);
      previous = p.first;
    }
  }
  for (size_t i = before; i < to->count; i++)
    to->items[i].first = w.first && to->items[i].at == w.at;
  return status;
}

typedef struct symbol {
  uint32_t id;
  int64_t previous, next; /* -1: none */
  bool gone;
} symbol;

typedef struct candidate {
  uint32_t rank, id;
  size_t at; /* the left of the pair */
} candidate;

/* What encoding a text needs; each is used again. */
typedef struct work {
  text_buffer section, text, next;
  span_list words, more, parts;
  symbol *symbols;
  size_t symbol_room;
  candidate *heap;
  size_t heap_count, heap_room;
} work;

static bool sooner(const candidate *a, const candidate *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static phibal_status heap_push(work *x, candidate c) {
  if (x->heap_count == x->heap_room) {
    const size_t room = x->heap_room ? 2 * x->heap_room : 64;
    candidate *grown = realloc(x->heap, room * sizeof *grown);
    if (!grown) return memory_error();
    x->heap = grown;
    x->heap_room = room;
  }
  size_t i = x->heap_count++;
  for (; i && sooner(&c, &x->heap[(i - 1) / 2]); i = (i - 1) / 2) x->heap[i] = x->heap[(i - 1) / 2];
  x->heap[i] = c;
  return PHIBAL_OK;
}

static candidate heap_pop(work *x) {
  const candidate top = x->heap[0], last = x->heap[--x->heap_count];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < x->heap_count; i = child) {
    if (child + 1 < x->heap_count && sooner(&x->heap[child + 1], &x->heap[child])) child++;
    if (!sooner(&x->heap[child], &last)) break;
    x->heap[i] = x->heap[child];
  }
  x->heap[i] = last;
  return top;
}

static phibal_status pair_push(const tokenizer_json *j, work *x, int64_t left, int64_t right) {
  if (left < 0 || right < 0) return PHIBAL_OK;
  const merge_slot *m = merge_find(j, x->symbols[left].id, x->symbols[right].id);
  return m->pair == no_pair ? PHIBAL_OK : heap_push(x, (candidate){m->rank, m->id, (size_t)left});
}

static void symbol_add(work *x, size_t *count, uint32_t id) {
  x->symbols[*count] = (symbol){.id = id, .previous = (int64_t)*count - 1, .next = -1};
  if (*count) x->symbols[*count - 1].next = (int64_t)*count;
  ++*count;
}

/* The tokens that a word begins as. An unknown character waits: with fuse_unk the next joins it. */
static phibal_status word_symbols(const tokenizer_json *j, work *x, const char *s, size_t n,
                                  size_t *count) {
  bool waiting = false;
  *count = 0;
  if (n > x->symbol_room) {
    symbol *grown = realloc(x->symbols, 2 * n * sizeof *grown);
    if (!grown) return memory_error();
    x->symbols = grown;
    x->symbol_room = 2 * n;
  }
  for (size_t i = 0, width; i < n; i += width) {
    int64_t id;
    if (j->byte_level) {
      width = 1;
      id = j->of_byte[(unsigned char)s[i]];
    } else {
      utf8_code(s + i, &width);
      id = word_id(j, s + i, width);
    }
    if (id >= 0) {
      if (waiting) symbol_add(x, count, (uint32_t)j->unknown);
      waiting = false;
      symbol_add(x, count, (uint32_t)id);
      continue;
    }
    bool all = j->byte_fallback;
    for (size_t k = 0; k < width && all; k++) all = j->of_byte[(unsigned char)s[i + k]] >= 0;
    if (all) {
      for (size_t k = 0; k < width; k++)
        symbol_add(x, count, (uint32_t)j->of_byte[(unsigned char)s[i + k]]);
    } else if (j->unknown < 0) {
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: no token for the %s that begins with 0x%02x, and no unk_token",
                               j->name, j->byte_level ? "byte" : "character", (unsigned char)s[i]);
    } else {
      if (waiting && !j->fuse_unknown) symbol_add(x, count, (uint32_t)j->unknown);
      waiting = true;
    }
  }
  if (waiting) symbol_add(x, count, (uint32_t)j->unknown);
  return PHIBAL_OK;
}

static phibal_status encode_word(tokenizer_json *j, work *x, const char *s, size_t n,
                                 token_buffer *to) {
  cached *c = NULL;
  phibal_status status = PHIBAL_OK;
  if (n <= CACHE_BYTES) {
    c = &j->cache[hash_bytes(s, n) % CACHE_SLOTS];
    if (c->count && c->bytes == n && !memcmp(c->text, s, n)) {
      for (int i = 0; i < c->count && !status; i++) status = token_buffer_append(to, c->ids[i]);
      return status;
    }
  }
  const size_t before = to->count;
  const int64_t whole = j->ignore_merges ? word_id(j, s, n) : -1;
  if (whole >= 0) {
    status = token_buffer_append(to, (uint32_t)whole);
  } else {
    size_t count;
    status = word_symbols(j, x, s, n, &count);
    x->heap_count = 0;
    for (size_t i = 0; i + 1 < count && !status; i++)
      status = pair_push(j, x, (int64_t)i, (int64_t)i + 1);
    while (!status && x->heap_count) {
      const candidate top = heap_pop(x);
      symbol *left = &x->symbols[top.at];
      if (left->gone || left->next < 0) continue;
      symbol *right = &x->symbols[left->next];
      const merge_slot *m = merge_find(j, left->id, right->id);
      if (m->pair == no_pair || m->id != top.id) continue; /* the pair is another by now */
      left->id = top.id;
      right->gone = true;
      left->next = right->next;
      if (right->next >= 0) x->symbols[right->next].previous = (int64_t)top.at;
      status = pair_push(j, x, left->previous, (int64_t)top.at);
      if (!status) status = pair_push(j, x, (int64_t)top.at, left->next);
    }
    for (int64_t i = count ? 0 : -1; i >= 0 && !status; i = x->symbols[i].next)
      status = token_buffer_append(to, x->symbols[i].id);
  }
  const size_t own = to->count - before;
  if (!status && c && own && own <= CACHE_IDS) {
    c->bytes = (uint8_t)n;
    c->count = (uint8_t)own;
    memcpy(c->text, s, n);
    memcpy(c->ids, to->ids + before, own * sizeof *c->ids);
  }
  return status;
}

/* Words of a section to tokens. */
static phibal_status encode_section(tokenizer_json *j, work *x, const char *s, size_t n, bool first,
                                    token_buffer *to) {
  phibal_status status = PHIBAL_OK;
  const char *text = s;
  x->words.count = 0;
  status = span_add(&x->words, 0, n, first);
  for (size_t i = 0; i < j->pre_count && !status; i++) {
    const pre_step *step = &j->pre[i];
    x->more.count = 0;
    if (step->kind == PRE_PREPEND || step->kind == PRE_METASPACE) {
      x->next.count = 0;
      status = text_buffer_append(&x->next, "", 0);
      for (size_t k = 0; k < x->words.count && !status; k++) {
        const span w = x->words.items[k];
        const char *word = text + w.at;
        const size_t at = x->next.count;
        const bool spaces = step->kind == PRE_METASPACE;
        const bool begins =
            (w.n >= step->content.n && !memcmp(word, step->content.s, step->content.n)) ||
            (spaces && word[0] == ' ');
        if (!begins && (!spaces || step->always || (step->first && w.first)))
          status = text_buffer_append(&x->next, step->content.s, step->content.n);
        for (size_t k2 = 0; spaces && k2 < w.n && !status;) {
          const char *space = memchr(word + k2, ' ', w.n - k2);
          const size_t end = space ? (size_t)(space - word) : w.n;
          status = text_buffer_append(&x->next, word + k2, end - k2);
          if (!status && space)
            status = text_buffer_append(&x->next, step->content.s, step->content.n);
          k2 = space ? end + 1 : w.n;
        }
        if (!spaces && !status) status = text_buffer_append(&x->next, word, w.n);
        if (!status) status = span_add(&x->more, at, x->next.count - at, w.first);
      }
      text_buffer swap = x->text;
      x->text = x->next;
      x->next = swap;
      text = x->text.bytes;
      span_list words = x->words;
      x->words = x->more;
      x->more = words;
      x->more.count = 0;
    }
    if (step->kind == PRE_PREPEND || (step->kind == PRE_METASPACE && !step->divides)) continue;
    for (size_t k = 0; k < x->words.count && !status; k++)
      status = divide(j, step, text, x->words.items[k], &x->more, &x->parts);
    span_list words = x->words;
    x->words = x->more;
    x->more = words;
  }
  for (size_t k = 0; k < x->words.count && !status; k++)
    status = encode_word(j, x, text + x->words.items[k].at, x->words.items[k].n, to);
  return status;
}

static bool set_before(const code_set *set, const char *s, size_t at, size_t *start) {
  size_t width;
  if (!at) return false;
  do at--;
  while ((s[at] & 0xc0) == 0x80);
  *start = at;
  return code_set_has(set, utf8_code(s + at, &width));
}

static bool set_after(const code_set *set, const char *s, size_t n, size_t at, size_t *end) {
  size_t width;
  if (at >= n) return false;
  const bool has = code_set_has(set, utf8_code(s + at, &width));
  *end = at + width;
  return has;
}

/* The longest of the tokens that begins at s[at]. */
static const added *added_at(const added_list *list, const char *s, size_t n, size_t at) {
  const size_t b = (unsigned char)s[at];
  if (list->start[b] == list->start[b + 1]) return NULL;
  const size_t pair = b << 8 | (at + 1 < n ? (unsigned char)s[at + 1] : 0);
  if (at + 1 < n && !(list->pairs[pair >> 3] >> (pair & 7) & 1)) return NULL;
  for (size_t i = list->start[b]; i < list->start[b + 1]; i++) {
    const string *c = &list->items[i]->content;
    if (c->n <= n - at && !memcmp(c->s, s + at, c->n)) return list->items[i];
  }
  return NULL;
}

/* Divides s[n] at the added tokens of a list; raw: then each section at those of the normalised
   text, else to words. */
static phibal_status encode_added(tokenizer_json *j, work *x, bool raw, const char *s, size_t n,
                                  bool first, token_buffer *to) {
  const added_list *list = raw ? &j->raw : &j->normal;
  phibal_status status = PHIBAL_OK;
  size_t done = 0;
  for (size_t at = 0; at <= n && !status;) {
    const added *a = at < n && list->count ? added_at(list, s, n, at) : NULL;
    size_t start = at, end = n, there;
    if (at < n && !list->count) at = start = n;
    if (a) {
      end = at + a->content.n;
      const size_t after = end;
      if (a->single_word && (set_before(j->word_set, s, start, &there) ||
                             set_after(j->word_set, s, n, end, &there))) {
        at = after;
        continue;
      }
      while (a->lstrip && set_before(j->space_set, s, start, &there)) start = there;
      if (start < done) start = done;
      while (a->rstrip && set_after(j->space_set, s, n, end, &there)) end = there;
      at = after;
    } else if (at < n) {
      at++;
      continue;
    }
    if (done < start) {
      const bool begins = first && !done;
      if (raw && (j->norm_count || j->normal.count)) {
        x->section.count = 0;
        const char *section = s + done;
        size_t bytes = start - done;
        if (j->norm_count) {
          status = normalise(j, section, bytes, &x->section);
          section = x->section.bytes;
          bytes = x->section.count;
        }
        if (!status) status = encode_added(j, x, false, section, bytes, begins, to);
      } else {
        status = encode_section(j, x, s + done, start - done, begins, to);
      }
    }
    if (!a) break;
    if (!status) status = token_buffer_append(to, a->id);
    done = end;
  }
  return status;
}

phibal_status tokenizer_json_encode(tokenizer_json *j, const char *text, size_t n,
                                    token_buffer *buffer) {
  const size_t valid = text_utf8_valid(text, n);
  if (valid < n)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "text is not UTF-8 at byte %zu (0x%02x), and %s has no tokens for it",
                             valid, (unsigned char)text[valid], j->name);
  work x = {0};
  phibal_status status = encode_added(j, &x, true, text, n, true, buffer);
  text_buffer_free(&x.section);
  text_buffer_free(&x.text);
  text_buffer_free(&x.next);
  free(x.words.items);
  free(x.more.items);
  free(x.parts.items);
  free(x.symbols);
  free(x.heap);
  return status;
}

/* Decoding. */

/* Appends s[n] with `from` replaced by `to`; a null `from`: as it is. */
static phibal_status append_replaced(text_buffer *out, const char *s, size_t n, const string *from,
                                     const char *to, size_t m) {
  phibal_status status = PHIBAL_OK;
  size_t at = 0;
  while (at < n && !status) {
    const char *found = from->s ? memmem(s + at, n - at, from->s, from->n) : NULL;
    const size_t end = found ? (size_t)(found - s) : n;
    status = text_buffer_append(out, s + at, end - at);
    if (!status && found) status = text_buffer_append(out, to, m);
    at = found ? end + from->n : n;
  }
  return status;
}

phibal_status tokenizer_json_decode(const tokenizer_json *j, const uint32_t *ids, size_t n,
                                    char **text, size_t *bytes) {
  text_buffer out = {0};
  phibal_status status = text_buffer_append(&out, "", 0);
  bool first = true;
  for (size_t i = 0; i < n && !status; i++) {
    const string *t = ids[i] < j->vocabulary ? &j->tokens[ids[i]] : NULL;
    unsigned byte;
    if (!t || !t->s) continue;
    if (j->decode_bytes) {
      char *raw = malloc(t->n + 1);
      if (!raw) {
        status = memory_error();
        break;
      }
      const size_t count = level_bytes(t->s, t->n, raw);
      status = count == SIZE_MAX ? text_buffer_append(&out, t->s, t->n)
                                 : text_buffer_append(&out, raw, count);
      free(raw);
    } else if (j->decode_metaspace.s) {
      const bool drop = first && j->metaspace_first;
      status = append_replaced(&out, t->s, t->n, &j->decode_metaspace, " ", drop ? 0 : 1);
    } else if (j->decode_fallback && t->n == 6 && !memcmp(t->s, "<0x", 3) && t->s[5] == '>' &&
               strchr("+0123456789abcdefABCDEF", t->s[3]) &&
               strchr("0123456789abcdefABCDEF", t->s[4]) && sscanf(t->s + 3, "%2x>", &byte) == 1) {
      const char c = (char)byte;
      status = text_buffer_append(&out, &c, 1);
    } else {
      status = append_replaced(&out, t->s, t->n, &j->decode_from, j->decode_to.s, j->decode_to.n);
    }
    first = false;
  }
  if (!status && j->strip.s) {
    size_t start = 0, k = 0;
    while (k++ < j->strip_start && out.count - start >= j->strip.n &&
           !memcmp(out.bytes + start, j->strip.s, j->strip.n))
      start += j->strip.n;
    memmove(out.bytes, out.bytes + start, out.count - start);
    out.count -= start;
    for (k = 0; k < j->strip_stop && out.count >= j->strip.n &&
                !memcmp(out.bytes + out.count - j->strip.n, j->strip.s, j->strip.n);
         k++)
      out.count -= j->strip.n;
  }
  *bytes = out.count;
  if (!status) status = text_buffer_append(&out, "", 1);
  if (status) {
    text_buffer_free(&out);
    *bytes = 0;
    return status;
  }
  *text = out.bytes;
  return PHIBAL_OK;
}

void tokenizer_json_free(tokenizer_json *j) {
  if (!j) return;
  for (size_t i = 0; i < j->vocabulary; i++) free(j->tokens[i].s);
  for (size_t i = 0; i < j->owned_count; i++) free(j->owned[i].s);
  for (size_t i = 0; i < j->added_count; i++)
    free(j->added[i].content.s), free(j->added[i].given.s);
  for (size_t i = 0; i < MOST_STEPS; i++) {
    pattern_free(j->norm[i].pattern);
    free(j->norm[i].content.s);
    pattern_free(j->pre[i].pattern);
    free(j->pre[i].content.s);
  }
  free(j->decode_from.s);
  free(j->decode_to.s);
  free(j->decode_metaspace.s);
  free(j->strip.s);
  free(j->raw.items);
  free(j->normal.items);
  free(j->added);
  free(j->tokens);
  free(j->owned);
  free(j->words);
  free(j->merges);
  free(j->word_set);
  free(j->space_set);
  free(j->number_set);
  free(j->kept_set);
  free(j->cache);
  free(j->name);
  free(j);
}
