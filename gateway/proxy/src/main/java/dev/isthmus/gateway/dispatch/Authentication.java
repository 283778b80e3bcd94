package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.ForwardingSink;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.settings.AuthenticationConfig.HealthProbes;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * The layer that identifies the caller, once for each request and again for each message of a stream, and tells upstream
 * servers who it is.
 */
final class Authentication extends ForwardingService {
    private final Authenticator authenticator;
    private final Set<String> openListeners;
    private final boolean openHealth;
    private final String principalHeader;

    /** @param openListeners listeners whose requests need no credential */
    Authentication(Service next, Authenticator authenticator, Set<String> openListeners) {
        super(next);
        this.authenticator = authenticator;
        this.openListeners = Set.copyOf(openListeners);
        this.openHealth = authenticator.config().health() == HealthProbes.OPEN;
        this.principalHeader = authenticator.config().forward().principalHeader();
    }

    @Override
    public void checkHead(CallContext call, Permission permission) {
        if (permission != Permission.HEALTH) {
            identify(call);
            super.checkHead(call, permission);
        }
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        CallContext context = call.context();
        if (openHealth && call.operation().probe()) {
            return super.open(call, reply);
        }
        try {
            identify(context);
        } catch (OipException refused) {
            reply.fail(refused);
            return RequestSink.ENDED;
        }
        RequestSink opened = super.open(named(call, context.principal()), reply);
        return call.operation() instanceof Operation.InferStream
                ? new IdentifiedStream(opened, context, reply)
                : opened;
    }

    private void identify(CallContext context) {
        if (!context.isAuthenticated()) {
            authenticator.identify(context, required(context));
        }
    }

    private boolean required(CallContext context) {
        return !openListeners.contains(context.listener());
    }

    /** A stream whose caller is identified again for each message: keys are removed, and tokens expire. */
    private final class IdentifiedStream extends ForwardingSink {
        private final CallContext context;
        private final Reply reply;

        IdentifiedStream(RequestSink opened, CallContext context, Reply reply) {
            super(opened);
            this.context = context;
            this.reply = reply;
        }

        @Override
        public void data(ByteBuf message) {
            try {
                authenticator.identify(context, required(context));
            } catch (OipException refused) {
                message.release();
                cancel();
                reply.fail(refused);
                return;
            }
            super.data(message);
        }
    }

    /** The call with the caller's name in its headers; a client's own value was removed with its other headers. */
    private Call named(Call call, Principal principal) {
        return principal.name().isEmpty() ? call : call.withHeader(principalHeader, encoded(principal.name()));
    }

    /** The name with everything but printable ASCII, and %, percent-encoded. */
    static String encoded(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (!plain(name.charAt(i))) {
                return escaped(name);
            }
        }
        return name;
    }

    private static boolean plain(int c) {
        return c > ' ' && c < 0x7f && c != '%';
    }

    private static String escaped(String name) {
        StringBuilder text = new StringBuilder();
        for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
            if (plain(each)) {
                text.append((char) each);
            } else {
                text.append('%').append(String.format("%02X", each & 0xff));
            }
        }
        return text.toString();
    }
}
