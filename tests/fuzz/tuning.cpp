// The tuning file, and its rows as the processes of a job exchange them.
#include "coll/select/tuning.hpp"

#include "coll/select/tuning_file.hpp"
#include "driver.hpp"

using namespace hr::coll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hr::fuzz::text_of(data, size);
  hr::Machine machine;
  machine.cpu = "cpu";
  machine.cpus = 2;
  std::vector<SelectionRow> rows, back;
  if (tuning::parse(text, machine, &rows).ok()) {
    const std::string word = tuning::encode(rows);
    hr::fuzz::check(tuning::decode(word, &back).ok() && tuning::encode(back) == word, "rows change on their way");
  } else {
    hr::fuzz::check(!hr::take_detail().empty(), "no reason is given");
  }
  if (tuning::decode(text, &back).ok()) {
    (void)tuning::encode(back);
  } else {
    (void)hr::take_detail();
  }
  return 0;
}
