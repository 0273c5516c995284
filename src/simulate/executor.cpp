#include "simulate/executor.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "jit/host_compiler.h"
#include "simulate/dense/shown.h"

namespace warpwright::simulate {
namespace {

std::function<void(const std::string&)>& listener() {
  static std::function<void(const std::string&)> one;
  return one;
}

Result<const simulator::Instance*> compiled(const catalog::Instance& instance, const std::string& name) {
  if (Status s = catalog::check_formula(instance); !s) return s;
  const auto object = jit::obtain_shared_object(catalog::source_of(instance), [&] {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    if (listener()) listener()(name);
  });
  if (!object) {
    const Status why = object.status();
    return Status(why.code(), fmt::format("{} is not compiled into this program: {}", name, why.message()));
  }
  const auto opened = jit::open_shared_object(object->bytes, name);
  if (!opened) return opened.status();
  const auto entry = reinterpret_cast<const simulator::Instance* (*)()>(::dlsym(*opened, "warpwright_instance"));
  if (entry == nullptr) return Status(Code::failed, fmt::format("{} cannot be loaded: it has no entry.", name));
  return entry();
}

const BuiltIn* found_inside(std::string_view name) {
  if (jit::headers_are_named()) return nullptr;
  const auto& all = built_in();
  const auto own = std::ranges::find(all, name, [](const BuiltIn& b) { return std::string_view(b.name); });
  return own == all.end() ? nullptr : &*own;
}

}  // namespace

const std::vector<BuiltIn>& built_in() {
  static const std::vector<BuiltIn> list = [] {
    std::vector<BuiltIn> all;
    for (const Shown& one : shown()) all.push_back({one.name, one.compiled});
    const auto added = added_to_build();
    all.insert(all.end(), added.begin(), added.end());
    return all;
  }();
  return list;
}

bool is_built_in(const catalog::Instance& instance) { return found_inside(catalog::image_name(instance)) != nullptr; }

void on_compile(std::function<void(const std::string&)> one) { listener() = std::move(one); }

Result<const simulator::Instance*> ready(const catalog::Instance& instance) {
  using Ready = Result<const simulator::Instance*>;
  // Two threads that ask for one instance compile it once; other instances are compiled at the same time.
  static std::mutex mutex;
  static std::map<std::string, std::shared_future<Ready>> known;
  const std::string name = catalog::image_name(instance);
  std::promise<Ready> mine;
  std::shared_future<Ready> others;
  {
    const std::lock_guard lock(mutex);
    const auto [found, fresh] = known.try_emplace(name);
    if (fresh) {
      found->second = mine.get_future().share();
    } else {
      others = found->second;
    }
  }
  if (others.valid()) return others.get();
  const BuiltIn* const own = found_inside(name);
  const Ready ready = own != nullptr ? Ready(own->instance()) : compiled(instance, name);
  mine.set_value(ready);
  if (!ready) {  // the next caller may have a compiler
    const std::lock_guard lock(mutex);
    known.erase(name);
  }
  return ready;
}

}  // namespace warpwright::simulate
