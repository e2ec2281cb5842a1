/* One message per thread; the only state that the library keeps outside its arguments. */
#include <phibal/status.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[512];

const char *phibal_status_message(void) {
  return message;
}

phibal_status phibal_status_set(phibal_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return status;
}
