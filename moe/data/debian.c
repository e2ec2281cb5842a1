#include "debian.h"
#include "extract.h"
#include "manifest.h"
#include "process.h"
#include "token_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The source of each domain's text. The domains differ in language, register and form; all packages
   are in Debian 12's main archive, 27 MB in total. */
static const struct recipe {
  const char *domain;
  const char *packages; /* separated by a space */
  const char *folder;   /* in each package */
  const char *holding;  /* files whose path has this in it are taken ... */
  const char *ending;   /* ... and ends so ... */
  const char *without;  /* ... and has not this in it (null: any) */
  extract_function extract;
  const char *what;
} recipes[] = {
    {"scripture", "sword-text-kjv", "usr/share/sword/modules", "", ".bzs", NULL, extract_scripture,
     "the King James Bible, a chapter to a document"},
    {"dictionary", "dict-foldoc", "usr/share/dictd", "", ".dict.dz", NULL, extract_dictionary,
     "the Free On-line Dictionary of Computing"},
    {"wordnet", "wordnet-base", "usr/share/wordnet", "/data.", "", NULL, extract_wordnet,
     "words and their glosses from WordNet"},
    {"manual", "manpages manpages-dev", "usr/share/man", "", ".gz", NULL, extract_manual,
     "manual pages of Linux in English"},
    {"german", "manpages-de", "usr/share/man/de", "", ".gz", NULL, extract_manual,
     "manual pages in German"},
    {"c", "linux-libc-dev", "usr/include", "", ".h", NULL, extract_plain,
     "C headers of Linux's interface"},
    {"python", "libpython3.11-stdlib libpython3.11-minimal", "usr/lib", "", ".py", NULL,
     extract_plain, "Python's standard library"},
    /* Skips character set tables, a megabyte each: not hand-written Lisp. */
    {"lisp", "sbcl-source", "usr/share/sbcl-source", "", ".lisp", "/external-formats/",
     extract_plain, "the sources of a Common Lisp compiler"},
};
enum {
  RECIPES = sizeof recipes / sizeof *recipes,
  RECIPE_VERSION = 1, /* rises when the same packages would give other text */
};

bool debian_domain(int i, const char **domain, const char **packages, const char **what) {
  if (i < 0 || i >= RECIPES) return false;
  *domain = recipes[i].domain;
  *packages = recipes[i].packages;
  *what = recipes[i].what;
  return true;
}

typedef struct debian {
  const debian_options *options;
  char *work;            /* the temporary folder */
  char *downloads, *log; /* in it */
  string_list packages;
} debian;

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the corpus");
}

static void notice(const debian *d, const char *message) {
  if (d->options->notice) d->options->notice(message);
}

/* The packages of all recipes, each once. */
static phibal_status packages_list(string_list *packages) {
  phibal_status status = PHIBAL_OK;
  for (int r = 0; r < RECIPES && !status; r++) {
    const char *at = recipes[r].packages;
    while (*at && !status) {
      size_t length = strcspn(at, " ");
      char *name = strndup(at, length);
      status = name ? string_list_append(packages, name) : memory_error();
      free(name);
      at += length + (at[length] == ' ');
    }
  }
  return status;
}

/* The last line of the highest severity in the log of apt-get or dpkg-deb, truncated to `size`;
   false if there is none. */
static bool log_complaint(const char *log, char *complaint, size_t size) {
  static const char *const marks[] = {"Err:", "W: ", "W: Failed to fetch",
                                      "E: ", "dpkg-deb: error: "};
  text_buffer text = {0};
  int best = -1;
  snprintf(complaint, size, "it did not say why");
  if (!file_read_all(log, &text) && !text_buffer_append(&text, "", 1)) {
    char *rest = NULL;
    for (char *line = strtok_r(text.bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
      for (int m = 0; m < (int)(sizeof marks / sizeof *marks); m++)
        if (m >= best && !strncmp(line, marks[m], strlen(marks[m]))) {
          best = m;
          snprintf(complaint, size, "%s", line);
        }
  }
  text_buffer_free(&text);
  return best >= 0;
}

/* Runs apt-get; `own` keeps its lists and caches in the work folder instead of the system's. */
static phibal_status apt_run(const debian *d, bool own, const char *verb, int *exit_status) {
  enum { OPTIONS = 20 };
  const char **argv = calloc(OPTIONS + d->packages.count + 1, sizeof *argv);
  char *lists = string_format("Dir::State::Lists=%s/apt/lists", d->work);
  char *cache = string_format("Dir::Cache=%s/apt/cache", d->work);
  phibal_status status = argv && lists && cache ? PHIBAL_OK : memory_error();
  if (!status) {
    int n = 0;
    argv[n++] = "apt-get";
    argv[n++] = "-q";
    /* As root, downloads go to a folder that the user _apt cannot write to. */
    if (!geteuid()) argv[n++] = "-o", argv[n++] = "APT::Sandbox::User=root";
    argv[n++] = "-o", argv[n++] = "Acquire::Retries=2";
    argv[n++] = "-o", argv[n++] = "Acquire::Languages=none";
    if (own) {
      argv[n++] = "-o", argv[n++] = lists;
      argv[n++] = "-o", argv[n++] = cache;
    }
    argv[n++] = verb;
    if (!strcmp(verb, "download"))
      for (size_t p = 0; p < d->packages.count; p++) argv[n++] = d->packages.items[p];
    unlink(d->log);
    status = process_run(argv, d->downloads, d->log, d->options->interrupted, exit_status);
  }
  free(argv);
  free(lists);
  free(cache);
  return status;
}

static phibal_status own_lists_prepare(const debian *d) {
  static const char *const folders[] = {"apt/lists/partial", "apt/cache/archives/partial"};
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < 2 && !status; i++) {
    char *path = string_format("%s/%s", d->work, folders[i]);
    status = path ? folder_create(path) : memory_error();
    free(path);
  }
  return status;
}

static phibal_status packages_download(const debian *d) {
  int failed;
  notice(d, "downloading about 27 MB of packages");
  phibal_status status = apt_run(d, false, "download", &failed);
  if (status == PHIBAL_ERROR_UNSUPPORTED)
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "there is no apt-get here: this corpus comes from Debian's packages; "
        "elsewhere give your own text to `phibal data build --out DIR PATH...`");
  if (status || !failed) return status;

  /* No package lists, or lists older than the archive. */
  char update[200], download[200];
  int update_failed;
  notice(d, "apt's package lists are missing or old: fetching fresh ones for this run");
  status = own_lists_prepare(d);
  if (!status) status = apt_run(d, true, "update", &update_failed);
  if (status) return status;
  const bool complained = log_complaint(d->log, update, sizeof update);
  status = apt_run(d, true, "download", &failed);
  if (status || !failed) return status;
  log_complaint(d->log, download, sizeof download);
  return phibal_status_set(PHIBAL_ERROR_IO,
                           "apt-get cannot download the packages (\"%s\"%s%s); is there a network, "
                           "and are Debian 12's main sources in /etc/apt?",
                           download, complained ? "; before that: " : "", complained ? update : "");
}

/* The .deb of a package in the work folder, to be freed. */
static phibal_status package_find(const debian *d, const char *package, char **deb) {
  string_list files = {0};
  size_t length = strlen(package), folder = strlen(d->downloads) + 1;
  phibal_status status = folder_files(d->downloads, &files);
  for (size_t i = 0; i < files.count && !status && !*deb; i++) {
    const char *name = files.items[i] + folder;
    if (!strncmp(name, package, length) && name[length] == '_') *deb = strdup(files.items[i]);
  }
  string_list_free(&files);
  if (!status && !*deb)
    status = phibal_status_set(PHIBAL_ERROR_IO, "apt-get downloaded no %s", package);
  return status;
}

/* name_version_architecture.deb, where apt writes a colon as %3a. */
static json_t *package_version(const char *deb) {
  const char *start = strrchr(deb, '/');
  start = strchr(start ? start : deb, '_');
  const char *end = start ? strchr(start + 1, '_') : NULL;
  char version[256];
  size_t n = 0;
  for (const char *s = start ? start + 1 : ""; s < end && n + 1 < sizeof version; s++)
    if (!strncmp(s, "%3a", 3)) {
      version[n++] = ':';
      s += 2;
    } else {
      version[n++] = *s;
    }
  version[n] = 0;
  return json_string(version);
}

static phibal_status packages_unpack(const debian *d, json_t *versions) {
  notice(d, "unpacking");
  phibal_status status = PHIBAL_OK;
  for (size_t p = 0; p < d->packages.count && !status; p++) {
    const char *package = d->packages.items[p];
    char *deb = NULL, *folder = string_format("%s/unpacked/%s", d->work, package);
    status = folder ? package_find(d, package, &deb) : memory_error();
    if (!status) status = folder_create(folder);
    int failed = 0;
    if (!status) {
      const char *const argv[] = {"dpkg-deb", "--extract", deb, folder, NULL};
      json_object_set_new(versions, package, package_version(deb));
      unlink(d->log);
      status = process_run(argv, d->work, d->log, d->options->interrupted, &failed);
      unlink(deb);
    }
    free(deb);
    if (!status && failed) {
      char complaint[200];
      log_complaint(d->log, complaint, sizeof complaint);
      status =
          phibal_status_set(PHIBAL_ERROR_IO, "dpkg-deb cannot unpack %s: %s", package, complaint);
    }
    free(folder);
  }
  return status;
}

static bool path_wanted(const struct recipe *r, const char *path) {
  size_t length = strlen(path), ending = strlen(r->ending);
  return length >= ending && !strcmp(path + length - ending, r->ending) &&
         strstr(path, r->holding) && !(r->without && strstr(path, r->without));
}

/* All files of one recipe, in the order of their names. */
static phibal_status domain_extract(const debian *d, const struct recipe *r, extract *e) {
  string_list files = {0};
  text_buffer file = {0};
  phibal_status status = PHIBAL_OK;
  const char *at = r->packages;
  while (*at && !status) {
    size_t length = strcspn(at, " ");
    char *root = string_format("%s/unpacked/%.*s/%s", d->work, (int)length, at, r->folder);
    status = root ? folder_files(root, &files) : memory_error();
    free(root);
    at += length + (at[length] == ' ');
  }
  for (size_t i = 0; i < files.count && !status; i++) {
    if (!path_wanted(r, files.items[i])) continue;
    status = file_read_all(files.items[i], &file);
    if (!status) status = extract_gunzip(&file, files.items[i]);
    if (!status) status = r->extract(&file, files.items[i], e);
  }
  text_buffer_free(&file);
  string_list_free(&files);
  return status;
}

/* work/text/<domain>/00000.txt and so on. */
static phibal_status domain_write(const debian *d, const struct recipe *r) {
  extract e = {0};
  phibal_status status = domain_extract(d, r, &e);
  if (!status) status = extract_choose(&e, d->options->domain_bytes);
  char *folder = string_format("%s/text/%s", d->work, r->domain);
  if (!status) status = folder ? folder_create(folder) : memory_error();
  for (size_t i = 0; i < e.count && !status; i++) {
    char *path = string_format("%s/%05zu.txt", folder, i);
    status =
        path ? file_write_scratch(path, e.documents[i].text, e.documents[i].bytes) : memory_error();
    free(path);
  }
  free(folder);
  extract_free(&e);
  return status;
}

/* The options that determine the corpus, with the package versions. */
static json_t *origin_of(const debian_options *o) {
  return json_pack("{s:s, s:i, s:I, s:f, s:I}", "source", "debian", "recipe", RECIPE_VERSION,
                   "domain_bytes", (json_int_t)o->domain_bytes, "validation", o->validation, "seed",
                   (json_int_t)o->seed);
}

static phibal_status tokens_build(const debian *d, json_t *origin, build_report *report) {
  build_source sources[RECIPES];
  char *paths[RECIPES] = {NULL};
  phibal_status status = PHIBAL_OK;
  for (int r = 0; r < RECIPES && !status; r++) {
    paths[r] = string_format("%s/text/%s", d->work, recipes[r].domain);
    if (!paths[r]) status = memory_error();
    sources[r] = (build_source){.domain = recipes[r].domain, .path = paths[r]};
  }
  const build_options options = {.folder = d->options->folder,
                                 .sources = sources,
                                 .source_count = RECIPES,
                                 .validation = d->options->validation,
                                 .seed = d->options->seed,
                                 .overwrite = d->options->overwrite,
                                 .origin = origin,
                                 .notice = d->options->notice,
                                 .interrupted = d->options->interrupted};
  if (!status) status = build_run(&options, report);
  for (int r = 0; r < RECIPES; r++) free(paths[r]);
  return status;
}

/* Moves the documents out of the work folder. */
static phibal_status text_keep(const debian *d) {
  char *from = string_format("%s/text", d->work);
  char *to = string_format("%s/text", d->options->folder);
  phibal_status status = from && to ? PHIBAL_OK : memory_error();
  if (!status) status = file_publish(from, to);
  free(from);
  free(to);
  return status;
}

static phibal_status corpus_make(debian *d, build_report *report) {
  json_t *origin = origin_of(d->options), *versions = json_object();
  json_object_set_new(origin, "packages", versions);
  phibal_status status = packages_list(&d->packages);
  if (!status) status = packages_download(d);
  if (!status) status = packages_unpack(d, versions);
  if (!status) notice(d, "taking the text out");
  for (int r = 0; r < RECIPES && !status; r++) status = domain_write(d, &recipes[r]);
  if (!status) status = tokens_build(d, origin, report);
  if (!status && d->options->keep_text) status = text_keep(d);
  json_decref(origin);
  return status;
}

/* Whether the folder has a complete corpus made with these options. */
static bool corpus_exists(const debian_options *o, build_report *report) {
  json_t *origin, *wanted = origin_of(o);
  bool there = !manifest_read(o->folder, report, &origin);
  if (there) {
    there = !o->keep_text || folder_has(o->folder, "text");
    const char *key;
    json_t *value;
    json_object_foreach(wanted, key, value) {
      there = there && json_equal(json_object_get(origin, key), value);
    }
    static const char *const names[] = {"train.tokens", "validation.tokens"};
    for (int p = 0; p < (o->validation > 0 ? 2 : 1) && there; p++) {
      token_file file = {0};
      char *path = string_format("%s/%s", o->folder, names[p]);
      there = path && !token_file_open(path, &file);
      token_file_close(&file);
      free(path);
    }
    json_decref(origin);
    if (!there) build_report_free(report);
  }
  json_decref(wanted);
  return there;
}

phibal_status debian_run(const debian_options *o, build_report *report) {
  debian d = {.options = o};
  if (!o->overwrite && corpus_exists(o, report)) {
    notice(
        &d,
        "the corpus already exists with the same options and is reused (--overwrite rebuilds it)");
    return PHIBAL_OK;
  }
  *report = (build_report){0};
  phibal_status status = build_may_write(&(build_options){
      .folder = o->folder, .validation = o->validation, .overwrite = o->overwrite});
  if (status) return status;
  if (o->keep_text && folder_has(o->folder, "text"))
    return phibal_status_set(PHIBAL_ERROR_IO, "%s/text already exists; remove it first", o->folder);
  const bool new_folder = access(o->folder, F_OK);
  status = folder_create(o->folder);
  if (status) return status;
  char *folder = realpath(o->folder, NULL); /* programs run inside it, so names must be absolute */
  d.work = folder ? string_format("%s/.debian.XXXXXX", folder) : NULL;
  free(folder);
  if (!d.work || !mkdtemp(d.work)) {
    free(d.work);
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot create a folder in it", o->folder);
  }
  d.log = string_format("%s/log", d.work);
  d.downloads = string_format("%s/packages", d.work);
  status = d.log && d.downloads ? folder_create(d.downloads) : memory_error();
  if (!status) status = corpus_make(&d, report);
  folder_remove(d.work);
  if (status && new_folder) rmdir(o->folder);
  string_list_free(&d.packages);
  free(d.work);
  free(d.downloads);
  free(d.log);
  return status;
}
