"""The hooks at which fixes act at the end of a stream."""

from enum import Enum, auto


class EndHook(Enum):
    """Hook points at which a fix may act at the end of a stream.

    Each says what a `True` return means.
    """

    # There is one of each: the hash of its name would be computed for each lookup.
    __hash__ = object.__hash__

    LOSS = auto()
    """An event was lost before this chunk. True: the fix sent an error in its place
    (`fail`), or dropped the chunk behind that."""
    LOSS_OF_CALL = auto()
    """An event that is not understood is next, and a lost one may have had a part of a call
    that has not ended. The return value is ignored."""
    LOSS_OF_FINISH = auto()
    """An event was lost, `[DONE]` is next, and a choice has no finish. The return value is
    ignored."""
    OPENING = auto()
    """A chunk starts a choice. True: the fix holds the chunk (`hold_opening`)."""
    OPENING_SENT = auto()
    """A held opening is about to be sent; `last` is the chunk after it, if there is one.
    True: the opening is dropped."""
    GOES_ON = auto()
    """A chunk without a finish is next. True: the fix holds it (`hold_opening`)."""
    REPEATED_FINISH = auto()
    """A chunk finishes only choices that have finished. True: it is dropped."""
    FINISHED_CHOICES = auto()
    """A chunk has choices that have finished. True: the fix removed some of them."""
    EMPTIED = auto()
    """Usage was taken off a chunk. True: the chunk is dropped."""
    GOES_ON_FINISHED = auto()
    """A choice continues although its finish is held. True: the chunk is sent before the
    finish (`overtake_finish`)."""
    OVERTAKEN_FINISH = auto()
    """A later chunk overtook the held finish. The return value is ignored."""
    NO_CHOICES = auto()
    """A repair left a chunk without choices and usage. True: it is dropped, and its extra
    fields are held for the next chunk (`hold_extra_fields`)."""
    FINISH = auto()
    """A chunk holds nothing but finish reasons. True: it is held, whatever follows."""
    LAST_FINISH = auto()
    """Such a chunk finishes the last choice, and no usage has been seen. True: it is held
    for what may follow."""
    WAITED_FINISH = auto()
    """A held finish is about to be sent. The return value is ignored."""
    CLOSED_CALLS = auto()
    """A finish is about to be sent, after what its calls lack. The return value is
    ignored."""
    SENT_FINISH = auto()
    """A finish is sent next; everything else of its choice has been sent. The return value
    is ignored."""
    USAGE_ON_FINISH = auto()
    """The last finish has usage, where usage belongs. True: the fix took it off anyway."""
    USAGE_BESIDE_FINISH = auto()
    """A finish has usage, which was requested in a chunk of its own. True: the fix took it
    off."""
    USAGE_BESIDE_CHOICES = auto()
    """A chunk that is not the last one has usage. True: the fix took it off."""
    USAGE_UNASKED = auto()
    """A chunk without choices has usage that was not requested. True: it is dropped."""
    USAGE_REPEATED = auto()
    """A chunk without choices has usage that was requested. True: it is dropped."""
    USAGE_EARLY = auto()
    """Such a chunk arrives before every choice has finished. True: the fix holds it
    (`hold_usage_chunk`)."""
    USAGE_LATE = auto()
    """A usage chunk arrives after `[DONE]` or an error, and the request did not ask for
    usage. The return value is ignored."""
    UNFINISHED = auto()
    """`[DONE]` is next, and a choice has no finish. True: the fix sent one
    (`add_finish`)."""
    REPEATED_DONE = auto()
    """A second `[DONE]` arrives. True: it is dropped."""
    MISSING_DONE = auto()
    """Every choice has finished, and the stream ends without `[DONE]`: by itself, by a
    break, or by a long silence. True: the fix sent it (`add`)."""
