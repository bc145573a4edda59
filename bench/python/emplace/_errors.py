"""The exceptions of emplace. Their texts are those of the program; each names what is wrong and what was expected."""


class Error(Exception):
    """A user's mistake, or something that this build cannot do."""


class UsageError(Error, ValueError):
    """A wrong argument or parameter."""


class IoError(Error, OSError):
    """A file that cannot be read or written."""


class FormatError(Error, ValueError):
    """A file whose content is not what it should be."""


class UnknownNameError(Error, LookupError):
    """A graph, cluster, agent, suite or device that does not exist."""


class UnsupportedError(Error, RuntimeError):
    """A valid request that this build or version cannot serve."""


class InternalError(Exception):
    """A mistake of emplace itself."""
