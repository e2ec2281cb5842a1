#include "manifest.h"
#include "formats/file.h"
#include "token_file_internal.h"
#include "formats/text_limits.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for corpus.json");
}

static json_t *part_json(const build_part *p) {
  return json_pack("{s:I, s:I, s:I}", "documents", (json_int_t)p->documents, "bytes",
                   (json_int_t)p->bytes, "tokens", (json_int_t)p->tokens);
}

phibal_status manifest_text(const build_options *o, const build_report *report, const tokenizer *t,
                            char **text) {
  json_t *domains = json_array();
  for (int32_t d = 0; d < report->domain_count; d++) {
    const build_domain *domain = &report->domains[d];
    json_t *row =
        json_pack("{s:s, s:o, s:o}", "name", domain->name, "train", part_json(&domain->train),
                  "validation", part_json(&domain->validation));
    if (domain->document_bytes)
      json_object_set_new(row, "document_bytes", json_integer(domain->document_bytes));
    json_array_append_new(domains, row);
  }
  json_t *root = json_pack("{s:s, s:i, s:i, s:I, s:f, s:I, s:o}", "tokenizer",
                           t->pieces ? "sentencepiece"
                           : t->json ? "huggingface"
                                     : "bytes",
                           "vocabulary", t->vocabulary, "end_of_document", t->end_of_document,
                           "seed", (json_int_t)o->seed, "validation", o->validation,
                           "document_bytes", (json_int_t)o->document_bytes, "domains", domains);
  if (root && o->chat) json_object_set(root, "template", o->chat->roles);
  if (root && o->chat && o->chat->name)
    json_object_set_new(root, "chat", json_string(o->chat->name));
  if (root && o->origin) json_object_set(root, "origin", o->origin);
  *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(root);
  return *text ? PHIBAL_OK : memory_error();
}

static phibal_status bad(const char *name, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s", name, what);
}

/* A number of things that a corpus can hold. No more than 2^53, so that sums over as many domains
   as there can be stay in 64 bits. */
static bool count_read(const json_t *object, const char *key, int64_t *to) {
  const json_t *value = json_object_get(object, key);
  *to = json_integer_value(value);
  return json_is_integer(value) && *to >= 0 && *to <= INT64_C(1) << 53;
}

static bool part_read(const json_t *domain, const char *name, build_part *part) {
  const json_t *p = json_object_get(domain, name);
  return count_read(p, "documents", &part->documents) && count_read(p, "bytes", &part->bytes) &&
         count_read(p, "tokens", &part->tokens);
}

static bool name_is_new(const build_report *report, const char *name) {
  for (int32_t d = 0; d < report->domain_count; d++)
    if (!strcmp(report->domains[d].name, name)) return false;
  return true;
}

static phibal_status domain_read(const char *file, const json_t *from, build_report *report) {
  const char *name = json_string_value(json_object_get(from, "name"));
  if (!name || !*name || strlen(name) > TOKEN_FORMAT_MAX_NAME || !name_is_new(report, name))
    return bad(file, "a domain without a name of its own");
  build_domain *to = &report->domains[report->domain_count];
  if (!part_read(from, "train", &to->train) || !part_read(from, "validation", &to->validation))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: domain '%s': documents, bytes and tokens of train and "
                             "validation must be numbers of at least 0",
                             file, name);
  to->name = strdup(name);
  if (!to->name) return memory_error();
  report->domain_count++;
  return PHIBAL_OK;
}

static phibal_status report_read(const char *file, const json_t *root, build_report *report) {
  int64_t vocabulary;
  const json_t *domains = json_object_get(root, "domains");
  const size_t n = json_array_size(domains);
  if (!count_read(root, "vocabulary", &vocabulary) || vocabulary < 1 ||
      vocabulary > TOKEN_FORMAT_MAX_VOCABULARY)
    return bad(file, "the vocabulary is no number that a token file can have");
  if (n < 1 || n > TOKEN_FORMAT_MAX_DOMAINS) return bad(file, "names no domains, or too many");
  report->vocabulary = (int32_t)vocabulary;
  report->domains = calloc(n, sizeof *report->domains);
  if (!report->domains) return memory_error();
  phibal_status status = PHIBAL_OK;
  for (size_t d = 0; d < n && !status; d++)
    status = domain_read(file, json_array_get(domains, d), report);
  return status;
}

phibal_status manifest_read(const char *folder, build_report *report, json_t **origin) {
  *report = (build_report){0};
  *origin = NULL;
  char *path = string_format("%s/corpus.json", folder);
  if (!path) return memory_error();
  json_t *root;
  phibal_status status = file_read_json(path, TEXT_MANIFEST, JSON_REJECT_DUPLICATES, &root);
  if (!status) status = report_read(path, root, report);
  if (status)
    build_report_free(report);
  else
    *origin = json_incref(json_object_get(root, "origin"));
  json_decref(root);
  free(path);
  return status;
}

void build_report_free(build_report *report) {
  for (int32_t d = 0; d < report->domain_count; d++) free(report->domains[d].name);
  free(report->domains);
  *report = (build_report){0};
}
