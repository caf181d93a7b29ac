"""What can go wrong, said to a person: what happened, where, and what to do about it."""


class HeadwayError(Exception):
    """A failure with a reason. The command line prints it and ends with `exit_code`."""

    exit_code = 1

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem}\n{self.remedy}" if self.remedy else self.problem


class RequestError(HeadwayError):
    """The request was wrong: arguments, settings, an output directory that holds something else."""

    exit_code = 2


class DataError(HeadwayError):
    """The data was wrong: a missing, empty, unequal or undecodable corpus."""

    exit_code = 3


class BundleError(HeadwayError):
    """A model directory that is none: a file missing, changed, truncated or of a newer format."""


class TrainingError(HeadwayError):
    """Training could not go on; what was saved before stays whole."""


class Interrupted(HeadwayError):
    """The user stopped the work; its state is saved."""

    exit_code = 130
