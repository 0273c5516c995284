// The PTX images that other chips get, on a Hopper GPU, whose own images are machine code: the driver compiles them,
// and on whole numbers they give the exact result, with nothing written elsewhere. mma.sync and the kernels of
// src/gpu/kernels have such images; the library takes the latter on its own devices only, so that here they are loaded
// and no more.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/instance.h"
#include "gpu/embedded.h"
#include "gpu/executor.h"
#include "gpu/image.h"
#include "gpu/instance_names.h"
#include "gpu/memory.h"
#include "gpu/tensor_map.h"
#include "launch/dense.h"
#include "measure/guarded_arrays.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

// As a chip of this compute capability asks for it.
std::string ptx_target(const catalog::Instance& instance) {
  gpu::Device other;
  other.major = 8;
  other.minor = 9;
  other.arch = Arch::sm80;
  return gpu::target_of(instance, other).ahead;
}

class FromPtx : public testing::TestWithParam<std::string> {};

TEST_P(FromPtx, isExactOnIntegers) {
  const auto device = gpu::hopper_device();
  if (!device) GTEST_SKIP() << device.status().message();
  const catalog::Instance instance = instance_named(GetParam());
  const auto image = gpu::embedded_image(catalog::image_name(instance), ptx_target(instance));
  if (image.empty()) GTEST_SKIP() << "this build has no PTX of it";
  const auto loaded = gpu::LoadedInstance::load(image, GetParam(), device->number);
  ASSERT_TRUE(loaded) << loaded.status().message();
  const auto example = simulate::example_of(instance);
  ASSERT_TRUE(example) << example.status().message();
  for (const reference::Case& shape : example->cases) {
    SCOPED_TRACE(std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k));
    const auto product = simulate::dense_case(instance, shape);
    ASSERT_TRUE(product) << product.status().message();
    const auto w = workload_of(product->problem, product->offset, reference::Data::integers, 5);
    const measure::GuardedArrays arrays(w);
    const GemmPointers pointers = reference::pointers_of(product->problem, product->offset, w, arrays.pointers());
    launch::Arguments args;
    ASSERT_TRUE(launch::fill_arguments(args, instance, product->problem, product->decision.kernel, pointers,
                                       gpu::map_encoder()));
    const gpu::Stream stream;
    const Status status = gpu::launch(**loaded, instance, args, stream.get(), 0, false);
    ASSERT_TRUE(status) << status.message();
    stream.synchronize();
    const reference::Verdict verdict = judge(w, arrays.output());
    EXPECT_TRUE(verdict.ok) << verdict.wrong << " wrong, " << verdict.unwritten << " unwritten";
    EXPECT_EQ(arrays.stray_bytes(w), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(gpu, FromPtx, testing::ValuesIn(names_where([](const catalog::Instance& i) {
                           return catalog::arch_of(i) == Arch::sm80;
                         })),
                         test_name);

TEST(OwnKernels, areCompiledByTheDriver) {
  const auto device = gpu::hopper_device();
  if (!device) GTEST_SKIP() << device.status().message();
  for (const gpu::EmbeddedImage& one : gpu::embedded_images()) {
    if (std::string(one.target) != "compute_80") continue;
    EXPECT_TRUE(gpu::Image::load({one.begin, one.end}, one.name)) << one.name;
  }
}

}  // namespace
}  // namespace warpwright
