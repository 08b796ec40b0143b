/* NVIDIA's management library as the monitor calls it: two devices, the second without NVLink. Like the library of
 * driver 580, it looks at one field more than requested, and refuses to go on if that is not the caller's. */
#include <string.h>

struct use {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};
struct field {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  unsigned long long value;
};

static unsigned long long sent = 1000;
static int opened;

int nvmlInit_v2(void) {
  opened = 1;
  return 0;
}
int nvmlShutdown(void) {
  opened = 0;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(index + 1ul);
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, struct use* use) {
  use->gpu = 10 * (unsigned)(long)device;
  return opened ? 0 : 1;
}
int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  memory->total = 1000;
  memory->used = 250;
  return opened ? 0 : 1;
}
int nvmlDeviceGetPcieThroughput(void* device, int which, unsigned* value) {
  *value = 100 * (unsigned)(long)device + (unsigned)which;
  return opened ? 0 : 1;
}
int nvmlDeviceGetFieldValues(void* device, int count, struct field* field) {
  if (field[count].field != 0) return 1;
  for (struct field* each = field; each < field + count; ++each) {
    each->status = device == (void*)1 ? 0 : 3;
    each->value = each->status != 0 ? 0 : each->field == 138 ? sent += 8 : 5;
  }
  return 0;
}
