package dev.isthmus.gateway.settings;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

@Doc(
        "Payload log: requests and responses of inferences as CloudEvents, in the form of KServe's inference logger, to an "
                + "HTTP sink or a file.")
public record PayloadLogConfig(
        @Doc(
                "URL that events are posted to, in CloudEvents' binary content mode: http or https. Either this or 'file'.")
        @Nullable
        String url,

        @Doc("PEM file with the certificates that vouch for the sink's; without it those of the JVM do.") @Nullable
        Path ca,

        @Doc("File that events are appended to, in a folder that exists: one line of JSON each, in CloudEvents' "
                + "structured mode. Either this or 'url'.")
        @Nullable
        Path file,

        @Doc("Size at which the file is renamed to FILE.1, FILE.1 to FILE.2 and so on, and a new one is begun.")
        @Size
        @Default("128MiB")
        int rotateAt,

        @Doc("Number of renamed files that are kept.") @Range(max = 1000) @Default("5")
        int keep,

        @Doc("Which events: of requests, of responses, or both.") @Default("both")
        PayloadEvents events,

        @Doc("Form of the tensors. json: a V2 body of JSON. binary: a V2 body with the binary tensor data extension.")
        @Default("json")
        PayloadForm form,

        @Doc("Share of the calls that are logged.") @Share @Default("100%")
        double sample,

        @Doc("The same for the calls of single models, by name or pattern.") @Share
        Map<String, Double> models,

        @Doc("Largest body or message that is logged with its data. Larger payloads are logged without data. With form "
                + "json at most 16MiB.")
        @Size
        @Default("1MiB")
        int maxSize,

        @Doc("Memory for payloads that wait to be written; events beyond are dropped and counted.")
        @Size
        @Default("64MiB")
        int maxQueued,

        OmittedPayload omit,

        @Doc("Attribute 'source' of the events: a URI reference.") @Default("isthmus")
        String source,

        @Doc("Attribute 'namespace' of the events.") @Default("default")
        String namespace)
        implements CheckedSection {
    /** Written as JSON, a tensor takes up to twelve times its size of heap for a while. */
    private static final int MAX_JSON = 16 << 20;

    @Override
    public void check(SectionCheck check) {
        if (check.valid() && (url == null) == (file == null)) {
            check.problem("one of 'url' and 'file' is expected");
        }
        check.expect(
                PayloadLogConfig::isSink,
                "url",
                "an http or https URL without user and password is expected",
                file == null ? url : null);
        check.written("file", file);
        check.expect(PayloadLogConfig::isReference, "source", "a URI reference is expected", source);
        if (check.valid("max_size", "max_queued")) {
            check.expect(
                    maxSize <= maxQueued,
                    "max_size",
                    "at most max_queued, " + Units.size(maxQueued) + ", is expected",
                    Units.size(maxSize));
        }
        check.expect(
                form != PayloadForm.JSON || maxSize <= MAX_JSON,
                "max_size",
                "with form json at most " + Units.size(MAX_JSON)
                        + " is expected, as JSON takes several times the memory",
                Units.size(maxSize));
        if (ca != null && check.valid("url") && (url == null || !url.startsWith("https:"))) {
            check.problem("ca", "an https 'url' is expected with it");
        } else if (check.valid("url")) {
            check.authorities("ca", ca);
        }
    }

    private static boolean isSink(String text) {
        URI sink = WebUrl.of(text);
        return sink != null && sink.getFragment() == null;
    }

    private static boolean isReference(String text) {
        try {
            return !new URI(text).toString().isEmpty();
        } catch (URISyntaxException e) {
            return false;
        }
    }

    @Doc("What is left out of payloads, by name.")
    public record OmittedPayload(
            @Doc("Inputs and outputs.") Set<String> tensors,

            @Doc("Parameters of requests, responses and tensors, and members of parameters that are objects.")
            Set<String> parameters) {}

    public enum PayloadEvents {
        BOTH,
        REQUEST,
        RESPONSE
    }

    /** The form of logged tensors. */
    public enum PayloadForm {
        JSON,
        BINARY
    }
}
