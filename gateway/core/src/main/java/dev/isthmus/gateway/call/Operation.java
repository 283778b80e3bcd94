package dev.isthmus.gateway.call;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.RawRequest;
import org.jspecify.annotations.Nullable;

/** An operation that a client requests. A model's name obeys {@link NameGrammar}. */
public sealed interface Operation {

    default OperationKind kind() {
        return switch (this) {
            case ServerLive _ -> OperationKind.SERVER_LIVE;
            case ServerReady _ -> OperationKind.SERVER_READY;
            case GatewayReady _ -> OperationKind.GATEWAY_READY;
            case CheckHealth _ -> OperationKind.HEALTH;
            case Reflect _ -> OperationKind.REFLECTION;
            case ReadServerMetadata _ -> OperationKind.SERVER_METADATA;
            case ModelReady _ -> OperationKind.MODEL_READY;
            case ReadModelMetadata _ -> OperationKind.MODEL_METADATA;
            case DescribeApi _ -> OperationKind.OPENAPI;
            case Infer infer -> infer.stream() ? OperationKind.INFER_STREAM : OperationKind.INFER;
            case InferStream _ -> OperationKind.INFER_STREAM;
            case Validate _ -> OperationKind.VALIDATE;
            case Generate generate -> generate.stream() ? OperationKind.GENERATE_STREAM : OperationKind.GENERATE;
            case Manage _ -> OperationKind.MANAGE;
        };
    }

    /** The requested model; null if the operation names none, or one in each of its messages. */
    default @Nullable ModelRef requestedModel() {
        return switch (this) {
            case ModelReady request -> request.model();
            case ReadModelMetadata request -> request.model();
            case DescribeApi request -> request.model();
            case CheckHealth check -> check.readiness().requestedModel();
            case Infer infer -> infer.model();
            case Validate request -> request.model();
            case Generate generate -> generate.model();
            case Manage manage -> manage.model().name().isEmpty() ? null : manage.model();
            case ServerLive _, ServerReady _, GatewayReady _, ReadServerMetadata _, InferStream _, Reflect _ -> null;
        };
    }

    /** What a caller needs to be allowed. */
    default Permission permission() {
        return kind().permission();
    }

    /** Whether it asks for the state of the gateway or the server, and for nothing else. */
    default boolean probe() {
        return kind().work() == OperationKind.Work.PROBE;
    }

    /** Whether it counts among the calls that the gateway serves at once. */
    default boolean needsPermit() {
        return switch (kind().work()) {
            case CALL, INFERENCE -> true;
            case PROBE, LOOKUP -> false;
        };
    }

    /** Whether its body may be as large as a message. */
    default boolean largeBody() {
        return kind().work() == OperationKind.Work.INFERENCE;
    }

    /** Whether a REST server is asked with POST; otherwise with GET. */
    default boolean posts() {
        return kind().work() == OperationKind.Work.INFERENCE;
    }

    /** The method that a gRPC server is asked for. */
    default String grpcMethod() {
        return kind().grpcMethod();
    }

    /**
     * The path of a REST request, with {@code {model}} in place of the name and so on.
     *
     * @param model that is requested; its name is empty for none
     */
    default String path(ModelRef model) {
        return kind().path(model);
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
    record CheckHealth(Operation readiness, boolean watch) implements Operation {
        @Override
        public boolean probe() {
            return readiness.probe();
        }

        @Override
        public String path(ModelRef model) {
            return readiness.path(model);
        }
    }

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

        @Override
        public String path(ModelRef requested) {
            String path = OperationKind.OPENAPI.path(requested);
            return model == null ? path : OperationKind.MODEL_METADATA.path(requested) + path;
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
    record InferStream(boolean separate) implements Operation {
        /** The path of one of the requests of the stream. */
        @Override
        public String path(ModelRef model) {
            return OperationKind.INFER.path(model);
        }
    }

    /**
     * Asks what would be wrong with an inference whose request is the call's body; REST only. No server gets it.
     *
     * @param jsonLength of the body, as in {@link BodyForm.RestForm}
     */
    record Validate(ModelRef model, long jsonLength) implements Operation {
        public Validate {
            NameGrammar.checked(model);
        }
    }

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

        /** Returns the same operation on another model. */
        public Manage to(ModelRef other) {
            return new Manage(extension, other, resource, change, json, modelFirst);
        }

        /** Returns the same operation for an upstream of the other protocol. */
        public Manage as(boolean asJson) {
            return new Manage(extension, model, resource, change, asJson, modelFirst);
        }

        @Override
        public Permission permission() {
            return extension.permission();
        }

        @Override
        public boolean largeBody() {
            return extension.carriesFiles();
        }

        @Override
        public boolean posts() {
            return change;
        }

        @Override
        public String grpcMethod() {
            return extension.grpcMethod();
        }

        @Override
        public String path(ModelRef requested) {
            ModelRef named = new ModelRef(
                    requested.name().isEmpty() ? "" : "{model}",
                    requested.version().isEmpty() ? "" : "{version}");
            return extension.path(named, resource.isEmpty() ? "" : "{resource}", (what, name) -> name);
        }
    }

    /** The form of an inference request's body as the client sends it. The response uses the same wire. */
    sealed interface BodyForm {

        /**
         * A REST body.
         *
         * @param jsonLength as in {@link dev.isthmus.transcoder.rest.RestBody#jsonLength()}; 0 for a raw binary request,
         *     whose body is the data of its one input
         * @param bodyLength length in bytes of the whole body, decompressed; -1 if it is unknown until the body ends
         * @param nonFinite how the client wants NaN and the infinities in JSON; null for the configured default
         */
        record RestForm(
                long jsonLength, long bodyLength, @Nullable NonFinite nonFinite) implements BodyForm {}

        /**
         * One encoded ModelInferRequest.
         *
         * @param outline what has been read of the message so far
         * @param inParts the checks of a message that is received in parts, the first part containing its whole head, so
         *     that it can be forwarded before it is complete; null for a message received in one piece. Holds the state of
         *     the checks, so it belongs to this call only
         */
        record ProtobufForm(
                ProtobufReader.Outline outline, @Nullable RawRequest inParts) implements BodyForm {}
    }
}
