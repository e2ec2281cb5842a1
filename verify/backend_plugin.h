/* A user's shared library (phibal/plugin.h) as a backend, run in a separate process
   (plugin_worker.h). */
#ifndef PHIBAL_VERIFY_BACKEND_PLUGIN_H
#define PHIBAL_VERIFY_BACKEND_PLUGIN_H

#include "operation.h"

enum { PLUGIN_SECONDS = 120 }; /* for a case, and for loading, unless asked otherwise */

/* Loads a plugin. PHIBAL_ERROR_IO: not a library, one without phibal_plugin_get, or one whose
   loading ends the process; PHIBAL_ERROR_UNSUPPORTED: of another version, or it changes the
   floating-point environment; PHIBAL_ERROR_FORMAT: its table is not complete, or names an unknown
   operation or output. backend_plugin_close in any case.

   A case fails, with a message, if the plugin returns an error, changes an
   input, writes beyond a tensor, leaves the floating-point environment changed, ends its process,
   or takes longer than `seconds`. The next case then has a new process. The plugin's output goes to
   standard error, each line prefixed with "plugin: ". */
phibal_status backend_plugin_open(const char *path, double seconds, backend *b);
void backend_plugin_close(backend *b);

/* The name that it gives itself, and its device. */
const char *backend_plugin_name(const backend *b);
const char *backend_plugin_device(const backend *b);

#endif
