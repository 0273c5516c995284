#include "cli/check/shown.h"

#include <fmt/format.h>

#include <cstddef>

#include "cli/simulation.h"

namespace warpwright::cli {
namespace {

bool has_times(const CheckWork& work, const Checked& checked) {
  return work.example->instance.empty() && checked.verdict != "failed" && !checked.predicted_us.empty();
}

Json or_null(bool there, const Json& value) { return there ? value : Json(nullptr); }

}  // namespace

Json finding_document(const Checked& checked) {
  const simulator::Finding& f = checked.finding;
  if (f.rule.empty()) return nullptr;
  Json objects = Json::array();
  if (!f.object.empty()) objects.push_back(f.object);
  return {{"rule", f.rule},
          {"message", f.message},
          {"size", checked.failed_at},
          {"file", or_null(!f.file.empty(), f.file)},
          {"line", or_null(f.line > 0, f.line)},
          {"called_file", or_null(f.called_line > 0, f.called_file)},
          {"called_line", or_null(f.called_line > 0, f.called_line)},
          {"role", or_null(!f.role.empty(), f.role)},
          {"objects", objects},
          {"cta", or_null(f.cta >= 0, f.cta)},
          {"warp", or_null(f.warp >= 0, f.warp)},
          {"lane", or_null(f.lane >= 0, f.lane)},
          {"details", f.details},
          {"replay", f.mode.empty() ? Json(nullptr) : Json(fmt::format("{} --seed {}", f.mode, f.seed))}};
}

Json predicted_document(const CheckWork& work, const Checked& checked) {
  Json list = Json::array();
  if (!has_times(work, checked)) return list;
  for (std::size_t i = 0; i < work.cases.size(); ++i) {
    if (checked.predicted_us[i] > 0)
      list.push_back({{"size", shape_text(work.cases[i])}, {"us", checked.predicted_us[i]}});
  }
  return list;
}

void show_predicted(const std::vector<CheckWork>& work, const std::vector<Checked>& results, Output& out) {
  Table table({"kernel", "size", "predicted"});
  const CheckWork* last = nullptr;
  for (std::size_t k = 0; k < work.size(); ++k) {
    if (!has_times(work[k], results[k])) continue;
    for (std::size_t i = 0; i < work[k].cases.size(); ++i) {
      if (results[k].predicted_us[i] <= 0) continue;
      last = &work[k];
      table.row(
          {last->example->name, shape_text(last->cases[i]), fmt::format("{:.1f} us", results[k].predicted_us[i])});
    }
  }
  if (last == nullptr) return;
  out.line("");
  out.table(table);
  const Arch arch = last->example->arch;
  out.line(prediction_note({fmt::format("sim:{}", name(arch)), arch, true}));
}

}  // namespace warpwright::cli
