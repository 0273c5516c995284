// Texts of a plan for C: they may change once it is measured, and each lives as long as the plan.
#pragma once
#include <list>
#include <mutex>
#include <string>

namespace warpwright::api {

class CTexts {
 public:
  const char* keep(const std::string& text) {
    const std::lock_guard lock(mutex_);
    for (const std::string& kept : texts_) {
      if (kept == text) return kept.c_str();
    }
    return texts_.emplace_back(text).c_str();
  }

 private:
  std::mutex mutex_;
  std::list<std::string> texts_;
};

}  // namespace warpwright::api
