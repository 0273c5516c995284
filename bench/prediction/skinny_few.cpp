#include "prediction/instances.h"

namespace warpwright::prediction {

void add_skinny_few_tokens(std::vector<Instance>& list) {
  list.push_back(skinny<deepest({.rows = 64, .tokens = 8, .split = 1})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 8, .split = 2})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 8, .split = 3})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 8, .split = 8})>());
  list.push_back(skinny<deepest({.rows = 128, .tokens = 8, .split = 1})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 16, .split = 1})>());
  list.push_back(skinny<deepest({.rows = 64, .tokens = 16, .split = 2})>());
  list.push_back(skinny<deepest({.rows = 128, .tokens = 16, .split = 1})>());
}

}  // namespace warpwright::prediction
