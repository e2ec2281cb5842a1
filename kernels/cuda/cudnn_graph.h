/* A graph of cuDNN's operations and the plan that computes it, by the backend's C interface:
   tensors of four dimensions, real ones with a number by which a call names their memory, virtual
   ones between two operations. Nothing here knows attention (attention_cudnn.cu does). The first
   failure is kept, and what follows it does nothing. */
#ifndef PHIBAL_CUDA_CUDNN_GRAPH_H
#define PHIBAL_CUDA_CUDNN_GRAPH_H

#include <cstdio>
#include <cudnn.h>
#include <vector>

namespace cudnn {

struct extents {
  int64_t n[4];
};

struct tensor {
  cudnnBackendDescriptor_t descriptor;
  extents dims, strides;
};

/* Strides of a tensor whose last dimension is the innermost. */
inline extents packed(const extents &d) {
  return {{d.n[1] * d.n[2] * d.n[3], d.n[2] * d.n[3], d.n[3], 1}};
}

/* The last two dimensions changed for each other. */
inline extents turned(const extents &e) {
  return {{e.n[0], e.n[1], e.n[3], e.n[2]}};
}

/* Descriptors live as long as this; a plan needs them to be run. */
class graph {
public:
  explicit graph(cudnnHandle_t handle) : handle_(handle) {}
  graph(const graph &) = delete;
  ~graph() {
    while (!descriptors_.empty()) {
      cudnnBackendDestroyDescriptor(descriptors_.back());
      descriptors_.pop_back();
    }
  }

  tensor real(int64_t number, const extents &dims, const extents &strides, cudnnDataType_t type) {
    return create(number, dims, strides, type, false, false);
  }
  /* One binary32 in the caller's memory. */
  tensor scalar(int64_t number) {
    return create(number, {{1, 1, 1, 1}}, {{1, 1, 1, 1}}, CUDNN_DATA_FLOAT, false, true);
  }
  tensor between(const extents &dims, const extents &strides, cudnnDataType_t type) {
    return create(virtual_++, dims, strides, type, true, false);
  }
  tensor between(const extents &dims, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return between(dims, packed(dims), type);
  }

  /* c = a b, matrices in the last two dimensions; where a has more heads than b, neighbours share
     one. Sums are binary32. */
  void multiply(const tensor &a, const tensor &b, const tensor &c) {
    cudnnBackendDescriptor_t how = open(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    type(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    close(how, "a matrix product");
    cudnnBackendDescriptor_t op = open(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    link(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
    link(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
    link(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor);
    link(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    add(op, "a matrix product");
  }

  /* y = mode(x, b), dimensions of one being repeated; b and t may be null. */
  void each(cudnnPointwiseMode_t mode, const tensor &x, const tensor *b, const tensor *t,
            const tensor &y, cudnnDataType_t computed = CUDNN_DATA_FLOAT, int64_t axis = -1) {
    cudnnBackendDescriptor_t how = open(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    type(how, CUDNN_ATTR_POINTWISE_MATH_PREC, computed);
    if (axis >= 0) set(how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    close(how, "an elementwise operation");
    cudnnBackendDescriptor_t op = open(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    link(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    link(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
    if (b) link(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
    if (t) link(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->descriptor);
    link(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
    add(op, "an elementwise operation");
  }

  /* A virtual result of x's dimensions. */
  tensor each(cudnnPointwiseMode_t mode, const tensor &x, const tensor *b = nullptr) {
    const tensor y = between(x.dims);
    each(mode, x, b, nullptr, y);
    return y;
  }

  /* y = op of x over the dimensions, or the neighbours in them, that y has fewer of. */
  void reduce(cudnnReduceTensorOp_t operation, const tensor &x, const tensor &y) {
    cudnnBackendDescriptor_t how = open(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operation);
    type(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    close(how, "a reduction");
    cudnnBackendDescriptor_t op = open(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    link(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
    link(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor);
    link(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    add(op, "a reduction");
  }

  /* x with its last two dimensions changed for each other, where it lies. */
  tensor turn(const tensor &x, cudnnDataType_t as) {
    const tensor y = between(turned(x.dims), turned(x.strides), as);
    cudnnBackendDescriptor_t op = open(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    link(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
    link(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.descriptor);
    add(op, "a transposition");
    return y;
  }

  /* The first of the heuristic's engines that has no note of being nondeterministic and makes a
     plan. */
  bool plan() {
    cudnnBackendDescriptor_t all = open(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(all, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
    set(all, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        (int64_t)operations_.size(), operations_.data());
    close(all, "the graph");
    cudnnBackendDescriptor_t heuristic = open(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    link(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, all);
    set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    close(heuristic, "the heuristic");
    int64_t found = 0;
    get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &found,
        nullptr);
    std::vector<cudnnBackendDescriptor_t> engines;
    for (int64_t i = 0; i < found && good(); i++)
      engines.push_back(open(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, found, &found,
        engines.data());
    if (!good()) return false;
    fail(CUDNN_STATUS_NOT_SUPPORTED, "no deterministic engine for this shape");
    for (int64_t i = 0; i < found && !good(); i++) try_engine(engines[(size_t)i]);
    return good();
  }

  size_t workspace() const {
    return (size_t)workspace_;
  }

  /* Real tensors' numbers and memory. */
  cudnnStatus_t run(int64_t count, const int64_t *numbers, void *const *memory,
                    void *workspace) const {
    cudnnBackendDescriptor_t pack = nullptr;
    cudnnStatus_t status =
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    status = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                                      count, numbers);
    if (status == CUDNN_STATUS_SUCCESS)
      status = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                        CUDNN_TYPE_VOID_PTR, count, memory);
    if (status == CUDNN_STATUS_SUCCESS)
      status = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                        CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnnBackendFinalize(pack);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnnBackendExecute(handle_, plan_, pack);
    cudnnBackendDestroyDescriptor(pack);
    return status;
  }

  bool good() const {
    return status_ == CUDNN_STATUS_SUCCESS;
  }
  /* What failed first. */
  void reason(char *text, size_t size) const {
    snprintf(text, size, "%s: %s", what_, cudnnGetErrorString(status_));
  }

private:
  cudnnHandle_t handle_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
  const char *what_ = "";
  int64_t virtual_ = 100, workspace_ = 0; /* real tensors have lower numbers */
  cudnnBackendDescriptor_t plan_ = nullptr;
  std::vector<cudnnBackendDescriptor_t> descriptors_, operations_;

  void fail(cudnnStatus_t status, const char *what) {
    if (!good() || status == CUDNN_STATUS_SUCCESS) return;
    status_ = status;
    what_ = what;
  }
  cudnnBackendDescriptor_t open(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t d = nullptr;
    if (!good()) return d;
    fail(cudnnBackendCreateDescriptor(type, &d), "a descriptor");
    if (good()) descriptors_.push_back(d);
    return d;
  }
  void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    if (good()) fail(cudnnBackendSetAttribute(d, name, type, count, values), "an attribute");
  }
  void get(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t most, int64_t *count, void *values) {
    if (good()) fail(cudnnBackendGetAttribute(d, name, type, most, count, values), "an answer");
  }
  void type(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnDataType_t type) {
    set(d, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
  }
  void link(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
            cudnnBackendDescriptor_t to) {
    set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
  }
  void close(cudnnBackendDescriptor_t d, const char *what) {
    if (good()) fail(cudnnBackendFinalize(d), what);
  }
  void add(cudnnBackendDescriptor_t operation, const char *what) {
    close(operation, what);
    operations_.push_back(operation);
  }

  tensor create(int64_t number, const extents &dims, const extents &strides, cudnnDataType_t stored,
                bool is_virtual, bool by_value) {
    const int64_t alignment = 16;
    tensor t = {open(CUDNN_BACKEND_TENSOR_DESCRIPTOR), dims, strides};
    type(t.descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, stored);
    set(t.descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.n);
    set(t.descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.n);
    set(t.descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number);
    set(t.descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (is_virtual)
      set(t.descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    if (by_value)
      set(t.descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    close(t.descriptor, "a tensor");
    return t;
  }

  bool deterministic(cudnnBackendDescriptor_t config) {
    cudnnBackendDescriptor_t engine = open(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t count = 0;
    get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
        CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes);
    for (int64_t i = 0; i < count && good(); i++)
      if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
    return good();
  }

  /* Whether it went well is the graph's state afterwards. */
  void try_engine(cudnnBackendDescriptor_t config) {
    const cudnnStatus_t before = status_;
    const char *what_before = what_;
    int64_t count = 0;
    status_ = CUDNN_STATUS_SUCCESS;
    if (deterministic(config)) {
      plan_ = open(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      set(plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
      link(plan_, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      close(plan_, "the plan");
      get(plan_, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
          &workspace_);
    } else if (good()) {
      status_ = before;
      what_ = what_before;
    }
  }
};

} // namespace cudnn

#endif
