#include <cstdint>
#include <variant>

#include "simulate/instance_problem.h"

namespace warpwright::simulate {
namespace {

reference::Tile tile(const DenseGemmConfig& c) { return {c.tile_m, c.epilogue.pair() ? c.tile_n / 2 : c.tile_n}; }
reference::Tile tile(const SkinnyGemmConfig& c) { return {c.tokens, c.rows}; }
reference::Tile tile(const SkinnyBlockwiseConfig& c) { return {c.tokens, c.rows}; }
reference::Tile tile(const DenseGemmSm100Config& c) {
  const int columns = c.epilogue.pair() ? c.tile_n / 2 : c.tile_n;
  return c.swap_ab ? reference::Tile{columns, c.tile_m} : reference::Tile{c.tile_m, columns};
}
reference::Tile tile(const MmaSyncGemmConfig& c) { return {c.tile_m, c.tile_n}; }
reference::Tile tile(const CdnaMatmulConfig& c) { return {c.tile_m(), c.tile_n()}; }
reference::Tile tile(const RingCopyConfig& c) { return {c.tile_rows, c.tile_columns}; }
reference::Tile tile(const TmemLifecycleConfig& c) { return {c.tile_m, c.tile_n}; }
// The tiles of a group begin with it, wherever that is.
reference::Tile tile(const GroupedGemmConfig& c) {
  return c.groups == Groups::none ? reference::Tile{c.tile_m, c.out_columns()} : reference::Tile{};
}
template <class C>
reference::Tile tile(const C&) {
  return {};
}

}  // namespace

reference::Tile tile_of(const catalog::Instance& instance) {
  return std::visit([](const auto& c) { return tile(c); }, instance.config);
}

}  // namespace warpwright::simulate
