package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import java.util.ArrayList;
import java.util.List;

/**
 * How a REST request is read, so that any of the servers that it may go to can be sent it.
 *
 * @param anyParameter whether parameters that the protocol does not have are taken
 * @param original whether the body is kept as it came
 * @param sharedMemory whether tensors may lie in shared memory
 * @param skimmedFor the servers that the request, and copies of it, may go to, where numbers need not be read because all of
 *     them may be sent the body as it came; else none
 */
record JsonReadMode(boolean anyParameter, boolean original, boolean sharedMemory, List<ServerFeatures> skimmedFor) {

    /** The servers are asked for what they understand now. */
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

    /** Whether the server may be sent a body of this kind as it came: JSON alone goes to few that know binary data. */
    private static boolean keepsOriginal(ServerFeatures peer, long jsonLength) {
        if (peer.wire() != Wire.REST) {
            return false;
        }
        boolean json = jsonLength == RestBody.ALL_JSON;
        return peer.binaryTensorData()
                ? !json || !peer.dialect().lossyJson() || peer.dialect().keepsJson()
                : json;
    }

    /** Whether the server is sent JSON as it came, but for what is rare in it: not one that is asked for binary data. */
    private static boolean mostlyOriginal(ServerFeatures peer) {
        return peer.wire() == Wire.REST
                && !(peer.binaryTensorData() && peer.dialect().lossyJson());
    }
}
