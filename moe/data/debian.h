/* A corpus of clearly different domains from the text and source code in Debian packages. */
#ifndef PHIBAL_MOE_DEBIAN_H
#define PHIBAL_MOE_DEBIAN_H

#include "build.h"
#include <stdbool.h>

typedef struct debian_options {
  const char *folder;
  int64_t domain_bytes; /* at most so much text of each domain */
  double validation;    /* as in build_options */
  uint64_t seed;
  bool keep_text; /* leave the documents in folder/text/<domain>/ */
  bool overwrite; /* build even if the corpus is there, or another one */
  void (*notice)(const char *message);
  const volatile sig_atomic_t *interrupted;
} debian_options;

/* Fetches the packages with `apt-get download` and unpacks them with `dpkg-deb --extract` into a
   temporary folder inside `folder`: nothing is installed, no maintainer script runs, root is not
   needed, and nothing outside `folder` changes (missing or old package lists are fetched into the
   temporary folder too). The same package versions give the same bytes; corpus.json records them
   under "origin". A corpus made with the same options is reused; a different one is replaced only
   with `overwrite`.

   PHIBAL_ERROR_UNSUPPORTED: no apt-get or dpkg-deb, so not a Debian system.
   PHIBAL_ERROR_IO: a package cannot be fetched (apt's own words are in the message), or
   interrupted. */
phibal_status debian_run(const debian_options *options, build_report *report);

/* Names and sources, for --help: number `i`, false past the last. */
bool debian_domain(int i, const char **domain, const char **packages, const char **what);

#endif
