package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Optional;

/** Where models go, as far as the catalogue has to know. May be asked on any thread and costs little. */
public interface ModelLocations {

    /**
     * The place of a model.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a model that no upstream serves
     */
    ModelLocation of(ModelRef asked);

    /** The models that are configured by their names, as clients call them, sorted. */
    List<String> configured();

    /** The upstream that takes what is not listed. */
    Optional<Upstream> defaultUpstream();
}
