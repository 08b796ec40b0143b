"""Turns names of the standard into names of ours: MPI_ERR_UNSUPPORTED_OPERATION -> kUnsupportedOperation."""


def camel(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("_") if word)


def constant(name: str, prefix: str) -> str:
    return "k" + camel(name.removeprefix(prefix))
