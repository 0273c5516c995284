// Lists of matrix products for `bench` and `tune`: written on the command line, or read from a file.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "choice/dense.h"
#include "cli/output.h"
#include "measure/draw.h"

namespace warpwright::cli {

// "MxNxK,MxNxK" of one type. Throws UsageError for what is not a size or cannot be served with this plan (empty: any).
std::vector<problem::GemmShape> shapes_of_sizes(const std::string& sizes, DType dtype, const std::string& plan);

// Tab-separated with a header that names at least op, dtype, groups, m, n and k. Rows that no kernel serves are skipped
// with a note; those a kernel could serve but for a bad number are a UsageError.
std::vector<problem::GemmShape> shapes_of_file(const std::string& path, const std::string& plan, Output& out);

// The column `plans` of such a file, where it has one: names joined by commas, of each dense problem as
// measure::basis_problem() writes it. Throws UsageError for a plan that does not serve its problem.
std::map<std::string, std::vector<std::string>> plans_of_file(const std::string& path);

// The same for products with blockwise scales and by groups: m is the rows of a group. Of a file, the rows whose
// operation is among `ops`.
std::vector<measure::GroupedCase> grouped_shapes_of_sizes(const std::string& sizes, Groups op, std::int64_t groups,
                                                          DType dtype);
std::vector<measure::GroupedCase> grouped_shapes_of_file(const std::string& path, const std::vector<Groups>& ops,
                                                         Output& out);
// A few of each operation, from a mixture of experts.
std::vector<measure::GroupedCase> usual_grouped_shapes(const std::vector<Groups>& ops);
// Drawn at random. Throws UsageError for a type that no kernel has for this operation.
std::vector<measure::GroupedCase> drawn_grouped_shapes(int count, std::uint64_t draw, Groups op, DType dtype);
// The same for several operations in turn, each with every type that it has.
std::vector<measure::GroupedCase> drawn_grouped_shapes(int count, std::uint64_t draw, const std::vector<Groups>& ops);

// Squares of 1024 to 8192.
std::vector<problem::GemmShape> square_shapes(DType dtype, const std::string& plan);

// The nearest number with this many decimal places: as a document shows a measurement.
double digits(double value, int places);

}  // namespace warpwright::cli
