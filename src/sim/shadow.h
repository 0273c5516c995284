// Shadow memory: for every 16 bytes, who wrote last and who has read since. Narrower accesses split a cell into bytes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "clock.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::simulator {

struct Thread;

enum class Proxy : uint8_t { generic, async, tcgen };
// tcgen05 operations of one thread that hardware keeps in issue order. PTX 9.7.16.6.2 lists cp before mma, and mma
// before mma of the same accumulator and shape; cp after mma is taken as ordered too, because the block-scaled kernels
// in the field refill their scale factors that way.
enum class Pipe : uint8_t { none, mma, copy };

// One access, or all accesses of one operation. A thread's access is stamped with its epoch; an asynchronous operation
// is in flight until it completes, then known through any of the completions in `done`.
struct Access {
  const Thread* by = nullptr;
  machine::here at{"", 0};
  const char* word = "";
  Proxy proxy = Proxy::generic;
  Pipe pipe = Pipe::none;
  uint64_t accumulator = 0;  // Pipe::mma: where D is and its shape
  bool atomic = false;
  bool asynchronous = false;
  bool in_flight = false;
  Stamp stamp;
  std::vector<Stamp> done;
};

// Accesses by number. Every check looks one up, so that blocks have a power of two of them.
class AccessLog {
 public:
  AccessLog() { add({}); }
  uint32_t add(Access a) {
    if (size_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<Access[]>(kBlock));
    (*this)[size_] = std::move(a);
    return size_++;
  }
  Access& operator[](uint32_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const Access& operator[](uint32_t i) const { return blocks_[i / kBlock][i % kBlock]; }

 private:
  static constexpr uint32_t kBlock = 256;
  std::vector<std::unique_ptr<Access[]>> blocks_;
  uint32_t size_ = 0;
};

class Shadow {
 public:
  static constexpr uint32_t kGranule = 16;
  void resize(uint64_t bytes) { cells_.assign((bytes + kGranule - 1) / kGranule, {}); }
  bool empty() const { return cells_.empty(); }

  // Calls conflict(prior) for prior accesses that conflict with this one (repetitions left out where cheap),
  // unwritten(offset) for bytes never written before a read, then records `id`.
  template <class Conflict, class Unwritten>
  void access(const AccessLog& log, uint64_t offset, uint64_t bytes, uint32_t id, bool write, Conflict&& conflict,
              Unwritten&& unwritten) {
    uint64_t at = offset;
    const uint64_t end = offset + bytes;
    while (at < end) {
      const uint64_t g = at / kGranule;
      const uint64_t stop = std::min(end, (g + 1) * kGranule);
      if (stop - at == kGranule) {
        whole(log, cells_[g], id, write, conflict, unwritten, at);
      } else {
        part(log, cells_[g], uint32_t(at % kGranule), uint32_t(stop - at), id, write, conflict, unwritten, at);
      }
      at = stop;
    }
  }
  template <class Conflict, class Unwritten>
  void access_cell(const AccessLog& log, uint32_t cell, uint32_t id, bool write, Conflict&& conflict,
                   Unwritten&& unwritten) {
    whole(log, cells_[cell], id, write, conflict, unwritten, cell);
  }
  void forget(uint64_t first_cell, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) cells_[first_cell + i] = {};
  }

 private:
  static constexpr uint32_t kSplit = 0xffff'ffff;
  static constexpr uint32_t kList = 0x8000'0000;
  struct Cell {
    uint32_t writer = 0;
    uint32_t readers = 0;  // 0, an access, or kList | index
  };
  struct Bytes {
    Cell cell[kGranule];
  };

  template <class Conflict, class Unwritten>
  void one(const AccessLog& log, Cell& c, uint32_t id, bool write, Conflict& conflict, Unwritten& unwritten,
           uint64_t at) {
    if (c.writer && c.writer != id) conflict(c.writer);
    if (!write) {
      if (!c.writer) unwritten(at);
      add_reader(log, c, id);
      return;
    }
    if (c.readers) {
      if (c.readers & kList) {
        for (uint32_t r : lists_[c.readers & ~kList])
          if (r != id) conflict(r);
        free_list(c.readers & ~kList);
      } else if (c.readers != id) {
        conflict(c.readers);
      }
      c.readers = 0;
    }
    c.writer = id;
  }
  template <class Conflict, class Unwritten>
  void whole(const AccessLog& log, Cell& c, uint32_t id, bool write, Conflict& conflict, Unwritten& unwritten,
             uint64_t at) {
    if (c.writer != kSplit) return one(log, c, id, write, conflict, unwritten, at);
    Bytes& b = splits_[c.readers];
    for (uint32_t i = 0; i < kGranule; ++i) one(log, b.cell[i], id, write, conflict, unwritten, at + i);
    if (write) {
      free_splits_.push_back(c.readers);
      c = {id, 0};
    }
  }
  template <class Conflict, class Unwritten>
  void part(const AccessLog& log, Cell& c, uint32_t first, uint32_t n, uint32_t id, bool write, Conflict& conflict,
            Unwritten& unwritten, uint64_t at) {
    if (c.writer != kSplit) split(c);
    for (uint32_t i = 0; i < n; ++i)
      one(log, splits_[c.readers].cell[first + i], id, write, conflict, unwritten, at + i);
  }
  void split(Cell& c) {
    uint32_t s;
    if (free_splits_.empty()) {
      s = uint32_t(splits_.size());
      splits_.emplace_back();
    } else {
      s = free_splits_.back();
      free_splits_.pop_back();
    }
    for (uint32_t i = 0; i < kGranule; ++i) {
      Cell& b = splits_[s].cell[i];
      b = c;
      if (c.readers & kList) {
        const uint32_t l = new_list();
        lists_[l] = lists_[c.readers & ~kList];
        b.readers = kList | l;
      }
    }
    if (c.readers & kList) free_list(c.readers & ~kList);
    c = {kSplit, s};
  }
  void add_reader(const AccessLog& log, Cell& c, uint32_t id) {
    if (c.readers == 0 || c.readers == id) {
      c.readers = id;
      return;
    }
    const Access& a = log[id];
    auto replaces = [&](uint32_t r) {
      const Access& o = log[r];
      return r == id || (o.by == a.by && o.proxy == a.proxy && o.asynchronous == a.asynchronous && o.word == a.word);
    };
    if (!(c.readers & kList)) {
      if (replaces(c.readers)) {
        c.readers = id;
        return;
      }
      const uint32_t l = new_list();
      lists_[l] = {c.readers, id};
      c.readers = kList | l;
      return;
    }
    auto& list = lists_[c.readers & ~kList];
    for (uint32_t& r : list)
      if (replaces(r)) {
        r = id;
        return;
      }
    list.push_back(id);
  }
  uint32_t new_list() {
    if (free_lists_.empty()) {
      lists_.emplace_back();
      return uint32_t(lists_.size() - 1);
    }
    const uint32_t l = free_lists_.back();
    free_lists_.pop_back();
    return l;
  }
  void free_list(uint32_t l) {
    lists_[l].clear();
    free_lists_.push_back(l);
  }

  std::vector<Cell> cells_;
  std::deque<Bytes> splits_;
  std::vector<uint32_t> free_splits_;
  std::vector<std::vector<uint32_t>> lists_;
  std::vector<uint32_t> free_lists_;
};

}  // namespace warpwright::simulator
