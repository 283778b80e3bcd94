package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import java.util.List;

/**
 * How a REST request is read, so that any of the servers that it may go to can be sent it.
 *
 * @param anyParameter whether parameters that the protocol does not know are let pass
 * @param original whether the body is kept as it came
 * @param sharedMemory whether tensors may lie in shared memory
 */
record Reading(boolean anyParameter, boolean original, boolean sharedMemory) {

    /** @param upstreams those that it may go to, which are asked for what they understand now */
    static Reading of(List<Upstream> upstreams, long jsonLength) {
        boolean anyParameter = false;
        boolean original = false;
        boolean sharedMemory = false;
        for (Upstream upstream : upstreams) {
            Peer peer = upstream.peer();
            anyParameter |= peer.wire() == Wire.REST && peer.dialect().anyParameter();
            original |= keepsOriginal(peer, jsonLength);
            sharedMemory |= peer.sharedMemory();
        }
        return new Reading(anyParameter, original, sharedMemory);
    }

    /** Whether the server may be sent a body of this kind as it came: JSON alone goes to few that know binary data. */
    private static boolean keepsOriginal(Peer peer, long jsonLength) {
        if (peer.wire() != Wire.REST) {
            return false;
        }
        boolean json = jsonLength == RestBody.ALL_JSON;
        return peer.binaryTensorData()
                ? !json || !peer.dialect().lossyJson() || peer.dialect().keepsJson()
                : json;
    }
}
