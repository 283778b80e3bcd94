package dev.isthmus.transcoder.json;

/** A token returned by a {@link JsonTokenizer}; its text names it in messages. */
public enum JsonToken {
    START_OBJECT("an object"),
    END_OBJECT("the end of an object"),
    START_ARRAY("an array"),
    END_ARRAY("the end of an array"),
    /** A member's name; {@link JsonTokenizer#text()} returns it. */
    KEY("a member's name"),
    STRING("a string"),
    /** A number, between {@link JsonTokenizer#tokenStart()} and {@link JsonTokenizer#tokenEnd()}. */
    NUMBER("a number"),
    NAN("NaN"),
    POSITIVE_INFINITY("Infinity"),
    NEGATIVE_INFINITY("-Infinity"),
    TRUE("true"),
    FALSE("false"),
    NULL("null"),
    /** There is no complete token: feed more, or end the document. */
    NEED_MORE("an incomplete value"),
    /** The document is complete. */
    END("the end of the document");

    private final String text;

    JsonToken(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
