// Writes the kernels of the sweep: every order of issue that the schedule's compiler derives from the shapes, depths,
// cuts and copy latencies below, each once. Orders that several sets of parameters lead to are told by what they do.
//
//   generate FOLDER [--latencies FIRST:LAST:STEP] [--depths LIST] [--spread LIST] [--tiles LIST] [--kernels-per-file N]
//
// FOLDER/NNN.cu hold the kernels, FOLDER/orders.json what they are.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "warpwright/kernel/sm80/config.h"

namespace {

using namespace warpwright;
using nlohmann::json;

struct Tile {
  int m, n, warps_m, warps_n, blocks;
};
constexpr Tile kTiles[] = {{128, 256, 2, 4, 1}, {256, 128, 4, 2, 1}, {128, 128, 2, 2, 2}};

struct Options {
  std::string folder;
  std::vector<int> latencies = {600, 1200, 1800, 2400, 3000, 3600};
  std::vector<int> depths = {0, 2, 3, 4, 5, 6};
  std::vector<int> spread = {1, 0};
  std::vector<std::string> tiles;
  int per_file = 8;
};

std::string tile_name(const Tile& t) { return std::to_string(t.m) + "x" + std::to_string(t.n); }

std::string name_of(const MmaSyncGemmConfig& c) {
  const auto s = [](int v) { return std::to_string(v); };
  return s(c.tile_m) + "x" + s(c.tile_n) + " d" + s(c.depth) + " p" + s(c.pieces) + " c" + s(c.copies_a) + "-" +
         s(c.copies_b) + " s" + s(c.spread) + " l" + s(c.copy_latency) + (c.unroll > 1 ? " u" + s(c.unroll) : "") +
         (c.band != MmaSyncGemmConfig{}.band ? " b" + s(c.band) : "");
}

std::string steps(const schedule::EntryList& list) {
  std::string out;
  for (const schedule::ScheduleEntry& e : list) {
    for (const int v : {int(e.op.tag.value), int(e.op.role), int(e.op.channel), int(e.op.stage), int(e.op.subtile),
                        int(e.op.wait_value), int(e.source), int(e.shift)}) {
      out += (out.empty() || out.back() == '}' ? "{" : ",") + std::to_string(v);
    }
    out += "}";
  }
  for (size_t i = 0; (i = out.find("}{", i)) != std::string::npos;) out.replace(i, 2, "},{");
  return out;
}

std::string words(const schedule::Pipeline& p, const schedule::EntryList& list) {
  std::string out;
  for (const schedule::ScheduleEntry& e : list) {
    if (!out.empty()) out += ' ';
    out += e.op.tag.is_data() ? p.costs.name(e.op).c_str() : schedule::op_name(e.op).c_str();
    if (e.source >= 0 && e.shift != 0) out += (e.shift > 0 ? "+" : "") + std::to_string(e.shift);
  }
  return out;
}

struct Sweep {
  std::map<std::string, size_t> known;
  json orders = json::array();
  std::vector<std::string> sources;
  int configurations = 0, refused = 0;

  void add(const MmaSyncGemmConfig& c) {
    if (refuse(c) != nullptr) return;
    ++configurations;
    const schedule::Pipeline p = mma_sync_pipeline(c.order());
    if (!p.ok() || !schedule::verify(p, p.stages() - 1).empty() ||
        !schedule::verify(p, p.stages() + p.depths[0].depth).empty()) {
      ++refused;
      return;
    }
    const std::string tables[3] = {steps(p.schedule.prologue), steps(p.schedule.kernel), steps(p.schedule.epilogue)};
    const int depth = p.depths[0].depth, peeled = p.stages() - 1;
    const std::string key = std::to_string(c.tile_m) + "," + std::to_string(c.tile_n) + "," + std::to_string(c.unroll) +
                            "," + std::to_string(c.band) + "," + std::to_string(depth) + "," + std::to_string(peeled) +
                            tables[0] + "|" + tables[1] + "|" + tables[2];
    const auto [at, added] = known.try_emplace(key, orders.size());
    const bool is_default = name_of(c) == name_of(MmaSyncGemmConfig{});
    if (added) {
      const std::string id = "order_" + std::to_string(orders.size());
      orders.push_back({{"kernel", id},
                        {"name", name_of(c)},
                        {"also", json::array()},
                        {"tile", {c.tile_m, c.tile_n}},
                        {"threads", c.threads()},
                        {"blocks", c.blocks_per_sm},
                        {"depth", depth},
                        {"stages", p.stages()},
                        {"ii", p.interval()},
                        {"mii", p.mii()},
                        {"loop", words(p, p.schedule.kernel)},
                        {"default", false}});
      std::string source;
      const char* const phases[3] = {"_prologue", "_kernel", "_epilogue"};
      for (int i = 0; i < 3; ++i) {
        source += "constexpr warpwright::sweep::Step " + id + phases[i] + "[] = {" + tables[i] + "};\n";
      }
      source += "constexpr warpwright::MmaSyncGemmConfig " + id + "_config{.tile_m = " + std::to_string(c.tile_m) +
                ", .tile_n = " + std::to_string(c.tile_n) + ", .warps_m = " + std::to_string(c.warps_m) +
                ", .warps_n = " + std::to_string(c.warps_n) + ", .depth = " + std::to_string(1000 + orders.size()) +
                ", .unroll = " + std::to_string(c.unroll) + ", .pieces = " + std::to_string(c.pieces) +
                ", .copies_a = " + std::to_string(c.copies_a) + ", .copies_b = " + std::to_string(c.copies_b) +
                ", .blocks_per_sm = " + std::to_string(c.blocks_per_sm) + ", .band = " + std::to_string(c.band) +
                "};\n";
      source += "WW_SWEEP_KERNEL(" + id + ", " + std::to_string(depth) + ", " + std::to_string(peeled) + ")\n";
      sources.push_back(source);
    } else {
      orders[at->second]["also"].push_back(name_of(c));
    }
    if (is_default) orders[at->second]["default"] = true;
  }
};

std::vector<std::string> split(const std::string& list, char between) {
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, between);) out.push_back(word);
  return out;
}
std::vector<int> numbers(const std::string& list) {
  std::vector<int> out;
  for (const std::string& word : split(list, ',')) out.push_back(std::stoi(word));
  return out;
}

std::optional<Options> read(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      o.folder = word;
      continue;
    }
    if (++i == argc) return {};
    const std::string value = argv[i];
    if (word == "--latencies") {
      const std::vector<std::string> range = split(value, ':');
      if (range.size() != 3) return {};
      o.latencies.clear();
      for (int l = std::stoi(range[0]); l <= std::stoi(range[1]); l += std::stoi(range[2])) o.latencies.push_back(l);
    } else if (word == "--depths") {
      o.depths = numbers(value);
    } else if (word == "--spread") {
      o.spread = numbers(value);
    } else if (word == "--tiles") {
      o.tiles = split(value, ',');
    } else if (word == "--kernels-per-file") {
      o.per_file = std::stoi(value);
    } else {
      return {};
    }
  }
  if (o.folder.empty()) return {};
  return o;
}

void add_all(const Options& o, Sweep& sweep) {
  // The default first, so that it keeps its name; then what is no matter of the order: several tiles of K in an
  // iteration, and how the tiles of D follow one another.
  sweep.add(MmaSyncGemmConfig{});
  for (const int unroll : {2, 4}) sweep.add({.unroll = unroll});
  for (const int band : {4, 16}) sweep.add({.band = band});
  for (const Tile& t : kTiles) {
    if (!o.tiles.empty() && std::find(o.tiles.begin(), o.tiles.end(), tile_name(t)) == o.tiles.end()) continue;
    MmaSyncGemmConfig c{.tile_m = t.m, .tile_n = t.n, .warps_m = t.warps_m, .warps_n = t.warps_n};
    c.blocks_per_sm = t.blocks;
    for (const int depth : o.depths) {
      for (const int pieces : {1, 2, 4}) {
        for (const int parts : {1, 2, 4}) {
          for (const int spread : o.spread) {
            for (const int latency : o.latencies) {
              c.depth = depth;
              c.pieces = pieces;
              // The parts of the longer operand; the shorter has parts of the same size, at least one.
              c.copies_a = t.m >= t.n ? parts : std::max(1, parts / 2);
              c.copies_b = t.n >= t.m ? parts : std::max(1, parts / 2);
              c.spread = spread != 0;
              c.copy_latency = latency;
              sweep.add(c);
            }
          }
        }
      }
    }
  }
}

std::string number(int n) {
  char text[16];
  std::snprintf(text, sizeof text, "%03d", n);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = read(argc, argv);
  if (!options) {
    std::cerr << "usage: generate FOLDER [--latencies FIRST:LAST:STEP] [--depths LIST] [--spread LIST] [--tiles LIST] "
                 "[--kernels-per-file N]\n";
    return 2;
  }
  Sweep sweep;
  add_all(*options, sweep);
  std::ofstream file;
  for (size_t i = 0; i < sweep.orders.size(); ++i) {
    const std::string name = number(int(i) / options->per_file);
    if (int(i) % options->per_file == 0) {
      file = std::ofstream(options->folder + "/" + name + ".cu");
      file << "#include \"order.cuh\"\n";
    }
    file << sweep.sources[i];
    sweep.orders[i]["file"] = name + ".cubin";
  }
  std::ofstream(options->folder + "/orders.json")
      << json{{"configurations", sweep.configurations}, {"refused", sweep.refused}, {"orders", sweep.orders}}.dump(1)
      << "\n";
  std::cout << sweep.configurations << " configurations, " << sweep.refused << " refused, " << sweep.orders.size()
            << " different orders\n";
  return 0;
}
