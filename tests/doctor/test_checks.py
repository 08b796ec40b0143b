"""Each finding about the host, provoked: memory, limits, processors, software, network."""

import base64
import hashlib
import os
import struct
import unittest

from machine import GIB, INTERFACES, UNLIMITED, Failed, Interface, MachineTest, Space


class Healthy(MachineTest):
    def test_nothing_bites(self):
        self.assertEqual({id_: finding.evidence for id_, finding in self.findings().items()
                          if finding.level in ("warning", "error")}, {})
        for id_ in ("clock.fast", "cpus.all", "launch.remote", "limits.files-enough", "limits.locked-free", "network.choice",
                    "network.interface", "numa.huge-pages", "numa.nodes", "settings.known", "single-copy.works"):
            self.assert_found(id_, "ok")


class Shm(MachineTest):
    def test_missing(self):
        (self.root / "dev/shm").rmdir()
        self.assert_found("shm.missing", "error", "/dev/shm")

    def test_named_directory_is_missing(self):
        self.set(HEADRACE_SHM_DIR="/mnt/none")
        self.assert_found("shm.missing", "error", "/mnt/none")

    def test_room(self):
        for id_, level, size, free in (("shm.room", "ok", 8 * GIB, 4 * GIB), ("shm.small", "warning", 4 << 20, 4 << 20),
                                       ("shm.full", "warning", 8 * GIB, 4096), ("shm.nearly-full", "warning", 8 * GIB, GIB // 2)):
            with self.subTest(id=id_):
                self.facts.space = lambda path, size=size, free=free: Space(size, free)
                self.assert_found(id_, level)

    @unittest.skipIf(os.getuid() == 0, "root may write everywhere")
    def test_not_writable(self):
        (self.root / "dev/shm").chmod(0o555)
        self.assert_found("shm.not-writable", "error")

    def test_rings_are_longer_on_amd(self):
        self.assert_found("shm.room", "ok", "up to 7.5 MiB")
        self.write("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n")
        self.assert_found("shm.room", "ok", "up to 25.5 MiB")

    def test_left_over(self):
        self.write("/dev/shm/headrace.1234.0", "x" * 5000)
        self.assert_found("shm.left-over", "warning", "no process here has these files of jobs open: /dev/shm/headrace.1234.0 (1, ")
        self.write("/dev/shm/headrace.5.0")
        self.write("/proc/77/maps", "7f00-7f01 rw-s 00000000 00:1b 9    /dev/shm/headrace.1234.0\n")
        self.assertNotIn("1234", self.assert_found("shm.left-over", "warning").evidence)
        (self.root / "proc/78/fd").mkdir(parents=True)
        os.symlink("/dev/shm/headrace.5.0", self.root / "proc/78/fd/9")
        self.assert_not_found("shm.left-over")

    def test_files_of_others_are_left_alone(self):
        self.write("/dev/shm/headrace.1234.0")
        self.facts.user = os.getuid() + 1
        self.assert_not_found("shm.left-over")


class Cgroup(MachineTest):
    def test_version_2(self):
        self.write("/sys/fs/cgroup/job/memory.max", "max\n")
        self.write("/sys/fs/cgroup/memory.max", f"{2 * GIB}\n")  # the limit of a parent directory also counts
        self.write("/sys/fs/cgroup/job/cpu.max", "150000 100000\n")
        self.assert_found("cgroup.memory", "warning", "allows 2 GiB of the machine's 16 GiB")
        self.assert_found("cgroup.cpu", "warning", "the time of 1.5 CPUs")

    def test_much_of_the_memory(self):
        self.write("/sys/fs/cgroup/job/memory.max", f"{12 * GIB}\n")
        self.assert_found("cgroup.memory", "note")

    def test_version_1(self):
        self.write("/proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n")
        self.write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", f"{GIB}\n")
        self.write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n")
        self.write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n")
        self.assert_found("cgroup.memory", "warning", "memory.limit_in_bytes allows 1 GiB")
        self.assert_found("cgroup.cpu", "warning", "0.5 CPUs")

    def test_no_limits(self):
        self.write("/proc/self/cgroup", "4:memory:/box\n1:cpu:/\n")
        self.write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n")
        self.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        self.assert_found("cgroup.memory-free", "ok")
        self.assert_found("cgroup.cpu-free", "ok")


class Numa(MachineTest):
    def test_balancing(self):
        self.write("/proc/sys/kernel/numa_balancing", "1\n")
        self.assert_not_found("numa.balancing")
        self.write("/sys/devices/system/node/node1/cpulist", "")
        self.assert_found("numa.balancing", "warning", "2 NUMA nodes")

    def test_huge_pages(self):
        pages = "/sys/kernel/mm/transparent_hugepage"
        self.write(f"{pages}/enabled", "always madvise [never]\n")
        self.assert_found("numa.huge-pages-never", "note")
        self.write(f"{pages}/enabled", "[always] madvise never\n")
        self.write(f"{pages}/defrag", "[always] defer never\n")
        self.assert_found("numa.huge-pages-stall", "note")


class Limits(MachineTest):
    def test_locked(self):
        self.facts.locked = (65536, UNLIMITED)
        self.assert_found("limits.locked-unused", "ok", "64 KiB")
        self.rdma("mlx5_0")
        self.assertIn("ulimit -l unlimited", self.assert_found("limits.locked", "warning", "mlx5_0").remedy)
        self.facts.locked = (65536, 65536)
        self.assertIn("limits.conf", self.assert_found("limits.locked", "warning").remedy)

    def test_files(self):
        self.facts.files = (80, 2000)
        self.assertIn("ulimit -n 2000", self.assert_found("limits.files", "warning", "80 files").remedy)
        self.facts.files = (256, 256)
        self.assertIn("limits.conf", self.assert_found("limits.files-few", "note").remedy)


    def test_address_space(self):
        self.assert_found("limits.space-free", "ok")
        self.facts.address_space = (4 << 30, UNLIMITED)
        self.assertIn("ulimit -v unlimited", self.assert_found("limits.space", "warning", "4 GiB").remedy)
        self.facts.address_space = (256 << 20, 256 << 20)
        self.assertIn("limits.conf", self.assert_found("limits.space-none", "error", "256 MiB").remedy)
        self.facts.address_space = (64 << 30, UNLIMITED)
        self.assert_found("limits.space-some", "note", "64 GiB")
        self.write("/proc/driver/nvidia/gpus/0/information")
        self.assert_found("limits.space", "warning", "64 GiB")

    def test_stack(self):
        self.assert_found("limits.stack-enough", "ok", "8 MiB")
        self.facts.stack = (64 << 10, 64 << 10)
        self.assertIn("limits.conf", self.assert_found("limits.stack", "warning", "64 KiB").remedy)

    def test_file_size(self):
        self.assert_found("limits.file-size-free", "ok")
        self.facts.file_size = (1 << 20, UNLIMITED)
        self.assertIn("ulimit -f unlimited", self.assert_found("limits.file-size", "warning", "1 MiB").remedy)
        self.facts.file_size = (1 << 30, UNLIMITED)
        self.assert_found("limits.file-size-some", "note", "1 GiB")


class SingleCopy(MachineTest):
    def test_refused(self):
        self.facts.try_single_copy = lambda: "Operation not permitted"
        self.write("/proc/self/status", "Seccomp:\t2\n")
        self.assertIn("seccomp", self.assert_found("single-copy.refused", "warning", "Operation not permitted").remedy)
        self.write("/proc/sys/kernel/yama/ptrace_scope", "2\n")
        self.assertIn("ptrace_scope", self.assert_found("single-copy.refused", "warning", "ptrace_scope is 2").remedy)

    def test_off(self):
        self.set(HEADRACE_SHM_SINGLE_COPY="off")
        self.assertIn("single-copy.off", self.findings())


class Cpus(MachineTest):
    def test_narrowed(self):
        self.facts.affinity = frozenset({0, 1, 3})
        self.assert_found("cpus.narrowed", "warning", "3 of 4 CPUs: 0-1,3")
        self.set(SLURM_JOB_ID="7")
        self.assert_found("cpus.allocation", "note")

    def test_not_told(self):
        self.facts.asked_affinity = None
        self.assert_found("cpus.not-told", "warning", "sched_getaffinity")

    def test_threads(self):
        for cpu in range(4):
            self.write(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{cpu % 2},{cpu % 2 + 2}\n")
        self.assert_found("cpus.smt", "note", "the threads of 2 cores")

    def test_governor(self):
        self.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
        self.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n")
        self.assert_found("cpus.governor", "warning", "powersave (acpi-cpufreq)")
        self.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n")
        self.assert_found("cpus.governor-follows", "note")
        self.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
        self.assert_found("cpus.governor-fast", "ok")



class Distance(MachineTest):
    """Two NUMA nodes of two CPUs each; this process may use those of the first."""

    def setUp(self):
        super().setUp()
        self.write("/sys/devices/system/node/node0/cpulist", "0-1")
        self.write("/sys/devices/system/node/node1/cpulist", "2-3")
        self.facts.affinity = frozenset((0, 1))
        self.device("0000:17:00.0", 0)

    def device(self, address, node, class_="0x030200", vendor="0x10de"):
        for name, text in (("vendor", vendor), ("class", class_), ("numa_node", str(node))):
            self.write(f"/sys/bus/pci/devices/{address}/{name}", text)

    def card(self, name, node):
        self.rdma(name)
        self.write(f"/sys/class/infiniband/{name}/device/numa_node", str(node))

    def test_near(self):
        self.device("0000:c1:00.0", 0, class_="0x038000", vendor="0x1002")  # an Instinct
        self.device("0000:99:00.0", 1, vendor="0x8086")  # this is not an NVIDIA GPU
        self.device("0000:9a:00.0", 1, class_="0x020000")  # a network card
        self.card("mlx5_0", 0)
        self.assert_found("distance.near", "ok", "2 GPUs and 1 RDMA devices")

    def test_far(self):
        self.device("0000:b1:00.0", 1)
        self.assert_found("distance.gpu-far", "warning", "GPU 0000:b1:00.0 is at NUMA node 1, and this process may use CPUs of node 0 alone")
        self.card("mlx5_0", 1)
        self.assert_found("distance.nic-far", "warning", "mlx5_0 is at NUMA node 1")
        self.assert_found("distance.gpu-without-nic", "note", "0000:17:00.0")
        self.card("mlx5_1", 0)
        self.assert_not_found("distance.nic-far")

    def test_unknown(self):
        self.card("mlx5_0", -1)
        self.assert_found("distance.unknown", "note", "2 NUMA nodes these are: mlx5_0")


class Clock(MachineTest):
    def test_slow_source(self):
        self.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
        self.assert_found("clock.slow", "warning", "hpet")

    def test_virtual_and_container(self):
        self.write("/proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n")
        self.write("/.dockerenv")
        self.assert_found("clock.virtual", "note")
        self.assert_found("clock.container", "note", "/.dockerenv")


class OtherMpi(MachineTest):
    def test_first_in_path(self):
        self.program("/opt/openmpi/bin/mpicc")
        self.program("/opt/openmpi/bin/mpiexec")
        self.set(PATH="/opt/openmpi/bin:/headrace/bin:/usr/bin")
        self.assertIn("/headrace/bin first", self.assert_found("mpi.other-mpicc", "warning", "/opt/openmpi/bin/mpicc").remedy)
        self.assert_found("mpi.other-mpiexec", "warning", "comes after it")

    def test_none_and_another_headrace(self):
        self.set(PATH="/usr/bin")
        self.assert_found("mpi.no-mpicc", "note")
        self.program("/old/bin/mpicc", "HEADRACE_")
        self.set(PATH="/old/bin:/headrace/bin:/usr/bin")
        self.assert_found("mpi.second-mpicc", "note", "another Headrace")

    def test_library_first_for_the_loader(self):
        self.write("/opt/mpich/lib/libmpi.so.12", "theirs")
        self.write("/headrace/lib/libmpi.so.12", "HEADRACE_")
        self.set(LD_LIBRARY_PATH="/headrace/lib:/opt/mpich/lib")
        self.assert_not_found("mpi.other-libmpi")
        self.set(LD_LIBRARY_PATH="/opt/mpich/lib:/headrace/lib")
        self.assert_found("mpi.other-libmpi", "warning", "/opt/mpich/lib/libmpi.so.12")

    def test_variables(self):
        self.set(OMPI_MCA_btl="tcp", I_MPI_ROOT="/opt/intel", I_MPI_PIN_DOMAIN="core", PMI_RANK="3", LD_PRELOAD="/x/libmpi.so")
        self.assert_found("mpi.variables-open-mpi", "note", "OMPI_MCA_btl")
        self.assertNotIn("I_MPI_ROOT", self.assert_found("mpi.variables-intel-mpi", "note").evidence)
        self.assert_found("mpi.inside-a-job", "warning", "PMI_RANK")
        self.assert_found("mpi.preload", "warning", "/x/libmpi.so")

    def test_counterparts_of_variables(self):
        self.set(OMPI_MCA_btl_tcp_if_include="eth0", OMPI_MCA_odls_base_x="1", MPIR_CVAR_ASYNC_PROGRESS="1", MV2_USE_CUDA="1",
                 I_MPI_ADJUST_ALLREDUCE="2", FI_PROVIDER="verbs", MPICH_CC="gcc", OMPI_CC="gcc", MV2_COMM_WORLD_RANK="0",
                 OMPI_COMM_WORLD_LOCAL_RANK="0")
        for owner, remedies in (("open-mpi", ("OMPI_MCA_btl_tcp_if_include: HEADRACE_NETWORK_DEVICES", "no counterpart: OMPI_MCA_odls_base_x")),
                                ("mpich", ("MPIR_CVAR_ASYNC_PROGRESS: HEADRACE_PROGRESS_THREAD",)),
                                ("mvapich", ("MV2_USE_CUDA: HEADRACE_CUDA",)), ("intel-mpi", ("HEADRACE_COLL_FORCE",)),
                                ("libfabric", ("FI_PROVIDER: HEADRACE_OFI_PROVIDER",))):
            with self.subTest(owner):
                finding = self.assert_found(f"mpi.variables-{owner}", "note")
                for remedy in remedies:
                    self.assertIn(remedy, finding.remedy)
                self.assertNotIn("_CC", finding.evidence)
                self.assertNotIn("COMM_WORLD", finding.evidence)  # mpiexec sets them


class Settings(MachineTest):
    def test_no_such(self):
        self.set(HEADRACE_EAGER_BYTE="1", HEADRACE_FC="gfortran", HEADRACE_VERBOSE="1")
        self.assertIn("HEADRACE_EAGER_BYTES", self.assert_found("settings.no-such", "warning", "HEADRACE_EAGER_BYTE is").remedy)

    def test_the_library_complains(self):
        self.set(HEADRACE_EAGER_BYTES="banana", HEADRACE_EAGER_BYTE="1")
        self.answers["--config"] = "[headrace] HEADRACE_EAGER_BYTES: \"banana\" is not a size\n" + self.answers["--config"]
        self.assert_found("settings.refused", "warning", "banana")
        self.assert_found("settings.no-such", "warning", "HEADRACE_EAGER_BYTE is")

    def test_old_name(self):
        self.set(HEADRACE_SHM_SHUTTLES="2")
        said = "[headrace] HEADRACE_SHM_SHUTTLES: shm_shuttles is called shm_exchange_buffers now; the old name is accepted\n"
        self.answers["--config"] = said + self.answers["--config"]
        self.assert_found("settings.renamed", "note", "shm_exchange_buffers")
        self.assert_not_found("settings.no-such")

    def test_mpiexec(self):
        self.answers["--config"] = Failed("exit code 127: libhwloc.so.15: cannot open shared object file")
        self.assert_found("settings.mpiexec-fails", "warning", "libhwloc")
        self.facts.prefix = None
        self.assert_found("settings.unknown-installation", "note")


class Launchers(MachineTest):
    def test_slurm(self):
        self.set(SLURM_JOB_ID="7", SLURM_JOB_NODELIST="n[1-4]", SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="4")
        self.assert_found("launch.no-srun", "error", "Slurm job 7")
        self.assert_found("launch.slurm-without-pmi", "warning", "one of 4 tasks")
        self.program("/usr/bin/srun")
        self.assert_found("launch.slurm-job", "ok", "n[1-4]")
        del self.facts.environment["SLURM_JOB_ID"]
        self.assert_found("launch.slurm", "ok")

    @unittest.skipIf(os.getuid() == 0, "root may read everywhere")
    def test_a_directory_of_the_path_is_closed(self):
        self.program("/closed/bin/srun")
        (self.root / "closed").chmod(0)
        self.addCleanup((self.root / "closed").chmod, 0o755)
        self.set(PATH="/closed/bin:/headrace/bin:/usr/bin", LD_LIBRARY_PATH="/closed/lib")
        self.assert_found("launch.remote", "ok")
        self.assert_found("mpi.mpicc", "ok")

    def test_pmix(self):
        self.program("/usr/bin/prterun")
        self.assert_found("launch.pmix", "ok")
        self.answers["libpmix.so.2"] = Failed("OSError")
        self.assert_found("launch.no-pmix", "note")
        self.set(PMIX_NAMESPACE="x")
        self.assert_found("launch.no-pmix", "warning", "libpmix.so.2")

    def test_ssh(self):
        (self.root / "usr/bin/ssh").unlink()
        self.assert_found("launch.no-ssh", "note")
        self.set(HEADRACE_LAUNCHER="rsh -x")
        self.assert_found("launch.no-launcher", "error", "rsh")

    def test_pbs_and_others(self):
        self.program("/usr/bin/mpiexec.hydra")
        self.set(PBS_NODEFILE="/var/nodes")
        self.assert_found("launch.no-nodefile", "error", "/var/nodes")
        self.write("/var/nodes", "a\n")
        self.assert_found("launch.pbs-job", "ok")
        self.assert_found("launch.others", "ok", "mpiexec.hydra")


def not_there(name):
    failed = Failed("exit code 1")
    failed.said = f"Traceback\nOSError: {name}: cannot open shared object file"
    return failed


class Network(MachineTest):
    """Which transport a job uses between hosts, as the library decides it."""

    def assert_choice(self, transport, why, **variables):
        with self.subTest(transport=transport, why=why, **variables):
            before = dict(self.facts.environment)
            self.set(**variables)
            self.assert_found("network.choice", "ok", f"go by {transport}: {why}")
            self.facts.environment = before

    def test_tcp_alone(self):
        self.assert_choice("TCP, without a library", "this host has no other network, and no setting selects a library")
        self.assert_choice("TCP, without a library", "this host has no other network", UCX_LOG_LEVEL="info", HEADRACE_RMA_NETWORK="auto",
                           HEADRACE_UCX_DIR="", HEADRACE_OFI_PROVIDER="", HEADRACE_NETWORK="auto", HEADRACE_TRANSPORTS="auto")

    def test_settings_that_one_library_heeds(self):
        for variable in ("HEADRACE_RMA_NETWORK", "HEADRACE_DEVICE_NETWORK_DIRECT"):
            self.assert_choice("UCX", f"{variable} is on", **{variable: "on"})
        self.assert_choice("libfabric", "HEADRACE_OFI_PROVIDER is set", HEADRACE_OFI_PROVIDER="tcp", HEADRACE_RMA_NETWORK="on")

    def test_variables_of_environment_modules_select_nothing(self):
        for variable, value in (("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "eth0")):
            self.assert_choice("TCP, without a library", "this host has no other network", **{variable: value})

    def test_an_adapter_without_an_active_port(self):
        self.write("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n")
        self.write("/sys/class/infiniband/mlx5_0/ports/2/state", "2: INIT\n")
        self.write("/sys/class/infiniband/efa_0/ports/1/state", "1: DOWN\n")
        self.write("/sys/class/infiniband/mlx5_1/x")
        self.assert_choice("TCP, without a library", "this host has no other network")
        self.assert_not_found("network.adapter-unusable")
        self.write("/sys/class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n")
        self.assert_choice("TCP, without a library", "mlx5_0 cannot be used: there is no device file for it")
        self.write("/sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0\n")
        self.assert_choice("TCP, without a library", "mlx5_0 cannot be used: /dev/infiniband/uverbs3 cannot be opened: No such file")
        self.assert_found("network.adapter-unusable", "note", "uverbs3")
        self.write("/dev/infiniband/uverbs3")
        self.assert_choice("UCX", "this host has mlx5_0")
        self.assert_not_found("network.adapter-unusable")

    def test_a_directory_selects_no_library(self):
        self.assert_choice("TCP, without a library", "this host has no other network", HEADRACE_UCX_DIR="/ucx/lib", HEADRACE_OFI_DIR="/lib")

    def test_settings_that_choose(self):
        self.rdma("mlx5_0")
        for name, shown in (("tcp", "TCP, without a library"), ("ucx", "UCX"), ("ofi", "libfabric")):
            self.assert_choice(shown, f"HEADRACE_NETWORK is {name}", HEADRACE_NETWORK=name)
            self.assert_choice(shown, f"HEADRACE_TRANSPORTS is self,shm,{name}", HEADRACE_TRANSPORTS=f"self,shm,{name}")

    def test_networks_of_the_host(self):
        self.rdma("mlx5_0")
        self.assert_choice("UCX", "this host has mlx5_0")
        self.write("/sys/class/cxi/cxi0/x")
        self.assert_choice("UCX", "this host has mlx5_0")
        self.write("/dev/cxi0")
        self.assert_choice("libfabric", "this host has cxi0")
        self.answers["libfabric.so.1"] = not_there("libfabric.so.1")
        self.assert_choice("UCX", "libfabric cannot be used, although this host has cxi0")
        self.answers["-c"] = "found 1.13.1 /usr/lib/libucp.so.0\n"
        self.assert_choice("TCP, without a library", "libfabric cannot be used, although this host has cxi0")

    def test_libraries_alone(self):
        self.assert_choice("libfabric", "HEADRACE_TRANSPORTS is self,ucx,ofi", HEADRACE_TRANSPORTS="self,ucx,ofi")
        self.answers["libfabric.so.1"] = not_there("libfabric.so.1")
        self.assert_choice("UCX", "HEADRACE_TRANSPORTS is self,ucx,ofi", HEADRACE_TRANSPORTS="self,ucx,ofi")
        self.answers["-c"] = not_there("libucp.so.0")
        self.assert_choice("libfabric", "HEADRACE_TRANSPORTS is self,ucx,ofi", HEADRACE_TRANSPORTS="self,ucx,ofi")

    def test_none(self):
        for variables in ({"HEADRACE_TRANSPORTS": "self,shm"}, {"HEADRACE_TRANSPORTS": "self,shm,ucx", "HEADRACE_NETWORK": "tcp"}):
            self.set(**variables)
            self.assert_found("network.none", "warning")
            self.assert_not_found("network.choice")


class TcpInterface(MachineTest):
    """The interface over TCP, as the library chooses it."""

    def interfaces(self, *others):
        self.facts.interfaces = lambda: [*INTERFACES, *others]

    def test_the_only_one(self):
        self.assertEqual(self.assert_found("network.interface", "ok").evidence, "ranks use eth0 (10.0.0.5)")

    def test_hardware_then_ipv4_then_speed(self):
        self.interfaces(Interface("br0", "10.0.1.1"), Interface("eth1", "fd00::1"), Interface("eth2", "10.0.2.1"), Interface("eth3", "10.0.3.1"))
        self.assert_found("network.interface", "ok", "ranks use eth0 (10.0.0.5), rather than br0, eth1, eth2, eth3; HEADRACE_NETWORK_DEVICES")
        self.write("/sys/class/net/br0/speed", "400000\n")
        self.assert_found("network.interface", "ok", "ranks use br0 (10.0.1.1, 400 Gbit/s)")
        self.write("/sys/class/net/eth1/device/x")
        self.write("/sys/class/net/eth1/speed", "100000\n")
        self.assert_found("network.interface", "ok", "ranks use eth1 (fd00::1, 100 Gbit/s)")
        for name, speed in (("eth2", "-1"), ("eth3", "25000")):
            self.write(f"/sys/class/net/{name}/device/x")
            self.write(f"/sys/class/net/{name}/speed", f"{speed}\n")
        self.assert_found("network.interface", "ok", "ranks use eth3 (10.0.3.1, 25 Gbit/s)")

    def test_carrier_first(self):
        self.write("/sys/class/net/eth1/device/x")
        self.interfaces(Interface("eth1", "10.0.1.1", running=False))
        self.assert_found("network.interface", "ok", "ranks use eth0")

    def test_a_bond_leads_to_hardware(self):
        self.interfaces(Interface("docker0", "172.17.0.1"), Interface("bond0.7", "10.0.7.1"))
        self.write("/sys/class/net/docker0/lower_veth1/x")
        self.write("/sys/class/net/bond0.7/lower_bond0/x")
        self.write("/sys/class/net/bond0/lower_eth8/x")
        self.write("/sys/class/net/eth8/device/x")
        self.assert_found("network.interface", "ok", "ranks use bond0.7 (10.0.7.1)")

    def test_devices(self):
        self.set(HEADRACE_NETWORK_DEVICES="mlx5_0:1,eth0")
        self.assert_found("network.interface-chosen", "note", "HEADRACE_NETWORK_DEVICES is mlx5_0:1,eth0: ranks use eth0 (10.0.0.5)")
        self.set(HEADRACE_NETWORK_DEVICES="eth7")
        self.assert_found("network.no-such-interface", "error", "is eth7; interfaces that are up and have an address: lo, eth0")
        self.set(HEADRACE_NETWORK_DEVICES="lo")
        self.assert_found("network.interface-chosen", "note", "ranks use lo (127.0.0.1)")

    def test_loopback_alone(self):
        self.facts.interfaces = lambda: INTERFACES[:1]
        self.assert_found("network.no-interface", "note", "there is: lo")
        self.facts.interfaces = list
        self.assert_found("network.no-interface", "note", "there is: none")

    def test_libraries_choose_for_themselves(self):
        self.set(HEADRACE_NETWORK="ucx", HEADRACE_NETWORK_DEVICES="eth7")
        self.assert_not_found("network.no-such-interface")
        self.assert_found("ucx.no-such-device", "error", "HEADRACE_NETWORK_DEVICES names eth7; there is eth0, lo")


class Ucx(MachineTest):
    def test_found(self):
        self.assert_found("ucx.found", "ok", "UCX 1.22.0 in /ucx/lib; network transports: tcp (eth0, lo)")

    def test_missing(self):
        self.answers["-c"] = not_there("libucp.so.0")
        self.set(SLURM_JOB_NUM_NODES="4")
        self.assert_found("ucx.absent", "ok", "libucp.so.0: cannot open")
        self.set(HEADRACE_RMA_NETWORK="on")
        self.assertIn("go by TCP", self.assert_found("ucx.missing", "note", "HEADRACE_RMA_NETWORK is on").cost)
        self.rdma("mlx5_0")
        self.assert_found("ucx.missing", "note", "this host has mlx5_0")
        self.set(HEADRACE_UCX_DIR="/opt/ucx/lib")
        self.assertIn("HEADRACE_UCX_DIR is set without effect: messages to other hosts go by TCP", self.assert_found("ucx.missing", "warning").cost)
        self.set(HEADRACE_NETWORK="ucx")
        self.assert_found("ucx.missing", "error")

    def test_missing_where_libfabric_has_the_devices(self):
        self.answers["-c"] = not_there("libucp.so.0")
        self.rdma("rdmap0s6")
        self.assert_found("ucx.absent", "ok")

    def test_old(self):
        self.set(HEADRACE_NETWORK="ucx")
        for version in ("1.9.0", "1.13.1"):
            self.answers["-c"] = f"found {version} /usr/lib/libucp.so.0\n"
            self.assert_found("ucx.old", "error", version)
        self.set(HEADRACE_NETWORK="auto")
        self.assert_found("ucx.absent", "ok", "1.13.1")
        self.rdma("mlx5_0")
        self.assert_found("ucx.old", "note", "mlx5_0")

    def test_no_tool(self):
        self.answers["-d"] = Failed("ucx_info cannot be started")
        self.assert_found("ucx.found", "ok", "were not listed")

    def test_tcp_alone(self):
        self.rdma("mlx5_0")
        self.assertIn("HEADRACE_NETWORK=tcp", self.assert_found("ucx.tcp-alone", "error", "mlx5_0").remedy)
        self.set(UCX_TLS="all")
        self.assert_found("ucx.tcp-alone", "warning", "mlx5_0")
        del self.facts.environment["UCX_TLS"]
        self.set(HEADRACE_NETWORK="ucx")
        self.assert_found("ucx.tcp-alone", "warning", "mlx5_0")

    def test_variables(self):
        self.set(HEADRACE_NETWORK="ucx")
        self.set(UCX_NET_DEVICES="mlx5_7:1", UCX_TLS="rc,self")
        self.assert_found("ucx.no-such-device", "error", "mlx5_7:1; there is eth0, lo")
        self.assert_found("ucx.no-network-left", "error", "none of tcp")
        self.set(UCX_NET_DEVICES="eth0", UCX_TLS="^tcp")
        self.assert_found("ucx.devices-chosen", "note")
        self.assert_found("ucx.no-network-left", "error")
        self.set(UCX_TLS="tcp,self")
        self.assert_found("ucx.transports-chosen", "note")

    def test_variables_of_a_library_that_is_not_used(self):
        self.set(UCX_NET_DEVICES="mlx5_7:1", UCX_TLS="rc,self", HEADRACE_NETWORK="tcp")
        for id_ in ("ucx.no-such-device", "ucx.no-network-left", "ucx.transports-chosen"):
            self.assert_not_found(id_)


class Ofi(MachineTest):
    def missing(self):
        self.answers["libfabric.so.1"] = not_there("libfabric.so.1")

    def test_found(self):
        self.assert_found("ofi.found", "ok", "libfabric 1.20 in /lib/libfabric.so.1")

    def test_missing(self):
        self.missing()
        self.assert_found("ofi.absent", "ok", "libfabric.so.1: cannot open")
        self.set(HEADRACE_OFI_DIR="/opt/lib")
        self.answers["-c"] = not_there("libfabric.so.1")
        self.assertIn("HEADRACE_OFI_DIR is set without effect", self.assert_found("ofi.missing", "warning").cost)
        self.set(HEADRACE_NETWORK="ofi")
        self.assert_found("ofi.missing", "error", "libfabric.so.1: cannot open")

    def test_versions(self):
        self.answers["libfabric.so.1"] = "found 1.8 /lib/libfabric.so.1\n"
        self.assert_found("ofi.absent", "ok", "1.8")
        self.set(HEADRACE_OFI_PROVIDER="tcp")
        self.assert_found("ofi.old", "warning", "1.8")
        self.set(HEADRACE_NETWORK="ofi")
        self.assert_found("ofi.old", "error", "1.8")
        self.answers["libfabric.so.1"] = "found 1.17 /lib/libfabric.so.1\n"
        self.assert_found("ofi.slow-start", "note", "1.17")

    def test_own_network(self):
        self.write("/sys/class/cxi/cxi0/x")
        self.write("/dev/cxi0")
        self.assert_not_found("ofi.own-network")
        self.missing()
        self.assertIn("go by TCP", self.assert_found("ofi.own-network", "note", "cxi0").cost)


class Listening(MachineTest):
    def rank(self, process, *sockets, maps="/lib/libmpi_abi.so.1\n/lib/libucp.so.0\n"):
        self.write(f"/proc/{process}/maps", maps)
        self.write(f"/proc/{process}/comm", "solver\n")
        folder = self.root / f"proc/{process}/fd"
        folder.mkdir()
        for number, inode in enumerate(sockets):
            (folder / str(number)).symlink_to(f"socket:[{inode}]")

    def table(self, process, name, *rows):
        lines = (f"   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000  0 {inode} 1"
                 for local, state, inode in rows)
        self.write(f"/proc/{process}/net/{name}", "\n".join(["  sl  local_address ...", *lines]) + "\n")

    def test_configuration_over_tcp(self):
        found = self.assert_found("listening.would", "note", "on the address 10.0.0.5 of eth0")
        self.assertIn("must prove that it knows a key", found.cost)
        self.set(HEADRACE_NETWORK_DEVICES="lo")
        self.assert_found("listening.would-not", "ok")
        self.set(HEADRACE_TRANSPORTS="self,shm")
        self.assert_found("listening.would-not", "ok")

    def test_configuration_over_ucx(self):
        self.set(HEADRACE_NETWORK="ucx")
        found = self.assert_found("listening.would", "note", "the addresses of eth0")
        self.assertIn("read and write the memory", found.cost)
        for variables in ({"UCX_NET_DEVICES": "lo"}, {"HEADRACE_NETWORK_DEVICES": "lo"}, {"UCX_TLS": "^tcp"}, {"UCX_TLS": "rc,self"}):
            self.facts.environment = {"PATH": "/headrace/bin:/usr/bin", "HEADRACE_NETWORK": "ucx", **variables}
            self.assert_found("listening.would-not", "ok")

    def test_ucx_with_rdma_uses_tcp_only_if_asked(self):
        self.rdma("mlx5_0")
        self.assert_found("listening.would-not", "ok")
        for variables in ({"UCX_TLS": "all"}, {"HEADRACE_NETWORK": "ucx"}):
            self.facts.environment = {"PATH": "/headrace/bin:/usr/bin", **variables}
            self.assert_found("listening.would", "note", "the addresses of eth0")

    def test_configuration_over_libfabric(self):
        self.set(HEADRACE_NETWORK="ofi")
        found = self.assert_found("listening.would", "note", "one address of the interface that libfabric chooses")
        self.assertIn("libfabric accepts every connection", found.cost)
        self.set(HEADRACE_OFI_PROVIDER="cxi")
        self.assert_found("listening.would-not", "ok")
        self.set(HEADRACE_OFI_PROVIDER="")
        self.write("/sys/class/cxi/cxi0/x")
        self.write("/dev/cxi0")
        self.assert_found("listening.would-not", "ok")

    def test_without_ucx(self):
        self.set(HEADRACE_NETWORK="ucx")
        self.answers["-d"] = Failed("ucx_info cannot be started")
        self.assert_found("listening.unknown", "ok", "cannot be asked")
        self.answers["-c"] = Failed("exit code 1")
        self.assert_found("listening.unknown", "ok", "UCX is not found")

    def test_ranks(self):
        self.rank(70, 501, 502, 503)
        self.table(70, "tcp", ("0100007F:9C40", "0A", 501), ("00000000:9C41", "0A", 502), ("0500000A:9C42", "01", 503))
        self.table(70, "tcp6", (32 * "0" + ":9C43", "0A", 999))
        found = self.assert_found("listening.rank", "note", "process 70 (solver), a rank, listens on 0.0.0.0 port 40001")
        self.assertIn("does not authenticate peers", found.cost)
        self.assertNotIn("40000", found.evidence)
        self.assertNotIn("40003", found.evidence)

    def test_ranks_without_a_library(self):
        self.rank(70, 501, maps="/lib/libmpi_abi.so.1\n")
        self.table(70, "tcp", ("0500000A:9C42", "0A", 501))
        found = self.assert_found("listening.rank", "note", "listens on 10.0.0.5 port 40002")
        self.assertIn("must prove that it knows a key", found.cost)

    def test_ranks_over_libfabric(self):
        self.rank(70, 501, maps="/lib/libmpi_abi.so.1\n/lib/libfabric.so.1\n")
        self.table(70, "tcp", ("0500000A:9C42", "0A", 501))
        found = self.assert_found("listening.rank", "note", "listens on 10.0.0.5 port 40002")
        self.assertIn("without the job's secrets are dropped", found.cost)

    def test_what_is_no_rank_or_listens_on_the_loopback(self):
        self.rank(70, 501)
        self.table(70, "tcp", ("0100007F:9C40", "0A", 501))
        self.table(70, "tcp6", ("00000000000000000000000001000000:9C40", "0A", 501))
        for process, maps in ((71, "/lib/libc.so.6\n"), (72, "/opt/openmpi/lib/libmpi.so.40\n")):
            self.rank(process, 502, maps=maps)
            self.table(process, "tcp", ("00000000:9C41", "0A", 502))
        self.assert_not_found("listening.rank")


class InstalledFiles(MachineTest):
    """Files that pip has installed under a prefix, and later changes to these files."""

    def package(self, name, *paths):
        """Writes the files, and their list as pip does."""
        site = self.root / "headrace/lib/python3.11/site-packages"
        rows = [f"{name}.dist-info/RECORD,,"]
        for path in paths:
            self.write(f"/headrace/{path}", f"HEADRACE_ {name}")
            digest = hashlib.sha256(f"HEADRACE_ {name}".encode()).digest()
            rows.append(f"../../../{path},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},9")
        self.write(f"/{(site / f'{name}.dist-info/RECORD').relative_to(self.root)}", "\n".join(rows) + "\n")

    def test_not_by_pip(self):
        self.assert_found("files.not-by-pip", "ok")

    def test_complete(self):
        self.package("headrace-1.0", "bin/mpiexec", "lib/libmpi.so.12")
        self.package("numpy-2.0", "bin/f2py")
        self.assert_found("files.complete", "ok", "all 3 files")

    def test_half_removed(self):
        self.package("headrace-1.0", "bin/mpiexec", "lib/libmpi.so.12", "include/mpi.h")
        (self.root / "headrace/lib/libmpi.so.12").unlink()
        self.assertNotIn("mpi.h", self.assert_found("files.missing", "error", "1 of 4 files of the installation are gone: "
                                                    "lib/libmpi.so.12").evidence)

    def test_another_package_came_later(self):
        self.package("headrace-1.0", "bin/mpiexec", "lib/libmpi.so.12", "lib/libmpi_abi.so.1")
        self.package("impi_rt-2021.19", "bin/mpiexec", "lib/libmpi.so.12")
        found = self.assert_found("files.overwritten-by-impi-rt", "error", "impi-rt 2021.19 has overwritten bin/mpiexec, lib/libmpi.so.12")
        self.assertIn("pip uninstall impi-rt", found.remedy)
        self.assert_not_found("files.changed")
        self.assert_not_found("files.shared-with-impi-rt")

    def test_another_package_came_before(self):
        self.package("mpich-5.0.2", "bin/mpiexec", "lib/libmpi.so.12", "lib/mpich/x.so")
        self.package("headrace-1.0", "bin/mpiexec", "lib/libmpi.so.12")
        self.assert_found("files.shared-with-mpich", "warning", "bin/mpiexec, lib/libmpi.so.12; those of Headrace are there")
        self.assert_not_found("files.overwritten-by-mpich")

    def test_changed_by_hand(self):
        self.package("headrace-1.0", "bin/mpiexec")
        self.write("/headrace/bin/mpiexec", "HEADRACE_ patched")
        self.assert_found("files.changed", "note", "bin/mpiexec")

    def test_a_library_that_is_not_whole(self):
        self.package("headrace-1.0", "lib/libmpi_abi.so.1", "bin/mpiexec")
        header = b"\x7fELF\x02" + bytes(35) + struct.pack("<QIHHHHHH", 4000, 0, 64, 56, 9, 64, 30, 29)
        library = self.root / "headrace/lib/libmpi_abi.so.1"
        library.write_bytes(header + bytes(1000))
        self.assertNotIn("mpiexec", self.assert_found("files.cut-off", "error", "not whole: lib/libmpi_abi.so.1").evidence)
        self.assert_not_found("files.changed")
        self.assert_not_found("files.complete")
        library.write_bytes(header + bytes(4000 + 30 * 64 - len(header)))
        self.assert_found("files.changed", "note", "lib/libmpi_abi.so.1")
        library.write_bytes(header[:20])
        self.assert_found("files.cut-off", "error")

    def test_the_list_is_gone(self):
        self.write("/headrace/lib/python3.11/site-packages/headrace/cli.py", "")
        self.assert_found("files.no-list", "warning", "headrace-*.dist-info/RECORD")
        self.write("/headrace/lib/python3.11/site-packages/headrace-1.0.dist-info/RECORD", "")
        self.assert_found("files.no-list", "warning")

    def test_a_list_that_is_none(self):
        self.package("headrace-1.0", "bin/mpiexec")
        self.write("/headrace/lib/python3.11/site-packages/x-1.dist-info/RECORD", "\x00\n,,\n\"")
        (self.root / "headrace/lib/python3.11/site-packages/y-1.dist-info").mkdir()
        self.assert_found("files.complete", "ok")


if __name__ == "__main__":
    unittest.main()
