/* What the static functions of reference/number.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_NUMBER_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_NUMBER_STATIC_H

/*@ predicate readable_cursor{L}(cursor *c) =
      \valid_read(c) && 0 <= c->at <= c->end <= MAX_TEXT &&
      \valid_read(c->text + (0 .. c->end - 1));
    predicate movable_cursor{L}(cursor *c) = \valid(c) && readable_cursor(c);
    // c stays in its text, and does not go back
    predicate moved{A, B}(cursor *c) =
      \at(c->at, A) <= \at(c->at, B) <= \at(c->end, B) && \at(c->end, B) == \at(c->end, A) &&
      \at(c->text, B) == \at(c->text, A);
    // a rational number in the form in which GMP computes with it
    predicate fraction{L}(mpq_srcptr q) = qlive(q) && qden(q) > 0;
*/

/*@ requires readable_cursor(c) && at <= MAX_TEXT;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_ERROR_FORMAT; */
static phibal_status refuse(const cursor *c, size_t at, const char *why);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures 'A' <= c <= 'Z' ? \result == c - 'A' + 'a' : \result == c; */
static char lower(char c);

/*@ requires base == 10 || base == 16;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> 0 <= digit(c) < base; */
static bool is_digit(char c, int base);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> c == ' ' || 9 <= c <= 13; */
static bool is_blank(char c);

/*@ requires movable_cursor(c) && !('A' <= wanted <= 'Z');
    terminates \true;
    exits \false;
    assigns c->at;
    ensures moved{Pre, Here}(c);
    ensures \result ==> c->at == \old(c->at) + 1;
    ensures !\result ==> c->at == \old(c->at); */
static bool accept(cursor *c, char wanted);

/*@ requires movable_cursor(c);
    terminates \true;
    exits \false;
    assigns c->at;
    ensures moved{Pre, Here}(c); */
static bool accept_minus(cursor *c);

/*@ requires readable_cursor(c) && (base == 10 || base == 16);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> c->at < c->end && 0 <= digit(c->text[c->at]) < base; */
static bool at_digit(const cursor *c, int base);

/*@ requires movable_cursor(c) && (base == 10 || base == 16);
    requires n <= MAX_TEXT && \valid(buffer + (0 .. n + c->end - c->at - 1));
    requires \separated(buffer + (0 .. n + c->end - c->at - 1), c->text + (0 .. c->end - 1));
    requires \separated(buffer + (0 .. n + c->end - c->at - 1), c);
    requires \forall integer i; 0 <= i < n ==> digit(buffer[i]) < base;
    terminates \true;
    exits \false;
    assigns c->at, buffer[n .. n + c->end - c->at - 1];
    ensures moved{Pre, Here}(c);
    ensures \result - n == c->at - \old(c->at);
    ensures \forall integer i; 0 <= i < \result ==> digit(buffer[i]) < base;
    ensures \forall integer i; n <= i < \result ==>
      buffer[i] == \old(c->text[c->at - n + i]); */
static size_t read_digits(cursor *c, int base, char *buffer, size_t n);

/*@ requires movable_cursor(c) && \valid(exponent) && \separated(exponent, &c->at);
    terminates \true;
    exits \false;
    assigns c->at, *exponent;
    ensures moved{Pre, Here}(c);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_FORMAT;
    ensures \result == PHIBAL_OK ==> -1000000000 <= *exponent <= 1000000000; */
static phibal_status read_exponent(cursor *c, long *exponent);

/*@ // m times base^e
    logic real scaled(integer m, integer base, integer e) =
      e >= 0 ? (real)(m * natural_power(base, e)) : (real)m / (real)natural_power(base, -e);
*/

/*@ requires \valid(q) && fraction(q) && qden(q) == 1 && (base == 2 || base == 10);
    requires -LONG_MAX <= exponent;
    terminates \true;
    exits \false;
    assigns *q;
    ensures fraction(q) && qval(q) == scaled(\old(qnum(q)), base, exponent); */
static void scale(mpq_t q, unsigned long base, long exponent);

/*@ requires readable_cursor(c) && \valid(q) && fraction(q) && \separated(c, q);
    requires behind <= c->end && (base == 10 || base == 16);
    requires 0 < n <= MAX_TEXT && \valid_read(digits + (0 .. n)) && digits[n] == 0;
    requires \forall integer i; 0 <= i < n ==> digit(digits[i]) < base;
    requires -LONG_MAX <= exponent;
    terminates \true;
    exits \false;
    assigns *q;
    ensures fraction(q);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_FORMAT;
    ensures \result == PHIBAL_OK ==> \let m = digits_value(digits, n, base);
      qval(q) == (m == 0 ? 0.0 : scaled(m, base == 16 ? 2 : 10, exponent)); */
static phibal_status scale_digits(const cursor *c, size_t behind, mpq_t q, const char *digits,
                                  size_t n, int base, long exponent);

/*@ requires movable_cursor(c);
    terminates \true;
    exits \false;
    assigns c->at;
    ensures moved{Pre, Here}(c); */
static bool accept_hexadecimal(cursor *c);

/*@ requires movable_cursor(c) && \valid(q) && fraction(q);
    requires \valid(digits + (0 .. c->end - c->at));
    requires \separated(digits + (0 .. c->end - c->at), c->text + (0 .. c->end - 1));
    requires \separated(digits + (0 .. c->end - c->at), c);
    requires \separated(c, q);
    terminates \true;
    exits \false;
    assigns c->at, *q, digits[0 .. \old(c->end - c->at)];
    ensures moved{Pre, Here}(c) && fraction(q);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_FORMAT; */
static phibal_status read_digits_and_exponent(cursor *c, mpq_t q, char *digits);

/*@ requires movable_cursor(c) && \valid(q) && fraction(q) && \separated(c, q);
    terminates \true;
    exits \false;
    assigns c->at, *q, TEXT_ALLOCATED;
    ensures moved{Pre, Here}(c) && fraction(q);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_FORMAT || \result ==
   PHIBAL_ERROR_MEMORY; */
static phibal_status read_unsigned(cursor *c, mpq_t q);

/*@ requires movable_cursor(c) && \valid(q) && fraction(q) && \separated(c, q);
    terminates \true;
    exits \false;
    assigns c->at, *q, TEXT_ALLOCATED;
    ensures moved{Pre, Here}(c) && fraction(q);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_FORMAT || \result ==
   PHIBAL_ERROR_MEMORY; */
static phibal_status divide_by_text(cursor *c, mpq_t q);

/*@ requires movable_cursor(c) && \valid(q) && fraction(q) && \separated(c, q);
    terminates \true;
    exits \false;
    assigns c->at, *q, TEXT_ALLOCATED;
    ensures moved{Pre, Here}(c) && fraction(q);
    ensures \result == PHIBAL_OK ==> c->at == c->end; */
static phibal_status read_rational(cursor *c, mpq_t q);

/*@ requires readable_cursor(c) && \valid_read(word + (0 .. length - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> c->end - c->at == length; */
static bool rest_is(const cursor *c, const char *word, size_t length);

/*@ requires movable_cursor(c) && \valid(sign) && \separated(sign, c);
    terminates \true;
    exits \false;
    assigns *sign, c->at;
    ensures c->at == \old(c->at);
    ensures *sign == 1 || *sign == -1; */
static bool read_infinity(cursor *c, int *sign);

/*@ requires \exists integer n; 0 <= n <= MAX_TEXT && \valid_read(text + (0 .. n)) && text[n] == 0;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result.text == text && 0 <= \result.at <= \result.end <= MAX_TEXT;
    ensures \valid_read(text + (0 .. \result.end)); */
static cursor without_blanks(const char *text);

#endif
