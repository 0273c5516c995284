// A test program whose driver is a recorder (recorder/, hip_recorder/): what it pretends to be, and what it has written
// down.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warpwright::recorded {

// Whether this machine has a driver of its own.
bool has_driver();
// Before the first call of the driver, once. The pretended devices: "sm_90,sm_100". Kernels for them are kept in a
// folder of this program.
void begin(const std::string& devices);
// The same with the recorder above the machine's own driver, or above another recorder in its place.
enum class Below { driver, recorder };
void begin_above(Below below);
// The same with the recorder of HIP in the place of AMD's runtime and no NVIDIA device: "gfx950,gfx942". ROCm 5 has the
// older of the two structures that describe a device, and no function for the newer.
enum class Rocm { newer, five };
void begin_hip(const std::string& devices, Rocm rocm = Rocm::newer);
// Makes the device with this number the one of the calling thread.
void set_device(int number);

// What was written since the last call, in order.
std::vector<nlohmann::json> lines();
// Those launches of them that are not captured.
std::vector<nlohmann::json> launches(const std::vector<nlohmann::json>& lines);
// Calls that the driver answered otherwise than the rules of the recorder, refused instead of accepted or the reverse.
std::vector<nlohmann::json> disagreements(const std::vector<nlohmann::json>& lines);

}  // namespace warpwright::recorded
