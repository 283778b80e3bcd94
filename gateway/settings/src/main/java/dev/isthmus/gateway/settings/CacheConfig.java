package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;

@Doc("Responses that are kept and returned to equal requests, whatever their form: JSON, binary data, raw or typed "
        + "contents. Equal requests have the same inputs, requested outputs, parameters and target. Not for sequences, "
        + "streams, generate, and tensors in shared memory.")
public record CacheConfig(
        @Doc("How long a response is returned. 0s: none is kept, and only equal concurrent requests share one.")
        @OrZero
        @Default("1m")
        Duration ttl,

        @Doc("Memory for the responses of the model; all models together have at most a quarter of the heap.")
        @Size
        @Default("64MiB")
        int maxBytes,

        @Doc("Largest response that is kept or shared.") @Size @Default("1MiB")
        int maxResponse,

        @Doc("Largest request that is looked up; larger ones are sent without the cache.") @Size @Default("1MiB")
        int maxRequest,

        @Doc("Request parameters that distinguish requests. None: all of them.")
        List<String> parameters,

        @Doc("Request headers whose values distinguish requests, in addition to those that are forwarded to servers.")
        @HeaderName
        List<String> headers,

        @Doc("Whether each authenticated caller has responses of its own.")
        boolean caller,

        @Doc("Whether equal concurrent requests are sent once.") @Default("true")
        boolean singleflight)
        implements CheckedSection {
    public static final CacheConfig DEFAULT = DefaultValues.of(CacheConfig.class);

    /** Requests with these are never cached, or only the form of the response depends on them. */
    private static final Set<String> NO_PARAMETERS =
            Set.of("sequence_id", "sequence_start", "sequence_end", "binary_data_output");

    /** Their values differ from call to call, or only the form of request or response depends on them. */
    private static final Set<String> NO_HEADERS = Set.of(
            "accept",
            "accept-encoding",
            "cache-control",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "date",
            "host",
            HeaderAllowList.JSON_LENGTH.toString(),
            HeaderAllowList.PRINCIPAL,
            HeaderAllowList.REQUEST_ID,
            HeaderAllowList.TIMEOUT.toString(),
            "te",
            "traceparent",
            "tracestate",
            "transfer-encoding");

    @Override
    public void check(SectionCheck check) {
        parts(check, "parameters", parameters, NO_PARAMETERS);
        parts(check, "headers", headers, NO_HEADERS);
        if (ttl.isZero() && !singleflight && check.valid("ttl", "singleflight")) {
            check.problemAt(
                    "singleflight",
                    "'ttl' above 0s or 'singleflight: true' is expected, since nothing is shared otherwise");
        }
    }

    private static void parts(SectionCheck check, String key, List<String> names, Set<String> refused) {
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            if (refused.contains(name.toLowerCase(Locale.ROOT))) {
                check.problemAtItem(
                        key, i, names.size(), key + ": '" + name + "' cannot distinguish requests: " + reason(name));
            } else if (names.indexOf(name) < i) {
                check.problemAtItem(key, i, names.size(), key + ": '" + name + "' is there twice: one is expected");
            }
        }
    }

    private static String reason(String name) {
        if (name.equals(HeaderAllowList.PRINCIPAL)) {
            return "the gateway sets it; 'caller: true' distinguishes callers";
        }
        return name.startsWith("sequence_")
                ? "those of sequences are never cached"
                : "it differs from call to call, or concerns only the form of a message";
    }
}
