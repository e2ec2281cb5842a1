/* TensorBoard's events are read back here byte by byte: every number of metrics.jsonl is there
   once, under its path, with the checksums that TensorFlow wants; also after a run that was cut
   short. */
#include "moe/train/run_folder.h"
#include "moe/train/tensorboard.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(tensorboard, .init = train_case_create, .fini = train_case_remove);

/* The remainder of the division by x^32 + ... + 1, from the other end than the program's: bits
   reversed, the polynomial as it is written. */
static uint32_t reversed(uint32_t x) {
  uint32_t y = 0;
  for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
  return y;
}

static uint32_t crc32c(const unsigned char *bytes, size_t n) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < n; i++) {
    crc ^= reversed(bytes[i]);
    for (int bit = 0; bit < 8; bit++) crc = crc << 1 ^ (crc >> 31 ? 0x1edc6f41u : 0);
  }
  return ~reversed(crc);
}

static void check_crc(const unsigned char *bytes, size_t n, const unsigned char *stored) {
  uint32_t value;
  memcpy(&value, stored, 4);
  value -= 0xa282ead8u;
  cr_assert_eq(value >> 17 | value << 15, crc32c(bytes, n));
}

static uint64_t varint(const unsigned char **at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    value |= (uint64_t)(**at & 127) << shift;
    if (*(*at)++ < 128) return value;
  }
}

/* Summary.value: tag and simple_value, added to `found`, an object of tags. */
static void read_value(const unsigned char *at, const unsigned char *end, json_t *found) {
  char tag[256] = "";
  float number = 0;
  while (at < end) {
    const uint64_t key = varint(&at);
    if (key == (1 << 3 | 2)) {
      const size_t n = varint(&at);
      cr_assert_lt(n, sizeof tag);
      memcpy(tag, at, n);
      at += n;
    } else {
      cr_assert_eq(key, 2 << 3 | 5);
      memcpy(&number, at, 4);
      at += 4;
    }
  }
  cr_assert(at == end && *tag);
  cr_assert_null(json_object_get(found, tag), "%s twice", tag);
  json_object_set_new(found, tag, json_real((double)number));
}

static json_t *read_event(const unsigned char *at, const unsigned char *end, bool first) {
  json_t *found = json_object();
  double seconds = 0;
  uint64_t step = 0;
  bool version = false;
  while (at < end) {
    const uint64_t key = varint(&at);
    if (key == (1 << 3 | 1)) {
      memcpy(&seconds, at, 8);
      at += 8;
    } else if (key == (2 << 3 | 0)) {
      step = varint(&at);
    } else {
      const size_t n = varint(&at);
      const unsigned char *stop = at + n;
      if (key == (3 << 3 | 2)) version = n == 13 && !memcmp(at, "brain.Event:2", n);
      cr_assert(version || key == (5 << 3 | 2));
      while (!version && at < stop) {
        cr_assert_eq(varint(&at), 1 << 3 | 2);
        const size_t bytes = varint(&at);
        read_value(at, at + bytes, found);
        at += bytes;
      }
      at = stop;
    }
  }
  cr_assert(at == end && version == first && seconds > 1e9);
  json_object_set_new(found, "step", json_integer((json_int_t)step));
  return found;
}

static json_t *read_events(const char *name) {
  static unsigned char bytes[1 << 20];
  char path[256], folder[256];
  path_to(name, folder);
  snprintf(path, sizeof path, "%.200s/%s", folder, TENSORBOARD_FILE);
  FILE *file = fopen(path, "rb");
  cr_assert(file);
  const size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  json_t *all = json_array();
  for (size_t at = 0; at < n;) {
    uint64_t length;
    cr_assert_leq(at + 16, n);
    memcpy(&length, bytes + at, 8);
    check_crc(bytes + at, 8, bytes + at + 8);
    cr_assert_leq(at + 16 + length, n);
    check_crc(bytes + at + 12, length, bytes + at + 12 + length);
    json_t *event = read_event(bytes + at + 12, bytes + at + 12 + length, !at);
    if (at)
      json_array_append_new(all, event);
    else
      json_decref(event);
    at += 16 + length;
  }
  return all;
}

/* Every number under `json` is in `event`, as binary32; how many there are. */
static size_t compare(const json_t *json, const char *tag, const json_t *event) {
  if (json_is_number(json)) {
    const json_t *got = json_object_get(event, tag);
    cr_assert(got, "no %s", tag);
    cr_expect_eq((float)json_real_value(got), (float)json_number_value(json), "%s", tag);
    return 1;
  }
  size_t count = 0, i;
  const char *key;
  json_t *item;
  char below[512];
  json_object_foreach((json_t *)json, key, item) {
    snprintf(below, sizeof below, "%.200s/%s", tag, key);
    count += compare(item, below, event);
  }
  json_array_foreach(json, i, item) {
    snprintf(below, sizeof below, "%.200s/%zu", tag, i);
    if (json_is_object(item)) count += compare(item, below, event);
  }
  return count;
}

static void expect_lines(const char *name, size_t count) {
  char path[256];
  json_t *lines, *events = read_events(name);
  path_to(name, path);
  cr_assert_eq(run_folder_metrics(path, &lines), PHIBAL_OK);
  cr_assert_eq(json_array_size(lines), count);
  cr_assert_eq(json_array_size(events), count);
  for (size_t i = 0; i < count; i++) {
    json_t *line = json_array_get(lines, i), *event = json_array_get(events, i);
    const bool step = !strcmp(json_string_value(json_object_get(line, "type")), "step");
    cr_expect_eq(number(event, "step"), number(line, "step"));
    json_object_del(line, "step");
    cr_expect_eq(compare(line, step ? "train" : "validation", event), json_object_size(event) - 1);
    cr_expect(
        json_object_get(event, step ? "train/layers/1/maxvio_loads" : "validation/domains/1/loss"));
  }
  json_decref(lines);
  json_decref(events);
}

Test(tensorboard, checksum) {
  cr_assert_eq(crc32c((const unsigned char *)"123456789", 9), 0xe3069283u);
}

Test(tensorboard, every_number_once) {
  run_config config;
  configure(&config, PAIRS("training.tensorboard", "true", "training.steps", "4",
                           "evaluation.every", "2", "training.log_every", "1"));
  json_decref(run(&config, "out"));
  expect_lines("out", 6);
  /* Cut in the middle of a record, and on after step 3. */
  char path[256], file[512];
  path_to("out", path);
  snprintf(file, sizeof file, "%s/%s", path, TENSORBOARD_FILE);
  FILE *cut = fopen(file, "ab");
  fputs("half a reco", cut);
  fclose(cut);
  run_folder folder;
  cr_assert_eq(run_folder_continue(path, 3, &config, &folder), PHIBAL_OK);
  expect_lines("out", 4);
  cr_assert_eq(run_folder_log(&folder, json_pack("{s:s, s:I, s:f, s:[{s:f},{s:f}]}", "type", "step",
                                                 "step", (json_int_t)300, "loss", 1.5, "layers",
                                                 "maxvio_loads", 1.0, "maxvio_loads", 2.0)),
               PHIBAL_OK);
  expect_lines("out", 5);
  run_folder_close(&folder);
}

Test(tensorboard, only_where_wanted) {
  run_config config;
  char path[256], file[512];
  configure(&config, NULL);
  json_decref(run(&config, "plain"));
  path_to("plain", path);
  snprintf(file, sizeof file, "%s/%s", path, TENSORBOARD_FILE);
  cr_assert_null(fopen(file, "rb"));
}
