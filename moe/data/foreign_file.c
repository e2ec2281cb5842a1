#include "formats/file.h"
#include "token_file_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GPT2_END = 50256, LLAMA3_BEGIN = 128000 };

/* Recognises the format of NAME.bin: where the tokens begin in its mapping, and the bytes per
   token. */
typedef struct layout {
  size_t begin;
  int32_t token_bytes;
  int32_t end_of_document;
  bool opens; /* a document begins with it */
} layout;

static phibal_status format_error(const char *path, const char *what, long long number) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s (%lld)", path, what, number);
}

/* github.com/karpathy/llm.c, dev/data/data_common.py: 256 int32, of which magic, version and number
   of tokens are used. */
static phibal_status llmc_layout(const char *path, const token_file *file, layout *at) {
  int32_t header[256];
  memcpy(header, file->mapping, sizeof header);
  const bool wide = header[0] == 20240801;
  *at = (layout){sizeof header, wide ? 4 : 2, wide ? LLAMA3_BEGIN : GPT2_END, true};
  if (header[1] != (wide ? 7 : 1))
    return format_error(path, "llm.c data of an unknown version", header[1]);
  const size_t tokens = (file->mapping_bytes - sizeof header) / (size_t)at->token_bytes;
  if (header[2] < 1 || (size_t)header[2] != tokens ||
      (file->mapping_bytes - sizeof header) % (size_t)at->token_bytes)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: the header says %d tokens, the file has room for %zu", path,
                             header[2], tokens);
  return PHIBAL_OK;
}

/* Allocates the table of documents, after the pointer to the name and the name. */
static token_document *table_make(const char *path, int64_t documents, token_file *file) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const size_t bytes = strlen(name) - strlen(".bin");
  token_document *table = malloc(((size_t)documents + 1) * sizeof *table + bytes + 1);
  const char **pointer = malloc(sizeof *pointer);
  if (!table || !pointer) {
    free(table);
    free((void *)pointer);
    return NULL;
  }
  char *copy = (char *)(table + documents + 1);
  memcpy(copy, name, bytes);
  copy[bytes] = 0;
  *pointer = copy;
  file->owned = table;
  file->table = table;
  file->domain_names = pointer;
  file->domains = 1;
  return table;
}

static phibal_status memory_error(const char *path) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for its table of documents", path);
}

/* Splits at every end-of-document token. */
static phibal_status documents_cut(const char *path, const layout *at, token_file *file) {
  int64_t documents = 1;
  for (int64_t i = 0; i < file->tokens; i++)
    documents += token_file_at(file, i) == at->end_of_document;
  file->undivided = documents == 1;
  token_document *table = table_make(path, documents, file);
  if (!table) return memory_error(path);
  int64_t n = 0, start = 0;
  for (int64_t i = 0; i < file->tokens; i++) {
    const bool mark = token_file_at(file, i) == at->end_of_document;
    const int64_t end = at->opens ? i : i + 1; /* of the document before the mark */
    if (!mark || end == start) continue;
    table[n++] = (token_document){.start = start, .length = end - start};
    start = end;
  }
  if (start < file->tokens)
    table[n++] = (token_document){.start = start, .length = file->tokens - start};
  file->documents = n;
  return PHIBAL_OK;
}

/* NAME.idx of github.com/NVIDIA/Megatron-LM, megatron/core/datasets/indexed_dataset.py: magic (9
   bytes), version (uint64), type of the tokens (uint8), number of sequences and of document bounds
   (uint64 each), then the sequences' lengths (int32) and places (int64, bytes), and the sequences
   at which documents begin, with the number of sequences at the end (int64). Nothing is aligned. */
#define MEGATRON_MAGIC "MMIDIDX\0"
enum { MEGATRON_HEADER = 34, MEGATRON_INT32 = 4, MEGATRON_UINT16 = 8 };

static int64_t read64(const unsigned char *from) {
  int64_t value;
  memcpy(&value, from, sizeof value);
  return value;
}

static phibal_status megatron_header(const char *index, const unsigned char *bytes, size_t n,
                                     layout *at, int64_t *sequences, int64_t *bounds) {
  if (n < MEGATRON_HEADER || memcmp(bytes, MEGATRON_MAGIC, 9))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: not an index of Megatron-LM (it begins with \"MMIDIDX\")", index);
  if (read64(bytes + 9) != 1) return format_error(index, "not version 1", read64(bytes + 9));
  const int type = bytes[17];
  if (type != MEGATRON_INT32 && type != MEGATRON_UINT16)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: tokens of type %d; int32 (4) and uint16 (8) are read", index,
                             type);
  *at = (layout){.token_bytes = type == MEGATRON_INT32 ? 4 : 2};
  *sequences = read64(bytes + 18);
  *bounds = read64(bytes + 26);
  const int64_t most = (int64_t)n / 8;
  if (*sequences < 1 || *sequences > most || *bounds < 2 || *bounds > most ||
      (int64_t)n - MEGATRON_HEADER < 12 * *sequences + 8 * *bounds)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: %lld sequences and %lld document bounds do not fit in %zu bytes",
                             index, (long long)*sequences, (long long)*bounds, n);
  return PHIBAL_OK;
}

static phibal_status megatron_documents(const char *path, const char *index,
                                        const unsigned char *bytes, int64_t sequences,
                                        int64_t bounds, const layout *at, token_file *file) {
  const unsigned char *lengths = bytes + MEGATRON_HEADER, *places = lengths + 4 * sequences;
  const unsigned char *starts = places + 8 * sequences;
  token_document *table = table_make(path, bounds - 1, file);
  if (!table) return memory_error(path);
  int64_t token = 0, bound = 0;
  for (int64_t s = 0; s < sequences; s++) {
    /* Before sequence s: every document that begins here; empty documents are dropped. */
    for (; bound + 1 < bounds && read64(starts + 8 * bound) <= s; bound++) {
      if (read64(starts + 8 * bound) != s)
        return format_error(index, "document bounds are not in order at", bound);
      if (file->documents && table[file->documents - 1].start == token) file->documents--;
      table[file->documents++] = (token_document){.start = token};
    }
    int32_t length;
    memcpy(&length, lengths + 4 * s, sizeof length);
    if (length < 0 || length > file->tokens - token)
      return format_error(index, "wrong length of sequence", s);
    if (read64(places + 8 * s) != token * at->token_bytes)
      return format_error(index, "not after the previous one: sequence", s);
    token += length;
  }
  if (bound != bounds - 1 || read64(starts + 8 * bound) != sequences || read64(starts) != 0)
    return format_error(index, "the document bounds do not span the sequences", sequences);
  if (token != file->tokens)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %lld tokens, of which %s has %lld", index,
                             (long long)token, path, (long long)file->tokens);
  if (file->documents && table[file->documents - 1].start == token) file->documents--;
  for (int64_t d = 0; d < file->documents; d++)
    table[d].length = (d + 1 < file->documents ? table[d + 1].start : token) - table[d].start;
  return PHIBAL_OK;
}

/* Reads the tokens; rejects out-of-range values. */
static phibal_status tokens_find(const char *path, const layout *at, token_file *file) {
  const size_t bytes = file->mapping_bytes - at->begin;
  if (bytes % (size_t)at->token_bytes || !bytes)
    return format_error(path, "not a whole number of tokens: bytes", (long long)bytes);
  const unsigned char *tokens = (const unsigned char *)file->mapping + at->begin;
  file->tokens = (int64_t)(bytes / (size_t)at->token_bytes);
  if (at->token_bytes == 2)
    file->data16 = (const uint16_t *)(const void *)tokens;
  else
    file->data32 = (const uint32_t *)(const void *)tokens;
  uint32_t largest = 0;
  for (int64_t i = 0; i < file->tokens; i++) {
    const uint32_t token = file->data16 ? file->data16[i] : file->data32[i];
    if (token >= (uint32_t)TOKEN_FORMAT_MAX_VOCABULARY)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: token %lld is %u, out of range", path,
                               (long long)i, token);
    if (token > largest) largest = token;
  }
  file->vocabulary = (int32_t)largest + 1;
  file->vocabulary_open = true;
  /* Padding must be a token of the model; if the data have no end-of-document token, any will do.
   */
  file->end_of_document = (uint32_t)at->end_of_document <= largest ? at->end_of_document : 0;
  const int64_t words = (int64_t)(bytes / 8);
  uint64_t last = (uint64_t)bytes;
  memcpy(&last, tokens + 8 * words, bytes % 8);
  file->checksum = token_checksum(0, (const uint64_t *)(const void *)tokens, words);
  file->checksum = token_checksum(file->checksum, &last, 1);
  return PHIBAL_OK;
}

/* Bytes without a header are taken for uint16. Wider little-endian tokens betray themselves: the
   upper half of each is 0, or next to it for a vocabulary beyond 65536, and the lower half is not.
   In uint16 tokens the one half of the places is as the other, so that this is no chance in 32
   pairs. */
static phibal_status check_narrow(const char *path, const token_file *file) {
  enum { PAIRS = 32, UPPER = 4, LOWER = 1024 };
  uint16_t lower = 0, upper = 0;
  for (int64_t i = 0; i < file->tokens; i++) {
    uint16_t *most = i % 2 ? &upper : &lower;
    if (file->data16[i] > *most) *most = file->data16[i];
  }
  const bool wide = upper ? upper < UPPER && lower >= LOWER : lower > 0;
  if (file->tokens < 2 * PAIRS || file->tokens % 2 || !wide) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_FORMAT,
                           "%s: every second of its 16-bit numbers is at most %d, as in int32 "
                           "tokens; a .bin without a header and without an index is read as uint16 "
                           "(nanoGPT's)",
                           path, upper);
}

static phibal_status megatron_read(const char *path, const char *index, int32_t end_of_document,
                                   token_file *file) {
  void *mapping;
  size_t n;
  layout at = {0};
  int64_t sequences = 0, bounds = 0;
  phibal_status status = file_map(index, &mapping, &n);
  if (status) return status;
  status = megatron_header(index, mapping, n, &at, &sequences, &bounds);
  at.end_of_document = end_of_document < 0 ? 0 : end_of_document;
  if (!status) status = tokens_find(path, &at, file);
  if (!status) status = megatron_documents(path, index, mapping, sequences, bounds, &at, file);
  file_unmap(mapping, n);
  return status;
}

phibal_status foreign_file_read(const char *path, int32_t end_of_document, token_file *file) {
  char *index = string_format("%.*s.idx", (int)(strlen(path) - strlen(".bin")), path);
  if (!index) return memory_error(path);
  const bool has_index = !access(index, F_OK);
  phibal_status status = PHIBAL_OK;
  if (has_index) status = megatron_read(path, index, end_of_document, file);
  free(index);
  if (has_index) return status;
  layout at = {0, 2, GPT2_END, false};
  int32_t magic = 0;
  if (file->mapping_bytes >= 1024) memcpy(&magic, file->mapping, sizeof magic);
  if (magic == 20240520 || magic == 20240801) status = llmc_layout(path, file, &at);
  if (end_of_document >= 0) at.end_of_document = end_of_document;
  if (!status) status = tokens_find(path, &at, file);
  if (!status && !at.begin) status = check_narrow(path, file);
  return status ? status : documents_cut(path, &at, file);
}
