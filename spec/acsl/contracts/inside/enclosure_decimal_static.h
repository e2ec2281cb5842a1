/* What the static functions of reference/enclosure_decimal.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_DECIMAL_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ENCLOSURE_DECIMAL_STATIC_H

/*@ // a buffer for n digits and all that goes with them
    predicate room{L}(char *text, integer n) =
      1 <= n <= INT_MAX && \valid(text + (0 .. n + 31));
    // n decimal digits
    predicate decimal{L}(char *digits, integer n) =
      \forall integer i; 0 <= i < n ==> '0' <= digits[i] <= '9';
    // a null ends it within size characters
    predicate ended{L}(char *text, integer size) =
      \exists integer i; 0 <= i < size && text[i] == 0;
*/

/*@ requires at <= from && from + n <= SIZE_MAX && \valid(text + (at .. from + n - 1));
    terminates \true;
    exits \false;
    assigns text[at .. at + n - 1];
    ensures \result == at + n;
    ensures \forall integer i; 0 <= i < n ==> text[at + i] == \old(text[from + i]); */
static size_t move(char *text, size_t at, size_t from, size_t n);

/*@ requires at < SIZE_MAX && \valid(text + at);
    terminates \true;
    exits \false;
    assigns text[at];
    ensures \result == at + 1 && text[at] == c; */
static size_t put(char *text, size_t at, char c);

/*@ requires n <= SIZE_MAX - at && \valid(text + (at .. at + n - 1));
    terminates \true;
    exits \false;
    assigns text[at .. at + n - 1];
    ensures \result == at + n;
    ensures \forall integer i; at <= i < at + n ==> text[i] == '0'; */
static size_t put_zeros(char *text, size_t at, size_t n);

/*@ requires at <= SIZE_MAX - EXPONENT_DIGITS && \valid(text + (at .. at + EXPONENT_DIGITS - 1));
    terminates \true;
    exits \false;
    assigns text[at .. at + EXPONENT_DIGITS - 1];
    ensures at < \result <= at + EXPONENT_DIGITS; */
static size_t put_integer(char *text, size_t at, unsigned long m);

/*@ requires at <= SIZE_MAX - EXPONENT_DIGITS - 2;
    requires \valid(text + (at .. at + EXPONENT_DIGITS + 1));
    requires -LONG_MAX <= exponent;
    terminates \true;
    exits \false;
    assigns text[at .. at + EXPONENT_DIGITS + 1];
    ensures at + 1 < \result <= at + EXPONENT_DIGITS + 2;
    ensures text[at] == 'e'; */
static size_t put_exponent(char *text, size_t at, long exponent);

/*@ requires least <= length && \valid_read(digits + (0 .. length - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures least <= \result <= length;
    ensures \forall integer i; \result <= i < length ==> digits[i] == '0';
    ensures \result > least ==> digits[\result - 1] != '0'; */
static size_t without_final_zeros(const char *digits, size_t length, size_t least);

/*@ requires room(text, n) && at <= 1 && DIGITS_AT <= digits <= DIGITS_AT + 1;
    requires -LONG_MAX < point;
    terminates \true;
    exits \false;
    assigns text[at .. n + 30];
    ensures at < \result <= n + 31; */
static size_t write_digits(char *text, size_t at, size_t digits, size_t n, long point);

/*@ requires room(text, n) && readable_number(x);
    requires \separated(text + (0 .. n + 31), x);
    terminates \true;
    exits \false;
    assigns text[0 .. n + 31];
    ensures ended(text, n + 32); */
static void write_decimal(char *text, mpfr_srcptr x, size_t n, mpfr_rnd_t direction);

#endif
