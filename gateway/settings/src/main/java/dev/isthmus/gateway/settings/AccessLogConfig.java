package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

@Doc("Access log: a line of JSON for each call, also for requests that were refused before they were one.")
public record AccessLogConfig(
        @Doc("File that lines are appended to, in a folder that exists. Without it they go to standard output.")
        @Nullable
        Path file,

        @Doc(
                "Size at which the file is renamed to FILE.1, FILE.1 to FILE.2 and so on, and a new one is begun. Devices, "
                        + "pipes and symbolic links are never renamed.")
        @Size
        @Default("128MiB")
        int rotateAt,

        @Doc("Number of renamed files that are kept.") @Range(max = 1000) @Default("5")
        int keep,

        @Doc("Share of the calls that are logged. Failed calls and slow ones always are.") @Share @Default("100%")
        double sample,

        @Doc("The same for the calls of single models, by name or pattern.") @Share
        Map<String, Double> models,

        @Doc("Duration from which a call is slow. 0s: none is.") @OrZero @Default("1s")
        Duration slow,

        @Doc("Request headers to log, in the member 'headers'. Those with credentials (authorization, "
                + "proxy-authorization, cookie, x-api-key) are refused.")
        @HeaderName
        List<String> headers)
        implements CheckedSection {
    /** Headers with credentials. */
    static final List<String> CREDENTIALS = List.of("authorization", "proxy-authorization", "cookie", "x-api-key");

    @Override
    public void check(SectionCheck check) {
        check.written("file", file);
        headers.stream()
                .filter(CREDENTIALS::contains)
                .forEach(
                        header -> check.problem("headers", "'" + header + "' has credentials, which are never logged"));
    }
}
