#include "corpus.h"
#include "formats/file.h"
#include "token_file_internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static phibal_status add_path(const char *path, string_list *paths) {
  struct stat found;
  if (stat(path, &found) || !S_ISDIR(found.st_mode)) return string_list_append(paths, path);
  string_list files = {0};
  phibal_status status = folder_files(path, &files);
  const size_t before = paths->count;
  for (size_t i = 0; i < files.count && !status; i++)
    if (string_ends_with(files.items[i], ".tokens") || string_ends_with(files.items[i], ".bin"))
      status = string_list_append(paths, files.items[i]);
  string_list_free(&files);
  if (!status && paths->count == before)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: no file in this folder ends in .tokens or .bin", path);
  return status;
}

static phibal_status split_list(const char *list, string_list *paths) {
  phibal_status status = PHIBAL_OK;
  for (const char *at = list; !status && *at; at += *at == ',') {
    const size_t n = strcspn(at, ",");
    char *path = string_format("%.*s", (int)n, at);
    if (!path) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", list);
    status = n ? add_path(path, paths)
               : phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': a path is empty", list);
    free(path);
    at += n;
  }
  return status;
}

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the list of token files");
}

/* Merges its domains with those of the previous shards. */
static phibal_status join_domains(corpus *c, int32_t shard) {
  const token_file *file = &c->shard[shard];
  const char **names = realloc(c->domain, (size_t)(c->domains + file->domains) * sizeof *c->domain);
  if (names) c->domain = names;
  int32_t *of = c->domain_of[shard] = malloc((size_t)file->domains * sizeof *of);
  if (!names || !of) return memory_error();
  for (int32_t d = 0; d < file->domains; d++) {
    int32_t known = 0;
    while (known < c->domains && strcmp(c->domain[known], file->domain_names[d])) known++;
    if (known == c->domains) c->domain[c->domains++] = file->domain_names[d];
    of[d] = known;
  }
  return PHIBAL_OK;
}

static phibal_status open_shards(corpus *c, const string_list *paths, int32_t end_of_document) {
  c->shard = calloc(paths->count + 1, sizeof *c->shard);
  c->path = calloc(paths->count + 1, sizeof *c->path);
  c->domain_of = calloc(paths->count + 1, sizeof *c->domain_of);
  if (!c->shard || !c->path || !c->domain_of) return memory_error();
  c->vocabulary_open = true;
  for (size_t i = 0; i < paths->count; i++) {
    token_file *file = &c->shard[i];
    phibal_status status = token_file_open_with(paths->items[i], end_of_document, file);
    if (status) return status;
    c->shards++;
    if (!(c->path[i] = strdup(paths->items[i]))) return memory_error();
    if ((status = join_domains(c, (int32_t)i))) return status;
    c->tokens += file->tokens;
    if (file->vocabulary > c->vocabulary) c->vocabulary = file->vocabulary;
    c->vocabulary_open &= file->vocabulary_open;
    /* One step of the checksum is symmetric in its sum and its word: the first shard is a word too.
     */
    if (i == 1) c->checksum = token_checksum(0, &c->checksum, 1);
    c->checksum = i ? token_checksum(c->checksum, &file->checksum, 1) : file->checksum;
  }
  return PHIBAL_OK;
}

phibal_status corpus_open(const char *list, int32_t end_of_document, corpus *c) {
  *c = (corpus){0};
  string_list paths = {0};
  phibal_status status = split_list(list, &paths);
  if (!status && !paths.count)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': no token file", list);
  if (!status) status = open_shards(c, &paths, end_of_document);
  string_list_free(&paths);
  if (status) corpus_close(c);
  return status;
}

void corpus_close(corpus *c) {
  for (int32_t i = 0; i < c->shards; i++) {
    token_file_close(&c->shard[i]);
    free(c->path[i]);
    free(c->domain_of[i]);
  }
  free(c->shard);
  free(c->path);
  free(c->domain_of);
  free(c->domain);
  *c = (corpus){0};
}
