package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Which upstream serves which model. Immutable. */
public final class RoutingTable {
    private final Map<String, Upstream> byModel;
    private final @Nullable Upstream fallback;

    /**
     * A table of the listed models.
     *
     * @param fallback takes the models that are not listed; null refuses them
     */
    public RoutingTable(Map<String, Upstream> byModel, @Nullable Upstream fallback) {
        this.byModel = Map.copyOf(byModel);
        this.fallback = fallback;
    }

    /** The upstream that takes what is not listed. */
    public Optional<Upstream> defaultUpstream() {
        return Optional.ofNullable(fallback);
    }

    /**
     * The target of calls that name no model: the default upstream.
     *
     * @throws OipException UNIMPLEMENTED where there is none
     */
    public Target ofServer() {
        if (fallback == null) {
            throw new OipException(
                    ErrorCode.UNIMPLEMENTED,
                    "this is asked of one server, and there is no default upstream that it could be");
        }
        return new Target(fallback, ModelRef.of(""));
    }

    /**
     * The target of calls for this model.
     *
     * @throws OipException NOT_FOUND for a model that no upstream serves
     */
    public Target pick(ModelRef model) {
        Upstream upstream = byModel.get(model.name());
        if (upstream == null) {
            upstream = fallback;
        }
        if (upstream == null) {
            throw new OipException(ErrorCode.NOT_FOUND, "unknown model '" + model.name() + "'");
        }
        return new Target(upstream, model);
    }
}
