/* mpi-ext.h: Headrace's extensions of MPI 5.0, under the names that other MPI libraries use.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPI_EXT_H_HEADRACE
#define MPI_EXT_H_HEADRACE

#include "mpi.h"
#include "mpix-device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every buffer argument may point to CUDA memory. MPIX_Query_cuda_support() says whether a driver and a device are
 * present in this run; MPI need not be initialised. */
#define MPIX_CUDA_AWARE_SUPPORT 1
int MPIX_Query_cuda_support(void);
/* The same for AMD GPUs (HIP, from ROCm 5.2 on), under both names that programs use. */
#define MPIX_HIP_AWARE_SUPPORT 1
#define MPIX_ROCM_AWARE_SUPPORT 1
int MPIX_Query_hip_support(void);
int MPIX_Query_rocm_support(void);

/* gpu_type: one of these. Returns MPI_SUCCESS, or MPI_ERR_ARG for an unknown type. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2
#define MPIX_GPU_SUPPORT_ROCM MPIX_GPU_SUPPORT_HIP
int MPIX_GPU_query_support(int gpu_type, int* is_supported);

/* 16-bit floating point, with every operation that MPI_FLOAT has; rounded to nearest even after each one. The handles
 * are beyond those of the standard ABI, with the values that Intel MPI's ABI header gives them. */
#define MPIX_C_FLOAT16 ((MPI_Datatype)0x000002f8) /* _Float16, IEEE 754 binary16 */
#define MPIX_BFLOAT16 ((MPI_Datatype)0x000002f9)  /* the upper half of a float */
#define MPIX_C_BF16 MPIX_BFLOAT16

/* User-level failure mitigation: a job continues when one of its processes has failed (mpiexec --enable-recovery; see
 * docs/failures.md). Operations that depend on a failed process end with MPIX_ERR_PROC_FAILED. A receive from any
 * source that may be waiting for one is reported with MPIX_ERR_PROC_FAILED_PENDING and stays posted. Calls with a
 * revoked communicator end with MPIX_ERR_REVOKED, except the functions below and local ones. */
#define MPIX_HAVE_ULFM 1
#define MPIX_ERR_PROC_FAILED 101
#define MPIX_ERR_PROC_FAILED_PENDING 102
#define MPIX_ERR_REVOKED 103

/* Local: ends all communication on the communicator, here and at all its members. */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int* flag);
/* Collective over the survivors. *newcomm: their communicator. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request);
/* Collective over the survivors. *flag becomes the bitwise AND of all flags. If a survivor has not acknowledged a
 * failure, all of them get MPIX_ERR_PROC_FAILED, and *flag is still valid. */
int MPIX_Comm_agree(MPI_Comm comm, int* flag);
int MPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request);
/* Local. *failed: the members that this process knows to have failed, in the order in which it learned of them. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failed);
/* Local: acknowledges the first num_to_ack of them. *num_acked: the number acknowledged now. */
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked);
/* The same under former names: acknowledges all of them, and returns the group of the acknowledged ones. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed);

/* Makes an object that is passed to kernels by value, so that they can mark partitions as ready, or test them
 * (mpix-device.h; MPI 5.0 chapter 4). request: from MPI_Psend_init or MPI_Precv_init, not started; it owns the memory,
 * so *prequest is valid as long as the request. A kernel uses it between MPI_Start and the request's completion, for
 * which the host waits as usual. With CUDA, make the context current first. MPI_ERR_REQUEST for any other request. */
#define MPIX_HAVE_PREQUEST 1
int MPIX_Prequest_create(MPI_Request request, MPIX_Prequest* prequest);
/* Makes *prequest invalid; the request stays. */
int MPIX_Prequest_free(MPIX_Prequest* prequest);

/* Operations that start when a stream of a device reaches them, and for which the stream waits, not the program
 * (docs/streams.md). A communicator is given one stream; requests of MPI_Send_init and its siblings, of partitioned and
 * of persistent collective operations can be started by it, too. What is enqueued while the stream is captured belongs
 * to the CUDA graph and runs at each of its launches. The calls return at once; an error of an operation is returned by
 * the next of these calls on the communicator. The first ten functions work as in MPICH. */
#define MPIX_HAVE_STREAMS 1
typedef struct MPIX_ABI_Stream* MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0)

/* Sets an info value to the bytes of `value`, in hexadecimal digits. */
int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size);
/* info: "type" is cudaStream_t, "value" its handle (MPIX_Info_set_hex). MPI_INFO_NULL: a stream without a device. */
int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream);
int MPIX_Stream_free(MPIX_Stream* stream);
/* Collective. *newcomm: a copy of comm with this process's stream, which may be MPIX_STREAM_NULL. */
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm);
/* idx: 0. *stream: MPIX_STREAM_NULL if the communicator has none. */
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream);
/* Makes progress, on all streams. */
int MPIX_Stream_progress(MPIX_Stream stream);
/* Start and stop the thread that makes progress. A communicator with a stream of a device starts it in any case, and it
 * stays until MPI_Finalize. */
int MPIX_Start_progress_thread(MPIX_Stream stream);
int MPIX_Stop_progress_thread(MPIX_Stream stream);

/* The stream waits for the end of the operation. Buffers stay in use until then. */
int MPIX_Send_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPIX_Recv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status* status);
int MPIX_Allreduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm);
/* The stream continues without waiting; MPIX_Wait_enqueue makes it wait. */
int MPIX_Isend_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                       MPI_Request* request);
int MPIX_Irecv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Request* request);
/* Statuses are set before the stream continues; they must exist until then. */
int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status);
int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]);

/* Starts persistent requests of any kind when the communicator's stream reaches this call. MPIX_Wait_enqueue or
 * MPIX_Waitall_enqueue completes them; they stay for the next start. */
int MPIX_Startall_enqueue(int count, MPI_Request array_of_requests[], MPI_Comm comm);
/* MPIX_Startall_enqueue, followed by MPIX_Waitall_enqueue with MPI_STATUSES_IGNORE, in fewer driver calls. */
int MPIX_Runall_enqueue(int count, MPI_Request array_of_requests[], MPI_Comm comm);
/* Matches persistent messages and collective operations with those of the other processes, which must also call it.
 * Streams then execute those between devices of one host (messages of up to 4 MiB) without the host, and only the
 * _enqueue functions accept these requests. */
int MPIX_Matchall(int count, MPI_Request array_of_requests[]);

#ifdef __cplusplus
}
#endif

#endif /* MPI_EXT_H_HEADRACE */
