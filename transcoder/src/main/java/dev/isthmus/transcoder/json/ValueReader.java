package dev.isthmus.transcoder.json;

/** Reads one value of a document incrementally: continues when more of the document has been fed. */
public interface ValueReader {

    /** Continues reading; returns false if more of the document is needed. */
    boolean read(JsonTokenizer json);
}
