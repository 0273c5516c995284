// Plans that are launched back to back on one stream, beside a second one whose kernels take some SMs away for a while,
// and which multiplies too.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "gpu/device_check.h"
#include "gpu/watchdog.h"
#include "measure/gpu_memory.h"

namespace warpwright::gpu_random {

struct BusyStream {
  int64_t held = 0, multiplied = 0, checked = 0;

  // A Work has `placed`, `plan` and `launches`, and is prepared on `stream`.
  template <class Work, class Random>
  void launch(const std::vector<std::unique_ptr<Work>>& work, const std::vector<std::unique_ptr<Work>>& beside,
              int64_t launches, const gpu::Stream& stream, const gpu::Stream& busy, Random& random) {
    const auto one = [&](const std::vector<std::unique_ptr<Work>>& from, const gpu::Stream& on) {
      Work& w = *from[random() % from.size()];
      ++w.launches;
      return w.plan.run(w.placed.pointers(), on.get());
    };
    const auto check = [&](const Work& w) {
      const auto complaint = w.placed.complaint(w.placed.check(stream.get()));
      EXPECT_FALSE(complaint) << *complaint;
      ++checked;
    };
    {
      const Watchdog watchdog("the launches beside a busy stream", std::chrono::seconds(60 + launches / 100));
      for (int64_t i = 0; i < launches; ++i) {
        const Status s = one(work, stream);
        ASSERT_TRUE(s) << s.message();
        if (i % 4 == 0) {
          device_check::hold_multiprocessors(1 + int(random() % 132), 20'000 + random() % 200'000, busy.get());
          ++held;
        }
        if (i % 3 == 0) {
          const Status b = one(beside, busy);
          ASSERT_TRUE(b) << b.message();
          ++multiplied;
        }
        if (i % 500 == 499) {
          // While the other stream goes on.
          const Work& w = *work[random() % work.size()];
          if (w.launches == 0) continue;
          check(w);
          w.placed.prepare(stream.get());
          const Status again = w.plan.run(w.placed.pointers(), stream.get());
          ASSERT_TRUE(again) << again.message();
        }
      }
      stream.synchronize();
      busy.synchronize();
    }
    for (const auto* const all : {&work, &beside}) {
      for (const auto& w : *all) {
        if (w->launches > 0) check(*w);
      }
    }
  }
};

}  // namespace warpwright::gpu_random
