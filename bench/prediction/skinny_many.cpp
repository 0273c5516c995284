#include "prediction/instances.h"

namespace warpwright::prediction {

void add_skinny_many_tokens(std::vector<Instance>& list) {
  list.push_back(skinny<deepest({.rows = 64, .tokens = 64, .split = 1})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 64, .split = 2})>());
  list.push_back(skinny<deepest({.rows = 128, .tokens = 64, .split = 1})>());
  list.push_back(skinny<deepest({.rows = 128, .tokens = 64, .split = 2})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 128, .split = 1})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 128, .split = 2})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 128, .split = 4})>());
  list.push_back(skinny<deepest({.rows = 128, .tokens = 128, .split = 4})>());
}

}  // namespace warpwright::prediction
