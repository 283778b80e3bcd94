package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.OipException;

/** The result of an operation on one server. */
public sealed interface ServerOutcome {

    ServerId source();

    record Done(ServerId source) implements ServerOutcome {}

    record Failed(ServerId source, OipException failure) implements ServerOutcome {}
}
