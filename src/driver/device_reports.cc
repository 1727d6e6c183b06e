#include "driver/device_reports.h"

#include "driver/executable.h"
#include "runtime/print_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright {

namespace {

struct Record {
  std::vector<int64_t> place;  // kernel, and the block's indices with the slowest first
  const ops::Report* report;
  std::span<const int64_t> cells;
};

std::vector<Record> records_in(const codegen::CudaModule& module, std::span<const int64_t> cells) {
  std::vector<Record> out;
  while (!cells.empty()) {
    const auto number = size_t(cells[0]);
    if (number >= module.reports.size()) break;  // behind the last one that fitted
    const ops::Report& report = module.reports[number];
    if (report.num_cells() + 1 > cells.size()) break;
    Record record{.place = {}, .report = &report, .cells = cells.subspan(1, report.num_cells())};
    size_t kernel = 0;
    while (kernel + 1 < module.entries.size() && module.entries[kernel + 1].first_report <= number) ++kernel;
    record.place.push_back(int64_t(kernel));
    for (size_t d = report.num_blocks; d-- > 0;) record.place.push_back(record.cells[d]);
    out.push_back(std::move(record));
    cells = cells.subspan(report.num_cells() + 1);
  }
  return out;
}

}  // namespace

int64_t report_capacity(const codegen::CudaModule& module) {
  constexpr int64_t kCells = int64_t(1) << 20;
  const bool prints = std::ranges::any_of(module.reports, [](const ops::Report& r) { return !r.is_assert; });
  return prints ? kCells : 0;
}

Error device_error(const codegen::CudaModule& module, const DeviceFailure& failure) {
  const codegen::CheckSite& site = module.sites[size_t(failure.site - 1)];
  if (site.report < 0) return failed_check(site, failure.at);
  const ops::Report& report = module.reports[size_t(site.report)];
  return report.error(std::vector<int64_t>(failure.at, failure.at + report.num_cells()));
}

void print_reports(const codegen::CudaModule& module, const DeviceFailure& failure, std::span<const int64_t> cells,
                   const PrintHook& on_print) {
  const bool all_fit = failure.used <= failure.capacity;
  std::vector<Record> records = records_in(module, cells.first(size_t(std::min(failure.used, failure.capacity))));
  std::ranges::stable_sort(records, {}, &Record::place);
  for (const Record& record : records) print_text(on_print, record.report->text(record.cells));
  if (all_fit) return;
  print_text(on_print, fmt::format("... more was printed than the {} bytes of memory for it hold\n",
                                   failure.capacity * sizeof(int64_t)));
}

}  // namespace tilewright
