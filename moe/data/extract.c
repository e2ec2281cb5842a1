#include "extract.h"
#include "manual.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GROUP_BYTES = 8192 }; /* documents made of short entries are about this long */

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the corpus");
}

static phibal_status document_append(extract *e, const char *text, size_t n) {
  if (n < EXTRACT_LEAST || n > EXTRACT_MOST || text_utf8_valid(text, n) < n || memchr(text, 0, n)) {
    e->left_out++;
    return PHIBAL_OK;
  }
  if (e->count == e->capacity) {
    size_t capacity = e->capacity ? 2 * e->capacity : 1024;
    struct extract_document *documents = realloc(e->documents, capacity * sizeof *documents);
    if (!documents) return memory_error();
    e->documents = documents;
    e->capacity = capacity;
  }
  char *copy = malloc(n);
  if (!copy) return memory_error();
  memcpy(copy, text, n);
  e->documents[e->count++] =
      (struct extract_document){.text = copy, .bytes = n, .hash = text_hash(0, text, n)};
  return PHIBAL_OK;
}

void extract_free(extract *e) {
  for (size_t i = 0; i < e->count; i++) free(e->documents[i].text);
  free(e->documents);
  *e = (extract){0};
}

phibal_status extract_gunzip(text_buffer *file, const char *path) {
  if (file->count < 2 || memcmp(file->bytes, "\x1f\x8b", 2)) return PHIBAL_OK;
  z_stream z = {.next_in = (Bytef *)file->bytes, .avail_in = (uInt)file->count};
  if (file->count > UINT32_MAX || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) return memory_error();
  text_buffer out = {0};
  phibal_status status = PHIBAL_OK;
  int result = Z_OK;
  while (!status && (result == Z_OK || (result == Z_STREAM_END && z.avail_in))) {
    char part[65536];
    if (result == Z_STREAM_END) inflateReset(&z);
    z.next_out = (Bytef *)part;
    z.avail_out = sizeof part;
    result = inflate(&z, Z_NO_FLUSH);
    status = text_buffer_append(&out, part, sizeof part - z.avail_out);
  }
  inflateEnd(&z);
  if (!status && result != Z_STREAM_END)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: damaged gzip data", path);
  text_buffer_free(status ? &out : file);
  if (!status) *file = out;
  return status;
}

phibal_status extract_plain(const text_buffer *file, const char *path, extract *to) {
  (void)path;
  return document_append(to, file->bytes, file->count);
}

phibal_status extract_manual(const text_buffer *file, const char *path, extract *to) {
  (void)path;
  text_buffer text = {0};
  phibal_status status = manual_text(file->bytes, file->count, &text);
  if (!status) status = document_append(to, text.bytes, text.count);
  text_buffer_free(&text);
  return status;
}

phibal_status extract_dictionary(const text_buffer *file, const char *path, extract *to) {
  (void)path;
  phibal_status status = PHIBAL_OK;
  size_t start = 0;
  for (size_t i = 1; i < file->count && !status; i++) {
    const char *at = file->bytes + i;
    /* An entry begins with a letter or sign at the margin after an empty line. */
    if (i - start >= GROUP_BYTES && at[-1] == '\n' && at[-2] == '\n' && *at != ' ' && *at != '\n') {
      status = document_append(to, file->bytes + start, i - start);
      start = i;
    }
  }
  return status ? status : document_append(to, file->bytes + start, file->count - start);
}

/* One line of a data file: offset, file number, type, count of words in hexadecimal, then word and
   number in turn, pointers, and the gloss after a bar. */
static phibal_status synonyms_append(const char *line, const char *end, text_buffer *text) {
  const char *bar = memchr(line, '|', (size_t)(end - line));
  if (!bar || end - line < 18 || line[0] == ' ') return PHIBAL_OK;
  const long words = strtol(line + 14, NULL, 16);
  const char *at = line + 17;
  phibal_status status = PHIBAL_OK;
  for (long w = 0; w < words && at < bar && !status; w++) {
    if (w) status = text_buffer_string(text, ", ");
    for (; at < bar && *at != ' ' && !status; at++)
      status = text_buffer_string(text, (char[]){*at == '_' ? ' ' : *at, 0});
    while (at < bar && *at == ' ') at++;
    while (at < bar && *at != ' ') at++;
    while (at < bar && *at == ' ') at++;
  }
  while (end > bar + 1 && end[-1] == ' ') end--;
  if (!status) status = text_buffer_string(text, ":");
  if (!status) status = text_buffer_append(text, bar + 1, (size_t)(end - bar - 1));
  return status ? status : text_buffer_string(text, "\n");
}

phibal_status extract_wordnet(const text_buffer *file, const char *path, extract *to) {
  (void)path;
  text_buffer text = {0};
  const char *at = file->bytes, *end = file->bytes + file->count;
  phibal_status status = PHIBAL_OK;
  while (at < end && !status) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (!newline) newline = end;
    status = synonyms_append(at, newline, &text);
    at = newline < end ? newline + 1 : end;
    if (!status && text.count && (text.count >= GROUP_BYTES || at == end)) {
      status = document_append(to, text.bytes, text.count);
      text.count = 0;
    }
  }
  text_buffer_free(&text);
  return status;
}

/* Appends OSIS text without markup and notes, with white space collapsed. */
static phibal_status osis_append(const char *s, size_t n, text_buffer *text) {
  const char *end = s + n;
  const size_t before = text->count;
  phibal_status status = PHIBAL_OK;
  bool space = false;
  while (s < end && !status) {
    if (*s == '<') {
      const bool note = (size_t)(end - s) > 5 && !memcmp(s, "<note", 5);
      const char *close = note ? memmem(s, (size_t)(end - s), "</note>", 7) : s;
      close = close ? memchr(close, '>', (size_t)(end - close)) : NULL;
      s = close ? close + 1 : end;
    } else if (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r') {
      space = true;
      s++;
    } else {
      if (space && text->count > before) status = text_buffer_string(text, " ");
      space = false;
      if (!status) status = text_buffer_append(text, s++, 1);
    }
  }
  if (!status && text->count > before) status = text_buffer_string(text, "\n");
  return status;
}

static uint32_t read32(const char *s) {
  const unsigned char *u = (const unsigned char *)s;
  return (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

static phibal_status damaged(const char *path) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not a SWORD module of compressed text", path);
}

/* Block number `number` of the index: offset, compressed and full size, 4 bytes each. */
static phibal_status block_inflate(const text_buffer *index, const text_buffer *data,
                                   uint32_t number, const char *path, text_buffer *block) {
  if (12 * ((uint64_t)number + 1) > index->count) return damaged(path);
  const char *entry = index->bytes + 12 * (size_t)number;
  const uint32_t offset = read32(entry), packed = read32(entry + 4), full = read32(entry + 8);
  if ((uint64_t)offset + packed > data->count || full > (1 << 28)) return damaged(path);
  block->count = 0;
  char *bytes = realloc(block->bytes, full + 1);
  if (!bytes) return memory_error();
  block->bytes = bytes;
  block->capacity = full + 1;
  uLongf got = full;
  if (uncompress((Bytef *)bytes, &got, (const Bytef *)data->bytes + offset, packed) != Z_OK)
    return damaged(path);
  block->count = got;
  return PHIBAL_OK;
}

/* The verse index: block number (4 bytes), offset in the block (4), length (2). */
static phibal_status verses_extract(const text_buffer *blocks, const text_buffer *verses,
                                    const text_buffer *data, const char *path, extract *to) {
  text_buffer block = {0}, chapter = {0};
  uint32_t current = UINT32_MAX;
  phibal_status status = PHIBAL_OK;
  for (size_t at = 0; at + 10 <= verses->count && !status; at += 10) {
    const char *entry = verses->bytes + at;
    const uint32_t number = read32(entry), offset = read32(entry + 4);
    const size_t length = (unsigned char)entry[8] | (size_t)(unsigned char)entry[9] << 8;
    if (!length) continue;
    if (number != current) status = block_inflate(blocks, data, number, path, &block);
    if (status) break;
    current = number;
    if (offset + length > block.count) {
      status = damaged(path);
      break;
    }
    const char *verse = block.bytes + offset;
    if (memmem(verse, length, "<chapter n=", 11) && chapter.count) {
      status = document_append(to, chapter.bytes, chapter.count);
      chapter.count = 0;
    }
    if (!status) status = osis_append(verse, length, &chapter);
  }
  if (!status && chapter.count) status = document_append(to, chapter.bytes, chapter.count);
  text_buffer_free(&block);
  text_buffer_free(&chapter);
  return status;
}

phibal_status extract_scripture(const text_buffer *file, const char *path, extract *to) {
  size_t stem = strlen(path) - 1; /* ....bzs: only the last letter differs */
  char *verse_path = string_format("%.*sv", (int)stem, path);
  char *data_path = string_format("%.*sz", (int)stem, path);
  text_buffer verses = {0}, data = {0};
  phibal_status status = verse_path && data_path ? PHIBAL_OK : memory_error();
  if (!status) status = file_read_all(verse_path, &verses);
  if (!status) status = file_read_all(data_path, &data);
  if (!status) status = verses_extract(file, &verses, &data, path, to);
  text_buffer_free(&verses);
  text_buffer_free(&data);
  free(verse_path);
  free(data_path);
  return status;
}

typedef struct ranked {
  uint64_t hash;
  size_t number;
} ranked;

static int ranked_compare(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

phibal_status extract_choose(extract *e, int64_t bytes) {
  ranked *order = calloc(e->count + 1, sizeof *order);
  if (!order) return memory_error();
  for (size_t i = 0; i < e->count; i++)
    order[i] = (ranked){.hash = e->documents[i].hash, .number = i};
  qsort(order, e->count, sizeof *order, ranked_compare);
  int64_t total = 0;
  for (size_t i = 0; i < e->count; i++) {
    struct extract_document *d = &e->documents[order[i].number];
    const bool again = i && order[i].hash == order[i - 1].hash;
    if (again || total + (int64_t)d->bytes > bytes) {
      free(d->text);
      d->text = NULL;
    } else {
      total += (int64_t)d->bytes;
    }
  }
  free(order);
  size_t kept = 0;
  for (size_t i = 0; i < e->count; i++)
    if (e->documents[i].text) e->documents[kept++] = e->documents[i];
  e->count = kept;
  return PHIBAL_OK;
}
