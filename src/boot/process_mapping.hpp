// Mapping of ranks to nodes, from the value that PMI launchers publish as PMI_process_mapping.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hr::boot {

// Parses "(vector,(start,nodes,ranks_per_node),...)": from node `start` on, `nodes` nodes get `ranks_per_node`
// consecutive ranks each. The blocks repeat until every rank has its node. Returns nullopt if the string does not have
// that form.
std::optional<std::vector<int>> parse_process_mapping(std::string_view text, int ranks);
// Formats a placement as parse_process_mapping() reads it. Equal blocks of ranks on consecutive hosts, and round robin,
// need only one block.
std::string format_process_mapping(const std::vector<int>& node_of_rank);

}  // namespace hr::boot
