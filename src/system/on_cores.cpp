#include "system/on_cores.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace warpwright::system {

void on_cores(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<std::size_t> next = 0;
  const auto worker = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  const std::size_t cores = threads > 0 ? std::size_t(threads) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(cores, count); ++i) others.emplace_back(worker);
  worker();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace warpwright::system
