/* Plugins that do one thing wrong, MISUSE, or none (0); tensors are in memory that only upload and
   download can read: every byte is stored with its bits turned. */
#include <phibal/plugin.h>
#include <stdlib.h>

enum {
  FINE,
  BEYOND_THE_END,
  BEFORE_THE_START,
  INPUT_CHANGED,
  WRONG_TYPE,
  NO_SUCH_PARAMETER,
  REFUSED,
  OTHER_VERSION,
  UNKNOWN_OPERATION,
  UNKNOWN_OUTPUT,
  NO_DOWNLOAD,
  DOWNLOAD_FAILS,
  NO_MEMORY,
  NOTHING_WRITTEN,
  LEFT_OUT,
  EXITS,
};

static void turn(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)to)[i] = (unsigned char)~((const unsigned char *)from)[i];
}

static int64_t get_count(const int64_t *device, int64_t i) {
  int64_t x;
  turn(&x, device + i, sizeof x);
  return x;
}

static float get_bias(const float *device, int64_t i) {
  float x;
  turn(&x, device + i, sizeof x);
  return x;
}

static void put(float *device, int64_t i, float x) {
  turn(device + i, &x, sizeof x);
}

static int loss_free(phibal_plugin_case *c) {
  int64_t E = phibal_plugin_extent(c, "counts", 0), total = 0;
  const int64_t *count = phibal_plugin_input(c, "counts", PHIBAL_PLUGIN_I64);
  const float *bias = phibal_plugin_input(c, "bias", PHIBAL_PLUGIN_F32);
  float *next = phibal_plugin_output(c, "bias", PHIBAL_PLUGIN_F32);
  float rate = (float)phibal_plugin_real(c, MISUSE == NO_SUCH_PARAMETER ? "eta" : "rate");
  if (MISUSE == WRONG_TYPE) next = phibal_plugin_output(c, "bias", PHIBAL_PLUGIN_F64);
  if (c->misuse[0]) return 0; /* the caller must see it all the same */
  if (MISUSE == NOTHING_WRITTEN) return 0;
  for (int64_t e = 0; e < E; e++) total += get_count(count, e);
  for (int64_t e = 0; e < E; e++) {
    int64_t share = get_count(count, e) * E;
    float b = get_bias(bias, e);
    put(next, e, share < total ? b + rate : share > total ? b - rate : b);
  }
  if (MISUSE == BEYOND_THE_END) put(next, E, 1);
  if (MISUSE == BEFORE_THE_START) put(next, -1, 1);
  if (MISUSE == INPUT_CHANGED) put((float *)bias, E - 1, 12345);
  if (MISUSE == EXITS) exit(0);
  if (MISUSE == REFUSED) strcpy(c->message, "not today");
  return MISUSE == REFUSED ? 7 : 0;
}

/* Leaves everything out, and so must not pass. */
static int router_forward(phibal_plugin_case *c) {
  (void)c;
  return 0;
}

static void *allocate(size_t bytes) {
  return MISUSE == NO_MEMORY ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void release(void *memory) {
  free(memory);
}

static int upload(void *device, const void *host, size_t bytes) {
  turn(device, host, bytes);
  return 0;
}

static int download(void *host, const void *device, size_t bytes) {
  turn(host, device, bytes);
  return MISUSE == DOWNLOAD_FAILS;
}

static const phibal_plugin_operation operations[] = {
    {MISUSE == UNKNOWN_OPERATION ? "loss-fre" : "loss-free", loss_free,
     MISUSE == UNKNOWN_OUTPUT ? "biases" : NULL},
    {MISUSE == LEFT_OUT ? "router-forward" : NULL, router_forward,
     "gates experts probabilities logsumexp tokens counts loads frequencies"},
    {NULL, NULL, NULL},
};

static const phibal_plugin plugin = {
    .version = PHIBAL_PLUGIN_VERSION + (MISUSE == OTHER_VERSION),
    .name = "misuse",
    .operations = operations,
    .device = "turned bits",
    .allocate = allocate,
    .release = release,
    .upload = upload,
    .download = MISUSE == NO_DOWNLOAD ? NULL : download,
};

const phibal_plugin *phibal_plugin_get(void) {
  return &plugin;
}
