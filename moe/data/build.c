#include "build.h"
#include "file.h"
#include "manifest.h"
#include "text.h"
#include "token_writer.h"
#include "tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the first pass learns of a document. */
typedef struct document {
  uint64_t hash;
  int32_t domain;
  bool validation;
} document;

typedef struct build {
  const build_options *options;
  build_report *report;
  string_list files;
  int32_t *file_domains; /* [files.count] */
  document *documents;
  size_t count, capacity;
  tokenizer tokenizer;
  char *model; /* a SentencePiece model trained here, else null */
  size_t model_bytes;
} build;

/* Walks all documents of all files, the same each time. */
typedef struct cursor {
  build *build;
  bool first_pass; /* notices are given and counted once */
  size_t file;     /* the next to be read */
  text_buffer buffer;
  size_t offset;
  int64_t line; /* of examples, the one given */
  int32_t domain;
  size_t document; /* given so far */
} cursor;

static void notice(const build *b, const char *format, const char *path, long long number) {
  if (!b->options->notice) return;
  char *message = string_format(format, path, number);
  if (message) b->options->notice(message);
  free(message);
}

/* Reads the next file into the cursor; leaves the buffer empty if the file is to be left out. */
static phibal_status cursor_read(cursor *c) {
  build *b = c->build;
  const char *path = b->files.items[c->file];
  c->domain = b->file_domains[c->file++];
  c->offset = 0;
  c->line = 0;
  phibal_status status = file_read_all(path, &c->buffer);
  if (status) return status;
  if (!c->buffer.count) {
    if (c->first_pass) {
      b->report->empty_files++;
      notice(b, "%s: empty, left out", path, 0);
    }
    return PHIBAL_OK;
  }
  if (b->options->invalid == BUILD_INVALID_KEEP) return PHIBAL_OK;
  size_t valid = text_utf8_valid(c->buffer.bytes, c->buffer.count);
  if (valid == c->buffer.count) return PHIBAL_OK;
  if (b->options->invalid == BUILD_INVALID_ERROR)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: not UTF-8 at byte %zu (0x%02x); convert it, or leave such files "
                             "out (--invalid-utf8 skip) or take their bytes as they are "
                             "(--invalid-utf8 keep)",
                             path, valid, (unsigned char)c->buffer.bytes[valid]);
  if (c->first_pass) {
    b->report->invalid_files++;
    notice(b, "%s: not UTF-8 at byte %lld, left out", path, (long long)valid);
  }
  c->buffer.count = 0;
  return PHIBAL_OK;
}

static bool is_blank(const char *text, size_t n) {
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r')) n--;
  return !n;
}

/* The document at the cursor, and the cursor behind it; blank lines among examples are none. */
static bool cursor_take(cursor *c, const char **text, size_t *bytes) {
  const size_t left = c->buffer.count - c->offset;
  *text = c->buffer.bytes + c->offset;
  if (!c->build->options->chat) {
    *bytes = text_document_length(*text, left, c->build->options->document_bytes);
    c->offset += *bytes;
    return true;
  }
  const char *end = memchr(*text, '\n', left);
  *bytes = end ? (size_t)(end - *text) : left;
  c->offset += *bytes + (end != NULL);
  c->line++;
  return !is_blank(*text, *bytes);
}

/* The next document; *text is null at the end. */
static phibal_status cursor_next(cursor *c, const char **text, size_t *bytes) {
  build *b = c->build;
  *text = NULL;
  if (b->options->interrupted && *b->options->interrupted)
    return phibal_status_set(PHIBAL_ERROR_IO, "interrupted; nothing was written");
  const char *found;
  do {
    while (c->offset == c->buffer.count) {
      if (c->file == b->files.count) return PHIBAL_OK;
      phibal_status status = cursor_read(c);
      if (status) return status;
    }
  } while (!cursor_take(c, &found, bytes));
  *text = found;
  c->document++;
  return PHIBAL_OK;
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

static phibal_status files_find(build *b) {
  for (size_t i = 0; i < b->options->source_count; i++) {
    const build_source *source = &b->options->sources[i];
    int32_t domain = domain_number(b->report, source->domain);
    if (domain < 0) return memory_error();
    size_t before = b->files.count;
    phibal_status status = folder_files(source->path, &b->files);
    if (status) return status;
    if (b->files.count == before) continue;
    int32_t *domains = realloc(b->file_domains, b->files.count * sizeof *domains);
    if (!domains) return memory_error();
    b->file_domains = domains;
    for (size_t f = before; f < b->files.count; f++) domains[f] = domain;
  }
  return PHIBAL_OK;
}

/* First pass: every file is read, judged and divided before anything is written. */
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
  text_buffer_free(&c.buffer);
  return status;
}

/* Decides the side of every document of one domain. */
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
           b->options->chat
               ? "domain '%s' is one example, so none of it is for validation"
               : "domain '%s' is one text, so none of it is for validation; --document-bytes "
                 "divides long files",
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
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           b->options->chat
                               ? "nothing is left for validation: every domain is one example; do "
                                 "without (--validation 0)"
                               : "nothing is left for validation: every domain is one text; divide "
                                 "long files (--document-bytes 32768), or do without (--validation "
                                 "0)");
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
  text_buffer_free(&reader.cursor.buffer);
  if (!status) status = tokenizer_parse("the new model", b->model, b->model_bytes, &b->tokenizer);
  return status;
}

/* encoded->tokens are the document's, without its end. */
static phibal_status document_write(const cursor *c, const char *text, size_t bytes, int32_t domain,
                                    instruction_tokens *encoded, token_writer *to) {
  const build *b = c->build;
  const chat_template *chat = b->options->chat;
  const token_buffer *tokens = &encoded->tokens;
  phibal_status status;
  if (!chat) {
    status = tokenizer_encode(&b->tokenizer, text, bytes, &encoded->tokens);
    return status ? status : token_writer_document(to, tokens->ids, (int64_t)tokens->count, domain);
  }
  const char *path = b->files.items[c->file - 1];
  string_list example;
  status = instruction_parse(chat, path, c->line, text, bytes, &example);
  if (!status) status = instruction_encode(&example, &b->tokenizer, path, c->line, encoded);
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
  text_buffer_free(&c.buffer);
  instruction_tokens_free(&encoded);
  return status;
}

/* What a corpus is on the disk. */
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
                                 "%s is there already; --overwrite replaces the corpus in %s", path,
                                 o->folder);
    else if (there && stale && !(f == FILE_VALIDATION && validation_is_ours(o->folder)))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "%s would not belong to the new corpus, and no build is known to "
                                 "have made it; move it away",
                                 path);
    free(path);
  }
  if (!status && replaced && o->notice) {
    char *message = string_format(
        "replacing the corpus in %s: a run that was trained on it can then not be resumed",
        o->folder);
    if (message) o->notice(message);
    free(message);
  }
  return status;
}

/* Second pass, and all files under their names or none. */
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
  /* A validation part of earlier documents would not be apart from this training part. */
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
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "a folder to write to and text are needed");
  if (!(o->validation >= 0 && o->validation <= 0.5))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "validation share %g: 0 to 0.5 is possible",
                             o->validation);
  if (o->document_bytes < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "documents of %lld bytes",
                             (long long)o->document_bytes);
  if (o->model && o->train_vocabulary)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "a SentencePiece model to load and one to train: choose one");
  if (o->chat && (o->train_vocabulary || o->document_bytes))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "examples are not divided, and no tokenizer is trained on them");
  if (o->train_vocabulary < 0 || (o->train_vocabulary && o->train_vocabulary < 300))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "a vocabulary of %d pieces: at least 300 (256 of them are bytes)",
                             o->train_vocabulary);
  if ((o->model || o->train_vocabulary) && !tokenizer_has_sentencepiece()) {
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
  string_list_free(&b.files);
  free(b.file_domains);
  free(b.documents);
  free(b.model);
  if (status) build_report_free(report);
  return status;
}
