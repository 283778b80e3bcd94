package dev.isthmus.transcoder.json;

/** What a {@link JsonTokenizer} gives. */
public enum JsonToken {
    START_OBJECT,
    END_OBJECT,
    START_ARRAY,
    END_ARRAY,
    /** A member's name; {@link JsonTokenizer#text()} has it. */
    KEY,
    STRING,
    /** A number; {@link JsonTokenizer#tokenStart()} and {@link JsonTokenizer#tokenEnd()} say where it stands. */
    NUMBER,
    NAN,
    POSITIVE_INFINITY,
    NEGATIVE_INFINITY,
    TRUE,
    FALSE,
    NULL,
    /** Nothing complete is left: feed more, or end. */
    NEED_MORE,
    /** The document is complete. */
    END
}
