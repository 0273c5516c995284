#include "gpu/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpu/image.h"
#include "gpu/maker.h"
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

// The span of a matrix from its first element to its last, copied; the matrix is then in the copy.
std::vector<uint8_t> fetch(VerifyMatrix& v, int64_t rows, int64_t columns, int64_t batches) {
  if (v.data == nullptr || rows == 0 || columns == 0 || batches == 0) return {};
  const int64_t last = (rows - 1) * v.row_step + (columns - 1) * v.column_step + (batches - 1) * v.batch_step;
  std::vector<uint8_t> bytes(size_t((last + 1) * bits(v.type) / 8));
  copy_to_host(bytes.data(), v.data, bytes.size(), "the copy for the comparison");
  v.data = bytes.data();
  return bytes;
}

// All that kernels for AMD have: no bias, no scales, nothing but A, B and D.
Status verify_on_host(VerifyArgs args, void* stream) {
  synchronize(stream, "the kernel");
  // Seconds on a core.
  constexpr int64_t most_products = int64_t(1) << 26;
  const int64_t most = std::max<int64_t>(1, most_products / std::max<int64_t>(1, args.k));
  if (args.compared() > most) args.step = (args.elements() / most + 1) | 1;
  const auto a = fetch(args.a, args.m, args.k, args.batch), b = fetch(args.b, args.n, args.k, args.batch),
             d = fetch(args.d, args.m, args.n, args.batch);
  return judge(args, verifying::compare(args));
}

}  // namespace

bool verifies() {
  const char* const value = std::getenv("WARPWRIGHT_VERIFY");
  const std::string text = value == nullptr ? "" : value;
  return !text.empty() && text != "0" && text != "off";
}

Status verify(VerifyArgs args, void* stream) try {
  if (maker() == Maker::amd) return verify_on_host(args, stream);
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
