package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Optional;

/** The catalogue's view of routing. Thread-safe and cheap. */
public interface ModelLocations {

    /**
     * The location of a model.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a model that no upstream serves
     */
    ModelLocation of(ModelRef requested);

    /** Whether calls for a model of this name have somewhere to go. */
    boolean routes(ModelRef asked);

    /** The models configured by name, as clients call them, sorted. */
    List<String> configured();

    /** The upstream for models that are not configured. */
    Optional<Upstream> defaultUpstream();
}
