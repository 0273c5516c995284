#include "gpu/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gpu/image.h"
#include "gpu/memory.h"
#include "gpu/own_kernels.h"
#include "gpu/require.h"

namespace warpwright::gpu {
namespace {

Status judge(const VerifyArgs& args, const VerifyFound& found) {
  if (found.checked != uint64_t(args.compared())) {
    return Status(Code::failed, fmt::format("the comparison did not run: {} of {} elements were looked at.",
                                            found.checked, args.compared()));
  }
  if (found.wrong == 0) return {};
  const auto first = int64_t(found.first);
  return Status(Code::failed,
                fmt::format("{} of {} elements of the result that were compared are wrong; the first is row {}, column "
                            "{} of matrix {}: {} instead of {}.",
                            found.wrong, args.compared(), first / args.n % args.m, first % args.n,
                            first / args.n / args.m, found.got, found.expected));
}

}  // namespace

bool verifies() {
  const char* const value = std::getenv("WARPWRIGHT_VERIFY");
  const std::string text = value == nullptr ? "" : value;
  return !text.empty() && text != "0" && text != "off";
}

Status verify(VerifyArgs args, void* stream) try {
  static const std::string entries[] = {"verify_product", "verify_first"};
  const auto kernels = own_kernels("verify", entries);
  if (!kernels) return kernels.status();
  synchronize(static_cast<abi::Stream>(stream), "the kernel");
  const DeviceMemory memory(sizeof(VerifyFound));
  VerifyFound found;
  copy_to_device(memory.data(), &found, sizeof found);
  args.found = reinterpret_cast<VerifyFound*>(memory.data());
  void* list[] = {&args};
  constexpr unsigned threads = 256;
  const auto blocks = unsigned(std::clamp<int64_t>((args.compared() + threads - 1) / threads, 1, 1 << 16));
  if (Status s = launch((**kernels)[0], {blocks}, threads, 0, list, stream); !s) return s;
  if (Status s = launch((**kernels)[1], {1}, 32, 0, list, stream); !s) return s;
  synchronize(static_cast<abi::Stream>(stream), "the comparison");
  copy_to_host(&found, memory.data(), sizeof found);
  return judge(args, found);
} catch (const Failure& failure) {
  return Status(Code::failed, std::string("the comparison failed: ") + failure.what());
}

}  // namespace warpwright::gpu
