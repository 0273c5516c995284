#include "simulate/executor.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "jit/host_compiler.h"
#include "sim/model.h"

namespace warpwright::simulate {
namespace {

std::function<void(const std::string&)>& listener() {
  static std::function<void(const std::string&)> one;
  return one;
}

class SimulatedEncoder final : public launch::MapEncoder {
  Status encode(const launch::TensorMapSpec& spec, TensorMap& map) const override {
    simulator::model::TensorMapFields f{};
    f.type = simulator::model::element_of(spec.element, spec.padded);
    f.rank = spec.rank;
    f.base = spec.base;
    f.swizzle = spec.swizzle;
    for (int i = 0; i < 5; ++i) {
      f.dims[i] = i < spec.rank ? spec.dims[size_t(i)] : 1;
      f.strides[i] = spec.strides[size_t(i)];
      f.box[i] = i < spec.rank ? spec.box[size_t(i)] : 1;
    }
    if (const auto why = simulator::model::encode_tensor_map(f, map)) return Status(Code::failed, *why + ".");
    return {};
  }
  Status set_address(TensorMap& map, const void* address) const override {
    simulator::model::TensorMapFields f{};
    if (!simulator::model::decode_tensor_map(map, f)) return Status(Code::failed, "a tensor map was never encoded.");
    f.base = const_cast<void*>(address);
    if (const auto why = simulator::model::encode_tensor_map(f, map)) return Status(Code::failed, *why + ".");
    return {};
  }
};

Result<const simulator::Instance*> compiled(const catalog::Instance& instance, const std::string& name) {
  const auto object = jit::obtain_shared_object(catalog::source_of(instance), [&] {
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

}  // namespace

void on_compile(std::function<void(const std::string&)> one) { listener() = std::move(one); }

const launch::MapEncoder& map_encoder() {
  static const SimulatedEncoder encoder;
  return encoder;
}

Result<const simulator::Instance*> ready(const catalog::Instance& instance) {
  // Held while compiling: two threads that ask for one instance compile it once.
  static std::mutex mutex;
  static std::map<std::string, const simulator::Instance*> known;
  const std::string name = catalog::image_name(instance);
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  for (const BuiltIn& one : built_in()) {
    if (name == one.name) return known[name] = one.instance();
  }
  const auto fresh = compiled(instance, name);
  if (!fresh) return fresh.status();
  return known[name] = *fresh;
}

}  // namespace warpwright::simulate
