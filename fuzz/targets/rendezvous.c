/* What a rank is sent, by whom it may be. The first byte says where:

     0  at rank 0, in a gather, the rest of the input as it is
     1  the same at rank 1
     2  at rank 0, in gathers, the rest as messages of a rank that has the key: each a frame as it
        stands, its bytes, and the right code
     3  the same at rank 1
     4  at rank 1 that meets somebody in the place of rank 0
     5  at rank 0 in the meeting: the stranger's bytes, after which rank 1 comes

   Without the key a gather fails with a line; with it it gives what was sent, or a line. A stranger
   neither ends the meeting nor takes a place. */
#include "moe/parallel/rendezvous_internal.h"
#include "target.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

enum { BYTES = 16, SECONDS = 5 };

typedef struct frame {
  uint64_t bytes;
  int32_t rank, silent;
} frame;

typedef struct numbered {
  frame head;
  uint64_t number;
} numbered;

static const unsigned char key[LAUNCHER_KEY_BYTES] = "a secret of this job, of 31 chr";

/* A line for people, from what was sent or not. */
static void require_line(const char *wrong) {
  FUZZ_REQUIRE(*wrong && !strchr(wrong, '\n'), "'%s'", wrong);
}

/* Rank `rank` of two, and the other end of its connection. */
static rendezvous *open_pair(int32_t rank, int *other) {
  int ends[2];
  FUZZ_REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "no sockets");
  rendezvous *r = calloc(1, sizeof *r);
  FUZZ_REQUIRE(r && (r->to = calloc(2, sizeof *r->to)), "out of memory");
  r->rank = rank;
  r->ranks = 2;
  r->seconds = SECONDS;
  r->to[0].socket = r->to[1].socket = -1;
  connection *c = &r->to[rank == 0];
  c->socket = ends[0];
  memcpy(c->key, key, sizeof key);
  *other = ends[1];
  return r;
}

/* What does not fit into the socket's buffer is cut. */
static size_t put(int socket, const void *data, size_t bytes) {
  const ssize_t n = send(socket, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  return n > 0 ? (size_t)n : 0;
}

static void gather_anything(int32_t rank, const uint8_t *data, size_t size) {
  unsigned char own[BYTES] = "own", all[2 * BYTES];
  int other;
  rendezvous *r = open_pair(rank, &other);
  put(other, data, size);
  shutdown(other, SHUT_WR);
  const char *wrong = rendezvous_gather(r, own, BYTES, all);
  FUZZ_REQUIRE(wrong, "a gather without the key");
  require_line(wrong);
  FUZZ_REQUIRE(rendezvous_gather(r, own, BYTES, all), "and again");
  FUZZ_REQUIRE(rendezvous_lost(r), "nothing is lost");
  close(other);
  rendezvous_close(r);
}

static void gather_messages(int32_t rank, const uint8_t *data, size_t size) {
  unsigned char own[BYTES] = "own", all[2 * BYTES];
  int other;
  rendezvous *r = open_pair(rank, &other);
  const size_t whole = rank ? 2 * BYTES : BYTES;
  size_t at = 0;
  for (uint64_t number = 0; at + sizeof(frame) <= size; number++) {
    numbered n = {.number = number};
    unsigned char mac[MAC_BYTES];
    memcpy(&n.head, data + at, sizeof n.head);
    at += sizeof n.head;
    const uint64_t bytes = n.head.bytes == UINT64_MAX ? 0 : n.head.bytes;
    const size_t given = bytes < size - at ? (size_t)bytes : size - at;
    rendezvous_mac(key, rank ? "from rank 0" : "to rank 0", &n, sizeof n, data + at, given, mac);
    put(other, &n.head, sizeof n.head);
    put(other, data + at, given);
    put(other, mac, sizeof mac);
    const bool last = at + given + sizeof(frame) > size;
    if (last) shutdown(other, SHUT_WR);
    /* Rank 0 may hear that the other has ended before it has answered. */
    const char *wrong = rendezvous_gather(r, own, BYTES, all);
    if (wrong) {
      require_line(wrong);
      break;
    }
    FUZZ_REQUIRE(given == whole, "%zu bytes were taken for %zu", given, whole);
    FUZZ_REQUIRE(!memcmp(rank ? all : all + BYTES, data + at, given), "other bytes");
    FUZZ_REQUIRE(rank || !memcmp(all, own, BYTES), "its own are lost");
    at += given;
  }
  const char *lost = rendezvous_lost(r);
  if (lost) require_line(lost);
  close(other);
  rendezvous_close(r);
}

/* A port of this process's own address on the loopback interface. */
static launcher make_launcher(int32_t rank) {
  static int port;
  launcher l = {.rank = rank, .ranks = 2, .local = rank};
  const unsigned process = (unsigned)getpid();
  snprintf(l.host, sizeof l.host, "127.%u.%u.%u", 1 + process / 60000 % 200, process / 250 % 240,
           1 + process % 250);
  memcpy(l.key, key, sizeof key);
  if (!port) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    FUZZ_REQUIRE(inet_pton(AF_INET, l.host, &at.sin_addr) == 1, "%s", l.host);
    FUZZ_REQUIRE(s >= 0 && !bind(s, (void *)&at, bytes), "no port at %s", l.host);
    FUZZ_REQUIRE(!getsockname(s, (void *)&at, &bytes), "no port");
    port = ntohs(at.sin_port);
    close(s);
  }
  l.port = port;
  return l;
}

typedef struct stranger {
  const uint8_t *data;
  size_t size;
  int door; /* -1: it comes to rank 0 */
  phibal_status other;
} stranger;

static void address(const launcher *l, struct sockaddr_in *at) {
  *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)l->port)};
  inet_pton(AF_INET, l->host, &at->sin_addr);
}

/* Ends without waiting: thousands of connections a second would use up the ports. */
static void close_at_once(int socket) {
  const struct linger now = {1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(socket);
}

static void *run_stranger(void *context) {
  stranger *s = context;
  if (s->door >= 0) {
    const int client = accept(s->door, NULL, NULL);
    put(client, s->data, s->size);
    shutdown(client, SHUT_WR);
    char rest[256];
    while (recv(client, rest, sizeof rest, 0) > 0) continue;
    close_at_once(client);
    return NULL;
  }
  const launcher l = make_launcher(1);
  struct sockaddr_in at;
  address(&l, &at);
  int client = -1;
  for (int i = 0; i < 2000 && client < 0; i++) {
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!connect(client, (void *)&at, sizeof at)) break;
    close(client);
    client = -1;
    usleep(500);
  }
  FUZZ_REQUIRE(client >= 0, "rank 0 does not listen");
  put(client, s->data, s->size);
  connection to = {.socket = -1};
  s->other = rendezvous_connect(&l, SECONDS, &to);
  FUZZ_REQUIRE(!s->other, "%s", phibal_status_message());
  close_at_once(client);
  close_at_once(to.socket);
  return NULL;
}

static void connect_stranger(const uint8_t *data, size_t size) {
  const launcher l = make_launcher(1);
  const int yes = 1;
  struct sockaddr_in at;
  address(&l, &at);
  stranger s = {data, size, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), PHIBAL_OK};
  setsockopt(s.door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  FUZZ_REQUIRE(!bind(s.door, (void *)&at, sizeof at) && !listen(s.door, 4), "port %d", l.port);
  pthread_t thread;
  FUZZ_REQUIRE(!pthread_create(&thread, NULL, run_stranger, &s), "no thread");
  connection to = {.socket = -1};
  FUZZ_REQUIRE(rendezvous_connect(&l, SECONDS, &to), "met without the key");
  FUZZ_REQUIRE_MESSAGE();
  if (to.socket >= 0) close_at_once(to.socket);
  pthread_join(thread, NULL);
  close(s.door);
}

static void accept_stranger(const uint8_t *data, size_t size) {
  const launcher l = make_launcher(0);
  stranger s = {data, size, -1, PHIBAL_OK};
  pthread_t thread;
  make_launcher(1);
  FUZZ_REQUIRE(!pthread_create(&thread, NULL, run_stranger, &s), "no thread");
  connection to[2] = {{.socket = -1}, {.socket = -1}};
  FUZZ_REQUIRE(!rendezvous_accept(&l, SECONDS, to), "%s", phibal_status_message());
  pthread_join(thread, NULL);
  close_at_once(to[1].socket);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  switch (data[0] % 6) {
  case 0:
  case 1:
    gather_anything(data[0] % 6, data + 1, size - 1);
    break;
  case 2:
  case 3:
    gather_messages(data[0] % 6 - 2, data + 1, size - 1);
    break;
  case 4:
    connect_stranger(data + 1, size - 1);
    break;
  default:
    accept_stranger(data + 1, size - 1);
  }
  return 0;
}
