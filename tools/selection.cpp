// selection: prints, as JSON, the library's data on algorithm selection: its version, this machine as tuning
// files name it, the algorithms of each operation, and the tuning file that a job started now would use. `headrace
// tune` and `headrace config` run it, so that they report the same data as the library itself would use.
#include <cstdio>

#include "base/json_writer.hpp"
#include "base/knobs.hpp"
#include "base/machine.hpp"
#include "coll/select/tuning.hpp"
#include "coll/select/tuning_file.hpp"

namespace {

using hr::JsonWriter;

void write_machine(JsonWriter* json) {
  const hr::Machine found = hr::this_machine();
  json->key("machine").begin_object().member("cpu", found.cpu).member("cpus", found.cpus);
  json->member("gpus", found.gpus).end_object();
}

void write_algorithms(JsonWriter* json) {
  json->key("algorithms").begin_object();
  for (int i = 0; i < hr::coll::kOperations; ++i) {
    const auto operation = static_cast<hr::coll::Operation>(i);
    json->key(hr::coll::name(operation)).begin_array();
    for (const hr::coll::Algorithm* each : hr::coll::algorithms()) {
      if ((each->operations & hr::coll::serves(operation)) == 0) continue;
      json->begin_object().member("name", each->name).member("devices", each->devices);
      json->member("shared", each->needs != hr::coll::Sharing::kNone).member("composes", each->composes).end_object();
    }
    json->end_array();
  }
  json->end_object();
}

void write_messages(JsonWriter* json) {
  const hr::TunedKnobs& tuned = hr::tuned_knobs();
  json->key("messages").begin_object().member("path", tuned.path).member("left_out", tuned.left_out);
  json->member("machine", hr::describe(hr::this_machine())).end_object();
}

void write_tuning_file(JsonWriter* json) {
  const hr::coll::tuning::File file = hr::coll::tuning::read();
  json->key("tuning_file").begin_object().member("path", file.path).member("found", file.found);
  json->member("problem", file.problem).member("rows", file.rows.size()).end_object();
}

}  // namespace

int main() {
  JsonWriter json;
  json.begin_object().member("version", hr::coll::tuning::version());
  write_machine(&json);
  write_algorithms(&json);
  write_messages(&json);
  write_tuning_file(&json);
  std::puts(json.end_object().text().c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
