package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;

/**
 * The destination of a call. Equal targets share one stream.
 *
 * @param upstream identifies it: for health, the catalogue and metrics
 * @param service inferences are sent to it: the upstream, behind what its route does with them
 * @param model the model and version to request from the upstream
 * @param arm its name among the targets of its route, for metrics
 */
public record Target(Upstream upstream, Upstream service, ModelRef model, String arm) {
    /** A target of a route that does nothing with inferences. */
    public Target(Upstream upstream, ModelRef model, String arm) {
        this(upstream, upstream, model, arm);
    }
}
