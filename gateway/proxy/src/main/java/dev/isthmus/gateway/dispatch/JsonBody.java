package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.dispatch.JsonText.JsonReadMode;
import dev.isthmus.gateway.dispatch.JsonText.PassThroughRule;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.dispatch.RequestBody.DecodedBody;
import dev.isthmus.gateway.dispatch.RequestUpload.StreamedRequest;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.RestParts;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A REST request, parsed while its parts arrive, so that an upstream receives only valid requests. If the upstream
 * accepts the body as the client sent it without losing anything, the body is forwarded unchanged, and the upstream
 * validates the numbers in it ({@link JsonText}). Binary data whose sizes are known to be right is forwarded to a gRPC
 * server as it arrives.
 */
final class JsonBody extends RequestBody {
    private final JsonText text;
    private final BodyForm.RestForm sent;
    /** How NaN and the infinities are written in the response, from the client or the configuration. */
    private final NonFinite nonFinite;

    private final boolean events;
    private @Nullable BinaryPartsRequest parts;

    /** Creates an empty body. */
    JsonBody(
            Exchange exchange, Operation.Infer infer, BodyForm.RestForm sent, Transcoder transcoder, InferRules rules) {
        super(exchange, infer.model(), transcoder);
        JsonReadMode reading = JsonReadMode.of(routed.route(), sent.jsonLength());
        boolean decoded = !infer.stream() && routed.route().decodes();
        this.text = new JsonText(
                allocator, requested, sent.jsonLength(), decoded ? reading.decoding() : reading, rules.limits());
        this.sent = sent;
        this.nonFinite = rules.nonFinite(sent);
        this.events = infer.stream();
    }

    @Override
    void add(ByteBuf chunk) {
        text.add(chunk);
    }

    @Override
    @Nullable
    StreamedRequest streamed() {
        if (parts == null) {
            RestRequest head = text.head(sent.bodyLength());
            if (head != null) {
                parts = new BinaryPartsRequest(head);
            }
        }
        return parts;
    }

    @Override
    long held() {
        return text.held();
    }

    @Override
    void end() {
        if (parts != null && parts.started()) {
            text.requireComplete();
        } else {
            text.end();
        }
    }

    @Override
    Map<String, Parameter> parameters() {
        return request().parameters();
    }

    @Override
    String receivedId() {
        return request().id();
    }

    private InferRequest request() {
        return (parts == null ? text.request() : parts.head).request();
    }

    @Override
    UpstreamMessage prepare(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        RestRequest complete = text.request();
        if (show != null) {
            show.accept(RequestOutline.of(complete.request()));
        }
        ByteBuf original = text.text();
        if (original == null
                || !JsonReadMode.keepsOriginal(peer, sent.jsonLength())
                || !PassThroughRule.appliesTo(peer, complete)) {
            return decode(peer, model).encoded(transcoder, allocator, peer);
        }
        OutputForms outputs = outputs(complete);
        boolean responseUnchanged = nonFinite == NonFinite.TOKEN && outputs.equals(complete.outputForms());
        return new UpstreamMessage(
                new InferMessage.RestMessage(new RestBody(original, sent.jsonLength()).retained()),
                form(complete, model, outputs, responseUnchanged));
    }

    /** A server-sent event cannot contain binary data. */
    private OutputForms outputs(RestRequest request) {
        OutputForms forms = request.outputForms().with(nonFinite);
        return events ? forms.withoutBinary() : forms;
    }

    @Override
    DecodedBody decode(ServerFeatures peer, ModelRef model) {
        RestRequest full = text.inFull();
        return new DecodedBody(
                new InferMessage.DecodedRequest(
                        full.retained(allocator, peer.dialect()).withModel(model), full.plainInputs()),
                form(full, model, outputs(full), false),
                peer.dialect().base64() ? full.base64Inputs() : Set.of());
    }

    private ResponseForm form(RestRequest request, ModelRef model, OutputForms outputs, boolean unchanged) {
        return new ResponseForm(
                Wire.REST,
                unchanged,
                outputs,
                false,
                RequestedOutput.shared(request.request().outputs()),
                request.request().id(),
                responseModel(model));
    }

    @Override
    void releaseReceived() {
        text.release();
        if (parts != null) {
            parts.release();
        }
    }

    /** The request once its JSON is complete; its binary data need not be gathered. */
    private final class BinaryPartsRequest implements StreamedRequest {
        private final RestRequest head;
        private @Nullable RestParts message;

        BinaryPartsRequest(RestRequest head) {
            this.head = head;
        }

        boolean started() {
            return message != null;
        }

        @Override
        public long length() {
            return sent.bodyLength();
        }

        @Override
        public RequestOutline outline() {
            return RequestOutline.of(head.request());
        }

        @Override
        public @Nullable StreamedMessage start(ServerFeatures peer, ModelRef model) {
            if (peer.wire() != Wire.PROTOBUF) {
                return null;
            }
            RestParts started = transcoder.parts(allocator, head.request().withModel(model), text.inParts(), peer);
            message = started;
            return new StreamedMessage(
                    started.length(), form(head, model, head.outputForms().with(nonFinite), false));
        }

        @Override
        public boolean hasPart() {
            return message != null && message.waits();
        }

        @Override
        public ByteBuf take() {
            return Objects.requireNonNull(message).take();
        }

        void release() {
            if (message != null) {
                message.release();
            }
        }
    }
}
