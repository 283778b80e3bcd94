package dev.isthmus.transcoder.rest;

/** Reads one value of a document; goes on where it stopped when more of the document has come. */
interface ValueReader {

    /** Reads on; false when more of the document is needed. */
    boolean read(JsonTokenizer json);
}
