#include "build.h"
#include "formats/file.h"
#include "manifest.h"
#include "text.h"
#include "token_writer.h"
#include "tokenizer.h"
#include "formats/text_limits.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the first pass records about a document. */
typedef struct document {
  uint64_t hash;
  int32_t domain;
  bool validation;
} document;

/* Data from standard input or a pipe, which can be read only once. */
typedef struct spool {
  bool used;
  void *bytes;
  size_t count;
} spool;

typedef struct build {
  const build_options *options;
  build_report *report;
  string_list files;
  int32_t *file_domains; /* [files.count] */
  spool *spools;         /* [files.count], all zeros for a file */
  int64_t *domain_files; /* [domain_count] */
  document *documents;
  size_t count, capacity;
  tokenizer tokenizer;
  char *model; /* a SentencePiece model trained here, else null */
  size_t model_bytes;
} build;

/* Iterates over all documents of all files, in the same order each time. */
typedef struct cursor {
  build *build;
  bool first_pass; /* notices are given and counted once */
  size_t file;     /* the next to be read */
  text_buffer buffer;
  const char *bytes; /* of the file, in the buffer or in a spool */
  size_t size, offset;
  int64_t limit;  /* of a document's bytes; 0: none */
  bool lines;     /* JSON lines */
  int64_t line;   /* the one given */
  json_t *object; /* of that line, */
  const char *rest;
  size_t rest_bytes; /* and what is left of its text */
  int32_t domain;
  size_t document; /* given so far */
} cursor;

static void cursor_free(cursor *c) {
  text_buffer_free(&c->buffer);
  json_decref(c->object);
}

static void notice(const build *b, const char *format, const char *path, long long number) {
  if (!b->options->notice) return;
  char *message = string_format(format, path, number);
  if (message) b->options->notice(message);
  free(message);
}

/* One of many similar notices: the first are printed, all are counted. */
static void left_out(const build *b, int64_t *count, const char *format, const char *path,
                     long long number) {
  enum { NAMED = 8 };
  if (++*count <= NAMED) notice(b, format, path, number);
  if (*count == NAMED + 1) notice(b, "%s and others likewise, counted at the end", path, 0);
}

int64_t build_document_bytes(int64_t bytes) {
  const int64_t part = bytes / 64;
  return part < 1024 ? 1024 : part > 32768 ? 32768 : part;
}

/* Whether a file is text; PHIBAL_ERROR_FORMAT where the options say that it must be, else *text. */
static phibal_status text_check(const cursor *c, const char *path, bool *text) {
  const build *b = c->build;
  const build_invalid rule = b->options->invalid;
  const size_t valid = text_utf8_valid(c->bytes, c->size);
  int64_t zeros = 0;
  const char *first = memchr(c->bytes, 0, c->size), *end = c->bytes + c->size;
  for (const char *at = first; at;
       at = at + 1 < end ? memchr(at + 1, 0, (size_t)(end - at - 1)) : NULL)
    zeros++;
  *text = rule == BUILD_INVALID_KEEP || (valid == c->size && !zeros);
  if (rule == BUILD_INVALID_KEEP && zeros && c->first_pass)
    notice(b, "%s: %lld zero bytes, kept", path, zeros);
  if (*text) return PHIBAL_OK;
  if (rule == BUILD_INVALID_ERROR && valid < c->size)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: not UTF-8 at byte %zu (0x%02x)%s; convert it, or skip such files "
                             "(--invalid-utf8 skip) or keep their bytes (--invalid-utf8 keep)",
                             path, valid, (unsigned char)c->bytes[valid],
                             c->size > 2 && !memcmp(c->bytes, "\x1f\x8b", 2)
                                 ? ", compressed by gzip: zcat it into standard input, -"
                                 : "");
  if (rule == BUILD_INVALID_ERROR)
    return phibal_status_set(
        PHIBAL_ERROR_FORMAT,
        "%s: %lld zero bytes, the first at byte %lld, as text has none (UTF-16 "
        "has); convert it, or skip such files (--invalid-utf8 skip) or keep their bytes "
        "(--invalid-utf8 keep)",
        path, (long long)zeros, (long long)(first - c->bytes));
  if (!c->first_pass) return PHIBAL_OK;
  if (valid < c->size)
    left_out(b, &b->report->invalid_files, "%s: not UTF-8 at byte %lld, skipped", path,
             (long long)valid);
  else
    left_out(b, &b->report->zero_files, "%s: %lld zero bytes, skipped", path, zeros);
  return PHIBAL_OK;
}

/* Reads the next file into the cursor; its size is 0 if the file is to be skipped. */
static phibal_status cursor_read(cursor *c) {
  build *b = c->build;
  const build_options *o = b->options;
  const size_t file = c->file++;
  const char *path = b->files.items[file];
  c->domain = b->file_domains[file];
  c->offset = c->size = 0;
  c->line = 0;
  phibal_status status = PHIBAL_OK;
  if (b->spools[file].used) {
    c->bytes = b->spools[file].bytes;
    c->size = b->spools[file].count;
  } else if (!(status = file_read_all(path, &c->buffer))) {
    c->bytes = c->buffer.bytes;
    c->size = c->buffer.count;
  }
  if (status) return status;
  bool text = c->size > 0;
  if (!text && c->first_pass) left_out(b, &b->report->empty_files, "%s: empty, skipped", path, 0);
  if (text) status = text_check(c, path, &text);
  if (!text) c->size = 0;
  if (!text || status) return status;
  if (c->first_pass) b->report->files++;
  c->lines = !o->chat && (o->lines == BUILD_LINES_ALL ||
                          (o->lines == BUILD_LINES_NAMED && string_ends_with(path, ".jsonl")));
  c->limit = o->document_bytes;
  build_domain *domain = &b->report->domains[c->domain];
  if (o->divide_one && !o->chat && !c->lines && b->domain_files[c->domain] == 1 && !c->limit &&
      (int64_t)c->size > (c->limit = build_document_bytes((int64_t)c->size))) {
    if (c->first_pass)
      notice(b,
             "%s is one file: split into documents of at most %lld bytes, at empty lines if "
             "possible (--document-bytes N: another size; 0: no splitting)",
             path, c->limit);
    domain->document_bytes = c->limit;
  }
  return PHIBAL_OK;
}

static bool is_blank(const char *text, size_t n) {
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r')) n--;
  return !n;
}

/* The text of a JSON line. */
static phibal_status line_read(cursor *c, const char *line, size_t bytes) {
  const char *path = c->build->files.items[c->file - 1];
  json_error_t error;
  json_decref(c->object);
  c->object = NULL;
  phibal_status status = text_line_within(path, c->line, bytes);
  if (status) return status;
  c->object = json_loadb(line, bytes, 0, &error);
  const json_t *text = json_object_get(c->object, "text");
  if (!c->object)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s:%lld: no JSON: %.100s (--jsonl none takes the file as it is)",
                             path, (long long)c->line, error.text);
  if (!json_is_string(text))
    return phibal_status_set(
        PHIBAL_ERROR_FORMAT,
        "%s:%lld: expected an object with a string \"text\"; --instructions is "
        "for prompts and chats, --jsonl none takes the file as it is",
        path, (long long)c->line);
  c->rest = json_string_value(text);
  c->rest_bytes = json_string_length(text);
  return PHIBAL_OK;
}

/* The document at the cursor, which moves past it; *text is null for a line without one. */
static phibal_status cursor_take(cursor *c, const char **text, size_t *bytes) {
  const size_t left = c->size - c->offset;
  phibal_status status = PHIBAL_OK;
  *text = c->bytes + c->offset;
  if (c->rest_bytes) {
    *text = c->rest;
    *bytes = text_document_length(*text, c->rest_bytes, c->limit);
    c->rest += *bytes;
    c->rest_bytes -= *bytes;
  } else if (!c->lines && !c->build->options->chat) {
    *bytes = text_document_length(*text, left, c->limit);
    c->offset += *bytes;
  } else {
    const char *end = memchr(*text, '\n', left);
    *bytes = end ? (size_t)(end - *text) : left;
    c->offset += *bytes + (end != NULL);
    c->line++;
    const bool blank = is_blank(*text, *bytes);
    if (c->lines && !blank) status = line_read(c, *text, *bytes);
    if (c->lines || blank) *text = NULL;
  }
  return status;
}

/* The next document; *text is null at the end. */
static phibal_status cursor_next(cursor *c, const char **text, size_t *bytes) {
  build *b = c->build;
  *text = NULL;
  if (b->options->interrupted && *b->options->interrupted)
    return phibal_status_set(PHIBAL_ERROR_IO, "interrupted; nothing was written");
  phibal_status status = PHIBAL_OK;
  while (!status && !*text) {
    if (c->offset < c->size || c->rest_bytes)
      status = cursor_take(c, text, bytes);
    else if (c->file == b->files.count)
      return PHIBAL_OK;
    else
      status = cursor_read(c);
  }
  c->document += !status;
  return status;
}

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
}

/* The number of the domain called `name`, added if it is new; -1 when out of memory. */
static int32_t domain_number(build_report *report, const char *name) {
  for (int32_t d = 0; d < report->domain_count; d++)
    if (!strcmp(report->domains[d].name, name)) return d;
  build_domain *domains =
      realloc(report->domains, ((size_t)report->domain_count + 1) * sizeof *domains);
  if (!domains) return -1;
  report->domains = domains;
  char *copy = strdup(name);
  if (!copy) return -1;
  domains[report->domain_count] = (build_domain){.name = copy};
  return report->domain_count++;
}

/* Stores data that can be read only once in a mapped, unnamed file, not in memory. */
static phibal_status spool_fill(const build *b, const char *path, int from, spool *s) {
  if (fcntl(from, F_GETFD) < 0) /* closed: the next file that is opened would have its number */
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot read: %s", path, strerror(errno));
  const char *folder = getenv("TMPDIR");
  char *name = string_format("%s/.phibal.XXXXXX", folder && *folder ? folder : "/tmp");
  if (!name) return memory_error();
  int to = mkostemp(name, O_CLOEXEC);
  if (to >= 0) unlink(name);
  phibal_status status = PHIBAL_OK;
  if (to < 0)
    status = phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot create: %s", name, strerror(errno));
  static char part[1 << 16];
  while (!status) {
    /* A signal just before the wait would not interrupt it. */
    const bool waits = poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, 500) <= 0;
    const ssize_t got = waits ? 0 : read(from, part, sizeof part);
    if (b->options->interrupted && *b->options->interrupted)
      status = phibal_status_set(PHIBAL_ERROR_IO, "interrupted; nothing was written");
    else if (waits || (got < 0 && errno == EINTR))
      continue;
    else if (got < 0)
      status = phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot read: %s", path, strerror(errno));
    else if (got && !file_write_all(to, part, (size_t)got))
      status = phibal_status_set(PHIBAL_ERROR_IO,
                                 "%s: cannot be kept in %s: %s (TMPDIR names another folder)", path,
                                 folder && *folder ? folder : "/tmp", strerror(errno));
    s->count += got > 0 ? (size_t)got : 0;
    if (got <= 0) break;
  }
  if (!status && s->count) {
    void *at = mmap(NULL, s->count, PROT_READ, MAP_PRIVATE, to, 0);
    if (at == MAP_FAILED)
      status = phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot map: %s", path, strerror(errno));
    else
      s->bytes = at;
  }
  if (to >= 0) close(to);
  free(name);
  return status;
}

/* Standard input or a pipe as the one file of its source. */
static phibal_status stream_find(build *b, const char *path, spool *s) {
  const bool standard = !strcmp(path, "-");
  const char *name = standard ? "standard input" : path;
  s->used = true;
  for (size_t f = 0; standard && f < b->files.count; f++)
    if (b->spools[f].used && !strcmp(b->files.items[f], name))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "standard input is named twice");
  if (standard && isatty(STDIN_FILENO))
    notice(b, "%s is read from the terminal, to its end", name, 0);
  int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot open: %s", path, strerror(errno));
  phibal_status status = spool_fill(b, name, fd, s);
  if (!standard) close(fd);
  return status ? status : string_list_append(&b->files, name);
}

static phibal_status files_find(build *b) {
  build_report *report = b->report;
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < b->options->source_count && !status; i++) {
    const build_source *source = &b->options->sources[i];
    const int32_t domain = domain_number(report, source->domain);
    if (domain < 0) return memory_error();
    const size_t before = b->files.count;
    spool stream = {0};
    folder_left_out out = {0};
    struct stat info;
    const bool pipe =
        !strcmp(source->path, "-") ||
        (!stat(source->path, &info) && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)));
    status = pipe ? stream_find(b, source->path, &stream)
                  : folder_files_linked(source->path, &b->files, &out);
    report->hidden += out.hidden;
    report->again += out.again;
    for (size_t k = 0; k < out.broken.count; k++)
      left_out(b, &report->broken_links, "%s: a broken link, skipped", out.broken.items[k], 0);
    for (size_t k = 0; k < out.no_files.count; k++)
      left_out(b, &report->no_files, "%s: not a file, skipped", out.no_files.items[k], 0);
    folder_left_out_free(&out);
    const size_t after = b->files.count;
    int32_t *domains = realloc(b->file_domains, (after + 1) * sizeof *domains);
    if (domains) b->file_domains = domains;
    spool *spools = realloc(b->spools, (after + 1) * sizeof *spools);
    if (spools) b->spools = spools;
    if (!domains || !spools) {
      if (stream.bytes) munmap(stream.bytes, stream.count);
      return memory_error();
    }
    for (size_t f = before; f < after; f++) {
      domains[f] = domain;
      spools[f] = stream;
    }
  }
  b->domain_files = calloc((size_t)report->domain_count + 1, sizeof *b->domain_files);
  if (!b->domain_files) return memory_error();
  for (size_t f = 0; f < b->files.count && !status; f++) b->domain_files[b->file_domains[f]]++;
  return status;
}

/* First pass: every file is read, checked and split before anything is written. */
static phibal_status documents_survey(build *b) {
  cursor c = {.build = b, .first_pass = true};
  const char *text;
  size_t bytes;
  phibal_status status;
  while (!(status = cursor_next(&c, &text, &bytes)) && text) {
    if (b->count == b->capacity) {
      size_t capacity = b->capacity ? 2 * b->capacity : 1024;
      document *documents = realloc(b->documents, capacity * sizeof *documents);
      if (!documents) {
        status = memory_error();
        break;
      }
      b->documents = documents;
      b->capacity = capacity;
    }
    b->documents[b->count++] =
        (document){.hash = text_hash(b->options->seed, text, bytes), .domain = c.domain};
  }
  cursor_free(&c);
  return status;
}

/* Assigns every document of one domain to training or validation. */
static phibal_status domain_split(build *b, int32_t domain) {
  const char *name = b->report->domains[domain].name;
  uint64_t least = UINT64_MAX, most = 0;
  size_t documents = 0, validation = 0;
  for (size_t i = 0; i < b->count; i++) {
    document *d = &b->documents[i];
    if (d->domain != domain) continue;
    d->validation = (double)(d->hash >> 11) * 0x1p-53 < b->options->validation;
    documents++;
    validation += d->validation;
    if (d->hash < least) least = d->hash;
    if (d->hash > most) most = d->hash;
  }
  if (!documents) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "domain '%s' has no text", name);
  if (b->options->validation <= 0 || (validation && validation < documents)) return PHIBAL_OK;
  if (least == most)
    notice(b,
           b->options->chat ? "domain '%s' is one example, so none of it is for validation"
                            : "domain '%s' is one text, so none of it is for validation; "
                              "--document-bytes splits long files",
           name, 0);
  for (size_t i = 0; i < b->count; i++) {
    document *d = &b->documents[i];
    if (d->domain != domain) continue;
    if (least == most)
      d->validation = false;
    else if (!validation && d->hash == least)
      d->validation = true;
    else if (validation == documents && d->hash == most)
      d->validation = false;
  }
  return PHIBAL_OK;
}

static phibal_status documents_split(build *b) {
  for (int32_t d = 0; d < b->report->domain_count; d++) {
    phibal_status status = domain_split(b, d);
    if (status) return status;
  }
  if (b->options->validation <= 0) return PHIBAL_OK;
  for (size_t i = 0; i < b->count; i++)
    if (b->documents[i].validation) return PHIBAL_OK;
  return phibal_status_set(
      PHIBAL_ERROR_ARGUMENT,
      b->options->chat ? "nothing is left for validation: every domain is one example; do "
                         "without (--validation 0)"
                       : "nothing is left for validation: every domain is one text; split long "
                         "files (--document-bytes 32768), or do without (--validation 0)");
}

/* The training part, line by line, for the tokenizer's training. */
typedef struct line_reader {
  cursor cursor;
  const char *text;
  size_t bytes;
  phibal_status status;
} line_reader;

static bool next_line(void *context, const char **line, size_t *bytes) {
  line_reader *r = context;
  while (!r->bytes) {
    r->status = cursor_next(&r->cursor, &r->text, &r->bytes);
    if (r->status || !r->text || r->cursor.document > r->cursor.build->count) return false;
    if (r->cursor.build->documents[r->cursor.document - 1].validation) r->bytes = 0;
  }
  const char *end = memchr(r->text, '\n', r->bytes);
  *line = r->text;
  *bytes = end ? (size_t)(end - r->text) : r->bytes;
  size_t step = end ? *bytes + 1 : *bytes;
  r->text += step;
  r->bytes -= step;
  return true;
}

static phibal_status tokenizer_prepare(build *b) {
  const build_options *o = b->options;
  if (!o->model && !o->train_vocabulary) {
    tokenizer_bytes(&b->tokenizer);
    return PHIBAL_OK;
  }
  if (o->model) return tokenizer_load(o->model, &b->tokenizer);
  line_reader reader = {.cursor = {.build = b}};
  phibal_status status =
      tokenizer_train(next_line, &reader, o->train_vocabulary, &b->model, &b->model_bytes);
  if (reader.status) status = reader.status;
  cursor_free(&reader.cursor);
  if (!status) status = tokenizer_parse("the new model", b->model, b->model_bytes, &b->tokenizer);
  return status;
}

/* encoded->tokens are the document's, without the end-of-document token. */
static phibal_status document_write(const cursor *c, const char *text, size_t bytes, int32_t domain,
                                    instruction_tokens *encoded, token_writer *to) {
  const build *b = c->build;
  const chat_template *chat = b->options->chat;
  const token_buffer *tokens = &encoded->tokens;
  phibal_status status;
  if (!chat) {
    status = tokenizer_encode(&b->tokenizer, text, bytes, &encoded->tokens);
    if (status == PHIBAL_ERROR_FORMAT)
      return phibal_status_set(status, "%s: %s", b->files.items[c->file - 1],
                               phibal_status_message());
    return status ? status : token_writer_document(to, tokens->ids, (int64_t)tokens->count, domain);
  }
  const char *path = b->files.items[c->file - 1];
  string_list example;
  status = instruction_parse(chat, path, c->line, text, bytes, &example);
  if (!status)
    status = instruction_encode(&example, &b->tokenizer, chat->ends, path, c->line, encoded);
  string_list_free(&example);
  return status ? status
                : token_writer_example(to, tokens->ids, encoded->learned, (int64_t)tokens->count,
                                       domain);
}

/* Second pass. writers[1] is null without a validation part. */
static phibal_status documents_write(build *b, token_writer *const writers[2]) {
  cursor c = {.build = b};
  instruction_tokens encoded = {0};
  const char *text;
  size_t bytes;
  phibal_status status;
  while (!(status = cursor_next(&c, &text, &bytes)) && text) {
    const document *d = c.document <= b->count ? &b->documents[c.document - 1] : NULL;
    if (!d || d->hash != text_hash(b->options->seed, text, bytes)) {
      status = phibal_status_set(PHIBAL_ERROR_IO, "%s: changed while it was being read",
                                 b->files.items[c.file - 1]);
      break;
    }
    status = document_write(&c, text, bytes, d->domain, &encoded, writers[d->validation]);
    if (status) break;
    build_domain *domain = &b->report->domains[d->domain];
    build_part *part = d->validation ? &domain->validation : &domain->train;
    part->documents++;
    part->bytes += (int64_t)bytes;
    part->tokens += (int64_t)encoded.tokens.count + 1;
  }
  if (!status && c.document != b->count)
    status = phibal_status_set(PHIBAL_ERROR_IO, "a file changed while it was being read");
  cursor_free(&c);
  instruction_tokens_free(&encoded);
  return status;
}

/* The files of a corpus. */
enum { FILE_TRAIN, FILE_VALIDATION, FILE_MODEL, FILE_MANIFEST, FILES };
static const char *const file_names[FILES] = {"train.tokens", "validation.tokens",
                                              "tokenizer.model", "corpus.json"};

/* Whether an earlier build made folder/validation.tokens. */
static bool validation_is_ours(const char *folder) {
  build_report report;
  json_t *origin;
  bool ours = false;
  if (manifest_read(folder, &report, &origin)) return false;
  for (int32_t d = 0; d < report.domain_count; d++)
    ours |= report.domains[d].validation.documents > 0;
  json_decref(origin);
  build_report_free(&report);
  return ours;
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

phibal_status build_may_write(const build_options *o) {
  phibal_status status = PHIBAL_OK;
  bool replaced = false;
  for (int f = 0; f < FILES && !status; f++) {
    char *path = string_format("%s/%s", o->folder, file_names[f]);
    struct stat info;
    if (!path) return memory_error();
    const bool there = !lstat(path, &info);
    const bool stale =
        (f == FILE_VALIDATION && o->validation <= 0) ||
        (f == FILE_MODEL && !o->train_vocabulary && !(o->model && same_file(o->model, path)));
    replaced |= there && f != FILE_MODEL;
    if (there && S_ISDIR(info.st_mode))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s is a folder", path);
    else if (there && !o->overwrite && (f != FILE_MODEL || o->train_vocabulary || stale))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "%s already exists; --overwrite replaces the corpus in %s", path,
                                 o->folder);
    else if (there && stale && !(f == FILE_VALIDATION && validation_is_ours(o->folder)))
      status = phibal_status_set(
          PHIBAL_ERROR_ARGUMENT,
          "%s is not part of the new corpus and was not made by a build; move it away", path);
    free(path);
  }
  if (!status && replaced && o->notice) {
    char *message = string_format(
        "replacing the corpus in %s: runs trained on it can then not be resumed", o->folder);
    if (message) o->notice(message);
    free(message);
  }
  return status;
}

/* Second pass; publishes all files or none. */
static phibal_status files_write(build *b) {
  const build_options *o = b->options;
  const int parts = o->validation > 0 ? 2 : 1;
  token_writer *writers[2] = {NULL, NULL};
  finished_file files[FILES] = {{0}};
  char *paths[FILES] = {NULL}, *temporary[FILES] = {NULL}, *text = NULL;
  size_t count = 0;
  phibal_status status = PHIBAL_OK;
  for (int f = 0; f < FILES && !status; f++) {
    paths[f] = string_format("%s/%s", o->folder, file_names[f]);
    if (!paths[f]) status = memory_error();
  }
  for (int p = 0; p < parts && !status; p++) {
    status = token_writer_create(paths[p], b->tokenizer.vocabulary, b->tokenizer.end_of_document,
                                 &writers[p]);
    for (int32_t d = 0; d < b->report->domain_count && !status; d++)
      status = token_writer_domain(writers[p], b->report->domains[d].name);
  }
  if (!status) status = documents_write(b, writers);
  for (int p = 0; p < parts && !status; p++) status = token_writer_finish(writers[p]);
  for (int p = 0; p < parts && !status; p++) temporary[p] = token_writer_release(writers[p]);
  if (!status && b->model)
    status =
        file_write_temporary(paths[FILE_MODEL], b->model, b->model_bytes, &temporary[FILE_MODEL]);
  if (!status) status = manifest_text(o, b->report, &b->tokenizer, &text);
  if (!status)
    status =
        file_write_temporary(paths[FILE_MANIFEST], text, strlen(text), &temporary[FILE_MANIFEST]);
  /* The old validation part could overlap with the new training part. */
  for (int f = 0; f < FILES; f++)
    if (temporary[f] || f == FILE_VALIDATION)
      files[count++] = (finished_file){temporary[f], paths[f]};
  if (!status) status = files_publish(files, count);
  for (int f = 0; f < FILES; f++) {
    if (status && temporary[f]) unlink(temporary[f]);
    free(temporary[f]);
    free(paths[f]);
  }
  for (int p = 0; p < 2; p++) token_writer_destroy(writers[p]);
  free(text);
  return status;
}

static phibal_status options_check(const build_options *o) {
  if (!o->folder || !*o->folder || !o->source_count)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "needs an output folder and text");
  if (!(o->validation >= 0 && o->validation <= 0.5))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "validation share %g: 0 to 0.5 is possible",
                             o->validation);
  if (o->document_bytes < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "documents of %lld bytes",
                             (long long)o->document_bytes);
  if (o->model && o->train_vocabulary)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "a tokenizer to load and one to train: choose one");
  if (o->chat && (o->train_vocabulary || o->document_bytes))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "examples are not divided, and no tokenizer is trained on them");
  if (o->train_vocabulary < 0 || (o->train_vocabulary && o->train_vocabulary < 300))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "a vocabulary of %d pieces: at least 300 (256 of them are bytes)",
                             o->train_vocabulary);
  if (((o->model && !tokenizer_is_json(o->model)) || o->train_vocabulary) &&
      !tokenizer_has_sentencepiece()) {
    tokenizer none;
    return tokenizer_parse("", NULL, 0, &none); /* says what is missing */
  }
  return PHIBAL_OK;
}

phibal_status build_run(const build_options *options, build_report *report) {
  *report = (build_report){0};
  build b = {.options = options, .report = report};
  phibal_status status = options_check(options);
  if (!status) status = build_may_write(options);
  if (!status) status = files_find(&b);
  if (!status) status = documents_survey(&b);
  if (!status) status = documents_split(&b);
  if (!status) status = tokenizer_prepare(&b);
  const bool new_folder = !status && access(options->folder, F_OK);
  if (!status) status = folder_create(options->folder);
  if (!status) status = files_write(&b);
  if (status && new_folder) rmdir(options->folder);
  report->vocabulary = b.tokenizer.vocabulary;
  tokenizer_free(&b.tokenizer);
  for (size_t f = 0; b.spools && f < b.files.count; f++)
    if (b.spools[f].bytes) munmap(b.spools[f].bytes, b.spools[f].count);
  string_list_free(&b.files);
  free(b.spools);
  free(b.domain_files);
  free(b.file_domains);
  free(b.documents);
  free(b.model);
  if (status) build_report_free(report);
  return status;
}
