/* How attention_cudnn.cu calls cuDNN and what its graphs mean. cuDNN is played here: it keeps what
   it is given, looks whether calls are in order, and computes the graph operation by operation, so
   that attention by it is held to the bound of attention_judged.h. */
#include "verify/attention_judged.h"
#include "kernels/cuda/attention_library.h"
#include "cuda_device.h"
#include <algorithm>
#include <cudnn.h>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace {
struct attribute {
  cudnnBackendAttributeType_t type;
  std::vector<int64_t> numbers;
  std::vector<void *> pointers;
};
} // namespace

struct fake_descriptor {
  cudnnBackendDescriptorType_t type;
  bool finished;
  std::map<int, attribute> attributes;
  size_t engine; /* of a configuration */
  fake_descriptor *graph;
};
struct fake_cudnn {
  int unused;
};

namespace {

constexpr int64_t OWN_WORKSPACE = 1000;

struct engine {
  bool nondeterministic, fails;
};

struct play {
  size_t version = 91900;
  int major = 9;
  std::vector<engine> engines = {{false, false}};
  int fail_at = -1; /* the call that fails */
  int calls = 0, live = 0, handles = 0, misused = 0, executed = 0;
  size_t taken = 0;
  std::set<int> wide_accumulators; /* real binary32 tensors with rows of more than one number */
} now;

fake_cudnn the_handle;

cudnnStatus_t next() {
  return now.calls++ == now.fail_at ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
    return 1;
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default:
    return 4;
  }
}

/* What an attribute is made of, by its name. */
cudnnBackendAttributeType_t type_of(int name) {
  switch (name) {
  case CUDNN_ATTR_TENSOR_DATA_TYPE:
  case CUDNN_ATTR_MATMUL_COMP_TYPE:
  case CUDNN_ATTR_POINTWISE_MATH_PREC:
  case CUDNN_ATTR_REDUCTION_COMP_TYPE:
    return CUDNN_TYPE_DATA_TYPE;
  case CUDNN_ATTR_TENSOR_DIMENSIONS:
  case CUDNN_ATTR_TENSOR_STRIDES:
  case CUDNN_ATTR_TENSOR_UNIQUE_ID:
  case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
  case CUDNN_ATTR_POINTWISE_AXIS:
  case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
    return CUDNN_TYPE_INT64;
  case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
  case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
    return CUDNN_TYPE_BOOLEAN;
  case CUDNN_ATTR_POINTWISE_MODE:
    return CUDNN_TYPE_POINTWISE_MODE;
  case CUDNN_ATTR_REDUCTION_OPERATOR:
    return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
  case CUDNN_ATTR_ENGINEHEUR_MODE:
    return CUDNN_TYPE_HEUR_MODE;
  case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
  case CUDNN_ATTR_EXECUTION_PLAN_HANDLE:
    return CUDNN_TYPE_HANDLE;
  case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
  case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
    return CUDNN_TYPE_VOID_PTR;
  default:
    return CUDNN_TYPE_BACKEND_DESCRIPTOR;
  }
}

int64_t number(const fake_descriptor *d, int name, int64_t fallback = -1) {
  const auto found = d->attributes.find(name);
  return found == d->attributes.end() ? fallback : found->second.numbers.at(0);
}

fake_descriptor *part(const fake_descriptor *d, int name) {
  const auto found = d->attributes.find(name);
  return found == d->attributes.end() ? nullptr : (fake_descriptor *)found->second.pointers.at(0);
}

typedef std::vector<double> values; /* of four dimensions, the last innermost */

float to_half(double x) {
  const uint32_t u = core_bits32((float)x);
  return wide((uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16));
}

/* One run of a graph. */
struct machine {
  std::map<int64_t, void *> memory;
  std::map<int64_t, values> made;
  std::set<int64_t> used;

  static const int64_t *dims(const fake_descriptor *t) {
    return t->attributes.at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers.data();
  }
  static const int64_t *strides(const fake_descriptor *t) {
    return t->attributes.at(CUDNN_ATTR_TENSOR_STRIDES).numbers.data();
  }
  static int64_t id(const fake_descriptor *t) {
    return number(t, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  }
  static int64_t size(const fake_descriptor *t) {
    return dims(t)[0] * dims(t)[1] * dims(t)[2] * dims(t)[3];
  }
  static bool real(const fake_descriptor *t) {
    return !number(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0);
  }
  /* Calls f(i, index, place): number in order, four indices, and where strides put it. */
  static void each(const fake_descriptor *t,
                   const std::function<void(int64_t, const int64_t *, int64_t)> &f) {
    const int64_t *d = dims(t), *s = strides(t);
    int64_t n = 0, i[4];
    for (i[0] = 0; i[0] < d[0]; i[0]++)
      for (i[1] = 0; i[1] < d[1]; i[1]++)
        for (i[2] = 0; i[2] < d[2]; i[2]++)
          for (i[3] = 0; i[3] < d[3]; i[3]++)
            f(n++, i, i[0] * s[0] + i[1] * s[1] + i[2] * s[2] + i[3] * s[3]);
  }

  values read(const fake_descriptor *t) {
    if (!real(t)) {
      cr_assert(made.count(id(t)), "tensor %d is read before it is made", (int)id(t));
      return made[id(t)];
    }
    used.insert(id(t));
    cr_assert(memory.count(id(t)), "no memory for tensor %d", (int)id(t));
    const void *p = memory[id(t)];
    values x((size_t)size(t));
    const bool half = number(t, CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_BFLOAT16;
    each(t, [&](int64_t n, const int64_t *, int64_t at) {
      x[(size_t)n] =
          half ? (double)wide(((const uint16_t *)p)[at]) : (double)((const float *)p)[at];
    });
    return x;
  }

  void write(const fake_descriptor *t, values x) {
    cr_assert_eq((int64_t)x.size(), size(t));
    const int64_t type = number(t, CUDNN_ATTR_TENSOR_DATA_TYPE);
    for (double &v : x) {
      if (type == CUDNN_DATA_FLOAT) v = (double)(float)v;
      if (type == CUDNN_DATA_BFLOAT16) v = (double)to_half(v);
    }
    if (!real(t)) {
      made[id(t)] = x;
      return;
    }
    used.insert(id(t));
    if (type == CUDNN_DATA_FLOAT && dims(t)[3] > 1) now.wide_accumulators.insert((int)id(t));
    void *p = memory.at(id(t));
    each(t, [&](int64_t n, const int64_t *, int64_t at) {
      if (type == CUDNN_DATA_FLOAT)
        ((float *)p)[at] = (float)x[(size_t)n];
      else
        ((uint16_t *)p)[at] = (uint16_t)(core_bits32((float)x[(size_t)n]) >> 16);
    });
  }

  void multiply(const fake_descriptor *op) {
    const fake_descriptor *a = part(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const fake_descriptor *b = part(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    const fake_descriptor *c = part(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    const values x = read(a), y = read(b);
    cr_assert_eq(number(a, CUDNN_ATTR_TENSOR_DATA_TYPE), number(b, CUDNN_ATTR_TENSOR_DATA_TYPE),
                 "factors of two types");
    values z((size_t)size(c));
    const int64_t *da = dims(a), *db = dims(b), *dc = dims(c);
    cr_assert(da[3] == db[2] && dc[2] == da[2] && dc[3] == db[3] && da[1] == dc[1] &&
              da[1] % db[1] == 0 && da[0] == db[0] && da[0] == dc[0]);
    each(c, [&](int64_t n, const int64_t *i, int64_t) {
      const int64_t head = i[1] / (da[1] / db[1]);
      for (int64_t k = 0; k < da[3]; k++)
        z[(size_t)n] += x[(size_t)(((i[0] * da[1] + i[1]) * da[2] + i[2]) * da[3] + k)] *
                        y[(size_t)(((i[0] * db[1] + head) * db[2] + k) * db[3] + i[3])];
    });
    write(c, z);
  }

  void elementwise(const fake_descriptor *op) {
    const fake_descriptor *how = part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const fake_descriptor *t[4] = {part(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                                   part(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
                                   part(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC),
                                   part(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
    values in[3], y((size_t)size(t[3]));
    for (int j = 0; j < 3; j++)
      if (t[j]) in[j] = read(t[j]);
    const int64_t mode = number(how, CUDNN_ATTR_POINTWISE_MODE);
    const int64_t axis = number(how, CUDNN_ATTR_POINTWISE_AXIS);
    each(t[3], [&](int64_t n, const int64_t *i, int64_t) {
      double v[3] = {0, 0, 0};
      for (int j = 0; j < 3; j++) {
        if (!t[j]) continue;
        int64_t at = 0;
        for (int k = 0; k < 4; k++) {
          const int64_t d = dims(t[j])[k];
          cr_assert(d == 1 || d == dims(t[3])[k]);
          at = at * d + (d == 1 ? 0 : i[k]);
        }
        v[j] = in[j][(size_t)at];
      }
      double &to = y[(size_t)n];
      switch (mode) {
      case CUDNN_POINTWISE_ADD:
        to = v[0] + v[1];
        break;
      case CUDNN_POINTWISE_SUB:
        to = v[0] - v[1];
        break;
      case CUDNN_POINTWISE_MUL:
        to = v[0] * v[1];
        break;
      case CUDNN_POINTWISE_DIV:
        to = v[0] / v[1];
        break;
      case CUDNN_POINTWISE_EXP:
        to = std::exp(v[0]);
        break;
      case CUDNN_POINTWISE_LOG:
        to = std::log(v[0]);
        break;
      case CUDNN_POINTWISE_CMP_GE:
        to = v[0] >= v[1];
        break;
      case CUDNN_POINTWISE_GEN_INDEX:
        cr_assert(axis >= 0);
        to = (double)i[axis];
        break;
      default:
        cr_assert(t[2]);
        to = v[2] != 0.0 ? v[0] : v[1];
      }
    });
    write(t[3], y);
  }

  void reduce(const fake_descriptor *op) {
    const fake_descriptor *x = part(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    const fake_descriptor *y = part(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    const bool max = number(part(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC),
                            CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_MAX;
    const values in = read(x);
    values out((size_t)size(y), max ? -1e300 : 0);
    each(x, [&](int64_t n, const int64_t *i, int64_t) {
      int64_t at = 0;
      for (int k = 0; k < 4; k++) {
        const int64_t from = dims(x)[k], to = dims(y)[k];
        cr_assert(from % to == 0);
        at = at * to + i[k] / (from / to);
      }
      double &v = out[(size_t)at];
      v = max ? std::max(v, in[(size_t)n]) : v + in[(size_t)n];
    });
    write(y, out);
  }

  void reshape(const fake_descriptor *op) {
    const fake_descriptor *x = part(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    const fake_descriptor *y = part(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    const values in = read(x);
    std::map<int64_t, double> lies;
    each(x, [&](int64_t n, const int64_t *, int64_t at) { lies[at] = in[(size_t)n]; });
    values out((size_t)size(y));
    each(y, [&](int64_t n, const int64_t *, int64_t at) { out[(size_t)n] = lies.at(at); });
    write(y, out);
  }
};

} // namespace

cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return next() == CUDNN_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = now.major;
  return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t) {
  return "played";
}
size_t cudnnGetVersion() {
  return now.version;
}
const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "not supported" : "bad parameter";
}
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  const cudnnStatus_t status = next();
  if (status == CUDNN_STATUS_SUCCESS) *handle = &the_handle, now.handles++;
  return status;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) {
  now.handles--;
  if (now.live > 0) now.misused++;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
  return next();
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor) {
  const cudnnStatus_t status = next();
  if (status != CUDNN_STATUS_SUCCESS) return status;
  *descriptor = new fake_descriptor{type, false, {}, 0, nullptr};
  now.live++;
  return status;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor) now.live--;
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *data) {
  const cudnnStatus_t status = next();
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!d || d->finished || name / 16 != (int)d->type || type != type_of(name)) now.misused++;
  attribute a = {type, {}, {}};
  for (int64_t i = 0; i < count; i++) {
    const char *p = (const char *)data + (size_t)i * size_of(type);
    int64_t n = 0;
    void *pointer = nullptr;
    memcpy(&n, p, size_of(type));
    if (size_of(type) == 8) memcpy(&pointer, p, 8);
    a.numbers.push_back(n);
    a.pointers.push_back(pointer);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR &&
        !(pointer && ((fake_descriptor *)pointer)->finished))
      now.misused++;
  }
  d->attributes[name] = a;
  return status;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  const cudnnStatus_t status = next();
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!d || d->finished) now.misused++;
  if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
      (d->attributes.at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers.size() != 4 ||
       d->attributes.at(CUDNN_ATTR_TENSOR_STRIDES).numbers.size() != 4 ||
       number(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) != 16))
    now.misused++;
  if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const fake_descriptor *config = part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (now.engines[config->engine].fails) return CUDNN_STATUS_NOT_SUPPORTED;
    now.taken = config->engine;
    d->graph = config->graph;
  }
  d->finished = true;
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t most, int64_t *count,
                                       void *data) {
  const cudnnStatus_t status = next();
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!d->finished) now.misused++;
  fake_descriptor **descriptors = (fake_descriptor **)data;
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    *count = (int64_t)now.engines.size();
    for (int64_t i = 0; i < most; i++) {
      descriptors[i]->engine = (size_t)i;
      descriptors[i]->graph = part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      descriptors[i]->finished = true;
    }
    break;
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    descriptors[0]->engine = d->engine;
    descriptors[0]->finished = true;
    *count = 1;
    break;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
    cudnnBackendNumericalNote_t *notes = (cudnnBackendNumericalNote_t *)data;
    *count = 0;
    notes[(*count)++] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (now.engines[d->engine].nondeterministic)
      notes[(*count)++] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    break;
  }
  default:
    *count = 1;
    *(int64_t *)data = OWN_WORKSPACE;
  }
  return status;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const cudnnStatus_t status = next();
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!plan->finished || !pack->finished) now.misused++;
  machine m;
  const attribute &ids = pack->attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const attribute &data = pack->attributes.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.numbers.size(); i++) m.memory[ids.numbers[i]] = data.pointers.at(i);
  void *workspace = part(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const attribute &ops = plan->graph->attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  for (void *p : ops.pointers) {
    const fake_descriptor *op = (const fake_descriptor *)p;
    memset(workspace, 0xff, OWN_WORKSPACE);
    if (op->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) m.multiply(op);
    if (op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) m.elementwise(op);
    if (op->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) m.reduce(op);
    if (op->type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) m.reshape(op);
  }
  cr_expect_eq(m.used.size(), m.memory.size(), "memory for tensors that the graph has not");
  now.executed++;
  return status;
}

namespace {

struct arrays {
  floats qkv, dout;
  halves qkv_half, out, dout_half, dqkv;
  floats logsumexp;
  explicit arrays(const phibal_cuda_attention &s) {
    random_stream r = random_start(81, 0, (uint64_t)(s.sequence + 100 * s.heads));
    const size_t rows = (size_t)s.batch * (size_t)s.sequence, n = (size_t)s.head_width;
    qkv = numbers(&r, rows * n * (size_t)(s.heads + 2 * s.key_value_heads));
    dout = numbers(&r, rows * n * (size_t)s.heads);
    for (floats *x : {&qkv, &dout})
      for (float &v : *x) v = to_half((double)v);
    for (float v : qkv) qkv_half.push_back((uint16_t)(core_bits32(v) >> 16));
    for (float v : dout) dout_half.push_back((uint16_t)(core_bits32(v) >> 16));
    out.assign(dout.size(), 0x7fc0);
    dqkv.assign(qkv.size(), 0x7fc0);
    logsumexp.assign(rows * (size_t)s.heads, NAN);
  }
  phibal_status forward(const phibal_cuda_attention &s, const device &d) {
    return phibal_cuda_attention_forward(&s, qkv_half.data(), out.data(), logsumexp.data(),
                                         &d.call);
  }
  phibal_status backward(const phibal_cuda_attention &s, const device &d) {
    return phibal_cuda_attention_backward(&s, qkv_half.data(), out.data(), logsumexp.data(),
                                          dout_half.data(), dqkv.data(), &d.call);
  }
};

floats widened(const halves &h) {
  floats x(h.size());
  for (size_t i = 0; i < h.size(); i++) x[i] = wide(h[i]);
  return x;
}

/* A call with plans, and with exactly the workspace that these want. */
struct planned : device {
  planned() : device(0) {}
  ~planned() {
    phibal_cuda_attention_destroy(&call);
  }
  phibal_status create(const phibal_cuda_attention &s) {
    const phibal_status status = phibal_cuda_attention_create(&s, &call);
    call.workspace_bytes = phibal_cuda_attention_workspace(&s, &call);
    workspace.assign((call.workspace_bytes + 7) / 8, 0x7ff87ff87ff87ff8u);
    call.workspace = workspace.data();
    return status;
  }
};

void expect_none_left() {
  cr_expect_eq(now.live, 0, "%d descriptors left", now.live);
  cr_expect_eq(now.handles, 0);
  cr_expect_eq(now.misused, 0, "%d misuses", now.misused);
}

void expect(const judged &exact, const floats &got, bool half, const char *what) {
  const int64_t i = exact.first_wrong(got, half);
  cr_assert_lt(i, 0, "%s, element %d: %a and %a, bound %a", what, (int)i,
               (double)got[(size_t)std::max<int64_t>(i, 0)],
               exact.value[(size_t)std::max<int64_t>(i, 0)],
               exact.bound[(size_t)std::max<int64_t>(i, 0)]);
}

void within_bounds(const phibal_cuda_attention &s, bool by_library) {
  now = play();
  {
    planned d;
    OK(d.create(s));
    const char *by = phibal_cuda_attention_by(&s, &d.call);
    cr_expect_eq(strcmp(by, "cuDNN 9.19.0") == 0, by_library, "by %s", by);
    arrays a(s);
    const attention_judged exact(s, a.qkv.data(), a.dout.data(), by_library);
    OK(a.forward(s, d));
    OK(a.backward(s, d));
    expect(exact.out, widened(a.out), true, "attention");
    expect(exact.logsumexp, a.logsumexp, false, "logsumexp");
    expect(exact.gradient, widened(a.dqkv), true, "attention backward");
    cr_expect_eq(now.executed, by_library ? 2 : 0);
    cr_expect(now.wide_accumulators.empty(), "sums in memory that blocks add to");
  }
  expect_none_left();
}

const phibal_cuda_attention usual = {2, 9, 4, 2, 8, PHIBAL_ROWS_BF16, nullptr};

/* Attention with this player: by matrix products, and why. */
void by_products(phibal_cuda_attention s, const char *why) {
  {
    planned d;
    OK(d.create(s));
    const char *by = phibal_cuda_attention_by(&s, &d.call);
    cr_expect(strncmp(by, "matrix products: ", 17) == 0 && strstr(by, why), "by %s, wanted %s", by,
              why);
    arrays a(s);
    if (s.type == PHIBAL_ROWS_BF16) OK(a.forward(s, d));
    cr_expect_eq(now.executed, 0);
  }
  expect_none_left();
}

} // namespace

Test(attention_cudnn, the_graphs_are_attention) {
  within_bounds({1, 1, 1, 1, 8, PHIBAL_ROWS_BF16, nullptr}, true);
  within_bounds(usual, true);
  within_bounds({1, 37, 6, 2, 16, PHIBAL_ROWS_BF16, nullptr}, true);
  within_bounds({3, 12, 3, 3, 24, PHIBAL_ROWS_BF16, nullptr}, true);
  within_bounds({1, 12, 4, 1, 12, PHIBAL_ROWS_BF16, nullptr}, false); /* width 12 */
}

Test(attention_cudnn, without_a_plan_products_go_on) {
  phibal_cuda_attention s = usual;
  now = play();
  now.engines.clear();
  by_products(s, "no deterministic engine for this shape");
  now = play();
  now.engines = {{true, false}, {true, false}};
  by_products(s, "no deterministic engine for this shape");
  now = play();
  now.engines = {{false, true}};
  by_products(s, "the plan: not supported");
  now = play();
  now.version = 91501;
  by_products(s, "older than 9.16");
  now = play();
  now.major = 10;
  by_products(s, "no known deterministic attention");
  now = play();
  now.major = 8;
  s.head_width = 136;
  by_products(s, "the head width is too large");
  now = play();
  s = usual;
  s.type = PHIBAL_ROWS_F32;
  by_products(s, "binary32");
  now = play();
  s = usual;
  const std::vector<int32_t> starts((size_t)(s.batch * s.sequence), 0);
  s.starts = starts.data();
  by_products(s, "documents");
}

Test(attention_cudnn, engines_are_tried_in_order) {
  now = play();
  now.engines = {{true, false}, {false, true}, {false, false}, {false, false}};
  planned d;
  OK(d.create(usual));
  cr_expect_str_eq(phibal_cuda_attention_by(&usual, &d.call), "cuDNN 9.19.0");
  cr_expect_eq(now.taken, 2);
}

Test(attention_cudnn, plans_are_of_their_shapes) {
  now = play();
  phibal_cuda_attention other = usual;
  other.batch = 1;
  planned d;
  OK(d.create(usual));
  OK(d.create(other));
  const int calls = now.calls;
  OK(phibal_cuda_attention_create(&usual, &d.call)); /* again */
  cr_expect_eq(now.calls, calls);
  OK(d.create(usual)); /* the larger workspace */
  arrays a(usual), b(other);
  OK(a.forward(usual, d));
  OK(b.forward(other, d));
  cr_expect_eq(now.executed, 2);
  other.batch = 3;
  cr_expect_str_eq(phibal_cuda_attention_by(&other, &d.call), "matrix products");
  d.call.workspace_bytes--;
  cr_expect_eq(a.forward(usual, d), PHIBAL_ERROR_MEMORY);
  other.heads = 3;
  cr_expect_eq(phibal_cuda_attention_create(&other, &d.call), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_cuda_attention_create(nullptr, &d.call), PHIBAL_ERROR_ARGUMENT);
}

/* Each call of cuDNN's fails once: attention is then by products, or there is an error; nothing
   stays behind. */
Test(attention_cudnn, any_call_may_fail) {
  now = play();
  {
    planned d;
    OK(d.create(usual));
  }
  const int calls = now.calls;
  for (int i = 0; i < calls; i++) {
    now = play();
    now.fail_at = i;
    {
      planned d;
      const phibal_status status = d.create(usual);
      const char *by = phibal_cuda_attention_by(&usual, &d.call);
      cr_expect(status ? status == PHIBAL_ERROR_IO : strncmp(by, "matrix products", 15) == 0,
                "call %d: %d, by %s", i, status, by);
    }
    expect_none_left();
  }
  for (int i = 0; i < 6; i++) {
    now = play();
    {
      planned d;
      OK(d.create(usual));
      arrays a(usual);
      now.fail_at = now.calls + i;
      cr_expect_eq(a.forward(usual, d), PHIBAL_ERROR_IO, "call %d of a run", i);
    }
    expect_none_left();
  }
}

Test(attention_cudnn, arrays_are_aligned) {
  now = play();
  planned d;
  OK(d.create(usual));
  arrays a(usual);
  halves shifted(a.qkv_half.size() + 8);
  uint16_t *p = shifted.data();
  while ((uintptr_t)p % 16 != 2) p++;
  cr_expect_eq(phibal_cuda_attention_forward(&usual, p, a.out.data(), a.logsumexp.data(), &d.call),
               PHIBAL_ERROR_ARGUMENT);
}
