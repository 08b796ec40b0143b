// The constructors of communicators (MPI 5.0 sections 7.4.2 and 7.6.2).
//
// All are collective over the members that the standard names, and make progress while they wait. An empty *result
// means MPI_COMM_NULL. A new communicator inherits the error handler of its parent (section 9.3). Errors that can be
// detected locally are returned before any message is sent; the other members are not notified, as in any MPI library.
#pragma once

#include "comm/communicator.hpp"
#include "p2p/request.hpp"

namespace hr::comm {

// MPI_Comm_dup (`hints` null) and MPI_Comm_dup_with_info: copies groups, topology and, with their copy callbacks,
// attributes, but neither hints nor name. If a copy callback fails, returns its code and creates no communicator.
Status dup(Communicator& comm, const Info* hints, Ref<Communicator>* result);
// MPI_Comm_idup: *result may be used when the request is complete. Attributes are copied before idup() returns.
Status idup(Communicator& comm, const Info* hints, Ref<Communicator>* result, p2p::Request** request);

// MPI_Comm_create. Errors: MPI_ERR_GROUP if the group is not part of the local group.
Status create(Communicator& comm, const Group& group, Ref<Communicator>* result);
// For the communicator that a window or a file has created for itself, in the collective call that frees it: it no
// longer connects processes of several jobs (section 11.10.4). Waits until those of other jobs have called this, too.
void end_connections(Communicator& comm);
// MPI_Comm_create_group. Errors: MPI_ERR_COMM for an intercommunicator, MPI_ERR_GROUP as above.
Status create_group(Communicator& comm, const Group& group, int tag, Ref<Communicator>* result);
// MPI_Comm_create_from_group. Errors: MPI_ERR_GROUP if this process is not in the group, MPI_ERR_ARG for a bad tag
// string.
Status create_from_group(const Group& group, const char* stringtag, const Info* hints, Errhandler& errhandler,
                         Ref<Communicator>* result);

// MPI_Comm_split. Errors: MPI_ERR_ARG for a negative color.
Status split(Communicator& comm, int color, int key, Ref<Communicator>* result);
// MPI_Comm_split_type: processes that share memory are those on one node. The guided types support the resource
// "mpi_shared_memory" (the resource-guided type also the sets mpi://WORLD and mpi://SELF). The unguided type splits
// into nodes if there are several, and writes that resource into `hints`. Errors: MPI_ERR_ARG for an unknown type.
Status split_type(Communicator& comm, int type, int key, Info* hints, Ref<Communicator>* result);

// MPI_Intercomm_create; `peer`, `remote_leader` and `tag` are significant only at the leader (`peer` may be null
// elsewhere). Errors: MPI_ERR_COMM for an intercommunicator or overlapping groups; MPI_ERR_RANK for a leader outside
// its communicator.
Status intercomm_create(Communicator& local, int local_leader, Communicator* peer, int remote_leader, int tag,
                        Ref<Communicator>* result);
// MPI_Intercomm_create_from_groups; `remote` and `remote_leader` are significant only at the leader (`remote` may be
// null elsewhere).
Status intercomm_create_from_groups(const Group& local, int local_leader, const Group* remote, int remote_leader,
                                    const char* stringtag, const Info* hints, Errhandler& errhandler,
                                    Ref<Communicator>* result);
// MPI_Intercomm_merge. Groups that pass the same `high` are ordered by their first process.
Status intercomm_merge(Communicator& comm, bool high, Ref<Communicator>* result);

// --- Topologies (chapter 8). Ranks are never reordered. Processes that are not in the grid or graph receive an empty
// *result. Errors: MPI_ERR_COMM for an intercommunicator ---

// Errors: MPI_ERR_DIMS if a dimension is not positive, or there are more nodes than processes.
Status cart_create(Communicator& comm, std::vector<int> dims, std::vector<bool> periods, Ref<Communicator>* result);
// Errors: MPI_ERR_TOPOLOGY if `comm` has no Cartesian topology.
Status cart_sub(Communicator& comm, const int* remain, Ref<Communicator>* result);
// Errors: MPI_ERR_ARG as for check_graph(), and if there are more nodes than processes.
Status graph_create(Communicator& comm, std::vector<int> index, std::vector<int> edges, Ref<Communicator>* result);
// Errors: MPI_ERR_RANK for a neighbor outside the communicator (such as MPI_PROC_NULL).
Status dist_graph_create_adjacent(Communicator& comm, DistGraph::Edges in, DistGraph::Edges out, bool weighted,
                                  const Info* hints, Ref<Communicator>* result);
// sources[i] has degrees[i] destinations; `weights` is empty unless `weighted`.
Status dist_graph_create(Communicator& comm, std::span<const int> sources, std::span<const int> degrees,
                         std::span<const int> destinations, std::span<const int> weights, bool weighted,
                         const Info* hints, Ref<Communicator>* result);

}  // namespace hr::comm
