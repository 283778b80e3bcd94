package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.List;

/** Responses of a model that are returned to equal requests. */
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
        boolean singleflight) {
    /** All defaults. */
    public static final CacheConfig DEFAULT = DefaultValues.of(CacheConfig.class);

    public CacheConfig {
        parameters = List.copyOf(parameters);
        headers = List.copyOf(headers);
    }
}
