package dev.isthmus.gateway.logfile;

import dev.isthmus.gateway.settings.SecretFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** What requests to an OpenTelemetry collector have in common, whether they have spans or metrics. */
public final class OtlpRequests {
    private static final int MAX_HEADER_BYTES = 8192;
    /** The identity of this process among the gateways of one name. */
    private static final String INSTANCE = UUID.randomUUID().toString();

    private OtlpRequests() {}

    /** The attributes of the process: its name, the version of this build, its identity, and further ones. */
    public static Map<String, String> resource(String serviceName, String version, Map<String, String> further) {
        Map<String, String> resource = new HashMap<>(
                Map.of("service.name", serviceName, "service.version", version, "service.instance.id", INSTANCE));
        resource.putAll(further);
        return resource;
    }

    /**
     * The values of headers, each of one line of a file. Blocks.
     *
     * @throws IOException if one cannot be read or sent, or others can read its file; the message does not show the value
     */
    public static Map<String, String> headers(Map<String, Path> files) throws IOException {
        Map<String, String> headers = new HashMap<>();
        for (Map.Entry<String, Path> each : files.entrySet()) {
            Path file = each.getValue();
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                throw new IOException(file + " " + exposure);
            }
            try (InputStream in = Files.newInputStream(file)) {
                String value = new String(in.readNBytes(MAX_HEADER_BYTES), StandardCharsets.ISO_8859_1).strip();
                if (value.chars().anyMatch(Character::isISOControl)) {
                    throw new IOException(file + " has more than a line of text");
                }
                headers.put(each.getKey(), value);
            }
        }
        return headers;
    }
}
