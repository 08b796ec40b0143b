"""The Fortran sources contain every function of the standard, with the standard's arguments, types and intents: the
text that gfortran sees, read without the generator, is compared with the Forum's tables."""

import re
import tempfile
import unittest
from pathlib import Path

from support import ABSENT, API, standard

# The Forum's kinds as Fortran types (plain form, large form), deliberately written a second time.
HANDLES = {"COMMUNICATOR": "MPI_Comm", "GROUP": "MPI_Group", "DATATYPE": "MPI_Datatype", "OPERATION": "MPI_Op",
           "INFO": "MPI_Info", "ERRHANDLER": "MPI_Errhandler", "SESSION": "MPI_Session", "REQUEST": "MPI_Request",
           "MESSAGE": "MPI_Message", "WINDOW": "MPI_Win", "FILE": "MPI_File"}
ADDRESS = ("ALLOC_MEM_NUM_BYTES", "WINDOW_SIZE", "WIN_ATTACH_SIZE", "RMA_DISPLACEMENT_NNI", "DISPLACEMENT",
           "DISPLACEMENT_NNI", "DISPOFFSET_SMALL", "LOCATION_SMALL", "ATTRIBUTE_VAL", "EXTRA_STATE")
COUNT = ("XFER_NUM_ELEM", "XFER_NUM_ELEM_NNI", "NUM_BYTES", "GENERIC_DTYPE_COUNT")
POLY_ADDRESS = ("POLYDISPLACEMENT_AINT_COUNT", "POLYDTYPE_PACK_SIZE", "POLYDTYPE_STRIDE_BYTES", "POLYDISPOFFSET",
                "POLYLOCATION")
POLY_TO_ADDRESS = ("POLYDISPLACEMENT", "POLYRMA_DISPLACEMENT")
ADDRESS_KIND = "integer(kind=mpi_address_kind)"
COUNT_KIND = "integer(kind=mpi_count_kind)"


def fortran_type(entry, large, f08):
    kind = entry["kind"]
    if kind in HANDLES:
        return f"type({HANDLES[kind].lower()})" if f08 else "integer"
    if kind == "STATUS":
        return "type(mpi_status)" if f08 else "integer"
    if kind == "F08_STATUS":
        return "type(mpi_status)"
    if kind == "BUFFER":
        return "type(*)"
    if kind == "LOGICAL_VOID":
        return "type(*)"
    if kind == "C_BUFFER":
        return "type(c_ptr)" if f08 else ADDRESS_KIND
    if kind == "C_BUFFER2":
        return "type(c_ptr)" if f08 else "type(*)"
    if kind == "LOGICAL":
        return "logical"
    if kind in ("STRING", "STRING_ARRAY", "STRING_2DARRAY"):
        return "character(len=*)"
    if kind in ("FUNCTION", "POLYFUNCTION"):
        name = entry["func_type"] + ("_c" if large and kind == "POLYFUNCTION" else "")
        return f"procedure({name.lower()})" if f08 else "external"
    if kind in ADDRESS:
        return ADDRESS_KIND
    if kind in COUNT:
        return COUNT_KIND
    if kind == "OFFSET":
        return "integer(kind=mpi_offset_kind)"
    if kind in POLY_ADDRESS:
        return COUNT_KIND if large else ADDRESS_KIND
    if kind in POLY_TO_ADDRESS:
        return ADDRESS_KIND if large else "integer"
    if kind.startswith("POLY"):
        return COUNT_KIND if large else "integer"
    return "integer"


NO_INTENT = ("FUNCTION", "POLYFUNCTION")


def intent(entry):
    """The intent that mpi_f08 declares; None: no intent."""
    kind, direction = entry["kind"], entry["param_direction"]
    if "f08_intent" in (entry["suppress"] or "") or kind in NO_INTENT:
        return None
    if kind in ("STATUS", "BUFFER", "LOGICAL_VOID") and direction != "in" and not (kind == "STATUS" and direction == "inout"):
        return None
    return direction


# Parameters for which the Forum's table contradicts itself, or is less strict than is safe: (function, argument).
ODD = {("MPI_Free_mem", "base"), ("MPI_Precv_init", "buf"), ("MPI_Psend_init", "buf"),
       ("MPI_Neighbor_allgatherv_init", "displs")}


class Source:
    """The specific procedures of a source file: name -> {argument: (type, intent, asynchronous, is array)}."""

    def __init__(self, text):
        text = re.sub(r"&\n\s*", "", text)
        text = re.sub(r"^\s*!.*$", "", text, flags=re.M)
        self.procedures, self.generics = {}, {}
        generic, stack, in_c = None, [], False
        for line in text.splitlines():
            line = line.strip().lower()
            opening = re.match(r"(?:(.*) )?(subroutine|function) (\w+)\((.*?)\)", line)
            if line.startswith("interface"):
                generic = line.split()[1] if " " in line else None
            elif line == "end interface":
                generic = None
            elif line.startswith("module procedure"):
                self.generics.setdefault(generic, []).append(line.split()[2])
            elif opening and not line.startswith("end"):
                stack.append(opening[3])
                if opening[3] == "to_c":
                    continue
                names = [n.strip() for n in opening[4].split(",") if n.strip()]
                self.procedures[opening[3]] = (names, {})
                self.generics.setdefault(generic or opening[3], []).append(opening[3])
            elif line.startswith("end subroutine") or line.startswith("end function"):
                stack.pop()
            elif "::" in line and stack and stack[-1] != "to_c":
                declared, names = line.split("::")
                parts = [p.strip() for p in re.split(r",\s*(?![^()]*\))", declared)]
                for name in re.findall(r"(\w+)(\([^)]*\))?", names):
                    if name[0] in self.procedures[stack[-1]][0]:
                        self.procedures[stack[-1]][1][name[0]] = (
                            parts[0], next((p[7:-1] for p in parts if p.startswith("intent(")), None),
                            "asynchronous" in parts, bool(name[1]) or "dimension(..)" in parts, "optional" in parts)


def sources():
    from gen import build, model
    directory = tempfile.TemporaryDirectory()
    build.write(model.read(API), API, Path(directory.name))
    return directory, Path(directory.name) / "fortran_sources"


def in_fortran(entry, f08, large):
    suppressed = entry["suppress"] or ""
    if ("f08_parameter" if f08 else "f90_parameter") in suppressed or entry["kind"] == "VARARGS":
        return False
    return large or not entry["large_only"]


class Fortran(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory, root = sources()
        cls.root = root
        cls.f08 = Source((root / "mpi_f08.f90").read_text())
        cls.mpi = Source((root / "mpi.f90").read_text())
        cls.external = Source("".join((root / f"externals_{i}.f90").read_text() for i in range(4)))
        cls.table = standard("mpi-5.0-apis.json")

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def setUp(self):
        if self.table is None:
            self.skipTest(ABSENT)

    def functions(self, key):
        for function in self.table.values():
            attributes = function["attributes"]
            if attributes[key] and not attributes["callback"] and not attributes["predefined_function"]:
                yield function

    def compare(self, function, found, large, f08):
        names, declared = found
        expected = [e for e in function["parameters"] if in_fortran(e, f08, large)]
        self.assertEqual(names, [e["name"].lower() for e in expected])
        for entry in expected:
            kind, meant, asynchronous, array, optional = declared[entry["name"].lower()]
            with self.subTest(argument=entry["name"]):
                self.assertEqual(kind, fortran_type(entry, large, f08))
                if not f08 or (function["name"], entry["name"]) in ODD:
                    continue
                if entry["name"] != "x" and function["name"] != "MPI_F_sync_reg":
                    self.assertEqual(meant, intent(entry))
                self.assertEqual(optional, entry["name"] == "ierror")
                if entry["kind"] not in ("BUFFER", "STRING_2DARRAY", "STRING_ARRAY", "F90_STATUS"):
                    self.assertEqual(array, entry["length"] is not None and entry["kind"] != "STRING", "array")
                self.assertEqual(asynchronous, entry["asynchronous"], "asynchronous")

    def test_mpi_f08(self):
        count = 0
        for function in self.functions("f08_expressible"):
            name = function["name"]
            poly = any(e["kind"].startswith("POLY") for e in function["parameters"])
            for prefix in ("", "P"):
                generic = (prefix + name).lower()
                specifics = self.f08.generics.get(generic, []) + self.f08.generics.get(generic + "_c", [])
                with self.subTest(name=generic):
                    self.assertEqual(len(specifics), 2 if poly else 1)
                    for large, specific in enumerate(specifics):
                        self.compare(function, self.f08.procedures[specific], bool(large), True)
                        count += 1
        self.assertGreater(count, 1000)

    def test_mpi(self):
        for function in self.functions("f90_expressible"):
            with self.subTest(name=function["name"]):
                specifics = self.mpi.generics.get(function["name"].lower(), [])
                self.assertIn(len(specifics), (1, 2), "MPI_Alloc_mem and its like have two")
                self.compare(function, self.mpi.procedures[specifics[0]], False, False)
                self.assertIn("p" + function["name"].lower(), self.mpi.generics)

    def test_external_procedures(self):
        for function in self.functions("f90_expressible"):
            if function["attributes"]["not_with_mpif"] or not function["attributes"]["c_expressible"]:
                continue
            for prefix in ("", "p"):
                with self.subTest(name=prefix + function["name"]):
                    names, _ = self.external.procedures[prefix + function["name"].lower()]
                    expected = [e["name"].lower() for e in function["parameters"] if in_fortran(e, False, False)]
                    self.assertEqual(names, expected)

    def test_constants(self):
        table = standard("mpi-5.0-abi.json")["constants"].values()
        f08 = (self.root / "mpi_f08.f90").read_text()
        mpif = (self.root / "mpif.h").read_text()
        for entry in table:
            types = entry["handle_types"] or {}
            for key, text in (("f08", f08), ("f90", mpif)):
                kind = types.get(key, {}).get("type")
                if kind is None or "COPY_FUNCTION" in kind or "DELETE_FUNCTION" in kind and key == "f08":
                    continue
                with self.subTest(name=entry["name"], language=key):
                    self.assertRegex(text, rf"\b{entry['name']}\b")
                    value = entry["abi_value"]
                    if not isinstance(value, int) or entry["category"] in (
                            "BUFFER_ADDR_CONSTANTS", "EMPTY_IGNORE_INPUT_CONSTANTS", "FUNCTIONS", "DEPRECATED_FUNCS"):
                        continue
                    value -= entry["category"] == "MAX_STR_SIZE_CONSTANTS"
                    pattern = rf"\b{entry['name']} = (\w+\()?{value}\)?\n" if key == "f08" else \
                        rf"PARAMETER \({entry['name']}={value}\)"
                    self.assertRegex(text, pattern)

    def test_mpif_fits_both_source_forms(self):
        for line in (self.root / "mpif.h").read_text().splitlines():
            self.assertLessEqual(len(line), 72, line)
            self.assertTrue(line.startswith("!") or line.startswith("      ") and "&" not in line, line)


if __name__ == "__main__":
    unittest.main()
