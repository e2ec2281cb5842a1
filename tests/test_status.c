/* Messages: one that says more of the one before it keeps it whole, and is cut where its place
 * ends.
 */
#include <criterion/criterion.h>
#include <phibal/status.h>
#include <string.h>

Test(status, a_message_within_a_message) {
  cr_expect_str_eq(phibal_status_message(), "");
  cr_expect_eq(phibal_status_set(PHIBAL_ERROR_IO, "%s", "no disk"), PHIBAL_ERROR_IO);
  cr_expect_eq(phibal_status_set(PHIBAL_ERROR_FORMAT, "step %d: %s; and %s", 12,
                                 phibal_status_message(), phibal_status_message()),
               PHIBAL_ERROR_FORMAT);
  cr_expect_str_eq(phibal_status_message(), "step 12: no disk; and no disk");
}

Test(status, a_message_is_cut) {
  enum { MOST = 2047 }; /* phibal/status.h */
  char longer[MOST + 90];
  memset(longer, 'a', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  phibal_status_set(PHIBAL_ERROR_IO, "%s", longer);
  cr_expect_eq(strlen(phibal_status_message()), MOST);
  phibal_status_set(PHIBAL_ERROR_IO, "b%s", phibal_status_message());
  cr_expect_eq(strlen(phibal_status_message()), MOST);
  cr_expect_eq(strncmp(phibal_status_message(), "baaa", 4), 0);
}
