// selection: prints, as JSON, the library's data on the choice of collectives: its version, this machine as tuning
// files name it, the algorithms of each operation, and the tuning file that a job started now would use. `headrace
// tune` and `headrace config` run it, so that they report what the library itself would.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/knobs.hpp"
#include "base/machine.hpp"
#include "coll/select/tuning.hpp"
#include "coll/select/tuning_file.hpp"

namespace {

using Json = nlohmann::ordered_json;

Json machine() {
  const hr::Machine found = hr::this_machine();
  return {{"cpu", found.cpu}, {"cpus", found.cpus}, {"gpus", found.gpus}};
}

Json algorithms() {
  Json all = Json::object();
  for (int i = 0; i < hr::coll::kOperations; ++i) {
    const auto operation = static_cast<hr::coll::Operation>(i);
    Json& names = all[hr::coll::name(operation)] = Json::array();
    for (const hr::coll::Algorithm* each : hr::coll::algorithms()) {
      if ((each->operations & hr::coll::serves(operation)) == 0) continue;
      names.push_back({{"name", each->name},
                       {"devices", each->devices},
                       {"shared", each->needs != hr::coll::Sharing::kNone},
                       {"composes", each->composes}});
    }
  }
  return all;
}

Json messages() {
  const hr::TunedKnobs& tuned = hr::tuned_knobs();
  return {{"path", tuned.path}, {"left_out", tuned.left_out}, {"machine", hr::describe(hr::this_machine())}};
}

Json tuning_file() {
  const hr::coll::tuning::File file = hr::coll::tuning::read();
  return {{"path", file.path}, {"found", file.found}, {"problem", file.problem}, {"rows", file.rows.size()}};
}

}  // namespace

int main() {
  const Json answer = {{"version", hr::coll::tuning::version()},
                       {"machine", machine()},
                       {"algorithms", algorithms()},
                       {"messages", messages()},
                       {"tuning_file", tuning_file()}};
  std::puts(answer.dump(1, ' ', true, Json::error_handler_t::replace).c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
