// What every entry point of the recorder looks like.
#pragma once
#include "driver/recorder/world.h"

#define WW_ENTRY extern "C" __attribute__((visibility("default"))) abi::Result
