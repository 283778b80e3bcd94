package dev.isthmus.gateway.peers;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A gateway as it was last seen.
 *
 * @param addresses host and port at which it was asked; empty for this gateway if it is not among its peers
 * @param self whether it is this gateway
 * @param summary what it says; null if it cannot be reached
 * @param failure why it cannot be reached; empty if it can
 */
record PeerAnswer(
        List<String> addresses, boolean self, @Nullable PeerSummary summary, String failure) {

    PeerAnswer {
        addresses = List.copyOf(addresses);
    }

    /** A gateway that has not answered as expected. */
    static PeerAnswer failed(String address, String failure) {
        return new PeerAnswer(List.of(address), false, null, failure);
    }

    /** What operators call it. */
    String name() {
        return addresses.isEmpty() ? "this gateway" : addresses.getFirst();
    }
}
