// One-sided communication calls (MPI 5.0 section 12.3).
#include "bind/impl.hpp"
#include "rma/rma.hpp"

namespace hr::bind::impl {

using layout::Datatype;
using layout::Op;
using rma::Window;

Status put(const void* origin_addr, Count origin_count, Datatype& origin_datatype, int target_rank, Count target_disp,
           Count target_count, Datatype& target_datatype, Window& win) {
  return rma::put(origin_addr, origin_count, origin_datatype, {target_rank, target_disp, target_count, target_datatype},
                  win);
}

Status rput(const void* origin_addr, Count origin_count, Datatype& origin_datatype, int target_rank, Count target_disp,
            Count target_count, Datatype& target_datatype, Window& win, p2p::Request*& request) {
  return rma::put_any(origin_addr, origin_count, origin_datatype,
                      {target_rank, target_disp, target_count, target_datatype}, win, &request);
}

Status get(void* origin_addr, Count origin_count, Datatype& origin_datatype, int target_rank, Count target_disp,
           Count target_count, Datatype& target_datatype, Window& win) {
  return rma::get(origin_addr, origin_count, origin_datatype, {target_rank, target_disp, target_count, target_datatype},
                  win);
}

Status rget(void* origin_addr, Count origin_count, Datatype& origin_datatype, int target_rank, Count target_disp,
            Count target_count, Datatype& target_datatype, Window& win, p2p::Request*& request) {
  return rma::get_any(origin_addr, origin_count, origin_datatype,
                      {target_rank, target_disp, target_count, target_datatype}, win, &request);
}

Status accumulate(const void* origin_addr, Count origin_count, Datatype& origin_datatype, int target_rank,
                  Count target_disp, Count target_count, Datatype& target_datatype, Op& op, Window& win) {
  return rma::accumulate(origin_addr, origin_count, origin_datatype,
                         {target_rank, target_disp, target_count, target_datatype}, op, win);
}

Status raccumulate(const void* origin_addr, Count origin_count, Datatype& origin_datatype, int target_rank,
                   Count target_disp, Count target_count, Datatype& target_datatype, Op& op, Window& win,
                   p2p::Request*& request) {
  return rma::accumulate(origin_addr, origin_count, origin_datatype,
                         {target_rank, target_disp, target_count, target_datatype}, op, win, &request);
}

Status get_accumulate(const void* origin_addr, Count origin_count, Datatype* origin_datatype, void* result_addr,
                      Count result_count, Datatype& result_datatype, int target_rank, Count target_disp,
                      Count target_count, Datatype& target_datatype, Op& op, Window& win) {
  return rma::get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                             {target_rank, target_disp, target_count, target_datatype}, op, win);
}

Status rget_accumulate(const void* origin_addr, Count origin_count, Datatype* origin_datatype, void* result_addr,
                       Count result_count, Datatype& result_datatype, int target_rank, Count target_disp,
                       Count target_count, Datatype& target_datatype, Op& op, Window& win, p2p::Request*& request) {
  return rma::get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                             {target_rank, target_disp, target_count, target_datatype}, op, win, &request);
}

Status fetch_and_op(const void* origin_addr, void* result_addr, Datatype& datatype, int target_rank, Count target_disp,
                    Op& op, Window& win) {
  return rma::fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win);
}

Status compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr, Datatype& datatype,
                        int target_rank, Count target_disp, Window& win) {
  return rma::compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win);
}

}  // namespace hr::bind::impl
