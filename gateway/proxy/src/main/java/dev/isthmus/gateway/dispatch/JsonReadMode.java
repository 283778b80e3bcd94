package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import java.util.ArrayList;
import java.util.List;

/**
 * How a REST request is parsed, so that it can be sent to any of the servers that it may be routed to.
 *
 * @param anyParameter whether parameters that the protocol does not define are accepted
 * @param original whether the body is kept as received
 * @param sharedMemory whether tensors may be in shared memory
 * @param skimmedFor the servers that the request, and copies of it, may be sent to, if numbers need not be parsed
 *     because all of them accept the body as received; else none
 */
record JsonReadMode(boolean anyParameter, boolean original, boolean sharedMemory, List<ServerFeatures> skimmedFor) {

    /** Derives the mode from what the route's servers support now. */
    static JsonReadMode of(Route route, long jsonLength) {
        boolean anyParameter = false;
        boolean original = false;
        boolean sharedMemory = false;
        boolean skimmed = jsonLength == RestBody.ALL_JSON;
        List<ServerFeatures> peers = new ArrayList<>();
        for (Upstream upstream : route.upstreams()) {
            ServerFeatures peer = upstream.peer();
            anyParameter |= peer.anyParameter();
            original |= keepsOriginal(peer, jsonLength);
            sharedMemory |= peer.sharedMemory();
            skimmed &= mostlyOriginal(peer);
            peers.add(peer);
        }
        for (Upstream upstream : route.shadowUpstreams()) {
            skimmed &= mostlyOriginal(upstream.peer());
            peers.add(upstream.peer());
        }
        return new JsonReadMode(anyParameter, original, sharedMemory, skimmed ? peers : List.of());
    }

    /** The same for a request that is decoded, whichever server gets it. */
    JsonReadMode decoding() {
        return new JsonReadMode(anyParameter, false, sharedMemory, List.of());
    }

    /** Whether the server may be sent a body of this kind as received: few servers with binary data get plain JSON. */
    private static boolean keepsOriginal(ServerFeatures peer, long jsonLength) {
        if (peer.wire() != Wire.REST) {
            return false;
        }
        boolean json = jsonLength == RestBody.ALL_JSON;
        return peer.binaryTensorData()
                ? !json || !peer.dialect().lossyJson() || peer.dialect().mayInspectJson()
                : json;
    }

    /** Whether the server is sent nearly all JSON as received: not if the gateway asks it for binary data. */
    private static boolean mostlyOriginal(ServerFeatures peer) {
        return peer.wire() == Wire.REST
                && !(peer.binaryTensorData() && peer.dialect().lossyJson());
    }
}
