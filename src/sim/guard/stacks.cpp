#include "stacks.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

namespace warpwright::simulator {
namespace {

#if defined(WW_ASAN_FIBERS)
constexpr size_t kThreadStack = 256 * 1024;
#else
constexpr size_t kThreadStack = 64 * 1024;
#endif
constexpr size_t kStackPage = 4096;
// Beside the stack: the page before which it ends, and one within which its beginning moves. Stacks that all began at
// the same place in their pages would share few sets of the caches.
constexpr size_t kThreadRoom = kStackPage + kThreadStack + kStackPage;
constexpr size_t kStackStep = 5 * 64;
constexpr size_t kStacksAtOnce = 64;  // stacks
// Each guarded page cuts a mapping in two, and a process may have some 65000 of them.
constexpr int kMostGuardPages = 16'000;

thread_local std::vector<void*> free_stacks;  // where stacks begin, at their upper ends

void map_more() {
  void* const memory = mmap(nullptr, kStacksAtOnce * kThreadRoom, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  static std::atomic<int> guards = 0;
  for (size_t i = 0; i < kStacksAtOnce; ++i) {
    char* const room = static_cast<char*>(memory) + i * kThreadRoom;
    if (guards.fetch_add(1) < kMostGuardPages) (void)mprotect(room, kStackPage, PROT_NONE);
    free_stacks.push_back(room + kThreadRoom - i * kStackStep % kStackPage);
  }
}

}  // namespace

boost::context::stack_context Stacks::allocate() {
  if (free_stacks.empty()) map_more();
  boost::context::stack_context stack;
  stack.sp = free_stacks.back();
  stack.size = kThreadStack;
  free_stacks.pop_back();
  return stack;
}
void Stacks::deallocate(boost::context::stack_context& stack) noexcept { free_stacks.push_back(stack.sp); }

}  // namespace warpwright::simulator
