// The warm calls of gemm(), grouped_gemm() and moe() in compiled code: a call like one before is known by the shapes,
// strides and types of its tensors and by its settings, and is launched. Everything else is Python's business, which is
// told by None.
//
// Only the stable interface of Python (3.10 and later) and DLPack's are used, so one binary serves every Python and
// every torch that has them. The library is reached by the addresses of the functions that run its plans.
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlpack_abi.h"
#include "forms.h"

namespace {

using warpwright::dlpack::Exchange;
using warpwright::native::Form;
using warpwright::native::kFormOf;
using warpwright::native::kForms;
using warpwright::native::kMostArguments;
using warpwright::native::kMostBytes;
using warpwright::native::kMostOperands;
using warpwright::native::kMostSettings;
using warpwright::native::kNoWorkspace;
using DlTensor = warpwright::dlpack::Tensor;

constexpr int kMostDimensions = 8;
constexpr size_t kMostEntries = 4096;

using Run = int32_t (*)(const void* plan, const void* pointers, void* stream);

// What Python hands over once; owned.
struct Torch {
  const Exchange* exchange = nullptr;
  PyObject* types = nullptr;   // exactly these tensors go this way
  PyObject* guards = nullptr;  // callables: any that is true sends the call another way
  PyObject* grad_enabled = nullptr;
  PyObject* deterministic = nullptr;
  PyObject* current_device = nullptr;
  PyObject* is_capturing = nullptr;
  PyObject* empty_strided = nullptr;
  PyObject* bytes_type = nullptr;  // torch.uint8
  PyObject* workspace = nullptr;   // of a plan and a stream
  PyObject* raise_on = nullptr;
  PyObject* requires_grad = nullptr;  // the word
  int32_t device_type = 0;
  std::array<Run, kForms> run{};
};
Torch torch;

// An object that is owned.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref of(PyObject* borrowed) {
    Py_IncRef(borrowed);
    return Ref(borrowed);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() {
    if (object_ != nullptr) Py_DecRef(object_);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

struct Key {
  std::array<int64_t, kMostOperands*(2 + 2 * kMostDimensions) + 3> words;  // the first `count` are written
  size_t count = 0;
  uint64_t hash = 0x9e3779b97f4a7c15u;

  void add(int64_t word) {
    words[count++] = word;
    hash = (hash ^ uint64_t(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
};

// Memory of a plan that its runs on one stream share.
struct Workspace {
  void* stream;
  Ref tensor;
  void* data;
};

struct Entry {
  std::vector<int64_t> key;
  std::vector<Ref> settings;
  Ref owner, shape, strides, dtype, workspace_shape, workspace_strides;
  const void* plan = nullptr;
  size_t workspace_bytes = 0;
  size_t kept_bytes = 0;  // of them
  std::vector<Workspace> workspaces;
};
// Shared, since another thread may forget an entry while this one launches. Never destroyed: what they own is Python's,
// which is gone when the process ends.
auto& entries = *new std::unordered_multimap<uint64_t, std::shared_ptr<Entry>>;
uint64_t changes = 0;  // of the entries

using Tensors = std::array<DlTensor, kMostOperands>;

// 1: true, 0: false, -1: an exception.
int truth_of(const Ref& answer) { return answer ? PyObject_IsTrue(answer.get()) : -1; }
int ask(PyObject* callable) { return truth_of(Ref(PyObject_CallNoArgs(callable))); }

bool is_plain(PyObject* x) {
  const Py_ssize_t count = PyTuple_Size(torch.types);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(x)) == PyTuple_GetItem(torch.types, i)) return true;
  }
  return false;
}

// Whether this way is open to the call; fills its tensors and its key.
bool read(const Form& form, PyObject* const* arguments, Tensors& tensors, Key& key) {
  // Whoever looks at calls may have wrapped the tensors: nobody touches them before this.
  const Py_ssize_t guards = PyTuple_Size(torch.guards);
  for (Py_ssize_t i = 0; i < guards; ++i) {
    if (ask(PyTuple_GetItem(torch.guards, i)) != 0) return false;
  }
  const int gradients = ask(torch.grad_enabled);
  if (gradients < 0) return false;
  key.add(&form - kFormOf.data());
  uintptr_t bits = 0;
  for (size_t i = 0; i < form.operands.size(); ++i) {
    PyObject* const x = arguments[form.operands[i].place];
    if (x == Py_None) {
      if (i < form.needed) return false;
      tensors[i].data = nullptr;
      key.add(-1);
      continue;
    }
    if (!is_plain(x)) return false;
    if (gradients != 0 && truth_of(Ref(PyObject_GetAttr(x, torch.requires_grad))) != 0) return false;
    DlTensor& t = tensors[i];
    if (torch.exchange->look(x, &t) != 0) return false;
    if (t.device.type != torch.device_type || t.dimensions > kMostDimensions || t.byte_offset != 0) return false;
    key.add(int64_t(t.type.code) << 24 | int64_t(t.type.bits) << 16 | t.type.lanes);
    key.add(int64_t(t.device.number) << 8 | t.dimensions);
    for (int d = 0; d < t.dimensions; ++d) {
      key.add(t.shape[d]);
      key.add(t.strides[d]);
    }
    if (form.operands[i].decides_plan) bits |= reinterpret_cast<uintptr_t>(t.data);
  }
  const int deterministic = ask(torch.deterministic);
  if (deterministic < 0) return false;
  key.add(int64_t(bits & 15u));
  key.add(deterministic);
  return true;
}

// None, after an exception that only means that Python goes its own way.
PyObject* another_way() {
  PyErr_Clear();
  Py_IncRef(Py_None);
  return Py_None;
}

std::shared_ptr<Entry> find(const Form& form, const Key& key, PyObject* const* arguments) {
  const uint64_t before = changes;
  const auto [first, last] = entries.equal_range(key.hash);
  for (auto it = first; it != last; ++it) {
    const std::shared_ptr<Entry> entry = it->second;
    if (entry->key.size() != key.count) continue;
    if (std::memcmp(entry->key.data(), key.words.data(), key.count * sizeof key.words[0]) != 0) continue;
    int same = 1;
    for (size_t i = 0; i < form.settings.size() && same == 1; ++i) {
      PyObject *const mine = entry->settings[i].get(), *const given = arguments[form.settings[i]];
      same = mine == given ? 1 : PyObject_RichCompareBool(mine, given, Py_EQ);
    }
    if (same == 1) return entry;
    // A comparison may have run somebody's Python.
    if (same < 0 || changes != before) return nullptr;
  }
  return nullptr;
}

// The address of a workspace for this run; `held` keeps it until the launch is on the stream. Null after an exception.
void* workspace_of(Entry& entry, void* stream, Ref& held) {
  const bool may_be_shared = entry.kept_bytes == entry.workspace_bytes;
  int capturing = 0;
  if (entry.kept_bytes == 0) {
    // In the order of the stream, and of the memory of a graph that is captured, by torch's allocator.
    held = Ref(PyObject_CallFunctionObjArgs(torch.empty_strided, entry.workspace_shape.get(),
                                            entry.workspace_strides.get(), torch.bytes_type, nullptr));
  } else {
    capturing = ask(torch.is_capturing);
    if (capturing < 0) return nullptr;
    if (capturing == 0 && may_be_shared) {
      for (const Workspace& known : entry.workspaces) {
        if (known.stream == stream) return known.data;
      }
    }
    const Ref number(PyLong_FromVoidPtr(stream));
    if (!number) return nullptr;
    held = Ref(PyObject_CallFunctionObjArgs(torch.workspace, entry.owner.get(), number.get(), nullptr));
  }
  DlTensor made{};
  if (!held || torch.exchange->look(held.get(), &made) != 0) return nullptr;
  if (entry.kept_bytes != 0 && capturing == 0 && may_be_shared) {
    entry.workspaces.push_back({stream, Ref::of(held.get()), made.data});
  }
  return made.data;
}

PyObject* launch(const Form& form, PyObject* const* arguments, Py_ssize_t count) {
  Tensors t;
  Key key;
  if (count != form.arguments || torch.exchange == nullptr || !read(form, arguments, t, key)) return another_way();
  const std::shared_ptr<Entry> entry = find(form, key, arguments);
  if (entry == nullptr) return another_way();
  const Ref device(PyObject_CallNoArgs(torch.current_device));
  if (!device || PyLong_AsLong(device.get()) != t[0].device.number) return another_way();
  void* stream = nullptr;
  if (torch.exchange->stream(t[0].device.type, t[0].device.number, &stream) != 0) return nullptr;

  // From here on a failure is one, most likely that there is no memory left.
  const auto out = size_t(form.out);
  Ref result;
  if (arguments[form.operands[out].place] != Py_None) {
    result = Ref::of(arguments[form.operands[out].place]);
  } else {
    result = Ref(PyObject_CallFunctionObjArgs(torch.empty_strided, entry->shape.get(), entry->strides.get(),
                                              entry->dtype.get(), nullptr));
    if (!result || torch.exchange->look(result.get(), &t[out]) != 0) return nullptr;
  }
  alignas(void*) std::array<unsigned char, kMostBytes> pointers{};
  const auto put = [&pointers](size_t at, auto value) { std::memcpy(pointers.data() + at, &value, sizeof value); };
  put(0, uint64_t(form.structure));
  for (size_t i = 0; i < form.operands.size(); ++i) {
    if (t[i].data != nullptr) put(form.operands[i].address, t[i].data);
  }
  Ref held;
  if (entry->workspace_bytes != 0) {
    void* const workspace = workspace_of(*entry, stream, held);
    if (workspace == nullptr) return nullptr;
    put(form.workspace, workspace);
    put(form.workspace + sizeof(void*), entry->workspace_bytes);
  }
  const Run run = torch.run[size_t(&form - kFormOf.data())];
  int code = 0;
  Py_BEGIN_ALLOW_THREADS;
  code = run(entry->plan, pointers.data(), stream);
  Py_END_ALLOW_THREADS;
  if (code == 0) return result.release();
  const Ref number(PyLong_FromLong(code));
  const Ref nothing(PyObject_CallFunctionObjArgs(torch.raise_on, number.get(), nullptr));
  return nullptr;
}

template <int Index>
PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return launch(kFormOf[size_t(Index)], arguments, count);
}

PyObject* forget(PyObject*, PyObject*) {
  // What goes away may call Python, which must find none of it.
  const auto gone = std::exchange(entries, {});
  ++changes;
  Py_IncRef(Py_None);
  return Py_None;
}

// remember(which call, its arguments, owner, address of the plan, bytes of its workspace, how many of them are kept,
// shape, strides and dtype of the result)
PyObject* remember(PyObject*, PyObject* arguments) {
  PyObject *given = nullptr, *owner = nullptr, *shape = nullptr, *strides = nullptr, *dtype = nullptr;
  int which = 0;
  unsigned long long plan = 0, workspace_bytes = 0, kept_bytes = 0;
  if (PyArg_ParseTuple(arguments, "iOOKKKOOO", &which, &given, &owner, &plan, &workspace_bytes, &kept_bytes, &shape,
                       &strides, &dtype) == 0) {
    return nullptr;
  }
  if (which < 0 || which >= kForms) {
    PyErr_Format(PyExc_ValueError, "%d: no such call", which);
    return nullptr;
  }
  const Form& form = kFormOf[size_t(which)];
  if (PyTuple_Size(given) != form.arguments || (workspace_bytes != 0 && form.workspace == kNoWorkspace)) {
    return PyErr_Occurred() != nullptr ? nullptr : another_way();
  }
  std::array<PyObject*, kMostArguments> items{};
  for (Py_ssize_t i = 0; i < form.arguments; ++i) items[size_t(i)] = PyTuple_GetItem(given, i);
  Tensors t;
  Key key;
  if (torch.exchange == nullptr || !read(form, items.data(), t, key)) return another_way();
  const auto entry = std::make_shared<Entry>();
  entry->key.assign(key.words.begin(), key.words.begin() + std::ptrdiff_t(key.count));
  entry->settings.reserve(kMostSettings);
  for (const int place : form.settings) entry->settings.push_back(Ref::of(items[size_t(place)]));
  entry->owner = Ref::of(owner);
  entry->shape = Ref::of(shape);
  entry->strides = Ref::of(strides);
  entry->dtype = Ref::of(dtype);
  entry->workspace_shape = Ref(Py_BuildValue("(K)", workspace_bytes));
  entry->workspace_strides = Ref(Py_BuildValue("(i)", 1));
  if (!entry->workspace_shape || !entry->workspace_strides) return nullptr;
  entry->plan = reinterpret_cast<const void*>(uintptr_t(plan));
  entry->workspace_bytes = size_t(workspace_bytes);
  entry->kept_bytes = size_t(kept_bytes);
  if (entries.size() >= kMostEntries) Py_DecRef(forget(nullptr, nullptr));
  entries.emplace(key.hash, entry);
  ++changes;
  Py_IncRef(Py_True);
  return Py_True;
}

// set_up(capsule, types, guards, grad_enabled, deterministic, current_device, is_capturing, empty_strided, uint8,
// workspace, raise_on, device type, addresses of the functions that run a plan)
PyObject* set_up(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *runs = nullptr;
  Torch given;
  int type = 0;
  if (PyArg_ParseTuple(arguments, "OOOOOOOOOOOiO", &capsule, &given.types, &given.guards, &given.grad_enabled,
                       &given.deterministic, &given.current_device, &given.is_capturing, &given.empty_strided,
                       &given.bytes_type, &given.workspace, &given.raise_on, &type, &runs) == 0) {
    return nullptr;
  }
  given.exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  if (given.exchange == nullptr) return nullptr;
  if (given.exchange->version.major != 1 || given.exchange->look == nullptr || given.exchange->stream == nullptr) {
    PyErr_SetString(PyExc_ValueError, "the exchange interface of torch is none that is known");
    return nullptr;
  }
  if (PyTuple_Size(runs) != kForms) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "the address of a function is missing");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < kForms; ++i) {
    const unsigned long long address = PyLong_AsUnsignedLongLong(PyTuple_GetItem(runs, i));
    if (PyErr_Occurred() != nullptr) return nullptr;
    given.run[size_t(i)] = reinterpret_cast<Run>(uintptr_t(address));
  }
  given.requires_grad = PyUnicode_InternFromString("requires_grad");
  given.device_type = type;
  for (PyObject* const x :
       {capsule, given.types, given.guards, given.grad_enabled, given.deterministic, given.current_device,
        given.is_capturing, given.empty_strided, given.bytes_type, given.workspace, given.raise_on}) {
    Py_IncRef(x);  // for good: torch stays as long as the process does
  }
  Py_DecRef(forget(nullptr, nullptr));
  torch = given;
  Py_IncRef(Py_None);
  return Py_None;
}

template <int Index>
PyCFunction as_method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call<Index>));
}

PyMethodDef methods[] = {{"gemm", as_method<warpwright::native::kGemm>(), METH_FASTCALL, nullptr},
                         {"grouped_gemm", as_method<warpwright::native::kGrouped>(), METH_FASTCALL, nullptr},
                         {"moe", as_method<warpwright::native::kMoe>(), METH_FASTCALL, nullptr},
                         {"remember", remember, METH_VARARGS, nullptr},
                         {"forget", forget, METH_NOARGS, nullptr},
                         {"set_up", set_up, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
