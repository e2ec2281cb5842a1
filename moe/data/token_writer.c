/* Writes token files; the counterpart of token_file.c. */
#include "token_writer.h"
#include "formats/file.h"
#include "token_file_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 }; /* a multiple of 8, so that every full buffer is whole words */

struct token_writer {
  char *path, *temporary; /* temporary is null once there is no such file */
  int fd;
  token_header header;
  uint64_t sum;
  union {
    char bytes[BUFFER_BYTES];
    uint64_t words[BUFFER_BYTES / 8];
  } buffer;
  size_t filled;
  token_document *table;
  int64_t capacity;
  char *names;
  size_t name_bytes;
  uint8_t *learned; /* of examples */
  int64_t learned_capacity;
};

static phibal_status write_error(const token_writer *w) {
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot write: %s", w->path, strerror(errno));
}

/* Empties the buffer, padding it with zeros to whole words. */
static phibal_status buffer_flush(token_writer *w) {
  while (w->filled % 8) w->buffer.bytes[w->filled++] = 0;
  w->sum = token_checksum(w->sum, w->buffer.words, (int64_t)(w->filled / 8));
  if (!file_write_all(w->fd, w->buffer.bytes, w->filled)) return write_error(w);
  w->filled = 0;
  return PHIBAL_OK;
}

static phibal_status buffer_append(token_writer *w, const void *data, size_t bytes) {
  const char *from = data;
  while (bytes) {
    size_t room = BUFFER_BYTES - w->filled, part = bytes < room ? bytes : room;
    memcpy(w->buffer.bytes + w->filled, from, part);
    w->filled += part;
    from += part;
    bytes -= part;
    if (w->filled == BUFFER_BYTES) {
      phibal_status status = buffer_flush(w);
      if (status) return status;
    }
  }
  return PHIBAL_OK;
}

static phibal_status token_append(token_writer *w, uint32_t token) {
  if (w->header.token_bytes == 4) return buffer_append(w, &token, 4);
  uint16_t narrow = (uint16_t)token;
  return buffer_append(w, &narrow, 2);
}

phibal_status token_writer_create(const char *path, int32_t vocabulary, int32_t end_of_document,
                                  token_writer **writer) {
  *writer = NULL;
  if (vocabulary < 1 || vocabulary > TOKEN_FORMAT_MAX_VOCABULARY || end_of_document < 0 ||
      end_of_document >= vocabulary)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: vocabulary %d with end of document %d: 1 to %d tokens are "
                             "possible, and the end of document is one of them",
                             path, vocabulary, end_of_document, TOKEN_FORMAT_MAX_VOCABULARY);
  token_writer *w = calloc(1, sizeof *w);
  if (w) w->fd = -1;
  if (!w || !(w->path = strdup(path))) {
    token_writer_destroy(w);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory to write it", path);
  }
  memcpy(w->header.magic, TOKEN_FORMAT_MAGIC, sizeof w->header.magic);
  w->header.version = TOKEN_FORMAT_VERSION;
  w->header.token_bytes = vocabulary <= 65536 ? 2 : 4;
  w->header.vocabulary = vocabulary;
  w->header.end_of_document = end_of_document;
  phibal_status status = file_create_temporary(path, &w->temporary, &w->fd);
  if (!status && lseek(w->fd, sizeof w->header, SEEK_SET) < 0) status = write_error(w);
  if (status)
    token_writer_destroy(w);
  else
    *writer = w;
  return status;
}

phibal_status token_writer_domain(token_writer *w, const char *name) {
  size_t bytes = strlen(name) + 1;
  if (bytes < 2 || bytes > TOKEN_FORMAT_MAX_NAME + 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "domain name of %zu bytes: 1 to %d are possible", bytes - 1,
                             TOKEN_FORMAT_MAX_NAME);
  if (w->header.domains == TOKEN_FORMAT_MAX_DOMAINS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: more than %d domains", w->path,
                             TOKEN_FORMAT_MAX_DOMAINS);
  char *names = realloc(w->names, w->name_bytes + bytes);
  if (!names) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for a name", w->path);
  memcpy(names + w->name_bytes, name, bytes);
  w->names = names;
  w->name_bytes += bytes;
  w->header.domains++;
  return PHIBAL_OK;
}

/* The bits of one example's tokens, which come next, and of its end of document. */
static phibal_status learned_append(token_writer *w, const uint8_t *learned, int64_t n) {
  const int64_t first = w->header.tokens, bytes = token_format_padded((first + n + 8) / 8);
  if (n < 1 || learned[0])
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: document %lld: its first token cannot be a target", w->path,
                             (long long)w->header.documents);
  if (bytes > w->learned_capacity) {
    const int64_t capacity = 2 * bytes;
    uint8_t *grown = realloc(w->learned, (size_t)capacity);
    if (!grown)
      return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for %lld tokens", w->path,
                               (long long)(8 * capacity));
    memset(grown + w->learned_capacity, 0, (size_t)(capacity - w->learned_capacity));
    w->learned = grown;
    w->learned_capacity = capacity;
  }
  for (int64_t i = 0; i <= n; i++)
    if (i == n || learned[i]) w->learned[(first + i) / 8] |= (uint8_t)(1 << (first + i) % 8);
  return PHIBAL_OK;
}

static phibal_status append(token_writer *w, const uint32_t *tokens, const uint8_t *learned,
                            int64_t n, int32_t domain) {
  if (domain < 0 || domain >= w->header.domains)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: domain %d of %d", w->path, domain,
                             w->header.domains);
  for (int64_t i = 0; i < n; i++)
    if (tokens[i] >= (uint32_t)w->header.vocabulary)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: document %lld: token %lld is %u, outside the vocabulary of %d",
                               w->path, (long long)w->header.documents, (long long)i, tokens[i],
                               w->header.vocabulary);
  if (n < 0 || n >= TOKEN_FORMAT_MAX_TOKENS - w->header.tokens)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld more tokens are too many", w->path,
                             (long long)n);
  const uint32_t version = learned ? TOKEN_FORMAT_VERSION_LEARNED : TOKEN_FORMAT_VERSION;
  if (w->header.documents && w->header.version != version)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: documents and examples in one file",
                             w->path);
  w->header.version = version;
  phibal_status status = learned ? learned_append(w, learned, n) : PHIBAL_OK;
  if (status) return status;
  if (w->header.documents == w->capacity) {
    int64_t capacity = w->capacity ? 2 * w->capacity : 1024;
    token_document *table = realloc(w->table, (size_t)capacity * sizeof *table);
    if (!table)
      return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for %lld documents", w->path,
                               (long long)capacity);
    w->table = table;
    w->capacity = capacity;
  }
  w->table[w->header.documents++] =
      (token_document){.start = w->header.tokens, .length = n + 1, .domain = domain};
  w->header.tokens += n + 1;
  for (int64_t i = 0; i < n; i++) {
    status = token_append(w, tokens[i]);
    if (status) return status;
  }
  return token_append(w, (uint32_t)w->header.end_of_document);
}

phibal_status token_writer_document(token_writer *w, const uint32_t *tokens, int64_t n,
                                    int32_t domain) {
  return append(w, tokens, NULL, n, domain);
}

phibal_status token_writer_example(token_writer *w, const uint32_t *tokens, const uint8_t *learned,
                                   int64_t n, int32_t domain) {
  return append(w, tokens, learned, n, domain);
}

phibal_status token_writer_finish(token_writer *w) {
  if (!w->header.documents)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no documents to write", w->path);
  phibal_status status = buffer_flush(w);
  if (!status)
    status = buffer_append(w, w->table, (size_t)w->header.documents * sizeof(token_document));
  if (!status) status = buffer_append(w, w->names, w->name_bytes);
  if (!status) status = buffer_flush(w);
  if (!status) status = buffer_append(w, w->learned, (size_t)token_format_learned(&w->header));
  if (!status) status = buffer_flush(w);
  if (status) return status;
  w->header.name_bytes = token_format_padded((int64_t)w->name_bytes);
  w->header.file_bytes = token_format_bytes(&w->header);
  uint64_t words[sizeof w->header / 8];
  memcpy(words, &w->header, sizeof words);
  uint64_t sum = token_checksum(w->sum, words, (int64_t)(sizeof words / 8));
  if (!file_write_all(w->fd, &sum, sizeof sum) || lseek(w->fd, 0, SEEK_SET) < 0 ||
      !file_write_all(w->fd, &w->header, sizeof w->header) || fsync(w->fd))
    return write_error(w);
  return PHIBAL_OK;
}

phibal_status token_writer_publish(token_writer *w) {
  phibal_status status = file_publish(w->temporary, w->path);
  if (status) return status;
  free(w->temporary);
  w->temporary = NULL;
  return PHIBAL_OK;
}

char *token_writer_release(token_writer *w) {
  char *temporary = w->temporary;
  w->temporary = NULL;
  return temporary;
}

void token_writer_destroy(token_writer *w) {
  if (!w) return;
  if (w->fd >= 0) close(w->fd);
  if (w->temporary) unlink(w->temporary);
  free(w->temporary);
  free(w->path);
  free(w->table);
  free(w->names);
  free(w->learned);
  free(w);
}
