/* Somebody's shared library (phibal/plugin.h) as a backend, in a process of its own
   (plugin_worker.h): its code never runs in this one. */
#ifndef PHIBAL_VERIFY_BACKEND_PLUGIN_H
#define PHIBAL_VERIFY_BACKEND_PLUGIN_H

#include "operation.h"

enum { PLUGIN_SECONDS = 120 }; /* for a case, and for loading, unless asked otherwise */

/* Loads a plugin. PHIBAL_ERROR_IO: not a library, one without phibal_plugin_get, or one whose
   loading ends the process; PHIBAL_ERROR_UNSUPPORTED: of another version, or it changes the
   floating-point environment; PHIBAL_ERROR_FORMAT: its table is not complete, or offers an
   operation or leaves out an output that there is not. backend_plugin_close in any case.

   A case fails, with what happened as its message, where the plugin returns an error, changes an
   input, writes beyond a tensor, leaves the floating-point environment changed, ends its process,
   or takes longer than `seconds`. The next case then has a new process. What the plugin prints
   goes to standard error, line by line behind "plugin: ". */
phibal_status backend_plugin_open(const char *path, double seconds, backend *b);
void backend_plugin_close(backend *b);

/* The name that it gives itself, and its device. */
const char *backend_plugin_name(const backend *b);
const char *backend_plugin_device(const backend *b);

#endif
