package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.OperationKind.ModelAction;
import dev.isthmus.gateway.call.OperationKind.ServerPath;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.PathTemplate;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Maps a REST request's path to its operation (protocol document "Required API", HTTP/REST, and Triton's extensions).
 * The path is split before it is decoded, and each segment is decoded once.
 */
final class RestRoutes {
    /** Segments of nearly all paths, so that reading one does not allocate. */
    private static final String[] FREQUENT = {"", "v2", "models", "infer"};

    private RestRoutes() {}

    /**
     * The operation of a path.
     *
     * @param allow the accepted methods, in the form of the {@code Allow} header
     */
    record PathRoute(String allow, Operation operation) {

        static PathRoute get(Operation operation) {
            return new PathRoute("GET", operation);
        }

        boolean accepts(String method) {
            return allow.equals(method)
                    || (allow.equals("GET, POST") && (method.equals("GET") || method.equals("POST")));
        }
    }

    /** @throws OipException NOT_FOUND or INVALID_ARGUMENT */
    static PathRoute route(RequestHead head) {
        int query = head.uri().indexOf('?');
        String path = query < 0 ? head.uri() : head.uri().substring(0, query);
        String[] segments = segments(path);
        if (segments.length < 2 || !segments[0].isEmpty()) {
            throw notFound();
        }
        // No path of an inference is as short.
        ServerPath fixed = segments.length < 5 ? ServerPath.of(path) : null;
        if (fixed != null) {
            return PathRoute.get(fixed.operation());
        }
        if (!segments[1].equals("v2") || segments.length == 2) {
            throw GrpcRoutes.serves(path) ? notRest() : notFound();
        }
        if (segments.length == 3 && segments[2].isEmpty()) {
            // The protocol document uses /v2, its OpenAPI description /v2/. No other path has two forms.
            return PathRoute.get(ServerPath.METADATA.operation());
        }
        return segments[2].equals("models") ? models(head, segments) : management(head, segments);
    }

    private static String[] segments(String path) {
        int count = 1;
        for (int slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
            count++;
        }
        String[] segments = new String[count];
        int from = 0;
        for (int i = 0; i < count; i++) {
            int slash = path.indexOf('/', from);
            int to = slash < 0 ? path.length() : slash;
            segments[i] = segment(path, from, to);
            from = to + 1;
        }
        return segments;
    }

    private static String segment(String path, int from, int to) {
        for (String each : FREQUENT) {
            if (each.length() == to - from && path.startsWith(each, from)) {
                return each;
            }
        }
        return path.substring(from, to);
    }

    private static PathRoute models(RequestHead head, String[] segments) {
        if (segments.length == 4) {
            PathRoute managed = managed(head, segments);
            return managed == null
                    ? PathRoute.get(new Operation.ReadModelMetadata(ModelRef.of(model(segments))))
                    : managed;
        }
        if (segments.length < 5) {
            throw notFound();
        }
        boolean versioned = segments[4].equals("versions") && segments.length > 5;
        ModelRef model = versioned ? version(segments) : ModelRef.of(model(segments));
        int verb = versioned ? 6 : 4;
        if (segments.length == verb) {
            return PathRoute.get(new Operation.ReadModelMetadata(model));
        }
        ModelAction action = segments.length == verb + 1 ? ModelAction.of(segments[verb]) : null;
        if (action == null) {
            return management(head, segments);
        }
        Operation operation = switch (action) {
            case READY -> new Operation.ModelReady(model);
            case INFER -> infer(head, model, ContentNegotiation.events(head.all(HttpHeaderNames.ACCEPT)));
            case INFER_STREAM -> infer(head, model, true);
            case GENERATE -> new Operation.Generate(model, false);
            case GENERATE_STREAM -> new Operation.Generate(model, true);
            case VALIDATE -> new Operation.Validate(model, jsonLength(head));
            case OPENAPI -> new Operation.DescribeApi(model);
        };
        return new PathRoute(action.post() ? "POST" : "GET", operation);
    }

    private static Operation infer(RequestHead head, ModelRef model, boolean stream) {
        long bodyLength = head.compressed() ? -1 : head.contentLength();
        return new Operation.Infer(
                model,
                new BodyForm.RestForm(
                        jsonLength(head), bodyLength, ContentNegotiation.nonFinite(head.all(HttpHeaderNames.ACCEPT))),
                stream);
    }

    private static PathRoute management(RequestHead head, String[] segments) {
        PathRoute managed = managed(head, segments);
        if (managed == null) {
            throw notFound();
        }
        return managed;
    }

    /** The route of a management extension; null if the path is not one of its paths. */
    private static @Nullable PathRoute managed(RequestHead head, String[] segments) {
        for (Extension extension : Extension.values()) {
            for (PathTemplate path : extension.paths()) {
                if (path.matches(segments)) {
                    return managed(head, extension, path, segments);
                }
            }
        }
        return null;
    }

    private static PathRoute managed(RequestHead head, Extension extension, PathTemplate path, String[] segments) {
        String resource = path.resource() < 0 ? "" : resource(path.resourceKind(), segments[path.resource()]);
        String model = path.model() < 0 ? "" : decode("model name", segments[path.model()]);
        String version = path.version() < 0 ? "" : resource("model version", segments[path.version()]);
        boolean change = extension.changes(head.method());
        return new PathRoute(
                extension.allow(),
                new Operation.Manage(extension, new ModelRef(model, version), resource, change, true, false));
    }

    private static String model(String[] segments) {
        return decode("model name", segments[3]);
    }

    /** The version in a path, which must not be empty, unlike in a message. */
    private static ModelRef version(String[] segments) {
        return new ModelRef(model(segments), resource("model version", segments[5]));
    }

    /** Length of the JSON at the front of the body (binary tensor data extension, R16). */
    private static long jsonLength(RequestHead head) {
        List<String> values = head.all(HeaderAllowList.JSON_LENGTH);
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

    private static String resource(String what, String segment) {
        String name = decode(what, segment);
        NameGrammar.check(what, name);
        return name;
    }

    private static String decode(String what, String segment) {
        return plain(segment) ? segment : decodeEscaped(what, segment);
    }

    /** Whether the segment needs no decoding, as nearly all do. */
    private static boolean plain(String segment) {
        for (int i = 0; i < segment.length(); i++) {
            char c = segment.charAt(i);
            boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
            if (!letter && c != '_' && c != '-') {
                return false;
            }
        }
        return true;
    }

    private static String decodeEscaped(String what, String segment) {
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
                throw OipException.invalid(what + ": non-ASCII characters must be percent-encoded");
            }
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
        } catch (CharacterCodingException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, what + ": '" + segment + "' is not UTF-8", e);
        }
    }

    /** A path of gRPC, in a request that is not: over HTTP/1.1, or of the Connect protocol. */
    private static OipException notRest() {
        return new OipException(
                ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                "this method is served as gRPC over HTTP/2 (content-type application/grpc), and as gRPC-Web if the"
                        + " listener allows it, but neither as gRPC over HTTP/1.1 nor with the Connect protocol; use"
                        + " one of those, or REST (POST /v2/models/NAME/infer)");
    }

    private static OipException notFound() {
        return new OipException(ErrorCode.NOT_FOUND, "Not Found");
    }
}
