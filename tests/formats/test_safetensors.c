/* Safetensors: what is written is read back, and nothing else is. */
#include "tests/data_files.h"
#include "formats/safetensors.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder, *path;

static void setup(void) {
  folder = scratch_folder();
  path = string_format("%s/some.safetensors", folder);
}

static void teardown(void) {
  folder_remove(folder);
  free(folder);
  free(path);
}

TestSuite(safetensors, .init = setup, .fini = teardown);

#define must_fail(call, expected, part)                                                            \
  do {                                                                                             \
    phibal_status status_ = (call);                                                                \
    cr_assert_eq(status_, expected, "%s: status %d: %s", part, status_, phibal_status_message());  \
    cr_assert(message_has(part), "wanted '%s', got: %s", part, phibal_status_message());           \
  } while (0)

/* A file of this header and so many bytes of data (1, 2, 3 ...), in memory of exactly its size. */
static char *make_file(const char *header, size_t header_bytes, size_t data_bytes, size_t *n) {
  *n = 8 + header_bytes + data_bytes;
  char *bytes = malloc(*n);
  memcpy(bytes, &(uint64_t){header_bytes}, 8);
  memcpy(bytes + 8, header, header_bytes);
  for (size_t i = 0; i < data_bytes; i++) bytes[8 + header_bytes + i] = (char)(i + 1);
  return bytes;
}

static phibal_status view_status(const char *header, size_t header_bytes, size_t data_bytes) {
  size_t n;
  char *bytes = make_file(header, header_bytes, data_bytes, &n);
  safetensors_file f;
  phibal_status status = safetensors_view(bytes, n, "some", &f);
  if (status)
    cr_assert(!f.count && !f.tensors && !f.header && !f.name, "a failed view leaves zeros");
  safetensors_close(&f);
  free(bytes);
  return status;
}

#define refused(header, data_bytes, part)                                                          \
  must_fail(view_status(header, strlen(header), data_bytes), PHIBAL_ERROR_FORMAT, part)
#define accepted(header, data_bytes) must(view_status(header, strlen(header), data_bytes))

#define ONE(dtype, shape, offsets)                                                                 \
  "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define GOOD(name, begin, end)                                                                     \
  "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" #begin "," #end "]}"

/* What else there is is named; what only begins like it is not. */
Test(safetensors, other_formats_are_named) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *part;
  } rows[] = {
#define ROW(bytes, part) {bytes, sizeof bytes - 1, part}
      ROW("PK\3\4-\0\0\0\0\0\0\0!\0\0\0\0\0\377\377\377\377\377\377\377\377\5\0\24\0a.npy\1\0\20\0",
          "a NumPy .npz file; from Python"),
      ROW("PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\0\0\0archive/data.pklxx",
          "a file of torch.save; from Python"),
      ROW("PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.txtxx", "a zip archive"),
      ROW("\x93NUMPY\1\0v\0{'descr': '<f4'", "a NumPy .npy file"),
      ROW("GGUF\3\0\0\0\1\0\0\0", "a GGUF file"),
      ROW("\200\2\212\nl\374\234F\371 j\250P\31.", "torch.save"),
      ROW("\x80\4\x95\1\1\1\1\1\1", "a pickle"),
      ROW("\x89HDF\r\n\x1a\n\0\0", "HDF5"),
      ROW("version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
      ROW("{\"a\": [1, 2]}", "not safetensors but JSON"),
      ROW("anything else", "a header of "),
      /* Lengths of headers whose bytes are '{' and the mark of a pickle. */
      ROW("{\0\0\0\0\0\0\0{}", "truncated: a header of 123 bytes"),
      ROW("\x80\2\0\0\0\0\0\0{}", "truncated: a header of 640 bytes"),
#undef ROW
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    safetensors_file f;
    must_fail(safetensors_view(rows[i].bytes, rows[i].n, "some", &f), PHIBAL_ERROR_FORMAT,
              rows[i].part);
  }
}

Test(safetensors, every_dtype_and_shape_comes_back) {
  int64_t data[16];
  for (int i = 0; i < 16; i++) data[i] = i * 0x0102030405060708;
  safetensors_tensor written[SAFETENSORS_DTYPE_COUNT + 3];
  char names[SAFETENSORS_DTYPE_COUNT][8];
  int n = 0;
  for (; n < SAFETENSORS_DTYPE_COUNT; n++) {
    snprintf(names[n], sizeof names[n], "t%d", n);
    written[n] = (safetensors_tensor){.name = names[n],
                                      .dtype = (safetensors_dtype)n,
                                      .dimensions = 2,
                                      .shape = {3, n % 4},
                                      .data = &data[n % 3]};
  }
  written[n++] = (safetensors_tensor){.name = "scalar", .dtype = SAFETENSORS_F64, .data = data};
  written[n++] = (safetensors_tensor){
      .name = "emp\"ty \u00e4", .dtype = SAFETENSORS_F32, .dimensions = 3, .shape = {2, 0, 5}};
  written[n++] = (safetensors_tensor){.name = "8 dimensions",
                                      .dtype = SAFETENSORS_I32,
                                      .dimensions = 8,
                                      .shape = {1, 2, 1, 2, 1, 1, 3, 1},
                                      .data = data};
  const safetensors_entry metadata[] = {{"kind", "a \"test\"\n"}, {"", "empty key"}, {"z", ""}};
  must(safetensors_write(path, written, n, metadata, 3));
  cr_assert_eq(count_names(folder), 1, "the temporary name must be gone");

  safetensors_file f;
  must(safetensors_open(path, &f));
  cr_assert_eq(f.count, n);
  for (int i = 0; i < n; i++) {
    const safetensors_tensor *t = safetensors_find(&f, written[i].name);
    cr_assert(t, "%s", written[i].name);
    must(safetensors_get(&f, written[i].name, written[i].dtype, written[i].dimensions,
                         written[i].shape, &t));
    int64_t elements = 1;
    for (int d = 0; d < written[i].dimensions; d++) elements *= written[i].shape[d];
    cr_assert_eq(t->elements, elements);
    cr_assert_eq(t->bytes, elements * safetensors_dtype_bytes(t->dtype));
    cr_assert_eq((uintptr_t)t->data % (size_t)safetensors_dtype_bytes(t->dtype), 0);
    cr_assert(t->bytes == 0 || !memcmp(t->data, written[i].data, (size_t)t->bytes));
  }
  for (int64_t i = 1; i < f.count; i++)
    cr_assert_lt(strcmp(f.tensors[i - 1].name, f.tensors[i].name), 0);
  cr_assert_eq(f.metadata_count, 3);
  for (int i = 0; i < 3; i++)
    cr_assert_str_eq(safetensors_metadata(&f, metadata[i].key), metadata[i].value);
  cr_assert_null(safetensors_metadata(&f, "none"));
  cr_assert_null(safetensors_find(&f, "none"));
  safetensors_close(&f);
  cr_assert(!f.mapping && !f.count);
  safetensors_close(&f);
}

/* Byte for byte what the format's own library writes; the order given does not matter. */
Test(safetensors, layout_is_the_librarys_and_does_not_depend_on_the_order) {
  safetensors_tensor t[] = {
      {.name = "b", .dtype = SAFETENSORS_U8, .dimensions = 1, .shape = {3}, .data = "\1\2\3"},
      {.name = "c", .dtype = SAFETENSORS_F32, .dimensions = 1, .shape = {1}, .data = "wxyz"},
      {.name = "a", .dtype = SAFETENSORS_U8, .dimensions = 0, .data = "\7"},
      {.name = "d", .dtype = SAFETENSORS_F64, .dimensions = 1, .shape = {0}},
  };
  static const char expected[] =
      "\xf0\0\0\0\0\0\0\0"
      "{\"__metadata__\":{\"k\":\"v\"},\"d\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,"
      "0]},"
      "\"c\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[4,5]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[5,8]}}     "
      "wxyz\7\1\2\3";
  for (int turn = 0; turn < 4; turn++) {
    must(safetensors_write(path, t, 4, (safetensors_entry[]){{"k", "v"}}, 1));
    text_buffer bytes = {0};
    must(file_read_all(path, &bytes));
    cr_assert_eq(bytes.count, sizeof expected - 1, "%zu", bytes.count);
    cr_assert(!memcmp(bytes.bytes, expected, bytes.count), "%.*s", (int)bytes.count - 8,
              bytes.bytes + 8);
    text_buffer_free(&bytes);
    safetensors_tensor first = t[0];
    memmove(t, t + 1, 3 * sizeof *t);
    t[3] = first;
  }
}

Test(safetensors, a_file_without_tensors) {
  must(safetensors_write(path, NULL, 0, NULL, 0));
  safetensors_file f;
  must(safetensors_open(path, &f));
  cr_assert_eq(f.count, 0);
  cr_assert_null(safetensors_find(&f, "a"));
  cr_assert_null(safetensors_metadata(&f, "a"));
  safetensors_close(&f);
}

/* Older files have headers of any length; elements must be aligned all the same. */
Test(safetensors, unaligned_data_are_copied) {
  const char *header = ONE("\"F64\"", "[2]", "[0,16]");
  for (size_t spaces = 0; spaces < 8; spaces++) {
    char *padded = string_format("%-*s", (int)(strlen(header) + spaces), header);
    size_t n;
    char *bytes = make_file(padded, strlen(padded), 16, &n);
    put_file(folder, "some.safetensors", bytes, n);
    safetensors_file f;
    must(safetensors_open(path, &f));
    cr_assert_eq((uintptr_t)f.tensors[0].data % 8, 0);
    cr_assert(!memcmp(f.tensors[0].data, bytes + n - 16, 16));
    safetensors_close(&f);
    free(bytes);
    free(padded);
  }
}

Test(safetensors, every_truncation_is_refused) {
  must(safetensors_write(path,
                         (safetensors_tensor[]){{.name = "x",
                                                 .dtype = SAFETENSORS_F32,
                                                 .dimensions = 1,
                                                 .shape = {3},
                                                 .data = (float[]){1, 2, 3}}},
                         1, NULL, 0));
  text_buffer b = {0};
  must(file_read_all(path, &b));
  safetensors_file f;
  for (size_t n = 0; n < b.count; n++) {
    put_file(folder, "some.safetensors", b.bytes, n);
    must_fail(safetensors_open(path, &f), PHIBAL_ERROR_FORMAT, path);
  }
  must(text_buffer_append(&b, "", 1));
  put_file(folder, "some.safetensors", b.bytes, b.count);
  must_fail(safetensors_open(path, &f), PHIBAL_ERROR_FORMAT, "1 bytes follow the data");
  text_buffer_free(&b);
}

Test(safetensors, a_header_that_cannot_be_is_refused) {
  safetensors_file f;
  must_fail(safetensors_view("", 0, "some", &f), PHIBAL_ERROR_FORMAT, "0 bytes: too short");
  must_fail(safetensors_view("\1\0\0\0\0\0\0", 7, "some", &f), PHIBAL_ERROR_FORMAT, "too short");
  must_fail(safetensors_view("\377\377\377\377\377\377\377\377{}", 10, "some", &f),
            PHIBAL_ERROR_FORMAT, "18446744073709551615 bytes");
  must_fail(safetensors_view("\1\341\365\5\0\0\0\0{}", 10, "some", &f), PHIBAL_ERROR_FORMAT,
            "100000001 bytes, where at most");
  must_fail(safetensors_view("\3\0\0\0\0\0\0\0{}", 10, "some", &f), PHIBAL_ERROR_FORMAT,
            "truncated: a header of 3 bytes, but only 2 are left");
  refused("", 0, "begin with '{'");
  refused(" {}", 0, "begin with '{'");
  refused("[]", 0, "begin with '{'");
  refused("{", 0, "not JSON");
  refused("{} x", 0, "not JSON");
  refused("{\"a\"}", 0, "not JSON");
  refused("{\"\xff\":1}", 0, "not JSON");
  refused("{" GOOD("a", 0, 4) "," GOOD("a", 4, 8) "}", 8, "duplicate");
  refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
          "duplicate");
  accepted("{}    ", 0);
}

Test(safetensors, a_tensor_that_cannot_be_is_named) {
  refused("{\"a\":1}", 0, "tensor 'a': its entry is not an object");
  refused("{\"a\\n\\u001b[2J\":1}", 0, "tensor 'a??[2J'");
  refused("{\"a\":{\"shape\":[],\"data_offsets\":[0,1]}}", 1, "tensor 'a': 'dtype' is missing");
  refused("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "'shape' is missing");
  refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 1, "'data_offsets' is missing");
  refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"x\":0}}", 1,
          "its entry has more");
  refused(ONE("8", "[1]", "[0,1]"), 1, "dtype is not a string");
  must_fail(view_status(ONE("\"F31\"", "[1]", "[0,4]"), strlen(ONE("\"F31\"", "[1]", "[0,4]")), 4),
            PHIBAL_ERROR_UNSUPPORTED, "dtype 'F31'");
  const char *deep = ONE("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]");
  must_fail(view_status(deep, strlen(deep), 1), PHIBAL_ERROR_UNSUPPORTED, "9 dimensions");
  refused(ONE("\"U8\"", "1", "[0,1]"), 1, "shape is not an array");
  refused(ONE("\"U8\"", "[1.0]", "[0,1]"), 1, "extent 0 of its shape is no integer");
  refused(ONE("\"U8\"", "[4,-1]", "[0,4]"), 4, "extent 1 of its shape, -1, is negative");
  refused(ONE("\"U8\"", "[0,-1]", "[0,0]"), 0, "extent 1 of its shape, -1, is negative");
  refused(ONE("\"U8\"", "[4294967296,2147483648]", "[0,0]"), 0,
          "extent 1 of its shape, 2147483648");
  refused(ONE("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0, "or too large");
  refused(ONE("\"F64\"", "[2305843009213693952]", "[0,0]"), 0, "or too large");
  refused(ONE("\"U8\"", "[18446744073709551617]", "[0,1]"), 1, "not JSON");
  accepted(ONE("\"U8\"", "[1]", "[0,1]"), 1);
}

Test(safetensors, offsets_that_cannot_be_are_named) {
  refused(ONE("\"U8\"", "[1]", "0"), 1, "not two integers");
  refused(ONE("\"U8\"", "[1]", "[0]"), 1, "not two integers");
  refused(ONE("\"U8\"", "[1]", "[0,1,1]"), 1, "not two integers");
  refused(ONE("\"U8\"", "[1]", "[0,1.0]"), 1, "not two integers");
  refused(ONE("\"U8\"", "[1]", "[-1,0]"), 1, "-1 to 0 are not within");
  refused(ONE("\"U8\"", "[1]", "[1,0]"), 1, "1 to 0 are not within");
  refused(ONE("\"U8\"", "[2]", "[0,2]"), 1, "0 to 2 are not within the file's 1 bytes");
  refused(ONE("\"U8\"", "[0]", "[9223372036854775807,9223372036854775807]"), 1, "not within");
  refused(ONE("\"F32\"", "[2]", "[0,7]"), 8, "give 7 bytes for 2 elements of F32, which take 8");
  refused(ONE("\"U8\"", "[1]", "[0,0]"), 0, "give 0 bytes");
  refused("{" GOOD("a", 0, 4) "}", 5, "1 bytes follow the data");
  refused("{}", 1, "1 bytes follow the data");
  refused("{" GOOD("a", 0, 4) "," GOOD("b", 5, 9) "}", 9, "tensor 'b': its data begin at offset 5");
  refused("{" GOOD("a", 1, 5) "}", 5, "a gap");
  refused("{" GOOD("b", 0, 4) "," GOOD("a", 3, 7) "}", 7, "they overlap");
  refused("{" GOOD("a", 0, 4) "," GOOD("b", 0, 4) "}", 4, "they overlap");
  refused("{" GOOD("a", 0, 4) ",\"b\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[2,2]}}", 4,
          "unaligned for F32");
  refused("{" GOOD("a", 0, 4) ",\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}", 4,
          "begin at offset");
  accepted("{" GOOD("b", 0, 4) "," GOOD("a", 4, 8) "}", 8);
  accepted("{" GOOD("a", 0, 4) ",\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
           4);
}

Test(safetensors, metadata_that_cannot_be_are_refused) {
  refused("{\"__metadata__\":1}", 0, "__metadata__ is not an object");
  refused("{\"__metadata__\":{\"k\":1}}", 0, "the value of 'k' is not a string");
  refused("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "duplicate");
  accepted("{\"__metadata__\":{}}", 0);
}

Test(safetensors, get_says_what_is_there_and_what_is_wanted) {
  const char *header = ONE("\"F32\"", "[2,3]", "[0,24]");
  size_t n;
  char *bytes = make_file(header, strlen(header), 24, &n);
  safetensors_file f;
  const safetensors_tensor *t;
  must(safetensors_view(bytes, n, "some", &f));
  must(safetensors_get(&f, "a", SAFETENSORS_F32, 2, (int64_t[]){-1, 3}, &t));
  cr_assert_eq(t->shape[0], 2);
  must_fail(safetensors_get(&f, "b", SAFETENSORS_F32, 2, (int64_t[]){2, 3}, &t),
            PHIBAL_ERROR_FORMAT, "some: tensor 'b' is missing");
  cr_assert_null(t);
  must_fail(safetensors_get(&f, "a", SAFETENSORS_I32, 2, (int64_t[]){2, 3}, &t),
            PHIBAL_ERROR_FORMAT, "it is F32, expected I32");
  must_fail(safetensors_get(&f, "a", SAFETENSORS_F32, 1, (int64_t[]){6}, &t), PHIBAL_ERROR_FORMAT,
            "it has 2 dimensions, expected 1");
  must_fail(safetensors_get(&f, "a", SAFETENSORS_F32, 2, (int64_t[]){3, -1}, &t),
            PHIBAL_ERROR_FORMAT, "extent 0 of its shape is 2, expected 3");
  cr_assert_null(t);
  safetensors_close(&f);
  free(bytes);
}

static phibal_status write_one(safetensors_tensor t) {
  return safetensors_write(path, &t, 1, NULL, 0);
}

Test(safetensors, writer_refuses_what_a_reader_would) {
  const safetensors_tensor good = {.name = "a", .data = "x"};
  safetensors_tensor t = good;
  must(write_one(t));
  text_buffer before = {0}, after = {0};
  must(file_read_all(path, &before));
  t.name = "__metadata__";
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "tensor '__metadata__'");
  t.name = "\xff";
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "UTF-8");
  t.name = NULL;
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "without a name");
  t = good, t.dtype = SAFETENSORS_DTYPE_COUNT;
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "no dtype 15");
  t = good, t.dimensions = 9;
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "9 dimensions");
  t = good, t.dimensions = 1, t.shape[0] = -1;
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "extent 0 of its shape, -1");
  t = good, t.data = NULL;
  must_fail(write_one(t), PHIBAL_ERROR_ARGUMENT, "data are null");
  const safetensors_tensor twice[] = {good, {.name = "b", .data = "y"}, good};
  must_fail(safetensors_write(path, twice, 3, NULL, 0), PHIBAL_ERROR_ARGUMENT, "'a': the name is");
  must_fail(safetensors_write(path, &good, 1, (safetensors_entry[]){{"k", ""}, {"k", ""}}, 2),
            PHIBAL_ERROR_ARGUMENT, "the key 'k' is duplicated");
  must_fail(safetensors_write(path, &good, 1, (safetensors_entry[]){{"k", "\xff"}}, 1),
            PHIBAL_ERROR_ARGUMENT, "not UTF-8");
  must(file_read_all(path, &after));
  cr_assert(before.count == after.count && !memcmp(before.bytes, after.bytes, after.count),
            "a refused write must leave the file as it was");
  cr_assert_eq(count_names(folder), 1);
  text_buffer_free(&before);
  text_buffer_free(&after);
}

Test(safetensors, what_cannot_be_opened_is_named) {
  safetensors_file f;
  must_fail(safetensors_open(path, &f), PHIBAL_ERROR_IO, "No such file");
  must_fail(safetensors_open(folder, &f), PHIBAL_ERROR_FORMAT, "not a regular file");
  /* A FIFO that nobody writes to. */
  cr_assert_eq(mkfifo(path, 0600), 0);
  alarm(5);
  must_fail(safetensors_open(path, &f), PHIBAL_ERROR_FORMAT, "not a regular file");
  alarm(0);
  unlink(path);
  put_text(folder, "some.safetensors", "");
  must_fail(safetensors_open(path, &f), PHIBAL_ERROR_FORMAT, "0 bytes: too short");
  char *nowhere = string_format("%s/missing/x", folder);
  must_fail(safetensors_write(nowhere, NULL, 0, NULL, 0), PHIBAL_ERROR_IO, nowhere);
  free(nowhere);
}
