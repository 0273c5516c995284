// What a kernel that was compiled with WW_RECORD writes down (core/record.h).
#pragma once
#include "warpwright/core/std.h"

namespace warpwright::record {

enum class Kind : uint8_t {
  none,
  wait_mbarrier,  // object: the barrier; detail: the parity waited for
  wait_named,     // object: the id; 0 is the barrier of the block
  wait_cluster,
  wait_wgmma,     // detail: how many groups may be pending
  wait_bulk,      // detail: how many groups may be pending
  wait_grid,      // the previous kernel on the stream
  arrive,         // object: the barrier; detail: how many lanes arrive together
  arrive_expect,  // the same, and bytes will follow
  arrive_remote,  // object: the barrier; detail: the CTA's rank
  arrive_named,   // object: the id
  arrive_cluster,
  load,            // object: where it goes in shared memory; `end` is the barrier that counts its bytes
  load_multicast,  // the same to every CTA of the cluster
  store,           // object: where it comes from
  commit_wgmma,
  commit_bulk,
};

}  // namespace warpwright::record
