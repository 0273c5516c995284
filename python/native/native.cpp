// The warm call of gemm() in compiled code: a call like one before is known by the shapes, strides and types of its
// tensors and by its settings, and is launched. Everything else is Python's business, which is told by None.
//
// Only the stable interface of Python (3.10 and later) and DLPack's are used, so one binary serves every Python and
// every torch that has them. The library is reached by the address of ww_plan_run.
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "dlpack_abi.h"
#include "warpwright/c_api.h"

namespace {

using warpwright::dlpack::Exchange;
using DlTensor = warpwright::dlpack::Tensor;

// The arguments of gemm() in _torch.py, in their order.
enum Argument {
  kA,
  kB,
  kOut,
  kOutDtype,
  kC,
  kAlpha,
  kBeta,
  kBias,
  kActivation,
  kResidual,
  kAScale,
  kBScale,
  kOutScale,
  kAccumulation,
  kDeterministic,
  kSmLimit,
  kPlan,
  kEpilogue,
  kArguments
};
constexpr std::array kTensors{kA, kB, kOut, kC, kBias, kResidual, kAScale, kBScale, kOutScale};
constexpr std::array kSettings{kOutDtype,      kAlpha,   kBeta, kActivation, kAccumulation,
                               kDeterministic, kSmLimit, kPlan, kEpilogue};
constexpr int kMostDimensions = 8;
constexpr size_t kMostEntries = 4096;

// What Python hands over once; owned.
struct Torch {
  const Exchange* exchange = nullptr;
  PyObject* types = nullptr;   // exactly these tensors go this way
  PyObject* guards = nullptr;  // callables: any that is true sends the call another way
  PyObject* grad_enabled = nullptr;
  PyObject* deterministic = nullptr;
  PyObject* current_device = nullptr;
  PyObject* empty_strided = nullptr;
  PyObject* raise_on = nullptr;
  PyObject* requires_grad = nullptr;  // the word
  int32_t device_type = 0;
  int32_t (*run)(const ww_plan*, const ww_gemm_pointers*, void*) = nullptr;
};
Torch torch;

struct Key {
  std::array<int64_t, kTensors.size() * (3 + 2 * kMostDimensions) + 2> words{};
  size_t count = 0;
  uint64_t hash = 0x9e3779b97f4a7c15u;

  void add(int64_t word) {
    words[count++] = word;
    hash = (hash ^ uint64_t(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  bool operator==(const Key& other) const {
    return count == other.count && std::memcmp(words.data(), other.words.data(), count * sizeof words[0]) == 0;
  }
};

struct Entry {
  Key key;
  std::array<PyObject*, kSettings.size()> settings;
  PyObject *owner, *shape, *strides, *dtype;
  const ww_plan* plan;
  bool reads_c;
};
std::unordered_multimap<uint64_t, Entry> entries;

using Tensors = std::array<DlTensor, kTensors.size()>;

// 1: true, 0: false, -1: an exception.
int ask(PyObject* callable) {
  PyObject* const answer = PyObject_CallNoArgs(callable);
  if (answer == nullptr) return -1;
  const int truth = PyObject_IsTrue(answer);
  Py_DecRef(answer);
  return truth;
}

int wants_gradient(PyObject* tensor) {
  PyObject* const answer = PyObject_GetAttr(tensor, torch.requires_grad);
  if (answer == nullptr) return -1;
  const int truth = PyObject_IsTrue(answer);
  Py_DecRef(answer);
  return truth;
}

bool is_plain(PyObject* x) {
  const Py_ssize_t count = PyTuple_Size(torch.types);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(x)) == PyTuple_GetItem(torch.types, i)) return true;
  }
  return false;
}

// Whether this way is open to the call; fills its tensors and its key.
bool read(PyObject* const* arguments, Tensors& tensors, Key& key) {
  // Whoever looks at calls may have wrapped the tensors: nobody touches them before this.
  const Py_ssize_t guards = PyTuple_Size(torch.guards);
  for (Py_ssize_t i = 0; i < guards; ++i) {
    if (ask(PyTuple_GetItem(torch.guards, i)) != 0) return false;
  }
  const int gradients = ask(torch.grad_enabled);
  if (gradients < 0) return false;
  uintptr_t bits = 0;
  for (size_t i = 0; i < kTensors.size(); ++i) {
    PyObject* const x = arguments[kTensors[i]];
    if (x == Py_None) {
      key.add(-1);
      continue;
    }
    if (!is_plain(x)) return false;
    if (gradients != 0 && wants_gradient(x) != 0) return false;
    DlTensor& t = tensors[i];
    if (torch.exchange->look(x, &t) != 0) return false;
    if (t.device.type != torch.device_type || t.dimensions > kMostDimensions || t.byte_offset != 0) return false;
    key.add(int64_t(t.type.code) << 24 | int64_t(t.type.bits) << 16 | t.type.lanes);
    key.add(int64_t(t.device.number) << 8 | t.dimensions);
    for (int d = 0; d < t.dimensions; ++d) {
      key.add(t.shape[d]);
      key.add(t.strides[d]);
    }
    if (kTensors[i] == kA || kTensors[i] == kB || kTensors[i] == kOut) bits |= reinterpret_cast<uintptr_t>(t.data);
  }
  if (arguments[kA] == Py_None || arguments[kB] == Py_None) return false;
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

const Entry* find(const Key& key, PyObject* const* arguments) {
  const auto [first, last] = entries.equal_range(key.hash);
  for (auto it = first; it != last; ++it) {
    if (!(it->second.key == key)) continue;
    bool same = true;
    for (size_t i = 0; i < kSettings.size() && same; ++i) {
      PyObject *const mine = it->second.settings[i], *const given = arguments[kSettings[i]];
      same = mine == given || PyObject_RichCompareBool(mine, given, Py_EQ) == 1;
    }
    if (same) return &it->second;
  }
  return nullptr;
}

PyObject* gemm(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Tensors t{};
  Key key;
  if (count != kArguments || torch.exchange == nullptr || !read(arguments, t, key)) return another_way();
  const Entry* const entry = find(key, arguments);
  if (entry == nullptr) return another_way();
  PyObject* const device = PyObject_CallNoArgs(torch.current_device);
  if (device == nullptr) return another_way();
  const long current = PyLong_AsLong(device);
  Py_DecRef(device);
  if (current != t[0].device.number) return another_way();
  // What is needed of the entry, which another thread may forget while this one launches.
  const ww_plan* const plan = entry->plan;
  const bool reads_c = entry->reads_c;
  PyObject* const owner = entry->owner;
  Py_IncRef(owner);
  PyObject* result = arguments[kOut];
  DlTensor made = t[2];
  if (result != Py_None) {
    Py_IncRef(result);
  } else {
    // An allocator may let another thread in, and that one may forget the entry.
    PyObject* const own[] = {entry->shape, entry->strides, entry->dtype};
    for (PyObject* const x : own) Py_IncRef(x);
    result = PyObject_CallFunctionObjArgs(torch.empty_strided, own[0], own[1], own[2], nullptr);
    for (PyObject* const x : own) Py_DecRef(x);
    if (result == nullptr || torch.exchange->look(result, &made) != 0) {
      Py_DecRef(owner);
      if (result != nullptr) Py_DecRef(result);
      return nullptr;  // out of memory, most likely
    }
  }
  ww_gemm_pointers p{};
  p.size = sizeof p;
  p.a = t[0].data;
  p.b = t[1].data;
  p.d = made.data;
  p.c = reads_c ? t[3].data : nullptr;
  p.bias = t[4].data;
  p.residual = t[5].data;
  p.a_scales = static_cast<const float*>(t[6].data);
  p.b_scales = static_cast<const float*>(t[7].data);
  p.d_scale = static_cast<const float*>(t[8].data);
  void* stream = nullptr;
  int code = 0;
  if (torch.exchange->stream(t[0].device.type, t[0].device.number, &stream) != 0) {
    Py_DecRef(owner);
    Py_DecRef(result);
    return nullptr;
  }
  Py_BEGIN_ALLOW_THREADS;
  code = torch.run(plan, &p, stream);
  Py_END_ALLOW_THREADS;
  Py_DecRef(owner);
  if (code == 0) return result;
  Py_DecRef(result);
  PyObject* const number = PyLong_FromLong(code);
  PyObject* const nothing = PyObject_CallFunctionObjArgs(torch.raise_on, number, nullptr);
  Py_DecRef(number);
  if (nothing != nullptr) Py_DecRef(nothing);
  return nullptr;
}

void drop(Entry& entry) {
  for (PyObject* const x : entry.settings) Py_DecRef(x);
  for (PyObject* const x : {entry.owner, entry.shape, entry.strides, entry.dtype}) Py_DecRef(x);
}

PyObject* forget(PyObject*, PyObject*) {
  for (auto& [hash, entry] : entries) drop(entry);
  entries.clear();
  Py_IncRef(Py_None);
  return Py_None;
}

// remember(arguments of gemm, owner, address of the plan, whether it reads C, shape, strides, dtype)
PyObject* remember(PyObject*, PyObject* arguments) {
  PyObject *call = nullptr, *owner = nullptr, *shape = nullptr, *strides = nullptr, *dtype = nullptr;
  unsigned long long plan = 0;
  int reads_c = 0;
  if (PyArg_ParseTuple(arguments, "OOKpOOO", &call, &owner, &plan, &reads_c, &shape, &strides, &dtype) == 0) {
    return nullptr;
  }
  std::array<PyObject*, kArguments> given{};
  if (PyTuple_Size(call) != kArguments) return PyErr_Occurred() != nullptr ? nullptr : another_way();
  for (Py_ssize_t i = 0; i < kArguments; ++i) given[size_t(i)] = PyTuple_GetItem(call, i);
  Tensors t{};
  Entry entry{.key = {},
              .settings = {},
              .owner = owner,
              .shape = shape,
              .strides = strides,
              .dtype = dtype,
              .plan = reinterpret_cast<const ww_plan*>(uintptr_t(plan)),
              .reads_c = reads_c != 0};
  if (torch.exchange == nullptr || !read(given.data(), t, entry.key)) return another_way();
  if (entries.size() >= kMostEntries) Py_DecRef(forget(nullptr, nullptr));
  for (size_t i = 0; i < kSettings.size(); ++i) {
    entry.settings[i] = given[kSettings[i]];
    Py_IncRef(entry.settings[i]);
  }
  for (PyObject* const x : {owner, shape, strides, dtype}) Py_IncRef(x);
  entries.emplace(entry.key.hash, entry);
  Py_IncRef(Py_True);
  return Py_True;
}

// set_up(capsule, types, guards, grad_enabled, deterministic, current_device, empty_strided, raise_on, device type,
// address of ww_plan_run)
PyObject* set_up(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  Torch given;
  int type = 0;
  unsigned long long run = 0;
  if (PyArg_ParseTuple(arguments, "OOOOOOOOiK", &capsule, &given.types, &given.guards, &given.grad_enabled,
                       &given.deterministic, &given.current_device, &given.empty_strided, &given.raise_on, &type,
                       &run) == 0) {
    return nullptr;
  }
  given.exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  if (given.exchange == nullptr) return nullptr;
  if (given.exchange->version.major != 1 || given.exchange->look == nullptr || given.exchange->stream == nullptr) {
    PyErr_SetString(PyExc_ValueError, "the exchange interface of torch is none that is known");
    return nullptr;
  }
  given.requires_grad = PyUnicode_InternFromString("requires_grad");
  given.device_type = type;
  given.run = reinterpret_cast<decltype(given.run)>(uintptr_t(run));
  for (PyObject* const x : {capsule, given.types, given.guards, given.grad_enabled, given.deterministic,
                            given.current_device, given.empty_strided, given.raise_on}) {
    Py_IncRef(x);  // for good: torch stays as long as the process does
  }
  Py_DecRef(forget(nullptr, nullptr));
  torch = given;
  Py_IncRef(Py_None);
  return Py_None;
}

PyMethodDef methods[] = {
    {"gemm", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gemm)), METH_FASTCALL, nullptr},
    {"remember", remember, METH_VARARGS, nullptr},
    {"forget", forget, METH_NOARGS, nullptr},
    {"set_up", set_up, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
