/* Somebody's shared library (phibal/plugin.h) as a backend. */
#ifndef PHIBAL_FUZZ_BACKEND_PLUGIN_H
#define PHIBAL_FUZZ_BACKEND_PLUGIN_H

#include "operation.h"

/* Loads a plugin. PHIBAL_ERROR_IO: not a library, or one without phibal_plugin_get;
   PHIBAL_ERROR_UNSUPPORTED: of another version; PHIBAL_ERROR_FORMAT: its table is not complete, or
   offers an operation or leaves out an output that there is not. backend_plugin_close in any case.
   Its code runs in this process, so that a crash of it is one of this process. */
phibal_status backend_plugin_open(const char *path, backend *b);
void backend_plugin_close(backend *b);

/* The name that it gives itself, and its device. */
const char *backend_plugin_name(const backend *b);
const char *backend_plugin_device(const backend *b);

#endif
