package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;

/**
 * The destination of a call. Equal targets share one stream.
 *
 * @param model the model and version to request from the upstream
 * @param arm its name among the targets of its route, for metrics
 */
public record Target(Upstream upstream, ModelRef model, String arm) {}
