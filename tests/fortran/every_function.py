"""Writes every_function.F90: one call of every function of the standard, in every form and under both names, through one
of the interfaces. All calls compile and link; calls of functions that the library does not implement yet are executed,
and must return an error in ierror.

usage: every_function.py f08|mpi|mpif OUTPUT
"""

import sys
from pathlib import Path

API = Path(__file__).resolve().parents[2] / "api"
sys.path.insert(0, str(API))

from gen import fortran, model  # noqa: E402
from gen import fortran_text as ft  # noqa: E402

PREDEFINED = {"MPI_Comm_copy_attr_function": "MPI_COMM_DUP_FN",
              "MPI_Comm_delete_attr_function": "MPI_COMM_NULL_DELETE_FN",
              "MPI_Type_copy_attr_function": "MPI_TYPE_DUP_FN",
              "MPI_Type_delete_attr_function": "MPI_TYPE_NULL_DELETE_FN",
              "MPI_Win_copy_attr_function": "MPI_WIN_DUP_FN", "MPI_Win_delete_attr_function": "MPI_WIN_NULL_DELETE_FN",
              "MPI_Copy_function": "MPI_DUP_FN", "MPI_Delete_function": "MPI_NULL_DELETE_FN",
              "MPI_Datarep_conversion_function": "MPI_CONVERSION_FN_NULL",
              "MPI_Datarep_conversion_function_c": "MPI_CONVERSION_FN_NULL_C"}


def local(procedure, argument, style):
    """(declaration, statement before the call or None, argument of the call)"""
    name, sort = "a_" + argument.name, argument.sort
    array = "(8)" if argument.is_array else ""
    if sort == "logical_value":
        return f"logical :: {name}", None, name
    if sort == "choice":
        return f"integer :: {name}(4)", f"{name} = 0", name
    if sort == "detached":
        return (f"type(c_ptr) :: {name}" if style == "f08" else f"integer :: {name}(4)"), None, name
    if sort == "base_address":
        return (f"type(c_ptr) :: {name}" if style == "f08" else f"integer(MPI_ADDRESS_KIND) :: {name}"), None, name
    if sort == "function":
        kind = argument.c_type(procedure.large).removesuffix("*").strip()
        if kind in PREDEFINED:
            return None, None, PREDEFINED[kind]
        if style == "f08":
            return f"procedure({kind}), pointer :: {name} => null()", None, name
        return "external :: nothing", None, "nothing"
    if sort in ("text", "texts", "text_matrix"):
        shape = {"text": "", "texts": "(2)", "text_matrix": "(2, 2)"}[sort]
        return f"character(16) :: {name}{shape}", f"{name} = ' '", name
    if sort in ("status", "f_status", "f08_status"):
        if style == "f08" and sort == "status" or sort == "f08_status":
            return f"type(MPI_Status) :: {name}{array}", None, name
        return f"integer :: {name}(MPI_STATUS_SIZE{', 8' if array else ''})", f"{name} = 0", name
    kind = ft.type_of(procedure, argument, style)
    if argument.parameter.inner:
        array = "(3, 8)"
    value = null(argument) if sort == "handle" else ".false." if sort == "logical" else "0"
    return f"{kind} :: {name}{array}", f"{name} = {value}", name


def null(argument):
    kind = argument.c_type(False)
    return argument.parameter.kind.null_handle or {"MPI_Win": "MPI_WIN_NULL", "MPI_File": "MPI_FILE_NULL"}[kind]


def routine(procedure, generic, number, style):
    lines = [f"subroutine call_{number}()"]
    values, before = [], []
    for argument in procedure.arguments:
        declaration, statement, value = local(procedure, argument, style)
        if declaration and "  " + declaration not in lines:
            lines.append("  " + declaration)
        if statement:
            before.append("  " + statement)
        values.append(value)
    if procedure.has_error:
        values.append("e")
    lines += before
    if procedure.returns:
        kind = ft.result_type(procedure)
        lines.insert(1, f"  {kind} :: a_result")
        lines.append(f"  a_result = {generic}({', '.join(values)})")
        lines.append("  if (a_result /= a_result) print *, 'not a number'")
    else:
        lines.append(f"  call {generic}({', '.join(values)})")
    return lines + ["end subroutine"]


def main():
    style, output = sys.argv[1:]
    bindings = fortran.Bindings(model.read(API), API)
    calls, routines, total = [], [], 0
    for procedure in bindings.procedures():
        if style == "f08" and not procedure.in_f08 or style != "f08" and procedure.large:
            continue
        if style == "mpif" and not procedure.in_mpif:
            continue
        apart = procedure.large and fortran.same_arguments(procedure.function)
        for prefix in ("", "P"):
            generic = prefix + (procedure.name if apart else procedure.function.name)
            total += 1
            routines += routine(procedure, generic, total, style)
            missing = not procedure.function.implemented and not procedure.has("function")
            if missing and procedure.has_error:
                calls += ["e = MPI_SUCCESS", f"call call_{total}()", f"call refused('{generic}')"]
            else:
                calls += [f"if (never) call call_{total}()"]
    use = {"f08": ["use mpi_f08"], "mpi": ["use mpi"], "mpif": []}[style]
    include = ["  include 'mpif.h'"] if style == "mpif" else []
    lines = ["program every_function"] + ["  " + line for line in use]
    lines += ["  use, intrinsic :: iso_c_binding, only: c_ptr", "  implicit none"] + include
    lines += ["  integer :: e, f, missing, rank", "  logical :: never", "  missing = 0",
              "  never = command_argument_count() > 99", "  call MPI_Init(e)",
              "  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)",
              "  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)"]
    lines += ["  " + call for call in calls]
    lines += ["  call MPI_Comm_rank(MPI_COMM_WORLD, rank, f)",
              f"  if (rank == 0) print '(a, i0, a)', 'linked {total} calls, ', missing, ' refused'",
              "  call MPI_Finalize(e)", "contains",
              "  subroutine refused(name)", "    character(*), intent(in) :: name", "    missing = missing + 1",
              "    if (e /= MPI_SUCCESS) return", "    print '(3a)', 'FAILED: ', name, ' came back with MPI_SUCCESS'",
              "    error stop 1", "  end subroutine"]
    lines += ["  " + line for line in routines] + ["end program", "subroutine nothing()", "end subroutine"]
    Path(output).write_text(ft.text(lines), encoding="ascii")


if __name__ == "__main__":
    main()
