// Libraries that are opened by several names.
#include "system/library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace warpwright::system {
namespace {

constexpr const char* kVariable = "WARPWRIGHT_LIBRARY_OF_A_TEST";
// Not linked to this program, and linked to every one.
constexpr const char *kAbsent = "libwarpwright-nowhere.so.1", *kOther = "libresolv.so.2", *kLoaded = "libc.so.6";

TEST(Library, theFirstThatThereIsIsOpened) {
  unsetenv(kVariable);
  const char* const names[] = {kAbsent, kOther};
  const auto library = open_library("test library", names, kVariable);
  ASSERT_TRUE(library) << library.status().message();
  EXPECT_NE(find_symbol(*library, "ns_name_pton"), nullptr);
  EXPECT_EQ(find_symbol(*library, "ns_name_nothing"), nullptr);
}

TEST(Library, oneThatTheProgramHasComesFirst) {
  const char* const names[] = {kAbsent, "libutil.so.1", kLoaded};
  ASSERT_EQ(dlopen("libutil.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr) << "the test needs another library";
  const auto library = open_library("test library", names, kVariable);
  ASSERT_TRUE(library) << library.status().message();
  EXPECT_EQ(*library, dlopen(kLoaded, RTLD_NOW | RTLD_NOLOAD));
}

TEST(Library, whatCannotBeOpenedIsNamed) {
  const char* const names[] = {kAbsent};
  EXPECT_EQ(open_library("test library", names, kVariable).status().message(), "the test library was not found.");
  setenv(kVariable, "/nowhere/library.so", 1);
  const char* const there[] = {kLoaded};
  const auto library = open_library("test library", there, kVariable);
  EXPECT_EQ(library.status().code(), Code::missing);
  EXPECT_TRUE(library.status().message().starts_with(
      "WARPWRIGHT_LIBRARY_OF_A_TEST = /nowhere/library.so: the library cannot be opened: "))
      << library.status().message();
  unsetenv(kVariable);
}

TEST(Library, offIsOffInAnyCase) {
  for (const char* const off : {"off", "OFF", "Off"}) {
    setenv(kVariable, off, 1);
    EXPECT_TRUE(says_off(kVariable)) << off;
  }
  for (const char* const on : {"", "on", "0", "offline"}) {
    setenv(kVariable, on, 1);
    EXPECT_FALSE(says_off(kVariable)) << on;
  }
  unsetenv(kVariable);
  EXPECT_FALSE(says_off(kVariable));
}

}  // namespace
}  // namespace warpwright::system
