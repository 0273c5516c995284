// What a rule says of a call.
#pragma once
#include <optional>
#include <string>

namespace recorder {

struct Refusal {
  int code;
  std::string rule;
};
using Verdict = std::optional<Refusal>;  // nothing: accepted

}  // namespace recorder
