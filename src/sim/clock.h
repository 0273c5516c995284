// Vector clocks. A channel is anything whose progress can be known: a thread (its epochs), a barrier (its completed
// generations), a warpgroup's wgmma groups, a thread's bulk groups. Clocks are shared and immutable once published, and
// joins are remembered, so that the 32 lanes of a warp that wait on one barrier pay for one join.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace warpwright::simulator {

// cta * kChannelsPerCta + index
using Channel = uint32_t;
inline constexpr uint32_t kChannelBits = 13;
inline constexpr uint32_t kChannelMask = (1u << kChannelBits) - 1;

struct Stamp {
  Channel channel = 0;
  uint32_t epoch = 0;  // 0: never
};

class Clock {
 public:
  struct Chunk {
    uint32_t cta;
    std::vector<uint32_t> epochs;
  };
  uint32_t id = 0;
  uint32_t refs = 0;
  std::vector<Chunk> chunks;  // sorted by cta

  // Clocks come and go by the hundred thousand, with arrays too long for the heap's quick lists: threads keep some.
  static Clock* take() {
    auto& kept = Kept::of_thread().list;
    if (kept.empty()) return new Clock;
    Clock* c = kept.back();
    kept.pop_back();
    return c;
  }
  static void give_back(Clock* c) {
    auto& kept = Kept::of_thread().list;
    if (kept.size() < 512) {
      kept.push_back(c);
    } else {
      delete c;
    }
  }

  uint32_t at(Channel c) const {
    const uint32_t cta = c >> kChannelBits, i = c & kChannelMask;
    for (const Chunk& k : chunks)
      if (k.cta == cta) return i < k.epochs.size() ? k.epochs[i] : 0;
    return 0;
  }
  void raise(Channel c, uint32_t epoch) {
    auto& e = chunk(c >> kChannelBits).epochs;
    const uint32_t i = c & kChannelMask;
    if (i >= e.size()) e.resize(std::max<size_t>(i + 1, e.size() * 3 / 2));
    e[i] = std::max(e[i], epoch);
  }
  // Joins `other`; channels below `first` are left out (a CTA-scoped release to another CTA publishes no thread's
  // history).
  void join(const Clock& other, uint32_t first = 0) {
    for (const Chunk& o : other.chunks) {
      auto& e = chunk(o.cta).epochs;
      if (e.size() < o.epochs.size()) e.resize(o.epochs.size());
      const uint32_t n = uint32_t(o.epochs.size());
      const uint32_t* src = o.epochs.data();
      uint32_t* dst = e.data();
      for (uint32_t i = first; i < n; ++i) dst[i] = std::max(dst[i], src[i]);
    }
  }
  bool empty() const { return chunks.empty(); }

 private:
  struct Kept {
    std::vector<Clock*> list;
    static Kept& of_thread() {
      static thread_local Kept kept;
      return kept;
    }
    ~Kept() {
      for (Clock* c : list) delete c;
    }
  };

  Chunk& chunk(uint32_t cta) {
    auto it = std::lower_bound(chunks.begin(), chunks.end(), cta, [](const Chunk& k, uint32_t c) { return k.cta < c; });
    if (it == chunks.end() || it->cta != cta) it = chunks.insert(it, Chunk{cta, {}});
    return *it;
  }
};

class ClockRef {
 public:
  ClockRef() = default;
  explicit ClockRef(Clock* c) : c_(c) { add(); }
  ClockRef(const ClockRef& o) : c_(o.c_) { add(); }
  ClockRef(ClockRef&& o) noexcept : c_(std::exchange(o.c_, nullptr)) {}
  ClockRef& operator=(ClockRef o) noexcept {
    std::swap(c_, o.c_);
    return *this;
  }
  ~ClockRef() { drop(c_); }
  const Clock* get() const { return c_; }
  const Clock* operator->() const { return c_; }
  explicit operator bool() const { return c_ != nullptr; }
  uint32_t id() const { return c_ ? c_->id : 0; }
  uint32_t at(Channel ch) const { return c_ ? c_->at(ch) : 0; }

 private:
  void add() {
    if (c_) ++c_->refs;
  }
  static void drop(Clock* c) {
    if (c && --c->refs == 0) Clock::give_back(c);
  }
  Clock* c_ = nullptr;
};

class Clocks {  // makes clocks and remembers recent joins
 public:
  ClockRef join(const ClockRef& a, const ClockRef& b) {
    if (!b || a.id() == b.id()) return a;
    if (!a) return b;
    Entry& e = cache_[slot(a.id(), b.id())];
    if (e.a == a.id() && e.b == b.id()) return e.result;
    Clock* c = copy(a);
    c->join(*b.get());
    e = {a.id(), b.id(), ClockRef(c)};
    return e.result;
  }
  ClockRef raise(const ClockRef& a, Channel ch, uint32_t epoch) {
    if (a.at(ch) >= epoch) return a;
    Raise& e = raised_[slot(a.id(), ch)];
    if (e.a == a.id() && e.channel == ch && e.epoch == epoch) return e.result;
    Clock* c = copy(a);
    c->raise(ch, epoch);
    e = {a.id(), ch, epoch, ClockRef(c)};
    return e.result;
  }
  Clock* copy(const ClockRef& a) {
    Clock* c = Clock::take();
    if (a) {
      c->chunks = a->chunks;
    } else {
      c->chunks.clear();
    }
    c->refs = 0;
    c->id = ++next_id_;
    return c;
  }

 private:
  static constexpr uint32_t kCache = 4096;
  static uint32_t slot(uint32_t a, uint32_t b) {  // all bits count: neighbouring ids are joined one after the other
    return uint32_t((uint64_t(a) << 32 | b) * 0x9e3779b97f4a7c15ull >> 52);
  }
  struct Entry {
    uint32_t a = 0, b = 0;
    ClockRef result;
  };
  struct Raise {
    uint32_t a = 0;
    Channel channel = 0;
    uint32_t epoch = 0;
    ClockRef result;
  };
  uint32_t next_id_ = 0;
  std::array<Entry, kCache> cache_;
  std::array<Raise, kCache> raised_;
};

// What a thread knows, in one view: everything in `base`, and its own accesses up to epoch `own`.
struct View {
  ClockRef base;
  uint32_t own = 0;
  bool knows(Channel self, Stamp s) const { return s.channel == self ? s.epoch <= own : base.at(s.channel) >= s.epoch; }
};

// The views of the memory model, for which one clock per thread is not enough.
enum ViewName : uint8_t {
  kHb,         // generic accesses ordered by synchronisation; completions of asynchronous operations
  kToShared,   // generic accesses made visible to the async proxy for shared::cta ...
  kToCluster,  // ... for shared::cluster
  kToGlobal,   // ... for global memory
  kTcgen,      // tensor-memory accesses ordered by tcgen05 fences
  kControl,    // everything executed before, published or not; for the certificate only
  kViews
};

// What releases accumulate and an acquire takes over.
struct SyncClocks {
  std::array<ClockRef, kViews> view;
};

class SyncBuilder {  // accumulates releases in place
 public:
  void add(int v, const View& from, Channel self, Clocks& clocks, uint32_t first_channel = 0) {
    Clock*& c = clock(v, clocks);
    if (from.base && last_[v] != from.base.id()) {
      c->join(*from.base.get(), first_channel);
      last_[v] = first_channel ? 0 : from.base.id();
    }
    if (from.own && first_channel == 0) c->raise(self, from.own);
  }
  void raise(int v, Channel ch, uint32_t epoch, Clocks& clocks) { clock(v, clocks)->raise(ch, epoch); }
  uint32_t at(int v, Channel ch) const { return raw_[v] ? raw_[v]->at(ch) : 0; }
  void join(const SyncClocks& s, Clocks& clocks) {
    for (int v = 0; v < kViews; ++v)
      if (s.view[v]) clock(v, clocks)->join(*s.view[v].get());
  }
  SyncClocks freeze() {
    SyncClocks s;
    for (int v = 0; v < kViews; ++v) {
      s.view[v] = refs_[v];
      refs_[v] = {};
      raw_[v] = nullptr;
      last_[v] = 0;
    }
    return s;
  }

 private:
  Clock*& clock(int v, Clocks& clocks) {
    if (!raw_[v]) {
      raw_[v] = clocks.copy({});
      refs_[v] = ClockRef(raw_[v]);
    }
    return raw_[v];
  }
  Clock* raw_[kViews] = {};
  ClockRef refs_[kViews];
  uint32_t last_[kViews] = {};
};

}  // namespace warpwright::simulator
