#include "sha256.h"
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void compress(uint32_t state[8], const uint8_t block[64]) {
  uint32_t w[64], s[8];
  for (int t = 0; t < 16; t++)
    w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
           (uint32_t)block[4 * t + 2] << 8 | (uint32_t)block[4 * t + 3];
  for (int t = 16; t < 64; t++) {
    const uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10) + w[t - 7] +
           (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) + w[t - 16];
  }
  memcpy(s, state, sizeof s);
  /* a is s[0] in the first of eight rounds, s[7] in the second ..: nothing is moved. */
  for (int t = 0; t < 64; t += 8)
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      const uint32_t a = s[-i & 7], b = s[(1 - i) & 7], c = s[(2 - i) & 7];
      const uint32_t e = s[(4 - i) & 7], f = s[(5 - i) & 7], g = s[(6 - i) & 7];
      const uint32_t first = s[(7 - i) & 7] + round_constants[t + i] + w[t + i] +
                             (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                             ((e & f) ^ (~e & g));
      s[(3 - i) & 7] += first;
      s[(7 - i) & 7] = first + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                       ((a & b) ^ (a & c) ^ (b & c));
    }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void sha256_begin(sha256 *h) {
  /* Of the square roots of the first 8 primes. */
  *h = (sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                          0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256 *h, const void *data, size_t bytes) {
  const uint8_t *from = data;
  size_t held = (size_t)(h->bytes % 64);
  h->bytes += bytes;
  while (bytes) {
    if (!held && bytes >= 64) {
      compress(h->state, from);
      from += 64;
      bytes -= 64;
      continue;
    }
    const size_t n = bytes < 64 - held ? bytes : 64 - held;
    memcpy(h->block + held, from, n);
    held = (held + n) % 64;
    from += n;
    bytes -= n;
    if (!held) compress(h->state, h->block);
  }
}

void sha256_end(sha256 *h, char text[SHA256_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  const uint64_t bits = 8 * h->bytes;
  const size_t held = (size_t)(h->bytes % 64), zeros = (held < 56 ? 56 : 120) - held;
  uint8_t end[72] = {0x80};
  for (int i = 0; i < 8; i++) end[zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
  sha256_add(h, end, zeros + 8);
  for (int i = 0; i < 64; i++) text[i] = digits[h->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
  text[64] = 0;
}
