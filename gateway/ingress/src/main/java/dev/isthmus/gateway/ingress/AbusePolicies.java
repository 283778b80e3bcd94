package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.AbuseLimits;
import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import dev.isthmus.gateway.http2.AbuseListener;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.settings.Http2Abuse;

/** Configured limits against abuse by the clients of HTTP/2 connections. */
final class AbusePolicies {
    private AbusePolicies() {}

    static AbusePolicy of(Http2Abuse config, AbuseListener listener) {
        AbuseLimits limits = new AbuseLimits(
                new BucketLimit(config.streamResetBurst(), config.streamResetRate()),
                new BucketLimit(config.streamErrorBurst(), config.streamErrorRate()),
                new BucketLimit(config.controlFrameBurst(), config.controlFrameRate()),
                config.controlFramesPerData(),
                config.maxQueuedFrames());
        return new AbusePolicy(limits, listener);
    }
}
