package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.OipException;

/** How something went on one of the servers that were to do it. */
public sealed interface Outcome {

    Source source();

    record Done(Source source) implements Outcome {}

    record Failed(Source source, OipException failure) implements Outcome {}
}
