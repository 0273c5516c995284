// How the rooms say that a call breaks a rule.
#pragma once
#include <string>
#include <utility>

#include "warpwright/status.h"

namespace warpwright::problem {

// The sentence names the argument, its value and the rule.
inline Status refused(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

}  // namespace warpwright::problem
