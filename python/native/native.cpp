// The warm calls of gemm(), grouped_gemm() and moe() in compiled code: a call like one before is known by the shapes,
// strides and types of its tensors and by its settings, and is launched. Everything else is Python's business, which is
// told by None.
//
// Only the stable interface of Python (3.10 and later) and DLPack's are used, so one binary serves every Python and
// every torch that has them. The library is reached by the addresses of the functions that run its plans.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlpack_abi.h"
#include "entry.h"
#include "forms.h"
#include "ref.h"

namespace {

using warpwright::dlpack::Exchange;
using warpwright::native::Entry;
using warpwright::native::Form;
using warpwright::native::Key;
using warpwright::native::kFormOf;
using warpwright::native::kForms;
using warpwright::native::kMostArguments;
using warpwright::native::kMostBytes;
using warpwright::native::kMostDimensions;
using warpwright::native::kMostOperands;
using warpwright::native::kMostSettings;
using warpwright::native::kNoWorkspace;
using warpwright::native::Learning;
using warpwright::native::Ref;
using warpwright::native::Workspace;
using DlTensor = warpwright::dlpack::Tensor;

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
  PyObject* requires_grad = nullptr;  // these are words
  PyObject* to_save = nullptr;
  PyObject* zero = nullptr;
  int32_t device_type = 0;
  std::array<Run, kForms> run{};
  std::array<PyObject*, kForms> names{};     // tuples: of the arguments of each call, interned
  std::array<PyObject*, kForms> defaults{};  // what they are where they are not given
};
Torch torch;

// Shared, since another thread may forget an entry while this one launches. Never destroyed: what they own is Python's,
// which is gone when the process ends.
auto& entries = *new std::unordered_multimap<uint64_t, std::shared_ptr<Entry>>;
uint64_t changes = 0;  // of the entries

using Tensors = std::array<DlTensor, kMostOperands>;

// A call that has been understood and found.
struct Call {
  const Form& form;
  PyObject* const* arguments;
  Tensors tensors;
  std::shared_ptr<Entry> entry;
  void* stream = nullptr;
};
// The call that this thread has handed to autograd, which asks for it at once.
thread_local Call* handed_over = nullptr;

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

// Whether this way is open to the call; fills its tensors and its key, and says whether a gradient is wanted. The
// operands of `turned`, a bit for each, stand for their transposed views.
bool read(const Form& form, PyObject* const* arguments, unsigned turned, Tensors& tensors, Key& key, bool& learns) {
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
    if (gradients != 0 && !learns) {
      const int wanted = truth_of(Ref(PyObject_GetAttr(x, torch.requires_grad)));
      if (wanted < 0) return false;
      learns = wanted != 0;
    }
    DlTensor& t = tensors[i];
    if (torch.exchange->look(x, &t) != 0) return false;
    if (t.device.type != torch.device_type || t.dimensions > kMostDimensions || t.byte_offset != 0) return false;
    key.add(int64_t(t.type.code) << 24 | int64_t(t.type.bits) << 16 | t.type.lanes);
    key.add(int64_t(t.device.number) << 8 | t.dimensions);
    const bool backwards = (turned >> i & 1u) != 0;
    for (int d = 0; d < t.dimensions; ++d) {
      const int from = backwards ? t.dimensions - 1 - d : d;
      key.add(t.shape[from]);
      key.add(t.strides[from]);
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

// The result; a failure is one here, most likely that there is no memory left.
PyObject* run(Call& call, bool zeroed) {
  const Form& form = call.form;
  Entry& entry = *call.entry;
  const auto out = size_t(form.out);
  PyObject* const given = call.arguments[form.operands[out].place];
  Ref result;
  if (given != Py_None) {
    result = Ref::of(given);
  } else {
    result = Ref(PyObject_CallFunctionObjArgs(torch.empty_strided, entry.shape.get(), entry.strides.get(),
                                              entry.dtype.get(), nullptr));
    if (zeroed && result) result = Ref(PyObject_CallMethodObjArgs(result.get(), torch.zero, nullptr));
    if (!result || torch.exchange->look(result.get(), &call.tensors[out]) != 0) return nullptr;
  }
  alignas(void*) std::array<unsigned char, kMostBytes> pointers{};
  const auto put = [&pointers](size_t at, auto value) { std::memcpy(pointers.data() + at, &value, sizeof value); };
  put(0, uint64_t(form.structure));
  for (size_t i = 0; i < form.operands.size(); ++i) {
    if (call.tensors[i].data != nullptr) put(form.operands[i].address, call.tensors[i].data);
  }
  Ref held;
  if (entry.workspace_bytes != 0) {
    void* const workspace = workspace_of(entry, call.stream, held);
    if (workspace == nullptr) return nullptr;
    put(form.workspace, workspace);
    put(form.workspace + sizeof(void*), entry.workspace_bytes);
  }
  const Run launch = torch.run[size_t(&form - kFormOf.data())];
  int code = 0;
  Py_BEGIN_ALLOW_THREADS;
  code = launch(entry.plan, pointers.data(), call.stream);
  Py_END_ALLOW_THREADS;
  if (code == 0) return result.release();
  const Ref number(PyLong_FromLong(code));
  const Ref nothing(PyObject_CallFunctionObjArgs(torch.raise_on, number.get(), nullptr));
  return nullptr;
}

// A tuple of some of the arguments.
Ref chosen(PyObject* const* arguments, const std::vector<int>& places) {
  Ref tuple(PyTuple_New(Py_ssize_t(places.size())));
  for (size_t i = 0; tuple && i < places.size(); ++i) {
    PyObject* const x = arguments[size_t(places[i])];
    Py_IncRef(x);
    if (PyTuple_SetItem(tuple.get(), Py_ssize_t(i), x) != 0) return {};
  }
  return tuple;
}

// forward(context, inputs): what autograd calls, within the call that was handed over.
PyObject* forward(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Call* const call = std::exchange(handed_over, nullptr);
  if (call == nullptr || count == 0) {
    PyErr_SetString(PyExc_RuntimeError, "forward: it is a part of gemm(), which alone may call it");
    return nullptr;
  }
  const Learning& learning = *call->entry->learning;
  // A version that is changed before the backward pass is autograd's to find.
  const Ref saved = chosen(call->arguments, learning.saved);
  if (!saved || PyObject_SetAttr(arguments[0], torch.to_save, saved.get()) != 0) return nullptr;
  return run(*call, learning.zeroed);
}

PyObject* launch(const Form& form, PyObject* const* arguments, unsigned turned = 0) {
  Call call{form, arguments, {}, nullptr};
  Key key;
  bool learns = false;
  if (torch.exchange == nullptr || !read(form, arguments, turned, call.tensors, key, learns)) return another_way();
  call.entry = find(form, key, arguments);
  if (call.entry == nullptr || (learns && (turned != 0 || !call.entry->learning))) return another_way();

  const auto& [type, number] = call.tensors[0].device;
  const Ref device(PyObject_CallNoArgs(torch.current_device));
  if (!device || PyLong_AsLong(device.get()) != number) return another_way();
  if (torch.exchange->stream(type, number, &call.stream) != 0) return nullptr;
  if (!learns) return run(call, false);
  const Ref inputs = chosen(arguments, call.entry->learning->inputs);
  if (!inputs) return nullptr;
  // Somebody who watches calls may make one between this and forward().
  Call* const outer = std::exchange(handed_over, &call);
  PyObject* const result = PyObject_CallObject(call.entry->learning->apply.get(), inputs.get());
  handed_over = outer;
  return result;
}

// Puts the arguments of a call in their places; false where they are none of this call's, which Python then says.
bool place(const Form& form, PyObject* const* given, Py_ssize_t count, PyObject* words,
           std::array<PyObject*, kMostArguments>& items) {
  const size_t index = size_t(&form - kFormOf.data());
  if (torch.names[index] == nullptr || count > Py_ssize_t(form.needed)) return false;
  for (Py_ssize_t i = 0; i < form.arguments; ++i) {
    items[size_t(i)] = i < count ? given[i] : PyTuple_GetItem(torch.defaults[index], i);
  }
  const Py_ssize_t named = words == nullptr ? 0 : PyTuple_Size(words);
  for (Py_ssize_t w = 0; w < named; ++w) {
    PyObject* const word = PyTuple_GetItem(words, w);
    Py_ssize_t i = count;
    while (i < form.arguments && PyTuple_GetItem(torch.names[index], i) != word) ++i;
    if (i == form.arguments) return false;
    items[size_t(i)] = given[count + w];
  }
  return true;
}

template <int Index>
PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* words) {
  const Form& form = kFormOf[size_t(Index)];
  if (words == nullptr && count == form.arguments) return launch(form, arguments);
  std::array<PyObject*, kMostArguments> items;
  return place(form, arguments, count, words, items) ? launch(form, items.data()) : another_way();
}

// turned_gemm(which, a, b, out_dtype, alpha): as gemm, of the transposed view of a if bit 0 of which is set, and of b
// for bit 1. To make a view costs as much as half a call.
PyObject* turned_gemm(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  using warpwright::native::Gemm;
  const Form& form = kFormOf[warpwright::native::kGemm];
  std::array<PyObject*, kMostArguments> items;
  if (count != 5 || !place(form, arguments + 1, 2, nullptr, items)) return another_way();
  items[size_t(Gemm::out_dtype)] = arguments[3];
  items[size_t(Gemm::alpha)] = arguments[4];
  const unsigned long which = PyLong_AsUnsignedLong(arguments[0]);
  return which <= 3 ? launch(form, items.data(), unsigned(which)) : another_way();
}

PyObject* forget(PyObject*, PyObject*) {
  // What goes away may call Python, which must find none of it.
  const auto gone = std::exchange(entries, {});
  ++changes;
  Py_IncRef(Py_None);
  return Py_None;
}

// Places of arguments that a tuple of Python lists.
bool read_places(const Form& form, PyObject* tuple, std::vector<int>& places) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) {
    const long place = PyLong_AsLong(PyTuple_GetItem(tuple, i));
    if (place < 0 || place >= form.arguments) return false;
    places.push_back(int(place));
  }
  return PyErr_Occurred() == nullptr;
}

// remember(which call, its arguments, owner, address of the plan, bytes of its workspace, how many of them are kept,
// shape, strides and dtype of the result, the parts of Learning if the call has a gradient)
PyObject* remember(PyObject*, PyObject* arguments) {
  PyObject *given = nullptr, *owner = nullptr, *shape = nullptr, *strides = nullptr, *dtype = nullptr,
           *learning = Py_None;
  int which = 0;
  unsigned long long plan = 0, workspace_bytes = 0, kept_bytes = 0;
  if (PyArg_ParseTuple(arguments, "iOOKKKOOO|O", &which, &given, &owner, &plan, &workspace_bytes, &kept_bytes, &shape,
                       &strides, &dtype, &learning) == 0) {
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
  bool learns = false;
  if (torch.exchange == nullptr || !read(form, items.data(), 0, t, key, learns)) return another_way();
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
  if (learning != Py_None) {
    PyObject *apply = nullptr, *inputs = nullptr, *saved = nullptr;
    int zeroed = 0;
    if (PyArg_ParseTuple(learning, "OO!O!p", &apply, &PyTuple_Type, &inputs, &PyTuple_Type, &saved, &zeroed) == 0) {
      return nullptr;
    }
    Learning& known = entry->learning.emplace();
    known.zeroed = zeroed != 0;
    known.apply = Ref::of(apply);
    if (!read_places(form, inputs, known.inputs) || !read_places(form, saved, known.saved)) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "an argument has no such place");
      return nullptr;
    }
  }
  if (entries.size() >= kMostEntries) Py_DecRef(forget(nullptr, nullptr));
  // What is known of a call that wants no gradient is not all that one needs that does.
  const std::shared_ptr<Entry> earlier = find(form, key, items.data());
  if (earlier == nullptr) PyErr_Clear();
  std::erase_if(entries, [&](const auto& known) { return known.second == earlier; });
  entries.emplace(key.hash, entry);
  ++changes;
  Py_IncRef(Py_True);
  return Py_True;
}

// set_up(capsule, types, guards, grad_enabled, deterministic, current_device, is_capturing, empty_strided, uint8,
// workspace, raise_on, device type, and for each call the address of the function that runs a plan, and the names and
// defaults of its arguments)
PyObject* set_up(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *runs = nullptr, *names = nullptr, *defaults = nullptr;
  Torch given;
  int type = 0;
  if (PyArg_ParseTuple(arguments, "OOOOOOOOOOOiOOO", &capsule, &given.types, &given.guards, &given.grad_enabled,
                       &given.deterministic, &given.current_device, &given.is_capturing, &given.empty_strided,
                       &given.bytes_type, &given.workspace, &given.raise_on, &type, &runs, &names, &defaults) == 0) {
    return nullptr;
  }
  given.exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  if (given.exchange == nullptr) return nullptr;
  if (given.exchange->version.major != 1 || given.exchange->look == nullptr || given.exchange->stream == nullptr) {
    PyErr_SetString(PyExc_ValueError, "the exchange interface of torch is none that is known");
    return nullptr;
  }
  if (PyTuple_Size(runs) != kForms || PyTuple_Size(names) != kForms || PyTuple_Size(defaults) != kForms) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "the address of a function is missing");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < kForms; ++i) {
    const unsigned long long address = PyLong_AsUnsignedLongLong(PyTuple_GetItem(runs, i));
    if (PyErr_Occurred() != nullptr) return nullptr;
    given.run[size_t(i)] = reinterpret_cast<Run>(uintptr_t(address));
    given.names[size_t(i)] = PyTuple_GetItem(names, i);
    given.defaults[size_t(i)] = PyTuple_GetItem(defaults, i);
    for (PyObject* const each : {given.names[size_t(i)], given.defaults[size_t(i)]}) {
      if (PyTuple_Size(each) != kFormOf[size_t(i)].arguments) {
        if (PyErr_Occurred() == nullptr)
          PyErr_SetString(PyExc_ValueError, "a call has other arguments than were named");
        return nullptr;
      }
    }
  }
  given.requires_grad = PyUnicode_InternFromString("requires_grad");
  given.to_save = PyUnicode_InternFromString("to_save");
  given.zero = PyUnicode_InternFromString("zero_");
  given.device_type = type;
  for (PyObject* const x :
       {capsule, given.types, given.guards, given.grad_enabled, given.deterministic, given.current_device,
        given.is_capturing, given.empty_strided, given.bytes_type, given.workspace, given.raise_on, names, defaults}) {
    Py_IncRef(x);  // for good: torch stays as long as the process does
  }
  Py_DecRef(forget(nullptr, nullptr));
  torch = given;
  Py_IncRef(Py_None);
  return Py_None;
}

PyCFunction as_function(auto* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"gemm", as_function(call<warpwright::native::kGemm>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"grouped_gemm", as_function(call<warpwright::native::kGrouped>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"moe", as_function(call<warpwright::native::kMoe>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"turned_gemm", as_function(turned_gemm), METH_FASTCALL, nullptr},
    {"forward", as_function(forward), METH_FASTCALL, nullptr},
    {"remember", remember, METH_VARARGS, nullptr},
    {"forget", forget, METH_NOARGS, nullptr},
    {"set_up", set_up, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
