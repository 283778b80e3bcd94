package dev.isthmus.gateway.settings;

/** What happens to an inference request that does not match the metadata of its model. */
public enum RequestValidation {
    /** It is refused. */
    STRICT,
    /** It is counted and logged, and sent. */
    REPORT,
    /** Nothing: requests are not compared with metadata. */
    OFF
}
