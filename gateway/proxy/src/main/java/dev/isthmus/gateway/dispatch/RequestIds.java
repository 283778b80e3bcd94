package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.util.AsciiString;

/**
 * Gives each call a request id: the client's {@code x-request-id}, or a new one if that is missing, longer than 128
 * characters, or has characters other than ASCII letters, digits and ._~:/+=@-. Every response has it, errors included,
 * and servers get it. Thread-safe.
 */
final class RequestIds implements Layer {
    private static final int MAX_LENGTH = 128;
    private static final String OTHERS = "._~:/+=@-";

    private final boolean forwarded;

    /** @param forwarded whether servers get the id of a call */
    RequestIds(boolean forwarded) {
        this.forwarded = forwarded;
    }

    @Override
    public String name() {
        return "request_ids";
    }

    @Override
    public void began(Exchange exchange) {
        String received = exchange.context().headers().value(HeaderAllowList.REQUEST_ID);
        AsciiString kept = received != null && acceptable(received) ? AsciiString.of(received) : null;
        AsciiString id = kept == null ? HexIds.random128() : kept;
        if (forwarded && received != null && kept == null && exchange.isCall()) {
            exchange.call(exchange.call().withHeader(HeaderAllowList.REQUEST_ID, id.toString()));
        }
        exchange.context().identified(id, forwarded && received == null);
        exchange.identified(id);
    }

    private static boolean acceptable(String id) {
        if (id.isEmpty() || id.length() > MAX_LENGTH) {
            return false;
        }
        for (int i = 0; i < id.length(); i++) {
            char c = id.charAt(i);
            boolean alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
            if (!alphanumeric && OTHERS.indexOf(c) < 0) {
                return false;
            }
        }
        return true;
    }
}
