package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.OipException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gives each call a request id: the client's {@code x-request-id}, or a new one if that is missing, longer than 128
 * characters, or has characters other than ASCII letters, digits and ._~:/+=@-. Every response has it, errors included,
 * and servers get it. Thread-safe.
 */
final class RequestIds extends ForwardingService {
    static final String HEADER = "x-request-id";
    private static final int MAX_LENGTH = 128;
    private static final String OTHERS = "._~:/+=@-";

    private final boolean forwarded;

    /** @param forwarded whether servers get the id of a call */
    RequestIds(Service next, boolean forwarded) {
        super(next);
        this.forwarded = forwarded;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        String sent = call.context().headers().value(HEADER);
        String id = identify(call.context(), sent, reply);
        return super.open(forwarded && !id.equals(sent) ? call.withHeader(HEADER, id) : call, reply);
    }

    @Override
    public void reject(CallContext context, OipException refusal, Reply reply) {
        identify(context, context.headers().value(HEADER), reply);
        super.reject(context, refusal, reply);
    }

    private static String identify(CallContext context, @Nullable String sent, Reply reply) {
        String id = sent != null && acceptable(sent) ? sent : HexIds.random128();
        context.identified(id);
        reply.headers(Map.of(HEADER, id));
        return id;
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
