package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.http2.Field;
import dev.isthmus.gateway.http2.Fields;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The header fields of gRPC's responses: those of most calls are always the same. */
final class GrpcFields {
    private static final Field STATUS_200 = Field.constant(":status", "200");
    private static final Field TYPE = Field.constant(HttpHeaderNames.CONTENT_TYPE, GrpcNames.CONTENT_TYPE);
    private static final Field ACCEPTED = Field.constant(GrpcNames.ACCEPT_ENCODING, ContentCoding.ACCEPTED_BY_GRPC);

    private static final Fields HEAD = Fields.of(STATUS_200, TYPE, ACCEPTED);
    private static final Fields COMPLETE = Fields.of(Field.constant(GrpcNames.STATUS, "0"));
    /** The beginning of what is head and trailers in one, for answers without messages. */
    private static final Fields ONLY = Fields.of(STATUS_200, TYPE);

    private static final Fields NONE = Fields.of();

    private GrpcFields() {}

    /**
     * The head of a response with messages.
     *
     * @param coding of the messages; null for identity
     * @param returned what the upstream said by then
     */
    static Fields head(@Nullable ContentCoding coding, Map<String, String> returned) {
        Fields head = coding == null ? HEAD : HEAD.with(GrpcNames.ENCODING, coding.token());
        return with(head, returned);
    }

    /** What ends a call that went well. */
    static Fields complete(boolean headSent, Map<String, String> returned) {
        if (headSent && returned.isEmpty()) {
            return COMPLETE;
        }
        return with(headSent ? NONE : ONLY, returned).with(GrpcNames.STATUS, "0");
    }

    /** What ends a call that failed. */
    static Fields failure(OipException failure, boolean headSent, Map<String, String> returned) {
        String wait = failure.retryAfter().map(RetryAfter::seconds).orElse(null);
        Fields fields = headSent ? NONE : ONLY;
        for (Map.Entry<String, String> field : returned.entrySet()) {
            if (wait == null || !field.getKey().equals(RetryAfter.HEADER)) {
                fields = fields.with(field.getKey(), field.getValue());
            }
        }
        fields = fields.with(GrpcNames.STATUS, Integer.toString(failure.code().grpcStatus()))
                .with(GrpcNames.MESSAGE, StatusMessage.encoded(failure.message()));
        fields = wait == null ? fields : fields.with(RetryAfter.HEADER, wait);
        return failure.code() == ErrorCode.UNIMPLEMENTED ? fields.with(ACCEPTED) : fields;
    }

    private static Fields with(Fields fields, Map<String, String> returned) {
        Fields all = fields;
        for (Map.Entry<String, String> field : returned.entrySet()) {
            all = all.with(field.getKey(), field.getValue());
        }
        return all;
    }
}
