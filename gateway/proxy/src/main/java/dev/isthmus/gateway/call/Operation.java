package dev.isthmus.gateway.call;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.ModelRef;
import org.jspecify.annotations.Nullable;

/** What a client asks for. A model that is named obeys {@link NameGrammar}. */
public sealed interface Operation {

    /** The model that is asked for; null where the operation names none, or one with each of its messages. */
    default @Nullable ModelRef asked() {
        return switch (this) {
            case ModelReady ask -> ask.model();
            case ReadModelMetadata ask -> ask.model();
            case Infer infer -> infer.model();
            case Generate generate -> generate.model();
            case Manage manage -> manage.model().name().isEmpty() ? null : manage.model();
            case ServerLive ask -> null;
            case ServerReady ask -> null;
            case GatewayReady ask -> null;
            case ReadServerMetadata ask -> null;
            case InferStream stream -> null;
        };
    }

    record ServerLive() implements Operation {}

    record ServerReady() implements Operation {}

    /** Whether the gateway itself takes traffic, however its upstreams are. */
    record GatewayReady() implements Operation {}

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
     * An inference whose request comes as the call's body.
     *
     * @param stream whether any number of answers may come, one by one; otherwise it is one
     */
    record Infer(ModelRef model, BodyForm form, boolean stream) implements Operation {
        public Infer {
            NameGrammar.checked(model);
        }
    }

    /**
     * A stream of encoded ModelInferRequests, each given in one piece, and of their answers.
     *
     * @param separate whether each request is one of its own, as with Triton; otherwise a model may take the stream as one, as
     *     MLServer's models do
     */
    record InferStream(boolean separate) implements Operation {}

    /** The generate extension, known over REST only: body and answers go through as they are. */
    record Generate(ModelRef model, boolean stream) implements Operation {
        public Generate {
            NameGrammar.checked(model);
        }
    }

    /**
     * An operation of one of Triton's management extensions.
     *
     * @param model empty where the operation is the server's
     * @param resource the name of a repository or a shared memory region; empty for none or all
     * @param change whether REST asks with POST, to change something
     * @param json whether the client speaks REST: the body is JSON then, otherwise a protobuf message
     */
    record Manage(Extension extension, ModelRef model, String resource, boolean change, boolean json)
            implements Operation {
        public Manage {
            if (extension.ofOneModel() || !model.name().isEmpty()) {
                NameGrammar.checked(model);
            }
        }

        /** The same on another model. */
        public Manage to(ModelRef other) {
            return new Manage(extension, other, resource, change, json);
        }

        /** The same for an upstream of the other protocol. */
        public Manage as(boolean asJson) {
            return new Manage(extension, model, resource, change, asJson);
        }
    }
}
