// What this machine offers: the document and the table of `devices`.
#pragma once
#include "cli/output.h"

namespace warpwright::cli {

struct Devices {
  Json document;
  Table table;
};
Devices find_devices();

}  // namespace warpwright::cli
