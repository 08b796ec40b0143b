// Queries of the tool interface: categories, enumerations, sources and registrations of events.
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

void categories() {
  int changed = -7, count = -7, index = -7;
  CHECK_OK(MPI_T_category_changed(&changed));
  CHECK(changed >= 0);
  CHECK_OK(MPI_T_category_get_num(&count));
  CHECK(count > 0);
  std::string name(200, '\0');
  int length = static_cast<int>(name.size()), variables = -7, figures = -7, inner = -7, events = -7;
  CHECK_OK(MPI_T_category_get_info(0, name.data(), &length, nullptr, nullptr, &variables, &figures, &inner));
  CHECK(variables > 0 && figures > 0);
  CHECK_EQ(inner, 0);
  CHECK_OK(MPI_T_category_get_index(name.c_str(), &index));
  CHECK_EQ(index, 0);
  CHECK_OK(MPI_T_category_get_num_events(0, &events));
  CHECK(events > 0);
  const auto each_once = [](int number, int (*ask)(int, int, int*)) {
    std::vector<int> indices(static_cast<std::size_t>(number), -7);
    CHECK_OK(ask(0, number, indices.data()));
    std::vector<bool> seen(indices.size());
    for (const int i : indices) {
      CHECK(i >= 0 && i < number && !seen[static_cast<std::size_t>(i)]);
      seen[static_cast<std::size_t>(i)] = true;
    }
  };
  each_once(variables, MPI_T_category_get_cvars);
  each_once(figures, MPI_T_category_get_pvars);
  each_once(events, MPI_T_category_get_events);
  // The only output argument of these functions must not be null.
  for (auto* const number :
       {MPI_T_cvar_get_num, MPI_T_pvar_get_num, MPI_T_category_get_num, MPI_T_event_get_num, MPI_T_source_get_num}) {
    CHECK_EQ(number(nullptr), MPI_T_ERR_INVALID);
    int told = 0;
    CHECK_OK(number(&told));
    CHECK(told > 0);
  }
  CHECK_OK(MPI_T_category_get_categories(0, 0, nullptr));
  CHECK_EQ(MPI_T_category_get_categories(count, 0, nullptr), MPI_T_ERR_INVALID_INDEX);
}

// No variable has an enumeration.
void enumerations() {
  int count = 0, value = 0;
  CHECK_EQ(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &count, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE);
  CHECK_EQ(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE);
}

void hear(MPI_T_event_instance instance, MPI_T_event_registration, MPI_T_cb_safety, void* user_data) {
  auto* const at = static_cast<MPI_Count*>(user_data);
  MPI_Count time = -7, now = -7;
  CHECK_OK(MPI_T_event_get_timestamp(instance, &time));
  CHECK_OK(MPI_T_source_get_timestamp(0, &now));
  CHECK(time > 0 && now >= time);
  *at = time;
}

void dropped(MPI_Count, MPI_T_event_registration, int, MPI_T_cb_safety, void*) {}

void registrations() {
  int index = -7;
  CHECK_OK(MPI_T_event_get_index("HEADRACE_MESSAGE_MATCHED", &index));
  MPI_T_event_registration made;
  CHECK_OK(MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &made));
  MPI_Count at = 0;
  CHECK_OK(MPI_T_event_register_callback(made, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &at, hear));
  for (const bool of_callback : {false, true}) {
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(of_callback ? MPI_T_event_callback_get_info(made, MPI_T_CB_REQUIRE_NONE, &info)
                         : MPI_T_event_handle_get_info(made, &info));
    CHECK(info != MPI_INFO_NULL);
    CHECK_OK(of_callback ? MPI_T_event_callback_set_info(made, MPI_T_CB_REQUIRE_NONE, info)
                         : MPI_T_event_handle_set_info(made, info));
    CHECK_OK(MPI_Info_free(&info));
  }
  CHECK_OK(MPI_T_event_set_dropped_handler(made, dropped));
  const MPI_T_event_registration none = nullptr;
  CHECK_EQ(MPI_T_event_handle_set_info(none, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE);
  CHECK_EQ(MPI_T_event_callback_set_info(none, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE);
  CHECK_EQ(MPI_T_event_set_dropped_handler(none, dropped), MPI_T_ERR_INVALID_HANDLE);
  int out = 1, in = 0;
  CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(at > 0);
  CHECK_OK(MPI_T_event_handle_free(made, nullptr, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  {
    const check::Environment mpi(&argc, &argv);
    categories();
    enumerations();
    registrations();
  }
  CHECK_OK(MPI_T_finalize());
  return 0;
}
