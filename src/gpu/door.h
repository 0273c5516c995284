// What both drivers have: memory, streams and events, with one set of signatures. Handles are the driver's own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace warpwright::gpu {

// Every function answers with a code of its driver; 0 is success.
struct Door {
  int (*allocate)(void** memory, size_t bytes);
  int (*free)(void* memory);
  int (*copy_to_device)(void* to, const void* from, size_t bytes);
  int (*copy_to_host)(void* to, const void* from, size_t bytes);
  int (*copy_on_device)(void* to, const void* from, size_t bytes, void* stream);
  int (*set_bytes)(void* to, uint8_t value, size_t bytes, void* stream);
  int (*synchronize)();
  int (*stream_create)(void** stream);
  int (*stream_destroy)(void* stream);
  int (*stream_synchronize)(void* stream);
  int (*stream_is_capturing)(void* stream, int* status);  // 0: it is not
  int (*event_create)(void** event);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_synchronize)(void* event);
  int (*event_elapsed)(float* ms, void* start, void* stop);
  std::string (*error_text)(int code);
};

// The door of maker(). Call it only where there is a device.
const Door& door();

}  // namespace warpwright::gpu
