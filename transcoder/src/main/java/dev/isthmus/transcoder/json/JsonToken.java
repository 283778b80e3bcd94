package dev.isthmus.transcoder.json;

/** A token returned by a {@link JsonTokenizer}. */
public enum JsonToken {
    START_OBJECT,
    END_OBJECT,
    START_ARRAY,
    END_ARRAY,
    /** A member's name; {@link JsonTokenizer#text()} returns it. */
    KEY,
    STRING,
    /** A number, between {@link JsonTokenizer#tokenStart()} and {@link JsonTokenizer#tokenEnd()}. */
    NUMBER,
    NAN,
    POSITIVE_INFINITY,
    NEGATIVE_INFINITY,
    TRUE,
    FALSE,
    NULL,
    /** There is no complete token: feed more, or end the document. */
    NEED_MORE,
    /** The document is complete. */
    END
}
