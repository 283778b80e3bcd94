package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;

/**
 * Where a call goes.
 *
 * @param model the model and version to ask the upstream for
 */
public record Target(Upstream upstream, ModelRef model) {}
