/* A case of golden vectors as anyone reads it, from the file and its manifest, and what Arb says of
   it. Nothing of phibal's arithmetic is used: only the reader of the file format. */
#ifndef PHIBAL_TESTS_VECTORS_ARB_H
#define PHIBAL_TESTS_VECTORS_ARB_H

#include <arb.h>
#include <jansson.h>
#include <math.h>
#include "formats/safetensors.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bits: centred prices lose up to a hundred, and 2^-300 of what is left is nothing. */
enum { ARB_BITS = 420 };

typedef struct vector_case {
  const safetensors_file *file;
  const json_t *manifest, *json;
  const char *prefix, *operation;
  long compared, disagreements;
} vector_case;

static inline const safetensors_tensor *vector_tensor(const vector_case *c, const char *folder,
                                                      const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s/%s", c->prefix, folder, name);
  return safetensors_find(c->file, path);
}

static inline const safetensors_tensor *vector_in(const vector_case *c, const char *name) {
  return vector_tensor(c, "in", name);
}

static inline double vector_real(const safetensors_tensor *t, int64_t i) {
  return t->dtype == SAFETENSORS_F64 ? ((const double *)t->data)[i]
                                     : (double)((const float *)t->data)[i];
}

static inline int64_t vector_integer(const safetensors_tensor *t, int64_t i) {
  return t->dtype == SAFETENSORS_I64   ? ((const int64_t *)t->data)[i]
         : t->dtype == SAFETENSORS_I32 ? ((const int32_t *)t->data)[i]
                                       : ((const uint8_t *)t->data)[i];
}

static inline bool vector_masked(const safetensors_tensor *mask, int64_t i) {
  return mask && !vector_integer(mask, i);
}

static inline const json_t *vector_parameter(const vector_case *c, const char *name) {
  return json_object_get(json_object_get(c->json, "parameters"), name);
}

static inline int64_t vector_count(const vector_case *c, const char *name) {
  return json_integer_value(vector_parameter(c, name));
}

static inline const char *vector_text(const vector_case *c, const char *name) {
  return json_string_value(vector_parameter(c, name));
}

/* JSON has no infinity: it stands there as a text. */
static inline double vector_number(const vector_case *c, const char *name) {
  const json_t *p = vector_parameter(c, name);
  return json_is_string(p) ? (double)INFINITY : json_number_value(p);
}

static inline void vector_disagree(vector_case *c, const char *output, int64_t i, const char *what,
                                   double said, const arb_t truth) {
  c->disagreements++;
  char *text = arb_get_str(truth, 25, 0);
  printf("%s %s[%lld]: %s %.17g; Arb has %s\n", c->prefix, output, (long long)i, what, said, text);
  flint_free(text);
}

/* The unit in the last place just below (above) |x|, of a format of so many bits, the least one
   2^least. The two differ where x is within 2^-60 of a power of two: the truth behind the vectors
   need not know on which side, and then promises the smaller unit. */
static inline double vector_ulp(const arb_t x, bool below, int bits, int least) {
  arf_t end;
  fmpz_t e;
  arf_init(end);
  fmpz_init(e);
  if (below)
    arb_get_abs_lbound_arf(end, x, ARB_BITS + 64);
  else
    arb_get_abs_ubound_arf(end, x, ARB_BITS + 64);
  long exponent = least;
  arf_t part;
  arf_init(part);
  arf_mul_2exp_si(part, end, -60);
  if (below)
    arf_sub(end, end, part, ARB_BITS, ARF_RND_DOWN);
  else
    arf_add(end, end, part, ARB_BITS, ARF_RND_UP);
  arf_clear(part);
  if (!arf_is_zero(end)) {
    arf_frexp(end, e, end); /* 1/2 <= end < 1 */
    if (fmpz_get_si(e) - bits > least) exponent = fmpz_get_si(e) - bits;
  }
  arf_clear(end);
  fmpz_clear(e);
  return ldexp(1, (int)exponent);
}

static inline const json_t *vector_promise(const vector_case *c, const char *output) {
  const json_t *described = json_object_get(json_object_get(c->json, "outputs"), output);
  const char *promise = json_string_value(json_object_get(described, "promise"));
  const json_t *all = json_object_get(c->manifest, "promises");
  return json_object_get(json_object_get(all, c->operation), promise);
}

/* The bound beside an element is what the promise says, and what rounding may add. terms: as the
   promise needs them, or null where only a lower limit is known here. */
static inline void vector_check_bound(vector_case *c, const char *output, int64_t i,
                                      double expected, const arb_t truth, const arb_t terms) {
  const json_t *promise = vector_promise(c, output);
  const char *measure = json_string_value(json_object_get(promise, "measure"));
  double bound = json_number_value(json_object_get(promise, "bound"));
  double slack = json_number_value(json_object_get(promise, "slack"));
  double said = vector_real(vector_tensor(c, "bound", output), i), least = -1, most = INFINITY;
  double sum = terms ? fabs(arf_get_d(arb_midref(terms), ARF_RND_NEAR)) : 0;
  if (!strcmp(measure, "ulp32")) {
    least = bound * vector_ulp(truth, true, 24, -149) + slack * sum;
    if (terms || slack == 0) most = bound * vector_ulp(truth, false, 24, -149) + slack * sum;
  } else if (!strcmp(measure, "ulp64")) {
    most = bound * vector_ulp(truth, false, 53, -1074) + slack * sum;
  } else if (!strcmp(measure, "componentwise")) {
    double size = fabs(arf_get_d(arb_midref(truth), ARF_RND_NEAR));
    least = bound * 0x1p-24 * (terms ? sum : size);
    if (terms) most = least;
  } else {
    least = 0;
  }
  /* Recorded bounds are rounded up and hold the distance from the rounded value besides. */
  double room = ldexp(fabs(expected), -51) + 0x1p-149;
  if (said < least * (1 - 0x1p-20) || said > most * (1 + 0x1p-20) + room) {
    c->disagreements++;
    printf("%s %s[%lld]: bound %g, the promise is %g to %g\n", c->prefix, output, (long long)i,
           said, least, most);
  }
}

static inline bool vector_is_single(const vector_case *c, const char *output) {
  const json_t *described = json_object_get(json_object_get(c->json, "outputs"), output);
  return !strcmp(json_string_value(json_object_get(described, "dtype")), "F32");
}

/* The expected value is the binary64 nearest to the truth. */
static inline void vector_check(vector_case *c, const char *output, int64_t i, const arb_t truth,
                                const arb_t terms) {
  const safetensors_tensor *t = vector_tensor(c, "expected", output);
  if (!t) return;
  c->compared++;
  double expected = vector_real(t, i);
  if (!arb_is_finite(truth) || isnan(expected)) {
    vector_disagree(c, output, i, "expected", expected, truth);
    return;
  }
  arb_t d, allowed;
  arb_init(d);
  arb_init(allowed);
  if (isinf(expected)) { /* binary32 ends before the middle of 2^128 and the number below */
    arb_set_d(d, expected > 0 ? 0x1.ffffffp127 : -0x1.ffffffp127);
    if (!(expected > 0 ? arb_ge(truth, d) : arb_le(truth, d)))
      vector_disagree(c, output, i, "expected", expected, truth);
  } else {
    arb_set_d(d, expected);
    arb_sub(d, truth, d, ARB_BITS);
    arb_abs(d, d);
    /* 2^-210 and less is nothing beside binary32's least, 2^-149: it may stand as 0. */
    double least = vector_is_single(c, output) ? 0x1p-157 : 0x1p-1022;
    arb_set_d(allowed, fmax(fabs(expected), least) * (1 + 0x1p-30));
    arb_mul_2exp_si(allowed, allowed, -53);
    bool zero = expected == 0 && arb_contains_zero(d) && mag_cmp_2exp_si(arb_radref(d), -300) < 0;
    if (!zero && !arb_le(d, allowed)) vector_disagree(c, output, i, "expected", expected, truth);
    vector_check_bound(c, output, i, expected, truth, terms);
  }
  arb_clear(d);
  arb_clear(allowed);
}

static inline void vector_check_integer(vector_case *c, const char *output, int64_t i,
                                        int64_t truth) {
  const safetensors_tensor *t = vector_tensor(c, "expected", output);
  if (!t) return;
  c->compared++;
  if (vector_integer(t, i) == truth) return;
  c->disagreements++;
  printf("%s %s[%lld]: expected %lld, is %lld\n", c->prefix, output, (long long)i,
         (long long)vector_integer(t, i), (long long)truth);
}

/* The binary32 nearest to a number known well. */
static inline double vector_single(const arb_t x) {
  arf_t r;
  arf_init(r);
  arf_set_round(r, arb_midref(x), 24, ARF_RND_NEAR);
  double d = arf_get_d(r, ARF_RND_NEAR);
  arf_clear(r);
  /* Below the normal numbers binary32 has fewer bits, and d, of 24, is rounded again: all that is
     lost is a tie in 2^24, which no case has. */
  return (double)(float)d;
}

#endif
