"""The Forum's tables as C: parameter types for the Forum's kinds, deliberately written a second time, so that a mistake
in api/kinds.yaml cannot go unnoticed."""

# kind -> (type in the plain form, type in the _c form)
TYPES = {"C_BUFFER": ("void",), "C_BUFFER2": ("void",), "C_BUFFER3": ("void",), "C_BUFFER4": ("void",),
         "BUFFER": ("void",), "EXTRA_STATE": ("void",), "EXTRA_STATE2": ("void",), "ATTRIBUTE_VAL": ("void",),
         "ATTRIBUTE_VAL_10": ("void",), "LOGICAL_VOID": ("void",), "TOOL_MPI_OBJ": ("void",),
         "STRING": ("char",), "STRING_ARRAY": ("char*",), "STRING_2DARRAY": ("char**",),
         "COMMUNICATOR": ("MPI_Comm",), "GROUP": ("MPI_Group",), "DATATYPE": ("MPI_Datatype",),
         "OPERATION": ("MPI_Op",), "INFO": ("MPI_Info",), "ERRHANDLER": ("MPI_Errhandler",),
         "SESSION": ("MPI_Session",), "REQUEST": ("MPI_Request",), "MESSAGE": ("MPI_Message",),
         "STATUS": ("MPI_Status",), "WINDOW": ("MPI_Win",), "FILE": ("MPI_File",),
         "F90_STATUS": ("MPI_Fint",), "F08_STATUS": ("MPI_F08_status",),
         "CVAR": ("MPI_T_cvar_handle",), "PVAR": ("MPI_T_pvar_handle",), "PVAR_SESSION": ("MPI_T_pvar_session",),
         "TOOLS_ENUM": ("MPI_T_enum",), "EVENT_REGISTRATION": ("MPI_T_event_registration",),
         "EVENT_INSTANCE": ("MPI_T_event_instance",), "CALLBACK_SAFETY": ("MPI_T_cb_safety",),
         "SOURCE_ORDERING": ("MPI_T_source_order",), "EVENT_CB_FUNCTION": ("MPI_T_event_cb_function",),
         "EVENT_DROP_CB_FUNCTION": ("MPI_T_event_dropped_cb_function",),
         "EVENT_FREE_CB_FUNCTION": ("MPI_T_event_free_cb_function",),
         "POLYDISPLACEMENT": ("int", "MPI_Aint"), "POLYRMA_DISPLACEMENT": ("int", "MPI_Aint"),
         "POLYDISPLACEMENT_AINT_COUNT": ("MPI_Aint", "MPI_Count"), "POLYDTYPE_PACK_SIZE": ("MPI_Aint", "MPI_Count"),
         "POLYDTYPE_STRIDE_BYTES": ("MPI_Aint", "MPI_Count"), "POLYDISPOFFSET": ("MPI_Aint", "MPI_Count"),
         "POLYLOCATION": ("MPI_Aint", "MPI_Count"),
         "NOTHING": ("void",), "WALL_TIME": ("double",), "TICK_RESOLUTION": ("double",)}
AINT = ("ALLOC_MEM_NUM_BYTES", "WINDOW_SIZE", "WIN_ATTACH_SIZE", "RMA_DISPLACEMENT_NNI", "DISPLACEMENT",
        "DISPLACEMENT_NNI", "DISPOFFSET_SMALL", "LOCATION_SMALL")
COUNT = ("XFER_NUM_ELEM", "XFER_NUM_ELEM_NNI", "NUM_BYTES", "TOOLS_TICK_COUNT", "DROPPED_COUNT", "GENERIC_DTYPE_COUNT")


def base_type(kind, large):
    if kind in TYPES:
        types = TYPES[kind]
        return types[-1] if large else types[0]
    if kind in AINT:
        return "MPI_Aint"
    if kind in COUNT:
        return "MPI_Count"
    if kind == "OFFSET":
        return "MPI_Offset"
    if kind.startswith("F90_"):
        return "MPI_Fint"
    if kind.startswith("POLY"):
        return "MPI_Count" if large else "int"
    return "int"


ALWAYS_ONE_POINTER = ("BUFFER", "C_BUFFER", "C_BUFFER2", "C_BUFFER3", "C_BUFFER4", "EXTRA_STATE", "EXTRA_STATE2",
                      "ATTRIBUTE_VAL", "ATTRIBUTE_VAL_10", "LOGICAL_VOID", "TOOL_MPI_OBJ")
POINTED_AT = ("STRING", "STATUS", "F90_STATUS", "F08_STATUS")


def parameter(entry, large):
    """Returns the parameter as in Headrace's header, without its name."""
    kind, direction, length = entry["kind"], entry["param_direction"], entry["length"]
    const = "const" if entry["constant"] else ""
    if kind == "VARARGS":
        return "..."
    if kind in ("FUNCTION", "POLYFUNCTION"):
        return entry["func_type"] + ("_c*" if large and kind == "POLYFUNCTION" else "*")
    if kind == "ARGUMENT_COUNT":
        return "int" if entry["pointer"] is False else "int*"
    if kind == "ARGUMENT_LIST":
        return "char*[]" if entry["pointer"] is False else "char***"
    if kind in ("STRING_ARRAY", "STRING_2DARRAY"):
        return const + base_type(kind, large) + "[]"
    if kind in ALWAYS_ONE_POINTER:
        return const + "void*"
    if kind in POINTED_AT and (length is None or kind == "STRING"):
        return const + base_type(kind, large) + "*"
    if isinstance(length, list):
        return f"{const}{base_type(kind, large)}[][{length[1]}]"
    if length is not None:
        return const + base_type(kind, large) + "[]"
    stars = "*" if entry["pointer"] or (direction != "in" and entry["pointer"] is not False) else ""
    return const + base_type(kind, large) + stars


def in_c(entry, large):
    """False for ierror and for parameters that one of the two forms lacks."""
    suppressed = "c_parameter" in entry["suppress"] or entry["name"] in ("ierror", "ierr")
    return not suppressed and (large or not entry["large_only"])


def signature(function, large):
    """(return type, parameter types) of a function in C."""
    returns = "int" if function["return_kind"] in ("ERROR_CODE", "ERROR_CLASS") else base_type(
        function["return_kind"], large)
    types = tuple(parameter(entry, large) for entry in function["parameters"] if in_c(entry, large))
    return returns, types or ("void",)


def has_large(function):
    return any(entry["kind"].startswith("POLY") for entry in function["parameters"])




def signatures(table, callbacks):
    """name -> signature, of functions or of callback types, in both forms."""
    found = {}
    for function in table.values():
        attributes = function["attributes"]
        if not attributes["c_expressible"] or attributes["predefined_function"]:
            continue
        if attributes["callback"] != callbacks:
            continue
        found[function["name"]] = signature(function, False)
        if has_large(function):
            found[function["name"] + "_c"] = signature(function, True)
    return found
