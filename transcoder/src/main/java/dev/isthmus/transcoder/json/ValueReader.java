package dev.isthmus.transcoder.json;

/** Reads one value of a document; goes on where it stopped when more of the document has come. */
public interface ValueReader {

    /** Reads on; false when more of the document is needed. */
    boolean read(JsonTokenizer json);
}
