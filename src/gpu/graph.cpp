#include "gpu/graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "gpu/driver.h"
#include "gpu/require.h"

namespace warpwright::gpu {

Graph::Graph(const Stream& stream, const std::function<void()>& body) {
  require(driver().begin_capture(stream.get(), abi::kCaptureModeThreadLocal), "the start of a capture");
  try {
    body();
  } catch (...) {
    // The stream must not stay in capture: its owner may use it again.
    (void)driver().end_capture(stream.get(), &graph_);
    if (graph_ != nullptr) (void)driver().graph_destroy(graph_);
    throw;
  }
  require(driver().end_capture(stream.get(), &graph_), "the end of a capture");
}
Graph::~Graph() { (void)driver().graph_destroy(graph_); }

double Graph::early_share() const {
  size_t count = 0;
  require(driver().graph_edges(graph_, nullptr, nullptr, nullptr, &count), "reading the edges of a graph");
  if (count == 0) return 0;
  std::vector<abi::GraphNode> from(count), to(count);
  std::vector<abi::GraphEdge> edges(count);
  require(driver().graph_edges(graph_, from.data(), to.data(), edges.data(), &count), "reading the edges of a graph");
  const auto early = std::count_if(edges.begin(), edges.end(),
                                   [](const abi::GraphEdge& edge) { return edge.type == abi::kEdgeProgrammatic; });
  return double(early) / double(count);
}

ExecutableGraph::ExecutableGraph(const Graph& graph) {
  require(driver().graph_instantiate(&graph_, graph.get(), 0), "making a graph executable");
}
ExecutableGraph::~ExecutableGraph() {
  if (graph_ != nullptr) (void)driver().graph_exec_destroy(graph_);
}
ExecutableGraph::ExecutableGraph(ExecutableGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
void ExecutableGraph::replay(const Stream& stream) const {
  require(driver().graph_launch(graph_, stream.get()), "the launch of a graph");
}

RelaxedCapture::RelaxedCapture() { (void)driver().exchange_capture_mode(&before_); }
RelaxedCapture::~RelaxedCapture() { (void)driver().exchange_capture_mode(&before_); }

Status warm(const std::function<Status(void* stream)>& launch) {
  if (const auto device = current_device(); !device) return device.status();
  const abi::Functions& cu = driver();
  abi::Stream stream = nullptr;
  if (const abi::Result r = cu.stream_create(&stream, abi::kStreamNonBlocking); r != abi::kSuccess) {
    return failure(r, "making a stream");
  }
  // Relaxed: loading a kernel is among the calls that the other modes forbid.
  Status status = status_of(cu.begin_capture(stream, abi::kCaptureModeRelaxed), "the start of a capture");
  if (status.ok()) {
    status = launch(stream);
    abi::Graph graph = nullptr;
    const Status end = status_of(cu.end_capture(stream, &graph), "the end of a capture");
    if (status.ok()) status = end;
    if (graph != nullptr) (void)cu.graph_destroy(graph);
  }
  (void)cu.stream_destroy(stream);
  return status;
}

}  // namespace warpwright::gpu
