/* One message per thread; the only state that the library keeps outside its arguments. */
#include <phibal/status.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[2048];

const char *phibal_status_message(void) {
  return message;
}

phibal_status phibal_status_set(phibal_status status, const char *format, ...) {
  char made[sizeof message]; /* an argument may be the message that is there */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(made, sizeof made, format, arguments);
  va_end(arguments);
  strcpy(message, made);
  return status;
}
