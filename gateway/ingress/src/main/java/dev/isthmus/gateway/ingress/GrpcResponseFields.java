package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.AsciiString;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Header fields of gRPC responses. Those of most calls are constants. */
final class GrpcResponseFields {
    private static final HeaderField STATUS_200 = HeaderField.constant(":status", "200");
    private static final HeaderField TYPE = HeaderField.constant(HttpHeaderNames.CONTENT_TYPE, GrpcNames.CONTENT_TYPE);
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
