#include "manifest.h"
#include "file.h"
#include <stdlib.h>
#include <string.h>

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for corpus.json");
}

static json_t *part_json(const build_part *p) {
  return json_pack("{s:I, s:I, s:I}", "documents", (json_int_t)p->documents, "bytes",
                   (json_int_t)p->bytes, "tokens", (json_int_t)p->tokens);
}

phibal_status manifest_write(const build_options *o, const build_report *report,
                             const tokenizer *t) {
  json_t *domains = json_array();
  for (int32_t d = 0; d < report->domain_count; d++) {
    const build_domain *domain = &report->domains[d];
    json_array_append_new(domains, json_pack("{s:s, s:o, s:o}", "name", domain->name, "train",
                                             part_json(&domain->train), "validation",
                                             part_json(&domain->validation)));
  }
  json_t *root =
      json_pack("{s:s, s:i, s:i, s:I, s:f, s:I, s:o}", "tokenizer",
                t->pieces ? "sentencepiece" : "bytes", "vocabulary", t->vocabulary,
                "end_of_document", t->end_of_document, "seed", (json_int_t)o->seed, "validation",
                o->validation, "document_bytes", (json_int_t)o->document_bytes, "domains", domains);
  if (root && o->origin) json_object_set(root, "origin", o->origin);
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(root);
  char *path = string_format("%s/corpus.json", o->folder);
  phibal_status status = text && path ? file_write(path, text, strlen(text)) : memory_error();
  free(text);
  free(path);
  return status;
}

static void part_read(json_t *domain, const char *name, build_part *part) {
  json_t *p = json_object_get(domain, name);
  part->documents = json_integer_value(json_object_get(p, "documents"));
  part->bytes = json_integer_value(json_object_get(p, "bytes"));
  part->tokens = json_integer_value(json_object_get(p, "tokens"));
}

phibal_status manifest_read(const char *folder, build_report *report, json_t **origin) {
  *report = (build_report){0};
  *origin = NULL;
  char *path = string_format("%s/corpus.json", folder);
  if (!path) return memory_error();
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  phibal_status status = PHIBAL_OK;
  if (!root) status = phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", path, error.text);
  json_t *domains = json_object_get(root, "domains");
  report->vocabulary = (int32_t)json_integer_value(json_object_get(root, "vocabulary"));
  report->domains = calloc(json_array_size(domains) + 1, sizeof *report->domains);
  if (!status && !report->domains) status = memory_error();
  for (size_t d = 0; d < json_array_size(domains) && !status; d++) {
    json_t *from = json_array_get(domains, d);
    const char *name = json_string_value(json_object_get(from, "name"));
    build_domain *to = &report->domains[d];
    to->name = strdup(name ? name : "");
    if (!to->name) {
      status = memory_error();
      break;
    }
    report->domain_count++;
    part_read(from, "train", &to->train);
    part_read(from, "validation", &to->validation);
  }
  if (!status && !report->domain_count)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: names no domains", path);
  if (status)
    build_report_free(report);
  else
    *origin = json_incref(json_object_get(root, "origin"));
  json_decref(root);
  free(path);
  return status;
}
