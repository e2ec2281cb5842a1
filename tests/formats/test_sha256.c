/* SHA-256: the examples of FIPS 180-2 and of NIST's validation program, in pieces of any size. */
#include "formats/sha256.h"
#include <criterion/criterion.h>
#include <string.h>

static void expect(const void *data, size_t bytes, size_t piece, const char *wanted) {
  sha256 h;
  char text[SHA256_TEXT];
  sha256_begin(&h);
  for (size_t at = 0; at < bytes; at += piece)
    sha256_add(&h, (const char *)data + at, bytes - at < piece ? bytes - at : piece);
  sha256_end(&h, text);
  cr_expect_str_eq(text, wanted, "%zu bytes by %zu: %s", bytes, piece, text);
}

Test(sha256, examples) {
  static char million[1000000], zeros[200];
  static const char *const long_one = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  memset(million, 'a', sizeof million);
  for (size_t piece = 1; piece <= 130; piece += 43) {
    expect("", 0, piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, piece, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(long_one, 56, piece, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect(million, sizeof million, piece,
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    /* Where the padding begins a block of its own, and does not. */
    expect(zeros, 55, piece, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    expect(zeros, 56, piece, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    expect(zeros, 57, piece, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
    expect(zeros, 64, piece, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
  }
}
