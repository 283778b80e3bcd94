package dev.isthmus.gateway.grpc;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The two forms of gRPC-Web: messages as they are, and in base64. */
public enum GrpcWebForm {
    BINARY("application/grpc-web"),
    TEXT("application/grpc-web-text");

    /** The flag of a frame with trailers, uncompressed. */
    public static final int TRAILERS_FLAG = 0x80;

    private static final String FORMAT = "+proto";

    private final String mediaType;

    GrpcWebForm(String mediaType) {
        this.mediaType = mediaType;
    }

    /** The value of {@code content-type}. */
    public String contentType() {
        return mediaType + FORMAT;
    }

    /** Whether a {@code content-type} is one of gRPC-Web, with any message format. */
    public static boolean isGrpcWeb(@Nullable CharSequence contentType) {
        if (contentType == null) {
            return false;
        }
        String type = mediaType(contentType.toString());
        for (GrpcWebForm form : values()) {
            if (type.equals(form.mediaType) || type.startsWith(form.mediaType + "+")) {
                return true;
            }
        }
        return false;
    }

    /**
     * The form of a request.
     *
     * @throws OipException UNSUPPORTED_MEDIA_TYPE for messages that are not protobuf
     */
    public static GrpcWebForm ofRequest(String contentType) {
        GrpcWebForm form = named(mediaType(contentType));
        if (form == null) {
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Type: " + BINARY.contentType() + " or " + TEXT.contentType() + " is expected, got '"
                            + contentType + "'");
        }
        return form;
    }

    /**
     * The form of the response: the one that the client names, otherwise that of the request.
     *
     * @param accept the values of {@code accept}
     */
    public GrpcWebForm ofResponse(List<String> accept) {
        for (String field : accept) {
            for (String each : field.split(",", -1)) {
                GrpcWebForm form = named(mediaType(each));
                if (form != null) {
                    return form;
                }
            }
        }
        return this;
    }

    private static @Nullable GrpcWebForm named(String type) {
        for (GrpcWebForm form : values()) {
            if (type.equals(form.mediaType) || type.equals(form.contentType())) {
                return form;
            }
        }
        return null;
    }

    private static String mediaType(String value) {
        int end = value.indexOf(';');
        return (end < 0 ? value : value.substring(0, end)).strip().toLowerCase(Locale.ROOT);
    }

    /**
     * The last frame of a response, in both forms: its trailers, as the fields of HTTP/1.1. Owned by the caller.
     *
     * @param fields names in lower case. A line break in a value would begin another field, so it becomes a space
     */
    public static ByteBuf trailers(Map<String, String> fields, ByteBufAllocator allocator) {
        StringBuilder text = new StringBuilder();
        fields.forEach((name, value) -> text.append(name)
                .append(": ")
                .append(value.replace('\r', ' ').replace('\n', ' '))
                .append("\r\n"));
        byte[] bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
        return allocator
                .buffer(MessagePrefix.BYTES + bytes.length)
                .writeByte(TRAILERS_FLAG)
                .writeInt(bytes.length)
                .writeBytes(bytes);
    }
}
