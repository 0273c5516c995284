// A user's program: includes an installed header and links the installed library.
#include <warpwright/core/std.h>

int main() {
  const warpwright::uint32_t one = 1;
  return one == 1 ? 0 : 1;
}
