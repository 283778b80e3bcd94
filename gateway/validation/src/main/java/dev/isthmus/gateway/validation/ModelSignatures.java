package dev.isthmus.gateway.validation;

import dev.isthmus.oip.ModelRef;

/** What the servers of an upstream declare of their models. Thread-safe; never blocks. */
public interface ModelSignatures {
    /** Nothing is known of any model. */
    ModelSignatures NONE = (requested, upstream, served) -> DeclaredSignatures.UNKNOWN;

    /**
     * What the servers declare, as far as it is known now. If it is not, it is found out for later calls.
     *
     * @param requested the model as the client names it
     * @param upstream the name of an upstream
     * @param served the model as that upstream knows it
     */
    DeclaredSignatures of(ModelRef requested, String upstream, ModelRef served);

    /** A request for a model was refused: the servers are soon asked again, in case the model has been replaced. */
    default void refused(ModelRef requested, String upstream, ModelRef served) {}
}
