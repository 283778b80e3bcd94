package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.payloadlog.PayloadEvent.EventPayload;
import dev.isthmus.gateway.payloadlog.PayloadEvent.MissingData;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig.PayloadForm;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Encodes events: attributes as KServe's inference logger has them and a few more, and the payload as a V2 body of JSON
 * or with binary data, whatever the client's protocol and form were. Used by one thread.
 */
final class PayloadEncoder {
    private static final String COMPONENT = "predictor";
    private static final String ENDPOINT = "default";

    private final PayloadLogConfig config;
    private final PayloadMeters meters;
    private final PayloadOmission omission;
    private final DocumentFilter documents;
    private final OutputForms forms;
    private final WireLimits limits;
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator = new UnpooledByteBufAllocator(false);

    PayloadEncoder(PayloadLogConfig config, PayloadMeters meters) {
        this.config = config;
        this.meters = meters;
        documents = new DocumentFilter(config.omit());
        omission = new PayloadOmission(config.omit(), documents);
        // Every JSON parser reads strings, and so does the reader of requests.
        forms = (config.form() == PayloadForm.BINARY ? OutputForms.BINARY : OutputForms.JSON).with(NonFinite.STRING);
        limits = WireLimits.DEFAULT
                .withBodyBytes(Integer.MAX_VALUE)
                .withTensors(Integer.MAX_VALUE)
                .withSharedMemory(true);
        transcoder = new Transcoder(limits);
    }

    /** The encoded event (taken). */
    CloudEvent encode(PayloadEvent event) {
        Map<String, String> attributes = attributes(event);
        return switch (event.payload()) {
            case EventPayload.FailureText error ->
                event(attributes, new RestBody(error(error.text(), error.id()), RestBody.ALL_JSON));
            case EventPayload.OpaqueBody body -> body(attributes, body);
            case EventPayload.Missing missing -> withoutData(attributes, missing.reason());
            case EventPayload.Message(InferMessage message) -> {
                try {
                    yield event.kind() == PayloadKind.REQUEST
                            ? request(attributes, event.model(), message)
                            : response(attributes, message);
                } catch (OipException unreadable) {
                    yield withoutData(attributes, MissingData.UNREADABLE);
                }
            }
        };
    }

    private Map<String, String> attributes(PayloadEvent event) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("specversion", "1.0");
        attributes.put("id", event.id());
        attributes.put("source", config.source());
        attributes.put("type", event.kind().type());
        attributes.put("time", Instant.ofEpochMilli(event.millis()).toString());
        put(attributes, "inferenceservicename", event.model().name());
        put(attributes, "modelversion", event.model().version());
        attributes.put("namespace", config.namespace());
        attributes.put("component", COMPONENT);
        attributes.put("endpoint", ENDPOINT);
        attributes.put("protocol", event.call().protocol().label());
        put(attributes, "operation", event.call().operation());
        if (event.call().stream()) {
            attributes.put("stream", "true");
        }
        if (event.kind() == PayloadKind.RESPONSE) {
            ErrorCode code = event.code();
            attributes.put("code", code == null ? "OK" : code.name());
        }
        String traceParent = event.call().traceParent();
        put(attributes, "traceparent", traceParent == null ? "" : traceParent);
        attributes.put("payloadsize", Long.toString(event.bytes()));
        return attributes;
    }

    /** An attribute has no empty value. */
    private static void put(Map<String, String> attributes, String name, String value) {
        if (!value.isEmpty()) {
            attributes.put(name, value);
        }
    }

    private CloudEvent withoutData(Map<String, String> attributes, MissingData reason) {
        LabelledCounters.increment(meters.bare, reason);
        attributes.put("dataomitted", reason.label());
        return new CloudEvent(attributes);
    }

    private CloudEvent body(Map<String, String> attributes, EventPayload.OpaqueBody body) {
        ByteBuf bytes = body.bytes();
        try {
            return switch (body.kind()) {
                case RAW -> raw(attributes, bytes);
                case JSON -> document(attributes, CloudEvent.JSON, documents.json(bytes));
                case EVENTS -> document(attributes, CloudEvent.EVENT_STREAM, documents.events(bytes));
            };
        } catch (IOException malformed) {
            return withoutData(attributes, MissingData.UNREADABLE);
        } finally {
            bytes.release();
        }
    }

    /** The data of a tensor, as the client sends it: after no JSON. */
    private CloudEvent raw(Map<String, String> attributes, ByteBuf bytes) {
        if (!config.omit().tensors().isEmpty()) {
            return withoutData(attributes, MissingData.RAW);
        }
        attributes.put(CloudEvent.JSON_LENGTH, "0");
        byte[] data = ByteBufUtil.getBytes(bytes);
        return new CloudEvent(attributes, CloudEvent.BINARY, data, data.length);
    }

    private static CloudEvent document(
            Map<String, String> attributes, String contentType, DocumentFilter.FilteredDocument document) {
        markOmission(attributes, document.tensorsOmitted());
        return new CloudEvent(attributes, contentType, document.bytes(), document.bytes().length);
    }

    private ByteBuf error(String text, String id) {
        JsonWriter json = new JsonWriter(allocator);
        try {
            json.open('{').key("error").text(text);
            if (!id.isEmpty()) {
                json.key("id").text(id);
            }
            json.close('}');
            return json.take();
        } finally {
            json.release();
        }
    }

    private CloudEvent request(Map<String, String> attributes, ModelRef model, InferMessage message) {
        InferRequest request = switch (message) {
            case InferMessage.RestMessage(RestBody body) -> read(model, body);
            case InferMessage.ProtobufMessage(ByteBuf encoded) -> ProtobufReader.request(encoded, limits);
            default -> throw new IllegalArgumentException("an encoded request is expected");
        };
        markOmission(attributes, omission.concerns(request.inputs()));
        return event(attributes, RestWriter.request(allocator, omission.apply(request), forms));
    }

    private InferRequest read(ModelRef model, RestBody body) {
        RestRequestReader reader = new RestRequestReader(allocator, model, body.jsonLength(), true, limits);
        try {
            if (body.content() instanceof CompositeByteBuf composite) {
                for (ByteBuf part : composite) {
                    reader.feed(part);
                }
            } else {
                reader.feed(body.content());
            }
            return reader.finish().request();
        } finally {
            reader.release();
            body.release();
        }
    }

    private CloudEvent response(Map<String, String> attributes, InferMessage message) {
        InferMessage decoded = transcoder.response(allocator, message, ResponseForm.DECODED);
        InferResponse response = ((InferMessage.Response) decoded).response();
        markOmission(attributes, omission.concerns(response.outputs()));
        return event(attributes, RestWriter.response(allocator, omission.apply(response), forms));
    }

    private static void markOmission(Map<String, String> attributes, boolean omitted) {
        if (omitted) {
            attributes.put("tensorsomitted", "true");
        }
    }

    private static CloudEvent event(Map<String, String> attributes, RestBody body) {
        try {
            ByteBuf content = body.content();
            // The array of an unpooled buffer is not used again.
            boolean whole = content.hasArray() && content.arrayOffset() == 0 && content.readerIndex() == 0;
            byte[] data = whole ? content.array() : ByteBufUtil.getBytes(content);
            if (body.binary()) {
                attributes.put(CloudEvent.JSON_LENGTH, Long.toString(body.jsonLength()));
            }
            return new CloudEvent(
                    attributes, body.binary() ? CloudEvent.BINARY : CloudEvent.JSON, data, content.readableBytes());
        } finally {
            body.release();
        }
    }
}
