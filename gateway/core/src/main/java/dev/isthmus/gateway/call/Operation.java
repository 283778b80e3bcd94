package dev.isthmus.gateway.call;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import org.jspecify.annotations.Nullable;

/** An operation that a client requests. A model's name obeys {@link NameGrammar}. */
public sealed interface Operation {

    /** The requested model; null if the operation names none, or one in each of its messages. */
    default @Nullable ModelRef requestedModel() {
        return switch (this) {
            case ModelReady request -> request.model();
            case ReadModelMetadata request -> request.model();
            case DescribeApi request -> request.model();
            case CheckHealth check -> check.readiness().requestedModel();
            case Infer infer -> infer.model();
            case Generate generate -> generate.model();
            case Manage manage -> manage.model().name().isEmpty() ? null : manage.model();
            case ServerLive request -> null;
            case ServerReady request -> null;
            case GatewayReady request -> null;
            case ReadServerMetadata request -> null;
            case InferStream stream -> null;
            case Reflect request -> null;
        };
    }

    /** What a caller needs to be allowed. */
    default Permission permission() {
        return switch (this) {
            case ServerLive request -> Permission.HEALTH;
            case ServerReady request -> Permission.HEALTH;
            case GatewayReady request -> Permission.HEALTH;
            case ModelReady request -> Permission.HEALTH;
            case CheckHealth check -> Permission.HEALTH;
            case ReadServerMetadata request -> Permission.METADATA;
            case Reflect request -> Permission.METADATA;
            case ReadModelMetadata request -> Permission.METADATA;
            case DescribeApi request -> Permission.METADATA;
            case Infer infer -> infer.stream() ? Permission.STREAM : Permission.INFER;
            case InferStream stream -> Permission.STREAM;
            case Generate generate -> Permission.GENERATE;
            case Manage manage -> manage.extension().permission();
        };
    }

    record ServerLive() implements Operation {}

    record ServerReady() implements Operation {}

    /** Whether the gateway itself accepts traffic, independent of its upstreams. */
    record GatewayReady() implements Operation {}

    /**
     * gRPC's health service.
     *
     * @param readiness the operation that tells the state
     * @param watch whether changes are reported too, until the client cancels the call
     */
    record CheckHealth(Operation readiness, boolean watch) implements Operation {}

    /** gRPC's server reflection: a stream of requests, each with one response. */
    record Reflect() implements Operation {}

    record ReadServerMetadata() implements Operation {}

    record ModelReady(ModelRef model) implements Operation {
        public ModelReady {
            NameGrammar.checked(model);
        }
    }

    record ReadModelMetadata(ModelRef model) implements Operation {
        public ReadModelMetadata {
            NameGrammar.checked(model);
        }
    }

    /**
     * A description of the REST interface as an OpenAPI document; REST only.
     *
     * @param model the model to describe; null for the whole gateway
     */
    record DescribeApi(@Nullable ModelRef model) implements Operation {
        public DescribeApi {
            if (model != null) {
                NameGrammar.checked(model);
            }
        }
    }

    /**
     * An inference whose request is the call's body.
     *
     * @param stream whether there may be any number of responses; otherwise there is exactly one
     */
    record Infer(ModelRef model, BodyForm form, boolean stream) implements Operation {
        public Infer {
            NameGrammar.checked(model);
        }
    }

    /**
     * A stream of encoded ModelInferRequests, each in one piece, and of their responses.
     *
     * @param separate whether each message is a request of its own, as with Triton; otherwise a model may handle the
     *     whole stream as one request, as MLServer's models do
     */
    record InferStream(boolean separate) implements Operation {}

    /** The generate extension, REST only: body and responses are forwarded unchanged. */
    record Generate(ModelRef model, boolean stream) implements Operation {
        public Generate {
            NameGrammar.checked(model);
        }
    }

    /**
     * An operation of one of Triton's management extensions.
     *
     * @param model empty if the operation is about the server
     * @param resource the name of a repository or a shared memory region; empty for none or all
     * @param change whether it changes something, which REST requests with POST
     * @param json whether the client speaks REST, so that the body is JSON; otherwise it is a protobuf message
     * @param modelFirst whether the message is KServe's, with the model's name in the field of the repository
     */
    record Manage(
            Extension extension, ModelRef model, String resource, boolean change, boolean json, boolean modelFirst)
            implements Operation {
        public Manage {
            if (extension.ofOneModel() || !model.name().isEmpty()) {
                NameGrammar.checked(model);
            }
        }

        /** Not KServe's message. */
        public Manage(Extension extension, ModelRef model, String resource, boolean change, boolean json) {
            this(extension, model, resource, change, json, false);
        }

        /** Returns the same operation on another model. */
        public Manage to(ModelRef other) {
            return new Manage(extension, other, resource, change, json, modelFirst);
        }

        /** Returns the same operation for an upstream of the other protocol. */
        public Manage as(boolean asJson) {
            return new Manage(extension, model, resource, change, asJson, modelFirst);
        }
    }
}
