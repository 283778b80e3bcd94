package dev.isthmus.gateway.ingress;

import org.jspecify.annotations.Nullable;

/**
 * What a listener offers to web pages.
 *
 * @param grpcWeb whether it serves gRPC-Web
 * @param cors which pages of other origins may use it; null for none
 */
public record BrowserAccess(boolean grpcWeb, @Nullable CorsPolicy cors) {
    /** No gRPC-Web, and no pages of other origins. */
    public static final BrowserAccess NONE = new BrowserAccess(false, null);
}
