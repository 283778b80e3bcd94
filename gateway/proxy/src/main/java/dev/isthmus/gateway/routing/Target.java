package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;

/**
 * Where a call goes. Equal ones are one place: a stream of requests has one stream for each.
 *
 * @param model the model and version to ask the upstream for
 * @param arm its name among the targets of its route, for metrics
 */
public record Target(Upstream upstream, ModelRef model, String arm) {}
