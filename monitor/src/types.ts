// The server's answers (python/headrace/monitor/answers.py).

export interface Job {
  id: number; key: string; program: string; size: number; began: number; seen: number; ended: number; known: number;
  calls: number; wait_ns: number; mpi_ns: number; sent: number; sent_bytes: number; received_bytes: number; hosts: string;
  user: string; command: string; batch: string; batch_job: string; batch_name: string; found: number;
}

/** Number of runs in the history, and of those that match the search. */
export interface Count { all: number; found: number; }

/** The rank that holds the others up: `rank` is null if it may be chance. */
export interface Slowest {
  rank: number | null; share: number; equal: number; points: number;
  host?: string; cpus?: string; gpu?: string; outside?: number; // data on the rank; `outside` is the share of its time outside MPI
  since?: number; until?: number; within?: number; goes_on?: boolean; earlier?: boolean; start?: boolean; // the interval that `share` and `outside` are about, else the chosen time; its ends may be off by `within` seconds
  calls?: Beside[]; waits_in?: string; // if asked for: what it did in that interval, and the function in which the others wait for it
}

/** The shares of time that a rank and, on average, the others spent in a function. */
export interface Beside { name: string; own: number; others: number; }

export interface RankRow {
  rank: number; pid: number; host: string; cpus: string; gpu: string; ended: number; seen: number; seconds: number;
  calls: number; mpi_ns: number; wait_ns: number; sent: number; sent_bytes: number; received: number; received_bytes: number;
  posted: number; unexpected: number; unexpected_bytes: number; cpu_ns?: number | null; memory?: number | null; // of its process; `memory`: the most, in bytes
}

export interface Matrix { size: number; metric: string; from: number[]; to: number[]; value: number[]; }

export interface Counter { name: string; count: number; bytes: number; ns: number; rank?: number; seconds?: number; ranks?: number; worst?: number | null;
  median?: number | null; p99?: number | null; durations?: [number, number][]; // nanoseconds; calls by the beginning of their class
}

export interface Timeline {
  time: number[]; seconds: number[]; least: number[]; mean: number[]; most: number[]; mpi: number[]; slowest: (number | null)[];
  messages: number[]; bytes: number[]; posted: number[]; unexpected: number[]; unexpected_bytes: number[];
}

export interface Mark { number: number; level: number; first: number; last: number; ranks: number; }

export interface Reporter { host: string; address: string; live: boolean; since: number; ranks: number; why: string; }

/** Bytes per second that a job's ranks on a node received from other nodes and sent to them; null if counters by peer were not read. */
export type Traffic = [number, number] | null;

/** A node, as the mean over a time; figures that were not read are null. Of the jobs on a node or a link, those with most bytes in its busier direction are first. */
export interface Node {
  host: string; silent: boolean; cpu: number | null; memory?: number | null; gpus: number; gpu: number | null; rx: number; tx: number; links: number; down: number;
  use: number | null; busiest: string; errors: number; discards: number; ranks: number; jobs: string[]; more_jobs: number; traffic: Traffic[];
}

export interface Cluster { from: number; to: number; left_out: number; nodes: Node[]; }

/** Rates are per second; `up` is the share of readings in which the link was up. */
export interface Link {
  host: string; kind: string; link: string; up: number | null; use: number | null; use_most: number | null; errors_most: number | null; rx: number | null; tx: number | null;
  packets: number | null; waits: number | null; discards: number | null; errors: number | null; retries: number | null; congestion: number | null; speed: number | null;
  jobs: string[]; more_jobs: number; traffic: Traffic[]; // with ranks on its host
}

/** A GPU; figures that were not read are null. `throttled` is the share of readings in which it was. Rates are bytes per second. */
export interface Gpu {
  host: string; gpu: number; busy: number | null; busy_most: number | null; memory: number | null; memory_most: number | null; throttled: number | null; temperature: number | null; power: number | null;
  nvlink_tx: number | null; nvlink_rx: number | null; pcie_tx: number | null; pcie_rx: number | null; ranks: { id: number; job: string; rank: number; alone: boolean }[]; more_ranks: number;
}

/** NUMA nodes of a host with their ranges of CPUs, and the number of the node of each GPU and link. */
export interface Inside { numa: { number: number; cpus: [number, number][] }[]; gpus: Record<string, number>; links: Record<string, number>; }

/** A switch; `switches` are connected to it. */
export interface Switch { name: string; hosts: string[]; switches: string[]; }

/** A rank on a node, and its bytes per second from and to other nodes. */
export interface User { id: number; job: string; program: string; user: string; batch: string; rank: number; cpus: string; gpu: string; received: number | null; sent: number | null; }

/** A result of a check of headrace doctor. */
export interface Finding { id: string; level: string; evidence: string; cost: string; remedy: string; check: string; }

/** A report of the checker, of `count` ranks. */
export interface Report { text: string; time: number; times: number; ranks: string; count: number; }

/** Ranks that ended without MPI_Finalize, seen at the same time. */
export interface Deaths { time: number; ranks: string; count: number; }

/** Counts per second of the most frequent counters of a kind. */
export interface Series { time: number[]; rates: Record<string, number[]>; left_out: number; }

/** Ranks with equal stacks. `inside`: the frames inside MPI, of one of them. */
export interface StackGroup {
  ranks: string; count: number; frames: string[]; inside: string[]; python: string[]; threads: number; why: string; now: { text: string; ranks: string }[]; more_now: number;
}

export interface Stacks { job: string; size: number; here: number; left_out: number; groups_left_out: number; missing: string[]; time: number; seconds: number; groups: StackGroup[]; }

/** Sums over the ranks of a node or of the cluster in `seconds`; `rank_seconds` is the time of the ranks that they cover. */
export interface Sums {
  from: number; to: number; jobs: number; ranks: number; seconds: number; rank_seconds: number; estimated: boolean;
  functions: { name: string; count: number; bytes: number; ns: number; job: string; most: number; jobs: number }[]; // `job` spends `most` of the nanoseconds
  sizes: { name: string; count: number }[]; operations: { name: string; count: number }[];
  buffers: { name: string; bytes: number; most: number; ranks: number }[]; // now, and the most in one process
  files: Files[]; lustre: { name: string; read: number; write: number; nodes: number }[];
}

/** Bytes per second of a job's processes: in system calls, and from and to storage. */
export interface Files { id: number; job: string; user: string; batch: string; ranks: number; read: number; written: number; from_storage: number; to_storage: number; }

export type Machine = Record<string, Record<string, [number[], number[]]>>;

/** A running job: its number of ranks, the number of those in each MPI function, and of those that wait for each rank. */
export interface Now { running: number; functions: Record<string, number>; waits_for: Record<string, number>; }

export interface News {
  round: number; details?: number; time?: number; period?: number; live: boolean; remarks: string[]; collector_seconds?: number;
  reporters?: Reporter[];
  jobs?: Record<string, Now>;
}
