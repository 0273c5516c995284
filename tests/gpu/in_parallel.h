// Work that takes the host longer than the GPU.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace warpwright {

// Does `work` with every element of `list`, by as many threads as there are processors.
template <class List, class Work>
void in_parallel(const List& list, Work work) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < list.size();) work(list[i]);
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace warpwright
