// Work that is divided among the cores of this machine.
#pragma once
#include <cstddef>
#include <functional>

namespace warpwright::system {

// Calls work(0) to work(count - 1), each once, in this order as threads become free. What one of them throws ends the
// others after their current piece and is thrown. `threads` 0: one for each core.
void on_cores(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace warpwright::system
