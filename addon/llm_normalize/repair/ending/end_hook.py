"""When the end of a stream asks the fixes that act there, and what their yes means."""

from enum import Enum, auto


class EndHook(Enum):
    """When a fix is asked at a stream's end, and what its yes means."""

    OPENING = auto()
    """A choice begins: its chunk waits, and the fix has let it (`hold_opening`)."""
    OPENING_SENT = auto()
    """What waited for one event is about to be sent, before `last` if that is another:
    it is dropped."""
    GOES_ON = auto()
    """A chunk without a finish is next: it waits for one event (`hold_opening`)."""
    REPEATED_FINISH = auto()
    """A chunk finishes choices that had finished: it is dropped."""
    FINISHED_CHOICES = auto()
    """A chunk has choices that had finished: some were taken out of it."""
    EMPTIED = auto()
    """Usage was taken off a chunk: it is dropped."""
    GOES_ON_FINISHED = auto()
    """A choice goes on though its finish waits: that was overtaken (`overtake_finish`)."""
    OVERTAKEN_FINISH = auto()
    """So it was. The answer is not asked for."""
    NO_CHOICES = auto()
    """A chunk has neither choices nor usage any more: its notes wait for the next."""
    FINISH = auto()
    """A chunk brings nothing but finish reasons: it waits, whatever follows."""
    LAST_FINISH = auto()
    """It is the last one, and no usage has been seen: it waits for what may follow."""
    WAITED_FINISH = auto()
    """A finish that waited is about to be sent. The answer is not asked for."""
    CLOSED_CALLS = auto()
    """A finish is about to be sent, after what its calls lack. Nor is it here."""
    SENT_FINISH = auto()
    """A finish is sent next: all else of its choice has been. Nor is it here."""
    USAGE_ON_FINISH = auto()
    """The last finish has usage, where that belongs: it was taken off nevertheless."""
    USAGE_BESIDE_FINISH = auto()
    """A finish has usage, which was asked for in a chunk of its own: it was taken off."""
    USAGE_BESIDE_CHOICES = auto()
    """A chunk that is not the last one has usage: it was taken off."""
    USAGE_UNASKED = auto()
    """A chunk without choices has usage that nobody asked for: it is dropped."""
    USAGE_REPEATED = auto()
    """A chunk without choices has usage that was asked for: it is dropped."""
    USAGE_EARLY = auto()
    """The same before every choice had finished: it waits (`hold_usage_chunk`)."""
    USAGE_LATE = auto()
    """The same behind the end, and nobody asked for it. The answer is not asked for."""
    UNFINISHED = auto()
    """`[DONE]` is next, and a choice has no finish: it was sent (`add_finish`)."""
    REPEATED_DONE = auto()
    """Another `[DONE]`: it is dropped."""
    MISSING_DONE = auto()
    """All has finished, and `[DONE]` is missing at a clean end: it was sent (`add`)."""
