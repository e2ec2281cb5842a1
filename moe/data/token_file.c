/* Opens a token file. Nothing in it is trusted before it has been checked. */
#include "token_file_internal.h"
#include "formats/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The sizes that the header claims, against each other and against the file's. */
static phibal_status header_check(const char *path, const token_header *h, int64_t bytes) {
  if (memcmp(h->magic, TOKEN_FORMAT_MAGIC, sizeof h->magic))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: not a token file (its first 8 bytes are not \"phibtok\\n\"); "
                             "`phibal data build` makes one from text",
                             path);
  if (h->version != TOKEN_FORMAT_VERSION && h->version != TOKEN_FORMAT_VERSION_LEARNED)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: token file version %u; this phibal reads versions %d and %d",
                             path, h->version, TOKEN_FORMAT_VERSION, TOKEN_FORMAT_VERSION_LEARNED);
  if (h->file_bytes > bytes)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: truncated: the header says %lld bytes, the file has %lld", path,
                             (long long)h->file_bytes, (long long)bytes);
  if (h->file_bytes < bytes)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: the header says %lld bytes, the file has %lld: trailing data",
                             path, (long long)h->file_bytes, (long long)bytes);
  const char *bad = NULL;
  long long value = 0;
  if (h->vocabulary < 1 || h->vocabulary > TOKEN_FORMAT_MAX_VOCABULARY)
    bad = "vocabulary", value = h->vocabulary;
  else if (h->end_of_document < 0 || h->end_of_document >= h->vocabulary)
    bad = "end_of_document", value = h->end_of_document;
  else if (h->token_bytes != (h->vocabulary <= 65536 ? 2 : 4))
    bad = "token_bytes", value = h->token_bytes;
  else if (h->tokens < 1 || h->tokens > TOKEN_FORMAT_MAX_TOKENS)
    bad = "tokens", value = h->tokens;
  else if (h->documents < 1 || h->documents > h->tokens)
    bad = "documents", value = h->documents;
  else if (h->domains < 1 || h->domains > TOKEN_FORMAT_MAX_DOMAINS)
    bad = "domains", value = h->domains;
  else if (h->name_bytes < 8 || h->name_bytes % 8 ||
           h->name_bytes > (int64_t)h->domains * (TOKEN_FORMAT_MAX_NAME + 1) + 7)
    bad = "name_bytes", value = h->name_bytes;
  else if (h->reserved)
    bad = "reserved", value = h->reserved;
  if (bad)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: header: %s is %lld, out of range", path, bad,
                             value);
  const int64_t expected = token_format_bytes(h);
  if (expected != bytes)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: header: %lld tokens, %lld documents and %lld bytes of names make "
                             "%lld bytes, not %lld",
                             path, (long long)h->tokens, (long long)h->documents,
                             (long long)h->name_bytes, (long long)expected, (long long)bytes);
  return PHIBAL_OK;
}

static phibal_status names_check(const char *path, const token_header *h, const char *names,
                                 const char **pointers) {
  const char *end = names + h->name_bytes;
  for (int32_t d = 0; d < h->domains; d++) {
    const char *zero = names < end ? memchr(names, 0, (size_t)(end - names)) : NULL;
    if (!zero || zero == names || zero - names > TOKEN_FORMAT_MAX_NAME)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: the name of domain %d is %s", path, d,
                               !zero           ? "missing or cut"
                               : zero == names ? "empty"
                                               : "too long");
    pointers[d] = names;
    names = zero + 1;
  }
  return PHIBAL_OK;
}

static phibal_status documents_check(const char *path, const token_header *h,
                                     const token_file *file) {
  int64_t next = 0;
  for (int64_t i = 0; i < h->documents; i++) {
    const token_document *t = &file->table[i];
    if (t->start != next || t->length < 1 || t->length > h->tokens - next)
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: document %lld: start %lld, length %lld, where start %lld and "
                               "length 1 to %lld are possible",
                               path, (long long)i, (long long)t->start, (long long)t->length,
                               (long long)next, (long long)(h->tokens - next));
    if (t->domain < 0 || t->domain >= h->domains)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: document %lld: domain %d, of %d domains",
                               path, (long long)i, t->domain, h->domains);
    next += t->length;
    if (token_file_at(file, next - 1) != h->end_of_document)
      return phibal_status_set(
          PHIBAL_ERROR_FORMAT,
          "%s: document %lld ends in token %d, not in the end-of-document token %d", path,
          (long long)i, token_file_at(file, next - 1), h->end_of_document);
  }
  if (next != h->tokens)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: the documents cover %lld tokens of %lld",
                             path, (long long)next, (long long)h->tokens);
  return PHIBAL_OK;
}

static phibal_status tokens_check(const char *path, const token_header *h, const token_file *file) {
  for (int64_t i = 0; i < h->tokens; i++) {
    uint32_t token = file->data16 ? file->data16[i] : file->data32[i];
    if (token >= (uint32_t)h->vocabulary)
      return phibal_status_set(
          PHIBAL_ERROR_FORMAT, "%s: token %lld (byte %lld) is %u, outside the vocabulary of %d",
          path, (long long)i, (long long)((int64_t)sizeof *h + i * h->token_bytes), token,
          h->vocabulary);
  }
  return PHIBAL_OK;
}

static phibal_status learned_check(const char *path, const token_file *file) {
  for (int64_t i = file->tokens; i % 64; i++)
    if (token_file_learned(file, i))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: a target lies after the last token", path);
  for (int64_t d = 0; d < file->documents; d++) {
    const token_document *t = &file->table[d];
    int64_t i = t->start;
    if (token_file_learned(file, i))
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: document %lld: its first token is a target", path,
                               (long long)d);
    while (i < t->start + t->length && !token_file_learned(file, i)) i++;
    if (i == t->start + t->length)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: document %lld: it has no target", path,
                               (long long)d);
  }
  return PHIBAL_OK;
}

/* Everything but the mapping itself. The checksum is judged last: a wrong size, table or token says
   more about what is wrong than "corrupt" does. */
static phibal_status contents_check(const char *path, const void *contents, size_t bytes,
                                    token_file *file) {
  const char *base = contents;
  const token_header *h = contents;
  if (bytes < sizeof *h + 8)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: %zu bytes: too short for a token file's header, so truncated or "
                             "not a token file",
                             path, bytes);
  phibal_status status = header_check(path, h, (int64_t)bytes);
  if (status) return status;
  file->vocabulary = h->vocabulary;
  file->end_of_document = h->end_of_document;
  file->tokens = h->tokens;
  file->documents = h->documents;
  file->domains = h->domains;
  const char *tokens = base + sizeof *h;
  const char *table = tokens + token_format_padded(h->tokens * h->token_bytes);
  const char *names = table + h->documents * (int64_t)sizeof(token_document);
  if (h->token_bytes == 2)
    file->data16 = (const uint16_t *)tokens;
  else
    file->data32 = (const uint32_t *)tokens;
  file->table = (const token_document *)table;
  if (h->version == TOKEN_FORMAT_VERSION_LEARNED)
    file->learned = (const uint8_t *)names + h->name_bytes;

  const char **pointers = calloc((size_t)h->domains, sizeof *pointers);
  if (!pointers)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for %d domain names", path,
                             h->domains);
  file->domain_names = pointers;
  if ((status = names_check(path, h, names, pointers))) return status;
  if ((status = tokens_check(path, h, file))) return status;
  if ((status = documents_check(path, h, file))) return status;
  if (file->learned && (status = learned_check(path, file))) return status;

  uint64_t stored;
  memcpy(&stored, base + h->file_bytes - 8, sizeof stored);
  int64_t body = h->file_bytes - (int64_t)sizeof *h - 8;
  uint64_t sum = token_checksum(0, (const uint64_t *)tokens, body / 8);
  sum = token_checksum(sum, (const uint64_t *)base, (int64_t)sizeof *h / 8);
  if (sum != stored)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: corrupt: checksum %016llx, but the file says %016llx; build it "
                             "again",
                             path, (unsigned long long)sum, (unsigned long long)stored);
  file->checksum = sum;
  return PHIBAL_OK;
}

static phibal_status stamp(const char *path, int32_t end_of_document, token_file *file) {
  struct stat info;
  char *copy = strdup(path);
  if (!copy || stat(path, &info)) {
    free(copy);
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", path, strerror(errno));
  }
  file->stamp = (struct token_stamp){.path = copy,
                                     .given_end_of_document = end_of_document,
                                     .device = info.st_dev,
                                     .inode = info.st_ino,
                                     .bytes = info.st_size,
                                     .seconds = info.st_mtim.tv_sec,
                                     .nanoseconds = info.st_mtim.tv_nsec};
  return PHIBAL_OK;
}

phibal_status token_file_open(const char *path, token_file *file) {
  return token_file_open_with(path, -1, file);
}

phibal_status token_file_open_with(const char *path, int32_t end_of_document, token_file *file) {
  *file = (token_file){0};
  phibal_status status = file_map(path, &file->mapping, &file->mapping_bytes);
  const size_t n = strlen(path);
  const bool own = !status && file->mapping_bytes >= sizeof(token_header) &&
                   !memcmp(file->mapping, TOKEN_FORMAT_MAGIC, strlen(TOKEN_FORMAT_MAGIC));
  if (!status && !own && n > 4 && !strcmp(path + n - 4, ".bin"))
    status = foreign_file_read(path, end_of_document, file);
  else if (!status)
    status = contents_check(path, file->mapping, file->mapping_bytes, file);
  if (!status) status = stamp(path, end_of_document, file);
  if (status) token_file_close(file);
  return status;
}

phibal_status token_file_copy(token_file *file) {
  if (!file->stamp.path) return PHIBAL_OK;
  const char *from = file->mapping;
  char *to =
      mmap(NULL, file->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (to == MAP_FAILED)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for a copy (data.copy)",
                             file->stamp.path);
  memcpy(to, from, file->mapping_bytes);
  bool replaced;
  phibal_status status = token_file_unchanged(file, false, &replaced);
  if (status) {
    munmap(to, file->mapping_bytes);
    return status;
  }
  /* What pointed into the file; the rest is memory of its own. */
  const void **pointers[] = {(const void **)&file->table, (const void **)&file->data16,
                             (const void **)&file->data32, (const void **)&file->learned};
  for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
    const char *at = *pointers[i];
    if (at && at >= from && at < from + file->mapping_bytes) *pointers[i] = to + (at - from);
  }
  for (int32_t d = 0; d < file->domains; d++) {
    const char **name = (const char **)&file->domain_names[d];
    if (*name >= from && *name < from + file->mapping_bytes) *name = to + (*name - from);
  }
  file_unmap(file->mapping, file->mapping_bytes);
  file->mapping = to;
  free(file->stamp.path);
  file->stamp.path = NULL;
  return PHIBAL_OK;
}

phibal_status token_file_unchanged(token_file *file, bool whole, bool *replaced) {
  struct token_stamp *s = &file->stamp;
  struct stat now;
  *replaced = false;
  if (!s->path) return PHIBAL_OK;
  if (stat(s->path, &now) || now.st_dev != s->device || now.st_ino != s->inode) {
    *replaced = true;
    return PHIBAL_OK;
  }
  const bool same = now.st_size == s->bytes && now.st_mtim.tv_sec == s->seconds &&
                    now.st_mtim.tv_nsec == s->nanoseconds;
  if (same && !whole) return PHIBAL_OK;
  token_file again;
  phibal_status status = token_file_open_with(s->path, s->given_end_of_document, &again);
  if (!status && (again.checksum != file->checksum || again.tokens != file->tokens))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "its tokens differ from those at the start");
  if (!status) { /* touched, and not changed */
    s->seconds = again.stamp.seconds;
    s->nanoseconds = again.stamp.nanoseconds;
  }
  token_file_close(&again);
  if (!status) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s' was changed while it was read: %s", s->path,
                           phibal_status_message());
}

phibal_status token_file_view(const void *bytes, size_t n, const char *name, token_file *file) {
  *file = (token_file){0};
  phibal_status status = contents_check(name, bytes, n, file);
  if (status) token_file_close(file);
  return status;
}

void token_file_close(token_file *file) {
  free((void *)file->domain_names);
  free(file->owned);
  free(file->stamp.path);
  file_unmap(file->mapping, file->mapping_bytes);
  *file = (token_file){0};
}

int64_t token_file_document(const token_file *file, int64_t i) {
  int64_t low = 0, high = file->documents; /* table[low].start <= i < table[high].start */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (file->table[middle].start <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}
