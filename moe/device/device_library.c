/* Opens the library of the kernels. */
#include "device_internal.h"

#include "kernels/cuda/find.h"

#include <dlfcn.h>

phibal_status device_library_open(const char *kind, device_library *l) {
  const bool host = strcmp(kind, "host-cuda") == 0;
  if (!host && strcmp(kind, "cuda") != 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "no device '%s'; there are cpu, cuda and host-cuda", kind);
  char path[4300];
  phibal_status status = cuda_find(!host, path, sizeof path);
  if (status) return status;
  *l = (device_library){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (!l->handle) return phibal_status_set(PHIBAL_ERROR_IO, "%s", dlerror());
  const struct {
    const char *name;
    void *place;
  } functions[] = {
#define DEVICE_FUNCTION(name) {"phibal_cuda_" #name, &l->name},
      DEVICE_FUNCTIONS(DEVICE_FUNCTION)
#undef DEVICE_FUNCTION
          {"phibal_status_message", &l->message}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *found = dlsym(l->handle, functions[i].name);
    if (!found) {
      status = phibal_status_set(PHIBAL_ERROR_IO, "%s has no %s: it is of another version", path,
                                 functions[i].name);
      device_library_close(l);
      return status;
    }
    memcpy(functions[i].place, &found, sizeof found);
  }
  return PHIBAL_OK;
}

const char *device_nccl(void) {
  return cuda_nccl();
}

const char *device_cudnn(void) {
  return cuda_cudnn();
}

void device_library_close(device_library *l) {
  if (l->handle) dlclose(l->handle);
  *l = (device_library){0};
}
