package dev.isthmus.gateway.validation;

import dev.isthmus.gateway.net.Labelled;

/** How a request differs from the metadata of its model. */
public enum MismatchReason implements Labelled {
    /** A declared input is not in the request. */
    MISSING_INPUT,
    /** The model declares no input of this name. */
    UNKNOWN_INPUT,
    /** An input has another datatype. */
    DATATYPE,
    /** An input has another number of dimensions, or an extent that is fixed differs. */
    SHAPE,
    /** The model declares no output of this name. */
    UNKNOWN_OUTPUT
}
