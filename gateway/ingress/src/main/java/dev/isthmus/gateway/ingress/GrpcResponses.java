package dev.isthmus.gateway.ingress;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerLiveResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import dev.isthmus.proto.metadata.RawModelMetadata;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.AsciiString;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Encodes messages as protobuf, and frames them for gRPC. */
final class GrpcResponses {
    private GrpcResponses() {}

    /** Encodes a message (taken); the result is owned by the caller. */
    static ByteBuf encode(ReplyMessage message) {
        return switch (message) {
            case ReplyMessage.Live live ->
                wrap(ServerLiveResponse.newBuilder().setLive(live.live()).build());
            case ReplyMessage.Ready ready ->
                wrap(ServerReadyResponse.newBuilder().setReady(ready.ready()).build());
            case ReplyMessage.ModelReadyState model ->
                wrap(ModelReadyResponse.newBuilder().setReady(model.ready()).build());
            case ReplyMessage.Server server -> wrap(server(server.metadata()));
            case ReplyMessage.Model model -> wrap(model(model.metadata()));
            case ReplyMessage.Inference inference -> ((InferMessage.ProtobufMessage) inference.message()).message();
            case ReplyMessage.Part part -> throw new IllegalArgumentException("a part, not a message");
            case ReplyMessage.Document document -> document.content();
            case ReplyMessage.StreamError error -> throw new IllegalArgumentException("a status, not a message");
            case ReplyMessage.Events events -> throw new IllegalArgumentException("events exist over REST only");
        };
    }

    /**
     * Frames a message (taken) with its prefix; the result is owned by the caller.
     *
     * @param coding compresses the message, unless it is too large or there is no memory for it; null for none
     */
    static ByteBuf frame(ByteBuf message, @Nullable ContentCoding coding, ByteBufAllocator allocator) {
        ByteBuf packed = coding == null || message.readableBytes() > ContentCoding.MOST_COMPRESSED
                ? null
                : coding.compress(allocator, message, MessagePrefix.BYTES);
        return packed == null
                ? MessagePrefix.before(message, allocator)
                : packed.setByte(0, 1).setInt(1, packed.readableBytes() - MessagePrefix.BYTES);
    }

    private static ByteBuf wrap(MessageLite message) {
        return Unpooled.wrappedBuffer(message.toByteArray());
    }

    private static ServerMetadataResponse server(ServerMetadata metadata) {
        return ServerMetadataResponse.newBuilder()
                .setName(metadata.name())
                .setVersion(metadata.version())
                .addAllExtensions(metadata.extensions())
                .build();
    }

    /** Of a server with both, which only REST allows, properties become parameters: their field is one. */
    private static RawModelMetadata model(ModelMetadata metadata) {
        RawModelMetadata.Builder response = RawModelMetadata.newBuilder()
                .setName(metadata.name())
                .addAllVersions(metadata.versions())
                .setPlatform(metadata.platform());
        metadata.inputs().forEach(input -> response.addInputs(tensor(input)));
        metadata.outputs().forEach(output -> response.addOutputs(tensor(output)));
        boolean plain = metadata.parameters().isEmpty();
        metadata.properties()
                .forEach((name, value) -> response.putExtension(
                        name,
                        plain
                                ? ByteString.copyFromUtf8(value)
                                : parameter(new Parameter.Text(value)).toByteString()));
        metadata.parameters()
                .forEach((name, value) ->
                        response.putExtension(name, parameter(value).toByteString()));
        return response.build();
    }

    private static ModelMetadataResponse.TensorMetadata tensor(ModelMetadata.TensorMetadata metadata) {
        ModelMetadataResponse.TensorMetadata.Builder tensor = ModelMetadataResponse.TensorMetadata.newBuilder()
                .setName(metadata.name())
                .setDatatype(metadata.dataType())
                .addAllShape(metadata.shape().toList());
        metadata.parameters().forEach((name, value) -> tensor.putParameters(name, parameter(value)));
        return tensor.build();
    }

    private static InferParameter parameter(Parameter parameter) {
        InferParameter.Builder builder = InferParameter.newBuilder();
        return switch (parameter) {
            case Parameter.Bool bool -> builder.setBoolParam(bool.value()).build();
            case Parameter.Int64 int64 -> builder.setInt64Param(int64.value()).build();
            case Parameter.Uint64 uint64 ->
                builder.setUint64Param(uint64.value()).build();
            case Parameter.Float64 float64 ->
                builder.setDoubleParam(float64.value()).build();
            case Parameter.Text text -> builder.setStringParam(text.value()).build();
            case Parameter.Json json -> builder.setStringParam(json.text()).build();
        };
    }

    /** Header fields of gRPC responses. Those of most calls are constants. */
    static final class GrpcResponseFields {
        private static final HeaderField STATUS_200 = HeaderField.constant(":status", "200");
        private static final HeaderField TYPE =
                HeaderField.constant(HttpHeaderNames.CONTENT_TYPE, GrpcNames.CONTENT_TYPE);
        private static final HeaderField ACCEPTED =
                HeaderField.constant(GrpcNames.ACCEPT_ENCODING, ContentCoding.ACCEPTED_BY_GRPC);

        private static final HeaderField REQUEST_ID = HeaderField.of(HeaderAllowList.REQUEST_ID, "");

        private static final HeaderFieldList HEAD = HeaderFieldList.of(STATUS_200, TYPE, ACCEPTED);
        private static final HeaderFieldList COMPLETE = HeaderFieldList.of(HeaderField.constant(GrpcNames.STATUS, "0"));
        /** The start of a trailers-only response. */
        private static final HeaderFieldList TRAILERS_ONLY = HeaderFieldList.of(STATUS_200, TYPE);

        private static final HeaderFieldList NONE = HeaderFieldList.of();

        private GrpcResponseFields() {}

        /**
         * The head of a response with messages.
         *
         * @param coding of the messages; null for identity
         * @param id of the call; null if it has none
         * @param returned the upstream's headers received by then; they replace others of the same name
         */
        static HeaderFieldList head(
                @Nullable ContentCoding coding, @Nullable AsciiString id, Map<String, String> returned) {
            HeaderFieldList head = coding == null ? HEAD : HEAD.with(GrpcNames.ENCODING, coding.token());
            if (id != null && !returned.containsKey(HeaderAllowList.REQUEST_ID)) {
                head = head.with(REQUEST_ID.withValue(id));
            }
            return with(head, returned);
        }

        /** The trailers of a successful call. */
        static HeaderFieldList complete(boolean headSent, Map<String, String> returned) {
            if (headSent && returned.isEmpty()) {
                return COMPLETE;
            }
            return with(headSent ? NONE : TRAILERS_ONLY, returned).with(GrpcNames.STATUS, "0");
        }

        /** The trailers of a failed call. */
        static HeaderFieldList failure(OipException failure, boolean headSent, Map<String, String> returned) {
            return with(headSent ? NONE : TRAILERS_ONLY, trailers(failure, returned));
        }

        /** The trailers of a successful call, by name. */
        static Map<String, String> trailers(Map<String, String> returned) {
            Map<String, String> trailers = new LinkedHashMap<>(returned);
            trailers.put(GrpcNames.STATUS.toString(), "0");
            return trailers;
        }

        /** The trailers of a failed call, by name. */
        static Map<String, String> trailers(OipException failure, Map<String, String> returned) {
            Map<String, String> trailers = new LinkedHashMap<>(returned);
            trailers.put(
                    GrpcNames.STATUS.toString(), Integer.toString(failure.code().grpcStatus()));
            trailers.put(GrpcNames.MESSAGE.toString(), StatusMessage.encoded(failure.message()));
            if (failure.code() == ErrorCode.UNAUTHENTICATED) {
                trailers.put(RestResponse.CHALLENGE_HEADER, RestResponse.CHALLENGE);
            }
            failure.retryAfter().ifPresent(wait -> trailers.put(RestResponse.RETRY_AFTER, RestResponse.seconds(wait)));
            if (failure.code() == ErrorCode.UNIMPLEMENTED) {
                trailers.put(GrpcNames.ACCEPT_ENCODING.toString(), ContentCoding.ACCEPTED_BY_GRPC);
            }
            return trailers;
        }

        private static HeaderFieldList with(HeaderFieldList fields, Map<String, String> returned) {
            if (returned.isEmpty()) {
                return fields;
            }
            HeaderFieldList all = fields;
            for (Map.Entry<String, String> field : returned.entrySet()) {
                all = all.with(field.getKey(), field.getValue());
            }
            return all;
        }
    }
}
