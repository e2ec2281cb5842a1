/* What every fallible function of phibal returns, and where its message is kept. */
#ifndef PHIBAL_STATUS_H
#define PHIBAL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum phibal_status {
  PHIBAL_OK = 0,
  PHIBAL_ERROR_ARGUMENT,    /* a null pointer, a shape or a parameter that makes no sense */
  PHIBAL_ERROR_DOMAIN,      /* a number outside the domain of the function asked for */
  PHIBAL_ERROR_NONFINITE,   /* a NaN or an infinity among the logits: never a route */
  PHIBAL_ERROR_UNDECIDED,   /* the precision cap was reached before the answer was certain */
  PHIBAL_ERROR_MEMORY,      /* an allocation failed */
  PHIBAL_ERROR_IO,          /* the operating system refused a file operation */
  PHIBAL_ERROR_FORMAT,      /* a file or a text is not what it should be */
  PHIBAL_ERROR_UNSUPPORTED, /* left out of this build, or a combination that is not offered */
} phibal_status;

/* The message of the last failure on this thread: what, where, what would be right. Never null;
   empty before the first failure. Valid until the next failing call on the same thread. */
const char *phibal_status_message(void);

/* Records a message (printf style, cut at 2047 bytes) for this thread and returns `status`, so that
   a failing function ends in `return phibal_status_set(PHIBAL_ERROR_..., "...", ...)`. The message
   that is there may be among the arguments, to say more before or after it. Names in it come from
   anywhere: it is kept as phibal_text_show (text.h) gives it, in one line. */
phibal_status phibal_status_set(phibal_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __FRAMAC__
/* Proofs see that a failing function returns its status; they do not look at messages. */
phibal_status phibal_status_recorded(phibal_status status);
#define phibal_status_set(status, ...) phibal_status_recorded(status)
#include <phibal/acsl/contracts/status.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
