package dev.isthmus.gateway.management;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.dispatch.EmptyBodySink;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.openapi.ApiDescriptions;
import dev.isthmus.gateway.validation.DeclaredSignatures;
import dev.isthmus.gateway.validation.RequestMismatch;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Serves operations on the whole fleet: server readiness and metadata, models' readiness and metadata,
 * the validation of requests, management.
 *
 * @param locations where models are routed, for operations that are forwarded
 * @param policy what callers see in lists
 */
public record FleetService(
        ModelLocations locations,
        Catalogue catalogue,
        WireLimits limits,
        AccessPolicy policy,
        ApiDescriptions descriptions)
        implements Service {

    /**
     * Opens a call.
     *
     * @throws IllegalArgumentException for an operation that is served elsewhere
     */
    @Override
    public RequestSink open(Call call, Reply reply) {
        return switch (call.operation()) {
            case Operation.ServerReady request -> EmptyBodySink.replying(reply, ready());
            case Operation.ReadServerMetadata request ->
                EmptyBodySink.replying(reply, new ReplyMessage.Server(metadata(call)));
            case Operation.ModelReady request ->
                new EmptyBodySink(reply, () -> catalogue.modelReady(call, request.model(), reply));
            case Operation.ReadModelMetadata request ->
                new EmptyBodySink(reply, () -> catalogue.modelMetadata(call, request.model(), reply));
            case Operation.DescribeApi request -> describe(call, request.model(), reply);
            case Operation.Validate request ->
                new RequestValidationCall(call, request, locations.of(request.model()), catalogue, limits, reply);
            case Operation.Manage manage ->
                new ManageCall(locations, catalogue, limits, policy).open(call, manage, reply);
            case Operation other ->
                throw new IllegalArgumentException("expected an operation on the fleet, got " + other);
        };
    }

    private RequestSink describe(Call call, @Nullable ModelRef model, Reply reply) {
        return model == null
                ? EmptyBodySink.replying(reply, descriptions.gateway(call.context(), metadata(call)))
                : new EmptyBodySink(
                        reply,
                        () -> catalogue.modelMetadata(
                                call, model, descriptions.describing(call.context(), model, reply)));
    }

    /** The server's metadata, without the extensions of which the caller may use nothing. */
    private ServerMetadata metadata(Call call) {
        ServerMetadata all = catalogue.serverMetadata();
        Set<String> hidden = new HashSet<>();
        Set<String> usable = new HashSet<>();
        for (Extension each : Extension.values()) {
            boolean allowed =
                    policy.onSomething(call.context(), each.permission()).allowed();
            (allowed ? usable : hidden).add(each.advertisedName());
        }
        hidden.removeAll(usable);
        List<String> shown =
                all.extensions().stream().filter(name -> !hidden.contains(name)).toList();
        return new ServerMetadata(all.name(), all.version(), shown);
    }

    private ReplyMessage ready() {
        String reason = catalogue.notReady();
        return new ReplyMessage.Ready(reason.isEmpty(), reason);
    }

    /**
     * A request of which a client wants to know what is wrong with it: it is read as that of an inference, and compared with
     * what the servers of each target declare. No server gets it; servers whose metadata are not known are asked for them.
     */
    static final class RequestValidationCall implements RequestSink {
        private final Call call;
        private final ModelRef model;
        private final ModelLocation location;
        private final Catalogue catalogue;
        private final Reply reply;
        private final RestRequestReader reader;
        private @Nullable OipException violation;
        private @Nullable RequestOutline request;
        private Subscription lookUp = Subscription.NONE;
        private boolean ended;

        RequestValidationCall(
                Call call,
                Operation.Validate operation,
                ModelLocation location,
                Catalogue catalogue,
                WireLimits limits,
                Reply reply) {
            this.call = call;
            this.model = operation.model();
            this.location = location;
            this.catalogue = catalogue;
            this.reply = reply;
            this.reader = new RestRequestReader(
                    call.allocator(), model, operation.jsonLength(), true, limits.withSharedMemory(true));
        }

        @Override
        public void data(ByteBuf chunk) {
            try {
                if (violation == null && !ended) {
                    reader.feed(chunk);
                }
            } catch (OipException invalid) {
                violation = invalid;
            } finally {
                chunk.release();
            }
        }

        @Override
        public long held() {
            return ended || violation != null ? 0 : reader.held();
        }

        @Override
        public void end() {
            if (ended) {
                return;
            }
            ended = true;
            if (violation == null) {
                read();
            }
            if (request != null && !compared()) {
                lookUp = catalogue.modelMetadata(call, model, new LookUpReply());
            } else {
                reply.only(answer());
            }
        }

        private void read() {
            try {
                InferRequest complete = reader.finish().request();
                request = RequestOutline.of(complete);
                // The outline needs no elements.
                complete.release();
            } catch (OipException invalid) {
                violation = invalid;
            }
        }

        @Override
        public void cancel() {
            ended = true;
            reader.release();
            lookUp.cancel();
        }

        /** What servers declare is known now, or cannot be. */
        private final class LookUpReply implements Reply {
            @Override
            public void message(ReplyMessage message) {
                message.release();
            }

            @Override
            public void complete() {
                reply.only(answer());
            }

            @Override
            public void fail(OipException failure) {
                if (failure.code() == ErrorCode.NOT_FOUND) {
                    reply.fail(failure);
                } else {
                    reply.only(answer());
                }
            }
        }

        private List<DeclaredSignatures> declared() {
            return location.targets().stream()
                    .map(each ->
                            catalogue.signatures().of(model, each.upstream().name(), each.model()))
                    .toList();
        }

        /** Whether what all servers of all targets declare is known. */
        private boolean compared() {
            return declared().stream().allMatch(each -> each.known() && each.complete());
        }

        private ReplyMessage answer() {
            ObjectNode answer = JsonNodeFactory.instance.objectNode().put("model_name", model.name());
            ArrayNode errors = JsonNodeFactory.instance.arrayNode();
            OipException invalid = violation;
            if (invalid != null) {
                errors.addObject().put("reason", "protocol").put("message", invalid.message());
            } else if (request != null) {
                mismatches(request).forEach(each -> add(errors, each));
            }
            answer.put("valid", errors.isEmpty())
                    .put("compared", request != null && compared())
                    .set("errors", errors);
            return new ReplyMessage.Document(
                    Unpooled.wrappedBuffer(answer.toString().getBytes(StandardCharsets.UTF_8)));
        }

        /** The differences from the first target that does not take it. */
        private List<RequestMismatch> mismatches(RequestOutline outline) {
            return declared().stream()
                    .map(each -> each.mismatches(outline))
                    .filter(found -> !found.isEmpty())
                    .findFirst()
                    .orElse(List.of());
        }

        private void add(ArrayNode errors, RequestMismatch mismatch) {
            errors.addObject()
                    .put("reason", mismatch.reason().label())
                    .put("tensor", mismatch.tensor())
                    .put("expected", mismatch.expected())
                    .put("got", mismatch.got())
                    .put("message", mismatch.text(model.name()));
        }
    }
}
