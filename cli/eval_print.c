/* What `phibal eval` shows: certain digits with a bound for people, outward-rounded ends for
   machines. */
#include "eval.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits that --json gives beyond those asked for, so that rounding outward costs none of them. */
enum { JSON_EXTRA_DIGITS = 3 };

static const char *const mirror_labels[EVAL_MIRROR_PARTS] = {
    "m' by the average", "q' by the average", "m' by the argmax", "q' by the argmax"};
static const char *const maximised_label = "m' with that price, by maximising <m', q'> - phi(m')";

/* An upper bound of the distance from a decimal text to anything in z. */
static void distance_from_text(mpfr_ptr distance, const char *text, const phibal_enclosure *z) {
  phibal_enclosure c;
  phibal_enclosure_init(&c, mpfr_get_prec(z->lo) + 64);
  mpfr_set_inf(distance, 1);
  if (phibal_enclosure_set_str(&c, text) == PHIBAL_OK) {
    mpfr_t other;
    mpfr_init2(other, mpfr_get_prec(distance));
    mpfr_sub(distance, z->hi, c.lo, MPFR_RNDU);
    mpfr_sub(other, c.hi, z->lo, MPFR_RNDU);
    mpfr_max(distance, distance, other, MPFR_RNDU);
    mpfr_clear(other);
  }
  phibal_enclosure_clear(&c);
}

/* "digits +- bound" of z, whose two decimal neighbours are down and up: the nearer one. */
static void print_nearer(const char *down, const char *up, const phibal_enclosure *z) {
  mpfr_t from_down, from_up;
  mpfr_init2(from_down, 64);
  mpfr_init2(from_up, 64);
  distance_from_text(from_down, down, z);
  distance_from_text(from_up, up, z);
  bool below = mpfr_lessequal_p(from_down, from_up) != 0;
  mpfr_srcptr bound = below ? from_down : from_up;
  printf("%s", below ? down : up);
  if (!mpfr_zero_p(bound)) mpfr_printf("  +- %.1RUe", bound);
  mpfr_clear(from_down);
  mpfr_clear(from_up);
}

static void print_undecided(const eval_request *r, const phibal_enclosure *z, size_t size, char *lo,
                            char *hi) {
  if (phibal_enclosure_get_decimal(z, r->digits, lo, hi, size) == PHIBAL_OK)
    printf("undecided, in [%s, %s]", lo, hi);
}

static void print_decided(const eval_request *r, const phibal_enclosure *z, size_t size, char *lo,
                          char *hi) {
  phibal_enclosure middle;
  phibal_enclosure_init(&middle, mpfr_get_prec(z->lo) + 1);
  mpfr_add(middle.lo, z->lo, z->hi, MPFR_RNDN);
  mpfr_div_2ui(middle.lo, middle.lo, 1, MPFR_RNDN);
  mpfr_set(middle.hi, middle.lo, MPFR_RNDN);
  phibal_status status = phibal_enclosure_get_decimal(&middle, r->digits, lo, hi, size);
  if (status == PHIBAL_OK && mpfr_inf_p(z->lo)) printf("%s", lo);
  if (status == PHIBAL_OK && !mpfr_inf_p(z->lo)) print_nearer(lo, hi, z);
  phibal_enclosure_clear(&middle);
}

static void print_number(const eval_request *r, const eval_answer *answer, size_t i) {
  size_t size = PHIBAL_DECIMAL_SIZE(r->digits);
  char *lo = malloc(size), *hi = malloc(size);
  if (lo && hi) {
    if (!answer->decided[i])
      print_undecided(r, &answer->result[i], size, lo, hi);
    else if (r->round)
      printf("%a", answer->rounded[i]);
    else
      print_decided(r, &answer->result[i], size, lo, hi);
  }
  free(lo);
  free(hi);
  putchar('\n');
}

static void print_heading(const eval_request *r) {
  printf("%s of %s", eval_function_name(r->function), r->name);
  for (int i = 0; i < r->parameters; i++)
    printf(", %s = %s", r->parameter[i].name, r->parameter[i].text);
  if (r->round) printf(", rounded once");
  putchar('\n');
}

static int longest(const eval_list *list) {
  size_t length = 0;
  for (size_t i = 0; i < list->n; i++)
    if (strlen(list->text[i]) > length) length = strlen(list->text[i]);
  return length < 40 ? (int)length : 40;
}

static void print_scalar(const eval_request *r, const eval_answer *answer) {
  printf("  at");
  for (size_t i = 0; i < r->at.n; i++) printf("%s %s", i ? "," : "", r->at.text[i]);
  printf("\n  ");
  print_number(r, answer, 0);
}

static void print_vector(const eval_request *r, const eval_answer *answer) {
  for (size_t i = 0; i < answer->count; i++) {
    printf("  at %-*s  ", longest(&r->at), r->at.text[i]);
    print_number(r, answer, i);
  }
}

static void print_matrix(const eval_request *r, const eval_answer *answer) {
  for (size_t i = 0; i < answer->count; i++) {
    printf("  [%zu,%zu]  ", i / answer->n + 1, i % answer->n + 1);
    print_number(r, answer, i);
  }
}

static void print_distance(const eval_answer *answer, const char *what, eval_mirror_part a,
                           eval_mirror_part b) {
  phibal_enclosure distance;
  phibal_enclosure_init(&distance, answer->precision);
  eval_mirror_distance(answer, a, b, &distance);
  if (mpfr_zero_p(distance.lo))
    mpfr_printf("  %s: the two enclosures meet; distance at most %.1RUe\n", what, distance.hi);
  else
    mpfr_printf("  %s: the two ways DIFFER, by at least %.1RDe\n", what, distance.lo);
  phibal_enclosure_clear(&distance);
}

static void print_mirror_step(const eval_request *r, const eval_answer *answer) {
  printf("  eta = %s\n", r->eta);
  for (size_t part = 0; part < answer->parts; part++) {
    printf("  %s\n", r->phi && part == EVAL_NEXT_ARGMAX ? maximised_label : mirror_labels[part]);
    for (size_t e = 0; e < answer->n; e++) {
      printf("    m %s, load %s  ", r->at.text[e], r->loads.text[e]);
      print_number(r, answer, part * answer->n + e);
    }
  }
  if (answer->parts > EVAL_NEXT_ARGMAX)
    print_distance(answer, "m'", EVAL_NEXT_AVERAGE, EVAL_NEXT_ARGMAX);
  if (answer->parts > EVAL_PRICE_ARGMAX)
    print_distance(answer, "q'", EVAL_PRICE_AVERAGE, EVAL_PRICE_ARGMAX);
}

/* Rounded numbers stand alone, one a line, where nothing else needs saying. */
static void print_rounded(const eval_request *r, const eval_answer *answer) {
  for (size_t i = 0; i < answer->count; i++) print_number(r, answer, i);
}

void eval_print_text(const eval_request *r, const eval_answer *answer) {
  bool mirror = r->function == EVAL_MIRROR_STEP;
  if (r->round && !mirror) {
    print_rounded(r, answer);
    return;
  }
  print_heading(r);
  if (mirror)
    print_mirror_step(r, answer);
  else if (answer->matrix)
    print_matrix(r, answer);
  else if (r->function == EVAL_VALUE || r->function == EVAL_CONJUGATE)
    print_scalar(r, answer);
  else
    print_vector(r, answer);
}

static json_t *json_list(const eval_list *list) {
  json_t *array = json_array();
  for (size_t i = 0; i < list->n; i++) json_array_append_new(array, json_string(list->text[i]));
  return array;
}

/* Appends the ends of result i, rounded outward, to two arrays. */
static phibal_status append_ends(const eval_request *r, const phibal_enclosure *z, json_t *los,
                                 json_t *his) {
  size_t size = PHIBAL_DECIMAL_SIZE(r->digits + JSON_EXTRA_DIGITS);
  char *lo = malloc(size), *hi = malloc(size);
  phibal_status status =
      lo && hi ? phibal_enclosure_get_decimal(z, r->digits + JSON_EXTRA_DIGITS, lo, hi, size)
               : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %d digits", r->digits);
  if (status == PHIBAL_OK) {
    json_array_append_new(los, json_string(lo));
    json_array_append_new(his, json_string(hi));
  }
  free(lo);
  free(hi);
  return status;
}

/* Adds "lo" and "hi" for the results first .. first+count-1. */
static phibal_status json_set_ends(json_t *object, const eval_request *r, const eval_answer *answer,
                                   size_t first, size_t count) {
  json_t *los = json_array(), *his = json_array();
  phibal_status status = PHIBAL_OK;
  for (size_t i = first; i < first + count && status == PHIBAL_OK; i++)
    status = append_ends(r, &answer->result[i], los, his);
  json_object_set_new(object, "lo", los);
  json_object_set_new(object, "hi", his);
  return status;
}

static void json_set_rounded(json_t *object, const eval_answer *answer, size_t first,
                             size_t count) {
  json_t *array = json_array();
  for (size_t i = first; i < first + count; i++) {
    char text[40];
    snprintf(text, sizeof text, "%a", answer->rounded[i]);
    json_array_append_new(array, answer->decided[i] ? json_string(text) : json_null());
  }
  json_object_set_new(object, "rounded", array);
}

static phibal_status json_set_results(json_t *object, const eval_request *r,
                                      const eval_answer *answer, size_t first, size_t count) {
  if (r->round) json_set_rounded(object, answer, first, count);
  return json_set_ends(object, r, answer, first, count);
}

static void json_set_distance(json_t *object, const char *key, const eval_answer *answer,
                              eval_mirror_part a, eval_mirror_part b) {
  phibal_enclosure distance;
  char lo[64], hi[64];
  phibal_enclosure_init(&distance, answer->precision);
  eval_mirror_distance(answer, a, b, &distance);
  phibal_enclosure_get_decimal(&distance, 5, lo, hi, sizeof lo);
  json_object_set_new(object, key, json_pack("{s:s, s:s}", "lo", lo, "hi", hi));
  phibal_enclosure_clear(&distance);
}

/* The parts one by one; "lo" and "hi" at the top are q' by the average. */
static phibal_status json_set_mirror_step(json_t *object, const eval_request *r,
                                          const eval_answer *answer) {
  static const char *const keys[EVAL_MIRROR_PARTS] = {"next_average", "price_average",
                                                      "next_argmax", "price_argmax"};
  size_t n = answer->n;
  json_object_set_new(object, "loads", json_list(&r->loads));
  json_object_set_new(object, "eta", json_string(r->eta));
  phibal_status status = json_set_ends(object, r, answer, EVAL_PRICE_AVERAGE * n, n);
  for (size_t part = 0; part < answer->parts && status == PHIBAL_OK; part++) {
    json_t *ends = json_object();
    status = json_set_results(ends, r, answer, part * n, n);
    json_object_set_new(object, keys[part], ends);
  }
  if (answer->parts > EVAL_NEXT_ARGMAX)
    json_set_distance(object, "next_distance", answer, EVAL_NEXT_AVERAGE, EVAL_NEXT_ARGMAX);
  if (answer->parts > EVAL_PRICE_ARGMAX)
    json_set_distance(object, "price_distance", answer, EVAL_PRICE_AVERAGE, EVAL_PRICE_ARGMAX);
  return status;
}

static const char *format_name(phibal_format format) {
  static const char *const names[] = {"binary64", "binary32", "bfloat16", "binary16"};
  return names[format];
}

static const char *direction_name(phibal_direction direction) {
  static const char *const names[] = {"nearest", "down", "up", "zero"};
  return names[direction];
}

phibal_status eval_print_json(const eval_request *r, const eval_answer *answer) {
  json_t *object = json_object(), *parameters = json_object();
  for (int i = 0; i < r->parameters; i++)
    json_object_set_new(parameters, r->parameter[i].name, json_string(r->parameter[i].text));
  json_object_set_new(object, "potential", json_string(r->name));
  json_object_set_new(object, "params", parameters);
  json_object_set_new(object, "fn", json_string(eval_function_name(r->function)));
  json_object_set_new(object, "at", json_list(&r->at));
  if (r->round) {
    json_object_set_new(object, "round", json_string(format_name(r->format)));
    json_object_set_new(object, "direction", json_string(direction_name(r->direction)));
  } else {
    json_object_set_new(object, "digits", json_integer(r->digits));
  }
  if (answer->matrix)
    json_object_set_new(object, "shape", json_pack("[i, i]", (int)answer->n, (int)answer->n));
  phibal_status status = r->function == EVAL_MIRROR_STEP
                             ? json_set_mirror_step(object, r, answer)
                             : json_set_results(object, r, answer, 0, answer->count);
  json_object_set_new(object, "decided", json_boolean(answer->all_decided));
  if (status == PHIBAL_OK) {
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
  }
  json_decref(object);
  return status;
}
