// Calls of the driver at the edges of its rules, most of them wrong. Each is made on its own and leaves nothing behind,
// so that two drivers can be compared by their answers.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace warpwright::recorded {

struct Call {
  std::string name;
  bool accepted = false;      // by the rules that cuda.h states
  std::function<int()> make;  // what the driver answers
};

// Memory, kernels and a stream that the calls use, on the current device, of compute capability 9.0.
class CallFixture;
std::shared_ptr<const CallFixture> make_fixture();
std::vector<Call> calls(const std::shared_ptr<const CallFixture>& fixture);

}  // namespace warpwright::recorded
