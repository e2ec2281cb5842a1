/* Messages: one that says more of the one before it keeps it whole, and is cut where its place
   ends. */
#include <criterion/criterion.h>
#include <phibal/status.h>
#include <phibal/text.h>
#include <stdio.h>
#include <string.h>

Test(status, a_message_within_a_message) {
  cr_expect_str_eq(phibal_status_message(), "");
  cr_expect_eq(phibal_status_set(PHIBAL_ERROR_IO, "%s", "no disk"), PHIBAL_ERROR_IO);
  cr_expect_eq(phibal_status_set(PHIBAL_ERROR_FORMAT, "step %d: %s; and %s", 12,
                                 phibal_status_message(), phibal_status_message()),
               PHIBAL_ERROR_FORMAT);
  cr_expect_str_eq(phibal_status_message(), "step 12: no disk; and no disk");
}

/* Names in messages come from anywhere; a terminal obeys none of them. */
Test(status, a_message_is_shown) {
  static const struct {
    const char *text, *shown;
  } cases[] = {{"Gr\u00fc\u00dfe \u20ac \U0001f642", "Gr\u00fc\u00dfe \u20ac \U0001f642"},
               {"\033]0;x\a", "\\u001b]0;x\\u0007"},
               {"a\nphibal: good\r\t", "a\\u000aphibal: good\\u000d\\u0009"},
               {"\x7f\x9b\xff", "\\u007f\\x9b\\xff"},
               {"\xc2\x9b"
                "2J",
                "\\u009b2J"},
               {"\u202egnp.exe\u2066\u200f", "\\u202egnp.exe\\u2066\\u200f"},
               {"\u2028", "\\u2028"},
               {"\xc0\xaf", "\\xc0\\xaf"},          /* too long for '/' */
               {"\xe0\x80\x9b", "\\xe0\\x80\\x9b"}, /* and for a control character */
               {"\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b"},
               {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair */
               {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
               {"\xc3(", "\\xc3("}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phibal_status_set(PHIBAL_ERROR_IO, "'%s': no", cases[i].text);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "'%s': no", cases[i].shown);
    cr_expect_str_eq(phibal_status_message(), wanted);
    phibal_status_set(PHIBAL_ERROR_IO, "%s", phibal_status_message());
    cr_expect_str_eq(phibal_status_message(), wanted);
  }
  char two[3];
  phibal_text_show("ab\033", two, sizeof two);
  cr_expect_str_eq(two, "ab");
  phibal_text_show("a\u00fc", two, sizeof two);
  cr_expect_str_eq(two, "a");
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
