package dev.isthmus.transcoder.rest;

/** What is done with the elements in a message's JSON. */
enum ElementUse {
    /** Their values are read into the raw form. */
    READ,
    /** Numbers are stepped over ({@link DataScanner}); a request that is refused may be valid all the same. */
    SKIMMED,
    /** They are counted, whatever they are ({@link ElementCount}): for answers that go on as they came. */
    COUNTED
}
