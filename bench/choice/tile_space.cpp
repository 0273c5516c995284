// Prints the tiles that may be compiled when a product is first asked for (src/choice/space.h), a plan name in a line:
// what candidates.py takes the plans from that are worth timing. `ninja tile_space && bin/tile_space`.
#include "choice/space.h"

#include <cstdio>

#include "catalog/instance.h"

int main() {
  using namespace warpwright;
  for (const choice::TileRow& row : choice::tile_space()) {
    for (const DenseGemmConfig& config : row.configs) {
      if (config.stages > 0) std::puts(catalog::plan_name({config}).c_str());
    }
  }
}
