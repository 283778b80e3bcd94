package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.OipException;

/** How something went on one of the servers that were to do it. */
public sealed interface ServerOutcome {

    ServerId source();

    record Done(ServerId source) implements ServerOutcome {}

    record Failed(ServerId source, OipException failure) implements ServerOutcome {}
}
