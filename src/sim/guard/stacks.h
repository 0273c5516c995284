// The stacks of a kernel's threads.
#pragma once
#include <boost/context/stack_context.hpp>

namespace warpwright::simulator {

// An allocator of the form that boost's fibers expect: stacks of the calling thread, which keeps those that are free.
// Beyond each lies a page that nobody may touch, so that endless recursion is stopped there; a process that has very
// many stacks leaves it out.
class Stacks {
 public:
  static boost::context::stack_context allocate();
  static void deallocate(boost::context::stack_context& stack) noexcept;
};

}  // namespace warpwright::simulator
