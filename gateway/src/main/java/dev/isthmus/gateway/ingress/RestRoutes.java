package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * From a REST request's method and path to its operation (protocol document "Required API", HTTP/REST). The path is split
 * before it is decoded, and each segment is decoded once.
 */
final class RestRoutes {
    private static final int MAX_SEGMENT = 255;

    private RestRoutes() {}

    /** @throws OipException NOT_FOUND, METHOD_NOT_ALLOWED or INVALID_ARGUMENT */
    static Operation operation(RequestHead head) {
        int query = head.uri().indexOf('?');
        String path = query < 0 ? head.uri() : head.uri().substring(0, query);
        String[] segments = path.split("/", -1);
        if (segments.length < 2 || !segments[0].isEmpty() || !segments[1].equals("v2")) {
            throw notFound();
        }
        return switch (segments.length) {
            case 2 -> get(head, new Operation.ServerMetadata());
            case 4 -> ofFour(head, segments);
            case 5 -> ofModel(head, ModelRef.of(model(segments)), segments[4]);
            case 6 -> versioned(segments) ? get(head, new Operation.ModelMetadata(version(segments))) : unknown();
            case 7 -> versioned(segments) ? ofModel(head, version(segments), segments[6]) : unknown();
            default -> throw notFound();
        };
    }

    private static Operation ofFour(RequestHead head, String[] segments) {
        if (segments[2].equals("health")) {
            return switch (segments[3]) {
                case "live" -> get(head, new Operation.ServerLive());
                case "ready" -> get(head, new Operation.ServerReady());
                default -> throw notFound();
            };
        }
        return get(head, new Operation.ModelMetadata(ModelRef.of(model(segments))));
    }

    private static Operation ofModel(RequestHead head, ModelRef model, String verb) {
        return switch (verb) {
            case "ready" -> get(head, new Operation.ModelReady(model));
            case "infer" -> {
                require(head, "POST");
                yield new Operation.Infer(model, new BodyForm.Rest(jsonLength(head)));
            }
            default -> throw notFound();
        };
    }

    private static boolean versioned(String[] segments) {
        return segments[4].equals("versions");
    }

    private static Operation unknown() {
        throw notFound();
    }

    private static Operation get(RequestHead head, Operation operation) {
        require(head, "GET");
        return operation;
    }

    private static void require(RequestHead head, String method) {
        if (!head.method().equals(method)) {
            throw new OipException(
                    ErrorCode.METHOD_NOT_ALLOWED, "method " + method + " is expected here, got " + head.method());
        }
    }

    private static String model(String[] segments) {
        if (!segments[2].equals("models")) {
            throw notFound();
        }
        return decode("model name", segments[3]);
    }

    private static ModelRef version(String[] segments) {
        return new ModelRef(model(segments), decode("model version", segments[5]));
    }

    /** How long the JSON is at the front of the body (binary tensor data extension, R16). */
    private static long jsonLength(RequestHead head) {
        List<String> values = head.fields().all("inference-header-content-length");
        if (values.isEmpty()) {
            return RestBody.ALL_JSON;
        }
        String value = values.get(0);
        if (values.size() > 1
                || value.isEmpty()
                || value.length() > 18
                || !value.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw OipException.invalid("header Inference-Header-Content-Length: one number of bytes is expected, got '"
                    + String.join(", ", values) + "'");
        }
        return Long.parseLong(value);
    }

    private static String decode(String what, String segment) {
        ByteBuffer bytes = ByteBuffer.allocate(segment.length() * 3);
        for (int i = 0; i < segment.length(); i++) {
            char c = segment.charAt(i);
            if (c == '%') {
                int high = i + 2 < segment.length() ? Character.digit(segment.charAt(i + 1), 16) : -1;
                int low = high < 0 ? -1 : Character.digit(segment.charAt(i + 2), 16);
                if (low < 0) {
                    throw OipException.invalid(what + ": '" + segment + "' has a bad percent escape");
                }
                bytes.put((byte) (high << 4 | low));
                i += 2;
            } else if (c < 0x80) {
                bytes.put((byte) c);
            } else {
                throw OipException.invalid(what + ": characters beyond ASCII are expected percent-encoded");
            }
        }
        return checked(what, segment, bytes.flip());
    }

    private static String checked(String what, String segment, ByteBuffer bytes) {
        String decoded;
        try {
            decoded = StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, what + ": '" + segment + "' is not UTF-8", e);
        }
        boolean odd = decoded.isEmpty()
                || decoded.length() > MAX_SEGMENT
                || decoded.equals(".")
                || decoded.equals("..")
                || decoded.chars().anyMatch(c -> c < 0x20 || c == 0x7f || c == '/' || c == '\\');
        if (odd) {
            throw OipException.invalid(what + ": 1 to " + MAX_SEGMENT
                    + " characters without '/', '\\' and control characters are expected, got '" + segment + "'");
        }
        return decoded;
    }

    private static OipException notFound() {
        return new OipException(ErrorCode.NOT_FOUND, "Not Found");
    }
}
