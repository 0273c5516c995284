// What the names of bars mean, in a sentence for the page.
#pragma once
#include <string>

#include "timeline/model.h"

namespace warpwright::timeline {

// Empty where the name says it all.
std::string meaning_of(const TimelineBar& bar);

}  // namespace warpwright::timeline
