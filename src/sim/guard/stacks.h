// Where the threads of a kernel have their stacks.
#pragma once
#include <boost/context/stack_context.hpp>

namespace warpwright::simulator {

// An allocator as boost's fibers want one: stacks of the calling thread, which keeps those that are free. Behind each
// lies a page that nobody may touch, so that a recursion without an end is stopped there; a process that has very many
// leaves it out.
class Stacks {
 public:
  static boost::context::stack_context allocate();
  static void deallocate(boost::context::stack_context& stack) noexcept;
};

}  // namespace warpwright::simulator
