// Launches that are captured instead of run.
#pragma once
#include <functional>

#include "gpu/driver_abi.h"
#include "gpu/memory.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// Whatever `body` puts on a stream. Failures, also those that `body` throws, are thrown (gpu/require.h).
class Graph {
 public:
  Graph(const Stream& stream, const std::function<void()>& body);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  abi::Graph get() const { return graph_; }
  // The share of its edges across which the second kernel may start before the first has ended.
  double early_share() const;

 private:
  abi::Graph graph_ = nullptr;
};

class ExecutableGraph {
 public:
  explicit ExecutableGraph(const Graph& graph);
  ~ExecutableGraph();
  ExecutableGraph(ExecutableGraph&& other) noexcept;
  ExecutableGraph& operator=(ExecutableGraph&&) = delete;
  void replay(const Stream& stream) const;

 private:
  abi::GraphExec graph_ = nullptr;
};

// While it lives, a capture on a stream of this thread does not forbid what is not work of a stream, such as loading a
// kernel. Only where there is a driver.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int before_ = abi::kCaptureModeRelaxed;
};

// Captures what `launch` puts on a stream and throws it away: the driver loads the kernel, and a launch it refuses is
// refused here.
Status warm(const std::function<Status(void* stream)>& launch);

}  // namespace warpwright::gpu
