package dev.isthmus.transcoder.rest;

/** How the elements in a message's JSON are processed. */
enum ElementUse {
    /** Their values are converted to raw form. */
    READ,
    /** Numbers are skimmed ({@link DataScanner}); a request that is refused may still be valid. */
    SKIMMED,
    /** They are only counted ({@link ElementCounter}), for responses that are passed through. */
    COUNTED
}
