package dev.isthmus.gateway;

import dev.isthmus.gateway.http2.AbuseLimits;
import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.metrics.Http2AbuseMetrics;
import dev.isthmus.gateway.settings.Http2Abuse;
import dev.isthmus.gateway.settings.UpstreamConfig;
import io.micrometer.core.instrument.MeterRegistry;

/** Configured limits against abuse by the peers of HTTP/2 connections. */
final class AbusePolicies {
    private AbusePolicies() {}

    static AbusePolicy ofClients(Http2Abuse config, MeterRegistry meters) {
        AbuseLimits limits = new AbuseLimits(
                new BucketLimit(config.streamResetBurst(), config.streamResetRate()),
                new BucketLimit(config.streamErrorBurst(), config.streamErrorRate()),
                new BucketLimit(config.controlFrameBurst(), config.controlFrameRate()),
                config.controlFramesPerData(),
                config.maxQueuedFrames());
        return new AbusePolicy(limits, new Http2AbuseMetrics(meters).ofClients());
    }

    /** Does not limit stream resets and errors: a server's affect only its own calls. */
    static AbusePolicy ofUpstream(String name, UpstreamConfig.UpstreamHttp2Abuse config, MeterRegistry meters) {
        AbuseLimits limits = new AbuseLimits(
                BucketLimit.ANY,
                BucketLimit.ANY,
                new BucketLimit(config.controlFrameBurst(), config.controlFrameRate()),
                config.controlFramesPerData(),
                config.maxQueuedFrames());
        return new AbusePolicy(limits, new Http2AbuseMetrics(meters).ofUpstream(name));
    }
}
